"""A release: synthetic rows with weights, the noisy numbers behind them, and the certificate; of a table, or several.

And how one is fitted, saved and opened, and what persons with records are asked.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease import html
from kernelease.analysis.agreement import Agreement, agreement
from kernelease.analysis.averages import mean
from kernelease.analysis.estimands import Columns
from kernelease.analysis.estimate import Estimate, Target, plain_number
from kernelease.analysis.evidence import Answers, Evidence, answers
from kernelease.analysis.groups import EstimateTable, Groups, Regression, as_tuple
from kernelease.analysis.spread import standard_deviation
from kernelease.answers.comparisons import Comparisons
from kernelease.answers.forms import Forms
from kernelease.answers.frames import Frames, write_csv
from kernelease.answers.habits import Description, describe
from kernelease.answers.questions import Among, Questions, ShortForms, weighted_mean
from kernelease.answers.reading import evidence_of
from kernelease.arrays import Floats, Integers, Rows
from kernelease.bundle.container import Limits
from kernelease.bundle.saving import read, write
from kernelease.certificate import Certificate, Contents, FitSettings, Measurements, fit_rows
from kernelease.errors import ParameterError, in_words, nearest
from kernelease.fit.solver import Solution
from kernelease.kernels.kernel import as_rows
from kernelease.measured.bags import NoisyBags
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.progress import SILENT, Progress
from kernelease.relational.domain_of_tables import TablesDomain
from kernelease.relational.schema_of_tables import TableOfRecords, Tables, Which, keys_of
from kernelease.table.columns.column import NULL_LABEL, Column
from kernelease.table.columns.listed import Category
from kernelease.table.domains import TableDomain
from kernelease.table.expressions.logic import parse
from kernelease.table.parsing import float_values
from kernelease.table.schema import Schema

if TYPE_CHECKING:
    from kernelease.answers.replicates import Replicates


@final
@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Release(Frames, ShortForms):
    """What the owner publishes. Nothing in it is private; everything computed from it is free.

    Everyday questions are asked of the release itself: `release.mean("income", by="sex")`. All others are in `ask`,
    `where`, `by` and `of`; tests and distances in `tests`; its rows in other forms in `forms`.

    `table` holds the synthetic rows, and last their weights (those of a distribution add up to 1), in a column named
    `weight`, or row_weight where the table has a column `weight` itself.
    `settings` is None where rows were changed after they had been fitted.
    """

    table: pa.Table
    measurements: Measurements
    settings: FitSettings | None = None
    _solution: Solution | None = field(default=None, repr=False)  # of methods that fit points; not in a bundle
    _evidence: dict[Target, Evidence] = field(default_factory=dict, init=False, repr=False, compare=False)
    _replicates: dict[Target, "Replicates"] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def certificate(self) -> Certificate:
        """The guarantee."""
        return self.measurements.certificate

    @property
    def schema(self) -> Schema | None:
        """The declared columns; vectors have none."""
        return self.measurements.schema

    @property
    def points(self) -> Rows:
        """The synthetic rows as an array: (M, d)."""
        if self._solution is not None:
            return self._solution.synthetic.points
        columns = [column.to_pylist() for column in self.rows.columns]
        return as_rows(list(zip(*columns, strict=True)))

    @property
    def weights(self) -> Floats:
        """w: (M,)."""
        return float_values(self.table.column(self.measurements.domain.weight_name))

    @property
    def rows(self) -> pa.Table:
        """The synthetic rows without their weights."""
        return self.table.drop_columns([self.measurements.domain.weight_name])

    def agreement(self) -> Agreement:
        """Where the synthetic rows and the estimates disagree by more than the noise: trust the estimates there."""
        return agreement(evidence_of(self, Target.TABLE), mean, standard_deviation)

    def describe(self) -> Description:
        """What each column holds, with intervals: mean, deviation, median, what is missing or most frequent."""
        if self.schema is None:
            raise ParameterError("describe: needs a release of a table; of vectors, ask release.mean('x0') and so on.")
        return describe(self.ask, self.schema.columns)

    def answers(self) -> Answers:
        """What this release can and can't answer, by column and by pair of columns."""
        return replace(answers(evidence_of(self, Target.TABLE)), notices=self.measurements.notices)

    @property
    def ask(self) -> Questions[Estimate, Regression]:
        """Every question there is, about all rows: `release.ask.gini("income")`."""
        return Questions(Among(release=self))

    @property
    def tests(self) -> Comparisons:
        """Tests and distances: to a sample or another release, of independence, of a law that is given."""
        return Comparisons(self)

    @property
    def forms(self) -> Forms:
        """The rows in other forms: of equal weight, bounded weights, features and labels, several data sets."""
        return Forms(self)

    def save(self, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False) -> Path:
        """Write the release as a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
        return write(contents_of(self), path, key=key, overwrite=overwrite)

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release explorer: one .html file that opens in any browser, without a network."""
        from kernelease.report.page import report_release  # noqa: PLC0415  # the page is made of releases

        return report_release(self, path, overwrite=overwrite)

    def __repr__(self) -> str:
        size = f"{self.table.num_rows:,} rows of {self.table.num_columns - 1} columns"
        return f"Release({size}; {self.certificate.headline})"

    def _repr_html_(self) -> str:
        sampled = self.table.slice(0, 5).to_pylist()
        names = self.table.column_names
        first = html.grid(names, [[_cell(row[name]) for name in names] for row in sampled])
        about = [
            ("guarantee", self.certificate.headline),
            ("rows", f"{self.table.num_rows:,} of {len(names) - 1} columns"),
        ]
        return html.card("Release", html.facts(about), first)


