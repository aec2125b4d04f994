"""Discrepancies and two-sample tests of whole releases: what they find, what they refuse."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from benchmarks.simulated import SCHEMA
from kernelease.analysis.comparisons.mean_embedding import common_coordinates
from kernelease.analysis.comparisons.tables import sample_of_table
from kernelease.analysis.comparisons.two_sample import AgainstSample
from kernelease.analysis.estimate import Target
from tests.analysis.comparisons.releases import (
    NORMAL,
    OLDER,
    OTHER,
    RELEASE,
    SAME,
    VECTORS,
    of_counts,
    rows,
    vector_release,
)


def test_mmd_grows_with_the_difference():
    same, some, much = (RELEASE.tests.mmd(table) for table in (SAME, OLDER, rows(2_000, older=20.0)))
    assert same.value < some.value < much.value
    assert same.interval()[0] == 0.0
    assert some.interval()[0] > 0.0


def test_mmd_of_the_table_has_no_sampling_error():
    of_table, of_population = (RELEASE.tests.mmd(OLDER, of=of) for of in ("table", "population"))
    assert of_table.parts.sampling == 0.0 < of_population.parts.sampling
    assert of_table.target is Target.TABLE


def test_mmd_of_two_releases():
    assert RELEASE.tests.mmd(OTHER).interval()[0] > 0.0
    assert float(RELEASE.tests.mmd(OTHER)) == pytest.approx(float(OTHER.tests.mmd(RELEASE)), rel=1e-9)


def test_mmd_of_vectors():
    assert VECTORS.tests.mmd(NORMAL).value < VECTORS.tests.mmd(NORMAL + 1.0).value
    assert VECTORS.tests.mmd(vector_release(1.0, seed=0)).interval()[0] > 0.0


def test_two_sample_test_finds_a_difference():
    assert not RELEASE.tests.two_sample(SAME).rejects(0.001)
    assert RELEASE.tests.two_sample(OLDER).rejects(0.001)
    assert RELEASE.tests.two_sample(OTHER).rejects(0.001)


def test_a_sample_may_lack_columns():
    assert RELEASE.tests.two_sample(OLDER.select(["age"])).rejects(0.01)
    assert not RELEASE.tests.two_sample(OLDER.select(["ward"])).rejects(0.001)


def test_two_sample_test_of_vectors():
    assert not VECTORS.tests.two_sample(NORMAL).rejects(0.001)
    assert VECTORS.tests.two_sample(NORMAL + 0.5).rejects(0.01)


def test_the_seed_decides_everything():
    assert RELEASE.tests.two_sample(SAME, seed=1).p_value == RELEASE.tests.two_sample(SAME, seed=1).p_value


def test_duplicated_persons_say_no_more():
    """Ten copies of each row are ten times the rows, but not the persons."""
    schema = dataclasses.replace(SCHEMA, unit="person", max_rows_per_unit=10)
    table = rows(100).append_column("person", pa.array(np.arange(100)))
    copies = table.take(pa.array(np.repeat(np.arange(100), 10)))
    (mean,) = common_coordinates([RELEASE.measurements.measured], SCHEMA.columns)
    samples = [sample_of_table(data, schema) for data in (table, copies)]
    assert [sample.units for sample in samples] == [100, 100]
    values = [AgainstSample(released=mean, sample=one, fitted=list, seed=3).test(Target.POPULATION) for one in samples]
    assert values[0].statistic == pytest.approx(values[1].statistic)
    assert values[0].p_value == pytest.approx(values[1].p_value, abs=0.03)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: RELEASE.tests.mmd(VECTORS), "measured counts|different"),
        (lambda: RELEASE.tests.mmd(SAME, of="people"), "of must be .* got 'people'"),
        (lambda: RELEASE.tests.mmd(SAME, lengthscale=0.0), "lengthscale"),
        (lambda: RELEASE.tests.two_sample(SAME, draws=5), "at least 19"),
        (lambda: RELEASE.tests.goodness_of_fit(OTHER), "tests.two_sample"),
        (lambda: RELEASE.tests.two_sample(SAME).rejects(2.0), "between 0 and 1"),
        (lambda: RELEASE.tests.mmd(SAME).interval(1.0), "between 0 and 1"),
    ],
)
def test_refuses(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()


def test_vectors_of_one_feature_map_compare():
    assert VECTORS.tests.mmd(vector_release(seed=1)).value >= 0.0  # the same map by its seed: nothing to refuse


def test_releases_with_other_columns():
    schema = dataclasses.replace(SCHEMA, columns=SCHEMA.columns[:2])
    other = dataclasses.replace(OTHER, measurements=of_counts(OTHER.measurements.measured, schema))
    with pytest.raises(ke.errors.ParameterError, match="different columns"):
        RELEASE.tests.mmd(other)
