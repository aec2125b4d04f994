"""Tests by few numbers that a release measures well: the mean of each ordered column, the share of each category.

A kernel sees every kind of difference, and pays for it in power where the difference is the plainest one. Under the
hypothesis any function of the cells has the same mean on both sides, wherever in its cell a number lies: so a score for
each cell has no bias, and its noise, from all blocks together, is known. Each column (or pair) has a χ² of its few
scores; the least p is multiplied by how many there are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtr
from scipy.stats import chi2

from kernelease.analysis.comparisons.sample import SampleRows
from kernelease.analysis.estimate import Target
from kernelease.analysis.marginal import Marginal, tabulation
from kernelease.analysis.views import common_coarsening
from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import NoisyBlocks
from kernelease.table.columns.column import Column
from kernelease.table.schema import Schema

_SMALL = 0.1  # of a variance: so much more of it goes unnoticed
MOST_SCORES = 24  # of a column or a pair: with more, a kernel sees as well


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Numbers that are 0 on average under the hypothesis, and the covariance of their errors: (k,), (k, k)."""

    values: Floats
    covariance: Floats
    laplace: bool = False  # Laplace noise

    @property
    def p_value(self) -> float:
        """By χ²; under Laplace noise by each number on its own, with the longer tails of a single such variable."""
        deviations = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        clear = deviations > 0.0
        if not clear.any():
            return 1.0
        standard = self.values[clear] / deviations[clear]
        if self.laplace:
            farthest = float(np.abs(standard).max())
            return min(1.0, len(standard) * max(2.0 * float(ndtr(-farthest)), math.exp(-math.sqrt(2.0) * farthest)))
        scaled = self.covariance[np.ix_(clear, clear)] / np.outer(deviations[clear], deviations[clear])
        roots, vectors = np.linalg.eigh(scaled)
        kept = roots > 1e-9 * roots[-1]
        squares = float(np.sum((vectors[:, kept].T @ standard) ** 2 / roots[kept]))
        return float(chi2.sf(squares, int(kept.sum())))


def least(found: Sequence[Scored]) -> float | None:
    """The least p-value of several, corrected for their number (Bonferroni); None where there is none."""
    return min(1.0, len(found) * min(one.p_value for one in found)) if found else None


def release_scores(
    one: NoisyBlocks, other: NoisyBlocks, columns: Sequence[Column], *, target: Target = Target.POPULATION
) -> float | None:
    """p of the hypothesis that two tables come from one distribution, by their columns' scores."""
    found = []
    for index, column in enumerate(columns):
        first, second = (_first(noisy, (index,)) for noisy in (one, other))
        if first is None or second is None:
            continue
        ours, theirs = common_coarsening(first.groups[0], second.groups[0])
        scores = _scores(column, ours[first.groups[0]])
        if 0 < len(scores) <= MOST_SCORES:
            # The noise of the pooled counts is independent of that of the difference, if pooled by precision.
            sides = [(first, np.asarray(ours)), (second, np.asarray(theirs))]
            precisions = [_rows(side) ** 2 / _variance(side) for side, _ in sides]
            parts = [p * np.bincount(c, side.shares) for (side, c), p in zip(sides, precisions, strict=True)]
            precision = sum(precisions)
            sampling = sum(1.0 / _rows(side) for side, _ in sides)
            damped = _damped(scores, np.asarray(np.sum(parts, axis=0) / precision), 1.0 / precision, sampling)
            means = [_side(side, damped[:, cells], target) for side, cells in sides]
            found.append(
                Scored(
                    values=means[0][0] - means[1][0],
                    covariance=means[0][1] + means[1][1],
                    laplace=first.laplace or second.laplace,
                )
            )
    return least(found)


def sample_scores(
    noisy: NoisyBlocks, columns: Sequence[Column], sample: SampleRows, *, target: Target = Target.POPULATION
) -> float | None:
    """p of the hypothesis that a sample comes from the distribution of the private table."""
    found = []
    for index, column in enumerate(columns):
        marginal = _first(noisy, (index,))
        if marginal is None or (sample.columns is not None and index not in sample.columns):
            continue
        scores, groups = _scores(column, marginal.groups[0]), marginal.groups[0]
        if 0 < len(scores) <= MOST_SCORES:
            cells = groups[sample.rows[:, index].astype(np.intp)]
            shares = np.bincount(cells, minlength=marginal.size) / len(cells)
            rate = 1.0 / sample.units + (1.0 / noisy.rows if target is Target.POPULATION else 0.0)
            damped = _damped(scores, shares, _variance(marginal) / _rows(marginal) ** 2, rate)
            values, noise = _side(marginal, damped, Target.TABLE)
            theirs = _persons(sample, damped[:, cells])
            spread = np.atleast_2d(np.cov(theirs)) if theirs.shape[1] > 1 else np.zeros_like(noise)
            difference = values - theirs.mean(axis=1)
            found.append(Scored(values=difference, covariance=noise + rate * spread, laplace=marginal.laplace))
    return least(found)


