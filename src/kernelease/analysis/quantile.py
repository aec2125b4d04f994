"""Quantiles of a column of numbers, by tests of its distribution function."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.inference import ConfidenceLimits, Interval, critical_value
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.representatives import extremes
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.table.columns.celled import Celled

MOST_EDGES = 512  # places at which the distribution function is tested


def quantile(evidence: Evidence, name: str, share: float) -> Estimate:
    """The least number that at least a share of the rows do not exceed, among the rows that have one."""
    column = evidence.numeric(name, "quantile", ("integer", "number"))
    if not 0.0 < share < 1.0:
        raise ParameterError(f"quantile: must be between 0 and 1, like 0.9, got {share!r}.")
    assert isinstance(column, Celled)
    measured = evidence.marginals(evidence.positions((name,)))
    if not measured:
        raise ParameterError(f"quantile: {name!r} was not counted, so nothing says how its numbers are distributed.")
    finest = max(measured, key=lambda one: one.size)
    return _Distribution.of(finest, column, share, evidence.target).estimate(f"{share:g} quantile of {name}")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Distribution(ConfidenceLimits):
    """T(k) = #(rows in cells up to k) − share·#(rows with a number), with its standard error, at some cells k.

    The quantile is above cell k where T(k) < 0 and at or below it where T(k) ≥ 0. A cell is plausible unless a test
    says that the quantile is below it, or above it; each test errs with half of what the level leaves.
    """

    ends: tuple[Floats, Floats]  # the least and the greatest value of each cell
    tested: Integers  # the cells, of which the last is the last of all
    excess: Floats  # T of each of them
    errors: Floats
    noise: Floats  # the part of the errors that is privacy noise
    shares: Floats  # of each cell, for the density
    rows: float
    share: float
    target: Target
    laplace: bool

    @classmethod
    def of(cls, marginal: Marginal, column: Celled, share: float, target: Target) -> "_Distribution":
        groups = marginal.groups[0][: column.cell_count]
        low, high = (np.full(marginal.size, sign * np.inf) for sign in (1.0, -1.0))
        first, last = extremes(column)
        np.minimum.at(low, groups, first)
        np.maximum.at(high, groups, last)
        order = np.argsort(low, kind="stable")[: len(np.unique(groups))]  # NULL has no values, and comes last
        tested = np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_EDGES)).round().astype(np.int64))
        present = np.isfinite(low).astype(np.float64)
        rank = np.full(marginal.size, np.inf)
        rank[order] = np.arange(len(order))
        excess, noise, errors = [], [], []
        for cell in tested:
            function = (rank <= cell) - share * present
            value, variance = (float(part.ravel()[0]) for part in marginal.joint([function]))
            more = float(marginal.sampling([function])[0, 0]) if target is Target.POPULATION else 0.0
            excess.append(value)
            noise.append(math.sqrt(max(0.0, variance)))
            errors.append(math.sqrt(max(0.0, variance) + more))
        return cls(
            ends=(low[order], high[order]),
            tested=tested,
            excess=np.array(excess),
            errors=np.array(errors),
            noise=np.array(noise),
            shares=marginal.shares[order],
            rows=marginal.total or max(1.0, float(marginal.counts.sum())),
            share=share,
            target=target,
            laplace=marginal.laplace,
        )

    def at(self, level: float) -> Interval:
        factor = critical_value(level, laplace=self.laplace)
        above = self.excess + factor * self.errors < 0.0  # surely above this cell
        below = self.excess - factor * self.errors > 0.0  # surely at or below it
        above[-1], below[-1] = False, True
        starts = np.append(0, self.tested[:-1] + 1)
        plausible = np.flatnonzero(~above & ~np.append(False, below[:-1]))
        if len(plausible) == 0:  # two tests contradict each other: noise beyond the level
            plausible = np.array([int(np.argmin(np.abs(self.excess)))])
        return float(self.ends[0][starts[plausible[0]]]), float(self.ends[1][self.tested[plausible[-1]]])

    @property
    def value(self) -> float:
        """Where the nearest monotone T crosses 0, evenly spread within cells."""
        rising = 0.5 * (np.maximum.accumulate(self.excess) + np.minimum.accumulate(self.excess[::-1])[::-1])
        place = min(int(np.searchsorted(rising, 0.0)), len(rising) - 1)
        before = float(rising[place - 1]) if place else -self.share * self.rows
        inside = -before / max(float(rising[place]) - before, 1e-300)
        start = int(self.tested[place - 1]) + 1 if place else 0
        low, high = float(self.ends[0][start]), float(self.ends[1][self.tested[place]])
        return low + min(max(inside, 0.0), 1.0) * (high - low)

    def _per_row(self, cell: int) -> float:
        """How far the quantile moves when one row more is below it, by the density around a cell."""
        near = slice(max(0, cell - 1), cell + 2)
        starts = np.append(self.ends[0], self.ends[1][-1])[near.start : near.stop + 1]
        rows = self.rows * float(self.shares[near].sum())
        whole = float(self.ends[1][-1] - self.ends[0][0])
        return min(whole, float(starts[-1] - starts[0]) / rows) if rows > 0.0 else whole

    def estimate(self, about: str) -> Estimate:
        """The estimate; its standard error is that of the share of rows, carried over by the density."""
        value = self.value
        place = min(int(np.searchsorted(self.ends[1][self.tested], value)), len(self.tested) - 1)
        cell = min(int(np.searchsorted(self.ends[1], value)), len(self.ends[0]) - 1)
        per_row = self._per_row(cell)
        parts = Parts.of(
            float(self.errors[place]) * per_row,
            noise=float(self.noise[place]) * per_row,
            bias=float(self.ends[1][cell] - self.ends[0][cell]),
        )
        possible = (float(self.ends[0][0]), float(self.ends[1][-1]))
        return Estimate(value=value, parts=parts, limits=self, target=self.target, about=about, possible=possible)
