"""A mixture of products: where it starts, how it is fitted to noisy blocks, how measured means are kept.

Component m holds a distribution over the cells of each column and a weight. The model of a pair of columns is
Σ_m w_m p_m q_mᵀ, of a larger set the like. Everything here is public.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Tabulation, tabulation
from kernelease.estimate.products import Linearised, Moments, mean_and_variance, moments_of, noises, number_term
from kernelease.fit.mixtures.beyond import Detail, Leaves, Misfit, Unheld, leaves_of, poor
from kernelease.fit.mixtures.maps import Compounds, Pair, PartMap, information
from kernelease.fit.mixtures.misfit import Adam, Single, correction
from kernelease.fit.mixtures.objective import Objective, Ties, Told, softmax_weights
from kernelease.fit.mixtures.one_way import CHANCE, OneWay, one_ways
from kernelease.fit.solver import Outcome
from kernelease.kinds import Kind
from kernelease.machine import one_thread
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, RowMover, complete_each, refine, within
from kernelease.measured.offsets import Levels, in_groups, levels_of
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Column

# --------------------
# How a mixture descends: its rate at each step, and how the penalty follows χ².


# Settings of the iteration: half or twice as much changes no table's error by more than chance (docs/research.md:
# Tables: constants that matter).
SETTLING = 0.5  # convention: of the steps, before which the penalty only rises: χ² is still falling
GAIN = 0.15  # convention: of the penalty's logarithm, per step and unit of χ² above or below its goal
MOST_CHANGE = 0.3  # convention: of that unit, in one step
LEANING = 8  # convention: steps between looks at single blocks, once they are at the goal together
_NEAR = 1.1  # convention: χ² per number at which blocks are at the goal together
# research: Tables: constants that matter. Penalty at the start: 5 · signal^−.18 times the signal, near where fits end
FIRST, FALL = 5.0, 0.18
_SAID = 10  # convention: steps after which they are told, a fraction of a second
RANGE = 16.0  # limit: by which it may leave its first value, either way: no release tried came there


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The rates and the penalty of so many steps: at one rate for two thirds of them, then ever less.

    The penalty κ starts at `first`, and is turned up while χ² per number is below `goal` and down while it is above;
    down only after a part of the steps, since χ² is far above its goal at the start whatever the penalty is.
    """

    steps: int
    rate: float
    goal: float
    signal: float

    @property
    def first(self) -> float:
        """κ at the start, in rows."""
        return float(FIRST * max(1.0, self.signal) ** (1.0 - FALL))

    @property
    def least(self) -> float:
        """The smallest κ."""
        return self.first / RANGE

    @property
    def most(self) -> float:
        """The largest κ."""
        return self.first * RANGE

    @property
    def near(self) -> float:
        """χ² per number from which down single blocks are looked at."""
        return _NEAR

    def rate_at(self, step: int) -> float:
        """How far a step goes."""
        return self.rate * min(1.0, 3.0 * (1.0 - step / self.steps))

    def has_settled(self, step: int) -> bool:
        """Whether the penalty may fall."""
        return step > SETTLING * self.steps

    def leans(self, step: int) -> bool:
        """Whether single blocks are looked at after this step, if χ² is near its goal."""
        return self.has_settled(step) and step % LEANING == 0

    def next_penalty(self, kappa: float, chi_squared: float, step: int) -> float:
        """κ after a step that found this χ² per number."""
        error = min(MOST_CHANGE, max(-MOST_CHANGE, self.goal - chi_squared))
        if not (self.has_settled(step) or error > 0.0):
            return kappa
        return min(self.most, max(self.least, kappa * math.exp(GAIN * error)))

    @property
    def plan(self) -> Single:
        """For a GPU, of each step and one more: Adam's whole rate, whether the penalty may fall, and the goal."""
        rows = [(self.rate_at(s) * correction(s + 1), float(self.has_settled(s)), self.goal) for s in range(self.steps)]
        return np.array([*rows, rows[-1]], dtype=np.float32)


# --------------------
# Where a mixture starts: rows drawn along the strongest pairs, each blurred with the single columns.
#
# Components that start as plain blurs of the single columns must first learn which values go together, and columns
# that nearly determine each other take them hundreds of steps. Rows of a tree model (Chow & Liu 1968) know it from
# the start.


