"""Rows of several tables from a mixture over paths: parents first, then their records, each parent's own.

A mixture of products says how a parent and one of its records go together: the record's component is drawn by what the
parent is. What it can't say is how two records of one parent go together; of that, noisy counts of siblings were
measured. A joint law of two siblings' components follows them (`sibling_law`), records are drawn by it, and whole
records then change parents where that brings counts nearer to it: so siblings may attract and repel. All is public.
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, block_slices
from kernelease.fit.mixtures.draw import member_rows
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.mixtures.one_way import CHANCE
from kernelease.measured.blocks import NoisyBlock
from kernelease.relational.schema import Place

MOST_TYPES = 300  # limit: of components that siblings tell apart: pairs of types are held in memory
ROUNDS = 5  # convention: of grouping components into types
STEPS = 300  # limit: of fitting the law of siblings
_MARGINS = 10  # convention: times that a table is scaled to its margins
_LONGER, _SHORTEST = 1.3, 1e-3  # convention: of a step, after one that has helped; and where none helps any more
SWEEPS = 12  # limit: over all records that may change parents
PARENTS = 2_000  # limit: at a time: their posterior over all components is held in memory
_PARTS, _FEWEST = 256, 16  # convention: as where values swap rows: of all records, swaps judged together; at least
_TAKEN = 0.3  # convention: as where values swap rows: of the swaps judged together, those that may be made
_RUN = 64  # convention: neighbouring draws whose random numbers are spread evenly
LEAST = 1e-12  # limit: of a probability: none is 0


# --------------------
# The components of records: by their parents, and by a sibling.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Types:
    """Components in groups that are alike in the columns of one table."""

    group: Integers  # (M,)
    columns: tuple[Floats, ...]  # of each column of the table, (types, atoms)

    @classmethod
    def of(cls, mixture: Mixture, place: Place, generator: np.random.Generator) -> "Types":
        """At most `MOST_TYPES`, by the distance of the components' distributions (Hellinger's)."""
        weights, count = mixture.weights, min(MOST_TYPES, len(mixture.weights))
        roots = np.concatenate([np.sqrt(mixture.columns[column]) for column in place.columns], axis=1)
        centres = roots[generator.choice(len(weights), count, replace=False, p=weights)]
        for _ in range(ROUNDS):
            group = np.argmax(roots @ centres.T - 0.5 * (centres**2).sum(axis=1), axis=1)
            held = np.bincount(group, weights, minlength=count)
            sums = np.zeros_like(centres)
            np.add.at(sums, group, roots * weights[:, None])
            centres = np.where(held[:, None] > 0.0, sums / np.maximum(held, LEAST)[:, None], centres)
        used, group = np.unique(group, return_inverse=True)
        held = np.bincount(group, weights, minlength=len(used))
        columns = []
        for column in place.columns:
            own = np.zeros((len(used), mixture.columns[column].shape[1]))
            np.add.at(own, group, mixture.columns[column] * weights[:, None])
            columns.append(own / np.maximum(held, LEAST)[:, None])
        return cls(group=group.astype(np.int64), columns=tuple(columns))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.columns[0])


def posterior(mixture: Mixture, columns: Sequence[int], codes: Integers) -> Floats:
    """The chance of each component, given the atoms of some columns: (columns, n) → (n, M)."""
    logs = np.tile(np.log(np.maximum(mixture.weights, LEAST)), (codes.shape[1], 1))
    for column, own in zip(columns, codes, strict=True):
        logs += np.log(np.maximum(mixture.columns[column], LEAST)).T[own]
    logs -= logs.max(axis=1, keepdims=True)
    chances: Floats = np.exp(logs)
    chances /= chances.sum(axis=1, keepdims=True)
    return chances


def drawn_components(
    mixture: Mixture,
    place: Place,
    above: Integers,
    number: Integers,
    law: "SiblingLaw | None",
    generator: np.random.Generator,
) -> Integers:
    """A component for each record, the parents' in turn: (Σ number,).

    The first of a parent is drawn by what the parent is, the others by that and by the first.
    """
    begin = np.cumsum(number) - number
    found = np.zeros(int(number.sum()), dtype=np.int64)
    order = np.flatnonzero(number > 0)
    for part in block_slices(len(order), PARENTS):
        parents = order[part]
        chances = posterior(mixture, place.before, above[:, parents])
        first = pick(chances, spread_marks(len(parents), generator))
        found[begin[parents]] = first
        for rank in range(1, int(number[parents].max(initial=0))):
            some = np.flatnonzero(number[parents] > rank)
            own = chances[some]
            if law is not None:
                own = own * law.tilt[law.types.group[first[some]]][:, law.types.group]
            found[begin[parents[some]] + rank] = pick(own, spread_marks(len(some), generator))
    return found


def spread_marks(count: int, generator: np.random.Generator) -> Floats:
    """Random numbers in [0, 1), spread evenly among neighbours."""
    runs = -(-count // _RUN)
    strata = np.argsort(generator.random((runs, _RUN)), axis=1)
    marks: Floats = ((strata + generator.random((runs, _RUN))) / _RUN).ravel()[:count]
    return marks


def pick(chances: Floats, marks: Floats) -> Integers:
    """The component at which cumulative chances pass each mark: (n, M), (n,) → (n,)."""
    below = np.cumsum(chances, axis=1)
    passed = (below < (marks * below[:, -1])[:, None]).sum(axis=1)
    picked: Integers = np.minimum(passed, chances.shape[1] - 1)
    return picked


# --------------------
# The law of two siblings.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingLaw:
    """The joint law of the types of two records of one parent; `tilt` is by how much it exceeds independence."""

    types: Types
    joint: Floats  # (types, types), symmetric: parents with two records or more, as a share of all persons
    tilt: Floats  # (types, types)
    chi_squared: float  # per number, at the end

    def table(self, one: int, other: int) -> Floats:
        """The joint law of two columns of two siblings, by their places in the table: (atoms, atoms)."""
        table: Floats = self.types.columns[one].T @ self.joint @ self.types.columns[other]
        return table


def sibling_law(
    types: Types, prior: Floats, blocks: Sequence[NoisyBlock], place: Place, after: int, rows: float
) -> SiblingLaw:
    """The law nearest to `prior`, (types, types), that holds the blocks as well as their noise lets one say.

    It keeps the law of single records: its row sums are those of the prior. Steps go down χ² from the prior, as those
    of iterative scaling do, and end where χ² per number is 1 (the discrepancy principle). `after` is the first column
    of siblings.
    """
    joint, alone = prior, prior.sum(axis=1)
    independent = np.outer(alone, alone) / max(float(alone.sum()), LEAST)
    if not blocks or not alone.sum() > 0.0:
        return SiblingLaw(types=types, joint=joint, tilt=np.ones_like(joint), chi_squared=0.0)
    seen = _Seen.of(blocks, types, place, after, rows)
    rate, chi_squared = 1.0, seen.misfit(joint)
    for _ in range(STEPS):
        if chi_squared <= seen.numbers or rate < _SHORTEST:
            break
        tried = _balanced(joint * np.exp(-rate * seen.step(joint)), alone)
        now = seen.misfit(tried)
        if now < chi_squared:
            joint, chi_squared, rate = tried, now, _LONGER * rate
        else:
            rate /= 2.0
    return SiblingLaw(
        types=types,
        joint=joint,
        tilt=joint / np.maximum(np.maximum(prior, independent * 1e-3), LEAST),
        chi_squared=chi_squared / seen.numbers,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """All blocks of siblings together: cells of all columns are numbered together, and tables are symmetric."""

    cells: Floats  # (types, C)
    values: Floats  # (C, C), as shares of all persons
    precision: Floats  # (C, C): 0 where nothing was measured
    numbers: int

    @classmethod
    def of(cls, blocks: Sequence[NoisyBlock], types: Types, place: Place, after: int, rows: float) -> "_Seen":
        groups: dict[int, Integers] = {}
        for block in blocks:
            (first, second), (one, other) = block.block.columns, block.block.groups
            groups[place.columns.index(first)] = one
            groups[second - after] = other[:-1]  # those without a sibling have the last cell alone
        wanted = sorted(groups)
        ends = np.cumsum([int(groups[place_of].max()) + 1 for place_of in wanted])
        parts = {c: slice(end - int(groups[c].max()) - 1, end) for c, end in zip(wanted, ends, strict=True)}
        values, precision = np.zeros((ends[-1], ends[-1])), np.zeros((ends[-1], ends[-1]))
        numbers = 0
        for block in blocks:
            row = parts[place.columns.index(block.block.columns[0])]
            column = parts[block.block.columns[1] - after]
            table, weight = block.values[:, :-1] / rows, (rows / block.sigma) ** 2 / 2.0  # each number is there twice
            numbers += table.size
            if row == column:  # a symmetric table, of which both halves were measured: half the noise off its diagonal
                table, weight = (table + table.T) / 2.0, 2.0 * weight
                numbers -= table.size - len(table) * (len(table) + 1) // 2
            for here, there, own in ((row, column, table), (column, row, table.T)):
                values[here, there], precision[here, there] = own, weight
        cells = np.concatenate([_grouped(types.columns[own_place], groups[own_place]) for own_place in wanted], axis=1)
        return cls(
            cells=cells,
            values=values,
            precision=precision,
            numbers=numbers,
        )

    def misfit(self, joint: Floats) -> float:
        """χ²."""
        return float((self.precision * (self.cells.T @ joint @ self.cells - self.values) ** 2).sum())

    def step(self, joint: Floats) -> Floats:
        """How far the logarithm of each pair of types is off, by all cells that it is in: (types, types)."""
        now = self.cells.T @ joint @ self.cells
        floor = 1.0 / np.sqrt(np.maximum(self.precision, LEAST))
        off = np.where(self.precision > 0.0, (now - self.values) / (now + floor), 0.0)
        columns = max(1.0, float(self.cells.sum(axis=1).max()))
        step: Floats = self.cells @ off @ self.cells.T / columns
        return step


def expected_siblings(
    law: SiblingLaw, mixture: Mixture, place: Place, blocks: Sequence[NoisyBlock], after: int, rows: float
) -> Floats:
    """What two siblings' cells should hold, as shares of all persons: (C, C), in the mixture's cells.

    Types are alike in columns that go with others. A column that goes with none but that of a sibling (a role, of
    which there is one of each) is the same in all of them: so what the law misses of a block is made up for by as much
    of the measured rest as is not noise, 1 − 1/χ² of it (James & Stein, 1961).
    """
    cells = [mixture.cells[column] for column in place.columns]
    ends = np.cumsum([int(own.max()) + 1 for own in cells])
    parts = [slice(end - int(own.max()) - 1, end) for own, end in zip(cells, ends, strict=True)]
    own = np.concatenate([_grouped(c, g) for c, g in zip(law.types.columns, cells, strict=True)], axis=1)
    expected: Floats = own.T @ law.joint @ own
    for block in blocks:
        one, other = place.columns.index(block.block.columns[0]), block.block.columns[1] - after
        table = _with_rest(law.table(one, other), block, rows, alike=one == other)
        grouped = (
            np.eye(int(cells[one].max()) + 1)[cells[one]].T @ table @ np.eye(int(cells[other].max()) + 1)[cells[other]]
        )
        if one == other:
            grouped = (grouped + grouped.T) / 2.0
        expected[parts[one], parts[other]], expected[parts[other], parts[one]] = grouped, grouped.T
    return expected


def _with_rest(table: Floats, block: NoisyBlock, rows: float, *, alike: bool) -> Floats:
    """A table of atoms, moved toward what was measured of its cells by the part of the rest that is no noise.

    Of two records' columns that are `alike` the table is symmetric: Σ rest² of it has one σ² for each cell on or above
    the diagonal, since means of two cells have half of it and stand there twice.
    """
    first, second = block.block.groups[0], block.block.groups[1][:-1]
    now = np.eye(int(first.max()) + 1)[first].T @ table @ np.eye(int(second.max()) + 1)[second]
    rest = block.values[:, :-1] / rows - now
    if alike:  # both halves of a symmetric table were measured
        rest = (rest + rest.T) / 2.0
    numbers = rest.size if not alike else len(rest) * (len(rest) + 1) // 2
    chi_squared = float((rest**2).sum()) / numbers * (rows / block.sigma) ** 2
    part = max(0.0, 1.0 - (1.0 + CHANCE * math.sqrt(2.0 / numbers)) / max(chi_squared, LEAST))
    wanted = np.maximum(now + part * rest, 0.0)
    for _ in range(_MARGINS):  # what single records hold is known better
        wanted *= (now.sum(axis=1) / np.maximum(wanted.sum(axis=1), LEAST))[:, None]
        wanted *= now.sum(axis=0) / np.maximum(wanted.sum(axis=0), LEAST)
    moved: Floats = table * (wanted / np.maximum(now, LEAST))[first][:, second]
    return moved


def _grouped(columns: Floats, groups: Integers) -> Floats:
    grouped: Floats = columns @ np.eye(int(groups.max()) + 1)[groups]
    return grouped


def _balanced(joint: Floats, alone: Floats, rounds: int = 20) -> Floats:
    """A symmetric table scaled to these row sums (Sinkhorn, 1964; symmetric as Knight, 2008)."""
    scale = np.ones(len(alone))
    for _ in range(rounds):
        held = scale * (joint @ scale)
        scale = scale * np.sqrt(alone / np.maximum(held, LEAST * alone.sum()))
    balanced: Floats = joint * np.outer(scale, scale)
    return balanced


def sibling_prior(mixture: Mixture, types: Types, place: Place, above: Integers, number: Integers) -> Floats:
    """The law of two siblings that have nothing in common but their parent: (types, types)."""
    prior = np.zeros((types.count, types.count))
    several = np.flatnonzero(number > 1)
    spread = np.zeros((len(mixture.weights), types.count))
    spread[np.arange(len(types.group)), types.group] = 1.0
    for part in block_slices(len(several), PARENTS):
        own = posterior(mixture, place.before, above[:, several[part]]) @ spread
        prior += own.T @ own
    return prior / max(1, len(number))


# --------------------
# Records that change parents.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What counts of persons should be: of a parent's and a record's cells, (P, C), and of two siblings', (C, C).

    Cells of all columns of records are numbered together, and so are those of parents.
    """

    parents: Floats
    siblings: Floats | None  # None: nothing is known of them


