"""Offsets of numbers from the middles of cells, their sums over rows, and those of products; groups and leaves."""

import dataclasses
import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, Ramp, within
from kernelease.measured.views import View
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, moment_sensitivity, spread_sensitivity
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy

# --------------------
# Columns of two levels: groups, which are counted with other columns, and the leaves in them, counted alone.


Levels: TypeAlias = tuple[Integers | None, ...]
"""Of each column: the group of each atom where its atoms are leaves in groups, None elsewhere."""


def declared_levels(columns: Sequence[Column]) -> Levels:
    """The groups of columns whose atoms are leaves, as they are declared; None where each leaf is a group."""
    found = [column.atom_groups if isinstance(column, Hierarchy) else None for column in columns]
    return tuple(None if own is None or int(own.max()) + 1 == len(own) else own for own in found)


def levels_of(noisy: NoisyBlocks) -> Levels:
    """The groups of columns whose atoms are leaves: those without an order that were counted in fewer cells alone."""
    ordered = noisy.ordered or (0,) * len(noisy.sizes)
    found: dict[int, Integers] = {}
    for block in (one.block for one in noisy.blocks if one.block.alone):
        if not ordered[block.columns[0]] and block.cells < noisy.sizes[block.columns[0]]:
            found.setdefault(block.columns[0], block.groups[0])
    return tuple(found.get(column) for column in range(len(noisy.sizes)))


def in_groups(noisy: NoisyBlocks, levels: Levels) -> NoisyBlocks:
    """The same measurements in which groups are the atoms; those of leaves are left out."""
    if all(groups is None for groups in levels):
        return noisy
    sizes = (
        size if groups is None else int(groups.max()) + 1 for size, groups in zip(noisy.sizes, levels, strict=True)
    )
    return dataclasses.replace(
        noisy,
        sizes=tuple(sizes),
        blocks=tuple(_in_groups(one, levels) for one in noisy.blocks if not of_leaves(one.block, levels)),
        moments=tuple(_in_groups(one, levels) for one in noisy.moments),
    )


def of_leaves(block: Block, levels: Levels) -> bool:
    """Whether a block is of a column's leaves, one by one: there are always fewer groups."""
    if not block.alone or (groups := levels[block.columns[0]]) is None:
        return False
    return block.cells == len(groups)


def of_atoms(blocks: Sequence[Block], levels: Levels) -> list[Block]:
    """Blocks in cells of groups as such in cells of atoms; those that are in cells of atoms already stay.

    Blocks that share cells share them afterwards: thousands of candidates hold no array each.
    """
    if all(groups is None for groups in levels):
        return list(blocks)
    known: dict[tuple[int, int], Integers] = {}

    def spread(column: int, cells: Integers) -> Integers:
        own = levels[column]
        if own is None or len(cells) == len(own):
            return cells
        return known.setdefault((column, id(cells)), cells[own])

    return [dataclasses.replace(block, groups=tuple(map(spread, block.columns, block.groups))) for block in blocks]


def _in_groups(one: NoisyBlock, levels: Levels) -> NoisyBlock:
    if all(levels[column] is None for column in one.block.columns):
        return one
    groups = tuple(
        cells if own is None else within(own, cells)
        for cells, own in zip(one.block.groups, _of(one.block.columns, levels), strict=True)
    )
    return dataclasses.replace(one, block=dataclasses.replace(one.block, groups=groups))


def _of(columns: Sequence[int], levels: Levels) -> list[Integers | None]:
    return [levels[column] for column in columns]


# --------------------
# A number as the middle of its cell plus an offset: geometry that measuring and answering share.


