"""Every ε that is accepted ends in a bundle that works: released, saved, loaded, verified, exported."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import kernelease as ke
from kernelease.cli import app
from kernelease.errors import ParameterError
from kernelease.privacy.accounting import LARGEST_EPSILON, SMALLEST_EPSILON

SCHEMA = """
[table]
name = "tiny"
neighbours = "{relation}"
{unit}
[columns.sex]
type = "category"
values = ["f", "m"]
[columns.age]
type = "integer"
min = 0
max = 9
"""
PERSONS = 'unit = "person"\nmax_rows_per_unit = 6\n'  # each weighs 60: the least noise in rows at the largest ε
DRAWN = np.random.default_rng(0).integers(0, (2, 10, 20), (60, 3))
TABLE = pa.table({"sex": [("f", "m")[code] for code in DRAWN[:, 0]], "age": DRAWN[:, 1], "person": DRAWN[:, 2]})


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["", PERSONS], ids=["rows", "persons"])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-6])
@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON, 0.01, 1.0, 20.0, 50.0, 100.0, LARGEST_EPSILON])
def test_a_release_of_every_epsilon_works(
    tmp_path: Path, epsilon: float, delta: float, relation: str, unit: str
) -> None:
    schema = ke.Schema.parse(SCHEMA.format(relation=relation, unit=unit))
    ledger = ke.LedgerFile.create(
        tmp_path / "ledger",
        cap=ke.Privacy(epsilon=epsilon, delta=delta, neighbours=ke.Neighbours(relation)),
        dataset="tiny",
        unit=schema.unit,
    )
    made = ke.release(TABLE, schema=schema, privacy=ke.Privacy(epsilon=epsilon, delta=delta), ledger=ledger)
    made.save(tmp_path / "bundle")
    assert ke.load(tmp_path / "bundle").table == made.table
    assert [item for item in ke.verify(tmp_path / "bundle") if not item.holds] == []
    exported = CliRunner().invoke(app, ["export", str(tmp_path / "bundle"), "--out", str(tmp_path / "rows.csv")])
    assert exported.exit_code == 0, exported.output
    (entry,) = ledger.entries()
    assert (entry.charge.asked.epsilon, entry.charge.asked.delta) == (epsilon, delta)


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON / 2, LARGEST_EPSILON * 2, 100_000.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_an_epsilon_beyond_is_refused_before_anything_is_charged(epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError, match=r"epsilon must be from 0.0001 to 1000, got"):
        ke.Privacy(epsilon=epsilon, delta=delta)
