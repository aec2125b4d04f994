"""Write the counts and the generated list of docs/for-auditors.md: `python docs/make_for_auditors.py`.

A test compares them.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import kernelease as ke
from kernelease.bundle.signing import load_private_key, make_key

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from docs.imports import MODULES
from docs.make_architecture import Walk, first_line

TARGET = Path(__file__).with_name("for-auditors.md")
ROW = re.compile(r"^\| `([\w/]+)\.py` \| (\d+) \|", re.MULTILINE)
LISTS = {
    "The barrier": "what decides whether a release is private",
    "What it imports": "what that rests on",
    "What calls it": "what must keep its assumptions",
    "What keeps": "maps, columns and sources; read those that a release used",
    "What the auditor of `verify` reads": "what decides whether a bundle holds",
}
SCHEMA = """
[columns.age]
type = "integer"
min = 18
max = 90

[columns.income]
type = "number"
min = 0.0
max = 1000.0
"""
DECIDING = ("bundle", "certificate", "strangers")  # what is read first: it decides what is refused


def lines_of(path: str) -> int:
    """How many lines a module has, docstrings included."""
    return len(MODULES[path.replace("/", ".")].read_text(encoding="utf-8").splitlines())


def sections(text: str) -> dict[str, str]:
    """The lists of the page by their titles."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    return {title: next(part for part in parts if part.startswith(title)) for title in LISTS}


def sizes(text: str) -> str:
    """A line for each list: how many files, how many lines, by the page's own rows."""
    rows = ["| list | files | lines | what it is |", "| --- | --- | --- | --- |"]
    for title, section in sections(text).items():
        counts = [int(lines) for _, lines in ROW.findall(section)]
        rows.append(f"| {title} | {len(counts)} | {sum(counts):,} | {LISTS[title]} |")
    return "\n".join(rows)


@cache
def walked() -> tuple[str, ...]:
    """The modules in which something runs while `verify` looks at a signed zip of a table, and at one of vectors."""
    privacy, found = ke.Privacy(epsilon=1.0, delta=1e-6), Walk()
    table = pa.table({"age": [20, 30, 40] * 20, "income": [1.5, 20.0, 300.25] * 20})
    method = ke.Subspace(points=ke.fit.NormalPoints(dimension=2), count=6)
    made = (
        ke.release(table, schema=ke.Schema.parse(SCHEMA), privacy=privacy),
        ke.release(np.zeros((50, 2)), kernel=ke.kernels.Gaussian(lengthscale=1.0), method=method, privacy=privacy),
    )
    with tempfile.TemporaryDirectory() as name:
        key = load_private_key(make_key(name).private)
        for number, one in enumerate(made):
            path = one.save(Path(name, f"{number}.zip"), key=key)
            found.of(partial(ke.verify, path))
    return tuple(module for module in found.called if module in MODULES)


def verify_list() -> str:
    """The rows of the list for the auditor of `verify`: first what decides, then what that builds and asks."""
    first = [module for module in walked() if module.split(".")[0] in DECIDING]
    rest = sorted(set(walked()) - set(first), key=lambda module: (module.split(".")[0], module))
    rows = [
        f"| `{module.replace('.', '/')}.py` | {lines_of(module)} | {first_line(module)} |" for module in first + rest
    ]
    return "\n".join(["| file | lines | what it is |", "| --- | --- | --- |", *rows])


def between(name: str) -> tuple[str, str]:
    """The marks around a generated part."""
    return f"<!-- {name}: written by docs/make_for_auditors.py -->\n\n", f"\n\n<!-- end of {name} -->"


def written(name: str, text: str) -> str:
    """What the page has there."""
    opening, ending = between(name)
    return text.split(opening)[1].split(ending, maxsplit=1)[0]


def _replaced(text: str, name: str, made: str) -> str:
    opening, ending = between(name)
    before, rest = text.split(opening)
    return before + opening + made + ending + rest.split(ending, 1)[1]


def rewritten(text: str) -> str:
    """The page with every count as it is now."""
    text = _replaced(text, "verify", verify_list())
    text = ROW.sub(lambda row: f"| `{row[1]}.py` | {lines_of(row[1])} |", text)
    return _replaced(text, "sizes", sizes(text))


def odd_counts(text: str) -> Iterator[str]:
    """Files whose count on the page is far from what they have."""
    for path, stated in ROW.findall(text):
        if abs((lines := lines_of(path)) - int(stated)) > max(15, lines // 5):
            yield f"{path}.py has {lines} lines"


def main() -> None:
    """Write the page anew."""
    TARGET.write_text(rewritten(TARGET.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
