"""Means, probabilities, counts, expectations and cross-tables: averages over the rows of a private table."""

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.analysis.conditions import present
from kernelease.analysis.estimands import (
    NUMERIC,
    Columns,
    Estimand,
    Indicator,
    Integrand,
    NumericValue,
    RowFunction,
    columns_read,
    numbers_of,
)
from kernelease.analysis.estimate import Estimate, Parts
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.feature_averages import feature_average
from kernelease.analysis.frechet import frechet_bounds
from kernelease.analysis.grouping import grouped
from kernelease.analysis.groups import EstimateTable, Groups
from kernelease.analysis.inference import (
    CONFIDENCE,
    UnknownLimits,
    critical_value,
)
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.marginal_source import ratio_source
from kernelease.analysis.offset_estimator import offset_estimator
from kernelease.analysis.ratio_estimator import RatioEstimator
from kernelease.analysis.representatives import (
    LEAST,
    Axis,
    Grids,
    few,
    marking,
    parts_of,
    representatives,
    weighted,
)
from kernelease.analysis.sums import weighted_sum
from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError, ParameterError
from kernelease.table.columns.hierarchy import Hierarchy
from kernelease.table.derived.computed import Formula
from kernelease.table.expressions.linear import linear
from kernelease.table.expressions.logic import Condition

MOST_CELLS = 4096  # of a cross-table: more would not be read, and take minutes


def mean(
    evidence: Evidence, column: str, *, where: str | None = None, by: str | Sequence[str] | None = None
) -> Estimate | Groups:
    """The mean of a column of numbers over the rows that have one, and for which `where` is true; booleans are 0, 1."""
    if column in evidence.schema.structure.derivations:
        return _derived_mean(evidence, column, where, by)
    declared, base = evidence.column(column), evidence.where(where)
    known = present(declared)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        complete = Indicator((*chosen.parts, *known))
        return NumericValue(declared, chosen), complete if complete.parts else None

    return _asked(evidence, ratio, f"mean of {column}", where, by)


def probability(
    evidence: Evidence, event: str, *, where: str | None = None, by: str | Sequence[str] | None = None
) -> Estimate | Groups:
    """The share of rows for which `event` is true, among those for which `where` is."""
    base, hits = evidence.where(where), evidence.where(event)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return Indicator((*chosen.parts, *hits.parts)), chosen if chosen.parts else None

    return _asked(evidence, ratio, f"probability of {event}", where, by)


def probability_within(evidence: Evidence, event: str, where: str, group: tuple[Condition, ...]) -> Estimate:
    """The share of rows for which `event` is true, among those of a group for which `where` is."""
    chosen = Indicator((*evidence.where(where).parts, *group))
    inside = Indicator((*chosen.parts, *evidence.where(event).parts))
    return average(evidence, Estimand(numerator=inside, denominator=chosen, about=f"probability of {event}"))


def count(evidence: Evidence, where: str | None = None, *, by: str | Sequence[str] | None = None) -> Estimate | Groups:
    """How many rows (or persons) there are for which `where` is true."""
    base = evidence.where(where)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        return Indicator((*base.parts, *group)), None

    return _asked(evidence, ratio, "number of rows", where, by, is_total=True)


