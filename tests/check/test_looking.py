"""A draft from the private rows: what it proposes, what it marks, what it leaves out."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelease.check.looking import draft_by_looking
from kernelease.check.outward import outward
from kernelease.errors import SchemaError
from kernelease.table import Schema
from kernelease.table.draft import MARK
from kernelease.table.table_domain import TableDomain
from kernelease.table.written import Written


def looked(path: Path, **written: object) -> str:
    return draft_by_looking(str(path), "t", query=None, written=Written(**written))  # type: ignore[arg-type]  # as tests give them


def test_types_bounds_and_ways_of_writing(tmp_path: Path) -> None:
    days = [f"{10 + i % 18}.0{1 + i % 9}.2021" for i in range(300)]
    rows = [
        f"{i};{20 + i % 37};{i % 7},5;{'ja' if i % 2 else 'nein'};{i % 2};{day};0{i % 5};text {i};"
        for i, day in enumerate(days)
    ]
    text = "\n".join(["row_id;age;dose;told;sick;day;code;note;none", *rows, "300;NA;1,5;ja;1;01.01.2021;01;x;", ""])
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    drafted = looked(tmp_path / "t.csv", separator=";")
    schema = Schema.parse(drafted)
    assert {column.name: column.tag for column in schema} == {
        **{"age": "integer", "dose": "number", "told": "category", "sick": "boolean", "day": "date"},
        **{"code": "category", "none": "string"},
    }
    assert schema.source.to_dict() == {"separator": ";", "nulls": ["NA"], "decimal": ",", "dates": ["%d.%m.%Y"]}
    assert "# column row_id is left out" in drafted
    assert "# column note is left out" in drafted
    kinds = ("type", "min", "max", "values", "nulls", "decimal", "dates")
    assert all(MARK in line for line in drafted.splitlines() if line.startswith(kinds))
    with pytest.raises(SchemaError, match="confirmed is false"):
        TableDomain(schema)
    confirmed = Schema.parse(drafted.replace("confirmed = false", "confirmed = true"))
    assert "drafted by looking" in TableDomain(confirmed).provenance


def test_typed_sources(tmp_path: Path) -> None:
    table = pa.table({"n": [1.5, 2.25, None], "when": pa.array([0, 10**15, 10**15 + 1], pa.timestamp("us"))})
    pq.write_table(table, tmp_path / "t.parquet")
    schema = Schema.parse(looked(tmp_path / "t.parquet"))
    assert [column.tag for column in schema] == ["number", "datetime"]
    assert schema.source == Written()


@given(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)).map(sorted))
def test_bounds_go_outward(pair: list[float]) -> None:
    low, high = outward(*pair)
    slack = 1e-9 * max(1e-300, abs(pair[0]), abs(pair[1]))
    assert low <= pair[0] + slack
    assert pair[1] - slack <= high
    assert low < high
