"""Rows of several tables from a mixture over paths: parents first, then their records, each parent's own.

A mixture of products says how a parent and one of its records go together: the record's component is drawn by what the
parent is. What it can't say is how two records of one parent go together; of that, noisy counts of siblings were
measured. A joint law of two siblings' components follows them (`sibling_law`), records are drawn by it, and whole
records then change parents where that brings counts nearer to it: so siblings may attract and repel. All is public.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, block_slices
from kernelease.fit.mixtures.draw import member_rows
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.mixtures.one_way import CHANCE
from kernelease.measured.blocks import NoisyBlock, within
from kernelease.relational.schema_of_tables import Place

MOST_TYPES = 300  # limit: of components that siblings tell apart: pairs of types are held in memory
ROUNDS = 5  # convention: of grouping components into types
STEPS = 300  # limit: of fitting the law of siblings
_MARGINS = 10  # convention: times that a table is scaled to its margins
_LONGER, _SHORTEST = 1.3, 1e-3  # convention: of a step, after one that has helped; and where none helps any more
SWEEPS = 40  # limit: over all parents, which may swap records
WORK = 30_000_000_000  # limit: of sweeps, parents times pairs of cells: some ten seconds
PARENTS = 2_000  # limit: at a time: their posterior over all components is held in memory
_PARTS, _FEWEST = 256, 16  # convention: as where values swap rows: of all parents, those judged together; at least
_AGAIN = 3  # convention: further draws of components, each nearer to the numbers that they should have
_RUN = 64  # convention: neighbouring draws whose random numbers are spread evenly
_STEEPER, _MOST_POWER = 0.1, 3.0  # limit: of a table's power: a step, and the last
_SURE = 4.0  # convention: standard deviations from which on a table is beyond doubt too flat
# convention: of the largest singular value of noise, what a mixture follows. Half or twice as much is better than none,
# too (docs/research.md: Persons with records)
_FOLLOWED = 0.1
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

    The first of a parent is drawn by what the parent is, the others by that and by the first. Components then have more
    or less of all records than they should: chances are multiplied by as much, and the same draws made again.
    """
    if not number.any():
        return np.zeros(0, dtype=np.int64)
    marks = [spread_marks(int(np.count_nonzero(number > rank)), generator) for rank in range(int(number.max()))]
    wanted = mixture.weights * _having_records(mixture, place, number)
    wanted = np.count_nonzero(number) * wanted / wanted.sum()
    each, factor = np.repeat(1.0 / np.maximum(number, 1), number), np.ones(len(wanted))
    found = _components(mixture, place, above, number, law, factor, marks)
    for _ in range(_AGAIN):
        held = np.bincount(found, each, minlength=len(wanted))
        factor *= (wanted + 1.0) / (held + 1.0)  # a person more in each: few say little
        found = _components(mixture, place, above, number, law, factor, marks)
    return found


