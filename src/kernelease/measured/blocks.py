"""Contingency blocks: what a kind of them must know of itself, and noisy values of any kind."""

import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.measured.looks import Laid, NoisyLook, laid_columns
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
from kernelease.measured.sums import CodedRows, Look, Program, Ramp, Whole
from kernelease.measured.views import View, best_mean
from kernelease.privacy.accounting import Law, Loss, Measurement, Selection, Step
from kernelease.privacy.noise import LEAST_LAPLACE_SCALE
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, distance_sensitivity
from kernelease.table.domain import Domain

Made = TypeVar("Made")

# --------------------
# A block: what to measure. Each kind of it is one class in one file beside this one.


MOST_COLUMNS = 4  # of a block: no method counts more of them together


@dataclass(frozen=True, kw_only=True)  # without slots: what is computed of it once is kept with it
class Block(Kind, ABC):
    """Numbers to measure of up to four columns: sums over rows, of which noise is added to each.

    `groups[i][a]` is the cell of atom a of column `columns[i]`. A *table* of the block has an axis for each column and
    a place for each of its cells: `grid` is its shape. Rows are counted in such a table, and `exact` makes of it the
    integers that get noise; or what they add (`addends`) is summed in it, which are these integers (`RowSums`).

    A kind says what these integers are (`shape`, `exact`), how far a row moves them (`sensitivity`), what they are in
    rows (`whole`, `values`), what they would be in a table of counts (`numbers_in`, `spread`, `complete`), how they
    tell of the counts of some columns (`covers`, `tells`, `view`, `coefficients`), and what they are in words
    (`label`). Whoever measures, saves, verifies, estimates, fits or reports asks the block, and knows no kind.
    """

    columns: tuple[int, ...]
    groups: tuple[Integers, ...]
    share: float  # of the release's budget
    ramps: tuple[Ramp | None, ...] = field(default=(), init=False)  # of each column, the offset within cells it sums

    most_columns: ClassVar[int] = MOST_COLUMNS
    weighs: ClassVar[bool] = False  # whether rows add numbers to it, and are not counted
    moves_rows: ClassVar[bool] = False  # whether drawn rows are moved toward it (`mover`): nothing else follows it then

    def __post_init__(self) -> None:
        name = type(self).__name__
        if len(self.columns) > self.most_columns or len(self.groups) != len(self.columns):
            raise ParameterError(
                f"{name}: needs up to {self.most_columns} columns and a grouping for each, got {len(self.columns)} and "
                f"{len(self.groups)}."
            )
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError(f"{name}: each column once, got {self.columns!r}.")
        if not all(group.size for group in self.groups):
            raise ParameterError(f"{name}: groups the values of a column wrongly: there are none.")
        self.cells, self.numbers  # noqa: B018  # computed here, once, and kept: everybody asks

    # What is summed over rows, and how far one of them moves it.

    @cached_property
    def grid(self) -> tuple[int, ...]:
        """Number of cells along each column."""
        return tuple(int(group.max()) + 1 for group in self.groups)

    @property
    def addends(self) -> tuple[Whole, ...]:
        """What a row adds to each number of its cell; none where it is counted there."""
        return ()

    @cached_property
    def ramp_count(self) -> int:
        """Of how many columns it sums offsets within cells."""
        return sum(ramp is not None for ramp in self.ramps)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of its numbers: that of the table, unless a kind has others."""
        return self.grid

    @cached_property
    def cells(self) -> int:
        """How many numbers are measured."""
        return math.prod(self.shape)

    @cached_property
    def numbers(self) -> int:
        """How many of them do not follow from the others."""
        return self.cells

    @abstractmethod
    def exact(self, table: NDArray[Any]) -> NDArray[Any]:
        """The integers that get noise, in `shape`, from the exact table of counts, or of sums of weights."""

    @abstractmethod
    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """How far a row (or person), which adds `unit` in all, moves them: by `privacy.sensitivity`, with a proof."""

    # What the noisy integers are, in rows.

    @property
    def whole(self) -> int:
        """What one row adds, in integers of the measurement."""
        return 1

    def values(self, numbers: Floats) -> Floats:
        """The noisy numbers, in rows: noise that says nothing is taken out of them."""
        return numbers

    def lacks(self, alone: Sequence[float], rows: float) -> float:
        """The noise of what its numbers leave out of a count: nothing, unless a kind takes something out.

        `alone` is the noise of the counts of each column's cells, `rows` that of the number of rows.
        """
        return 0.0

    # What it says of counts, for a fit.

    @property
    def alone(self) -> bool:
        """Whether it is of one column, cell by cell: a distribution can be made of it without a fit."""
        return len(self.columns) == 1 and self.covers(self.columns)

    @property
    def adds_up(self) -> bool:
        """Whether each row is in exactly one of its numbers, which add up to the number of rows then."""
        return True

    def off_products(self, cells: int) -> float | None:
        """What a product model takes off the probability of each cell of a column with so many.

        Where columns are independent in a component, a number of the block is a product over its columns of such a
        probability less this. None for a kind that is no such product: a fit then follows `numbers_in` and `spread`.
        """
        return None

    @abstractmethod
    def numbers_in(self, table: Floats) -> Floats:
        """What its numbers would be in a table of counts, or of shares: a linear map, `grid` → `shape`."""

    @abstractmethod
    def spread(self, numbers: Floats) -> Floats:
        """The transpose of `numbers_in`: what is asked of its numbers, asked of the counts, `shape` → `grid`."""

    def complete(self, numbers: Floats, alone: Sequence[Floats], rows: float) -> Floats:
        """A table of counts of which it says these numbers; what it does not say, as if columns were independent.

        `alone` has the counts of each column's cells. This serves kinds of which each number is a sum of cells.
        """
        guess: Floats = functools.reduce(np.multiply.outer, [own / rows for own in alone]) * rows
        return guess + self.spread(
            (numbers - self.numbers_in(guess)) / np.maximum(1.0, self.numbers_in(np.ones_like(guess)))
        )

    # What it says of the counts of a few columns, for the best linear estimate.

    @abstractmethod
    def covers(self, columns: tuple[int, ...]) -> bool:
        """Whether it says how all these columns go together, cell by cell (with what is known of each alone)."""

    @abstractmethod
    def tells(self, columns: tuple[int, ...]) -> bool:
        """Whether it says anything of the counts of these columns, or of how many rows there are."""

    @abstractmethod
    def view(self, numbers: Floats, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> View:
        """Its noisy numbers as functions of the counts of some columns, of which it `tells`, in these cells."""

    @abstractmethod
    def coefficients(
        self, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
    ) -> Floats:
        """How much each number counts in an estimate, where the cells of these columns have the multipliers λ."""

    # What rows of a fit have to do with it.

    def adds(self, rows: CodedRows) -> tuple[Integers, Integers]:
        """The cell of each row in a table, (n,), and what it adds to the numbers there: (n, numbers)."""
        cells = np.zeros(rows.count, dtype=np.int64)
        for column, group, size in zip(self.columns, self.groups, self.grid, strict=True):
            cells = cells * size + group[rows.codes[column]]
        program = Program.of(self.addends)
        found = program.numbers(rows)
        return cells, np.stack([found[place] for place in program.wanted] or [np.ones_like(cells)], axis=1)

    def mover(
        self, values: Floats, sigma: float, rows: float, columns: tuple[int | None, ...], atoms: tuple[Integers, ...]
    ) -> "RowMover | None":
        """What moves drawn rows toward its noisy numbers, which are of so many rows; None where these say nothing.

        Of each of its columns, `columns` has the place in rows, None where it shares one with others, and `atoms` its
        atom for each of those there.
        """
        return None

    # What people and strangers' bundles need.

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is, in words for a ledger."""

    def check(self, sizes: tuple[int, ...]) -> None:
        """Raise `ParameterError` unless it is of columns with so many atoms."""
        if not all(0 <= column < len(sizes) for column in self.columns):
            raise ParameterError("a table of counts is of columns that there are not.")
        for column, cells in zip(self.columns, self.groups, strict=True):
            if cells.shape != (sizes[column],) or not 0 <= int(cells.min()) <= int(cells.max()) < sizes[column]:
                raise ParameterError("a table of counts groups the values of a column wrongly.")


