"""Discrepancies and tests of whole releases: what they find, what they refuse, what they say."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import kernelease as ke
from benchmarks.simulated import SCHEMA, measured, people
from kernelease.analysis.estimate import Target
from kernelease.analysis.outcome import TestResult
from kernelease.analysis.released import common_coordinates
from kernelease.analysis.samples import SampleRows, sample_of_table
from kernelease.analysis.two_sample import AgainstSample
from kernelease.measured import NoisyBlocks
from kernelease.release.measurements import Measurements
from kernelease.release.release import WEIGHT, Release
from kernelease.table.table_domain import TableDomain


def released(table: pa.Table, *, epsilon: float = 1.0, seed: int = 0, schema=SCHEMA) -> Release:
    """A release without a fit: its rows are the given ones. Only for tests."""
    generator = np.random.default_rng(seed)
    blocks = measured(table, epsilon=epsilon, generator=generator, schema=schema)
    rows = people(generator, 500)
    weighted = rows.cast(schema.arrow_schema()).append_column(WEIGHT, pa.array(np.full(500, 1 / 500)))
    return Release(table=weighted, measurements=of_counts(blocks, schema))


def of_counts(blocks: NoisyBlocks, schema: ke.Schema) -> Measurements:
    """Measurements without a certificate: nothing here looks at one."""
    return Measurements(certificate=None, domain=TableDomain(schema), method=ke.Interactions(), measured=blocks)


def rows(count: int, seed: int = 100, **change: float) -> pa.Table:
    return people(np.random.default_rng(seed), count, **change)


RELEASE = released(rows(5_000, seed=1))
OTHER = released(rows(5_000, seed=2, older=6.0), seed=5)
SAME, OLDER = rows(2_000), rows(2_000, older=6.0)


def vector_release(mean: float = 0.0, seed: int = 0) -> Release:
    generator = np.random.default_rng(seed)
    return ke.release(
        generator.normal(mean, 1.0, (4_000, 2)),
        kernel=ke.Gaussian(lengthscale=1.0),
        method=ke.RandomFeatures(start=ke.UniformPoints(low=(-4.0, -4.0), high=(4.0, 4.0)), features=200),
        privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
        noise=ke.SeededNoise(seed),
    )


VECTORS = vector_release()
NORMAL = np.random.default_rng(9).normal(0.0, 1.0, (500, 2))


# The maximum mean discrepancy.


def test_mmd_grows_with_the_difference():
    same, some, much = (RELEASE.mmd(table) for table in (SAME, OLDER, rows(2_000, older=20.0)))
    assert same.value < some.value < much.value
    assert same.interval()[0] == 0.0
    assert some.interval()[0] > 0.0


def test_mmd_of_the_table_has_no_sampling_error():
    of_table, of_population = (RELEASE.mmd(OLDER, target=target) for target in ("table", "population"))
    assert of_table.parts.sampling == 0.0 < of_population.parts.sampling
    assert of_table.target is Target.TABLE


def test_mmd_of_two_releases():
    assert RELEASE.mmd(OTHER).interval()[0] > 0.0
    assert float(RELEASE.mmd(OTHER)) == pytest.approx(float(OTHER.mmd(RELEASE)), rel=1e-9)


def test_mmd_of_vectors():
    assert VECTORS.mmd(NORMAL).value < VECTORS.mmd(NORMAL + 1.0).value
    assert VECTORS.mmd(vector_release(1.0, seed=0)).interval()[0] > 0.0


# Two samples.


def test_two_sample_test_finds_a_difference():
    assert not RELEASE.two_sample_test(SAME).rejects(0.001)
    assert RELEASE.two_sample_test(OLDER).rejects(0.001)
    assert RELEASE.two_sample_test(OTHER).rejects(0.001)


def test_a_sample_may_lack_columns():
    assert RELEASE.two_sample_test(OLDER.select(["age"])).rejects(0.01)
    assert not RELEASE.two_sample_test(OLDER.select(["ward"])).rejects(0.001)


def test_two_sample_test_of_vectors():
    assert not VECTORS.two_sample_test(NORMAL).rejects(0.001)
    assert VECTORS.two_sample_test(NORMAL + 0.5).rejects(0.01)


def test_the_seed_decides_everything():
    assert RELEASE.two_sample_test(SAME, seed=1).p_value == RELEASE.two_sample_test(SAME, seed=1).p_value


def test_duplicated_persons_say_no_more():
    """Ten copies of each row are ten times the rows, but not the persons."""
    schema = dataclasses.replace(SCHEMA, unit="person", max_rows_per_unit=10)
    table = rows(100).append_column("person", pa.array(np.arange(100)))
    copies = table.take(pa.array(np.repeat(np.arange(100), 10)))
    (mean,) = common_coordinates([RELEASE.blocks], SCHEMA.columns)
    samples = [sample_of_table(data, schema) for data in (table, copies)]
    assert [sample.units for sample in samples] == [100, 100]
    values = [AgainstSample(released=mean, sample=one, fitted=list, seed=3).test(Target.POPULATION) for one in samples]
    assert values[0].statistic == pytest.approx(values[1].statistic)
    assert values[0].p_value == pytest.approx(values[1].p_value, abs=0.03)


@pytest.mark.parametrize("form", ["pandas", "polars", "dict", "batch"])
def test_samples_of_many_forms(form):
    forms = {
        "pandas": SAME.to_pandas,
        "polars": lambda: __import__("polars").from_arrow(SAME),
        "dict": SAME.to_pydict,
        "batch": lambda: SAME.combine_chunks().to_batches()[0],
    }
    assert float(RELEASE.mmd(forms[form]())) == float(RELEASE.mmd(SAME))


# Independence and goodness of fit.


def test_independence_test():
    assert RELEASE.independence_test("age", "hours").rejects(0.01)
    assert RELEASE.independence_test("hours", "age").p_value == RELEASE.independence_test("age", "hours").p_value
    assert not RELEASE.independence_test("ward", "smoker").rejects(0.001)


def test_goodness_of_fit():
    wards = {"north": 0.4, "east": 0.3, "south": 0.2, "west": 0.1}
    assert not RELEASE.goodness_of_fit(wards, column="ward").rejects(0.001)
    assert RELEASE.goodness_of_fit({"north": 0.25, "east": 0.25, "south": 0.25, "west": 0.25}, column="ward").rejects()
    assert not RELEASE.goodness_of_fit(stats.gamma(6.0, loc=18.0, scale=7.0), column="age").rejects(0.001)
    assert RELEASE.goodness_of_fit(stats.norm(50.0, 10.0), column="age").rejects(0.01)
    assert RELEASE.goodness_of_fit({True: 0.9, False: 0.1}, column="smoker").rejects(0.01)
    assert RELEASE.goodness_of_fit(OLDER).rejects(0.01)


def test_a_discrete_law_on_integers():
    schema = ke.Schema.parse('[columns.children]\ntype = "integer"\nmin = 0\nmax = 9')
    generator = np.random.default_rng(0)
    table = pa.table({"children": generator.poisson(2.0, 5_000)})
    blocks = measured(table, epsilon=1.0, generator=generator, schema=schema)
    release = dataclasses.replace(RELEASE, measurements=of_counts(blocks, schema))
    assert not release.goodness_of_fit(stats.poisson(2.0), column="children").rejects(0.001)
    assert release.goodness_of_fit(stats.poisson(3.0), column="children").rejects(0.01)


def test_nulls_are_left_out_of_a_fit():
    schema = ke.Schema.parse('[columns.ward]\ntype = "category"\nvalues = ["a", "b"]\nnullable = true')
    generator = np.random.default_rng(0)
    table = pa.table({"ward": pa.array(generator.choice(["a", "b", None], 6_000).tolist())})
    blocks = measured(table, epsilon=1.0, generator=generator, schema=schema)
    release = dataclasses.replace(RELEASE, measurements=of_counts(blocks, schema))
    assert not release.goodness_of_fit({"a": 0.5, "b": 0.5}, column="ward").rejects(0.001)


# The witness.


def test_witness_shows_where():
    cells = [one.columns for one in RELEASE.witness(OLDER).top(5)]
    assert cells.count("age") >= 3
    differences = RELEASE.witness(OLDER, columns=("age", "smoker"))
    assert differences.differences[0].columns == "age × smoker"
    assert RELEASE.witness(OTHER).top(1)[0].columns == "age"
    assert "age" in str(RELEASE.witness(OLDER))


def test_witness_errors_are_of_the_right_size():
    z = np.array([one.z for one in RELEASE.witness(SAME).differences])
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3  # 102 cells: beyond once in a million


def test_witness_as_table_and_picture():
    witness = RELEASE.witness(OLDER)
    assert witness.to_arrow().num_rows == len(witness.differences) == 64 + 32 + 4 + 2
    assert "vconcat" in witness.plot().to_dict()
    assert "layer" in witness.plot("ward").to_dict()
    with pytest.raises(ke.ParameterError, match="there is no 'city'"):
        witness.plot("city")


def test_witness_of_vectors():
    witness = VECTORS.witness(NORMAL + 1.0)
    assert len(witness.differences) == len(VECTORS.points)
    assert abs(witness.top(1)[0].z) > 4.0


# Refusals.


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: RELEASE.mmd(SAME.slice(0, 0)), "empty"),
        (lambda: RELEASE.mmd(SAME.slice(0, 1)), "at least two rows"),
        (lambda: RELEASE.mmd(pa.table({"ages": [1, 2]})), "none of the release's columns.*Did you mean age"),
        (lambda: RELEASE.mmd("adult.csv"), "must be an Arrow table"),
        (lambda: RELEASE.mmd(VECTORS), "no noisy measurements|different"),
        (lambda: RELEASE.mmd(SAME, target="people"), "people"),
        (lambda: RELEASE.mmd(SAME, lengthscale=0.0), "lengthscale"),
        (lambda: RELEASE.two_sample_test(SAME, draws=5), "at least 19"),
        (lambda: RELEASE.independence_test("age", "age"), "two columns"),
        (lambda: RELEASE.independence_test("age", "hour"), "Did you mean hours"),
        (lambda: RELEASE.independence_test("age", "ward", draws=1), "at least 19"),
        (lambda: RELEASE.goodness_of_fit({"nroth": 1.0}, column="ward"), "Did you mean north"),
        (lambda: RELEASE.goodness_of_fit({"north": 0.4}, column="ward"), "add up to 1"),
        (lambda: RELEASE.goodness_of_fit({"north": -1.0}, column="ward"), "from 0 to 1"),
        (lambda: RELEASE.goodness_of_fit(stats.norm(), column="ward"), "probabilities by value"),
        (lambda: RELEASE.goodness_of_fit(3.0, column="ward"), "mapping from values"),
        (lambda: RELEASE.goodness_of_fit(OTHER), "two_sample_test"),
        (lambda: RELEASE.witness(SAME, columns=("age", "wart")), "Did you mean ward"),
        (lambda: VECTORS.independence_test("x0", "x1"), "needs a release of a table"),
        (lambda: VECTORS.mmd(np.zeros((5, 3))), "must have 2 columns"),
        (lambda: VECTORS.mmd(np.zeros((0, 2))), "empty"),
        (lambda: VECTORS.mmd(vector_release(seed=1)), None),
        (lambda: RELEASE.two_sample_test(SAME).rejects(2.0), "between 0 and 1"),
        (lambda: RELEASE.mmd(SAME).interval(1.0), "between 0 and 1"),
    ],
)
def test_refuses(ask, message):
    if message is None:
        assert ask() is not None  # the same map by its seed: nothing to refuse
        return
    with pytest.raises(ValueError, match=message):
        ask()


def test_columns_that_were_not_counted_together():
    single = dataclasses.replace(RELEASE.blocks, blocks=RELEASE.blocks.blocks[:4])
    release = dataclasses.replace(RELEASE, measurements=of_counts(single, SCHEMA))
    with pytest.raises(ke.ParameterError, match="were not counted together"):
        release.independence_test("age", "ward")
    with pytest.raises(ke.ParameterError, match="were not counted together"):
        release.witness(SAME, columns=("age", "ward"))


def test_releases_with_other_columns():
    schema = dataclasses.replace(SCHEMA, columns=SCHEMA.columns[:2])
    other = dataclasses.replace(OTHER, measurements=of_counts(OTHER.measured, schema))
    with pytest.raises(ke.ParameterError, match="different columns"):
        RELEASE.mmd(other)


def test_a_selected_pair_is_said_to_be_one():
    blocks = tuple(dataclasses.replace(b, round=int(len(b.block.columns) > 1)) for b in RELEASE.blocks.blocks)
    changed = dataclasses.replace(RELEASE.measured, blocks=blocks)
    release = dataclasses.replace(RELEASE, measurements=of_counts(changed, SCHEMA))
    assert "because it looked dependent" in release.independence_test("age", "hours").words
    (mean,) = common_coordinates([release.blocks], SCHEMA.columns)
    assert all(len(part.coordinates.columns) == 1 for part in mean.parts)


def test_words():
    result = TestResult.from_draws("A and B are alike", 2.0, np.array([1.0, 3.0, 1.0]))
    assert result.p_value == 0.5
    assert str(result) == "No evidence against: A and B are alike (p = 0.5). That does not prove it."
    least = TestResult.from_draws("A and B are alike", 2.0, np.zeros(99))
    assert str(least) == "Evidence against: A and B are alike (p = 0.01, the least that so many draws can give)."
    assert "<p>" in least._repr_html_()


def test_sample_rows_count_persons():
    assert SampleRows(rows=np.zeros((3, 1)), persons=np.array([0, 0, 1])).units == 2
