"""What a row adds to a sum: a whole number of it, written once, that NumPy and databases compute to the same bit.

All that stands in an expression is public. It says how large it can be whatever the row is (`most`), so that what was
clamped is within its limit whatever the arrays say: sensitivity needs nothing else.
"""

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.errors import ParameterError
from kernelease.kinds import Kind

_WIDEST = 2**62  # in size: below it, no step leaves the 64 bits that every engine has
_MOST_CODE = 2**16  # no column has more atoms, or finer cells


@final
@dataclass(frozen=True, slots=True)
class CodedRows:
    """Rows as arrays of codes, one for each column; `fine` has the place of those of a column's finer cells."""

    codes: Mapping[int, NDArray[Any]] | Sequence[NDArray[Any]]
    fine: Mapping[int, int]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(next(iter(self.codes.values() if isinstance(self.codes, Mapping) else self.codes)))


@final
@dataclass(frozen=True, slots=True)
class SqlRows:
    """Rows of a database, in which a0, a1, … are atoms, and f0, f1, … the codes of finer cells, where there are any."""

    fine: Collection[int]
    array: str  # what comes before the bracket of a list


# --------------------
# Whole numbers of a row. Each knows its size, and how it is computed of its parts.


@dataclass(frozen=True, slots=True, eq=False)
class Whole(ABC):
    """A whole number of each row, made of others by +, −, ×, `clamp` and `at_most`, and of a `Look` at a column.

    >>> x, y = Look(column=0, values=np.array([1, 3, 5])), Look(column=1, values=np.array([2, -4]))
    >>> number = (x * y - x * 10).clamp(40)
    >>> number.most, Program.of([number]).numbers(CodedRows([np.array([0, 1, 2]), np.array([0, 1, 1])], {}))
    (40, {5: array([ -8, -40, -40])})
    """

    parts: tuple["Whole", ...] = ()

    def __post_init__(self) -> None:
        if self.most >= _WIDEST:
            raise ParameterError(f"{type(self).__name__}: may be as large as {self.most}, which 64 bits do not hold.")

    @property
    @abstractmethod
    def most(self) -> int:
        """Its largest size, whatever the row is."""

    @abstractmethod
    def of(self, rows: CodedRows, *parts: Integers) -> Integers:
        """The number of each row, from those of its parts: (n,)."""

    @abstractmethod
    def sql(self, rows: SqlRows, *parts: str) -> str:
        """The same as an expression of 64 bits, which stands in no need of brackets."""

    @property
    def own(self) -> tuple[Hashable, ...]:
        """What tells it from another that is made of the same parts."""
        values = (getattr(self, field.name) for field in dataclasses.fields(self) if field.name != "parts")
        return type(self), *(one.tobytes() if isinstance(one, np.ndarray) else one for one in values)

    def __add__(self, other: "Whole") -> "Whole":
        return Mixed(parts=(self, other), weights=(1, 1))

    def __sub__(self, other: "Whole") -> "Whole":
        return Mixed(parts=(self, other), weights=(1, -1))

    def __mul__(self, other: "Whole | int") -> "Whole":
        return Product(parts=(self, other)) if isinstance(other, Whole) else Mixed(parts=(self,), weights=(other,))

    def clamp(self, limit: int) -> "Whole":
        """The nearest number from −limit to limit."""
        return Clamped(parts=(self,), limit=limit)

    def at_most(self, limit: int) -> "Whole":
        """1 where it is no more than that, else 0."""
        return AtMost(parts=(self,), limit=limit)


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Look(Whole):
    """A public number for each atom of a column."""

    column: int
    values: Integers  # (atoms,)

    @property
    def most(self) -> int:
        return max(-int(self.values.min()), int(self.values.max()))

    def of(self, rows: CodedRows, *parts: Integers) -> Integers:
        numbers: Integers = self.values[rows.codes[self.column]].astype(np.int64, copy=False)
        return numbers

    def sql(self, rows: SqlRows, *parts: str) -> str:
        if (self.values == self.values[0]).all():
            return f"CAST({int(self.values[0])} AS BIGINT)"
        values = ", ".join(map(str, self.values.tolist()))  # the statement spells them out; lists count from 1
        return f"CAST(({rows.array}[{values}])[a{self.column} + 1] AS BIGINT)"


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Fine(Whole):
    """The code of a row's value in the finer cells of a column; its atom where there are none."""

    column: int

    @property
    def most(self) -> int:
        return _MOST_CODE

    def of(self, rows: CodedRows, *parts: Integers) -> Integers:
        return np.asarray(rows.codes[rows.fine.get(self.column, self.column)]).astype(np.int64, copy=False)

    def sql(self, rows: SqlRows, *parts: str) -> str:
        return f"CAST({'f' if self.column in rows.fine else 'a'}{self.column} AS BIGINT)"


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Mixed(Whole):
    """Σ weight·part."""

    weights: tuple[int, ...]

    @property
    def most(self) -> int:
        return sum(abs(weight) * part.most for weight, part in zip(self.weights, self.parts, strict=True))

    def of(self, rows: CodedRows, *parts: Integers) -> Integers:
        terms = (part if weight == 1 else weight * part for weight, part in zip(self.weights, parts, strict=True))
        return functools.reduce(np.add, terms)

    def sql(self, rows: SqlRows, *parts: str) -> str:
        return f"({' + '.join(f'{part} * ({weight})' for weight, part in zip(self.weights, parts, strict=True))})"


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Product(Whole):
    """Π part."""

    @property
    def most(self) -> int:
        return math.prod(part.most for part in self.parts)

    def of(self, rows: CodedRows, *parts: Integers) -> Integers:
        return functools.reduce(np.multiply, parts)

    def sql(self, rows: SqlRows, *parts: str) -> str:
        return f"({' * '.join(parts)})"


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Clamped(Whole):
    """The nearest number from −limit to limit."""

    limit: int

    @property
    def most(self) -> int:
        return self.limit

    def of(self, rows: CodedRows, *parts: Integers) -> Integers:
        return np.clip(parts[0], -self.limit, self.limit)

    def sql(self, rows: SqlRows, *parts: str) -> str:
        return f"LEAST(GREATEST({parts[0]}, -{self.limit}), {self.limit})"


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AtMost(Whole):
    """1 where a number is no more than the limit, else 0."""

    limit: int

    @property
    def most(self) -> int:
        return 1

    def of(self, rows: CodedRows, *parts: Integers) -> Integers:
        return (parts[0] <= self.limit).astype(np.int64)

    def sql(self, rows: SqlRows, *parts: str) -> str:
        return f"CAST(CASE WHEN {parts[0]} <= {self.limit} THEN 1 ELSE 0 END AS BIGINT)"


