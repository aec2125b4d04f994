"""James–Stein by hand, and in a simulation."""

import numpy as np
import pytest

from kernelease.fit import EmpiricalMean, Shrinkage, SyntheticSet
from tests.fit.embeddings import mixture, noisy_embedding, waves

PHI = waves(features=60)
TRUTH = PHI.evaluate(mixture(2000)).mean(axis=0)
GUESS = SyntheticSet(points=np.array([[2.0, 0.0], [-2.0, 1.0]]), weights=np.array([0.6, 0.4]))


def test_the_empirical_mean_is_the_noisy_mean() -> None:
    noisy = noisy_embedding(PHI, TRUTH, 0.05)
    assert (EmpiricalMean().estimate(noisy) == noisy.mean).all()


@pytest.mark.parametrize("guess", [None, GUESS], ids=["towards zero", "towards a guess"])
def test_shrinkage_is_positive_part_james_stein(guess: SyntheticSet | None) -> None:
    noisy = noisy_embedding(PHI, TRUTH, 0.05)
    origin = (
        np.zeros(60)
        if guess is None
        else 0.6 * PHI.evaluate(guess.points[:1])[0] + 0.4 * PHI.evaluate(guess.points[1:])[0]
    )
    offset = noisy.mean - origin
    factor = 1.0 - 58 * 0.05**2 / np.sum(offset**2)
    assert 0.0 < factor < 1.0
    assert Shrinkage(guess).estimate(noisy) == pytest.approx(origin + factor * offset, abs=1e-12)


@pytest.mark.parametrize("guess", [None, GUESS], ids=["towards zero", "towards a guess"])
def test_more_noise_than_signal_leaves_the_guess(guess: SyntheticSet | None) -> None:
    noisy = noisy_embedding(PHI, TRUTH, 1e-9)
    loud = noisy_embedding(PHI, TRUTH, 100.0)
    expected = np.zeros(60) if guess is None else guess.embedding(PHI)
    quiet = np.linalg.norm(loud.mean - expected) ** 2 <= 58 * 100.0**2
    assert (np.linalg.norm(Shrinkage(guess).estimate(loud) - expected) == 0.0) == quiet
    assert Shrinkage(guess).estimate(noisy) == pytest.approx(noisy.mean, abs=1e-12)


def test_a_guess_that_is_right_stays() -> None:
    noisy = noisy_embedding(PHI, GUESS.embedding(PHI), 0.0)
    assert (Shrinkage(GUESS).estimate(noisy) == GUESS.embedding(PHI)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.4])
@pytest.mark.parametrize("guess", [None, GUESS], ids=["towards zero", "towards a guess"])
def test_shrinkage_reduces_the_error_on_average(sigma: float, guess: SyntheticSet | None) -> None:
    """Over 400 draws. The true gain is at least six standard errors here, so a false alarm has odds below 1e-8."""
    gains = []
    for seed in range(400):
        noisy = noisy_embedding(PHI, TRUTH, sigma, seed)
        before, after = noisy.mean - TRUTH, Shrinkage(guess).estimate(noisy) - TRUTH
        gains.append((before @ before - after @ after) / (60 * sigma**2))
    error = np.std(gains) / np.sqrt(len(gains))
    assert np.mean(gains) > 0.0
    assert np.mean(gains) > 6.0 * error or sigma == 0.02  # with little noise there is little to gain


@pytest.mark.statistical
def test_a_good_guess_is_better_than_none() -> None:
    errors = {}
    for name, guess in (("none", None), ("good", GUESS)):
        estimates = [Shrinkage(guess).estimate(noisy_embedding(PHI, TRUTH, 0.1, seed)) for seed in range(200)]
        errors[name] = np.mean([np.sum((estimate - TRUTH) ** 2) for estimate in estimates])
    assert errors["good"] < 0.8 * errors["none"]
