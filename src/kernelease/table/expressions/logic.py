"""Conditions: single tests, how they are joined, and how a text becomes one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.errors import ParameterError, closest
from kernelease.table.columns.column import Column
from kernelease.table.expressions.terms import (
    END,
    KEYWORDS,
    PARTS,
    SHOWN,
    Calculated,
    Extracted,
    Kind,
    Literal,
    Term,
    Token,
    apply_sign,
    columns_of,
    compute,
    numbers,
    read_number,
    show,
    spell_name,
    spell_text,
    tokens,
    unit_of,
    unreadable,
    write_term,
)

# ---- Conditions, and how they are joined: true, false, or not known.


class Condition(ABC):
    """A test of each row on its own. `str` writes it as the grammar reads it."""

    __slots__ = ()

    @abstractmethod
    def test(self, table: pa.Table) -> Any:
        """True, false, or null (not known) for each row of a table with the types of the schema."""

    @abstractmethod
    def leaves(self) -> "Iterator[Leaf]":
        """The single tests that it is made of."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it, in order of appearance."""
        return tuple(dict.fromkeys(name for leaf in self.leaves() for name in leaf.names))

    def holds(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether the condition is surely true of each row: (n,)."""
        return np.asarray(pc.fill_null(self.test(table), False), dtype=bool)

    def allows(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether the condition may be true of each row, since it is not surely false: (n,)."""
        return np.asarray(pc.fill_null(self.test(table), True), dtype=bool)


class Leaf(Condition):
    """A single test: a condition that holds no other."""

    __slots__ = ()

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that it reads."""

    def leaves(self) -> "Iterator[Leaf]":
        yield self


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Negated(Condition):
    """`not condition`."""

    part: Condition

    def leaves(self) -> Iterator[Leaf]:
        yield from self.part.leaves()

    def test(self, table: pa.Table) -> Any:
        return pc.invert(self.part.test(table))

    def __str__(self) -> str:
        return f"not {_within(self.part)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(Condition):
    """Several conditions, joined by `and` or by `or`."""

    parts: tuple[Condition, ...]
    every: bool  # and; else or

    def __post_init__(self) -> None:
        if len(self.parts) < 2:
            raise ParameterError(f"and, or: join at least two conditions, got {len(self.parts)}.")

    def leaves(self) -> Iterator[Leaf]:
        for part in self.parts:
            yield from part.leaves()

    def test(self, table: pa.Table) -> Any:
        join = pc.and_kleene if self.every else pc.or_kleene
        return reduce(join, (part.test(table) for part in self.parts))

    def __str__(self) -> str:
        return (" and " if self.every else " or ").join(_within(part) for part in self.parts)


def _within(part: Condition) -> str:
    return f"({part})" if isinstance(part, Joined) else str(part)


# ---- The single tests of the language.


_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
OPERATORS = tuple(_COMPARE)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Leaf):
    """`left operator right`, where left is a column, and right another one or a literal. Numbers compare exactly."""

    left: Column
    operator: str
    right: Column | Literal

    def __post_init__(self) -> None:
        _check_operator(self.operator)
        if not self.left.ordered and self.operator not in ("==", "!="):
            raise ParameterError(f"column {self.left.name!r} has no order: only == and != can be asked of it.")
        if isinstance(self.right, Column):
            _check_alike(self.left, self.right)
        else:
            _ = self.left.key(self.right)

    @property
    def names(self) -> tuple[str, ...]:
        return (self.left.name, self.right.name) if isinstance(self.right, Column) else (self.left.name,)

    def test(self, table: pa.Table) -> Any:
        left = self.left.keys(table.column(self.left.name))
        right = self.right
        other = right.keys(table.column(right.name)) if isinstance(right, Column) else self.left.key(right)
        return _COMPARE[self.operator](left, other)

    def __str__(self) -> str:
        return f"{write_term(self.left)} {self.operator} {write_term(self.right)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Computed(Leaf):
    """`left operator right` between numbers or dates, one of them at least computed. They are equal up to rounding."""

    left: Term
    operator: str
    right: Term

    def __post_init__(self) -> None:
        _check_operator(self.operator)
        left, right = unit_of(self.left), unit_of(self.right)
        if left != right:
            raise ParameterError(f"{show(str(self))}: a {left} and a {right} do not compare.")
        if not isinstance(self.left, Calculated) and not isinstance(self.right, Calculated):
            raise ParameterError(f"{self} computes nothing.")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(column.name for side in (self.left, self.right) for column in columns_of(side)))

    def test(self, table: pa.Table) -> Any:
        return numbers(self.left, table).compare(self.operator, numbers(self.right, table))

    def __str__(self) -> str:
        return f"{write_term(self.left)} {self.operator} {write_term(self.right)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Missing(Leaf):
    """`column is null`. NaN is a missing number."""

    column: Column

    @property
    def names(self) -> tuple[str, ...]:
        return (self.column.name,)

    def test(self, table: pa.Table) -> Any:
        return pc.is_null(table.column(self.column.name), nan_is_null=True)

    def __str__(self) -> str:
        return f"{write_term(self.column)} is null"


def _check_operator(operator: str) -> None:
    if operator not in OPERATORS:
        raise ParameterError(f"a comparison is one of {' '.join(OPERATORS)}, got {operator!r}.")


def _check_alike(left: Column, right: Column) -> None:
    """Columns of one family compare; ordinals, if they share their list: ranks mean nothing elsewhere."""
    if left.family != right.family:
        raise ParameterError(
            f"columns {left.name!r} ({left.tag}) and {right.name!r} ({right.tag}) do not compare: "
            "numbers go with numbers, dates with dates, text with text."
        )
    if left.tag == right.tag == "ordinal" and left.labels()[: left.in_order] != right.labels()[: right.in_order]:
        raise ParameterError(
            f"columns {left.name!r} and {right.name!r} do not compare: "
            "ordinals must have the same values in the same order."
        )


# ---- Parsing: from a text to the tree of its condition.


DEEPEST = 100  # parentheses, negations and signs within each other
MOST_SIGNS = 100  # of arithmetic: each takes a tree one level deeper

Part: TypeAlias = Condition | Term

_ALL, _OR, _AND, _NOT, _TEST, _SUM, _PRODUCT = range(7)  # how strongly what stands between two parts binds them
_STRENGTH = {
    (Kind.KEYWORD, "or"): _OR,
    (Kind.KEYWORD, "and"): _AND,
    **{(Kind.KEYWORD, word): _TEST for word in ("is", "in", "not")},
    (Kind.WORD, "between"): _TEST,  # no word of the language elsewhere: a column may have that name
    **{(Kind.SIGN, operator): _TEST for operator in OPERATORS},
    **{(Kind.SIGN, sign): _SUM for sign in "+-"},
    **{(Kind.SIGN, sign): _PRODUCT for sign in "*/"},
}
MIRROR = str.maketrans("<>", "><")


def parse(text: object, columns: Iterable[Column]) -> Condition:
    """The condition that a text says about some columns, or a `ParameterError` that says what is wrong with it.

    >>> from kernelease.table.columns import Integer
    >>> columns = [Integer(name=name, min=0, max=9, nullable=True) for name in ("total", "part", "rest")]
    >>> print(parse("total in (7, 8) or not (total - part != rest)", columns))
    (total == 7 or total == 8) or not total - part != rest
    """
    return _condition(_Parser(list(tokens(text)), {column.name: column for column in columns}).parse())


def parse_term(text: object, columns: Iterable[Column]) -> Term:
    """What a text computes from some columns, or a `ParameterError` that says what is wrong with it.

    >>> from kernelease.table.columns import Number
    >>> columns = [Number(name=name, min=0.5, max=300) for name in ("weight_kg", "height_m")]
    >>> print(parse_term("weight_kg / (height_m * height_m)", columns))
    weight_kg / (height_m * height_m)
    """
    part = _Parser(list(tokens(text)), {column.name: column for column in columns}).parse()
    if isinstance(part, Condition):
        raise ParameterError(f"{_text_of(part)} is true or false: that is computed for a column of type boolean.")
    return part


def names_in(text: object, known: Collection[str]) -> tuple[str, ...]:
    """The known columns that a text names, in order of appearance, whether or not it can be read.

    >>> names_in("year(born) + day * 2", ("day", "born", "year"))
    ('born', 'day')
    """
    found = list(tokens(text))
    named = [
        token.text
        for token, after in zip(found, [*found[1:], END], strict=True)
        if token.kind in (Kind.WORD, Kind.QUOTED, Kind.TICKED) and token.text in known and after != (Kind.SIGN, "(")
    ]
    return tuple(dict.fromkeys(named))


class _Parser:
    """Precedence climbing: a part, then whatever binds it more strongly than what stood before it."""

    def __init__(self, found: list[Token], columns: Mapping[str, Column]) -> None:
        self._tokens = [_lower(token, columns) for token in reversed(found)]  # the next one is last
        self._columns = columns
        self._depth = 0
        self._signs = 0

    def parse(self) -> Part:
        whole = self._expression(_ALL)
        if self._tokens:
            raise unreadable(f"{self._next()} is not expected there")
        return whole

    def _expression(self, strength: int) -> Part:
        """All that binds more strongly than `strength`."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise unreadable(f"it is nested more than {DEEPEST} deep")
        part = self._first(strength)
        while (binding := _STRENGTH.get(self._next(), _ALL)) > strength:
            part = self._bound(part, self._take().text, binding)
        self._depth -= 1
        return part

    def _first(self, strength: int) -> Part:
        token = self._take()
        match token:
            case Kind.KEYWORD, "if" if strength == _ALL:
                when = _condition(self._expression(_ALL))
                self._expect(Kind.KEYWORD, "then")
                then = _condition(self._expression(_ALL))
                return Joined(parts=(Negated(part=when), then), every=False)
            case Kind.KEYWORD, "not":
                return Negated(part=_condition(self._expression(_NOT)))
            case Kind.SIGN, "(":
                inner = self._expression(_ALL)
                self._expect(Kind.SIGN, ")")
                return inner
            case Kind.SIGN, "+" | "-":
                return apply_sign(token.text, _operand(self._expression(_PRODUCT), token.text))
        return self._term(token)

    def _bound(self, left: Part, word: str, strength: int) -> Part:
        """What a part becomes with the word after it, and what that takes."""
        if strength in (_OR, _AND):
            return self._join(left, word, strength)
        if strength in (_SUM, _PRODUCT):
            return self._compute(left, word, self._expression(strength))
        if word in OPERATORS:
            return _compare(left, word, self._expression(_TEST))
        if not isinstance(left, Column):
            raise unreadable(f"{word!r} is asked of a column, not of {_text_of(left)}")
        if word == "is":
            negative = self._took(Kind.KEYWORD, "not")
            self._expect(Kind.KEYWORD, "null")
            missing = Missing(column=left)
            return Negated(part=missing) if negative else missing
        if word == "not" and self._took(Kind.WORD, "between"):
            return Negated(part=self._between(left))
        if word == "not":
            self._expect(Kind.KEYWORD, "in")
            return Negated(part=self._in(left))
        return self._between(left) if word == "between" else self._in(left)

    def _between(self, column: Column) -> Condition:
        low = _compare(column, ">=", self._expression(_TEST))
        self._expect(Kind.KEYWORD, "and")
        return Joined(parts=(low, _compare(column, "<=", self._expression(_TEST))), every=True)

    def _join(self, first: Part, word: str, strength: int) -> Condition:
        parts = [_condition(first), _condition(self._expression(strength))]
        while self._took(Kind.KEYWORD, word):
            parts.append(_condition(self._expression(strength)))
        return Joined(parts=tuple(parts), every=word == "and")

    def _compute(self, left: Part, sign: str, right: Part) -> Term:
        self._signs += 1
        if self._signs > MOST_SIGNS:
            raise unreadable(f"it has more than {MOST_SIGNS} signs of arithmetic")
        return compute(_operand(left, sign), sign, _operand(right, sign))

    def _in(self, column: Column) -> Condition:
        self._expect(Kind.SIGN, "(")
        parts = [self._equal(column)]
        while self._took(Kind.SIGN, ","):
            parts.append(self._equal(column))
        self._expect(Kind.SIGN, ")")
        return parts[0] if len(parts) == 1 else Joined(parts=tuple(parts), every=False)

    def _equal(self, column: Column) -> Condition:
        value = self._expression(_TEST)
        if isinstance(value, Condition | Column | Calculated):
            raise unreadable(f"in (…) takes values, not {_text_of(value)}")
        return Compared(left=column, operator="==", right=value)

    def _term(self, token: Token) -> Term:
        match token.kind:
            case Kind.NUMBER:
                return read_number(token.text)
            case Kind.TEXT:
                return token.text
            case Kind.KEYWORD if token.text in ("true", "false"):
                return token.text == "true"
            case Kind.KEYWORD if token.text == "null":
                raise unreadable("nothing compares with null: ask for is null or is not null")
            case Kind.WORD if token.text in PARTS and self._next() == (Kind.SIGN, "("):
                self._expect(Kind.SIGN, "(")
                column = self._column(self._take())
                self._expect(Kind.SIGN, ")")
                return Extracted(part=token.text, column=column)
            case Kind.WORD | Kind.QUOTED | Kind.TICKED:
                return self._column(token)
        hint = "; a column of that name goes in double quotes" if token.kind is Kind.KEYWORD else ""
        raise unreadable(f"a column or a value is expected, not {token}{hint}")

    def _column(self, token: Token) -> Column:
        name = token.text
        if name not in self._columns:
            raise ParameterError(f"there is no column {show(name)}.{self._hint(token)}")
        return self._columns[name]

    def _hint(self, token: Token) -> str:
        name, near = token.text, closest(token.text, self._columns, least=0.7)
        text = f" Text goes in single quotes: {spell_text(name)}." if len(name) <= SHOWN else ""
        if token.kind is Kind.WORD and any(part in self._columns for part in name.split("-")):
            return " A minus after a name needs blanks around it."
        longer = [other for other in self._columns if other.startswith(name) and spell_name(other) != other]
        if token.kind is Kind.WORD and longer:
            return f" A name that is no plain word goes in double quotes: {spell_name(longer[0])}."
        if near is None:
            return text
        return f" Did you mean {near}?" + (text if token.kind is Kind.QUOTED else "")

    def _next(self) -> Token:
        return self._tokens[-1] if self._tokens else END

    def _take(self) -> Token:
        if not self._tokens:
            raise unreadable("it ends too early")
        return self._tokens.pop()

    def _took(self, kind: Kind, text: str) -> bool:
        found = self._next() == (kind, text)
        if found:
            self._tokens.pop()
        return found

    def _expect(self, kind: Kind, text: str) -> None:
        if not self._took(kind, text):
            raise unreadable(f"{text!r} is expected, not {self._next()}")


def _lower(token: Token, columns: Mapping[str, Column]) -> Token:
    """AND for and, and so on, unless there is a column of that name."""
    small = token.text.lower()
    known = token.kind is not Kind.WORD or token.text in columns or small not in (*KEYWORDS, "between")
    return token if known else Token(Kind.WORD if small == "between" else Kind.KEYWORD, small)


def _condition(part: Part) -> Condition:
    if isinstance(part, Condition):
        return part
    boolean = isinstance(part, Column) and part.tag == "boolean"
    remedy = f"write {write_term(part)} == true" if boolean else "compare it with something"
    raise unreadable(f"{_text_of(part)} is no condition: {remedy}")


def _operand(part: Part, word: str) -> Term:
    if isinstance(part, Condition):
        raise unreadable(f"{word} takes a column or a value, and {_text_of(part)} is true or false")
    return part


def _compare(left: Part, operator: str, other: Part) -> Condition:
    if isinstance(left, Condition):
        raise unreadable(f"{operator!r} is not expected there: join comparisons with and, a <= b and b <= c")
    right = _operand(other, operator)
    if isinstance(left, Calculated) or isinstance(right, Calculated):
        return Computed(left=left, operator=operator, right=right)
    if isinstance(left, Column):
        return Compared(left=left, operator=operator, right=right)
    if isinstance(right, Column):
        return Compared(left=right, operator=operator.translate(MIRROR), right=left)
    raise unreadable("a comparison needs a column; text goes in single quotes, and names in double quotes or none")


def _text_of(part: Part) -> str:
    """A part in a message."""
    return show(str(part) if isinstance(part, Condition) else write_term(part))