def _components(
    mixture: Mixture,
    place: Place,
    above: Integers,
    number: Integers,
    law: "SiblingLaw | None",
    factor: Floats,
    marks: Sequence[Floats],
) -> Integers:
    """A component for each record by these marks, (parents with more records,) of each rank."""
    begin, used = np.cumsum(number) - number, np.zeros(len(marks), dtype=np.int64)
    found = np.zeros(int(number.sum()), dtype=np.int64)
    order = np.flatnonzero(number > 0)
    for part in block_slices(len(order), PARENTS):
        parents = order[part]
        chances = posterior(mixture, place.before, above[:, parents]) * factor
        first = np.zeros(len(parents), dtype=np.int64)
        for rank in range(int(number[parents].max())):
            some = np.flatnonzero(number[parents] > rank)
            own = chances[some]
            if rank and law is not None:
                own *= law.tilt[law.types.group[first[some]]][:, law.types.group]
            picked = pick(own, marks[rank][used[rank] : used[rank] + len(some)])
            used[rank] += len(some)
            found[begin[parents[some]] + rank] = picked
            first = picked if rank == 0 else first
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

    It keeps the law of single records: its row sums are those of the prior. Steps go down χ² from the prior, each a
    factor of every pair of types (exponentiated gradients: Kivinen & Warmuth, 1997), so that what is beyond doubt comes
    first; they end where χ² per number is 1 (the discrepancy principle). `after` is the first column
    of siblings.
    """
    joint, alone = prior, prior.sum(axis=1)
    independent = np.outer(alone, alone) / max(float(alone.sum()), LEAST)
    if not blocks or not alone.sum() > 0.0:
        return SiblingLaw(types=types, joint=joint, tilt=np.ones_like(joint), chi_squared=0.0)
    seen = _Seen.of(blocks, types, place, after, rows)
    rate, chi_squared = math.inf, seen.misfit(joint)
    for _ in range(STEPS):
        slope = seen.slope(joint)
        steepest = max(float(np.abs(slope).max()), LEAST)
        rate = min(rate, 1.0 / steepest)  # no pair of types changes by more than a factor of e
        if chi_squared <= seen.numbers or rate * steepest < _SHORTEST:
            break
        tried = _balance(joint * np.exp(-rate * slope), alone)
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
        cells = np.concatenate([_group_shares(types.columns[own], groups[own]) for own in wanted], axis=1)
        return cls(cells=cells, values=values, precision=precision, numbers=numbers)

    def misfit(self, joint: Floats) -> float:
        """χ²."""
        return float((self.precision * (self.cells.T @ joint @ self.cells - self.values) ** 2).sum())

    def slope(self, joint: Floats) -> Floats:
        """Half the slope of χ² by each pair of types: (types, types)."""
        slope: Floats = self.cells @ (self.precision * (self.cells.T @ joint @ self.cells - self.values)) @ self.cells.T
        return slope


def expected_siblings(
    law: SiblingLaw, mixture: Mixture, place: Place, blocks: Sequence[NoisyBlock], after: int, rows: float
) -> Floats:
    """What two siblings' cells should hold, as shares of all persons: (C, C), in the mixture's cells.

    Types are alike in columns that go with others. A column that goes with none but that of a sibling (a role, of
    which there is one of each) is the same in all of them: so what the law misses of a block is made up for by as much
    of the measured rest as is not noise, 1 − 1/χ² of it (James & Stein, 1961).
    """
    cells = [mixture.cells[column] for column in place.columns]
    parts = list(_parts(mixture, place.columns).values())
    own = np.concatenate([_group_shares(c, g) for c, g in zip(law.types.columns, cells, strict=True)], axis=1)
    expected: Floats = own.T @ law.joint @ own
    for block in blocks:
        one, other = place.columns.index(block.block.columns[0]), block.block.columns[1] - after
        now = law.table(one, other)
        now = to_power(now, best_power(functools.partial(_sibling_misfit, now, block, rows)))
        table = _with_rest(now, block, rows, alike=one == other)
        grouped = _in_cells(table, cells[one], cells[other])
        noise = followed_noise(block, rows * float(grouped.sum())) / math.sqrt(1 + (one == other))  # both halves
        grouped = less_noise(grouped, noise)
        if one == other:
            grouped = (grouped + grouped.T) / 2.0
        expected[parts[one], parts[other]], expected[parts[other], parts[one]] = grouped, grouped.T
    return expected


def _sibling_misfit(table: Floats, block: NoisyBlock, rows: float, power: float) -> float:
    """χ² of a block of siblings beside a power of the table of two columns' atoms."""
    first, second = block.block.groups[0], block.block.groups[1][:-1]  # those without a sibling have the last cell
    now = _in_cells(to_power(table, power), first, second)
    return float(((block.values[:, :-1] - rows * now) ** 2).sum()) / block.sigma**2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Closeness:
    """How a column of parents goes with one of records: a power of what a mixture has, less noise."""

    power: float
    noise: float

    def of(self, table: Floats) -> Floats:
        """The mixture's table, as it should be: (cells, cells)."""
        return less_noise(to_power(table, self.power), self.noise)


