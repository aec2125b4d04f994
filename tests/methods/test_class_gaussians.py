"""Vectors with classes: what is measured, the law that is made of it, public rows, bundles, refusals."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernelease as ke
from kernelease.errors import ParameterError
from kernelease.features import ClassMoments
from kernelease.features.moments import unit_vectors
from kernelease.fit.class_law import clean, law_of
from kernelease.kernels import Gaussian, LabelledSphere
from kernelease.kernels.dot_product import UNDECLARED
from kernelease.measured import NoisyEmbeddings
from kernelease.methods import class_gaussians
from kernelease.pipeline import _Labels
from kernelease.sources.private_rows import labelled_vectors

STRONG = ke.Privacy(epsilon=1000.0, delta=1e-5)
WEAK = ke.Privacy(epsilon=1.0, delta=1e-5)
NAMES = ("north", "east", "south")
CENTRES = np.array([[0.9, 0.0, 0.1, 0.0, 0.0], [0.0, 0.8, 0.0, 0.0, 0.2], [-0.7, 0.1, 0.0, 0.3, 0.0]])


def _drawn(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of three classes of unequal shares, one of them stretched."""
    generator = np.random.default_rng(seed)
    codes = generator.choice(3, size=count, p=[0.5, 0.3, 0.2])
    spread = np.array([0.2, 0.2, 0.4])[codes][:, None] * generator.standard_normal((count, 5))
    return unit_vectors(CENTRES[codes] + spread), codes


X, CODES = _drawn(4000, 0)
Y = np.array(NAMES)[CODES]


def _release(privacy: Any = STRONG, **more: Any) -> ke.Release:
    given: dict[str, Any] = {"labels": Y, "classes": NAMES, "noise": ke.SeededNoise(1), **more}
    return ke.release(X, privacy=privacy, **given)


def test_rows_have_norm_1_and_labels_in_their_shares() -> None:
    frame = _release().to_pandas()
    assert list(frame.columns) == ["x0", "x1", "x2", "x3", "x4", "label", "weight"]
    vectors = frame[[f"x{i}" for i in range(5)]].to_numpy()
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1.0).max() < 1e-9
    for name, code in zip(NAMES, range(3), strict=True):
        assert (frame["label"] == name).mean() == pytest.approx((code == CODES).mean(), abs=2e-3)


def test_without_noise_the_law_has_the_moments_of_the_rows() -> None:
    """What is left is the grid's rounding, a 65,536th, and the noise of ε = 1000."""
    measured = _release().measurements.measured
    assert isinstance(measured, NoisyEmbeddings)
    law = law_of(measured.stages)
    for code in range(3):
        mine = X[code == CODES]
        np.testing.assert_allclose(law.means[code], mine.mean(axis=0), atol=2e-3)
        np.testing.assert_allclose(law.covariance(code), np.cov(mine.T), atol=5e-3)


def test_means_are_unbiased_with_the_error_that_is_stated() -> None:
    """500 z-scores of one seed: their mean square is 1 within five standard deviations, √(2/500) each."""
    scores = []
    for seed in range(34):
        measured = _release(WEAK, noise=ke.SeededNoise(seed)).measurements.measured
        assert isinstance(measured, NoisyEmbeddings)
        stage = measured.embedding
        feature_map = stage.feature_map
        assert isinstance(feature_map, ClassMoments)
        found = feature_map.moments(stage.mean)
        truth = np.array([X[code == CODES].sum(axis=0) for code in range(3)]) / len(X)
        scores.append((found.means - truth) / (found.errors[1] * stage.sigma))
    assert np.mean(np.square(scores)) == pytest.approx(1.0, abs=5 * np.sqrt(2 / 500))


def test_noise_alone_leaves_nothing_but_the_level() -> None:
    """Eigenvalues of noise stay within the edge but for a few percent of it: d = 200."""
    generator = np.random.default_rng(0)
    noise = generator.standard_normal((200, 200))
    noise = np.triu(noise, 1) / np.sqrt(2) + np.triu(noise, 1).T / np.sqrt(2) + np.diag(noise.diagonal())
    left = clean(0.3 * np.eye(200) + 0.01 * noise, 0.01)
    level = 0.3 + 0.01 * noise.trace() / 200
    assert np.linalg.norm(left - level * np.eye(200)) < 0.2 * np.linalg.norm(0.01 * noise)
    spike = np.zeros((200, 200))
    spike[0, 0] = 1.0
    found = clean(spike + 0.01 * noise, 0.01)
    assert np.linalg.norm(found - spike) < 0.3 * np.linalg.norm(0.01 * noise)


