"""Contingency blocks: which counts, contrasts or sums of offsets to measure, and their noisy values."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.measured.measured import (
    Choice,
    Measured,
    RecordedNoise,
    Recording,
    all_private,
    check_integers,
    check_rows,
    digest,
    needed_by,
)
from kernelease.privacy.accounting import Loss
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.sensitivity import (
    Sensitivity,
    block_sensitivity,
    centred_sensitivity,
    distance_sensitivity,
    moment_sensitivity,
)
from kernelease.privacy.step import LEAST_LAPLACE_SCALE, Measurement, Selection, Step
from kernelease.table.domain import Domain

Made = TypeVar("Made")

# --------------------
# Offsets within cells, as whole numbers: what one row adds to a sum of offsets.


LARGEST_RAMP_LIMIT = 2**20  # of a weight: summed over a batch of persons' rows it fits 64 bits
_LARGEST = 2**48  # of `start` and `slope`: with fine codes below 2¹⁴, no weight overflows on the way to its clamp


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp(Kind):
    """t(a, f) = clamp(start[a] + slope[a]·f, −limit, limit), for atom a and the code f of its value in finer cells.

    All of it is public. Whatever the arrays say, no weight is larger than `limit`: sensitivity needs nothing else.

    >>> Ramp(start=np.array([-8, -40]), slope=np.array([2, 4]), limit=8).of(np.array([0, 1, 1]), np.array([5, 9, 99]))
    array([ 2, -4,  8])
    """

    start: Integers  # (atoms,)
    slope: Integers  # (atoms,)
    limit: int

    def __post_init__(self) -> None:
        if self.start.ndim != 1 or self.start.shape != self.slope.shape:
            raise ParameterError(
                f"Ramp: needs a start and a slope for each atom, got shapes {self.start.shape} and {self.slope.shape}."
            )
        if not 1 <= self.limit <= LARGEST_RAMP_LIMIT:
            raise ParameterError(f"Ramp: limit must be from 1 to {LARGEST_RAMP_LIMIT}, got {self.limit!r}.")
        if any((part <= -_LARGEST).any() or (part >= _LARGEST).any() for part in (self.start, self.slope)):
            raise ParameterError(f"Ramp: start and slope must be below {_LARGEST} in size.")

    def of(self, atoms: Integers, fine: Integers) -> Integers:
        """The weight of each row: (n,), (n,) → (n,)."""
        weights: Integers = np.clip(self.start[atoms] + self.slope[atoms] * fine, -self.limit, self.limit)
        return weights


# --------------------
# A block: what to measure.


MOST_COLUMNS = 4  # of a block: no method counts more of them together
LARGEST_LIMIT = 2**28  # of a product of weights: summed over a batch of persons' rows it fits 64 bits


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Block(Kind):
    """Which sums to measure: over the rows of each cell of up to four columns, Σ Π_i t_i.

    `groups[i][a]` is the cell of atom a of column `columns[i]`. Without `ramps` a row weighs 1, and sums are counts:
    one-hot features of norm exactly 1; a block of no column is the number of rows. With ramps t_i is a public whole
    number of the row's value in column i, at most `ramps[i].limit` in size, or 1 where `ramps[i]` is None: a *moment*.

    A `centred` block is of counts with the mean over the cells of each column taken out, times the number of cells: of
    one column (m·I − J) x, J all ones, which says how it is distributed and not how many rows there are; of two
    (m·I − J) X (n·I − J), their *interaction*, which says how they go together and nothing about either alone.
    """

    columns: tuple[int, ...]
    groups: tuple[Integers, ...]
    share: float  # of the release's budget
    ramps: tuple[Ramp | None, ...] = ()
    centred: bool = False

    def __post_init__(self) -> None:
        if len(self.columns) > MOST_COLUMNS or len(self.groups) != len(self.columns):
            raise ParameterError(
                f"Block: needs up to four columns and a grouping for each, got {len(self.columns)} and "
                f"{len(self.groups)}."
            )
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(f"Block: each column once, got {self.columns!r}.")
        if self.ramps and (len(self.ramps) != len(self.columns) or self.weighted not in (1, 2)):
            raise ParameterError("Block: of its columns one or two are weighted; the others need None as their ramp.")
        if self.centred and (len(self.columns) not in (1, 2) or self.ramps or min(self.shape) < 2):
            raise ParameterError("Block: what is centred are counts of one or two columns, of two cells or more each.")
        if self.limit > LARGEST_LIMIT:
            raise ParameterError(f"Block: a row may weigh at most {LARGEST_LIMIT}, got ramps up to {self.limit}.")

    @property
    def weighted(self) -> int:
        """How many of its columns weigh rows: 0 for counts."""
        return sum(ramp is not None for ramp in self.ramps)

    @property
    def limit(self) -> int:
        """The most that a row can weigh, either way: 1 for counts."""
        return math.prod(ramp.limit for ramp in self.ramps if ramp is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each column."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @property
    def cells(self) -> int:
        """Number of sums."""
        return int(np.prod(self.shape))

    @property
    def numbers(self) -> int:
        """Number of sums that do not follow from the others."""
        return math.prod(size - 1 for size in self.shape) if self.centred else self.cells


def finest(blocks: Iterable[Block]) -> list[int]:
    """Positions of some blocks: for each set of columns, of the one with most cells."""
    most: dict[frozenset[int], tuple[int, int]] = {}
    for place, block in enumerate(blocks):
        key = frozenset(block.columns)
        if key not in most or block.cells > most[key][0]:
            most[key] = block.cells, place
    return sorted(place for _, place in most.values())


def details(blocks: Iterable[Block]) -> list[int]:
    """Positions of some blocks: of two columns, in more cells than an earlier one has of the same columns."""
    most: dict[frozenset[int], int] = {}
    places = []
    for place, block in enumerate(blocks):
        key = frozenset(block.columns)
        if len(key) == 2 and block.cells > most.get(key, block.cells):
            places.append(place)
        most.setdefault(key, block.cells)
    return places


def refined(groups: Sequence[Integers]) -> Integers:
    """The coarsest cells that tell apart what any of the groupings does: (atoms,)."""
    found = groups[0]
    for group in groups[1:]:
        found = np.unique(found * (int(group.max()) + 1) + group, return_inverse=True)[1].reshape(-1)
    return found


def within(cells: Integers, group: Integers) -> Integers:
    """The group of each of a column's cells, from those of its atoms."""
    result = np.zeros(int(cells.max()) + 1, dtype=np.int64)
    result[cells] = group
    return result


