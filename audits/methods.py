"""White-box audits of whole methods: from rows to the last noisy number, with the likelihood ratio of everything seen.

Each game has two tables that differ in one row (or person), chosen so that the row moves every measured number as far
as the declared sensitivity allows. Then the bound comes near the claim, and a sensitivity that is too small shows.
"""

import copy
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from audits.attacker import claimed_mu, epsilon_bound, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.transcript import DifferentCourse, Run, log_ratios, record, replay
from audits.twins import BulkNoise, NoNoise, QuietNoise
from kernelease import pipeline
from kernelease.exact.paths import Bags as BagsOfPaths, PathColumn
from kernelease.exact.rows import PrivateArray
from kernelease.fit import PublicPoints, UniformPoints
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.solver import PublishedRows
from kernelease.kernels import Gaussian, Kernel
from kernelease.ledgers import MemoryLedger
from kernelease.measured.sums import Clamped
from kernelease.methods import Context, Interactions, Method, SmallDatabase, Subspace
from kernelease.methods.adaptive import Adaptive
from kernelease.methods.several_tables import Bags
from kernelease.privacy import NoiseSource, Privacy, SystemNoise
from kernelease.relational.books import Aggregate
from kernelease.relational.schema_of_tables import WEIGHT, Tables
from kernelease.seeds import PublicSeed
from kernelease.sources.private_rows import _Persons as TablesOfPersons
from kernelease.table import Schema
from kernelease.table.domains import VectorDomain

PRIVACY = Privacy(epsilon=20.0, delta=1e-3)  # μ = 4.3: the relative error of an estimate of μ is nearly the least
FAR = 100.0  # lengthscales: kernels are 0 at this distance
TRIALS = {Effort.FAST: 300, Effort.FULL: 1_500}  # per world
ADAPTIVE_TRIALS = {Effort.FAST: 80, Effort.FULL: 400}


def of_method(method: Method, *, kernel: Kernel = Gaussian(lengthscale=1.0), privacy: Privacy = PRIVACY) -> Run:  # noqa: B008  # a kernel never changes
    """A run of a method on an array of rows, on books of its own."""

    def run(rows: Any, noise: NoiseSource) -> object:
        ledger = MemoryLedger(privacy)
        context = Context(domain=VectorDomain(kernel), privacy=privacy, ledger=ledger, noise=noise, seed=PublicSeed(0))
        return method.measure(PrivateArray(np.array(rows, dtype=np.float64)), context)

    return run


def of_table(schema: Schema, *, triples: int = 0) -> Run:
    """A run of the whole pipeline on a table with a schema."""
    method = Interactions(solver=MixtureSolver(components=4, steps=4), triples=triples)

    def run(table: Any, noise: NoiseSource) -> object:
        return pipeline.measure(table, schema=schema, privacy=PRIVACY, method=method, noise=noise)

    return run


def normal_game(
    run: Run, tables: tuple[Any, Any], twins: dict[str, Run] | None = None, *, adaptive: bool = False
) -> Callable[[Effort], Verdict]:
    """The audit of a method whose noise is Gaussian. Its twin is another run, or else the same with too little noise.

    Every trial of an adaptive method is replayed, so there are fewer of them. It may also leave a part of its budget
    without use for this one row, on some of its courses: then the bound is less near to the claim.
    """

    def audit(effort: Effort) -> Verdict:
        trials = (ADAPTIVE_TRIALS if adaptive else TRIALS)[effort]
        noise = SystemNoise(threads=1) if adaptive else BulkNoise()

        def bound(run: Run, noise: NoiseSource) -> float:
            return normal_mu_bound(*log_ratios(run, tables, noise, trials, adaptive=adaptive))

        if twins:
            caught = {name: bound(twin, noise) for name, twin in twins.items()}
        elif adaptive and effort is Effort.FAST:
            caught = {"half of σ": bound(run, QuietNoise(0.5, source=noise))}
        else:
            caught = {"Δ off by √2": bound(run, QuietNoise(1.0 / math.sqrt(2.0), source=noise))}
        return judged(
            trials=2 * trials,
            claim=claimed_mu(PRIVACY),
            real=bound(run, noise),
            twins=caught,
            symbol="μ",
            sharp=0.25 if adaptive else 0.65,
        )

    return audit


# Arrays of rows.

CORNERS = np.array([[0.0], [FAR]])


