"""Formulas of models, as text: `ill ~ age + arm * period + I(age**2) + log(dose)`. One grammar for all models."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum, unique
from itertools import combinations
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.errors import ParameterError

MOST_FACTORS = 3  # limit: a product of more columns, with the response, is more than any release measures together
MOST_POWER = 4  # limit: a number to a higher power is noise of its greatest values
HOW = (
    "Write hours ~ age + sex: a column, ~, and terms with + between them. a:b is a product, a * b is a + b + a:b; "
    "I(x**2), log(x), log(x + 1) and sqrt(x) are functions of a number, C(x) has a coefficient for each value. "
    "The odds of one value of a category are those of work[Private] ~ age."
)
_CALL = re.compile(r"\s*(C|I|log|sqrt)\s*\((.*)\)\s*", re.DOTALL)
_POWER = re.compile(r"(.*?)(?:\*\*|\^)\s*([0-9]+)\s*", re.DOTALL)
_PLUS = re.compile(r"(.*?)\+\s*([0-9.]+)\s*", re.DOTALL)
_OUTCOME = re.compile(r"(.+)\[([^\[\]]+)\]", re.DOTALL)
_OPENING, _CLOSING, _QUOTES = "(", ")", '`"'


@final
@unique
class Shape(StrEnum):
    """What a formula makes of a column."""

    PLAIN = ""  # a number as it is; a category by its values
    VALUES = "C"  # one variable for each value, or for each cell of a number
    POWER = "I"
    LOG = "log"
    ROOT = "sqrt"


@final
@dataclass(frozen=True, slots=True)
class Factor:
    """A column in a formula, and what is made of it."""

    column: str
    shape: Shape = Shape.PLAIN
    number: float = 0.0  # the power, or what is added before a logarithm

    def __str__(self) -> str:
        if self.shape is Shape.PLAIN:
            return self.column
        if self.shape is Shape.POWER:
            return f"I({self.column}**{self.number:g})"
        added = f" + {self.number:g}" if self.number else ""
        return f"{self.shape.value}({self.column}{added})"

    @property
    def function(self) -> Callable[[Floats], Floats]:
        """Of a number; monotone from 0 on, and powers beyond 1 are of numbers from any sign on."""
        if self.shape is Shape.POWER:
            return lambda x: np.asarray(x**self.number)
        if self.shape is Shape.LOG:
            return lambda x: np.log(x + self.number)
        if self.shape is Shape.ROOT:
            return np.sqrt
        return lambda x: x

    def check(self, least: float) -> None:
        """Raise where the least number of the column has no such function."""
        if self.shape is Shape.LOG and least + self.number <= 0.0:
            raise ParameterError(
                f"formula: {self} is not defined at {least:g}, the least {self.column!r} may be. "
                f"Write log({self.column} + {math.floor(-least) + 1:g})."
            )
        if self.shape is Shape.ROOT and least < 0.0:
            raise ParameterError(f"formula: {self} is not defined at {least:g}, the least {self.column!r} may be.")


@final
@dataclass(frozen=True, slots=True)
class ModelFormula:
    """A response, or one `value` of it, and products of factors of other columns.

    >>> formula = ModelFormula.parse("ill ~ age * sex + I(age**2) + log(`a b` + 1)")
    >>> formula.response, [":".join(map(str, product)) for product in formula.products]
    ('ill', ['age', 'sex', 'age:sex', 'I(age**2)', 'log(a b + 1)'])
    >>> formula.columns, formula.sets
    (('ill', 'age', 'sex', 'a b'), (('ill', 'age', 'sex', 'a b'), ('ill', 'age', 'sex')))
    >>> formula = ModelFormula.parse("`type of work`[self-employed, no staff] ~ age")
    >>> formula.response, formula.value
    ('type of work', 'self-employed, no staff')
    """

    text: str
    response: str
    products: tuple[tuple[Factor, ...], ...]
    value: str | None = None  # of a category, whose odds are modelled

    @classmethod
    def parse(cls, text: str) -> "ModelFormula":
        """A formula from its text, or a `ParameterError` that says how one is written."""
        sides = list(_split_at(text, "~"))
        if len(sides) != 2 or not all(side.strip() for side in sides):
            raise ParameterError(f"formula: can't read {text!r}. {HOW}")
        left = sides[0].strip()
        quoted = left[0] in _QUOTES and left[0] == left[-1]
        one = None if quoted else _OUTCOME.fullmatch(left)
        response, value = (_name(left), None) if one is None else (_name(one[1]), one[2].strip())
        found: dict[tuple[Factor, ...], None] = {}
        for part in _split_at(sides[1], "+"):
            found |= dict.fromkeys(_products(part))
        columns = {factor.column for product in found for factor in product}
        if response in columns:
            raise ParameterError(f"formula: the response can't be on the right side, too, in {text!r}.")
        return cls(text, response, tuple(found), value)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns, the response first."""
        return tuple(dict.fromkeys([self.response, *(one.column for product in self.products for one in product)]))

    @property
    def plain(self) -> bool:
        """Whether every term is a column as it is: pairs of columns say all of least squares then."""
        return all(len(product) == 1 and product[0].shape is Shape.PLAIN for product in self.products)

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """The columns that must be measured together for any of the models; for least squares, pairs do if it is plain.

        All columns together, and each product with the response.
        """
        together = [(self.response, *(factor.column for factor in product)) for product in self.products]
        return tuple(dict.fromkeys([self.columns, *(one for one in together if len(one) > 2)]))


