"""The examples that ship: the table is what its generator makes, and every cell of every notebook runs."""

import ast
import importlib.util
import json
import shlex
import shutil
from pathlib import Path

import pyarrow.csv
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.cli import app

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A copy of the examples, as after a clone."""
    for name in ("clinic.csv", "clinic.toml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    monkeypatch.chdir(tmp_path)


def run(source: str, namespace: dict[str, object]) -> None:
    """A cell, and what a notebook would show of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), namespace)
    if last is not None:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), namespace)
        assert (value._repr_html_() if hasattr(value, "_repr_html_") else repr(value)) or value is None


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_runs(notebook, here):
    namespace: dict[str, object] = {"__name__": "__main__"}
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert not cell["outputs"]  # what a run prints differs from run to run, and is not kept
            run("".join(cell["source"]), namespace)


def test_there_is_a_notebook_for_each_reader():
    assert [path.stem for path in NOTEBOOKS] == ["analyst", "machine_learning", "owner"]


def test_the_table_is_what_its_generator_makes():
    spec = importlib.util.spec_from_file_location("make_clinic", EXAMPLES / "make_clinic.py")
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    written = pyarrow.csv.read_csv(EXAMPLES / "clinic.csv")
    made = maker.clinic()
    assert written.column_names == made.column_names == list(ke.Schema.load(EXAMPLES / "clinic.toml").names)
    assert written.num_rows == made.num_rows
    for name in ("age", "ward", "admitted", "bmi"):
        assert written[name].to_pylist() == made[name].to_pylist()


@pytest.mark.slow
def test_the_first_commands_of_the_readme_work_from_a_clone(tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    lines = [line.strip() for line in readme.partition("## A table")[2].partition("```python")[0].splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("kernelease ")]
    assert [words[0] for words in commands] == ["release", "verify", "export", "query", "answers"]
    for words in commands:
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.stderr
