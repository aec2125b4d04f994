"""Tests keep their level: under the hypothesis they reject no more often than they say.

Each null is repeated with fresh rows and fresh noise. A test of level 0.05 that rejects in `limit(repeats)` repeats is
convicted; an innocent one is so once in ten thousand runs of one null (`ALARM`), by the binomial law, however often it
is repeated. With the 150 repeats of the suite one that rejects a true hypothesis in 21 % of cases is convicted with
probability 0.99, with the 600 of `make audit` one that does so in 12 %. Each test has a broken twin, which forgets
the noise, and must be convicted.
"""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import kernelease as ke
from benchmarks.simulated import SCHEMA, measured, people
from kernelease.analysis.comparisons.column_tests import column_goodness, independence_test
from kernelease.analysis.comparisons.mean_embedding import common_coordinates
from kernelease.analysis.comparisons.tables import SampleRows, sample_of_table
from kernelease.analysis.comparisons.two_sample import AgainstRelease, AgainstSample
from kernelease.analysis.estimate import Target
from kernelease.measured.blocks import NoisyBlocks

pytestmark = pytest.mark.statistical

LEVEL = 0.05
ALARM = 1e-4
DRAWS = 99
ADD_REMOVE = dataclasses.replace(SCHEMA, neighbours="add-remove")


@pytest.fixture(params=[150, pytest.param(600, marks=pytest.mark.whole)])
def repeats(request: pytest.FixtureRequest) -> int:
    """Of each null: in the suite, and in `make audit`."""
    return int(request.param)


def limit(repeats: int) -> int:
    return int(stats.binom.isf(ALARM, repeats, LEVEL)) + 1


def convicted(p_value, repeats: int) -> bool:
    """Whether it rejects too often, over this many seeds."""
    return sum(p_value(np.random.default_rng(seed)) <= LEVEL for seed in range(repeats)) >= limit(repeats)


def fresh(generator: np.random.Generator) -> int:
    """A seed for the draws from the null: with the same one in all repeats these would share the error of its draws."""
    return int(generator.integers(2**32))


def two_sample(noisy: NoisyBlocks, rows: pa.Table, generator: np.random.Generator, schema=SCHEMA) -> float:
    sample = sample_of_table(rows, schema)
    (mean,) = common_coordinates([noisy], schema.columns, among=sample.columns)
    comparison = AgainstSample(released=mean, sample=sample, fitted=lambda: sample, seed=fresh(generator))
    return comparison.test(Target.POPULATION, DRAWS).p_value


def shuffled(generator: np.random.Generator, count: int) -> pa.Table:
    """Rows whose columns are independent of each other."""
    table = people(generator, count)
    orders = {name: pa.array(generator.permutation(count)) for name in table.column_names}
    return pa.table({name: table.column(name).take(order) for name, order in orders.items()})


def quiet(noisy: NoisyBlocks) -> NoisyBlocks:
    """The same numbers with a noise that is said to be far smaller: what an analyst does who forgets it."""
    blocks = []
    for block in noisy.blocks:
        step = dataclasses.replace(block.measurement.step, scale=1e-6)
        blocks.append(dataclasses.replace(block, measurement=dataclasses.replace(block.measurement, step=step)))
    return dataclasses.replace(noisy, blocks=tuple(blocks))


# Nulls of the two-sample test: (rows of the table, rows of the sample, ε, schema, columns of the sample).
NULLS = {
    "large sample": (2_000, 2_000, 1.0, SCHEMA, None),
    "large sample, small budget": (2_000, 2_000, 0.1, SCHEMA, None),
    "small sample": (2_000, 100, 1.0, SCHEMA, None),
    "small sample, small budget": (2_000, 100, 0.1, SCHEMA, None),
    "two columns": (2_000, 1_000, 1.0, SCHEMA, ["hours", "ward"]),
    "two columns, small budget": (2_000, 1_000, 0.1, SCHEMA, ["hours", "ward"]),
    "noisy number of rows": (2_000, 1_000, 1.0, ADD_REMOVE, None),
    "noisy number of rows, small budget": (2_000, 1_000, 0.1, ADD_REMOVE, None),
}


