"""Drafts say what they may know and nothing else."""

import datetime
import math
import re
from decimal import Decimal

import pyarrow as pa
import pytest

from kernelease.errors import SchemaError
from kernelease.table import (
    Boolean,
    Category,
    Date,
    Datetime,
    Integer,
    Number,
    Schema,
    String,
    draft_from_public,
)
from kernelease.table.draft import draft

PRIVATE = pa.table(
    {
        "age": pa.array([41, 59, None]),
        "weight": pa.array([71.25, math.nan, -1e9]),
        "drug": pa.array(["Xyzzypril", "Plughumab", None]).dictionary_encode(),
        "note": pa.array(["secret", "hidden", "quiet"]),
        "born": pa.array([datetime.date(1931, 7, 23)] * 3),
        "seen": pa.array([datetime.datetime(1987, 3, 4, 5, 6)] * 3, pa.timestamp("us", "UTC")),
        "sick": pa.array([True, False, None]),
        "cost": pa.array([Decimal("812.47")] * 3),
        "odd.name": pa.array([[667], [], None]),
    }
)


@pytest.mark.parametrize("declared", [True, False])
def test_a_draft_has_no_value_of_the_data(declared: bool) -> None:
    schema = PRIVATE.schema.with_metadata({"pandas": "41 Xyzzypril"})
    text = draft(schema, "t", declared_types=declared)
    for secret in ("41", "59", "71", "Xyzzypril", "Plugh", "secret", "1931", "1987", "812", "667", "pandas"):
        assert secret not in text
    assert text == draft(PRIVATE.slice(0, 0).schema, "t", declared_types=declared)


def test_declared_types_choose_the_type_of_a_column() -> None:
    text = draft(PRIVATE.schema, "t", declared_types=True)
    types = re.findall(r'\[columns\.(\S+)\]\ntype = "([^"]+)"', text)
    assert dict(types) == {
        "age": "integer",
        "weight": "number",
        "drug": "category",
        "note": "category",
        "born": "date",
        "seen": "datetime",
        "sick": "boolean",
        "cost": "number",
        '"odd.name"': "FILL IN",
    }
    assert set(re.findall(r'^type = "(.*)"', draft(PRIVATE.schema, "t", declared_types=False), re.M)) == {"FILL IN"}


def test_every_bound_and_list_is_marked() -> None:
    text = draft(PRIVATE.schema, "t", declared_types=True)
    for line in text.splitlines():
        if line.startswith(("min", "max", "values", "nullable", "other")):
            assert "# FILL IN" in line
    assert text.count("min = ") == 6


def test_an_unfilled_draft_is_refused_with_its_line() -> None:
    for declared in (True, False):
        text = draft(PRIVATE.schema, "t", declared_types=declared)
        with pytest.raises(SchemaError, match=r"line \d+: column 'age': \w+ is not filled in yet"):
            Schema.parse(text)


def test_a_filled_draft_is_a_schema() -> None:
    text = draft(pa.schema([("age", pa.int8()), ("sex", pa.string())]), 'my "t"', declared_types=True)
    text = text.replace('min = "FILL IN"', "min = 0").replace('max = "FILL IN"', "max = 9").replace('"FILL IN"', '"f"')
    schema = Schema.parse(text)
    assert schema.name == 'my "t"'
    assert schema.columns == (
        Integer(name="age", min=0, max=9, nullable=True),
        Category(name="sex", values=("f",), other=True, nullable=True),
    )


def test_a_public_table_gives_bounds_and_categories() -> None:
    schema = draft_from_public(PRIVATE.drop_columns(["odd.name"]), name="public")
    seen = datetime.datetime(1987, 3, 4, 5, 6, tzinfo=datetime.UTC)
    assert schema.name == "public"
    assert schema.columns == (
        Integer(name="age", min=41, max=59, nullable=True),
        Number(name="weight", min=-1e9, max=71.25, nullable=True),
        Category(name="drug", values=("Plughumab", "Xyzzypril"), other=True, nullable=True),
        Category(name="note", values=("hidden", "quiet", "secret"), other=True),
        Date(name="born", min=datetime.date(1931, 7, 23), max=datetime.date(1931, 7, 24)),
        Datetime(name="seen", min=seen, max=seen + datetime.timedelta(seconds=1)),
        Boolean(name="sick", nullable=True),
        Number(name="cost", min=812.47, max=2 * 812.47),
    )
    assert Schema.parse(schema.to_toml()) == schema


def test_odd_public_columns() -> None:
    texts = [f"text {i}" for i in range(300)]
    table = pa.table({"many": texts, "empty": [""] * 300, "large": [2**60 + i for i in range(300)], "same": [5] * 300})
    many, empty, large, same = draft_from_public(table)
    assert many == String(name="many", max_length=8)
    assert empty == String(name="empty", max_length=1)
    assert large == Number(name="large", min=2.0**60, max=2.0**61)
    assert same == Integer(name="same", min=5, max=6)
    for array in (pa.array([[1]]), pa.nulls(1), pa.array([None], pa.int64())):
        with pytest.raises(SchemaError, match=r"column 'x': type .* Declare it by hand"):
            draft_from_public(pa.table({"x": array}))
    with pytest.raises(SchemaError, match="no finite number"):
        draft_from_public(pa.table({"x": [math.nan, math.inf]}))
