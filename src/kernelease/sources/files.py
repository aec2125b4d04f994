"""Sources that are files: what they share, and several of them as one."""

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.machine import refuse_shortage
from kernelease.sources.source import Piece, Source
from kernelease.sources.stamp import FileStamp
from kernelease.table.records import Records


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class FileSource(Source):
    """A file that must stay as it was when it was opened."""

    path: Path
    stamp: FileStamp

    @abstractmethod
    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        """One pass over the file; `OSError`, `EOFError`, `UnicodeError` or Arrow's exceptions: it is damaged."""

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return (batch for piece in self._pieces(columns) for batch in piece())

    def _pieces(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        with self._whole():
            for part in self._parts(columns):
                yield partial(self._of_part, part)

    def _of_part(self, part: Piece) -> Iterator[pa.RecordBatch]:
        with self._whole():
            yield from part()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is read inside is of the file that was opened, and whole; else a `SourceError`."""
        self.stamp.check(self.describe())
        try:
            yield
        except (OSError, EOFError, UnicodeError, pa.ArrowException) as error:
            refuse_shortage(error)
            self.stamp.check(self.describe())
            # No cause: the library's message may quote what it found in the file.
            raise SourceError(f"{self.describe()} can't be read to its end: it is damaged or was cut off.") from None
        self.stamp.check(self.describe())


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ManyFiles(Source):
    """Files of one kind, one after the other. Each must have the columns that are read, in any order."""

    parts: tuple[FileSource, ...]
    title: str

    def names(self) -> tuple[str, ...]:
        return self.parts[0].names()

    def declared_schema(self) -> pa.Schema | None:
        return self.parts[0].declared_schema()

    def describe(self) -> str:
        return self.title

    def records(self) -> Records | None:
        return self.parts[0].records()

    def heeds(self) -> tuple[str, ...]:
        return self.parts[0].heeds()

    def hint(self) -> str:
        return self.parts[0].hint()

    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        for part in self.parts:
            part._check_columns(wanted)

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return (batch for part in self.parts for batch in part.batches(columns))

    def _pieces(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        return (piece for part in self.parts for piece in part.pieces(columns))
