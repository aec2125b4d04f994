"""`kernelease demo`, on a small table."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from kernelease import __version__, load, verify
from kernelease.cli import app

SMALL = ("--rows", "400", "--epsilon", "5")


def _run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """The demo, run once: its bundle, and what it says."""
    out = tmp_path_factory.mktemp("demo") / "bundle"
    return out, _run("demo", *SMALL, "--out", out)


@pytest.mark.slow
def test_the_demo_writes_a_release_that_verifies(demo: tuple[Path, Result]) -> None:
    out, result = demo
    assert result.exit_code == 0, result.output
    made = load(out)
    assert made.certificate.private
    assert (made.certificate.epsilon, made.certificate.delta, made.certificate.rows) == (5.0, 1e-6, 400.0)
    assert made.table.num_rows == 400
    assert made.weights.sum() == pytest.approx(1.0)
    assert all(finding.holds for finding in verify(out))
    assert "400" in result.output
    assert made.certificate.headline.split(",")[0] in " ".join(result.output.split())


@pytest.mark.slow
def test_the_demo_replaces_an_older_one_and_nothing_else(
    demo: tuple[Path, Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(demo[0], "demo-release")
    assert _run("demo", *SMALL, "--seed", 1).exit_code == 0
    assert load("demo-release").certificate.seed == 1
    shutil.copytree(demo[0], "somebody-s")
    assert _run("demo", *SMALL, "--out", "somebody-s").exit_code == 2


@pytest.mark.slow
def test_the_demo_s_means_are_near_the_private_ones(tmp_path: Path) -> None:
    """At a large budget; the noise is the operating system's, but small against these bounds."""
    out = tmp_path / "bundle"
    assert _run("demo", "--rows", "3000", "--epsilon", "8", "--out", out, "--quiet").exit_code == 0
    ages = np.array(load(out).table.column("age").to_pylist(), dtype=float)
    assert abs(ages.mean() - 47.0) < 5.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--epsilon", "0"), "epsilon must be positive"),
        (("--epsilon", "nan"), "epsilon must be positive"),
        (("--delta", "1"), "delta must be at least 0"),
        (("--rows", "10"), "100"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_bad_parameters_are_refused_in_words(tmp_path: Path, words: tuple[str, str], message: str) -> None:
    out = tmp_path / "bundle"
    result = _run("demo", "--rows", "400", "--out", out, *words)
    assert result.exit_code != 0
    assert message.lower() in " ".join(result.output.split()).lower()
    assert "Traceback" not in result.output
    assert not out.exists()


def test_version() -> None:
    result = _run("--version")
    assert result.exit_code == 0
    assert result.output.strip() == __version__
