"""What the owner gives as private rows: a table, encoded and capped per person, several, or vectors.

Optional engines are rooms of their own: a GPU, Spark, a database that counts. Nobody enters one who did not ask for it,
or give rows that lie there.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, cast, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError, nearest
from kernelease.exact.counting import CHUNK, ExactCounts
from kernelease.exact.paths import Bags, PathColumn, Records, Shape
from kernelease.exact.persons import Keys, UnitCap
from kernelease.exact.rows import PrivateArray, PrivateRows, PrivateTable
from kernelease.kernels.kernel import as_rows
from kernelease.passes import Batch, EncodedRows
from kernelease.privacy.sensitivity import Private
from kernelease.relational.books import Aggregate
from kernelease.relational.schema_of_tables import WEIGHT, TableOfRecords, Tables, sequence_keys
from kernelease.seeds import PublicSeed
from kernelease.sources.arrow import is_frame, is_of_arrow
from kernelease.sources.opening import given_tables, is_spark_frame, open_declared, open_source, open_table
from kernelease.sources.partitioned import Partitioned, distant_table, distant_vectors
from kernelease.sources.source import Source, check_columns, plain
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.numbers import to_ticks
from kernelease.table.encode import Encoder, NarrowColumn
from kernelease.table.parsing import NEVER, instants_in, numbers_in
from kernelease.table.schema import Schema


def private_table(data: Any, schema: Schema, *, seed: PublicSeed, push_down: bool = False) -> PrivateRows:
    """The rows of a file, a folder, a database or a data frame, as a schema declares them.

    With `push_down` the database counts, and its rows never leave it; the counts are the same to the bit.
    """
    # Opened once: every pass must find the file as it was at the first.
    source = open_declared(data, schema, batch_rows=CHUNK, as_text=False)
    if isinstance(source, Partitioned):
        return distant_table(source, schema, seed)
    if push_down:
        from kernelease.sources.pushdown import count_by_sql  # a room of its own

        return PrivateTable(count_by_sql(source, schema))
    check_columns(source, schema)
    if schema.unit is not None:
        rows, counts = _of_persons(source, schema, seed)
        return PrivateTable(counts, rows)
    rows = _encode(source, schema)
    counts = ExactCounts.of(rows, schema.sizes)
    counts.again = lambda laid: _lay(rows, schema, laid)
    return PrivateTable(counts, rows)


def _encode(source: Source, schema: Schema) -> EncodedRows:
    """The codes of columns, those of finer cells after them, and last the numbers of columns that may be laid."""
    encoder = Encoder(schema, fine=True, numbers=_kept_numbers(schema))
    return EncodedRows(
        lambda: source.pieces(schema.names),
        schema.sizes,
        encode=lambda piece: encoder.narrow(piece()),
        fine=encoder.finer,
    )


def _kept_numbers(schema: Schema) -> tuple[str, ...]:
    """The columns whose numbers are kept beside their codes: they may be laid in other cells."""
    return tuple(column.name for column in schema if to_ticks(column) is not None)


def _lay(rows: EncodedRows, schema: Schema, laid: Schema) -> ExactCounts:
    """The same rows with the cells of another schema, from what was kept of the first pass."""
    names, encoder = list(schema.names), Encoder(laid, fine=True)
    numbers = {name: len(names) + len(rows.fine) + place for place, name in enumerate(_kept_numbers(schema))}
    same = {name: place for place, name in enumerate(names) if schema.column(name) in laid.columns}
    finer = {name: len(names) + rows.fine.index(place) for name, place in same.items() if place in rows.fine}
    places = [(same if place < len(laid) else finer).get(one.name) for place, one in enumerate(encoder.columns)]
    columns = [
        (NarrowColumn(one), numbers[one.name]) if place is None else place
        for one, place in zip(encoder.columns, places, strict=True)
    ]
    return ExactCounts.of(rows.recode(columns, laid.sizes, fine=encoder.finer), laid.sizes)


def _of_persons(source: Source, schema: Schema, seed: PublicSeed) -> tuple[EncodedRows, ExactCounts]:
    """The same of persons with several rows, and their weights. Which rows of a person are kept is by their codes."""
    encoder, cap = Encoder(schema, fine=True), UnitCap.of(schema, seed)
    columns = [*schema.names, cap.column]
    rows = EncodedRows(
        lambda: ((codes.T, weights) for codes, weights in cap.apply(source.batches(columns), encoder)),
        schema.sizes,
        weighted=True,
        fine=encoder.finer,
    )
    counts = ExactCounts.of(rows, schema.sizes, unit=cap.total)
    counts.again = lambda laid: _of_persons(source, laid, seed)[1]
    return rows, counts


def labelled_vectors(data: Any, labels: str) -> tuple[Floats, list[Any]]:
    """The vectors of a table, (n, D), and their labels: all other columns are numbers, or one is of lists of a length.

    What is refused is told by names and declared types. Each cell is read by itself: what is no number is NaN.
    """
    if isinstance(data, np.ndarray | list | tuple):
        raise ParameterError("labels: an array has no column of that name. Give one label for each of its rows.")
    source = open_source(data)
    declared = source.declared_schema()
    if labels not in source.names():  # the first line of a file without a header is somebody's row
        hint = "" if declared is None else nearest(labels, source.names())
        raise ParameterError(f"labels: there is no column {labels!r}.{hint}")
    names = [name for name in source.names() if name != labels]
    kinds = {} if declared is None else {name: declared.field(name).type for name in names}
    lists = [name for name, kind in kinds.items() if pa.types.is_nested(kind)]
    if lists and (len(names) > 1 or not pa.types.is_fixed_size_list(kinds[lists[0]])):
        raise ParameterError(
            f"labels: vectors are all columns but {labels!r}: numbers, or one column of lists of a fixed length, which "
            f"{lists[0]!r} is not. Give np.stack(frame[{lists[0]!r}]), with labels=frame[{labels!r}]."
        )
    batches = list(source.batches([*names, labels]))
    columns = [list_columns(batch.column(0)) if lists else batch.columns[:-1] for batch in batches]
    rows = [np.column_stack([numbers_in(column) for column in own]) for own in columns]
    none = np.empty((0, kinds[lists[0]].list_size if lists else len(names)))  # whether there are rows may be private
    vectors = np.concatenate([none, *rows])
    if is_frame(data):  # its cells as they are: a source makes text of all, where one of them makes a column of objects
        return vectors, _column_by_cells(data.iloc[:, source.names().index(labels)]).tolist()
    return vectors, [label for batch in batches for label in _cells_of(batch.column(labels))]


def by_cells(data: Any) -> Any:
    """Rows or labels that lie in Arrow's memory, as an array whose cells were read one by one; others as they are.

    NumPy makes of a column what all of its cells allow, and raises for text that is no UTF-8, in words that hold it.
    """
    if isinstance(data, pa.Table | pa.RecordBatch):
        columns = list(data.columns)
    elif is_frame(data):
        columns = [data.iloc[:, place] for place in range(data.shape[1])]
    else:
        return _column_by_cells(data)
    if not any(map(_lies_in_arrow, columns)):
        return data
    read = [np.asarray(_column_by_cells(column)) for column in columns]
    if all(column.dtype.kind in "fiub" for column in read):
        return np.column_stack(read)
    cells = np.empty((len(read[0]), len(read)), dtype=object)
    for place, column in enumerate(read):
        cells[:, place] = column
    return cells


def _lies_in_arrow(column: Any) -> bool:
    return isinstance(column, pa.Array | pa.ChunkedArray) or (hasattr(column, "array") and is_of_arrow(column))


def _column_by_cells(column: Any) -> Any:
    if not _lies_in_arrow(column):
        return column
    array = column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column.array)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return numbers_in(array)
    chunks = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
    cells = np.empty(len(array), dtype=object)
    for place, cell in enumerate(cell for chunk in chunks for cell in _cells_of(plain(chunk))):
        cells[place] = cell
    return cells


def _cells_of(array: pa.Array) -> list[Any]:
    """Cells as Python has them; None for one that it can't have, as a day in the year 10,000, whatever others are."""
    try:
        return list(array.to_pylist())
    except (pa.ArrowException, ArithmeticError, ValueError):  # their messages would say which
        return (
            [None] if len(array) == 1 else [cell for at in range(len(array)) for cell in _cells_of(array[at : at + 1])]
        )


