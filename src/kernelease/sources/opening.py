"""`open_source`: the right source for whatever the owner has; several tables, and public ones."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import pyarrow as pa
import pyarrow.csv

from kernelease.errors import ParameterError, SchemaError, SourceError, nearest
from kernelease.machine import refuse_shortage
from kernelease.relational.schema_of_tables import TableOfRecords, Tables
from kernelease.sources.arrow import ArrowFile, ArrowStream, PandasFrame, ParquetFile, is_frame
from kernelease.sources.csv_file import CsvFile, CsvFormat
from kernelease.sources.databases import PostgresqlQuery, SqliteQuery
from kernelease.sources.duck import DuckFile, DuckRelation, is_relation
from kernelease.sources.source import (
    ARROW,
    BATCH_ROWS,
    CSV,
    DATABASES,
    DUCKDB,
    EXCEL,
    PARQUET,
    POSTGRESQL_URLS,
    SPARK_TABLE,
    SQLITE_URL,
    DeclaredSource,
    FileSource,
    ManyFiles,
    Source,
    Wrapper,
    check_columns,
    existing,
    find_files,
    kind_of,
)
from kernelease.sources.stat import ExcelSheet, StatFile
from kernelease.table.columns.listed import Listed
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.schema import Schema
from kernelease.table.written import OF_FILES, OF_TEXTS, Records, as_toml, reason_unheeded, source_error


def open_source(
    data: Any,
    *,
    query: str | None = None,
    csv: CsvFormat | None = None,
    spark: str | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Source:
    """A source of rows for a file, a folder, a pattern or list of files, a database, a data frame, an Arrow stream.

    `query` names a table of a database or a sheet of a workbook, or is a SELECT statement; `csv` says how CSV files are
    written (and which texts of a workbook are NULL), and `spark` on which master a table of Spark is (None: that of the
    session which is there). Only public things are looked at here: names, headers, declared types. docs/sources.md
    lists what can be given.

    >>> import pyarrow as pa
    >>> source = open_source(pa.table({"age": [30, 40], "name": ["Ada", "Bob"]}))
    >>> source
    <ArrowStream: Arrow stream of a pyarrow Table; private>
    >>> [batch.column_names for batch in source.batches(["name", "age"])]
    [['name', 'age']]
    """
    if isinstance(data, str) and data.startswith(SPARK_TABLE):
        from kernelease.sources.spark import SparkFrame  # a room of its own

        return SparkFrame.open(data, query, master=spark, batch_rows=batch_rows)
    if spark is not None:
        raise SourceError("spark= is for tables of Spark: name one as spark:TABLE, or leave it out.")
    if isinstance(data, str) and data.startswith(POSTGRESQL_URLS):
        return PostgresqlQuery.open(data, query, batch_rows=batch_rows)
    if isinstance(data, str) and data.startswith(SQLITE_URL):
        return SqliteQuery.open(existing(data.removeprefix(SQLITE_URL)), query, batch_rows=batch_rows)
    if _is_paths(data):
        files = find_files(data)
        if files.kind in DATABASES:
            if len(files.paths) > 1:
                raise SourceError(f"The {files.title} are databases: give one of them.")
            kind = DuckFile if files.kind == DUCKDB else SqliteQuery
            return kind.open(files.paths[0], query, batch_rows=batch_rows)
        if files.kind != EXCEL:
            _refuse_query(query)
        first, *others = (_from_file(path, files.kind, csv or CsvFormat(), query, batch_rows) for path in files.paths)
        if not others:
            return first
        title = f"{files.kind} {files.title}"
        return ManyFiles(inner=first, others=tuple(others), title=title, batch_rows=batch_rows)
    _refuse_query(query)
    return _from_memory(data, batch_rows)


def open_declared(
    data: Any,
    schema: Schema,
    *,
    query: str | None = None,
    spark: str | None = None,
    batch_rows: int = BATCH_ROWS,
    as_text: bool = True,
) -> Source:
    """The source of a declared table: as `open_source`, with CSV files, names and cells read as the schema says.

    A source that is open already must have been opened so: the certificate says what one record is. A `SchemaError` if
    it was not, or if something is declared that such a source does not have. Cells of a CSV file come as text, or, for
    those who encode them only, as numbers and labels where they are declared so.
    """
    wanted = CsvFormat.of(schema.source)
    csv = dataclasses.replace(wanted, expected=() if as_text else _expected_columns(schema))
    source = open_source(data, query=query, csv=csv, spark=spark, batch_rows=batch_rows)
    for key in (key for key in (*OF_FILES, *OF_TEXTS) if key not in source.heeds()):
        if (given := getattr(schema.source, key)) not in (None, Records.QUOTED):
            raise source_error(key, f"{key} = {as_toml(given)} {reason_unheeded(key, source.describe())}. Remove it.")
    if (found := _opened_as(source)) is not None:
        _compare(source, found, wanted, schema)
    declared = DeclaredSource.of(source, schema)
    if source.distant and declared is not source:
        raise SchemaError(
            f"{source.describe()}: its columns are read as they are, where they lie. Rename and rewrite them in a "
            "query, and leave `from` and [source] out."
        )
    return declared


def _expected_columns(schema: Schema) -> tuple[tuple[str, pa.DataType], ...]:
    """The columns of numbers and of labels; the identifier of a person stays text, since 007 is not 7."""
    numbers = (Integer, Number) if schema.source.numerals.usual else ()
    kinds = [
        (column.source_name, pa.float64() if isinstance(column, numbers) else pa.dictionary(pa.int32(), pa.string()))
        for column in schema
        if isinstance(column, (Listed, *numbers)) and column.source_name != schema.unit
        if getattr(column, "minus", None) is None
    ]
    return tuple(kinds)


def _opened_as(source: Source) -> CsvFormat | ExcelSheet | None:
    """What says how a file was read, if that was a choice."""
    if isinstance(source, Wrapper):
        return _opened_as(source.inner)
    return source.format if isinstance(source, CsvFile) else source if isinstance(source, ExcelSheet) else None


def _compare(source: Source, found: CsvFormat | ExcelSheet, wanted: CsvFormat, schema: Schema) -> None:
    """A source that is open already was opened as declared; what is not declared was its opener's choice."""
    for key in (key for key in OF_FILES if key in source.heeds()):
        declared = key == "records" or getattr(schema.source, key) is not None
        had, meant = getattr(found, key), getattr(wanted, key)
        if declared and had != meant:
            raise source_error(
                key,
                f"{source.describe()} was opened with {key} = {as_toml(had)}, and the schema means {as_toml(meant)}. "
                f"Open it so, or declare [source] {key} = {as_toml(had)}.",
            )