# --------------------
# Measured blocks: the noisy values.


_MOST_COUNT = 2.0**47  # no table has more rows, and float64 holds such a number to 1/64
_LEAST_NOISE, _MOST_NOISE = 2.0**-16, 2.0**47  # standard deviations, in rows: with these, squares fit every float
_TWO_SIDED = 1.96  # of a normal law, 95 % lie within so many standard deviations
_SLACK = 1 + 1e-9  # for floats that were written in decimal and read again
_FAR = 8.0  # standard deviations by which no honest sum is off
LEAST_SIGMA = 1e-3  # rows: at an ε of thousands Laplace noise on integers is 0, and precisions would be infinite


@final
@dataclass(frozen=True, kw_only=True)  # without slots: what is computed of it once is kept with it
class NoisyBlock(Kind):
    """A block's counts with noise, in rows (or persons): `values` has the block's shape, `sigma` is of each count.

    Of a moment, `values` are sums of t / limit: in rows, too, of which each counts between −1 and 1. Of a centred
    block they are counts less their means along each column: noise along these means says nothing and is taken out, so
    that noise is the same in all directions that are left.

    `round` 0 measures every column and, where all can be seen, every pair; only the cells of pairs follow from noisy
    single columns. What a later round measures was chosen: privately, or by a fit to what was measured before.
    """

    block: Block
    measurement: Measurement
    unit: int
    round: int = 0

    @cached_property
    def values(self) -> Floats:
        """Noisy counts, or sums of weights over their limit, or counts less their means."""
        values: Floats = np.asarray(self.measurement.values.reshape(self.block.shape) / self.whole)
        values = without_means(values) if self.block.centred else values
        values.flags.writeable = False
        return values

    def counts(self, rows: float) -> Floats:
        """Noisy counts of one column: a centred one's with its mean, which `rows` tells."""
        return self.values + rows / self.block.cells if self.block.centred else self.values

    @cached_property
    def sigma(self) -> float:
        """Standard deviation of the noise of each count; nothing is taken as known to better than `LEAST_SIGMA`."""
        return max(LEAST_SIGMA, self.measurement.standard_deviation / self.whole)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of each of `values`: less than `sigma` where means are taken out."""
        return self.sigma * math.sqrt(self.block.numbers / self.block.cells)

    @property
    def whole(self) -> int:
        """What one row (or person) can add, in integers of the measurement; of a centred block, before means go."""
        return self.unit * (self.block.cells if self.block.centred else self.block.limit)

    def least(self, neighbours: Neighbours) -> Sensitivity:
        """How far neighbouring tables may move the block: what its noise must have been for."""
        return sensitivity_of(self.block, neighbours, self.unit)

    def check(self, sizes: tuple[int, ...]) -> None:
        """Raise `ParameterError` unless the block is of these columns, and its numbers are those of its cells."""
        block = self.block
        if not all(0 <= column < len(sizes) for column in block.columns):
            raise ParameterError("a table of counts is of columns that there are not.")
        for column, cells in zip(block.columns, block.groups, strict=True):
            if cells.shape != (sizes[column],) or not 0 <= int(cells.min()) <= int(cells.max()) < sizes[column]:
                raise ParameterError("a table of counts groups the values of a column wrongly.")
        if self.unit < 1 or self.measurement.step.coordinates != block.cells:
            raise ParameterError("a table of counts has another size than its noise.")
        check_integers(self.measurement.integers, block.cells)
        for column, ramp in zip(block.columns, block.ramps, strict=False):
            if ramp is not None and ramp.start.shape != (sizes[column],):
                raise ParameterError("a moment weighs the values of a column wrongly.")
        noise = self.measurement.standard_deviation / self.whole
        if not _LEAST_NOISE < noise < _MOST_NOISE or not np.abs(self.values).max() < _MOST_COUNT:
            raise ParameterError("a count or its noise is beyond all bounds.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyBlocks(Measured):
    """All that was counted of a table: noisy blocks, and the number of rows (noisy unless it is public).

    `moments` are sums of offsets within cells, measured after all counts.
    """

    sizes: tuple[int, ...]  # atoms of each column
    blocks: tuple[NoisyBlock, ...]
    neighbours: Neighbours = field()
    rows: float = field()
    ordered: tuple[int, ...] = ()  # of each column, how many of its first atoms are in an order that means something
    selections: tuple[Selection, ...] = ()  # private choices of what to measure, each among those that were left
    choices: tuple[Choice, ...] = ()
    moments: tuple[NoisyBlock, ...] = ()
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, make: Callable[["NoisyBlocks"], Made]) -> Made:
        """What a function makes of these numbers. It is asked once, and its answer kept as long as they are."""
        if make not in self._kept:
            self._kept[make] = make(self)
        made: Made = self._kept[make]
        return made

    @property
    def every(self) -> tuple[NoisyBlock, ...]:
        """Counts and moments, in the order in which they were measured."""
        return (*self.blocks, *self.moments)

    @property
    def details(self) -> tuple[NoisyBlock, ...]:
        """Blocks that see two columns more finely than an earlier one: rows keep to them, within cells."""
        return tuple(self.blocks[place] for place in details(block.block for block in self.blocks))

    @property
    def without_details(self) -> "NoisyBlocks":
        """What models are fitted to, and questions answered from."""
        left_out = set(details(block.block for block in self.blocks))
        return replace(self, blocks=tuple(b for place, b in enumerate(self.blocks) if place not in left_out))

    @property
    def steps(self) -> tuple[Step, ...]:
        """Every block's, every moment's, then every selection's."""
        return (*(block.measurement.step for block in self.every), *(choice.step for choice in self.selections))

    @property
    def private(self) -> bool:
        """Whether all noise came from the operating system."""
        return all_private(block.measurement for block in self.every) and all_private(self.selections)

    @property
    def fingerprint(self) -> str:
        """A digest of all blocks: the first alone may be a single number, which two releases can have in common."""
        return digest(np.concatenate([block.measurement.integers for block in self.blocks]))

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.sizes)

    @property
    def recorded(self) -> RecordedNoise:
        """Blocks and picks as they stand."""
        vectors = tuple(Recording(integers=block.measurement.integers) for block in self.every)
        picks = tuple(selection.index for selection in self.selections)
        return RecordedNoise(vectors=vectors, picks=picks, private=self.private)

    def needed(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """Least sensitivities: of a block in the norm of its noise, of a score by how far a row moves a distance."""
        if any(block.unit != unit for block in self.every):
            raise ParameterError("a table of counts is of another unit than the one that is protected.")
        blocks = (needed_by(block.measurement.step, block.least(neighbours)) for block in self.every)
        needed = (*blocks, *(float(distance_sensitivity(neighbours, unit=unit)) for _ in self.selections))
        if any(step.sensitivity > exact * _SLACK for step, exact in zip(self.steps, needed, strict=True)):
            raise ParameterError("a table of counts was measured for another relation than the one that is promised.")
        return needed

    def check(self, domain: Domain) -> None:
        """Blocks of the declared columns, with as many numbers as cells, that agree on the number of rows."""
        check_rows(self.rows)
        if not self.blocks or domain.schema is None or self.sizes != domain.sizes:
            raise ParameterError("there are none, or of other columns than the schema's.")
        if self.ordered != tuple(column.in_order for column in domain.schema):
            raise ParameterError("the columns' order is not the schema's.")
        for block in self.every:
            block.check(self.sizes)
        if any(block.block.weighted for block in self.blocks) or not all(one.block.weighted for one in self.moments):
            raise ParameterError("counts and moments are mixed up.")
        self._check_count()

    def check_shares(self, total: Loss) -> None:
        """Check shares of μ², or of a pure ε."""
        pure = total.pure_epsilon < math.inf
        for noisy in self.every:
            loss = noisy.measurement.loss
            part = loss.pure_epsilon / total.pure_epsilon if pure else loss.mu_squared / total.mu_squared
            least = pure and noisy.measurement.scale <= LEAST_LAPLACE_SCALE  # more noise than the share asked for
            if not math.isclose(part, noisy.block.share, rel_tol=1e-6) and not (least and part < noisy.block.share):
                raise ParameterError("a table of counts was charged another share of the budget than it states.")

    def _check_count(self) -> None:
        """Every row is in one cell of every block: a noisy number of rows follows, a public one must be near.

        Of a column that was measured up to the number of rows, no count is known without it.
        """
        centred = any(block.block.centred and len(block.block.columns) == 1 for block in self.blocks)
        apart = self.neighbours is Neighbours.ADD_REMOVE and any(not block.block.columns for block in self.blocks)
        if centred and not apart:
            raise ParameterError("columns were measured up to the number of rows, which was not measured apart.")
        if self.neighbours is Neighbours.ADD_REMOVE and self.rows != estimated_rows(self.blocks):
            raise ParameterError("the number of rows is not the one that the noisy counts give.")
        counted = [block for block in self.blocks if not block.block.centred]
        far = (abs(b.values.sum() - self.rows) > _FAR * b.sigma * math.sqrt(b.block.cells) for b in counted)
        if self.neighbours is Neighbours.REPLACE_ONE and any(far):
            raise ParameterError("the noisy counts add up to another number of rows.")

    @property
    def accuracy(self) -> str:
        """The noise of counts, smallest to largest, and of interactions."""
        together = [block.block.centred and len(block.block.columns) > 1 for block in self.blocks]
        pairs = sorted(block.deviation for block, apart in zip(self.blocks, together, strict=True) if apart)
        counted = sorted(block.deviation for block, apart in zip(self.blocks, together, strict=True) if not apart)
        told = (
            f"{len(counted):,} tables of counts were measured. The noise of a single count has a standard "
            f"deviation of {counted[0]:.3g} to {counted[-1]:.3g} rows, depending on the table: a count of the middle "
            f"table is within {_TWO_SIDED * counted[len(counted) // 2]:.3g} rows of the truth in 95 % of cases.\n"
        )
        if pairs:
            told += (
                f"{len(pairs):,} interactions were measured: counts of two columns, less what the two say alone. "
                f"Their noise has a standard deviation of {pairs[0]:.3g} to {pairs[-1]:.3g} rows; a count of two "
                "columns adds the noise of their own counts, divided by the number of cells they are spread over.\n"
            )
        return f"{told}Counts of several cells add their variances."


def sensitivity_of(block: Block, neighbours: Neighbours, unit: int) -> Sensitivity:
    """How far a row (or person), which adds `unit` in all, moves a block: by the kind of its sums."""
    if block.centred:
        return centred_sensitivity(neighbours, shape=block.shape, unit=unit)
    if block.weighted:
        return moment_sensitivity(neighbours, limit=block.limit, unit=unit)
    return block_sensitivity(neighbours, unit=unit)


def without_means(table: Floats) -> Floats:
    """A table less its mean along each axis, one after the other.

    >>> without_means(np.array([3.0, 1.0])).tolist(), without_means(np.array([[3.0, 1.0], [1.0, 3.0]])).tolist()
    ([1.0, -1.0], [[1.0, -1.0], [-1.0, 1.0]])
    """
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def estimated_rows(blocks: tuple[NoisyBlock, ...]) -> float:
    """The number of rows from the blocks' own sums, each weighted by its precision; at least 1.

    Every row is in exactly one cell of every block of counts, and a block of no column is their number.
    """
    counted = [block for block in blocks if not block.block.centred]
    precisions = np.array([1.0 / (block.block.cells * block.sigma**2) for block in counted])
    sums = np.array([block.values.sum() for block in counted])
    return max(1.0, float(precisions @ sums / precisions.sum()))
