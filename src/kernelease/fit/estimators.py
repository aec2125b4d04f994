"""Estimators of the mean embedding that act after the noise, and so cost no budget.

The empirical mean is what the barrier measures. Shrinkage (Muandet et al. 2016) moves the noisy mean towards a public
guess; done after the noise it is post-processing. docs/estimators.md says why shrinkage or quadrature weights *before*
the noise are not offered.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.fit.solution import SyntheticSet
from kernelease.kinds import Kind
from kernelease.measured.embedding import NoisyEmbedding


class Estimator(Kind, ABC):
    """A public function of a noisy embedding that estimates the true one."""

    @abstractmethod
    def estimate(self, noisy: NoisyEmbedding) -> Floats:
        """An estimate of the mean embedding: (J,)."""


@final
@dataclass(frozen=True, slots=True)
class EmpiricalMean(Estimator):
    """The noisy mean itself: unbiased."""

    def estimate(self, noisy: NoisyEmbedding) -> Floats:
        """μ̃."""
        return noisy.mean


@final
@dataclass(frozen=True, slots=True)
class Shrinkage(Estimator):
    """Positive-part James–Stein: guess + max(0, 1 − (J − 2)σ²/‖μ̃ − guess‖²)·(μ̃ − guess).

    `guess` is a public set whose embedding is shrunk towards (None: towards zero). Its squared error is never above
    the noisy mean's in expectation, for J ≥ 3, wherever the truth lies.
    """

    guess: SyntheticSet | None = None

    def estimate(self, noisy: NoisyEmbedding) -> Floats:
        """The shrunk mean."""
        guess = np.zeros_like(noisy.mean) if self.guess is None else self.guess.embedding(noisy.feature_map)
        offset = noisy.mean - guess
        energy = float(offset @ offset)
        if energy == 0.0:
            return guess
        return guess + max(0.0, 1.0 - max(0, len(offset) - 2) * noisy.sigma**2 / energy) * offset
