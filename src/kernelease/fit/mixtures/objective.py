"""What a mixture is fitted to: the noisy blocks, laid out over the cells of all columns."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.beyond import Detail, Misfit, Unheld
from kernelease.fit.mixtures.one_way import OneWay, conditional, one_ways
from kernelease.fit.mixtures.terms import Pairs, Set, Single, Singles, Term, multiplied_out, stacked
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks, finest, refined, within, without_means

# --------------------
# Coarser cells: a block may count a column in wider cells than the mixture has for it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Groupings:
    """For some columns, sums over groups of their cells, which follow the C cells of all columns: (M, C) → (M, X)."""

    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    places: tuple[slice, ...]  # of each column: its cells among all
    coarse: dict[tuple[int, bytes], slice]  # column and grouping of its atoms → the groups' places
    one_hot: dict[tuple[int, bytes], Single]  # (cells of the column, groups)

    @classmethod
    def of(cls, blocks: Sequence[NoisyBlock], cells: tuple[Integers, ...], places: tuple[slice, ...]) -> "Groupings":
        """All groupings that some block has and that are not the columns' own cells: those of pairs first."""
        coarse, one_hot, end = {}, {}, places[-1].stop
        for block in sorted(blocks, key=lambda block: len(block.block.columns)):
            for column, group in zip(block.block.columns, block.block.groups, strict=True):
                key = (column, group.tobytes())
                if key not in coarse and not np.array_equal(group, cells[column]):
                    one_hot[key] = np.eye(int(group.max()) + 1, dtype=np.float32)[within(cells[column], group)]
                    coarse[key] = slice(end, end := end + one_hot[key].shape[1])
        return cls(cells=cells, places=places, coarse=coarse, one_hot=one_hot)

    def place(self, column: int, group: Integers) -> slice:
        """Where a block's cells of a column are."""
        return self.coarse.get((column, group.tobytes()), self.places[column])

    @property
    def width(self) -> int:
        """X: cells of all columns, and groups of them."""
        return sum(place.stop - place.start for place in (*self.places, *self.coarse.values()))

    @property
    def means(self) -> Single:
        """The mean probability of a column's cells, or groups of them, for each of these: (X,)."""
        widths = [place.stop - place.start for place in (*self.places, *self.coarse.values())]
        return np.repeat(1.0 / np.array(widths), widths).astype(np.float32)

    def extend(self, q: Single) -> Single:
        """Cells, and the sums over groups of them: (M, C) → (M, X)."""
        if not self.coarse:
            return q
        return np.concatenate([q, *(q[:, self.places[key[0]]] @ onto for key, onto in self.one_hot.items())], axis=1)

    def fold(self, slopes: Single) -> Single:
        """The transpose: what is asked of groups is asked of each of their cells, (M, X) → (M, C)."""
        slope = np.ascontiguousarray(slopes[:, : self.places[-1].stop])
        for key, onto in self.one_hot.items():
            slope[:, self.places[key[0]]] += slopes[:, self.coarse[key]] @ onto.T
        return slope


# --------------------
# The objective itself.


