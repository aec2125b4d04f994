"""A small release of every kind: each method, relation, unit, kind of noise, and kind of public rows."""

import dataclasses
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv

import kernelease as ke
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.solver import PublishedRows
from kernelease.kernels import Kronecker, Polynomial
from kernelease.ledgers import LedgerFile
from kernelease.pipeline import weighting
from kernelease.relational.schema_of_tables import Tables
from kernelease.table.columns.numbers import Number
from kernelease.table.written import Records, Written

PRIVACY = ke.Privacy(epsilon=4.0, delta=1e-6)
MORE = ke.Privacy(epsilon=10.0, delta=1e-6)
PURE = ke.Privacy(epsilon=4.0, delta=0.0)
ADD_REMOVE = ke.Privacy(epsilon=4.0, delta=1e-6, neighbours=ke.Neighbours.ADD_REMOVE)
PURE_ADD_REMOVE = ke.Privacy(epsilon=4.0, delta=0.0, neighbours=ke.Neighbours.ADD_REMOVE)

SCHEMA_TEXT = """
[table]
name = "patients"
neighbours = "{neighbours}"
{table}

[columns.age]
type = "integer"
min = 0
max = 29
cells = 6

[columns.sex]
type = "category"
values = ["f", "m"]
default = "m"

[columns.score]
type = "number"
min = -1.5
max = 2.5
cells = 4
nullable = true

[columns.seen]
type = "date"
min = 2020-01-01
max = 2020-12-31
cells = 3
"""
TYPES = """
[columns.smoker]
type = "boolean"
default = true

[columns.grade]
type = "ordinal"
values = ["low", "middle", "high"]
other = "unranked"

[columns.weighed]
type = "number"
min = 40.0
max = 120.0
resolution = 0.1
cells = 4

[columns.born]
type = "datetime"
min = 1950-01-01T00:00:00
max = 2010-01-01T00:00:00
cells = 3
nullable = true

[columns.town]
type = "string"
values = ["Ulm", "Bonn"]
max_length = 5
"""
PERSONS = 'unit = "who"\nmax_rows_per_unit = 2\nrows_without_unit = "one-unit"'
RULES = """constraints = ["if sex == 'm' then age >= 5"]"""
SOLVER = MixtureSolver(components=6, steps=30)
KERNEL = ke.kernels.Gaussian(lengthscale=1.0)
NORMAL = ke.fit.NormalPoints(dimension=2, scale=2.0)


class SteadyNoise:
    """Noise of a seed that passes for the operating system's: the bundles are the same at every run, and verify."""

    private = True

    def __init__(self) -> None:
        seeded = ke.SeededNoise(7)
        self.gaussian, self.laplace, self.noisy_max = seeded.gaussian, seeded.laplace, seeded.noisy_max


def schema(neighbours: str = "replace-one", table: str = "") -> ke.Schema:
    """The declared table."""
    return ke.Schema.parse(SCHEMA_TEXT.format(neighbours=neighbours, table=table))


def patients(rows: int = 300, seed: int = 1) -> pa.Table:
    """Private rows, of which two belong to each person. Columns depend on each other, so that every pair is fitted."""
    generator = np.random.default_rng(seed)
    age = generator.integers(0, 30, rows)
    days = (18262 + 12 * age + generator.integers(0, 10, rows)).astype(np.int32)
    score = np.clip(age / 8 - 1.4 + generator.normal(0.0, 0.2, rows), -1.5, 2.5)
    return pa.table(
        {
            "age": age,
            "sex": np.where((age > 17) | (age < 5), "f", "m"),
            "score": pa.array(score, mask=generator.random(rows) < 0.1),
            "seen": pa.array(days, pa.int32()).cast(pa.date32()),
            "who": np.arange(rows) // 2,
        }
    )


