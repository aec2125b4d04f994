"""What the certificate says: the guarantee, what it rests on, and what it does not promise."""

import dataclasses
import html
import math

import numpy as np
import pytest
from scipy.stats import norm

from kernelease import (
    Certificate,
    Neighbours,
    Privacy,
    RandomFeatures,
    SeededNoise,
    SmallDatabase,
    Subspace,
    __version__,
    release,
)
from kernelease.certificate import NOT_PROMISED
from kernelease.fit import NormalPoints, PublishedRows
from kernelease.kernels import Gaussian
from kernelease.privacy import Calibration, Law

ROWS = np.random.default_rng(4).normal(size=(500, 2))
KERNEL = Gaussian(lengthscale=1.0)
NORMAL = NormalPoints(dimension=2, scale=2.0)
SUBSPACE = Subspace(points=NORMAL, count=20)


def _certificate(privacy: Privacy, method: Subspace | RandomFeatures | SmallDatabase = SUBSPACE) -> Certificate:
    return release(ROWS, kernel=KERNEL, method=method, privacy=privacy, seed=77).certificate


STRONG = _certificate(Privacy(epsilon=1.0, delta=1e-6))


def test_the_headline_is_the_guarantee() -> None:
    assert STRONG.headline == (
        "Each row is protected: differentially private with epsilon 1 and delta 1e-06 (replace-one neighbours)"
    )
    private = _certificate(
        Privacy(epsilon=0.25, delta=0.0, neighbours=Neighbours.ADD_REMOVE), RandomFeatures(start=NORMAL, features=20)
    )
    assert private.headline == (
        "Each row is protected: differentially private with epsilon 0.25 and delta 0 (add-remove neighbours)"
    )


def test_the_guarantee_in_words_is_as_strong_as_it_is() -> None:
    """By an attacker's chance at 5 % false alarms: 0.08 at epsilon 1, 0.3 to 0.5 at epsilon 5, nearly 1 at 20."""
    assert STRONG.words == "If one person's row were any other, nothing published would look much different."
    middle, weak = (dataclasses.replace(STRONG, epsilon=epsilon) for epsilon in (5.0, 20.0))
    assert 0.25 < middle.promised.attacker(0.05) < 0.5
    assert middle.words.endswith("what is published could look somewhat different.")
    assert weak.words.endswith("the protection is weak.")
    other = dataclasses.replace(STRONG, neighbours=Neighbours.ADD_REMOVE, unit="each person (at most 3 rows)")
    assert other.words.startswith("If all rows of one person were left out, ")
    home = dataclasses.replace(STRONG, unit="each home with all its persons")
    assert home.words.startswith("If one home with all its persons were any other, ")
    card = html.unescape(STRONG._repr_html_())
    assert card.index(STRONG.words) < card.index(STRONG.headline)


def test_seeded_noise_has_no_guarantee() -> None:
    privacy = Privacy(epsilon=1.0, delta=1e-6)
    made = release(ROWS, kernel=KERNEL, method=SUBSPACE, privacy=privacy, noise=SeededNoise(0)).certificate
    assert made.headline.startswith("NOT PRIVATE")
    assert "nobody is protected" in made.words
    assert "differentially private" not in str(made)


def test_the_text_holds_all_that_matters() -> None:
    text = str(STRONG)
    for part in (
        STRONG.headline,
        "method: Subspace",
        "kernel: Gaussian(lengthscale=1.0)",
        "points = 20: as given",
        "rank = ",
        "0.0183 at 1% false alarms, 0.0795 at 5% false alarms",
        *NOT_PROMISED,
        "ledger: no ledger",
        f"public seed 77, kernelease {__version__}",
    ):
        assert part in text
    assert "published before" not in text


def test_published_rows_are_said_to_have_no_guarantee() -> None:
    certificate = _certificate(Privacy(epsilon=1.0, delta=1e-6), Subspace(points=PublishedRows(33)))
    assert certificate.published_rows == 33
    assert "the 33 rows published before have no guarantee" in str(certificate)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_the_attacker_is_the_best_test_of_two_gaussians(epsilon: float) -> None:
    """N(0, 1) against N(μ, 1): the most powerful test of level α has power Φ(Φ⁻¹(α) + μ)."""
    certificate = _certificate(Privacy(epsilon=epsilon, delta=1e-6))
    for level in (0.01, 0.05):
        threshold = norm.isf(level)
        assert certificate.attacker[level] == pytest.approx(norm.sf(threshold - certificate.mu))
        assert level < certificate.attacker[level] <= min(1.0, math.exp(epsilon) * level + 1e-6)


def test_a_pure_guarantee_is_on_the_same_scale() -> None:
    """Pure ε bounds the power by e^ε·α, which is less than its Gaussian stand-in allows."""
    certificate = _certificate(Privacy(epsilon=1.0, delta=0.0), RandomFeatures(start=NORMAL, features=8))
    assert certificate.attacker == pytest.approx({0.01: 0.01 * math.e, 0.05: 0.05 * math.e})


@pytest.mark.parametrize(
    ("privacy", "method", "law"),
    [
        (Privacy(epsilon=1.0, delta=1e-6), SUBSPACE, Law.GAUSSIAN),
        (Privacy(epsilon=1.0, delta=1e-6, calibration=Calibration.CLASSIC), SUBSPACE, Law.GAUSSIAN),
        (
            Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE),
            RandomFeatures(start=NORMAL, features=8),
            Law.GAUSSIAN,
        ),
        (Privacy(epsilon=0.5, delta=0.0), RandomFeatures(start=NORMAL, features=8), Law.LAPLACE),
        (Privacy(epsilon=0.5, delta=0.0), SmallDatabase(domain=np.eye(2), size=2), Law.EXPONENTIAL),
    ],
    ids=["analytic", "classic", "add-remove", "Laplace", "selection"],
)
def test_the_steps_cost_what_was_promised(
    privacy: Privacy, method: Subspace | RandomFeatures | SmallDatabase, law: Law
) -> None:
    """Recomputed from the steps' own numbers: all of the budget, and no more."""
    certificate = _certificate(privacy, method)
    assert [step.law for step in certificate.steps] == [law]
    assert certificate.coordinates == certificate.steps[0].coordinates
    spent = certificate.spent
    if law is Law.GAUSSIAN:
        assert spent.delta(privacy.epsilon) <= privacy.delta
        assert spent.mu == pytest.approx(certificate.mu, rel=1e-9)
    else:
        assert spent.pure_epsilon <= privacy.epsilon * (1 + 1e-12)
        assert spent.pure_epsilon == pytest.approx(privacy.epsilon, rel=1e-9)


def test_more_noise_than_needed_costs_less() -> None:
    """The twin: halve the noise of a step, and the certificate's own sum shows it."""
    step = STRONG.steps[0]
    weak = dataclasses.replace(STRONG, steps=(dataclasses.replace(step, scale=step.scale / 2.0),))
    assert weak.spent.delta(1.0) > 1e-6 >= STRONG.spent.delta(1.0)
