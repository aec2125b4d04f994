"""Answers from a noisy embedding: of vectors, and of a table whose rows are public ones with weights."""

import numpy as np
import pytest

import kernelease as ke
from kernelease.errors import ParameterError
from kernelease.pipeline import weighting
from tests.analysis.tables import SCHEMA, people

GENERATOR = np.random.default_rng(5)
BOX = ke.fit.UniformPoints(low=(-3.0, -3.0), high=(3.0, 3.0))
POINTS = np.concatenate([GENERATOR.normal(-1.0, 0.6, (3_000, 2)), GENERATOR.normal(1.0, 0.4, (2_000, 2))])


@pytest.fixture(scope="module", params=["replace-one", "add-remove"])
def vectors(request):
    return ke.release(
        POINTS,
        kernel=ke.kernels.Gaussian(lengthscale=1.0),
        method=ke.Subspace(points=BOX, count=150, constraint=ke.fit.Simplex()),
        privacy=ke.Privacy(epsilon=2.0, delta=1e-6, neighbours=ke.Neighbours(request.param)),
        noise=ke.SeededNoise(3),
    )


FUNCTIONS = {
    "smooth": lambda t: np.exp(-0.5 * (t["x0"] ** 2 + t["x1"] ** 2)),
    "wave": lambda t: np.cos(t["x0"]),
    "linear": lambda t: t["x0"] + t["x1"],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_intervals_of_functions_of_vectors(vectors, name):
    function = FUNCTIONS[name]
    truth = function({"x0": POINTS[:, 0], "x1": POINTS[:, 1]}).mean()
    estimate = vectors.ask.expectation(function)
    low, high = estimate.interval(0.999)
    assert low < truth < high
    assert "points at hand" in estimate.remark


def test_a_function_in_the_span_has_a_short_interval(vectors):
    assert vectors.ask.expectation(FUNCTIONS["wave"]).margin() < 0.3
    assert vectors.ask.expectation(lambda t: (t["x0"] > 0.123).astype(float)).margin() > 0.3  # a step is not smooth


def test_the_mean_of_a_coordinate(vectors):
    low, high = vectors.mean("x0").interval(0.999)
    assert low < POINTS[:, 0].mean() < high


def test_the_population_adds_sampling(vectors):
    estimate = vectors.of("population").expectation(FUNCTIONS["wave"])
    assert estimate.parts.sampling == pytest.approx(np.cos(POINTS[:, 0]).std() / np.sqrt(5_000), rel=0.3)


def test_what_vectors_do_not_answer(vectors):
    with pytest.raises(ParameterError, match="no column 'x7'"):
        vectors.mean("x7")
    with pytest.raises(ParameterError, match="no schema"):
        vectors.mean("x0", where="x1 > 0")
    with pytest.raises(ParameterError, match="no schema"):
        vectors.where("x0 > 1").expectation(FUNCTIONS["wave"])
    with pytest.raises(ParameterError, match="NaN"):
        vectors.ask.expectation(lambda t: np.log(t["x0"]))
    with pytest.raises(ParameterError, match="of must be"):
        vectors.of("everyone").expectation(FUNCTIONS["wave"])


@pytest.fixture(scope="module")
def weighted():
    private, public = people(3_000, seed=1), people(400, seed=2)
    return ke.release(
        private,
        schema=SCHEMA,
        privacy=ke.Privacy(epsilon=2.0, delta=1e-6),
        method=weighting(public, schema=SCHEMA),
        noise=ke.SeededNoise(1),
    )


@pytest.mark.slow
def test_a_table_of_public_rows_answers_with_wide_intervals(weighted):
    truth = people(3_000, seed=1)
    for estimate, value in (
        (weighted.mean("age"), np.mean(truth.column("age").to_numpy())),
        (weighted.probability("sex == 'F'", where="age >= 40"), None),
        (weighted.count("age >= 40"), np.sum(truth.column("age").to_numpy() >= 40)),
    ):
        low, high = estimate.interval()
        assert low < high
        if value is not None:
            assert low <= value <= high


def test_a_selected_database_has_no_noisy_numbers_to_answer_from():
    release = ke.release(
        np.eye(2)[[0, 1, 1, 1]],
        kernel=ke.kernels.Gaussian(lengthscale=1.0),
        privacy=ke.Privacy(epsilon=1.0, delta=0.0),
        method=ke.SmallDatabase(domain=np.eye(2), size=2),
    )
    with pytest.raises(ParameterError, match="no noisy measurements"):
        release.mean("x0")
