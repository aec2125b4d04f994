"""The private pass of `Interactions` done by a database: it encodes and counts, and only counts leave it."""

import math
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import BigIntegers, Integers
from kernelease.errors import SourceError
from kernelease.exact.counting import ExactCounts, tables_of
from kernelease.measured.blocks import Block
from kernelease.measured.sums import Look, Mixed, Program, SqlRows
from kernelease.passes import Layout
from kernelease.sources import databases, duck
from kernelease.sources.databases import PostgresqlDialect, PostgresqlQuery
from kernelease.sources.duck import DuckDialect, DuckFile, DuckRelation
from kernelease.sources.source import DeclaredSource, Source, check_columns
from kernelease.sources.sql import Dialect, Refusal, joint, read_to_the_end
from kernelease.table.columns.column import Codes, Column
from kernelease.table.schema import Schema

_OLDEST_POSTGRESQL = 120_000  # version 12 has MATERIALIZED
_SETTINGS = (
    "SELECT current_setting('server_encoding'), current_setting('client_encoding'), "
    "CAST(current_setting('server_version_num') AS int4)"
)
_ENUMS = "SELECT typname::text FROM pg_catalog.pg_type GROUP BY typname HAVING bool_and(typtype = 'e')"
_POSTGRESQL_TYPES = {
    **{"bool": pa.bool_(), "int2": pa.int16(), "int4": pa.int32(), "int8": pa.int64()},
    **{"float4": pa.float32(), "float8": pa.float64(), "date": pa.date32()},
    **{"text": pa.string(), "varchar": pa.string(), "bpchar": pa.string()},
    **{"timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", tz="UTC")},
}


def supports(source: Source, schema: Schema) -> str | None:
    """Why this source can't be counted by SQL with this schema; None if it can.

    Only declared types and settings of the engine are looked at. Where the same counts to the last bit are not
    certain, the answer is a reason, and rows should be streamed: `source.batches`. A `SchemaError` if the source lacks
    a declared column.
    """
    check_columns(source, schema)
    if schema.unit is not None:
        return f"the cap on rows of each {schema.unit} needs a hash of encoded rows, which SQL does not have."
    if isinstance(source, DeclaredSource):
        return "the schema renames columns, or rewrites numbers or dates. Do that in the query: SELECT a AS b."
    if not isinstance(source, _COUNTING):
        return f"{source.describe()} is not a table or query of DuckDB or PostgreSQL."
    try:
        with _open(source) as cells:
            for column in schema:
                cells.code(column)
    except Refusal as refusal:
        return str(refusal)
    return None


def count_by_sql(source: Source, schema: Schema) -> ExactCounts:
    """Exact counts as `ExactCounts.of` finds them in the encoded batches of the same source.

    Each round of counts is one statement in one snapshot, and no cell makes it fail. A `SourceError` where `supports`
    has a reason against it.
    """
    if (reason := supports(source, schema)) is not None:
        raise SourceError(f"{source.describe()} can't be counted by SQL: {reason}")
    counts = ExactCounts(
        lambda blocks: _tables(source, schema, blocks),
        schema.sizes,
        weigher=lambda blocks: _moments(source, schema, blocks),
    )
    counts.again = lambda laid: count_by_sql(source, laid)
    return counts


def _tables(source: Source, schema: Schema, blocks: Sequence[Block]) -> list[Integers]:
    """The table of each block, from the cells that are not empty."""
    layout = Layout.of(blocks, schema.sizes)
    starts = np.array(layout.starts)
    with _open(source) as cells:
        counted = cells.run(cells.views(schema, layout.views), lambda codes: _counts(codes, layout))
    part, cell, rows = (counted.column(i).to_numpy().astype(np.int64) for i in range(3))
    totals = np.zeros(starts[-1], dtype=np.int64)
    totals[starts[part] + cell] = rows
    return tables_of(layout, totals, blocks)


