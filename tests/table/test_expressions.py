"""The language of conditions: against the same logic written in Python, printed and read again, and under attack."""

import datetime
import operator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import ParameterError
from kernelease.table import Boolean, Category, Column, Date, Datetime, Integer, Number, Ordinal
from kernelease.table.expressions.logic import (
    DEEPEST,
    MOST_SIGNS,
    Compared,
    Computed,
    Condition,
    Joined,
    Missing,
    Negated,
    parse,
)
from kernelease.table.expressions.terms import LONGEST, Arithmetic, Extracted, Rounded

DAY = datetime.date(2024, 1, 1)
A = Integer(name="a", min=-9, max=9, nullable=True)
B = Integer(name="hours-per-week", min=-9, max=9, nullable=True)
X = Number(name='5" x', min=0, max=99, resolution=0.01, nullable=True)
Y = Number(name="in", min=0, max=99, resolution=0.01, nullable=True)
SEX = Category(name="sex", values=("Female", "Male", "it's"), nullable=True)
PAIN = Ordinal(name="pain", values=("none", "some", "much"), nullable=True)
WORKS = Boolean(name="works", nullable=True)
BORN = Date(name="born", min=DAY, max=DAY.replace(year=2025), nullable=True)
COLUMNS: tuple[Column, ...] = (A, B, X, Y, SEX, PAIN, WORKS, BORN)
CENTS = st.integers(0, 9900).map(lambda cents: cents / 100)
VALUES: dict[Column, st.SearchStrategy[Any]] = {
    A: st.integers(-9, 9),
    B: st.integers(-9, 9),
    X: CENTS,
    Y: CENTS,
    SEX: st.sampled_from(SEX.values),
    PAIN: st.sampled_from(PAIN.values),
    WORKS: st.booleans(),
    BORN: st.dates(DAY, DAY.replace(year=2025)),
}
ORDER = ("<", "<=", ">", ">=")
SAME = ("==", "!=")
PYTHON = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda x, y: x / y if y else None,
}

# --------------------------------------------------------------------------------------------------------------- trees

LITERALS = st.integers(-99, 99) | st.integers(-990, 990).map(lambda tenths: tenths / 10)
NUMBERS = st.sampled_from([A, B, X, Y])


