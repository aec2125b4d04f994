"""What a mixture is fitted to: the noisy blocks, laid out over the cells of all columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.adam import Single
from kernelease.fit.mixtures.one_way import OneWay, conditional, one_ways
from kernelease.fit.mixtures.terms import Pairs, Set, Singles, Term
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks

_FLOOR = np.float32(1e-12)  # smallest probability of a cell
MOST_CLASSES = 16  # of a column by which all pairs are split


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """½χ² + κ Σ_m w_m KL(q_m ‖ product of single columns), as a function of logits.

    A column's cells are the coarsest that tell apart all that was measured of it together with other columns. Within a
    cell every component has the column's own distribution: nothing was measured that says otherwise.
    """

    columns: tuple[OneWay, ...]
    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    places: tuple[slice, ...]  # of each column: its cells among all
    terms: tuple[Term, ...]
    prior: Single  # (C,) the single columns' distributions over cells
    numbers: int  # that were measured
    signal: float  # rows over the noise of a count, in blocks of several columns; 0 where there is none

    @classmethod
    def of(cls, noisy: NoisyBlocks) -> "Objective":
        """The objective of all blocks."""
        columns = one_ways(noisy)
        several = [block for block in noisy.blocks if len(block.block.columns) > 1]
        cells = tuple(_cells(several, column, size) for column, size in enumerate(noisy.sizes))
        places = _places([int(group.max()) + 1 for group in cells])
        layout = _Layout(noisy=noisy, cells=cells, places=places)
        prior = np.concatenate([np.bincount(c, one.distribution) for c, one in zip(cells, columns, strict=True)])
        return cls(
            columns=columns,
            cells=cells,
            places=places,
            terms=(layout.singles(columns), *layout.joint(several)),
            prior=prior.astype(np.float32),
            numbers=places[-1].stop + sum(block.block.cells for block in several),
            signal=noisy.rows / float(np.median([block.sigma for block in several])) if several else 0.0,
        )

    @property
    def size(self) -> int:
        """C: cells of all columns."""
        return len(self.prior)

    def softmax(self, logits: Single) -> Single:
        """Distributions over each column's cells: (M, C)."""
        starts = [place.start for place in self.places]
        widths = [place.stop - place.start for place in self.places]
        q = np.exp(logits - np.repeat(np.maximum.reduceat(logits, starts, axis=1), widths, axis=1))
        q /= np.repeat(np.add.reduceat(q, starts, axis=1), widths, axis=1)
        floored: Single = np.maximum(q, _FLOOR, out=q)
        return floored

    def gradients(self, logits: Single, weight_logits: Single, kappa: float) -> tuple[float, tuple[Single, Single]]:
        """χ² per measured number, and the gradient by both sets of logits (scaled by the number of measurements)."""
        q, w = self.softmax(logits), softmax_weights(weight_logits)
        slope, height = np.zeros_like(q), np.zeros_like(w)
        chi_squared = sum(term.add(q, w, slope, height) for term in self.terms)
        pull = np.log(q)
        pull -= np.log(self.prior)
        pull *= np.float32(kappa)
        slope += pull
        height += np.einsum("mc,mc->m", q, pull)
        slope *= q
        starts = [place.start for place in self.places]
        widths = [place.stop - place.start for place in self.places]
        slope -= q * np.repeat(np.add.reduceat(slope, starts, axis=1), widths, axis=1)
        scale = np.float32(1.0 / self.numbers)
        slope *= (scale * w)[:, None]
        weight_slope: Single = scale * w * (height - w @ height)
        return chi_squared / self.numbers, (slope, weight_slope)

    def atoms(self, q: Single) -> tuple[Floats, ...]:
        """Each column's distributions over atoms: (M, atoms)."""
        spread = []
        for one, cells, place in zip(self.columns, self.cells, self.places, strict=True):
            p = q[:, place].astype(np.float64)[:, cells] * conditional(one.distribution, cells)
            spread.append(p / p.sum(axis=1, keepdims=True))
        return tuple(spread)


