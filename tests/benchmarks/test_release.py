"""`python benchmarks/paper.py release`: from an array to weighted points, and what it says of bad input."""

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from benchmarks import release as tool
from benchmarks.mixtures import kernel, private_rows
from benchmarks.truth import OfRows

pytestmark = pytest.mark.slow

app = typer.Typer(pretty_exceptions_enable=False)
app.command()(tool.release)

GAMMA = 5e-5


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "private.npz"
    np.savez(path, X_private=private_rows(2, 3000))
    return path


def run(data, out, *more, **changes):
    options = {"epsilon": "1", "delta": "1e-6", "kernel-gamma": str(GAMMA), **changes}
    flags = [part for name, value in options.items() for part in (f"--{name}", value)]
    return CliRunner().invoke(app, ["--data", str(data), "--out", str(out), *flags, *more])


@pytest.mark.parametrize(
    "method",
    [
        ("--method", "subspace", "--points", "300"),
        ("--method", "subspace", "--published-rows", "100"),
        ("--method", "random-features", "--points", "20"),
        ("--method", "adaptive"),
        ("--method", "adaptive", "--published-rows", "100"),
    ],
)
def test_points_come_out_and_stand_for_the_rows(data, tmp_path, method):
    out = tmp_path / "new" / "points.npz"
    result = run(data, out, *method)
    assert result.exit_code == 0, result.output
    with np.load(out) as released:
        points, weights = released["Z"], released["w"]
    assert points.shape == (len(weights), 2)
    assert weights.min() > 0.0
    assert weights.sum() == pytest.approx(1.0)
    truth = OfRows(kernel(2), private_rows(2, 3000))
    assert truth.distance(points, weights) < 0.2 < np.sqrt(truth.energy)
    assert "differentially private" in result.output


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": "-1"}, "epsilon"),
        ({"epsilon": "nan"}, "epsilon"),
        ({"delta": "2"}, "delta"),
        ({"kernel-gamma": "0"}, "--kernel-gamma"),
        ({"published-rows": "0"}, "PublishedRows"),
        ({"published-rows": "99999"}, "PublishedRows"),
        ({"prior-scale": "-5"}, "scale"),
        ({"points": "0"}, "count"),
        ({"method": "random-features", "published-rows": "5"}, "--published-rows"),
        ({"method": "adaptive", "points": "5"}, "--points"),
    ],
)
def test_wrong_options_are_named(data, tmp_path, changes, words):
    result = run(data, tmp_path / "points.npz", **changes)
    assert_refused(result, words)
    assert not (tmp_path / "points.npz").exists()


def test_missing_file(tmp_path):
    assert_refused(run(tmp_path / "absent.npz", tmp_path / "points.npz"), "there is no file")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.zeros((5, 2))}, "no array named X_private"),
        ({"X_private": np.zeros(5)}, "N × D"),
        ({"X_private": np.zeros((0, 2))}, "N × D"),
        ({"X_private": np.array([["a", "b"]])}, "numbers"),
        ({"X_private": np.array([[object(), 1]])}, "not a NumPy .npz file of numbers"),
    ],
)
def test_wrong_arrays(tmp_path, arrays, words):
    np.savez(tmp_path / "private.npz", **arrays)
    assert_refused(run(tmp_path / "private.npz", tmp_path / "points.npz"), words)


def test_not_an_archive(tmp_path):
    (tmp_path / "private.npz").write_text("x,y\n1,2\n")
    assert_refused(run(tmp_path / "private.npz", tmp_path / "points.npz"), "not a NumPy .npz file")


def test_output_that_cannot_be_written(data, tmp_path):
    (tmp_path / "folder").mkdir()
    assert_refused(run(data, tmp_path / "folder", "--points", "20"), "--out")


def assert_refused(result, words):
    assert result.exit_code == 2
    assert words in result.output
    assert "Traceback" not in result.output
    assert isinstance(result.exception, SystemExit)
