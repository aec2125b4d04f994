"""Conditions on the columns of a row, as analysts write them: age > 30 and sex == 'Female'.

    condition    conjunction { "or" conjunction }
    conjunction  negation { "and" negation }
    negation     "not" negation | "(" condition ")" | test
    test         operand ("==" | "!=" | "<" | "<=" | ">" | ">=") operand
                 | column ["not"] "in" "(" literal { "," literal } ")"
                 | column "is" ["not"] "null"
    operand      column | literal

Literals are numbers, 'text' (dates are text: '2024-12-31'), true and false. A column whose name is no plain word goes
in double quotes or backticks. Logic is that of SQL: a comparison with NULL is neither true nor false, and a row counts
only where the condition is surely true. Nothing is evaluated but this grammar.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.errors import ParameterError
from kernelease.table import Column, Ordinal, Schema
from kernelease.table.columns.column import is_encodable

Literal: TypeAlias = str | int | float | bool

LONGEST = 10_000  # characters of a condition
DEEPEST = 100  # parentheses and negations within each other

_COMPARE = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_MIRROR = str.maketrans("<>", "><")
_KEYWORDS = ("and", "or", "not", "in", "is", "null", "true", "false")
_LONGEST_INTEGER = 308  # characters; longer ones are read as floats, the longest of which are infinite
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<operator><=|>=|==|!=|<|>)
      | (?P<mark>[(),])
      | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<quoted>[^"]+)"
      | `(?P<ticked>[^`]+)`
      | (?P<word>[^\W\d][\w.\-]*)
    )""",
    re.VERBOSE,
)
_GRAMMAR = "Write age > 30 and sex == 'Female', with and, or, not, in ('a', 'b'), is null; = is ==, <> is !=."


