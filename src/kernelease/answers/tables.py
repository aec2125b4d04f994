"""A release of several tables: their synthetic rows, whose keys all exist, and answers about persons with records."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease import html
from kernelease.answers.release import FitSettings, Release
from kernelease.arrays import Floats, Integers
from kernelease.certificate import Certificate, Measurements
from kernelease.errors import ParameterError
from kernelease.measured.bags import NoisyBags
from kernelease.methods.bags import Bags, FittedBags
from kernelease.relational.domain import TablesDomain
from kernelease.relational.schema import Tables
from kernelease.table.domains import TableDomain

FORMS = ("csv", "parquet")


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
                method=method.interactions if isinstance(method, Bags) else method,
                measured=measured.paths,
            )
            rows = _paths({name: table.rows for name, table in self.tables.items()}, domain.tables)
            self._flat.append(Release(table=rows, measurements=flat))
        return self._flat[0]

    def mean(self, column: str, **options: Any) -> Any:
        """The mean of a column over persons, each weighing 1; options are those of `Release.mean`, such as `by`."""
        return self.flat.mean(column, **options)

    def probability(self, event: str, **options: Any) -> Any:
        """The share of persons' weight of which an event is true, such as "households.elders > 0"."""
        return self.flat.probability(event, **options)

    def save(self, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False) -> Path:
        """Write the release as a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
        from kernelease.bundle.saving import save  # noqa: PLC0415  # bundles are made of releases, and load them too

        return save(self, path, key=key, overwrite=overwrite)

    def export(self, folder: str | Path, *, form: str = "csv") -> list[Path]:
        """Write the rows of each table into a folder, as NAME.csv or NAME.parquet."""
        if form not in FORMS:
            raise ParameterError(f"export: form must be {' or '.join(FORMS)}, got {form!r}.")
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, table in self.tables.items():
            path = target / f"{name}.{form}"
            from pyarrow import csv  # noqa: PLC0415  # questions need no files

            csv.write_csv(table.rows, path) if form == "csv" else pq.write_table(table.rows, path)
            paths.append(path)
        return paths

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(table)} {name}" for name, table in self.tables.items())
        return f"TablesRelease({sizes}; {self.certificate.headline})"

    def _repr_html_(self) -> str:
        about = [("guarantee", self.certificate.headline)]
        about += [(name, f"{len(table):,} rows") for name, table in self.tables.items()]
        return html.card("Release of several tables", html.facts(about))


def fitted_tables(result: FittedBags, measurements: Measurements, settings: FitSettings) -> TablesRelease:
    """The release whose rows these settings make of the measurements of several tables."""
    domain = measurements.laid
    if not isinstance(domain, TablesDomain):
        raise ParameterError("These measurements are of one table.")
    made = result.tables(domain, settings.rows, settings.seed.generator("rows"))
    tables = {name: TableRows(name, rows) for name, rows in made.items()}
    return TablesRelease(tables=tables, measurements=measurements, settings=settings)


def tables_of(measurements: Measurements) -> Tables:
    """The declared tables of measurements."""
    if not isinstance(measurements.domain, TablesDomain):
        raise ParameterError("These measurements are of one table.")
    return measurements.domain.tables


def key_problems(release: TablesRelease) -> list[str]:
    """What is wrong with the keys of released tables, in words: keys count from 1, references exist, caps hold."""
    problems = []
    tables = release.schema
    for table in tables.tables:
        rows = release.tables[table.name].rows
        if table.key is not None and not np.array_equal(_keys(rows, table.key), np.arange(1, rows.num_rows + 1)):
            problems.append(f"the keys of {table.name} do not count from 1")
        if table.parent is not None and table.foreign_key is not None:
            refers, most = _keys(rows, table.foreign_key), release.tables[table.parent].rows.num_rows
            if len(refers) and not 1 <= refers.min() <= refers.max() <= most:
                problems.append(f"a row of {table.name} refers to a row of {table.parent} that is not there")
            elif len(refers) and np.bincount(refers).max() > (table.max_rows or 0):
                problems.append(f"a row of {table.parent} has more than {table.max_rows} rows of {table.name}")
            if len(refers) and (np.diff(refers) < 0).any():
                problems.append(f"the rows of {table.name} are not in the order of their parents")
    return problems


def _keys(rows: pa.Table, name: str) -> Integers:
    keys: Integers = np.asarray(rows.column(name).to_numpy())
    return keys


def _paths(rows: Mapping[str, pa.Table], tables: Tables) -> pa.Table:
    """Every path of every person with its weight: those of one person weigh 1 over the number of persons together."""
    persons = rows[tables.root.name].num_rows
    weight: Floats = np.full(persons, 1.0 / max(1, persons))
    at: dict[str, Integers] = {tables.root.name: np.arange(persons)}
    numbers: dict[str, Integers] = {}
    refers_to: dict[str, Integers] = {}
    for table in tables.tables[1:]:
        refers = _keys(rows[table.name], str(table.foreign_key)) - 1
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
    counted = {
        f"{table.name}.{one.name}": np.minimum(
            np.bincount(
                refers_to[one.table][one.holds(rows[one.table], tables.table(one.table).schema)],
                minlength=rows[table.name].num_rows,
            ),
            one.max,
        )
        for table in tables.tables
        for one in table.aggregates
    }
    columns = []
    for name in tables.flat.names:
        table_name, column = name.split(".", 1)
        if name in counted:
            values = pa.array(counted[name])
        elif table_name in rows and column in numbers and column not in rows[table_name].column_names:
            values = pa.array(numbers[column])
        else:
            values = rows[table_name].column(column).combine_chunks()
        place = at[table_name]
        columns.append(values.take(pa.array(np.maximum(place, 0), mask=place < 0)))
    flat = pa.Table.from_arrays(columns, schema=tables.flat.arrow_schema())
    return flat.append_column(TableDomain(tables.flat).weight_name, pa.array(weight))
