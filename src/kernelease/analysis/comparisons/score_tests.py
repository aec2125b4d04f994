"""Tests by few numbers that a release measures well: the mean of each ordered column, the share of each category.

A kernel sees every kind of difference, and pays for it in power where the difference is the plainest one. Under the
hypothesis any function of the cells has the same mean on both sides, wherever in its cell a number lies: so a score for
each cell has no bias, and its noise, from all blocks together, is known. Each column (or pair) has a χ² of its few
scores; the least p is multiplied by how many there are.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.special import chdtrc, ndtr, ndtri

from kernelease.analysis.comparisons.tables import SampleRows
from kernelease.analysis.estimate import Target
from kernelease.analysis.inference import combined_p
from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import DENSE, Marginal, MeasuredMarginal, tabulation
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.offsets import levels_of
from kernelease.measured.views import common_coarsening
from kernelease.table.columns.column import Column
from kernelease.table.schema import Schema

Flags: TypeAlias = NDArray[np.bool_]
MAIN = 0.85  # weight of the main scores of a column or a pair, where it has others
_SMALL = 0.25  # of a variance: with so little of products of errors in a sum, its law is still near the normal one
_NEGLIGIBLE = 1e-2  # of the largest singular value of a function of two columns
_NOBODY = 1e-6  # rows of a cell that holds none
_RIDGE = 1e-9  # of the largest variance: cells that hold nobody, without noise, have none of their own
_FAR = 6.0  # standard deviations: the score of a cell at either end that holds nobody
MOST_SCORES = 24  # of a column or a pair: with more, a kernel sees as well


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Numbers that are 0 on average under the hypothesis, and the covariance of their errors: (k,), (k, k).

    `main` marks those that an analyst would ask for first. They weigh most: whether a value is NULL takes little power
    from where in the range it is.
    """

    values: Floats
    covariance: Floats
    main: Flags
    laplace: bool = False  # Laplace noise

    @property
    def p_value(self) -> float:
        """Of both parts, by a mean in which the main one weighs most; the whole where there is one part only."""
        if self.main.all() or not self.main.any():
            return self._p_of(np.ones_like(self.main))
        return combined_p(self._p_of(self.main), self._p_of(~self.main), MAIN)

    def _p_of(self, chosen: Flags) -> float:
        """The p-value by χ²; under Laplace noise by each number alone, with the longer tails of that law."""
        deviations = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        clear = chosen & (deviations > 0.0)
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
        return float(chdtrc(int(kept.sum()), squares))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Scores of a column's cells, (scores, cells), and which of them are the main ones: (scores,).

    `places` are those of the cells in the range, NaN where one has none; None where the column has no order.
    """

    values: Floats
    main: Flags
    places: Floats | None

    def __len__(self) -> int:
        return len(self.values)

    def sharpest(self, shares: Floats, noise: Floats, rate: float) -> Floats:
        """V⁻¹·(p∘(s − s̄)) for each score s: what sees a small shift by it best, of all functions of the cells.

        Such a shift moves the shares p by p∘(s − s̄); V is the covariance of their errors, by noise and by sampling
        at a `rate` of one over rows: (cells, cells), or (cells,) where the noise of each cell is all that is known.
        """
        smooth = np.maximum(shares if self.places is None else _smooth(shares, self.places), 0.0)
        likely = _distribution(smooth)
        shifts = likely * _centre(self.values, likely)
        if noise.ndim == 1:
            return np.asarray(shifts / np.maximum(rate * likely + noise, 1e-300))
        errors = noise + rate * (np.diag(likely) - np.outer(likely, likely))
        scale = max(float(np.diagonal(errors).max()), 1e-300)
        errors = errors / scale + np.eye(len(likely)) * _RIDGE + 1.0 / len(likely)  # shifts add up to 0
        return np.asarray(np.linalg.solve(errors, shifts.T).T)

    def by_rank(self, shares: Floats) -> Floats:
        """With normal scores in place of places: of a cell that holds the ranks from a to b, E[Z | a < Φ(Z) ≤ b].

        They do not care how skewed a column is, nor how wide its outermost cells are. Cells without a place have 0.
        """
        if self.places is None:
            return self.values
        placed = np.flatnonzero(~np.isnan(self.places))
        order = placed[np.argsort(self.places[placed], kind="stable")]
        parts = _distribution(shares[order])
        ends = ndtri(np.clip(np.append(0.0, np.cumsum(parts)), 0.0, 1.0))
        heights = np.exp(-0.5 * ends**2) / math.sqrt(2.0 * math.pi)
        ranked = np.zeros(len(shares))
        ranked[order] = np.divide(-np.diff(heights), parts, out=ends[1:].clip(-_FAR, _FAR), where=parts > 0.0)
        return np.vstack([ranked, self.values[1:]])


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
            noise = np.sum([_share_noise(side, cells) for side, cells in sides], axis=0)
            sampling = sum(1.0 / _rows(side) for side, _ in sides)
            functions = scores.sharpest(np.sum(parts, axis=0) / sum(precisions), noise, sampling)
            means = [_side(side, functions[:, cells], target) for side, cells in sides]
            found.append(
                Scored(
                    values=means[0][0] - means[1][0],
                    covariance=means[0][1] + means[1][1],
                    main=scores.main,
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
            functions = scores.sharpest(shares, _share_noise(marginal, np.arange(marginal.size)), rate)
            values, noise = _side(marginal, functions, Target.TABLE)
            theirs = _persons(sample, functions[:, cells])
            spread = np.atleast_2d(np.cov(theirs)) if theirs.shape[1] > 1 else np.zeros_like(noise)
            difference = values - theirs.mean(axis=1)
            found.append(
                Scored(values=difference, covariance=noise + rate * spread, main=scores.main, laplace=marginal.laplace)
            )
    return least(found)


def dependence_scores(
    noisy: NoisyBlocks, schema: Schema, pair: tuple[int, int], *, target: Target = Target.POPULATION
) -> float | None:
    """p of the hypothesis that two columns are independent, by the products of their scores.

    Under it the counts are N·p·qᵀ. A function whose mean over either column is 0, by their shares, does not see errors
    of p and q but to second order. None where those are not small beside the first: shares are noise then.
    """
    marginal = _first(noisy, pair)
    if marginal is None:
        return None
    both = [_scores(schema.columns[index], groups) for index, groups in zip(pair, marginal.groups, strict=True)]
    if not 0 < len(both[0]) * len(both[1]) <= MOST_SCORES:
        return None
    counts = marginal.counts.reshape(marginal.shape)  # sums of estimates are the estimates of sums: not cut at 0 before
    shares = [_distribution(counts.sum(axis=axis)) for axis in (1, 0)]
    centred = [_centre(part.by_rank(share), share) for part, share in zip(both, shares, strict=True)]
    expected, sampled = noisy.rows * np.outer(*shares), 1.0 if target is Target.POPULATION else 0.0
    functions = _sharpest_products(marginal, centred, shares, expected, sampled)
    values, covariance = marginal.joint([function.ravel() for function in functions])
    stacked = np.stack([function.ravel() for function in functions])
    covariance = covariance + sampled * (stacked * expected.ravel()) @ stacked.T
    second = _second_order(marginal, functions, noisy.rows)
    if np.any(np.diag(second) > _SMALL * np.diag(covariance)):
        return None
    main = np.outer(both[0].main, both[1].main).ravel()
    return Scored(values=values, covariance=covariance + second, main=main, laplace=marginal.laplace).p_value


def _centre(functions: Floats, shares: Floats) -> Floats:
    return np.asarray(functions - (functions @ shares)[:, None])


def _distribution(shares: Floats) -> Floats:
    positive = np.maximum(shares, 0.0)
    return np.asarray(positive / max(float(positive.sum()), 1e-300))


def _second_order(marginal: Marginal, functions: Sequence[Floats], rows: float) -> Floats:
    """The covariance of δpᵀ·F·δq / N over functions F, with δp and δq the errors of either column's counts: (k, k).

    The functions have few directions each; only in those are the errors looked at.
    """
    height, width = marginal.shape
    down, across = _directions(np.hstack(functions)), _directions(np.vstack(functions).T)
    errors = marginal.joint([np.repeat(one, width) for one in down])[1]
    others = marginal.joint([np.tile(one, height) for one in across])[1]
    seen = [down @ function @ across.T for function in functions]
    moved = [errors @ one @ others for one in seen]
    return np.array([[float(np.sum(one * other)) for other in seen] for one in moved]) / rows**2


def _sharpest_products(
    marginal: MeasuredMarginal, scores: Sequence[Floats], shares: Sequence[Floats], expected: Floats, sampled: float
) -> list[Floats]:
    """For each product of two columns' scores s·t, what sees it best of all functions that do not see p nor q.

    A small dependence by these scores moves the shares of cells by d = (p∘s)(q∘t)ᵀ. With V the covariance of the
    estimates, by noise and (where rows are `sampled`: 1, else 0) by sampling, it is V⁻¹(d − Cν), with ν such that the
    conditions C on it hold, Fq = 0 and Fᵀp = 0. With M⁻¹ the noise and S the sampling, V⁻¹ = M − M(M + S⁻¹)⁻¹M. Of very
    many cells, each is weighed by its own count and noise alone.
    """
    information = marginal.information
    if information is None:
        weight = expected / (expected + _variance(marginal))
        return [_both_ways_centred(weight * np.outer(one, other), shares) for one in scores[0] for other in scores[1]]
    height, width = marginal.shape
    shifts = [np.outer(shares[0] * one, shares[1] * other).ravel() for one in scores[0] for other in scores[1]]
    conditions = np.vstack([np.kron(shares[0], np.eye(width)), np.kron(np.eye(height), shares[1])])
    seen = information @ np.vstack([*shifts, conditions]).T
    if sampled:
        sampling = 1.0 / np.maximum(sampled * expected.ravel(), _NOBODY)
        seen -= information @ cho_solve(cho_factor(information + np.diag(sampling)), seen)
    sharp, kept = seen[:, : len(shifts)], seen[:, len(shifts) :]
    sharp = sharp - kept @ np.linalg.lstsq(conditions @ kept, conditions @ sharp, rcond=None)[0]
    return [
        _both_ways_centred(one.reshape(height, width) / max(float(np.abs(one).max()), 1e-300), shares)
        for one in sharp.T
    ]


def _directions(stacked: Floats) -> Floats:
    """Orthonormal vectors that span the columns of a matrix, but for what is negligible: (n, m) → (r, n)."""
    vectors, roots, _ = np.linalg.svd(stacked, full_matrices=False)
    return np.asarray(vectors[:, roots > _NEGLIGIBLE * max(float(roots[0]), 1e-300)].T)


def _first(noisy: NoisyBlocks, columns: tuple[int, ...]) -> MeasuredMarginal | None:
    """The marginal of the planned round; none where only blocks that were chosen in sight of the rows hold it.

    Leaves in groups are compared by group.
    """
    planned = any(block.round == 0 and set(columns) <= set(block.block.columns) for block in noisy.blocks)
    groups = levels_of(noisy)[columns[0]] if len(columns) == 1 else None
    if planned and groups is not None:
        return tabulation(noisy).marginal_in(columns, {columns[0]: groups})
    return tabulation(noisy).marginals(columns)[0] if planned else None


def _scores(column: Column, groups: Integers) -> Scores:
    """The score of each cell, given the cell of each atom.

    The place in the range where there is an order, and for each value that has none whether it is that; of a category,
    for all but the last.
    """
    centres, cells = column.centres(), int(groups.max()) + 1
    placed = ~np.isnan(centres) if column.ordered else np.zeros(column.size, dtype=bool)
    scores, places = [], None
    if np.count_nonzero(placed) > 1:
        number = np.bincount(groups[placed], minlength=cells)
        mean = np.bincount(groups[placed], weights=centres[placed], minlength=cells) / np.maximum(number, 1)
        scores.append(np.where(number > 0, mean, float(centres[placed].mean())))
        places = np.where(number > 0, mean, np.nan)
    main = len(scores)
    others = np.unique(groups[~placed])
    kept = others if main else others[:-1]
    scores += [(np.arange(cells) == cell).astype(np.float64) for cell in kept]
    values = np.array(scores).reshape(len(scores), cells)
    return Scores(values=values, main=np.arange(len(scores)) < (main or len(scores)), places=places)


def _share_noise(marginal: Marginal, cells: Integers) -> Floats:
    """The covariance of the noise of a column's shares, in the cells that its own are added up to: (cells, cells).

    Of very many cells the variances alone, (cells,).
    """
    size = int(cells.max()) + 1
    if size > DENSE:
        return np.bincount(cells, marginal.variances()) / _rows(marginal) ** 2
    indicators = (np.arange(size)[:, None] == cells).astype(np.float64)
    return marginal.joint(list(indicators))[1] / _rows(marginal) ** 2


def _smooth(shares: Floats, places: Floats) -> Floats:
    """Shares of cells that have a place, averaged over their neighbours; the others as they are."""
    placed = np.flatnonzero(~np.isnan(places))
    order = placed[np.argsort(places[placed], kind="stable")]
    ranks = np.arange(len(order))
    window = np.exp(-0.5 * ((ranks[:, None] - ranks) / max(1.0, len(order) / 16.0)) ** 2)
    smooth = shares.copy()
    smooth[order] = window @ shares[order] / window.sum(axis=1)
    return smooth


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
