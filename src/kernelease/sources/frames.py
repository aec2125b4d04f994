"""pandas data frames, by rules of our own: its conversion to Arrow raises for some values."""

import datetime
import decimal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import block_slices
from kernelease.sources.plain import plain_type
from kernelease.sources.source import Source


def is_frame(data: object) -> bool:
    """Whether this is a pandas DataFrame, without importing pandas for it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class PandasFrame(Source):
    """A pandas DataFrame. Columns of objects become text, cell by cell; nothing is inferred from them."""

    data: Any

    def names(self) -> tuple[str, ...]:
        return tuple(str(name) for name in self.data.columns)

    def declared_schema(self) -> pa.Schema:
        none = self.data.iloc[:0]
        arrays = [_array(none.iloc[:, i]) for i in range(none.shape[1])]
        return pa.schema([(name, plain_type(array.type)) for name, array in zip(self.names(), arrays, strict=True)])

    def describe(self) -> str:
        return "pandas DataFrame"

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        positions = [self.names().index(name) for name in columns]
        for rows in block_slices(self.data.shape[0], self.batch_rows):
            arrays = [_array(self.data.iloc[rows, i]) for i in positions]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _array(series: Any) -> pa.Array:
    """A column by its dtype alone: numbers, booleans, instants as they are, categories as a dictionary, else text."""
    kind = series.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biufMm":
        return pa.array(series.to_numpy(), from_pandas=True)
    name = type(kind).__name__
    if name == "CategoricalDtype":
        codes = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=codes < 0), _array(series.cat.categories.to_series())
        )
    if name == "DatetimeTZDtype":
        ticks = pa.array(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), from_pandas=True)
        return ticks.view(pa.timestamp(ticks.type.unit, tz="UTC"))
    if name == "ArrowDtype" or getattr(kind, "numpy_dtype", np.dtype(object)).kind in "biuf":
        return _whole(pa.array(series.array))
    return pa.array([_text(cell) for cell in series.astype(object)], pa.large_string())


def _whole(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _text(cell: object) -> str | None:
    r"""A cell of an object column as text, None if it is missing or of a kind that has no text. It never raises.

    A cell of a derived class, as a subclass of str or date, has no text if the methods that are asked raise.

    >>> [_text(cell) for cell in ("a", 7, float("nan"), None, b"caf\xe9", datetime.date(2020, 2, 1), ["a"])]
    ['a', '7', None, None, 'caf�', '2020-02-01', None]
    """
    try:
        said = _said(cell)
        return None if said is None else str.encode(said, "utf-8", "replace").decode()  # a surrogate has no UTF-8
    except Exception:  # noqa: BLE001  # a cell's own methods may raise anything, and no cell may raise
        return None


def _said(cell: object) -> str | None:
    """What a cell says, by its kind. The methods of a derived class may raise, or give back anything."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bytes):
        return bytes.decode(cell, "utf-8", "replace")
    if isinstance(cell, bool | np.bool_):
        return str(bool(cell)).lower()
    if isinstance(cell, int | np.integer):
        return f"{int(cell):d}" if abs(int(cell)) < 10**4000 else None  # Python refuses to print longer ones
    if isinstance(cell, float | np.floating):
        return None if cell != cell else repr(float(cell))  # noqa: PLR0124  # only NaN differs from itself
    if isinstance(cell, decimal.Decimal):
        return None if cell.is_nan() else str(cell)
    return cell.isoformat() if isinstance(cell, datetime.date) and cell == cell else None  # noqa: PLR0124  # NaT
