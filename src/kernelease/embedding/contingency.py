"""Exact contingency counts of a table: the private pass of the Interactions method."""

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, final

import numpy as np

from kernelease.arrays import BigIntegers, Integers, block_slices
from kernelease.embedding.blocks import Block, NoisyBlock, NoisyBlocks, estimated_rows
from kernelease.embedding.cover import pair_cover
from kernelease.errors import ParameterError, PrivacyError
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.mechanisms import measure
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.table import Codes

_BLOCK_ROWS = 2**17


@final
class ExactCounts:
    """How many rows hold each pair of atoms, for every pair of columns. Private: no values, no length, no pickle.

    Counts are integers, so batches, order and threads change nothing. `privatise` is the only way out.
    """

    __slots__ = ("_count", "_groups", "_totals", "sizes", "unit")

    def __init__(self, sizes: tuple[int, ...], unit: int = 1) -> None:
        self.sizes = sizes
        self.unit = unit  # what one row (or person) adds in all
        self._groups = pair_cover(sizes)
        self._totals = [np.zeros(int(np.prod([sizes[c] for c in group])), dtype=np.int64) for group in self._groups]
        self._count = 0

    @classmethod
    def of(
        cls, batches: Iterable[tuple[Codes, Integers | None]], sizes: tuple[int, ...], *, unit: int = 1
    ) -> "ExactCounts":
        """Count batches of (codes, weights): codes (columns, n), integer weights (n,) or None for 1 each."""
        counts = cls(sizes, unit)
        for codes, weights in batches:
            counts.add(codes, weights)
        return counts

    @classmethod
    def from_totals(cls, totals: Sequence[Integers], sizes: tuple[int, ...], *, unit: int = 1) -> "ExactCounts":
        """Counts that another engine made: for each group of `pair_cover(sizes)` its table, row by row."""
        counts = cls(sizes, unit)
        expected, given = ([total.shape for total in some] for some in (counts._totals, totals))
        if given != expected:
            raise ParameterError(f"ExactCounts: totals must have the shapes {expected}, got {given}.")
        counts._totals = [np.asarray(total, dtype=np.int64) for total in totals]
        counts._count = int(totals[0].sum())  # every row is in exactly one cell of every group
        return counts

    def add(self, codes: Codes, weights: Integers | None = None) -> None:
        """Count one more batch: codes (columns, n) with 0 ≤ codes[i] < sizes[i]."""
        for part in block_slices(codes.shape[1], _BLOCK_ROWS):
            chunk = codes[:, part].astype(np.int32, copy=False)  # joint indices are below 2²⁴: 4,096 atoms a column
            weight = None if weights is None else weights[part].astype(np.float64)  # integers far below 2⁵³
            for index, group in enumerate(self._groups):
                cells = len(self._totals[index])
                counted = np.bincount(self._joint(chunk, group), weight, minlength=cells)
                self._totals[index] += counted.astype(np.int64)
        self._count += codes.shape[1] * self.unit if weights is None else int(weights.sum())

    def _joint(self, codes: Codes, group: tuple[int, ...]) -> Codes:
        """One index for the atoms of all columns of a group: (columns, n) → (n,)."""
        joint: Codes = codes[group[0]].copy()
        for column in group[1:]:
            joint *= self.sizes[column]
            joint += codes[column]
        return joint

    def refuse_empty(self, neighbours: Neighbours) -> None:
        """Raise `ParameterError` for an empty table where the number of rows is public; else say nothing."""
        if neighbours is Neighbours.REPLACE_ONE and self._count == 0:
            raise ParameterError("The table is empty: under replace-one there is no row to protect or describe.")

    def privatise(self, blocks: tuple[Block, ...], budget: PrivacyFilter, *, noise: NoiseSource) -> NoisyBlocks:
        """Charge each block's share of the budget, then add noise to its counts."""
        neighbours = budget.privacy.neighbours
        self.refuse_empty(neighbours)
        sensitivity = block_sensitivity(neighbours, unit=self.unit)
        noisy = []
        for block in blocks:
            exact = self._block(block)
            step = f"counts of columns {block.columns}"
            measurement = measure(exact, sensitivity, budget=budget, share=block.share, noise=noise, step=step)
            noisy.append(NoisyBlock(block=block, measurement=measurement, unit=self.unit))
        rows = self._count / self.unit if neighbours is Neighbours.REPLACE_ONE else estimated_rows(tuple(noisy))
        return NoisyBlocks(sizes=self.sizes, blocks=tuple(noisy), neighbours=neighbours, rows=rows)

    def _block(self, block: Block) -> BigIntegers:
        """The exact grouped counts of a block, row by row of its table."""
        group, total = next(
            (group, total)
            for group, total in zip(self._groups, self._totals, strict=True)
            if set(block.columns) <= set(group)
        )
        table = total.reshape([self.sizes[column] for column in group])
        others = tuple(axis for axis, column in enumerate(group) if column not in block.columns)
        table = table.sum(axis=others)
        if list(block.columns) != sorted(block.columns):
            table = table.T
        for cells in block.groups:
            table = _grouped(table, cells)
            table = np.moveaxis(table, 0, -1)  # the next axis comes first; after all of them the order is as before
        return table.ravel().astype(object)

    def __repr__(self) -> str:
        return f"ExactCounts({len(self.sizes)} columns; private)"

    def __len__(self) -> NoReturn:
        raise PrivacyError("ExactCounts has no length: how many rows it holds may be private.")

    def __iter__(self) -> NoReturn:
        raise PrivacyError("ExactCounts can't be iterated: use privatise.")

    def __bool__(self) -> NoReturn:
        raise PrivacyError("ExactCounts has no truth value: use privatise.")

    def __reduce__(self) -> Any:
        raise PrivacyError("ExactCounts can't be pickled or copied: it holds private counts.")

    def __getstate__(self) -> NoReturn:
        raise PrivacyError("ExactCounts can't be pickled or copied: it holds private counts.")


def _grouped(table: Integers, cells: Integers) -> Integers:
    """Sums over the atoms of each cell along the first axis."""
    grouped = np.zeros((int(cells.max()) + 1, *table.shape[1:]), dtype=np.int64)
    np.add.at(grouped, cells, table)
    return grouped
