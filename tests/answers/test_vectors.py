"""What vectors answer: means, covariances, densities with errors that hold, and classes."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from pyarrow import parquet

import kernelease as ke
from kernelease.answers import RatioEstimate, Vectors
from kernelease.errors import ParameterError
from kernelease.features.moments import unit_vectors
from kernelease.fit.gaussians.fitted_laws import averages_of
from kernelease.sources.private_rows import labelled_vectors

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
            ask("north")
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


# --------------------
# Vectors without classes: averages of Gaussians that were fitted.

PLANE = ke.kernels.Gaussian(lengthscale=1.0)
LAW = ke.fit.NormalPoints(dimension=2, scale=4.0)
MIDDLES = np.array([[3.0, -2.0], [-2.0, 3.0], [0.0, 0.0]])


def _plane(seed: int, count: int = 3000) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return MIDDLES[generator.choice(3, size=count, p=[0.5, 0.3, 0.2])] + 0.4 * generator.standard_normal((count, 2))


def _plane_vectors(rows: np.ndarray, seed: int, kernel: ke.kernels.Kernel = PLANE) -> Vectors:
    method = ke.Adaptive(points=LAW, features=256, rank=96)
    return ke.release(rows, kernel=kernel, method=method, privacy=PROMISE, noise=ke.SeededNoise(seed)).vectors()


def test_a_narrow_cluster_leaves_means_no_less_known() -> None:
    """A third of 20,000 rows within a fiftieth of a lengthscale: flat Gaussians there leave their mean open."""
    generator = np.random.default_rng(0)
    narrow = np.array([3.0, -2.0]) + 0.02 * generator.standard_normal((20_000, 2))
    rows = np.where(generator.random((20_000, 1)) < 1.0 / 3.0, narrow, 3.0 * generator.standard_normal((20_000, 2)))
    for seed in range(3):
        mean = _plane_vectors(rows, seed).mean()
        assert (mean.standard_error < 0.02).all()
        assert (np.abs(mean.value - rows.mean(axis=0)) < 5.0 * mean.standard_error).all()


@pytest.mark.slow
def test_errors_of_averages_are_those_that_are_stated() -> None:
    """Fresh rows and fresh noise, 25 times: z-scores of mean, covariance, shares, conditional means have mean square 1.

    Within 5·√(2/25) for numbers that may all move together; at least a tenth, so that an error is not merely too wide.
    """
    scores: dict[str, list[float]] = {}
    for seed in range(25):
        rows = _plane(seed)
        vectors = _plane_vectors(rows, seed)
        mean, covariance = vectors.mean(), vectors.covariance()
        right = vectors.average(lambda x: (x[:, 0] > 1.0).astype(float))
        clusters = vectors.clusters(3)
        member = clusters.assign(rows)
        shares = np.bincount(member, minlength=3) / len(rows)
        heaviest = rows[member == 0].mean(axis=0)
        near = ke.kernels.Gaussian(lengthscale=1.0).gram(rows[:, :1], np.array([[2.5]]))[:, 0]
        band = vectors.expected(1, [[2.5]])
        truth = near @ rows[:, 1] / near.sum()
        spread = np.sqrt(band.variances[0] - 2 * truth * band.covariance + truth**2 * band.variances[1])
        found = {
            "mean": (mean.value - rows.mean(axis=0)) / mean.standard_error,
            "covariance": (covariance.value - np.cov(rows.T, bias=True))[0, 1] / covariance.standard_error[0, 1],
            "share": (right.value - (rows[:, 0] > 1.0).mean()) / right.standard_error,
            "cluster": (clusters.shares.value - shares) / clusters.shares.standard_error,
            "centre": (clusters.means.value[0] - heaviest) / clusters.means.standard_error[0],
            "expected": (band.numerator - truth * band.denominator) / spread,
        }
        for name, score in found.items():
            scores.setdefault(name, []).append(float(np.mean(np.square(score))))
    for name, squares in scores.items():
        assert 0.1 < np.mean(squares) < 1.0 + 5.0 * np.sqrt(2.0 / 25), name


def test_principal_axes_lie_within_what_is_said_of_them() -> None:
    """Two laws of noise: each true variance is in its interval, each true axis within its angle."""
    rows = _plane(0)
    for vectors, truth in ((_plane_vectors(rows, 1), rows), (_vectors(1), X)):
        axes = vectors.axes(2)
        values, columns = np.linalg.eigh(np.cov(truth.T, bias=True))
        order = np.argsort(-values)[:2]
        assert (axes.low <= values[order]).all()
        assert (values[order] <= axes.high).all()
        cosines = np.abs((axes.directions * columns[:, order].T).sum(axis=1))
        assert (np.arccos(np.minimum(cosines, 1.0)) <= axes.angles).all()
        assert axes.angles[0] < 0.5
        assert axes.project(truth).shape == (len(truth), 2)
        with pytest.raises(ParameterError, match="columns"):
            axes.project(np.zeros((1, 7)))
        with pytest.raises(ParameterError, match="count"):
            vectors.axes(9)


def test_a_regression_on_vectors_is_that_of_the_private_rows() -> None:
    """The same ridge on the rows themselves, with the same penalty; z-scores over 25 laws of noise as above."""
    places = unit_vectors(np.array([[1.0, 0.0, 0.0], [-1.0, 0.2, 0.0], [0.3, 0.9, 0.1]]))
    design = np.column_stack([np.ones(len(X)), X])
    scores = []
    for seed in range(25):
        vectors = _vectors(seed)
        found = vectors.expected("north", places)
        stage = vectors._measured.stages[0]
        noise = stage.sigma * stage.feature_map.moments(stage.mean).errors[2] * np.sqrt(2.0)
        penalty = np.diag([0.0, *[noise * np.sqrt(6.0)] * 3])
        beta = np.linalg.solve(design.T @ design / len(X) + penalty, design.T @ (Y == "north") / len(X))
        truth = np.column_stack([np.ones(3), places]) @ beta
        scores.append(np.mean(((found.value - truth) / found.standard_error) ** 2))
        numbers = vectors.expected({"north": 1.0, "south": 0.0}, places)
        np.testing.assert_array_equal(numbers.value, found.value)
    assert 0.1 < np.mean(scores) < 1.0 + 5.0 * np.sqrt(2.0 / 25)


def test_clusters_of_vectors_with_classes_have_errors_that_hold() -> None:
    """k-means finds both classes; private shares of its cells are within five standard errors and the model's part."""
    vectors = _vectors(2)
    clusters = vectors.clusters(2)
    shares = np.bincount(clusters.assign(X), minlength=2) / len(X)
    assert np.abs(clusters.shares.value - shares).max() < 5.0 * clusters.shares.standard_error.max() + 0.03
    assert clusters.means.value.shape == (2, 3)