def _products(part: str) -> list[tuple[Factor, ...]]:
    """The products that a term stands for: itself, or with * all products of some of its factors."""
    crossed, joined = list(_split_at(part, "*")), list(_split_at(part, ":"))
    if len(crossed) > 1 and len(joined) > 1:
        raise ParameterError(f"formula: {part.strip()!r} has both * and :. Write them as terms of their own. {HOW}")
    factors = [_factor(text) for text in (crossed if len(crossed) > 1 else joined)]
    names = [factor.column for factor in factors]
    if len(factors) > MOST_FACTORS or len(set(names)) < len(names):
        raise ParameterError(
            f"formula: {part.strip()!r} is no product of two or three different columns. "
            "Of one column, write a power: I(x**2)."
        )
    if len(crossed) == 1:
        return [tuple(factors)]
    return [some for size in range(1, len(factors) + 1) for some in combinations(factors, size)]


def _factor(text: str) -> Factor:
    call = _CALL.fullmatch(text)
    if call is None:
        return Factor(_name(text))
    shape, inside = Shape(call[1]), call[2]
    if shape is Shape.POWER:
        power = _POWER.fullmatch(inside)
        if power is None or not 2 <= int(power[2]) <= MOST_POWER:
            raise ParameterError(f"formula: {text.strip()!r} is no power of a column from 2 to {MOST_POWER}. {HOW}")
        return Factor(_name(power[1]), shape, float(power[2]))
    added = _PLUS.fullmatch(inside) if shape is Shape.LOG else None
    return Factor(_name(inside if added is None else added[1]), shape, 0.0 if added is None else float(added[2]))


def _name(text: str) -> str:
    """A column's name, as it is or in quotes."""
    name = text.strip()
    if len(name) > 2 and name[0] in _QUOTES and name[-1] == name[0]:
        return name[1:-1]
    if not name or any(sign in name for sign in '~+*:^()`"'):
        raise ParameterError(f"formula: {text.strip()!r} is not a column. {HOW}")
    return name


def _split_at(text: str, sign: str) -> Iterator[str]:
    """The parts between a sign, as far as it is in no quotes and no parentheses."""
    part, depth, quote = "", 0, ""
    for place, character in enumerate(text):
        if quote or character in _QUOTES:
            quote = "" if character == quote else quote or character
        depth += (character == _OPENING) - (character == _CLOSING) if not quote else 0
        if character == sign and not quote and depth == 0 and text[place - 1 : place] != sign:
            yield part
            part = ""
        else:
            part += character
    yield part


MOST_TOGETHER = 4  # limit: columns that are ever counted together
MODELS = ("regression", "logistic", "poisson")
_MODEL = re.compile(rf"\s*(?:({'|'.join(MODELS)})\s+)?(.*~.*)", re.DOTALL)
_AVERAGE = re.compile(r"\s*(mean|share|probability|difference)\s+(?:(?:of|in)\s+)?(.+?)(?:\s+by\s+(.+))?\s*", re.DOTALL)


@final
@dataclass(frozen=True, slots=True)
class Analysis:
    """What will be asked: a model, `ill ~ age + arm * period`, or an average by group, `mean income by region, sex`.

    A model may say which it is, `poisson visits ~ age`. `difference in income by arm` are means of groups less that of
    the first.

    >>> Analysis.parse("mean income by region, sex").sets, Analysis.parse("ill ~ age + arm").sets
    ((('income', 'region', 'sex'),), (('ill', 'age', 'arm'),))
    >>> one = Analysis.parse("poisson visits ~ age")
    >>> one.kind, one.formula, one.columns
    ('poisson', 'visits ~ age', ('visits', 'age'))
    """

    text: str
    columns: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]  # the columns that must be measured together
    kind: str | None = None  # of a model: which, where it is said; else what is averaged
    formula: str | None = None  # of a model

    @classmethod
    def parse(cls, text: str) -> "Analysis":
        """An analysis from its text, or a `ParameterError`."""
        if (model := _MODEL.fullmatch(text)) is not None:
            return cls._model(text, *model.groups())
        match = _AVERAGE.fullmatch(text)
        if match is None or (match[1] == "difference" and match[3] is None):
            raise ParameterError(
                f"analysis: can't read {text!r}. Write a model, ill ~ age + sex or poisson visits ~ age, "
                "mean income by region, sex, or difference in income by sex."
            )
        groups = [] if match[3] is None else [_name(part) for part in match[3].split(",")]
        columns = tuple(dict.fromkeys([_name(match[2]), *groups]))
        if len(columns) > MOST_TOGETHER:
            raise _too_many(text, columns)
        return cls(text, columns, (columns,), match[1])

    @classmethod
    def _model(cls, text: str, kind: str | None, written: str) -> "Analysis":
        formula = ModelFormula.parse(written)
        columns = formula.columns
        if len(columns) <= MOST_TOGETHER:
            return cls(text, columns, (columns,), kind, written.strip())
        if formula.plain and kind in (None, "regression"):  # least squares needs pairs only
            return cls(text, columns, tuple(combinations(columns, 2)), "regression", written.strip())
        raise _too_many(text, columns)


def _too_many(text: str, columns: tuple[str, ...]) -> ParameterError:
    return ParameterError(
        f"analysis: {text!r} needs {len(columns)} columns together; at most {MOST_TOGETHER} are ever counted so. "
        "Take fewer, or a model without products: least squares needs pairs only."
    )