def _arithmetic(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    known, any_part = NUMBERS | inner, NUMBERS | inner | LITERALS
    sides = st.tuples(known, any_part) | st.tuples(any_part, known)
    return st.builds(
        lambda both, sign: Arithmetic(left=both[0], sign=sign, right=both[1]), sides, st.sampled_from("+-*/")
    )


ARITHMETIC = st.recursive(_arithmetic(st.nothing()), _arithmetic, max_leaves=3)


def _compared(column: Column) -> st.SearchStrategy[Condition]:
    written = VALUES[column].map(lambda value: str(value) if isinstance(value, datetime.date) else value)
    others = [other for other in COLUMNS if other.family == column.family]
    signs = st.sampled_from(SAME + ORDER if column.ordered else SAME)
    return st.builds(
        lambda sign, right: Compared(left=column, operator=sign, right=right), signs, written | st.sampled_from(others)
    )


LEAVES = st.one_of(
    st.sampled_from(COLUMNS).flatmap(_compared),
    st.sampled_from(COLUMNS).map(lambda column: Missing(column=column)),
    st.builds(
        lambda left, sign, right: Computed(left=left, operator=sign, right=right),
        ARITHMETIC,
        st.sampled_from(SAME + ORDER),
        ARITHMETIC | NUMBERS | LITERALS,
    ),
)


def _joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    joined = st.builds(lambda parts, every: Joined(parts=parts, every=every), several, st.booleans())
    return joined | inner.map(lambda part: Negated(part=part))


TREES = st.recursive(LEAVES, _joined, max_leaves=8)
ROWS = st.lists(st.tuples(*(st.none() | VALUES[column] for column in COLUMNS)), min_size=1, max_size=6)


# -------------------------------------------------------------------------------------------------------------- oracle


def number(term: Any, row: dict[str, Any]) -> Fraction | None:
    """A term in exact decimals."""
    if isinstance(term, Arithmetic):
        left, right = number(term.left, row), number(term.right, row)
        return None if left is None or right is None else PYTHON[term.sign](left, right)
    value = row[term.name] if isinstance(term, Column) else term
    return None if value is None else Fraction(Decimal(repr(value)))


def key(term: Any, column: Column, row: dict[str, Any]) -> Any:
    value = row[term.name] if isinstance(term, Column) else term
    if value is None or column is not PAIN:
        return str(value) if isinstance(value, datetime.date) else value
    return PAIN.values.index(value)


def truth(condition: Condition, row: dict[str, Any]) -> bool | None:
    """The condition on one row, as SQL defines it."""
    match condition:
        case Missing():
            return row[condition.column.name] is None
        case Negated():
            inner = truth(condition.part, row)
            return None if inner is None else not inner
        case Joined():
            found = [truth(part, row) for part in condition.parts]
            decisive = not condition.every
            return decisive if decisive in found else None if None in found else not decisive
        case Compared():
            left, right = key(condition.left, condition.left, row), key(condition.right, condition.left, row)
        case Computed():
            left, right = number(condition.left, row), number(condition.right, row)
    return None if left is None or right is None else PYTHON[condition.operator](left, right)


@pytest.mark.slow
@given(tree=TREES, rows=ROWS)
@settings(deadline=None)
def test_conditions_are_what_sql_says_row_by_row(tree: Condition, rows: list[tuple[Any, ...]]) -> None:
    arrays = [
        pa.array(cells, column.arrow_type) for column, cells in zip(COLUMNS, zip(*rows, strict=True), strict=True)
    ]
    table = pa.table(arrays, names=[column.name for column in COLUMNS])
    expected = [truth(tree, dict(zip(table.column_names, row, strict=True))) for row in rows]
    assert tree.test(table).to_pylist() == expected
    assert tree.holds(table).tolist() == [found is True for found in expected]
    assert tree.allows(table).tolist() == [found is not False for found in expected]


@pytest.mark.slow
@given(tree=TREES)
@settings(deadline=None)
def test_what_is_printed_is_read_again(tree: Condition) -> None:
    again = parse(str(tree), COLUMNS)
    assert again == tree
    assert hash(again) == hash(tree)
    assert str(again) == str(tree)
    assert set(tree.columns) <= {column.name for column in COLUMNS}


# ------------------------------------------------------------------------------------------------------------- grammar


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a in (1, -2)", "a == 1 or a == -2"),
        ("a in (1)", "a == 1"),
        ("a not in (1, 2)", "not (a == 1 or a == 2)"),
        ("a is not null", "not a is null"),
        ("if a > 1 then a < 3", "not a > 1 or a < 3"),
        ("if a > 1 then if a < 3 then a == 2", "not a > 1 or (not a < 3 or a == 2)"),
        ("(if a > 1 then a < 3) and a != 0", "(not a > 1 or a < 3) and a != 0"),
        ("5 < a", "a > 5"),
        ("-a > 1", "0 - a > 1"),
        ("- -3 < +a", "a > 3"),
        ("-a * 2 > 1", "(0 - a) * 2 > 1"),
        ("a - -1 > 1", "a - -1 > 1"),
        ("a -1 > 1", "a - 1 > 1"),
        ("a- 1 > 1", "a - 1 > 1"),
        ("a*a+a/a - 1 > 1", "((a * a) + (a / a)) - 1 > 1"),
        ("a - (a - 1) > 1", "a - (a - 1) > 1"),
        ("((a)) > ((1 + 1))", "a > 2"),
        ("a > 0.1 + 0.2", "a > 0.3"),
        ("a > 7 / 2 - 1", "a > 2.5"),
        ("a > 123456789012345 * 10", "a > 1.23456789012345e15"),
        ("not a > 1 and a < 3 or a == 0", "((not (a > 1)) and a < 3) or a == 0"),
        ('"in" > 1 and "5"" x" > 1', '`in` > 1 and `5" x` > 1'),
        ("hours-per-week - a > 1", '"hours-per-week" - a > 1'),
        ("a > 1e3 \n", "\ta>1000.0"),
    ],
)
def test_what_says_the_same(text: str, same: str) -> None:
    assert parse(text, COLUMNS) == parse(same, COLUMNS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sex == "Male"', "there is no column 'Male'. Text goes in single quotes: 'Male'."),
        ("'sex' == 'Male'", "names in double quotes or none"),
        ("🙂 == 1", "can't be read from '🙂 == 1' on; a name that is no plain word goes in double quotes"),
        ("sex == Male", "there is no column 'Male'. Text goes in single quotes: 'Male'."),
        ("\"sexx\" == 'Male'", "Did you mean sex? Text goes in single quotes: 'sexx'."),
        ("sexx == 'Male'", "there is no column 'sexx'. Did you mean sex?"),
        ("SEX == 'Male'", "Did you mean sex?"),
        ("sex == 'male'", "Did you mean 'Male'?"),
        ("sex == 'FEMALE'", "Did you mean 'Female'?"),
        ("sex == 'x" + "y" * 200 + "'", "is not one of the declared values."),
        ('"' + "y" * 200 + '" == 1', "there is no column 'yyy"),
        ("a-a > 1", "A minus after a name needs blanks around it."),
        ("works", "'works' is no condition: write works == true"),
        ("a == null", "ask for is null"),
        ("is == 1", "a column or a value is expected, not 'is'; a column of that name goes in double quotes"),
        ("a < 1 < 2", "join comparisons with and"),
        ("a == (a > 1)", "== takes a column or a value, and 'a > 1' is true or false"),
        ("(a > 1) + 1 > 2", "+ takes a column or a value, and 'a > 1' is true or false"),
        ("-(a > 1)", "- takes a column or a value, and 'a > 1' is true or false"),
        ("not a", "'a' is no condition"),
        ("a + 1", "'a + 1' is no condition"),
        ("a + 1 is null", "'is' is asked of a column, not of 'a + 1'"),
        ("1 in (1)", "'in' is asked of a column, not of '1'"),
        ("a in (a + 1)", "in (…) takes values, not 'a + 1'"),
        ("a in ()", "a column or a value is expected, not ')'"),
        ("a not null", "'in' is expected, not 'null'"),
        ("if a > 1", "'then' is expected, not the end"),
        ("a > 1 or if a > 1 then a > 2", "a column or a value is expected, not 'if'"),
        ("sex + 1 > 2", "column 'sex' is of type category, and arithmetic is between numbers"),
        ("-sex == 'Male'", "column 'sex' is of type category, and arithmetic is between numbers"),
        ("a + 'x' > 2", "'x' is no number, and arithmetic is between numbers"),
        ("a + true > 2", "true is no number"),
        ("a + 1 == sex", "column 'sex' is of type category"),
        ("a + 1 == 'x'", "'x' is no number"),
        ("a > 1 / 0", "1 / 0 has no value"),
        ("a > 1e999 - 1e999", "1e999 - 1e999 has no value"),
        ("1 + 1 == 2", "a comparison needs a column"),
        ("a == 5x", "can't be read from '5x' on"),
        ("a == 1.2.3", "can't be read from '1.2.3' on"),
        ("a > 1 \x00", "can't be read from '\\x00' on"),
        ("a == '\ud800'", "characters that are none"),
        ("a" * 200 + " > 1", "there is no column 'aaa"),
        (5, "must be a string"),
    ],
)
def test_what_is_not_understood_is_told(text: str, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        parse(text, COLUMNS)
    assert message in str(error.value)


def test_a_name_of_two_words_is_told_to_be_quoted() -> None:
    with pytest.raises(ParameterError, match=r"no column 'absent'\..*double quotes: \"absent days\""):
        parse("absent days > 2", (*COLUMNS, Integer(name="absent days", min=0, max=9)))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Arithmetic(left=A, sign="%", right=1), "arithmetic has + - * and /, not '%'"),
        (lambda: Arithmetic(left=1, sign="+", right=1), "1 + 1 holds no column"),
        (lambda: Computed(left=A, operator="<", right=1), "a < 1 computes nothing"),
        (lambda: Compared(left=A, operator="=", right=1), "a comparison is one of == != < <= > >=, got '='"),
        (lambda: Joined(parts=(Missing(column=A),), every=True), "at least two conditions, got 1"),
    ],
)
def test_trees_are_checked_when_they_are_built(build: Any, message: str) -> None:
    with pytest.raises(ParameterError) as error:
        build()
    assert message in str(error.value)