def _refuse_change(_release: object, name: str, _value: object) -> None:
    raise AttributeError(f"{name}: a release does not change. Keep what you compute in a variable of your own.")


Release.__setattr__ = _refuse_change  # type: ignore[method-assign]  # Python's own refusal breaks where there are slots


def _cell(value: object) -> str:
    """A cell of a row in a notebook: numbers as people write them."""
    return "" if value is None else plain_number(value) if isinstance(value, float) else str(value)


# --------------------
# A release of several tables.


FORMS = ("csv", "parquet")
_DATABASES = (".sqlite", ".duckdb")
END, NONE, NEVER = "(end)", "(none)", "(no record)"


@final
@dataclass(frozen=True, slots=True)
class TableRows:
    """The synthetic rows of one table."""

    name: str
    rows: pa.Table

    def to_pandas(self) -> Any:
        """The rows as a data frame, NULLs as pandas has them."""
        return self.rows.to_pandas()

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def _repr_html_(self) -> str:
        names = self.rows.column_names
        first = [[str(row[name]) for name in names] for row in self.rows.slice(0, 5).to_pylist()]
        return html.card(f"Table {self.name}: {self.rows.num_rows:,} rows", html.grid(names, first))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Transitions:
    """Steps of a column of records in sequence: `transitions["well", "ill"]` is P(next is ill | now well).

    `next` has a row for each value and a column for each that follows, the last of which is the end.
    `first` and `last` are the shares of persons whose first or last record has each value; (none) are those without a
    record. In `first` and `last` every person weighs 1; in `next` they do, too, shared out among their records.
    """

    next: EstimateTable
    first: Groups
    last: Groups

    def __getitem__(self, step: tuple[str, str]) -> object:
        return self.next[step]

    def __str__(self) -> str:
        return f"{self.next}\n\nfirst\n{self.first}\n\nlast\n{self.last}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        parts = (self.next._repr_html_(), self.first._repr_html_(), self.last._repr_html_())
        return html.card("Steps", *parts)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TablesRelease:
    """What the owner of several tables publishes. Nothing in it is private; everything computed from it is free.

    `tables` has the rows of each table by its name. Questions are about persons' paths: a column is named with its
    table, `release.mean("persons.income", by="households.region")`, and each person weighs 1, shared out among their
    records. A number of records is a column, too: `release.mean("households.persons")`.
    """

    tables: Mapping[str, TableRows]
    measurements: Measurements
    settings: FitSettings | None = None
    _flat: list[Release] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.measurements.domain, TablesDomain):
            raise ParameterError("TablesRelease: needs measurements of several tables.")
        object.__setattr__(self, "tables", MappingProxyType(dict(self.tables)))

    @property
    def certificate(self) -> Certificate:
        """The guarantee."""
        return self.measurements.certificate

    @property
    def schema(self) -> Tables:
        """The declared tables."""
        return tables_of(self.measurements)

    @property
    def flat(self) -> Release:
        """Persons' paths as a release of one table, each person weighing 1: every question there is may be asked of it.

        It is for questions, and is not saved: the bundle is of the tables.
        """
        if not self._flat:
            measured, domain = self.measurements.measured, self.measurements.domain
            if not isinstance(measured, NoisyBags) or not isinstance(domain, TablesDomain):
                raise ParameterError("TablesRelease: needs noisy counts of several tables.")
            method = self.measurements.method
            flat = Measurements(
                certificate=self.certificate,
                domain=TableDomain(domain.tables.flat),
                method=method.of_paths,
                measured=measured.paths,
            )
            rows = _paths({name: table.rows for name, table in self.tables.items()}, domain.tables)
            self._flat.append(Release(table=rows, measurements=flat))
        return self._flat[0]

    @in_words
    def mean(self, column: str, *, per: str = "person", **options: Any) -> Any:
        """The mean of a column over persons, each weighing 1; options are those of `Release.mean`, such as `by`.

        With per="record" each record weighs 1, so that persons with many count for more.
        """
        if _is_per_person(per, options):
            return _of_records(self.flat.mean(column, **options), column, self.schema)
        told = f"mean of {column} per record"
        return self._per_record((column,), lambda rows: rows[column], told, **options)

    @in_words
    def probability(self, event: str, *, per: str = "person", **options: Any) -> Any:
        """The share of persons' weight of which an event is true, such as "households.elders > 0".

        With per="record" it is the share of records.
        """
        if _is_per_person(per, options):
            return self.flat.probability(event, **options)
        condition = parse(event, self.schema.flat.columns)

        def value(rows: Columns) -> Floats:
            for name in condition.columns:  # so that they are known to be read
                _ = rows[name]
            return condition.holds(rows.table).astype(np.float64)

        return self._per_record(condition.columns, value, f"share of records with {event}", **options)

    def _per_record(
        self,
        names: tuple[str, ...],
        value: Callable[[Columns], Any],
        about: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        of: Target | str | None = None,
    ) -> Any:
        """Paths weighted by how many records share a person's weight: the numbers of all tables above the lowest.

        A record of a person with k of them has the weight 1/k in what is measured. So Σ k·weight·value over paths is
        the sum over records, where numbers above are known: they are columns, measured with those of records.
        """
        tables, asked = self.schema, self.flat.ask
        lowest = max((tables.line(name.split(".", maxsplit=1)[0]) for name in names), key=len, default=())
        numbers = [f"{parent}.{table}" for table, parent in pairwise(lowest)]
        if not numbers:
            raise ParameterError(
                f"per: {' and '.join(names)} is of {tables.root.name}, whose rows are persons. Leave per out."
            )
        asked = asked if where is None else asked.where(where)
        asked = asked if of is None else asked.of(of)
        grouped: Any = asked if by is None else asked.by(*((by,) if isinstance(by, str) else by))
        told = weighted_mean(grouped, value, lambda rows: math.prod(rows[number] for number in numbers), about)
        return _of_records(told, f"{lowest[0]}.", tables)

    def transitions(self, column: str) -> Transitions:
        """P(next | now) of a column of records in sequence, such as visits.state, and shares of first and last ones."""
        rows = {name: table.rows for name, table in self.tables.items()}
        return transitions(self.measurements, rows, column)

    def save(self, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False) -> Path:
        """Write the release as a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
        return write(contents_of(self), path, key=key, overwrite=overwrite)

    def export(self, out: str | Path, *, form: str = "csv") -> list[Path]:
        """Write the rows of each table into a folder, as NAME.csv or NAME.parquet; or all into a database.

        A name that ends in .sqlite or .duckdb is that of a new database, whose tables have their keys declared.
        """
        target, rows = Path(out), {name: table.rows for name, table in self.tables.items()}
        if target.suffix in _DATABASES:
            return [_to_database(target, rows, self.schema)]
        if form not in FORMS:
            raise ParameterError(f"export: form must be {' or '.join(FORMS)}, got {form!r}.")
        target.mkdir(parents=True, exist_ok=True)
        for name, table in rows.items():
            path = target / f"{name}.{form}"
            write_csv(table, path) if form == "csv" else pq.write_table(table, path)
        return [target / f"{name}.{form}" for name in rows]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(table)} {name}" for name, table in self.tables.items())
        return f"TablesRelease({sizes}; {self.certificate.headline})"

    def _repr_html_(self) -> str:
        about = [("guarantee", self.certificate.headline)]
        about += [(name, f"{len(table):,} rows") for name, table in self.tables.items()]
        return html.card("Release of several tables", html.facts(about))


def _of_records(told: Any, column: str, tables: Tables) -> Any:
    """Groups of records that are there: where a path has a value of the column, so has it all that can't be NULL.

    Columns of paths may be NULL where the tables' own may not, since a person may have no record.
    """
    if not isinstance(told, Groups):
        return told
    there = tables.line(column.split(".", maxsplit=1)[0])
    never = [
        place
        for place, (table, _, name) in enumerate(one.partition(".") for one in as_tuple(told.by))
        if table in there and not all(own.nullable for own in tables.table(table).schema if own.name == name)
    ]
    kept = [label for label in told if all(as_tuple(label)[place] != NULL_LABEL for place in never)]
    return Groups(told.by, {label: told[label] for label in kept})


def _is_per_person(per: str, options: Mapping[str, Any]) -> bool:
    if per not in ("person", "record"):
        raise ParameterError(f"per must be 'person' or 'record', got {per!r}.")
    strange = [option for option in options if option not in ("where", "by", "of")]
    if per == "record" and strange:
        raise ParameterError(
            f"per: of records there are where, by and of, and not {strange[0]!r}. Leave one of the two out."
        )
    return per == "person"


# --------------------
# Releases fitted, saved and opened, of one table or several.


def release_of(contents: Contents) -> Any:
    """The release to be asked about these rows: a `Release`, or a `TablesRelease`."""
    if isinstance(contents.rows, Mapping):
        return TablesRelease(
            tables={name: TableRows(name, rows) for name, rows in contents.rows.items()},
            measurements=contents.measurements,
            settings=contents.settings,
        )
    return Release(
        table=contents.rows,
        measurements=contents.measurements,
        settings=contents.settings,
        _solution=contents.solution,
    )


def contents_of(content: Release | TablesRelease | Measurements) -> Contents:
    """What a bundle holds of a release, or of measurements that wait to be fitted."""
    if isinstance(content, Measurements):
        return Contents(measurements=content)
    if isinstance(content, TablesRelease):
        rows = {name: table.rows for name, table in content.tables.items()}
        return Contents(measurements=content.measurements, rows=rows, settings=content.settings)
    return Contents(measurements=content.measurements, rows=content.table, settings=content.settings)


def fit_release(measurements: Measurements, settings: FitSettings, progress: Progress = SILENT) -> Any:
    """The release whose rows these settings make of the measurements: of one table, or of several."""
    return release_of(fit_rows(measurements, settings, progress))


def save(
    content: Release | TablesRelease | Measurements,
    path: str | Path,
    *,
    key: Ed25519PrivateKey | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
    return write(contents_of(content), path, key=key, overwrite=overwrite)


@in_words
def load(path: str | Path, *, limits: Limits | None = None) -> Any:
    """Open a release that `save` wrote. Refuses a bundle whose files do not match their sums."""
    return release_of(read(path, limits=limits))


def load_table(path: str | Path) -> Release:
    """Open a release to ask it: of one table, or of vectors; of several tables, that of persons' paths."""
    loaded: Release | TablesRelease = load(path)
    return loaded.flat if isinstance(loaded, TablesRelease) else loaded


