"""What a source is: private rows, as Arrow record batches of bounded size."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import pyarrow as pa

from kernelease.arrays import block_slices
from kernelease.errors import ParameterError, PrivacyError, SchemaError, SourceError
from kernelease.sources.plain import plain
from kernelease.table.records import Records
from kernelease.table.written import OF_FILES, OF_TEXTS

LARGEST_BATCH = 2**18  # rows: what a source must not exceed, so that memory stays bounded
BATCH_ROWS = 2**16  # where a source may choose


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Source(ABC):
    """Private rows that can be read in passes. It prints no value, has no length, can't be iterated or pickled.

    Whether anything is raised depends on public things (a missing file or column, a lost connection), never on a cell:
    what is damaged arrives as it is, or as NULL. Order and batch borders mean nothing; `batch_rows` bounds memory.
    """

    batch_rows: int = BATCH_ROWS

    def __post_init__(self) -> None:
        if not 1 <= self.batch_rows <= LARGEST_BATCH:
            raise ParameterError(f"batch_rows must be from 1 to {LARGEST_BATCH}, got {self.batch_rows!r}.")
        if len(set(self.names())) < len(self.names()):
            # Which name stays unsaid, here and below: the first line of a file without a header is somebody's row.
            raise SourceError(f"{self.describe()} has two columns of one name. Rename one of them.")

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all columns. They are public."""

    @abstractmethod
    def declared_schema(self) -> pa.Schema | None:
        """The types that the source itself declares; None for a CSV file, which declares none."""

    @abstractmethod
    def describe(self) -> str:
        """The source in a few words for messages: its kind, and where it is. No value, count or password."""

    def records(self) -> Records | None:
        """Where its records end, if that is a choice, as for CSV files; None where a row is what the source says."""
        return None

    def heeds(self) -> tuple[str, ...]:
        """The keys of a schema's [source] that such a source heeds: those about texts, and of CSV files all."""
        return OF_TEXTS if self.records() is None else (*OF_FILES, *OF_TEXTS)

    def hint(self) -> str:
        """A sentence for whoever misses a column, from what is public; empty where there is none."""
        return ""

    @abstractmethod
    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """One pass over the rows: batches of any size that hold at least these columns, which exist."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """One pass over the rows: these columns in this order, at most `batch_rows` rows at a time, none of them empty.

        Columns arrive as `plain` Arrow types; the type of a column may differ between batches. A missing column is
        reported at once, before a row is read.
        """
        wanted = tuple(columns)
        self._check_columns(wanted)
        return self._bounded(wanted)

    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        for name in wanted:
            if name not in self.names():
                raise SchemaError(f"{self.describe()} has no column {name!r}.", path=("columns", name))
        repeated, times = Counter(wanted).most_common(1)[0] if wanted else ("", 0)
        if times != 1:
            raise ParameterError(f"Columns must be named once each, at least one, got {repeated!r} {times} times.")

    def _bounded(self, wanted: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        for batch in self._read(wanted):
            positions = [batch.schema.get_field_index(name) for name in wanted]
            for part in block_slices(batch.num_rows, self.batch_rows):
                rows = part.stop - part.start
                arrays = [plain(batch.column(i).slice(part.start, rows)) for i in positions]
                yield pa.RecordBatch.from_arrays(arrays, names=list(wanted))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.describe()}; private>"

    def __len__(self) -> NoReturn:
        raise PrivacyError("A source has no length: how many rows it holds may be private.")

    def __iter__(self) -> NoReturn:
        raise PrivacyError("A source can't be iterated: use batches.")

    def __bool__(self) -> bool:
        return True  # asked for by `if source`; without this, Python would ask for the length

    def __reduce__(self) -> Any:
        raise PrivacyError("A source can't be pickled or copied: it may hold private rows.")


def source_columns(source: Source) -> pa.Schema:
    """The names of a source's columns, with the types that it declares."""
    declared = source.declared_schema()
    return pa.schema([(column, pa.null()) for column in source.names()]) if declared is None else declared