# -------------------------------------------------------------------------------------------------------------- attack


@pytest.mark.parametrize(
    "text",
    [
        "9" * 5000 + " > a",
        "a > -" + "9" * 5000,
        "(" * 100_000 + "a > 1",
        "(" * (DEEPEST + 1) + "a > 1" + ")" * (DEEPEST + 1),
        "not " * (DEEPEST + 1) + "a > 1",
        "-" * (DEEPEST + 1) + "a > 1",
        "a" + " + a" * (MOST_SIGNS + 1) + " > 1",
        "a in (" + "1," * 4000 + "1)",
        "9" * LONGEST,
        "9" * (LONGEST - 1) + "x",
        "1" + ".1" * 4000,
        "'" * LONGEST,
        '"' * (LONGEST - 1),
        "a" + "-a" * 4000,
        "a" + ".-" * 4000,
        " " * LONGEST,
        "\x00" * 50,
        "a > 1e" + "9" * 5000,
        "a > 1" + " * 9e99" * 99,
        "a > 1" + " * 99999999999999" * 99,
        "a" + " < a" * 2000,
        "if a > 1 then " * 600 + "a > 1",
        "a == 1 and (" * 49 + "a == 1" + ")" * 49,
    ],
)
def test_hostile_texts_end_soon_and_in_words(text: str) -> None:
    try:
        condition = parse(text, COLUMNS)
    except ParameterError as error:
        told = str(error)
    else:
        assert len(condition.holds(pa.table({"a": [1, None]}))) == 2
        assert hash(condition) == hash(parse(text, COLUMNS))
        told = ""
    assert len(told) < 500


