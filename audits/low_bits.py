"""Attacks on the low bits of noisy numbers, from the literature: each succeeds on the textbook's floats.

In both, the true value is a count of 0 or of 1, protected at ε = 1, and the attacker looks at nothing but how the
published number is written.
"""

import math
from typing import Any

import numpy as np
from scipy import stats

from audits.attacker import ALARM, epsilon_bound, judged
from audits.case import Case, Effort, Verdict
from audits.mechanisms import COUNT, open_budget, promise
from kernelease.arrays import Floats
from kernelease.privacy import Measurement, SystemNoise
from kernelease.privacy.calibration import gaussian_mu
from kernelease.privacy.mechanisms import measure
from tests.attacks import naive

EPSILON, DELTA = 1.0, 1e-6
_NEARBY = np.arange(-4, 5)


def product(value: int, trials: int, *, delta: float) -> Measurement:
    """The product's noisy counts, Gaussian or (δ = 0) Laplace."""
    privacy = promise(EPSILON, delta)
    exact = np.full(trials, value, dtype=object)
    budget = open_budget(privacy, trials)
    return measure(exact, COUNT, budget=budget, share=1.0, noise=SystemNoise(), label="an attack")


# Porous noise.


def reachable(published: Floats, scale: float) -> Floats:
    """Whether some uniform double u gives ±scale·ln u = the number: 1 or 0. The textbook's sampler reaches no other."""
    steps = np.rint(np.exp(-np.abs(published) / scale) * 2.0**53)[:, None] + _NEARBY
    candidates = np.clip(steps, 1.0, 2.0**53) * 2.0**-53
    return (scale * -np.log(candidates) == np.abs(published)[:, None]).any(axis=1).astype(np.float64)


def porous(effort: Effort) -> Verdict:
    """The attacker asks whether a count of 0 could have given this number."""
    trials, generator = 4_000 if effort is Effort.FAST else 50_000, np.random.default_rng()

    def bound(samples: list[Floats], scale: float) -> float:
        return epsilon_bound(*(1.0 - reachable(sample, scale) for sample in samples))

    measured = [product(value, trials, delta=0.0) for value in (0, 1)]
    textbook = [naive.laplace(value, 1.0 / EPSILON, trials, generator) for value in (0, 1)]
    return judged(
        trials=2 * trials,
        claim=EPSILON,
        real=bound([each.values for each in measured], measured[0].step.scale),
        twins={"ln u in doubles": bound(textbook, 1.0 / EPSILON)},
        symbol="ε",
    )


# Precision.


def lowest_bit(published: Floats) -> Floats:
    """The exponent of the lowest bit that is set; 0 counts as having none below 2⁰."""
    mantissas, exponents = np.frexp(published)
    whole = np.abs(mantissas * 2.0**53).astype(np.int64)
    trailing = np.log2((whole & -whole).clip(1).astype(np.float64))
    return np.where(whole == 0, 0.0, exponents - 53 + trailing)


def precision(effort: Effort) -> Verdict:
    """The attacker looks at the exponent of the lowest bit."""
    trials, generator = 8_000 if effort is Effort.FAST else 50_000, np.random.default_rng()
    sigma = 1.0 / gaussian_mu(EPSILON, DELTA)
    measured = [product(value, trials, delta=DELTA).values for value in (0, 1)]
    textbook = [naive.gaussian(value, sigma, trials, generator) for value in (0, 1)]
    return judged(
        trials=2 * trials,
        claim=EPSILON,
        real=epsilon_bound(*(lowest_bit(sample) for sample in measured), delta=DELTA),
        twins={"a normal double added": epsilon_bound(*(lowest_bit(sample) for sample in textbook), delta=DELTA)},
        symbol="ε",
    )


# Histograms of low bits.


def low_bits(integers: Any) -> Floats:
    """How often each value of the last four bits occurs."""
    return np.bincount([int(integer) & 15 for integer in integers], minlength=16)


def same_histogram(first: Floats, second: Floats) -> float:
    """The p-value of a χ² test of two histograms. It is below ALARM once in 1/ALARM times where they are the same."""
    seen = (first + second) > 0
    if seen.sum() == 1:
        return 1.0
    return float(stats.chi2_contingency(np.stack([first[seen], second[seen]])).pvalue)


def histograms(effort: Effort) -> Verdict:
    """The attacker counts last bits."""
    trials, generator = 20_000 if effort is Effort.FAST else 200_000, np.random.default_rng()
    measured = [low_bits(product(value, trials, delta=DELTA).integers) for value in (0, 1)]
    unit = 2.0**53  # the textbook's number in the finest steps that a value near 1 can have
    textbook = [
        low_bits(np.floor(naive.gaussian(value, 1.0, trials, generator).clip(-0.4, 0.4) * 8 * unit)) for value in (0, 1)
    ]
    real, twin = same_histogram(*measured), same_histogram(*textbook)
    return Verdict(
        trials=2 * trials,
        holds=real > ALARM,
        measured=f"last four bits of counts 0 and 1: p = {real:.2g}",
        twin=f"doubles: p = {twin:.2g}",
        twin_caught=twin < ALARM,
    )


def on_the_grid(effort: Effort) -> Verdict:
    """Every published number is an integer times a step that depends on public things alone."""
    trials, generator = 1_000 if effort is Effort.FAST else 20_000, np.random.default_rng()
    first, second = (product(value, trials, delta=DELTA) for value in (0, 1))

    def off(numbers: Floats, bits: int) -> int:
        return int(sum(not math.ldexp(number, bits).is_integer() for number in numbers.tolist()))

    real = off(first.values, first.step.bits) + off(second.values, first.step.bits)
    twin = off(naive.gaussian(0.0, first.step.scale, trials, generator), first.step.bits)
    return Verdict(
        trials=2 * trials,
        holds=real == 0 and first.step.bits == second.step.bits and first.step.scale == second.step.scale,
        measured=f"{real} numbers are not multiples of 2^−{first.step.bits}",
        twin=f"doubles: {twin} of {trials} are not",
        twin_caught=twin > 0,
    )


CASES = (
    Case(
        name="porous noise (Mironov 2012)",
        kind="attack",
        claim="Which numbers can come out does not depend on the true value.",
        run=porous,
    ),
    Case(
        name="precision of noise (Haney et al. 2022)",
        kind="attack",
        claim="How precisely a published number is written does not depend on the true value.",
        run=precision,
    ),
    Case(
        name="histograms of low bits",
        kind="attack",
        claim="The last bits of published integers have one law, whatever the true value.",
        run=histograms,
    ),
    Case(
        name="published numbers lie on a public grid",
        kind="attack",
        claim="Every noisy number is an integer times a step that is fixed before any row is read.",
        run=on_the_grid,
    ),
)
