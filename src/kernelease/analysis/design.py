"""The variables of a regression, from a formula."""

import re
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.analysis.evidence import Evidence
from kernelease.analysis.integrand import NUMERIC, numbers_of
from kernelease.analysis.representatives import representatives
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.table import Column

_FORMULA = re.compile(r"\s*([^~]+?)\s*~\s*([^~]+?)\s*")
_HOW = "Write hours ~ age + sex: a column of numbers, ~, and columns with + between them."


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A function of one column: its middle on each atom, and by how much it may differ from that within the atom.

    The intercept has no column. `centre` was subtracted from the numbers, and is put back into the intercept.
    """

    name: str
    column: int | None
    middle: Floats  # (atoms,), or (1,)
    half: Floats  # (atoms,), or (1,)
    centre: float = 0.0

    def on(self, columns: tuple[int, ...], groups: tuple[Integers, ...]) -> tuple[Floats, Floats]:
        """Middle and half on the cells of some columns, averaged over their atoms: (cells,) each."""
        shape = [int(group.max()) + 1 for group in groups]
        if self.column is None:
            return np.ones(int(np.prod(shape))), np.zeros(int(np.prod(shape)))
        place = columns.index(self.column)
        low, high = _range(self.middle - self.half, groups[place])[0], _range(self.middle + self.half, groups[place])[1]
        axis = [-1 if other == place else 1 for other in range(len(shape))]
        middle, half = (np.broadcast_to(part.reshape(axis), shape) for part in ((low + high) / 2, (high - low) / 2))
        return middle.ravel(), half.ravel()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Response and predictors. A predictor's NULL is a group of its own; a row without a response is left out."""

    response: Variable
    present: Floats | None  # 1 where the response is not NULL, by atom; None where it never is
    predictors: tuple[Variable, ...]


def design(evidence: Evidence, formula: str) -> Design:
    """The variables of a formula such as hours ~ age + sex. A category has one variable per value but the first."""
    match = _FORMULA.fullmatch(formula)
    if match is None:
        raise ParameterError(f"regression: can't read {formula!r}. {_HOW}")
    names = [_name(part) for part in match[2].split("+")]
    column = evidence.numeric(_name(match[1]), "regression", NUMERIC)
    if len(set(names)) < len(names) or column.name in names:
        raise ParameterError(f"regression: each column may be there once, in {formula!r}.")
    index = evidence.schema.names.index(column.name)
    null = np.isnan(column.centres())
    variables = [Variable(name="intercept", column=None, middle=np.ones(1), half=np.zeros(1))]
    for name in names:
        variables += _variables(evidence, evidence.column(name))
    return Design(
        response=_number(evidence, column, index),
        present=None if not null.any() else (~null).astype(np.float64),
        predictors=tuple(variables),
    )


def _name(part: str) -> str:
    name = part.strip().strip('`"')
    if not name or any(sign in part for sign in ":*^()-"):
        raise ParameterError(f"regression: {part.strip()!r} is not a column. {_HOW}")
    return name


def _variables(evidence: Evidence, column: Column) -> list[Variable]:
    index = evidence.schema.names.index(column.name)
    if column.tag in NUMERIC:
        number = _number(evidence, column, index)
        null = np.isnan(column.centres())
        return [number, _dummy(column, index, int(np.argmax(null)))] if null.any() else [number]
    return [_dummy(column, index, atom) for atom in range(1, column.size)]


def _number(evidence: Evidence, column: Column, index: int) -> Variable:
    """A number, less about its mean, and 0 for NULL."""
    points = representatives(column)
    numbers = numbers_of(column, pa.table({column.name: points.values}))
    low, high = _range(numbers, points.atoms)
    known = ~np.isnan(low)
    middle, half = np.where(known, (low + high) / 2, 0.0), np.where(known, (high - low) / 2, 0.0)
    marginal = evidence.marginals((index,))[0]
    cells = np.bincount(marginal.groups[0], minlength=marginal.size)
    shares = (marginal.shares / cells)[marginal.groups[0]] * known
    centre = float(shares @ middle / shares.sum()) if shares.sum() > 0.0 else float(middle[known].mean())
    return Variable(
        name=column.name, column=index, middle=np.where(known, middle - centre, 0.0), half=half, centre=centre
    )


def _dummy(column: Column, index: int, atom: int) -> Variable:
    name = f"{column.name}[{column.labels()[atom]}]"
    return Variable(
        name=name, column=index, middle=(np.arange(column.size) == atom).astype(np.float64), half=np.zeros(column.size)
    )


def _range(values: Floats, cells: Integers) -> tuple[Floats, Floats]:
    """The least and the greatest value in each cell; NaN where there is none."""
    low, high = np.full((2, int(cells.max()) + 1), np.nan)
    np.fmin.at(low, cells, values)
    np.fmax.at(high, cells, values)
    return low, high