BITS = 20  # of the weights of one column, at most…
BITS_OF_PRODUCT = 14  # …and of each of two: their product is then at most 2²⁸


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Offsets:
    """x = middle[cell] + unit[cell]·t, up to `slack`, where t is the weight that `ramp` gives to x.

    Units are the column's own: numbers, days, microseconds. Atoms without a number (NULL) have the weight 0, and their
    cells the middle NaN. A cell of a single value has the unit 0 where cells are told apart, and so has one that is
    too wide: its offsets are not measured.
    """

    middle: Floats  # (cells,)
    half: Floats  # (cells,): half its width
    unit: Floats  # (cells,)
    ramp: Ramp
    slack: float

    @property
    def widest(self) -> float:
        """Half the width of the widest cell that is measured."""
        return float(self.unit.max()) * self.ramp.limit

    @property
    def told(self) -> NDArray[np.bool_]:
        """Whether offsets say where in a cell its numbers lie: (cells,)."""
        told: NDArray[np.bool_] = (self.half == 0.0) | (self.unit > 0.0)
        return told


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """The lowest and the highest number of each of a column's cells of values, and of the finer ones that rows have.

    A column is asked once, and its cells are summed in many ways.
    """

    size: int  # atoms, those without a number too
    lowest: Floats  # (cells of values,)
    highest: Floats
    finer: tuple[Floats, Floats] | None  # the same of finer cells, where there are some

    @classmethod
    def of(cls, column: Celled) -> "Ends":
        """Those of a declared column."""
        lowest, highest = column.bounds()
        finer = None if (found := column.finer) is None else found.bounds()
        return cls(
            size=column.size,
            lowest=lowest.astype(np.float64),
            highest=highest.astype(np.float64),
            finer=None if finer is None else (finer[0].astype(np.float64), finer[1].astype(np.float64)),
        )


def offsets(
    column: Celled | Ends, cells: Integers, *, apart: bool, bits: int = BITS, narrow: float = math.inf
) -> Offsets | None:
    """The offsets of a column's numbers about the middles of cells: (atoms,) → `Offsets`.

    Where cells are told `apart`, each has its own unit, its half width over 2^bits; where they are not, the widest
    one's. Cells whose half width is above `narrow` are left out. None where no cell holds more than one value: nothing
    is left to measure.
    """
    ends = column if isinstance(column, Ends) else Ends.of(column)
    known = cells[: len(ends.lowest)]
    low, high = np.full((2, int(cells.max()) + 1), np.nan)
    np.fmin.at(low, known, ends.lowest)
    np.fmax.at(high, known, ends.highest)
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    if not np.nanmax(half) > 0.0:
        return None
    left_in = half <= max(narrow, float(half[half > 0.0].min()))  # NULL has no half
    unit = np.ldexp(np.where(left_in, half if apart else half[left_in].max(), 0.0), -bits)
    ramp = _ramp(ends, known, middle, unit, 1 << bits)
    return Offsets(middle=middle, half=half, unit=unit, ramp=ramp, slack=_slack(ends, known, middle, unit, ramp))


def measured_width(column: Celled | Ends, cells: Integers, ramp: Ramp) -> float:
    """Half the width of the widest cell that a ramp gives weights to: what `narrow` was."""
    found = offsets(column, cells, apart=True)
    weighed = np.bincount(cells, (ramp.start != 0) | (ramp.slope != 0)) > 0.0
    return 0.0 if found is None else float(np.max(found.half, where=weighed & ~np.isnan(found.half), initial=0.0))


def _ramp(ends: Ends, cells: Integers, middle: Floats, unit: Floats, limit: int) -> Ramp:
    """Weights that are linear in the fine code within each atom of several values, and constant in the others."""
    lowest, highest = ends.lowest, ends.highest
    scale = np.divide(1.0, unit, out=np.zeros_like(unit), where=unit > 0.0)[cells]
    start, slope = np.zeros((2, ends.size), dtype=np.int64)
    atoms = np.arange(len(lowest))
    if ends.finer is None:
        start[atoms] = np.rint((lowest - middle[cells]) * scale)
        return Ramp(start=start, slope=slope, limit=limit)
    first, last = ends.finer
    centre = first / 2 + last / 2
    left, right = (np.maximum(np.searchsorted(first, bound, side="right") - 1, 0) for bound in (lowest, highest))
    several, between = lowest < highest, (left + right) // 2
    rise = np.where(several, (centre[right] - centre[left]) / np.maximum(right - left, 1), 0.0)
    slope[atoms] = np.rint(rise * scale)
    at = np.where(several, centre[between], lowest)
    start[atoms] = np.rint((at - middle[cells]) * scale) - slope[atoms] * np.where(several, between, 0)
    return Ramp(start=start, slope=slope, limit=limit)


