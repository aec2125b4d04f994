"""What a row adds is the same number in NumPy, in DuckDB and by hand, and no larger than it says."""

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.arrays import Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import LARGEST_SUM
from kernelease.measured.offsets import Moments
from kernelease.measured.sums import (
    AtMost,
    Clamped,
    CodedRows,
    Fine,
    Look,
    Mixed,
    Product,
    Program,
    Ramp,
    SqlRows,
    Whole,
)

ATOMS, FINER = 4, 50
whole_numbers = st.integers(-300, 300)
looks = st.builds(
    Look,
    column=st.integers(0, 1),
    values=st.lists(whole_numbers, min_size=ATOMS, max_size=ATOMS).map(np.array),
)
numbers = st.recursive(
    st.one_of(looks, st.builds(Fine, column=st.integers(0, 1))),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda both: both[0] + both[1]),
        st.tuples(inner, inner).map(lambda both: both[0] - both[1]),
        st.tuples(inner, inner).map(lambda both: both[0].clamp(500) * both[1].clamp(2**20)),
        st.tuples(inner, whole_numbers).map(lambda both: both[0].clamp(10**6) * both[1]),
        st.tuples(inner, st.integers(1, 99)).map(lambda both: both[0].clamp(both[1])),
        st.tuples(inner, whole_numbers).map(lambda both: both[0].at_most(both[1])),
    ),
    max_leaves=6,
)
rows = st.lists(st.tuples(*[st.integers(0, ATOMS - 1)] * 2, st.integers(0, FINER)), min_size=1, max_size=5)


def by_hand(number: Whole, row: tuple[int, int, int]) -> int:
    """In plain integers: the second column has no finer cells."""
    parts = [by_hand(part, row) for part in number.parts]
    match number:
        case Look():
            return int(number.values[row[number.column]])
        case Fine():
            return row[2] if number.column == 0 else row[1]
        case Mixed():
            return sum(weight * part for weight, part in zip(number.weights, parts, strict=True))
        case Product():
            return int(np.prod(np.array(parts, dtype=object)))
        case Clamped():
            return max(-number.limit, min(number.limit, parts[0]))
        case AtMost():
            return int(parts[0] <= number.limit)
    raise AssertionError(number)


def in_duckdb(program: Program, table: Integers) -> list[list[int]]:
    listed = ", ".join(f"({a}, {b}, {fine})" for a, b, fine in table.T.tolist())
    texts, relation = program.selects(f"(VALUES {listed}) AS codes(a0, a1, f0)", SqlRows({0}, ""))
    return [list(row) for row in zip(*duckdb.sql(f"SELECT {', '.join(texts)} FROM {relation}").fetchall(), strict=True)]


@given(st.lists(numbers, min_size=1, max_size=3), rows)
@settings(deadline=None)
def test_every_engine_computes_the_same(wanted: list[Whole], given_rows: list[tuple[int, int, int]]) -> None:
    table, program = np.array(given_rows).T, Program.of(wanted)
    found = program.numbers(CodedRows(table, {0: 2}))
    expected = [[by_hand(number, row) for row in given_rows] for number in wanted]
    assert [found[place].tolist() for place in program.wanted] == expected == in_duckdb(program, table)
    assert all(abs(one) <= number.most for number, own in zip(wanted, expected, strict=True) for one in own)


def test_what_is_the_same_is_computed_once() -> None:
    x, again, y = (Look(column=column, values=np.arange(ATOMS)) for column in (0, 0, 1))
    program = Program.of([x * y, again * y, (x * y).clamp(3)])
    assert len(program.steps) == 4
    assert program.wanted[0] == program.wanted[1]


def test_a_number_that_64_bits_do_not_hold_is_refused() -> None:
    large = Look(column=0, values=np.array([2**40]))
    with pytest.raises(ParameterError, match="which 64 bits do not hold"):
        large * large
    assert (large.clamp(2**20) * large).most == 2**60


def test_a_row_adds_no_more_than_can_be_summed() -> None:
    ramp = Ramp(start=np.zeros(3, dtype=np.int64), slope=np.zeros(3, dtype=np.int64), limit=2**15)
    moments = Moments(columns=(0, 1), groups=(np.arange(3), np.arange(3)), share=0.1, ramps=(ramp, None))
    assert moments.whole == 2**15
    with pytest.raises(ParameterError, match=f"at most {LARGEST_SUM}"):
        Moments(columns=(0, 1), groups=(np.arange(3), np.arange(3)), share=0.1, ramps=(ramp, ramp))
