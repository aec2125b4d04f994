"""Numbers about vectors with what they may be off by: estimates, ratios, principal axes, clusters."""

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from scipy.special import ndtri

from kernelease.arrays import Floats, Integers, as_rows, finite_numbers
from kernelease.errors import ParameterError

LEVEL = 0.95  # of intervals. convention


def reach(level: float) -> float:
    """How many standard deviations an interval of this level reaches to either side."""
    if not 0.0 < level < 1.0:
        raise ParameterError(f"interval: level must lie between 0 and 1, got {level!r}.")
    return float(ndtri(0.5 + 0.5 * level))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VectorEstimate:
    """Estimates, of the shape of their standard errors; `bias` is the most by which each may be off beside noise."""

    value: Floats
    standard_error: Floats
    bias: Floats = field(default_factory=lambda: np.zeros(()))

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Lower and upper ends that hold the true number, each with this probability."""
        half = reach(level) * self.standard_error + self.bias
        return self.value - half, self.value + half


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RatioEstimate:
    """Quotients a/b of estimates whose errors are normal: all arrays are (n,)."""

    numerator: Floats
    denominator: Floats
    variances: tuple[Floats, Floats]
    covariance: Floats

    @property
    def value(self) -> Floats:
        """a/b; not a number where b is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.numerator / self.denominator, dtype=np.float64)

    def interval(self, level: float = LEVEL) -> tuple[Floats, Floats]:
        """Fieller's: all q for which a − q·b may be 0. Without ends where b itself may be 0."""
        z = reach(level)
        a, b, (u, v), c = self.numerator, self.denominator, self.variances, self.covariance
        # (a − q·b)² ≤ z²·(u − 2·q·c + q²·v), a quadratic inequality in q with leading coefficient b² − z²·v.
        leading, middle, last = b**2 - z**2 * v, a * b - z**2 * c, a**2 - z**2 * u
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(middle**2 - leading * last, 0.0))
            low, high = (middle - root) / leading, (middle + root) / leading
        bounded = leading > 0.0
        return np.where(bounded, low, -np.inf), np.where(bounded, high, np.inf)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PrincipalAxes:
    """Directions (k, d) in which vectors vary most, by variance, and how well they are known, at 95 %.

    `low` and `high` hold all true variances at once: no eigenvalue moves by more than the noise's largest one. An axis
    is off by at most its `angle`, in radians: by Davis and Kahan sin θ ≤ e/(g − e), e the noise's largest eigenvalue,
    g the gap to the next variance. An angle of π/2 says nothing.
    """

    directions: Floats
    variances: Floats
    low: Floats
    high: Floats
    angles: Floats

    @classmethod
    def of(cls, covariance: Floats, shrunk: Floats, noise: float, count: int) -> "PrincipalAxes":
        """The first axes of a noisy covariance; `shrunk` are the best guesses of its eigenvalues, ascending: (d,)."""
        values, axes = np.linalg.eigh(covariance)
        gaps = np.minimum(np.diff(values, append=np.inf), np.diff(values, prepend=-np.inf))
        left = np.maximum(gaps - noise, 0.0)
        sines = np.where(left > noise, noise / np.where(left > 0.0, left, 1.0), 1.0)
        chosen = np.arange(len(values))[::-1][:count]
        directions = axes[:, chosen].T
        sides = np.take_along_axis(directions, np.argmax(np.abs(directions), axis=1)[:, None], axis=1)
        return cls(
            directions=directions * np.sign(sides),
            variances=shrunk[chosen],
            low=np.maximum(values[chosen] - noise, 0.0),
            high=values[chosen] + noise,
            angles=np.arcsin(sines[chosen]),
        )

    def project(self, vectors: Any) -> Floats:
        """Coordinates of vectors along the axes: (n, d) → (n, k)."""
        cells = finite_numbers(as_rows(vectors))
        if cells.shape[1] != self.directions.shape[1]:
            raise ParameterError(f"vectors must have {self.directions.shape[1]} columns, got {cells.shape[1]}.")
        return cells @ self.directions.T


def largest_noise(draws: Floats) -> float:
    """The largest eigenvalue that a noisy symmetric matrix has beyond the true one, at 95 %: (n, d, d) draws of noise.

    Its law is close to a normal one, whose mean and standard deviation the draws tell.
    """
    sizes = np.array([np.abs(np.linalg.eigvalsh(draw)).max() for draw in draws])
    return float(sizes.mean() + 2.0 * sizes.std())


# --------------------
# Clusters: k-means over released rows, which is free.


_STARTS = 8  # of which the best is taken. convention
_STEPS = 50  # of each. limit: of time


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """Clusters of released rows: cells around centres, with the share of the private rows in each and their mean.

    `centres` (k, d) say which vector is in which cell: the nearest. `shares` (k,) and `means` (k, d) are estimates for
    the private rows in these cells.
    """

    centres: Floats
    shares: VectorEstimate
    means: VectorEstimate

    def assign(self, vectors: Any) -> Integers:
        """The cluster of each vector: (n, d) → (n,)."""
        return nearest_centre(finite_numbers(as_rows(vectors)), self.centres)


def k_means(points: Floats, weights: Floats, count: int, generator: np.random.Generator) -> Floats:
    """Centres of weighted points, heaviest cluster first: (M, d), (M,) → (≤ count, d). Arthur & Vassilvitskii 2007."""
    best, least = points[:1], np.inf
    for _ in range(_STARTS):
        centres = _spread_centres(points, weights, count, generator)
        for _ in range(_STEPS):
            moved = _cell_means(points, weights, nearest_centre(points, centres), len(centres))
            if len(moved) == len(centres) and np.array_equal(moved, centres):
                break
            centres = moved
        cost = float(weights @ _squares(points, centres).min(axis=1))
        best, least = (centres, cost) if cost < least else (best, least)
    masses = np.bincount(nearest_centre(points, best), weights, minlength=len(best))
    return best[np.argsort(-masses, kind="stable")]


def nearest_centre(points: Floats, centres: Floats) -> Integers:
    """(M, d), (k, d) → (M,)."""
    return np.asarray(np.argmin(_squares(points, centres), axis=1), dtype=np.int64)


def _squares(points: Floats, centres: Floats) -> Floats:
    squares: Floats = (centres**2).sum(axis=1) - 2.0 * points @ centres.T + (points**2).sum(axis=1)[:, None]
    return np.maximum(squares, 0.0)


def _spread_centres(points: Floats, weights: Floats, count: int, generator: np.random.Generator) -> Floats:
    """Each next one with a probability in proportion to its squared distance from those before."""
    law = weights / weights.sum()
    chosen = [int(generator.choice(len(points), p=law))]
    while len(chosen) < count:
        far = weights * _squares(points, points[chosen]).min(axis=1)
        if not far.sum() > 0.0:
            break
        chosen.append(int(generator.choice(len(points), p=far / far.sum())))
    return points[chosen]


def _cell_means(points: Floats, weights: Floats, members: Integers, count: int) -> Floats:
    """Of the cells that have weight."""
    masses = np.bincount(members, weights, minlength=count)
    sums = np.stack([np.bincount(members, weights * column, minlength=count) for column in points.T], axis=1)
    kept = masses > 0.0
    return np.asarray(sums[kept] / masses[kept, None], dtype=np.float64)
