"""Arrow and Parquet: files of record batches, objects with an Arrow C stream, and pandas data frames."""

import datetime
import decimal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kernelease.arrays import block_slices
from kernelease.errors import SourceError
from kernelease.machine import cores, refuse_shortage
from kernelease.sources.source import (
    FileStamp,
    Piece,
    Rewrite,
    SchemaFile,
    Source,
    in_turn,
    plain,
    plain_schema,
    plain_type,
)
from kernelease.table.parsing import short_text

# ---- pandas data frames, by rules of our own: its conversion to Arrow raises for some values.


def is_frame(data: object) -> bool:
    """Whether this is a pandas DataFrame, without importing pandas for it."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class PandasFrame(Source):
    """A pandas DataFrame. Columns of objects become text, cell by cell; nothing is inferred from them.

    One cell that is text, or a yes or no that is missing, makes a column one of objects. So the text of a number, a yes
    or a no is read as these are: what a row says does not depend on other rows' cells.
    """

    data: Any
    rewrite: Rewrite | None = None

    def with_texts(self, rewrite: Rewrite | None) -> "PandasFrame":
        return replace(self, rewrite=rewrite)

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
            arrays = [
                _array(self.data.iloc[rows, i], self.rewrite and partial(self.rewrite, name))
                for i, name in zip(positions, columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _array(series: Any, rewrite: Callable[[pa.Array], pa.Array] | None = None) -> pa.Array:
    """A column by its dtype alone: numbers, booleans, instants as they are, categories as a dictionary, else text.

    `rewrite` is for cells that are text themselves: 1.5 among objects is no text in the owner's notation.
    """
    kind = series.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biufMm":
        return pa.array(series.to_numpy(), from_pandas=True)
    name = type(kind).__name__
    if name == "CategoricalDtype":
        codes = series.cat.codes.to_numpy()
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=codes < 0), _array(series.cat.categories.to_series(), rewrite)
        )
    if name == "DatetimeTZDtype":
        ticks = pa.array(series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), from_pandas=True)
        return ticks.view(pa.timestamp(ticks.type.unit, tz="UTC"))
    if is_of_arrow(series) or getattr(kind, "numpy_dtype", np.dtype(object)).kind in "biuf":
        array = pa.array(series.array)
        flat = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        return flat if rewrite is None else rewrite(plain(flat))
    cells = list(series.astype(object))
    texts = pa.array([_text(cell) for cell in cells], pa.large_string())
    if rewrite is None:
        return texts
    said = pa.array([isinstance(cell, str | bytes) for cell in cells], pa.bool_())
    return pc.if_else(said, rewrite(texts).cast(pa.large_string()), texts)


def is_of_arrow(series: Any) -> bool:
    """Whether a column of pandas lies in Arrow's memory: text that is no UTF-8 would raise if Python had it."""
    kind = getattr(series, "dtype", None)
    return type(kind).__name__ == "ArrowDtype" or getattr(kind, "storage", None) == "pyarrow"


def _text(cell: object) -> str | None:
    r"""A cell of an object column as text, None if it is missing or of a kind that has no text. It never raises.

    A cell of a derived class, as a subclass of str or date, has no text if the methods that are asked raise.

    >>> [_text(cell) for cell in ("a", 7, 7.0, float("nan"), None, b"caf\xe9", datetime.date(2020, 2, 1), ["a"])]
    ['a', '7', '7', None, None, 'caf�', '2020-02-01', None]
    """
    try:
        said = _text_of(cell)
        return None if said is None else str.encode(said, "utf-8", "replace").decode()  # a surrogate has no UTF-8
    except Exception:  # noqa: BLE001  # a cell's own methods may raise anything, and no cell may raise
        return None


def _text_of(cell: object) -> str | None:
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
        return None if cell != cell else short_text(float(cell))  # noqa: PLR0124  # only NaN differs from itself
    if isinstance(cell, decimal.Decimal):
        return None if cell.is_nan() else short_text(cell)
    return cell.isoformat() if isinstance(cell, datetime.date) and cell == cell else None  # noqa: PLR0124  # NaT