class Condition(ABC):
    """A test of each row on its own."""

    @abstractmethod
    def test(self, table: pa.Table) -> Any:
        """Of each row: true, false, or null where that is not known."""

    @abstractmethod
    def leaves(self) -> "Iterator[Leaf]":
        """The single tests that it is made of."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it, in order of appearance."""
        return tuple(dict.fromkeys(name for leaf in self.leaves() for name in leaf.names))

    def holds(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether the condition is surely true of each row: (n,). The table has the types of the schema."""
        flags: NDArray[np.bool_] = np.asarray(pc.fill_null(self.test(table), False), dtype=bool)
        return flags


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Condition):
    """`left operator right`, where left is a column, and right another one or a literal."""

    left: Column
    operator: str
    right: Column | Literal

    def __post_init__(self) -> None:
        if not self.left.ordered and self.operator not in ("==", "!="):
            raise _bad(f"column {self.left.name!r} has no order: only == and != can be asked of it")
        if not isinstance(self.right, Column):
            _ = self.left.key(self.right)
        elif self.left.family != self.right.family or _values(self.left) != _values(self.right):
            raise _bad(f"columns {self.left.name!r} and {self.right.name!r} do not compare")

    @property
    def names(self) -> tuple[str, ...]:
        """One column, or two."""
        return (self.left.name, self.right.name) if isinstance(self.right, Column) else (self.left.name,)

    def leaves(self) -> "Iterator[Leaf]":
        yield self

    def test(self, table: pa.Table) -> Any:
        left = self.left.keys(table.column(self.left.name))
        right = self.right
        other = right.keys(table.column(right.name)) if isinstance(right, Column) else self.left.key(right)
        return _COMPARE[self.operator](left, other)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(Condition):
    """`column is null`."""

    column: Column

    @property
    def names(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column.name,)

    def leaves(self) -> "Iterator[Leaf]":
        yield self

    def test(self, table: pa.Table) -> Any:
        return pc.is_null(table.column(self.column.name))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InCell(Condition):
    """The column's value is one of some atoms: how rows are grouped by a column. It has no words in the grammar."""

    column: Column
    atoms: tuple[int, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The one column."""
        return (self.column.name,)

    def leaves(self) -> "Iterator[Leaf]":
        yield self

    def test(self, table: pa.Table) -> Any:
        return pa.array(np.isin(self.column.encode(table.column(self.column.name)), self.atoms))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Negated(Condition):
    """`not condition`."""

    part: Condition

    def leaves(self) -> "Iterator[Leaf]":
        yield from self.part.leaves()

    def test(self, table: pa.Table) -> Any:
        return pc.invert(self.part.test(table))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(Condition):
    """Several conditions, joined by `and` or by `or`."""

    parts: tuple[Condition, ...]
    every: bool  # and; else or

    def leaves(self) -> "Iterator[Leaf]":
        for part in self.parts:
            yield from part.leaves()

    def test(self, table: pa.Table) -> Any:
        join = pc.and_kleene if self.every else pc.or_kleene
        return reduce(join, (part.test(table) for part in self.parts))


Leaf: TypeAlias = Compared | Missing | InCell


def present(column: Column) -> tuple[Condition, ...]:
    """The condition that a column's value is not NULL; none where it never is."""
    return (Negated(part=Missing(column=column)),) if column.nullable else ()


def parse_condition(text: str, schema: Schema) -> Condition:
    r"""A condition from its text, or a `ParameterError` that says what is wrong with it.

    >>> schema = Schema.parse('[columns.age]\ntype = "integer"\nmin = 0\nmax = 99\nnullable = true')
    >>> condition = parse_condition("age in (7, 8) or not (age < 60 or age is null)", schema)
    >>> condition.holds(pa.table({"age": [7, 30, 60, None]}))
    array([ True, False,  True, False])
    """
    try:
        if len(text) > LONGEST:
            raise _bad(f"it is longer than {LONGEST:,} characters")
        if not is_encodable(text):
            raise _bad("it holds characters that are none, as from a terminal of another encoding")
        return _Parser(list(_tokens(text)), schema).parse()
    except ParameterError as error:
        raise ParameterError(f"condition {text[:200]!r}: {error}") from None


def _bad(message: str) -> ParameterError:
    return ParameterError(f"{message}. {_GRAMMAR}")


def _values(column: Column) -> object:
    """What two columns must share beside their family: the ranks of ordinals mean something in one list only."""
    return column.values if isinstance(column, Ordinal) else None


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _bad(f"it can't be read from {text[position:].strip()[:40]!r} on")
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()


class _Parser:
    """Recursive descent, one method per rule of the grammar."""

    def __init__(self, tokens: Sequence[tuple[str, str]], schema: Schema) -> None:
        self._tokens = list(reversed(tokens))  # the next one is last
        self._schema = schema
        self._depth = 0

    def parse(self) -> Condition:
        condition = self._condition()
        if self._tokens:
            raise _bad(f"{self._tokens[-1][1]!r} is not expected there")
        return condition

    def _condition(self) -> Condition:
        parts = [self._conjunction()]
        while self._took("word", "or"):
            parts.append(self._conjunction())
        return parts[0] if len(parts) == 1 else Joined(parts=tuple(parts), every=False)

    def _conjunction(self) -> Condition:
        parts = [self._negation()]
        while self._took("word", "and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Joined(parts=tuple(parts), every=True)

    def _negation(self) -> Condition:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _bad(f"it is nested more than {DEEPEST} deep")
        try:
            if self._took("word", "not"):
                return Negated(part=self._negation())
            if self._took("mark", "("):
                inner = self._condition()
                self._expect("mark", ")")
                return inner
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Condition:
        left = self._operand()
        if isinstance(left, Column):
            if self._took("word", "is"):
                return self._negated(self._took("word", "not"), self._null(left))
            negative = self._took("word", "not")
            if negative or self._next() == ("word", "in"):
                self._expect("word", "in")
                return self._negated(negative, self._in(left))
        kind, sign = self._take()
        if kind != "operator":
            raise _bad(f"a comparison is expected, not {sign!r}")
        return self._compared(left, sign, self._operand())

    def _compared(self, left: Column | Literal, sign: str, right: Column | Literal) -> Condition:
        if isinstance(left, Column):
            return Compared(left=left, operator=sign, right=right)
        if isinstance(right, Column):
            return Compared(left=right, operator=sign.translate(_MIRROR), right=left)
        raise _bad("a comparison needs a column; text goes in single quotes, and names do not")

    def _null(self, column: Column) -> Condition:
        self._expect("word", "null")
        return Missing(column=column)

    def _in(self, column: Column) -> Condition:
        self._expect("mark", "(")
        parts = [self._equal(column)]
        while self._took("mark", ","):
            parts.append(self._equal(column))
        self._expect("mark", ")")
        return Joined(parts=tuple(parts), every=False)

    def _equal(self, column: Column) -> Condition:
        value = self._operand()
        if isinstance(value, Column):
            raise _bad(f"in (…) takes literals, not the column {value.name!r}")
        return Compared(left=column, operator="==", right=value)

    @staticmethod
    def _negated(negative: bool, condition: Condition) -> Condition:
        return Negated(part=condition) if negative else condition

    def _operand(self) -> Column | Literal:
        kind, token = self._take()
        if kind == "number":
            whole = token.lstrip("+-").isdigit() and len(token) <= _LONGEST_INTEGER
            return int(token) if whole else float(token)
        if kind == "text":
            return token.replace("''", "'")
        if kind in ("operator", "mark"):
            raise _bad(f"a column or a value is expected, not {token!r}")
        if kind == "word" and token in _KEYWORDS and token not in self._schema.names:
            if token not in ("true", "false"):
                raise _bad(f"a column or a value is expected, not {token!r}")
            return token == "true"
        return self._schema.column(token)

    def _next(self) -> tuple[str, str]:
        return self._tokens[-1] if self._tokens else ("", "")

    def _take(self) -> tuple[str, str]:
        if not self._tokens:
            raise _bad("it ends too early")
        return self._tokens.pop()

    def _took(self, kind: str, token: str) -> bool:
        found = self._next() == (kind, token)
        if found:
            self._tokens.pop()
        return found

    def _expect(self, kind: str, token: str) -> None:
        if not self._took(kind, token):
            found = repr(self._next()[1]) if self._tokens else "the end"
            raise _bad(f"{token!r} is expected, not {found}")
