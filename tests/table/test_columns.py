"""The rule of each type, against an oracle that is written as the documentation states it."""

import datetime
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

from kernelease.errors import SchemaError
from kernelease.table import Boolean, Category, Date, Datetime, Integer, Number, Ordinal, String
from kernelease.table.columns.numbers import _halfways, fraction

GENERATOR = np.random.default_rng(11)


def encode(
    column: Integer | Number | Category | Ordinal | Boolean | Date | Datetime | String, *cells: object
) -> list[int]:
    return column.encode(pa.array(list(cells))).tolist()


def stated(column: Integer | Date | Datetime, ticks: int) -> int:
    """The formula of docs/schema.md for whole ticks."""
    if ticks < column.low + column.tick:
        return 0
    if ticks >= column.top:
        return column.cell_count - 1
    return column.points + (ticks - column.origin) // column.step


class TestInteger:
    @settings(deadline=None)
    @given(st.integers(-(2**53), 2**53), st.integers(1, 2**54), st.integers(1, 300), st.integers(-(2**63), 2**63 - 1))
    def test_code_is_the_stated_formula(self, low: int, span: int, cells: int, value: int) -> None:
        high = low + span
        assume(high <= 2**53)
        column = Integer(name="x", min=low, max=high, cells=cells)
        assert encode(column, value) == [stated(column, value)]
        assert column.cell_count <= cells
        assert column.encode(pa.array([str(value)])).tolist() == [stated(column, value)]

    @pytest.mark.parametrize(("cell", "value"), [(17.99, 17), (89.5, 89), (-math.inf, 17), (math.inf, 90), (2**63, 90)])
    def test_fractions_are_rounded_down_and_clamped(self, cell: float, value: int) -> None:
        column = Integer(name="x", min=17, max=90)
        assert encode(column, float(cell)) == encode(column, value)

    def test_one_atom_each_up_to_256_values(self) -> None:
        assert Integer(name="x", min=1, max=256).cell_count == 256
        assert Integer(name="x", min=1, max=257).cell_count == 130  # two points, and 128 cells for 255 values
        assert Integer(name="x", min=0, max=1_500_000).cell_count == 256
        assert Integer(name="x", min=0, max=1000, cells=500).cell_count == 335
        assert Integer(name="x", min=0, max=1000, cells=1001).cell_count == 1001

    def test_a_spike_at_zero_is_kept_apart(self) -> None:
        gain = Integer(name="gain", min=0, max=99_999)
        rows = pa.array([0] * 920 + [1] * 30 + [7_298] * 40 + [99_999] * 9 + [250_000])
        released = np.array(gain.decode(gain.encode(rows), GENERATOR))
        assert (released == 0).sum() == 920
        assert (released == 99_999).sum() == 10

    def test_every_legal_value_is_drawn_and_no_other(self) -> None:
        column = Integer(name="x", min=0, max=100, resolution=10, cells=3)
        values = column.decode(np.repeat(np.arange(3), 200), GENERATOR).to_pylist()
        assert set(values) == set(range(0, 101, 10))
        assert column.labels() == ("0..30", "40..70", "80..100")
        assert column.centres().tolist() == [15.0, 55.0, 90.0]
        assert column.edges().tolist() == [0.0, 40.0, 80.0, 110.0]

    def test_uint64_is_not_wrapped(self) -> None:
        assert Integer(name="x", min=0, max=9).encode(pa.array([2**64 - 1], pa.uint64())).tolist() == [9]


