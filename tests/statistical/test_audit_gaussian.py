"""A white-box audit of the whole path, from rows to noisy sums, each with a broken twin that must fail.

The attacker knows everything but one row and sees the noisy vector. Under Gaussian differential privacy telling two
neighbouring tables apart is as hard as telling N(0, 1) from N(μ, 1), with μ fixed by (ε, δ). The audit plays the
attacker on n independent pairs of neighbours, with the score of the likelihood-ratio test, and puts a lower confidence
bound on the μ that was really there. A bound above the claim convicts the mechanism; it convicts an innocent one once
in a million runs (`ALARM`).

The n pairs come in one release: pair j of categories (2j, 2j + 1) holds one row, in the first category of table A and
in the second of table B. The noise is calibrated to one replaced row, so each pair is an experiment of its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

import dp_accounting
import numpy as np
import pytest
from scipy import stats

from kernelease.arrays import Floats, Integers
from kernelease.embedding.exact import ExactEmbedding
from kernelease.privacy import Neighbours, NoiseSource, Privacy, PrivacyFilter, SystemNoise
from tests.privacy.toys import OneHot, categories, open_filter

pytestmark = pytest.mark.statistical

ALARM = 1e-6
PAIRS = 20_000
PRIVACY = Privacy(epsilon=10.0, delta=1e-6)  # μ = 1.85: the error of its estimate is then below 1 %

Release = Callable[[ExactEmbedding], list[Floats]]


# The attacker.


def claimed_mu(privacy: Privacy) -> float:
    """From dp_accounting, so that the claim does not rest on the code that is audited."""
    return 1.0 / dp_accounting.get_sigma_gaussian(privacy.epsilon, privacy.delta)


def scores(release: Release, feature_map: OneHot, table: str) -> Floats:
    """The log likelihood ratio's statistic of each measurement, up to a factor: (pairs, measurements)."""
    cells = np.arange(feature_map.categories // 2) * 2 + (table == "B")
    exact = ExactEmbedding.of(categories(*cells), feature_map)
    return np.stack([values[1::2] - values[0::2] for values in release(exact)], axis=1)


def lower_bound_on_mu(a: Floats, b: Floats) -> float:
    """A 1 − ALARM lower confidence bound on the separation of the best linear score of the measurements.

    The direction is learnt on one half of the pairs and judged on the other. The estimate of a separation μ from n
    pairs has variance (2 + μ²/4)/n.
    """
    half = len(a) // 2
    direction = best_direction(a[:half], b[:half])
    one, other = a[half:] @ direction, b[half:] @ direction
    estimate = float((other.mean() - one.mean()) / math.sqrt((one.var() + other.var()) / 2))
    return estimate - stats.norm.isf(ALARM) * math.sqrt((2 + estimate**2 / 4) / len(one))


def best_direction(a: Floats, b: Floats) -> Floats:
    """Fisher's discriminant. The ridge only matters where measurements share their noise."""
    covariance = (np.cov(a, rowvar=False) + np.cov(b, rowvar=False)).reshape(a.shape[1], -1)
    ridge = 1e-9 * np.trace(covariance) * np.eye(len(covariance))
    return np.linalg.solve(covariance + ridge, b.mean(axis=0) - a.mean(axis=0))


def audit(release: Release, feature_map: OneHot | None = None) -> float:
    feature_map = feature_map or OneHot(categories=2 * PAIRS)
    return lower_bound_on_mu(scores(release, feature_map, "A"), scores(release, feature_map, "B"))


# What is audited.


def once(noise: NoiseSource, privacy: Privacy = PRIVACY) -> Release:
    def release(exact: ExactEmbedding) -> list[Floats]:
        return [exact.privatise(open_filter(privacy, 2 * PAIRS), noise=noise).sum]

    return release


def twice(noise: NoiseSource, shares: tuple[float, float] = (0.2, 0.8)) -> Release:
    def release(exact: ExactEmbedding) -> list[Floats]:
        budget = open_filter(PRIVACY, 4 * PAIRS)
        return [exact.privatise(budget, noise=noise, share=share).sum for share in shares]

    return release


# The broken twins.


@final
@dataclass
class QuietNoise:
    """σ too small by a factor."""

    factor: float
    private: bool = True
    laplace = noisy_max = SystemNoise.laplace

    def gaussian(self, scale: float, size: int) -> Integers:
        return SystemNoise().gaussian(scale * self.factor, size)


@final
@dataclass
class RepeatingNoise:
    """The same random numbers for each measurement, as from a generator that is seeded anew."""

    private: bool = True
    standard: Floats | None = field(default=None)
    laplace = noisy_max = SystemNoise.laplace

    def gaussian(self, scale: float, size: int) -> Integers:
        if self.standard is None or len(self.standard) != size:
            self.standard = SystemNoise().gaussian(2.0**40, size) / 2.0**40
        return np.rint(self.standard * scale).astype(np.int64)


class ShortOneHot(OneHot):
    """A map that claims the diameter 1, as if a replaced row only left and did not arrive elsewhere."""

    @property
    def diameter(self) -> float:
        return 1.0


def charged_once(exact: ExactEmbedding) -> list[Floats]:
    """Two whole measurements, the second with a filter that forgot the first."""
    budget = open_filter(PRIVACY, 2 * PAIRS)
    forgetful = PrivacyFilter(budget.privacy, budget.total, budget.receipt)
    return [exact.privatise(each, noise=SystemNoise()).sum for each in (budget, forgetful)]


def test_one_measurement_keeps_its_promise() -> None:
    """And the bound comes within 10 % of the claim: the audit is sharp."""
    assert 0.9 * claimed_mu(PRIVACY) <= audit(once(SystemNoise())) <= claimed_mu(PRIVACY)


def test_two_measurements_keep_the_promise_together() -> None:
    assert 0.9 * claimed_mu(PRIVACY) <= audit(twice(SystemNoise())) <= claimed_mu(PRIVACY)


@pytest.mark.parametrize("factor", [0.9, 0.5])
def test_too_little_noise_is_convicted(factor: float) -> None:
    assert audit(once(QuietNoise(factor))) > claimed_mu(PRIVACY)


def test_a_sensitivity_too_small_by_the_root_of_two_is_convicted() -> None:
    assert audit(once(SystemNoise()), ShortOneHot(categories=2 * PAIRS)) > 1.25 * claimed_mu(PRIVACY)


def test_noise_that_is_used_twice_is_convicted() -> None:
    assert audit(twice(RepeatingNoise())) > 10 * claimed_mu(PRIVACY)


def test_two_measurements_for_the_price_of_one_are_convicted() -> None:
    assert audit(charged_once) > 1.25 * claimed_mu(PRIVACY)


# The same in terms of ε: how often a threshold on the score is passed in each of the two worlds.

COARSE = Privacy(epsilon=1.0, delta=0.05)  # so large a δ that its part of the curve is seen in 20,000 runs


def lower_bound_on_epsilon(a: Floats, b: Floats, delta: float) -> float:
    """From Clopper–Pearson bounds on both rates: (ε, δ)-DP requires P(score_B > t) ≤ e^ε P(score_A > t) + δ.

    The threshold is chosen on one half of the pairs, and the bounds, each at ALARM/2, come from the other.
    """
    half = len(a) // 2
    candidates = np.quantile(np.concatenate([a[:half], b[:half]]), np.linspace(0.5, 0.995, 100))
    threshold = max(candidates, key=lambda t: np.mean(b[:half] > t) - math.exp(COARSE.epsilon) * np.mean(a[:half] > t))
    seen, missed = int(np.sum(b[half:] > threshold)), int(np.sum(a[half:] > threshold))
    rest = len(a) - half
    true_rate = stats.beta.ppf(ALARM / 2, seen, rest - seen + 1)
    false_rate = stats.beta.isf(ALARM / 2, missed + 1, rest - missed)
    return float(math.log((true_rate - delta) / false_rate))


def epsilon_of(noise: NoiseSource) -> float:
    feature_map = OneHot(categories=2 * PAIRS)
    a, b = (scores(once(noise, COARSE), feature_map, table)[:, 0] for table in "AB")
    return lower_bound_on_epsilon(a, b, COARSE.delta)


@pytest.mark.filterwarnings("ignore:delta = 0.05 is not below 1/N")
def test_epsilon_keeps_its_promise() -> None:
    assert 0.1 < epsilon_of(SystemNoise()) <= COARSE.epsilon


@pytest.mark.filterwarnings("ignore:delta = 0.05 is not below 1/N")
def test_epsilon_convicts_too_little_noise() -> None:
    assert epsilon_of(QuietNoise(0.5)) > COARSE.epsilon


# Add-remove: the row is there or not, and the count is released as well.

ADD_REMOVE = Privacy(epsilon=10.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
RUNS = 6000


@final
@dataclass
class BulkNoise:
    """Noise drawn in bulk from another source and handed out in slices: most of a small draw's time is overhead."""

    source: NoiseSource
    private: bool = True
    stock: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    scale: float = 0.0
    laplace = noisy_max = SystemNoise.laplace

    def gaussian(self, scale: float, size: int) -> Integers:
        if scale != self.scale or len(self.stock) < size:
            self.scale, self.stock = scale, self.source.gaussian(scale, 4 * RUNS)
        drawn, self.stock = self.stock[:size], self.stock[size:]
        return drawn


def add_remove_bound(source: NoiseSource) -> float:
    feature_map, noise, opened = OneHot(categories=2), BulkNoise(source), open_filter(ADD_REMOVE, 3)
    worlds = []
    for cells in ((1, 1), (1, 1, 0)):
        exact = ExactEmbedding.of(categories(*cells), feature_map)
        runs = (PrivacyFilter(opened.privacy, opened.total, opened.receipt) for _ in range(RUNS))
        seen = [exact.privatise(budget, noise=noise).measurement.values for budget in runs]
        worlds.append(np.array(seen) @ np.array([[1.0], [0.0], [1.0]]))  # the row's own category, and the count
    return lower_bound_on_mu(*worlds)


def test_a_row_that_is_there_or_not_keeps_its_promise() -> None:
    assert 0.8 * claimed_mu(ADD_REMOVE) <= add_remove_bound(SystemNoise()) <= claimed_mu(ADD_REMOVE)


def test_a_count_left_out_of_the_sensitivity_is_convicted() -> None:
    """Noise for the row's features alone is too small by √2."""
    assert add_remove_bound(QuietNoise(math.sqrt(0.5))) > claimed_mu(ADD_REMOVE)
