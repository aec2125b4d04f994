"""Looks at single numbers, before all else: in which cells each was counted, and how it was laid after that."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import ClassVar, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.privacy.accounting import Measurement
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, block_sensitivity
from kernelease.table.columns.cells import Texture, Ticked
from kernelease.table.columns.column import Codes, Column
from kernelease.table.reading import read_numbers

# --------------------
# Combs: which of some grids a number lies on.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comb(Column):
    """Which of some public grids a number of a column lies on, in each of some stretches of its cells.

    With v the legal value that a number counts as, in multiples of the distance of legal values, its class is that of
    the first of `grids` that divides v, and the number of grids where none does. `stretches[c]` is the stretch of cell
    c of the column, counted from 1, or 0 for what is left out. The code is 0 for what is left out, else
    1 + (stretch − 1)·(grids + 1) + class; NULL comes last. No file declares it, and nothing is decoded from it: a look
    counts it.

    >>> from kernelease.table.columns import Integer
    >>> price = Integer(name="price", min=0, max=9_999)
    >>> comb = Comb(name="price", of=price, grids=(100, 25), stretches=(1,) * price.cell_count)
    >>> comb.encode(pa.array([300, 325, 326])).tolist(), comb.labels()
    ([1, 2, 3], ('left out', '1: 100', '1: 25', '1: other'))
    """

    of: Ticked
    grids: tuple[int, ...]
    stretches: tuple[int, ...]

    tag: ClassVar[str] = "comb"
    family: ClassVar[str] = "category"
    ordered: ClassVar[bool] = False

    def _check(self) -> None:
        if len(self.stretches) != self.of.cell_count or min(self.stretches) < 0 or any(g < 1 for g in self.grids):
            raise self.error("type", "a comb needs a stretch for each cell, and grids of at least 1.")

    @property
    def _size_key(self) -> str:
        return "type"

    @property
    def arrow_type(self) -> pa.DataType:
        """int64: classes."""
        return pa.int64()

    @property
    def classes(self) -> int:
        """One for each grid, and one for what lies on none."""
        return len(self.grids) + 1

    @property
    def present(self) -> int:
        """The codes of what is not NULL."""
        return 1 + max(self.stretches) * self.classes

    @property
    def size(self) -> int:
        """What is left out, the classes of each stretch, and NULL."""
        return self.present + self.of.nullable

    @property
    def missing(self) -> int:
        """NULL, else the code of what the column takes in its place."""
        if self.of.nullable:
            return self.present
        return int(self._codes(np.array([self.of.fallback]))[0])

    @property
    def unknown(self) -> int:
        """As for a missing cell."""
        return self.missing

    def labels(self) -> tuple[str, ...]:
        """The stretch, and the grid in legal values."""
        named = [str(grid) for grid in self.grids] + ["other"]
        every = tuple(f"{stretch + 1}: {name}" for stretch in range(max(self.stretches)) for name in named)
        return ("left out", *every, *(("NULL",) * self.of.nullable))

    def centres(self) -> Floats:
        """None has a number."""
        return np.full(self.size, np.nan)

    def _codes(self, numbers: Floats) -> Codes:
        value = self.of.level_of(numbers) + self.of.phase
        klass = np.full(len(numbers), len(self.grids), dtype=np.int64)
        for place in range(len(self.grids) - 1, -1, -1):
            klass[value % self.grids[place] == 0] = place
        stretch = np.array(self.stretches, dtype=np.int64)[self.of.encode(pa.array(numbers))]
        return np.where(stretch > 0, 1 + (stretch - 1) * self.classes + klass, 0).astype(np.int32)

    def _encode(self, array: pa.Array) -> Codes:
        numbers = read_numbers(array)
        absent = np.isnan(numbers)
        codes = self._codes(np.where(absent, float(self.of.bounds()[0][0]), numbers))
        np.copyto(codes, self.unknown, where=absent)
        return codes

    def _decode(self, codes: Codes, generator: np.random.Generator) -> pa.Array:
        return pa.array(codes.astype(np.int64), mask=codes >= self.present)

    def decodes_to(self, values: pa.Array) -> bool:
        """Whether each is a code."""
        return bool(np.all((values.drop_null().to_numpy() >= 0) & (values.drop_null().to_numpy() < self.present)))

    def keys(self, array: pa.Array) -> pa.Array:
        """The codes."""
        return array

    def key(self, literal: object) -> object:
        """No rule names a comb."""
        return literal


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
    shares: Floats = dataclasses.field(default_factory=partial(np.zeros, (0, 0)))  # (cells, grids)

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

    def of(self, declared: Column) -> Ticked:
        """The declared column, so laid; a `ParameterError` where it can't be."""
        if not isinstance(declared, Ticked):
            raise ParameterError(f"column {declared.name!r} was laid, and should not have been.")
        return declared.laid(Fraction(self.numerator, self.denominator), self.texture())


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
    stretches: Integers = dataclasses.field(default_factory=partial(np.array, (), np.int64))  # (cells,), of a comb

    def of(self, declared: Column) -> Column:
        """The column that is counted; a `ParameterError` where there is none."""
        laid = Laid(column=self.column, numerator=self.numerator, denominator=self.denominator, first=self.first).of(
            declared
        )
        if not self.grids:
            return laid
        return Comb(
            name=laid.name, source=laid.source, of=laid, grids=self.grids, stretches=tuple(self.stretches.tolist())
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