def list_columns(vectors: pa.Array) -> list[pa.Array]:
    """The columns of numbers in an array of lists of a fixed length; NULL for all of a list that is NULL."""
    size = vectors.type.list_size
    flat = vectors.flatten() if vectors.null_count == 0 else pc.list_flatten(vectors.fill_null([None] * size))
    return [flat.take(pa.array(np.arange(place, len(flat), size))) for place in range(size)]


def private_vectors(data: Any, *, columns: int | None = None, device: str | None = None) -> PrivateRows:
    """Rows without declared columns: an array, here, on a GPU, or in parts elsewhere.

    `columns` is how many a method expects of an array; `device` is "cuda" for sums on a GPU, wherever the array lies.
    """
    if device is None and isinstance(data, np.ndarray | list | tuple):
        return PrivateArray(as_rows(data, columns=columns))
    data = by_cells(data)
    from kernelease.cuda import on_device  # a room of its own, as Spark is
    from kernelease.sources.device_rows import DeviceRows

    if device == "cuda" or on_device(data):
        return DeviceRows(data if on_device(data) else as_rows(data, columns=columns))
    if isinstance(data, Partitioned) or is_spark_frame(data):
        source = open_source(data)
        return distant_vectors(source) if isinstance(source, Partitioned) else PrivateArray(as_rows(data))
    return PrivateArray(as_rows(data, columns=columns))


