"""Gaussians: round clouds of mass, each with a centre, a width and a weight. A coarse description of a distribution."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from scipy.special import ndtri

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.kinds import Kind

_TAIL = 1e-9  # a Sobol sequence may hold 0, where the normal law has no quantile


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussians(Kind):
    """Σ w_k·N(z_k, s_k²·I): centres z (K, d), widths s (K,), weights w (K,) on the probability simplex.

    >>> pair = Gaussians(centres=np.zeros((2, 3)), widths=np.array([0.0, 1.0]), weights=np.array([0.5, 0.5]))
    >>> len(pair), pair.crosses()[0].shape
    (2, (12, 3))
    """

    centres: Floats
    widths: Floats
    weights: Floats

    def __post_init__(self) -> None:
        if not len(self.centres) == len(self.widths) == len(self.weights):
            raise ParameterError("Gaussians: needs one centre, one width and one weight each.")

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def parameters(self) -> int:
        """A weight, a width and d coordinates each."""
        return len(self) * (int(self.centres.shape[1]) + 2)

    @classmethod
    def none(cls, dimension: int) -> "Gaussians":
        """No Gaussian at all, in `dimension` columns."""
        return cls(centres=np.empty((0, dimension)), widths=np.empty(0), weights=np.empty(0))

    def joined(self, centres: Floats, width: float) -> "Gaussians":
        """With more Gaussians of one width, which have no weight yet."""
        return Gaussians(
            centres=np.concatenate([self.centres, centres]),
            widths=np.concatenate([self.widths, np.full(len(centres), width)]),
            weights=np.concatenate([self.weights, np.zeros(len(centres))]),
        )

    def weighted(self, weights: Floats) -> "Gaussians":
        """With other weights, and without the Gaussians that then have none."""
        kept = weights > 0.0
        return Gaussians(
            centres=self.centres[kept], widths=self.widths[kept], weights=weights[kept] / weights[kept].sum()
        )

    def crosses(self) -> tuple[Floats, Floats]:
        """Each Gaussian as 2d points z ± s·√d·e_i of equal weight: (2dK, d) and (2dK,).

        They have its mean and covariance, so its embedding up to the fourth order in s over the lengthscale.
        """
        dimension = self.centres.shape[1]
        points = self.centres[:, None, :] + self.widths[:, None, None] * cross(dimension)
        return points.reshape(-1, dimension), np.repeat(self.weights / (2 * dimension), 2 * dimension)

    def sample(self, count: int, generator: np.random.Generator, *, jitter: float = 0.0) -> Floats:
        """Points of the mixture with every width raised to √(s² + jitter²), in numbers ∝ weight: (count, d)."""
        ends = np.floor(np.cumsum(self.weights) / self.weights.sum() * count + generator.random())
        numbers = np.diff(np.minimum(ends, count), prepend=0.0).astype(np.int64)
        members = np.repeat(np.arange(len(self)), numbers)
        spread = np.hypot(self.widths[members], jitter)[:, None]
        return self.centres[members] + spread * generator.standard_normal((len(members), self.centres.shape[1]))

    def spread(self, count: int, generator: np.random.Generator) -> Floats:
        """Points of the mixture, about `count` in numbers ∝ weight, more even than random ones: (m, d).

        Each Gaussian has points of a scrambled Sobol sequence, whose mean features are closer to the Gaussian's own.
        """
        numbers = np.maximum(1, np.rint(self.weights / self.weights.sum() * count)).astype(np.int64)
        dimension = self.centres.shape[1]
        parts = []
        for centre, width, number in zip(self.centres, self.widths, numbers, strict=True):
            sequence = scipy.stats.qmc.Sobol(dimension, rng=generator)
            even = sequence.random_base2(math.ceil(math.log2(number)))[:number]
            parts.append(centre + width * ndtri(np.clip(even, _TAIL, 1.0 - _TAIL)))
        return np.concatenate(parts)


def cross(dimension: int) -> Floats:
    """±√d·e_i: equally weighted points of mean 0 and covariance I: (2d, d)."""
    axes = math.sqrt(dimension) * np.eye(dimension)
    return np.concatenate([axes, -axes])
