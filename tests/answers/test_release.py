"""A release and its other forms, each of which reports its own distance."""

import math
from typing import Any

import numpy as np
import pytest

import kernelease as ke
from kernelease import Privacy, RandomFeatures, Release, SeededNoise, SmallDatabase, Subspace, load, release, save
from kernelease.errors import ParameterError
from kernelease.fit import GreedyPreimages, NormalPoints, Outcome, PublicPoints, Simplex, herd
from kernelease.kernels import OTHER, Gaussian, Kronecker
from kernelease.table.domains import VectorDomain

ROWS = np.random.default_rng(4).normal(size=(500, 2))
KERNEL = Gaussian(lengthscale=1.0)
NORMAL = NormalPoints(dimension=2, scale=2.0)
STRONG = Privacy(epsilon=1.0, delta=1e-6)
FORMS = {
    "subspace": Subspace(points=NORMAL, count=40),
    "on the simplex": Subspace(points=NORMAL, count=40, constraint=Simplex()),
    "random features": RandomFeatures(start=NORMAL, features=60, solver=GreedyPreimages(points=20)),
}
EVERY_FORM = pytest.mark.parametrize("made", FORMS.values(), ids=FORMS.keys(), indirect=True)


@pytest.fixture
def made(request: pytest.FixtureRequest) -> Release:
    return release(ROWS, kernel=KERNEL, method=request.param, privacy=STRONG, noise=SeededNoise(0))


def _distance(made: Release, points: Any, weights: Any) -> float:
    """To the noisy embedding, from the published points and weights alone."""
    return float(
        np.linalg.norm(
            weights @ made.measurements.measured.embedding.feature_map.evaluate(points)
            - made.measurements.measured.embedding.mean
        )
    )


@EVERY_FORM
def test_points_weights_and_table_agree(made: Release) -> None:
    assert made.forms.solution is not None
    assert made.table.column_names == ["x0", "x1", "weight"]
    assert made.rows.column_names == ["x0", "x1"]
    assert made.table.column("x1").to_pylist() == made.points[:, 1].tolist()
    assert made.table.column("weight").to_pylist() == made.weights.tolist()
    assert made.forms.solution.distance == pytest.approx(_distance(made, made.points, made.weights), abs=1e-9)
    assert repr(made) == f"Release({len(made.weights)} rows of 2 columns; {made.certificate.headline})"
    assert repr(made.measurements).endswith(
        f" noisy numbers by {made.certificate.method}; {made.certificate.headline})"
    )


@EVERY_FORM
@pytest.mark.parametrize("count", [1, 7, 100])
def test_uniform_weights_report_their_own_distance(made: Release, count: int) -> None:
    uniform = made.forms.uniform(count)
    assert uniform.forms.solution is not None
    assert uniform.weights.tolist() == [1.0 / count] * count
    assert set(map(tuple, uniform.points)) <= set(map(tuple, made.points))
    assert uniform.forms.solution.distance == pytest.approx(_distance(made, uniform.points, uniform.weights))
    assert (
        uniform.points.tolist()
        == herd(
            made.measurements.measured.embedding.feature_map,
            made.measurements.measured.embedding.mean,
            made.points,
            count,
        ).points.tolist()
    )


@EVERY_FORM
def test_float32_points_report_their_own_distance(made: Release) -> None:
    small = made.forms.as_float32()
    assert small.forms.solution is not None
    assert (small.points == made.points.astype(np.float32)).all()
    assert (small.points != made.points).any()
    assert (small.weights == made.weights).all()
    assert small.forms.solution.distance == pytest.approx(_distance(made, small.points, small.weights))
    assert small.table.column("x0").to_pylist() == small.points[:, 0].tolist()


@EVERY_FORM
def test_forms_keep_the_certificate_and_claim_nothing_for_themselves(made: Release) -> None:
    for form in (made.forms.uniform(5), made.forms.as_float32(), made.forms.as_float32().forms.uniform(3)):
        assert form.forms.solution is not None
        assert form.certificate is made.certificate
        assert form.forms.solution.outcome is Outcome.CONVERTED
        assert form.forms.solution.noise_floor == made.forms.solution.noise_floor


def test_more_equal_rows_come_closer() -> None:
    made = release(ROWS, kernel=KERNEL, method=FORMS["on the simplex"], privacy=STRONG, noise=SeededNoise(0))
    distances = [made.forms.uniform(count).forms.solution.distance for count in (3, 30, 300)]
    assert distances[0] > distances[1] > distances[2] >= made.forms.solution.distance