# --------------------
# Persons' paths.


def _to_database(path: Path, rows: Mapping[str, pa.Table], tables: Tables) -> Path:
    """A new database with all tables, in which every key and reference is declared."""
    if path.exists():
        raise ParameterError(f"export: {path} is there already. Name another database.")
    connection: Any
    if path.suffix == ".duckdb":
        try:
            import duckdb  # noqa: PLC0415  # an engine that not everybody has
        except ImportError:
            raise ParameterError('export: a DuckDB file needs pip install "kernelease[duckdb]".') from None
        connection = duckdb.connect(str(path))
    else:
        import sqlite3  # noqa: PLC0415  # questions need no database

        connection = sqlite3.connect(path)
    for table in tables.tables:
        connection.execute(_create_statement(table, rows[table.name].schema, tables))
        marks = ", ".join("?" * rows[table.name].num_columns)
        name = _quote(table.name)
        if path.suffix == ".duckdb":
            connection.register("released", rows[table.name])
            connection.execute(f"INSERT INTO {name} SELECT * FROM released")
        else:
            cells = [_plain_cells(column) for column in rows[table.name].columns]
            connection.executemany(f"INSERT INTO {name} VALUES ({marks})", zip(*cells, strict=True))
            connection.commit()
    connection.close()
    return path


