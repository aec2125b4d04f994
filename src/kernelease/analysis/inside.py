"""Where in their cells numbers lie: not measured, but as uneven as cells beside each other are.

A function h of a row is known on average over a cell, if its rows were spread as the column's own finest counts are,
and evenly over the values of each of these. How far off that is shows one scale up: two cells side by side are one of
twice the width, and how their rows split was measured. With p the part of their m rows that the first should have, the
split D = n − p·m has a variance of ω·p(1 − p)·m² beyond the noise. ω, the *unevenness*, is between 0 (as expected) and
1 (all rows at one place). It is the one number of a Dirichlet process, under which the mean of h in a cell has the
variance ω·Var(h). So Σ h over the n rows of a cell has an error of variance ω·n²·Var(h), and cells are independent. At
both ends of a column rows may begin and end anywhere in their cell, whatever its neighbour holds: ω is 1 there.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.analysis.estimands import numbers_of
from kernelease.analysis.representatives import (
    EVEN,
    LEAST,
    Axis,
    CellValues,
    Representatives,
    few,
    middles_and_halves,
    outcomes,
    representatives,
    weigh_atoms,
)
from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import Flags, Marginal, parts_of
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.expressions.logic import Condition

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

SEEN = 3.0  # convention: standard errors from 0, from which on two cells show how they split
# convention: standard errors that the unevenness is taken to be higher than it is estimated, one-sided 95 %
SURE = 1.645


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Unevenness:
    """Of each cell of a marginal: ω of its rows beside others, and of what noise hides of its columns' own counts."""

    own: Floats  # (cells,)
    hidden: Floats  # (cells,)

    def covariance(self, functions: CellValues, squares: Floats) -> Floats:
        """The covariance of the sums of two functions, of cells with so many rows, squared: (2, 2)."""
        first, second, third = functions.spread @ (self.own * squares) + functions.hidden_spread @ (
            self.hidden * squares
        )
        return np.array([[first, second], [second, third]])


def unevenness(evidence: "Evidence", marginal: Marginal) -> Unevenness:
    """By the columns of numbers of a marginal, the most uneven one in each cell.

    Rows that are drawn one by one are uneven by 1/n already.
    """
    kept = evidence.uneven
    if marginal not in kept:
        nothing = np.zeros(marginal.size)
        found = [_along(evidence, marginal, axis) for axis in range(len(marginal.columns))]
        known = [one for one in found if one is not None]
        own, hidden = (np.max([nothing, *(one[place] for one in known)], axis=0) for place in (0, 1))
        kept[marginal] = Unevenness(own=own, hidden=hidden)
    return kept[marginal]


def squared_rows(marginal: Marginal) -> Floats:
    """n² of each cell, no less than noise leaves open: (cells,)."""
    return np.asarray(np.maximum(marginal.counts, 0.0) ** 2 + marginal.variances())


def meant_rows(
    evidence: "Evidence",
    marginal: Marginal,
    functions: CellValues,
    conditions: Sequence[Condition],
    over: Callable[[Floats], Floats] = lambda values: values,
) -> Flags:
    """The share of each cell's rows that fulfil conditions, and how far off it may be.

    `functions` are those of the conditions; `over` lays their cells out over those of the marginal.
    """
    middle, nothing = over(functions.middle()[0]), np.zeros(marginal.size)
    if functions.exact:
        return Flags(meant=middle, slack=nothing, variance=nothing)
    if is_only_uneven(evidence.schema.columns, marginal, conditions):
        known = unevenness(evidence, marginal)
        spread = known.own * over(functions.spread[0]) + known.hidden * over(functions.hidden_spread[0])
        return Flags(meant=middle, slack=nothing, variance=squared_rows(marginal) * spread)
    least, most = over(functions.least(0.0)[0]), over(functions.greatest(0.0)[0])
    return Flags(meant=middle, slack=np.maximum(most - middle, middle - least), variance=nothing)


def is_only_uneven(
    columns: Sequence[Column],
    marginal: Marginal,
    conditions: Sequence[Condition],
    valued: frozenset[str] = frozenset(),
) -> bool:
    """Whether the rows of a cell differ by numbers alone, for a question with such conditions and functions of columns.

    What categories share a cell says nothing of how they split.
    """
    return not any(
        _splits(columns[index], groups, conditions, valued)
        for index, groups in zip(marginal.columns, marginal.groups, strict=True)
    )


