"""White-box audits of each mechanism: the attacker sees the noisy numbers themselves, around the worst neighbours.

A vector of n counts holds n experiments at once: each count is one higher in world B than in world A, and the noise is
calibrated to one such step, as if the others were not there.
"""

import math
from functools import partial

import numpy as np

from audits.attacker import claimed_mu, curve_mu_bound, epsilon_bound, epsilon_of, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.twins import CoarseNoise, QuietNoise
from kernelease.arrays import Floats
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import Loss, Neighbours, NoiseSource, Privacy, PrivacyFilter, Sensitivity
from kernelease.privacy.mechanisms import measure, select
from kernelease.privacy.noise import SystemNoise
from kernelease.privacy.sensitivity import ROWS, block_sensitivity

COUNT = block_sensitivity(Neighbours.ADD_REMOVE)  # one row more or less in one count
SHORT = Sensitivity(l2=COUNT.l2 / math.sqrt(2.0), l1=COUNT.l1 / math.sqrt(2.0), neighbours=COUNT.neighbours)


def promise(epsilon: float, delta: float = 0.0) -> Privacy:
    """Under add-remove, the relation of `COUNT`."""
    return Privacy(epsilon=epsilon, delta=delta, neighbours=Neighbours.ADD_REMOVE)


def open_budget(privacy: Privacy, coordinates: int) -> PrivacyFilter:
    """A filter on books of its own, whose cap is exactly what it asks for."""
    return PrivacyFilter.open(
        privacy, ledger=MemoryLedger(privacy), subject=ROWS, coordinates=coordinates, purpose="an audit"
    )


def two_worlds(
    budget: PrivacyFilter, trials: int, *, noise: NoiseSource, sensitivity: Sensitivity = COUNT
) -> tuple[Floats, Floats]:
    """`trials` noisy counts of 0, and as many of 1."""
    worlds = (np.full(trials, count, dtype=object) for count in (0, 1))
    totals = (PrivacyFilter(budget.privacy, budget.total, budget.receipt) for _ in range(2))
    a, b = (
        measure(exact, sensitivity, budget=total, share=1.0, noise=noise, label="an audit").values
        for exact, total in zip(worlds, totals, strict=True)
    )
    return a, b


# Gaussian noise.


def gaussian(effort: Effort, *, epsilon: float, trials: dict[Effort, int], quiet: dict[Effort, float]) -> Verdict:
    """The bound on μ for normal scores, as an ε at the promised δ."""
    privacy, n = promise(epsilon, 1e-6), trials[effort]
    budget, loud = open_budget(privacy, n), quiet[effort]

    def bound(noise: NoiseSource, sensitivity: Sensitivity = COUNT) -> float:
        mu = normal_mu_bound(*two_worlds(budget, n, noise=noise, sensitivity=sensitivity))
        return epsilon_of(mu, privacy.delta)

    return judged(
        trials=2 * n,
        claim=epsilon,
        real=bound(SystemNoise()),
        twins={
            f"σ too small by {1 - loud:.0%}": bound(QuietNoise(loud, source=SystemNoise())),
            "Δ off by √2": bound(SystemNoise(), SHORT),
        },
        symbol="ε",
        sharp=0.6 if epsilon == 1.0 and effort is Effort.FAST else 0.8,
    )


def any_law(effort: Effort) -> Verdict:
    """Without assuming that the noise is normal: a coarse grid has the right variance and the wrong law."""
    privacy, n = promise(10.0, 1e-6), 12_000 if effort is Effort.FAST else 100_000
    budget = open_budget(privacy, n)
    bits = measure(
        np.zeros(1, dtype=object),
        COUNT,
        budget=open_budget(privacy, 1),
        share=1.0,
        noise=SystemNoise(),
        label="its grid",
    ).step.bits

    def bound(noise: NoiseSource) -> float:
        return curve_mu_bound(*two_worlds(budget, n, noise=noise))

    return judged(
        trials=2 * n,
        claim=claimed_mu(privacy),
        real=bound(SystemNoise()),
        twins={"noise on the grid of the counts, without τ": bound(CoarseNoise(bits))},
        symbol="μ",
        sharp=0.8,
    )


def large_epsilon(effort: Effort) -> Verdict:
    """ε = 10 at δ = 0.01, where the classic σ is 12 % too small."""
    privacy, n = promise(10.0, 0.01), 8_000 if effort is Effort.FAST else 50_000
    budget = open_budget(privacy, n)
    classic = Loss.gaussian(privacy.epsilon / math.sqrt(2 * math.log(1.25 / privacy.delta)), tau=budget.total.tau)
    unproved = PrivacyFilter(privacy, classic, budget.receipt)
    return judged(
        trials=2 * n,
        claim=claimed_mu(privacy),
        real=normal_mu_bound(*two_worlds(budget, n, noise=SystemNoise())),
        twins={"the classic σ": normal_mu_bound(*two_worlds(unproved, n, noise=SystemNoise()))},
        symbol="μ",
        sharp=0.8,
    )


