"""Records in sequence: who comes first, who follows whom, and who is the last, from noisy counts of steps.

A mixture of products says how a parent and one of its records go together. Records are drawn by it one after the other,
in the order of the declared column, each tilted by the record before, by a begin and by an end. The tilts are fitted:
sequences are drawn, their steps compared with those that were counted, and tilts moved, until the rest is noise. Whole
records then change places where that brings steps nearer to what was counted. All is public.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers, block_slices
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.mixtures.one_way import CHANCE
from kernelease.fit.records import (
    LEAST,
    PARENTS,
    pick,
    posterior,
    spread_marks,
    without,
)
from kernelease.measured.blocks import NoisyBlock
from kernelease.relational.schema_of_tables import Place

ROUNDS = 24  # limit: of fitting tilts to sequences that are drawn
MOST_PARENTS = 20_000  # limit: whose sequences are drawn in a round


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A block of steps: shares of persons in cells of a record's column, and of the next record's or the first's.

    Steps weigh one over the number of their parent's records. The last cell of the next record is the end. Of first
    records, each of which weighs 1, there is one row.
    """

    column: int | None  # the place of a record's column in its table; None: of first records
    other: int
    values: Floats  # (cells, cells)
    sigma: float

    @classmethod
    def of(cls, column: int | None, other: int, block: NoisyBlock, rows: float) -> "Counted":
        """The noisy numbers of a block, of so many persons."""
        values = block.values / rows
        return cls(
            column=column,
            other=other,
            values=values[None, :-1] if column is None else values,
            sigma=block.sigma / rows,
        )

    def off(self, drawn: Floats, variance: float) -> float:
        """By how much χ² of drawn shares, whose own variance is added, is above that of noise; at most 0: by none."""
        size = self.values.size
        chi_squared = float(((self.values - drawn) ** 2).mean()) / (self.sigma**2 + variance)
        return 1.0 - (1.0 + CHANCE * math.sqrt(2.0 / size)) / max(chi_squared, LEAST)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceBlocks:
    """What was counted of one table's sequences, and the cells of each column in it."""

    blocks: tuple[Counted, ...]
    cells: dict[int, Integers]  # of the places of columns: (atoms,)

    def width(self, column: int) -> int:
        """How many cells a column has."""
        return int(self.cells[column].max()) + 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Tilts:
    """By how much likelier a record is after another one, at first, at last, and where others follow, in cells.

    They are moved in place, while they are fitted.
    """

    steps: dict[tuple[int, int], Floats]  # of two columns: (cells, cells)
    first: dict[int, Floats]  # (cells,)
    ends: dict[int, Floats]  # (2, cells): where others follow, and where none does
    alone: dict[int, Floats]  # (numbers, atoms): so that records of parents with as many are what single ones are

    @classmethod
    def of(cls, blocks: SequenceBlocks) -> "Tilts":
        """None yet."""
        pairs = [(one.column, one.other) for one in blocks.blocks if one.column is not None]
        return cls(
            steps={(one, other): np.ones((blocks.width(one), blocks.width(other))) for one, other in pairs},
            first={own: np.ones(blocks.width(own)) for own in blocks.cells},
            ends={own: np.ones((2, blocks.width(own))) for own in blocks.cells},
            alone={},
        )

    def of_column(self, column: int, before: dict[int, Integers] | None, last: Integers) -> Floats | None:
        """Of the cells of a column, for each record: (n, cells); None where nothing was counted of it.

        `before` has the cells of the records before, None for first ones; `last` is 1 for the last record, else 0.
        """
        if column not in self.ends:
            return None
        tilt = self.ends[column][last]
        if before is None:
            return tilt * self.first[column]
        for (one, other), own in self.steps.items():
            if other == column:
                tilt = tilt * own[before[one]]
        return tilt

    def move(self, blocks: SequenceBlocks, drawn: Sequence[Floats], variance: Sequence[float], rate: float) -> bool:
        """Move them toward blocks that are off by more than noise; whether there are any."""
        moved = False
        for one, own, spread in zip(blocks.blocks, drawn, variance, strict=True):
            if one.off(own, spread) <= 0.0:
                continue
            moved = True
            wanted = np.maximum(one.values, 0.0)
            floor = math.sqrt(one.sigma**2 + spread)
            if one.column is None:
                self.first[one.other][: wanted.shape[1]] *= _ratio(wanted[0], own[0], floor, rate)
                continue
            there = slice(wanted.shape[1] - 1)  # a cell that no record has may be the end's
            self.steps[one.column, one.other][:, there] *= _ratio(wanted[:, there], own[:, there], floor, rate)
            if one.column == one.other:
                self.ends[one.column] *= _ratio(_ends(wanted), _ends(own), floor, rate)
        return moved