@pytest.mark.parametrize("neighbours", list(ke.Neighbours))
def test_a_bundle_is_verified_and_refitted(tmp_path: Path, neighbours: ke.Neighbours) -> None:
    privacy = ke.Privacy(epsilon=1.0, delta=1e-5, neighbours=neighbours)
    ledger = ke.LedgerFile.create(tmp_path / "ledger", cap=privacy, dataset="vectors")
    release = ke.release(
        X, labels=Y, classes=NAMES, privacy=privacy, out=tmp_path / "out", ledger=ledger, dataset="vectors", rows=50
    )
    assert len(release) == 50
    findings = ke.verify(tmp_path / "out", refit=True)
    assert all(finding.holds for finding in findings), findings
    again = ke.load(tmp_path / "out")
    assert again.table.equals(release.table)
    assert again.to_pandas()["label"].isin(NAMES).all()


@pytest.mark.parametrize("neighbours", list(ke.Neighbours))
def test_what_was_charged_is_what_the_map_needs(neighbours: ke.Neighbours) -> None:
    measured = _release(ke.Privacy(epsilon=1.0, delta=1e-5, neighbours=neighbours)).measurements.measured
    (step,), (needed,) = measured.steps, measured.least_sensitivities(neighbours, 1)
    assert step.sensitivity == needed
    least = np.sqrt(2.0) * 2.0 * 29 * 2**32 * (1 - 1e-3)  # √2 times 29·G²·√(1 + 2 + 1)
    assert needed > least


def test_second_moments_that_are_too_many_take_two_stages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(class_gaussians, "MOST_PRODUCTS", 10)
    release = _release(out=tmp_path / "out", noise=None)
    measured = release.measurements.measured
    assert isinstance(measured, NoisyEmbeddings)
    assert len(measured.stages) == 2
    law = law_of(measured.stages)
    for code in range(3):
        mine = X[code == CODES]
        np.testing.assert_allclose(law.means[code], mine.mean(axis=0), atol=4e-3)
        np.testing.assert_allclose(law.covariance(code), np.cov(mine.T), atol=3e-2)
    assert all(finding.holds for finding in ke.verify(tmp_path / "out", refit=True))


def test_rows_without_a_declared_class_are_left_out() -> None:
    odd = np.where(CODES == 2, "west", Y)
    release = _release(labels=odd, classes=("north", "east"))
    shares = release.to_pandas()["label"].value_counts(normalize=True)
    assert shares["north"] == pytest.approx((CODES == 0).sum() / (CODES < 2).sum(), abs=5e-3)


@pytest.mark.parametrize("odd", ["x", b"x", None, 1.5, 2**70, (1,), [1, 2], float("nan")])
def test_one_odd_label_in_a_list_changes_no_other_row(odd: object) -> None:
    """A list that NumPy reads whole is all text as soon as one label is: 158 times what was paid for."""
    labels, few = [0, 1] * 20, X[:40]
    there, other = (
        _Labels(labels=own, classes=(0, 1), public=None).join(few, None, None, None)[0]
        for own in (labels, [odd, *labels[1:]])
    )
    np.testing.assert_array_equal(there[1:], other[1:])
    assert other[0, -1] == UNDECLARED


@pytest.mark.parametrize("classes", [(0, 1), (0.5, 1.5), (False, True), ("0", "1"), ("a", "b")])
@pytest.mark.parametrize("odd", ["x", None, 2.5, 2**70, (1,), pd.NA])
def test_one_odd_label_in_a_frame_changes_no_other_row(odd: object, classes: tuple[object, ...]) -> None:
    """It makes the column one of objects, of which a source makes text: then no label of another row was a class."""
    frame = pd.DataFrame(X[:40], columns=[f"x{place}" for place in range(X.shape[1])])
    for labels in ([*classes] * 20, [0, 1] * 20, [0.0, 1.0] * 20):
        rows = []
        for own in (pd.Series(labels), pd.Series([odd, *labels[1:]], dtype=object)):
            vectors, found = labelled_vectors(frame.assign(kind=own), "kind")
            rows.append(_Labels(labels=found, classes=classes, public=None).join(vectors, None, None, None)[0])
        np.testing.assert_array_equal(rows[0][1:], rows[1][1:])
        assert rows[1][0, -1] == UNDECLARED


def test_a_misspelt_column_of_labels_is_not_held_against_somebodys_row(tmp_path: Path) -> None:
    """The first line of a file without a header is a row: its cells are no names to suggest."""
    path = tmp_path / "rows.csv"
    path.write_text("0.6,0.8,topik\n1.0,0.0,other\n")
    with pytest.raises(ParameterError, match="no column 'topic'") as caught:
        ke.release(path, labels="topic", classes=("a", "b"), privacy=WEAK)
    assert "topik" not in str(caught.value)
    with pytest.raises(ParameterError, match="Did you mean topik"):  # the names of a frame are no cells
        ke.release(pd.DataFrame({"x": [1.0], "topik": ["a"]}), labels="topic", classes=("a", "b"), privacy=WEAK)


