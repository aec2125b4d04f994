"""Contexts with books that can be looked at, and noise that is written in advance."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers, Rows
from kernelease.fit import SyntheticSet
from kernelease.kernels import Gaussian, Kernel
from kernelease.ledgers import MemoryLedger
from kernelease.methods import Context
from kernelease.privacy import NoiseSource, Privacy
from kernelease.seeds import PublicSeed
from kernelease.table.domains import VectorDomain

STRONG = Privacy(epsilon=1.0, delta=1e-6)
KERNEL = Gaussian(lengthscale=1.0)


@final
@dataclass
class ScriptedNoise:
    """Adds what it is told (nothing, by default), and writes down what it was asked for."""

    script: Sequence[int] | None = None
    private: bool = False
    scales: list[float] = field(default_factory=list)
    scores: list[list[int]] = field(default_factory=list)

    def gaussian(self, scale: float, size: int) -> Integers:
        return self._next(scale, size)

    def laplace(self, scale: float, size: int) -> Integers:
        return self._next(scale, size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        self.scales.append(scale)
        self.scores.append(list(scores))
        return int(np.argmax(scores))

    def _next(self, scale: float, size: int) -> Integers:
        self.scales.append(scale)
        return np.zeros(size, dtype=np.int64) if self.script is None else np.array(self.script, dtype=object)


def context(
    *, kernel: Kernel = KERNEL, privacy: Privacy = STRONG, noise: NoiseSource | None = None, seed: int = 0
) -> Context:
    """A context with a ledger of its own, and no noise unless some is given."""
    return Context(
        domain=VectorDomain(kernel),
        privacy=privacy,
        ledger=MemoryLedger(privacy),
        noise=ScriptedNoise() if noise is None else noise,
        seed=PublicSeed(seed),
    )


def entries(of: Context) -> int:
    """How many charges are on the books."""
    assert isinstance(of.ledger, MemoryLedger)
    return len(of.ledger.entries)


def kernel_distance(kernel: Kernel, synthetic: SyntheticSet, rows: Rows) -> float:
    """‖Σ w k(z, ·) − (1/N) Σ k(x, ·)‖ in the kernel's own space, the slow way."""
    points, weights = kernel.admit(synthetic.points), synthetic.weights
    admitted = kernel.admit(rows)
    cross = kernel.gram(admitted, points).mean(axis=0)
    square = (
        weights @ kernel.gram(points, points) @ weights - 2.0 * weights @ cross + kernel.gram(admitted, admitted).mean()
    )
    return float(np.sqrt(max(0.0, square)))


def whitened(covariance: Floats, samples: Floats) -> Floats:
    """Samples (n, F) times the inverse root of a covariance: standard normal if that is their law."""
    white: Floats = np.linalg.solve(np.linalg.cholesky(covariance), samples.T).T
    return white
