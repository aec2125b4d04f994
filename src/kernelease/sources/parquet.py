"""Parquet files."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from kernelease.errors import SourceError
from kernelease.machine import cores, refuse_shortage
from kernelease.sources.source import FileSource, FileStamp, Piece, in_turn, plain_schema

_SMALL_DICTIONARY: Final = 2**14  # bytes: values are read as codes of a dictionary that is smaller
_BUFFER: Final = 2**18  # bytes of a column that are read at a time: they are decoded while the cache still has them
_GLANCE: Final = 2**12  # the same where only a first row is wanted
_SMALL_GROUP: Final = 2**21  # rows of a row group that one thread reads: it holds their codes at once


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ParquetFile(FileSource):
    """A Parquet file. Memory holds a page of each column and a batch, for each thread that reads.

    Where there are enough row groups, each is read by one thread; where there are few, or large ones, one after the
    other.
    """

    schema: pa.Schema

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

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return plain_schema(self.schema)

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
