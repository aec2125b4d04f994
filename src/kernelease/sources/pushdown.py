"""The private pass of `Interactions` done by a database: it encodes and counts, and only counts leave it."""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import BigIntegers, Integers
from kernelease.errors import SourceError
from kernelease.exact.counts import ExactCounts, tables_of
from kernelease.machine import refuse_shortage
from kernelease.measured.blocks import Block
from kernelease.measured.sums import Look, Mixed, Program, SqlRows
from kernelease.passes import Layout
from kernelease.sources import databases, duck
from kernelease.sources.databases import PostgresqlDialect, PostgresqlQuery
from kernelease.sources.duck import DuckDialect, DuckFile, DuckRelation
from kernelease.sources.source import DeclaredSource, Source, check_columns
from kernelease.sources.sql import Dialect, Refusal, failed, joint
from kernelease.table.columns.column import Codes
from kernelease.table.schema import Schema

_OLDEST_POSTGRESQL = 120_000  # version 12 has MATERIALIZED
_INT2 = 2**15  # codes from which on two bytes with a sign are too few
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
    engine = _engine(source)
    if engine is None:
        return f"{source.describe()} is not a table or query of DuckDB or PostgreSQL."
    try:
        engine.check(schema)
    except Refusal as refusal:
        return str(refusal)
    return None


def count_by_sql(source: Source, schema: Schema) -> ExactCounts:
    """Exact counts as `ExactCounts.of` finds them in the encoded batches of the same source.

    Each round of counts is one statement in one snapshot, and no cell makes it fail. A `SourceError` where `supports`
    has a reason against it.
    """
    reason, engine = supports(source, schema), _engine(source)
    if engine is None or reason is not None:
        raise SourceError(f"{source.describe()} can't be counted by SQL: {reason}")
    counts = ExactCounts(
        lambda blocks: _tables(engine, schema, blocks),
        schema.sizes,
        weigher=lambda blocks: _moments(engine, schema, blocks),
    )
    counts.again = lambda laid: count_by_sql(source, laid)
    return counts


def _tables(engine: "_Engine", schema: Schema, blocks: Sequence[Block]) -> list[Integers]:
    """The table of each block, from the cells that are not empty."""
    layout = Layout.of(blocks, schema.sizes)
    starts = np.array(layout.starts)
    counted = engine.count(schema, layout)
    part, cell, rows = (counted.column(i).to_numpy().astype(np.int64) for i in range(3))
    totals = np.zeros(starts[-1], dtype=np.int64)
    totals[starts[part] + cell] = rows
    return tables_of(layout, totals, blocks)


def _moments(engine: "_Engine", schema: Schema, blocks: Sequence[Block]) -> list[BigIntegers]:
    """What rows add to each block; cells without rows have nothing."""
    weighed = engine.weigh(schema, blocks)
    tables = [np.zeros((math.prod(block.grid), len(block.added)), dtype=object) for block in blocks]
    for part, cell, totals in zip(*(weighed.column(i).to_pylist() for i in range(3)), strict=True):
        tables[part][cell] = [int(total) for total in totals.split()]
    return [table.reshape(block.shape) for table, block in zip(tables, blocks, strict=True)]


class _Engine(ABC):
    """A database that holds the rows of a source."""

    @abstractmethod
    def check(self, schema: Schema) -> None:
        """A `Refusal` if a column can't be encoded."""

    @abstractmethod
    def count(self, schema: Schema, layout: Layout) -> pa.Table:
        """The cells that are not empty: the group of columns, the place in its table, the number of rows."""

    @abstractmethod
    def weigh(self, schema: Schema, blocks: Sequence[Block]) -> pa.Table:
        """The cells that are not empty: the block, the place in its table, the sums of what rows add, as text."""


def _engine(source: Source) -> _Engine | None:
    if isinstance(source, DuckFile | DuckRelation):
        return _Duck(source)
    return _Postgresql(source) if isinstance(source, PostgresqlQuery) else None


def _atoms(dialect: Dialect, names: Sequence[str], kinds: Sequence[str], schema: Schema) -> list[str]:
    """The code of each declared column. Cells are named by their place, c0, c1, …: names may hold or hide anything."""
    places = [names.index(column.name) for column in schema]
    return [dialect.atom(column, kinds[i], f"c{i}") for column, i in zip(schema, places, strict=True)]


