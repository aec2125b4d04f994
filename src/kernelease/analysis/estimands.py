"""What is asked of a release: averages over rows of a number, a condition, or anything that an analyst writes."""

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy
from kernelease.table.expressions.logic import (
    MIRROR,
    Compared,
    Computed,
    Condition,
    Joined,
    Leaf,
    Missing,
    Negated,
    parse,
)
from kernelease.table.expressions.terms import Extracted, show
from kernelease.table.parsing import float_values

if TYPE_CHECKING:
    from kernelease.table.schema import Structure

# --------------------
# Cells of a column in words.


def cell_label(column: Column, atoms: Sequence[int]) -> str:
    """Some atoms of a column in words: a range of numbers or dates, or values with "or" between them."""
    labels = column.labels()
    if isinstance(column, Hierarchy):
        return " or ".join(_leaf_labels(column, labels, atoms))
    return (_range_label if column.ordered else " or ".join)([labels[atom] for atom in atoms])


def _leaf_labels(column: Hierarchy, labels: Sequence[str], atoms: Sequence[int]) -> list[str]:
    """The names of whole groups, and of the leaves of others.

    >>> code = Hierarchy(name="code", values=("E10", "E11", "I10", "I11"), prefix=1)
    >>> cell_label(code, (0, 1, 2))
    'E or I10'
    """
    groups, names = column.atom_groups, column.group_labels
    members, whole = np.bincount(groups), np.bincount(groups[list(atoms)], minlength=len(names))
    found: dict[str, None] = {}
    for atom in atoms:
        group = int(groups[atom])
        several = members[group] > 1 and whole[group] == members[group]
        found[names[group] if several else labels[atom]] = None
    return list(found)


def _range_label(labels: Sequence[str]) -> str:
    """One label for neighbouring cells.

    >>> _range_label(["18..20", "21..23"]), _range_label(["0.0", "(0, 1.25)", "[1.25, 2.5)"]), _range_label(["7", "8"])
    ('18..23', '[0.0, 2.5)', '7..8')
    """
    first, last = labels[0], labels[-1]
    if len(labels) == 1:
        return first
    if not any(label.startswith(("[", "(")) for label in labels):
        return f"{first.partition('..')[0]}..{last.rpartition('..')[2]}"
    start = first.partition(", ")[0] if ", " in first else f"[{first}"
    return f"{start}, {last.partition(', ')[2] if ', ' in last else f'{last}]'}"


# --------------------
# What a question averages over rows: a number, a condition, or a function of the analyst's own.


NUMERIC = ("integer", "number", "boolean")


class Integrand(ABC):
    """A function of each row by itself."""

    __slots__ = ()

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that it reads."""

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions in it."""
        return ()

    @abstractmethod
    def of(self, table: pa.Table) -> Floats:
        """Its value on each row of a table with the schema's types: (n,)."""


@final
@dataclass(frozen=True, slots=True)
class Indicator(Integrand):
    """1 where all the conditions are true, and 0 elsewhere. Without conditions it is 1."""

    parts: tuple[Condition, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.parts

    def of(self, table: pa.Table) -> Floats:
        flags = np.ones(table.num_rows, dtype=bool)
        for part in self.parts:
            flags &= part.holds(table)
        return flags.astype(np.float64)


@final
@dataclass(frozen=True, slots=True)
class NumericValue(Integrand):
    """A column's number where it has one and `where` is true, and 0 elsewhere. Booleans are 0 and 1."""

    column: Column
    where: Indicator

    def __post_init__(self) -> None:
        if self.column.tag not in NUMERIC:
            instead = "its median, quantile 0.5," if self.column.family == "time" else "a probability"
            raise ParameterError(
                f"Column {self.column.name!r} is of type {self.column.tag} and has no mean. Ask for {instead} instead."
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.column.name, *self.where.columns)))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.where.conditions

    def of(self, table: pa.Table) -> Floats:
        numbers = numbers_of(self.column, table)
        return np.where(np.isnan(numbers), 0.0, numbers) * self.where.of(table)


@final
@dataclass(frozen=True, slots=True)
class RowFunction(Integrand):
    """A function of an analyst, where it is defined and `where` is true, and 0 elsewhere.

    It gets the columns by name, as arrays, and gives one number per row; NaN says that it is not defined there. With
    `presence`, the value is 1 in place of the function's own.
    """

    function: Callable[["Columns"], Any]
    names: tuple[str, ...]
    where: Indicator
    presence: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.names, *self.where.columns)))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.where.conditions

    def of(self, table: pa.Table) -> Floats:
        values = evaluate_function(self.function, Columns(table))
        defined = ~np.isnan(values)
        chosen = np.ones_like(values) if self.presence else values
        return np.where(defined, chosen, 0.0) * self.where.of(table)