def private_tables(data: Any, tables: Tables, *, seed: PublicSeed) -> PrivateRows:
    """The persons of several tables, as the schema declares them."""
    given = given_tables(data, tables)
    persons = _Persons(
        [open_table(given[table.name], table, as_text=False, batch_rows=CHUNK) for table in tables.tables], tables, seed
    )
    return PrivateTable(persons.counts(tables.flat), persons.rows(tables.flat))


@final
class _Persons(Private):
    """All tables in memory, read once: a byte or two for each cell, numbers of columns that may be laid, keys."""

    __slots__ = ("_bags", "_records", "_seed", "_sources", "_tables")

    def __init__(self, sources: list[Source], tables: Tables, seed: PublicSeed) -> None:
        self._sources, self._tables, self._seed = sources, tables, seed
        self._bags: Bags | None = None
        self._records: list[_Read] = []

    def counts(self, flat: Schema) -> ExactCounts:
        """The paths of all persons, in the cells of a flat schema: as declared, as laid, or some of its columns."""
        counts = ExactCounts.of(self.rows(flat), self._sizes(flat), unit=WEIGHT)
        counts.again = self.counts
        return counts

    def rows(self, flat: Schema) -> EncodedRows:
        """The same, encoded."""
        fine = tuple(flat.finer)
        return EncodedRows(lambda: self._paths(flat), self._sizes(flat), weighted=True, fine=fine)

    def _sizes(self, flat: Schema) -> tuple[int, ...]:
        return self._tables.counted_with(flat.columns) if self._is_whole(flat) else flat.sizes

    def _is_whole(self, flat: Schema) -> bool:
        """Whether it has all columns: else they are looked at one by one, without siblings."""
        return flat.names == self._tables.flat.names

    def _paths(self, flat: Schema) -> Iterator[Batch]:
        if self._bags is None:
            self._read()
        bags, tables = cast("Bags", self._bags), self._tables
        columns = [self._column(column) for column in flat]
        if self._is_whole(flat):
            for place, which in tables.beside:
                column = flat.columns[place]
                own = self._column(column)
                columns.append(PathColumn(own.table, own.codes, column.size, which=which))
        columns += [self._column(column) for column in flat.finer.values()]
        return bags.paths(columns)

    def _column(self, column: Column) -> PathColumn:
        """A column of paths: codes that were kept, or made anew of the numbers that were."""
        tables = self._tables
        place = tables.flat.names.index(column.name)
        for number, (own, table) in enumerate(zip(tables.places, tables.tables, strict=True)):
            if own.number == place:
                codes = column.encode(pa.array(range((table.max_rows or 0) + 1)))
                return PathColumn(number, codes, column.missing, number=True)
            if place in own.columns:
                return PathColumn(
                    number, self._records[number].codes_of(own.columns.index(place), column), column.missing
                )
        for table in tables.tables:
            for one in table.aggregates:
                if column.name == f"{table.name}.{one.name}":
                    return self._aggregate(one, column)
        raise ParameterError(f"There is no column {column.name!r} in any of the tables.")

    def _aggregate(self, aggregate: Aggregate, column: Column) -> PathColumn:
        """What a parent's kept records come to. Each value of a condition's columns has a code of its own."""
        tables, number = self._tables, self._tables.names.index(aggregate.table)
        schema, own, read = tables.tables[number].schema, tables.places[number].columns, self._records[number]
        wanted = [(place, name) for place, name in enumerate(schema.names) if name in aggregate.columns(schema)]
        of = None if aggregate.column is None else schema.column(aggregate.column)
        raw: Any = None if of is None else read.numbers_of(schema.names.index(of.name))
        no_draw = np.random.default_rng(0)

        def fold(row: Integers, parent: Integers, parents: int) -> Any:
            """The codes of parents, each by its own records."""
            cells = {
                name: tables.flat.columns[own[place]].decode(read.records.codes[place][row], no_draw)
                for place, name in wanted
            }
            chosen = aggregate.holds(pa.table(cells), schema) if cells else np.ones(len(row), dtype=np.bool_)
            steps = None
            if of is not None:
                steps, there = aggregate.values(raw[row] if isinstance(raw, np.ndarray) else raw.take(row), of)
                chosen = chosen & there
            return column.encode(aggregate.of_parents(parent, parents, chosen, steps, of))

        return PathColumn(number, np.empty(0), column.missing, number=True, fold=fold)

    def _read(self) -> None:
        keys: dict[str, Keys] = {}
        shapes = []
        aggregated = {f"{one.table}.{one.column}" for table in self._tables.tables for one in table.aggregates}
        for place, table, source in zip(self._tables.places, self._tables.tables, self._sources, strict=True):
            columns = [self._tables.flat.columns[column] for column in place.columns]
            self._records.append(_Read.of(source, table, columns, keys, aggregated))
            shapes.append(Shape(parent=place.parent, max_rows=table.max_rows or 1))
        records = [one.records for one in self._records]
        self._bags = Bags(records, shapes, total=WEIGHT, seed=self._seed)


