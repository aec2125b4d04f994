"""A small private table, its schema, and a way to run commands on them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from kernelease.cli import app
from kernelease.exact import counting

SCHEMA = """\
[table]
name = "people"
neighbours = "replace-one"

[columns.age]
type = "integer"
min = 18
max = 99
cells = 8

[columns.sex]
type = "category"
values = ["female", "male"]

[columns.hours]
type = "number"
min = 0.0
max = 80.0
cells = 8
nullable = true

[columns.employed]
type = "boolean"
"""
PROMISE = ("--epsilon", "2", "--delta", "1e-6")


class Commands:
    """`kernelease` in this process."""

    def __init__(self) -> None:
        self._runner = CliRunner()

    def __call__(self, *words, code=0, **options):
        result = self._runner.invoke(app, [str(word) for word in words], **options)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.stderr
        assert "Traceback" not in result.stderr
        return result

    def json(self, *words, code=0):
        """The one JSON object on stdout."""
        return json.loads(self(*words, "--json", code=code).stdout)


@pytest.fixture(scope="session")
def run():
    return Commands()


def people(rows=400, seed=3):
    generator = np.random.default_rng(seed)
    employed = generator.random(rows) < 0.7
    hours = np.where(employed, generator.normal(38.0, 6.0, rows), 2.0).clip(0.0, 80.0)
    return pa.table(
        {
            "age": generator.integers(18, 90, rows),
            "sex": np.where(generator.random(rows) < 0.5, "female", "male"),
            "hours": pa.array(hours, mask=generator.random(rows) < 0.1),
            "employed": employed,
        }
    )


def write_people(folder: Path, *, schema: str = SCHEMA, table: pa.Table | None = None) -> Path:
    pyarrow.csv.write_csv(people() if table is None else table, folder / "people.csv")
    (folder / "people.toml").write_text(schema)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with people.csv and people.toml, which is the current one."""
    monkeypatch.chdir(write_people(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def released(run, tmp_path_factory):
    """A finished release, made once."""
    folder = write_people(tmp_path_factory.mktemp("released"))
    run(
        *("release", folder / "people.csv", "--schema", folder / "people.toml", *PROMISE),
        *("--out", folder / "release", "--quiet"),
    )
    return folder / "release"


@pytest.fixture
def bundle(released, here):
    """A copy of the finished release in the current folder."""
    shutil.copytree(released, here / "release")
    return Path("release")


@pytest.fixture
def fixed_noise(monkeypatch):
    """The one door of the private side, with the same noise each time."""
    _replace_door(monkeypatch, lambda exact: exact)


@pytest.fixture
def fixed_mechanism(monkeypatch):
    """The one door of the private side, with the same numbers whatever goes in."""
    _replace_door(monkeypatch, lambda exact: np.full(len(exact), 9, dtype=object))


def _replace_door(monkeypatch, seen):
    honest = counting.measure

    def door(exact, *arguments, **options):
        return honest(seen(exact), *arguments, **{**options, "noise": FixedNoise()})

    monkeypatch.setattr(counting, "measure", door)


class FixedNoise:
    private = True

    def gaussian(self, scale, size):
        return np.rint(scale * np.sin(np.arange(size))).astype(np.int64)
