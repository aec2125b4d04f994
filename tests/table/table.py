"""The table of all columns, and of all that may come to them: it drives the conformance suite."""

import datetime
import decimal

import numpy as np
import pyarrow as pa

from kernelease.table import Boolean, Category, Column, Date, Datetime, Hierarchy, Integer, Number, Ordinal, String

DAY = datetime.date(2024, 1, 1)
NOON = datetime.datetime(2024, 1, 1, 12)

COLUMNS: dict[str, Column] = {
    "integer": Integer(name="x", min=17, max=90),
    "integer with default": Integer(name="x", min=-3, max=3, default=2),
    "integer grouped": Integer(name="x", min=0, max=1_500_000, nullable=True),
    "integer of cells": Integer(name="x", min=-100, max=1000, resolution=5, cells=9),
    "integer widest": Integer(name="x", min=-(2**53), max=2**53, nullable=True),
    "integer listed": Integer(name="x", min=-7, max=900, values=(-7, 0, 1, 50, 900), default=1),
    "number": Number(name="x", min=0.0, max=100.0),
    "number nullable": Number(name="x", min=-1.5, max=2.5, cells=7, nullable=True),
    "number resolution": Number(name="x", min=0.1, max=9.7, resolution=0.1, default=0.3),
    "number grouped": Number(name="x", min=0.0, max=1000.0, resolution=0.01, nullable=True),
    "number widest": Number(name="x", min=-1e150, max=1e150, cells=4095, nullable=True),
    "number tiny": Number(name="x", min=-1e-300, max=1e-300),
    "number decimals": Number(name="x", min=-1.5, max=400.25, decimals=2),
    "number listed": Number(name="x", min=-0.5, max=250.0, values=(-0.5, 0.0, 0.125, 10.35702, 250.0), nullable=True),
    "number log": Number(name="x", min=0.01, max=1e6, scale="log", nullable=True),
    "number log of cents": Number(name="x", min=0.0, max=1e6, decimals=2, scale="log", cells=50, default=7.0),
    "number log, all its values": Number(name="x", min=1.0, max=3.0, resolution=0.5, scale="log"),
    "integer log": Integer(name="x", min=0, max=10_000_000, scale="log", nullable=True),
    "integer log of fives": Integer(name="x", min=5, max=100_000, resolution=5, scale="log", cells=9),
    "hierarchy": Hierarchy(name="x", values=("1.5", "Private", "Public", "1", "true"), prefix=1, nullable=True),
    "hierarchy of groups": Hierarchy(name="x", values=(3, 1, 17), groups=("odd", "one", "odd"), other=-1),
    "category": Category(name="x", values=("Private", "State-gov", "Never worked")),
    "category other": Category(name="x", values=("true", "1", "1.5", "2024-01-01"), other=True, nullable=True),
    "category default": Category(name="x", values=("a", "b", ""), other="?", default="b"),
    "category of integers": Category(name="x", values=(3, 1, 2), other=-1, nullable=True),
    "category of integers, closed": Category(name="x", values=(0, 1)),
    "ordinal": Ordinal(name="x", values=("low", "mid", "high"), nullable=True),
    "boolean": Boolean(name="x"),
    "boolean nullable": Boolean(name="x", nullable=True),
    "boolean default": Boolean(name="x", default=True),
    "date": Date(name="x", min=DAY, max=DAY.replace(month=3)),
    "date grouped": Date(name="x", min=datetime.date(1, 1, 1), max=datetime.date(9999, 12, 31), nullable=True),
    "date weeks": Date(name="x", min=DAY, max=DAY.replace(year=2034), resolution=7, default=DAY.replace(year=2030)),
    "datetime": Datetime(name="x", min=NOON, max=NOON.replace(year=2025)),
    "datetime zoned": Datetime(
        name="x", min=NOON.replace(tzinfo=datetime.UTC), max=NOON.replace(hour=13, tzinfo=datetime.UTC), nullable=True
    ),
    "datetime fine": Datetime(name="x", min=NOON, max=NOON.replace(second=1), resolution=0.001, cells=100),
    "datetime widest": Datetime(name="x", min=datetime.datetime.min, max=datetime.datetime.max),
    "string": String(name="x", values=("aspirin", "heparin"), max_length=20, nullable=True),
    "string free": String(name="x", max_length=100),
}

TEXTS = [
    "",
    " ",
    "17",
    " 42\n",
    "+5",
    "-0",
    "1e3",
    "1E400",
    "-1e400",
    "1e-400",
    ".5",
    "5.",
    "0x10",
    "1_000",
    "1,000",
    "nan",
    "NaN",
    "inf",
    "-Infinity",
    "18446744073709551615",
    "9" * 400,
    "Private",
    "private",
    "State-gov",
    "low",
    "true",
    "TRUE",
    "No",
    "2024-01-01",
    "2024-02-30",
    "2023-02-29",
    "2024-02-29",
    "2024-01-31T10:00",
    "2024-01-31 10:00:00.123456789",
    "2024-01-31T10:00:00Z",
    "2024-01-31T10:00:00+05:30",
    "2024-01-31T24:00:00",
    "2024-01-31T10:00:60",
    "0000-01-01",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59.999999-14:00",
    "10000-01-01",
    "line one\nline two",
    "aspirin",
    "\x00",
    "日本語",
    "x" * 100_000,
    "1" * 100_000,
    "__other__",
    "FILL IN",
    None,
]
_BAD_UTF8 = [b"", b"\xff\xfe", b"17", b"Private", b"\xc3\x28", b"2024-01-01", b"2024-01-\xb2", None]
_INSTANTS = [0, 1, -1, 1_704_110_400, 2**31 - 1, -(2**31)]
_MIN, _MAX = np.iinfo(np.int64).min, np.iinfo(np.int64).max