# Laplace noise.


def laplace(effort: Effort) -> Verdict:
    """The best threshold on a noisy count."""
    privacy, n = promise(2.0), 10_000 if effort is Effort.FAST else 100_000
    budget = open_budget(privacy, n)

    def bound(sensitivity: Sensitivity) -> float:
        return epsilon_bound(*two_worlds(budget, n, noise=SystemNoise(), sensitivity=sensitivity))

    return judged(
        trials=2 * n,
        claim=privacy.epsilon,
        real=bound(COUNT),
        twins={"Δ₁ off by √2": bound(SHORT)},
        symbol="ε",
        sharp=0.7,
    )


# Selection.

CROWD = 10  # candidates that rise together while one falls: the normaliser moves too, so the loss is nearly ε


def chosen(scores: list[int], privacy: Privacy, trials: int, noise: NoiseSource) -> Floats:
    """Whether the first candidate was not chosen, per trial: the attacker's score."""
    opened = open_budget(privacy, 1)
    picks = (
        select(
            scores,
            1,
            budget=PrivacyFilter(privacy, opened.total, opened.receipt),
            share=1.0,
            noise=noise,
            label="an audit",
        ).index
        for _ in range(trials)
    )
    return np.array([float(pick != 0) for pick in picks])


def selection(effort: Effort) -> Verdict:
    """One candidate falls while a crowd rises."""
    privacy, n = promise(3.0), 4_000 if effort is Effort.FAST else 12_000

    def bound(noise: NoiseSource) -> float:
        return epsilon_bound(*(chosen(s, privacy, n, noise) for s in ([1] + [0] * CROWD, [0] + [1] * CROWD)))

    return judged(
        trials=2 * n,
        claim=privacy.epsilon,
        real=bound(SystemNoise()),
        twins={"no factor 2 in the exponent": bound(QuietNoise(0.5, source=SystemNoise()))},
        symbol="ε",
        sharp=0.4,
    )


def selection_price(effort: Effort) -> Verdict:
    """Two candidates that change places. The price in μ is the product's own; the twin's is √(2ρ), ρ = ε²/8."""
    privacy, n = promise(4.0), 8_000 if effort is Effort.FAST else 15_000
    a, b = (chosen(scores, privacy, n, SystemNoise()) for scores in ([1, 0], [0, 1]))
    real, price, naive = curve_mu_bound(a, b), open_budget(privacy, 1).total.mu, privacy.epsilon / 2
    return Verdict(
        trials=2 * n,
        holds=real <= price,
        measured=f"μ ≥ {real:.3g}, charged {price:.3g}",
        twin=f"charged μ = √(2ρ) = {naive:.3g}",
        twin_caught=real > naive,
    )


CASES = (
    Case(
        name="Gaussian noise, ε = 10",
        kind="audit",
        claim="A noisy count is (10, 10⁻⁶)-DP, and the bound shows that the noise is not larger than it has to be.",
        run=partial(
            gaussian,
            epsilon=10.0,
            trials={Effort.FAST: 6_000, Effort.FULL: 60_000},
            quiet={Effort.FAST: 0.9, Effort.FULL: 0.9},
        ),
    ),
    Case(
        name="Gaussian noise, ε = 1",
        kind="audit",
        claim="The same at ε = 1, where an attacker sees less and more trials are needed.",
        run=partial(
            gaussian,
            epsilon=1.0,
            trials={Effort.FAST: 30_000, Effort.FULL: 250_000},
            quiet={Effort.FAST: 0.5, Effort.FULL: 0.9},
        ),
    ),
    Case(
        name="Gaussian noise, its law",
        kind="audit",
        claim="The trade-off curve of discrete noise is the continuous one: the grid is fine, and τ pays for it.",
        run=any_law,
    ),
    Case(
        name="Gaussian noise beyond ε = 1",
        kind="audit",
        claim="σ is right for every ε; the classic formula is refused where it is not proved.",
        run=large_epsilon,
    ),
    Case(
        name="Laplace noise",
        kind="audit",
        claim="With δ = 0 a noisy count is ε-DP.",
        run=laplace,
    ),
    Case(
        name="exponential mechanism",
        kind="audit",
        claim="A selection is ε-DP, also where all other candidates' scores move together.",
        run=selection,
    ),
    Case(
        name="price of a selection",
        kind="audit",
        claim="A selection beside Gaussian steps is charged a μ that its trade-off curve keeps.",
        run=selection_price,
    ),
)