def test_the_deepest_that_is_read_can_be_used() -> None:
    chain = "a" + " + a" * MOST_SIGNS
    deep = parse("not (" * 49 + f"{chain} > {MOST_SIGNS}" + ")" * 49, COLUMNS)
    assert deep.holds(pa.table({"a": [1, 0]})).tolist() == [False, True]
    assert parse(str(deep), COLUMNS) == deep
    assert repr(deep)


# ------------------------------------------------------------------------------------------------------------ rounding


def numbers(*values: float) -> Rounded:
    return Rounded.from_decimals(np.array(values))


def test_decimals_add_up() -> None:
    total = numbers(0.1).combine("+", numbers(0.2))
    assert total.values[0] != 0.3
    assert total.compare("==", numbers(0.3)).to_pylist() == [True]
    assert total.compare("<", numbers(0.3)).to_pylist() == [False]
    assert total.compare("<=", numbers(0.3)).to_pylist() == [True]
    assert total.compare("==", numbers(0.3000000001)).to_pylist() == [False]


def test_whole_numbers_are_told_apart_where_they_are_large() -> None:
    large = numbers(2.0**50).combine("+", numbers(1.0))
    assert large.compare("==", numbers(2.0**50)).to_pylist() == [False]
    assert large.compare(">", numbers(2.0**50)).to_pylist() == [True]


def test_what_overflows_or_is_divided_by_nothing_is_null() -> None:
    assert numbers(1e300).combine("*", numbers(1e300)).compare(">", numbers(0.0)).to_pylist() == [None]
    assert numbers(1.0, 1.0).combine("/", numbers(0.0, 2.0)).compare("==", numbers(0.5)).to_pylist() == [None, True]
    nothing = numbers(0.1).combine("+", numbers(0.2)).combine("-", numbers(0.3))
    assert nothing.values[0] != 0.0
    assert numbers(1.0).combine("/", nothing).compare("!=", numbers(0.0)).to_pylist() == [None]
    assert numbers(1.0).combine("+", numbers(1.0)).compare("<", numbers(np.inf)).to_pylist() == [True]


@given(left=st.floats(-1e9, 1e9), right=st.floats(-1e9, 1e9), sign=st.sampled_from("+-*/"))
def test_the_exact_result_is_within_the_slack(left: float, right: float, sign: str) -> None:
    found = numbers(left).combine(sign, numbers(right))
    exact = PYTHON[sign](Fraction(Decimal(repr(left))), Fraction(Decimal(repr(right))))
    if np.isnan(found.values[0]):
        assert sign == "/"
        assert right == 0.0 or abs(exact) > 1e290 or abs(right) < 1e-320
    else:
        assert abs(Fraction(float(found.values[0])) - exact) <= Fraction(float(found.slack[0]))


def test_nan_is_missing() -> None:
    table = pa.table({'5" x': [1.0, float("nan"), None]})
    assert parse('`5" x` is null', COLUMNS).test(table).to_pylist() == [False, True, True]
    assert parse('`5" x` + 1 == 2', COLUMNS).test(table).to_pylist() == [True, None, None]


