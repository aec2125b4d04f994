"""A mixture of products, fitted to noisy contingency blocks by gradient steps on a few matrix products.

Component m holds a distribution over the cells of each column and a weight. The model of a pair of columns is
Σ_m w_m p_m q_mᵀ, of a set of three the like. Everything here is public.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.adam import Adam, Single
from kernelease.fit.mixtures.objective import Objective, softmax_weights
from kernelease.fit.solution import Outcome
from kernelease.measured.blocks import NoisyBlocks
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed

_WARM_UP = 0.1  # of the steps, before the penalty adapts
_WORK = 120_000_000  # components times pairs of cells: a step then takes some ten milliseconds
_RANGE = 8.0  # by which the penalty may leave its first value, either way


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """w (M,) and, for each column, p (M, atoms): a distribution over rows of atoms."""

    weights: Floats
    columns: tuple[Floats, ...]
    chi_squared: float  # mean squared misfit in units of the noise's variance: about 1 at the noise floor
    outcome: Outcome

    def marginal(self, column: int) -> Floats:
        """The distribution of one column: (atoms,)."""
        return self.weights @ self.columns[column]

    def grouped(self, column: int, cells: Integers) -> Floats:
        """Each component's distribution over groups of a column's atoms: (M, cells)."""
        return self.columns[column] @ np.eye(int(cells.max()) + 1)[cells]

    def pair(self, first: int, second: int) -> Floats:
        """The joint distribution of two columns: (atoms, atoms)."""
        return (self.columns[first] * self.weights[:, None]).T @ self.columns[second]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureSolver:
    """Minimises ½χ² + κ·Σ_m w_m KL(component m ‖ product of single columns), by Adam with cosine steps.

    The penalty κ, in rows, pulls components toward independence, so that the fit ends at the noise floor instead of
    below it: it is turned up while χ² per number is below `goal` and down while it is above (the discrepancy
    principle), starting from the number of rows over the noise of a count.

    None for `components` or `steps` takes a number that grows with the cells that were measured.
    """

    components: int | None = None
    steps: int | None = None
    goal: float = 0.95
    rate: float = 0.15

    def __post_init__(self) -> None:
        numbers = (1 if self.components is None else self.components, 1 if self.steps is None else self.steps)
        if min(numbers) < 1 or not self.goal > 0.0 or not self.rate > 0.0:
            raise ParameterError(
                "MixtureSolver: components and steps must be at least 1, goal and rate positive, got "
                f"{self.components!r}, {self.steps!r}, {self.goal!r} and {self.rate!r}."
            )

    def solve(self, noisy: NoisyBlocks, seed: PublicSeed, progress: Progress = SILENT) -> Mixture:
        """The mixture whose blocks are nearest to the noisy ones.

        Blocks that were chosen in a later round join in a second descent, which starts where the first one ended.
        """
        objective = Objective.of(noisy)
        stages = [first, objective] if (first := _first_round(noisy, objective)) else [objective]
        components, steps = self.effort(objective.size) if objective.signal else (1, 1)
        progress.stage("fitting", steps * len(stages))
        generator = seed.generator("mixture start")
        jitter = generator.normal(0.0, 1.0, (components, objective.size)) * (components > 1)
        logits = (np.log(objective.prior) + jitter).astype(np.float32)
        weight_logits = np.zeros(components, dtype=np.float32)
        kappa, chi_squared = objective.signal, math.inf
        for stage in stages:
            kappa, chi_squared = self._descend(stage, logits, weight_logits, kappa, steps, progress)
        weights = softmax_weights(weight_logits).astype(np.float64)
        return Mixture(
            weights=weights / weights.sum(),
            columns=objective.atoms(objective.softmax(logits)),
            chi_squared=chi_squared,
            outcome=Outcome.NOISE_FLOOR if chi_squared <= 1.1 else Outcome.ITERATION_LIMIT,
        )

    def _descend(
        self,
        objective: Objective,
        logits: Single,
        weight_logits: Single,
        kappa: float,
        steps: int,
        progress: Progress,
    ) -> tuple[float, float]:
        """Move the logits downhill, in place. The last κ and χ² per number."""
        optimiser, chi_squared = Adam((logits, weight_logits)), math.inf
        for step in range(steps):
            chi_squared, gradients = objective.gradients(logits, weight_logits, kappa)
            optimiser.update(gradients, self.rate * 0.5 * (1.0 + math.cos(math.pi * step / steps)))
            if step > _WARM_UP * steps:
                kappa = self._adapted(kappa, chi_squared, objective.signal)
            progress.step()
        return kappa, chi_squared

    def effort(self, cells: int) -> tuple[int, int]:
        """Components and steps for so many cells of all columns."""
        most = max(1, _WORK // cells**2)
        components = min(1000, max(300, 5 * cells), most) if self.components is None else self.components
        steps = min(1000, max(500, 4 * cells)) if self.steps is None else self.steps
        return components, steps

    def _adapted(self, kappa: float, chi_squared: float, start: float) -> float:
        change = math.exp(0.05 * min(0.2, max(-0.2, self.goal - chi_squared)))
        return min(_RANGE * start, max(start / _RANGE, kappa * change))


def _first_round(noisy: NoisyBlocks, whole: Objective) -> Objective | None:
    """The objective without later rounds, where there are any and it has the same cells."""
    early = tuple(block for block in noisy.blocks if block.round == 0)
    if len(early) == len(noisy.blocks):
        return None
    first = Objective.of(dataclasses.replace(noisy, blocks=early))
    same = all(np.array_equal(one, other) for one, other in zip(first.cells, whole.cells, strict=True))
    return first if same and first.signal else None