def _splits(column: Column, groups: Integers, conditions: Sequence[Condition], valued: frozenset[str]) -> bool:
    """Whether a question tells atoms of a category apart that share a cell."""
    if isinstance(column, Celled) or int(groups.max()) + 1 == len(groups):
        return False
    leaves = [leaf for part in conditions for leaf in part.leaves() if column.name in leaf.names]
    if column.name in valued or any(len(leaf.names) > 1 for leaf in leaves):
        return True
    points = representatives(column, conditions)
    kind = outcomes(points, column, leaves)
    cells = groups[points.atoms]
    return len(np.unique(cells)) < len(np.unique(cells * (int(kind.max()) + 1) + kind))


@final
class RowValues:
    """The values of a column of numbers within the cells of its marginal, as its rows are likely spread over them."""

    def __init__(self, evidence: "Evidence", marginal: Marginal, column: Column) -> None:
        (index,), (groups,) = marginal.columns, marginal.groups
        places = hidden_places(evidence, index, groups)
        points = weigh_atoms(representatives(column), evidence.shares(index) + LEAST, places)
        self.numbers = numbers_of(column, pa.table({column.name: points.values}))  # (r,): NaN for NULL
        self.cells: Integers = groups[points.atoms]  # (r,)
        self._weights, self._loose = points.weights, points.spreading
        self._marginal, self._uneven = marginal, unevenness(evidence, marginal)

    def means(self, values: Floats) -> Floats:
        """The average of a function, given at all numbers, over each cell: (r,) → (cells,)."""
        return self._averages(values, self._weights)

    def inside(self, values: Floats) -> float:
        """The variance of its sum over all rows, by where in their cells these lie."""
        away = (values - self.means(values)[self.cells]) ** 2
        own, hidden = (self._averages(away, weights) for weights in (self._weights, self._loose))
        return float(squared_rows(self._marginal) @ (self._uneven.own * own + self._uneven.hidden * hidden))

    def _averages(self, values: Floats, weights: Floats) -> Floats:
        total, sums = (
            np.bincount(self.cells, weights * part, minlength=self._marginal.size)
            for part in (np.ones_like(values), values)
        )
        return np.asarray(sums / np.where(total > 0.0, total, 1.0))


def hidden_places(evidence: "Evidence", index: int, groups: Integers) -> Floats | None:
    """Of the rows of each cell of a column of numbers that noise hides, the part in each atom: (atoms,) → (atoms,).

    They may be anywhere in their cell, but farther from where the others are with a falling chance: equal ones for
    equal ratios of distances, so that no scale is preferred.
    """
    column = evidence.schema.columns[index]
    if not isinstance(column, Celled):
        return None
    shares, (middle, half) = evidence.shares(index) + LEAST, middles_and_halves(column, np.arange(column.size))
    centre = np.bincount(groups, shares * middle) / np.bincount(groups, shares)
    reach = np.abs(middle - centre[groups]) + half
    places = np.where(reach > 0.0, np.maximum(half, np.finfo(float).tiny) / np.where(reach > 0.0, reach, 1.0), 1.0)
    return np.asarray(places / np.bincount(groups, places)[groups])


def axes_of(
    evidence: "Evidence",
    marginal: Marginal,
    conditions: Sequence[Condition],
    valued: frozenset[str] = frozenset(),
    places: Floats = EVEN,
    change: Callable[[int, Representatives], Representatives] = lambda _, points: points,
) -> list[Axis]:
    """The columns of a marginal, as a question with such conditions and functions of columns is tried on them."""
    axes = []
    for index, groups in zip(marginal.columns, marginal.groups, strict=True):
        column = evidence.schema.columns[index]
        points = representatives(column, conditions, places if column.name in valued else EVEN)
        points = weigh_atoms(points, evidence.shares(index) + LEAST, hidden_places(evidence, index, groups))
        axes.append((column.name, few(change(index, points), column, groups, conditions, valued), groups))
    return axes


def _along(evidence: "Evidence", marginal: Marginal, axis: int) -> tuple[Floats, Floats] | None:
    """By one column, of its rows and of what is hidden: (cells of the marginal,); None where each cell is one value."""
    index, groups = marginal.columns[axis], marginal.groups[axis]
    column = evidence.schema.columns[index]
    if not isinstance(column, Celled):
        return None
    middle, half = middles_and_halves(column, groups)
    several = np.flatnonzero(half > 0.0)
    if len(several) == 0:
        return None
    counts, variances = (_first(part, marginal, axis) for part in (marginal.counts, marginal.variances()))
    finest = evidence.everybody.finest((index,))
    mass, noise = _base(finest, groups, half)
    splits = _Splits.of(counts, variances, mass, several[np.argsort(middle[several], kind="stable")])
    own, hidden = np.zeros_like(counts), np.zeros_like(counts)
    found = splits.unevenness(several) if splits.seen.any() else _by_pairs(evidence, marginal, axis)[several, None]
    own[several] = np.minimum(1.0, found + 1.0 / np.maximum(counts[several], 1.0))
    if finest is not None:
        own = np.maximum(own, _at_ends(evidence, finest, groups)[:, None])
    if len(marginal.columns) == 1:
        own = np.maximum(own, _by_offsets(evidence, marginal)[0][:, None])
    hidden[several] = np.minimum(1.0, noise[several, None])
    return _back(own, marginal, axis), _back(hidden, marginal, axis)