def _moments(source: Source, schema: Schema, blocks: Sequence[Block]) -> list[BigIntegers]:
    """What rows add to each block; cells without rows have nothing."""
    with _open(source) as cells:
        rows = SqlRows(schema.finer, cells.dialect.array)
        weighed = cells.run(cells.atoms(schema), lambda codes: _sums(codes, blocks, rows))
    tables = [np.zeros((math.prod(block.grid), len(block.addends)), dtype=object) for block in blocks]
    for part, cell, totals in zip(*(weighed.column(i).to_pylist() for i in range(3)), strict=True):
        tables[part][cell] = [int(total) for total in totals.split()]
    return [table.reshape(block.shape) for table, block in zip(tables, blocks, strict=True)]


def _counts(codes: str, layout: Layout) -> str:
    """The counts of every group of columns, where a0, a1, … are the codes: the group, the place in its table, rows."""
    return " UNION ALL ".join(
        f"SELECT {index} AS part, {joint(group, layout.lengths)} AS cell, count(*) AS n FROM {codes} GROUP BY 2"
        for index, group in enumerate(layout.groups)
    )


def _sums(codes: str, blocks: Sequence[Block], rows: SqlRows) -> str:
    """What rows add to every block: its number, the place in its table, the sums of that cell's numbers in one text."""
    return " UNION ALL ".join(_block_sums(index, block, codes, rows) for index, block in enumerate(blocks))


_TEXTS = 100  # limit: that are joined one after the other: DuckDB parses no deeper expression than of a thousand


def _block_sums(index: int, block: Block, codes: str, rows: SqlRows) -> str:
    groups = tuple([Look(column=c, values=group) for c, group in zip(block.columns, block.groups, strict=True)])
    strides = tuple([math.prod(block.grid[axis + 1 :]) for axis in range(len(groups))])
    (cell, *numbers), relation = Program.of([Mixed(parts=groups, weights=strides), *block.addends]).selects(codes, rows)
    texts = [f"CAST(SUM({number}) AS VARCHAR)" for number in numbers]
    parts = (" || ' ' || ".join(texts[begin : begin + _TEXTS]) for begin in range(0, len(texts), _TEXTS))
    totals = " || ' ' || ".join(f"({part})" for part in parts)
    return f"SELECT {index} AS part, {cell} AS cell, {totals} AS totals FROM {relation} GROUP BY 2"


# ---- A source where its database holds it: the codes of its cells, and statements about them.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """The cells of a source, named by their place, c0, c1, …: names may hold or hide anything.

    `run` encodes the rows by a list of expressions, and answers a statement about the table that this gives, by its
    name.
    """

    dialect: Dialect
    names: Sequence[str]
    kinds: Sequence[str]  # what the engine calls their types
    run: Callable[[str, Callable[[str], str]], pa.Table]

    def code(self, column: Column) -> str:
        """The code of a declared column."""
        place = self.names.index(column.name)
        return self.dialect.atom(column, self.kinds[place], f"c{place}")

    def views(self, schema: Schema, views: Sequence[Codes]) -> str:
        """The cell of each atom in its column's view, as a0, a1 and so on."""
        cells = [
            (_cell(self.code(column), view, self.dialect.array), view)
            for column, view in zip(schema, views, strict=True)
        ]
        return ", ".join(f"CAST({cell} AS {self.dialect.narrow(view)}) AS a{i}" for i, (cell, view) in enumerate(cells))

    def atoms(self, schema: Schema) -> str:
        """The atom of each column as a0, a1, … and, where it has finer cells, its code there as f0, f1, … too."""
        columns = [*((f"a{i}", column) for i, column in enumerate(schema))]
        columns += [(f"f{place}", column) for place, column in schema.finer.items()]
        return ", ".join(f"CAST({self.code(column)} AS {self.dialect.wide}) AS {name}" for name, column in columns)