def test_public_vectors_are_ranked_by_the_density_around_them() -> None:
    rows = _plane(0)
    public = np.array([[9.0, 9.0], [3.0, -2.0], [0.0, 0.0]])
    places, density = _plane_vectors(rows, 0).nearest(public, 2)
    assert places.tolist() == [1, 2]
    assert density.value[0] > density.value[1]
    places, density = _vectors().nearest(np.eye(3), 1, "north")
    assert places.tolist() == [0]
    everywhere = _vectors().density(np.eye(3))
    assert (everywhere.value > density.value[0] * np.array([0.9, 0.0, 0.0])).all()


def test_a_ratio_has_no_ends_where_its_denominator_may_be_0() -> None:
    ratio = RatioEstimate(
        numerator=np.array([1.0, 1.0, 1.0]),
        denominator=np.array([2.0, 0.1, 0.0]),
        variances=(np.full(3, 1e-4), np.full(3, 0.01)),
        covariance=np.zeros(3),
    )
    low, high = ratio.interval()
    assert low[0] < 0.5 < high[0]
    assert np.isinf([low[1], high[1], low[2], high[2]]).all()
    assert np.isinf(ratio.value[2])


def test_what_needs_gaussians_is_refused_without() -> None:
    rows = _plane(0, 300)
    vectors = _plane_vectors(rows, 0, ke.kernels.Laplace(lengthscale=1.0))
    for ask in (vectors.mean, vectors.axes, lambda: vectors.clusters(2), lambda: vectors.expected(0, [[1.0]])):
        with pytest.raises(ParameterError, match="needs vectors with classes, or the Gaussians"):
            ask()
    with pytest.raises(ParameterError, match="not taken for Gaussians"):
        averages_of(vectors._measured, PLANE)
    with pytest.raises(ParameterError, match="the other 1 columns"):
        _plane_vectors(rows, 0).expected(0, [[1.0, 2.0]])
    with pytest.raises(ParameterError, match="'south' has none"):
        _vectors().expected({"north": 1.0}, X[:1])


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


