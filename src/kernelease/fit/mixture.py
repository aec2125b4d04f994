"""A mixture of products, fitted to noisy contingency blocks by gradient steps on two matrix products.

Component m holds a distribution p_im over the atoms of each column i (softmax of logits) and a weight w_m. The model of
a pair of columns is Σ_m w_m p_im p_jmᵀ, grouped into the block's cells. Everything here is public.
"""

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.embedding.blocks import NoisyBlocks
from kernelease.errors import ParameterError
from kernelease.fit.solution import Outcome
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed

Single: TypeAlias = NDArray[np.float32]  # half the memory traffic; noise is far above its precision
_FLOOR = 1e-12  # smallest probability of an atom


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

    def pair(self, first: int, second: int) -> Floats:
        """The joint distribution of two columns: (atoms, atoms)."""
        return (self.columns[first] * self.weights[:, None]).T @ self.columns[second]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureSolver:
    """Minimises χ²/cells + prior·Σ_m w_m KL(p_m ‖ product of one-way marginals), by Adam with cosine steps.

    The penalty pulls components toward independence, so that the fit ends near the noise floor instead of below it.
    """

    components: int = 400
    steps: int = 300
    prior: float = 0.01
    rate: float = 0.15

    def __post_init__(self) -> None:
        if self.components < 1 or self.steps < 1 or not self.prior >= 0.0 or not self.rate > 0.0:
            raise ParameterError(
                "MixtureSolver: components and steps must be at least 1, prior at least 0 and rate positive, got "
                f"{self.components!r}, {self.steps!r}, {self.prior!r} and {self.rate!r}."
            )

    def solve(self, noisy: NoisyBlocks, seed: PublicSeed, progress: Progress = SILENT) -> Mixture:
        """The mixture whose blocks are nearest to the noisy ones."""
        progress.stage("fitting", self.steps)
        problem = _Problem.of(noisy, self.prior)
        generator = seed.generator("mixture start")
        logits = np.concatenate([np.log(p) for p in problem.marginals])[None, :].repeat(self.components, axis=0)
        logits = (logits + generator.normal(0.0, 1.0, logits.shape)).astype(np.float32)
        weight_logits = np.zeros(self.components, dtype=np.float32)
        optimiser = _Adam((logits, weight_logits))
        chi_squared = np.inf
        for step in range(self.steps):
            chi_squared, gradients = problem.gradients(logits, weight_logits)
            optimiser.update(gradients, self.rate * 0.5 * (1.0 + np.cos(np.pi * step / self.steps)))
            progress.step()
        probabilities, weights = problem.softmax(logits), _softmax(weight_logits)
        columns = tuple(probabilities[:, s].astype(np.float64) for s in problem.atoms)
        return Mixture(
            weights=weights.astype(np.float64) / weights.sum(dtype=np.float64),
            columns=tuple(p / p.sum(axis=1, keepdims=True) for p in columns),
            chi_squared=chi_squared,
            outcome=Outcome.NOISE_FLOOR if chi_squared <= 1.1 else Outcome.ITERATION_LIMIT,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    """The blocks laid out as one symmetric matrix over all columns' cells, and one vector over all atoms."""

    atoms: tuple[slice, ...]  # each column's atoms in the long vector
    cells: tuple[slice, ...]  # each column's cells in the matrix
    groups: tuple[NDArray[np.int64], ...]
    target: Single  # (cells, cells) shares of rows, both triangles
    precision: Single  # 1/variance of each, 0 where nothing was measured
    one_way: Single  # (atoms,)
    one_way_precision: Single
    marginals: tuple[Floats, ...]
    measured: int
    prior: float

    @classmethod
    def of(cls, noisy: NoisyBlocks, prior: float) -> "_Problem":
        groups = _pair_groups(noisy)
        atoms, cells = _slices(noisy.sizes), _slices([int(group.max()) + 1 for group in groups])
        target = np.zeros((cells[-1].stop, cells[-1].stop), dtype=np.float32)
        precision, one_way = np.zeros_like(target), np.zeros(atoms[-1].stop, dtype=np.float32)
        one_way_precision = np.zeros_like(one_way)
        for block in noisy.blocks:
            shares, weight = block.values / noisy.rows, (noisy.rows / block.sigma) ** 2
            if len(block.block.columns) == 1:
                column = block.block.columns[0]
                one_way[atoms[column]], one_way_precision[atoms[column]] = shares, weight
                continue
            first, second = (cells[column] for column in block.block.columns)
            target[first, second], target[second, first] = shares, shares.T
            precision[first, second] = precision[second, first] = weight
        marginals = tuple(_distribution(one_way[s].astype(np.float64)) for s in atoms)
        return cls(
            atoms=atoms,
            cells=cells,
            groups=groups,
            target=target,
            precision=precision,
            one_way=one_way,
            one_way_precision=one_way_precision,
            marginals=marginals,
            measured=sum(block.block.cells for block in noisy.blocks),
            prior=prior,
        )

    def softmax(self, logits: Single) -> Single:
        """Probabilities of each column's atoms: (M, atoms)."""
        return np.concatenate([_softmax(logits[:, s]) for s in self.atoms], axis=1)

    def gradients(self, logits: Single, weight_logits: Single) -> tuple[float, tuple[Single, Single]]:
        """χ² per measured cell, and the objective's gradient with respect to both sets of logits."""
        p, w = self.softmax(logits), _softmax(weight_logits)
        grouped = self._grouped(p)
        misfit = np.subtract((grouped * w[:, None]).T @ grouped, self.target, dtype=np.float32)
        pull: Single = self.precision * misfit
        one_way_misfit = w @ p - self.one_way
        one_way_pull = self.one_way_precision * one_way_misfit
        chi_squared = (0.5 * float(np.vdot(pull, misfit)) + float(one_way_pull @ one_way_misfit)) / self.measured
        pulled: Single = grouped @ pull
        scale, prior = np.float32(2.0 / self.measured), np.float32(self.prior)
        log_ratio: Single = np.log(p) - np.log(np.concatenate(self.marginals).astype(np.float32))
        slope: Single = scale * (self._spread(pulled) + one_way_pull) + prior * log_ratio
        height: Single = scale * (np.einsum("mf,mf->m", pulled, grouped) / np.float32(2.0) + p @ one_way_pull)
        height += prior * np.einsum("ma,ma->m", p, log_ratio)
        weight_slope: Single = w * (height - w @ height)
        return chi_squared, (w[:, None] * self._through_softmax(p, slope), weight_slope)

    def _grouped(self, p: Single) -> Single:
        """Atoms to cells, column by column: (M, atoms) → (M, cells)."""
        parts = [_sum_groups(p[:, s], group) for s, group in zip(self.atoms, self.groups, strict=True)]
        return np.concatenate(parts, axis=1)

    def _spread(self, pulled: Single) -> Single:
        """The transpose of `_grouped`: (M, cells) → (M, atoms)."""
        parts = [pulled[:, s][:, group] for s, group in zip(self.cells, self.groups, strict=True)]
        return np.concatenate(parts, axis=1)

    def _through_softmax(self, p: Single, slope: Single) -> Single:
        parts = []
        for s in self.atoms:
            weighted = p[:, s] * slope[:, s]
            parts.append(weighted - p[:, s] * weighted.sum(axis=1, keepdims=True))
        return np.concatenate(parts, axis=1)


@final
class _Adam:
    """Adam (Kingma & Ba 2015), in place."""

    __slots__ = ("moments", "parameters", "squares", "steps")

    def __init__(self, parameters: tuple[Single, ...]) -> None:
        self.parameters = parameters
        self.moments = tuple(np.zeros_like(p) for p in parameters)
        self.squares = tuple(np.zeros_like(p) for p in parameters)
        self.steps = 0

    def update(self, gradients: tuple[Single, ...], rate: float) -> None:
        self.steps += 1
        correction = np.sqrt(1.0 - 0.999**self.steps) / (1.0 - 0.9**self.steps)
        for index, gradient in enumerate(gradients):
            moment, square = self.moments[index], self.squares[index]
            np.add(moment, np.float32(0.1) * (gradient - moment), out=moment)
            np.add(square, np.float32(0.001) * (gradient * gradient - square), out=square)
            stride = np.float32(rate * correction) * moment / (np.sqrt(square) + np.float32(1e-12))
            np.subtract(self.parameters[index], stride, out=self.parameters[index])


def _softmax(logits: Single) -> Single:
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shifted /= shifted.sum(axis=-1, keepdims=True)
    result: Single = np.maximum(shifted, np.float32(_FLOOR))
    return result


def _distribution(shares: Floats) -> Floats:
    """Noisy shares as a distribution: negative ones are cut off, none is quite 0."""
    positive = np.maximum(shares, 1e-6)
    result: Floats = positive / positive.sum()
    return result


def _slices(sizes: tuple[int, ...] | list[int]) -> tuple[slice, ...]:
    ends = np.cumsum(sizes)
    return tuple(slice(int(end) - size, int(end)) for size, end in zip(sizes, ends, strict=True))


def _pair_groups(noisy: NoisyBlocks) -> tuple[NDArray[np.int64], ...]:
    """Each column's grouping of atoms in pair blocks; it must be the same in all of them."""
    groups = {column: np.arange(size) for column, size in enumerate(noisy.sizes)}
    for block in (b.block for b in noisy.blocks if len(b.block.columns) == 2):
        groups.update(zip(block.columns, block.groups, strict=True))
    return tuple(groups[column] for column in range(len(noisy.sizes)))


def _sum_groups(p: Single, group: NDArray[np.int64]) -> Single:
    """Sums over runs of equal cells (atoms of a cell are neighbours): (M, atoms) → (M, cells)."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    return p if len(starts) == len(group) else np.add.reduceat(p, starts, axis=1)