def _plain_cells(column: pa.ChunkedArray) -> list[Any]:
    """Cells as SQLite holds them: dates and instants are text."""
    cells: list[Any] = (column.cast(pa.string()) if pa.types.is_temporal(column.type) else column).to_pylist()
    return cells


def _create_statement(table: TableOfRecords, schema: pa.Schema, tables: Tables) -> str:
    """The statement that makes a table, with its key and what it refers to."""
    columns = [f"{_quote(field.name)} {_sql_type(field.type)}" for field in schema]
    if table.key is not None:
        columns.append(f"PRIMARY KEY ({_quote(table.key)})")
    owner = [] if table.parent is None else [(str(table.foreign_key), table.parent)]
    for own, other in (*owner, *table.references):
        columns.append(
            f"FOREIGN KEY ({_quote(own)}) REFERENCES {_quote(other)} ({_quote(str(tables.table(other).key))})"
        )
    return f"CREATE TABLE {_quote(table.name)} ({', '.join(columns)})"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql_type(kind: pa.DataType) -> str:
    tests = {"BOOLEAN": pa.types.is_boolean, "BIGINT": pa.types.is_integer, "DOUBLE": pa.types.is_floating}
    tests |= {"DATE": pa.types.is_date, "TIMESTAMP": pa.types.is_timestamp}
    return next((name for name, test in tests.items() if test(kind)), "VARCHAR")


