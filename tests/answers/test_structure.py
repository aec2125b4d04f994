"""A release of a table with derived columns: rows, documents, a bundle that is read and verified, questions."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kernelease import Privacy, Release, Schema, load, release, verify
from kernelease.bundle.verify import row_problems
from kernelease.errors import ParameterError, SchemaError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.noises import SeededNoise

SCHEMA = Schema.parse("""
[table]
name = "loans"

[columns.total]
type = "integer"
computed = "principal + 2 * interest - 1"

[columns.principal]
type = "integer"
min = 0
max = 20

[columns.interest]
type = "integer"
min = 0
max = 9

[columns.sub]
type = "hierarchy"
values = ["A1", "A2", "B1", "B2", "B3"]
prefix = 1

[columns.grade]
type = "ordinal"
determined_by = "sub"
mapping = { A1 = "good", A2 = "good", B1 = "bad", B2 = "bad", B3 = "bad" }
values = ["bad", "good"]

[columns.late]
type = "boolean"
computed = "days > 3"

[columns.days]
type = "integer"
min = 0
max = 9
nullable = true
null_when = "interest == 0"

[columns.ratio]
type = "number"
computed = "principal / (interest + 1)"
decimals = 2
""")
ROWS = 4000


def _private() -> pa.Table:
    generator = np.random.default_rng(5)
    return pa.table(
        {
            "principal": generator.integers(0, 21, ROWS),
            "interest": generator.integers(0, 10, ROWS),
            "sub": generator.choice(["A1", "A2", "B1", "B2", "B3"], ROWS, p=[0.2, 0.3, 0.3, 0.1, 0.1]),
            "days": pa.array(generator.integers(0, 10, ROWS), mask=generator.random(ROWS) < 0.2),
        }
    )


@pytest.fixture(scope="module")
def made() -> Release:
    privacy = Privacy(epsilon=5.0, delta=1e-6)
    return release(_private(), schema=SCHEMA, privacy=privacy, noise=SeededNoise(1), rows=2000)


def test_every_row_keeps_the_structure(made: Release) -> None:
    assert made.table.column_names == [*SCHEMA.order, "weight"]
    assert row_problems(made.table, made.measurements.domain) == []
    rows = made.rows.to_pandas()
    assert (rows.total == rows.principal + 2 * rows.interest - 1).all()
    assert (rows.days[rows.interest == 0]).isna().all()
    assert ((rows.grade == "good") == rows["sub"].str.startswith("A")).all()


def test_nothing_derived_is_measured(made: Release) -> None:
    assert isinstance(made.measurements.measured, NoisyBlocks)
    assert made.measurements.measured.sizes == (21, 10, 5, 11)


def test_a_bundle_is_read_back_and_verified(made: Release, tmp_path: Path) -> None:
    path = tmp_path / "bundle"
    made.save(path)
    again = load(path)
    assert again.schema == SCHEMA
    assert again.table == made.table
    assert all(finding.holds for finding in verify(path) if finding.check != "noise")
    text = (path / "datasheet.md").read_text(encoding="utf-8")
    assert "total (integer) is computed as principal" in text
    assert "grade (ordinal) is determined by sub" in text
    assert "days is NULL where interest == 0" in text


def test_rows_that_break_the_structure_are_found(made: Release) -> None:
    place = made.table.column_names.index("total")
    moved = made.table.set_column(place, made.table.schema.field("total"), pc.add(made.table.column("total"), 1))
    assert row_problems(moved, made.measurements.domain) == ["column 'total' does not hold what its row says"]
    odd = made.table.set_column(place, "total", made.table.column("total").cast(pa.float64()))
    assert row_problems(odd, made.measurements.domain) == ["column 'total' is of type double, declared is int64"]
    place = made.table.column_names.index("sub")
    strange = made.table.set_column(place, "sub", pa.array(["C1"] * made.table.num_rows))
    assert any(
        "column 'sub' holds values outside its declaration" in one
        for one in row_problems(strange, made.measurements.domain)
    )


def test_means_of_what_is_linear_are_sums_of_means(made: Release) -> None:
    private = _private().to_pandas()
    total = made.mean("total")
    low, high = total.interval(0.999999)
    assert low <= float((private.principal + 2 * private.interest - 1).mean()) <= high
    parts = [made.mean("principal"), made.mean("interest")]
    assert total.value == pytest.approx(parts[0].value + 2 * parts[1].value - 1)
    assert "sum of means" in total.summary()
    assert made.mean("total", where="interest > 4").value > total.value


def test_other_means_come_from_the_cells(made: Release) -> None:
    private = _private().to_pandas()
    low, high = made.mean("ratio").interval(0.999999)
    assert low <= float((private.principal / (private.interest + 1)).mean()) <= high
    low, high = made.mean("late").interval(0.999999)
    assert low <= float((private.days > 3)[private.days.notna()].mean()) <= high
    assert set(made.mean("ratio", by="grade")) == {"bad", "good"}


def test_conditions_and_groups_go_through_what_was_measured(made: Release) -> None:
    private = _private().to_pandas()
    good = int(private["sub"].str.startswith("A").sum())
    groups = made.count(by="grade")
    assert list(groups) == ["bad", "good"]
    for estimate in (made.count("grade == 'good'"), made.count("not grade < 'good'"), groups["good"]):
        low, high = estimate.interval(0.999999)
        assert low <= good <= high
        assert high - low < 0.2 * ROWS
    assert list(made.count(by="late")) == ["false", "true", "NULL"]
    missing = made.count("late is null").value
    assert missing == pytest.approx(made.count("days is null").value)
    low, high = made.count("sub == 'A1'").interval(0.999999)  # a leaf has counts of its own
    assert low <= int((private["sub"] == "A1").sum()) <= high
    assert high - low < 0.1 * ROWS


def test_what_can_not_be_answered_names_the_columns_to_ask_about(made: Release) -> None:
    with pytest.raises(
        ParameterError, match=r"'total' is derived, and was not measured. Ask about principal and interest"
    ):
        made.count("total > 5")
    with pytest.raises(SchemaError, match=r"'total' is computed as .* Ask about principal and interest instead"):
        made.count(by="total")
    with pytest.raises(SchemaError, match=r"'grade' is determined by sub, and was not measured. Ask about sub instead"):
        made.quantile("grade", 0.5)
    with pytest.raises(ParameterError, match="'grade' is of type ordinal and has no mean"):
        made.mean("grade")