def dependence_scores(
    noisy: NoisyBlocks, schema: Schema, pair: tuple[int, int], *, target: Target = Target.POPULATION
) -> float | None:
    """p of the hypothesis that two columns are independent, by the products of their scores.

    Under it the counts are N·p·qᵀ. A function whose mean over either column is 0, by their shares, does not see errors
    of p and q but to second order. None where those are no longer small beside the first: shares are noise then.
    """
    marginal = _first(noisy, pair)
    if marginal is None:
        return None
    both = [_scores(schema.columns[index], groups) for index, groups in zip(pair, marginal.groups, strict=True)]
    if not 0 < len(both[0]) * len(both[1]) <= MOST_SCORES:
        return None
    joint = marginal.shares.reshape(marginal.shape)
    shares = [_distribution(joint.sum(axis=axis)) for axis in (1, 0)]
    centred = [part - (part @ share)[:, None] for part, share in zip(both, shares, strict=True)]
    expected = np.outer(*shares) * noisy.rows
    weight = expected / (expected + _variance(marginal))
    functions = [
        _both_ways_centred(weight * np.outer(one, other), shares).ravel() for one in centred[0] for other in centred[1]
    ]
    values, covariance = marginal.joint(functions)
    if target is Target.POPULATION:
        stacked = np.stack(functions)
        covariance = covariance + (stacked * expected.ravel()) @ stacked.T
    if np.any(_second_order(marginal, centred, noisy.rows) > _SMALL * np.diag(covariance)):
        return None
    return Scored(values=values, covariance=covariance, laplace=marginal.laplace).p_value


def _distribution(shares: Floats) -> Floats:
    positive = np.maximum(shares, 0.0)
    return np.asarray(positive / max(float(positive.sum()), 1e-300))


def _second_order(marginal: Marginal, centred: Sequence[Floats], rows: float) -> Floats:
    """Variances of N·(errors of one column's mean score)·(those of the other's), for all products of scores."""
    ones = [np.ones(size) for size in marginal.shape]
    each = [np.outer(score, ones[1]).ravel() for score in centred[0]]
    each += [np.outer(ones[0], score).ravel() for score in centred[1]]
    variances = np.diag(marginal.joint(each)[1])
    return np.outer(variances[: len(centred[0])], variances[len(centred[0]) :]).ravel() / rows**2


def _first(noisy: NoisyBlocks, columns: tuple[int, ...]) -> Marginal | None:
    """The marginal of the planned round; none where only blocks that were chosen in sight of the rows hold it."""
    planned = any(block.round == 0 and set(columns) <= set(block.block.columns) for block in noisy.blocks)
    return tabulation(noisy).marginals(columns)[0] if planned else None


def _scores(column: Column, groups: Integers) -> Floats:
    """Of each cell: (scores, cells), for the cell of each atom.

    The place in the range where there is an order, and for each value that has none whether it is that; of a category,
    for all but the last.
    """
    centres, cells = column.centres(), int(groups.max()) + 1
    placed = ~np.isnan(centres) if column.ordered else np.zeros(column.size, dtype=bool)
    scores = []
    if np.count_nonzero(placed) > 1:
        number = np.bincount(groups[placed], minlength=cells)
        mean = np.bincount(groups[placed], weights=centres[placed], minlength=cells) / np.maximum(number, 1)
        scores.append(np.where(number > 0, mean, float(centres[placed].mean())))
    others = np.unique(groups[~placed])
    kept = others if scores else others[:-1]
    scores += [(np.arange(cells) == cell).astype(np.float64) for cell in kept]
    return np.array(scores).reshape(len(scores), cells)


def _damped(scores: Floats, shares: Floats, noise: float, sampling: float) -> Floats:
    """Scores that count in proportion to how well a cell is known: p·sampling / (p·sampling + noise) for its share p.

    That is the best weight for a small shift where noise and sampling are independent between cells: cells that hold
    noise alone should not speak. Shares are smoothed over neighbours first.
    """
    width = max(1.0, len(shares) / 16.0)
    places = np.arange(len(shares))
    window = np.exp(-0.5 * ((places[:, None] - places) / width) ** 2)
    smooth = np.maximum(window @ shares / window.sum(axis=1), 0.0) * sampling
    weight = smooth / (smooth + noise) if noise > 0.0 else np.ones_like(smooth)
    centre = scores @ (shares / max(float(shares.sum()), 1e-300))
    return np.asarray((scores - centre[:, None]) * weight)


def _both_ways_centred(function: Floats, shares: Sequence[Floats]) -> Floats:
    """Less its means over either column, by their shares: (cells, cells)."""
    rows, columns = function @ shares[1], shares[0] @ function
    return np.asarray(function - rows[:, None] - columns + float(shares[0] @ rows))


def _variance(marginal: Marginal) -> float:
    """About the noise of a cell's count."""
    return float(marginal.variances().mean())


def _rows(marginal: Marginal) -> float:
    return marginal.total or max(1.0, float(marginal.counts.sum()))


def _side(marginal: Marginal, functions: Floats, target: Target) -> tuple[Floats, Floats]:
    """The means of scores on one side, with the covariance of their errors: (k,), (k, k)."""
    centre = functions @ marginal.shares
    centred = list(functions - centre[:, None])  # so that a noisy number of rows does not matter
    values, covariance = marginal.joint(centred)
    if target is Target.POPULATION:
        covariance = covariance + marginal.sampling(centred)
    rows = _rows(marginal)
    return values / rows + centre, covariance / rows**2


def _persons(sample: SampleRows, scores: Floats) -> Floats:
    """The average score of each person's rows: (scores, persons)."""
    number = np.bincount(sample.persons, minlength=sample.units)
    return np.array([np.bincount(sample.persons, weights=part, minlength=sample.units) / number for part in scores])