FLOOR = np.float32(1e-12)  # smallest probability of a cell
# research: Tables: one constant at a time. Power of the evidence by which a block pulls harder, and the least and the
# most pull
_TRUST, _LEAST_TRUST, _MOST_TRUST = 0.3, 0.3, 4.0
# research: Tables: one constant at a time. Standard deviations taken off the evidence first; the signal from which on
# trust fades out
_DOUBT, _CERTAIN = 2.0, 600.0
# research: Tables: pairs in few cells, too. Trust in single columns, where pairs say nothing of them
_SINGLES_TRUST = 2.0
_NO_CHANCE, _MOST_LEAN, LAST_TRUST = 4.0, 0.3, np.float32(10.0)  # standard deviations; at one time; and in all
MOST_CLASSES = 16  # limit: of a column by which all pairs are split


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """½ Σ_b trust_b χ²_b + κ Σ_m w_m KL(q_m ‖ product of single columns), as a function of logits.

    The penalty draws every dependence toward none, those beyond doubt as much as those that may be noise. Trust evens
    that out: a block is pulled toward its counts the harder, the farther they are from those of independent columns.

    A column's cells are the coarsest that tell apart all that was measured of it together with other columns. Within a
    cell every component has the column's own distribution: nothing was measured that says otherwise.
    """

    columns: tuple[OneWay, ...]
    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    places: tuple[slice, ...]  # of each column: its cells among all
    groupings: Groupings
    blocks: tuple[NoisyBlock, ...]  # of several columns
    values: tuple[Floats, ...]  # of each block
    held: tuple[tuple[slice, ...], ...]  # of each block: where the cells of its columns are
    counted: tuple[int, ...]  # of each block: its numbers
    trusts: tuple[tuple[Single, ...], ...]  # of each block: where its terms hold the trust in it
    terms: tuple[Term, ...]
    prior: Single  # (C,) the single columns' distributions over cells
    numbers: int  # that were measured
    rows: float
    signal: float  # rows over the noise of a count, in blocks of several columns; 0 where there is none

    @classmethod
    def of(cls, noisy: NoisyBlocks, details: Sequence[Detail] = ()) -> "Objective":
        """The objective of all blocks; `details` add to what is known of their pairs."""
        columns = one_ways(noisy)
        several = [block for block in noisy.blocks if len(block.block.columns) > 1]
        cells = tuple(_cells(several, column, size) for column, size in enumerate(noisy.sizes))
        places = _places([int(group.max()) + 1 for group in cells])
        groupings = Groupings.of(several, cells, places)
        layout = _Layout(noisy=noisy, columns=columns, cells=cells, places=places, groupings=groupings, details=details)
        terms = layout.singles(), *stacked(layout.joint(several), groupings.width)
        prior = np.concatenate([np.bincount(c, one.distribution) for c, one in zip(cells, columns, strict=True)])
        return cls(
            columns=columns,
            cells=cells,
            places=places,
            groupings=groupings,
            blocks=tuple(several),
            values=tuple(block.values for block in several),
            held=tuple(tuple(map(groupings.place, each.block.columns, each.block.groups)) for each in several),
            counted=tuple(block.block.numbers for block in several),
            trusts=tuple(tuple(layout.trusts[id(block)]) for block in several),
            terms=terms,
            prior=prior.astype(np.float32),
            numbers=places[-1].stop + sum(block.block.numbers for block in several),
            rows=noisy.rows,
            signal=signal_of(noisy),
        )

    @property
    def size(self) -> int:
        """C: cells of all columns."""
        return len(self.prior)

    def normalise(self, logits: Single) -> Single:
        """Distributions over each column's cells, (M, C). The logits become their logarithms, in place."""
        logits -= self._spread(np.maximum.reduceat(logits, self._starts, axis=1))
        q = np.exp(logits)
        sums = np.add.reduceat(q, self._starts, axis=1)
        q /= self._spread(sums)
        logits -= self._spread(np.log(sums))
        np.maximum(logits, np.log(FLOOR), out=logits)
        floored: Single = np.maximum(q, FLOOR, out=q)
        return floored

    def gradients(self, logits: Single, weight_logits: Single, kappa: float) -> tuple[float, tuple[Single, Single]]:
        """χ² per measured number, and the gradient by both sets of logits (scaled by the number of measurements).

        Logits are normalised on the way.
        """
        q, w = self.normalise(logits), softmax_weights(weight_logits)
        wide = self.groupings.extend(q)
        slopes, height = np.zeros_like(wide), np.zeros_like(w)
        chi_squared = sum(term.add(wide, w, slopes, height) for term in self.terms)
        slope = self.groupings.fold(slopes)
        pull = logits - np.log(self.prior)
        pull *= np.float32(kappa)
        slope += pull
        height += np.einsum("mc,mc->m", q, pull)
        slope *= q
        np.multiply(q, self._spread(np.add.reduceat(slope, self._starts, axis=1)), out=pull)
        slope -= pull
        scale = np.float32(1.0 / self.numbers)
        slope *= (scale * w)[:, None]
        weight_slope: Single = scale * w * (height - w @ height)
        return chi_squared / self.numbers, (slope, weight_slope)

    @property
    def _starts(self) -> list[int]:
        return [place.start for place in self.places]

    def _spread(self, values: Single) -> Single:
        """A number for each column, (M, D), as one for each of its cells: (M, C)."""
        return np.repeat(values, [place.stop - place.start for place in self.places], axis=1)

    def misfits(self, q: Single, w: Single) -> tuple[Misfit, ...]:
        """χ² per number of every block of several columns."""
        wide = {False: self.groupings.extend(q)}
        wide[True] = wide[False] - self.groupings.means
        pairs = {
            kind: (wide[kind] * w[:, None]).T @ wide[kind] for kind in {block.block.centred for block in self.blocks}
        }
        result = []
        for block, values, places, numbers in zip(self.blocks, self.values, self.held, self.counted, strict=True):
            if len(places) == 2:
                model = pairs[block.block.centred][places]
            else:
                *first, last = (wide[False][:, place] for place in places)
                model = ((multiplied_out(first) * w[:, None]).T @ last).reshape(values.shape)
            away = (values - self.rows * model.astype(np.float64)).ravel()
            chi_squared = float(away @ away) / (numbers * block.sigma**2)
            result.append(Misfit(columns=block.block.columns, numbers=numbers, chi_squared=chi_squared))
        return tuple(result)

    def unheld(self, misfits: Sequence[Misfit]) -> tuple[Unheld, ...]:
        """The blocks that noise does not explain, the worst first."""
        found = [pair for pair in zip(self.blocks, misfits, strict=True) if pair[1].beyond_noise]
        worst_first = sorted(found, key=lambda pair: -pair[1].chi_squared)
        return tuple(Unheld(noisy=block, rows=self.rows) for block, _ in worst_first)

    def lean(self, q: Single, w: Single) -> None:
        """Trust blocks more, in place, whose χ² per number is above 1 by more than chance explains.

        χ² at its goal on average may hide single pairs that are far above it: columns that determine each other.
        """
        for misfit, trusts in zip(self.misfits(q, w), self.trusts, strict=True):
            factor = leaning(misfit.chi_squared, misfit.numbers)
            if factor > 1.0:
                for held in trusts:
                    np.minimum(held * np.float32(factor), LAST_TRUST, out=held)

    def atoms(self, q: Single) -> tuple[Floats, ...]:
        """Each column's distributions over atoms: (M, atoms)."""
        spread = []
        for one, cells, place in zip(self.columns, self.cells, self.places, strict=True):
            p = q[:, place].astype(np.float64)[:, cells] * conditional(one.distribution, cells)
            spread.append(p / p.sum(axis=1, keepdims=True))
        return tuple(spread)