def _is_paths(data: Any) -> TypeGuard[str | Path | Sequence[str | Path]]:
    if isinstance(data, list | tuple):
        return all(isinstance(item, str | Path) for item in data)
    return isinstance(data, str | Path)


def _refuse_query(query: str | None) -> None:
    if query is not None:
        raise SourceError(
            "--query (query= in Python) is for databases and workbooks: other files and data frames are read whole. "
            "Leave it out."
        )


def _from_file(path: Path, kind: str, csv: CsvFormat, sheet: str | None, batch_rows: int) -> FileSource:
    if kind == CSV:
        return CsvFile.open(path, csv, batch_rows=batch_rows)
    if kind == EXCEL:
        return ExcelSheet.open(path, sheet, nulls=csv.nulls, batch_rows=batch_rows)
    if kind == PARQUET:
        return ParquetFile.open(path, batch_rows=batch_rows)
    return (ArrowFile if kind == ARROW else StatFile).open(path, batch_rows=batch_rows)


def _from_memory(data: Any, batch_rows: int) -> Source:
    if isinstance(data, Source):
        return data
    if is_frame(data):
        return PandasFrame(data=data, batch_rows=batch_rows)
    if is_relation(data):
        return DuckRelation(data=data, batch_rows=batch_rows)
    if is_spark_frame(data):
        from kernelease.sources.spark import SparkFrame  # a room of its own

        return SparkFrame(data=data, batch_rows=batch_rows)
    if hasattr(data, "__arrow_c_stream__"):
        return ArrowStream.open(data, batch_rows=batch_rows)
    raise SourceError(
        f"Rows can't be read from a {type(data).__name__}. Give a path, a database's URI or a data frame, as "
        "pandas.DataFrame(…) makes it; anything that has __arrow_c_stream__ will do."
    )


