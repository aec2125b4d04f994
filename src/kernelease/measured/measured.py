"""What a method has measured: noisy numbers that are paid for, and so public."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from kernelease.arrays import BigIntegers
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import Kind
from kernelease.privacy.accounting import Law, Loss, Step
from kernelease.privacy.sensitivity import Neighbours, Sensitivity
from kernelease.table.domain import Domain

# --------------------
# A number that a method chose by a public rule.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Kind):
    """What was chosen, and why.

    >>> print(Choice(name="rank", value=12, reason="as given"))
    rank = 12: as given
    """

    name: str
    value: int
    reason: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value}: {self.reason}"


# --------------------
# Replayed noise: the results that a method got, handed out again in the same order.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Noisy integers of one vector. Where its last number is a count of rows (`counted`), it was drawn with the first.

    More of a vector may be drawn in rounds: the count then still stands last.
    """

    integers: BigIntegers
    counted: bool = False


@final
@dataclass(slots=True, kw_only=True)
class RecordedNoise:
    """A `NoiseSource` that draws nothing: the noisy numbers of `vectors`, then the indices of `picks`, as they came.

    Added to sums that are 0, its numbers are the noisy sums themselves (`BlankRows`). Whoever asks for more, or for
    others, than were recorded is refused with a `ParameterError`.
    """

    vectors: tuple[Recording, ...]
    picks: tuple[int, ...]
    private: bool
    _vector: int = field(default=0, init=False)
    _drawn: int = field(default=0, init=False)
    _picked: int = field(default=0, init=False)

    def gaussian(self, scale: float, size: int) -> Any:
        """The next `size` noisy integers."""
        return self._next(size)

    def laplace(self, scale: float, size: int) -> Any:
        """The next `size` noisy integers."""
        return self._next(size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        """The next index that was picked."""
        if self._picked == len(self.picks) or not 0 <= self.picks[self._picked] < len(scores):
            raise ParameterError("the method picks more often, or from fewer, than was recorded.")
        self._picked += 1
        return self.picks[self._picked - 1]

    @property
    def exhausted(self) -> bool:
        """Whether all of it was asked for."""
        return self._vector == len(self.vectors) and self._picked == len(self.picks)

    def _next(self, size: int) -> BigIntegers:
        if self._vector == len(self.vectors):
            raise ParameterError("the method draws more noise than was recorded.")
        vector = self.vectors[self._vector]
        count_too = vector.counted and self._drawn == 0
        end = self._drawn + size - count_too
        inner = len(vector.integers) - vector.counted
        if end > inner:
            raise ParameterError("the method draws other vectors than were recorded.")
        numbers = vector.integers[self._drawn : end]
        self._drawn = end
        if end == inner:
            self._vector, self._drawn = self._vector + 1, 0
        return np.append(numbers, vector.integers[-1:]) if count_too else numbers


# --------------------
# The base class of all measured things.


_MOST_ROWS = 2.0**47  # no table has more, and float64 holds such a number to 1/64


class Measured(Kind, ABC):
    """All that came through the barrier in one release. Whatever is made of it is free.

    Each kind of measurement knows what it must have cost (`steps`, `least_sensitivities`), whether its parts belong
    together (`check`), and how accurate it is (`accuracy`), so that nobody else has to ask which kind it is.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """The relation that was paid for."""

    @property
    @abstractmethod
    def rows(self) -> float:
        """N where it is public, else a noisy count, at least 1."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns of the rows."""

    @property
    @abstractmethod
    def choices(self) -> tuple[Choice, ...]:
        """Numbers that were chosen by public rules on the way."""

    @property
    @abstractmethod
    def steps(self) -> tuple[Step, ...]:
        """The crossings of the barrier, in the order of the certificate."""

    @property
    @abstractmethod
    def private(self) -> bool:
        """Whether all noise came from the operating system. False means NOT PRIVATE."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels that the numbers were measured with, where there are any."""
        return ()

    @property
    @abstractmethod
    def replay(self) -> RecordedNoise:
        """Its noisy numbers and picks in the order in which they were drawn, to be handed out again."""

    @abstractmethod
    def least_sensitivities(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """The least sensitivity of each step under the relation; a row (or person) adds `unit` to a count."""

    def domain_of(self, domain: Domain) -> Domain:
        """What rows are by all that was measured: as they are declared, unless it says more."""
        return domain

    @abstractmethod
    def check(self, domain: Domain) -> None:
        """Raise `ParameterError` unless the parts belong together, and to such rows.

        For numbers that a stranger wrote: each part has passed its own constructor.
        """

    def check_shares(self, total: Loss) -> None:  # only what is measured in parts has shares
        """Raise `ParameterError` unless each part was charged the share of the total that it states."""

    @property
    @abstractmethod
    def accuracy(self) -> str:
        """What was measured and how large its noise is, in words for a data sheet."""

    @property
    @abstractmethod
    def fingerprint(self) -> str | None:
        """A digest that no two measurements share, since their noise differs; None where there is no noise to tell."""

    @property
    def published_rows(self) -> int:
        """How many rows of the private table were public before, and have no guarantee."""
        return 0


def needed_by(step: Step, least: Sensitivity) -> float:
    """The bound in the norm of the step's noise: L2 for Gaussian, L1 for Laplace."""
    return least.l2 if step.law is Law.GAUSSIAN else least.l1


def check_rows(rows: float) -> None:
    """A number of rows that arithmetic can carry."""
    if not 1.0 <= rows < _MOST_ROWS:
        raise ParameterError("the number of rows is below 1, or beyond all bounds.")


def check_integers(integers: Any, count: int) -> None:
    """Check that there are `count` noisy integers, each small enough to become a float."""
    if integers.shape != (count,) or any(abs(number) >= 1 << 512 for number in integers):
        raise ParameterError("the number of noisy integers is not that of the step, or one is beyond all bounds.")


def digest(integers: Any) -> str:
    """A digest of noisy integers."""
    return hashlib.sha256(repr(integers.tolist()).encode()).hexdigest()


def all_private(parts: Iterable[Any]) -> bool:
    """Whether the noise of every part came from the operating system."""
    return all(part.private for part in parts)
