"""Rows from a mixture with little sampling error: rounded, not random, numbers of rows, then swaps."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import xlogy

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.beyond import in_detail, move_values
from kernelease.fit.mixtures.maps import information, separate
from kernelease.fit.mixtures.misfit import Single
from kernelease.measured.blocks import refines

if TYPE_CHECKING:
    from kernelease.fit.mixtures.mixture import Mixture

# --------------------
# Swaps of values between rows, wherever they bring counts nearer to what a mixture expects.
#
# Independent draws of n rows are off by √n in every count. Swaps leave single columns as they are, and mend the rest.
# A mixture says more of its rows than was measured: which values of many columns go together in each component. Rows
# that may swap with any other row forget that, and keep what the mixture was fitted to: pairs, and the larger sets
# that were measured.
#
# Groups of columns that nearly tell each other are as many values of one thing. A mixture needs a component for each of
# them; of two groups that have little to do with each other one for each pair, which is more than it has. So
# its rows are clumps: pairs are met, and of three columns of two groups few combinations occur. Such groups are swapped
# as wholes, by chance and not only where it helps, with the likelihood that counts of so many rows have at
# random (Metropolis et al. 1953): pairs stay within chance, and clumps dissolve. Sweeps that only help mend the rest.


Group: TypeAlias = tuple[int, ...]  # columns whose values are swapped together
# convention: of what a column could tell another at most, the part from which on both are one group: the larger
TIED = 0.5

WORK = 900_000_000  # limit: counts looked up, in all: about six seconds
MOST_SWEEPS = 4  # limit: of time: over all columns. Half or twice as many change no table's error by more than chance
MOST_CELLS = 128  # limit: of a column: finer detail is left as it was drawn
ALL_CELLS = 3000  # limit: of all columns together: their pairs are held in memory
MOST_PLACES = 50_000_000  # limit: rows times sets of three or four: where each row is in each of them is held in memory
# convention: swaps that are judged together: so many, or this part of all rows; and of those, how many may be made.
# Half or twice as many change no table's error by more than chance (docs/research.md: Tables: constants that matter)
_FEWEST, _PARTS, _TAKEN = 16, 256, 0.3
_TOGETHER = 131_072  # limit: places of swaps that are looked up at once: few enough to stay in the processor's cache
_NEARLY = 0.999  # limit: of half a row that is owed to a value: then it is given
_LEAST = 1e-6  # limit: of the chance that two values of a column differ: none is 0


def affordable_sweeps(count: int, columns: int, groups: Sequence[Group] = ()) -> int:
    """How often all columns of so many rows are swapped, or groups of them: less often in a larger table."""
    pairs = sum(len(group) * (columns - len(group)) for group in groups) if groups else columns * (columns - 1)
    return min(MOST_SWEEPS, WORK // max(1, 2 * count * pairs))


def swap_rows(
    rows: Integers, components: Integers, mixture: "Mixture", generator: np.random.Generator, *, sweeps: int
) -> Integers:
    """The same rows, (columns, n), after sweeps of swaps: with any other row, or within components (n,).

    Two rows of one component may swap without leaving the model, as columns are independent within it. Rows of two
    components may where all that was measured is watched: in cells as fine as the mixture's, with all larger sets.
    """
    columns, count = rows.shape
    if sweeps == 0 or columns < 2:
        return rows
    told_apart = mixture.cells or tuple(np.arange(p.shape[1]) for p in mixture.columns)
    cells = _cells_to_watch(mixture, told_apart, count)
    anywhere = all(map(refines, cells, told_apart)) and len(mixture.sets) * count <= MOST_PLACES
    result, among = rows.copy(), np.zeros_like(components) if anywhere else components
    pairs = _Pairs.of(rows, mixture, cells, anywhere=anywhere)
    tables: list[_Pairs | _Sets] = [pairs]
    if anywhere and mixture.sets:
        tables.append(_Sets.of(rows, mixture))
    tied = pairs.tied_groups() if anywhere else []
    single = [(column,) for column in range(columns)]
    if tied:
        for _ in range(max(sweeps, affordable_sweeps(count, columns, tied))):
            _sweep_all(result, tied, among, tables, generator, warm=True)
        others = [own for own in single if not any(own[0] in group for group in tied)]
        _sweep_all(result, [*tied, *others], among, tables, generator)
    for _ in range(1 if tied else sweeps):
        _sweep_all(result, single, among, tables, generator)
    return result


def _sweep_all(
    rows: Integers,
    groups: Sequence[Group],
    among: Integers,
    tables: "list[_Pairs | _Sets]",
    generator: np.random.Generator,
    *,
    warm: bool = False,
) -> None:
    """One sweep over groups of columns, in random order, in place."""
    for place in generator.permutation(len(groups)):
        group = groups[place]
        partners = _Partners.of(rows[list(group)], among, generator)
        _sweep(rows, group, partners, tables, generator if warm else None)


def _sweep(
    rows: Integers,
    group: Group,
    partners: "_Partners",
    tables: "list[_Pairs | _Sets]",
    generator: np.random.Generator | None,
) -> None:
    """Swap the values of a group of columns between partners, in place, wherever that helps.

    With a generator also where it harms, by chance: the less likely, the larger the harm.

    Of two columns that nearly determine each other most swaps break the same few pairs of cells, and few mend them:
    each swap is judged as if a part of those beside it had been made.
    """
    parts, before = [each.beside(group) for each in tables], rows[list(group)]
    excess, own = _Excess.join(parts), before.copy()
    ahead = np.float32(_TAKEN * partners.batch) * np.concatenate([each.drift(group) for each in tables])
    judge, starts = _Judge.of(excess, ahead), np.cumsum([0, *(part.excess.size for part in parts)])
    for first, second in partners.parts(max(1, sum(each.count(group) for each in tables))):
        changes = _Changes.of(tables, starts, group, (first, second), own)
        harm = np.zeros(len(first)) if generator is None else -2.0 * np.log1p(-generator.random(len(first)))
        keep = judge.swap(changes, partners.batch, harm.astype(np.float32))
        left, right = first[keep], second[keep]
        own[:, left], own[:, right] = own[:, right], own[:, left]
    rows[list(group)] = own
    for each, changed in zip(tables, np.split(excess.excess, starts[1:-1]), strict=True):
        each.put_back(group, changed, before, own)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Partners:
    """Disjoint pairs of rows, in random order, of which a `batch` is judged at a time."""

    first: Integers
    second: Integers
    batch: int

    @classmethod
    def of(cls, values: Integers, components: Integers, generator: np.random.Generator) -> "_Partners":
        """Pairs of rows of the same component whose values, (group, n), differ."""
        count, anywhere = values.shape[1], not components.any()
        order = generator.permutation(count) if anywhere else np.argsort(components + generator.random(count))
        offset = int(generator.integers(2))
        first, second = order[offset:-1:2], order[offset + 1 :: 2]
        differ = (values.take(first, axis=1) != values.take(second, axis=1)).any(axis=0)
        if not anywhere:
            differ &= components[first] == components[second]
        chosen = np.flatnonzero(differ) if anywhere else generator.permutation(np.flatnonzero(differ))
        return cls(first=first[chosen], second=second[chosen], batch=max(_FEWEST, count // _PARTS))

    def parts(self, tables: int) -> Iterator[tuple[Integers, Integers]]:
        """Several batches at once, each swap with a place in so many tables.

        Where it is in them does not depend on other swaps of its column.
        """
        size = self.batch * max(1, _TOGETHER // (self.batch * tables))
        for start in range(0, len(self.first), size):
            yield self.first[start : start + size], self.second[start : start + size]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """Which counts fall and rise, of either row, if each of some swaps is made: flat places, (2, tables, swaps)."""

    fall: Integers
    rise: Integers
    differ: Single  # (tables, swaps): 0 where rise and fall cancel, and nothing changes, else 1

    @classmethod
    def of(
        cls, tables: "list[_Pairs | _Sets]", starts: Integers, group: Group, rows: Sequence[Integers], own: Integers
    ) -> "_Changes":
        """Of pairs of rows, whose values of the group are in `own`, (group, n); each table begins at its start."""
        ends = np.cumsum([0, *(each.count(group) for each in tables)])
        fall, rise = (np.empty((2, int(ends[-1]), len(rows[0])), dtype=np.int64) for _ in range(2))
        for each, start, begin, end in zip(tables, starts, ends, ends[1:], strict=False):
            each.find(group, rows, own, start, fall[:, begin:end], rise[:, begin:end])
        differ = (fall[0] != rise[0]) & (rise[0] != fall[1])
        return cls(fall=fall, rise=rise, differ=differ.astype(np.float32))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Excess:
    """How many rows each cell of some tables has above what is expected, and what an excess weighs."""

    excess: Single
    weight: Single

    @classmethod
    def of(cls, counts: Single, expected: Single) -> "_Excess":
        weight = (1.0 / np.maximum(expected, 1.0)).astype(np.float32)
        return cls(excess=counts - expected, weight=weight)

    @classmethod
    def join(cls, parts: Sequence["_Excess"]) -> "_Excess":
        """A copy of all tables, flat, one after the other."""
        return cls(
            excess=np.concatenate([part.excess.ravel() for part in parts]),
            weight=np.concatenate([part.weight.ravel() for part in parts]),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """Which swaps lower Σ weight · excess². A count that moves by ±1 changes its square by 1 ± 2 · excess."""

    excess: Single  # flat, of all tables
    twice: Single  # its weight, twice
    falls: Single  # by how much a count that falls by one changes the sum
    rises: Single

    @classmethod
    def of(cls, excess: _Excess, ahead: Single) -> "_Judge":
        """`ahead` is by how much others that are judged together are likely to raise each count."""
        twice = 2 * excess.weight
        slope = twice * (excess.excess + ahead)
        return cls(excess=excess.excess, twice=twice, falls=excess.weight - slope, rises=excess.weight + slope)

    def swap(self, changes: _Changes, batch: int, harm: Single) -> NDArray[np.bool_]:
        """Which swaps lower the sum, or raise it by less than `harm`, batch after batch; counts move: (swaps,)."""
        keep = np.empty(len(harm), dtype=np.bool_)
        for start in range(0, len(keep), batch):
            now = slice(start, start + batch)
            fall, rise = changes.fall[..., now], changes.rise[..., now]
            moved = self.falls.take(fall)
            moved += self.rises.take(rise)
            keep[now] = np.einsum("itk,tk->k", moved, changes.differ[:, now]) < harm[now]
            for places, sign in ((fall[..., keep[now]].ravel(), 1), (rise[..., keep[now]].ravel(), -1)):
                shift = sign * self.twice.take(places)
                np.add.at(self.falls, places, shift)
                np.subtract.at(self.rises, places, shift)
                np.subtract.at(self.excess, places, np.float32(sign))
        return keep


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """All pairs of columns. Cells of all columns are numbered together: `excess` is symmetric, (C, C)."""

    cells: tuple[Integers, ...]  # of each column: the cell of each atom
    places: tuple[slice, ...]  # of each column: its cells among all
    table: Integers  # (n, columns): the cells of each row, in few bytes: rows are looked up in random order
    excess: _Excess
    expected: Single  # (C, C)
    drifts: Single  # (C, C): by how much a swap of a column's values, one of its cells each, is likely to raise counts

    @classmethod
    def of(cls, rows: Integers, mixture: "Mixture", cells: Sequence[Integers], *, anywhere: bool) -> "_Pairs":
        ends = np.cumsum([int(own.max()) + 1 for own in cells])
        starts = np.concatenate([[0], ends[:-1]])
        q = np.concatenate([mixture.group_shares(i, own) for i, own in enumerate(cells)], axis=1).astype(np.float32)
        weights = mixture.weights.astype(np.float32)
        expected = rows.shape[1] * ((q * weights[:, None]).T @ q)
        table = np.stack([starts[i] + cells[i][column] for i, column in enumerate(rows)], axis=1)
        places = tuple(slice(int(start), int(end)) for start, end in zip(starts, ends, strict=True))
        for pair in mixture.unheld_pairs:
            own = [cells[column] for column in pair.columns]
            if all(map(refines, own, pair.groups)):
                one, other = (places[column] for column in pair.columns)
                expected[one, other] = pair.toward(expected[one, other].astype(np.float64), own)
                expected[other, one] = expected[one, other].T
        for apart in mixture.apart:
            if apart.seen_in(cells):
                one, other = (places[column] for column in apart.columns)
                expected[one, other] = apart.expected_counts(expected[one, other].astype(np.float64), cells)
                expected[other, one] = expected[one, other].T
        excess = _Excess.of(_pair_counts(table, places), expected)
        table = table.astype(np.min_scalar_type(int(ends[-1])))
        drifts = _drifts(expected / rows.shape[1], weights @ q, places) if anywhere else np.zeros_like(expected)
        return cls(cells=tuple(cells), places=places, table=table, excess=excess, drifts=drifts, expected=expected)

    def tied_groups(self) -> list[Group]:
        """Groups of columns of which each tells another more than half of what it could: those of two or more."""
        alone = [self.expected[place].sum(axis=1) for place in self.places]
        entropies = np.array([information(own[:, None] * np.eye(len(own))) for own in alone])
        told = np.stack([_told_by(self.expected[place], self.places) for place in self.places])
        links = np.triu(told > TIED * np.minimum(entropies[:, None], entropies), 1)
        labels = connected_components(links, directed=False)[1]
        groups = [tuple(np.flatnonzero(labels == label).tolist()) for label in range(int(labels.max()) + 1)]
        return [group for group in groups if len(group) > 1]

    def beside(self, group: Group) -> _Excess:
        """The tables of all columns beside a group's, whose cells stand next to each other: (C, cells)."""
        own = self._own(group)
        return _Excess(excess=self.excess.excess[:, own], weight=self.excess.weight[:, own])

    def drift(self, group: Group) -> Single:
        """How much a swap is likely to raise each count: flat."""
        return self.drifts[:, self._own(group)].ravel()

    def count(self, group: Group) -> int:
        """How many tables there are of a column in a group and one outside of it."""
        return len(group) * (len(self.places) - len(group))

    def find(
        self, group: Group, rows: Sequence[Integers], own: Integers, start: int, fall: Integers, rise: Integers
    ) -> None:
        """Write where pairs of rows are in these tables, from `start` on, and would be: (2, tables, rows)."""
        starts, ends = ([getattr(self.places[column], end) for column in group] for end in ("start", "stop"))
        widths = np.subtract(ends, starts)
        begins = start + np.cumsum(widths) - widths - starts
        others, grid = np.delete(np.arange(len(self.places)), group), (len(group), -1, len(rows[0]))
        cells = [self.table.take(some, axis=0).T for some in rows]
        ours = [own.take(group, axis=0)[:, None] + begins[:, None, None] for own in cells]
        for row, other in ((0, 1), (1, 0)):
            beside = np.multiply(cells[row].take(others, axis=0), widths.sum(), dtype=np.int64)
            np.add(beside, ours[row], out=fall[row].reshape(grid))
            np.add(beside, ours[other], out=rise[row].reshape(grid))

    def put_back(self, group: Group, excess: Single, before: Integers, after: Integers) -> None:
        """What became of these tables, and of the columns' values."""
        own, beside = self._own(group), excess.reshape(len(self.expected), -1)
        outside = np.setdiff1d(np.arange(len(self.expected)), own)
        self.excess.excess[np.ix_(outside, own)] = beside[outside]
        self.excess.excess[np.ix_(own, outside)] = beside[outside].T
        for column, new in zip(group, after, strict=True):
            self.table[:, column] = self.cells[column][new] + self.places[column].start

    def _own(self, group: Group) -> Integers:
        """The cells of a group's columns among all."""
        return np.concatenate([np.r_[self.places[column]] for column in group])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A column's part in the sets of three or four that it is in."""

    sets: Integers  # (k,)
    cells: Integers  # (k, atoms): the cell of each atom, times the distance of cells in the flat table


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Sets:
    """The sets of three or four that were measured. Cells of all their tables are numbered together."""

    parts: tuple[_Part, ...]  # of each column
    at_all: Integers  # (n, sets): where each row is
    excess: _Excess
    known: dict[Group, tuple[Integers, list[Integers]]] = field(default_factory=dict)  # sets that groups are in

    @classmethod
    def of(cls, rows: Integers, mixture: "Mixture") -> "_Sets":
        parts: list[list[tuple[int, Integers]]] = [[] for _ in rows]
        at, expected, begin = [], [], 0
        for number, block in enumerate(mixture.sets):
            distances = [int(np.prod(block.grid[axis + 1 :])) for axis in range(len(block.grid))]
            cells = [distance * group for distance, group in zip(distances, block.groups, strict=True)]
            for column, own in zip(block.columns, cells, strict=True):
                parts[column].append((number, own))
            at.append(begin + sum(own[rows[column]] for column, own in zip(block.columns, cells, strict=True)))
            expected.append(rows.shape[1] * mixture.joint(block.columns, block.groups).ravel())
            begin += math.prod(block.grid)
        counts = np.bincount(np.concatenate(at), minlength=begin).astype(np.float32)
        return cls(
            parts=tuple(_part(own, mixture.columns[column].shape[1]) for column, own in enumerate(parts)),
            at_all=np.stack(at, axis=1).astype(np.min_scalar_type(begin)),
            excess=_Excess.of(counts, np.concatenate(expected).astype(np.float32)),
        )

    def beside(self, group: Group) -> _Excess:
        """All tables: those without the columns do not change."""
        return self.excess

    def drift(self, group: Group) -> Single:
        """No drift is known."""
        return np.zeros_like(self.excess.excess)

    def count(self, group: Group) -> int:
        """How many sets some column of the group is in."""
        return len(self._with(group)[0])

    def find(
        self, group: Group, rows: Sequence[Integers], own: Integers, start: int, fall: Integers, rise: Integers
    ) -> None:
        """Write where pairs of rows are in these sets' tables, from `start` on, and would be: (2, sets, rows)."""
        sets, apart = self._with(group)[0], self._apart(group, own.take(rows[0], axis=1), own.take(rows[1], axis=1))
        for row, sign in ((0, 1), (1, -1)):
            np.add(self.at_all.take(rows[row], axis=0).T.take(sets, axis=0), start, out=fall[row])
            np.add(fall[row], sign * apart, out=rise[row])

    def put_back(self, group: Group, excess: Single, before: Integers, after: Integers) -> None:
        """What became of these tables, and of the columns' values."""
        self.excess.excess[:] = excess
        (rows,) = np.nonzero((before != after).any(axis=0))
        self.at_all[np.ix_(rows, self._with(group)[0])] += self._apart(group, before[:, rows], after[:, rows]).T.astype(
            self.at_all.dtype
        )

    def _apart(self, group: Group, before: Integers, after: Integers) -> Integers:
        """How far rows go in the tables of a group's sets whose values, (group, rows), become others: (sets, rows)."""
        sets, places = self._with(group)
        apart = np.zeros((len(sets), before.shape[1]), dtype=np.int64)
        for column, at, old, new in zip(group, places, before, after, strict=True):
            if len(at):
                cells = self.parts[column].cells
                apart[at] += cells.take(new, axis=1) - cells.take(old, axis=1)
        return apart

    def _with(self, group: Group) -> tuple[Integers, list[Integers]]:
        """The sets that some column of the group is in, and where those of each column are among them."""
        if group not in self.known:
            each = [self.parts[column].sets for column in group]
            sets = np.unique(np.concatenate(each))
            self.known[group] = sets, [np.searchsorted(sets, own) for own in each]
        return self.known[group]