def record_closeness(
    mixture: Mixture, place: Place, blocks: Sequence[NoisyBlock], rows: float
) -> dict[tuple[int, int], Closeness]:
    """Of each column of parents and each of records that were counted together, by their places."""
    found: dict[tuple[int, int], list[NoisyBlock]] = {}
    for block in blocks:
        one, other = sorted(block.block.columns) if len(block.block.columns) == 2 else (-1, -1)
        atoms = zip(block.block.columns, block.block.groups, strict=True)
        if one in place.before and other in place.columns and all(len(mixture.cells[c]) == len(g) for c, g in atoms):
            found.setdefault((one, other), []).append(block)
    return {
        pair: Closeness(
            power=best_power(functools.partial(_record_misfit, mixture, pair, own, rows)),
            noise=followed_noise(max(own, key=lambda block: block.block.cells), rows),
        )
        for pair, own in found.items()
    }


def _record_misfit(
    mixture: Mixture, pair: tuple[int, int], blocks: Sequence[NoisyBlock], rows: float, power: float
) -> float:
    """χ² of blocks of two columns beside a power of the mixture's table of their cells."""
    one, other = (mixture.cells[column] for column in pair)
    table, chi_squared = to_power(mixture.joint(pair, (one, other)), power), 0.0
    for block in blocks:
        groups = dict(zip(block.block.columns, block.block.groups, strict=True))
        model = _in_cells(table, *(within(mixture.cells[column], groups[column]) for column in pair))
        turned = model if block.block.columns == pair else model.T
        chi_squared += float(((block.values - block.block.numbers_in(rows * turned)) ** 2).sum()) / block.sigma**2
    return chi_squared


def to_power(table: Floats, power: float) -> Floats:
    """A table whose dependence is raised to a power, with the same margins: (cells, cells)."""
    if power == 1.0:
        return table
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    product = np.maximum(np.outer(rows, columns) / max(float(table.sum()), LEAST), LEAST**2)
    return _with_margins(product * (np.maximum(table, 0.0) / product) ** power, rows, columns)


def best_power(misfit: Callable[[float], float]) -> float:
    """The power of a table at which χ² is least; 1 unless it is less there beyond doubt.

    A mixture blurs two columns that nearly tell each other: by little in each pair of cells, in all of them one way.
    """
    power, found = 1.0, [misfit(1.0)]
    while power < _MOST_POWER and (now := misfit(power + _STEEPER)) < found[-1]:
        power += _STEEPER
        found.append(now)
    return power if found[0] - found[-1] > _SURE**2 else 1.0


def followed_noise(block: NoisyBlock, rows: float) -> float:
    """The part of the largest singular value of a block's noise that is in a mixture, for a table that adds up to 1.

    Beside independence, (T − r cᵀ) / √(r cᵀ) of a table T with m · n even cells, counts with a standard deviation s
    alone have singular values up to about s · √mn · (√m + √n) (Gavish & Donoho, 2017).
    """
    m, n = block.block.grid[:2]
    return _FOLLOWED * block.sigma / max(rows, LEAST) * math.sqrt(m * n) * (math.sqrt(m) + math.sqrt(n))


def less_noise(table: Floats, noise: float) -> Floats:
    """The table with the same margins, noise taken off the squares of its singular values, to which it has added.

    So what is faint goes, and what is strong stays.
    """
    rows, columns, total = table.sum(axis=1), table.sum(axis=0), float(table.sum())
    if not total > 0.0:
        return table
    product = np.maximum(np.outer(rows, columns) / total, LEAST**2)
    scale = np.sqrt(product * total)
    left, values, right = np.linalg.svd((table - product) / scale, full_matrices=False)
    own = np.sqrt(np.maximum(values**2 - noise**2, 0.0))
    return _with_margins(np.maximum(product + scale * ((left * own) @ right), 0.0), rows, columns)


def _with_margins(table: Floats, rows: Floats, columns: Floats) -> Floats:
    """The table scaled to these margins, in place (Sinkhorn, 1964)."""
    for _ in range(_MARGINS):
        table *= (rows / np.maximum(table.sum(axis=1), LEAST))[:, None]
        table *= columns / np.maximum(table.sum(axis=0), LEAST)
    return table


