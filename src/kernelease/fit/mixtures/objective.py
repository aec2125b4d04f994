"""What a mixture is fitted to: the noisy blocks, laid out over the cells of all columns."""

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final

import numpy as np
from scipy.sparse import csr_array

from kernelease.arrays import Floats, Integers
from kernelease.fit.mixtures.beyond import Detail, Misfit, Unheld
from kernelease.fit.mixtures.misfit import (
    Image,
    Pairs,
    Set,
    Single,
    Singles,
    Term,
    correlations,
    multiplied_out,
    stack_sets,
)
from kernelease.fit.mixtures.one_way import CHANCE, OneWay, conditional, one_ways
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, finest, refine, refines, within

# --------------------
# Coarser cells: a block may count a column in wider cells than the mixture has for it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Groupings:
    """For some columns, sums over groups of their cells, which follow the C cells of all columns: (C, M) → (X, M)."""

    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    places: tuple[slice, ...]  # of each column: its cells among all
    coarse: dict[tuple[int, bytes], slice]  # column and grouping of its atoms → the groups' places
    onto: csr_array  # (X − C, C): which cells are in a group
    back: csr_array  # its transpose

    @classmethod
    def of(
        cls,
        blocks: Sequence[NoisyBlock],
        cells: tuple[Integers, ...],
        places: tuple[slice, ...],
        more: Iterable[tuple[int, Integers]] = (),
    ) -> "Groupings":
        """All groupings that some block has, and `more`, that are not the columns' own cells: those of pairs first."""
        coarse: dict[tuple[int, bytes], slice] = {}
        inside, of, size = [], [], places[-1].stop
        end = size
        several = sorted((one.block for one in blocks), key=lambda block: len(block.columns))
        each = [pair for block in several for pair in zip(block.columns, block.groups, strict=True)]
        for column, group in [*each, *more]:
            key = (column, group.tobytes())
            if key not in coarse and not np.array_equal(group, cells[column]):
                inside.append(end - size + within(cells[column], group))
                of.append(np.arange(places[column].start, places[column].stop))
                coarse[key] = slice(end, end := end + int(group.max()) + 1)
        at = (
            np.concatenate([*inside, np.zeros(0, dtype=np.int64)]),
            np.concatenate([*of, np.zeros(0, dtype=np.int64)]),
        )
        onto = csr_array((np.ones(len(at[0]), dtype=np.float32), at), shape=(end - size, size))
        return cls(cells=cells, places=places, coarse=coarse, onto=onto, back=csr_array(onto.T))

    def place(self, column: int, group: Integers) -> slice:
        """Where a block's cells of a column are."""
        return self.coarse.get((column, group.tobytes()), self.places[column])

    @property
    def width(self) -> int:
        """X: cells of all columns, and groups of them."""
        return sum(place.stop - place.start for place in (*self.places, *self.coarse.values()))

    def off(self, block: Block) -> Single | None:
        """What a block's kind takes off the probability of each cell, or group of them: (X,); None for nothing."""
        widths = [place.stop - place.start for place in (*self.places, *self.coarse.values())]
        off = [block.off_products(width) or 0.0 for width in widths]
        return np.repeat(off, widths).astype(np.float32) if any(off) else None

    def extend(self, q: Single) -> Single:
        """Cells, and the sums over groups of them: (C, M) → (X, M)."""
        return np.concatenate([q, self.onto @ q]) if self.coarse else q

    def fold(self, slopes: Single) -> Single:
        """The transpose, in place: what is asked of groups is asked of each of their cells, (X, M) → (C, M)."""
        size = self.places[-1].stop
        if self.coarse:
            slopes[:size] += self.back @ slopes[size:]
        return slopes[:size]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A column that is read off another, `column`: the cell of each of the other's atoms, and shares of cells."""

    column: int
    cells: Integers  # (atoms,)
    shares: Floats  # (cells,)
    variances: Floats  # (cells,)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of a block's numbers: by the block itself, by a detail of its columns, or by both."""

    block: Block
    values: Floats
    variances: Floats  # of each, as σ² of a block's numbers is

    @classmethod
    def of(cls, noisy: NoisyBlock) -> "Known":
        """By the block itself."""
        return cls(block=noisy.block, values=noisy.values, variances=np.full(noisy.values.shape, noisy.sigma**2))


# --------------------
# The objective itself.