class TestNumber:
    @settings(deadline=None)
    @given(
        st.floats(-1e150, 1e150),
        st.floats(-1e150, 1e150),
        st.integers(1, 200),
        st.floats(allow_nan=False, allow_infinity=False),
    )
    def test_code_is_the_stated_formula(self, low: float, high: float, cells: int, value: float) -> None:
        assume(high - low > 1e-9 * max(abs(low), abs(high), 1e-290))
        column = Number(name="x", min=low, max=high, cells=cells)
        expected = 0 if value < column.bottom else column.cell_count - 1
        if column.bottom <= value < column.top:
            scaled = math.floor((value - column.origin) / column.width)
            expected = column.points + min(max(scaled, 0), column.cell_count - 2 * column.points - 1)
        assert encode(column, value) == [expected]
        assert column.encode(pa.array([repr(value)])).tolist() == encode(column, value)

    @settings(deadline=None)
    @given(st.integers(-500, 500), st.integers(1, 10_000), st.sampled_from(["0.1", "0.25", "0.01", "3", "1e-5", "0.7"]))
    def test_resolution_counts_in_decimals(self, low: int, levels: int, resolution: str) -> None:
        step = Fraction(resolution)
        column = Number(
            name="x", min=float(low * step), max=float((low + levels) * step), resolution=float(step), cells=64
        )
        legal = np.array([float((low + k) * step) for k in range(levels + 1)])
        codes = column.encode(pa.array(legal))
        if levels < 64:
            np.testing.assert_array_equal(codes, np.arange(levels + 1))
        else:
            inner = np.arange(levels - 1) // -(-(levels - 1) // 62)
            np.testing.assert_array_equal(codes, [0, *(1 + inner), inner[-1] + 2])
        drawn = column.decode(codes, GENERATOR).to_pylist()
        assert set(drawn) <= set(legal.tolist())

    def test_a_cell_of_the_table_counts_as_the_nearest_legal_value(self) -> None:
        column = Number(name="x", min=0.0, max=1.0, resolution=0.25)
        assert encode(column, 0.1, 0.13, 0.3, 0.9, 7.0) == [0, 1, 1, 4, 4]
        assert column.labels() == ("0.0", "0.25", "0.5", "0.75", "1.0")
        assert column.edges().tolist() == [0.0, 0.125, 0.375, 0.625, 0.875, 1.0]

    def test_values_stay_in_their_cell_and_range(self) -> None:
        column = Number(name="x", min=0.1, max=0.7, cells=3)
        values = np.array(column.decode(np.repeat([0, 1, 2], 1000), GENERATOR))
        assert values.min() >= 0.1
        assert values.max() <= 0.7
        assert len(np.unique(values)) > 2300  # of 6,000 that have four digits
        assert column.labels() == ("[0.1, 0.3)", "[0.3, 0.5)", "[0.5, 0.7]")

    def test_an_edge_that_rounding_crosses_is_mended(self) -> None:
        class Highest:
            def random(self, n: int) -> np.ndarray:
                return np.full(n, 1.0 - 2**-53)

        column = Number(name="x", min=1000.0, max=1000.7, cells=64)
        codes = np.arange(64)
        assert column.encode(column.decode(codes, Highest())).tolist() == codes.tolist()


class TestMissing:
    """What a missing cell and an undeclared value become: the rule of docs/schema.md."""

    @pytest.mark.parametrize(
        ("nullable", "other", "default", "missing", "unknown"),
        [
            (False, False, None, 0, 0),
            (False, False, "b", 1, 1),
            (False, True, None, 2, 2),
            (False, True, "b", 1, 2),
            (True, False, None, 2, 2),
            (True, True, None, 3, 2),
        ],
    )
    def test_of_a_category(self, nullable: bool, other: bool, default: str | None, missing: int, unknown: int) -> None:
        for kind in (Category, Ordinal, String):
            column = kind(name="x", values=("a", "b"), nullable=nullable, other=other, default=default)
            assert (column.missing, column.unknown) == (missing, unknown)
            assert column.encode(pa.array([None, "", "a", "B"])).tolist() == [missing, missing, 0, unknown]

    @pytest.mark.parametrize(("nullable", "default", "code"), [(False, None, 0), (False, 5, 5), (True, None, 10)])
    def test_of_a_number(self, nullable: bool, default: int | None, code: int) -> None:
        for column in (
            Integer(name="x", min=0, max=9, nullable=nullable, default=default),
            Number(name="x", min=0, max=10, cells=10, nullable=nullable, default=default),
        ):
            assert column.encode(pa.array([math.nan, None])).tolist() == [code, code]
            assert column.encode(pa.array(["", "seven", "nan", "1,5"])).tolist() == [code] * 4

    def test_of_a_boolean(self) -> None:
        assert encode(Boolean(name="x"), 2, None) == [0, 0]
        assert encode(Boolean(name="x", default=True), "maybe", None, "") == [1, 1, 1]
        assert encode(Boolean(name="x", nullable=True), 0.5, math.nan, None) == [2, 2, 2]

    def test_of_a_date(self) -> None:
        column = Date(
            name="x", min=datetime.date(2024, 1, 1), max=datetime.date(2024, 1, 9), default=datetime.date(2024, 1, 4)
        )
        assert encode(column, "tomorrow", "2024-02-30", None, "") == [3, 3, 3, 3]
        assert encode(column, 20240105, 7) == [3, 3]  # numbers are no dates


