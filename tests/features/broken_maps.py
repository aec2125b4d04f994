"""Feature maps with the mistakes that this field makes. The conformance suite must reject every one of them."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.features import FeatureMap


@dataclass(frozen=True, kw_only=True)
class Altered(FeatureMap):
    """A right map with some of its claims or functions replaced."""

    inner: FeatureMap
    changes: dict[str, Any] = field(default_factory=dict)

    def _get(self, name: str) -> Any:
        return self.changes.get(name, getattr(self.inner, name))

    @property
    def dimension(self) -> int:
        return self._get("dimension")

    @property
    def step(self) -> float:
        return self._get("step")

    @property
    def norm_bound(self) -> float:
        return self._get("norm_bound")

    @property
    def diameter(self) -> float:
        return self._get("diameter")

    @property
    def diameter_l1(self) -> float:
        return self._get("diameter_l1")

    @property
    def norm_bound_l1(self) -> float:
        return self._get("norm_bound_l1")

    def integers(self, rows: Rows) -> Integers:
        return self._get("integers")(rows)

    def total(self, rows: Rows) -> Integers:
        return self.changes.get("total", super().total)(rows)

    def evaluate(self, points: Rows) -> Floats:
        return self._get("evaluate")(points)


@dataclass(frozen=True, kw_only=True)
class _Waves(FeatureMap):
    """Cosine features in floats, with claims as for paired Fourier features."""

    frequencies: Floats
    offsets: Floats
    scale: int
    amplitude: float = 1.0

    @property
    def dimension(self) -> int:
        return len(self.frequencies)

    @property
    def step(self) -> float:
        return self.amplitude / (self.scale * math.sqrt(self.dimension))

    @property
    def norm_bound(self) -> float:
        return 1.0

    @property
    def diameter(self) -> float:
        return 2.0

    @property
    def norm_bound_l1(self) -> float:
        return math.sqrt(self.dimension)

    @property
    def diameter_l1(self) -> float:
        return 2.0 * math.sqrt(self.dimension)

    def phases(self, rows: Rows) -> Floats:
        raise NotImplementedError

    def integers(self, rows: Rows) -> Integers:
        integers: Integers = np.trunc(np.cos(self.phases(rows)) * self.scale).astype(np.int64)
        return integers

    def evaluate(self, points: Rows) -> Floats:
        return np.multiply(self.integers(points), self.step, dtype=np.float64)


class OffsetCosines(_Waves):
    """√(2/J)·cos(ω·x + b), in a fixed order over columns: a row's own, but of norm up to √2."""

    def phases(self, rows: Rows) -> Floats:
        cells = np.clip(finite_numbers(rows), -1e6, 1e6)
        phases = np.tile(self.offsets, (len(cells), 1))
        for i in range(cells.shape[1]):
            phases += cells[:, i, None] * self.frequencies[:, i]
        return phases


class MatrixProductPhases(_Waves):
    """Phases from a floating-point matrix product: another row changes the last bits of this one's.

    The product is written out, since not on every processor does BLAS give itself away: blocks of four rows are added
    in one order, and what is left over in the other.
    """

    def phases(self, rows: Rows) -> Floats:
        cells = np.clip(finite_numbers(rows), -1e6, 1e6)
        phases, blocked = np.zeros((len(cells), self.dimension)), len(cells) // 4 * 4
        for block, order in (
            (slice(blocked), range(cells.shape[1])),
            (slice(blocked, None), range(cells.shape[1])[::-1]),
        ):
            for i in order:
                phases[block] += cells[block, i, None] * self.frequencies[:, i]
        return phases + self.offsets
