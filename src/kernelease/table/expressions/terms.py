"""Terms: the two sides of a comparison, read from words, and computed with a bound on rounding."""

import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum, auto, unique
from typing import Any, NamedTuple, TypeAlias, TypeGuard, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.errors import ParameterError, is_encodable
from kernelease.table.columns.column import Column

# ---- The words of a condition.


LONGEST = 10_000  # characters of a condition
KEYWORDS = frozenset({"and", "or", "not", "in", "is", "null", "true", "false", "if", "then"})

_TOKEN = re.compile(  # possessive, so that no text takes longer than its length
    r"""\s*+(?:
        (?P<sign><=|>=|==|!=|<>|&&|\|\||[=<>(),+\-*/])
      | (?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T\ ][0-9]{2}:[0-9]{2}(?::[0-9]{2})?+)?+)(?![\w.\-])
      | (?P<number>(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+)(?![\w.])
      | '(?P<text>[^']*+(?:''[^']*+)*+)'
      | "(?P<quoted>[^"]*+(?:""[^"]*+)*+)"
      | `(?P<ticked>[^`]*+)`
      | (?P<word>[^\W\d]\w*+(?:[.\-]++\w++)*+)
    )""",
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d]\w*+(?:[.\-]++\w++)*+")
_EXAMPLE = "Write age > 30 and sex == 'Female', with and, or, not, in ('a', 'b'), between 1 and 2, is null."
_OTHER_SIGNS = {"=": "==", "<>": "!="}  # as SQL and others have them
_JOINTS = {"&&": "and", "||": "or"}
SHOWN = 40  # characters of a text that a message repeats


@final
@unique
class Kind(StrEnum):
    """What a token is, by the groups of the pattern."""

    SIGN = auto()
    DATE = auto()
    NUMBER = auto()
    TEXT = auto()
    QUOTED = auto()
    TICKED = auto()
    WORD = auto()
    KEYWORD = auto()
    END = auto()


class Token(NamedTuple):
    """A word of the language: its kind, and its text without quotes."""

    kind: Kind
    text: str

    def __str__(self) -> str:
        return "the end" if self.kind is Kind.END else show(self.text)


END = Token(Kind.END, "")


def tokens(text: object) -> Iterator[Token]:
    """The tokens of a text, or a `ParameterError`.

    >>> [token.text for token in tokens("age>=18 and 'it''s' != `odd name`")]
    ['age', '>=', '18', 'and', "it's", '!=', 'odd name']
    """
    if not isinstance(text, str):
        raise unreadable("must be a string")
    if len(text) > LONGEST:
        raise unreadable(f"it is longer than {LONGEST:,} characters")
    if not is_encodable(text):
        raise unreadable("it holds characters that are none, as from a terminal of another encoding")
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            rest = text[position:].strip()
            hint = "" if rest[0].isascii() else "; a name that is no plain word goes in double quotes"
            raise unreadable(f"it can't be read from {show(rest)} on{hint}")
        yield _token(Kind(match.lastgroup), match[match.lastgroup])
        position = match.end()


def _token(kind: Kind, text: str) -> Token:
    if kind is Kind.TEXT:
        return Token(kind, text.replace("''", "'"))
    if kind is Kind.QUOTED:
        return Token(kind, text.replace('""', '"'))
    if kind is Kind.DATE:
        return Token(Kind.TEXT, text.replace(" ", "T"))
    if kind is Kind.SIGN:
        return Token(Kind.KEYWORD, _JOINTS[text]) if text in _JOINTS else Token(kind, _OTHER_SIGNS.get(text, text))
    return Token(Kind.KEYWORD if kind is Kind.WORD and text in KEYWORDS else kind, text)


def spell_name(name: str) -> str:
    """A column's name as it is written.

    >>> spell_name("hours-per-week"), spell_name("in"), spell_name('5" nails')
    ('hours-per-week', '"in"', '"5"" nails"')
    """
    plain = _WORD.fullmatch(name) is not None and name not in KEYWORDS
    return name if plain else '"' + name.replace('"', '""') + '"'


def spell_text(text: str) -> str:
    """A text as it is written."""
    return "'" + text.replace("'", "''") + "'"


def show(text: object, most: int = SHOWN) -> str:
    """What was given, for a message: text in quotes, and not too long."""
    return repr(f"{text[:most]}…" if isinstance(text, str) and len(text) > most else text)


def unreadable(message: str) -> ParameterError:
    """An error that ends with how conditions are written."""
    return ParameterError(f"{message}. {_EXAMPLE}")


# ---- Arithmetic on float64 that carries a bound on its rounding error.


Flags: TypeAlias = NDArray[np.bool_]

