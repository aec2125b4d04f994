"""The coordinates in which releases are compared, against direct computations from rows and counts."""

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

from benchmarks.simulated import SCHEMA, measured, people
from kernelease.analysis.comparisons import mean_embedding
from kernelease.analysis.comparisons.mean_embedding import CellFeatures, common_coordinates, released_embedding
from kernelease.errors import ParameterError
from kernelease.features import Fourier
from kernelease.kernels import Gaussian
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.privacy import Neighbours
from kernelease.privacy.accounting import Law, Measurement, Step
from kernelease.seeds import PublicSeed
from kernelease.table import Integer, Ordinal, Schema
from kernelease.table.encode import Encoder
from tests.anywhere import other_linear_algebra

TABLE = people(np.random.default_rng(0), 1_000)
EXACT = measured(TABLE, epsilon=np.inf, generator=np.random.default_rng(0))
CODES = Encoder(SCHEMA).encode(TABLE).astype(np.int64)
(MEAN,) = common_coordinates([EXACT], SCHEMA.columns)


@pytest.mark.parametrize(
    "column", [*SCHEMA.columns, Integer(name="n", min=0, max=9, nullable=True)], ids=lambda c: c.name
)
def test_cell_features(column):
    cells = CellFeatures.of(column, np.arange(column.size))
    assert cells.features.T @ cells.features == pytest.approx(np.diag(cells.spectrum), abs=1e-9)
    assert cells.features.sum(axis=0) == pytest.approx(np.zeros(len(cells.spectrum)), abs=1e-9)


@pytest.mark.slow
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


def test_features_do_not_hang_on_the_choices_of_linear_algebra(monkeypatch):
    """Errors are drawn in these coordinates: where a sign differed, p-values would differ from machine to machine."""
    columns = [Integer(name="n", min=low, max=low + 30, nullable=True) for low in range(8)]  # NULL at other places each
    machine = [CellFeatures.of(column, np.arange(column.size)).features for column in columns]
    with other_linear_algebra():
        other = [CellFeatures.of(column, np.arange(column.size)).features for column in columns]
        monkeypatch.setattr(mean_embedding, "_settle_basis", lambda vectors, _: vectors)  # broken twin
        broken = [CellFeatures.of(column, np.arange(column.size)).features for column in columns]
    assert all(np.allclose(one, two, rtol=0.0, atol=1e-9) for one, two in zip(machine, other, strict=True))
    assert not all(np.allclose(one, two, rtol=0.0, atol=1e-9) for one, two in zip(machine, broken, strict=True))


def test_equal_singular_values_have_one_basis():
    generator = np.random.default_rng(0)
    vectors, roots = scipy.stats.ortho_group(6).rvs(random_state=generator)[:, :4], np.array([3.0, 2.0, 2.0, 2.0])
    turned = vectors.copy()
    turned[:, 0] *= -1.0
    turned[:, 1:] = vectors[:, 1:] @ scipy.stats.ortho_group(3).rvs(random_state=generator)
    one, other = (mean_embedding._settle_basis(basis, roots) for basis in (vectors, turned))
    assert one == pytest.approx(other, abs=1e-12)
    assert one[:, 1:] @ one[:, 1:].T == pytest.approx(vectors[:, 1:] @ vectors[:, 1:].T, abs=1e-12)
    assert mean_embedding._settle_basis(np.empty((3, 0)), np.empty(0)).shape == (3, 0)


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