def is_spark_frame(data: object) -> bool:
    """Whether this is a Spark data frame, without importing Spark for it."""
    sql = sys.modules.get("pyspark.sql")
    return sql is not None and isinstance(data, sql.DataFrame)


# ---- Several tables: what was given for each, and how it is opened.


SUFFIXES = (".parquet", ".csv", ".csv.gz", ".tsv", ".xlsx", ".feather")  # convention: of a table's file in a folder


def given_tables(data: Any, tables: Tables) -> dict[str, Any]:
    """What was given for each table: by its name in a mapping, a database, a workbook, Spark, or a folder."""
    if isinstance(data, str) and data.startswith(SPARK_TABLE):
        return {name: f"{data}{name}" for name in tables.names}
    if isinstance(data, str | Path):
        return {name: data if _has_tables(data) else _file_of(Path(data), name) for name in tables.names}
    if not isinstance(data, Mapping):
        raise ParameterError(
            "Several tables: give a mapping from their names to frames or files, the path of a folder, or a database, "
            f"got {type(data).__name__}."
        )
    for name in data:
        if name not in tables.names:
            raise ParameterError(
                f"Several tables: the schema has no table {str(name)[:40]!r}.{nearest(str(name), tables.names)}"
            )
    for name in tables.names:
        if name not in data:
            raise ParameterError(f"Several tables: there are no rows for table {name!r}.")
    return dict(data)


def _has_tables(data: Any) -> bool:
    """Whether what was given is a database or a workbook, which has tables or sheets by their names."""
    if isinstance(data, str) and data.startswith((*POSTGRESQL_URLS, SQLITE_URL)):
        return True
    return isinstance(data, str | Path) and Path(data).is_file() and kind_of(Path(data)) in (*DATABASES, EXCEL)


def _file_of(folder: Path, name: str) -> Path:
    if not folder.is_dir():
        told = "Several tables are files of one folder, tables of a database or sheets of a workbook, by their names."
        raise SourceError(f"{folder}: is no folder and no database. {told}")
    found = [folder / f"{name}{suffix}" for suffix in SUFFIXES if (folder / f"{name}{suffix}").exists()]
    if len(found) != 1:
        told = "none" if not found else f"{len(found)} of them"
        raise SourceError(f"{folder}: needs one file for table {name!r}, {name}.csv or the like; there is {told}.")
    return found[0]


def open_table(data: Any, table: TableOfRecords, *, as_text: bool = True, batch_rows: int = BATCH_ROWS) -> Source:
    """The source of one of several tables, with its keys; of a database or a workbook, what has its name there."""
    query = table.name if _has_tables(data) else None
    of_spark = is_spark_frame(data) or (isinstance(data, str) and data.startswith(SPARK_TABLE))
    found = open_source(data) if of_spark else data
    found = found.gather() if isinstance(found, Source) else found
    source = open_declared(found, table.schema, query=query, batch_rows=batch_rows, as_text=as_text)
    check_columns(source, table.schema)
    for key in (table.key, table.foreign_key):
        if key is not None and source.names().count(key) != 1:
            raise SourceError(f"table {table.name!r}: {source.describe()} has no column {key!r}, or several.")
    return source


# ---- Public tables: here, and only here, types may be read off values.


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
    return table if source.declared_schema() is not None else _guess_types(table)


def _guess_types(table: pa.Table) -> pa.Table:
    """A table of texts with the types that a CSV file of them would have."""
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return pyarrow.csv.read_csv(pa.BufferReader(sink.getvalue()), convert_options=_EMPTY_IS_NULL)