def _slack(ends: Ends, cells: Integers, middle: Floats, unit: Floats, ramp: Ramp) -> float:
    """The farthest that a legal value can be from middle + unit·t, by both ends of every fine cell in every atom."""
    lowest, highest = ends.lowest, ends.highest
    first, last = (lowest, highest) if ends.finer is None else ends.finer
    fine = np.arange(len(first))
    worst = 0.0
    for end in (first, last):  # a fine cell lies in one atom, or in two
        atom = np.maximum(np.searchsorted(lowest, end, side="right") - 1, 0)
        near = middle[cells[atom]] + unit[cells[atom]] * ramp.of(atom, fine)
        told = unit[cells[atom]] > 0.0
        for value in (np.maximum(first, lowest[atom]), np.minimum(last, highest[atom])):
            worst = max(worst, float(np.abs(np.where(told, value - near, 0.0)).max()))
    return worst


# --------------------
# Moments: sums of what rows weigh, by how far their numbers lie from the middles of cells.


LARGEST_LIMIT = 2**28  # of a product of weights: summed over a batch of persons' rows it fits 64 bits


@dataclass(frozen=True, kw_only=True)
class Weights(Block, ABC):
    """A block in which rows are weighed, not counted: it says nothing of counts."""

    def exact(self, table: NDArray[Any]) -> NDArray[Any]:
        """The sums themselves."""
        return table

    @property
    def adds_up(self) -> bool:
        """Weights add up to no number of rows."""
        return False

    def seen(self, table: Floats) -> Floats:
        """Refused: counts do not say it."""
        raise self._no_counts()

    def spread(self, numbers: Floats) -> Floats:
        """Refused: it asks nothing of counts."""
        raise self._no_counts()

    def covers(self, columns: tuple[int, ...]) -> bool:
        """No columns."""
        return False

    def tells(self, columns: tuple[int, ...]) -> bool:
        """Nothing of counts."""
        return False

    def view(self, numbers: Floats, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> View:
        """Refused: it tells nothing of counts."""
        raise self._no_counts()

    def coefficients(
        self, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
    ) -> Floats:
        """Refused: it tells nothing of counts."""
        raise self._no_counts()

    def _no_counts(self) -> ParameterError:
        return ParameterError(f"{type(self).__name__}: sums of weights are no function of counts.")


@final
@dataclass(frozen=True, kw_only=True)
class Moments(Weights):
    """Over the rows of each cell Σ Π_i t_i, where t_i is a public whole number of the row's value in column i.

    It is at most `ramps[i].limit` in size, or 1 where `ramps[i]` is None. In rows, each of them counts between −1 and
    1. Counts say nothing of where in its cell a number is, and moments nothing of counts: they are estimated apart
    (`estimate.offset_sums`), and rows are drawn to agree with them within cells.
    """

    ramps: tuple[Ramp | None, ...] = field()

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        if len(self.ramps) != len(self.columns) or self.weighted not in (1, 2):
            raise ParameterError("Moments: of its columns one or two are weighted; the others need None as their ramp.")
        if self.whole > LARGEST_LIMIT:
            raise ParameterError(f"Moments: a row may weigh at most {LARGEST_LIMIT}, got ramps up to {self.whole}.")

    @cached_property
    def whole(self) -> int:
        """The most that a row can weigh, either way."""
        return math.prod(ramp.limit for ramp in self.ramps if ramp is not None)

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row adds to one cell what it weighs."""
        return moment_sensitivity(neighbours, limit=self.whole, unit=unit)

    @property
    def label(self) -> str:
        """Offsets."""
        return f"offsets of columns {self.columns}"

    def check(self, sizes: tuple[int, ...]) -> None:
        """Each ramp has a weight for each atom of its column."""
        Block.check(self, sizes)
        for column, ramp in zip(self.columns, self.ramps, strict=True):
            if ramp is not None and ramp.start.shape != (sizes[column],):
                raise ParameterError("a moment weighs the values of a column wrongly.")


# --------------------
# How numbers go together: sums of products.


MOST_SPREAD = 12  # limit: numbers of a spread: with more, no table here is large enough for its noise
_LARGEST_SCORE, _LARGEST_MIX = 2**32, 2**20  # limit: with these no sum of products leaves 64 bits on the way…
CLAMP = 2**20  # limit: …to its clamp, beyond which squares would


@final
@dataclass(frozen=True, kw_only=True)
class Spread(Weights):
    """How numbers go together: Σ q_i q_j over rows, i ≤ j, of q = (one, clamp(Σ_k scores[k][a_k]·mixing[k])).

    a_k is a row's atom in column k. Rows with Σ q_i² above `limit` add nothing: NULL has a score that sees to that.
    All of it is public. Whatever scores and mixing say, no row adds more than `limit`: sensitivity needs nothing else.
    """

    scores: tuple[Integers, ...]  # (atoms,) each
    mixing: Integers  # (columns, columns)
    one: int
    limit: int

    most_columns: ClassVar[int] = MOST_SPREAD

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        width = len(self.columns)
        if len(self.scores) != width or self.mixing.shape != (width, width) or any(s.ndim != 1 for s in self.scores):
            raise ParameterError("Spread: needs a score for each atom of each column, and a square mixing of them.")
        if (
            any((np.abs(own) >= _LARGEST_SCORE).any() for own in self.scores)
            or (np.abs(self.mixing) >= _LARGEST_MIX).any()
        ):
            raise ParameterError(f"Spread: scores must be below {_LARGEST_SCORE}, and mixing below {_LARGEST_MIX}.")
        if not 1 <= self.one**2 <= self.limit <= LARGEST_LIMIT:
            raise ParameterError(
                f"Spread: needs 1 ≤ one² ≤ limit ≤ {LARGEST_LIMIT}, got {self.one!r} and {self.limit!r}."
            )

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """One number for each product."""
        return (self.width * (self.width + 1) // 2,)

    @property
    def width(self) -> int:
        """Numbers of q."""
        return len(self.columns) + 1

    @property
    def weighs(self) -> bool:
        """Rows add products."""
        return True

    @property
    def whole(self) -> int:
        """The most that a row can add to a sum, either way."""
        return self.limit

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row adds all products of a vector whose length is bounded."""
        return spread_sensitivity(neighbours, limit=self.limit, width=self.width, unit=unit)

    def vectors(self, atoms: Sequence[NDArray[Any]]) -> Integers:
        """q of each row without its first number, where that is within the limit, and 0 where it is not.

        `atoms` are those of each of the columns, (n,): (n, columns).
        """
        scored = np.stack([own[one] for own, one in zip(self.scores, atoms, strict=True)], axis=1)
        q: Integers = np.clip(scored @ self.mixing, -CLAMP, CLAMP)
        return q

    def within(self, q: Integers) -> NDArray[np.bool_]:
        """Which rows add something: (n,)."""
        inside: NDArray[np.bool_] = (q * q).sum(axis=1) <= self.limit - self.one**2
        return inside

    def sums(self, atoms: Sequence[NDArray[Any]], weights: Integers | None) -> Integers:
        """Σ weight·q_i q_j over rows, for i ≤ j, row by row of the triangle: (products,)."""
        q = self.vectors(atoms)
        inside = self.within(q)
        whole = np.column_stack([np.full(int(inside.sum()), self.one), q[inside]])
        weighed = whole if weights is None else whole * weights[inside, None]
        products: Integers = (weighed.T @ whole)[np.triu_indices(self.width)]
        return products

    def moments(self, values: Floats, sigma: float) -> "SpreadMoments | None":
        """What noisy sums say, each with noise σ in rows; None where they say that there are no rows."""
        table = np.zeros((self.width, self.width))
        table[np.triu_indices(self.width)] = values * (self.limit / self.one**2)
        table += np.triu(table, 1).T
        rows = float(table[0, 0])
        if not rows > 0.0:
            return None
        mean = table[0, 1:] / rows
        return SpreadMoments(
            mean=mean,
            covariance=table[1:, 1:] / rows - np.outer(mean, mean),
            noise=sigma * self.limit / self.one**2 / rows,
        )

    @property
    def label(self) -> str:
        """Products."""
        return f"how columns {self.columns} go together"

    def check(self, sizes: tuple[int, ...]) -> None:
        """Each column has a score for each of its atoms."""
        Block.check(self, sizes)
        if any(own.shape != (sizes[column],) for column, own in zip(self.columns, self.scores, strict=True)):
            raise ParameterError("a spread scores the values of a column wrongly.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadMoments:
    """Mean and covariance of q / one over the rows within the limit, and the noise of each of the latter's numbers."""

    mean: Floats
    covariance: Floats
    noise: float

    @property
    def doubt(self) -> float:
        """About how much noise there is at most in any direction."""
        return self.noise * math.sqrt(2.0 * len(self.mean))
