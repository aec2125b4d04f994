"""The coordinates in which releases are compared, against direct computations from rows and counts."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.simulated import SCHEMA, measured, people
from kernelease.analysis.cells import CellFeatures
from kernelease.analysis.column_sets import column_sets
from kernelease.analysis.fluctuation import Sampled, fluctuation
from kernelease.analysis.released import common_coordinates, released_embedding
from kernelease.analysis.samples import SampleRows, sample_of_table
from kernelease.analysis.scatter import Scatter
from kernelease.errors import ParameterError
from kernelease.features import Fourier
from kernelease.kernels import Gaussian
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.privacy import Neighbours
from kernelease.privacy.step import Law, Measurement, Step
from kernelease.seeds import PublicSeed
from kernelease.table import Encoder, Integer, Ordinal, Schema

TABLE = people(np.random.default_rng(0), 1_000)
EXACT = measured(TABLE, epsilon=np.inf, generator=np.random.default_rng(0))
CODES = Encoder(SCHEMA).encode(TABLE).astype(np.int64)
(MEAN,) = common_coordinates([EXACT], SCHEMA.columns)


def everyone(codes) -> SampleRows:
    return SampleRows(rows=codes, persons=np.arange(len(codes)))


@pytest.mark.parametrize(
    "column", [*SCHEMA.columns, Integer(name="n", min=0, max=9, nullable=True)], ids=lambda c: c.name
)
def test_cell_features(column):
    cells = CellFeatures.of(column, np.arange(column.size))
    assert cells.features.T @ cells.features == pytest.approx(np.diag(cells.spectrum), abs=1e-9)
    assert cells.features.sum(axis=0) == pytest.approx(np.zeros(len(cells.spectrum)), abs=1e-9)


def test_cell_features_give_the_kernel():
    """Of more places than the kernel is computed from: against the kernel itself, centred."""
    column = Integer(name="n", min=0, max=599, cells=600)
    features = CellFeatures.of(column, np.arange(600)).features
    places = np.arange(600) / 599
    kernel = np.exp(-0.5 * ((places[:, None] - places) / 0.2) ** 2)
    centring = np.eye(600) - 1 / 600
    assert features @ features.T == pytest.approx(centring @ kernel @ centring, abs=2e-3)  # small eigenvalues are cut


def test_ranks_are_told_apart():
    column = Ordinal(name="grade", values=("low", "middle", "high"))
    assert CellFeatures.of(column, np.arange(3)).spectrum == pytest.approx([1.0, 1.0], abs=0.6)


def test_many_cells():
    column = Integer(name="n", min=0, max=4094, nullable=True, cells=4095)
    cells = CellFeatures.of(column, np.arange(column.size))
    assert cells.features.T @ cells.features == pytest.approx(np.diag(cells.spectrum), abs=1e-6)
    assert np.linalg.norm(cells.features[-1]) > 0.9  # NULL is seen, though it is one cell among thousands


def test_means_from_counts_are_means_of_rows():
    for part in MEAN.parts:
        assert part.mean == pytest.approx(part.coordinates.features(CODES).mean(axis=0), abs=1e-7)


def test_weights_add_up_to_one():
    assert sum(part.coordinates.scale**2 for part in MEAN.parts) == pytest.approx(1.0)
    assert len(MEAN.parts) == 4 + 6


@pytest.mark.slow
def test_noise_has_the_stated_variance():
    """The variance of 100 draws is within a factor of 2 of the stated one but once in a million coordinates."""
    draws = []
    for seed in range(100):
        (mean,) = common_coordinates(
            [measured(TABLE, epsilon=1.0, generator=np.random.default_rng(seed))], SCHEMA.columns
        )
        draws.append(np.concatenate([part.mean for part in mean.parts]))
    stated = np.concatenate([part.variance for part in mean.parts])
    ratios = np.var(draws, axis=0) / stated
    assert ratios.mean() == pytest.approx(1.0, abs=0.08)
    assert np.all((ratios > 0.45) & (ratios < 2.0))
    correlations = np.corrcoef(np.array(draws).T) - np.eye(len(stated))
    assert np.abs(correlations).max() < 0.6  # each of the pairs ±0.1


def test_blocks_that_hold_a_column_are_combined_by_precision():
    noisy = measured(TABLE, epsilon=1.0, generator=np.random.default_rng(0))
    ward = next(one for one in column_sets(noisy).values() if one.columns == (2,))
    variances = [block.sigma**2 * block.block.cells / 4 for block in noisy.blocks if 2 in block.block.columns]
    assert ward.variance == pytest.approx(1.0 / sum(1.0 / variance for variance in variances))
    assert ward.variance < min(variances)


def test_three_columns_and_any_order():
    """A block of three columns in another order gives the same means as its rows."""
    block = EXACT.blocks[0]
    columns = (3, 0, 2)
    groups = tuple(np.arange(SCHEMA.sizes[c]) for c in columns)
    shape = tuple(SCHEMA.sizes[c] for c in columns)
    counts = np.bincount(np.ravel_multi_index([CODES[:, c] for c in columns], shape), minlength=int(np.prod(shape)))
    step = dataclasses.replace(block.measurement.step, bits=0, coordinates=len(counts))
    measurement = dataclasses.replace(block.measurement, integers=counts.astype(object), step=step)
    three = dataclasses.replace(
        block, block=dataclasses.replace(block.block, columns=columns, groups=groups), measurement=measurement
    )
    (mean,) = common_coordinates([dataclasses.replace(EXACT, blocks=(three,))], SCHEMA.columns)
    assert {part.coordinates.columns for part in mean.parts} >= {(0,), (0, 2), (0, 2, 3)}
    for part in mean.parts:
        assert part.mean == pytest.approx(part.coordinates.features(CODES).mean(axis=0), abs=1e-9)


def test_columns_of_one_cell_are_left_out():
    schema = Schema((Integer(name="n", min=0, max=9, cells=1),))
    noisy = measured(pa.table({"n": [1, 2]}), epsilon=1.0, generator=np.random.default_rng(0), schema=schema)
    with pytest.raises(ParameterError, match="nothing to compare"):
        common_coordinates([noisy], schema.columns)


# Sampling.


def test_scatter_is_the_covariance_of_the_mean():
    scatter = Scatter.of(everyone(CODES), [part.coordinates for part in MEAN.parts], np.random.default_rng(0))
    features = [part.coordinates.features(CODES) for part in MEAN.parts]
    for mean, deviations, direct in zip(scatter.means, scatter.deviations, features, strict=True):
        assert mean == pytest.approx(direct.mean(axis=0), abs=1e-12)
        assert deviations.T @ deviations == pytest.approx(np.atleast_2d(np.cov(direct.T)), abs=1e-9)
    assert scatter.trace == pytest.approx(sum(direct.var(axis=0, ddof=1).sum() for direct in features))


def test_groups_of_many_rows_keep_the_trace_nearly():
    codes = np.repeat(CODES, 5, axis=0)
    scatter = Scatter.of(everyone(codes), [MEAN.parts[0].coordinates], np.random.default_rng(0))
    assert scatter.groups == 2_000
    assert float(np.sum(scatter.deviations[0] ** 2)) == pytest.approx(scatter.trace, rel=0.2)


def test_persons_count_as_their_average():
    persons = np.arange(1_000) % 250
    scatter = Scatter.of(
        SampleRows(rows=CODES, persons=persons), [part.coordinates for part in MEAN.parts], np.random.default_rng(0)
    )
    direct = MEAN.parts[0].coordinates.features(CODES)
    averages = np.stack([direct[persons == person].mean(axis=0) for person in range(250)])
    assert scatter.units == 250
    assert scatter.means[0] == pytest.approx(averages.mean(axis=0))
    assert scatter.deviations[0].T @ scatter.deviations[0] == pytest.approx(np.cov(averages.T), abs=1e-9)


def test_fluctuation_has_the_stated_energy():
    noisy = measured(TABLE, epsilon=1.0, generator=np.random.default_rng(0))
    (mean,) = common_coordinates([noisy], SCHEMA.columns)
    coordinates = [part.coordinates for part in mean.parts]
    scatter = Scatter.of(everyone(CODES), coordinates, np.random.default_rng(0))
    direction = [np.eye(len(part.mean))[0] for part in mean.parts]
    error = fluctuation([mean], [Sampled(scatter=scatter, rate=0.01)], direction, np.random.default_rng(0), draws=4_000)
    assert error.energies.mean() == pytest.approx(error.trace, rel=0.05)
    along = sum(
        part.variance[0] + 0.01 * (deviations[:, 0] ** 2).sum()
        for part, deviations in zip(mean.parts, scatter.deviations, strict=True)
    )
    assert error.projections.var() == pytest.approx(along, rel=0.15)


def test_a_noisy_number_of_rows_counts():
    schema = dataclasses.replace(SCHEMA, neighbours="add-remove")
    noisy = measured(TABLE, epsilon=0.1, generator=np.random.default_rng(1), schema=schema)
    (mean,) = common_coordinates([noisy], schema.columns)
    assert mean.count_deviation > 0.0
    direction = [np.zeros(len(part.mean)) for part in mean.parts]
    error = fluctuation([mean], [], direction, np.random.default_rng(0), draws=4_000)
    assert error.energies.mean() == pytest.approx(mean.noise_trace, rel=0.05)


# Vectors.


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_released_feature_map(neighbours):
    features = Fourier.random(Gaussian(lengthscale=1.0), features=20, dimension=2, seed=PublicSeed(0))
    step = Step(law=Law.LAPLACE, coordinates=20, sensitivity=1.0, scale=3.0)
    measurement = Measurement(integers=np.arange(20).astype(object), step=step, private=False)
    noisy = NoisyEmbedding(feature_map=features, measurement=measurement, neighbours=neighbours, rows=10.0)
    mean = released_embedding(noisy)
    assert (mean.count_deviation > 0.0) == (neighbours is Neighbours.ADD_REMOVE)
    drawn = mean.parts[0].noise(4_000, np.random.default_rng(0))
    assert drawn.var(axis=0) == pytest.approx(np.full(20, noisy.sigma**2), rel=0.25)


def test_the_schema_of_a_sample():
    sample = sample_of_table(TABLE.select(["ward", "age"]), SCHEMA)
    assert sample.columns == frozenset({0, 2})
    assert np.array_equal(sample.rows[:, [0, 2]], CODES[:, [0, 2]])