@pytest.mark.parametrize("odd", [None, "x", 1])
def test_whether_classes_must_be_named_does_not_depend_on_a_label(odd: object) -> None:
    for labels in ([True, False] * 20, [odd, False, *[True, False] * 19]):
        with pytest.raises(ParameterError, match="name the classes"):
            ke.release(X[:40], labels=labels, privacy=WEAK)


def test_an_empty_class_gets_no_rows_or_few() -> None:
    shares = _release(classes=(*NAMES, "west")).to_pandas()["label"].value_counts(normalize=True)
    assert shares.get("west", 0.0) < 0.01


@pytest.mark.parametrize("classes", [(0, 1, 2), (2, 0, 1), (30, 10, 20), ("c", "a", "b")])
def test_a_mean_does_not_depend_on_what_classes_are_called(classes: tuple[Any, ...]) -> None:
    """Labels that are numbers are not places in the list: of (1, 0) they were taken for each other's."""
    answer = _release(labels=[classes[code] for code in CODES], classes=classes).mean("x0")
    assert answer.value == pytest.approx(X[:, 0].mean(), abs=3e-3)
    assert answer.interval(0.95)[1] - answer.interval(0.95)[0] < 0.02


# ------------------------------------------------------------------------------------------------- public rows


def _distance(release: ke.Release, vectors: np.ndarray, codes: np.ndarray) -> float:
    """To a sample, in the kernel's own norm."""
    kernel = LabelledSphere(dimension=5, classes=NAMES)
    phi = ClassMoments(kernel=kernel)
    frame = release.to_pandas()
    places = frame["label"].map({name: place for place, name in enumerate(NAMES)})
    points = np.column_stack([frame[[f"x{i}" for i in range(5)]].to_numpy(), places.to_numpy()])
    weights = frame["weight"].to_numpy() / frame["weight"].sum()
    theirs = phi.evaluate(np.column_stack([vectors, codes])).mean(axis=0)
    return float(np.linalg.norm(weights @ phi.evaluate(points) - theirs))


def test_public_rows_of_the_same_law_are_weighted_and_no_farther_than_their_equal_weights() -> None:
    known, theirs = _drawn(500, 7)
    release = _release(WEAK, public=(known, np.array(NAMES)[theirs]))
    assert len(release) == 500
    kernel = LabelledSphere(dimension=5, classes=NAMES)
    phi = ClassMoments(kernel=kernel)
    truth = phi.evaluate(np.column_stack([X, CODES])).mean(axis=0)
    equal = phi.evaluate(np.column_stack([known, theirs])).mean(axis=0)
    assert _distance(release, X, CODES) <= np.linalg.norm(equal - truth)


def test_public_rows_of_another_law_give_way_to_the_gaussians() -> None:
    known, theirs = _drawn(300, 7)
    release = _release(STRONG, public=(-known, np.array(NAMES)[theirs]))
    assert len(release) == 4000
    assert _distance(release, X, CODES) < 0.05


def test_public_rows_in_a_number_that_is_asked_for() -> None:
    known, theirs = _drawn(300, 7)
    release = _release(WEAK, public=(known, np.array(NAMES)[theirs]), rows=1000)
    assert len(release) == 1000
    assert release.weights == pytest.approx(1.0 / 1000)


# ------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"classes": None}, "name the classes"),
        ({"public": X}, r"give vectors that are known and the label of each, as public=\(vectors, labels\)"),
        ({"classes": ("north", "north")}, "distinct"),
        ({"labels": Y[:-1]}, "one label for each row"),
        ({"kernel": Gaussian(lengthscale=1.0)}, "kernel of their own"),
        ({"labels": None}, "Give labels"),
        ({"method": ke.methods.ClassGaussians(), "public": (X, Y)}, "public points of its own"),
        ({"public": (X[:, :2], Y)}, "5 columns and a class"),
        ({"method": ke.Interactions()}, "schema"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_is_spent(change: dict[str, Any], sentence: str) -> None:
    ledger = ke.MemoryLedger(WEAK)
    with pytest.raises(ParameterError, match=sentence):
        _release(WEAK, ledger=ledger, **change)
    assert ledger.spent().mu_squared == 0.0


def test_truth_values_need_no_list_of_classes() -> None:
    release = _release(labels=CODES == 0, classes=None)
    assert release.to_pandas()["label"].dtype == bool


def test_other_rows_than_vectors_with_classes_are_refused() -> None:
    with pytest.raises(ParameterError, match="needs vectors with classes"):
        ke.release(X, kernel=Gaussian(lengthscale=1.0), method=ke.methods.ClassGaussians(), privacy=WEAK)