def expectation(
    evidence: Evidence,
    function: Callable[[Columns], Any],
    *,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Estimate | Groups:
    """The mean of a function of a row, over the rows for which it is defined (not NaN) and `where` is true.

    The function gets the columns by name, each as an array, and gives one number per row. Within each cell of a number
    that it reads it should be monotone: its extremes are looked for at five values of each cell.
    """
    names, base = columns_read(function, evidence.sample()), evidence.where(where)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return RowFunction(function, names, chosen), RowFunction(function, names, chosen, presence=True)

    name = getattr(function, "__name__", "a function")
    return _asked(evidence, ratio, f"expectation of {'a function' if '<' in name else name}", where, by)


def _derived_mean(
    evidence: Evidence, column: str, where: str | None, by: str | Sequence[str] | None
) -> Estimate | Groups:
    """Of what is linear in measured columns, from their own means; of the rest, as the expectation of a function."""
    structure = evidence.schema.structure
    derivation, base = structure.derivations[column], evidence.where(where)
    if derivation.column.tag not in NUMERIC:
        raise ParameterError(f"Column {column!r} is of type {derivation.column.tag} and has no mean.")
    found = linear(derivation.term) if isinstance(derivation, Formula) and by is None else None
    if found is not None and all(one in evidence.schema.columns and not one.nullable for one, _ in found.weights):
        told = f"mean of {column}" if where is None else f"mean of {column} where {where}"
        parts = [(weight, mean(evidence, one.name, where=where)) for one, weight in found.weights]
        slack = 0.5 * 10.0**-derivation.decimals if isinstance(derivation, Formula) else 0.0
        return weighted_sum([(w, one) for w, one in parts if isinstance(one, Estimate)], found.constant, slack, told)

    def function(columns: Columns) -> Floats:
        return numbers_of(derivation.column, pa.table({column: structure.derive(columns.table, column)}))

    names = structure.origins(column)

    def ratio(group: tuple[Condition, ...]) -> tuple[Integrand, Integrand | None]:
        chosen = Indicator((*base.parts, *group))
        return RowFunction(function, names, chosen), RowFunction(function, names, chosen, presence=True)

    return _asked(evidence, ratio, f"mean of {column}", where, by)


def crosstab(evidence: Evidence, first: str, second: str, *, where: str | None = None) -> EstimateTable:
    """The share of rows in each cell of two columns, among those for which `where` is true."""
    base = evidence.where(where)
    if first == second:
        raise ParameterError(f"crosstab: needs two different columns, got {first!r} twice.")
    down, across = (evidence.groups(name, (first, second, *base.columns)) for name in (first, second))
    if len(down) * len(across) > MOST_CELLS:
        raise CapacityError(
            f"crosstab: {first} by {second} has {len(down) * len(across):,} cells, more than {MOST_CELLS:,}. "
            "Ask for probabilities of ranges instead."
        )
    grids = Grids()
    estimates = tuple(
        tuple(
            average(
                evidence,
                Estimand(
                    numerator=Indicator((*base.parts, one, other)),
                    denominator=base if base.parts else None,
                    about=f"share of {first} {label} and {second} {name}",
                ),
                grids,
            )
            for name, other in across
        )
        for label, one in down
    )
    return EstimateTable(
        title=f"{first} \\ {second}",
        rows=tuple(label for label, _ in down),
        columns=tuple(label for label, _ in across),
        estimates=estimates,
    )


def _asked(
    evidence: Evidence,
    ratio: Callable[[tuple[Condition, ...]], tuple[Integrand, Integrand | None]],
    about: str,
    where: str | None,
    by: str | Sequence[str] | None,
    *,
    is_total: bool = False,
) -> Estimate | Groups:
    told, grids = about if where is None else f"{about} where {where}", Grids()

    def answer(group: tuple[Condition, ...], words: str) -> Estimate:
        numerator, denominator = ratio(group)
        estimand = Estimand(numerator=numerator, denominator=denominator, about=words, is_total=is_total)
        return average(evidence, estimand, grids)

    if by is None:
        return answer((), told)
    names = [name for part in ratio(()) if part is not None for name in part.columns]
    return grouped(evidence, by, names, lambda group, label: answer(group, f"{told} for {label}"))


def average(evidence: Evidence, estimand: Estimand, grids: Grids | None = None) -> Estimate:
    """The estimate of an average over all rows.

    What was measured jointly is answered from its noisy counts alone, and the rest (so are three columns whose cells
    are too coarse for the question) by the extremes over all tables that agree with them. Where several rounds
    measured it, the one with the least noise and the finest cells answers. `grids` are those of questions that differ
    in the group that they are about.
    """
    if not evidence.counted:
        return feature_average(evidence, estimand)
    measured = evidence.marginals(evidence.positions(estimand.columns) or (0,))
    if measured:
        estimate = _from_marginals(evidence, estimand, measured, grids or Grids())
    else:
        estimate = frechet_bounds(evidence, estimand)
    if estimate is None:
        return _nothing(evidence, estimand)
    return estimate if math.isfinite(estimate.value) else _placed(estimate, evidence, estimand)


def _from_marginals(
    evidence: Evidence, estimand: Estimand, measured: tuple[Marginal, ...], grids: Grids
) -> Estimate | None:
    """The estimate from the marginal that suits it best; None where no row can exist."""
    estimator = _best(evidence, estimand, measured, grids)
    if estimator is None:
        return None
    if not estimator.functions.exact and _finer_elsewhere(evidence, estimator.marginal):
        with suppress(CapacityError):
            return frechet_bounds(evidence, estimand)
    scale = evidence.total if estimand.is_total and evidence.public_total else 1.0
    estimate = estimator.estimate(scale=scale, about=estimand.about)
    pair = estimator.functions.middle()
    source = ratio_source(evidence, estimator, pair, estimate.parts, scale)
    return replace(estimate, source=source)


def _finer_elsewhere(evidence: Evidence, marginal: Marginal) -> bool:
    """Whether fewer of its columns were measured in finer cells: pairs of three, or the leaves of groups."""
    columns = (evidence.schema.columns[index] for index in marginal.columns)
    return len(marginal.columns) > 2 or (
        len(marginal.columns) == 2 and any(isinstance(column, Hierarchy) for column in columns)
    )


def _best(
    evidence: Evidence, estimand: Estimand, measured: tuple[Marginal, ...], grids: Grids
) -> RatioEstimator | None:
    """By the noise and the columns' own shares: a choice in sight of these very counts would favour lucky ones."""
    offset = offset_estimator(evidence, estimand, _divisor(evidence, estimand), grids)
    if offset is not None and len(offset.marginal.columns) == 1:  # all ways to sum a column were weighed for it
        return offset
    told = _in_groups(evidence, estimand, measured, grids)
    every = [_ratio_estimator(evidence, estimand, one, grids) for one in told]
    counted = [one for one in every if one is not None]
    counted = _surely_narrower(evidence, counted)
    found = [*counted, offset] if offset is not None else counted
    if len(found) < 2:
        return found[0] if found else None
    return min(found, key=lambda one: one.width(_filled(evidence, one.marginal)))


def _in_groups(
    evidence: Evidence, estimand: Estimand, measured: tuple[Marginal, ...], grids: Grids
) -> tuple[Marginal, ...]:
    """The groups of a column of leaves where the question cuts none: they know as much of it, in fewer cells."""
    index = measured[0].columns[0]
    column = evidence.schema.columns[index]
    if len(measured[0].columns) > 1 or not isinstance(column, Hierarchy) or evidence.chosen.parts:
        return measured
    assert evidence.tabulated is not None  # it is what was measured
    found = evidence.tabulated.aligned((index,), {index: column.atom_groups})
    estimator = None if found is None else _ratio_estimator(evidence, estimand, found, grids)
    return (found,) if found is not None and estimator is not None and estimator.functions.exact else measured


def _surely_narrower(evidence: Evidence, found: list[RatioEstimator]) -> list[RatioEstimator]:
    """Those of cells that the question does not cut; others only where they are narrower however columns go together.

    How many rows a cell that is cut leaves in doubt is a guess, and with independent columns it may be far too low.
    """
    exact = [one for one in found if one.functions.exact]
    if not exact:
        return found
    least = min(one.width(_filled(evidence, one.marginal)) for one in exact)
    return exact + [
        one for one in found if not one.functions.exact and one.width(_most(evidence, one.marginal)) < least
    ]


def _most(evidence: Evidence, marginal: Marginal) -> Floats:
    """The most rows that each cell of a marginal can hold, as shares, by its columns' own: (cells,)."""
    shares = [_held(evidence, index, groups) for index, groups in zip(marginal.columns, marginal.groups, strict=True)]
    return np.asarray(functools.reduce(np.minimum.outer, shares), dtype=np.float64).ravel()


def _filled(evidence: Evidence, marginal: Marginal) -> Floats:
    """About how the rows are distributed over the cells of a marginal, if its columns were independent: (cells,)."""
    shares = [_held(evidence, index, groups) for index, groups in zip(marginal.columns, marginal.groups, strict=True)]
    product = np.asarray(functools.reduce(np.multiply.outer, shares), dtype=np.float64).ravel()
    return np.asarray(product / product.sum())


def _held(evidence: Evidence, index: int, groups: Integers) -> Floats:
    """About how the rows are distributed over cells of a column: (atoms,) → (cells,).

    Counts of atoms are added up as they are: those below 0 make up for rows that noise put into empty ones.
    """
    measured = evidence.marginals((index,))
    finest = max(measured, key=lambda one: one.size) if measured else None
    parts = None if finest is None else parts_of(finest.groups[0], groups)
    if finest is None or parts is None:
        return np.asarray(np.bincount(groups, evidence.shares(index) + LEAST), dtype=np.float64)
    return np.maximum(np.bincount(parts, finest.counts) / evidence.total, 0.0) + LEAST


def _ratio_estimator(evidence: Evidence, estimand: Estimand, marginal: Marginal, grids: Grids) -> RatioEstimator | None:
    key = marginal, marking(estimand.conditions, (evidence.schema.columns[index] for index in marginal.columns))
    grid = grids.grid(key, lambda: _axes(evidence, estimand, marginal))
    functions = grid.values(estimand.numerator, estimand.denominator)
    if functions.possible is None:
        return None
    return RatioEstimator(
        marginal=marginal,
        functions=functions,
        target=evidence.target,
        possible=functions.possible,
        divisor=_divisor(evidence, estimand),
    )


def _axes(evidence: Evidence, estimand: Estimand, marginal: Marginal) -> list[Axis]:
    axes = []
    for index, groups in zip(marginal.columns, marginal.groups, strict=True):
        column = evidence.schema.columns[index]
        points = weighted(representatives(column, estimand.conditions), evidence.shares(index) + LEAST)
        axes.append((column.name, few(points, column, groups, estimand.conditions, estimand.valued), groups))
    return axes


def _divisor(evidence: Evidence, estimand: Estimand) -> float | None:
    """What the sum is divided by where no noisy sum is."""
    if estimand.denominator is not None:
        return None
    if evidence.public_total:
        return evidence.total
    return 1.0 if estimand.is_total else None


def _placed(estimate: Estimate, evidence: Evidence, estimand: Estimand) -> Estimate:
    """The estimate with the value of the synthetic rows, where they have one, else with the middle of its interval."""
    low, high = estimate.interval()
    found = evidence.synthetic(estimand.numerator, estimand.denominator)
    if found is None and not math.isfinite(high - low):
        return estimate
    scale = evidence.total if estimand.is_total else 1.0
    value = 0.5 * (low + high) if found is None else min(max(scale * found, low), high)
    noise = estimate.parts.noise if math.isfinite(estimate.parts.noise) else 0.0
    bias = max(0.0, max(value - low, high - value) - critical_value(CONFIDENCE) * noise)
    return replace(estimate, value=value, parts=Parts(noise=noise, bias=bias))


def _nothing(evidence: Evidence, estimand: Estimand) -> Estimate:
    """The answer about rows that can't exist."""
    return Estimate(
        value=math.nan,
        parts=Parts(noise=math.inf),
        limits=UnknownLimits(),
        target=evidence.target,
        about=estimand.about,
        remark="no row that the schema allows fulfils the condition",
    )
