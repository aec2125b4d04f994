"""Rounds of noisy counts of one table: what is set aside, what is left after each, how long they take."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError
from kernelease.exact.counting import ExactCounts
from kernelease.fit.mixtures.beyond import Misfit
from kernelease.fit.mixtures.draw import draw_rows, sharpen
from kernelease.fit.mixtures.maps import Compounds
from kernelease.fit.mixtures.mixture import Mixture, MixtureSolver, bounds_of, keep_within, loose_shares
from kernelease.fit.mixtures.objective import signal_of
from kernelease.fit.mixtures.one_way import distributions_of
from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, estimated_rows
from kernelease.measured.looks import Laid, NoisyLook
from kernelease.measured.offsets import declared_levels, in_groups, of_atoms
from kernelease.methods.interactions.singles import Noise, centres, count_noise, group_values, noise_scale
from kernelease.privacy.accounting import Loss, Privacy, Selection
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.privacy.noise import LARGEST_LAPLACE_SCALE, NoiseSource
from kernelease.privacy.sensitivity import Neighbours, block_sensitivity
from kernelease.table.columns.column import Column
from kernelease.table.domain import Domain

# --------------------
# Reserves: set aside before the charge, so that every later step can be paid.


LEAST_SHARE = 2.0**-24  # limit: of the budget: no block and no choice gets less, whatever the noisy counts are


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """The most noisy numbers of each round, by declared sizes and caps alone.

    Later rounds follow from noisy counts, which nobody knows when the ledger is charged: so each round keeps to what is
    set aside for it here, and every share is at least `LEAST_SHARE`.
    """

    singles: int
    pairs: int
    triples: int
    moments: int = 0
    details: int = 0
    looks: int = 0
    promised: int = 0

    @property
    def numbers(self) -> int:
        """How many numbers all rounds measure."""
        return self.singles + self.pairs + self.triples + self.moments + self.details + self.looks + self.promised

    def total(self, privacy: Privacy, unit: int = 1) -> Loss:
        """The budget with room for all numbers; `CapacityError` where its noise can't be drawn."""
        total = privacy.total(self.numbers)
        scale = 4.0 * noise_scale(privacy, total, block_sensitivity(privacy.relation, unit=unit), LEAST_SHARE)
        if not scale <= LARGEST_LAPLACE_SCALE:  # four times: what a choice needs beside a count
            raise CapacityError(
                f"epsilon = {privacy.epsilon!r} with delta = {privacy.delta!r} is too small: the noise of a count "
                "would be larger than can be drawn. Take a larger epsilon."
            )
        return total


# --------------------
# Expected times of the stages, for plans and progress. Everything in it is public.


READING: Final = "reading rows"
TOGETHER: Final = "noisy counts of pairs"
ROUGHLY: Final = "a first fit, to choose what else to count"
CHOSEN: Final = "noisy counts of what was chosen"
FITTING: Final = "fitting"
DRAWING: Final = "drawing rows"

# Seconds of one core of an ordinary machine, read off whole releases (docs/research.md: Time of a release). They change
# no release: a bar finds out by how much a machine is slower.
_START = 1.0  # convention: libraries are loaded, and the source is opened
_PER_CELL = 2e-7  # convention: a cell of the table, read, encoded and counted
_PER_PAIR = 2.5e-8  # convention: a row, counted in one pair of columns
_PER_DRAW = 1.2e-5  # convention: a number of exact noise
_PER_STEP = 1e-3  # convention: a step of the fit, whatever there is to fit
_PER_PRODUCT = 2e-11  # convention: a multiplication and addition in the fit
_PER_LOGIT = 1e-8  # convention: a parameter of the fit, in one step
_PER_VALUE = 1.3e-6  # convention: a cell of the table, counted in what is chosen, or drawn and decoded


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What there is to do: so many rows and columns, blocks to count, and a mixture to fit to them."""

    rows: float
    columns: int
    blocks: tuple[Block, ...]  # single columns, and pairs that are measured
    looked_at: int = 0  # pairs of which some are chosen privately
    signal: float  # rows over the noise of a count, in pairs
    classes: int = 1  # of a target
    solver: MixtureSolver

    @property
    def cells(self) -> int:
        """How many cells all columns have, as fine as pairs of them are measured."""
        return fitted_cells(self.blocks)

    def seconds(self) -> dict[str, float]:
        """The seconds of each stage, in order."""
        pairs = sum(len(block.columns) > 1 for block in self.blocks)
        numbers = sum(block.cells for block in self.blocks)
        table = self.rows * self.columns
        counted = {READING: _START + table * _PER_CELL}
        if pairs:
            counted[TOGETHER] = self.rows * (pairs + self.looked_at) * _PER_PAIR + numbers * _PER_DRAW
            counted[ROUGHLY] = self._fit(self.solver.rough())
            counted[CHOSEN] = table * _PER_VALUE
        return counted | self.after()

    def after(self) -> dict[str, float]:
        """What follows the measurements."""
        return {FITTING: self._fit(self.solver), DRAWING: self.rows * self.columns * _PER_VALUE}

    def _fit(self, solver: MixtureSolver) -> float:
        components, steps = solver.effort(self.cells, max(1.0, self.signal))
        products = 2 * self.classes * self.cells * self.cells * _PER_PRODUCT
        return solver.number_of_fits() * steps * (_PER_STEP + components * (products + self.cells * _PER_LOGIT))


def fitted_cells(blocks: Sequence[Block]) -> int:
    """Cells of all columns in blocks of several: the parameters of a mixture's component."""
    cells: dict[int, int] = {}
    for block in blocks:
        if len(block.columns) > 1:
            for column, size in zip(block.columns, block.grid, strict=True):
                cells[column] = max(size, cells.get(column, 0))
    return max(1, sum(cells.values()))


