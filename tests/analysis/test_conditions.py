"""Conditions, against the same rules written in Python; and everything that is no condition."""

import dataclasses
import datetime

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from kernelease.analysis.estimands import parse_condition
from kernelease.errors import KerneleaseError, ParameterError
from kernelease.table import Schema
from kernelease.table.expressions.logic import DEEPEST, parse
from kernelease.table.expressions.terms import LONGEST

SCHEMA = Schema.parse(
    """
    [columns.age]
    type = "integer"
    min = 0
    max = 99
    nullable = true
    [columns.limit]
    type = "number"
    min = 0
    max = 99
    [columns.sex]
    type = "category"
    values = ["female", "male", "it's"]
    nullable = true
    [columns.pain]
    type = "ordinal"
    values = ["none", "some", "much"]
    [columns.worst]
    type = "ordinal"
    values = ["much", "some", "none"]
    [columns.works]
    type = "boolean"
    [columns.born]
    type = "date"
    min = 1900-01-01
    max = 2024-12-31
    [columns."is null"]
    type = "boolean"
    """
)
TABLE = pa.table(
    {
        "age": pa.array([5, 40, None, 70]),
        "limit": [30.5, 40.0, 1.0, 80.0],
        "sex": ["female", "male", None, "it's"],
        "pain": ["none", "some", "much", "some"],
        "worst": ["none", "some", "much", "some"],
        "works": [False, True, True, False],
        "born": [datetime.date(2019, 1, 1), datetime.date(1984, 2, 3), datetime.date(1950, 1, 1), None],
        "is null": [True, False, False, False],
    }
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("age > 30", "0101"),
        ("30 < age", "0101"),
        ("age >= 40 and sex == 'male'", "0100"),
        ("age < 40 or sex == 'it''s'", "1001"),
        ("not age > 30", "1000"),  # NULL is not known, so it does not count either way
        ("not (age > 30 or works == true)", "1000"),
        ("age is null", "0010"),
        ("age is not null and works == false", "1001"),
        ("sex in ('female', 'male')", "1100"),
        ("sex not in ('female')", "0101"),
        ("not sex in ('female')", "0101"),
        ("sex != 'female'", "0101"),
        ("pain >= 'some'", "0111"),
        ("age < limit", "1001"),
        ("limit == 40", "0100"),
        ("limit == -1.5e3", "0000"),
        ("age < " + "9" * 400, "1101"),  # beyond every float
        ("age > -" + "9" * 5000, "1101"),  # and beyond what int() reads
        ("limit == 1e999", "0000"),
        ("born >= '1984-02-03'", "1100"),
        ('"is null" == true', "1000"),
        ("`is null` is null", "0000"),
        ("works == true or works == false and age > 50", "0111"),
        ("((age) is null)", "0010"),
        ("age > (30)", "0101"),
        ("age > 2 * (10 + 5)", "0101"),  # numbers alone are computed at once
        ("if works == true then age > 50", "1001"),
    ],
)
def test_conditions(text, expected):
    assert "".join(str(int(flag)) for flag in parse_condition(text, SCHEMA).holds(TABLE)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it ends too early"),
        ("age", "'age' is no condition"),
        ("age ~ 30", "can't be read"),
        ("age > 30 sex", "'sex' is not expected there"),
        ("age >> 30", "a column or a value is expected, not '>'"),
        ("age and works", "'age' is no condition: compare it with something"),
        ("and", "a column or a value is expected, not 'and'"),
        ("(age > 3", "')' is expected, not the end"),
        ("age not 3", "'in' is expected, not '3'"),
        ("age is 3", "'null' is expected, not '3'"),
        ("age in 3", "'(' is expected, not '3'"),
        ("age in (limit)", "takes values, not 'limit'"),
        ("1 < 2", "needs a column"),
        ("agee > 3", "Did you mean age?"),
        ("sex > 'male'", "has no order"),
        ("sex == 'mal'", "Did you mean 'male'?"),
        ("age == 'old'", "holds numbers"),
        ("works == 1", "true or false"),
        ("born > 3", "dates like"),
        ("age == sex", "do not compare"),
        ("pain == worst", "do not compare"),
        ("age + 5 > limit", "'age + 5 > limit' computes with columns"),
        ("sex == 'male' or age - limit == 0", "'age - limit == 0' computes with columns"),
        ("age > 3; drop", "can't be read"),
        ("(" * (DEEPEST + 1) + "age > 3", "nested more than"),
        ("not " * (DEEPEST + 1) + "age > 3", "nested more than"),
        ("age > 3 or " * LONGEST + "age > 3", "longer than"),
    ],
)
def test_what_is_no_condition_is_told(text, message):
    """Never with more than a few hundred characters, whatever was given."""
    with pytest.raises(ParameterError, match="condition") as caught:
        parse_condition(text, SCHEMA)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_condition_is_a_text():
    with pytest.raises(ParameterError, match="condition 5: must be a string"):
        parse_condition(5, SCHEMA)


@pytest.mark.slow
@given(st.text(alphabet="age sxin(),'\"`<>=!0123.notrullbdor\n", max_size=40) | st.text(max_size=40))
def test_no_text_does_anything_else(text):
    try:
        flags = parse_condition(text, SCHEMA).holds(TABLE)
    except KerneleaseError:
        return
    assert flags.shape == (4,)


CALENDAR = Schema.parse(
    """
    [columns.seen]
    type = "datetime"
    min = 2020-01-01T00:00:00
    max = 2024-12-31T23:59:59

    [columns.day]
    type = "date"
    computed = "date(seen)"

    [columns.year]
    type = "integer"
    computed = "year(day)"
    """
)


@pytest.mark.parametrize("operator", ["==", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    ("asked", "plainly"),
    [
        ("year(seen) {} 2022", "year(seen) {} 2022"),
        ("2022 {} year(seen)", "2022 {} year(seen)"),
        ("year {} 2022", "year(seen) {} 2022"),
        ("day {} '2022-03-01'", "date(seen) - date(other) {} 0"),
    ],
)
def test_a_year_and_a_day_are_stretches_of_a_date(asked: str, plainly: str, operator: str) -> None:
    """Whatever they are compared with: the same rows as by computing with them, from tests of one measured column."""
    condition = parse_condition(asked.format(operator), CALENDAR, CALENDAR.structure)
    assert condition.columns == ("seen",)
    first = datetime.datetime(2021, 12, 31)
    moments = [first + datetime.timedelta(hours=7 * hours) for hours in range(1500)]
    rows = pa.table({"seen": moments, "other": [datetime.datetime(2022, 3, 1, 5)] * len(moments)})
    seen = CALENDAR.column("seen")
    other = dataclasses.replace(seen, name="other")
    assert condition.holds(rows).tolist() == parse(plainly.format(operator), [seen, other]).holds(rows).tolist()


def test_other_parts_of_a_date_were_not_measured() -> None:
    for text in ("month(seen) == 3", "year(seen) == 2022.5", "year(seen) < 99999", "hour(seen) < 12"):
        with pytest.raises(ParameterError, match="computes with columns"):
            parse_condition(text, CALENDAR, CALENDAR.structure)
