"""Numbers have a source: what they follow from, which limit they are, or the experiment that chose them."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import pytest

import kernelease

ROOT = Path(kernelease.__file__).parent
RESEARCH = (ROOT.parent.parent / "docs" / "research.md").read_text(encoding="utf-8")
CHOSEN_BY_RESULTS = ("fit/", "methods/", "table/atom_features.py")  # where a number decides how close a release comes
MOST_TUNED = 60  # names: more than that nobody can judge on tables that they were not tuned on
SOURCES = ("research:", "derived:", "limit:", "convention:")


@dataclass(frozen=True)
class Constant:
    """A name at the top level of a module, its comment, and where it stands."""

    path: str
    line: int
    name: str
    comment: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.name}"


def _constants() -> Iterator[Constant]:
    for path in sorted(ROOT.rglob("*.py")):
        short = path.relative_to(ROOT).as_posix()
        yield from constants_in(path.read_text(encoding="utf-8"), short)


def constants_in(text: str, path: str) -> Iterator[Constant]:
    """Names that are bound to numbers, or to tuples of them."""
    lines = text.split("\n")
    for node, after in zip_longest(body := ast.parse(text).body, body[1:]):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None and _is_number(node.value):
            assert node.end_lineno is not None
            names = [
                part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
            ]
            here = " ".join(line.partition("#")[2] for line in lines[node.lineno - 1 : node.end_lineno])
            said = f"{_above(lines, node.lineno - 1)} {here} {_docstring(after)}"
            yield Constant(path, node.lineno, ", ".join(names), said.strip())


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return type(value.value) in (int, float)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    return isinstance(value, ast.Tuple) and bool(value.elts) and all(map(_is_number, value.elts))


def _docstring(node: ast.stmt | None) -> str:
    """The text right after a name, which says what it is."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return ""


def _above(lines: list[str], end: int) -> str:
    """The comment lines right above a statement."""
    start = end
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
    return " ".join(line.removeprefix("#").strip() for line in lines[start:end])


CONSTANTS = list(_constants())


def test_constants_are_found() -> None:
    assert len(CONSTANTS) > 100
    (one,) = constants_in("# research: A\n_A, B = 1e-3, (2 + 3) * 4  # both\n", "here.py")
    assert one == Constant("here.py", 2, "_A, B", "research: A  both")
    (two,) = constants_in('A = 1\n"""What it is."""\n', "here.py")
    assert two.comment == "What it is."
    assert list(constants_in('A = "text"\nB = True\nC = f(2)\n', "here.py")) == []


def test_every_number_says_what_it_is() -> None:
    assert [str(constant) for constant in CONSTANTS if len(constant.comment.split()) < 2] == []


def test_numbers_that_decide_results_have_a_source() -> None:
    chosen = [constant for constant in CONSTANTS if constant.path.startswith(CHOSEN_BY_RESULTS)]
    assert [str(constant) for constant in chosen if not any(source in constant.comment for source in SOURCES)] == []


def test_few_numbers_are_tuned() -> None:
    names = [name for one in CONSTANTS if "research:" in one.comment for name in one.name.split(", ")]
    assert len(names) <= MOST_TUNED


@pytest.mark.parametrize("constant", [c for c in CONSTANTS if "research:" in c.comment], ids=str)
def test_the_experiment_that_chose_a_number_is_on_record(constant: Constant) -> None:
    match = re.search(r"research: ([^.]+?)(?:\.|$)", constant.comment)
    assert match is not None
    sections = re.split(r"^## ", RESEARCH, flags=re.MULTILINE)
    (section,) = [part for part in sections if part.split("\n")[0] == match[1].strip()]
    for name in constant.name.split(", "):
        assert f"`{name}`" in section, f"the section does not speak of `{name}`"