# Drawing rows


def test_a_sample_follows_the_weights_with_little_error() -> None:
    made = release(ROWS, kernel=KERNEL, method=FORMS["on the simplex"], privacy=STRONG, noise=SeededNoise(0))
    drawn = made.sample(1000, seed=3)
    counts = {tuple(point): 0 for point in made.points.tolist()}
    for row in zip(*(drawn.column(name).to_pylist() for name in ("x0", "x1")), strict=True):
        counts[row] += 1
    for point, weight in zip(made.points.tolist(), made.weights, strict=True):
        assert abs(counts[tuple(point)] - 1000 * weight) < 1.0 + 1e-9
    assert drawn.equals(made.sample(1000, seed=3))
    assert not drawn.equals(made.sample(1000, seed=4))


def test_negative_weights_can_not_be_sampled() -> None:
    made = release(ROWS, kernel=KERNEL, method=FORMS["subspace"], privacy=STRONG, noise=SeededNoise(0))
    assert made.weights.min() < 0.0
    with pytest.raises(ParameterError, match="fit it again on the simplex"):
        made.sample(10)


@pytest.mark.parametrize("count", [0, -1])
def test_no_rows_can_not_be_drawn(count: int) -> None:
    made = release(ROWS, kernel=KERNEL, method=FORMS["on the simplex"], privacy=STRONG, noise=SeededNoise(0))
    with pytest.raises(ParameterError):
        made.sample(count)
    with pytest.raises(ParameterError):
        made.forms.uniform(count)


# What has no other form


def test_selected_rows_have_no_embedding_to_match() -> None:
    method = SmallDatabase(domain=np.eye(2), size=3)
    made = release(
        np.eye(2), kernel=KERNEL, method=method, privacy=Privacy(epsilon=1.0, delta=0.0), noise=SeededNoise(0)
    )
    for form in (lambda: made.forms.uniform(3), made.forms.as_float32):
        with pytest.raises(ParameterError, match="no noisy measurements"):
            form()
    assert made.table.num_rows == 3


def test_a_release_that_was_opened_again_is_only_read(tmp_path: Any) -> None:
    made = release(ROWS, kernel=KERNEL, method=FORMS["on the simplex"], privacy=STRONG, noise=SeededNoise(0))
    opened = load(save(made, tmp_path / "bundle"))
    assert opened.points.tolist() == made.points.tolist()
    assert opened.weights.tolist() == made.weights.tolist()
    assert opened.certificate == made.certificate
    assert opened.sample(20).equals(made.sample(20))


def test_text_has_no_float32() -> None:
    words = np.array([["a"], ["b"]], dtype=object)
    made = release(
        words, kernel=Kronecker(values=("a", "b")), method=Subspace(points=PublicPoints(words)), privacy=STRONG
    )
    with pytest.raises(ParameterError, match="more than numbers"):
        made.forms.as_float32()


# Cells of every kind


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ([1.0, 2.5], [1.0, 2.5]),
        (["a", None], ["a", None]),
        ([1.0, "a"], ["1.0", "a"]),
        ([OTHER, "a"], ["other", "a"]),
        ([OTHER, 1.0], ["other", "1.0"]),
        (["\ud800", "b"], ["?", "b"]),
        ([[1], [2]], ["[1]", "[2]"]),
        ([True, None], [True, None]),
        ([None, None], [None, None]),
    ],
    ids=repr,
)
def test_every_cell_has_a_place_in_the_table(cells: list[Any], column: list[Any]) -> None:
    points = np.empty((2, 1), dtype=object)
    points[0, 0], points[1, 0] = cells
    domain = VectorDomain(ke.kernels.Gaussian(lengthscale=1.0))
    table = domain.table_of_points(points, np.array([0.25, 0.75]), np.random.default_rng(0))
    assert table.column("x0").to_pylist() == column
    assert math.fsum(table.column("weight").to_pylist()) == 1.0


def test_a_release_saves_itself_as_a_bundle(tmp_path):
    release = ke.release(
        np.random.default_rng(0).normal(size=(50, 2)),
        kernel=ke.kernels.Gaussian(lengthscale=1.0),
        method=ke.Subspace(points=ke.fit.NormalPoints(dimension=2), count=5),
        privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
    )
    assert release.save(tmp_path / "bundle.zip") == tmp_path / "bundle.zip"
    again = ke.load(tmp_path / "bundle.zip")
    assert again.table.equals(release.table)
    assert all(finding.holds for finding in ke.verify(tmp_path / "bundle.zip"))