def _part(own: Sequence[tuple[int, Integers]], atoms: int) -> _Part:
    cells = np.array([cells for _, cells in own], dtype=np.int64).reshape(len(own), atoms)
    return _Part(sets=np.array([number for number, _ in own], dtype=np.int64), cells=cells)


def _pair_counts(table: Integers, places: tuple[slice, ...]) -> Single:
    """How many rows are in each pair of cells: (n, columns) → (C, C)."""
    counts = np.zeros((places[-1].stop,) * 2, dtype=np.float32)
    cells = [np.ascontiguousarray(own) - place.start for own, place in zip(table.T, places, strict=True)]
    for (i, one), (j, other) in itertools.combinations(enumerate(places), 2):
        shape = one.stop - one.start, other.stop - other.start
        joint = np.bincount(cells[i] * shape[1] + cells[j], minlength=shape[0] * shape[1]).reshape(shape)
        counts[one, other], counts[other, one] = joint, joint.T
    return counts


def _told_by(counts: Single, places: tuple[slice, ...]) -> Floats:
    """What one column tells of each, as `maps.information` has it: its cells beside those of all columns (cells, C)."""
    joint, starts = np.maximum(counts, 0.0).astype(np.float64), [place.start for place in places]
    margin = joint.sum(axis=0)
    total = np.maximum(np.add.reduceat(margin, starts), np.finfo(np.float64).tiny)
    inside = np.add.reduceat(xlogy(joint, joint).sum(axis=0) - xlogy(margin, margin), starts)
    beside = np.add.reduceat(joint, starts, axis=1)
    told: Floats = (inside - xlogy(beside, beside).sum(axis=0)) / total + np.log(total)
    return told