@pytest.mark.slow
def test_moments_of_a_flat_gaussian_are_within_their_errors() -> None:
    """Round Gaussians tile it: they had said of its covariance that it is five standard errors from where it is."""
    generator = np.random.default_rng(0)
    axes = generator.standard_normal((2, 3))
    rows = generator.standard_normal((5000, 2)) @ axes + 0.2 * generator.standard_normal((5000, 3))
    release = ke.release(
        rows,
        kernel=ke.kernels.Gaussian(lengthscale=(1.2,) * 3),
        method=ke.Adaptive(points=ke.fit.NormalPoints(dimension=3, scale=3.0)),
        privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
        noise=ke.SeededNoise(0),
    )
    mean, covariance = release.vectors().mean(), release.vectors().covariance()
    assert (np.abs(mean.value - rows.mean(axis=0)) < 4.0 * mean.standard_error).all()
    assert (np.abs(covariance.value - np.cov(rows.T)) < 4.0 * covariance.standard_error).all()
    assert (covariance.standard_error < 0.03).all()


def test_a_table_with_a_column_of_vectors_gives_the_same_release(tmp_path: Path) -> None:
    """An Arrow table, a Parquet file, and a table, a data frame and a CSV file with a column for each number."""
    labels = np.array(NAMES, dtype=object)[CODES]
    settings = {"classes": NAMES, "privacy": PROMISE}
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    table = pa.table({"topic": labels, "vector": vectors})
    parquet.write_table(table, tmp_path / "vectors.parquet")
    wide = pa.table({**{f"x{i}": column for i, column in enumerate(X.T)}, "topic": labels})
    pyarrow.csv.write_csv(wide, tmp_path / "vectors.csv")
    same = ke.release(X, labels=labels, noise=ke.SeededNoise(0), **settings).table
    for data in (table, tmp_path / "vectors.parquet", wide, wide.to_pandas(), tmp_path / "vectors.csv"):
        assert ke.release(data, labels="topic", noise=ke.SeededNoise(0), **settings).table.equals(same)


