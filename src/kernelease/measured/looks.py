"""Looks at single numbers, before all else: in which cells each was counted, and how it was laid after that."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.privacy.accounting import Measurement
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, block_sensitivity
from kernelease.table.columns.cells import Comb, Texture, Ticked
from kernelease.table.columns.column import Column

# --------------------
# How a column was laid.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Laid(Kind):
    """The cells of one column, as they follow from noisy counts: the grid of its legal values, and where cells begin.

    The grid is `numerator` / `denominator`, in the column's own unit, and legal values are its multiples.
    """

    column: int
    numerator: int
    denominator: int
    first: Integers  # (cells,): levels
    progressions: tuple[tuple[int, int], ...] = ()  # steps and remainders
    shares: Floats = dataclasses.field(default_factory=partial(np.zeros, (0, 0)))  # (cells, progressions)

    def __post_init__(self) -> None:
        if self.column < 0 or self.numerator < 1 or self.denominator < 1:
            raise ParameterError("Laid: needs a column, and a grid above 0.")
        self.texture()

    def texture(self) -> Texture:
        """Cells and progressions as a column has them."""
        if self.first.ndim != 1 or self.shares.ndim != 2:
            raise ParameterError("Laid: cells are a list, and shares a table.")
        shares = tuple(tuple(own) for own in self.shares.tolist())
        return Texture(first=tuple(self.first.tolist()), progressions=self.progressions, shares=shares)

    def of(self, declared: Column) -> Ticked:
        """The declared column, so laid; a `ParameterError` where it can't be."""
        if not isinstance(declared, Ticked):
            raise ParameterError(f"column {declared.name!r} was laid, and should not have been.")
        return declared.lay(Fraction(self.numerator, self.denominator), self.texture())


def laid_columns(columns: Sequence[Column], laid: Sequence[Laid]) -> tuple[Column, ...]:
    """Declared columns as they were laid, those that were; a `ParameterError` where one can't be."""
    own = {one.column: one for one in laid}
    if len(own) != len(laid) or not all(column < len(columns) for column in own):
        raise ParameterError("a column was laid twice, or is not there.")
    return tuple(own[i].of(column) if i in own else column for i, column in enumerate(columns))


# --------------------
# A look: one column, counted in public cells.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Look(Kind):
    """How one column is counted: in cells of its legal values (`first`), or by the grids they lie on, or their endings.

    The legal values are multiples of the grid `numerator` / `denominator`. With `stretches` what is counted is a comb,
    of `grids` and of remainders by a `modulus`.
    """

    column: int
    numerator: int
    denominator: int
    first: Integers  # (cells,): levels
    share: float  # of the release's budget
    grids: tuple[int, ...] = ()
    modulus: int = 1
    stretches: Integers = dataclasses.field(default_factory=partial(np.array, (), np.int64))  # (cells,), of a comb

    def __post_init__(self) -> None:
        if self.first.ndim != 1 or self.stretches.ndim != 1:
            raise ParameterError("Look: needs a list of levels, and of stretches.")

    @property
    def is_comb(self) -> bool:
        return self.stretches.size > 0

    def of(self, declared: Column) -> Column:
        """The column that is counted; a `ParameterError` where there is none."""
        laid = Laid(column=self.column, numerator=self.numerator, denominator=self.denominator, first=self.first).of(
            declared
        )
        if not self.is_comb:
            return laid
        return Comb(
            name=laid.name,
            source=laid.source,
            of=laid,
            grids=self.grids,
            modulus=self.modulus,
            stretches=tuple(self.stretches.tolist()),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyLook(Kind):
    """A look's counts with noise, in rows (or persons). Every row is in one cell, as in a block of one column.

    `counts`, (cells,), and the standard deviation `sigma` of the noise of each are computed once.
    """

    look: Look
    measurement: Measurement
    unit: int
    counts: Floats = dataclasses.field(init=False, repr=False, compare=False)
    sigma: float = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        unit = self.unit or 1  # a stranger's 0 is refused by `check`
        object.__setattr__(self, "counts", np.asarray(self.measurement.values / unit))
        object.__setattr__(self, "sigma", self.measurement.standard_deviation / unit)

    def least(self, neighbours: Neighbours) -> Sensitivity:
        """How far neighbouring tables may move the counts."""
        return block_sensitivity(neighbours, unit=self.unit)

    def check(self, columns: Sequence[Column]) -> None:
        """Raise `ParameterError` unless it is of one of these columns, with noise for each of its cells."""
        if not 0 <= self.look.column < len(columns):
            raise ParameterError("a look is at a column that there is not.")
        size = self.look.of(columns[self.look.column]).size
        if self.unit < 1 or self.measurement.step.coordinates != size:
            raise ParameterError("a look has another size than its noise.")