@final
class Moving:
    """Records at places of parents, which swap them. What single records hold, and how many a parent has, stays.

    `records` (n, columns) are the cells of each record, `above` (parents, columns) those of parents; both in the
    numbering of `expected`. A record weighs one over the number of its parent's.
    """

    __slots__ = (
        *("_above", "_after", "_before", "_kin", "_kin_weight", "_number", "_owner", "_parents", "_parents_weight"),
        *("_records", "_weight", "order"),
    )

    def __init__(self, records: Integers, above: Integers, number: Integers, expected: Expected) -> None:
        self._records, self._above, self._number = records, above, number
        self._owner = np.repeat(np.arange(len(number)), number)
        self._weight = 1.0 / number[self._owner]
        self.order = np.arange(len(self._owner))  # the record at each place
        self._parents_weight = 1.0 / np.maximum(expected.parents, 1.0)
        known = expected.siblings if expected.siblings is not None else np.zeros((expected.parents.shape[1],) * 2)
        self._kin_weight = 1.0 / np.maximum(known, 1.0) if expected.siblings is not None else np.zeros_like(known)
        self._parents, self._kin = -expected.parents, -known  # by how much counts exceed what is expected
        self._after = self._before = self.order
        self._add(self._parents, above[self._owner], records, self._weight)

    def sweep(self, expected: Expected, generator: np.random.Generator) -> int:
        """Judge every record beside another one once; how many swaps were made."""
        self._meet(generator)
        if expected.siblings is not None:
            self._kin = -expected.siblings
            several = np.flatnonzero(self._after != np.arange(len(self.order)))
            own, others = self._at(several), self._at(self._after[several])
            for one, other in ((own, others), (others, own)):
                self._add(self._kin, one, other, self._weight[several] / 2.0)
        pairs = self._partners(generator)
        batch = max(_FEWEST, len(self.order) // _PARTS)
        return sum(self._judge(*pairs[start : start + batch].T) for start in range(0, len(pairs), batch))

    def _at(self, places: Integers) -> Integers:
        return self._records[self.order[places]]

    @staticmethod
    def _add(table: Floats, rows: Integers, columns: Integers, weight: Floats) -> None:
        for row in rows.T:
            for column in columns.T:
                table += np.bincount(row * table.shape[1] + column, weight, table.size).reshape(table.shape)

    def _meet(self, generator: np.random.Generator) -> None:
        """For each place, another place of the same parent: the next in a random circle, and the one before."""
        begin = np.cumsum(self._number) - self._number
        shuffled = np.lexsort((generator.random(len(self._owner)), self._owner))
        last = np.arange(len(self._owner)) + 1 == (begin + self._number)[self._owner]
        following = np.where(last, begin[self._owner], np.arange(len(self._owner)) + 1)
        after, before = np.empty_like(self.order), np.empty_like(self.order)
        after[shuffled] = shuffled[following]
        before[after] = np.arange(len(after))
        self._after, self._before = after, before

    def _partners(self, generator: np.random.Generator) -> Integers:
        """Disjoint pairs of places of two parents that have equally many records: (pairs, 2)."""
        number = self._number[self._owner]
        ranked = np.lexsort((generator.random(len(number)), number))
        second = ranked[1::2]
        first = ranked[::2][: len(second)]
        alike = (number[first] == number[second]) & (self._owner[first] != self._owner[second])
        return generator.permutation(np.stack([first[alike], second[alike]], axis=1), axis=0)

    def _judge(self, here: Integers, there: Integers) -> int:
        """Make the swaps that lower Σ weight · excess², at most a part of them; how many."""
        own, others = self._at(here), self._at(there)
        near, far = self._pull(here), self._pull(there)
        gain = _sums(near, others) - _sums(near, own) + _sums(far, own) - _sums(far, others)
        squares = self._weight[here] * (self._square(here) + self._square(there))
        chosen = np.flatnonzero(gain + squares < 0.0)
        chosen = chosen[np.argsort(gain[chosen])[: max(1, int(_TAKEN * len(here)))]]
        here, there = here[chosen], there[chosen]
        self._move(here, there, -1.0)
        self.order[here], self.order[there] = self.order[there], self.order[here].copy()
        self._move(here, there, 1.0)
        return len(chosen)

    def _pull(self, places: Integers) -> Floats:
        """By how much each cell of a record would raise the misfit at some places: (places, C)."""
        pull: Floats = (self._parents * self._parents_weight)[self._above[self._owner[places]]].sum(axis=1)
        kin = self._kin * self._kin_weight
        for other in (self._after[places], self._before[places]):
            found = kin[self._at(other)].sum(axis=1)
            pull += np.where((other != places)[:, None], found, 0.0)
        return pull

    def _square(self, places: Integers) -> Floats:
        """What a count that moves by itself adds: about the weights of the cells where a record is."""
        square: Floats = _sums(self._parents_weight[self._above[self._owner[places]]].sum(axis=1), self._at(places))
        return square

    def _move(self, here: Integers, there: Integers, sign: float) -> None:
        """Take the records at some places out of the counts, or put them in."""
        for places in (here, there):
            own, weight = self._at(places), sign * self._weight[places]
            np.add.at(
                self._parents, (self._above[self._owner[places]][:, :, None], own[:, None, :]), weight[:, None, None]
            )
            for other in (self._after[places], self._before[places]):
                some = other != places
                mine, kin, half = own[some], self._at(other[some]), 0.5 * weight[some][:, None, None]
                np.add.at(self._kin, (mine[:, :, None], kin[:, None, :]), half)
                np.add.at(self._kin, (kin[:, :, None], mine[:, None, :]), half)


def _sums(table: Floats, cells: Integers) -> Floats:
    sums: Floats = np.take_along_axis(table, cells, axis=1).sum(axis=1)
    return sums


# --------------------
# All of one table.


def drawn_records(
    mixture: Mixture,
    place: Place,
    above: Integers,
    number: Integers,
    siblings: Sequence[NoisyBlock],
    *,
    after: int,
    rows: float,
    never: Sequence[int | None],
    generator: np.random.Generator,
) -> Integers:
    """Atoms of a table's columns for all records, the parents' in turn: (columns, Σ number).

    `above` are the atoms of the columns before it, (columns, parents), `number` how many records each parent has;
    `after` is where the columns of siblings begin, and `never` the atom of each column that no record has.
    """
    mixture = without(mixture, place, never)
    law = None
    if siblings:
        types = Types.of(mixture, place, generator)
        prior = sibling_prior(mixture, types, place, above, number)
        law = sibling_law(types, prior, siblings, place, after, rows)
    components = drawn_components(mixture, place, above, number, law, generator)
    records = _atoms(mixture, place, components, np.repeat(number, number), generator)
    wanted = None if law is None else expected_siblings(law, mixture, place, siblings, after, rows)
    return _placed(records, mixture, place, above, number, wanted, generator)


def without(mixture: Mixture, place: Place, never: Sequence[int | None]) -> Mixture:
    """The mixture of records that are there: none has the atom that stands for no record."""
    columns = list(mixture.columns)
    for column, atom in zip(place.columns, never, strict=True):
        if atom is not None:
            own = columns[column].copy()
            own[:, atom] = LEAST
            columns[column] = own / own.sum(axis=1, keepdims=True)
    return dataclasses.replace(mixture, columns=tuple(columns))


def _atoms(
    mixture: Mixture, place: Place, components: Integers, among: Integers, generator: np.random.Generator
) -> Integers:
    """Atoms of records of these components, in numbers as these say, apart for records of parents with as many."""
    records = np.empty((len(place.columns), len(components)), dtype=np.int64)
    for part in _strata(among):
        own = components[part]
        order = np.argsort(own, kind="stable")
        members = np.bincount(own, minlength=len(mixture.weights))
        drawn = member_rows([mixture.columns[column] for column in place.columns], members, generator)
        records[:, part[order]] = drawn
    return records


def _strata(among: Integers, least: float = 0.02) -> list[NDArray[np.intp]]:
    """Records of parents with equally, or nearly equally, many: each a part of all that is not small."""
    strata: list[NDArray[np.intp]] = []
    held: list[NDArray[np.intp]] = []
    for number in np.unique(among):
        held.append(np.flatnonzero(among == number))
        if sum(map(len, held)) >= least * len(among):
            strata.append(np.concatenate(held))
            held = []
    return strata + ([np.concatenate(held)] if held else [])


def _placed(
    records: Integers,
    mixture: Mixture,
    place: Place,
    above: Integers,
    number: Integers,
    siblings: Floats | None,
    generator: np.random.Generator,
) -> Integers:
    """The same records, some of them with other parents; `siblings` are shares of all persons, (C, C)."""
    if not number.any():
        return records
    persons = np.count_nonzero(number)
    q, p = (
        np.concatenate([mixture.grouped(c, mixture.cells[c]) for c in columns], axis=1)
        for columns in (place.columns, place.before)
    )
    weights = mixture.weights * _having_records(mixture, place, number)
    parents = persons * (p * (weights / weights.sum())[:, None]).T @ q
    expected = Expected(parents=parents, siblings=None if siblings is None else len(number) * siblings)
    moving = Moving(_cells(mixture, place.columns, records), _cells(mixture, place.before, above), number, expected)
    for _ in range(SWEEPS):
        if moving.sweep(expected, generator) == 0:
            break
    return records[:, moving.order]


def _having_records(mixture: Mixture, place: Place, number: Integers) -> Floats:
    """The chance that a parent of each component has records: (M,)."""
    if place.number is None or number.all():
        return np.ones(len(mixture.weights))
    return np.maximum(1.0 - mixture.columns[place.number][:, 0], LEAST)


def _cells(mixture: Mixture, columns: Sequence[int], atoms: Integers) -> Integers:
    """The cells of atoms, those of all columns numbered together: (columns, n) → (n, columns)."""
    widths = [int(mixture.cells[column].max()) + 1 for column in columns]
    starts = np.cumsum([0, *widths[:-1]])
    return np.stack([s + mixture.cells[c][a] for s, c, a in zip(starts, columns, atoms, strict=True)], axis=1)