@pytest.mark.parametrize(
    ("data", "labels", "sentence"),
    [
        (pa.table({"topic": ["a"], "v": [1.0]}), "topc", "no column 'topc'. Did you mean topic"),
        (np.eye(2), "topic", "an array has no column of that name"),
        (
            pa.table({"topic": ["a", "b"], "v": [[1.0], [1.0]]}),
            "topic",
            r"of a fixed length, which 'v' is not. Give np.stack",
        ),
        (pa.table({"topic": ["a"], "v": [[1.0]], "age": [3]}), "topic", "or one column of lists of a fixed length"),
        ("vectors.parquet", ["a"], "name the column of the file"),
    ],
)
def test_a_table_without_such_columns_is_refused(data: object, labels: object, sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        ke.release(data, labels=labels, classes=("a", "b"), privacy=PROMISE, noise=ke.SeededNoise(0))


def test_a_cell_of_a_table_of_vectors_is_read_by_itself() -> None:
    """What is no vector, or no number, is a row at the origin, and other rows stay what they are."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([0.6, 0.8, None, 1.0, 0.0, 1.0]), 2)
    gaps = pa.table({"v": pa.array([*vectors[:2].to_pylist(), None], vectors.type), "topic": ["a", None, "b"]})
    rows, labels = labelled_vectors(gaps, "topic")
    np.testing.assert_array_equal(rows, [[0.6, 0.8], [np.nan, 1.0], [np.nan, np.nan]])
    assert labels == ["a", None, "b"]
    rows, _ = labelled_vectors(pa.table({"x": ["1", "one"], "y": ["2", "3"], "topic": ["a", "b"]}), "topic")
    np.testing.assert_array_equal(rows, [[1.0, 2.0], [np.nan, 3.0]])


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us"), pa.time64("us"), pa.duration("s")], ids=str)
def test_no_label_of_a_table_raises(kind: pa.DataType) -> None:
    """Days and times that Python does not have are no class; a message would say that somebody's is one of them."""
    number = pa.int32() if kind.bit_width == 32 else pa.int64()
    cells = pa.array([0, 2 ** (kind.bit_width - 2), None], number).view(kind)
    first, strange, none = labelled_vectors(pa.table({"x": [1.0, 2.0, 3.0], "topic": cells}), "topic")[1]
    assert first == cells[0].as_py()
    assert strange is none is None


@pytest.mark.parametrize("vector", [pa.float64(), pa.list_(pa.float64(), 1)], ids=["number", "list"])
def test_whether_a_table_of_vectors_has_rows_stays_unsaid_where_their_number_is_private(vector: pa.DataType) -> None:
    data = pa.table({"x": pa.array([], vector), "topic": pa.array([], pa.string())})
    settings = {"labels": "topic", "classes": ("a", "b"), "noise": ke.SeededNoise(0)}
    private = ke.Privacy(epsilon=1.0, delta=1e-6, neighbours=ke.Neighbours.ADD_REMOVE)
    assert ke.measure(data, privacy=private, **settings).measured.stages
    with pytest.raises(ParameterError, match="The table is empty"):
        ke.measure(data, privacy=PROMISE, **settings)


def test_a_question_about_one_vector_is_answered_and_one_with_gaps_refused() -> None:
    vectors = _vectors()
    assert vectors.density(X[0]).value == vectors.density(X[:1]).value
    with pytest.raises(ParameterError, match="must be finite"):
        vectors.density(np.full((1, X.shape[1]), np.nan))
    with pytest.raises(ParameterError, match="must be numbers"):
        vectors.classify([["a"] * X.shape[1]])
    assert repr(vectors).endswith("2 classes)")


def test_the_mean_of_a_class_is_told_where_second_moments_are_those_of_all() -> None:
    """In many columns; z-scores have a mean square of 1 within 5·√(2/n)."""
    generator = np.random.default_rng(3)
    codes = generator.integers(0, 4, 6_000)
    rows = unit_vectors(generator.standard_normal((4, 300))[codes] + 0.6 * generator.standard_normal((6_000, 300)))
    vectors = ke.release(rows, labels=codes, classes=range(4), privacy=PROMISE, noise=ke.SeededNoise(0)).vectors()
    means = [vectors.mean(label) for label in range(4)]
    scores = np.concatenate([(m.value - rows[codes == k].mean(axis=0)) / m.standard_error for k, m in enumerate(means)])
    assert np.mean(scores**2) == pytest.approx(1.0, abs=5.0 * np.sqrt(2.0 / len(scores)))
    with pytest.raises(ParameterError, match="along a few directions only"):
        vectors.covariance(1)
