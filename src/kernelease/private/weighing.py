"""Exact sums of weights of blocks in one pass over encoded rows: the moments beside the counts."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from kernelease.arrays import BigIntegers, Integers, block_slices
from kernelease.measured.block import Block
from kernelease.measured.ramp import Ramp
from kernelease.private.encoded import Batch, EncodedRows
from kernelease.private.private import Private
from kernelease.table.columns.column import Codes

Grouping: TypeAlias = tuple[int, Integers]  # a column, and the cell of each of its atoms

_LIMB, _LOWER = 32, 2**32 - 1  # bits, and the number that has them all: 2³¹ parts may be added up
_CHUNK = 2**14  # rows at a time, so that what is made of them stays in the cache…
# …and rows whose sums fit 64 bits: weights up to 2²⁸, times those of persons, below 2²⁰, add up to at most 2⁶²
_MOST_ROWS, _MOST_ROWS_OF_PERSONS = 2**34, 2**14


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """How to weigh blocks in one pass. Many share the weights of a column, many its cells: each is found once."""

    ramps: tuple[tuple[int, Ramp], ...]  # a column, and what its values weigh
    weights: tuple[tuple[int, ...], ...]  # products of these
    cells: tuple[tuple[Grouping, ...], ...]  # none where there is one cell
    places: tuple[tuple[int, int], ...]  # of each block: its cells, and its weight

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "Weighing":
        """The distinct ramps, weights and cells of some blocks."""
        ramps: dict[Any, tuple[int, Ramp]] = {}
        weights: dict[tuple[Any, ...], int] = {}
        cells: dict[tuple[Any, ...], tuple[Grouping, ...]] = {}
        places = []
        for block in blocks:
            factors = {_key(c, r.start, r.slope, r.limit): (c, r) for c, r in _ramps(block)}
            ramps |= factors
            groupings = {_key(c, group): (c, group) for c, group in _groupings(block)}
            cells.setdefault(tuple(groupings), tuple(groupings.values()))
            places.append((tuple(groupings), weights.setdefault(tuple(factors), len(weights))))
        numbers, order = ({key: i for i, key in enumerate(found)} for found in (ramps, cells))
        return cls(
            ramps=tuple(ramps.values()),
            weights=tuple(tuple(numbers[key] for key in factors) for factors in weights),
            cells=tuple(cells.values()),
            places=tuple((order[key], weight) for key, weight in places),
        )

    def wanted(self) -> list[list[int]]:
        """For each of the cells, the weights that are summed in them."""
        return [sorted({weight for own, weight in self.places if own == cell}) for cell in range(len(self.cells))]


@final
class PartialWeights(Private):
    """Sums of the weights of blocks over some of the rows: Σ over all parts is the sums of the table.

    `fine` are the columns whose codes on a finer grid follow those of all `columns`; for the others, f = a.
    """

    __slots__ = ("_fine", "_plan", "_rows", "_sums", "_totals", "_wanted")

    def __init__(self, plan: Weighing, columns: int, fine: tuple[int, ...]) -> None:
        self._plan, self._wanted = plan, plan.wanted()
        self._fine = {column: columns + index for index, column in enumerate(fine)}
        shapes = [(_count(cells), len(wanted)) for cells, wanted in zip(plan.cells, self._wanted, strict=True)]
        self._totals: list[BigIntegers] = [np.zeros(shape, dtype=object) for shape in shapes]
        self._sums: list[Integers] = [np.zeros(shape, dtype=np.int64) for shape in shapes]
        self._rows = 0  # that are in the sums, and not in the totals yet

    def add(self, batch: Batch) -> None:
        """Weigh a batch of any size."""
        codes, persons = batch
        most = _MOST_ROWS if persons is None else _MOST_ROWS_OF_PERSONS
        for part in block_slices(len(codes[0]), _CHUNK):
            if self._rows + part.stop - part.start > most:
                self._flush()
            self._rows += part.stop - part.start
            self._weigh([column[part] for column in codes], None if persons is None else persons[part])

    def totals(self) -> list[BigIntegers]:
        """The sums of each block so far, row by row of its table: (cells,) each."""
        self._flush()
        return [self._totals[cell][:, self._wanted[cell].index(weight)] for cell, weight in self._plan.places]

    def _flush(self) -> None:
        for total, sums in zip(self._totals, self._sums, strict=True):
            np.add(total, sums, out=total)
            sums[:] = 0
        self._rows = 0

    def _weigh(self, codes: Sequence[NDArray[Any]], persons: Integers | None) -> None:
        ramps = [ramp.of(codes[c], codes[self._fine.get(c, c)]) for c, ramp in self._plan.ramps]
        ones, starts = np.ones(len(codes[0]), dtype=np.int64), np.arange(len(codes[0]) + 1, dtype=np.int32)
        weights = [_product([ramps[i] for i in own], persons) for own in self._plan.weights]
        for cells, wanted, sums in zip(self._plan.cells, self._wanted, self._sums, strict=True):
            if not cells:
                sums[0] += [int(weights[weight].sum()) for weight in wanted]
                continue
            rows = csc_array((ones, _cells(cells, codes), starts), shape=(len(sums), len(ones)))  # each in its cell
            np.add(sums, rows @ np.stack([weights[weight] for weight in wanted], axis=1), out=sums)


def weigh_blocks(
    batches: Iterable[Batch], blocks: Sequence[Block], columns: int, fine: tuple[int, ...]
) -> list[BigIntegers]:
    """Of each block, the sum of its weights over the rows of each cell, in its shape: Σ_rows weight·Π_i t_i."""
    part = PartialWeights(Weighing.of(blocks), columns, fine)
    for batch in batches:
        part.add(batch)
    return _shaped(blocks, [part])


def weigh_rows(rows: EncodedRows, blocks: Sequence[Block], columns: int, *, threads: int) -> list[BigIntegers]:
    """The same on all cores: each thread adds to sums of its own, which are added up at the end."""
    plan = Weighing.of(blocks)
    return _shaped(blocks, rows.parts(lambda: PartialWeights(plan, columns, rows.fine), threads=threads))


def in_limbs(tables: Sequence[BigIntegers]) -> Integers:
    """Sums of any size as 64-bit integers that can be added up: their lower 32 bits, then the rest of each."""
    flat = np.concatenate([table.ravel() for table in tables])
    return np.concatenate([flat & _LOWER, flat >> _LIMB]).astype(np.int64)


def from_limbs(limbs: Integers, blocks: Sequence[Block]) -> list[BigIntegers]:
    """The sums of each block, in its shape, from what `in_limbs` gave, added up over parts."""
    lower, upper = limbs.reshape(2, -1).astype(object)
    tables = np.split(lower + upper * (_LOWER + 1), np.cumsum([block.cells for block in blocks])[:-1])
    return [table.reshape(block.shape) for table, block in zip(tables, blocks, strict=True)]


def _shaped(blocks: Sequence[Block], parts: Sequence[PartialWeights]) -> list[BigIntegers]:
    sums = zip(*(part.totals() for part in parts), strict=True)
    return [np.add.reduce(own).reshape(block.shape) for own, block in zip(sums, blocks, strict=True)]


def _key(column: int, *parts: Any) -> tuple[Any, ...]:
    return column, *(part.tobytes() if isinstance(part, np.ndarray) else part for part in parts)


def _ramps(block: Block) -> list[tuple[int, Ramp]]:
    return [(c, ramp) for c, ramp in zip(block.columns, block.ramps, strict=True) if ramp is not None]


def _groupings(block: Block) -> list[Grouping]:
    """The columns that are in several cells: the others do not part any row from another."""
    return [(c, group) for c, group in zip(block.columns, block.groups, strict=True) if group.any()]


def _count(cells: Sequence[Grouping]) -> int:
    return math.prod(int(group.max()) + 1 for _, group in cells)


def _product(factors: Sequence[Integers], persons: Integers | None) -> Integers:
    product = factors[0] if len(factors) == 1 else factors[0] * factors[1]
    return product if persons is None else product * persons


def _cells(cells: Sequence[Grouping], codes: Sequence[NDArray[Any]]) -> Codes:
    """The cell of each row, row by row of the table: (n,)."""
    joint = np.zeros(len(codes[0]), dtype=np.int32)
    for column, group in cells:
        joint *= int(group.max()) + 1
        joint += group.astype(np.int32).take(codes[column])
    return joint