def _invalid_strings() -> pa.Array:
    """A string array whose bytes are no UTF-8, as a careless writer leaves it."""
    binary = pa.array(_BAD_UTF8, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(binary), binary.buffers(), binary.null_count)


def _integers(kind: pa.DataType) -> pa.Array:
    limits = np.iinfo(str(kind))
    return pa.array([*{limits.min, limits.max, 0, 1, 3, 17, 42, 90}, None], kind)


def _floats(bits: int) -> pa.Array:
    values = [0.0, -0.0, 1.0, 1.5, 17.99, 42.0, 89.5, 65504.0, -65504.0, np.nan, np.inf, -np.inf]
    kind = np.dtype(f"float{bits}")
    info = np.finfo(kind)
    extremes = [info.max, info.min, info.smallest_subnormal, -info.smallest_subnormal, info.tiny, info.eps]
    return pa.array(np.array(values + extremes, dtype=kind))


def _timestamps(unit: str, zone: str | None) -> pa.Array:
    return pa.array([*_INSTANTS, _MIN, _MAX, None], pa.int64()).cast(pa.timestamp(unit, zone))


def _decimals(kind: pa.DataType, texts: list[str]) -> pa.Array:
    return pa.array([*(decimal.Decimal(text) for text in texts), None], kind)


_WHOLE = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
_TEXTUAL = [pa.string(), pa.large_string(), pa.string_view()]

ARRAYS: dict[str, pa.Array] = {
    **{str(kind): _integers(kind) for kind in _WHOLE},
    **{f"float{bits}": _floats(bits) for bits in (16, 32, 64)},
    **{str(kind): pa.array(TEXTS, kind) for kind in _TEXTUAL},
    "binary": pa.array(_BAD_UTF8, pa.binary()),
    "large_binary": pa.array(_BAD_UTF8, pa.large_binary()),
    "binary_view": pa.array(_BAD_UTF8, pa.binary_view()),
    "fixed_size_binary": pa.array([b"17", b"\xff\xff", b"No", None], pa.binary(2)),
    "invalid strings": _invalid_strings(),
    "bool": pa.array([True, False, None]),
    "null": pa.nulls(4),
    "decimal128": _decimals(pa.decimal128(38, 4), ["17.5", "-0.0001", "9" * 34, "1", "42.0000"]),
    "decimal128 of negative scale": _decimals(pa.decimal128(5, -3), ["17000", "-99999000"]),
    "decimal256": _decimals(pa.decimal256(76, 0), ["9" * 76, "-" + "9" * 76, "17"]),
    "date32": pa.array([*_INSTANTS[:3], 19_723, 2**31 - 1, -(2**31), None], pa.int32()).cast(pa.date32()),
    "date64": pa.array([0, 86_400_000 * 19_723, 86_400_000 * 10**9, -86_400_000 * 10**9, None]).cast(pa.date64()),
    **{f"timestamp {unit}": _timestamps(unit, None) for unit in ("s", "ms", "us", "ns")},
    "timestamp UTC": _timestamps("us", "UTC"),
    "timestamp Tokyo": _timestamps("ns", "Asia/Tokyo"),
    "timestamp in no known zone": _timestamps("s", "Nowhere/Atlantis"),
    "NaT": pa.array(np.array(["NaT", "2024-01-01T13"], dtype="M8[ns]")),
    "time32": pa.array([0, 1, None], pa.time32("s")),
    "time64": pa.array([0, 1, None], pa.time64("us")),
    "duration": pa.array([0, _MAX, None], pa.duration("ns")),
    "month_day_nano": pa.array([(1, 2, 3), None], pa.month_day_nano_interval()),
    "list": pa.array([[1, 2], [], None]),
    "large_list": pa.array([["a"], None], pa.large_list(pa.string())),
    "fixed_size_list": pa.array([[1, 2], None], pa.list_(pa.int64(), 2)),
    "struct": pa.array([{"a": 1}, None]),
    "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(pa.array([0, 1], pa.int8()), [pa.array([1, 2]), pa.array(["a", "b"])]),
    "dictionary": pa.array([*TEXTS[:30], None, "17"]).dictionary_encode(),
    "dictionary with a null in it": pa.DictionaryArray.from_arrays([0, 1, None, 0], pa.array(["17", None])),
    "dictionary of uint64 indices": pa.DictionaryArray.from_arrays(pa.array([1, 0, None], pa.uint64()), [17, 42]),
    "dictionary of nothing": pa.DictionaryArray.from_arrays(pa.array([None, None], pa.int8()), pa.array([], "string")),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays([2, 3, 5], pa.array(["17", None, "Private"])),
    "empty": pa.array([], pa.string()),
    "empty list": pa.array([], pa.list_(pa.int64())),
    "extension": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int64(), (2,)), pa.array([[1, 2], None], pa.list_(pa.int64(), 2))
    ),
}
