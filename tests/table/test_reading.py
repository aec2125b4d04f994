"""Which of two parsers reads a cell may not matter: they agree to the last bit."""

import math

import numpy as np
import pyarrow as pa
from hypothesis import example, given, settings, strategies as st

from kernelease.table.parsing import DAY, MICROSECOND, parse_instant, parse_number, read_instants, read_numbers


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


@settings(deadline=None)
@given(st.one_of(st.from_regex(r"\A-?[0-9]{1,18}(\.[0-9]{1,18})?\Z"), st.floats().map(repr), st.text()))
@example("-0.0")
@example("9007199254740993")
@example("0.1000000000000000055")
@example("1\n")
@example("١٢")  # digits, but not ours
def test_numbers_in_text(text: str) -> None:
    encoded = text.encode()
    assert _same(float(read_numbers(pa.array([text]))[0]), parse_number(encoded))


@settings(deadline=None)
@given(st.floats(allow_nan=False))
def test_written_numbers_are_read_back(value: float) -> None:
    assert parse_number(repr(value).encode()) == value


@settings(deadline=None)
@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**30), max_value=10**30))
def test_decimals_are_rounded_once(value: object) -> None:
    assert float(read_numbers(pa.array([value], pa.decimal128(38, 4)))[0]) == float(value)


_DATES = r"[0-9]{4}-(0[0-9]|1[0-3])-[0-3][0-9]"
_TIMES = r"[ T][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,9})?)?(Z|[+-][0-2][0-9]:[0-6][0-9])?"


@settings(deadline=None)
@given(st.one_of(st.from_regex(rf"\A{_DATES}({_TIMES})?\Z"), st.text(), st.datetimes().map(str)))
@example("2024-02-29")
@example("2023-02-29")
@example("2024-04-31 00:00:00")
@example("1900-02-29T00:00:00")
@example("9999-12-31T23:59:59.999999")
def test_instants_in_text(text: str) -> None:
    low, high = -(2**60), 2**60
    ticks, absent = read_instants(pa.array([text]), MICROSECOND, low, high)
    expected = parse_instant(text.encode())
    assert absent is not None
    assert bool(absent[0]) == (expected is None)
    assert expected is None or int(ticks[0]) == expected


@settings(deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.sampled_from(["s", "ms", "us", "ns"]), st.sampled_from([DAY, MICROSECOND]))
def test_units_are_exact_and_never_overflow(tick: int, unit: str, target: int) -> None:
    low, high = (-10_000, 10_000) if target == DAY else (-(2**50), 2**50)
    nanoseconds = tick * {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[unit]
    array = pa.array(np.array([tick])).cast(pa.timestamp(unit))
    ticks, absent = read_instants(array, target, low, high)
    assert absent is None
    assert int(ticks[0]) == min(max(nanoseconds // target, low), high)
