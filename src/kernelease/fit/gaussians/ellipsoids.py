"""Gaussians of any shape in the place of many round ones: where rows lie along lines, planes or ellipsoids.

Round Gaussians tile a flat one, each with d + 2 parameters of its own. Merged two by two, and fitted again with whole
covariances, they may explain as much with fewer. All of it is in units of the kernel's lengthscales, and whitened.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
import scipy

from kernelease.arrays import Floats
from kernelease.fit.gaussians.likelihood import SubspaceLikelihood
from kernelease.fit.gaussians.sliding_frank_wolfe import Whereabouts
from kernelease.measured.embeddings import Gaussians, even_points

_FIRST, _MORE = 12, 40  # evaluations of a fit, before and after it looks promising. limit: of time
_HOPELESS = 2.0  # times the misfit of round ones, after the first evaluations: not worth the others. limit: of time
_DEAREST = 2  # times as many parameters as round ones have, at most. limit: of time


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ellipsoids:
    """Σ w_k·N(z_k, L_k·L_kᵀ): weights w (K,), centres z (K, d), lower triangles L (K, d, d)."""

    weights: Floats
    centres: Floats
    factors: Floats

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def parameters(self) -> int:
        """A weight, d coordinates and d(d + 1)/2 numbers of the covariance each."""
        return len(self) * _parameters(self.centres.shape[1])

    def features(self, likelihood: SubspaceLikelihood) -> Floats:
        """What the likelihood sees of all of them: (F,)."""
        return np.asarray(likelihood.basis @ (self.weights @ self._blur(likelihood.points)[0]), dtype=np.float64)

    def spread(self, count: int, generator: np.random.Generator, *, least: int = 1) -> tuple[Floats, Floats]:
        """Points of the mixture, about `count` in numbers ∝ weight and each `least`; their weights: (m, d), (m,)."""
        numbers = np.maximum(least, np.rint(self.weights * count)).astype(np.int64)
        dimension = self.centres.shape[1]
        points = [
            centre + even_points(int(number), dimension, generator) @ factor.T
            for centre, factor, number in zip(self.centres, self.factors, numbers, strict=True)
        ]
        return np.concatenate(points), np.repeat(self.weights / numbers, numbers)

    def pull(self, whereabouts: Whereabouts) -> Floats:
        """One over the spread that is expected of each parameter, in the order of `slopes`; 0 for logits: (p,)."""
        count, dimension = self.centres.shape
        spread = np.broadcast_to(whereabouts.spread, (dimension,))
        axes = spread[np.tril_indices(dimension)[0]]
        return np.concatenate([np.zeros(count), np.tile(1.0 / spread, count), np.tile(1.0 / axes, count)])

    def _blur(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """E k(z, c + L·ξ) = √det V⁻¹·exp(−gᵀV⁻¹g/2), V⁻¹g and V⁻¹, with V = I + L·Lᵀ and g = z − c, for points z.

        (F, d) → (K, F), (K, F, d), (K, d, d).
        """
        blurred = np.eye(points.shape[1]) + self.factors @ np.swapaxes(self.factors, 1, 2)
        inverses = np.asarray(np.linalg.inv(blurred), dtype=np.float64)
        gaps = points - self.centres[:, None]
        pulls: Floats = gaps @ inverses
        heights = np.sqrt(np.linalg.det(inverses))[:, None] * np.exp(-0.5 * (gaps * pulls).sum(axis=2))
        return heights, pulls, inverses

    def slopes(self, likelihood: SubspaceLikelihood) -> Floats:
        """Derivatives of `features` by logits, centres and lower triangles: (p, F)."""
        heights, pulls, inverses = self._blur(likelihood.points)
        weighted = self.weights[:, None] * heights
        turned = pulls[:, :, :, None] * (pulls @ self.factors)[:, :, None, :] - (inverses @ self.factors)[:, None]
        rows, columns = np.tril_indices(self.centres.shape[1])
        by_factor = np.moveaxis(weighted[:, :, None] * turned[:, :, rows, columns], 2, 1)
        by_centre = np.moveaxis(weighted[:, :, None] * pulls, 2, 1)
        by_logit = weighted - np.outer(self.weights, weighted.sum(axis=0))
        count = len(likelihood.points)
        moves = np.concatenate([by_logit, by_centre.reshape(-1, count), by_factor.reshape(-1, count)])
        return likelihood.coordinates(moves)

    def scores(self, points: Floats) -> Floats:
        """Derivatives of the logarithm of the density at points, in the order of `slopes`: (M, d) → (M, p)."""
        inverses = np.asarray(np.linalg.inv(self.factors), dtype=np.float64)
        gaps = np.einsum("kij,mkj->mki", inverses, points[:, None] - self.centres)  # L⁻¹g, of covariance I
        logs = np.log(self.weights) - np.linalg.slogdet(self.factors)[1] - 0.5 * (gaps**2).sum(axis=2)
        member = memberships(logs)
        pulls = np.einsum("kji,mkj->mki", inverses, gaps)  # Σ⁻¹g
        turned = pulls[:, :, :, None] * gaps[:, :, None, :] - np.swapaxes(inverses, 1, 2)
        rows, columns = np.tril_indices(self.centres.shape[1])
        by_factor = (member[:, :, None] * turned[:, :, rows, columns]).reshape(len(points), -1)
        by_centre = (member[:, :, None] * pulls).reshape(len(points), -1)
        return np.hstack([member - self.weights, by_centre, by_factor])


def memberships(logs: Floats) -> Floats:
    """How likely a point is to be of each Gaussian, from the logarithms of their densities times weights: (M, K)."""
    member = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(member / member.sum(axis=1, keepdims=True), dtype=np.float64)


def _parameters(dimension: int) -> int:
    return 1 + dimension + dimension * (dimension + 1) // 2


def fit_ellipsoids(likelihood: SubspaceLikelihood, gaussians: Gaussians, whereabouts: Whereabouts) -> Ellipsoids | None:
    """The number of ellipsoids, by halves, that explain most with fewest parameters; None where round ones do better.

    Each parameter follows the noise, so that it has to lower χ² by 2, as everywhere.
    """
    residual = likelihood.residual(gaussians)
    misfit = float(residual @ residual)
    best, least = None, misfit + 2.0 * gaussians.parameters
    most = _DEAREST * gaussians.parameters // _parameters(gaussians.centres.shape[1])
    counts = [2**power for power in reversed(range(max(1, min(most, len(gaussians))).bit_length()))] if most else []
    for start in merge_gaussians(gaussians, counts):
        fitted, left = _fit(likelihood, start, whereabouts, _HOPELESS * least)
        if left > _HOPELESS * least:
            break
        if left + 2.0 * fitted.parameters < least:
            best, least = fitted, left + 2.0 * fitted.parameters
    return best


def merge_gaussians(gaussians: Gaussians, counts: Iterable[int]) -> Iterator[Ellipsoids]:
    """So many in the place of round ones, and then fewer, as `counts` say: with the same mean and covariance as these.

    Those two are merged, again and again, that differ least: w·log det of the covariance of both together, less the
    same of each alone (Runnalls 2007).
    """
    parts: dict[int, _Part] = {}
    costs: dict[tuple[int, int], float] = {}  # of merging two parts

    def add(part: _Part) -> None:
        place = max(parts, default=-1) + 1
        costs.update(
            {(place, other): part.with_(known).size - part.size - known.size for other, known in parts.items()}
        )
        parts[place] = part

    for weight, centre, width in zip(gaussians.weights, gaussians.centres, gaussians.widths, strict=True):
        add(_Part(weight, centre, width**2 * np.eye(len(centre))))
    for count in counts:
        while len(parts) > count:
            pair = min(costs, key=costs.__getitem__)
            both = parts[pair[0]].with_(parts[pair[1]])
            for place in pair:
                del parts[place]
            costs = {others: cost for others, cost in costs.items() if not {*pair} & {*others}}
            add(both)
        yield Ellipsoids(
            weights=np.array([part.weight for part in parts.values()]),
            centres=np.array([part.centre for part in parts.values()]),
            factors=np.linalg.cholesky(np.array([part.covariance for part in parts.values()])),
        )


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """One Gaussian, while they are merged."""

    weight: float
    centre: Floats
    covariance: Floats
    size: float = field(init=False)  # w·log det of the covariance

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.weight * float(np.linalg.slogdet(self.covariance)[1]))

    def with_(self, other: "_Part") -> "_Part":
        """One with the mean and the covariance of both."""
        whole = self.weight + other.weight
        share, gap = self.weight / whole, self.centre - other.centre
        within = share * self.covariance + (1.0 - share) * other.covariance
        return _Part(whole, other.centre + share * gap, within + share * (1.0 - share) * np.outer(gap, gap))


def _fit(
    likelihood: SubspaceLikelihood, start: Ellipsoids, whereabouts: Whereabouts, hopeless: float
) -> tuple[Ellipsoids, float]:
    """The nearest local optimum of the misfit, and that misfit. Where it stays `hopeless`, the search ends early.

    Centres and axes are expected within the public law's spread, so that none drifts where nothing sees it.
    """
    count, dimension = start.centres.shape
    below = np.tril_indices(dimension)
    pull = start.pull(whereabouts)
    middle = np.concatenate([np.zeros(count), np.tile(whereabouts.middle, count), np.zeros(count * len(below[0]))])

    def law(numbers: Floats) -> Ellipsoids:
        logits, centres, triangles = np.split(numbers, [count, count + count * dimension])
        masses = np.exp(logits - logits.max())
        factors = np.zeros((count, dimension, dimension))
        factors[:, below[0], below[1]] = triangles.reshape(count, -1)
        return Ellipsoids(weights=masses / masses.sum(), centres=centres.reshape(count, dimension), factors=factors)

    def misfit(numbers: Floats) -> Floats:
        return np.concatenate([law(numbers).features(likelihood) - likelihood.target, pull * (numbers - middle)])

    def slopes(numbers: Floats) -> Floats:
        return np.vstack([law(numbers).slopes(likelihood).T, np.diag(pull)])

    numbers = np.concatenate(
        [np.log(start.weights), start.centres.ravel(), start.factors[:, below[0], below[1]].ravel()]
    )

    def search(begin: Floats, evaluations: int) -> scipy.optimize.OptimizeResult:
        return scipy.optimize.least_squares(
            misfit, begin, jac=slopes, x_scale="jac", max_nfev=evaluations, ftol=1e-4, xtol=1e-6
        )

    found = search(numbers, _FIRST)
    if found.status == 0 and 2.0 * found.cost <= hopeless:  # not at an end yet
        found = search(found.x, _MORE)
    return law(found.x), 2.0 * float(found.cost)