# --------------------
# Many numbers at once. They have parts in common, which are computed once.


@final
@dataclass(frozen=True, slots=True)
class Program:
    """Steps to some numbers, each after its parts, of which it has the places: `wanted` are those of the numbers."""

    steps: tuple[tuple[Whole, tuple[int, ...]], ...]
    wanted: tuple[int, ...]
    done: tuple[tuple[int, ...], ...]  # after each step, those that nothing needs any more

    @classmethod
    def of(cls, numbers: Sequence[Whole]) -> "Program":
        """Each distinct step once."""
        steps: dict[Hashable, tuple[Whole, tuple[int, ...]]] = {}
        order: dict[Hashable, int] = {}
        known: dict[int, int] = {}  # by identity: many share parts

        def place(number: Whole) -> int:
            if id(number) not in known:
                parts = tuple([place(part) for part in number.parts])
                key = number.own, parts
                steps.setdefault(key, (number, parts))
                known[id(number)] = order.setdefault(key, len(order))
            return known[id(number)]

        wanted = tuple([place(number) for number in numbers])
        last = {part: at for at, (_, parts) in enumerate(steps.values()) for part in parts if part not in wanted}
        done: list[list[int]] = [[] for _ in steps]
        for part, at in last.items():
            done[at].append(part)
        return cls(tuple(steps.values()), wanted, tuple(map(tuple, done)))

    def numbers(self, rows: CodedRows) -> dict[int, Integers]:
        """The wanted numbers of each row, by their places: (n,) each."""
        found: dict[int, Integers] = {}
        for place, ((step, parts), done) in enumerate(zip(self.steps, self.done, strict=True)):
            found[place] = step.of(rows, *(found[part] for part in parts))
            for part in done:
                del found[part]
        return found

    def selects(self, relation: str, rows: SqlRows) -> tuple[list[str], str]:
        """The wanted numbers as SQL, and the relation that they are of.

        A step that several others need is a column n0, n1, … of a relation within it, and so computed once.
        """
        used = Counter(part for _, parts in self.steps for part in parts)
        texts: list[str] = []
        depths: list[int] = []
        layers: dict[int, list[str]] = {}
        for place, (step, parts) in enumerate(self.steps):
            text, depth = step.sql(rows, *(texts[part] for part in parts)), max((depths[i] for i in parts), default=0)
            if used[place] > 1:
                layers.setdefault(depth, []).append(f"{text} AS n{place}")
                text, depth = f"n{place}", depth + 1
            texts.append(text)
            depths.append(depth)
        for depth in sorted(layers):
            relation = f"(SELECT *, {', '.join(layers[depth])} FROM {relation}) AS of{depth}"
        return [texts[place] for place in self.wanted], relation


# --------------------
# Offsets within cells, as whole numbers.


LARGEST_RAMP_LIMIT = 2**20  # of a weight: summed over a batch of persons' rows it fits 64 bits
_LARGEST = _WIDEST // (2 * _MOST_CODE)  # of `start` and `slope`: no weight overflows on the way to its clamp


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp(Kind):
    """t(a, f) = clamp(start[a] + slope[a]·f, −limit, limit), for atom a and the code f of its value in finer cells.

    >>> Ramp(start=np.array([-8, -40]), slope=np.array([2, 4]), limit=8).of(np.array([0, 1, 1]), np.array([5, 9, 99]))
    array([ 2, -4,  8])
    """

    start: Integers  # (atoms,)
    slope: Integers  # (atoms,)
    limit: int

    def __post_init__(self) -> None:
        if self.start.ndim != 1 or self.start.shape != self.slope.shape:
            raise ParameterError(
                f"Ramp: needs a start and a slope for each atom, got shapes {self.start.shape} and {self.slope.shape}."
            )
        if not 1 <= self.limit <= LARGEST_RAMP_LIMIT:
            raise ParameterError(f"Ramp: limit must be from 1 to {LARGEST_RAMP_LIMIT}, got {self.limit!r}.")
        if any((part <= -_LARGEST).any() or (part >= _LARGEST).any() for part in (self.start, self.slope)):
            raise ParameterError(f"Ramp: start and slope must be below {_LARGEST} in size.")

    def at(self, column: int) -> Whole:
        """The weight of a row by its value in a column."""
        weight: Whole = Look(column=column, values=self.start)
        if self.slope.any():
            weight += Look(column=column, values=self.slope) * Fine(column=column)
        return weight.clamp(self.limit)

    def of(self, atoms: Integers, fine: Integers) -> Integers:
        """The weight of each row: (n,), (n,) → (n,)."""
        (weights,) = Program.of([self.at(0)]).numbers(CodedRows([atoms, fine], {0: 1})).values()
        return weights
