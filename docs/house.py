"""The house in numbers: `python docs/house.py`. How far a row walks, how much there is to read, how deep it is."""

import ast
import inspect
import re
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import kernelease as ke
from kernelease.privacy import noise

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from docs.imports import MODULES, ROOT, longest_chain
from docs.make_architecture import is_data
from tests.test_constants import CONSTANTS

ROWS = 5_000
BARRIER = ("privacy", "exact")  # packages: what decides whether a release is private
PARTICIPLE = re.compile(
    r"_*([^\W_]*ed|bent|built|chosen|cut|dealt|drawn|found|given|grown|held|hidden|kept|known|laid|lost|made|paid|put|"
    r"rewritten|said|seen|set|shown|shrunk|slid|spelt|spent|split|told|written)_*"
)
SCHEMA = """
[columns.age]
type = "integer"
min = 18
max = 90

[columns.income]
type = "number"
min = 0.0
max = 200000.0

[columns.city]
type = "category"
values = ["a", "b", "c", "d"]

[columns.school]
type = "ordinal"
values = ["none", "primary", "secondary", "higher"]

[columns.job]
type = "hierarchy"
values = ["11", "12", "13", "21", "22", "31", "32", "33"]
prefix = 1

[columns.smoker]
type = "boolean"

[columns.born]
type = "date"
min = 1930-01-01
max = 2006-12-31

[columns.seen]
type = "datetime"
min = 2024-01-01T00:00:00
max = 2024-12-31T23:59:59
"""


@cache
def seeded_samplers() -> SimpleNamespace:
    """What stands for OpenDP's samplers, with the laws of their noise."""
    draws = np.random.default_rng(0)
    return SimpleNamespace(
        gaussian=lambda scale: lambda zeros: np.rint(draws.normal(0.0, scale, len(zeros))),
        laplace=lambda scale: lambda zeros: np.rint(draws.laplace(0.0, scale, len(zeros))),
        noisy_max=lambda scale: lambda scores: np.argmax(np.array(scores) / scale + draws.gumbel(size=len(scores))),
    )


@dataclass
class Visits:
    """Every visit of some work to a module of this library: by data, and by calls."""

    given: set[str] = field(default_factory=set)
    run: set[str] = field(default_factory=set)
    before_noise: set[str] = field(default_factory=set)
    functions_before_noise: set[CodeType] = field(default_factory=set)
    data_switches: int = 0
    call_switches: int = 0
    _last: dict[tuple[int, str], str] = field(default_factory=dict)
    _noisy: bool = False

    def of(self, work: Callable[[], Any]) -> "Visits":
        """Follow some work, on all threads, with the same noise each time: how many rounds there are hangs on it."""
        with mock.patch.object(noise, "samplers", seeded_samplers):
            threading.setprofile(self._look)
            sys.setprofile(self._look)
            try:
                work()
            finally:
                sys.setprofile(None)
                threading.setprofile(None)  # type: ignore[arg-type]  # None ends it, which the stubs do not know
        return self

    def _look(self, frame: FrameType, event: str, result: object) -> None:
        code = frame.f_code
        if not code.co_filename.startswith(str(ROOT)) or not code.co_flags & inspect.CO_OPTIMIZED:
            return  # another library's, or the body of a class or module
        module = ".".join(Path(code.co_filename).relative_to(ROOT).with_suffix("").parts)
        if event == "call":
            self._called(module, code)
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if not code.co_name.startswith("<") and any(is_data(frame.f_locals.get(name)) for name in names):
                self._passed(module)
        elif event == "return" and is_data(result):
            self._passed(module)

    def _called(self, module: str, code: CodeType) -> None:
        self._noisy = self._noisy or (module == "privacy.noise" and code.co_name in ("gaussian", "laplace"))
        self.run.add(module)
        if not self._noisy:
            self.before_noise.add(module)
            self.functions_before_noise.add(code)
        self.call_switches += self._switched(module, "call")

    def _passed(self, module: str) -> None:
        self.given.add(module)
        self.data_switches += self._switched(module, "data")

    def _switched(self, module: str, kind: str) -> bool:
        """Whether the last visit of this kind, on this thread, was to another package."""
        package, key = module.split(".", maxsplit=1)[0], (threading.get_ident(), kind)
        before = self._last.get(key, package)
        self._last[key] = package
        return before != package