def _with_rest(table: Floats, block: NoisyBlock, rows: float, *, alike: bool) -> Floats:
    """A table of atoms, moved toward what was measured of its cells by the part of the rest that is no noise.

    Of two records' columns that are `alike` the table is symmetric: Σ rest² of it has one σ² for each cell on or above
    the diagonal, since means of two cells have half of it and stand there twice.
    """
    first, second = block.block.groups[0], block.block.groups[1][:-1]
    now = _in_cells(table, first, second)
    rest = block.values[:, :-1] / rows - now
    if alike:  # both halves of a symmetric table were measured
        rest = (rest + rest.T) / 2.0
    numbers = rest.size if not alike else len(rest) * (len(rest) + 1) // 2
    chi_squared = float((rest**2).sum()) / numbers * (rows / block.sigma) ** 2
    part = max(0.0, 1.0 - (1.0 + CHANCE * math.sqrt(2.0 / numbers)) / max(chi_squared, LEAST))
    wanted = np.maximum(now + part * rest, 0.0)
    wanted = _with_margins(wanted, now.sum(axis=1), now.sum(axis=0))  # what single records hold is known better
    moved: Floats = table * (wanted / np.maximum(now, LEAST))[first][:, second]
    return moved


def _in_cells(table: Floats, first: Integers, second: Integers) -> Floats:
    """A table of atoms by the cells of either column."""
    one, other = (np.eye(int(groups.max()) + 1)[groups] for groups in (first, second))
    grouped: Floats = one.T @ table @ other
    return grouped


def _group_shares(columns: Floats, groups: Integers) -> Floats:
    grouped: Floats = columns @ np.eye(int(groups.max()) + 1)[groups]
    return grouped


