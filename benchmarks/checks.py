"""A claim, the numbers behind it, and whether it holds. A miss is printed like everything else."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill

VECTORS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks-vectors.md"


@dataclass(frozen=True)
class Check:
    """One thing that the benchmark must show."""

    claim: str
    numbers: str
    holds: bool

    def __str__(self) -> str:
        return f"{'PASS' if self.holds else 'miss'}  {self.claim}: {self.numbers}"


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows in aligned columns; floats to four digits."""
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = [
        "  ".join(
            [cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(pairs)]
        ).rstrip()
        for pairs in (list(zip(row, widths, strict=True)) for row in cells)
    ]
    return "\n".join(["", title, lines[0], "-" * max(map(len, lines)), *lines[1:]])


def markdown(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """The same for a page."""
    lines = [header, ["---"] * len(header), *([_cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def bullets(checks: Iterable[Check]) -> str:
    """Claims as a list on a page."""
    return "\n".join(f"- {'Met' if one.holds else '**Missed**'}: {one.claim} ({one.numbers})." for one in checks)


def write_part(page: Path, heading: str, words: str, *paragraphs: str) -> None:
    """Put a part of a page, with a few words first, where the one with this heading is, or after all others.

    Paragraphs with a heading of their own, `### …`, take the place of those that it has; others with one stay.
    """
    before, *parts = page.read_text(encoding="utf-8").split("\n## ")
    known = [part.partition("\n")[0] for part in parts]
    kept = parts[known.index(heading)].split("\n### ")[1:] if heading in known else []
    named = {one.partition("\n")[0]: f"### {one.strip()}" for one in kept}
    named |= {one[4:].partition("\n")[0]: one for one in paragraphs if one.startswith("### ")}
    plain = [one for one in paragraphs if not one.startswith("### ")]
    part = "\n\n".join([heading, fill(" ".join(words.split()), 120), *plain, *named.values()]) + "\n"
    if heading in known:
        parts[known.index(heading)] = part
    else:
        parts.append(part)
    page.write_text("\n## ".join([before, *parts]), encoding="utf-8")


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