def _at_ends(evidence: "Evidence", finest: Marginal, groups: Integers) -> Floats:
    """How uneven cells are for the rows of a column that are at one of its ends: (atoms,) → (cells,).

    Beyond the first and the last of its finest cells that are seen to hold rows nothing tells of these, and within them
    the rows may begin or end anywhere. Where an end is equally likely at any place, and rows are even from there on,
    their mean is off the middle by the variance of even rows, ω = 1; or by as much as offsets still allow.
    """
    column = evidence.schema.columns[finest.columns[0]]
    assert isinstance(column, Celled)
    parts, (middle, half) = parts_of(finest.groups[0], groups), middles_and_halves(column, finest.groups[0])
    seen = np.flatnonzero((half > 0.0) & (finest.counts > SEEN * np.sqrt(finest.variances())))
    if parts is None or not len(seen):
        return np.zeros(int(groups.max()) + 1)
    ends = np.unique(seen[[np.argmin(middle[seen]), np.argmax(middle[seen])]])
    doubted = np.zeros(finest.size)
    doubted[ends] = finest.counts[ends] * np.sqrt(_by_offsets(evidence, finest)[1][ends])
    held, rows = (np.bincount(parts, counts) for counts in (doubted, finest.counts))
    return np.asarray(np.clip(held / np.maximum(rows, 1.0), 0.0, 1.0) ** 2)


def _by_offsets(evidence: "Evidence", marginal: Marginal) -> tuple[Floats, Floats]:
    """How uneven measured offsets say that rows of each cell of a column are, and may be at most: (cells,) each.

    Rows that are even have offsets of variance half²/3, so that a mean offset m shows an ω of 3·m²/half². Where offsets
    say nothing, it is between 0 and 1.
    """
    index, nothing = marginal.columns[0], np.zeros(marginal.size)
    column, moments = evidence.schema.columns[index], evidence.moments
    assert isinstance(column, Celled)
    found = None if moments is None else moments.alone(index, column)
    cells = None if moments is None else moments.cells(index)
    parts = None if cells is None else parts_of(marginal.groups[0], cells)
    if found is None or parts is None:
        return nothing, np.ones(marginal.size)
    sums, half = found[0], np.nan_to_num(found[1].half)[parts]
    offset, noise = sums.counts[parts] ** 2, sums.variances[parts]
    alone = (np.bincount(parts)[parts] == 1) & (half > 0.0)
    reach = np.where(alone, np.maximum(marginal.counts, 1.0) * half, 1.0) ** 2
    seen = alone & (np.minimum(offset, reach) > SEEN**2 * noise)  # no offset is beyond its cell's reach but by noise
    least = np.where(seen, 3.0 * (offset - noise) / reach, 0.0)
    most = np.where(alone, 3.0 * (offset + SURE**2 * noise) / reach, 1.0)
    return np.clip(least, 0.0, 1.0), np.clip(most, 0.0, 1.0)


def _back(values: Floats, marginal: Marginal, axis: int) -> Floats:
    """Numbers with one column first as those of a marginal's cells."""
    others = tuple(size for other, size in enumerate(marginal.shape) if other != axis)
    return np.moveaxis(values.reshape(-1, *others), 0, axis).ravel()


def _first(values: Floats, marginal: Marginal, axis: int) -> Floats:
    """Numbers of cells with one column first, and all others together: (its cells, others)."""
    return np.moveaxis(values.reshape(marginal.shape), axis, 0).reshape(marginal.shape[axis], -1)