def test_dates_are_computed_with_in_days_and_seconds() -> None:
    days = [Date(name=name, min=datetime.date(2020, 1, 1), max=datetime.date(2030, 1, 1)) for name in ("start", "end")]
    stay = Integer(name="stay", min=0, max=99)
    rows = pa.table(
        {
            "start": [datetime.date(2024, 2, 28), datetime.date(2024, 12, 31)],
            "end": [datetime.date(2024, 3, 1), datetime.date(2025, 1, 1)],
            "stay": [2, 3],
        }
    )
    for text, expected in (
        ("end - start == stay", [True, False]),
        ("start + stay >= end", [True, True]),
        ("stay + start == end", [True, False]),
        ("end - 1 > start", [True, False]),
        ("year(end) == year(start)", [True, False]),
        ("month(start) == 2 and day(start) == 28 and weekday(start) == 3", [True, False]),
    ):
        condition = parse(text, [*days, stay])
        assert condition.holds(rows).tolist() == expected, text
        assert str(parse(str(condition), [*days, stay])) == str(condition)


def test_the_day_of_an_instant_is_a_date() -> None:
    begin, end = datetime.datetime(1960, 1, 1), datetime.datetime(2030, 1, 1)
    seen, day = Datetime(name="seen", min=begin, max=end), Date(name="day", min=begin.date(), max=end.date())
    moments = [datetime.datetime(2024, 2, 28, 23, 59), datetime.datetime(1969, 12, 31, 0, 1), None]
    rows = pa.table({"seen": moments, "day": [datetime.date(2024, 2, 28), datetime.date(1970, 1, 1), None]})
    assert parse("date(seen) == day", [seen, day]).holds(rows).tolist() == [True, False, False]
    assert parse("day - date(seen) == 1", [seen, day]).holds(rows).tolist() == [False, True, False]
    with pytest.raises(ParameterError, match="is of a datetime; a date like 'day' has none"):
        parse("date(day) == day", [seen, day])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("start + start == start", "a date . a date is nothing"),
        ("3 - start == 2", "a number - a date is nothing"),
        ("start + 1 == 3", "a date and a number do not compare"),
        ("-start == start", "a sign is of a number"),
        ("year(start", r"'\)' is expected"),
        ("year(3) == 3", "there is no column '3'"),
    ],
)
def test_what_is_no_arithmetic_of_dates(text: str, message: str) -> None:
    column = Date(name="start", min=datetime.date(2020, 1, 1), max=datetime.date(2030, 1, 1))
    with pytest.raises(ParameterError, match=message):
        parse(text, [column])


def test_there_are_few_parts_of_a_date() -> None:
    column = Date(name="start", min=datetime.date(2020, 1, 1), max=datetime.date(2030, 1, 1))
    with pytest.raises(ParameterError, match=r"there is no century\(…\); there are year, month"):
        Extracted(part="century", column=column)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a = 3", "a == 3"),
        ("sex <> 'Male'", "sex != 'Male'"),
        ("a > 3 && works = TRUE || a < 0", "a > 3 and works == true or a < 0"),
        ("a between -1 and 2 + 1 and works == true", "(a >= -1 and a <= 2 + 1) and works == true"),
        ("a NOT BETWEEN 1 AND 3", "not (a >= 1 and a <= 3)"),
        ("born >= 2024-03-01", "born >= '2024-03-01'"),
        ("born IS NOT NULL AND sex IN ('Male')", "born is not null and sex in ('Male')"),
        ("IF a = 1 THEN works = FALSE", "if a == 1 then works == false"),
    ],
)
def test_as_other_languages_write_it(written, meant):
    assert str(parse(written, COLUMNS)) == str(parse(meant, COLUMNS))


def test_a_column_may_have_the_name_of_a_word():
    odd = [Integer(name=name, min=0, max=9) for name in ("between", "AND")]
    assert parse("between between 1 and 2 and AND = 3", odd).columns == ("between", "AND")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a between 1", "'and' is expected"),
        ("3 between 1 and 5", "asked of a column"),
        ("a between 1 or 2", "'and' is expected"),
        ("born > 2024-03-01-01", "compared with dates"),
    ],
)
def test_what_is_nearly_another_language(text, message):
    with pytest.raises(ParameterError, match=message):
        parse(text, COLUMNS)
