"""Neighbouring tables leave the same bytes behind, once the mechanism's outputs are the same.

Whatever a release shows beside the noisy numbers (files, their sizes, stdout, the exit code) must not depend on a
private cell. So the mechanism's exact input is replaced by zeros and its noise by a fixed stream, and two tables that
differ in one row must then give identical bundles. A leak anywhere else would show.
"""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from kernelease.cli import app
from kernelease.privacy import mechanisms
from kernelease.privacy.noise import SeededNoise, SystemNoise

SCHEMA = """
[table]
name = "patients"
neighbours = "{neighbours}"

[columns.age]
type = "integer"
min = 0
max = 99
cells = 10
nullable = true

[columns.ward]
type = "category"
values = ["north", "south"]
other = true

[columns.cost]
type = "number"
min = 0
max = 1000
cells = 8
"""
BASE = ["34,north,12.5", "57,south,800", "8,north,0", "71,south,99.75"] * 20
CHANGES = {
    "an ordinary other row": "35,south,13",
    "a new category": "34,a ward that nobody knew,12.5",
    "an extreme value": "34,north,1e300",
    "minus infinity": "34,north,-inf",
    "a NULL": ",north,12.5",
    "an unparsable cell": "thirty,north,12.5",
    "a line that is too short": "34",
    "a line that is too long": "34,north,12.5,and,more",
    "a lone quote": '34,"north,12.5',
    "an empty line's worth of cells": ",,",
    "a very long cell": "34," + "n" * 100_000 + ",12.5",
}


@pytest.fixture(autouse=True)
def _fixed_mechanism(monkeypatch):
    """The same noisy numbers, whatever the rows: exact values are wiped, noise comes from one stream per release."""
    monkeypatch.setattr(mechanisms, "_shift", lambda exact, bits: np.zeros(len(exact), dtype=object))
    monkeypatch.setattr(SystemNoise, "gaussian", lambda self, scale, size: SeededNoise(size).gaussian(scale, size))


def release(folder: Path, name: str, lines: list[str | bytes], neighbours: str) -> tuple[int, str, dict[str, bytes]]:
    work = folder / name
    work.mkdir()
    (work / "schema.toml").write_text(SCHEMA.format(neighbours=neighbours))
    raw = [line if isinstance(line, bytes) else line.encode() for line in ["age,ward,cost", *lines]]
    (work / "data.csv").write_bytes(b"\n".join(raw) + b"\n")
    out = work / "bundle"
    arguments = ["release", str(work / "data.csv"), "--schema", str(work / "schema.toml"), "--epsilon", "1"]
    result = CliRunner().invoke(app, [*arguments, "--delta", "1e-9", "--out", str(out), "--quiet", "--rows", "50"])
    files = {path.name: path.read_bytes() for path in sorted(out.iterdir())} if out.exists() else {}
    return result.exit_code, result.stdout.replace(str(work), ""), files


def compare(folder: Path, first: list[str | bytes], second: list[str | bytes], neighbours: str) -> None:
    one, two = (release(folder, name, lines, neighbours) for name, lines in (("one", first), ("two", second)))
    assert one[0] == 0
    assert one[2].keys() == two[2].keys()
    for name in one[2]:
        assert one[2][name] == two[2][name], name
    assert one[:2] == two[:2]


@pytest.mark.parametrize("change", CHANGES, ids=str)
@pytest.mark.slow
def test_replacing_a_row_changes_no_byte(tmp_path, change):
    compare(tmp_path, list(BASE), [CHANGES[change], *BASE[1:]], "replace-one")


def test_bytes_that_are_not_utf8_change_no_byte(tmp_path):
    compare(tmp_path, list(BASE), [b"34,n\xffrth,12.5", *BASE[1:]], "replace-one")


@pytest.mark.parametrize("extra", ["34,north,12.5", "thirty,a ward that nobody knew,1e300", "34"])
@pytest.mark.slow
def test_one_more_row_changes_no_byte_under_add_remove(tmp_path, extra):
    compare(tmp_path, list(BASE), [*BASE, extra], "add-remove")


def test_a_constant_column_changes_no_byte(tmp_path):
    constant = ["34,north,5"] * len(BASE)
    compare(tmp_path, constant, ["34,north,6", *constant[1:]], "replace-one")


def test_the_comparison_can_fail(tmp_path, monkeypatch):
    """The broken twin: with the exact counts let through, the same two tables differ."""
    monkeypatch.undo()
    monkeypatch.setattr(SystemNoise, "gaussian", lambda self, scale, size: np.zeros(size, dtype=np.int64))
    with pytest.raises(AssertionError):
        compare(tmp_path, list(BASE), ["99,south,999", *BASE[1:]], "replace-one")