# Where the iteration starts: half or twice as much changes no table's error by more than chance (docs/research.md:
# Tables: constants that matter).
SHARP = 0.8  # convention: of a component's mass on its row; the rest as the single columns have it
JITTER = 0.1  # convention: of logits: two components with the same row must be able to part
VISIBLE = 1.5  # research: Tables: constants that matter. Standard deviations: a count below may be noise alone


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """What a block says of two columns: how strongly they depend on each other, and how often groups go together."""

    strength: float
    shares: Floats  # (groups of one, groups of the other), positive
    groups: tuple[Integers, Integers]  # of each column's cells

    def reverse(self) -> "_Link":
        return _Link(strength=self.strength, shares=self.shares.T, groups=self.groups[::-1])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Single columns over their cells, and the strongest link of each pair of columns, both ways round."""

    prior: tuple[Floats, ...]
    links: dict[tuple[int, int], _Link]

    @classmethod
    def of(cls, noisy: NoisyBlocks, objective: Objective) -> "Start":
        """What was measured, in the cells of an objective."""
        prior = tuple([objective.prior[place].astype(np.float64) for place in objective.places])
        return cls(prior=prior, links=_links(noisy, prior, objective.cells))

    def blurred_rows(self, count: int, generator: np.random.Generator) -> Single:
        """Logits (C, M) of `count` components around rows of a tree model."""
        parts = []
        for distribution, row in zip(self.prior, _rows(self.links, self.prior, count, generator), strict=True):
            q = np.repeat((1.0 - SHARP) * distribution[None], count, axis=0)
            q[np.arange(count), row] += SHARP
            parts.append(np.log(q))
        logits = np.concatenate(parts, axis=1)
        logits += generator.normal(0.0, JITTER, logits.shape)
        return np.ascontiguousarray(logits.T, dtype=np.float32)


def _links(noisy: NoisyBlocks, prior: Sequence[Floats], cells: Sequence[Integers]) -> dict[tuple[int, int], _Link]:
    links: dict[tuple[int, int], _Link] = {}
    several = [block for block in noisy.blocks if len(block.block.columns) > 1]
    for block, link in zip(several, _each_link(several, noisy.rows, prior, cells), strict=True):
        first, second = block.block.columns[:2]
        if (first, second) not in links or links[first, second].strength < link.strength:
            links[first, second], links[second, first] = link, link.reverse()
    return links


def _each_link(
    blocks: Sequence[NoisyBlock], rows: float, prior: Sequence[Floats], cells: Sequence[Integers]
) -> list[_Link]:
    """What each block says of its first two columns."""
    keys = [[(c, own.tobytes()) for c, own in zip(b.block.columns, b.block.groups, strict=True)] for b in blocks]
    parts = {
        key: own
        for one, block in zip(keys, blocks, strict=True)
        for key, own in zip(one, block.block.groups, strict=True)
    }
    cut = dict(zip(parts, [within(cells[column], own) for (column, _), own in parts.items()], strict=True))
    groups = [[cut[key] for key in one] for one in keys]
    alone = [
        [_sums(own, prior[column]) for column, own in zip(block.block.columns, cuts, strict=True)]
        for block, cuts in zip(blocks, groups, strict=True)
    ]
    counts = [[rows * own for own in each] for each in alone]
    tables = complete_each(blocks, counts, rows)
    noises = [b.deviation * math.sqrt(b.block.cells / math.prod(b.block.grid[:2])) / rows for b in blocks]
    return [
        _link(table.reshape(*table.shape[:2], -1).sum(axis=2) / rows, own[:2], noise, cuts)
        for table, own, noise, cuts in zip(tables, alone, noises, groups, strict=True)
    ]


def _link(shares: Floats, alone: Sequence[Floats], noise: float, groups: Sequence[Integers]) -> _Link:
    """Σ (share − product)² / product, less what noise alone adds to it: about χ² of dependence per row."""
    product = np.outer(*alone)
    scale = np.maximum(product, noise)
    strength = float((((shares - product) ** 2 - noise**2) / scale).sum())
    hidden = 0.2 * np.minimum(product, noise) + 1e-9  # a count that can't be seen is seldom drawn, and can be
    visible = np.where(shares > VISIBLE * noise, shares, hidden)
    return _Link(strength=strength, shares=visible, groups=(groups[0], groups[1]))


def _sums(groups: Integers, distribution: Floats) -> Floats:
    return np.bincount(groups, distribution).astype(np.float64)


def _rows(
    links: dict[tuple[int, int], _Link], prior: Sequence[Floats], count: int, generator: np.random.Generator
) -> list[Integers]:
    """Cells of each column, (count,), drawn along a maximum spanning tree: each column given its parent."""
    rows: dict[int, Integers] = {}
    while len(rows) < len(prior):
        known = [pair for pair in links if pair[0] in rows and pair[1] not in rows and links[pair].strength > 0.0]
        if known:
            parent, column = max(known, key=lambda pair: links[pair].strength)
            rows[column] = _draw_cells(links[parent, column], rows[parent], prior[column], generator)
        else:  # a column that depends on none so far: the one that most others depend on
            left = [column for column in range(len(prior)) if column not in rows]
            column = max(left, key=lambda one: sum(max(0.0, links[p].strength) for p in links if p[0] == one))
            rows[column] = _inverse(np.repeat(prior[column][None], count, axis=0), _marks(count, generator))
    return [rows[column] for column in range(len(prior))]


def _draw_cells(link: _Link, parent: Integers, prior: Floats, generator: np.random.Generator) -> Integers:
    """A cell of a column for each cell of its parent: its group by the block, the cell in it as the column has it."""
    groups = link.groups[1]
    inside = prior / np.maximum(np.bincount(groups, prior)[groups], 1e-300)
    chances = link.shares[link.groups[0][parent]][:, groups] * inside
    return _inverse(chances, generator.random(len(parent)))


def _marks(count: int, generator: np.random.Generator) -> Floats:
    marks: Floats = (generator.permutation(count) + generator.random()) / count
    return marks


def _inverse(chances: Floats, marks: Floats) -> Integers:
    """The cell at which the cumulative chances (n, cells) pass each mark (n,) in [0, 1)."""
    below = np.cumsum(chances, axis=1)
    passed: Integers = (below <= (marks * below[:, -1])[:, None]).sum(axis=1)
    last: Integers = np.minimum(passed, chances.shape[1] - 1)
    return last


# --------------------
# Ties: a forest of pairs of columns that go together closely, toward which fits after the first are drawn.
#
# A penalty toward independent columns blurs those that nearly tell each other: by less than the noise in each pair of
# cells, and by much in all of them together. What a first fit shows of such pairs is beyond doubt. A forest of them
# (Chow & Liu 1968) is a distribution, too: drawn toward it, components pay for what they say beyond it.


# convention: what two columns tell each other, in nats, from which on they are tied. A third as much is better than no
# tie, too (docs/research.md: Persons with records)
_TIED = 0.3
_PULL = 2.0  # convention: of ties: products hold less than they are drawn to. Half or twice is better than no tie, too
_NEVER = 0.02  # convention: how often two cells go together at least, over what independent columns would have


def ties_of(q: Single, w: Single, places: Sequence[slice]) -> Ties:
    """log P_ij/p_i p_j of the pairs of a forest, by the cells (C, M) of a mixture; of pairs that are close, if any."""
    joint = ((q * w) @ q.T).astype(np.float64)
    tables = {(i, j): joint[places[i], places[j]] for i, j in itertools.combinations(range(len(places)), 2)}
    told = {pair: information(table) for pair, table in tables.items()}
    ties, tree = [], list(range(len(places)))
    for one, other in sorted((pair for pair in told if told[pair] > _TIED), key=lambda pair: -told[pair]):
        if tree[one] == tree[other]:
            continue
        tree = [tree[one] if own == tree[other] else own for own in tree]
        table = tables[one, other]
        product = np.maximum(np.outer(table.sum(axis=1), table.sum(axis=0)), np.finfo(np.float64).tiny)
        tie = _PULL * np.log((1.0 - _NEVER) * table / product + _NEVER)
        ties.append((places[one], places[other], tie.astype(np.float32)))
    return tuple(ties)


# --------------------
# A mixture of products, fitted to noisy contingency blocks by gradient steps on a few matrix products.


FITS = 2  # convention: that are averaged. docs/research.md: Tables: the mean of two fits
FEWEST, MOST = 400, 2000  # limit: components of a fit: of time and memory, and what others gain is little
_WORK = 1_260_000_000  # limit: components times pairs of cells: the most components at 600 cells, fewer only beyond
_MANY = 1600  # limit: of time. Components from which on more of them take fewer steps
_FEW_STEPS = 100  # research: Tables: constants that matter. Of a rough fit
# convention: at signal 1; they grow with its fourth root. Half or twice as many change no table's error by more than
# chance (docs/research.md: Tables: constants that matter)
_STEPS = 30.0
_QUICK_COMPONENTS, _QUICK_STEPS = 100, 40  # convention: of a first look, in seconds
_TYPICAL = 1000.0  # convention: rows over the noise of a count, where nobody knows it yet


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """w (M,) and, for each column, p (M, atoms): a distribution over rows of atoms.

    Of a column whose atoms are `leaves` in groups, p is over the groups: within one, all components have the same
    shares. Cells, triples and what is asked of the mixture are in terms of groups, too.
    """

    weights: Floats
    columns: tuple[Floats, ...]
    chi_squared: float  # mean squared misfit in units of the noise's variance: about 1 at the noise floor
    outcome: Outcome
    misfits: tuple[Misfit, ...] = ()  # of every block of several columns
    cells: tuple[Integers, ...] = ()  # of each column's atoms: within one, components have them in the same proportions
    sets: tuple[Block, ...] = ()  # those of more than two columns that were measured
    details: tuple[Detail, ...] = ()  # of pairs, within cells
    leaves: tuple[Leaves | None, ...] = ()  # of each column, where it has some
    unheld: tuple[Unheld, ...] = ()  # what it does not hold, the worst first: rows are moved toward it
    apart: tuple[Pair, ...] = ()  # pairs of columns of which some values are never together
    told: tuple[PartMap, ...] = ()  # columns that others tell in part, in an order in which they can be applied
    movers: tuple[RowMover, ...] = ()  # toward sums over rows

    def poorly_held_by(self, rows: Integers) -> tuple[Misfit, ...]:
        """What it does not hold and rows drawn from it, (columns, n), miss beyond noise as well, the worst first."""
        if not self.unheld:
            return ()
        leaves = self.leaves or (None,) * len(rows)
        inner = [own if leaf is None else leaf.groups[own] for own, leaf in zip(rows, leaves, strict=True)]
        return poor([unheld.misfit(np.stack(inner)) for unheld in self.unheld])

    @property
    def unheld_pairs(self) -> tuple[Unheld, ...]:
        """The unheld blocks of two columns."""
        return tuple(unheld for unheld in self.unheld if len(unheld.columns) == 2)

    def marginal(self, column: int) -> Floats:
        """The distribution of one column: (atoms,)."""
        return self.weights @ self.columns[column]

    def group_shares(self, column: int, cells: Integers) -> Floats:
        """Each component's distribution over groups of a column's atoms: (M, cells)."""
        return self.columns[column] @ np.eye(int(cells.max()) + 1)[cells]

    def joint(self, columns: Sequence[int], groups: Sequence[Integers]) -> Floats:
        """The joint distribution of groups of some columns' atoms: an axis for each column."""
        *first, last = map(self.group_shares, columns, groups)
        joint = self.weights[:, None]
        for part in first:
            joint = (joint[:, :, None] * part[:, None, :]).reshape(len(joint), -1)
        table: Floats = (joint.T @ last).reshape([int(group.max()) + 1 for group in groups])
        return table

    def pair(self, first: int, second: int) -> Floats:
        """The joint distribution of two columns: (atoms, atoms)."""
        return (self.columns[first] * self.weights[:, None]).T @ self.columns[second]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    """What there is to fit: blocks without details, these, single columns, and groups of leaves."""

    noisy: NoisyBlocks
    details: tuple[Detail, ...]
    columns: tuple[OneWay, ...]
    told: tuple[Told, ...]
    levels: Levels

    @classmethod
    def of(cls, noisy: NoisyBlocks, compounds: Compounds | None) -> "_Task":
        """Of columns as they were measured, or of compounds of them."""
        levels = levels_of(noisy)
        grouped = in_groups(noisy, levels)
        fine, fitted = grouped.details, grouped.without_details
        columns = one_ways(fitted)
        told: tuple[Told, ...] = ()
        if compounds is not None and compounds.any:  # then there are no leaves
            told = _told_columns(fitted, columns, compounds)
            columns, levels = compounds.one_ways(columns), (None,) * len(compounds.own)
            fine, blocks = compounds.blocks(fine), compounds.blocks(fitted.blocks)
            ordered = tuple(fitted.ordered[column] for column in compounds.own) if fitted.ordered else ()
            fitted = dataclasses.replace(
                fitted, sizes=compounds.sizes, blocks=blocks, ordered=ordered, laid=(), moments=()
            )
        details = tuple(Detail.of(block, noisy.rows) for block in fine)
        return cls(noisy=fitted, details=details, columns=columns, told=told, levels=levels)