def tables_of(measurements: Measurements) -> Tables:
    """The declared tables of measurements."""
    if not isinstance(measurements.domain, TablesDomain):
        raise ParameterError("These measurements are of one table.")
    return measurements.domain.tables


def _paths(rows: Mapping[str, pa.Table], tables: Tables) -> pa.Table:
    """Every path of every person with its weight: those of one person weigh 1 over the number of persons together."""
    persons = rows[tables.root.name].num_rows
    weight: Floats = np.full(persons, 1.0 / max(1, persons))
    at: dict[str, Integers] = {tables.root.name: np.arange(persons)}
    numbers: dict[str, Integers] = {}
    refers_to: dict[str, Integers] = {}
    for table in tables.tables[1:]:
        refers = keys_of(rows[table.name], str(table.foreign_key)) - 1
        above = rows[str(table.parent)].num_rows
        numbers[table.name] = np.bincount(refers, minlength=above)
        begin = np.cumsum(numbers[table.name]) - numbers[table.name]
        parent = at[str(table.parent)]
        count = np.where(parent < 0, 0, numbers[table.name][np.maximum(parent, 0)])
        copies = np.maximum(count, 1)
        chosen = np.repeat(np.arange(len(parent)), copies)
        rank = np.arange(len(chosen)) - np.repeat(np.cumsum(copies) - copies, copies)
        own = np.where(count[chosen] > 0, begin[np.maximum(parent[chosen], 0)] + rank, -1)
        at = {name: places[chosen] for name, places in at.items()} | {table.name: own}
        weight = (weight / copies)[chosen]
        refers_to[table.name] = refers
    folded = {
        f"{table.name}.{one.name}": one.of_rows(
            rows[one.table], refers_to[one.table], rows[table.name].num_rows, tables.table(one.table).schema
        )
        for table in tables.tables
        for one in table.aggregates
    }
    columns = []
    for name in tables.flat.names:
        table_name, column = name.split(".", 1)
        if name in folded:
            values = _within(folded[name], tables.flat.column(name))
        elif table_name in rows and column in numbers and column not in rows[table_name].column_names:
            values = pa.array(numbers[column])
        else:
            values = rows[table_name].column(column).combine_chunks()
        place = at[table_name]
        columns.append(values.take(pa.array(np.maximum(place, 0), mask=place < 0)))
    declared = tables.flat.arrow_schema()
    flat = pa.Table.from_arrays(columns, schema=pa.schema([declared.field(name) for name in tables.flat.names]))
    flat = tables.flat.structure.complete(flat).select(tables.flat.order).cast(declared)
    return flat.append_column(TableDomain(tables.flat).weight_name, pa.array(weight))