FLOOR = np.float32(1e-12)  # smallest probability of a cell
_LOG_FLOOR = np.log(FLOOR)
_TRUST = 0.3  # research: Tables: constants that matter. Power of the evidence by which a block pulls harder
# convention: the least and the most pull; the signal from which on trust fades out; and trust in single columns where
# pairs say nothing of them. Half or twice as much changes no table's error by more than chance (docs/research.md:
# Tables: constants that matter)
_LEAST_TRUST, _MOST_TRUST, _CERTAIN, _SINGLES_TRUST = 0.3, 4.0, 600.0, 2.0
_NO_CHANCE, _MOST_LEAN, LAST_TRUST = 4.0, 0.3, np.float32(10.0)  # standard deviations; at one time; and in all
_TOGETHER = 131_072  # limit: of time: shares of cells that are worked on at once
MOST_CLASSES = 16  # limit: of a column by which all pairs are split


# of two columns: where their cells are, and a table for them, (cells of one, cells of the other)
Ties: TypeAlias = tuple[tuple[slice, slice, Single], ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """½ Σ_b trust_b χ²_b + κ Σ_m w_m [KL(q_m ‖ p) − Σ q_miᵀ tie_ij q_mj + bend(q_m)], as a function of logits.

    p is the product of single columns; with `ties`, which hold logarithms log P_ij/p_i p_j of the pairs of a forest, it
    is the forest. `bend` is ½ Σ log(1 + d²), with d the second differences of log q_m/p along the
    cells of columns in an order: neighbouring values have like company, so that a curve of cells is smooth
    but for noise. Where it jumps by more than a factor of e, it costs next to nothing to jump farther.

    The penalty draws every dependence toward none, those beyond doubt as much as those that may be noise. Trust evens
    that out: a block is pulled toward its counts the harder, the farther they are from those of independent columns.

    A column's cells are the coarsest that tell apart all that was measured of it together with other columns. Within a
    cell every component has the column's own distribution: nothing was measured that says otherwise.
    """

    columns: tuple[OneWay, ...]
    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    places: tuple[slice, ...]  # of each column: its cells among all
    groupings: Groupings
    blocks: tuple[Known, ...]  # of several columns
    held: tuple[tuple[slice, ...], ...]  # of each block: where the cells of its columns are
    counted: tuple[int, ...]  # of each block: its numbers
    off: dict[type[Block], Single | None]  # of each kind of pairs that are products: what it takes off probabilities
    images: tuple[int, ...]  # which blocks are no products of probabilities
    trusts: tuple[tuple[Single, ...], ...]  # of each block: where its terms hold the trust in it
    terms: tuple[Term, ...]
    prior: Single  # (C,) the single columns' distributions over cells
    bends: (
        Single  # (C − 2,) what the second difference of three neighbouring cells weighs; 0 where they are in no order
    )
    numbers: int  # that were measured
    rows: float
    signal: float  # rows over the noise of a count, in blocks of several columns; 0 where there is none
    ties: Ties = ()  # of a forest; without any, components are drawn toward independent columns

    @classmethod
    def of(
        cls,
        noisy: NoisyBlocks,
        details: Sequence[Detail] = (),
        columns: tuple[OneWay, ...] | None = None,
        told: "Sequence[Told]" = (),
    ) -> "Objective":
        """The objective of all blocks; `details` add to what is known of their pairs, where they part no cells.

        Single `columns` are as the blocks have them, unless they are known. Columns that are `told` are groups of the
        atoms of others, and were measured on their own.
        """
        columns = one_ways(noisy) if columns is None else columns
        several = _fitted_blocks(noisy)
        given = [_groupings(several, told, column, size) for column, size in enumerate(noisy.sizes)]
        cells = tuple([refine(groups) for groups in given])
        places = _places([int(group.max()) + 1 for group in cells])
        more = [
            (column, group) for one in details for column, group in zip(one.columns, one.own_cells(cells), strict=True)
        ]
        groupings = Groupings.of(several, cells, places, [*((one.column, one.cells) for one in told), *more])
        layout = _Layout(
            noisy=noisy,
            columns=columns,
            cells=cells,
            places=places,
            groupings=groupings,
            details=details,
            trust=dict(zip(map(id, several), trust(several, columns, noisy.rows), strict=True)),
        )
        shares: list[Floats] = [
            np.bincount(c, one.distribution).astype(np.float64) for c, one in zip(cells, columns, strict=True)
        ]
        ordered = noisy.ordered or (0,) * len(cells)
        joint = layout.joint(several)
        blocks = [layout.closer.get(id(block), Known.of(block)) for block in several]
        finer = list(layout.finer())
        blocks += [known for known, _ in finer]
        terms = (
            layout.singles(),
            *map(layout.told_term, told),
            *stack_sets([*joint, *(term for _, term in finer)], groupings.width),
            *layout.correlations(several, shares, ordered),
        )
        prior = np.concatenate(shares)
        return cls(
            columns=columns,
            cells=cells,
            places=places,
            groupings=groupings,
            blocks=tuple(blocks),
            held=tuple(tuple(map(groupings.place, each.block.columns, each.block.groups)) for each in blocks),
            counted=tuple(known.block.numbers for known in blocks),
            off=layout.off(several),
            images=tuple(at for at, known in enumerate(blocks) if _is_image(known.block)),
            trusts=(*(tuple(layout.trusts[id(block)]) for block in several), *((term.trust,) for _, term in finer)),
            terms=terms,
            prior=prior.astype(np.float32),
            bends=_bends(prior, cells, places, ordered),
            numbers=places[-1].stop
            + sum(len(one.shares) for one in told)
            + sum(known.block.numbers for known in blocks)
            - sum(layout.repeated),
            rows=noisy.rows,
            signal=signal_of(noisy),
        )

    @property
    def size(self) -> int:
        """C: cells of all columns."""
        return len(self.prior)

    def room(self, components: int) -> "Room":
        """What the gradients of so many components take of memory."""
        wide = np.empty((self.groupings.width, components), dtype=np.float32)
        return Room(wide=wide, slopes=np.empty_like(wide), parts=tuple(self._parts(components)))

    def _parts(self, components: int) -> Iterator["_Part"]:
        widths = [place.stop - place.start for place in self.places]
        most = max(1, _TOGETHER // components)
        first = 0
        for last in range(1, len(widths) + 1):
            if last == len(widths) or sum(widths[first : last + 1]) > most:
                yield _Part.of(self.places[first:last], self.prior, self.bends)
                first = last

    def normalise(self, logits: Single, room: "Room | None" = None) -> Single:
        """Distributions over each column's cells, (C, M). The logits become their logarithms, in place.

        They have been such before, but for a step: none is so large that its exponential is not a number.
        """
        room = self.room(logits.shape[1]) if room is None else room
        q = room.wide[: self.size]
        for part in room.parts:
            part.normalise(logits[part.cells], q[part.cells])
        return q

    def gradients(
        self, logits: Single, weight_logits: Single, kappa: float, room: "Room | None" = None
    ) -> tuple[float, tuple[Single, Single]]:
        """χ² per measured number, and the gradient by both sets of logits (scaled by the number of measurements).

        Logits are normalised on the way. With `room` its arrays are used, and hold the gradient until the next call.
        """
        room = self.room(len(weight_logits)) if room is None else room
        q, w, slopes = self.normalise(logits, room), softmax_weights(weight_logits), room.slopes
        if self.groupings.coarse:
            room.wide[self.size :] = self.groupings.onto @ q
        slopes.fill(0.0)
        height = np.zeros_like(w)
        chi_squared = sum(term.add(room.wide, w, slopes, height) for term in self.terms)
        slope, scale = self.groupings.fold(slopes), np.float32(1.0 / self.numbers)
        if self.ties:
            pull, reward = tie_slope(q, self.ties, np.float32(kappa))
            slope -= pull
            height -= reward
        for part in room.parts:
            here = slope[part.cells]
            part.by_logits(here, q[part.cells], logits[part.cells], np.float32(kappa), height)
            here *= scale * w
        weight_slope: Single = scale * w * (height - w @ height)
        return chi_squared / self.numbers, (slope, weight_slope)

    def misfits(self, q: Single, w: Single) -> tuple[Misfit, ...]:
        """χ² per number of every block of several columns."""
        wide = self.groupings.extend(q)
        pairs = {kind: _pairs(wide, w, off) for kind, off in self.off.items()}
        matrices = [pairs.get(type(known.block)) if len(known.block.columns) == 2 else None for known in self.blocks]
        models = [
            _joint(wide, w, places) if matrix is None else matrix[places].astype(np.float64)
            for places, matrix in zip(self.held, matrices, strict=True)
        ]
        seen = [self.blocks[at].block.numbers_in(models[at].reshape(self.blocks[at].block.grid)) for at in self.images]
        for at, model in zip(self.images, seen, strict=True):
            models[at] = model
        result = []
        for known, model, numbers in zip(self.blocks, models, self.counted, strict=True):
            away = known.values.ravel() - self.rows * model.ravel()
            chi_squared = float(away @ (away / known.variances.ravel())) / numbers
            result.append(Misfit(columns=known.block.columns, numbers=numbers, chi_squared=chi_squared))
        return tuple(result)

    def unheld(self, misfits: Sequence[Misfit]) -> tuple[Unheld, ...]:
        """The blocks that noise does not explain, the worst first."""
        found = [pair for pair in zip(self.blocks, misfits, strict=True) if pair[1].beyond_noise]
        worst_first = sorted(found, key=lambda pair: -pair[1].chi_squared)
        return tuple(
            Unheld(block=known.block, values=known.values, variances=known.variances, rows=self.rows)
            for known, _ in worst_first
        )

    def lean(self, q: Single, w: Single) -> None:
        """Trust blocks more, in place, whose χ² per number is above 1 by more than chance explains.

        χ² at its goal on average may hide single pairs that are far above it: columns that determine each other.
        """
        for misfit, trusts in zip(self.misfits(q, w), self.trusts, strict=True):
            factor = leaning(misfit.chi_squared, misfit.numbers)
            if factor > 1.0:
                for held in trusts:
                    np.minimum(held * np.float32(factor), LAST_TRUST, out=held)

    def forget(self, first: Sequence[Single]) -> None:
        """Trust blocks, in place, as the `first_trusts` say: another descent does not know what one before it saw."""
        for held, own in zip(itertools.chain(*self.trusts), first, strict=True):
            held[...] = own

    def first_trusts(self) -> list[Single]:
        """Copies of the trust in each block, before any descent."""
        return [held.copy() for held in itertools.chain(*self.trusts)]

    def atoms(self, q: Single) -> tuple[Floats, ...]:
        """Each column's distributions over atoms: (M, atoms)."""
        spread = []
        for one, cells, place in zip(self.columns, self.cells, self.places, strict=True):
            p = np.ascontiguousarray(q[place].T, dtype=np.float64)[:, cells] * conditional(one.distribution, cells)
            spread.append(p / p.sum(axis=1, keepdims=True))
        return tuple(spread)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """Some columns next to each other: few enough that what is made of them stays in the processor's cache."""

    cells: slice
    widths: Integers  # of each column: its cells
    sums: csr_array  # (columns, cells)
    log_prior: Single  # (cells, 1)
    bends: tuple[tuple[slice, Single], ...]  # stretches of these cells that are in an order, and weights

    @classmethod
    def of(cls, places: Sequence[slice], prior: Single, bends: Single) -> "_Part":
        cells, start = slice(places[0].start, places[-1].stop), places[0].start
        widths = np.array([place.stop - place.start for place in places])
        count = int(widths.sum())
        sums = csr_array(
            (np.ones(count, dtype=np.float32), np.arange(count), np.cumsum([0, *widths])), shape=(len(widths), count)
        )
        runs = _runs([place for place in places if bends[place].any()])
        return cls(
            cells=cells,
            widths=widths,
            sums=sums,
            log_prior=np.log(prior[cells])[:, None],
            bends=tuple((slice(r.start - start, r.stop - start), bends[r.start : r.stop - 2, None]) for r in runs),
        )

    def normalise(self, logits: Single, q: Single) -> None:
        """As `Objective.normalise`: (cells, M) each, in place."""
        np.exp(logits, out=q)
        sums = self.sums @ q
        logits -= self._spread(np.log(sums))
        np.reciprocal(sums, out=sums)
        q *= self._spread(sums)
        np.maximum(logits, _LOG_FLOOR, out=logits)
        np.maximum(q, FLOOR, out=q)

    def by_logits(self, slope: Single, q: Single, logits: Single, kappa: np.float32, height: Single) -> None:
        """Make the slope by shares one by logits, in place, with the penalty's part, which `height` gets, too."""
        ratios = logits - self.log_prior
        bent = [(run, *bend_slope(ratios[run], kappa * weights)) for run, weights in self.bends]
        ratios *= kappa
        ratios *= q
        height += ratios.sum(axis=0)
        slope *= q
        slope += ratios
        np.multiply(q, self._spread(self.sums @ slope), out=ratios)
        slope -= ratios
        for run, by_bends, bends in bent:
            slope[run] += by_bends
            height += bends

    def _spread(self, values: Single) -> Single:
        """A number for each column, (D, M), as one for each of its cells: (cells, M)."""
        return np.repeat(values, self.widths, axis=0)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Memory that one step after the other uses: to ask for it each time takes as long as to fill it."""

    wide: Single  # (X, M): probabilities
    slopes: Single  # (X, M)
    parts: tuple[_Part, ...]


def tie_slope(q: Any, ties: Ties, kappa: Any) -> tuple[Any, Any]:
    """κ Σ q_iᵀ tie q_j of each component, (M,), after its slope: (C, M) → (C, M). By NumPy or CuPy."""
    slope = 0 * q
    for one, other, tie in ties:
        strong = kappa * tie
        slope[one] += strong @ q[other]
        slope[other] += strong.T @ q[one]
    return slope, (q * slope).sum(axis=0) / 2


def bend_slope(ratios: Any, weights: Any) -> tuple[Any, Any]:
    """Of each component ½ Σ w log(1 + d²), d its second differences, (M,), after its slope: (C, M), (C − 2, 1) → same.

    By NumPy or CuPy.

    >>> slope, bends = bend_slope(np.array([[0.0], [1.0], [2.0], [4.0]]), np.array([[1.0], [1.0]]))
    >>> slope.ravel().tolist(), (2.0 * bends / np.log(2.0)).round(6).tolist()
    ([0.0, 0.5, -1.0, 0.5], [1.0])
    """
    second = ratios[2:] - 2 * ratios[1:-1] + ratios[:-2]
    beyond = second * second
    beyond += 1
    second *= weights
    second /= beyond
    slope = 0 * ratios
    slope[2:] += second
    slope[:-2] += second
    second *= 2
    slope[1:-1] -= second
    return slope, weights[:, 0] @ np.log(beyond) / 2


def _bends(prior: Floats, cells: Sequence[Integers], places: Sequence[slice], ordered: Sequence[int]) -> Single:
    """1 for three neighbours in an order, less where they are uneven: a value that many share is no neighbour.

    That is by the least of the three shares over the largest.
    """
    weights = np.zeros(max(0, len(prior) - 2), dtype=np.float32)
    for own, place, count in zip(cells, places, ordered, strict=True):
        rising = own[:count]
        if count and (np.diff(rising) >= 0).all():
            shares = prior[place.start : place.start + int(rising[-1]) + 1]
            three = np.stack([shares[:-2], shares[1:-1], shares[2:]]) if len(shares) > 2 else np.empty((3, 0))
            even = three.min(axis=0, initial=1.0) / np.maximum(three.max(axis=0, initial=0.0), FLOOR)
            weights[place.start : place.start + len(even)] = even
    return weights


def _pairs(wide: Single, w: Single, off: Single | None) -> Single:
    """Σ w_m q_m q_mᵀ over all cells, of probabilities less what is taken off them: (X, X)."""
    scaled: Single = (wide if off is None else wide - off[:, None]) * np.sqrt(w)
    products: Single = scaled @ scaled.T  # one array, turned: BLAS makes one triangle
    return products


def _is_image(block: Block) -> bool:
    """Whether the model of its numbers is neither a part of a matrix of pairs nor a product of probabilities."""
    off = block.off_products(2)
    return off is None or (off != 0.0 and len(block.columns) != 2)


def _joint(wide: Single, w: Single, places: Sequence[slice]) -> Floats:
    """Σ w_m of the products of a few columns' probabilities, over their joint cells."""
    *first, last = (wide[place] for place in places)
    joint = multiplied_out(first) if first else np.ones((1, len(w)), dtype=np.float32)
    return ((joint * w) @ last.T).astype(np.float64)


def _fitted_blocks(noisy: NoisyBlocks) -> list[NoisyBlock]:
    """The blocks that a mixture is fitted to: those of several columns, and those of one that tell no cells apart."""
    return [block for block in noisy.blocks if block.block.columns and not block.block.alone]


def signal_of(noisy: NoisyBlocks) -> float:
    """Rows over the noise of a count of several columns, in the finest cells of each; 0 where there is none."""
    several = _fitted_blocks(noisy)
    known: dict[tuple[tuple[int, ...], int], float] = {}
    for one in several:  # what was counted twice in the same cells is known better
        cells = one.block.columns, one.block.cells
        known[cells] = known.get(cells, 0.0) + one.sigma**-2.0
    best = [several[place].block for place in finest([block.block for block in several])]
    levels = [known[block.columns, block.cells] ** -0.5 for block in best]
    levels += [block.sigma for block in several if not block.block.covers(block.block.columns)]
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
    trust: dict[int, float]  # in each block, by its id
    trusts: dict[int, list[Single]] = field(default_factory=dict)  # where it stands in terms
    repeated: list[int] = field(default_factory=list)  # numbers of blocks that are one with others
    closer: dict[int, Known] = field(default_factory=dict)  # blocks that details add to, by their id
    added: list[frozenset[int]] = field(default_factory=list)  # columns of these details

    def singles(self) -> Singles:
        """Unbiased shares of cells, not of the smoothed distribution: smoothing is a guess, not a measurement."""
        pairs = list(zip(self.cells, self.columns, strict=True))
        target = np.concatenate([np.bincount(cells, one.shares) for cells, one in pairs])
        variance = np.concatenate([np.bincount(cells) * one.variance for cells, one in pairs])
        return Singles(
            place=slice(0, len(target)),
            target=target.astype(np.float32),
            precision=(1.0 / variance).astype(np.float32),
            trust=self._singles_trust,
        )

    def told_term(self, one: Told) -> Singles:
        """A column that is read off another, on its own."""
        return Singles(
            place=self.groupings.place(one.column, one.cells),
            target=one.shares.astype(np.float32),
            precision=(1.0 / one.variances).astype(np.float32),
            trust=self._singles_trust,
        )

    @property
    def _singles_trust(self) -> np.float32:
        several = [block.block for block in self.noisy.blocks if len(block.block.columns) > 1]
        return np.float32(1.0 if all(block.covers(block.columns[:1]) for block in several) else _SINGLES_TRUST)

    def joint(self, blocks: Sequence[NoisyBlock]) -> list[Term]:
        """Pairs as one matrix; threes that share a column as one matrix for each of its cells; the rest one by one."""
        hub = _hub(blocks, self.cells)
        pairs = self._alike(blocks)
        split = [] if hub is None else [block for block in blocks if self._splits(block, hub)]
        terms: list[Term] = [self._matrix(pairs)] if len(pairs) > len(self.cells) else []
        if hub is not None and split:  # where sets are in coarser cells than pairs, none is a part of such a matrix
            terms += [self._matrix(split, hub, cell) for cell in range(int(self.cells[hub].max()) + 1)]
        taken = [id(block) for block in [*(pairs if len(pairs) > len(self.cells) else []), *split]]
        return terms + [self._set_term(block) for block in blocks if id(block) not in taken]

    def correlations(
        self, blocks: Sequence[NoisyBlock], shares: Sequence[Floats], ordered: Sequence[int]
    ) -> list[Term]:
        """Rank correlations that are beyond doubt, trusted as much as anything is."""
        several = [block for block in blocks if len(block.block.columns) > 1]
        found = correlations(
            several,
            self.noisy.rows,
            shares,
            self.cells,
            self.places,
            ordered=ordered,
            sure=_NO_CHANCE,
            trust=float(LAST_TRUST),
        )
        return [] if found is None else [found]

    def off(self, blocks: Sequence[NoisyBlock]) -> dict[type[Block], Single | None]:
        """Of each kind of pairs that are products of columns: what it takes off probabilities, (X,)."""
        pairs = {type(one.block): one.block for one in blocks if len(one.block.columns) == 2}
        return {kind: self.groupings.off(one) for kind, one in pairs.items() if one.off_products(1) is not None}

    def _alike(self, blocks: Sequence[NoisyBlock]) -> list[NoisyBlock]:
        """The pairs that one matrix can hold: those of the kind that most are of."""
        kinds: dict[type[Block], list[NoisyBlock]] = {kind: [] for kind in self.off(blocks)}
        for one in blocks:
            if len(one.block.columns) == 2 and type(one.block) in kinds:
                kinds[type(one.block)].append(one)
        return max(kinds.values(), key=len, default=[])

    def _whole(self, block: NoisyBlock, axes: Sequence[int]) -> bool:
        """Whether the block's cells along these axes are exactly the columns' own."""
        return all(np.array_equal(block.block.groups[a], self.cells[block.block.columns[a]]) for a in axes)

    def _both(self, block: NoisyBlock) -> tuple[slice, slice]:
        """Where the cells of a block's first two columns are."""
        first, second = map(self.groupings.place, block.block.columns[:2], block.block.groups[:2])
        return first, second

    def _splits(self, block: NoisyBlock, hub: int) -> bool:
        three = len(block.block.columns) == 3 and block.block.columns[-1] == hub
        return three and block.block.off_products(1) == 0.0 and self._whole(block, (0, 1, 2))

    def _matrix(self, blocks: Sequence[NoisyBlock], hub: int | None = None, cell: int | None = None) -> Pairs:
        own = [self._both(block) for block in blocks]
        runs = _runs([place for both in own for place in both])
        places = [(_among(runs, first), _among(runs, second)) for first, second in own]
        size = sum(run.stop - run.start for run in runs)
        target = np.zeros((size, size), dtype=np.float32, order="F")
        precision, trusts = np.zeros_like(target), np.ones_like(target)
        for block, both in zip(blocks, places, strict=True):
            first, second = both
            shares = block.values / self.noisy.rows if cell is None else block.values[:, :, cell] / self.noisy.rows
            if first.start > second.start:
                first, second, shares = second, first, shares.T
            weight = (self.noisy.rows / block.sigma) ** 2
            if precision[first, second].any():  # a pair that was measured twice has both, as one
                self.repeated.append(block.block.numbers)
            precision[first, second] += weight
            trusts[first, second] = self.trust[id(block)]
            self.trusts.setdefault(id(block), []).append(trusts[first, second])
            target[first, second] += (shares - target[first, second]) * weight / precision[first, second]
        inside = None if hub is None or cell is None else self.places[hub].start + cell
        for detail in self.details:
            if inside is None and type(detail.block) is type(blocks[0].block):
                self._add(detail, blocks, target, precision, runs)
        off = self.groupings.off(blocks[0].block)
        centre = None if off is None else np.concatenate([off[run] for run in runs])
        return Pairs(places=runs, target=target, precision=precision, trust=trusts, cell=inside, centre=centre)

    def _add(
        self, detail: Detail, blocks: Sequence[NoisyBlock], target: Single, precision: Single, runs: Sequence[slice]
    ) -> None:
        """Add what a detail says, summed over cells, to what is known of its pair in the same cells, in place."""
        same = [one for one in blocks if set(one.block.columns) == set(detail.columns) and self._whole(one, (0, 1))]
        pairs = zip(detail.columns, detail.fine, strict=True)
        if not same or not all(refines(fine, self.cells[column]) for column, fine in pairs):
            return
        detail = detail if detail.columns[0] < detail.columns[1] else detail.reverse()
        one, other = detail.columns
        here = _among(runs, self.places[one]), _among(runs, self.places[other])
        shares, variance = self._sum_cells(detail)
        precision[here] += 1.0 / variance
        target[here] += (shares - target[here]) / (variance * precision[here])
        tables = (
            self.noisy.rows * target[here].astype(np.float64),
            self.noisy.rows**2 / precision[here].astype(np.float64),
        )
        for noisy in same:
            values, variances = tables if noisy.block.columns == detail.columns else (own.T for own in tables)
            self.closer[id(noisy)] = Known(block=noisy.block, values=values, variances=variances)
        self.added.append(frozenset(detail.columns))

    def finer(self) -> Iterator[tuple[Known, Set]]:
        """What other details say, summed over cells: these part those of the pair where columns are read off one."""
        for one in self.details:
            widths = [int(group.max()) for group in one.own_cells(self.cells)]
            if frozenset(one.columns) not in self.added and min(widths) > 0:
                yield self._finer(one if widths[0] <= widths[1] else one.reverse())

    def _finer(self, detail: Detail) -> tuple[Known, Set]:
        """A detail whose second column has more cells."""
        shares, variance = self._sum_cells(detail)
        groups = detail.own_cells(self.cells)
        block = replace(detail.block, columns=detail.columns, groups=groups)
        known = Known(block=block, values=self.noisy.rows * shares, variances=self.noisy.rows**2 * variance)
        return known, Set(
            places=tuple(map(self.groupings.place, detail.columns, groups)),
            target=shares.astype(np.float32),
            precision=(1.0 / variance).astype(np.float32),
            trust=np.array(1.0, dtype=np.float32),
            off=tuple(block.off_products(size) or 0.0 for size in block.grid),
        )

    def _sum_cells(self, detail: Detail) -> tuple[Floats, Floats]:
        """What a detail says of the cells of its columns, and the variance of each."""
        one, other = detail.columns
        alone = self.columns[one].shares, self.columns[other].shares
        return detail.sum_cells(detail.own_cells(self.cells), alone)

    def _set_term(self, block: NoisyBlock) -> Term:
        trusted = np.array(self.trust[id(block)], dtype=np.float32)
        self.trusts.setdefault(id(block), []).append(trusted)
        places = tuple(map(self.groupings.place, block.block.columns, block.block.groups))
        precision = float(self.noisy.rows / block.sigma) ** 2
        off = [block.block.off_products(size) for size in block.block.grid]
        if None in off:
            target = (block.values / self.noisy.rows).astype(np.float32)
            return Image(block=block.block, places=places, target=target, precision=precision, trust=trusted)
        order = np.argsort(block.block.grid, kind="stable")  # the widest last: the others are multiplied out
        shares = block.values.transpose(order) / self.noisy.rows
        return Set(
            places=tuple(places[i] for i in order),
            target=shares.reshape(-1, shares.shape[-1]).astype(np.float32),
            precision=precision,
            trust=trusted,
            off=tuple(off[i] or 0.0 for i in order),
        )


def trust(blocks: Sequence[NoisyBlock], columns: Sequence[OneWay], rows: float) -> list[float]:
    """S^`_TRUST` between `_LEAST_TRUST` and `_MOST_TRUST`, with S = χ² per number against independent columns.

    Where rows / noise of a count passes `_CERTAIN` hardly any dependence is doubtful, and trust fades to 1 for all.
    S is taken `CHANCE` of its standard deviations lower: of many small blocks some are far from independence by chance.
    """
    products = [_product(block, columns) for block in blocks]
    pairs = zip(blocks, products, strict=True)
    squares = [float(np.sum((one.values - one.block.numbers_in(rows * product)) ** 2)) for one, product in pairs]
    sigmas, numbers = [block.sigma for block in blocks], [block.block.numbers for block in blocks]
    return [_trust(*one, rows) for one in zip(squares, sigmas, numbers, strict=True)]


def _product(block: NoisyBlock, columns: Sequence[OneWay]) -> Floats:
    """The shares of a block's cells if its columns were independent."""
    groups = zip(block.block.columns, block.block.groups, strict=True)
    sums = [np.bincount(group, columns[column].distribution).astype(np.float64) for column, group in groups]
    product: Floats = functools.reduce(np.multiply.outer, sums)
    return product


def _trust(squares: float, sigma: float, numbers: int, rows: float) -> float:
    """By how far a block's numbers, with noise of σ, are off those of independent columns: a sum of squares."""
    squared = squares / (numbers * sigma**2)
    sure = max(0.0, squared - CHANCE * math.sqrt(2.0 / numbers))
    power = _TRUST * min(1.0, _CERTAIN * sigma / rows) ** 2
    return float(np.clip(sure**power, _LEAST_TRUST, _MOST_TRUST))


def _hub(blocks: Sequence[NoisyBlock], cells: Sequence[Integers]) -> int | None:
    """The last column of most sets of three, where it splits so many of them that matrices pay."""
    last = [block.block.columns[-1] for block in blocks if len(block.block.columns) == 3]
    if not last:
        return None
    hub = max(set(last), key=lambda column: (last.count(column), -column))
    return hub if last.count(hub) > len(cells) and int(cells[hub].max()) < MOST_CLASSES else None


def _groupings(blocks: Sequence[NoisyBlock], told: Sequence[Told], column: int, size: int) -> list[Integers]:
    """A column's distinct groupings in these blocks, a cell for each atom; one cell where it is in none: (size,) each.

    Their common refinement are the column's cells.
    """
    groups = [
        block.block.groups[block.block.columns.index(column)] for block in blocks if column in block.block.columns
    ]
    groups += [one.cells for one in told if one.column == column]
    return list({group.tobytes(): group for group in groups}.values()) or [np.zeros(size, dtype=np.int64)]


def _runs(places: Sequence[slice]) -> tuple[slice, ...]:
    """The stretches that places cover, in order: those next to each other are one."""
    runs: list[slice] = []
    for place in sorted({(own.start, own.stop) for own in places}):
        if runs and runs[-1].stop == place[0]:
            runs[-1] = slice(runs[-1].start, place[1])
        else:
            runs.append(slice(*place))
    return tuple(runs)


def _among(runs: Sequence[slice], place: slice) -> slice:
    """Where a place is among the cells of some stretches alone; nowhere if it is in none of them."""
    before = 0
    for run in runs:
        if run.start <= place.start < run.stop:
            return slice(before + place.start - run.start, before + place.stop - run.start)
        before += run.stop - run.start
    return slice(0, 0)


def _places(widths: Sequence[int]) -> tuple[slice, ...]:
    ends = np.cumsum(widths)
    return tuple(slice(int(end) - width, int(end)) for width, end in zip(widths, ends, strict=True))
