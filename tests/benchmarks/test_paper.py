"""The command itself, and how it judges."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelease as ke
from benchmarks import reports
from benchmarks.algorithm2 import COUNTS, path_errors
from benchmarks.checks import Check, table
from benchmarks.contenders import CONTENDERS, scores
from benchmarks.mixtures import kernel, private_rows
from benchmarks.reproduction import Part, deviations
from benchmarks.truth import OfRows

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "paper.py"


def test_it_runs_as_a_script():
    options = {"data": "absent", "out": "x", "epsilon": "1", "delta": "1e-6", "kernel-gamma": "1"}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    done = subprocess.run([sys.executable, SCRIPT, "release", *flags], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "Error: --data: there is no file absent.\n"


def test_it_refuses_data_that_the_paper_does_not_have():
    done = subprocess.run([sys.executable, SCRIPT, "--dimension", "3"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "2 and of 5 columns" in done.stderr


def test_a_miss_is_printed():
    assert str(Check("the sky is green", "it is blue", holds=False)) == "miss  the sky is green: it is blue"
    summary = reports.summary(
        {"checks": [{"data": "D = 2", "claim": "c", "numbers": "n", "holds": False}], "seconds": {"D2 leak": 1.0}}
    )
    assert "0 of 1 checks hold" in summary
    assert "miss  D = 2: c: n" in summary


def test_tables_are_aligned():
    assert table("T", ["M", "error"], [[1, 0.123456], [10_000, 0.5]]).splitlines() == [
        "",
        "T",
        "M       error",
        "-------------",
        "1      0.1235",
        "10000     0.5",
    ]


def test_deviations_count_standard_deviations():
    ours = np.array([[1.0, 5.0], [3.0, 5.0]])  # standard deviation √2, and 0
    theirs = np.array([2.0 + np.sqrt(3.0), 5.00001])
    np.testing.assert_allclose(deviations(ours, theirs), [1.0, 0.2], rtol=1e-3)


def test_contenders_are_released_and_have_names_of_their_own():
    truth, noise = OfRows(kernel(2), private_rows(2, 2000)), ke.SeededNoise(0)
    entries = [one for contender in CONTENDERS[2:3] for one in scores(contender, truth, 2, 1, noise=noise)]
    assert len({(entry.name, entry.published_rows) for entry in entries}) == len(entries)
    assert all(0.0 < error[0] < 1.0 for entry in entries for error in entry.errors)


def test_reports_of_every_part():
    curves = {"mean": [[0.3, 0.1]] * 3, "spread": [[0.01, 0.01]] * 3}
    first = {"points": [1, 10], "ranks": [1, 10], "projection": [0.3, 0.1], "paper": curves}
    second = {"points": [1, 3], "median": [[0.3, 0.2]] * 3, "runs": [[[0.3, 0.2]]] * 3}
    entry = {"name": "Subspace", "published_rows": False, "errors": [[0.1, 0.2]] * 3, "points": [9] * 3}
    check = Check("c", "n", holds=True)
    for name, record in (("leak", first), ("random", first), ("random_features", second)):
        assert "PASS  c: n" in reports.part(name, 2, Part(record, [check]))
    assert "Subspace" in reports.part("contenders", 2, Part([{**entry, "seconds": [1.0] * 3}], []))


@pytest.mark.slow
def test_greedy_paths_come_nearer():
    rows = private_rows(2, 5000)
    errors = path_errors(OfRows(kernel(2), rows), rows, 1, COUNTS[:3])
    assert errors.shape == (3, 1, 3)
    assert (errors[2, 0, 2] < errors[2, 0, 0]).all()
