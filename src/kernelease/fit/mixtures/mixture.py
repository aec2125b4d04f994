"""A mixture of products, fitted to noisy contingency blocks by gradient steps on a few matrix products.

Component m holds a distribution over the cells of each column and a weight. The model of a pair of columns is
Σ_m w_m p_m q_mᵀ, of a larger set the like. Everything here is public.
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from threadpoolctl import threadpool_limits

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.adam import Adam, Single
from kernelease.fit.mixtures.details import Detail
from kernelease.fit.mixtures.leaves import Leaves, leaves_of
from kernelease.fit.mixtures.misfit import Misfit, poor
from kernelease.fit.mixtures.objective import Objective, softmax_weights
from kernelease.fit.mixtures.schedule import Schedule
from kernelease.fit.mixtures.start import blurred_rows
from kernelease.fit.mixtures.unheld import Unheld
from kernelease.fit.solution import Outcome
from kernelease.kinds import Kind
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.levels import in_groups, levels_of
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed

FEWEST, MOST = 400, 3500  # limit: components: those beyond 4,000 gain a hundredth of the error or less
_WORK = 1_260_000_000  # limit: components times pairs of cells: the most components at 600 cells, fewer only beyond
_MANY = 2000  # research: Tables: cells of categories. Components from which on more of them take fewer steps
_FEW_STEPS = 100  # research: Tables: one constant at a time. Of a rough fit
_STEPS = 42.0  # research: Tables: one constant at a time. At signal 1; they grow with its fourth root
_QUICK_COMPONENTS, _QUICK_STEPS = 100, 40  # convention: of a first look, in seconds
# research: Tables: one thread of BLAS. For a product: those of NumPy and of SciPy wait for each other by spinning
_BLAS_THREADS = 1
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

    @property
    def poorly_held(self) -> tuple[Misfit, ...]:
        """The blocks whose counts are farther from the mixture than noise explains, the worst first."""
        return poor(self.misfits)

    def poorly_held_by(self, rows: Integers) -> tuple[Misfit, ...]:
        """Those of them that rows drawn from it, (columns, n), do not hold either."""
        if not self.unheld:
            return ()
        leaves = self.leaves or (None,) * len(rows)
        inner = [own if leaf is None else leaf.groups[own] for own, leaf in zip(rows, leaves, strict=True)]
        return poor([unheld.misfit(np.stack(inner)) for unheld in self.unheld])

    @property
    def unheld_pairs(self) -> tuple[Unheld, ...]:
        """Those of two columns."""
        return tuple(unheld for unheld in self.unheld if len(unheld.columns) == 2)

    def marginal(self, column: int) -> Floats:
        """The distribution of one column: (atoms,)."""
        return self.weights @ self.columns[column]

    def grouped(self, column: int, cells: Integers) -> Floats:
        """Each component's distribution over groups of a column's atoms: (M, cells)."""
        return self.columns[column] @ np.eye(int(cells.max()) + 1)[cells]

    def joint(self, columns: Sequence[int], groups: Sequence[Integers]) -> Floats:
        """The joint distribution of groups of some columns' atoms: an axis for each column."""
        *first, last = map(self.grouped, columns, groups)
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
class MixtureSolver(Kind):
    """Minimises ½χ² + κ·Σ_m w_m KL(component m ‖ product of single columns) by Adam, from rows of a tree model.

    The penalty κ, in rows, pulls components toward independence, so that the fit ends at the noise floor instead of
    below it: it is turned up while χ² per number is below `goal` and down while it is above (the discrepancy
    principle), starting near the number of rows over the noise of a count.

    None for `components`, `steps` or `goal` takes what suits the cells that were measured and their *signal*, the
    number of rows over the noise of a count: the larger it is, the more can be seen, and the more of the noise a
    faithful model has to explain along with it. With `device="cuda"` the steps are made on a GPU.
    """

    components: int | None = None
    steps: int | None = None
    goal: float | None = None
    rate: float = 0.2
    device: str | None = None

    def __post_init__(self) -> None:
        numbers = (1 if self.components is None else self.components, 1 if self.steps is None else self.steps)
        if min(numbers) < 1 or not (self.goal is None or self.goal > 0.0) or not self.rate > 0.0:
            raise ParameterError(
                "MixtureSolver: components and steps must be at least 1, goal and rate positive, got "
                f"{self.components!r}, {self.steps!r}, {self.goal!r} and {self.rate!r}."
            )
        if self.device not in (None, "cuda"):
            raise ParameterError(f"MixtureSolver: device must be None or 'cuda', got {self.device!r}.")

    def quick(self) -> "MixtureSolver":
        """The same for a first look: few components and steps, seconds in place of minutes, and a coarser fit."""
        return dataclasses.replace(self, components=_QUICK_COMPONENTS, steps=_QUICK_STEPS)

    def solve(
        self, noisy: NoisyBlocks, seed: PublicSeed, progress: Progress = SILENT, *, stage: str = "fitting"
    ) -> Mixture:
        """The mixture whose blocks are nearest to the noisy ones. `stage` is what to call it meanwhile."""
        levels = levels_of(noisy)
        grouped = in_groups(noisy, levels)
        details = tuple(Detail.of(block, noisy.rows) for block in grouped.details)
        fitted = grouped.without_details
        objective = Objective.of(fitted, details)
        components, steps = self.effort(objective.size, objective.signal) if objective.signal else (1, 1)
        progress.stage(stage, steps)
        generator = seed.generator("mixture start")
        prior = [objective.prior[place].astype(np.float64) for place in objective.places]
        logits = blurred_rows(fitted, prior, objective.cells, components, generator)
        if components == 1:
            logits = np.log(objective.prior)[None].copy()
        weight_logits = np.zeros(components, dtype=np.float32)
        signal = objective.signal
        schedule = Schedule(steps=steps, rate=self.rate, goal=self.aim(signal), signal=signal)
        if self.device is None:
            with threadpool_limits(_BLAS_THREADS, user_api="blas"):
                _descend(objective, logits, weight_logits, schedule, progress)
        else:
            from kernelease.fit.mixtures.device_descent import DeviceDescent  # noqa: PLC0415  # an engine apart

            logits, weight_logits = DeviceDescent(objective, logits, weight_logits, schedule).run(progress)
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
            sets=tuple(block.block for block in fitted.blocks if len(block.block.columns) > 2),
            details=details,
            leaves=leaves_of(noisy, levels, objective.columns),
            unheld=objective.unheld(misfits),
        )

    def effort(self, cells: int, signal: float = _TYPICAL) -> tuple[int, int]:
        """Components and steps for so many cells of all columns, at this signal."""
        wanted = min(MOST, max(FEWEST, round(cells * (signal / 100.0) ** 0.6)))
        components = min(wanted, max(100, _WORK // cells**2)) if self.components is None else self.components
        fewer = min(1.0, _MANY / components)
        steps = max(150, round(fewer * min(350.0, _STEPS * signal**0.25))) if self.steps is None else self.steps
        return components, steps

    def rough(self) -> "MixtureSolver":
        """A quick look, good enough to choose what to measure next; what was asked for by number stays."""
        return dataclasses.replace(self, components=self.components or FEWEST, steps=self.steps or _FEW_STEPS)

    def aim(self, signal: float) -> float:
        """χ² per number at which to end: the fit follows a part of the noise that grows with what it can see."""
        return 1.0 - 0.01 * min(signal, 1e4) ** 0.35 if self.goal is None else self.goal


def _descend(
    objective: Objective, logits: Single, weight_logits: Single, schedule: Schedule, progress: Progress
) -> None:
    """Move the logits downhill, in place."""
    optimiser, kappa = Adam((logits, weight_logits)), schedule.first
    for step in range(schedule.steps):
        chi_squared, gradients = objective.gradients(logits, weight_logits, kappa)
        optimiser.update(gradients, schedule.rate_at(step))
        kappa = schedule.next_penalty(kappa, chi_squared, step)
        if schedule.leans(step) and chi_squared < schedule.near:
            objective.lean(objective.normalise(logits), softmax_weights(weight_logits))
        progress.step()
