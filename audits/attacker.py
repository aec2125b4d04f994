"""The attacker's statistics: from scores in two neighbouring worlds to what is proved about μ or ε.

World A holds one table, world B its neighbour. The attacker knows both and has a score for each output, large where B
is likelier. Every bound below is a lower confidence bound: it passes the truth with probability at most `ALARM`. A
bound above the claim convicts the mechanism.
"""

import math
from collections.abc import Callable

import dp_accounting
import numpy as np
from scipy import stats
from scipy.special import nctdtrinc

from audits.case import Verdict
from kernelease.arrays import Floats
from kernelease.privacy import Privacy

ALARM = 1e-6
_CUTS = 200  # thresholds among which one is chosen, on data that is not used again


def claimed_mu(privacy: Privacy) -> float:
    """μ of (ε, δ), from dp_accounting, so that the claim does not rest on the code that is audited."""
    return 1.0 / float(dp_accounting.get_sigma_gaussian(privacy.epsilon, privacy.delta))


def epsilon_of(mu: float, delta: float) -> float:
    """ε at δ of a Gaussian with μ, from dp_accounting too."""
    return float(dp_accounting.get_epsilon_gaussian(1.0 / mu, delta)) if mu > 0.0 else 0.0


def normal_mu_bound(a: Floats, b: Floats) -> float:
    """On μ, for scores that are normal with one variance: exact, since Student's statistic is then noncentral t.

    A score without any spread that still tells the worlds apart proves every μ, and so does an infinite one.
    """
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return math.inf
    spread = math.sqrt((a.var(ddof=1) * (len(a) - 1) + b.var(ddof=1) * (len(b) - 1)) / (len(a) + len(b) - 2))
    gap = float(b.mean() - a.mean())
    if spread <= 1e-12 * abs(gap):
        return math.inf if gap else 0.0
    error = math.sqrt(1.0 / len(a) + 1.0 / len(b))
    statistic = gap / spread / error
    if statistic <= 0.0:
        return 0.0
    return max(0.0, float(nctdtrinc(len(a) + len(b) - 2, 1.0 - ALARM, statistic)) * error)


def miss_rate(claim: float, truth: float, trials: int) -> float:
    """How often `normal_mu_bound` fails to pass the claim where the truth lies above it, with `trials` per world.

    The estimate of μ has variance (2 + μ²/4)/n.
    """
    deviation = math.sqrt((2.0 + truth * truth / 4.0) / trials)
    return float(stats.norm.sf((truth - claim) / deviation - stats.norm.isf(ALARM)))


def curve_mu_bound(a: Floats, b: Floats) -> float:
    """On μ, for scores of any law: a point below the trade-off curve of N(0, 1) against N(μ, 1) refutes μ.

    The threshold is chosen on one half; Clopper–Pearson bounds on both error rates, each at ALARM/2, come from the
    other.
    """

    def mu_at(false_alarms: float, misses: float) -> float:
        return float(stats.norm.isf(false_alarms) + stats.norm.isf(misses))

    return max(0.0, _best(a, b, lambda alarms, hits: mu_at(alarms, 1.0 - hits), ALARM))


def epsilon_bound(a: Floats, b: Floats, delta: float = 0.0) -> float:
    """On ε, for scores of any law: (ε, δ)-DP requires P_B(S) ≤ e^ε·P_A(S) + δ for every set S of outputs."""

    def epsilon_at(alarms: float, hits: float) -> float:
        return math.log((hits - delta) / alarms) if hits > delta and alarms > 0.0 else -math.inf

    return max(0.0, _best(a, b, epsilon_at, ALARM / 2), _best(-b, -a, epsilon_at, ALARM / 2))


def _best(a: Floats, b: Floats, gain: Callable[[float, float], float], alarm: float) -> float:
    """`gain` of bounds on P_A(score > t) from above and P_B(score > t) from below, at the threshold t that looks best.

    The threshold comes from one half, where rates are shrunk a little so that no rate of 0 looks infinitely good.
    """
    half_a, half_b = len(a) // 2, len(b) // 2
    seen = np.unique(np.concatenate([a[:half_a], b[:half_b]]))
    cuts = seen if len(seen) <= _CUTS else np.quantile(seen, np.linspace(0.0, 1.0, _CUTS), method="nearest")

    def at(cut: float, some_a: Floats, some_b: Floats) -> float:
        alarms, hits = int((some_a > cut).sum()), int((some_b > cut).sum())
        return gain(rate_above(alarms, len(some_a), alarm / 2), rate_below(hits, len(some_b), alarm / 2))

    best = max(cuts, key=lambda cut: at(cut, a[:half_a], b[:half_b]))
    return at(best, a[half_a:], b[half_b:])


def rate_above(successes: int, trials: int, alarm: float) -> float:
    """The Clopper–Pearson upper bound on a probability; below the truth with probability at most `alarm`."""
    return 1.0 if successes == trials else float(stats.beta.isf(alarm, successes + 1, trials - successes))


def rate_below(successes: int, trials: int, alarm: float) -> float:
    """The Clopper–Pearson lower bound on a probability; above the truth with probability at most `alarm`."""
    return 0.0 if successes == 0 else float(stats.beta.ppf(alarm, successes, trials - successes + 1))


def judged(
    *, trials: int, claim: float, real: float, twins: dict[str, float], symbol: str, sharp: float = 0.0
) -> Verdict:
    """The verdict on a bound: at most the claim, at least `sharp` times it, and each twin's bound above the claim."""
    return Verdict(
        trials=trials,
        holds=sharp * claim <= real <= claim,
        measured=f"{symbol} ≥ {real:.3g}, claimed {claim:.3g}",
        twin="; ".join(f"{name}: {symbol} ≥ {bound:.3g}" for name, bound in twins.items()),
        twin_caught=all(bound > claim for bound in twins.values()) if twins else None,
    )