def two_stages(effort: Effort) -> Verdict:
    """Stage two looks where stage one, noise and all, says that rows are."""
    trials, twin = (6, 0.0) if effort is Effort.FAST else (60, 0.25)
    method = Adaptive(points=UniformPoints(low=(-2.0,), high=(2.0,)), share=0.5, features=2, rank=4)
    tables = ([[0.0], [0.0], [0.0], [-1.5]], [[0.0], [0.0], [0.0], [1.5]])

    def bound(noise: NoiseSource) -> float:
        return normal_mu_bound(*log_ratios(of_method(method), tables, noise, trials, adaptive=True))

    source = SystemNoise(threads=1)
    return judged(
        trials=2 * trials,
        claim=claimed_mu(PRIVACY),
        real=bound(source),
        twins={f"{twin:g} of σ": bound(QuietNoise(twin, source=source) if twin else NoNoise())},
        symbol="μ",
    )


def small_database(effort: Effort) -> Verdict:
    """One kind of row far from ten that lie together: the ten candidates' scores rise and fall together."""
    privacy = Privacy(epsilon=3.0, delta=0.0)
    trials, quiet = (1_000, 0.25) if effort is Effort.FAST else (6_000, 0.5)
    domain = np.array([[0.0], *([FAR + 0.001 * i] for i in range(10))])
    run = of_method(SmallDatabase(domain=domain, size=1), privacy=privacy)
    tables = ([[0.0]], [[FAR]])

    def bound(noise: NoiseSource) -> float:
        return epsilon_bound(*log_ratios(run, tables, noise, trials))

    return judged(
        trials=2 * trials,
        claim=privacy.epsilon,
        real=bound(BulkNoise()),
        twins={f"an exponent too large by a factor of {1 / quiet:.0f}": bound(QuietNoise(quiet))},
        symbol="ε",
    )


# Tables.

TWO_COLUMNS = """
[table]
neighbours = "{neighbours}"
{unit}
[columns.ward]
type = "category"
values = ["north", "south"]
[columns.age]
type = "integer"
min = 0
max = 9
"""


def schema(neighbours: str = "replace-one", unit: str = "") -> Schema:
    """Two columns, under a relation, for rows or for persons."""
    return Schema.parse(TWO_COLUMNS.format(neighbours=neighbours, unit=unit))


def table(*rows: tuple[str, int], who: tuple[int, ...] | None = None) -> pa.Table:
    """Rows as a table, with the persons that they belong to."""
    columns = {"ward": pa.array([ward for ward, _ in rows]), "age": pa.array([age for _, age in rows], pa.int64())}
    return pa.table(columns | ({} if who is None else {"who": pa.array(who, pa.int64())}))


REST = [("north", 3), ("south", 5), ("north", 8)]
PERSONS = schema(unit='unit = "who"\nmax_rows_per_unit = 3')
BINARY = Schema.parse(
    '[table]\nneighbours = "add-remove"\n'
    + "".join(f'[columns.{name}]\ntype = "category"\nvalues = ["n", "y"]\n' for name in "abcd")
)
HEAVY = (7,) * 12  # the rows of a person who has four times as many as the cap allows


def answers(*more: str) -> pa.Table:
    """Four yes-or-no columns, of which every combination occurs, and more rows."""
    rows = [*itertools.product("ny", repeat=4)] * 4 + [tuple(row) for row in more]
    return pa.table({name: [row[i] for row in rows] for i, name in enumerate("abcd")})


AMOUNTS = Schema.parse('[table]\nneighbours = "add-remove"\n[columns.amount]\ntype = "integer"\nmin = 0\nmax = 99999')


def amounts(*more: int) -> pa.Table:
    """One number of many legal values, which is laid by looks: a spike, some rows in hundreds, and more rows."""
    return pa.table({"amount": pa.array([*[0] * 40, *range(100, 2_000, 100), *more], pa.int64())})


def laid_by_rows(table: Any, noise: NoiseSource) -> object:
    """Cells begin at the values that rows have: the layout is read from private rows, not from noisy counts."""
    values = sorted({0, *table["amount"].to_pylist()})

    def lay(runs: Any) -> Any:
        return np.array(values, dtype=np.int64)

    with mock.patch("kernelease.methods.interactions.texture.lay", lay):
        return of_table(AMOUNTS)(table, noise)


def told_by_rows(table: Any, noise: NoiseSource) -> object:
    """Endings are told by the number of rows' own last digits: the modulus is read from private rows."""
    digits = len({value % 100 for value in table["amount"].to_pylist()})

    def modulus_of(column: Any, within: float = 0.0) -> int:
        return 1 + digits

    with mock.patch("kernelease.methods.interactions.texture.modulus_of", modulus_of):
        return of_table(AMOUNTS)(table, noise)