def fit_workload(noisy: NoisyBlocks, solver: MixtureSolver) -> Workload:
    """What a fit of these measurements has to do, and to draw as many rows as there are."""
    noisy = noisy.without_details
    return Workload(
        rows=noisy.rows,
        columns=len(noisy.sizes),
        blocks=tuple(block.block for block in noisy.blocks),
        signal=signal_of(noisy),
        solver=solver,
    )


# --------------------
# The rounds.


_ROUNDING = 1.0 - 2.0**-36  # derived: of what is left: covers the rounding of a sum of thousands of charges


@final
class Rounds:
    """The measurement of one table: what it is counted with, and all that was measured and chosen so far, in order.

    Nothing is spent but by `count`, `weigh` and `choose`, and what these may spend is said to them.
    What is to be measured, and what is known, is in terms of groups where a column's atoms are leaves in groups.
    """

    __slots__ = (
        *("_blocks", "_budget", "_counts", "_laid", "_levels", "_looks", "_moments", "_noise", "_ordered"),
        *("_selections", "columns", "kept", "sigma"),
    )

    def __init__(
        self,
        counts: ExactCounts,
        columns: Sequence[Column],
        budget: PrivacyFilter,
        noise: NoiseSource,
        *,
        kept: float = 0.0,
        looks: tuple[NoisyLook, ...] = (),
        laid: tuple[Laid, ...] = (),
    ) -> None:
        self._counts, self._budget, self._noise, self._looks, self._laid = counts, budget, noise, looks, laid
        self._ordered, self._levels = tuple(column.in_order for column in columns), declared_levels(columns)
        self.columns, self.kept = group_values(columns), kept  # of the budget, for whoever comes after
        self.sigma: Noise = count_noise(budget.privacy, budget.total)
        self._blocks: list[NoisyBlock] = []
        self._moments: list[NoisyBlock] = []
        self._selections: list[Selection] = []

    def left(self, *aside: float) -> float:
        """The share of the budget that no step has used yet, less what is set `aside` for steps that follow.

        What is kept for whoever comes after is never spent here.
        """
        spent, total = self._budget.spent, self._budget.total
        pure = self._budget.privacy.pure
        used = spent.pure_epsilon / total.pure_epsilon if pure else spent.mu_squared / total.mu_squared
        unused = _ROUNDING * (1.0 - used)
        for share in (*aside, self.kept):
            unused -= share
        return unused

    def sigma_in_units(self, share: float) -> float:
        """The noise of a count for a share of the budget, in units instead of rows."""
        return self.unit * self.sigma(share)

    @property
    def pure(self) -> bool:
        """Whether what is promised has no δ."""
        return self._budget.privacy.pure

    @property
    def centred(self) -> bool:
        """Whether single columns are measured without their mean."""
        return centres(len(self.columns), self._budget.neighbours, pure=self.pure)

    @property
    def rows(self) -> float | None:
        """The number of rows where it is public; else by what was measured, and None before that."""
        public = self._counts.public_rows(self._budget.neighbours)
        return self.noisy.rows if public is None and self._blocks else public

    @property
    def unit(self) -> int:
        """What one row (or person) adds to a count."""
        return self._counts.unit

    @property
    def leaves(self) -> tuple[int, ...]:
        """For each column, how many leaves are in its groups; 0 where it has no groups."""
        return tuple(0 if groups is None else len(groups) for groups in self._levels)

    @property
    def noisy(self) -> NoisyBlocks:
        """What is known of columns, and of groups where a column has leaves."""
        return in_groups(self.noisy_blocks, self._levels)

    @property
    def known(self) -> tuple[NoisyBlocks, list[Floats]]:
        """The same, and the distribution of each column."""
        return (noisy := self.noisy), distributions_of(noisy)

    @property
    def noisy_blocks(self) -> NoisyBlocks:
        """All that was measured."""
        return join_blocks(
            self._blocks,
            self._counts,
            self._budget.neighbours,
            ordered=self._ordered,
            selections=tuple(self._selections),
            moments=self._moments,
            looks=self._looks,
            laid=self._laid,
        )

    def weigh(self, blocks: Sequence[Block]) -> None:
        """Measure moments, each for its share. No counts follow: the order of measuring is that of the record."""
        self._moments += self._counts.privatise(of_atoms(blocks, self._levels), self._budget, noise=self._noise)

    def count(self, blocks: Sequence[Block], *, stage: int = 0) -> None:
        """Measure blocks, each for its share."""
        self._blocks += self._counts.privatise(
            of_atoms(blocks, self._levels), self._budget, noise=self._noise, stage=stage
        )

    def choose(
        self,
        candidates: Sequence[Block],
        expected: Sequence[Integers],
        handicaps: Sequence[int],
        *,
        count: int,
        share: float,
        forest: bool = False,
    ) -> tuple[Block, ...]:
        """The candidates that a private choice finds farthest from what is expected of them."""
        chosen, picks = self._counts.choose(
            of_atoms(candidates, self._levels),
            expected,
            handicaps,
            self._budget,
            count=count,
            share=share,
            noise=self._noise,
            forest=forest,
        )
        self._selections += picks
        return tuple(candidates[index] for index in chosen)