def _placed(dialect: Dialect, names: Sequence[str], kinds: Sequence[str], schema: Schema, kind: str) -> str:
    """The atom of each declared column as a0, a1, … and, where it has finer cells, its code there as f0, f1, … too."""
    atoms = [f"CAST({atom} AS {kind}) AS a{i}" for i, atom in enumerate(_atoms(dialect, names, kinds, schema))]
    for place, finer in schema.finer.items():
        at = names.index(finer.name)
        atoms.append(f"CAST({dialect.atom(finer, kinds[at], f'c{at}')} AS {kind}) AS f{place}")
    return ", ".join(atoms)


def _cell(atom: str, view: Codes, array: str) -> str:
    """The cell of an atom, looked up in a list that the statement spells out. Lists count from 1."""
    if np.array_equal(view, np.arange(len(view))):
        return atom
    return f"({array}[{', '.join(str(cell) for cell in view.tolist())}])[({atom}) + 1]"


def _counts(codes: str, layout: Layout) -> str:
    """The counts of every group of columns, where a0, a1, … are the codes."""
    return " UNION ALL ".join(
        f"SELECT {index} AS part, {joint(group, layout.lengths)} AS cell, count(*) AS n FROM {codes} GROUP BY 2"
        for index, group in enumerate(layout.groups)
    )


def _sums(codes: str, blocks: Sequence[Block], fine: Collection[int], array: str) -> str:
    """What rows add to every block, where a0, a1, … are the atoms and f0, f1, … the codes of finer cells."""
    return " UNION ALL ".join(
        _block_sums(index, block, codes, SqlRows(fine, array)) for index, block in enumerate(blocks)
    )


def _block_sums(index: int, block: Block, codes: str, rows: SqlRows) -> str:
    """The block's number, the place of each cell in its table, and the sums of that cell's numbers in one text."""
    groups = tuple([Look(column=c, values=group) for c, group in zip(block.columns, block.groups, strict=True)])
    strides = tuple([math.prod(block.grid[axis + 1 :]) for axis in range(len(groups))])
    (cell, *numbers), relation = Program.of([Mixed(parts=groups, weights=strides), *block.added]).selects(codes, rows)
    totals = " || ' ' || ".join(f"CAST(SUM({number}) AS VARCHAR)" for number in numbers)
    return f"SELECT {index} AS part, {cell} AS cell, {totals} AS totals FROM {relation} GROUP BY 2"


def _whole(schema: Schema) -> list[Codes]:
    """Every atom a cell of its own."""
    return [np.arange(size, dtype=np.int32) for size in schema.sizes]


def _places(count: int) -> str:
    return ", ".join(f"c{i}" for i in range(count))