def _within(values: pa.Array, column: Column) -> pa.Array:
    """Aggregates as their column has them: what is beyond its bounds is at them."""
    for bound, clamp in (("min", pc.max_element_wise), ("max", pc.min_element_wise)):
        if hasattr(column, bound):
            values = clamp(values, pa.scalar(getattr(column, bound)).cast(values.type), skip_nulls=False)
    return values.cast(column.arrow_type, safe=False)


# --------------------
# Steps of records in sequence: each block of noisy counts is a release of its own, which is asked as any other.


def transitions(measurements: Measurements, rows: Mapping[str, pa.Table], name: str) -> Transitions:
    """The transitions of a column, such as visits.state, from noisy counts of steps."""
    domain, measured = measurements.laid_domain, measurements.measured
    if not isinstance(domain, TablesDomain) or not isinstance(measured, NoisyBags):
        raise ParameterError("transitions: needs a release of several tables.")
    tables = domain.tables
    table = _table_of(tables, name)
    place = tables.flat.names.index(name)
    column = domain.schema.columns[place]
    steps = _Steps(measurements, measured, tables, table, column, place, rows[table.name])
    return Transitions(next=steps.following(), first=steps.at_end("first"), last=steps.at_end("last"))


def _table_of(tables: Tables, name: str) -> TableOfRecords:
    """The table in sequence that has a column, or a `ParameterError`."""
    known = [f"{table.name}.{own}" for table in tables.tables if table.order is not None for own in table.schema.names]
    if not known:
        raise ParameterError("transitions: no table of this release has records in sequence: declare its `order`.")
    if name not in known:
        raise ParameterError(f"transitions: {name!r} is no column of records in sequence.{nearest(name, known)}")
    return tables.table(name.split(".", maxsplit=1)[0])


def _there(labels: tuple[str, ...]) -> tuple[str, ...]:
    """Labels without the cell of paths that have no record: nothing is in it but noise."""
    return tuple(label for label in labels if label != NEVER)