_UNIT = 2.0**-52  # twice the relative error of one rounding, so that the bounds may be rounded themselves
_LEAST = 2.0**-1070  # and some of the smallest floats, where errors are no longer relative


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rounded:
    """Numbers, and how far from them the numbers without rounding may be: (n,) or () each. NaN is NULL.

    0.1 + 0.2 is not 0.3 in float64, but it is within the slack of it; so are the parts of a total in euros and cents.
    What is not finite after an operation is NULL, and so is a quotient whose divisor may be 0.
    """

    values: Floats
    slack: Floats

    @classmethod
    def from_decimals(cls, values: Floats) -> "Rounded":
        """Numbers as they were written in decimals: each float64 is the nearest one."""
        return cls(values=values, slack=np.where(np.isinf(values), 0.0, _UNIT * np.abs(values) + _LEAST))

    @classmethod
    def _round(cls, values: Floats, slack: Floats) -> "Rounded":
        room = slack + _UNIT * np.abs(values) + _LEAST
        return cls(values=np.where(np.isfinite(values) & np.isfinite(room), values, np.nan), slack=room)

    def combine(self, sign: str, other: "Rounded") -> "Rounded":
        """The sum, difference, product or quotient."""
        with np.errstate(all="ignore"):
            return self._round(*_COMBINE[sign](self, other))

    def compare(self, operator: str, other: "Rounded") -> pa.Array:
        """True, false or null for each row. Numbers are equal if they differ by no more than rounding may explain."""
        with np.errstate(all="ignore"):
            gap = np.atleast_1d(self.values - other.values)
            same = np.abs(gap) <= self.slack + other.slack
        return pa.array(_COMPARE[operator](gap, same), mask=np.isnan(gap))


def _product(left: Rounded, right: Rounded) -> tuple[Floats, Floats]:
    slack = left.slack * np.abs(right.values) + right.slack * np.abs(left.values) + left.slack * right.slack
    return left.values * right.values, slack


def _quotient(left: Rounded, right: Rounded) -> tuple[Floats, Floats]:
    """With x, y off by at most r, s: |x/y − x̃/ỹ| ≤ (r + s·|x̃/ỹ|) / (|ỹ| − s)."""
    least = np.abs(right.values) - right.slack
    quotient = np.where(least > 0.0, left.values / right.values, np.nan)
    return quotient, (left.slack + right.slack * np.abs(quotient)) / least


_COMBINE: Mapping[str, Callable[[Rounded, Rounded], tuple[Floats, Floats]]] = {
    "+": lambda left, right: (left.values + right.values, left.slack + right.slack),
    "-": lambda left, right: (left.values - right.values, left.slack + right.slack),
    "*": _product,
    "/": _quotient,
}
_COMPARE: Mapping[str, Callable[[Floats, Flags], Flags]] = {
    "==": lambda gap, same: same,
    "!=": lambda gap, same: ~same,
    "<": lambda gap, same: (gap < 0.0) & ~same,
    "<=": lambda gap, same: (gap < 0.0) | same,
    ">": lambda gap, same: (gap > 0.0) & ~same,
    ">=": lambda gap, same: (gap > 0.0) | same,
}


# ---- The terms: a column, a value, or numbers computed from them.


Literal: TypeAlias = str | int | float | bool