def softmax_weights(logits: Single) -> Single:
    """w on the simplex: (M,)."""
    w = np.exp(logits - logits.max())
    w /= w.sum()
    floored: Single = np.maximum(w, _FLOOR, out=w)
    return floored


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Blocks in terms of the cells of all columns."""

    noisy: NoisyBlocks
    cells: tuple[Integers, ...]
    places: tuple[slice, ...]

    def singles(self, columns: Sequence[OneWay]) -> Singles:
        """Unbiased shares of cells, not of the smoothed distribution: smoothing is a guess, not a measurement."""
        pairs = list(zip(self.cells, columns, strict=True))
        target = np.concatenate([np.bincount(cells, one.shares) for cells, one in pairs])
        variance = np.concatenate([np.bincount(cells) * one.variance for cells, one in pairs])
        return Singles(target=target.astype(np.float32), precision=(1.0 / variance).astype(np.float32))

    def joint(self, blocks: Sequence[NoisyBlock]) -> list[Term]:
        """Pairs as one matrix; triples that share a column as one matrix for each of its cells; the rest one by one."""
        hub = _hub(blocks, self.cells)
        pairs = [block for block in blocks if len(block.block.columns) == 2 and self._whole(block, (0, 1))]
        split = [block for block in blocks if hub is not None and self._splits(block, hub)]
        terms: list[Term] = [self._matrix(pairs)] if len(pairs) > len(self.cells) else []
        if hub is not None:
            terms += [self._matrix(split, hub, cell) for cell in range(int(self.cells[hub].max()) + 1)]
        taken = [id(block) for block in [*(pairs if len(pairs) > len(self.cells) else []), *split]]
        return terms + [self._set(block) for block in blocks if id(block) not in taken]

    def _whole(self, block: NoisyBlock, axes: Sequence[int]) -> bool:
        """Whether the block's cells along these axes are exactly the columns' own."""
        return all(np.array_equal(block.block.groups[a], self.cells[block.block.columns[a]]) for a in axes)

    def _splits(self, block: NoisyBlock, hub: int) -> bool:
        return len(block.block.columns) == 3 and block.block.columns[-1] == hub and self._whole(block, (0, 1, 2))

    def _matrix(self, blocks: Sequence[NoisyBlock], hub: int | None = None, cell: int | None = None) -> Pairs:
        target = np.zeros((self.places[-1].stop,) * 2, dtype=np.float32)
        precision = np.zeros_like(target)
        for block in blocks:
            first, second = (self.places[column] for column in block.block.columns[:2])
            shares = block.values / self.noisy.rows if cell is None else block.values[:, :, cell] / self.noisy.rows
            target[first, second], target[second, first] = shares, shares.T
            precision[first, second] = precision[second, first] = (self.noisy.rows / block.sigma) ** 2
        inside = None if hub is None or cell is None else self.places[hub].start + cell
        return Pairs(target=target, precision=precision, cell=inside)

    def _set(self, block: NoisyBlock) -> Set:
        columns = block.block.columns
        groups = [_within(self.cells[c], group) for c, group in zip(columns, block.block.groups, strict=True)]
        order = np.argsort(block.block.shape, kind="stable")  # the widest last: the others are multiplied out
        shares = block.values.transpose(order) / self.noisy.rows
        return Set(
            places=tuple(self.places[columns[i]] for i in order),
            groups=tuple(np.eye(int(groups[i].max()) + 1, dtype=np.float32)[groups[i]] for i in order),
            target=shares.reshape(-1, shares.shape[-1]).astype(np.float32),
            precision=(self.noisy.rows / block.sigma) ** 2,
        )


def _hub(blocks: Sequence[NoisyBlock], cells: Sequence[Integers]) -> int | None:
    """The last column of most triples, where it splits so many of them that matrices pay."""
    last = [block.block.columns[-1] for block in blocks if len(block.block.columns) == 3]
    if not last:
        return None
    hub = max(set(last), key=lambda column: (last.count(column), -column))
    return hub if last.count(hub) > len(cells) and int(cells[hub].max()) < MOST_CLASSES else None


def _cells(blocks: Sequence[NoisyBlock], column: int, size: int) -> Integers:
    """The common refinement of a column's groupings in these blocks: a cell for each atom, (size,)."""
    groups = [
        block.block.groups[block.block.columns.index(column)] for block in blocks if column in block.block.columns
    ]
    if not groups:
        return np.zeros(size, dtype=np.int64)
    distinct = {group.tobytes(): group for group in groups}
    if len(distinct) == 1:
        return groups[0]
    refined: Integers = np.unique(np.stack(list(distinct.values())), axis=1, return_inverse=True)[1].reshape(-1)
    return refined


def _within(cells: Integers, group: Integers) -> Integers:
    """The block's cell of each of a column's cells."""
    result = np.zeros(int(cells.max()) + 1, dtype=np.int64)
    result[cells] = group
    return result


def _places(widths: Sequence[int]) -> tuple[slice, ...]:
    ends = np.cumsum(widths)
    return tuple(slice(int(end) - width, int(end)) for width, end in zip(widths, ends, strict=True))