def signal_of(noisy: NoisyBlocks) -> float:
    """Rows over the noise of a count of several columns, in the finest cells of each; 0 where there is none."""
    several = [block for block in noisy.blocks if len(block.block.columns) > 1]
    levels = [several[place].sigma for place in finest(block.block for block in several)]
    return noisy.rows / float(np.median(levels)) if levels else 0.0


def leaning(chi_squared: float, numbers: int) -> float:
    """How much more to trust a block: above 1 where its χ² per number exceeds 1 by more than chance explains."""
    above = chi_squared - 1.0 - _NO_CHANCE * math.sqrt(2.0 / numbers)
    return math.exp(min(_MOST_LEAN, max(0.0, above)))


def softmax_weights(logits: Single) -> Single:
    """w on the simplex: (M,)."""
    w = np.exp(logits - logits.max())
    w /= w.sum()
    floored: Single = np.maximum(w, FLOOR, out=w)
    return floored


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Blocks in terms of the cells of all columns."""

    noisy: NoisyBlocks
    columns: tuple[OneWay, ...]
    cells: tuple[Integers, ...]
    places: tuple[slice, ...]
    groupings: Groupings
    details: Sequence[Detail] = ()
    trusts: dict[int, list[Single]] = field(default_factory=dict)  # of each block, by its id

    def singles(self) -> Singles:
        """Unbiased shares of cells, not of the smoothed distribution: smoothing is a guess, not a measurement."""
        pairs = list(zip(self.cells, self.columns, strict=True))
        target = np.concatenate([np.bincount(cells, one.shares) for cells, one in pairs])
        variance = np.concatenate([np.bincount(cells) * one.variance for cells, one in pairs])
        beside = any(block.block.centred for block in self.noisy.blocks if len(block.block.columns) > 1)
        return Singles(
            target=target.astype(np.float32),
            precision=(1.0 / variance).astype(np.float32),
            trust=np.float32(_SINGLES_TRUST if beside else 1.0),
        )

    def joint(self, blocks: Sequence[NoisyBlock]) -> list[Term]:
        """Pairs as one matrix; threes that share a column as one matrix for each of its cells; the rest one by one."""
        hub = _hub(blocks, self.cells)
        pairs = [block for block in blocks if len(block.block.columns) == 2]
        if len({block.block.centred for block in pairs}) > 1:  # one matrix is of one kind
            pairs = [block for block in pairs if block.block.centred]
        split = [block for block in blocks if hub is not None and self._splits(block, hub)]
        terms: list[Term] = [self._matrix(pairs)] if len(pairs) > len(self.cells) else []
        if hub is not None:
            terms += [self._matrix(split, hub, cell) for cell in range(int(self.cells[hub].max()) + 1)]
        taken = [id(block) for block in [*(pairs if len(pairs) > len(self.cells) else []), *split]]
        return terms + [self._set(block) for block in blocks if id(block) not in taken]

    def _whole(self, block: NoisyBlock, axes: Sequence[int]) -> bool:
        """Whether the block's cells along these axes are exactly the columns' own."""
        return all(np.array_equal(block.block.groups[a], self.cells[block.block.columns[a]]) for a in axes)

    def _both(self, block: NoisyBlock) -> tuple[slice, slice]:
        """Where the cells of a block's first two columns are."""
        first, second = map(self.groupings.place, block.block.columns[:2], block.block.groups[:2])
        return first, second

    def _splits(self, block: NoisyBlock, hub: int) -> bool:
        return len(block.block.columns) == 3 and block.block.columns[-1] == hub and self._whole(block, (0, 1, 2))

    def _matrix(self, blocks: Sequence[NoisyBlock], hub: int | None = None, cell: int | None = None) -> Pairs:
        places = [self._both(block) for block in blocks]
        size = max([self.places[-1].stop, *(place.stop for both in places for place in both)])
        target = np.zeros((size, size), dtype=np.float32, order="F")
        precision, trusts = np.zeros_like(target), np.ones_like(target)
        for block, both in zip(blocks, places, strict=True):
            first, second = both
            shares = block.values / self.noisy.rows if cell is None else block.values[:, :, cell] / self.noisy.rows
            if first.start > second.start:
                first, second, shares = second, first, shares.T
            weight = (self.noisy.rows / block.sigma) ** 2
            precision[first, second] += weight  # a pair that was measured twice has both
            trusts[first, second] = trust(block, self.columns, self.noisy.rows)
            self.trusts.setdefault(id(block), []).append(trusts[first, second])
            target[first, second] += (shares - target[first, second]) * weight / precision[first, second]
        inside = None if hub is None or cell is None else self.places[hub].start + cell
        centred = bool(blocks) and blocks[0].block.centred
        for detail in self.details:
            if inside is None and detail.centred == centred:
                self._add(detail, target, precision)
        centre = self.groupings.means[:size] if centred else None
        return Pairs(target=target, precision=precision, trust=trusts, cell=inside, centre=centre)

    def _add(self, detail: Detail, target: Single, precision: Single) -> None:
        """Add what a detail says, summed over cells, to what is known of its pair, in place."""
        if detail.columns[0] > detail.columns[1]:
            detail = detail.turned()
        one, other = detail.columns
        here = self.places[one], self.places[other]
        if precision[here].any():
            alone = self.columns[one].shares, self.columns[other].shares
            shares, variance = detail.summed((self.cells[one], self.cells[other]), alone)
            precision[here] += 1.0 / variance
            target[here] += (shares - target[here]) / (variance * precision[here])

    def _set(self, block: NoisyBlock) -> Set:
        order = np.argsort(block.block.shape, kind="stable")  # the widest last: the others are multiplied out
        shares = block.values.transpose(order) / self.noisy.rows
        trusted = np.array(trust(block, self.columns, self.noisy.rows), dtype=np.float32)
        self.trusts.setdefault(id(block), []).append(trusted)
        return Set(
            places=tuple(self.groupings.place(block.block.columns[i], block.block.groups[i]) for i in order),
            target=shares.reshape(-1, shares.shape[-1]).astype(np.float32),
            precision=(self.noisy.rows / block.sigma) ** 2,
            trust=trusted,
            centred=block.block.centred,
        )