class TestCategory:
    def test_text_is_compared_by_its_bytes(self) -> None:
        column = Category(name="x", values=("a", "é"), other=True)
        assert encode(column, "a", "A", " a", "é", "e\u0301") == [0, 2, 2, 1, 2]

    def test_numbers_find_the_text_that_says_them(self) -> None:
        column = Category(name="x", values=("1", "2.5", "1.0", "x"), other=True, nullable=True)
        assert encode(column, 1.0, 2.5, 3.0, math.nan) == [0, 1, 4, 5]
        assert encode(column, 1, 2) == [0, 4]
        assert encode(Category(name="x", values=("0", "1"), other=True), -0.0) == [0]

    def test_booleans_find_true_and_false(self) -> None:
        assert encode(Category(name="x", values=("True", "False")), True, False) == [0, 1]
        assert encode(Category(name="x", values=("0", "1")), True, False) == [1, 0]
        assert encode(Category(name="x", values=("yes", "true"), other=True), True, False) == [1, 2]

    def test_integer_values_are_read_from_text(self) -> None:
        column = Category(name="x", values=(10, 20), other=-1, nullable=True)
        assert encode(column, "10", "20.0", "1e1", "ten", "", "30") == [0, 1, 0, 2, 3, 2]
        assert column.decode(np.array([0, 2, 3]), GENERATOR).to_pylist() == [10, -1, None]
        assert column.arrow_type == pa.int64()

    def test_dates_find_their_iso_text(self) -> None:
        column = Category(name="x", values=("2024-01-01", "2024-01-01T10:00:00"), other=True)
        assert encode(column, datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)) == [0, 2]
        assert encode(column, datetime.datetime(2024, 1, 1, 10)) == [1]
        assert column.encode(pa.array([datetime.date(2024, 1, 1)], pa.date64())).tolist() == [0]


class TestTime:
    DAY = Datetime(name="x", min=datetime.datetime(2024, 1, 1), max=datetime.datetime(2024, 1, 1, 23), resolution=3600)

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    @pytest.mark.parametrize("zone", [None, "UTC", "Asia/Tokyo", "+05:30"])
    def test_units_and_zones_say_the_same_instant(self, unit: str, zone: str | None) -> None:
        seconds = 1_704_067_200 + 5 * 3600
        factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
        array = pa.array([seconds * factor, seconds * factor - 1]).cast(pa.timestamp(unit, zone))
        assert self.DAY.encode(array).tolist() == [5, 4]

    @pytest.mark.parametrize(
        "text",
        [
            "2024-01-01 05:30:00",
            "2024-01-01T05:30",
            "2024-01-01t05:30:00.999999999z",
            "2024-01-01T06:30:00+01:00",
            "2024-01-01T06:30:00 +0100",
            "2024-01-01T06:30:00+01",
            "2023-12-31T23:30:00-06:00",
            " 2024-01-01T05:30:00\n",
        ],
    )
    def test_text_is_iso_8601_in_utc_unless_it_has_a_zone(self, text: str) -> None:
        assert encode(self.DAY, text) == [5]

    def test_the_zone_of_the_bounds_is_that_of_the_values(self) -> None:
        zone = datetime.timezone(datetime.timedelta(hours=2))
        bounds = datetime.datetime(2024, 1, 1, 12, tzinfo=zone), datetime.datetime(2024, 1, 1, 14, tzinfo=zone)
        column = Datetime(name="x", min=bounds[0], max=bounds[1], resolution=3600)
        assert column.arrow_type == pa.timestamp("us", "UTC")
        assert column.labels() == ("2024-01-01T10:00:00", "2024-01-01T11:00:00", "2024-01-01T12:00:00")
        assert self.DAY.arrow_type == pa.timestamp("us")
        assert column.decode(np.array([1]), GENERATOR).cast(pa.int64()).to_pylist() == [1_704_106_800_000_000]

    def test_bounds_whose_zone_leaves_the_years_of_datetime(self) -> None:
        east, west = (datetime.timezone(datetime.timedelta(hours=h)) for h in (14, -12))
        column = Datetime(
            name="x", min=datetime.datetime.min.replace(tzinfo=east), max=datetime.datetime.max.replace(tzinfo=west)
        )
        assert len(column.labels()) == column.size == 256

    @settings(deadline=None)
    @given(st.datetimes(), st.datetimes())
    def test_code_is_the_stated_formula(self, first: datetime.datetime, second: datetime.datetime) -> None:
        low, high = datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)
        column, dates = Datetime(name="x", min=low, max=high), Date(name="x", min=low.date(), max=high.date())
        micro, day = datetime.timedelta(microseconds=1), datetime.timedelta(days=1)
        epoch = datetime.datetime(1970, 1, 1)
        for moment in (first, second):
            for each, unit in ((column, micro), (dates, day)):
                ticks = (moment - epoch) // unit
                assert encode(each, moment) == encode(each, moment.isoformat()) == [stated(each, ticks)]

    def test_dates_go_into_datetimes_and_back(self) -> None:
        assert encode(self.DAY, datetime.date(2024, 1, 1), datetime.date(9999, 1, 1)) == [0, 23]
        column = Date(name="x", min=datetime.date(2024, 1, 1), max=datetime.date(2024, 1, 9))
        assert encode(column, datetime.datetime(2024, 1, 3, 23, 59)) == [2]
        assert encode(column, "2024-01-03T23:59:00-01:00") == [3]


