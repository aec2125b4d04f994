"""Write the table of pandas' names in docs/your-tools.md: python -m docs.make_habits. A test compares the two."""

import re
from collections import Counter
from pathlib import Path

from kernelease.answers.habits import FRAMES, HABITS, Kind

TARGET = Path(__file__).with_name("your-tools.md")
OWN = {  # names of pandas that a release has itself
    "mean": ('release.mean("age")', Kind.INTERVAL),
    "quantile": ('release.quantile("age", 0.9)', Kind.INTERVAL),
    "count": ('release.count("age > 30")', Kind.INTERVAL),
    "describe": ("release.describe()", Kind.INTERVAL),
    "plot": ('release.plot("age")', Kind.INTERVAL),
    "sample": ("release.sample(100)", Kind.ROWS),
}
_BEGIN, _END = "<!-- names: written by docs/make_habits.py -->\n\n", "\n\n<!-- end of names -->"


def table() -> str:
    """How many names there are of each kind, then every name, what becomes of it, and what to write."""
    lines = ["| in pandas | here | write |", "| --- | --- | --- |"]
    lines += [f"| `{name}` | {kind} | `{write}` |" for name, (write, kind) in OWN.items()]
    for name, habit in HABITS.items():
        code, _, rest = habit.write.partition("; ")
        lines.append(f"| `{name}` | {habit.kind} | `{code}`{'; ' + rest if rest else ''} |")
    lines.append(f"| {len(FRAMES)} other names | {Kind.ROWS} | `release.to_pandas().NAME` |")
    return "\n".join([_counts(), "", *lines])


def _counts() -> str:
    """A sentence.

    >>> _counts().split(",")[0].endswith("names of pandas")
    True
    """
    kinds = Counter([kind for _, kind in OWN.values()] + [habit.kind for habit in HABITS.values()])
    kinds[Kind.ROWS] += len(FRAMES)
    return (
        f"Of {kinds.total()} names of pandas, {kinds[Kind.INTERVAL]} work with an interval, {kinds[Kind.PUBLIC]} "
        f"are public, {kinds[Kind.ROWS]} are for the synthetic rows, and {kinds[Kind.WORDS]} are refused with the line "
        "to write."
    )


def page(text: str) -> str:
    """The page with its table as the code has it now."""
    return re.sub(f"(?<={re.escape(_BEGIN)}).*(?={re.escape(_END)})", lambda _: table(), text, flags=re.DOTALL)


if __name__ == "__main__":
    TARGET.write_text(page(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {TARGET.name}")