def _balance(joint: Floats, alone: Floats, rounds: int = 20) -> Floats:
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
    numbering of `expected`. A record weighs one over the number k of its parent's, two siblings 1 / k(k − 1).

    With e_r the cells of a record (0 or 1 each), t the sum over all of a parent's and a those of the parent, counts are
    Σ a tᵀ / k of parents and records, and Σ (t tᵀ − Σ_r e_r e_rᵀ) / k(k − 1) of siblings. If two parents of k records
    swap one, both change linearly in δ, the cells that come less those that go: so the best swap of two parents is
    that of the record which each would miss least.
    """

    __slots__ = (
        *("_above", "_begin", "_kin", "_kin_weight", "_number", "_parents", "_parents_weight", "_records"),
        "order",
    )

    def __init__(self, records: Integers, above: Integers, number: Integers, expected: Expected) -> None:
        self._records, self._above, self._number = records, above, number
        self._begin = np.cumsum(number) - number
        self.order = np.arange(len(records))  # the record at each place
        unknown = expected.siblings is None
        siblings = np.zeros((expected.parents.shape[1],) * 2) if expected.siblings is None else expected.siblings
        self._parents_weight = 1.0 / np.maximum(expected.parents, 1.0)
        self._kin_weight = np.zeros_like(siblings) if unknown else 1.0 / np.maximum(siblings, 1.0)
        self._parents, self._kin = -expected.parents, -siblings  # by how much counts exceed what is expected
        for some in block_slices(len(number), PARENTS):
            self._count(np.arange(len(number))[some])

    def sweep(self, generator: np.random.Generator) -> int:
        """Judge every parent beside another one once; how many swaps were made."""
        pairs = self._partners(generator)
        batch = max(_FEWEST, len(pairs) // _PARTS)
        return sum(self._judge(*pairs[start : start + batch].T) for start in range(0, len(pairs), batch))

    @property
    def misfit(self) -> float:
        """Σ weight · excess², of parents and records and of siblings."""
        parents, kin = self._parents**2 * self._parents_weight, self._kin**2 * self._kin_weight
        return float(parents.sum() + kin.sum())

    def _count(self, parents: Integers) -> None:
        """Add the records of some parents to what is counted."""
        totals, number = self._totals(parents), self._number[parents]
        self._add(parents, totals / np.maximum(number, 1)[:, None])
        own, pair = self._records[self.order[self._places(parents)]], _pair_weight(number)
        self._kin += (totals * pair[:, None]).T @ totals
        for first in own.T:
            for second in own.T:
                np.subtract.at(self._kin, (first, second), np.repeat(pair, number))

    def _add(self, parents: Integers, cells: Floats) -> None:
        """Add so much to the counts of some parents' cells beside those of records: (parents, C)."""
        for column in self._above[parents].T:
            np.add.at(self._parents, column, cells)

    def _places(self, parents: Integers) -> Integers:
        """The places of some parents' records, one parent after the other."""
        number = self._number[parents]
        ends = np.cumsum(number)
        places: Integers = np.arange(int(ends[-1])) + np.repeat(self._begin[parents] - ends + number, number)
        return places

    def _totals(self, parents: Integers) -> Floats:
        """How many records of each parent are in each cell: (parents, C)."""
        cells, width = self._records[self.order[self._places(parents)]], self._parents.shape[1]
        row = np.repeat(np.arange(len(parents)), self._number[parents])[:, None]
        held = np.bincount((row * width + cells).ravel(), minlength=len(parents) * width)
        return held.reshape(-1, width).astype(np.float64)

    def _partners(self, generator: np.random.Generator) -> Integers:
        """Disjoint pairs of parents that have equally many records: (pairs, 2)."""
        having = np.flatnonzero(self._number > 0)
        ranked = having[np.lexsort((generator.random(len(having)), self._number[having]))]
        second = ranked[1::2]
        first = ranked[::2][: len(second)]
        alike = self._number[first] == self._number[second]
        return generator.permutation(np.stack([first[alike], second[alike]], axis=1), axis=0)

    def _judge(self, here: Integers, there: Integers) -> int:
        """Of each two parents make the best swap, where it lowers the misfit; how many."""
        each, pair = 1.0 / self._number[here][:, None], _pair_weight(self._number[here])[:, None]
        between, kin = self._totals(here) - self._totals(there), self._kin * self._kin_weight
        pull = each * (self._pull(here) - self._pull(there)) + 2.0 * pair * (between @ kin)
        left, right = self._extreme(here, pull), self._extreme(there, -pull)
        change = self._change(left, right)
        between += change  # what stays with the one parent, less what stays with the other
        gain = 2.0 * (change * (pull + 2.0 * pair * (change @ kin)))
        gain += np.abs(change) * each**2 * self._squares(here, there)
        gain += np.abs(change) * 2.0 * pair**2 * (between**2 @ self._kin_weight)
        gain += change * between * 2.0 * pair**2 * ((change * between) @ self._kin_weight)
        chosen = np.flatnonzero(gain.sum(axis=1) < 0.0)
        left, right, change = left[chosen], right[chosen], change[chosen]
        self.order[left], self.order[right] = self.order[right], self.order[left]
        self._add(here[chosen], each[chosen] * change)
        self._add(there[chosen], -each[chosen] * change)
        more = (pair[chosen] * change).T @ between[chosen]
        self._kin += more + more.T
        return len(chosen)

    def _pull(self, parents: Integers) -> Floats:
        """Half of what a record in each cell would add to the misfit beside its parent's cells: (parents, C)."""
        pull: Floats = (self._parents * self._parents_weight)[self._above[parents]].sum(axis=1)
        return pull

    def _squares(self, here: Integers, there: Integers) -> Floats:
        """What a count adds that moves by 1 beside cells that one of two parents has alone: (parents, C)."""
        apart = (self._above[here] != self._above[there])[:, :, None]
        both = self._parents_weight[self._above[here]] + self._parents_weight[self._above[there]]
        squares: Floats = (both * apart).sum(axis=1)
        return squares

    def _extreme(self, parents: Integers, pull: Floats) -> Integers:
        """The place of each parent's record that has the largest pull, (parents, C), in all of its cells."""
        places, row = self._places(parents), np.repeat(np.arange(len(parents)), self._number[parents])
        score = pull[row[:, None], self._records[self.order[places]]].sum(axis=1)
        last: Integers = np.cumsum(self._number[parents]) - 1
        return places[np.lexsort((score, row))[last]]

    def _change(self, left: Integers, right: Integers) -> Floats:
        """δ of the parents on the left: (places, C)."""
        change, row = np.zeros((len(left), self._parents.shape[1])), np.arange(len(left))[:, None]
        np.add.at(change, (row, self._records[self.order[right]]), 1.0)
        np.subtract.at(change, (row, self._records[self.order[left]]), 1.0)
        return change


