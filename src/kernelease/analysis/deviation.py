"""How far a number is spread: its variance and its standard deviation."""

import math
from dataclasses import replace

import numpy as np

from kernelease.analysis.estimands import numbers_of
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.products import Product, ProductSource, Term, covariance_of, number_term, present_term, product
from kernelease.arrays import Floats


def standard_deviation(evidence: Evidence, name: str) -> Estimate:
    """That of a column of numbers, over the rows that have one."""
    return replace(variance(evidence, name).sqrt(), about=f"standard deviation of {name}")


def variance(evidence: Evidence, name: str) -> Estimate:
    """E[x²] − E[x]² of a column of numbers, over the rows that have one."""
    return mean_and_variance(evidence, name)[1]


def mean_and_variance(evidence: Evidence, name: str) -> tuple[Estimate, Estimate]:
    """Both from the same sums: of the rows that have a number, of the number, and of its square.

    A number that may be off by u, a root mean square, moves the mean and the standard deviation by at most u.
    """
    term = number_term(evidence, evidence.numeric(name, "standard deviation", ("integer", "number")))
    assert term.column is not None  # numbers are of a column
    marginal = max(evidence.marginals((term.column,)), key=lambda one: one.size)
    known = present_term(evidence, term)
    flags = [] if known is None else [known]
    sums = [product(evidence, [*numbers, *flags], marginal) for numbers in ([], [term], [term, term])]
    rows, first, second = (one.value for one in sums)
    rows = max(rows, 1.0)
    mean = first / rows
    value = max(0.0, second / rows - mean**2)
    away, off = sums[1].bias / rows, sums[2].halves.get(term.column, 0.0)
    low, high = float((term.middle - term.half).min()), float((term.middle + term.half).max())

    def estimate(about: str, value: float, slopes: list[float], bias: float, within: tuple[float, float]) -> Estimate:
        gradient = np.array(slopes) / rows
        drawn = _sampling(evidence, term, marginal, gradient) if evidence.target is Target.POPULATION else 0.0
        return Estimate.normal(
            value,
            noise=_noise(evidence, sums, gradient),
            sampling=math.sqrt(drawn),
            bias=bias,
            within=within,
            target=evidence.target,
            about=f"{about} of {name}",
            source=ProductSource(evidence=evidence, terms=tuple(zip(gradient.tolist(), sums, strict=True)))
            if evidence.target is Target.TABLE
            else None,
        )

    ends = term.centre + low, term.centre + high
    middle = estimate("mean", term.centre + mean, [-mean, 1.0, 0.0], away + off, ends)
    bias = sums[2].bias / rows + (2.0 * abs(mean) + away) * away + (2.0 * math.sqrt(value) + off) * off
    slopes = [2.0 * mean**2 - second / rows, -2.0 * mean, 1.0]
    return middle, estimate("variance", value, slopes, bias, (0.0, (high - low) ** 2 / 4.0))


def _noise(evidence: Evidence, sums: list[Product], gradient: Floats) -> float:
    """The standard deviation of a weighted sum of sums, by the noise of what was measured."""
    assert evidence.tabulated is not None  # the sums came from it
    covariance = covariance_of([[(1.0, one)] for one in sums], evidence.tabulated.sigmas)
    return math.sqrt(max(0.0, float(gradient @ covariance @ gradient)))


def _sampling(evidence: Evidence, term: Term, marginal: Marginal, gradient: Floats) -> float:
    """The variance over tables drawn from the population, by the synthetic rows or the cells."""
    if evidence.rows is None or evidence.weights is None or term.column is None:
        x, known = term.on(marginal.groups[0])[0], np.ones(marginal.size)
        return max(0.0, float(gradient @ marginal.sampling([known, x, x * x]) @ gradient))
    numbers = numbers_of(evidence.schema.columns[term.column], evidence.rows)
    known = (~np.isnan(numbers)).astype(np.float64)
    x = np.where(known > 0.0, numbers - term.centre, 0.0)
    shares = np.maximum(evidence.weights, 0.0) / np.maximum(evidence.weights, 0.0).sum()
    influence = gradient @ np.stack([known, x, x * x])
    return evidence.total * float(shares @ (influence - shares @ influence) ** 2)
