"""What every source must satisfy, as a check for those who write one."""

import decimal
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.errors import PrivacyError, SchemaError
from kernelease.sources.plain import plain
from kernelease.sources.source import LARGEST_BATCH, Source
from kernelease.table.reading.instants import DAY, MICROSECOND, is_instant, parse_instant, read_instants
from kernelease.table.reading.numbers import is_number

_FAR = 2**62  # in days or microseconds: beyond every instant


def check_source(source: Source, expected: pa.Table) -> None:
    """Raise an `AssertionError` that says what a source gets wrong about a public table that it should hold.

    Each pass has the columns that were asked for in that order, in batches of at most `batch_rows` rows, none empty,
    of plain types; all passes give the rows of `expected`, in any order. Cells are compared by what they say under the
    expected type: a source may give a number or its text. The source must allow more than one pass.

    >>> from kernelease.sources.opening import open_source
    >>> table = pa.table({"age": [30, None], "name": ["Ada", "Bob"]})
    >>> check_source(open_source(table), table)
    """
    _require(set(expected.column_names) <= set(source.names()), source, "names must list all columns")
    _check_secrecy(source)
    _check_missing_column(source)
    names = expected.column_names
    for columns in (names, names[::-1], names, *([name] for name in names)):
        found = _rows(_checked(source, columns), expected.schema, columns)
        _require(found == _rows([expected], expected.schema, columns), source, f"the cells of {columns} must be right")


def _check_secrecy(source: Source) -> None:
    _require(type(source.describe()) is str and source.describe() != "", source, "describe must say what it is")
    for attempt in (len, iter, lambda it: it.__reduce__()):
        _require(_raises(PrivacyError, attempt, source), source, "it must have no length, iterator or pickle")
    declared = source.declared_schema()
    _require(
        declared is None or tuple(declared.names) == source.names(), source, "declared_schema must have all columns"
    )


def _check_missing_column(source: Source) -> None:
    absent = "no such column" + max(source.names(), key=len)
    _require(
        _raises(SchemaError, source.batches, [absent]), source, "a missing column must be reported before a row is read"
    )


def _raises(kind: type[Exception], call: Callable[[Any], object], argument: object) -> bool:
    try:
        call(argument)
    except kind:
        return True
    return False


def _checked(source: Source, columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
    for batch in source.batches(columns):
        _require(batch.column_names == list(columns), source, "a batch must have the columns asked for, in that order")
        bound = min(source.batch_rows, LARGEST_BATCH)
        _require(0 < batch.num_rows <= bound, source, f"a batch must have from 1 to {bound} rows")
        same = all(plain(array).type == array.type for array in batch.columns)
        _require(same, source, "columns must have plain types")
        batch.validate(full=True)
        yield batch


def _rows(parts: Iterable[Any], schema: pa.Schema, columns: Sequence[str]) -> Counter[tuple[object, ...]]:
    """The rows of batches or tables as a multiset, each cell as what it says under its declared type."""
    rows: Counter[tuple[object, ...]] = Counter()
    for part in parts:
        cells = [
            [said for array in _chunks(part.column(name)) for said in _said(array, schema.field(name).type)]
            for name in columns
        ]
        rows.update(zip(*cells, strict=True))
    return rows


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _said(array: pa.Array, kind: pa.DataType) -> list[object]:
    """What each cell says when it is read as a value of this type; None for NULL."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(kind, pa.DictionaryType):
        return _said(array, kind.value_type)
    if is_instant(array.type):
        unit = DAY if pa.types.is_date(kind) else MICROSECOND
        ticks = read_instants(array, unit, -_FAR, _FAR)[0].tolist()
        return [tick if there else None for tick, there in zip(ticks, array.is_valid().to_pylist(), strict=True)]
    return [None if cell is None else _value(cell, kind) for cell in array.to_pylist()]


def _value(cell: object, kind: pa.DataType) -> object:
    text = cell.decode() if isinstance(cell, bytes) and not pa.types.is_binary(kind) else cell
    if pa.types.is_boolean(kind):
        return str(text).lower() in ("true", "t", "1")
    if pa.types.is_floating(kind):
        number = np.dtype(kind.to_pandas_dtype()).type(text)
        return "nan" if np.isnan(number) else number
    if is_number(kind):
        return decimal.Decimal(str(text))
    if is_instant(kind):
        micros = parse_instant(str(text).encode())
        return micros if micros is None or not pa.types.is_date(kind) else micros // (DAY // MICROSECOND)
    return text.encode() if isinstance(text, str) else text


def _require(holds: bool, source: Source, sentence: str) -> None:
    if not holds:
        raise AssertionError(f"{type(source).__name__}: {sentence}.")