@final
class _Read(Private):
    """One table: its codes and keys, and what is needed to encode some columns in other cells."""

    __slots__ = ("_columns", "_raw", "records")

    def __init__(self, columns: Sequence[Column], records: Records, raw: dict[int, Any]) -> None:
        self._columns, self.records, self._raw = tuple(columns), records, raw

    def codes_of(self, place: int, column: Column) -> Any:
        """The codes of a column, in its own cells."""
        if column == self._columns[place]:
            return self.records.codes[place]
        return NarrowColumn(column).encode(pa.array(self._raw[place]))

    def numbers_of(self, place: int) -> Any:
        """The cells of a column as they were read, where something is computed of them."""
        return self._raw[place]

    @classmethod
    def of(
        cls,
        source: Source,
        table: TableOfRecords,
        columns: Sequence[Column],
        keys: dict[str, Keys],
        aggregated: Collection[str],
    ) -> "_Read":
        names = list(table.schema.names)
        wanted = [*names, *(key for key in (table.key, table.foreign_key) if key is not None)]
        encoders = [NarrowColumn(column) for column in columns]
        laid = [p for p, column in enumerate(columns) if _needs_numbers(column) or column.name in aggregated]
        codes: list[list[Any]] = [[np.empty(0, dtype=np.uint8)] for _ in columns]
        raw: dict[int, list[Any]] = {place: [np.empty(0)] for place in laid}
        order: list[Any] = []
        own: list[Any] = [np.empty(0, dtype=np.int32)]  # numbers of keys that are in memory fit
        parent: list[Any] = [np.empty(0, dtype=np.int32)]
        known = keys.setdefault(table.name, Keys())
        for batch in source.batches(wanted):
            for name, cells, encoder in zip(names, codes, encoders, strict=True):
                cells.append(encoder.encode(batch.column(name)))
            for place in laid:
                raw[place].append(_numbers_in(columns[place], batch.column(names[place])))
            if table.order is not None:
                order.append(sequence_keys(columns[names.index(table.order)], batch.column(table.order)))
            if table.key is not None:
                own.append(known.number(batch.column(table.key), new=True).astype(np.int32))
            if table.parent is not None and table.foreign_key is not None:
                refers = keys[table.parent].number(batch.column(table.foreign_key), new=False)
                parent.append(refers.astype(np.int32))
        number, refers = np.concatenate(own), np.concatenate(parent)
        joined = [np.concatenate(cells) for cells in codes]
        come = np.concatenate(order) if order else None
        if table.parent is None:
            records = Records(joined, number, number)
        elif table.key is None:
            records = Records(joined, refers, order=come)
        else:
            records = Records(joined, refers, number, known.digests(number), come)
        return cls(columns, records, {place: _join(parts) for place, parts in raw.items()})


def _needs_numbers(column: Column) -> bool:
    """Whether a column may be encoded again: laid in other cells, or on a finer grid."""
    return to_ticks(column) is not None or (isinstance(column, Celled) and column.finer is not None)


def _numbers_in(column: Column, cells: pa.Array) -> Any:
    """Cells as numbers or instants, whatever the type of a batch: how a file lays them out may depend on its rows."""
    if column.family == "number":
        return numbers_in(cells)
    ticks = instants_in(cells)
    return pa.array(ticks, pa.timestamp("us"), mask=ticks == NEVER)


def _join(parts: Sequence[Any]) -> Any:
    arrays = [part for part in parts[1:] if isinstance(part, pa.Array)]
    if arrays:
        return pa.concat_arrays(arrays)
    return np.concatenate(parts)