@final
@dataclass(frozen=True, slots=True)
class _Steps:
    """Noisy counts of one column's steps, each block as a release of its own: a table of one or two categories."""

    measurements: Measurements
    measured: NoisyBags
    tables: Tables
    table: TableOfRecords
    column: Column
    place: int
    rows: pa.Table

    def following(self) -> EstimateTable:
        """P(next | now)."""
        block = self._block((self.place, self.tables.place_beside(self.place, "next")))
        now, then = self._labels(block.block.groups[0]), self._labels(block.block.groups[1], END)
        codes, owner = self._codes(block.block.groups[0]), self._owner()
        last = np.append(np.diff(owner) != 0, True)
        after = np.where(last, len(then) - 1, np.append(codes[1:], 0))
        weights = 1.0 / np.bincount(owner)[owner] if len(owner) else np.ones(0)
        columns = {"now": now, "next": then}
        asked = self._release(block, columns, [codes, after], weights).by("now").histogram("next")
        return EstimateTable(
            title=f"{self.column.name} \\ next",
            rows=_there(now),
            columns=_there(then),
            estimates=tuple(tuple(asked[label, other] for other in _there(then)) for label in _there(now)),
        )

    def at_end(self, which: Which) -> Groups:
        """Shares of persons by their first or last record."""
        block = self._block((self.tables.place_beside(self.place, which),))
        labels = self._labels(block.block.groups[0], NONE)
        codes, owner = self._codes(block.block.groups[0]), self._owner()
        other = np.diff(owner) != 0
        chosen = np.append(True, other) if which == "first" else np.append(other, True)
        chosen = chosen[: len(owner)]
        asked = self._release(block, {which: labels}, [codes[chosen]], np.ones(int(chosen.sum()))).ask.histogram(which)
        return Groups(which, {label: asked[label] for label in _there(labels)})

    def _block(self, columns: tuple[int, ...]) -> NoisyBlock:
        for block in self.measured.siblings:
            if block.block.columns == columns:
                return block
        raise ParameterError(
            f"transitions: steps of {self.column.name!r} were not counted: they would be below the noise. Declare "
            "fewer columns of its table, or spend more."
        )

    def _labels(self, cells: Integers, end: str | None = None) -> tuple[str, ...]:
        """A label for each cell: of its values. Where no record is NULL, paths without a record are."""
        own = list(self.column.labels())
        if not self.tables.table(self.table.name).schema.column(self.column.name.split(".", 1)[1]).nullable:
            own[-1] = NEVER
        own += [] if end is None else [end]
        labels = [[own[atom] for atom in np.flatnonzero(cells == cell)] for cell in range(int(cells.max()) + 1)]
        return tuple(one[-1] if len(one) == 1 or one[-1] == end else self._span(one) for one in labels)

    def _span(self, labels: list[str]) -> str:
        """A label for several values: from the first to the last where they are in order."""
        if not self.column.ordered:
            return " or ".join(labels)
        return f"{labels[0].split('..')[0]}..{labels[-1].split('..')[-1]}"

    def _codes(self, cells: Integers) -> Integers:
        """The cells of the released records."""
        codes: Integers = cells[self.column.encode(self.rows.column(self.column.name.split(".", 1)[1]))]
        return codes

    def _owner(self) -> Integers:
        return keys_of(self.rows, str(self.table.foreign_key))

    def _release(
        self, block: NoisyBlock, columns: dict[str, tuple[str, ...]], codes: list[Integers], weights: Floats
    ) -> Release:
        """A release of the block alone."""
        categories = tuple(Category(name=name, values=labels) for name, labels in columns.items())
        schema = Schema(categories, name=self.tables.name, neighbours=self.tables.neighbours)
        groups = tuple(np.arange(column.size) for column in categories)
        alone = replace(block, block=replace(block.block, columns=tuple(range(len(groups))), groups=groups))
        paths = self.measured.paths
        counts = NoisyBlocks(
            sizes=schema.sizes,
            blocks=(alone,),
            neighbours=paths.neighbours,
            rows=paths.rows,
            ordered=tuple(0 for _ in groups),
        )
        domain = TableDomain(schema)
        arrays = [one.decode(own, np.random.default_rng(0)) for one, own in zip(categories, codes, strict=True)]
        rows = pa.Table.from_arrays(arrays, schema=schema.arrow_schema())
        shares = weights / max(1.0, float(weights.sum()))
        return Release(
            table=rows.append_column(domain.weight_name, pa.array(shares)),
            measurements=replace(self.measurements, domain=domain, measured=counts),
        )
