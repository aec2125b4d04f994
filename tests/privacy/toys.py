"""Stand-ins for the tests: a feature map whose bounds can be seen at a glance, and books and noise that take notes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from kernelease.arrays import BigIntegers, Floats, Integers, Rows, finite_numbers
from kernelease.features.feature_map import FeatureMap
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import Charge, Law, Loss, Measurement, Privacy, PrivacyFilter, Receipt, Step
from kernelease.privacy.sensitivity import ROWS


@dataclass(frozen=True, kw_only=True)
class OneHot(FeatureMap):
    """Category j of k to the j-th unit vector, in steps of 1/units. What is not a category counts as category 0."""

    categories: int
    units: int = 1
    rows_at_once: int = 1000

    @property
    def dimension(self) -> int:
        return self.categories

    @property
    def step(self) -> float:
        return 1.0 / self.units

    @property
    def norm_bound(self) -> float:
        return 1.0

    @property
    def diameter(self) -> float:
        return math.sqrt(2.0)

    @property
    def diameter_l1(self) -> float:
        return 2.0

    @property
    def norm_bound_l1(self) -> float:
        return 1.0

    @property
    def block_rows(self) -> int:
        return self.rows_at_once

    def integers(self, rows: Rows) -> Integers:
        result = np.zeros((len(rows), self.width), dtype=np.int64)
        result[np.arange(len(rows)), self._categories(rows)] = self.units
        return result

    def total(self, rows: Rows) -> Integers:
        return self.units * np.bincount(self._categories(rows), minlength=self.width)

    def evaluate(self, points: Rows) -> Floats:
        return self.integers(points) * self.step

    def _categories(self, rows: Rows) -> Integers:
        cells = finite_numbers(rows[:, 0])
        return np.where((cells >= 0) & (cells < self.width), cells, 0).astype(np.int64)


@final
@dataclass(frozen=True, kw_only=True)
class Paired(OneHot):
    """Categories 2j and 2j + 1 are told apart by the sum, and added up by the projection."""

    @property
    def width(self) -> int:
        return 2 * self.categories

    def project(self, total: BigIntegers) -> BigIntegers:
        return total.reshape(-1, 2).sum(axis=1)


@final
@dataclass
class RecordingNoise:
    """Constant noise. Writes down each call, with what the filter had recorded as spent by then."""

    value: int = 0
    private: bool = False
    events: list[Any] = field(default_factory=list)
    budget: PrivacyFilter | None = None
    scores: list[list[int]] = field(default_factory=list)

    def gaussian(self, scale: float, size: int) -> Integers:
        return self._note("gaussian", scale, size)

    def laplace(self, scale: float, size: int) -> Integers:
        return self._note("laplace", scale, size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        self._note("noisy_max", scale, len(scores))
        self.scores.append(list(scores))
        return int(np.argmax(scores))

    def _note(self, law: str, scale: float, size: int) -> Integers:
        self.events.append((law, scale, size, self.budget.spent if self.budget else None))
        return np.full(size, self.value, dtype=np.int64)


@final
@dataclass
class RecordingLedger:
    """A `MemoryLedger` that writes down each charge in a list that it may share with a `RecordingNoise`."""

    cap: Privacy
    events: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._books = MemoryLedger(self.cap)

    def charge(self, charge: Charge) -> Receipt:
        receipt = self._books.charge(charge)
        self.events.append(charge)
        return receipt

    def spent(self) -> Loss:
        return self._books.spent()


def open_filter(privacy: Privacy, coordinates: int = 8) -> PrivacyFilter:
    """A filter with books of its own, whose cap is exactly what it asks for."""
    return PrivacyFilter.open(
        privacy, ledger=MemoryLedger(privacy), subject=ROWS, coordinates=coordinates, purpose="a test"
    )


def categories(*cells: float) -> Rows:
    """Rows of one column: (n, 1)."""
    return np.array(cells, dtype=np.float64).reshape(-1, 1)


def a_measurement(*integers: int, bits: int = 0, law: Law, scale: float, private: bool = True) -> Measurement:
    """A measurement as if some mechanism had made it."""
    return Measurement(
        integers=np.array(integers, dtype=object),
        step=Step(law=law, coordinates=len(integers), sensitivity=1.0, scale=scale, bits=bits),
        private=private,
    )