def _movers(noisy: NoisyBlocks, levels: Levels, compounds: Compounds | None) -> Iterator[RowMover]:
    """What moves rows toward sums over them. A column that is a part of another, or in groups, has no place there."""
    for block, one in [(one.block, one) for one in noisy.moments if one.block.moves_rows]:
        places: tuple[int, ...] = block.columns
        atoms: tuple[Integers, ...] = tuple([np.arange(noisy.sizes[column]) for column in places])
        if compounds is not None:
            atoms = tuple([compounds.atoms[column] for column in places])
            places = tuple([compounds.origins[column] for column in places])
        alone = [places.count(place) == 1 and levels[place] is None for place in places]
        own = tuple([place if free else None for place, free in zip(places, alone, strict=True)])
        mover = block.mover(one.values, one.sigma, noisy.rows, own, atoms)
        yield from () if mover is None else (mover,)


def _told_columns(noisy: NoisyBlocks, columns: Sequence[OneWay], compounds: Compounds) -> tuple[Told, ...]:
    """Columns that are read off others, on their own, in the cells that blocks of several columns tell apart."""
    several = [block.block for block in noisy.blocks if len(block.block.columns) > 1]
    found = []
    for column in filter(compounds.on_map, range(len(columns))):
        groups = [block.groups[block.columns.index(column)] for block in several if column in block.columns]
        if groups:
            cells, own = refine(groups), columns[column]
            found.append(
                Told(
                    column=compounds.origins[column],
                    cells=cells[compounds.atoms[column]],
                    shares=_sums(cells, own.shares),
                    variances=own.variance * np.bincount(cells).astype(np.float64),
                )
            )
    return tuple(found)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureSolver(Kind):
    """Minimises ½χ² + κ·Σ_m w_m KL(component m ‖ product of single columns) by Adam, from rows of a tree model.

    The penalty κ, in rows, pulls components toward independence, so that the fit ends at the noise floor instead of
    below it: it is turned up while χ² per number is below `goal` and down while it is above (the discrepancy
    principle), starting near the number of rows over the noise of a count.

    None for `components`, `steps` or `goal` takes what suits the cells that were measured and their *signal*, the
    number of rows over the noise of a count: the larger it is, the more can be seen, and the more of the noise a
    faithful model has to explain along with it. With `device="cuda"` the steps are made on a GPU.

    The mixture is the mean of so many `fits`, each from other rows: it has the components of all. Each has followed
    other parts of the noise, of which the mean has less. All but the first are drawn toward a forest of the pairs of
    columns that go together closely in that, where there are some, in place of independent columns. None takes what
    suits the method: `FITS`, or more.
    """

    components: int | None = None
    steps: int | None = None
    goal: float | None = None
    rate: float = 0.3
    device: str | None = None
    fits: int | None = None

    def __post_init__(self) -> None:
        numbers = [one for one in (self.components, self.steps, self.fits) if one is not None]
        if min(numbers, default=1) < 1 or not (self.goal is None or self.goal > 0.0) or not self.rate > 0.0:
            raise ParameterError(
                "MixtureSolver: components, steps and fits must be at least 1, goal and rate positive, got "
                f"{self.components!r}, {self.steps!r}, {self.fits!r}, {self.goal!r} and {self.rate!r}."
            )
        if self.device not in (None, "cuda"):
            raise ParameterError(f"MixtureSolver: device must be None or 'cuda', got {self.device!r}.")

    def quick(self) -> "MixtureSolver":
        """The same for a first look: few components and steps, seconds in place of minutes, and a coarser fit."""
        return dataclasses.replace(self, components=_QUICK_COMPONENTS, steps=_QUICK_STEPS, fits=1)

    def number_of_fits(self) -> int:
        """How many fits the mixture is the mean of."""
        return FITS if self.fits is None else self.fits

    def solve(
        self,
        noisy: NoisyBlocks,
        seed: PublicSeed,
        progress: Progress = SILENT,
        *,
        stage: str = "fitting",
        compounds: Compounds | None = None,
    ) -> Mixture:
        """The mixture whose blocks are nearest to the noisy ones. `stage` is what to call it meanwhile.

        With `compounds` it is of these columns, off which all others are read.
        """
        task = _Task.of(noisy, compounds)
        objective = Objective.of(task.noisy, task.details, task.columns, task.told)
        effort = self.effort(objective.size, objective.signal) if objective.signal else (1, 1)
        fits = self.number_of_fits() if objective.signal else 1
        progress.stage(stage, fits * effort[1])
        generator, trusts = seed.generator("mixture start"), objective.first_trusts()
        start = Start.of(task.noisy, objective)
        found = [self._descend(start, objective, effort, generator, progress)]
        if fits > 1:
            ties = ties_of(objective.normalise(found[0][0]), np.exp(found[0][1]), objective.places)
            objective = dataclasses.replace(objective, ties=ties)
        for _ in range(1, fits):
            objective.forget(trusts)
            found.append(self._descend(start, objective, effort, generator, progress))
        logits, weight_logits = map(np.hstack, zip(*found, strict=True))
        chi_squared, _ = objective.gradients(logits, weight_logits, 0.0)
        q, w = objective.normalise(logits), softmax_weights(weight_logits)
        weights = w.astype(np.float64)
        misfits = objective.misfits(q, w)
        return Mixture(
            weights=weights / weights.sum(),
            columns=objective.atoms(q),
            chi_squared=chi_squared,
            outcome=Outcome.NOISE_FLOOR if chi_squared <= 1.1 else Outcome.ITERATION_LIMIT,
            misfits=misfits,
            cells=objective.cells,
            sets=tuple(block.block for block in task.noisy.blocks if len(block.block.columns) > 2),
            details=task.details,
            leaves=leaves_of(noisy, task.levels, [one.distribution for one in objective.columns]),
            unheld=objective.unheld(misfits),
            movers=tuple(_movers(noisy, task.levels, compounds)),
        )

    def _descend(
        self,
        start: Start,
        objective: Objective,
        effort: tuple[int, int],
        generator: np.random.Generator,
        progress: Progress,
    ) -> tuple[Single, Single]:
        """One fit, of so many components and steps: logarithms of cells' shares (C, M), and of weights (M,).

        Toward its end the objective trusts blocks more that are off.
        """
        components, steps = effort
        logits = start.blurred_rows(components, generator)
        if components == 1:
            logits = np.log(objective.prior)[:, None].copy()
        weight_logits = np.zeros(components, dtype=np.float32)
        goal = self.aim(objective.signal, tied=bool(objective.ties))
        schedule = Schedule(steps=steps, rate=self.rate, goal=goal, signal=objective.signal)
        if self.device is None:
            with one_thread():
                _descend(objective, logits, weight_logits, schedule, progress)
        else:
            from kernelease.fit.mixtures.device import DeviceDescent  # noqa: PLC0415  # an engine apart

            logits, weight_logits = DeviceDescent(objective, logits, weight_logits, schedule).run(progress)
        return logits, np.log(softmax_weights(weight_logits))

    def effort(self, cells: int, signal: float = _TYPICAL) -> tuple[int, int]:
        """Components and steps for so many cells of all columns, at this signal."""
        wanted = min(MOST, max(FEWEST, round(cells * (signal / 100.0) ** 0.6)))
        components = min(wanted, max(100, _WORK // cells**2)) if self.components is None else self.components
        fewer = min(1.0, _MANY / components)
        steps = max(100, round(fewer * min(250.0, _STEPS * signal**0.25))) if self.steps is None else self.steps
        return components, steps

    def rough(self) -> "MixtureSolver":
        """A quick look, good enough to choose what to measure next; what was asked for by number stays."""
        return dataclasses.replace(self, components=self.components or FEWEST, steps=self.steps or _FEW_STEPS, fits=1)

    def aim(self, signal: float, *, tied: bool = False) -> float:
        """χ² per number at which to end: the fit follows a part of the noise that grows with what it can see.

        Half of it where columns are tied that go together closely: these need it most.
        """
        followed = 0.01 * min(signal, 1e4) ** 0.35
        return 1.0 - followed / (1.0 + tied) if self.goal is None else self.goal


def _descend(
    objective: Objective, logits: Single, weight_logits: Single, schedule: Schedule, progress: Progress
) -> None:
    """Move the logits downhill, in place."""
    optimiser, kappa = Adam((logits, weight_logits)), schedule.first
    room = objective.room(len(weight_logits))
    for step in range(schedule.steps):
        chi_squared, gradients = objective.gradients(logits, weight_logits, kappa, room)
        optimiser.update(gradients, schedule.rate_at(step))
        kappa = schedule.next_penalty(kappa, chi_squared, step)
        if schedule.leans(step) and chi_squared < schedule.near:
            objective.lean(objective.normalise(logits, room), softmax_weights(weight_logits))
        if (step + 1) % _SAID == 0 or step + 1 == schedule.steps:
            for _ in range(step % _SAID + 1):
                progress.step()


# --------------------
# Numbers whose means and variances were measured: the mixture is moved to agree with them.


_STEEPEST = 500.0  # limit: of an exponent: by then all is in one atom
_NEAR_BOUNDS = 1e-5  # limit: standard deviations, or variances: what is so near is met


_BOUND_TURNS = 4  # convention: over columns that are read off one: each moves the others a little
# convention: of a column's spread, the reach of an estimate that rows do not keep to: half or twice as much makes no
# table worse
_VAGUE = 0.2


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of the mean and the variance of a column's numbers; rows without a number don't count."""

    column: int
    numbers: Floats  # (atoms,): the mean of each, NaN where it has no number
    within: Floats  # (atoms,): the variance of each
    mean: tuple[float, float]
    variance: tuple[float, float]

    def read_off(self, compounds: Compounds) -> "Bounds":
        """The same of the column that this one is read off."""
        atoms = compounds.atoms[self.column]
        return dataclasses.replace(
            self, column=compounds.origins[self.column], numbers=self.numbers[atoms], within=self.within[atoms]
        )

    def nearest(self, moments: Floats) -> Floats:
        """The mean and the variance within bounds that are nearest: (2,)."""
        low, high = np.array([self.mean, self.variance]).T
        nearest: Floats = np.clip(moments, low, high)
        return nearest

    def without_vague(self, variance: float) -> "Bounds":
        """The same without those that are too wide, beside a column's own variance, to say anything of its rows.

        Where a range is declared much too wide, the noise of counts that are far from all rows rules both of them.
        """
        wide = [
            high - low > 2.0 * _VAGUE * own
            for (low, high), own in ((self.mean, math.sqrt(max(variance, 0.0))), (self.variance, variance))
        ]
        mean, spread = (
            (-math.inf, math.inf) if vague else own for vague, own in zip(wide, (self.mean, self.variance), strict=True)
        )
        return dataclasses.replace(self, mean=mean, variance=spread)


def bounds_of(columns: Sequence[Column], measured: NoisyBlocks) -> tuple[Bounds, ...]:
    """Those of every column of numbers: its best estimates, give or take what chance and cells leave open."""
    counts, moments = tabulation(measured), moments_of(measured)
    numbers = (index for index, column in enumerate(columns) if column.tag in ("integer", "number"))
    return tuple(_bounds(columns[index], index, counts, moments) for index in numbers)


def _bounds(column: Column, index: int, counts: Tabulation, moments: Moments) -> Bounds:
    measured = counts.marginals((index,))
    term = number_term(column, measured[0])
    both = mean_and_variance(column, term, max(measured, key=lambda one: one.size), moments)
    mean, variance = map(_ends, both, noises(both, counts.sigmas))
    return Bounds(
        column=index,
        numbers=np.where(np.isnan(column.centres()), np.nan, term.middle + term.centre),
        within=term.half**2 / 3.0,
        mean=mean,
        variance=variance,
    )


def _ends(estimate: Linearised, noise: float) -> tuple[float, float]:
    reach = CHANCE * noise + estimate.bias
    return estimate.value - reach, estimate.value + reach


def keep_within(mixture: Mixture, bounds: Sequence[Bounds], compounds: Compounds | None = None) -> Mixture:
    """The mixture with every column within its bounds, where that can be; the mean alone, where both can't.

    Of `compounds` several columns may be read off one: they are met in turn.

    Of a column that is outside, every component's shares are multiplied by e^(a·x + b·x²), with the same a and b: of
    all distributions with the wanted mean and variance the nearest in the sense of Kullback and Leibler. How many rows
    have a number stays as it is in each component.
    """
    columns = list(mixture.columns)
    inner = bounds
    if compounds is not None:
        inner = [one.read_off(compounds) for one in bounds if one.column not in compounds.loose]
    shared = len({one.column for one in inner}) < len(inner)
    for _ in range(_BOUND_TURNS if shared else 1):
        for one in inner:
            columns[one.column] = _keep_within(columns[one.column], mixture.weights, one)
    return dataclasses.replace(mixture, columns=tuple(columns))


def loose_shares(noisy: NoisyBlocks, bounds: Sequence[Bounds], compounds: Compounds) -> dict[int, Floats]:
    """The distribution of each column of which some rows are off a map, within its bounds."""
    columns, one = one_ways(noisy) if compounds.loose else (), np.ones(1)
    found = {column: columns[column].distribution for column in compounds.loose}
    for own in (own for own in bounds if own.column in found):
        found[own.column] = _keep_within(found[own.column][None], one, own)[0]
    return found


def _keep_within(shares: Floats, weights: Floats, bounds: Bounds) -> Floats:
    """Shares of atoms, (M, atoms), within bounds; or as they were."""
    known = ~np.isnan(bounds.numbers)
    tilt = _Tilt(shares=shares[:, known], weights=weights, numbers=bounds.numbers[known], within=bounds.within[known])
    now = tilt.moments(np.zeros(2))
    bounds = bounds.without_vague(float(now[1]))
    goal = bounds.nearest(now)
    if np.array_equal(goal, now) or not now[1] > 0.0:
        return shares
    found = [tilt.slopes(goal, free) for free in ((True, False), (False, True), (True, True))]
    met = [slopes for slopes in found if tilt.near(slopes, bounds.nearest(tilt.moments(slopes)))]
    if not met and not tilt.near(found[0], goal, only=1):
        return shares
    result = shares.copy()
    result[:, known] = tilt.at(met[0] if met else found[0])
    return result


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Tilt:
    """Shares of atoms with numbers x, (M, atoms), multiplied by e^(a·z + b·z²), where z is x in standard deviations."""

    shares: Floats
    weights: Floats  # (M,)
    numbers: Floats  # (atoms,)
    within: Floats  # (atoms,)

    def moments(self, slopes: Floats) -> Floats:
        """Mean and variance at slopes a and b: (2,)."""
        return self._moments(self.at(slopes))

    def at(self, slopes: Floats) -> Floats:
        """The shares, with the sum that each component had."""
        mean, variance = self._moments(self.shares)
        z = (self.numbers - mean) / math.sqrt(variance) if variance > 0.0 else np.zeros_like(self.numbers)
        exponent = slopes[0] * z + slopes[1] * z**2
        raised = self.shares * np.exp(np.maximum(exponent - exponent.max(), -_STEEPEST))
        sums = np.maximum(raised.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        result: Floats = raised * (self.shares.sum(axis=1, keepdims=True) / sums)
        return result

    def slopes(self, goal: Floats, free: tuple[bool, bool]) -> Floats:
        """Slopes, those that are not free 0, at which as many moments are as they should be; as near as was found."""
        chosen = np.array(free)

        def off(values: Floats) -> Floats:
            slopes = np.zeros(2)
            slopes[chosen] = values
            missing: Floats = self._off(slopes, goal)[chosen]
            return missing

        result = np.zeros(2)
        result[chosen] = np.nan_to_num(scipy.optimize.root(off, np.zeros(int(chosen.sum()))).x)
        return result

    def near(self, slopes: Floats, goal: Floats, *, only: int = 2) -> bool:
        """Whether the moments at these slopes, or the first alone, are as they should be."""
        return bool(np.all(np.abs(self._off(slopes, goal)[:only]) < _NEAR_BOUNDS))

    def _off(self, slopes: Floats, goal: Floats) -> Floats:
        variance = self._moments(self.shares)[1]
        apart: Floats = (self.moments(slopes) - goal) / [math.sqrt(variance), variance]
        return apart

    def _moments(self, shares: Floats) -> Floats:
        margin = self.weights @ shares
        margin = margin / margin.sum()
        mean = float(margin @ self.numbers)
        return np.array([mean, float(margin @ ((self.numbers - mean) ** 2 + self.within))])