@cache
def visits_of_a_row() -> Visits:
    """A CSV file of eight columns of all types to a bundle, libraries loaded."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "people.csv").write_text(_csv(np.random.default_rng(0)), encoding="utf-8")
        schema, privacy = ke.Schema.parse(SCHEMA), ke.Privacy(epsilon=1.0, delta=1e-6)

        def work(out: str) -> None:
            ke.release(folder / "people.csv", schema=schema, privacy=privacy, out=folder / out)

        work("first")
        return Visits().of(lambda: work("second"))


def _csv(generator: np.random.Generator) -> str:
    days = (np.datetime64("1930-01-01") + generator.integers(0, 28_000, ROWS)).astype(str)
    seconds = (np.datetime64("2024-01-01T00:00:00") + generator.integers(0, 31_000_000, ROWS)).astype(str)
    columns = (
        generator.integers(18, 91, ROWS),
        generator.uniform(0.0, 2e5, ROWS).round(2),
        generator.choice(list("abcd"), ROWS),
        generator.choice(["none", "primary", "secondary", "higher"], ROWS),
        generator.choice(["11", "12", "13", "21", "22", "31", "32", "33"], ROWS),
        generator.choice(["true", "false"], ROWS),
        days,
        seconds,
    )
    lines = [",".join(map(str, cells)) for cells in zip(*columns, strict=True)]
    return "\n".join(["age,income,city,school,job,smoker,born,seen", *lines, ""])


@cache
def visits_of_a_vector() -> Visits:
    """An array to a bundle, by the default method, libraries loaded."""
    rows = np.random.default_rng(0).normal(size=(ROWS, 2))
    method = ke.Adaptive(points=ke.fit.NormalPoints(dimension=2), features=128, rank=64)
    kernel, privacy = ke.kernels.Gaussian(lengthscale=1.0), ke.Privacy(epsilon=1.0, delta=1e-6)
    with tempfile.TemporaryDirectory() as name:

        def work(out: str) -> None:
            ke.release(rows, kernel=kernel, method=method, privacy=privacy, out=Path(name) / out)

        work("first")
        return Visits().of(lambda: work("second"))


def stub_lines() -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ROOT.rglob("*.pyi"))


def lines(modules: set[str]) -> int:
    """Of these modules, docstrings and comments included."""
    return sum(len(MODULES[module].read_text(encoding="utf-8").splitlines()) for module in modules)


def lines_of_functions(functions: set[CodeType]) -> int:
    """From the first decorator of each to its last line; what lies within another counts once."""
    found = {
        (code.co_filename, line)
        for code in functions
        for line in range(code.co_firstlineno, max(line for *_, line in code.co_lines() if line) + 1)
    }
    return len(found)


def barrier() -> set[str]:
    """The auditor's list: what decides what a row is and adds, and the noise."""
    return {name for name in MODULES if name.split(".")[0] in BARRIER}


def tuned_constants() -> int:
    """Names at the top level of modules that are bound to numbers which an experiment chose: their comment names it."""
    return sum(len(one.name.split(", ")) for one in CONSTANTS if "research:" in one.comment)


def public_methods() -> int:
    """Names of `Release` that do not begin with an underscore."""
    return sum(not name.startswith("_") for name in dir(ke.Release))


def one_importer() -> int:
    """Modules that one other alone imports, whenever: most of them are paragraphs of that one."""
    readers: dict[str, set[str]] = {}
    stubs = {f"{path.parent.relative_to(ROOT)}, stub": path for path in ROOT.rglob("*.pyi")}
    for module, path in {**MODULES, **stubs}.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kernelease."):
                readers.setdefault(node.module.removeprefix("kernelease."), set()).add(module)
    return sum(len(who) == 1 for module, who in readers.items() if module in MODULES)


def is_participle(name: str) -> bool:
    """Whether a name is one participle, such as `asked`: a function says what it does or returns, `ask` or `answer`."""
    return PARTICIPLE.fullmatch(name) is not None


def functions_named_by_participles() -> list[str]:
    """Functions and methods, each with its module."""
    return [
        f"{module}: {node.name}"
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name)
    ]


def table() -> str:
    """All of it, as a table in Markdown."""
    row, vector = visits_of_a_row(), visits_of_a_vector()
    functions = row.functions_before_noise
    deepest = max((longest_chain(module) for module in MODULES if module), key=len)
    facts = {
        "modules that a CSV row is given to / switches of package": f"{len(row.given)} / {row.data_switches:,}",
        "modules that run in its release / changes of package": f"{len(row.run)} / {row.call_switches:,}",
        "modules that a vector is given to / switches of package": f"{len(vector.given)} / {vector.data_switches:,}",
        "modules that run in its release / changes of package ": f"{len(vector.run)} / {vector.call_switches:,}",
        "modules, lines of src, with the stubs of packages": f"{len(MODULES)}, {lines(set(MODULES)) + stub_lines():,}",
        "modules with one importer": f"{one_importer()}",
        "lines of the barrier": f"{lines(barrier()):,}",
        "lines of the functions that a CSV release runs up to the noise": f"{lines_of_functions(functions):,}",
        "lines of the modules that these are in": f"{lines(row.before_noise):,}",
        "import depth": f"{len(deepest)}",
        "public names at the top; of `Release`": f"{len(ke.__all__)}; {public_methods()}",
        "numbers that an experiment chose": f"{tuned_constants()}",
        "functions named by a bare participle": f"{len(functions_named_by_participles())}",
    }
    return "\n".join(["| | |", "| --- | --- |", *(f"| {name} | {fact} |" for name, fact in facts.items())])


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