# --------------------
# The method itself: measure in rounds, fit a mixture, draw rows.


SHOWN = 3  # convention: sets of columns that a warning names


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTable:
    """A mixture of products, and what it was fitted to."""

    mixture: Mixture  # of compounds, off which columns are read
    measured: NoisyBlocks
    compounds: Compounds

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> pa.Table:
        """`count` rows drawn from the mixture (None: as many as the table has, by its public or noisy count).

        Declared numbers keep to the means and variances that were measured. Warns of columns that the rows do not hold
        together as they were measured.
        """
        wanted = max(1, round(self.measured.rows)) if count is None else count
        bounds = () if domain.schema is None else bounds_of(domain.schema.columns, self.measured)
        mixture = keep_within(sharpen(self.mixture), bounds, self.compounds)
        alone = loose_shares(self.measured, bounds, self.compounds)
        poor: list[Misfit] = []

        def draw(number: int) -> Integers:  # first all, then in place of those that break a rule
            rows = draw_rows(mixture, number, generator, whole=wanted)
            if number == wanted:
                poor[:] = mixture.poorly_held_by(rows)
            return self.compounds.read_off(rows, alone, generator).T

        table = domain.draw_table(draw, wanted, generator)
        if domain.schema is not None and poor:
            names = [domain.schema.names[column] for column in self.compounds.own]
            warnings.warn(poorly_held(poor, names), stacklevel=2)
        return table


def poorly_held(poor: Sequence[Misfit], names: Sequence[str]) -> str:
    """Which columns go together in the rows otherwise than in the noisy counts, beyond what noise explains."""
    told = [
        f"{misfit.chi_squared:.1f} for {' × '.join(names[column] for column in misfit.columns)}"
        for misfit in poor[:SHOWN]
    ]
    more = [f"above it for {len(poor) - SHOWN} more"] if len(poor) > SHOWN else []
    return (
        "Synthetic rows do not hold all that was measured: χ² per number, about 1 where only noise is in the way, "
        f"is {', '.join([*told, *more])}. Estimates come from the noisy counts and are not touched by it."
    )


def join_blocks(
    parts: Sequence[NoisyBlock],
    counts: ExactCounts,
    neighbours: Neighbours,
    *,
    ordered: tuple[int, ...] = (),
    selections: tuple[Selection, ...] = (),
    moments: Sequence[NoisyBlock] = (),
    looks: tuple[NoisyLook, ...] = (),
    laid: tuple[Laid, ...] = (),
) -> NoisyBlocks:
    """All that was measured so far, with the number of rows: public, or estimated from the noisy counts."""
    known = counts.public_rows(neighbours)
    return NoisyBlocks(
        sizes=counts.sizes,
        blocks=tuple(parts),
        neighbours=neighbours,
        rows=estimated_rows(tuple(parts)) if known is None else known,
        ordered=ordered,
        selections=selections,
        moments=tuple(moments),
        looks=looks,
        laid=laid,
    )