def _drifts(joint: Single, alone: Single, places: tuple[slice, ...]) -> Single:
    """How a swap of two random rows whose values differ changes counts, on average: (C, C), the swapped column last.

    Rows that have exchanged all their values at random are of independent columns. With P the shares of pairs of cells
    and p of single ones, each of the two moves a count by p pᵀ − P, over the chance that two values differ.
    """
    differ = np.concatenate([np.full(place.stop - place.start, 1.0 - alone[place] @ alone[place]) for place in places])
    change: Single = 2.0 * (np.outer(alone, alone) - joint) / np.maximum(differ, _LEAST).astype(np.float32)
    return change


def _cells_to_watch(mixture: "Mixture", told_apart: Sequence[Integers], count: int) -> list[Integers]:
    """Each column's atoms where they are few, else the cells that the mixture tells apart, else as many as can be.

    Few are as many as leave a row for each pair of two columns' atoms: where there are fewer rows, all that swaps could
    do for counts of less than one is to spread rows out, and what columns have to do with each other would go.
    """
    most = max(2, min(MOST_CELLS, ALL_CELLS // len(told_apart), math.isqrt(count)))
    few = sum(int(cells.max()) + 1 for cells in told_apart) <= ALL_CELLS
    return [
        np.arange(len(cells)) if len(cells) <= most else cells if few else _even(mixture.marginal(column), most)
        for column, cells in enumerate(told_apart)
    ]


def _even(distribution: Floats, count: int) -> Integers:
    """At most so many cells of about the same mass: (atoms,)."""
    below = np.cumsum(distribution) - distribution / 2
    return np.unique(np.floor(below / below[-1] * (count - 1)), return_inverse=True)[1].astype(np.int64)


# --------------------
# Drawing rows: each component gets a rounded, not a random, number of them.


def draw_rows(mixture: "Mixture", count: int, generator: np.random.Generator, *, whole: int | None = None) -> Integers:
    """`count` rows of atoms, (columns, count), for a table of `whole` rows, if they are a part of one.

    Components get numbers of rows in proportion to their weights, and each column's atoms in proportion to their
    probabilities, so that every single column is met to within a row or so. Swaps then bring pairs of columns near the
    mixture's own, as often as a table of that size affords, and pairs that the mixture can't hold are moved to what was
    measured of them. Details follow, and leaves, in each group on its own.
    """
    if count < 1:
        raise ParameterError(f"draw_rows: count must be at least 1, got {count!r}.")
    members = np.diff(_quantiles(mixture.weights, count, generator), prepend=0)
    components = np.repeat(np.arange(len(members)), members)
    rows = member_rows(mixture.columns, members, generator)
    sweeps = affordable_sweeps(max(count, whole or 0), len(rows))
    rows = swap_rows(rows, components, mixture, generator, sweeps=sweeps)
    rows = _with_unheld(rows, mixture, generator)
    if mixture.details:
        rows = in_detail(rows, mixture.details, mixture.cells, generator)
    for mover in mixture.movers:
        rows = mover.move(rows, generator)
    rows = separate(rows, mixture.apart, generator)
    for part in mixture.told:
        rows = part.apply(rows, generator)
    for column, leaves in enumerate(mixture.leaves):
        if leaves is not None:
            rows[column] = leaves.draw(rows[column], generator)
    return rows[:, generator.permutation(count)]


def _quantiles(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """How many of `count` equally spaced marks, with one random offset, lie below each cumulative weight."""
    marks = np.ceil(np.cumsum(weights / weights.sum()) * count - generator.random()).astype(np.int64)
    marks = np.clip(marks, 0, count)
    marks[-1] = count
    return marks


def member_rows(columns: Sequence[Floats], members: Integers, generator: np.random.Generator) -> Integers:
    """Atoms for the members of each component in turn, shuffled within it: (columns, n)."""
    widths = [p.shape[1] for p in columns]
    rows = np.empty((len(widths), int(members.sum())), dtype=np.int64)
    owners = np.repeat(np.arange(len(members)), members)
    # Columns of like width go together: a loop over components for each of them alone takes most of the time.
    for scale in sorted({width.bit_length() for width in widths}):
        alike = [column for column, width in enumerate(widths) if width.bit_length() == scale]
        numbers = _numbers([columns[column] for column in alike], members, generator)
        for column, number in zip(alike, numbers, strict=True):
            atoms = np.repeat(np.tile(np.arange(number.shape[1]), len(members)), number.ravel())
            rows[column] = atoms[np.argsort(owners + generator.random(len(atoms)))]
    return rows


def _numbers(columns: Sequence[Floats], members: Integers, generator: np.random.Generator) -> list[Integers]:
    """For each column, how many members of each component get each atom: (M, atoms).

    Every component gets what it expects of each atom, rounded up or down, and passes its rounding errors on to the next
    one, so that those of the whole column stay below a row or so. Components stand in the order of their mean atoms:
    the next one is much like the one before. What it rounds up is what it has a large part of, and what is owed: a
    value that it hardly has is left to others, however much of it is owed.
    """
    widest = max(p.shape[1] for p in columns)
    expected = np.stack([np.pad(p, ((0, 0), (0, widest - p.shape[1]))) for p in columns]) * members[:, None]
    numbers = np.floor(expected).astype(np.int64)
    orders, places = np.stack([_by_mean(p, generator) for p in columns], axis=1), np.arange(len(columns))
    parts = (expected - numbers)[places, orders]  # (M, columns, atoms): in the order of each column
    given = np.arange(widest) < (members - numbers.sum(axis=2))[places, orders][:, :, None]
    rows, carried = places[:, None], np.zeros((len(columns), widest))
    more = np.empty(parts.shape, dtype=np.bool_)
    for part, left, up in zip(parts, given, more, strict=True):  # one component of each column
        owed = np.minimum(np.maximum(2.0 * carried, -_NEARLY), _NEARLY)
        up[rows, np.argsort(-part * (1.0 + owed) / (1.0 - owed), axis=1, kind="stable")] = left
        carried += part - up
    numbers[places, orders] += more
    return [number[:, : p.shape[1]] for number, p in zip(numbers, columns, strict=True)]


def _by_mean(p: Floats, generator: np.random.Generator) -> Integers:
    """Components in the order of the mean number of their atoms, those alike in random order: (M, atoms) → (M,)."""
    means = np.round(p @ np.arange(p.shape[1]), 1)
    return np.lexsort((generator.random(len(p)), means))


def _with_unheld(rows: Integers, mixture: "Mixture", generator: np.random.Generator) -> Integers:
    """The same rows with pairs that the mixture can't hold moved to what was measured of them, the worst first.

    A column that is in one of these stays where it is, beside which the next ones are moved.
    """
    placed: set[int] = set()
    for pair in mixture.unheld_pairs:
        wanted = pair.toward(rows.shape[1] * mixture.joint(pair.columns, pair.groups), pair.groups)
        if pair.columns[0] not in placed:
            rows = move_values(rows, pair.columns, pair.groups, wanted, generator)
        elif pair.columns[1] not in placed:
            rows = move_values(rows, pair.columns[::-1], pair.groups[::-1], wanted.T, generator)
        placed.update(pair.columns)
    return rows


# --------------------
# Values that are never together: what components blur is taken out of them.


_LEAST_SHARE = 1e-12  # limit: of a component's shares: none is 0
_SHARPENING, _MARGIN_TURNS = 2, 30  # convention: after which a hundredth is left, and margins are as they were


def sharpen(mixture: "Mixture") -> "Mixture":
    """The mixture with next to no rows whose values are never together; single columns stay as they are.

    A component has some of every value. Each value becomes rarer by the part of the component's rows, in another
    column, that it never goes with: p(j) ∝ p(j) Π (1 − Σ_i q(i)), over the i that never go with j. What a value loses
    in one component it gains in others.
    """
    cells = mixture.cells or tuple(np.arange(p.shape[1]) for p in mixture.columns)
    apart = [pair for pair in mixture.apart if pair.seen_in(cells)]
    if not apart:
        return mixture
    never = [(pair.columns, pair.never_in(cells).astype(np.float64)) for pair in apart]
    start = [mixture.group_shares(column, own) for column, own in enumerate(cells)]
    q = list(start)
    for _ in range(_SHARPENING):
        left = [np.ones_like(own) for own in q]
        for (one, other), which in never:
            left[one] *= 1.0 - q[other] @ which.T
            left[other] *= 1.0 - q[one] @ which
        q = [
            own if (rest == 1.0).all() else _thin(own, rest, mixture.weights) for own, rest in zip(q, left, strict=True)
        ]
    changed = zip(mixture.columns, q, start, cells, strict=True)
    columns = [p * (now / np.maximum(before, _LEAST_SHARE))[:, own] for p, now, before, own in changed]
    return dataclasses.replace(mixture, columns=tuple(p / p.sum(axis=1, keepdims=True) for p in columns))


def _thin(q: Floats, left: Floats, weights: Floats) -> Floats:
    """Components' shares of a column's cells, (M, cells), times what is left of each, with the same sums over all."""
    margin, result = weights @ q, q * np.maximum(left, _LEAST_SHARE)
    for _ in range(_MARGIN_TURNS):
        result *= margin / np.maximum(weights @ result, _LEAST_SHARE)
        result /= np.maximum(result.sum(axis=1, keepdims=True), _LEAST_SHARE)
    return result