class Columns(Mapping[str, Any]):
    """The columns of a table as arrays, and a note of those that were looked at.

    Numbers and booleans are float64 with NaN for NULL, dates are datetime64, the rest is text with None for NULL.
    """

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.read: list[str] = []

    def __getitem__(self, name: str) -> Any:
        if name not in self._table.column_names:
            known = ", ".join(self._table.column_names)
            raise ParameterError(f"There is no column {name!r}; there are {known}.")
        if name not in self.read:
            self.read.append(name)
        array = self._table.column(name)
        if pa.types.is_boolean(array.type):
            array = array.cast(pa.int8())
        if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
            return np.asarray(array.cast(pa.float64()).to_numpy(), dtype=np.float64)
        if pa.types.is_temporal(array.type):
            return np.asarray(array.to_numpy())
        return np.array(array.to_pylist(), dtype=object)

    @property
    def table(self) -> pa.Table:
        """The rows themselves."""
        return self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table.column_names)

    def __len__(self) -> int:
        return int(self._table.num_columns)


def evaluate_function(function: Callable[[Columns], Any], columns: Columns) -> Floats:
    """The values of an analyst's function, one per row, or a `ParameterError`."""
    rows = columns._table.num_rows
    with np.errstate(all="ignore"):  # what is not defined is NaN, and left out
        values = np.asarray(function(columns))
    if values.ndim == 0:
        values = np.full(rows, values)
    if values.shape != (rows,) or values.dtype.kind not in "fiub":
        raise ParameterError(
            f"expectation: the function must give one number per row, ({rows},), got {values.dtype} {values.shape}."
        )
    if np.isinf(values.astype(np.float64)).any():
        raise ParameterError("expectation: the function is infinite within the declared ranges, so nothing bounds it.")
    return values.astype(np.float64)


def numbers_of(column: Column, table: pa.Table) -> Floats:
    """A column of numbers or booleans as float64, NaN for NULL."""
    values = table.column(column.name)
    return float_values(values.cast(pa.int8()) if column.tag == "boolean" else values)


def columns_read(function: Callable[[Columns], Any], sample: pa.Table) -> tuple[str, ...]:
    """Which columns a function reads, found by calling it on a few rows."""
    columns = Columns(sample)
    evaluate_function(function, columns)
    return tuple(columns.read)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Estimand:
    """Σ numerator / Σ denominator over all rows; the denominator is 1 or 0 on each row, and 1 if there is none.

    With `is_total` it is Σ numerator itself: a count.
    """

    numerator: Integrand
    denominator: Integrand | None = None
    about: str = ""
    is_total: bool = False

    @property
    def parts(self) -> tuple[Integrand, ...]:
        """Numerator and denominator."""
        return (self.numerator,) if self.denominator is None else (self.numerator, self.denominator)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions in it."""
        return tuple(dict.fromkeys(condition for part in self.parts for condition in part.conditions))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that it reads."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def value_columns(self) -> frozenset[str]:
        """The columns whose values matter, beside the outcomes of tests of that column alone."""
        names: set[str] = set()
        for part in self.parts:
            if isinstance(part, NumericValue):
                names.add(part.column.name)
            elif isinstance(part, RowFunction):
                names.update(part.names)
        for leaf in (leaf for condition in self.conditions for leaf in condition.leaves()):
            if isinstance(leaf, Compared) and isinstance(leaf.right, Column):
                names.update(leaf.names)
        return frozenset(names)


# --------------------
# Conditions of the table's language, as far as measured counts can answer them.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InCell(Leaf):
    """The column's value is one of some atoms: how rows are grouped by a column. It has no words in the grammar."""

    column: Column
    atoms: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column.name,)

    def test(self, table: pa.Table) -> Any:
        return pa.array(np.isin(self.column.encode(table.column(self.column.name)), self.atoms))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Through(Leaf):
    """A test of derived columns, seen through the one measured column that says all of them, `origin`."""

    leaf: Leaf
    origin: str
    structure: "Structure" = field(compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.origin,)

    def test(self, table: pa.Table) -> Any:
        known = {name: self.structure.derive(table, name) for name in self.leaf.names if name != self.origin}
        return self.leaf.test(pa.table({self.origin: table.column(self.origin), **known}))

    def __str__(self) -> str:
        return str(self.leaf)


