"""What vectors answer: means, covariances, densities with errors that hold, and classes."""

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.answers import Vectors
from kernelease.errors import ParameterError
from kernelease.features.class_moments import unit_vectors

NAMES = ("north", "south")
CENTRES = np.array([[0.8, 0.0, 0.2], [-0.6, 0.3, 0.0]])
PROMISE = ke.Privacy(epsilon=1.0, delta=1e-5)


def _drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    codes = generator.choice(2, size=count, p=[0.7, 0.3])
    return unit_vectors(CENTRES[codes] + 0.4 * generator.standard_normal((count, 3))), codes


X, CODES = _drawn(3000, 0)
Y = np.array(NAMES)[CODES]


def _vectors(seed: int = 0) -> Vectors:
    return ke.release(X, labels=Y, classes=NAMES, privacy=PROMISE, noise=ke.SeededNoise(seed)).vectors()


def test_rows_labels_and_weights_are_arrays() -> None:
    vectors = _vectors()
    assert vectors.rows.shape == (3000, 3)
    assert vectors.weights.sum() == pytest.approx(1.0)
    assert set(vectors.labels) == set(NAMES)
    np.testing.assert_allclose(np.linalg.norm(vectors.rows, axis=1), 1.0)


@pytest.mark.parametrize("label", [None, "north", "south"])
def test_errors_are_those_that_are_stated(label: str | None) -> None:
    """z-scores over 25 releases of noise: their mean square is 1 within 5·√(2/n), with n numbers that are independent.

    A covariance's numbers are six, a mean's three; densities at four places are taken as one.
    """
    mine = X if label is None else X[label == Y]
    places = unit_vectors(np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.5, 0.5, 0.5], [-1.0, 0.2, 0.0]]))
    scores: dict[str, list[np.ndarray]] = {"mean": [], "covariance": [], "density": []}
    for seed in range(25):
        vectors = _vectors(seed)
        mean, covariance = vectors.mean(label), vectors.covariance(label)
        scores["mean"].append((mean.value - mine.mean(axis=0)) / mean.standard_error)
        gap = (covariance.value - np.cov(mine.T, bias=True)) / covariance.standard_error
        scores["covariance"].append(gap[np.triu_indices(3)])
        if label is not None:
            density = vectors.density(places, label)
            truth = (((1.0 + places @ mine.T) / 2.0) ** 2).sum(axis=1) / len(X)
            scores["density"].append(((density.value - truth) / density.standard_error)[:1])
    for found in (np.concatenate(part) for part in scores.values() if part):
        assert np.mean(found**2) == pytest.approx(1.0, abs=5.0 * np.sqrt(2.0 / len(found)))


def test_an_interval_reaches_as_far_as_its_level() -> None:
    mean = _vectors().mean("north")
    low, high = mean.interval(0.95)
    np.testing.assert_allclose(high - low, 2.0 * 1.959964 * mean.standard_error, rtol=1e-6)
    with pytest.raises(ParameterError, match="level"):
        mean.interval(1.0)


def test_classes_are_told_as_well_as_they_can_be() -> None:
    fresh, codes = _drawn(2000, 5)
    vectors = _vectors()
    found = vectors.classify(fresh)
    assert (found == np.array(NAMES)[codes]).mean() > 0.9
    shares = vectors.probabilities(fresh)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (np.array(NAMES, dtype=object)[shares.argmax(axis=1)] == found).all()


def test_the_density_of_a_subspace_is_within_its_interval_and_bias() -> None:
    """Noise of ε = 100 is small beside the bias: every interval holds the truth."""
    kernel = ke.kernels.Gaussian(lengthscale=(1.0, 1.0, 1.0))
    method = ke.Adaptive(points=ke.fit.NormalPoints(dimension=3, scale=1.0), features=256, rank=64)
    release = ke.release(
        X, kernel=kernel, method=method, privacy=ke.Privacy(epsilon=100.0, delta=1e-5), noise=ke.SeededNoise(0)
    )
    vectors = release.vectors()
    assert vectors.labels is None
    places = X[:50]
    density = vectors.density(places)
    low, high = density.interval(0.999999)
    truth = kernel.gram(places, X).mean(axis=1)
    assert ((low <= truth) & (truth <= high)).all()
    for ask in (vectors.mean, vectors.covariance):
        with pytest.raises(ParameterError, match="no classes"):
            ask()
    with pytest.raises(ParameterError, match="no classes"):
        vectors.classify(places)
    with pytest.raises(ParameterError, match="no label"):
        vectors.density(places, "north")


def test_what_can_not_be_answered_is_refused() -> None:
    vectors = _vectors()
    with pytest.raises(ParameterError, match="one of the declared classes"):
        vectors.mean("west")
    with pytest.raises(ParameterError, match="3 columns"):
        vectors.classify(np.zeros((1, 2)))
    empty = ke.release(X, labels=Y, classes=(*NAMES, "west"), privacy=PROMISE, noise=ke.SeededNoise(0)).vectors()
    with pytest.raises(ParameterError, match="too small beside the noise"):
        empty.mean("west")


def test_a_table_has_no_vectors() -> None:
    schema = ke.Schema.from_dict({"name": "t", "columns": [{"name": "a", "type": "integer", "min": 0, "max": 3}]})
    release = ke.release(pa.table({"a": [1] * 50}), schema=schema, privacy=PROMISE, noise=ke.SeededNoise(0))
    with pytest.raises(ParameterError, match="release of vectors"):
        release.vectors()


def test_comparisons_take_classes_by_their_names() -> None:
    """Names, and numbers that are not places: the released mean is near that of the rows, and far from another's."""
    for names in (NAMES, (2, 1)):
        labels = np.array(names, dtype=object)[CODES]
        release = ke.release(
            X, labels=labels, classes=names, privacy=ke.Privacy(epsilon=50.0, delta=1e-5), noise=ke.SeededNoise(0)
        )
        same = np.column_stack([X.astype(object), labels])
        swapped = np.column_stack([X.astype(object), np.array(names, dtype=object)[1 - CODES]])
        assert release.tests.mmd(same).value < 0.05
        assert release.tests.mmd(swapped).value > 0.3
        assert len(release.sample(100)) == 100