_MOST_DIGITS = 15  # of an integer: those are exact as float64
_STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}
_PER_UNIT = {"date": 86_400_000_000, "datetime": 1_000_000}  # microseconds of a day and of a second
_PARTS: Mapping[str, Callable[[Any], Any]] = {
    "year": pc.year,
    "month": pc.month,
    "day": pc.day,
    "weekday": lambda times: pc.day_of_week(times, count_from_zero=False),
    "hour": pc.hour,
    "minute": pc.minute,
    "date": lambda times: pc.floor_temporal(times, unit="day").cast(pa.date32()).cast(pa.int32()),
}
PARTS = tuple(_PARTS)
_OF_THE_DAY = ("hour", "minute", "date")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted:
    """`year(column)` and the like: a number that a date or an instant, in UTC, says. Monday is weekday 1.

    `date(column)` is the day of an instant, and a date.
    """

    part: str
    column: Column

    def __post_init__(self) -> None:
        if self.part not in PARTS:
            raise ParameterError(f"there is no {self.part}(…); there are {', '.join(PARTS)}.")
        if self.column.family != "time":
            raise ParameterError(
                f"{self.part}(…) is of a date or a datetime, and column {self.column.name!r} is of type "
                f"{self.column.tag}."
            )
        if self.column.tag == "date" and self.part in _OF_THE_DAY:
            raise ParameterError(f"{self.part}(…) is of a datetime; a date like {self.column.name!r} has none.")

    def numbers(self, table: pa.Table) -> Any:
        """The number of each row; null for NULL."""
        return _PARTS[self.part](table.column(self.column.name))

    def __str__(self) -> str:
        return f"{self.part}({spell_name(self.column.name)})"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """`left sign right`, with the sign + - * or /: what is computed from the numbers of a row. NULL makes it NULL.

    At least one column is in it: what is computed from numbers alone is a number. A date counts in days and a datetime
    in seconds: a date and a number add up to a date, and two dates are apart by a number.
    """

    left: "Term"
    sign: str
    right: "Term"

    def __post_init__(self) -> None:
        if self.sign not in _STRENGTH:
            raise ParameterError(f"arithmetic has + - * and /, not {self.sign!r}.")
        if not self.columns:
            raise ParameterError(f"{self} holds no column. Write the number that it is.")
        _ = self.unit

    @property
    def unit(self) -> str:
        """number, date or datetime; an error where these do not go together."""
        left, right = unit_of(self.left), unit_of(self.right)
        if right == "number" and (left == "number" or self.sign in "+-"):
            return left
        if left == "number" and self.sign == "+":
            return right
        if left == right and self.sign == "-":
            return "number"
        raise ParameterError(
            f"{show(str(self))}: a {left} {self.sign} a {right} is nothing. Numbers go with numbers; a number of days "
            "or seconds is added to a date or datetime, or is between two of them."
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns in it, in order of appearance."""
        return tuple(dict.fromkeys((*columns_of(self.left), *columns_of(self.right))))

    def __str__(self) -> str:
        left, right = write_term(self.left), write_term(self.right)
        if isinstance(self.left, Arithmetic) and _STRENGTH[self.left.sign] < _STRENGTH[self.sign]:
            left = f"({left})"
        if isinstance(self.right, Arithmetic) and _STRENGTH[self.right.sign] <= _STRENGTH[self.sign]:
            right = f"({right})"
        return f"{left} {self.sign} {right}"


Calculated: TypeAlias = Arithmetic | Extracted
Term: TypeAlias = Column | Literal | Calculated


def columns_of(term: Term) -> tuple[Column, ...]:
    """The columns of a term."""
    if isinstance(term, Arithmetic):
        return term.columns
    if isinstance(term, Extracted):
        return (term.column,)
    return (term,) if isinstance(term, Column) else ()


def unit_of(term: Term) -> str:
    """What arithmetic takes a term for: a number, a date (in days) or a datetime (in seconds); else an error."""
    if isinstance(term, Arithmetic):
        return term.unit
    if isinstance(term, Extracted):
        return "date" if term.part == "date" else "number"
    if _is_number(term):
        return "number"
    if not isinstance(term, Column):
        raise ParameterError(f"{write_term(term)} is no number, and arithmetic is between numbers.")
    if term.family not in ("number", "time"):
        raise ParameterError(f"column {term.name!r} is of type {term.tag}, and arithmetic is between numbers.")
    return "number" if term.family == "number" else term.tag


def numbers(term: Term, table: pa.Table) -> Rounded:
    """A term's number in each row of a table with the types of the schema: (n,), or () if it is the same in all."""
    if isinstance(term, Arithmetic):
        return numbers(term.left, table).combine(term.sign, numbers(term.right, table))
    if isinstance(term, Extracted):
        return Rounded.from_decimals(_floats(term.numbers(table)))
    if isinstance(term, Column):
        keys = _floats(term.keys(table.column(term.name)))
        return Rounded.from_decimals(keys / _PER_UNIT[term.tag] if term.tag in _PER_UNIT else keys)
    return Rounded.from_decimals(np.asarray(float(term)))


def _floats(array: Any) -> Floats:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def compute(left: Term, sign: str, right: Term) -> Term:
    """`left sign right`: a number where both are, rounded to 15 digits unless it is whole."""
    for part in (left, right):
        _ = unit_of(part)
    if not _is_number(left) or not _is_number(right):
        return Arithmetic(left=left, sign=sign, right=right)
    value = _value(left, sign, right)
    if math.isnan(value):
        raise ParameterError(f"{write_term(left)} {sign} {write_term(right)} has no value.")
    return value


def apply_sign(sign: str, term: Term) -> Term:
    """`+ term`, which is the term, or `- term`, which is 0 − term."""
    if unit_of(term) != "number":
        raise ParameterError(f"{sign}{write_term(term)}: a sign is of a number, not of a date.")
    if sign == "+":
        return term
    return -term if _is_number(term) else Arithmetic(left=0, sign="-", right=term)


def _value(left: float, sign: str, right: float) -> float:
    """Of integers, an integer, except for a quotient and beyond what float64 holds exactly."""
    if sign == "/":
        value = left / right if right else math.nan
    else:
        value = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](left, right)
    if isinstance(value, int) and abs(value) < 10**_MOST_DIGITS:
        return value
    return float(f"{value:.{_MOST_DIGITS}g}")


def read_number(digits: str) -> int | float:
    """A number without a sign. An integer of more than 15 digits is the nearest float, which may be infinite.

    >>> read_number("30"), read_number("3e1"), read_number("9" * 5000)
    (30, 30.0, inf)
    """
    return int(digits) if digits.isdigit() and len(digits) <= _MOST_DIGITS else float(digits)


def write_term(term: Term) -> str:
    """A term as the grammar reads it.

    >>> write_term("it's"), write_term(True), write_term(-0.5), write_term(float("inf"))
    ("'it''s'", 'true', '-0.5', '1e999')
    """
    if isinstance(term, Column):
        return spell_name(term.name)
    if isinstance(term, str):
        return spell_text(term)
    if isinstance(term, bool):
        return "true" if term else "false"
    if isinstance(term, float) and math.isinf(term):
        return "1e999" if term > 0.0 else "-1e999"
    return str(term)


def _is_number(term: Term) -> TypeGuard[int | float]:
    return isinstance(term, int | float) and not isinstance(term, bool)