def single_valued(column: Column) -> bool:
    """Whether each atom is one value, so that what the value says is known of its atom."""
    return not isinstance(column, Celled) or bool(np.equal(*column.bounds()).all())


def present(column: Column) -> tuple[Condition, ...]:
    """The condition that a column's value is not NULL; none where it never is."""
    return (Negated(part=Missing(column=column)),) if column.nullable else ()


def parse_condition(text: str, columns: Iterable[Column], structure: "Structure | None" = None) -> Condition:
    r"""A condition from its text, or a `ParameterError` that says what is wrong with it.

    Every test in it compares a column with a value or with another column: what is computed from several columns was
    not measured. With a `structure`, it may be about a derived column, where one measured column says its value. A year
    and a day of a date are stretches of it.

    >>> from kernelease import Schema
    >>> schema = Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\nnullable = true')
    >>> condition = parse_condition("age in (7, 8) or not (age < 60 or age is null)", schema)
    >>> condition.holds(pa.table({"age": [7, 30, 60, None]}))
    array([ True, False,  True, False])
    """
    known = tuple(columns)
    try:
        condition = _in_measured_columns(
            parse(text, (*known, *(() if structure is None else structure.columns))),
            {column.name: column for column in known},
            structure,
        )
    except ParameterError as error:
        raise ParameterError(f"condition {show(text, 200)}: {error}") from None
    return condition


def _check_measurable(leaf: Leaf) -> None:
    if isinstance(leaf, Computed):
        raise ParameterError(
            f"{show(str(leaf))} computes with columns. A rule of a schema may do so; what was measured answers "
            "comparisons of a column with a value or another column. Ask for the expectation of a function instead."
        )


def _in_measured_columns(
    condition: Condition, columns: Mapping[str, Column], structure: "Structure | None"
) -> Condition:
    """The same condition, with tests of measured columns alone."""
    if isinstance(condition, Negated):
        return Negated(part=_in_measured_columns(condition.part, columns, structure))
    if isinstance(condition, Joined):
        parts = tuple(_in_measured_columns(part, columns, structure) for part in condition.parts)
        return Joined(parts=parts, every=condition.every)
    assert isinstance(condition, Leaf)
    if (stretch := _stretch(condition, structure)) is not None:
        return _in_measured_columns(stretch, columns, structure)
    _check_measurable(condition)
    derived = [] if structure is None else [name for name in condition.names if name in structure.derivations]
    if structure is None or not derived:
        return condition
    origins = tuple(dict.fromkeys(origin for name in condition.names for origin in structure.origins(name)))
    if len(origins) > 1 or not single_valued(columns[origins[0]]):
        raise ParameterError(
            f"column {derived[0]!r} is derived, and was not measured. Ask about {' and '.join(origins)} instead."
        )
    return Through(leaf=condition, origin=origins[0], structure=structure)


# --------------------
# Years and days of dates, as stretches of them.


def _stretch(leaf: Leaf, structure: "Structure | None") -> Condition | None:
    """A test of `year(x)` or `date(x)`, or of a column that is one of them, as tests of x; None where it is another."""
    if isinstance(leaf, Computed) and isinstance(leaf.left, Extracted):
        return _within(leaf.left, leaf.operator, leaf.right)
    if isinstance(leaf, Computed) and isinstance(leaf.right, Extracted):
        return _within(leaf.right, leaf.operator.translate(MIRROR), leaf.left)
    if isinstance(leaf, Compared) and structure is not None and leaf.left.name in structure.derivations:
        term = getattr(structure.derivations[leaf.left.name], "term", None)
        return _within(term, leaf.operator, leaf.right) if isinstance(term, Extracted) else None
    return None


def _within(term: Extracted, operator: str, value: object) -> Condition | None:
    try:
        if term.part == "year" and isinstance(value, int | float) and float(value).is_integer():
            first, after = datetime.date(int(value), 1, 1), datetime.date(int(value) + 1, 1, 1)
        elif term.part == "date" and isinstance(value, str):
            first = datetime.date.fromisoformat(value)
            after = first + datetime.timedelta(days=1)
        else:
            return None
    except (ValueError, OverflowError):  # no such year or day
        return None
    begun = Compared(left=term.column, operator=">=", right=first.isoformat())
    over = Compared(left=term.column, operator=">=", right=after.isoformat())
    inside = Joined(parts=(begun, Negated(part=over)), every=True)
    return {
        "==": inside,
        "!=": Negated(part=inside),
        ">=": begun,
        ">": over,
        "<": Negated(part=begun),
        "<=": Negated(part=over),
    }[operator]