def _base(finest: Marginal | None, groups: Integers, half: Floats) -> tuple[Floats, Floats]:
    """What the parts of two cells are expected by, and how uneven the noise of that makes each: (cells,) each.

    Rows of the column alone, where it was counted in finer cells; else widths.
    """
    parts = None if finest is None else parts_of(finest.groups[0], groups)
    if finest is None or parts is None or finest.size == len(half):
        return half, np.zeros(len(half))
    rows, noise = (np.bincount(parts, part, minlength=len(half)) for part in (finest.counts, finest.variances()))
    return np.maximum(rows, 1.0), noise / np.maximum(rows, 1.0) ** 2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Splits:
    """How the rows of two cells side by side split: (pairs, others) each; `cells` are in order."""

    cells: Integers  # (pairs + 1,)
    squares: Floats  # D², less the variance of its noise
    noise: Floats  # that variance
    whole: Floats  # p(1 − p)·m²
    seen: NDArray[np.bool_]

    @classmethod
    def of(cls, counts: Floats, variances: Floats, mass: Floats, cells: Integers) -> "_Splits":
        one, other = cells[:-1], cells[1:]
        part = (mass[one] / (mass[one] + mass[other]))[:, None]
        both, variance = counts[one] + counts[other], variances[one] + variances[other]
        noise = (1.0 - part) ** 2 * variances[one] + part**2 * variances[other]
        squares = (counts[one] - part * both) ** 2 - noise
        whole = part * (1.0 - part) * np.maximum(both**2 - variance, 0.0)
        seen = (both > SEEN * np.sqrt(variance)) & (whole > 0.0)
        return cls(cells=cells, squares=squares, noise=noise, whole=whole, seen=seen)

    def unevenness(self, wanted: Integers) -> Floats:
        """Of each cell: that of all splits, or that of its own if these are more uneven: (wanted, others).

        Cells that are in no split that is seen may hold all of their rows at one place.
        """
        own = np.where(self.seen, np.clip(self.squares / np.where(self.seen, self.whole, 1.0), 0.0, 1.0), 0.0)
        sums, times = np.zeros((2, len(self.cells), self.squares.shape[1]))
        for place in (slice(None, -1), slice(1, None)):
            sums[place] += own
            times[place] += self.seen
        local = np.where(times > 0.0, sums / np.maximum(times, 1.0), 1.0)
        found = np.maximum(local, self._pool())
        order = np.argsort(self.cells)
        return np.asarray(found[order][np.searchsorted(self.cells[order], wanted)])

    def _pool(self) -> float:
        """That of all splits together, as high as it may be."""
        whole, count = float(self.whole[self.seen].sum()), int(self.seen.sum())
        value = max(0.0, float(self.squares[self.seen].sum()) / whole)
        error = math.hypot(
            math.sqrt(2.0 * float((self.noise[self.seen] ** 2).sum())) / whole, value * math.sqrt(2.0 / count)
        )
        return min(1.0, value + SURE * error)


def _by_pairs(evidence: "Evidence", marginal: Marginal, axis: int) -> Floats:
    """How uneven the cells of a column are beside several others, where these have no cells to split: (cells,).

    Beside each of the others alone it may have been counted in finer cells. With p the part of a cell's m rows that the
    column's own counts put below one of their edges, the rows n below it are off by D = n − p·m, of variance
    ω·p(1 − p)·m² beyond the noise. Beside all others together rows are taken to be no more uneven than these ω add up
    to. Where nothing tells, ω is 1.
    """
    index, groups = marginal.columns[axis], marginal.groups[axis]
    found = np.zeros(marginal.shape[axis])
    finest, others = evidence.everybody.finest((index,)), [one for one in marginal.columns if one != index]
    for other in others:
        pair = evidence.everybody.finest(tuple(sorted((index, other))))
        if finest is None or pair is None or len(others) < 2:
            return np.ones_like(found)
        own = pair.columns.index(index)
        cells, parts = parts_of(finest.groups[0], pair.groups[own]), parts_of(pair.groups[own], groups)
        if cells is None or parts is None:
            return np.ones_like(found)
        rows = np.bincount(cells, np.maximum(finest.counts, 0.0)) + LEAST
        counts, noise = (_first(values, pair, own) for values in (pair.counts, pair.variances()))
        column = evidence.schema.columns[index]
        assert isinstance(column, Celled)  # or no cell would have several values
        order = np.argsort(middles_and_halves(column, pair.groups[own])[0], kind="stable")
        for cell in range(len(found)):
            inside = order[parts[order] == cell]
            found[cell] += _off_edges(rows[inside], counts[inside], noise[inside])
    return np.minimum(found, 1.0)


def _off_edges(rows: Floats, counts: Floats, noise: Floats) -> float:
    """ω of a cell by the rows below each edge in it, as high as it may be: (finer,), (finer, others) twice.

    Rows below one edge are mostly below the next, too, so that the noises of all edges count as one.
    """
    part = (np.cumsum(rows) / rows.sum())[:-1, None]
    (below, held), (doubt, every) = ((np.cumsum(one, axis=0)[:-1], one.sum(axis=0)) for one in (counts, noise))
    error = doubt * (1.0 - 2.0 * part) + part**2 * every
    whole = float((part * (1.0 - part) * np.maximum(held**2 - every, 0.0)).sum())
    if not whole > 0.0:
        return 1.0
    value = max(0.0, float(((below - part * held) ** 2 - error).sum()) / whole)
    return value + SURE * math.sqrt(2.0) * math.hypot(float(error.sum()) / whole, value / math.sqrt(counts.shape[1]))