class TestBoolean:
    def test_words(self) -> None:
        column = Boolean(name="x", nullable=True)
        assert encode(column, "true", "T", "YES", " y ", "1", "1.0") == [1] * 6
        assert encode(column, "false", "F", "No", "n\n", "0", "-0") == [0] * 6
        assert encode(column, "oui", "2", "", "01.5") == [2] * 4


class TestString:
    def test_free_text_has_two_atoms(self) -> None:
        column = String(name="x", max_length=5, nullable=True)
        assert column.labels() == ("", "__other__", "NULL")
        assert encode(column, "", "a", "much longer", None) == [0, 1, 1, 2]
        assert column.encode(pa.array([1, None])).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("kind", "given", "key", "message"),
    [
        (Integer, {"min": 1, "max": 1}, "max", "min must be below max, got 1 and 1"),
        (Integer, {"min": 1.5, "max": 9}, "min", "min must be an integer, got 1.5"),
        (Integer, {"min": True, "max": 9}, "min", "min must be an integer, got True"),
        (Integer, {"min": 0, "max": 2**53 + 1}, "max", "max must be from -2\\^53 to 2\\^53"),
        (Integer, {"min": 0, "max": 9, "resolution": 0}, "resolution", "resolution must be from 1"),
        (Integer, {"min": 0, "max": 9, "cells": 0}, "cells", "cells must be an integer from 1 to 4096"),
        (Integer, {"min": 0, "max": 9999, "cells": 5000}, "cells", "cells must be an integer from 1 to 4096"),
        (
            Integer,
            {"min": 0, "max": 4095, "cells": 4096, "nullable": True},
            "cells",
            "4097 atoms are more than the limit",
        ),
        (Integer, {"min": 0, "max": 9, "default": 10}, "default", "default must be from min to max, got 10"),
        (Integer, {"min": 0, "max": 9, "default": 1, "nullable": True}, "default", "a nullable column has no default"),
        (Integer, {"min": 0, "max": 9, "nullable": "yes"}, "nullable", "nullable must be true or false, got 'yes'"),
        (Number, {"min": 1.0, "max": 0.0}, "max", "min must be below max, got 1.0 and 0.0"),
        (Number, {"min": math.nan, "max": 0.0}, "min", "min must be a finite number"),
        (Number, {"min": 0.0, "max": math.inf}, "max", "max must be a finite number"),
        (Number, {"min": 0.0, "max": "1"}, "max", "max must be a finite number"),
        (Number, {"min": 0.0, "max": 10**400}, "max", "max must be a finite number"),
        (Number, {"min": 0, "max": 1, "resolution": 2}, "resolution", "resolution must be positive and at most"),
        (Number, {"min": 1e9, "max": 1e9 + 1, "resolution": 1e-8}, "resolution", "finer than float64 can hold"),
        (Number, {"min": 1e16, "max": 1e16 + 4}, "max", "narrower than float64 can tell apart"),
        (Number, {"min": 0.0, "max": 5e-324}, "max", "narrower than float64 can tell apart"),
        (Number, {"min": 0, "max": 1, "default": 2}, "default", "default must be from min to max"),
        (Category, {"values": ()}, "values", "at least one value"),
        (Category, {"values": "abc"}, "values", "at least one value, got 'abc'"),
        (Category, {"values": ("a", 1)}, "values", "all strings or all integers, got 1"),
        (Category, {"values": (True,)}, "values", "all strings or all integers, got True"),
        (Category, {"values": ("\ud800",)}, "values", "all strings or all integers"),
        (Category, {"values": (2**53,)}, "values", "below 2\\^53"),
        (Category, {"values": ("a", "b", "a")}, "values", "'a' is there 2 times"),
        (Category, {"values": ("a",), "other": "a"}, "other", "not among the values, got 'a'"),
        (Category, {"values": (1, 2), "other": True}, "other", "label of type int like the values, got True"),
        (Category, {"values": ("a",), "other": 1.5}, "other", "label of type str"),
        (Category, {"values": ("alpha", "b"), "default": "alpa"}, "default", "got 'alpa'. Did you mean 'alpha'"),
        (Category, {"values": tuple(map(str, range(5000)))}, "values", "5000 atoms are more than the limit of 4096"),
        (Ordinal, {"values": (1, 2), "default": "1"}, "default", "default must be one of the values"),
        (Boolean, {"default": 1}, "default", "default must be true or false, got 1"),
        (Boolean, {"default": "no"}, "default", "default must be true or false, got 'no'"),
        (Date, {"min": "2024-01-01", "max": "2024-01-01"}, "max", "min must be before max"),
        (Date, {"min": 5, "max": "2024-01-01"}, "min", "must be a date like 2024-12-31, got 5"),
        (Date, {"min": "soon", "max": "2024-01-01"}, "min", "must be a date like 2024-12-31, got 'soon'"),
        (Date, {"min": datetime.datetime(2024, 1, 1), "max": "2025-01-01"}, "min", "must be a date like"),
        (Datetime, {"min": datetime.date(2024, 1, 1), "max": "2025-01-01"}, "min", "T23:59:59, got 2024-01-01."),
        (Date, {"min": "2024-01-01", "max": "2024-01-09", "resolution": 9}, "resolution", "whole days, 1 to max - min"),
        (
            Date,
            {"min": "2024-01-01", "max": "2024-01-09", "default": "2025-01-01"},
            "default",
            "default must be from min",
        ),
        (Datetime, {"min": datetime.date(2024, 1, 1), "max": "2025-01-01"}, "min", "date and time like"),
        (Datetime, {"min": "2024-01-01T00:00Z", "max": "2025-01-01"}, "max", "both have a time zone, or both none"),
        (Datetime, {"min": "2024-01-01", "max": "2025-01-01", "resolution": "1h"}, "resolution", "number of seconds"),
        (
            Datetime,
            {"min": "2024-01-01", "max": "2025-01-01", "resolution": 1.5e-6},
            "resolution",
            "whole microseconds",
        ),
        (
            Datetime,
            {"min": "2024-01-01", "max": "2025-01-01", "resolution": math.nan},
            "resolution",
            "whole microseconds",
        ),
        (String, {}, "type", "values, its public vocabulary, or max_length"),
        (String, {"values": (1,)}, "values", "must be a list of strings"),
        (String, {"max_length": 0}, "max_length", "from 1 to 2\\^20, got 0"),
        (String, {"max_length": 3, "values": ("long",)}, "values", "'long' is longer than max_length = 3"),
        (String, {"max_length": 3, "other": False}, "other", "free text needs the other bucket"),
    ],
)
def test_what_a_column_refuses(kind: type, given: dict[str, object], key: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as error:
        kind(name="x", **given)
    assert str(error.value).startswith("column 'x': ")
    assert error.value.path == ("columns", "x", key)


@pytest.mark.parametrize("name", ["", 5, None, "\ud800"])
def test_a_column_needs_a_name(name: object) -> None:
    with pytest.raises(SchemaError, match="name must be a non-empty string"):
        Boolean(name=name)


@given(st.floats(-1e6, 1e6), st.sampled_from([0.1, 0.01, 1e-6, 0.25, 3.7]), st.integers(1, 2**48))
def test_the_number_between_two_legal_values_is_the_nearest_float_to_the_exact_one(
    low: float, spacing: float, level: int
) -> None:
    least, step = fraction(low), fraction(spacing)
    assert _halfways(low, spacing, (level,)) == (float(least + step * (2 * level - 1) / 2),)
