"""Looks at single numbers, before all else: in which cells each was counted, and how it was laid after that."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.measured.measured import check_integers
from kernelease.privacy.accounting import Measurement
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, block_sensitivity
from kernelease.table.columns.column import Column
from kernelease.table.columns.levels import Texture
from kernelease.table.columns.numeric import MOST_DECIMALS, Comb, Integer, Number, fraction

# --------------------
# Which columns are laid, and in which ticks.


Numeric: TypeAlias = Integer | Number

MOST_LEVELS = 2**48  # limit: legal values of a column that is laid: a level and a multiple of it fit 64 bits
FEW = 512  # convention: legal values that all get an atom, without a look: half or twice as much makes no table worse
LONG = 128  # limit: legal values from which on a range may be wider than its rows: fewer are counted one by one
FINEST = 16  # limit: of the distance of floats at the ends of a range: ticks that are finer can't be told apart


def is_looked_at(column: Column) -> bool:
    """Whether looks at a column come first, or came: not where each of its values gets an atom anyway."""
    texture = getattr(column, "texture", None)
    found = ticked(column)
    return (texture is not None and texture.looked) or (found is not None and found.levels.number > FEW)


def ticked(column: Column) -> Numeric | None:
    """A column that can be laid, in legal values; None for one that keeps its declared cells.

    It is an integer or a number with many legal values, whose `cells` and `values` are not declared. A number without
    `decimals` and `resolution` gets those that its values are printed with: three digits more than tell 256 cells
    apart.

    >>> ticked(Number(name="carat", min=0.2, max=5.1)).spacing, ticked(Integer(name="age", min=0, max=99))
    (1e-05, None)
    """
    if not isinstance(column, Integer | Number) or column.cells is not None or column.values is not None:
        return None
    if column.texture is not None:
        return None
    if isinstance(column, Number) and column.spacing is None:
        return _with_ticks(column)
    return column if LONG < column.levels.number <= MOST_LEVELS else None


def _with_ticks(column: Number) -> Numeric | None:
    digits = column.digits
    if digits is None or digits > MOST_DECIMALS:
        return None
    spacing = float(f"1e-{digits}")
    if spacing < FINEST * math.ulp(max(abs(column.min), abs(column.max))):
        return None
    return on_grid(column, Fraction(1, 10**digits))


def on_grid(column: Numeric, grid: Fraction) -> Numeric | None:
    """The same column, whose legal values are the multiples of a grid between `min` and `max`; None for under two."""
    low, high = (fraction(end) for end in (column.min, column.max))
    first, last = -(-low // grid), high // grid
    if not 1 <= last - first < MOST_LEVELS:
        return None
    least, most = first * grid, last * grid
    default = None if column.default is None else min(max(Fraction(column.default), least), most)
    if isinstance(column, Integer):
        return dataclasses.replace(
            column,
            min=int(least),
            max=int(most),
            resolution=int(grid),
            default=None if default is None else int(default),
        )
    return dataclasses.replace(
        column,
        min=float(least),
        max=float(most),
        resolution=float(grid),
        decimals=None,
        default=None if default is None else float(default),
    )


def spacing_of(column: Numeric) -> Fraction:
    """The distance of legal values, as it was written."""
    return Fraction(column.resolution) if isinstance(column, Integer) else fraction(column.spacing or 1.0)


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
    grids: tuple[int, ...] = ()
    shares: Floats = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))  # (cells, grids)

    def __post_init__(self) -> None:
        if self.column < 0 or self.numerator < 1 or self.denominator < 1:
            raise ParameterError("Laid: needs a column, and a grid above 0.")
        self.texture()

    def texture(self) -> Texture:
        """Cells and grids as a column has them."""
        if self.first.ndim != 1 or self.shares.ndim != 2:
            raise ParameterError("Laid: cells are a list, and shares a table.")
        shares = tuple(tuple(own) for own in self.shares.tolist())
        return Texture(first=tuple(self.first.tolist()), grids=self.grids, shares=shares)

    def of(self, declared: Column) -> Column:
        """The declared column, so laid; a `ParameterError` where it can't be."""
        column = ticked(declared)
        if column is None:
            raise ParameterError(f"column {declared.name!r} was laid, and should not have been.")
        grid = Fraction(self.numerator, self.denominator)
        found = on_grid(column, grid)
        if found is None or (grid / spacing_of(column)).denominator != 1 or int(self.first[-1]) >= found.levels.number:
            raise ParameterError(f"column {declared.name!r} was laid beyond its legal values.")
        return dataclasses.replace(
            found, texture=dataclasses.replace(self.texture(), looked=column.levels.number > FEW)
        )


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
    """How one column is counted: in cells of its legal values (`first`), or by the grids that these lie on.

    The legal values are multiples of the grid `numerator` / `denominator`. With `grids` the cells are those of a comb.
    """

    column: int
    numerator: int
    denominator: int
    first: Integers  # (cells,): levels
    share: float  # of the release's budget
    grids: tuple[int, ...] = ()
    stretches: Integers = dataclasses.field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # (cells,), of a comb

    def of(self, declared: Column) -> Column:
        """The column that is counted; a `ParameterError` where there is none."""
        laid = Laid(column=self.column, numerator=self.numerator, denominator=self.denominator, first=self.first).of(
            declared
        )
        if not self.grids:
            return laid
        assert isinstance(laid, Integer | Number)
        return Comb(
            name=laid.name, source=laid.source, of=laid, grids=self.grids, stretches=tuple(self.stretches.tolist())
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyLook(Kind):
    """A look's counts with noise, in rows (or persons). Every row is in one cell, as in a block of one column."""

    look: Look
    measurement: Measurement
    unit: int

    @property
    def counts(self) -> Floats:
        """Noisy counts: (cells,)."""
        counts: Floats = np.asarray(self.measurement.values / self.unit)
        return counts

    @property
    def sigma(self) -> float:
        """Standard deviation of the noise of each count."""
        return self.measurement.standard_deviation / self.unit

    def least(self, neighbours: Neighbours) -> Sensitivity:
        """How far neighbouring tables may move the counts."""
        return block_sensitivity(neighbours, unit=self.unit)

    def check(self, columns: Sequence[Column]) -> None:
        """Raise `ParameterError` unless it is of one of these columns, with a number for each of its cells."""
        if not 0 <= self.look.column < len(columns):
            raise ParameterError("a look is at a column that there is not.")
        size = self.look.of(columns[self.look.column]).size
        if self.unit < 1 or self.measurement.step.coordinates != size:
            raise ParameterError("a look has another size than its noise.")
        check_integers(self.measurement.integers, size)
