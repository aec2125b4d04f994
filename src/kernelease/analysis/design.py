"""The variables of a model: functions of single columns and their products, and what they are on cells of counts."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from kernelease.analysis.estimands import NUMERIC
from kernelease.analysis.groups import no_label
from kernelease.analysis.representatives import LEAST, YEAR, atom_numbers, extremes, middles_and_halves
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import Marginal, Way, best_ways, parts_of
from kernelease.estimate.products import OffsetSums
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Codes, Column
from kernelease.table.columns.listed import Boolean, Listed
from kernelease.table.expressions.formulas import Factor, ModelFormula, Shape

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

# --------------------
# The variables of a model: functions of single columns, and their products.


@final
@dataclass(frozen=True, slots=True, eq=False)
class Variable:
    """A function of one column, by atom: (atoms,); 0 for NULL of a number. With a factor, that function of a number."""

    name: str
    column: int
    values: Floats
    factor: Factor | None = None


@final
@dataclass(frozen=True, slots=True)
class Term:
    """A product of variables of different columns; of none, the intercept."""

    factors: tuple[Variable, ...]

    @property
    def name(self) -> str:
        """The term as a formula writes it."""
        return ":".join(factor.name for factor in self.factors) or "intercept"

    @property
    def columns(self) -> set[int]:
        """The columns that it reads."""
        return {factor.column for factor in self.factors}

    def of_codes(self, codes: Mapping[int, Codes]) -> Floats:
        """Its value on rows, given the atoms of each column."""
        rows = len(next(iter(codes.values())))
        return np.asarray(math.prod((one.values[codes[one.column]] for one in self.factors), start=np.ones(rows)))


def response_numbers(
    evidence: "Evidence", formula: ModelFormula, what: str, tags: Sequence[str]
) -> tuple[Column, Floats]:
    """The response, and its number by atom, NaN for NULL: (atoms,). Of a value in brackets it is whether it is that."""
    column = evidence.column(formula.response)
    listed = isinstance(column, Listed | Boolean)
    if formula.value is None and (column.tag in tags or not listed or what != "logistic"):
        evidence.numeric(column.name, what, tags)
        return column, atom_numbers(column)
    labels = column.labels()[: column.null]
    if formula.value is None:
        raise ParameterError(
            f"logistic: column {column.name!r} is of type {column.tag}; name the value whose odds you mean: "
            f"{column.name}[{labels[-1]}] ~ …"
        )
    if what != "logistic" or not listed:
        raise ParameterError(
            f"{what}: {column.name}[{formula.value}] can't be the response: one value of a category or a boolean is "
            "one of logistic()."
        )
    if formula.value not in labels:
        raise no_label(formula.value, labels, f"among the values of {column.name}")
    numbers = (np.arange(column.size) == labels.index(formula.value)).astype(np.float64)
    numbers[len(labels) :] = np.nan
    return column, numbers


def model_terms(evidence: "Evidence", formula: ModelFormula) -> list[Term]:
    """The intercept, and the variables of the right side with their products."""
    terms = [Term(())]
    for factors in formula.products:
        parts = [_variables(evidence, one, formula.columns) for one in factors]
        terms += [Term(one) for one in itertools.product(*parts)]
    return terms


def _variables(evidence: "Evidence", factor: Factor, together: Sequence[str]) -> list[Variable]:
    """A number or date as it is, with a variable for NULL; a category as one variable per value but the first."""
    column = evidence.column(factor.column)
    index, labels = evidence.schema.names.index(column.name), column.labels()
    numeric = column.tag in (*NUMERIC, *YEAR)
    if factor.shape is Shape.VALUES and numeric and column.tag != "boolean":
        return _cells_of(evidence, column, index, together)
    if not numeric or factor.shape is Shape.VALUES:
        if factor.shape not in (Shape.PLAIN, Shape.VALUES):
            raise ParameterError(f"formula: {factor} needs a column of numbers; {column.name!r} is {column.tag}.")
        every = np.arange(column.size)
        return [Variable(f"{column.name}[{labels[a]}]", index, (every == a).astype(float)) for a in every[1:]]
    centres = atom_numbers(column)
    missing = np.isnan(centres)
    if isinstance(column, Celled):
        factor.check(float(extremes(column)[0][0]) / YEAR.get(column.tag, 1.0))
    values = np.where(missing, 0.0, factor.function(np.where(missing, 1.0, centres)))
    found = [Variable(str(factor), index, values, factor)]
    if missing.any():
        found.append(Variable(f"{column.name}[{labels[int(np.argmax(missing))]}]", index, missing.astype(float)))
    return found


def _cells_of(evidence: "Evidence", column: Column, index: int, together: Sequence[str]) -> list[Variable]:
    """One variable for each cell of a number but the first, as finely as it was measured together with the others."""
    found, every = [], np.arange(column.size)
    for label, condition in evidence.groups(column.name, together)[1:]:
        atoms = np.array(condition.atoms)  # type: ignore[attr-defined]  # groups of a measured column are cells of it
        found.append(Variable(f"{column.name}[{label}]", index, np.isin(every, atoms).astype(float)))
    return found


# --------------------
# What a variable is on the cells of a marginal: in the middle of a cell, and at both its ends.


@final
class Place:
    """One column of a marginal: the middles of its cells, their ends, and how the offsets from middles are summed.

    A cell's offsets are summed by its moment, or by finer counts of the column alone, or not at all: whichever makes
    the interval of the column's mean shortest. `slack` is how far a row's offset may then be off.
    """

    def __init__(self, evidence: "Evidence", marginal: Marginal, axis: int, *, offsets: bool) -> None:
        self.column, self.axis = marginal.columns[axis], axis
        self.groups, self.declared = marginal.groups[axis], evidence.schema.columns[self.column]
        self._shape = tuple(-1 if other == axis else 1 for other in range(len(marginal.shape)))
        self._marginal, self._shares = marginal, evidence.shares(self.column) + LEAST
        self.scale = YEAR.get(self.declared.tag, 1.0)
        self.half = self.slack = np.zeros(marginal.shape[axis])
        self.summed_offsets: list[tuple[OffsetSums | Marginal, Floats]] = []  # with (cells, size of the sums) each
        self.told = False  # whether numbers are taken at the middles of cells, with offsets
        if isinstance(self.declared, Celled):
            self._read(self.declared)
            if offsets and self.half.any() and not evidence.chosen.parts:
                self._choose(evidence, self.declared)

    def _read(self, declared: Celled) -> None:
        size = self._marginal.shape[self.axis]
        low, high, known = np.full(size, np.nan), np.full(size, np.nan), self.groups[: declared.cell_count]
        first, last = extremes(declared)
        np.fmin.at(low, known, first)
        np.fmax.at(high, known, last)
        self.low, self.high = low, high
        self.half = np.nan_to_num(0.5 * (high - low))
        self.middle = np.where(np.isnan(low), 0.0, 0.5 * (np.nan_to_num(low) + np.nan_to_num(high)))

    def _choose(self, evidence: "Evidence", declared: Celled) -> None:
        """How to sum the offsets of each cell."""
        fine = evidence.finest((self.column,))
        coarse = None if fine is None else parts_of(fine.groups[0], self.groups)
        if fine is None or coarse is None:
            return
        moments, nothing = evidence.moments, np.zeros(len(self.half))
        values, width = (np.nan_to_num(part) for part in middles_and_halves(declared, fine.groups[0]))
        away = np.where(np.isnan(self.low)[coarse], 0.0, values - self.middle[coarse])
        ways = [
            Way(values=np.zeros_like(away), slack=self.half[coarse], variances=nothing),
            Way(values=away, slack=width, variances=nothing),
        ]
        cells = None if moments is None else moments.cells(self.column)
        found = None
        if moments is not None and cells is not None and np.array_equal(cells, self.groups):
            found = moments.alone(self.column, declared)
        if found is not None:
            rest = np.where(self.half > 0.0, found[1].slack, 0.0)[coarse]
            ways.append(Way(values=np.zeros_like(away), slack=rest, variances=found[0].variances))
        chosen = best_ways(fine, coarse, ways)
        slack = np.zeros((len(ways), len(self.half)))
        for way, line in zip(ways, slack, strict=True):
            np.maximum.at(line, coarse, way.slack)
        self.slack, self.told = slack[chosen, np.arange(len(chosen))], True
        spread = np.zeros((len(self.half), fine.size))
        held = np.bincount(fine.groups[0], self._shares)
        likely = (np.bincount(coarse, held * away) / np.bincount(coarse, held))[coarse]
        spread[coarse, np.arange(fine.size)] = np.choose(chosen[coarse], [likely, away, np.zeros_like(away)])
        self.summed_offsets = [(fine, spread)]
        if found is not None:
            self.summed_offsets.append((found[0], np.diag((chosen == 2).astype(np.float64))))

    def _average(self, values: Floats) -> Floats:
        """The average of a function of atoms on each cell, by the column's own counts."""
        total, sums = (np.bincount(self.groups, self._shares * part) for part in (np.ones_like(values), values))
        return np.asarray(sums / np.maximum(total, 1e-300))

    def variance(self, values: Floats) -> Floats:
        """Of a function of atoms on each cell of the marginal, by the column's own counts: (atoms,) → (cells,)."""
        own = np.maximum(self._average(values**2) - self._average(values) ** 2, 0.0)
        return np.broadcast_to(own.reshape(self._shape), self._marginal.shape).ravel()

    def values(self, variable: Variable, end: int) -> Floats:
        """A variable on all cells of the marginal, in the middle (0), or at the low (−1) or high end (1) of its own."""
        if variable.factor is None or not isinstance(self.declared, Celled) or (end == 0 and not self.told):
            own = self._average(variable.values)
        else:
            chosen = self.middle if end == 0 else self.low if end < 0 else self.high
            null = np.isnan(self.low)
            own = np.where(null, 0.0, variable.factor.function(np.where(null, 1.0, chosen) / self.scale))
        return np.broadcast_to(own.reshape(self._shape), self._marginal.shape).ravel()

    def margin(self, values: Floats) -> Floats:
        """Sums over all other columns: (k, cells) → (k, cells of this column)."""
        others = tuple(1 + other for other in range(len(self._marginal.shape)) if other != self.axis)
        return np.asarray(values.reshape(len(values), *self._marginal.shape).sum(axis=others))

    def spread(self, values: Floats) -> Floats:
        """Values by the cells of this column on all cells: (k, cells of this column) → (k, cells)."""
        shaped = values.reshape(len(values), *self._shape)
        return np.broadcast_to(shaped, (len(values), *self._marginal.shape)).reshape(len(values), -1)


