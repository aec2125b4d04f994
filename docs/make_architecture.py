"""Write the generated parts of docs/architecture.md: `python docs/make_architecture.py`. A test compares the two."""

import ast
import inspect
import sys
import tempfile
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa

import kernelease as ke

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from docs.imports import MODULES, ROOT, longest_chain, package_imports

TARGET = Path(__file__).with_name("architecture.md")
DATA = (np.ndarray, pa.Array, pa.ChunkedArray, pa.RecordBatch, pa.Table, bytes)
ROLES = {
    "cli": "commands",
    "pipeline": "measure, fit, release",
    "sources": "files, databases, frames → batches",
    "bundle": "files, signatures, verify",
    "answers": "releases and questions",
    "analysis": "answers with errors",
    "methods": "what to measure",
    "exact": "cells → codes, exact sums",
    "fit": "rows from noisy numbers",
    "estimate": "best linear estimates",
    "measured": "noisy numbers",
    "privacy": "noise, sensitivity, budget",
    "table": "schema, atoms, domains",
    "features": "rows → integers of known norm",
    "kernels": "how alike rows are",
    "foundations": "arrays, errors, kinds, machine, seeds",
}
_ON_THE_PRIVATE_SIDE = ("sources", "exact")

SCHEMA = """
[columns.age]
type = "integer"
min = 18
max = 90

[columns.sex]
type = "category"
values = ["f", "m"]

[columns.city]
type = "category"
values = ["a", "b", "c"]
"""


def picture() -> str:
    """The packages and their imports, in Mermaid."""
    nodes = [f'    {name}["<b>{name}</b><br/>{role}"]' for name, role in ROLES.items()]
    edges = [
        f"    {name} --> {other}" for name in ROLES for other in ROLES if other in package_imports().get(name, set())
    ]
    marked = f"    class {','.join(_ON_THE_PRIVATE_SIDE)} secret"
    style = "    classDef secret fill:#fde2e2,stroke:#b00020"
    return "\n".join(["```mermaid", "flowchart TD", *nodes, *edges, style, marked, "```"])


class Walk:
    """The modules that data pass, in order: those with a function that is given data, or that gives data back."""

    def __init__(self) -> None:
        self.passed: dict[str, None] = {}
        self.called: dict[str, None] = {}

    def of(self, work: Callable[[], Any]) -> "Walk":
        """Follow some work, on all threads."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)
        try:
            work()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)  # type: ignore[arg-type]  # None ends it, which the stubs do not know
        return self

    @property
    def switches(self) -> int:
        """How often the next module is of another package."""
        return sum(one.split(".")[0] != other.split(".")[0] for one, other in pairwise(self.passed))

    def _look(self, frame: FrameType, event: str, result: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)) or not code.co_flags & inspect.CO_OPTIMIZED:
            return  # another library's, or the body of a class or module
        module = ".".join(Path(code.co_filename).relative_to(ROOT).with_suffix("").parts)
        if event == "call":
            self.called.setdefault(module)
            given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if not code.co_name.startswith("<") and any(is_data(frame.f_locals.get(name)) for name in given):
                self.passed.setdefault(module)
        elif event == "return" and is_data(result):
            self.passed.setdefault(module)


def is_data(value: object, depth: int = 2) -> bool:
    if isinstance(value, DATA):
        return True
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (tuple, list)) else ()
    return depth > 0 and any(is_data(part, depth - 1) for part in list(parts)[:4])


def walk_of_a_row() -> Walk:
    """From a CSV file to a bundle."""
    generator = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [_line(generator) for _ in range(200)]
        (folder / "people.csv").write_text("".join(["age,sex,city\n", *rows]), encoding="utf-8")
        schema, privacy = ke.Schema.parse(SCHEMA), ke.Privacy(epsilon=1.0, delta=1e-6)
        return Walk().of(
            lambda: ke.release(folder / "people.csv", schema=schema, privacy=privacy, out=folder / "bundle")
        )


def _line(generator: np.random.Generator) -> str:
    return f"{generator.integers(18, 90)},{generator.choice(list('fm'))},{generator.choice(list('abc'))}\n"


def walk_of_a_vector() -> Walk:
    """From an array to a bundle, by `Adaptive`."""
    rows = np.random.default_rng(0).normal(size=(500, 2))
    method = ke.Adaptive(points=ke.fit.NormalPoints(dimension=2), features=128, rank=64)
    kernel, privacy = ke.kernels.Gaussian(lengthscale=1.0), ke.Privacy(epsilon=1.0, delta=1e-6)
    with tempfile.TemporaryDirectory() as name:
        return Walk().of(
            lambda: ke.release(rows, kernel=kernel, method=method, privacy=privacy, out=Path(name) / "bundle")
        )


def steps(walk: Walk) -> str:
    """A numbered line for each module: its name, and what it says of itself."""
    return "\n".join(
        f"{number}. `{module.replace('.', '/')}.py`: {first_line(module)}"
        for number, module in enumerate(walk.passed, 1)
    )


def first_line(module: str) -> str:
    text = ast.get_docstring(ast.parse(MODULES[module].read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def chain() -> str:
    """The longest chain of imports."""
    longest = max((longest_chain(module) for module in MODULES if module), key=len)
    return f"{len(longest)} modules: " + " → ".join(f"`{module}`" for module in longest)


def counts(walk: Walk) -> str:
    """In words."""
    return (
        f"{len(walk.passed)} modules, {walk.switches} switches from one package to another. "
        f"With those that only check, price, plan or describe, {len(walk.called)} modules run."
    )


PARTS: dict[str, Callable[[], str]] = {
    "picture": picture,
    "chain": chain,
    "walk of a row": lambda: _walk(walk_of_a_row()),
    "walk of a vector": lambda: _walk(walk_of_a_vector()),
}


def _walk(walk: Walk) -> str:
    return f"{counts(walk)}\n\n{steps(walk)}"


def between(name: str) -> tuple[str, str]:
    """The marks around a generated part."""
    return f"<!-- {name}: written by docs/make_architecture.py -->\n\n", f"\n\n<!-- end of {name} -->"


def written(name: str) -> str:
    """What the page has there."""
    opening, ending = between(name)
    return TARGET.read_text(encoding="utf-8").split(opening)[1].split(ending)[0]


def main() -> None:
    """Write every part anew."""
    text = TARGET.read_text(encoding="utf-8")
    for name, made in PARTS.items():
        opening, ending = between(name)
        before, rest = text.split(opening)
        text = before + opening + made() + ending + rest.split(ending, 1)[1]
    TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
