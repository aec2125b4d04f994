"""Where the randomness of a variable comes from: weighted rows; and fewer of them that keep their embedding."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.fit.points.thinning import systematic, thin
from kernelease.fit.weights.constraints import L1Ball, Simplex
from kernelease.fit.weights.weight_solver import WeightSolver
from kernelease.seeds import PublicSeed

LARGEST_NORM = 10.0  # of weights: Σ|w| that is still bounded
WAVES = 128  # frequencies of the features in which errors are measured
_AT_ONCE = 2**15  # points whose features are in memory at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Weighted rows. Variables of one origin are joint, row by row; variables of different origins are independent.

    Two origins with a common ancestor are neither: a variable that was reduced to few values has lost its rows.
    """

    weights: Floats  # (M,), adding up to 1
    name: str = "rows"
    key: object = field(default_factory=object)  # rows with the same key are the same rows
    ancestors: frozenset[object] = field(default_factory=frozenset)
    released: bool = False  # whether the rows are synthetic ones, which differ from the truth by noise

    def __post_init__(self) -> None:
        if not self.ancestors:
            object.__setattr__(self, "ancestors", frozenset({self.key}))
        total = float(self.weights.sum())
        if not total > 0.0:
            raise ParameterError("A random variable needs weights that add up to more than 0.")
        norm = float(np.abs(self.weights).sum()) / total
        if norm > LARGEST_NORM:
            raise ParameterError(
                f"The weights of this release are not bounded: Σ|w|/Σw is {norm:.3g}, and functions of released "
                f"variables are consistent only where it stays bounded (here at most {LARGEST_NORM:g}). Release with "
                "a constraint=Simplex() or L1Ball(), or refit the weights of this one: release.bounded()."
            )
        object.__setattr__(self, "weights", self.weights / total)

    def __len__(self) -> int:
        return len(self.weights)

    def related(self, other: "Origin") -> bool:
        """Whether two different origins have rows in common."""
        return bool(self.ancestors & other.ancestors)


def check_unrelated(origins: tuple[Origin, ...]) -> None:
    """Raise where two origins share an ancestor without being the same rows."""
    for index, one in enumerate(origins):
        for other in origins[index + 1 :]:
            if one.related(other):
                raise ParameterError(
                    f"These variables depend on each other through {one.name!r}, but one of them was reduced to few "
                    "values and has lost its rows. Write the whole expression before reducing it, or say that they "
                    "are independent: variable.independent_copy()."
                )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """One reduction: how many values became how many, and the distance of their embeddings.

    The embedding is that of a Gaussian kernel on the values (k(x, x) = 1), with a lengthscale of their own spread over
    3, in random Fourier features; so the distance is between 0 and 2, and bounds the error of every mean of a function
    of norm 1 in that kernel's space.
    """

    before: int
    after: int
    error: float
    independent: float  # the error that as many independent draws would have on average

    def __str__(self) -> str:
        return (
            f"{self.before:,} values to {self.after:,}: RKHS error {self.error:.2g} "
            f"(independent draws: {self.independent:.2g})"
        )


def reduce_rows(points: Floats, weights: Floats, count: int, *, seed: int = 0) -> tuple[Integers, Floats, Reduction]:
    """At most `count` of the rows (n, d), by thinning, with weights solved anew so that the embedding stays.

    Their numbers (m,), their weights (m,), and what it cost.
    """
    waves = _Waves.of(points, weights, PublicSeed(seed))
    sizes, signs = np.abs(weights), np.sign(weights)
    generator = PublicSeed(seed).generator("thinning")
    chosen = thin(lambda rows: signs[rows, None] * waves.at(points[rows]), sizes, count, generator)
    distinct, repeats = np.unique(chosen, return_counts=True)
    start = signs[distinct] * repeats * sizes.sum() / count
    target = waves.mean(points, weights)
    solved, error = _best_weights(waves.at(points[distinct]).T, target, start, bounded=float(sizes.sum()))
    independent = float(np.sqrt(max(0.0, sizes.sum() ** 2 - float(target @ target)) / count))
    keep = solved != 0.0
    reduction = Reduction(before=len(points), after=int(keep.sum()), error=error, independent=independent)
    return distinct[keep], solved[keep], reduction


def _best_weights(design: Floats, target: Floats, start: Floats, *, bounded: float) -> tuple[Floats, float]:
    """Weights with Σ|w| no larger than before that come nearest to the target, or the start where that is nearer."""
    scale = float(start.sum())
    constraint = Simplex() if np.all(start >= 0.0) else L1Ball(bounded / scale)
    solver = WeightSolver(constraint=constraint, tolerance=1e-7, iterations=400)
    solved = solver.solve(design, target / scale, start / scale).weights * scale
    errors = [float(np.linalg.norm(design @ weights - target)) for weights in (start, solved)]
    return (solved, errors[1]) if errors[1] < errors[0] else (start, errors[0])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Waves:
    """Random Fourier features of a Gaussian kernel on values, paired: (n, d) → (n, 2·WAVES), of norm 1."""

    frequencies: Floats  # (d, WAVES)
    centre: Floats

    @classmethod
    def of(cls, points: Floats, weights: Floats, seed: PublicSeed) -> "_Waves":
        shares = np.abs(weights) / np.abs(weights).sum()
        order = systematic(shares, min(len(points), 4096), seed.generator("spread"))
        low, centre, high = np.quantile(points[order], [0.16, 0.5, 0.84], axis=0)
        spread = np.where(high > low, 0.5 * (high - low), np.maximum(points.std(axis=0), 1e-300))
        if not np.isfinite(spread).all():
            raise ParameterError("A random variable must have finite values: some are infinite or not a number.")
        drawn = seed.generator("waves").standard_normal((points.shape[1], WAVES))
        return cls(frequencies=3.0 * drawn / spread[:, None], centre=centre)

    def at(self, points: Floats) -> Floats:
        phases = ((points - self.centre) @ self.frequencies).astype(np.float32)  # far finer than any error here
        features = np.hstack([np.cos(phases), np.sin(phases)]) / np.float32(np.sqrt(WAVES))
        return np.asarray(features, dtype=np.float64)

    def mean(self, points: Floats, weights: Floats) -> Floats:
        total = np.zeros(2 * WAVES)
        for start in range(0, len(points), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            total += weights[part] @ self.at(points[part])
        return total