@final
@dataclass(frozen=True, slots=True)
class _Duck(_Engine):
    """Encodes once into a temporary table: it holds the range of each column, by which DuckDB counts fastest."""

    source: DuckFile | DuckRelation

    def check(self, schema: Schema) -> None:
        with self._relation() as relation:
            self._codes(relation, schema, _whole(schema))

    def count(self, schema: Schema, layout: Layout) -> pa.Table:
        rows, codes = (f"kernelease_{secrets.token_hex(8)}" for _ in range(2))
        with self._relation() as relation:
            encode = (
                f"{self._codes(relation, schema, layout.views)} FROM {rows} AS cells({_places(len(relation.columns))})"
            )
            relation.query(rows, f"CREATE TEMPORARY TABLE {codes} AS {encode}")
            try:
                return relation.query(rows, _counts(f"temp.{codes}", layout)).to_arrow_table()
            finally:
                relation.query(rows, f"DROP TABLE temp.{codes}")

    def weigh(self, schema: Schema, blocks: Sequence[Block]) -> pa.Table:
        rows, codes = (f"kernelease_{secrets.token_hex(8)}" for _ in range(2))
        with self._relation() as relation:
            kinds = [str(kind) for kind in relation.types]
            chosen = _placed(DuckDialect(), relation.columns, kinds, schema, "INTEGER")
            names = _places(len(relation.columns))
            relation.query(rows, f"CREATE TEMPORARY TABLE {codes} AS SELECT {chosen} FROM {rows} AS cells({names})")
            try:
                sums = _sums(f"temp.{codes}", blocks, schema.finer, "")
                return relation.query(rows, sums).to_arrow_table()
            finally:
                relation.query(rows, f"DROP TABLE temp.{codes}")

    @contextmanager
    def _relation(self) -> Iterator[Any]:
        try:
            if isinstance(self.source, DuckRelation):
                yield self.source.data
            else:
                self.source.stamp.check(self.source.describe())
                with duck._relation(self.source.path, self.source.query) as relation:
                    yield relation
                self.source.stamp.check(self.source.describe())
        except (duck._duckdb().Error, OSError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise failed(self.source.describe()) from None

    def _codes(self, relation: Any, schema: Schema, views: Sequence[Codes]) -> str:
        atoms = _atoms(DuckDialect(), relation.columns, [str(kind) for kind in relation.types], schema)
        cells = [_cell(atom, view, "") for atom, view in zip(atoms, views, strict=True)]
        narrow = ["UTINYINT" if view.max() < 256 else "USMALLINT" for view in views]
        return "SELECT " + ", ".join(
            f"CAST({cell} AS {kind}) AS a{i}" for i, (cell, kind) in enumerate(zip(cells, narrow, strict=True))
        )


@final
@dataclass(frozen=True, slots=True)
class _Postgresql(_Engine):
    """One statement: the codes are materialised, and each group of columns is counted from them."""

    source: PostgresqlQuery

    def check(self, schema: Schema) -> None:
        with self._cursor() as cursor:
            self._codes(cursor, schema, _whole(schema))

    def count(self, schema: Schema, layout: Layout) -> pa.Table:
        with self._cursor() as cursor:
            codes = self._codes(cursor, schema, layout.views)
            cursor.execute(f"WITH codes AS MATERIALIZED ({codes}) {_counts('codes', layout)}")
            return cursor.fetch_arrow_table()

    def weigh(self, schema: Schema, blocks: Sequence[Block]) -> pa.Table:
        with self._cursor() as cursor:
            kinds = self._kinds(cursor)
            chosen = _placed(PostgresqlDialect(), self.source.names(), kinds, schema, "int8")
            rows = f"(\n{self.source.query}\n) AS kernelease_rows({_places(len(kinds))})"
            sums = _sums("codes", blocks, schema.finer, "ARRAY")
            cursor.execute(f"WITH codes AS MATERIALIZED (SELECT {chosen} FROM {rows}) {sums}")
            return cursor.fetch_arrow_table()

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """A cursor in a transaction of one snapshot that can't write."""
        try:
            with databases._cursor(self.source.uri) as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                cursor.execute("SET LOCAL jit = off")  # compiling so many expressions takes longer than running them
                yield cursor
        except (*databases._errors(), OSError, pa.ArrowException) as error:
            refuse_shortage(error)
            raise failed(self.source.describe()) from None

    def _kinds(self, cursor: Any) -> list[str]:
        """The types of the query's columns, or a `Refusal` of this server."""
        cursor.execute(_SETTINGS)
        server, client, version = cursor.fetchone()
        if (server, client) != ("UTF8", "UTF8"):
            raise Refusal(f"the database's encoding is {server}, and the connection's {client}; both must be UTF8.")
        if version < _OLDEST_POSTGRESQL:
            raise Refusal("the server must be PostgreSQL 12 or later.")
        cursor.execute(_ENUMS)
        enums = frozenset(cursor.fetch_arrow_table().column(0).to_pylist())
        return [_postgresql_type(field, enums) for field in self.source.schema]

    def _codes(self, cursor: Any, schema: Schema, views: Sequence[Codes]) -> str:
        declared = self._kinds(cursor)
        atoms, count = _atoms(PostgresqlDialect(), self.source.names(), declared, schema), len(declared)
        cells = [_cell(atom, view, "ARRAY") for atom, view in zip(atoms, views, strict=True)]
        kinds = ["int2" if view.max() < _INT2 else "int4" for view in views]
        chosen = ", ".join(
            f"CAST({cell} AS {kind}) AS a{i}" for i, (cell, kind) in enumerate(zip(cells, kinds, strict=True))
        )
        return f"SELECT {chosen} FROM (\n{self.source.query}\n) AS kernelease_rows({_places(count)})"


def _postgresql_type(field: pa.Field, enums: frozenset[str]) -> str:
    """The name of a type, as far as it is certain: anybody may give a type of their own a well-known name."""
    name = databases._typename(field)
    if name in enums and pa.types.is_string(field.type):
        return "enum"
    certain = name == "numeric" or _POSTGRESQL_TYPES.get(name) == field.type
    return name if certain else f"{name!r} (arriving as {field.type})"
