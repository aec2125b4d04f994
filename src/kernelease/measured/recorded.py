"""Noise that was drawn before: what a method got, handed out again in the same order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from kernelease.arrays import BigIntegers
from kernelease.errors import ParameterError


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

    Added to sums that are 0, its numbers are the noisy sums themselves (`private.blank`). Whoever asks for more, or for
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
