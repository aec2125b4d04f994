"""What a method has measured: noisy numbers that are paid for, and so public."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from kernelease.errors import ParameterError
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import Kind
from kernelease.measured.choice import Choice
from kernelease.measured.recorded import RecordedNoise
from kernelease.privacy.accounting import Loss
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.sensitivity import Sensitivity
from kernelease.privacy.step import Law, Step
from kernelease.table.domain import Domain

_MOST_ROWS = 2.0**47  # no table has more, and float64 holds such a number to 1/64


class Measured(Kind, ABC):
    """All that came through the barrier in one release. Whatever is made of it is free.

    Each kind of measurement knows what it must have cost (`steps`, `needed`), whether its parts belong together
    (`check`), and how accurate it is (`accuracy`), so that nobody else has to ask which kind it is.
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
        """Those that the numbers were measured with, where they name any."""
        return ()

    @property
    @abstractmethod
    def recorded(self) -> RecordedNoise:
        """Its noisy numbers and picks in the order in which they were drawn, to be handed out again."""

    @abstractmethod
    def needed(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """Of each step, the least sensitivity that the relation demands; a row (or person) adds `unit` to a count."""

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
        """In words for a data sheet: what was measured, and how large its noise is."""

    @property
    @abstractmethod
    def fingerprint(self) -> str | None:
        """A digest that no two measurements share, since their noise differs; None where there is no noise to tell."""

    @property
    def published_rows(self) -> int:
        """How many rows of the private table were public before, and have no guarantee."""
        return 0


def needed_by(step: Step, least: Sensitivity) -> float:
    """The bound in the norm that the step's noise goes by."""
    return least.l2 if step.law is Law.GAUSSIAN else least.l1


def check_rows(rows: float) -> None:
    """A number of rows that arithmetic can carry."""
    if not 1.0 <= rows < _MOST_ROWS:
        raise ParameterError("the number of rows is below 1, or beyond all bounds.")


def check_integers(integers: Any, count: int) -> None:
    """So many noisy integers, small enough for the floats that they become."""
    if integers.shape != (count,) or any(abs(number) >= 1 << 512 for number in integers):
        raise ParameterError("the number of noisy integers is not that of the step, or one is beyond all bounds.")


def digest(integers: Any) -> str:
    """Of noisy integers."""
    return hashlib.sha256(repr(integers.tolist()).encode()).hexdigest()


def all_private(parts: Iterable[Any]) -> bool:
    """Whether the noise of every part came from the operating system."""
    return all(part.private for part in parts)
