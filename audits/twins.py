"""Noise sources: one that is right and quick, and the mistakes that an audit has to catch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.privacy import NoiseSource, SystemNoise


@final
@dataclass
class BulkNoise:
    """The operating system's noise, drawn in bulk and handed out in slices: most of a small draw's time is overhead."""

    amount: int = 20_000
    private: bool = True
    source: NoiseSource = field(default_factory=SystemNoise)
    _stocks: dict[tuple[str, float], Integers] = field(default_factory=dict)

    def gaussian(self, scale: float, size: int) -> Integers:
        return self._take("gaussian", scale, size)

    def laplace(self, scale: float, size: int) -> Integers:
        return self._take("laplace", scale, size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        return self.source.noisy_max(scores, scale)

    def _take(self, law: str, scale: float, size: int) -> Integers:
        stock = self._stocks.get((law, scale), np.empty(0, np.int64))
        if len(stock) < size:
            stock = getattr(self.source, law)(scale, max(self.amount, size))
        self._stocks[law, scale] = stock[size:]
        return stock[:size]


@final
@dataclass
class QuietNoise:
    """Every scale too small by a factor."""

    factor: float
    private: bool = True
    source: NoiseSource = field(default_factory=BulkNoise)

    def gaussian(self, scale: float, size: int) -> Integers:
        return self.source.gaussian(scale * self.factor, size)

    def laplace(self, scale: float, size: int) -> Integers:
        return self.source.laplace(scale * self.factor, size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        return self.source.noisy_max(scores, scale * self.factor)


@final
@dataclass
class RepeatingNoise:
    """The same random numbers for each measurement, as from a generator that is seeded anew."""

    private: bool = True
    _standard: Floats | None = None
    laplace = noisy_max = SystemNoise.laplace

    def gaussian(self, scale: float, size: int) -> Integers:
        if self._standard is None or len(self._standard) != size:
            self._standard = SystemNoise().gaussian(2.0**40, size) / 2.0**40
        return np.rint(self._standard * scale).astype(np.int64)


@final
@dataclass
class CoarseNoise:
    """Discrete Gaussian noise on the grid of the counts themselves, with no τ charged for it: `bits` too coarse."""

    bits: int
    private: bool = True
    laplace = noisy_max = SystemNoise.laplace

    def gaussian(self, scale: float, size: int) -> Integers:
        return SystemNoise().gaussian(scale / 2**self.bits, size) << self.bits


@final
@dataclass
class NoNoise:
    """Nothing is added, and the highest score always wins."""

    private: bool = True

    def gaussian(self, scale: float, size: int) -> Integers:
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        return np.zeros(size, dtype=np.int64)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        return int(np.argmax(scores))
