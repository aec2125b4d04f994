"""Help, refusals and questions load no library that only other work needs. By what is loaded, not by the clock."""

import subprocess
import sys

import pytest

import kernelease
from kernelease import risk
from kernelease.analysis import inference
from kernelease.analysis.estimate import Target
from kernelease.answers.questions import Whence as Estimator
from kernelease.cli import options as choices
from kernelease.cli.options import RISK_DELTA, RecordEnd, Relation, Whence, Whose
from kernelease.privacy.sensitivity import Neighbours
from kernelease.table.written import Records

HEAVY = ("numpy", "scipy", "pyarrow", "pandas", "cryptography", "opendp", "duckdb", "sklearn", "matplotlib")
OURS = ("analysis", "check", "features", "fit", "kernels", "measured", "methods", "pipeline", "privacy", "private")
MORE = ("release", "report", "sources", "synthesizer", "table", "cli.work")

SCRIPT = """
import contextlib, io, sys
from typer.main import get_command
from kernelease.cli import app

def paths(command, path=()):
    yield path
    for name, one in getattr(command, "commands", {}).items():
        yield from paths(one, (*path, name))

seen = 0
for path in list(paths(get_command(app))):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        with contextlib.suppress(SystemExit):
            app([*path, "--help"])
    assert "Usage" in printed.getvalue(), path
    seen += 1
print(seen, *sorted(sys.modules))
"""


@pytest.fixture(scope="module")
def loaded():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.mark.slow
def test_help_of_every_command_loads_no_library_for_work(loaded):
    seen, *modules = loaded
    assert int(seen) >= 20
    assert [name for name in modules if name.split(".")[0] in HEAVY] == []


def test_help_of_every_command_loads_nothing_of_ours_but_commands(loaded):
    ours = tuple(f"kernelease.{name}" for name in (*OURS, *MORE))
    assert [name for name in loaded[1:] if name.startswith(ours)] == []


RUN = """
import sys
from kernelease.cli import app
try:
    app(sys.argv[1:])
except SystemExit as ended:
    print(ended.code, *sorted(sys.modules))
"""
SCHEMA = '[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\n[columns.ill]\ntype = "boolean"\n'
READING = ("pyarrow.csv", "pyarrow.parquet", "pyarrow.dataset")
WORK = ("scipy.special", "scipy.linalg", "scipy.sparse", "scipy.optimize", "scipy.stats", "pandas", "opendp", *READING)
PACKAGES = tuple(f"kernelease.{name}" for name in ("analysis", "check", "fit", "methods", "pipeline", "private"))


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("startup")
    (folder / "people.toml").write_text(SCHEMA)
    (folder / "odd.toml").write_text(SCHEMA.replace("max", "mxa"))
    (folder / "people.csv").write_text("age,ill\n30,true\n40,false\n")
    (folder / "taken").mkdir()
    return folder


def _run(folder, command):
    """The exit code, and all that was loaded."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *command.split()], capture_output=True, text=True, check=True, cwd=folder
    )
    code, *modules = done.stdout.split("\n")[-2].split()
    return int(code), modules, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("release people.csv --schema odd.toml --out new --epsilon 1 --delta 1e-6", "did you mean max"),
        ("release people.csv --schema people.toml --out new --epsilon 0 --delta 1e-6", "epsilon must be positive"),
        ("release people.csv --schema people.toml --out new --epsilon 1", "give --delta, too"),
        ("release nobody.csv --schema people.toml --out new --epsilon 1 --delta 1e-6", "there is no file nobody.csv"),
        ("release people.csv --schema people.toml --out taken --epsilon 1 --delta 1e-6", "taken already exists"),
        ("measure nobody.csv --schema people.toml --out new --epsilon 1 --delta 1e-6", "there is no file nobody.csv"),
        ("check nobody.csv --schema people.toml", "there is no file nobody.csv"),
        ("plan --schema odd.toml --rows 100 --epsilon 1 --delta 1e-6", "did you mean max"),
        ("query taken maen age", "did you mean mean"),
        ("query taken mean", "takes a column: mean age"),
        ("query taken mean age --minus a", "say by which columns"),
    ],
)
def test_a_refusal_loads_nothing_that_works_with_rows(here, command, said):
    code, modules, told = _run(here, command)
    assert code == 2
    assert said in " ".join(told.split()).lower()
    assert [name for name in modules if name in WORK or name.startswith(PACKAGES)] == []


@pytest.mark.slow
@pytest.mark.parametrize("question", ["mean age", "count", "quantile age 0.5"])
def test_a_question_loads_nothing_that_measures_draws_noise_or_compares(here, question):
    if not (here / "bundle").exists():
        release("people.csv", here)
    code, modules, _ = _run(here, f"query bundle {question}")
    assert code == 0
    unused = ("scipy.stats", "pandas", "opendp", "pyarrow.dataset", "pyarrow.csv", "duckdb", "polars", "sklearn")
    assert [name for name in modules if name in unused] == []
    elsewhere = ("kernelease.sources", "kernelease.check", "kernelease.report", "kernelease.pipeline")
    assert [name for name in modules if name.startswith(elsewhere)] == []
    assert not {"kernelease.methods.paper", "kernelease.methods.adaptive"} & set(modules)


def release(data, folder):
    kernelease.release(
        folder / data, schema=folder / "people.toml", privacy=(50.0, 1e-6), out=folder / "bundle", rows=20
    )


@pytest.mark.parametrize(
    ("words", "meaning"), [(Relation, Neighbours), (Whose, Target), (Whence, Estimator), (RecordEnd, Records)]
)
def test_the_words_of_options_are_those_that_are_meant(words, meaning):
    assert [(one.name, one.value) for one in words] == [(one.name, one.value) for one in meaning]


def test_help_states_the_delta_of_a_risk():
    assert RISK_DELTA == risk.DELTA


def test_the_level_of_tests_is_the_one_that_is_meant():
    assert choices.SIGNIFICANCE == inference.SIGNIFICANCE


def test_a_wrong_call_names_the_command_however_it_was_started():
    """As python -m kernelease, which is three words."""
    words = [sys.executable, "-m", "kernelease", "plan", "--schema", "people.toml", "--rows", "ten"]
    told = subprocess.run(words, capture_output=True, text=True, check=False).stderr
    assert told.endswith("`kernelease plan --help` lists what there is.\n")