def _ends(table: Floats) -> Floats:
    """How much goes on from each cell, and how much ends there: (cells, cells + 1) → (2, cells)."""
    ends: Floats = np.stack([table[:, :-1].sum(axis=1), table[:, -1]])
    return ends


def _ratio(wanted: Floats, now: Floats, floor: float, rate: float) -> Floats:
    ratio: Floats = ((wanted + floor) / (now + floor)) ** rate
    return ratio


# --------------------
# Records, one after the other.


def drawn_sequences(
    mixture: Mixture,
    place: Place,
    above: Integers,
    number: Integers,
    blocks: SequenceBlocks,
    *,
    order: int,
    never: Sequence[int | None],
    generator: np.random.Generator,
) -> Integers:
    """Atoms of a table's columns for all records, the parents' in turn and in sequence: (columns, Σ number).

    `order` is the place of the column by which they are in sequence: its atoms do not fall within a parent. The rest is
    as for `drawn_records`.
    """
    if not number.any():
        return np.empty((len(place.columns), 0), dtype=np.int64)
    drawing = _Drawing(without(mixture, place, never), place, order, tuple(never), blocks)
    tilts = drawing.fit(above, number, generator)
    return drawing.draw(above, number, tilts, generator)


@final
@dataclass(frozen=True, slots=True)
class _Drawing:
    """How records of one table are drawn."""

    mixture: Mixture
    place: Place
    order: int
    never: tuple[int | None, ...]
    blocks: SequenceBlocks

    def fit(self, above: Integers, number: Integers, generator: np.random.Generator) -> Tilts:
        """Tilts under which drawn steps are as counted, up to noise: by some parents, others in each round."""
        tilts = Tilts.of(self.blocks)
        with_records = np.flatnonzero(number > 0)
        share, enough = len(with_records) / len(number), self._enough()
        for turn in range(ROUNDS):
            some = generator.permutation(with_records)[:enough]
            records = self.draw(above[:, some], number[some], tilts, generator)
            drawn = [share * table for table in step_tables(self.blocks, records, number[some])]
            variance = [share * float(table.mean()) / len(some) for table in drawn]  # about that of a share
            rate = 1.0 / math.sqrt(1.0 + turn)
            off = tilts.move(self.blocks, drawn, variance, rate)
            if not self._balance(tilts, records, number[some], self._kinds(above[:, some]), rate) and not off:
                break
        return tilts

    def _kinds(self, above: Integers) -> Integers:
        """The atom of each parent's number of records: (n,)."""
        kinds: Integers = above[self.place.before.index(self.place.number or 0)]
        return kinds

    def _balance(self, tilts: Tilts, records: Integers, number: Integers, kinds: Integers, rate: float) -> bool:
        """Move tilts so that records are as the mixture has single ones, up to chance; whether they were not.

        A later record lies further on in the order: without it the records of those who have many would.
        """
        off, weight = False, np.repeat(1.0 / number, number) / len(number)
        of_number = self.mixture.columns[self.place.number or 0]  # (M, numbers)
        there = np.bincount(kinds, minlength=of_number.shape[1]) / len(kinds)
        for column, place in enumerate(self.place.columns):
            wanted: Floats = (of_number * self.mixture.weights[:, None]).T @ self.mixture.columns[place]
            wanted *= (there / np.maximum(wanted.sum(axis=1), LEAST))[:, None]
            drawn = np.zeros_like(wanted)
            np.add.at(drawn, (np.repeat(kinds, number), records[column]), weight)
            chance = float(wanted.mean()) / len(number)
            if float(((drawn - wanted) ** 2).mean()) > chance * (1.0 + CHANCE * math.sqrt(2.0 / wanted.size)):
                before = tilts.alone.get(column, np.ones_like(wanted))
                tilts.alone[column] = before * _ratio(wanted, drawn, math.sqrt(chance), rate)
                off = True
        return off

    def _enough(self) -> int:
        """How many parents are drawn, that chance be below noise."""
        wanted = [float(np.maximum(one.values, 0.0).mean()) / one.sigma**2 for one in self.blocks.blocks]
        return int(np.clip(max(wanted, default=1.0), PARENTS, MOST_PARENTS))

    def draw(self, above: Integers, number: Integers, tilts: Tilts, generator: np.random.Generator) -> Integers:
        """Atoms of all records, the parents' in turn: (columns, Σ number).

        A record is drawn by what the parent is, by the record before, and by whether it is the last: the column of the
        order first, from the record before on, then each other one by those that were drawn.
        """
        begin = np.cumsum(number) - number
        found = np.zeros((len(self.place.columns), int(number.sum())), dtype=np.int64)
        several = np.flatnonzero(number > 0)
        for part in block_slices(len(several), PARENTS):
            parents = several[part]
            chances = posterior(self.mixture, self.place.before, above[:, parents]) + LEAST
            for rank in range(int(number[parents].max())):
                some = np.flatnonzero(number[parents] > rank)
                at = begin[parents[some]] + rank
                before = found[:, at - 1] if rank else None
                last = (number[parents[some]] == rank + 1).astype(np.int64)
                kinds = self._kinds(above[:, parents[some]])
                found[:, at] = self._next(chances[some], before, last, kinds, tilts, generator)
        return found

    def _next(
        self,
        own: Floats,
        before: Integers | None,
        last: Integers,
        kinds: Integers,
        tilts: Tilts,
        generator: np.random.Generator,
    ) -> Integers:
        """Atoms of one record of each parent: (columns, n); `own` are the chances of its components, (n, M)."""
        cells = self.blocks.cells
        known = None if before is None else {column: cells[column][before[column]] for column in cells}
        found = np.zeros((len(self.place.columns), len(last)), dtype=np.int64)
        for column in sorted(range(len(found)), key=lambda one: one != self.order):
            q = self.mixture.columns[self.place.columns[column]]
            where = own @ q
            if column in tilts.alone:
                where = where * tilts.alone[column][kinds]
            if (tilt := tilts.of_column(column, known, last)) is not None:
                where = where * tilt[:, cells[column]]
            if (never := self.never[column]) is not None:
                where[:, never] = 0.0
            if column == self.order and before is not None:
                where = _from(where, before[column])
            found[column] = pick(where, spread_marks(len(last), generator))
            own = own * (q[:, found[column]].T + LEAST)
            own /= own.sum(axis=1, keepdims=True)
        return found


def _from(chances: Floats, least: Integers) -> Floats:
    """Chances of atoms from `least` on, which is sure where there is no other: (n, atoms), (n,)."""
    allowed: Floats = np.where(np.arange(chances.shape[1]) >= least[:, None], chances, 0.0)
    none = allowed.sum(axis=1) <= 0.0
    allowed[none, least[none]] = 1.0
    return allowed


def step_tables(blocks: SequenceBlocks, records: Integers, number: Integers) -> list[Floats]:
    """What would be counted of these records in each block, as shares of their parents."""
    owner = np.repeat(np.arange(len(number)), number)
    first = np.diff(owner, prepend=-1) != 0
    last = np.append(first[1:], True)
    cells = {column: groups[records[column]] for column, groups in blocks.cells.items()}
    tables = []
    for one in blocks.blocks:
        table: Floats = np.zeros(one.values.shape)
        if one.column is None:
            np.add.at(table[0], cells[one.other][first], 1.0)
        else:
            then = np.where(last, table.shape[1] - 1, np.append(cells[one.other][1:], 0))
            np.add.at(table, (cells[one.column], then), 1.0 / number[owner])
        tables.append(table / max(1, int(np.count_nonzero(number))))
    return tables
