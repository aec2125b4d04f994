"""A source as its schema declares it: columns by the names of the release, cells in the usual spelling."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import pyarrow as pa

from kernelease.errors import SchemaError
from kernelease.sources.source import Source
from kernelease.table.columns.column import Column
from kernelease.table.columns.numeric import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.encode import Encoder
from kernelease.table.reading.date_formats import as_iso
from kernelease.table.records import Records
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class DeclaredSource(Source):
    """Another source's rows, with its columns renamed and its texts rewritten as the schema says, each cell by itself.

    A column that is declared `from` another name is found under its own. Another column of that name is hidden.
    """

    inner: Source
    schema: Schema

    @classmethod
    def of(cls, source: Source, schema: Schema) -> Source:
        """The source as declared: itself, where names are the same and nothing is to be rewritten."""
        if isinstance(source, DeclaredSource):
            return source if source.schema == schema else cls.of(source.inner, schema)
        unchanged = schema.source.numerals.usual and not schema.source.formats
        if unchanged and all(column.source is None for column in schema):
            return source
        return cls(inner=source, schema=schema, batch_rows=source.batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(self._origins())

    def _origins(self) -> dict[str, str]:
        """The name of each column in the inner source, by its name here."""
        declared = {column.source_name: column.name for column in self.schema}
        renamed = {column.name for column in self.schema if column.source is not None}
        return {
            declared.get(name, name): name for name in self.inner.names() if name in declared or name not in renamed
        }

    def declared_schema(self) -> pa.Schema | None:
        given = self.inner.declared_schema()
        return (
            None if given is None else pa.schema([(to, given.field(own).type) for to, own in self._origins().items()])
        )

    def describe(self) -> str:
        return self.inner.describe()

    def records(self) -> Records | None:
        return self.inner.records()

    def heeds(self) -> tuple[str, ...]:
        return self.inner.heeds()

    def hint(self) -> str:
        return self.inner.hint()

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        origins, known = self._origins(), {column.name: column for column in self.schema}
        for batch in self.inner.batches([origins[name] for name in columns]):
            arrays = [self._rewritten(known.get(name), batch.column(i)) for i, name in enumerate(columns)]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _rewritten(self, column: Column | None, array: pa.Array) -> pa.Array:
        if isinstance(column, Integer | Number):
            return self.schema.source.numerals.plain(array)
        return as_iso(array, self.schema.source.formats) if isinstance(column, Date | Datetime) else array


def check_columns(source: Source, schema: Schema) -> None:
    """A `SchemaError` if a declared column is not in the source, with what its public parts say about the reason."""
    try:
        Encoder(schema).check(pa.schema([(name, pa.null()) for name in source.names()]))
    except SchemaError as error:
        error.args = (f"{error}{source.hint()}",)
        raise
