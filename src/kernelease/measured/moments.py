"""Moments: sums of what rows weigh, by how far their numbers lie from the middles of cells."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import Block, Ramp
from kernelease.measured.views import View
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, moment_sensitivity

LARGEST_LIMIT = 2**28  # of a product of weights: summed over a batch of persons' rows it fits 64 bits


@final
@dataclass(frozen=True, kw_only=True)
class Moments(Block):
    """Over the rows of each cell Σ Π_i t_i, where t_i is a public whole number of the row's value in column i.

    It is at most `ramps[i].limit` in size, or 1 where `ramps[i]` is None. In rows, each of them counts between −1 and
    1. Counts say nothing of where in its cell a number is, and moments nothing of counts: they are estimated apart
    (`estimate.offset_sums`), and rows are drawn to agree with them within cells.
    """

    ramps: tuple[Ramp | None, ...] = field()

    def __post_init__(self) -> None:
        Block.__post_init__(self)
        if len(self.ramps) != len(self.columns) or self.weighted not in (1, 2):
            raise ParameterError("Moments: of its columns one or two are weighted; the others need None as their ramp.")
        if self.whole > LARGEST_LIMIT:
            raise ParameterError(f"Moments: a row may weigh at most {LARGEST_LIMIT}, got ramps up to {self.whole}.")

    @cached_property
    def whole(self) -> int:
        """The most that a row can weigh, either way."""
        return math.prod(ramp.limit for ramp in self.ramps if ramp is not None)

    def exact(self, table: NDArray[Any]) -> NDArray[Any]:
        """The sums themselves."""
        return table

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row adds to one cell what it weighs."""
        return moment_sensitivity(neighbours, limit=self.whole, unit=unit)

    @property
    def adds_up(self) -> bool:
        """Weights add up to no number of rows."""
        return False

    def seen(self, table: Floats) -> Floats:
        """Refused: counts do not say it."""
        raise self._no_counts()

    def spread(self, numbers: Floats) -> Floats:
        """Refused: it asks nothing of counts."""
        raise self._no_counts()

    def covers(self, columns: tuple[int, ...]) -> bool:
        """No columns."""
        return False

    def tells(self, columns: tuple[int, ...]) -> bool:
        """Nothing of counts."""
        return False

    def view(self, numbers: Floats, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> View:
        """Refused: it tells nothing of counts."""
        raise self._no_counts()

    def coefficients(
        self, sigma: float, columns: tuple[int, ...], groups: tuple[Integers, ...], weight: Floats
    ) -> Floats:
        """Refused: it tells nothing of counts."""
        raise self._no_counts()

    @property
    def label(self) -> str:
        """Offsets."""
        return f"offsets of columns {self.columns}"

    def check(self, sizes: tuple[int, ...]) -> None:
        """Each ramp has a weight for each atom of its column."""
        Block.check(self, sizes)
        for column, ramp in zip(self.columns, self.ramps, strict=True):
            if ramp is not None and ramp.start.shape != (sizes[column],):
                raise ParameterError("a moment weighs the values of a column wrongly.")

    def _no_counts(self) -> ParameterError:
        return ParameterError("Moments: sums of weights are no function of counts.")
