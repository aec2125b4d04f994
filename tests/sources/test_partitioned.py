"""Rows in parts elsewhere: partial sums that add up to those of one machine, however rows are divided."""

import itertools
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

import kernelease as ke
from kernelease.errors import ParameterError, SourceError
from kernelease.measured.counts import Counts
from kernelease.seeds import PublicSeed
from kernelease.sources.partial import run_after
from kernelease.sources.partitioned import Fetched, Partitioned, Sums, added_up, distant_vectors
from kernelease.sources.private_rows import private_table
from kernelease.table import Category, Integer, Schema

PRIVACY = ke.Privacy(epsilon=20.0, delta=1e-6)
COLUMNS = (Integer(name="age", min=0, max=9), Category(name="city", values=("Ulm", "Bonn")))
SCHEMA = Schema(COLUMNS)
PERSONS = Schema(COLUMNS, unit="who", max_rows_per_unit=2)
FEATURES = ke.features.Fourier.random(ke.kernels.Gaussian(lengthscale=1.0), features=4, dimension=2, seed=PublicSeed(0))
ROWS = pa.table(
    {
        "age": [3, 1, 4, 1, 5, 9, 2, None, 5, 3] * 20,
        "city": ["Ulm", "Bonn", "x", None] * 50,
        "who": [str(i % 61) if i % 7 else None for i in range(200)],
    }
)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Parts(Partitioned):
    """Tables in a list. Every task goes through pickle, as it would on its way to another machine."""

    parts: tuple[pa.Table, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(self.parts[0].column_names)

    def declared_schema(self) -> pa.Schema:
        return self.parts[0].schema

    def describe(self) -> str:
        return "tables in a list"

    def sums(self, columns: tuple[str, ...], task: Any) -> Iterator[Any]:
        sent = pickle.dumps(task)
        return (pickle.loads(sent)(part.select(columns).to_batches()) for part in self.parts)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Shuffled(Partitioned):
    """The same, with a shuffle in one process."""

    parts: tuple[pa.Table, ...]

    def names(self) -> tuple[str, ...]:
        return tuple(self.parts[0].column_names)

    def declared_schema(self) -> pa.Schema:
        return self.parts[0].schema

    def describe(self) -> str:
        return "tables in a list"

    def sums(self, columns: tuple[str, ...], task: Any) -> Iterator[Any]:
        return (task(part.select(columns).to_batches()) for part in self.parts)

    def regroup(self, columns: tuple[str, ...], stage: Any, after: Any) -> Sums:
        made = pa.Table.from_batches([b for part in self.parts for b in stage(part.select(columns).to_batches())])
        persons = made.column("person").to_pylist()
        first = pa.array([person is None or person[0] < 128 for person in persons])
        halves = [made.filter(first), made.filter(pc.invert(first))]
        return lambda task: (task(after(half.to_batches())) for half in halves)


def cut(rows: pa.Table, places: list[int]) -> tuple[pa.Table, ...]:
    borders = [0, *sorted(places), rows.num_rows]
    return tuple(rows.slice(a, b - a) for a, b in itertools.pairwise(borders))


def measured(data: Any, schema: Schema) -> list[list[int]]:
    blocks = ke.measure(data, schema=schema, privacy=PRIVACY, noise=ke.SeededNoise(1)).measured.blocks
    return [list(map(int, block.measurement.integers)) for block in blocks]


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 200), max_size=4))
def test_the_same_bytes_however_rows_are_divided(places: list[int]) -> None:
    assert measured(Parts(parts=cut(ROWS, places)), SCHEMA) == measured(ROWS, SCHEMA)
    assert measured(Shuffled(parts=cut(ROWS, places)), PERSONS) == measured(ROWS, PERSONS)


def test_vectors() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 2))
    table = pa.table({"x": rows[:, 0], "y": rows[:, 1]})
    method = ke.RandomFeatures(start=ke.fit.NormalPoints(dimension=2), features=10)
    here, there = (
        ke.measure(
            data, kernel=ke.kernels.Gaussian(lengthscale=1.0), method=method, privacy=PRIVACY, noise=ke.SeededNoise(1)
        )
        for data in (rows, Parts(parts=cut(table, [30, 30, 70])))
    )
    assert list(here.measured.embedding.measurement.integers) == list(there.measured.embedding.measurement.integers)


def test_persons_need_an_engine_that_regroups() -> None:
    with pytest.raises(SourceError, match="can't bring the rows of a person together"):
        measured(Parts(parts=(ROWS,)), PERSONS)


def test_rows_stay_where_they_lie() -> None:
    source = Parts(parts=(ROWS,))
    with pytest.raises(SourceError, match="stay where they lie"):
        next(source.batches(["age"]))
    rows = private_table(source, SCHEMA, seed=PublicSeed(0))
    with pytest.raises(ParameterError, match="has to see the rows"):
        rows.array()
    with pytest.raises(ParameterError, match="protects rows, not persons"):
        private_table(Shuffled(parts=(ROWS,)), PERSONS, seed=PublicSeed(0)).embedding(FEATURES)


def test_an_engine_whose_rows_can_not_be_fetched_has_none_of_several_tables() -> None:
    source = Fetched(inner=Parts(parts=(ROWS,)))
    assert source.names() == tuple(ROWS.column_names)
    with pytest.raises(SourceError, match="can't be one of several tables"):
        list(source.batches(["age"]))


def test_vectors_have_no_counts_and_only_numbers() -> None:
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    with pytest.raises(SourceError, match="'city' is not of numbers"):
        ke.measure(Parts(parts=(ROWS,)), kernel=kernel, privacy=PRIVACY)
    rows = distant_vectors(Parts(parts=(ROWS.select(["age"]),)))
    with pytest.raises(ParameterError, match="counts need declared columns"):
        rows.counts()


def test_the_number_of_vectors_where_it_is_public() -> None:
    ages = ROWS.select(["age"])
    rows, none = distant_vectors(Parts(parts=(ages,))), distant_vectors(Parts(parts=(ages.slice(0, 0),)))
    assert rows.public_count(ke.Neighbours.REPLACE_ONE) == 200
    assert rows.public_count(ke.Neighbours.ADD_REMOVE) is None
    with pytest.raises(ParameterError, match="The table is empty"):
        none.public_count(ke.Neighbours.REPLACE_ONE)


@pytest.mark.parametrize("part", [np.zeros(2, dtype=np.int64), np.zeros(3), np.zeros((3, 1), dtype=np.int64)])
def test_a_part_that_gives_something_else(part: Any) -> None:
    with pytest.raises(SourceError, match="must give 3 integers"):
        added_up([np.zeros(3, dtype=np.int64), part], 3)


def test_rows_that_change_between_passes() -> None:
    source = Parts(parts=(ROWS, ROWS))
    rows = private_table(source, SCHEMA, seed=PublicSeed(0))
    object.__setattr__(source, "parts", (ROWS,))
    block = Counts(columns=(0, 1), groups=tuple(np.arange(size) for size in SCHEMA.sizes), share=0.5)
    with pytest.raises(SourceError, match="other rows than the first"):
        rows.counts()._exact([block])


def test_a_worker_with_another_version() -> None:
    with pytest.raises(SourceError, match=r"asks for its sums"):
        run_after(iter, len, "0.0.0", [])  # type: ignore[arg-type]