def trust(block: NoisyBlock, columns: Sequence[OneWay], rows: float) -> float:
    """S^`_TRUST` between `_LEAST_TRUST` and `_MOST_TRUST`, with S = χ² per number against independent columns.

    Where rows / noise of a count passes `_CERTAIN` hardly any dependence is doubtful, and trust fades to 1 for all.
    S is taken `_DOUBT` of its standard deviations lower: of many small blocks some are far from independence by chance.
    """
    groups = zip(block.block.columns, block.block.groups, strict=True)
    product: Floats = functools.reduce(np.multiply.outer, [_sums(g, columns[c].distribution) for c, g in groups])
    squared = _chi_squared(block, block.values, rows * product)
    sure = max(0.0, squared - _DOUBT * math.sqrt(2.0 / block.block.numbers))
    power = _TRUST * min(1.0, _CERTAIN * block.sigma / rows) ** 2
    return float(np.clip(sure**power, _LEAST_TRUST, _MOST_TRUST))


def _sums(groups: Integers, distribution: Floats) -> Floats:
    return np.bincount(groups, distribution).astype(np.float64)


def _chi_squared(block: NoisyBlock, values: Floats, expected: Floats) -> float:
    """χ² per number of a block's values against expected counts, in its shape."""
    model = without_means(expected) if block.block.centred else expected
    return float(np.sum((values - model) ** 2)) / (block.block.numbers * block.sigma**2)


def _hub(blocks: Sequence[NoisyBlock], cells: Sequence[Integers]) -> int | None:
    """The last column of most sets of three, where it splits so many of them that matrices pay."""
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
    return groups[0] if len(distinct) == 1 else refined(list(distinct.values()))


def _places(widths: Sequence[int]) -> tuple[slice, ...]:
    ends = np.cumsum(widths)
    return tuple(slice(int(end) - width, int(end)) for width, end in zip(widths, ends, strict=True))