def uncapped(table: Any, noise: NoiseSource) -> object:
    """The cap is declared and enters the sensitivity, but every row of a person counts as one of three."""

    def apply(cap: Any, batches: Any, encoder: Any) -> Any:
        for batch in batches:
            codes = encoder.encode(batch)
            yield codes, np.full(len(codes), cap.total // cap.max_rows, dtype=np.int64)

    with mock.patch("kernelease.exact.persons.UnitCap.apply", apply):
        return of_table(PERSONS)(table, noise)


# Several tables.

_HOMES = """
    [unit]
    table = "homes"
    [tables.homes]
    key = "home"
    [tables.homes.columns.ward]
    type = "category"
    values = ["north", "south"]
    [tables.people]
    parent = "homes"
    foreign_key = "home"
    max_rows = 3
    {order}
    [tables.people.columns.ill]
    type = "boolean"
    """
_BORN = """order = "born"
    [tables.people.columns.born]
    type = "integer"
    min = 0
    max = 9
    cells = 2"""
HOMES, VISITS = (Tables.parse(_HOMES.format(order=order)) for order in ("", _BORN))


def in_sequence(ward: str, ill: bool, people: int) -> dict[str, pa.Table]:
    """The same homes, whose people are in the order of their birth."""
    tables = homes(ward, ill, people)
    born = pa.array([row % 10 for row in range(tables["people"].num_rows)])
    return {**tables, "people": tables["people"].append_column("born", born)}


def homes(ward: str, ill: bool, people: int) -> dict[str, pa.Table]:
    """Three homes, and one with so many people, all alike."""
    wards, owners, others = ["north", "south", "north"], [1, 1, 2, 3], [True, False, True, False]
    return {
        "homes": pa.table({"home": [1, 2, 3, 9], "ward": [*wards, ward]}),
        "people": pa.table({"home": [*owners, *[9] * people], "ill": [*others, *[ill] * people]}),
    }


def of_tables(tables: Tables) -> Run:
    """A run of the whole pipeline on several tables."""
    method = Bags(interactions=Interactions(solver=MixtureSolver(components=4, steps=4), triples=0))

    def run(data: Any, noise: NoiseSource) -> object:
        return pipeline.measure(data, schema=tables, privacy=PRIVACY, method=method, noise=noise)

    return run


def broken_paths(weigh: Callable[[Any, Any], Iterator[Any]], tables: Tables = HOMES) -> Run:
    """The same, where what is read of paths passes through a mistake."""
    right = BagsOfPaths.paths

    def run(data: Any, noise: NoiseSource) -> object:
        with mock.patch.object(BagsOfPaths, "paths", lambda self, columns: weigh(self, right(self, columns))):
            return of_tables(tables)(data, noise)

    return run


def without_cap(bags: Any, batches: Any) -> Iterator[Any]:
    """Every record weighs as one of three, and all twelve are read: four times what a person may weigh."""
    for codes, weights in batches:
        yield codes, np.where(weights < WEIGHT, 4 * weights, weights)


def undivided(bags: Any, batches: Any) -> Iterator[Any]:
    """A weight is not divided: each path weighs as much as a person."""
    for codes, weights in batches:
        yield codes, np.full_like(weights, WEIGHT)


def siblings_twice(bags: Any, batches: Any) -> Iterator[Any]:
    """A record counts beside itself and beside both of its siblings, each time for the whole."""
    for codes, weights in batches:
        yield from [(codes, weights)] * 3


def steps_twice(bags: Any, batches: Any) -> Iterator[Any]:
    """A step counts by itself, for the record that it leaves, and for the one that it leads to, each time in whole."""
    for codes, weights in batches:
        yield from [(codes, weights)] * 3


# What the records of a person come to: sums, means, least and largest values.

MOST = 3  # records of a person that are kept
_EARNED = """
    [unit]
    table = "homes"
    neighbours = "{neighbours}"
    [tables.homes]
    key = "home"
    [tables.homes.columns.ward]
    type = "category"
    values = ["north", "south"]
    [tables.homes.columns.total]
    aggregate = "sum(people.pay)"
    min = 0
    max = 90
    cells = 2
    [tables.homes.columns.middle]
    aggregate = "mean(people.pay)"
    cells = 2
    [tables.homes.columns.least]
    aggregate = "min(people.pay)"
    cells = 2
    [tables.homes.columns.most]
    aggregate = "max(people.pay)"
    cells = 2
    [tables.people]
    parent = "homes"
    foreign_key = "home"
    max_rows = 3
    order = "born"
    [tables.people.columns.born]
    type = "integer"
    min = 0
    max = 9
    cells = 2
    [tables.people.columns.pay]
    type = "integer"
    min = 0
    max = 900
    cells = 2
    """
EARNED, EARNED_OR_NOT = (Tables.parse(_EARNED.format(neighbours=one)) for one in ("replace-one", "add-remove"))


def earners(pay: Sequence[float] | None) -> dict[str, pa.Table]:
    """Three homes, and one whose people earn so much, in the order of their birth; None: there is no such home."""
    own, keys = list(pay or ()), [1, 2, 3, *([] if pay is None else [9])]
    owners, earned = [1, 1, 2, 3, *[9] * len(own)], [30.0, 500.0, 20.0, 80.0, *own]
    born = [1, 2, 3, 4, *range(len(own))]
    homes = pa.table({"home": keys, "ward": ["north"] * len(keys)})
    return {"homes": homes, "people": pa.table({"home": owners, "born": born, "pay": earned})}


def course_mu(run: Run, tables: tuple[Any, Any]) -> float:
    """√Σ‖Δ‖²/σ² along one course: how far all exact numbers of the neighbour lie from those that were measured.

    No noise is estimated. A method of Gaussian noise keeps μ where this is at most μ on every course.
    """
    noise = SystemNoise(threads=1)
    events = record(run, tables[0], noise)
    try:
        others = replay(run, tables[1], noise, events)
    except DifferentCourse:
        return math.inf
    if any(event.law != "gaussian" for event in events):
        raise ValueError("course_mu: the run has noise of another law than Gaussian.")
    squares = (
        float((((one.exact - other.exact).astype(np.float64) / one.scale) ** 2).sum())
        for one, other in zip(events, others, strict=True)
    )
    return math.sqrt(sum(squares))


def replayed(unclipped: Run, uncapped: Run, effort: Effort) -> Verdict:
    """A person with 0, 1, K and 10·K records of enormous pay, replaced or removed; then records beyond the cap."""
    courses, real, beyond = 1 if effort is Effort.FAST else 10, 0.0, 0.0
    lowest, high = [0.0] * MOST, [1e300] * 9 * MOST
    for _ in range(courses):
        for number in (0, 1, MOST, 10 * MOST):
            real = max(real, course_mu(of_tables(EARNED), (earners([1e300] * number), earners([-1e300] * number))))
            real = max(real, course_mu(of_tables(EARNED), (earners([1e300] * number), earners([]))))
            real = max(real, course_mu(of_tables(EARNED_OR_NOT), (earners([1e300] * number), earners(None))))
        beyond = max(beyond, course_mu(of_tables(EARNED), (earners(lowest), earners([*lowest, *high]))))
    claim = claimed_mu(PRIVACY)
    far = course_mu(unclipped, (earners([1e300] * MOST), earners([])))
    more = course_mu(uncapped, (earners(lowest), earners([*lowest, *high])))
    return Verdict(
        trials=13 * courses,
        holds=0.25 * claim <= real <= claim and beyond == 0.0,
        measured=f"0, 1, {MOST} and {10 * MOST} records: μ = {real:.3g} at most, claimed {claim:.3g}; "
        f"records beyond the cap: μ = {beyond:.3g}",
        twin=f"a sum that is not clipped: μ = {far:.3g}; a cap that is not applied: records beyond it: μ = {more:.3g}",
        twin_caught=far > claim and more > 0.0,
    )


def without_clip(data: Any, noise: NoiseSource) -> object:
    """Sums are weighed by how far they lie above their cell, however far that is."""
    right = TablesOfPersons._aggregate

    def aggregate(persons: Any, one: Aggregate, column: Any) -> Any:
        made = right(persons, one, column)
        declared = EARNED.flat.columns[EARNED.flat.names.index(column.name)]
        if one.kind != "sum" or column == declared:
            return made

        def fold(row: Any, parent: Any, parents: int) -> Any:
            total = np.bincount(parent, weights=persons._records[1].numbers_of(1)[row].clip(0, 900), minlength=parents)
            return (total * column.size // (column.max - column.min + 1)).astype(np.int64)

        return PathColumn(made.table, made.codes, made.missing, number=True, fold=fold)

    def as_it_is(_: Clamped, __: Any, number: Any) -> Any:
        return number

    with mock.patch.object(TablesOfPersons, "_aggregate", aggregate), mock.patch.object(Clamped, "of", as_it_is):
        return of_tables(EARNED)(data, noise)


def of_all_records(data: Any, noise: NoiseSource) -> object:
    """The cap is declared, and all records of a person are read."""
    loose = copy.copy(EARNED)
    every = [one if one.max_rows is None else replace(one, max_rows=1000) for one in EARNED.tables]
    object.__setattr__(loose, "tables", tuple(every))
    return of_tables(loose)(data, noise)


CASES = (
    Case(
        name="Subspace",
        kind="audit",
        claim="Algorithm 1 with public points keeps (ε, δ) for every row.",
        run=normal_game(
            of_method(Subspace(points=PublicPoints(CORNERS), count=2)),
            ([[0.0], [0.0], [0.0]], [[0.0], [0.0], [FAR]]),
        ),
    ),
    Case(
        name="Subspace with published rows",
        kind="audit",
        claim="Algorithm 1 with a published part of the table keeps (ε, δ) for every other row.",
        run=normal_game(
            of_method(Subspace(points=PublishedRows(2))),
            ([[0.0], [FAR], [0.0]], [[0.0], [FAR], [FAR]]),
        ),
    ),
    Case(
        name="Adaptive",
        kind="audit",
        claim="Two stages, of which the second depends on what the first shows, keep (ε, δ) together.",
        run=two_stages,
    ),
    Case(
        name="SmallDatabase",
        kind="audit",
        claim="The exponential mechanism over small databases is ε-DP.",
        run=small_database,
    ),
    Case(
        name="Interactions, replace-one",
        kind="audit",
        claim="All blocks of a table's release together keep (ε, δ) when a row is replaced.",
        run=normal_game(
            of_table(schema()),
            (table(*REST, ("north", 0)), table(*REST, ("south", 9))),
            adaptive=True,
        ),
    ),
    Case(
        name="Interactions, add-remove",
        kind="audit",
        claim="The same when a row is added or removed; nothing else tells the number of rows.",
        run=normal_game(
            of_table(schema("add-remove")),
            (table(*REST), table(*REST, ("south", 9))),
            adaptive=True,
        ),
    ),
    Case(
        name="numbers that are laid by looks",
        kind="audit",
        claim="Looks at a number, cells that follow from their noisy counts, and what is counted in these keep (ε, δ).",
        run=normal_game(
            of_table(AMOUNTS),
            (amounts(), amounts(77_777)),
            {"cells that follow from rows": laid_by_rows, "endings that follow from rows": told_by_rows},
            adaptive=True,
        ),
    ),
    Case(
        name="Interactions with sets of three",
        kind="audit",
        claim="Noisy counts, a selection made in sight of them, and what is measured after it keep (ε, δ) together.",
        run=normal_game(of_table(BINARY, triples=1), (answers(), answers("nnyy")), adaptive=True),
    ),
    Case(
        name="persons with records in several tables",
        kind="audit",
        claim="With several tables the guarantee is for a person with all their records, whatever their number.",
        run=normal_game(
            of_tables(HOMES),
            (homes("north", True, 12), homes("south", False, 12)),
            {
                "a cap that is not applied": broken_paths(without_cap),
                "a weight that is not divided": broken_paths(undivided),
                "a sibling that is counted twice": broken_paths(siblings_twice),
            },
            adaptive=True,
        ),
    ),
    Case(
        name="records in sequence",
        kind="audit",
        claim="Steps from record to record, with begin and end, keep the guarantee for a person with all records.",
        run=normal_game(
            of_tables(VISITS),
            (in_sequence("north", True, 12), in_sequence("south", False, 12)),
            {
                "a step that is counted twice": broken_paths(steps_twice, VISITS),
                "a step whose weight is not divided": broken_paths(undivided, VISITS),
            },
            adaptive=True,
        ),
    ),
    Case(
        name="what the records of a person come to",
        kind="audit",
        claim="Sums, means, least and largest values of a person's records are of those that are kept, and clipped: "
        "they keep the guarantee for the person with all records, whatever these are.",
        run=partial(replayed, without_clip, of_all_records),
    ),
    Case(
        name="persons with several rows",
        kind="audit",
        claim="With a unit the guarantee is for a person with all their rows; the cap on rows is enforced.",
        run=normal_game(
            of_table(PERSONS),
            (
                table(*REST, *[("north", 0)] * len(HEAVY), who=(1, 1, 2, *HEAVY)),
                table(*REST, *[("south", 9)] * len(HEAVY), who=(1, 1, 2, *HEAVY)),
            ),
            {"a cap that is declared and not enforced": uncapped},
            adaptive=True,
        ),
    ),
)