def people() -> pa.Table:
    """A row for each type of column."""
    born = pa.array(np.linspace(-6e8, 1.2e9, 60).astype(np.int64), pa.timestamp("s")).cast(pa.timestamp("us"))
    return pa.table(
        {
            "smoker": [True, False, False] * 20,
            "grade": ["low", "middle", "high"] * 20,
            "weighed": np.linspace(41.0, 119.0, 60),
            "born": born,
            "town": ["Ulm", "Bonn", "Köln"] * 20,
        }
    )


def vectors(rows: int = 200) -> np.ndarray:
    """Private vectors."""
    return np.random.default_rng(2).normal(size=(rows, 2))


def _table(method: ke.Interactions | None = None, *, rows: int = 300, **options: object) -> ke.Release:
    declared = options.pop("schema", schema())
    privacy = options.pop("privacy", PRIVACY)
    return ke.release(
        patients(rows),
        schema=declared,
        privacy=privacy,
        method=method or ke.Interactions(solver=SOLVER, triples=0),
        noise=SteadyNoise(),
    )


def _vectors(
    method: ke.methods.Method, privacy: ke.Privacy = PRIVACY, kernel: ke.kernels.Kernel = KERNEL
) -> ke.Release:
    return ke.release(vectors(), kernel=kernel, method=method, privacy=privacy, noise=SteadyNoise())


def _weighted(declared: ke.Schema, privacy: ke.Privacy, *, published: bool = False) -> ke.Release:
    rows = patients().drop_columns(["who"])
    public = rows.slice(0, 12) if published else patients(12, seed=5).drop_columns(["who"])
    method = weighting(public, schema=declared, published=published)
    return ke.release(rows, schema=declared, privacy=privacy, method=method, noise=SteadyNoise())


def _fitted_otherwise() -> ke.Release:
    """With another solver, another seed, and fewer rows."""
    method = ke.Interactions(solver=MixtureSolver(components=5, steps=20), triples=0)
    return honest("counts").measurements.fit(method=method, rows=150, seed=3)


def _every_type() -> ke.Release:
    method = ke.Interactions(solver=SOLVER, triples=0)
    return ke.release(people(), schema=ke.Schema.parse(TYPES), privacy=PRIVACY, method=method, noise=SteadyNoise())


def _lines() -> ke.Release:
    """Of a CSV file whose every line is a record."""
    declared = schema().written_as(Written(records=Records.LINES))
    with tempfile.TemporaryDirectory() as folder:
        csv.write_csv(patients(), path := Path(folder, "patients.csv"))
        method = ke.Interactions(solver=SOLVER, triples=0)
        return ke.release(path, schema=declared, privacy=PRIVACY, method=method, noise=SteadyNoise())


def _on_a_ledger() -> ke.Release:
    """The second entry of a ledger file."""
    method = ke.Subspace(points=NORMAL, count=6)
    cap = ke.Privacy(epsilon=20.0, delta=1e-5)
    with tempfile.TemporaryDirectory() as folder:
        ledger = LedgerFile.create(Path(folder, "ledger"), cap=cap)
        made = [
            ke.release(vectors(), kernel=KERNEL, method=method, privacy=PRIVACY, ledger=ledger, noise=SteadyNoise())
            for _ in range(2)
        ]
    return made[-1]


def _small_database() -> ke.Release:
    domain = np.array([["a"], ["b"], ["c"]], dtype=object)
    rows = np.array([["a"], ["b"], ["b"]] * 20, dtype=object)
    method = ke.SmallDatabase(domain=domain, size=4)
    return ke.release(rows, kernel=Kronecker(values=("a", "b", "c")), method=method, privacy=PURE, noise=SteadyNoise())


ALONG_A_LINE = """
[columns.height]
type = "number"
min = 0
max = 3
cells = 60

[columns.weight]
type = "number"
min = 0
max = 300
cells = 60

[columns.heavy]
type = "boolean"
"""


