"""Arrow itself: files of record batches (Feather, IPC), and whatever in memory speaks the Arrow C stream."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.machine import refuse_shortage
from kernelease.sources.files import FileSource
from kernelease.sources.plain import plain_schema
from kernelease.sources.source import Piece, Source
from kernelease.sources.stamp import FileStamp

_FILE_MAGIC = b"ARROW1"
_BYTES = {  # the same cells without a promise of UTF-8
    **{pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()},
    **{kind: kind for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
}


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ArrowFile(FileSource):
    """A Feather file or an Arrow IPC file, of the file or the stream format. Memory is that of its largest batch."""

    schema: pa.Schema

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

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return plain_schema(self.schema)

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