@pytest.mark.parametrize("null", NULLS.values(), ids=NULLS)
def test_two_sample(null, repeats):
    rows, size, epsilon, schema, names = null

    def p_value(generator):
        noisy = measured(people(generator, rows), epsilon=epsilon, generator=generator, schema=schema)
        sample = people(generator, size)
        return two_sample(noisy, sample.select(names) if names else sample, generator, schema)

    assert not convicted(p_value, repeats)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_two_releases(epsilon, repeats):
    def p_value(generator):
        tables = [people(generator, 2_000) for _ in range(2)]
        noisy = [measured(table, epsilon=epsilon, generator=generator) for table in tables]
        means = common_coordinates(noisy, SCHEMA.columns)
        # Stands for the synthetic rows of a good fit, so that the level can be judged without fitting.
        fitted: SampleRows = sample_of_table(people(generator, 1_000), SCHEMA)
        rows = (lambda: fitted, lambda: fitted)
        comparison = AgainstRelease(released=(means[0], means[1]), fitted=rows, seed=fresh(generator))
        return comparison.test(Target.POPULATION, DRAWS).p_value

    assert not convicted(p_value, repeats)


def test_persons_with_several_rows(repeats):
    schema = dataclasses.replace(SCHEMA, unit="person", max_rows_per_unit=4)

    def p_value(generator):
        noisy = measured(people(generator, 2_000), epsilon=1.0, generator=generator)
        rows = people(generator, 500).take(pa.array(np.repeat(np.arange(500), 4)))  # each person four times alike
        rows = rows.append_column("person", pa.array(np.repeat(np.arange(500), 4)))
        return two_sample(noisy, rows, generator, schema)

    assert not convicted(p_value, repeats)


PAIRS = [("age", "hours"), ("age", "ward"), ("ward", "smoker"), ("hours", "smoker")]


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_independence(pair, epsilon, repeats):
    def p_value(generator):
        noisy = measured(shuffled(generator, 2_000), epsilon=epsilon, generator=generator)
        return independence_test(noisy, SCHEMA, *pair, draws=DRAWS, seed=fresh(generator)).p_value

    assert not convicted(p_value, repeats)


WARDS = {"north": 0.4, "east": 0.3, "south": 0.2, "west": 0.1}
LAWS = {"ward": WARDS, "age": stats.gamma(6.0, loc=18.0, scale=7.0)}


@pytest.mark.parametrize("schema", [SCHEMA, ADD_REMOVE], ids=["public number", "noisy number"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
@pytest.mark.parametrize("name", LAWS)
def test_goodness_of_fit(name, epsilon, schema, repeats):
    def p_value(generator):
        noisy = measured(people(generator, 2_000), epsilon=epsilon, generator=generator, schema=schema)
        return column_goodness(noisy, schema, name, LAWS[name], draws=DRAWS, seed=fresh(generator)).p_value

    assert not convicted(p_value, repeats)


def as_released(table, epsilon, generator):
    """The cells of pairs follow from noisy counts of single columns: a choice that the tests have to survive."""
    return ke.measure(
        table,
        schema=SCHEMA,
        privacy=ke.Privacy(epsilon=epsilon, delta=1e-6),
        method=ke.Interactions(triples=0),
        noise=ke.SeededNoise(fresh(generator)),
    ).measured


@pytest.mark.parametrize("epsilon", [pytest.param(0.1, marks=pytest.mark.whole), 1.0])
def test_two_samples_as_a_release_measures(epsilon, repeats):
    def p_value(generator):
        noisy = as_released(shuffled(generator, 2_000), epsilon, generator)
        return two_sample(noisy, shuffled(generator, 1_000), generator)

    assert not convicted(p_value, repeats)


@pytest.mark.parametrize(
    "epsilon", [1.0, pytest.param(3.0, marks=pytest.mark.whole)]
)  # at 0.1 no pair of so few rows is measured
def test_independence_as_a_release_measures(epsilon, repeats):
    def p_value(generator):
        noisy = as_released(shuffled(generator, 2_000), epsilon, generator)
        return independence_test(noisy, SCHEMA, "age", "ward", draws=DRAWS, seed=fresh(generator)).p_value

    assert not convicted(p_value, repeats)


def test_forgetting_the_noise_is_found_out(repeats):
    def p_value(generator):
        noisy = quiet(measured(people(generator, 2_000), epsilon=1.0, generator=generator))
        return two_sample(noisy, people(generator, 2_000), generator)

    def independence(generator):
        noisy = quiet(measured(shuffled(generator, 2_000), epsilon=1.0, generator=generator))
        return independence_test(noisy, SCHEMA, "age", "hours", draws=DRAWS, seed=fresh(generator)).p_value

    assert convicted(p_value, repeats)
    assert convicted(independence, repeats)
