"""Rules between the columns of one row."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.errors import SchemaError
from kernelease.table.columns import Column, Ordinal, nearest

Literal: TypeAlias = str | int | float | bool

_COMPARE = {
    "<=": pc.less_equal,
    ">=": pc.greater_equal,
    "==": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    ">": pc.greater,
}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<operator><=|>=|==|!=|<|>)
      | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])
      | '(?P<text>(?:[^']|'')*)'
      | "(?P<quoted>[^"]+)"
      | `(?P<ticked>[^`]+)`
      | (?P<word>[^\W\d][\w.\-]*)
    )""",
    re.VERBOSE,
)
_GRAMMAR = "Write a <= b, age >= 18, or if employed == 'no' then hours == 0 (operators <=, <, ==, !=, >=, >)."


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """`left operator right`, where left is a column, and right another one or a literal."""

    left: Column
    operator: str
    right: Column | Literal

    def __post_init__(self) -> None:
        ordered = self.left.ordered or self.operator in ("==", "!=")
        if not ordered:
            raise _bad(f"{self.left.name!r} has no order; only == and != can be asked of it")
        if not isinstance(self.right, Column):
            _ = self.left.key(self.right)
        elif self.left.family != self.right.family:
            raise _bad(
                f"{self.left.name!r} ({self.left.tag}) and {self.right.name!r} ({self.right.tag}) do not compare"
            )
        elif (
            isinstance(self.left, Ordinal) and isinstance(self.right, Ordinal) and self.left.values != self.right.values
        ):
            raise _bad(f"{self.left.name!r} and {self.right.name!r} must have the same values in the same order")

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it."""
        return (self.left.name, self.right.name) if isinstance(self.right, Column) else (self.left.name,)

    def test(self, table: pa.Table) -> Any:
        """Of each row: true, false, or null where a side is NULL."""
        left = self.left.keys(table.column(self.left.name))
        right = self.right
        other = right.keys(table.column(right.name)) if isinstance(right, Column) else self.left.key(right)
        return _COMPARE[self.operator](left, other)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A rule that every row of the table keeps: all of `then` wherever all of `when`.

    NULL on either side of a comparison counts as holding, as in a CHECK of SQL: a row breaks the rule only if it
    surely does. Constraints are public knowledge about the domain, not findings about the private rows.
    """

    text: str
    then: tuple[Comparison, ...]
    when: tuple[Comparison, ...] = ()

    @classmethod
    def parse(cls, text: str, columns: Mapping[str, Column]) -> "Constraint":
        """A constraint from its text, or a `SchemaError`.

        >>> from kernelease.table.columns import Integer
        >>> columns = {name: Integer(name=name, min=0, max=9) for name in ("start", "end")}
        >>> rule = Constraint.parse("start <= end", columns)
        >>> rule.columns, rule.holds(pa.table({"start": [1, 5, None], "end": [2, 3, 0]}))
        (('start', 'end'), array([ True, False,  True]))
        """
        try:
            when, then = _Parser(text, columns).parse()
        except SchemaError as error:
            raise SchemaError(f"constraint {text!r}: {error}", path=("table", "constraints")) from None
        return cls(text=text, then=then, when=when)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in it, in order of appearance."""
        return tuple(dict.fromkeys(name for part in (*self.when, *self.then) for name in part.columns))

    def holds(self, table: pa.Table) -> NDArray[np.bool_]:
        """Whether each row keeps the rule: (n,). The table has the types of the schema."""
        result = _all(self.then, table)
        if self.when:
            result = pc.or_kleene(pc.invert(_all(self.when, table)), result)
        flags: NDArray[np.bool_] = np.asarray(pc.fill_null(result, True), dtype=bool)
        return flags


def _all(parts: tuple[Comparison, ...], table: pa.Table) -> Any:
    result = parts[0].test(table)
    for part in parts[1:]:
        result = pc.and_kleene(result, part.test(table))
    return result


def _bad(message: str) -> SchemaError:
    return SchemaError(f"{message}. {_GRAMMAR}")


class _Parser:
    """Recursive descent over the tokens of one constraint: no `eval`, nothing but comparisons."""

    def __init__(self, text: str, columns: Mapping[str, Column]) -> None:
        if not isinstance(text, str):
            raise _bad("must be a string")
        self._tokens = list(_tokens(text))
        self._columns = columns

    def parse(self) -> tuple[tuple[Comparison, ...], tuple[Comparison, ...]]:
        when: tuple[Comparison, ...] = ()
        if self._take_word("if"):
            when = self._conjunction()
            if not self._take_word("then"):
                raise _bad("`then` is missing after `if`")
        then = self._conjunction()
        if self._tokens:
            raise _bad(f"{self._tokens[0][1]!r} is not expected there")
        return when, then

    def _take_word(self, word: str) -> bool:
        found = bool(self._tokens) and self._tokens[0] == ("word", word)
        if found:
            self._tokens.pop(0)
        return found

    def _conjunction(self) -> tuple[Comparison, ...]:
        parts = [self._comparison()]
        while self._take_word("and"):
            parts.append(self._comparison())
        return tuple(parts)

    def _comparison(self) -> Comparison:
        left = self._operand()
        kind, operator = self._tokens.pop(0) if self._tokens else ("", "")
        if kind != "operator":
            raise _bad(f"a comparison operator is expected, not {operator!r}")
        right = self._operand()
        if isinstance(left, Column):
            return Comparison(left=left, operator=operator, right=right)
        if isinstance(right, Column):
            return Comparison(left=right, operator=operator.translate(_MIRROR), right=left)
        raise _bad("a comparison needs a column")

    def _operand(self) -> Column | Literal:
        if not self._tokens:
            raise _bad("it ends too early")
        kind, token = self._tokens.pop(0)
        if kind == "number":
            return int(token) if token.lstrip("+-").isdigit() else float(token)
        if kind == "text":
            return token.replace("''", "'")
        if kind == "word" and token in ("true", "false") and token not in self._columns:
            return token == "true"
        if kind == "operator":
            raise _bad(f"a column or a literal is expected, not {token!r}")
        if token not in self._columns:
            hint = nearest(token, tuple(self._columns)) or " Text goes in single quotes."
            raise _bad(f"there is no column {token!r}.{hint}".rstrip("."))
        return self._columns[token]


_MIRROR = str.maketrans("<>", "><")


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise _bad(f"it can't be read from {text[position:].strip()!r} on")
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()
