"""Public tables: here, and only here, types may be read off values."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from kernelease.errors import SourceError
from kernelease.machine import refuse_shortage
from kernelease.sources.opening import open_source
from kernelease.sources.paths import CSV, kind_of

_EMPTY_IS_NULL = pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=[""])


def read_public(path: str | Path) -> pa.Table:
    """A whole *public* table. The types of CSV files and workbooks are guessed from values; empty cells are NULL.

    Never for private rows: a guessed type, or the message of a parser, tells about them.
    """
    if Path(path).is_file() and kind_of(Path(path)) == CSV:
        delimiter = "\t" if ".tsv" in Path(path).name.lower() else ","
        try:
            return pyarrow.csv.read_csv(
                path,
                parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=_EMPTY_IS_NULL,
            )
        except (pa.ArrowException, OSError) as error:
            refuse_shortage(error)
            raise SourceError(f"The public file {path} can't be read: {error}") from error
    source = open_source(str(path))
    tables = [pa.Table.from_batches([batch]) for batch in source.batches(source.names())]
    table = pa.concat_tables(tables, promote_options="permissive")
    return table if source.declared_schema() is not None else _guessed(table)


def _guessed(table: pa.Table) -> pa.Table:
    """A table of texts with the types that a CSV file of them would have."""
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return pyarrow.csv.read_csv(pa.BufferReader(sink.getvalue()), convert_options=_EMPTY_IS_NULL)
