"""Files of SPSS, Stata and SAS as sources."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.sources.files import FileSource
from kernelease.sources.stamp import FileStamp
from kernelease.sources.stat.header import Header


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class StatFile(FileSource):
    """A .sav, .zsav, .dta, .sas7bdat or .xpt file. Memory holds a batch, as Python objects and as Arrow."""

    header: Header

    @classmethod
    def open(cls, path: Path, *, batch_rows: int) -> "StatFile":
        """Read the header; no row is looked at."""
        stamp = FileStamp.of(path)
        return cls(path=path, stamp=stamp, header=Header.read(path), batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.header.variables)

    def declared_schema(self) -> pa.Schema:
        return pa.schema([(variable.name, variable.type) for variable in self.header.variables])

    def describe(self) -> str:
        return f"{self.header.software} file {self.path}"

    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        FileSource._check_columns(self, wanted)
        for variable in self.header.variables:
            if variable.elsewhere and variable.name in wanted:
                raise SourceError(
                    f"{self.describe()}: column {variable.name!r} is a strL, which can't be read cell by cell. Make it "
                    "an ordinary text in Stata (compress, or recast str2045), or leave it out."
                )

    def _rows(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        wanted = tuple(variable for variable in self.header.variables if variable.name in columns)
        start, found = 0, self.batch_rows
        while found == self.batch_rows:
            cells = self.header.cells(wanted, start, self.batch_rows)
            batch = pa.RecordBatch.from_arrays([cells[name] for name in columns], names=list(columns))
            found = batch.num_rows
            start += found
            yield batch
