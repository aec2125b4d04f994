"""How a column is distributed: its quantiles, shares of its cells, survival."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, final

import numpy as np
from numpy.typing import NDArray

from kernelease.analysis.estimands import Estimand, Indicator
from kernelease.analysis.estimate import Calendar, Estimate, Parts, Target
from kernelease.analysis.groups import Groups, Label, as_tuple, grouped, joined, names_of
from kernelease.analysis.inference import ConfidenceLimits, Interval, UnknownLimits, critical_value
from kernelease.analysis.ratio_estimator import marginal_source
from kernelease.analysis.representatives import LEAST, cell_values, extremes, few, representatives, weighted
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Marginal
from kernelease.table.columns.column import Celled
from kernelease.table.expressions.logic import Condition

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

# --------------------
# Quantiles of a column of numbers or dates, by tests of its distribution function.


MOST_EDGES = 512  # places at which the distribution function is tested
_CUT = 2.0  # standard errors that rows in cells that a condition cuts may be more than counted
_TAGS = ("integer", "number", "date", "datetime")


def quantile(
    evidence: "Evidence",
    name: str,
    share: float,
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Estimate | Groups:
    """The least number or date that at least a share of the rows do not exceed, among the rows that have one.

    `where` limits the rows, and `by` gives an answer for each value of a column, or of several.
    """
    column = evidence.numeric(name, "quantile", _TAGS)
    if not 0.0 < share < 1.0:
        raise ParameterError(f"quantile: must be between 0 and 1, like 0.9, got {share!r}.")
    assert isinstance(column, Celled)
    base = evidence.where(where)
    about = f"{share:g} quantile of {name}" if where is None else f"{share:g} quantile of {name} where {where}"

    def answer(group: tuple[Condition, ...], words: str) -> Estimate:
        chosen = Indicator((*base.parts, *group))
        estimate = _conditional(evidence, column, share, chosen, words)
        return replace(estimate, calendar=Calendar(column.tag)) if column.tag in tuple(Calendar) else estimate

    if by is None:
        return answer((), about)
    return grouped(evidence, by, (name, *base.columns), lambda group, told: answer(group, f"{about} for {told}"))


def _conditional(evidence: "Evidence", column: Celled, share: float, chosen: Indicator, about: str) -> Estimate:
    columns = evidence.positions((column.name, *chosen.columns))
    measured = evidence.marginals(columns)
    if not measured and len(columns) == 1:
        name = column.name
        raise ParameterError(f"quantile: {name!r} was not counted, so nothing says how its numbers are distributed.")
    if not measured:
        return _unmeasured(evidence, column, share, chosen, about)
    finest = max(measured, key=lambda one: one.size)
    flags = _flags(evidence, finest, chosen)
    axis = finest.columns.index(evidence.schema.names.index(column.name))
    return _Distribution.of(finest, axis, column, share, flags, evidence.target).estimate(about, evidence)


def _flags(evidence: "Evidence", marginal: Marginal, chosen: Indicator) -> tuple[Floats, Floats, Floats]:
    """Whether the rows of a cell are meant: surely, on average if they are spread evenly, possibly; (cells,) each."""
    axes = []
    for index, groups in zip(marginal.columns, marginal.groups, strict=True):
        one = evidence.schema.columns[index]
        points = weighted(representatives(one, chosen.conditions), evidence.shares(index) + LEAST)
        axes.append((one.name, few(points, one, groups, chosen.conditions), groups))
    functions = cell_values(axes, chosen, None)
    return functions.least(0.0)[0], functions.middle()[0], functions.greatest(0.0)[0]


def _unmeasured(evidence: "Evidence", column: Celled, share: float, chosen: Indicator, about: str) -> Estimate:
    """The synthetic rows' quantile, between the column's own ends: nothing was measured of these columns together."""
    low, high = (float(end) for end in (extremes(column)[0][0], extremes(column)[1][-1]))
    value = 0.5 * (low + high)
    if evidence.rows is not None and evidence.weights is not None:
        codes = column.encode(evidence.rows.column(column.name))
        weights = np.maximum(evidence.weights, 0.0) * chosen.of(evidence.rows) * (codes < column.cell_count)
        heights = np.cumsum(np.bincount(codes, weights=weights, minlength=column.size)[: column.cell_count])
        cell = int(np.searchsorted(heights, share * heights[-1])) if heights[-1] > 0.0 else 0
        value = float(extremes(column)[0][min(cell, column.cell_count - 1)])
    return Estimate(
        value=value,
        parts=Parts(noise=0.0, bias=max(value - low, high - value)),
        limits=UnknownLimits((low, high)),
        target=evidence.target,
        about=about,
        possible=(low, high),
        remark=f"{column.name} and {', '.join(chosen.columns)} were not measured together: the value is that of the "
        "synthetic rows",
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Distribution(ConfidenceLimits):
    """T(k) = #(rows in cells up to k) − share·#(rows with a number), with its standard error, at some cells k.

    The quantile is above cell k where T(k) < 0 and at or below it where T(k) ≥ 0. A cell is plausible unless a test
    says that the quantile is below it, or above it; each test errs with half of what the level leaves.
    """

    ends: tuple[Floats, Floats]  # the least and the greatest value of each cell
    tested: Integers  # the cells, of which the last is the last of all
    excess: Floats  # T of each of them, where a condition cuts through cells its middle
    cut: Floats  # how far T may be from that
    errors: Floats
    noise: Floats  # the part of the errors that is privacy noise
    shares: Floats  # of each cell, for the density
    rows: float
    share: float
    target: Target
    marginal: Marginal
    ranks: Floats  # of the marginal's cells: the place of each along the column
    meant: Floats  # whether a cell's rows are meant, on average

    @classmethod
    def of(
        cls,
        marginal: Marginal,
        axis: int,
        column: Celled,
        share: float,
        flags: tuple[Floats, Floats, Floats],
        target: Target,
    ) -> "_Distribution":
        groups = marginal.groups[axis][: column.cell_count]
        size = marginal.shape[axis]
        low, high = (np.full(size, sign * np.inf) for sign in (1.0, -1.0))
        first, last = extremes(column)
        np.minimum.at(low, groups, first)
        np.maximum.at(high, groups, last)
        order = np.argsort(low, kind="stable")[: len(np.unique(groups))]  # NULL has no values, and comes last
        tested = np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_EDGES)).round().astype(np.int64))
        rank = np.full(size, np.inf)
        rank[order] = np.arange(len(order))
        place = np.indices(marginal.shape)[axis].ravel()  # the cell of this column, for each cell of all
        ranks, present = rank[place], np.isfinite(rank)[place]
        surely, middle, possibly = (flag * present for flag in flags)
        found = [_tested(marginal, ranks <= cell, share, (surely, middle, possibly), target) for cell in tested]
        excess, cut, noise, errors = (np.array(part) for part in zip(*found, strict=True))
        meant = np.bincount(place, weights=marginal.shares * middle, minlength=size)
        total = marginal.total or max(1.0, float(marginal.counts.sum()))
        return cls(
            ends=(low[order], high[order]),
            tested=tested,
            excess=excess,
            cut=cut,
            errors=errors,
            noise=noise,
            shares=meant[order] / max(float(meant.sum()), 1e-300),
            rows=max(1.0, total * float(meant.sum())),
            share=share,
            target=target,
            marginal=marginal,
            ranks=ranks,
            meant=middle,
        )

    def at(self, level: float) -> Interval:
        factor = critical_value(level, laplace=self.marginal.laplace)
        above = self.excess + self.cut + factor * self.errors < 0.0  # surely above this cell
        below = self.excess - self.cut - factor * self.errors > 0.0  # surely at or below it
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

    def estimate(self, about: str, evidence: "Evidence") -> Estimate:
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
        function = -per_row * ((self.ranks <= self.tested[place]) - self.share) * self.meant
        return Estimate(
            value=value,
            parts=parts,
            limits=self,
            target=self.target,
            about=about,
            possible=possible,
            source=marginal_source(evidence, self.marginal, function, sampling=parts.sampling),
        )


def _tested(
    marginal: Marginal, below: NDArray[np.bool_], share: float, flags: tuple[Floats, Floats, Floats], target: Target
) -> tuple[float, float, float, float]:
    """T with the cells below counted: its middle, how far off it may be, its noise and its standard error."""
    surely, middle, possibly = flags
    weight = below - share
    function = weight * middle
    value, variance = (float(part.ravel()[0]) for part in marginal.joint([function]))
    more = float(marginal.sampling([function])[0, 0]) if target is Target.POPULATION else 0.0
    cut = 0.0
    if not np.array_equal(surely, possibly):
        spread = np.abs(weight) * np.maximum(possibly - middle, middle - surely)
        cut = max(0.0, float(marginal.joint([spread])[0][0])) + _CUT * math.sqrt(
            float(marginal.joint([spread])[1][0, 0])
        )
    noise = math.sqrt(max(0.0, variance))
    return value, cut, noise, math.sqrt(max(0.0, variance) + more)


# --------------------
# The share of rows in each cell of a column.


def shares(
    evidence: "Evidence",
    name: str,
    average: "Callable[[Evidence, Estimand], Estimate]",
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Groups:
    """Of all rows, of those for which `where` is true, or of each group: they add up to 1 there, up to noise.

    `average` estimates one.
    """
    base, groups = evidence.where(where), () if by is None else names_of(by)
    rows = f" where {where}" if where else ""

    def answer(group: tuple[Condition, ...], told: str) -> Estimate:
        among = Indicator((*base.parts, *group[: len(groups)]))
        inside = Indicator((*base.parts, *group))
        about = f"share of rows{rows} for {told}"
        return average(evidence, Estimand(numerator=inside, denominator=among if among.parts else None, about=about))

    return grouped(evidence, (*groups, name) if groups else name, base.columns, answer)


# --------------------
# The share of rows whose number is beyond each of some times.


class Probability(Protocol):
    """What estimates the probability of an event."""

    def __call__(
        self, evidence: "Evidence", event: str, *, where: str | None, by: str | Sequence[str] | None
    ) -> Estimate | Groups:
        """The share of rows for which `event` is true."""


def survival(
    evidence: "Evidence",
    name: str,
    times: Sequence[float],
    probability: Probability,
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Groups:
    """P(number > time) at each time, among the rows that have a number; with `by`, for each group and time.

    `probability` estimates one.
    """
    column = evidence.numeric(name, "survival", ("integer", "number"))
    if not times:
        raise ParameterError("survival: needs one or several times, like 1, 7, 30.")
    parts = [part for part in (where, f"not ({name} is null)" if column.nullable else None) if part is not None]
    known = " and ".join(f"({part})" for part in parts) if len(parts) > 1 else next(iter(parts), None)
    found: dict[Label, Estimate] = {}
    for time in times:
        beyond = probability(evidence, f"{name} > {time!r}", where=known, by=by)
        about = f"share of rows beyond {name}{f' where {where}' if where else ''} for {name} {time:g}"
        if isinstance(beyond, Estimate):
            found[f"{time:g}"] = replace(beyond, about=about)
        else:
            found |= {
                (*as_tuple(label), f"{time:g}"): replace(one, about=f"{about}, {joined(label)}")
                for label, one in beyond.items()
            }
    if by is None:
        return Groups(name, found)
    order = dict.fromkeys(as_tuple(label)[:-1] for label in found)  # groups first, then times
    return Groups(
        (*_names(by), name), {(*one, f"{time:g}"): found[*one, f"{time:g}"] for one in order for time in times}
    )


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)
