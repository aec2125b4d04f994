"""Help is read at once: it loads no library that only work needs. By what is loaded, not by the clock."""

import subprocess
import sys

import pytest

from kernelease.analysis import inference
from kernelease.analysis.estimate import Target
from kernelease.cli import choices
from kernelease.cli.choices import RecordEnd, Relation, Whose
from kernelease.cli.promise import RISK_DELTA
from kernelease.privacy import accounting
from kernelease.privacy.neighbours import Neighbours
from kernelease.table.records import Records

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


def test_help_of_every_command_loads_no_library_for_work(loaded):
    seen, *modules = loaded
    assert int(seen) >= 20
    assert [name for name in modules if name.split(".")[0] in HEAVY] == []


def test_help_of_every_command_loads_nothing_of_ours_but_commands(loaded):
    ours = tuple(f"kernelease.{name}" for name in (*OURS, *MORE))
    assert [name for name in loaded[1:] if name.startswith(ours)] == []


@pytest.mark.parametrize(("words", "meaning"), [(Relation, Neighbours), (Whose, Target), (RecordEnd, Records)])
def test_the_words_of_options_are_those_that_are_meant(words, meaning):
    assert [(one.name, one.value) for one in words] == [(one.name, one.value) for one in meaning]


def test_help_states_the_delta_of_a_risk():
    assert RISK_DELTA == accounting.RISK_DELTA


def test_the_level_of_tests_is_the_one_that_is_meant():
    assert choices.SIGNIFICANCE == inference.SIGNIFICANCE