def _along_a_line() -> ke.Release:
    """Numbers whose products are summed, and pairs that are looked at twice."""
    generator = np.random.default_rng(4)
    height = np.round(generator.normal(1.7, 0.09, 2000), 2)
    weight = np.round(72.0 * (height / 1.7) ** 1.5 * np.exp(generator.normal(0.0, 0.16, 2000)), 1)
    rows = pa.table({"height": height, "weight": weight, "heavy": (weight > 75.0) ^ (generator.random(2000) < 0.1)})
    method = ke.Interactions(solver=SOLVER, triples=1)
    return ke.release(rows, schema=ke.Schema.parse(ALONG_A_LINE), privacy=PRIVACY, method=method, noise=SteadyNoise())


STAYS = """
[columns.seen]
type = "date"
min = 2020-01-01
max = 2020-12-31
cells = 3

[columns.stay]
type = "integer"
from = "left"
minus = "seen"
min = 0
max = 20
"""


def _stays() -> ke.Release:
    """One column is read as how far it is from another."""
    seen = patients().column("seen").cast(pa.int32())
    left = pa.array(seen.to_numpy() + np.arange(len(seen)) % 20, pa.int32()).cast(pa.date32())
    method = ke.Interactions(solver=SOLVER, triples=0)
    return ke.release(
        pa.table({"seen": seen.cast(pa.date32()), "left": left}),
        schema=ke.Schema.parse(STAYS),
        privacy=PRIVACY,
        method=method,
        noise=SteadyNoise(),
    )


def _far_seen() -> ke.Release:
    """By a kernel so wide that the mean of the rows is summed by itself."""
    rows, method = vectors(2000), ke.Adaptive(points=NORMAL, features=16, rank=6)
    kernel = ke.kernels.Gaussian(lengthscale=8.0)
    return ke.release(rows, kernel=kernel, method=method, privacy=PRIVACY, noise=SteadyNoise())


TABLES = """
[unit]
table = "homes"
neighbours = "{neighbours}"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["Ulm", "Bonn"]
[tables.homes.columns.adults]
aggregate = "count(people, adult = true)"
max = 2
[tables.people]
key = "person"
parent = "homes"
foreign_key = "home"
max_rows = 3
[tables.people.columns.adult]
type = "boolean"
[tables.people.columns.income]
type = "number"
min = 0
max = 1000
decimals = 1
[tables.visits]
parent = ["people", "homes"]
foreign_key = ["person", "at"]
owner = "people"
max_rows = 2
order = "day"
[tables.visits.columns.day]
type = "integer"
min = 0
max = 6
"""


