"""Averages of what was not measured jointly: the extremes over all tables that agree with what was."""

import math
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, hstack, vstack

from kernelease.analysis.cellwise import Cellwise
from kernelease.analysis.limits import Interval, Limits, critical
from kernelease.analysis.marginal import Marginal, common_coarsening
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError

Sparse: TypeAlias = csr_array


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Counts of unions of cells, each with a standard error: `matrix` (facts, cells) @ p = `values` ± `errors`."""

    matrix: Sparse
    values: Floats
    errors: Floats


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Polytope(Limits):
    """Σ numerator / Σ denominator over all tables whose counts agree with all facts at once.

    Each fact holds within z standard errors, z so large (Bonferroni) that all of them do with the probability that is
    asked for; no law of the rest is assumed, and no choice is made in sight of the noise. The two extremes are linear
    programs (Charnes & Cooper 1962): with y = p·s and s = 1/Σ denominator, minimise numerator·y. For a total, s = 1.
    """

    functions: Cellwise
    facts: Facts
    rows: Interval  # the least and the greatest number of them
    total: bool  # whether the numerator's sum itself is asked for
    heavy: bool = False  # Laplace noise
    _found: dict[float, Interval] = field(default_factory=dict, repr=False, compare=False)

    @property
    def possible(self) -> Interval:
        """All possible answers."""
        possible = self.functions.possible
        assert possible is not None  # whoever asks has looked
        return (min(0.0, possible[0]) * self.rows[1], possible[1] * self.rows[1]) if self.total else possible

    def at(self, level: float) -> Interval:
        if level not in self._found:
            self._found[level] = self._solve(self.factor(level))
        return self._found[level]

    def factor(self, level: float) -> float:
        """How many standard errors each fact may be off, so that all hold together with at least this probability."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, like 0.95, got {level!r}.")
        return critical(1.0 - (1.0 - level) / max(1, len(self.facts.values)), heavy=self.heavy)

    def _solve(self, z: float) -> Interval:
        possible = self.possible
        for slack in (1.0, 1.25, 1.6, 2.0, 3.0, 5.0, 10.0):  # noise beyond the box is rare, but happens
            ends = [self._extreme(z * slack, sign) for sign in (1.0, -1.0)]
            if not any(math.isnan(end) for end in ends):
                return max(ends[0], possible[0]), min(ends[1], possible[1])
        return possible

    def _extreme(self, z: float, sign: float) -> float:
        """The least (sign 1) or greatest (sign −1) ratio; NaN where no table agrees with all facts."""
        cells = self.functions.size
        # A row may be at any representative of its cell: each is a variable of its own.
        points = len(self.functions.cell)
        spread = csr_array((np.ones(points), (self.functions.cell, np.arange(points))), shape=(cells, points))
        matrix = self.facts.matrix @ spread
        high, low = self.facts.values + z * self.facts.errors, self.facts.values - z * self.facts.errors
        everyone = csr_array(np.ones((1, points)))
        above = vstack([matrix, -matrix, everyone, -everyone])
        limits = np.concatenate([high, -low, [self.rows[1]], [-self.rows[0]]])
        system = hstack([above, csr_array(-limits[:, None])]).tocsr()
        below = np.append(np.zeros(points) if self.total else self.functions.denominator, float(self.total))
        found = linprog(
            np.append(sign * self.functions.numerator, 0.0),
            A_ub=system,
            b_ub=np.zeros(len(limits)),
            A_eq=csr_array(below[None, :]),
            b_eq=[1.0],
            bounds=(0.0, None),
            method="highs",
        )
        return sign * float(found.fun) if found.status == 0 else math.nan


def facts_of(
    known: list[Marginal], classes: tuple[Integers, ...], columns: tuple[int, ...], *, sampled: float = 0.0
) -> Facts:
    """What marginals of some of the columns say about the classes of all of them.

    `classes[k]` is the class of each atom of column `columns[k]`. A cell that lies in several classes says something
    about their union only. With `sampled` rows drawn from a population, sampling adds to each error.
    """
    shape = tuple(int(group.max()) + 1 for group in classes)
    rows, values, errors = [], [], []
    for marginal in known:
        places = [columns.index(index) for index in marginal.columns]
        ours, cells = zip(
            *(common_coarsening(classes[p], g) for p, g in zip(places, marginal.groups, strict=True)), strict=True
        )
        counts = [int(group.max()) + 1 for group in ours]
        if math.prod(counts) == 1 and marginal.total is not None:
            continue
        union = _flat(cells, counts)
        seen = _flat(ours, counts, places, shape)
        for fact in range(math.prod(counts)):
            estimate, covariance = marginal.joint([(union == fact).astype(np.float64)])
            rows.append(seen == fact)
            values.append(estimate[0])
            errors.append(math.sqrt(max(0.0, covariance[0, 0]) + _binomial(estimate[0], sampled)))
    dense: NDArray[np.bool_] = np.array(rows).reshape(len(rows), math.prod(shape))
    return Facts(
        matrix=csr_array(coo_array(dense.astype(np.float64))), values=np.array(values), errors=np.array(errors)
    )


def _binomial(count: float, rows: float) -> float:
    """The variance of a count of independent rows, by an estimate of it that is never 0."""
    share = min(max((count + 1.0) / (rows + 2.0), 1.0 / (rows + 2.0)), 0.5)
    return rows * share * (1.0 - share)


def _flat(
    maps: tuple[Integers, ...], counts: list[int], places: list[int] | None = None, shape: tuple[int, ...] | None = None
) -> Integers:
    """One index for a product of maps; with `places`, over a grid of `shape` of which they cover some axes."""
    axes = list(range(len(maps))) if places is None else places
    grid = tuple(len(m) for m in maps) if shape is None else shape
    index = np.zeros(grid, dtype=np.int64)
    for axis, values, count in zip(axes, maps, counts, strict=True):
        index = index * count + values.reshape([-1 if other == axis else 1 for other in range(len(grid))])
    return index.ravel()
