"""query of vectors: the library's own numbers, and what is refused."""

import numpy as np
import pytest

import kernelease as ke
from kernelease.features.moments import unit_vectors

PROMISE = ke.Privacy(epsilon=2.0, delta=1e-5)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    generator = np.random.default_rng(0)
    codes = generator.integers(0, 2, 800)
    rows = unit_vectors(np.array([[0.8, 0.0], [-0.6, 0.4]])[codes] + 0.4 * generator.standard_normal((800, 2)))
    path = tmp_path_factory.mktemp("vectors") / "labelled"
    labels = np.array(["north", "south"])[codes]
    ke.release(rows, labels=labels, classes=("north", "south"), privacy=PROMISE, noise=ke.SeededNoise(0), out=path)
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    generator = np.random.default_rng(0)
    rows = np.array([[3.0, -2.0], [-2.0, 3.0]])[generator.integers(0, 2, 800)] + generator.standard_normal((800, 2))
    path = tmp_path_factory.mktemp("vectors") / "plain"
    method = ke.Adaptive(points=ke.fit.NormalPoints(dimension=2, scale=4.0), features=256, rank=64)
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    ke.release(rows, kernel=kernel, method=method, privacy=PROMISE, noise=ke.SeededNoise(0), out=path)
    return path


def _group(run, bundle, *words):
    (group,) = run.json("query", bundle, *words)["groups"]
    return group


@pytest.mark.slow
def test_numbers_are_those_of_the_library(plain, labelled, run):
    for path in (plain, labelled):
        vectors = ke.load(path).vectors()
        mean, covariance = vectors.mean(), vectors.covariance()
        assert _group(run, path, "mean", "x1")["value"] == pytest.approx(mean.value[1])
        assert _group(run, path, "mean", "x1")["high"] == pytest.approx(mean.interval()[1][1])
        assert _group(run, path, "covariance", "x0", "x1")["noise"] == pytest.approx(covariance.standard_error[0, 1])
        density = vectors.density([[1.0, 0.0]])
        assert _group(run, path, "density", "1", "0")["bias"] == pytest.approx(float(np.ravel(density.bias)[0]))
        axes = run.json("query", path, "axes", "2")["groups"]
        assert [one["value"] for one in axes] == pytest.approx(vectors.axes(2).variances)
        assert axes[0]["low"] == pytest.approx(vectors.axes(2).low[0])
        clusters = run.json("query", path, "clusters", "2")["groups"]
        assert [one["value"] for one in clusters] == pytest.approx(vectors.clusters(2).shares.value)


def test_what_is_expected_at_a_place(plain, labelled, run):
    low, high = ke.load(plain).vectors().expected(1, [[3.0]]).interval()
    group = _group(run, plain, "expected", "x1", "3")
    assert (group["low"], group["high"]) == pytest.approx((low[0], high[0]))
    value = ke.load(labelled).vectors().expected("north", [[1.0, 0.0]]).value[0]
    assert _group(run, labelled, "expected", "north", "1", "0")["value"] == pytest.approx(value)


def test_classes_are_groups(labelled, run):
    groups = run.json("query", labelled, "mean", "x0", "--by", "label")["groups"]
    vectors = ke.load(labelled).vectors()
    assert {one["group"]: one["value"] for one in groups} == pytest.approx(
        {label: vectors.mean(label).value[0] for label in ("north", "south")}
    )
    assert "north" in run("query", labelled, "density", "1", "0", "--by", "label").stdout


def test_a_negative_number_is_no_option(plain, run):
    density = ke.load(plain).vectors().density([[1.0, -0.5]])
    said = run.json("query", plain, "density", "1", "-.5")["groups"][0]
    assert said["value"] == pytest.approx(float(density.value[0]))
    assert "There is no option -x" in run("query", plain, "density", "1", "-x", code=2).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("mean", "x7"), "columns of vectors are x0 to x1"),
        (("mean", "x0", "--where", "x1 > 0"), "take no --where"),
        (("axes", "2", "--by", "label"), "take no --where; mean"),
        (("mean", "x0", "--by", "label"), "have no classes"),
        (("axes", "two"), "how many is a whole number"),
        (("density", "1", "much"), "each coordinate is a number"),
        (("gini", "x0"), "has no schema"),
    ],
)
def test_questions_that_are_refused(plain, run, words, message):
    assert message in run("query", plain, *words, code=2).stderr


def test_tables_have_no_axes(bundle, run):
    assert "needs a release of vectors" in run("query", bundle, "axes", "2", code=2).stderr