def _several(neighbours: str, homes: int = 60, privacy: ke.Privacy = PRIVACY) -> Any:
    """Homes, their people, and visits to homes. Of many homes, two records of one parent are counted, too."""
    home, person = np.arange(homes), np.arange(2 * homes)
    tables = {
        "homes": pa.table({"home": home, "town": np.where(home % 3 == 0, "Ulm", "Bonn")}),
        "people": pa.table(
            {"home": person // 2, "person": person, "adult": person % 2 == 0, "income": person * 25.0 % 1000}
        ),
        "visits": pa.table({"person": person[::2], "at": person[::2] // 2, "day": person[::2] % 7}),
    }
    method = ke.Interactions(solver=SOLVER, triples=0)
    declared = Tables.parse(TABLES.format(neighbours=neighbours))
    return ke.release(tables, schema=declared, privacy=privacy, method=method, noise=SteadyNoise())


def _laid() -> ke.Release:
    """Numbers whose cells are laid by noisy looks, and that are measured together."""
    columns = (Number(name="height", min=0.0, max=250.0, decimals=2), Number(name="weight", min=0.0, max=250.0))
    height = np.round(np.random.default_rng(4).normal(170.0, 10.0, 2000))
    rows = pa.table({"height": height, "weight": height - 100.0 + np.random.default_rng(5).normal(0.0, 1.0, 2000)})
    return ke.release(
        rows,
        schema=ke.Schema(columns),
        privacy=PRIVACY,
        method=ke.Interactions(solver=SOLVER, triples=0),
        noise=SteadyNoise(),
    )


def _with_classes(public: bool = False) -> ke.Release:
    rows, labels = vectors(), np.where(vectors()[:, 0] > 0.0, "east", "west")
    known = (vectors(9), ["east", "west", "west"] * 3) if public else None
    return ke.release(
        rows, labels=labels, classes=("east", "west"), public=known, privacy=PRIVACY, rows=40, noise=SteadyNoise()
    )


_MAKERS: dict[str, Callable[[], ke.Release]] = {
    "counts": _table,
    "counts under add-remove": lambda: _table(schema=schema("add-remove")),
    "one column under add-remove": lambda: _table(
        schema=dataclasses.replace(schema("add-remove"), columns=schema().columns[:1])
    ),
    "counts with rules, pure": lambda: _table(schema=schema(table=RULES), privacy=PURE),
    "counts of persons": lambda: _table(schema=schema(table=PERSONS)),
    "counts of persons under add-remove": lambda: _table(schema=schema("add-remove", PERSONS)),
    "sides": lambda: _table(rows=60),
    "sides of persons under add-remove": lambda: _table(rows=80, schema=schema("add-remove", PERSONS)),
    "sets of three that were chosen": lambda: _table(ke.Interactions(solver=SOLVER, triples=2)),
    "lines of a file": _lines,
    "columns of every type": _every_type,
    "counts fitted otherwise": _fitted_otherwise,
    "a target": lambda: _table(ke.Interactions(solver=SOLVER, target="sex", triples=1), schema=schema("add-remove")),
    "subspace": lambda: _vectors(ke.Subspace(points=NORMAL, count=6)),
    "subspace under add-remove, pure": lambda: _vectors(ke.Subspace(points=NORMAL, count=6), PURE_ADD_REMOVE),
    "subspace on a ledger": _on_a_ledger,
    "subspace on the simplex": lambda: _vectors(ke.Subspace(points=NORMAL, count=9, constraint=ke.fit.Simplex()), PURE),
    "published vectors": lambda: _vectors(ke.Subspace(points=PublishedRows(8), constraint=ke.fit.Simplex())),
    "random features": lambda: _vectors(
        ke.RandomFeatures(start=NORMAL, features=8, solver=ke.fit.GreedyPreimages(points=3, starts=4))
    ),
    "random features under add-remove": lambda: _vectors(
        ke.RandomFeatures(start=NORMAL, features=8, solver=ke.fit.GreedyPreimages(points=3, starts=4)), ADD_REMOVE
    ),
    "one stage": lambda: _vectors(
        ke.Adaptive(points=ke.fit.PublicPoints(np.random.default_rng(3).normal(size=(9, 2))), rank=6),
        kernel=Polynomial(degree=2, half_width=4.0, dimension=2),
    ),
    "one stage, published": lambda: _vectors(ke.Adaptive(points=PublishedRows(9), rank=6)),
    "two stages": lambda: _vectors(ke.Adaptive(points=NORMAL, features=16, rank=6)),
    "two stages, rounds, under add-remove": lambda: _vectors(
        ke.Adaptive(points=NORMAL, features=16, rank=6, rounds=2), ADD_REMOVE
    ),
    "two stages and the mean": _far_seen,
    "small database": _small_database,
    "weighted rows": lambda: _weighted(schema(), PRIVACY),
    "weighted rows under add-remove": lambda: _weighted(schema("add-remove"), ADD_REMOVE),
    "several tables": lambda: _several("replace-one"),
    "several tables under add-remove": lambda: _several("add-remove"),
    "records of one parent": lambda: _several("replace-one", 150, MORE),
    "laid numbers": _laid,
    "numbers along a line": _along_a_line,
    "one number off another": _stays,
    "vectors with classes": _with_classes,
    "vectors with classes and public rows": lambda: _with_classes(public=True),
    "weighted rows, published": lambda: _weighted(schema(table=RULES), PRIVACY, published=True),
}
NAMES = tuple(_MAKERS)


@cache
def honest(name: str) -> ke.Release:
    """The release of this kind, made once."""
    return _MAKERS[name]()
