"""How a column is distributed: its quantiles, shares of its cells, survival."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol, final

import numpy as np
from numpy.typing import NDArray

from kernelease.analysis.estimands import Estimand, Indicator
from kernelease.analysis.estimate import Calendar, Estimate, Parts, Target
from kernelease.analysis.groups import Groups, Label, answer_by_group, as_tuple, join_label, names_of
from kernelease.analysis.inference import ConfidenceLimits, Interval, UnknownLimits, critical_value
from kernelease.analysis.inside import axes_of, meant_rows, squared_rows, unevenness
from kernelease.analysis.ratio_estimator import marginal_source
from kernelease.analysis.representatives import (
    LEAST,
    cell_values,
    extremes,
    spacing_of,
)
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Flags, Marginal
from kernelease.table.columns.cells import Celled
from kernelease.table.expressions.logic import Condition

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

# --------------------
# Quantiles of a column of numbers or dates, by tests of its distribution function.


MOST_EDGES = 512  # places at which the distribution function is tested
STEPS = 16  # limit: places within a cell at which it is tested: between them it is nearly a line
_DUST = 1e-9  # of a legal value: what rounding leaves
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
    return answer_by_group(
        evidence, by, (name, *base.columns), lambda group, told: answer(group, f"{about} for {told}")
    )


def _conditional(evidence: "Evidence", column: Celled, share: float, chosen: Indicator, about: str) -> Estimate:
    columns = evidence.positions((column.name, *chosen.columns))
    measured = evidence.marginals(columns)
    if not measured and len(columns) == 1:
        name = column.name
        raise ParameterError(f"quantile: {name!r} was not counted, so nothing says how its numbers are distributed.")
    if not measured:
        return _from_rows(evidence, column, share, chosen, about)
    finest = max(measured, key=lambda one: one.size)
    axis = finest.columns.index(evidence.schema.names.index(column.name))
    functions = cell_values(axes_of(evidence, finest, chosen.conditions), chosen, None)
    meant = meant_rows(evidence, finest, functions, chosen.conditions)
    return _Distribution.of(evidence, finest, axis, column, share, meant).estimate(about)


def _from_rows(evidence: "Evidence", column: Celled, share: float, chosen: Indicator, about: str) -> Estimate:
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
class _Places:
    """Where the values of a column's cells lie: each cell's atoms in order, and how its rows are likely spread."""

    rank: Floats  # (cells of the column,): the place of each in order; infinite without values
    cell: Integers  # (atoms,): the rank of the cell of each atom, in order
    start: Floats  # (atoms,): the part of its cell's rows before an atom
    part: Floats  # (atoms,): and in it
    low: Floats  # (atoms,)
    high: Floats
    spacing: float | None  # of legal values; None for a continuum

    @classmethod
    def of(cls, evidence: "Evidence", marginal: Marginal, axis: int, column: Celled) -> "_Places":
        groups = marginal.groups[axis][: column.cell_count]
        low, high = extremes(column)
        first, cells = np.full(marginal.shape[axis], np.inf), len(np.unique(groups))
        np.minimum.at(first, groups, low)
        rank = np.full(marginal.shape[axis], np.inf)
        rank[np.argsort(first, kind="stable")[:cells]] = np.arange(cells)  # NULL has no values, and comes last
        order = np.lexsort((low, rank[groups]))
        cell = rank[groups][order].astype(np.int64)
        shares = (evidence.shares(marginal.columns[axis])[: column.cell_count] + LEAST)[order]
        part = shares / np.bincount(cell, shares)[cell]
        before = np.cumsum(part) - part
        start = before - before[np.searchsorted(cell, cell)]
        return cls(
            rank=rank, cell=cell, start=start, part=part, low=low[order], high=high[order], spacing=spacing_of(column)
        )

    @property
    def count(self) -> int:
        """The number of cells with values."""
        return int(self.cell[-1]) + 1

    def ends(self, cell: int) -> Interval:
        """The least and the greatest value of a cell."""
        first, last = np.searchsorted(self.cell, [cell, cell + 1])
        return float(self.low[first]), float(self.high[last - 1])

    def value(self, place: float, side: int) -> float:
        """The value so many cells, and parts of the next, from the first: as it is (0), or at most or at least (∓1)."""
        cell = min(max(math.ceil(place) - 1 if side > 0 else int(place), 0), self.count - 1)
        first, last = map(int, np.searchsorted(self.cell, [cell, cell + 1]))
        found = int(np.searchsorted(self.start[first:last], place - cell, side="right" if side <= 0 else "left"))
        atom = min(max(first + found - 1, first), last - 1)
        share = min(max((place - cell - self.start[atom]) / self.part[atom], 0.0), 1.0)
        low, high = float(self.low[atom]), float(self.high[atom])
        if self.spacing is None or side == 0:
            return float(low + share * (high - low))
        count = round((high - low) / self.spacing) + 1  # legal values, each with an equal part of the rows
        legal = math.floor(share * count + _DUST) if side < 0 else math.ceil(share * count - _DUST) - 1
        return float(low + min(max(legal, 0), count - 1) * self.spacing)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Distribution(ConfidenceLimits):
    """T(k) = #(rows in cells up to k) − share·#(rows with a number), with its standard error, at some cells k.

    Within a cell T rises as its rows are likely spread, and its error grows by how uneven they may be. A place is
    plausible unless a test says that the quantile is below it, or above it; each errs with half of what the level
    leaves.
    """

    places: _Places
    tested: Integers  # cells, of which the first is −1, before all, and the last the last of all
    excess: Floats  # T of each of them
    noise: Floats  # its standard error by privacy noise
    errors: Floats  # the same with sampling, and by where in their cells rows lie that may be meant
    cut: Floats  # how far T may be off in all, where nothing says how the rows of a cell are spread
    uneven: Floats  # of the cells after each tested one, up to the next: the variance of where their rows lie
    share: float
    evidence: "Evidence"
    marginal: Marginal
    ranks: Floats  # of the marginal's cells: the place of each along the column
    meant: Floats  # whether a cell's rows are meant, on average

    @classmethod
    def of(
        cls, evidence: "Evidence", marginal: Marginal, axis: int, column: Celled, share: float, meant: Flags
    ) -> "_Distribution":
        places = _Places.of(evidence, marginal, axis, column)
        ranks = places.rank[
            np.indices(marginal.shape)[axis].ravel()
        ]  # of the cell of this column, for each cell of all
        present = np.isfinite(ranks)
        own = Flags(meant=meant.meant * present, variance=meant.variance * present, slack=meant.slack * present)
        last = np.linspace(0, places.count - 1, min(places.count, MOST_EDGES)).round().astype(np.int64)
        tested = np.append(-1, np.unique(last))
        sampled = evidence.target is Target.POPULATION
        found = [_test(marginal, ranks <= cell, share, own, sampled=sampled) for cell in tested]
        excess, cut, noise, errors = (np.array(part) for part in zip(*found, strict=True))
        known = unevenness(evidence, marginal)
        squares = (known.own + known.hidden) * squared_rows(marginal) * own.meant**2
        step = np.searchsorted(tested[1:], np.where(present, ranks, 0.0))
        return cls(
            places=places,
            tested=tested,
            excess=excess,
            noise=noise,
            errors=errors,
            cut=cut,
            uneven=np.bincount(step, squares * present, minlength=len(tested) - 1).astype(np.float64),
            share=share,
            evidence=evidence,
            marginal=marginal,
            ranks=ranks,
            meant=own.meant,
        )

    @property
    def _path(self) -> tuple[Floats, Floats, Floats]:
        """Places from the first cell to the last, T there and its standard error, at the edges of cells and between."""
        inside = np.linspace(0.0, 1.0, STEPS + 1)
        first, rise = self.excess[:-1, None], np.diff(self.excess)[:, None]
        errors = self.errors[:-1, None] * (1.0 - inside) + self.errors[1:, None] * inside  # at least that of the sum
        spread = self.uneven[:, None] * inside * (1.0 - inside)
        cells = self.tested[:-1, None] + 1 + np.diff(self.tested)[:, None] * inside
        return cells.ravel(), (first + rise * inside).ravel(), np.sqrt(errors**2 + spread).ravel()

    def at(self, level: float) -> Interval:
        factor = critical_value(level, laplace=self.marginal.laplace)
        places, excess, errors = self._path
        doubt = factor * errors + np.repeat(np.maximum(self.cut[:-1], self.cut[1:]), STEPS + 1)
        most, least = ((excess + side * doubt).reshape(-1, STEPS + 1) for side in (1.0, -1.0))  # T rises within a cell:
        low = _crossing(places, np.minimum(most, most[:, -1:]).ravel(), first=True)  # at most what it is at its end,
        high = _crossing(places, np.maximum(least, least[:, :1]).ravel(), first=False)  # at least what at its begin
        if low > high:  # two tests contradict each other: noise beyond the level
            low = high = float(places[int(np.argmin(np.abs(excess)))])
        return self.places.value(low, -1), self.places.value(high, 1)

    @property
    def _crosses(self) -> float:
        """Where the nearest monotone T is 0."""
        places, excess, _ = self._path
        rising = 0.5 * (np.maximum.accumulate(excess) + np.minimum.accumulate(excess[::-1])[::-1])
        return _crossing(places, rising, first=True)

    def estimate(self, about: str) -> Estimate:
        """The estimate; its standard error is that of the share of rows, carried over by the density."""
        place = self._crosses
        cell = min(int(place), self.places.count - 1)
        step = min(int(np.searchsorted(self.tested[1:], cell)), len(self.tested) - 2)
        per_row = self._per_row(cell)
        noise, error = (float(max(part[step], part[step + 1])) * per_row for part in (self.noise, self.errors))
        inside = math.sqrt(float(self.uneven[step]) * (place - cell) * max(0.0, 1.0 - (place - cell))) * per_row
        function = -per_row * ((self.ranks <= self.tested[step + 1]) - self.share) * self.meant
        sampling = Parts.of(error, noise=noise).sampling
        bias = self.places.ends(cell)[1] - self.places.ends(cell)[0] if self.cut.any() else 0.0
        return Estimate(
            value=self.places.value(place, 0),
            parts=Parts(noise=noise, inside=inside, sampling=sampling, bias=bias),
            limits=self,
            target=self.evidence.target,
            about=about,
            possible=(self.places.ends(0)[0], self.places.ends(self.places.count - 1)[1]),
            source=marginal_source(self.evidence, self.marginal, function, sampling=sampling),
        )

    def _per_row(self, cell: int) -> float:
        """How far the quantile moves when one row more is below it, by the density around a cell."""
        near = slice(max(0, cell - 1), min(cell + 2, self.places.count))
        low, high = self.places.ends(near.start)[0], self.places.ends(near.stop - 1)[1]
        counts = self.marginal.counts * self.meant * (self.ranks >= near.start) * (self.ranks < near.stop)
        whole = self.places.ends(self.places.count - 1)[1] - self.places.ends(0)[0]
        rows = float(counts.sum())
        return min(whole, (high - low) / rows) if rows > 0.0 else whole


def _crossing(places: Floats, values: Floats, *, first: bool) -> float:
    """The first place at which a function is 0 or more, or the last at which it is not above 0; else an end."""
    found = np.flatnonzero(values >= 0.0 if first else values <= 0.0)
    if len(found) == 0:
        return float(places[-1] if first else places[0])
    here = int(found[0] if first else found[-1])
    other = here - 1 if first else here + 1
    if not 0 <= other < len(places) or values[other] == values[here]:
        return float(places[here])
    part = -float(values[here]) / float(values[other] - values[here])
    return float(places[here] + part * (places[other] - places[here]))


def _test(
    marginal: Marginal, below: NDArray[np.bool_], share: float, meant: Flags, *, sampled: bool
) -> tuple[float, float, float, float]:
    """T with the cells below counted: its middle, how far off it may be, its noise and its standard error."""
    weight = below - share
    function = weight * meant.meant
    value, variance = (float(part.ravel()[0]) for part in marginal.joint([function]))
    more = float(marginal.sampling([function])[0, 0]) if sampled else 0.0
    more += float(weight**2 @ meant.variance)
    cut = 0.0
    if meant.slack.any():
        rows, unsure = marginal.joint([np.abs(weight) * meant.slack])
        cut = max(0.0, float(rows[0])) + _CUT * math.sqrt(max(0.0, float(unsure[0, 0])))
    return value, cut, math.sqrt(max(0.0, variance)), math.sqrt(max(0.0, variance) + more)


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

    return answer_by_group(evidence, (*groups, name) if groups else name, base.columns, answer)


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
        found |= _at_time(beyond, f"{time:g}", about)
    if by is None:
        return Groups(name, found)
    order = dict.fromkeys(as_tuple(label)[:-1] for label in found)  # groups first, then times
    return Groups(
        (*as_tuple(by), name), {(*one, f"{time:g}"): found[*one, f"{time:g}"] for one in order for time in times}
    )


def hazard(
    evidence: "Evidence",
    name: str,
    times: Sequence[float],
    probability: Probability,
    *,
    event: str | None = None,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Groups:
    """P(number ≤ next time, and the event) among rows whose number is beyond each time, but for the last time.

    Without an event every number is one; with it, the others are censored.
    """
    evidence.numeric(name, "hazard", ("integer", "number"))
    ordered = sorted(set(times))
    if len(ordered) < 2:
        raise ParameterError("hazard: needs two or more different times, like 0, 7, 30.")
    found: dict[Label, Estimate] = {}
    for first, last in pairwise(ordered):
        happens = f"{name} <= {last!r}" if event is None else f"({name} <= {last!r}) and ({event})"
        at_risk = f"{name} > {first!r}" if where is None else f"({where}) and ({name} > {first!r})"
        rate = probability(evidence, happens, where=at_risk, by=by)
        label, about = f"{first:g}..{last:g}", f"hazard of {name} from {first:g} to {last:g}"
        found |= _at_time(rate, label, about)
    return Groups(name if by is None else (*as_tuple(by), name), found)


def _at_time(rate: Estimate | Groups, time: str, about: str) -> dict[Label, Estimate]:
    """The answer for one time, or those of all groups for it, by their labels."""
    if isinstance(rate, Estimate):
        return {time: replace(rate, about=about)}
    return {
        (*as_tuple(group), time): replace(one, about=f"{about}, {join_label(group)}") for group, one in rate.items()
    }