class RowMover(Protocol):
    """What moves the values of drawn rows between them."""

    def move(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """The rows, (columns, n), of which every column has the values that it had."""


LARGEST_SUM = 2**28  # that a row may add to a number: summed over a batch of persons' rows it fits 64 bits


@dataclass(frozen=True, kw_only=True)
class RowSums(Block, ABC):
    """Σ of whole numbers over the rows of each cell: of every one of `addends`. Counts say nothing of it.

    A kind says what a row adds, and how far that moves the sums (`sensitivity`, with a proof). Streams, parts and
    databases then add it up, each in its own way and to the same bit.
    """

    weighs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        most = max(number.most for number in self.addends)
        if not most <= self.whole <= LARGEST_SUM:
            raise ParameterError(
                f"{type(self).__name__}: a row may add at most {LARGEST_SUM}, and what it says, {self.whole}; "
                f"got numbers up to {most}."
            )

    @property
    @abstractmethod
    def addends(self) -> tuple[Whole, ...]:
        """What a row adds to each number of its cell."""

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """That of the cells, and then of the numbers of each where there are several."""
        return self.grid if len(self.addends) == 1 else (*self.grid, len(self.addends))

    @property
    def whole(self) -> int:
        """The most that a row can add to a number, either way."""
        return max(number.most for number in self.addends)

    def exact(self, table: NDArray[Any]) -> NDArray[Any]:
        return table

    @property
    def adds_up(self) -> bool:
        return False

    def numbers_in(self, table: Floats) -> Floats:
        raise self._no_counts()

    def spread(self, numbers: Floats) -> Floats:
        raise self._no_counts()

    def covers(self, columns: tuple[int, ...]) -> bool:
        return False

    def tells(self, columns: tuple[int, ...]) -> bool:
        return False

    def view(self, numbers: Floats, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> View:
        raise self._no_counts()

    def coefficients(
        self, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
    ) -> Floats:
        raise self._no_counts()

    def _no_counts(self) -> ParameterError:
        return ParameterError(f"{type(self).__name__}: sums over rows are no function of counts.")

    def check(self, sizes: tuple[int, ...]) -> None:
        """What it looks up are numbers for the atoms of its own columns."""
        Block.check(self, sizes)
        looks = (step for step, _ in Program.of(self.addends).steps if isinstance(step, Look))
        if any(one.column not in self.columns or one.values.shape != (sizes[one.column],) for one in looks):
            raise ParameterError("a sum over rows weighs the values of a column wrongly.")


def complete_each(blocks: Sequence["NoisyBlock"], alone: Sequence[Sequence[Floats]], rows: float) -> list[Floats]:
    """The table of counts of each block, `complete` with the counts of its columns' cells."""
    return [one.block.complete(one.values, own, rows) for one, own in zip(blocks, alone, strict=True)]


def with_share(blocks: Sequence[Block], share: float) -> tuple[Block, ...]:
    """The same blocks with another share for all of them together."""
    scale = share / sum(block.share for block in blocks)
    return tuple(replace(block, share=block.share * scale) for block in blocks)


def finest(blocks: Iterable[Block]) -> list[int]:
    """Positions of some blocks: for each set of columns, of the one that covers it with most cells."""
    most: dict[frozenset[int], tuple[int, int]] = {}
    for place, block in enumerate(blocks):
        key = frozenset(block.columns)
        if block.covers(block.columns) and (key not in most or block.cells > most[key][0]):
            most[key] = block.cells, place
    return sorted(place for _, place in most.values())


def details(blocks: Iterable[Block]) -> list[int]:
    """Positions of some blocks: of two columns, in more cells than an earlier one has of the same columns."""
    most: dict[frozenset[int], int] = {}
    places = []
    for place, block in enumerate(blocks):
        if len(block.columns) != 2 or not block.covers(block.columns):
            continue
        key = frozenset(block.columns)
        if block.cells > most.get(key, block.cells):
            places.append(place)
        most.setdefault(key, block.cells)
    return places


def refine(groups: Sequence[Integers]) -> Integers:
    """The coarsest cells that tell apart what any of the groupings does: (atoms,)."""
    found = groups[0]
    for group in groups[1:]:
        found = np.unique(found * (int(group.max()) + 1) + group, return_inverse=True)[1].reshape(-1)
    return found


def refines(fine: Integers, coarse: Integers) -> bool:
    """Whether no cell of the one has atoms of two cells of the other.

    >>> refines(np.array([0, 1, 2]), np.array([0, 0, 1])), refines(np.array([0, 0, 1]), np.array([0, 1, 1]))
    (True, False)
    """
    return len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == int(fine.max()) + 1


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
_FAR = 8.0  # standard deviations by which no honest sum of Gaussian noise is off: once in 4 · 10¹³, by Chernoff's bound
LEAST_SIGMA = 1e-3  # rows: at an ε of thousands Laplace noise on integers is 0, and precisions would be infinite


@final
@dataclass(frozen=True, kw_only=True)  # without slots: what is computed of it once is kept with it
class NoisyBlock(Kind):
    """A block's counts with noise, in rows (or persons): `values` has the block's shape, `sigma` is of each count.

    What `values` are the block says: noise that says nothing is taken out of them.

    `round` 0 measures every column and, where all can be seen, every pair; the cells of pairs follow from noisy single
    columns, and which are counted twice from noisy counts. What a later round measures was chosen: privately, or by a
    fit to what was measured before.
    """

    block: Block
    measurement: Measurement
    unit: int
    round: int = 0

    @cached_property
    def values(self) -> Floats:
        """The block's noisy numbers, in rows."""
        values: Floats = np.asarray(self.measurement.values.reshape(self.block.shape) / self.whole)
        values = self.block.values(values)
        values.flags.writeable = False
        return values

    def counts(self, rows: float) -> Floats:
        """Noisy counts of one column, of a table of so many rows."""
        block = self.block
        return block.complete(self.values, [np.full(block.cells, rows / block.cells)], rows)

    @cached_property
    def sigma(self) -> float:
        """Standard deviation of the noise of each number; nothing is taken as known to better than `LEAST_SIGMA`."""
        return max(LEAST_SIGMA, self.measurement.standard_deviation / self.whole)

    @cached_property
    def deviation(self) -> float:
        """Standard deviation of the noise of each of `values`: less than `sigma` where some of it is taken out."""
        return self.sigma * math.sqrt(self.block.numbers / self.block.cells)

    @cached_property
    def whole(self) -> int:
        """What one row (or person) can add, in integers of the measurement."""
        return self.unit * self.block.whole

    def least(self, neighbours: Neighbours) -> Sensitivity:
        """How far neighbouring tables may move the block: what its noise must have been for."""
        return self.block.sensitivity(neighbours, self.unit)

    def check(self, sizes: tuple[int, ...]) -> None:
        """Raise `ParameterError` unless the block is of these columns, and its numbers are those of its cells."""
        block = self.block
        block.check(sizes)
        if self.unit < 1 or self.measurement.step.coordinates != block.cells:
            raise ParameterError("a table of counts has another size than its noise.")
        check_integers(self.measurement.integers, block.cells)
        noise = self.measurement.standard_deviation / self.whole
        if not _LEAST_NOISE < noise < _MOST_NOISE or not np.abs(self.values).max() < _MOST_COUNT:
            raise ParameterError("a count or its noise is beyond all bounds.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MeanCounts:
    """Counts of one column's cells as all blocks of these cells have them, with noise of one variance."""

    cells: Integers  # (atoms,): the cell of each
    counts: Floats  # (cells,)
    variance: float


def mean_counts(blocks: Sequence[NoisyBlock], rows: float) -> MeanCounts:
    """Blocks of the same cells of one column as one: their mean, weighted by precision, and its variance."""
    counts, precision = best_mean([block.counts(rows) for block in blocks], [block.sigma**-2.0 for block in blocks])
    return MeanCounts(cells=blocks[0].block.groups[0], counts=counts, variance=1.0 / precision)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyBlocks(Measured):
    """All that was counted of a table: noisy blocks, and the number of rows (noisy unless it is public).

    `moments` are sums over rows of other numbers than 1, measured after all counts; `looks` came before, and say how
    the columns of all others were laid.
    """

    sizes: tuple[int, ...]  # atoms of each column
    blocks: tuple[NoisyBlock, ...]
    neighbours: Neighbours = field()
    rows: float = field()
    ordered: tuple[int, ...] = ()  # of each column, how many of its first atoms are in an order that means something
    selections: tuple[Selection, ...] = ()  # private choices of what to measure, each among those that were left
    choices: tuple[Choice, ...] = ()
    moments: tuple[NoisyBlock, ...] = ()
    looks: tuple[NoisyLook, ...] = ()  # at single numbers, before all else
    laid: tuple[Laid, ...] = ()  # columns whose cells follow from the looks
    _kept: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def once(self, make: Callable[["NoisyBlocks"], Made]) -> Made:
        """What a function makes of these numbers. It is asked once, and its answer kept as long as they are."""
        if make not in self._kept:
            self._kept[make] = make(self)
        made: Made = self._kept[make]
        return made

    @property
    def noisy_parts(self) -> tuple[NoisyLook | NoisyBlock, ...]:
        """Looks, counts and moments: all that noise was added to, in the order in which it was measured."""
        return (*self.looks, *self.every)

    @property
    def every(self) -> tuple[NoisyBlock, ...]:
        """Counts and moments, in the order in which they were measured."""
        return (*self.blocks, *self.moments)

    @property
    def offsets(self) -> tuple[NoisyBlock, ...]:
        """Sums of offsets within cells."""
        return tuple(one for one in self.moments if one.block.ramp_count)

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
        """Every look's, every block's, every moment's, then every selection's."""
        measured = (one.measurement.step for one in self.noisy_parts)
        return (*measured, *(choice.step for choice in self.selections))

    @property
    def private(self) -> bool:
        measured = (one.measurement for one in self.noisy_parts)
        return all_private(measured) and all_private(self.selections)

    @property
    def fingerprint(self) -> str:
        """A digest of all blocks: the first alone may be a single number, which two releases can have in common."""
        return digest(np.concatenate([block.measurement.integers for block in self.blocks]))

    @property
    def width(self) -> int:
        return len(self.sizes)

    @property
    def replay(self) -> RecordedNoise:
        """Looks, blocks and picks as they stand."""
        vectors = tuple(Recording(integers=one.measurement.integers) for one in self.noisy_parts)
        picks = tuple(selection.index for selection in self.selections)
        return RecordedNoise(vectors=vectors, picks=picks, private=self.private)

    def least_sensitivities(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """Least sensitivities: of a block in the norm of its noise, of a score by how far a row moves a distance."""
        measured = self.noisy_parts
        if any(one.unit != unit for one in measured):
            raise ParameterError("a table of counts is of another unit than the one that is protected.")
        blocks = (needed_by(one.measurement.step, one.least(neighbours)) for one in measured)
        needed = (*blocks, *(float(distance_sensitivity(neighbours, unit=unit)) for _ in self.selections))
        if any(step.sensitivity > exact * _SLACK for step, exact in zip(self.steps, needed, strict=True)):
            raise ParameterError("a table of counts was measured for another relation than the one that is promised.")
        return needed

    def domain_of(self, domain: Domain) -> Domain:
        """The same rows, with columns as they were laid. It is made once."""
        if not self.laid or domain.schema is None:
            return domain
        known = self._kept.get(NoisyBlocks.domain_of)
        if known is None or known[0] is not domain:
            known = domain, domain.with_columns(laid_columns(domain.schema.columns, self.laid))
            self._kept[NoisyBlocks.domain_of] = known
        found: Domain = known[1]
        return found

    def check(self, domain: Domain) -> None:
        """Blocks of the declared columns, with as many numbers as cells, that agree on the number of rows."""
        check_rows(self.rows)
        if not self.blocks or domain.schema is None:
            raise ParameterError("there are none, or of other columns than the schema's.")
        for look in self.looks:
            look.check(domain.schema.columns)
            check_integers(look.measurement.integers, look.measurement.step.coordinates)
        domain = self.domain_of(domain)
        if domain.schema is None or self.sizes != domain.sizes:
            raise ParameterError("there are none, or of other columns than the schema's.")
        if self.ordered != tuple(column.in_order for column in domain.schema):
            raise ParameterError("the columns' order is not the schema's.")
        for block in self.every:
            block.check(self.sizes)
        if any(one.block.weighs for one in self.blocks) or not all(one.block.weighs for one in self.moments):
            raise ParameterError("counts and moments are mixed up.")
        self._check_count()

    def check_shares(self, total: Loss) -> None:
        """Check shares of μ², or of a pure ε."""
        pure = total.pure_epsilon < math.inf
        stated = [(one.measurement, one.look.share) for one in self.looks]
        for measurement, share in [*stated, *((one.measurement, one.block.share) for one in self.every)]:
            loss = measurement.step.loss
            part = loss.pure_epsilon / total.pure_epsilon if pure else loss.mu_squared / total.mu_squared
            least = pure and measurement.step.scale <= LEAST_LAPLACE_SCALE  # more noise than the share asked for
            if not math.isclose(part, share, rel_tol=1e-6) and not (least and part < share):
                raise ParameterError("a table of counts was charged another share of the budget than it states.")

    def _check_count(self) -> None:
        """Every row is in one cell of every block: a noisy number of rows follows, a public one must be near.

        Of a column that was measured up to the number of rows, no count is known without it.
        """
        centred = any(not block.block.adds_up and len(block.block.columns) == 1 for block in self.blocks)
        apart = self.neighbours is Neighbours.ADD_REMOVE and any(not block.block.columns for block in self.blocks)
        if centred and not apart:
            raise ParameterError("columns were measured up to the number of rows, which was not measured apart.")
        if self.neighbours is Neighbours.ADD_REMOVE and self.rows != estimated_rows(self.blocks):
            raise ParameterError("the number of rows is not the one that the noisy counts give.")
        counted = [block for block in self.blocks if block.block.adds_up]
        far = (abs(b.values.sum() - self.rows) > farthest_sum(b.measurement.step) / b.whole for b in counted)
        if self.neighbours is Neighbours.REPLACE_ONE and any(far):
            raise ParameterError("the noisy counts add up to another number of rows.")

    @property
    def accuracy(self) -> str:
        """The noise of counts, smallest to largest, and of interactions."""
        together = [not block.block.adds_up and len(block.block.columns) > 1 for block in self.blocks]
        pairs = sorted(block.deviation for block, apart in zip(self.blocks, together, strict=True) if apart)
        counted = sorted(block.deviation for block, apart in zip(self.blocks, together, strict=True) if not apart)
        told = (
            f"{len(counted):,} tables of counts were measured. A count is off by {counted[0]:.3g} to "
            f"{counted[-1]:.3g} rows (standard deviation of its noise), depending on the table. In the middle table it "
            f"is within {_TWO_SIDED * counted[len(counted) // 2]:.3g} rows of the truth in 95 % of cases.\n"
        )
        if pairs:
            told += (
                f"{len(pairs):,} interactions were measured: how far the counts of two columns are from what each "
                f"column says alone. They are off by {pairs[0]:.3g} to {pairs[-1]:.3g} rows. A count of two columns "
                "has the noise of its interaction and a part of the noise of both columns.\n"
            )
        return f"{told}The noise of several cells adds up in variances."


def farthest_sum(step: Step) -> float:
    """How far noise can put the sum of a step's numbers off, in units of the input: more once in 4 · 10¹³ at most.

    Chernoff's bound: P(|Σ noise| > t) ≤ 2 exp(n·K(λ) − λt), with K(λ) = log E exp(λ·noise), is 2e⁻³² at
    t = min over λ of (32 + n·K(λ))/λ. Few deviations are no bound for Laplace noise that is 0 in most draws and else 1.
    """
    if step.law is Law.GAUSSIAN:
        return _FAR * step.scale * math.sqrt(step.coordinates)
    steps = math.ldexp(step.scale, step.bits)
    slopes = np.linspace(0.0, 1.0, 1001)[1:-1]  # λ in units of 1/steps, beyond which no moment exists
    kept = -math.expm1(-1.0 / steps)
    upward = -np.log(-np.expm1((slopes - 1.0) / steps)) - np.log(-np.expm1((-slopes - 1.0) / steps))
    cumulants = 2.0 * math.log(kept) + upward
    reached = (0.5 * _FAR**2 + step.coordinates * cumulants) / slopes * steps
    return math.ldexp(float(reached.min()), -step.bits)


def estimated_rows(blocks: tuple[NoisyBlock, ...]) -> float:
    """The number of rows from the blocks' own sums, each weighted by its precision; at least 1.

    Every row is in exactly one cell of every block of counts, and a block of no column is their number.
    """
    counted = [block for block in blocks if block.block.adds_up]
    precisions = np.array([1.0 / (block.block.cells * block.sigma**2) for block in counted])
    sums = np.array([block.values.sum() for block in counted])
    return max(1.0, float(precisions @ sums / precisions.sum()))