def _pair_weight(number: Integers) -> Floats:
    """1 / k(k − 1), of two records of a parent that has k; 0 where there is no other."""
    weight: Floats = np.where(number > 1, 1.0 / np.maximum(number * (number - 1), 1), 0.0)
    return weight


# --------------------
# All of one table.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBlocks:
    """What was counted of a table of records, of so many `rows` of persons: pairs of columns, and siblings.

    `after` is where the columns of siblings begin.
    """

    pairs: Sequence[NoisyBlock]
    siblings: Sequence[NoisyBlock]
    after: int
    rows: float


def drawn_records(
    mixture: Mixture,
    place: Place,
    above: Integers,
    number: Integers,
    blocks: RecordBlocks,
    *,
    never: Sequence[int | None],
    generator: np.random.Generator,
) -> Integers:
    """Atoms of a table's columns for all records, the parents' in turn: (columns, Σ number).

    `above` are the atoms of the columns before it, (columns, parents), `number` how many records each parent has, and
    `never` the atom of each column that no record has.
    """
    siblings, after, rows = blocks.siblings, blocks.after, blocks.rows
    closeness = record_closeness(mixture, place, blocks.pairs, rows)
    mixture = without(mixture, place, never)
    law = None
    if siblings:
        types = Types.of(mixture, place, generator)
        prior = sibling_prior(mixture, types, place, above, number)
        law = sibling_law(types, prior, siblings, place, after, rows)
    components = drawn_components(mixture, place, above, number, law, generator)
    records = _atoms(mixture, place, components, np.repeat(number, number), generator)
    wanted = None if law is None else expected_siblings(law, mixture, place, siblings, after, rows)
    return _place_records(records, mixture, place, above, number, wanted, closeness, generator)


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


def _place_records(
    records: Integers,
    mixture: Mixture,
    place: Place,
    above: Integers,
    number: Integers,
    siblings: Floats | None,
    closeness: Mapping[tuple[int, int], Closeness],
    generator: np.random.Generator,
) -> Integers:
    """The same records, some of them with other parents; `siblings` are shares of all persons, (C, C)."""
    if not number.any():
        return records
    persons = np.count_nonzero(number)
    q, p = (
        np.concatenate([mixture.group_shares(c, mixture.cells[c]) for c in columns], axis=1)
        for columns in (place.columns, place.before)
    )
    weights = mixture.weights * _having_records(mixture, place, number)
    parents = persons * (p * (weights / weights.sum())[:, None]).T @ q
    theirs, own = _parts(mixture, place.before), _parts(mixture, place.columns)
    for (one, other), close in closeness.items():
        parents[theirs[one], own[other]] = close.of(parents[theirs[one], own[other]])
    expected = Expected(parents=parents, siblings=None if siblings is None else len(number) * siblings)
    moving = Moving(_cells(mixture, place.columns, records), _cells(mixture, place.before, above), number, expected)
    for _ in range(max(1, min(SWEEPS, WORK // (len(number) * q.shape[1] ** 2)))):
        if moving.sweep(generator) == 0:
            break
    return records[:, moving.order]


def _parts(mixture: Mixture, columns: Sequence[int]) -> dict[int, slice]:
    """Where the cells of each column are, those of all columns numbered together."""
    widths = [int(mixture.cells[column].max()) + 1 for column in columns]
    return {c: slice(int(end) - w, int(end)) for c, w, end in zip(columns, widths, np.cumsum(widths), strict=True)}


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