# ---- Arrow: files of record batches (Feather, IPC), and any object in memory with an Arrow C stream.


_FILE_MAGIC = b"ARROW1"
_BYTES = {  # the same cells without a promise of UTF-8
    **{pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()},
    **{kind: kind for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
}


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ArrowFile(SchemaFile):
    """A Feather file or an Arrow IPC file, of the file or the stream format. Memory is that of its largest batch."""

    @classmethod
    def open(cls, path: Path, *, batch_rows: int) -> "ArrowFile":
        """Read the schema; no row is looked at."""
        stamp = FileStamp.of(path)
        try:
            with pa.OSFile(str(path)) as file:
                schema = _reader(file, None).schema
            _ = schema.names  # a damaged name shows when it is decoded
        except (OSError, UnicodeError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise SourceError(f"{path} is not a Feather file of version 2 or an Arrow IPC file.") from None
        return cls(path=path, stamp=stamp, schema=schema, batch_rows=batch_rows)

    def describe(self) -> str:
        return f"Arrow file {self.path}"

    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        with pa.OSFile(str(self.path)) as file:  # no memory map: a file cut off under one ends the process
            reader = _reader(file, [self.schema.get_field_index(name) for name in columns])
            in_turn = isinstance(reader, pa.RecordBatchStreamReader)
            batches = reader if in_turn else map(reader.get_batch, range(reader.num_record_batches))
            yield from (partial(_sound, batch, columns) for batch in batches)


def _sound(batch: pa.RecordBatch, columns: tuple[str, ...]) -> tuple[pa.RecordBatch]:
    for name in columns:
        _refuse_unsound(batch.column(name))
    return (batch,)


def _refuse_unsound(array: pa.Array) -> None:
    """`pa.ArrowInvalid` if a damaged file would have cells read from beyond its buffers. Arrow itself doesn't look.

    Text that is not UTF-8 is sound: it is viewed as bytes here, and repaired later.
    """
    if pa.types.is_dictionary(array.type):
        pa.DictionaryArray.from_arrays(array.indices, array.dictionary, safe=True)
        _refuse_unsound(array.dictionary)
    elif (as_bytes := _BYTES.get(array.type)) is not None:
        array.view(as_bytes).validate(full=True)
    else:
        array.validate(full=pa.types.is_primitive(array.type))


def _reader(file: pa.NativeFile, fields: list[int] | None) -> pa.RecordBatchStreamReader | pa.RecordBatchFileReader:
    options = pa.ipc.IpcReadOptions(included_fields=fields)
    magic = file.read(len(_FILE_MAGIC))
    file.seek(0)
    return (
        pa.ipc.open_file(file, options=options) if magic == _FILE_MAGIC else pa.ipc.open_stream(file, options=options)
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ArrowStream(Source):
    """An object with the Arrow C stream: a pyarrow Table or RecordBatchReader, a polars DataFrame, and others.

    A reader can be read once; then it is used up, and a second pass says so.
    """

    data: Any
    schema: pa.Schema
    opened: list[pa.RecordBatchReader] = field(default_factory=list)

    @classmethod
    def open(cls, data: Any, *, batch_rows: int) -> "ArrowStream":
        """Open the stream and read its schema; no row is looked at."""
        reader = _stream(data)
        return cls(data=data, schema=reader.schema, opened=[reader], batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return plain_schema(self.schema)

    def describe(self) -> str:
        return f"Arrow stream of {_title(self.data)}"

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        if not self.opened and isinstance(self.data, pa.RecordBatchReader):
            raise SourceError(f"{self.describe()} can be read only once. Give a table or a file instead.")
        reader = self.opened.pop() if self.opened else _stream(self.data)
        try:
            yield from reader
        except (OSError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise SourceError(f"{self.describe()} broke off before its end. Nothing was spent.") from None


def _stream(data: Any) -> pa.RecordBatchReader:
    try:
        return data if isinstance(data, pa.RecordBatchReader) else pa.RecordBatchReader.from_stream(data)
    except (TypeError, ValueError, NotImplementedError, OSError, pa.ArrowException) as error:
        refuse_shortage(error)
        raise SourceError(f"The Arrow stream of {_title(data)} can't be opened: a column's type has none.") from None


def _title(data: Any) -> str:
    return f"a {type(data).__module__.split('.')[0]} {type(data).__name__}"


# ---- Parquet files.


_SMALL_DICTIONARY: Final = 2**14  # bytes: values are read as codes of a dictionary that is smaller
_BUFFER: Final = 2**18  # bytes of a column that are read at a time: they are decoded while the cache still has them
_GLANCE: Final = 2**12  # the same where only a first row is wanted
_SMALL_GROUP: Final = 2**21  # rows of a row group that one thread reads: it holds their codes at once


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ParquetFile(SchemaFile):
    """A Parquet file. Memory holds a page of each column and a batch, for each thread that reads.

    Where there are enough row groups, each is read by one thread; where there are few, or large ones, one after the
    other.
    """

    @classmethod
    def open(cls, path: Path, *, batch_rows: int) -> "ParquetFile":
        """Read the schema in the footer; no row is looked at, and no statistics."""
        stamp = FileStamp.of(path)
        try:
            schema = pq.read_schema(path)
            _ = schema.names  # a damaged name shows when it is decoded
        except (OSError, UnicodeError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise SourceError(
                f"{path} is not a Parquet file that can be read. Check its name, or save it again."
            ) from None
        return cls(path=path, stamp=stamp, schema=schema, batch_rows=batch_rows)

    def describe(self) -> str:
        return f"Parquet file {self.path}"

    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=_GLANCE) as file:
            metadata, dictionaries = file.metadata, _small_dictionaries(file, columns)
        read = partial(self._batches, columns, metadata, dictionaries)
        groups = range(metadata.num_row_groups)
        if len(groups) >= cores() and all(metadata.row_group(i).num_rows <= _SMALL_GROUP for i in groups):
            yield from (partial(read, [group], use_threads=False) for group in groups)
        else:
            yield from in_turn(read([*groups], use_threads=True))

    def _batches(
        self,
        columns: tuple[str, ...],
        metadata: pq.FileMetaData,
        dictionaries: list[str],
        groups: list[int],
        *,
        use_threads: bool,
    ) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(
            self.path,
            metadata=metadata,
            read_dictionary=dictionaries,
            coerce_int96_timestamp_unit="us",  # in nanoseconds, as by default, far instants wrap around
            pre_buffer=False,
            buffer_size=_BUFFER,
        ) as file:
            yield from file.iter_batches(
                batch_size=self.batch_rows, row_groups=groups, columns=list(columns), use_threads=use_threads
            )


def _small_dictionaries(file: pq.ParquetFile, columns: tuple[str, ...]) -> list[str]:
    """Text columns that the file holds as a few texts and their numbers: read as such, they take a quarter of the time.

    This looks at sizes that depend on the rows. It changes no value, so nothing but speed follows from it.
    """
    leaves = [(i, file.metadata.schema.column(i)) for i in range(file.metadata.num_columns)]
    texts = {
        leaf.path: i
        for i, leaf in leaves
        if leaf.path in columns and leaf.physical_type == "BYTE_ARRAY" and leaf.max_repetition_level == 0
    }
    groups = (
        [_sound_group(file, number, list(texts)) for number in range(file.metadata.num_row_groups)] if texts else []
    )
    return [path for path, i in texts.items() if all(_has_small_dictionary(group.column(i)) for group in groups)]


def _sound_group(file: pq.ParquetFile, number: int, columns: list[str]) -> pq.RowGroupMetaData:
    """A row group whose description of these columns can be read.

    A first row is read before: where the description is damaged, that raises, and `RowGroupMetaData.column` would end
    the process (pyarrow lets the exception of its C++ library through).
    """
    next(file.iter_batches(batch_size=1, row_groups=[number], columns=columns), None)
    return file.metadata.row_group(number)


def _has_small_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    start = chunk.dictionary_page_offset
    return start is not None and 0 < chunk.data_page_offset - start < _SMALL_DICTIONARY