def _cell(atom: str, view: Codes, array: str) -> str:
    """The cell of an atom, looked up in a list that the statement spells out. Lists count from 1."""
    if np.array_equal(view, np.arange(len(view))):
        return atom
    return f"({array}[{', '.join(str(cell) for cell in view.tolist())}])[({atom}) + 1]"


def _places(kinds: Sequence[str]) -> str:
    return ", ".join(f"c{i}" for i in range(len(kinds)))


_COUNTING = (DuckFile, DuckRelation, PostgresqlQuery)


def _open(source: Source) -> AbstractContextManager[_Cells]:
    assert isinstance(source, _COUNTING)  # as `supports` has found
    return _postgresql(source) if isinstance(source, PostgresqlQuery) else _duck(source)


@contextmanager
def _duck(source: DuckFile | DuckRelation) -> Iterator[_Cells]:
    """Encodes once into a temporary table: it holds the range of each column, by which DuckDB counts fastest."""
    with _duck_relation(source) as relation:
        kinds = [str(kind) for kind in relation.types]

        def run(columns: str, statement: Callable[[str], str]) -> pa.Table:
            rows, codes = (f"kernelease_{secrets.token_hex(8)}" for _ in range(2))
            encoded = f"SELECT {columns} FROM {rows} AS cells({_places(kinds)})"
            relation.query(rows, f"CREATE TEMPORARY TABLE {codes} AS {encoded}")
            try:
                return relation.query(rows, statement(f"temp.{codes}")).to_arrow_table()
            finally:
                relation.query(rows, f"DROP TABLE temp.{codes}")

        yield _Cells(dialect=DuckDialect(), names=relation.columns, kinds=kinds, run=run)


@contextmanager
def _duck_relation(source: DuckFile | DuckRelation) -> Iterator[Any]:
    with read_to_the_end(source.describe(), duck._duckdb().Error):
        if isinstance(source, DuckRelation):
            yield source.data
        else:
            source.stamp.check(source.describe())
            with duck._relation(source.path, source.query) as relation:
                yield relation
            source.stamp.check(source.describe())


@contextmanager
def _postgresql(source: PostgresqlQuery) -> Iterator[_Cells]:
    """One statement in a transaction of one snapshot that can't write: the codes are materialised, and counted."""
    with read_to_the_end(source.describe(), *databases._errors()), databases._cursor(source.uri) as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SET LOCAL jit = off")  # compiling so many expressions takes longer than running them
        kinds = _postgresql_kinds(source, cursor)

        def run(columns: str, statement: Callable[[str], str]) -> pa.Table:
            rows = f"(\n{source.query}\n) AS kernelease_rows({_places(kinds)})"
            cursor.execute(f"WITH codes AS MATERIALIZED (SELECT {columns} FROM {rows}) {statement('codes')}")
            return cursor.fetch_arrow_table()

        yield _Cells(dialect=PostgresqlDialect(), names=source.names(), kinds=kinds, run=run)


def _postgresql_kinds(source: PostgresqlQuery, cursor: Any) -> list[str]:
    """The types of the query's columns, or a `Refusal` of this server."""
    cursor.execute(_SETTINGS)
    server, client, version = cursor.fetchone()
    if (server, client) != ("UTF8", "UTF8"):
        raise Refusal(f"the database's encoding is {server}, and the connection's {client}; both must be UTF8.")
    if version < _OLDEST_POSTGRESQL:
        raise Refusal("the server must be PostgreSQL 12 or later.")
    cursor.execute(_ENUMS)
    enums = frozenset(cursor.fetch_arrow_table().column(0).to_pylist())
    return [_postgresql_type(field, enums) for field in source.schema]


def _postgresql_type(field: pa.Field, enums: frozenset[str]) -> str:
    """The name of a type, as far as it is certain: anybody may give a type of their own a well-known name."""
    name = databases._typename(field)
    if name in enums and pa.types.is_string(field.type):
        return "enum"
    certain = name == "numeric" or _POSTGRESQL_TYPES.get(name) == field.type
    return name if certain else f"{name!r} (arriving as {field.type})"
