"""Parquet files."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from kernelease.errors import SourceError
from kernelease.sources.files import FileSource
from kernelease.sources.plain import plain_schema
from kernelease.sources.stamp import FileStamp

_SMALL_DICTIONARY: Final = 2**14  # bytes


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ParquetFile(FileSource):
    """A Parquet file. Memory holds the compressed columns of one row group, and a batch."""

    schema: pa.Schema

    @classmethod
    def open(cls, path: Path, *, batch_rows: int) -> "ParquetFile":
        """Read the schema in the footer; no row is looked at, and no statistics."""
        stamp = FileStamp.of(path)
        try:
            schema = pq.read_schema(path)
        except (OSError, pa.ArrowException):
            raise SourceError(f"{path} is not a Parquet file that can be read.") from None
        return cls(path=path, stamp=stamp, schema=schema, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return plain_schema(self.schema)

    def describe(self) -> str:
        return f"Parquet file {self.path}"

    def _rows(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        with pq.ParquetFile(self.path) as file:
            metadata = file.metadata
        with pq.ParquetFile(
            self.path,
            metadata=metadata,
            read_dictionary=_small_dictionaries(metadata, columns),
            coerce_int96_timestamp_unit="us",  # in nanoseconds, as by default, far instants wrap around
            pre_buffer=False,
        ) as file:
            yield from file.iter_batches(batch_size=self.batch_rows, columns=list(columns))


def _small_dictionaries(metadata: pq.FileMetaData, columns: tuple[str, ...]) -> list[str]:
    """Text columns that the file holds as a few texts and their numbers: read as such, they take a quarter of the time.

    This looks at sizes that depend on the rows. It changes no value, so nothing but speed follows from it.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    leaves = [(i, metadata.schema.column(i)) for i in range(metadata.num_columns)]
    return [
        leaf.path
        for i, leaf in leaves
        if leaf.path in columns and leaf.physical_type == "BYTE_ARRAY" and leaf.max_repetition_level == 0
        if all(_has_small_dictionary(group.column(i)) for group in groups)
    ]


def _has_small_dictionary(chunk: pq.ColumnChunkMetaData) -> bool:
    start = chunk.dictionary_page_offset
    return start is not None and 0 < chunk.data_page_offset - start < _SMALL_DICTIONARY