@final
class Design:
    """Terms on the cells of a marginal, and with one column at the ends of its cells: (terms, cells) each."""

    def __init__(self, evidence: "Evidence", marginal: Marginal, terms: Sequence[Term], *, offsets: bool) -> None:
        self.marginal, self.terms = marginal, terms
        axes = range(len(marginal.columns))
        self.places = {marginal.columns[a]: Place(evidence, marginal, a, offsets=offsets) for a in axes}
        self.middle = self._at(None, 0)
        used = {one.column for term in terms for one in term.factors if one.factor is not None}
        wide = [self.places[column] for column in sorted(used) if self.places[column].half.any()]
        self.ends = [(place, self._at(place, -1), self._at(place, 1)) for place in wide]

    def _at(self, place: Place | None, end: int) -> Floats:
        ones = np.ones(self.marginal.size)
        return np.stack([math.prod((self._one(v, place, end) for v in t.factors), start=ones) for t in self.terms])

    def variance(self, place: Place, weights: Floats) -> Floats:
        """Of a weighted sum of the terms over each cell, by where in it one column's numbers likely lie: (cells,).

        Terms of the same function of that column are added up before; of others, whose errors go together somehow, the
        standard deviations.
        """
        found: dict[tuple[Variable, ...], Floats] = {}
        for weight, term in zip(weights, self.terms, strict=True):
            own = tuple(one for one in term.factors if one.column == place.column)
            others = (self._one(one, None, 0) for one in term.factors if one.column != place.column)
            rest = weight * math.prod(others, start=np.ones(self.marginal.size))
            found[own] = found[own] + rest if own in found else rest
        total = np.zeros(self.marginal.size)
        for own, rest in found.items():
            spread = place.variance(math.prod((one.values for one in own), start=np.ones(len(place.groups))))
            total = total + np.abs(rest) * np.sqrt(spread)
        return np.asarray(total**2)

    def _one(self, variable: Variable, place: Place | None, end: int) -> Floats:
        own = self.places[variable.column]
        return own.values(variable, end if own is place else 0)
