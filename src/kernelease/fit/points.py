"""Points one at a time: the paper's greedy pre-images; and rows of equal weight, by herding and thinning."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows, block_slices, finite_numbers
from kernelease.errors import ParameterError, check_integer
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.fit.solver import Outcome, PointSolver, PointSource, Solution, SyntheticSet
from kernelease.fit.weights import Constraint, L1Ball, WeightSolver, tolerance_at_noise
from kernelease.machine import refuse_beyond_memory
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.seeds import PublicSeed

# --------------------
# Kernel herding: points of equal weight, each placed where the embedding still lacks mass.


def herd(feature_map: FeatureMap, target: Floats, candidates: Rows, count: int) -> SyntheticSet:
    """`count` points of weight 1/count, each a candidate (repeats allowed), whose mean embedding follows `target`.

    The t-th point maximises ⟨φ(z), t·target − Σ_{s<t} φ(z_s)⟩ (Chen, Welling & Smola 2010). Candidates and target are
    public, so this is free.
    """
    if count < 1 or len(candidates) == 0:
        raise ParameterError(f"herd: needs at least one point and one candidate, got {count!r} and {len(candidates)}.")
    features = feature_map.evaluate(candidates)
    pull, gram = features @ target, features @ features.T
    # With norms that differ, subtracting half the squared norm makes each step the nearest one in the embedding space.
    handicap = 0.5 * np.diagonal(gram)
    chosen = np.empty(count, dtype=np.int64)
    taken = np.zeros(len(candidates))
    for step in range(count):
        chosen[step] = np.argmax((step + 1) * pull - taken - handicap)
        taken += gram[chosen[step]]
    return SyntheticSet(points=candidates[chosen], weights=np.full(count, 1.0 / count))


# --------------------
# Thinning: few rows of equal weight whose mean embedding stays near that of many weighted ones.
#
# Halve a set again and again: take its rows two by two and keep one of each two, so that what was kept and what was
# dropped stay in balance in the embedding. The mean then moves by about 1/n for n rows that are left, where
# independent draws would move it by about 1/√n (self-balancing walks: Alweiss, Liu & Sawhney 2021; kernel thinning:
# Dwivedi & Mackey 2021).


HALVINGS = 3  # from so many times as many rows, at most 2 to this power. research: Thinning
_LARGEST = 2**18  # rows to start from, unless one halving needs more. limit: of time, some seconds
_AT_ONCE = 2**22  # features in memory at a time. limit: 32 MiB


def thin(
    features: Callable[[Integers], NDArray[np.floating]], weights: Floats, count: int, generator: np.random.Generator
) -> Integers:
    """`count` rows, with repeats where a row weighs more than one of them: their numbers, (count,), in random order.

    `features(rows)` are the embeddings of rows given by their numbers: (n,) → (n, F).
    """
    if count < 1 or np.any(weights < 0.0) or not weights.sum() > 0.0:
        raise ParameterError(
            "sample: needs a positive number of rows and a release with weights that are not negative; "
            "fit it again on the simplex."
        )
    shares = weights / weights.sum() * count
    whole = np.floor(shares + 1e-9).astype(np.int64)  # rows that are taken in any case
    left = count - int(whole.sum())
    chosen = [np.repeat(np.arange(len(weights)), whole)]
    if left:
        rest = np.maximum(shares - whole, 0.0)
        rounds = max(1, min(HALVINGS, int(np.log2(max(2, _LARGEST // left)))))
        drawn = systematic(rest, left * 2**rounds, generator)
        for _ in range(rounds):
            drawn = halve(features, drawn, generator)
        chosen.append(drawn)
    return generator.permutation(np.concatenate(chosen))


def halve(
    features: Callable[[Integers], NDArray[np.floating]], rows: Integers, generator: np.random.Generator
) -> Integers:
    """One of each two rows, in balance: (2n,) → (n,). Of two that are the same row one is kept in any case."""
    distinct, numbers = np.unique(rows, return_counts=True)
    pairs = generator.permutation(distinct[numbers % 2 == 1]).reshape(-1, 2)
    kept = np.empty(len(pairs), dtype=np.int64)
    width = features(rows[:1]).shape[1]
    balance: NDArray[np.floating] = np.zeros(width, dtype=np.float32)  # Σ of what was kept minus what was dropped
    for block in block_slices(len(pairs), max(1, _AT_ONCE // max(1, width))):
        one, other = features(pairs[block, 0]), features(pairs[block, 1])
        for index, step in enumerate((one - other).astype(np.float32), start=block.start):
            first = float(balance @ step) <= 0.0
            balance += step if first else -step
            kept[index] = pairs[index, 0 if first else 1]
    return np.concatenate([np.repeat(distinct, numbers // 2), kept])


def systematic(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """`count` rows in proportion to their weights, at equally spaced marks in a random order: (count,)."""
    order = generator.permutation(len(weights))
    ends = np.cumsum(weights[order]) / weights.sum() * count
    marks = np.searchsorted(ends, np.arange(count) + generator.random(), side="right")
    return order[np.minimum(marks, len(order) - 1)]


# --------------------
# The paper's reduced-set solver: pre-images one at a time, then weights of bounded L1 norm. The baseline.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class GreedyPreimages(PointSolver):
    """Each new point climbs the residual's witness function f(z) = ⟨residual, φ(z)⟩ from the best of `starts` draws.

    After each point all weights are solved again under `constraint`. With `stop_at_noise` it ends when the distance to
    the noisy embedding is down to the noise floor; the paper's code goes on to the last point.
    """

    points: int = 100
    constraint: Constraint = L1Ball(1.0)
    starts: int = 64
    stop_at_noise: bool = True

    def __post_init__(self) -> None:
        check_integer("GreedyPreimages: points", self.points, 1, 2**62)
        check_integer("GreedyPreimages: starts", self.starts, 1, 2**62)

    def check(self, feature_map: FeatureMap, source: PointSource) -> None:
        """Refuse maps without a gradient, and more points or starts than memory holds."""
        _fourier(feature_map)
        width = max(source.dimension, feature_map.dimension)
        refuse_beyond_memory(f"GreedyPreimages: {self.points:,} points", self.points, max(width, self.points))
        refuse_beyond_memory(f"GreedyPreimages: {self.starts:,} starts", self.starts, width)

    def solve(self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed) -> Solution:
        """Place up to `points` points."""
        sets = self.path(noisy, target, source, seed)
        synthetic, distance = next(sets)
        while not (at_floor := self.stop_at_noise and distance <= noisy.noise_floor):
            following = next(sets, None)
            if following is None:
                break
            synthetic, distance = following
        return Solution(
            synthetic=synthetic,
            distance=distance,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.NOISE_FLOOR if at_floor else Outcome.POINT_LIMIT,
            iterations=len(synthetic),
        )

    def path(
        self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed
    ) -> Iterator[tuple[SyntheticSet, float]]:
        """The set after each new point, with its distance to the target."""
        feature_map = _fourier(noisy.feature_map)
        generator = seed.generator("greedy pre-images")
        energy = float(target @ target)
        solver = WeightSolver(constraint=self.constraint, tolerance=tolerance_at_noise(noisy.noise_floor, target))
        points = np.empty((0, source.dimension))
        features = np.empty((0, feature_map.dimension))
        weights, gram, linear = np.empty(0), np.empty((0, 0)), np.empty(0)
        for _ in range(self.points):
            starts = finite_numbers(source.draw(self.starts, generator))
            point = _climb(feature_map, target - weights @ features, starts, signed=self.constraint.signed)
            feature = feature_map.evaluate(point)
            cross = features @ feature[0]
            gram = np.block([[gram, cross[:, None]], [cross[None, :], feature @ feature.T]])
            points, features = np.vstack([points, point]), np.vstack([features, feature])
            linear = np.append(linear, feature @ target)
            fitted = solver.solve_quadratic(gram, linear, energy, np.append(weights, 0.0))
            weights = fitted.weights
            yield SyntheticSet(points=points, weights=weights), float(np.sqrt(fitted.objective))


def _fourier(feature_map: FeatureMap) -> Fourier:
    """The map itself, if it has the gradient that climbing needs."""
    if not isinstance(feature_map, Fourier):
        raise ParameterError(f"GreedyPreimages: needs Fourier features, got {type(feature_map).__name__}.")
    return feature_map


def _climb(feature_map: Fourier, residual: Floats, starts: Rows, *, signed: bool) -> Rows:
    """The point that gradient ascent on the witness reaches from the best start: (1, d).

    Where weights may be negative a valley is worth as much as a peak, and |witness| is climbed.
    """
    heights = feature_map.evaluate(starts) @ residual
    best = int(np.argmax(np.abs(heights) if signed else heights))
    sign = -1.0 if signed and heights[best] < 0 else 1.0

    def descent(z: Floats) -> tuple[float, Floats]:
        value, gradient = feature_map.value_and_gradient(z[None, :], residual)
        return -sign * float(value[0]), -sign * gradient[0]

    result = scipy.optimize.minimize(descent, starts[best], jac=True, method="L-BFGS-B", options={"maxiter": 100})
    highest: Floats = result.x
    return highest[None, :]
