"""A claim, the numbers behind it, and whether it holds. A miss is printed like everything else."""

from collections.abc import Sequence
from dataclasses import dataclass


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


def _cell(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
