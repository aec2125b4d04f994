"""Rules between columns: what holds, where NULL is, and what is no rule."""

import contextlib
import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import SchemaError
from kernelease.table import Boolean, Category, Column, Date, Datetime, Integer, Number, Ordinal, Rule, String

DAY = datetime.date(2024, 1, 1)
COLUMNS: dict[str, Column] = {
    column.name: column
    for column in (
        Integer(name="a", min=0, max=9, nullable=True),
        Integer(name="b", min=0, max=9, nullable=True),
        Number(name="hours-per-week", min=0, max=99),
        Number(name="odd name", min=0, max=99),
        Category(name="marital", values=("Never-married", "Mac's"), other=True),
        Category(name="partner", values=("Never-married", "x")),
        Category(name="code", values=(1, 2)),
        Ordinal(name="pain", values=("none", "some", "much")),
        Ordinal(name="pain_after", values=("none", "some", "much")),
        Ordinal(name="grade", values=("d", "c")),
        Boolean(name="employed", nullable=True),
        Date(name="start", min=DAY, max=DAY.replace(year=2025)),
        Datetime(
            name="seen",
            min=datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
            max=datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC),
        ),
        String(name="note", max_length=9),
    )
}


def holds(rule: str, **cells: list[object]) -> list[bool]:
    table = pa.table({name: pa.array(values, COLUMNS[name].arrow_type) for name, values in cells.items()})
    return Rule.parse(rule, COLUMNS.values()).holds(table).tolist()


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("<=", [True, True, False, True, True]),
        ("<", [True, False, False, True, True]),
        ("==", [False, True, False, True, True]),
        ("!=", [True, False, True, True, True]),
        (">=", [False, True, True, True, True]),
        (">", [False, False, True, True, True]),
    ],
)
def test_operators_and_null(operator: str, expected: list[bool]) -> None:
    assert holds(f"a {operator} b", a=[1, 2, 3, None, 4], b=[2, 2, 2, 1, None]) == expected
    assert holds(f"a{operator}2", a=[1, 2, 3, None]) == expected[:4]
    mirrored = operator.translate(str.maketrans("<>", "><"))
    assert holds(f"2 {mirrored} a", a=[1, 2, 3, None]) == expected[:4]


@settings(deadline=None)
@given(st.lists(st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9))))
def test_implication_is_not_or(rows: list[tuple[int | None, int | None]]) -> None:
    result = holds("if a >= 5 and a != 7 then b == 0", a=[a for a, _ in rows], b=[b for _, b in rows])
    expected = [a is None or not (a >= 5 and a != 7) or b is None or b == 0 for a, b in rows]
    assert result == expected


def test_implications_between_types() -> None:
    rule = "if marital == 'Never-married' then a == 0 and employed == true"
    cells = {"marital": ["Never-married", "Never-married", "Mac's"], "a": [0, 1, 5], "employed": [None, True, False]}
    assert holds(rule, **cells) == [True, False, True]
    assert Rule.parse(rule, COLUMNS.values()).columns == ("marital", "a", "employed")


def test_literals_and_names() -> None:
    assert holds("hours-per-week <= 1.5e1", **{"hours-per-week": [15.0, 15.1, float("nan")]}) == [True, False, True]
    assert holds('"odd name" > -1', **{"odd name": [0.0]}) == [True]
    assert holds("`odd name` < +.5", **{"odd name": [0.0, 1.0]}) == [True, False]
    assert holds("marital == 'Mac''s'", marital=["Mac's", "__other__"]) == [True, False]
    assert holds("marital != '__other__'", marital=["Mac's", "__other__"]) == [True, False]
    assert holds("code == 2", code=[1, 2]) == [False, True]
    assert holds("pain >= 'some'", pain=["none", "some", "much"]) == [False, True, True]
    assert holds("pain_after <= pain", pain=["some"], pain_after=["much"]) == [False]
    assert holds("marital == partner", marital=["Never-married", "__other__"], partner=["Never-married", "x"]) == [
        True,
        False,
    ]
    assert holds("note == ''", note=["", "x"]) == [True, False]


def test_rules_that_owners_write() -> None:
    assert holds("a is null or b >= 6", a=[None, 1, 1, 1], b=[0, 6, 5, None]) == [True, True, False, True]
    assert holds("a + b == 9", a=[4, 4, None], b=[5, 6, 1]) == [True, False, True]
    assert holds("if not a in (1, 2) then b - a > -1 or b == 0", a=[1, 3, 3, 3], b=[0, 3, 2, 0]) == [
        True,
        True,
        False,
        True,
    ]


def test_dates() -> None:
    assert holds("start >= '2024-02-01'", start=[DAY, DAY.replace(month=2)]) == [False, True]
    noon = datetime.datetime(2024, 1, 1, 12, tzinfo=datetime.UTC)
    assert holds("start <= seen", start=[DAY, DAY.replace(day=2)], seen=[noon, noon]) == [True, False]
    assert holds("seen < '2024-01-01T13:00:00+01:00'", seen=[noon, noon.replace(hour=11)]) == [False, True]


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("", "it ends too early"),
        ("a", "'a' is no condition: compare it with something"),
        ("a <=", "it ends too early"),
        ("a ~ b", "can't be read from '~ b' on"),
        ("a <= b <= 5", "'<=' is not expected there: join comparisons with and"),
        ("<= b", "a column or a value is expected, not '<='"),
        ("a b", "'b' is not expected there"),
        ("1 <= 2", "a comparison needs a column"),
        ("if a == 1", "'then' is expected, not the end"),
        ("if a == 1 then", "it ends too early"),
        ("a <= age", "there is no column 'age'"),
        ("partner == Never-married", "there is no column 'Never-married'. Text goes in single quotes"),
        ("a <= 5x", "can't be read"),
        ("a == '1", "can't be read from"),
        ("a == '1'", "column 'a': holds numbers and can't be compared with '1'"),
        ("a == true", "can't be compared with True"),
        ("a == marital", "'a' \\(integer\\) and 'marital' \\(category\\) do not compare"),
        ("marital < partner", "'marital' has no order: only == and !="),
        ("employed < true", "'employed' has no order"),
        ("employed == 1", "is compared with true or false, not with 1"),
        (
            "marital == 'Never-maried'",
            "'Never-maried' is not one of the declared values. Did you mean 'Never-married'?",
        ),
        ("pain == 'sume'", "'sume' is not one of the declared values. Did you mean 'some'?"),
        ("pain <= grade", "must have the same values in the same order"),
        ("start <= 'soon'", "is compared with dates like '2024-12-31', not with 'soon'"),
        ("start <= 5", "is compared with dates"),
        ("__import__('os')", "there is no column '__import__'"),
        ("start + 1 > seen", "a date and a datetime do not compare"),
        ("9" * 5000 + " == marital", "inf is not one of the declared values"),
    ],
)
def test_what_is_no_constraint(rule: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as error:
        Rule.parse(rule, COLUMNS.values())
    assert error.value.path == ("table", "constraints")


@settings(deadline=None)
@given(st.text() | st.text(alphabet="ab<>=!'\"`.1 iftheand"))
def test_any_text_is_a_constraint_or_a_schema_error(rule: str) -> None:
    with contextlib.suppress(SchemaError):
        Rule.parse(rule, COLUMNS.values())
