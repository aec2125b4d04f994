"""Columns and pairs of columns as the page shows them, with numbers as short as the shown digits allow."""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chndtr, ndtr

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Answers
from kernelease.analysis.inference import CONFIDENCE, Interval
from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import MeasuredMarginal, tabulation
from kernelease.estimate.views import NoisyContrasts, NoisySums, along
from kernelease.measured.blocks import NoisyBlocks, within
from kernelease.measured.offsets import Levels, declared_levels, levels_of
from kernelease.release.release import Release
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy
from kernelease.table.expressions.terms import spell_name
from kernelease.table.schema import Schema

# --------------------
# Numbers for the page: as short as possible without changing a shown digit.


_DIGITS = 12  # significant ones of a number that the page computes with: it shows no more than six of them


def number(value: float) -> float | int | None:
    """A number for JSON, which has no NaN and no infinity.

    >>> number(3.0), number(0.1 + 0.2), number(math.nan)
    (3, 0.3, None)
    """
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2.0**53 else rounded


def numbers(values: Iterable[float]) -> list[float | int | None]:
    """Several."""
    return [number(float(value)) for value in values]


def figure(estimate: Estimate) -> dict[str, Any]:
    """An estimate: as it prints, the value, the 95 % interval, whether that says little, and what must be known."""
    low, high = estimate.interval()
    shown: dict[str, Any] = {
        "text": str(estimate),
        "value": number(estimate.value),
        "low": number(low),
        "high": number(high),
    }
    if estimate.says_little:
        shown["little"] = True
    if estimate.remark:
        shown["remark"] = estimate.remark
    return shown


# --------------------
# Association of two columns: Cramér's V from noisy counts, corrected for noise, with an interval.


_VISIBLE = 3.0  # standard errors of its count above which a value of a column is a row or column of its own
_LARGE = 1e4  # a sum of squares beyond which its law is normal to three digits


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Cramér's V, √(φ²/(k − 1)) with φ² = Σ (pᵢⱼ − pᵢpⱼ)²/(pᵢpⱼ) and k the lesser number of values: 0 to 1.

    With E the noise of the shares, φ̂² = ‖D + E‖² in weights 1/(pᵢpⱼ) has noise in it: about g·χ²(ν, φ²/g), a scaled
    noncentral law with the mean and the variance of the noise alone (Satterthwaite 1946). `value` has the mean of the
    noise removed; the interval holds all φ² that the law does not exclude. Values too rare to be seen are one.
    """

    value: float
    interval: Interval

    @property
    def seen(self) -> bool:
        """Whether the noise alone does not explain it."""
        return self.interval[0] > 0.0


def association(marginal: MeasuredMarginal, level: float = CONFIDENCE) -> Association | None:
    """The association of a pair of columns, from its finest counts or from its interaction.

    None where a column has but one value that can be seen.
    """
    if min(marginal.shape) < 2:
        return None
    rows = float(marginal.counts.sum())
    if marginal.contrasts is not None:
        counts, variance = marginal.counts.reshape(marginal.shape), 1.0 / marginal.contrasts.precision
    else:
        finest = max(marginal.sums, key=lambda view: len(view.values))
        counts = finest.values[finest.index].reshape(marginal.shape)
        variance = float(np.mean(1.0 / finest.precision))
    return association_of(counts, marginal.shares.reshape(marginal.shape), rows, variance, level)


def association_of(
    counts: Floats, shares: Floats, rows: float, variance: float, level: float = CONFIDENCE
) -> Association | None:
    """The association in noisy counts (a, b) with independent noise, given shares (a, b) near the truth."""
    merged = [_visible(shares, axis, rows, variance) for axis in (0, 1)]
    sizes = [int(cells.max()) + 1 for cells in merged]
    if min(sizes) < 2:
        return None
    first, second = (np.eye(size)[:, cells] for size, cells in zip(sizes, merged, strict=True))
    table, fitted = first @ counts @ second.T, first @ shares @ second.T
    margins = fitted.sum(axis=1), fitted.sum(axis=0)
    left, right = (_residual(margin) for margin in margins)
    squares = float(((left @ (table / rows) @ right.T) ** 2).sum())
    spread = [part @ np.diag(np.bincount(cells).astype(float)) @ part.T for part, cells in ((left, merged[0]),)]
    spread += [right @ np.diag(np.bincount(merged[1]).astype(float)) @ right.T]
    noise = variance / rows**2
    mean = noise * math.prod(float(np.trace(part)) for part in spread)
    second_moment = noise**2 * math.prod(float((part**2).sum()) for part in spread)
    scale = second_moment / mean
    most = min(sizes) - 1
    low, high = (scale * end for end in _noncentrality(squares / scale, mean / scale, level))
    value = math.sqrt(min(1.0, max(0.0, squares - mean) / most))
    return Association(value=value, interval=(math.sqrt(min(1.0, low / most)), math.sqrt(min(1.0, high / most))))


def _visible(shares: Floats, axis: int, rows: float, variance: float) -> Integers:
    """The row of each value of a column: those whose count stands out of its noise, and one for all others."""
    margin = shares.sum(axis=1 - axis)
    least = _VISIBLE * math.sqrt(variance * shares.shape[1 - axis]) / rows
    rare = margin <= least
    if rare.any() and float(margin[rare].sum()) <= least:  # together still not seen: they go with the most frequent
        cells = np.cumsum(~rare) - 1
        return np.where(rare, cells[int(np.argmax(margin))], cells) if not rare.all() else np.zeros(len(rare), int)
    cells = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), cells)


def _residual(margin: Floats) -> Floats:
    """diag(p)^−½ (I − p1ᵀ): what is left of a table's rows once their share of the whole is taken out."""
    residual: Floats = (np.eye(len(margin)) - margin[:, None]) / np.sqrt(margin)[:, None]
    return residual


def _noncentrality(value: float, freedom: float, level: float) -> Interval:
    """All λ for which a noncentral χ² of so many degrees of freedom is as small, or as large, as `value`."""
    tail = (1.0 - level) / 2.0
    top = max(10.0, 4.0 * value + 40.0 * math.sqrt(value + freedom))
    ends = []
    for probability in (1.0 - tail, tail):  # the least λ leaves `value` in the upper tail, the greatest in the lower
        if _law(value, freedom, 0.0) <= probability:
            ends.append(0.0)
        else:
            ends.append(float(brentq(lambda x, p=probability: _law(value, freedom, x) - p, 0.0, top)))
    return ends[0], ends[1]


def _law(value: float, freedom: float, shift: float) -> float:
    """The distribution function of the noncentral χ²; normal where all is large."""
    if freedom + shift > _LARGE:
        return float(ndtr((value - freedom - shift) / math.sqrt(2.0 * (freedom + 2.0 * shift))))
    return float(chndtr(value, freedom, shift))


# --------------------
# What the page computes with: all noisy sums about the cells of a column or of a pair.


MOST_CELLS = 60_000  # of all marginals together: about a megabyte; the page shows a command for what is beyond


def marginal_records(noisy: NoisyBlocks, codes: Integers, weights: Floats) -> list[dict[str, Any]]:
    """The marginals of every column, then of every pair, as long as there is room: the smallest first.

    Each has its cells (for each column, the cell of each atom, or of each group of leaves), the noisy sums that speak
    of them, and how the synthetic rows, by their codes (rows, columns) and weights (rows,), fill them. Those of one set
    of columns come together, in the order of their rounds: an answer looks at all of them.
    """
    levels = levels_of(noisy)
    every = sorted(_every(noisy, levels), key=lambda rounds: (len(rounds[0].columns), _size(rounds)))
    return [
        _record(marginal, levels, codes, weights)
        for rounds, used in zip(every, itertools.accumulate(map(_size, every)), strict=True)
        if used <= MOST_CELLS
        for marginal in rounds
    ]


def _every(noisy: NoisyBlocks, levels: Levels) -> Iterator[tuple[MeasuredMarginal, ...]]:
    for size in (1, 2):
        for columns in itertools.combinations(range(noisy.width), size):
            if rounds := shown_marginals(noisy, columns, levels):
                yield rounds


def shown_marginals(noisy: NoisyBlocks, columns: tuple[int, ...], levels: Levels) -> tuple[MeasuredMarginal, ...]:
    """The marginals of some columns; of a single one whose atoms are leaves in groups, that of the groups."""
    groups = levels[columns[0]]
    if len(columns) > 1 or groups is None:
        return tabulation(noisy).marginals(columns)
    found = tabulation(noisy).aligned(columns, {columns[0]: groups})
    return () if found is None else (found,)


def _size(rounds: tuple[MeasuredMarginal, ...]) -> int:
    return sum(marginal.size for marginal in rounds)


def _record(marginal: MeasuredMarginal, levels: Levels, codes: Integers, weights: Floats) -> dict[str, Any]:
    groups = [
        own if (level := levels[column]) is None else within(level, own)
        for column, own in zip(marginal.columns, marginal.groups, strict=True)
    ]
    return {
        "columns": list(marginal.columns),
        "groups": [group.tolist() for group in groups],
        "laplace": marginal.laplace,
        "views": [told for view in marginal.views for told in _views(view)],
        "synthetic": numbers(synthetic_shares(marginal, codes, weights)),
    }


def _views(view: NoisySums | NoisyContrasts) -> list[dict[str, Any]]:
    """Noisy sums: `index` is the sum that each cell is in; one precision stands for all where they are the same.

    An interaction of the two columns has none: its values are those of the cells, or of the sums `onto` which they
    are added up along either column, each of so many (`held`) cells of the interaction. A centred column's sums tell
    what counts would, less what these would tell of the number of rows: a view of precision below 0.
    """
    if isinstance(view, NoisySums):
        return [_sums(view.index, view.values, view.precision)]
    if len(view.axes) == 1:
        held = view.held[0]
        index = np.broadcast_to(along(view.onto[0], view.axes[0], len(view.shape)), view.shape).ravel()
        rows = np.zeros(len(index), dtype=np.int64)
        known = _sums(rows, np.zeros(1), np.array([-view.precision / held.sum()]))
        return [_sums(index, view.values, view.precision / held), known]
    turned = view.turned
    told = {"values": numbers(turned.values.ravel()), "precision": number(turned.precision)}
    if view.whole:
        return [told]
    sums = {"onto": [cells.tolist() for cells in turned.onto], "held": [numbers(held) for held in turned.held]}
    return [told | sums]


def _sums(index: Integers, values: Floats, precision: Floats) -> dict[str, Any]:
    same = np.ptp(precision) == 0.0
    return {
        "index": index.tolist(),
        "values": numbers(values),
        "precision": number(float(precision[0])) if same else numbers(precision),
    }


def synthetic_shares(marginal: MeasuredMarginal, codes: Integers, weights: Floats) -> Floats:
    """How the synthetic rows are distributed over the cells: (cells,)."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for column, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        cells = cells * size + groups[codes[:, column]]
    shares: Floats = np.bincount(cells, weights=weights, minlength=marginal.size) / weights.sum()
    return shares


# --------------------
# Each column.


QUANTILES = (0.25, 0.5, 0.75)  # shown of a column of numbers
FINEST = 30_000  # combinations of atoms of two columns whose means a page is made with: below a second each
MOST_MEANS = 400  # pairs of columns with such means: about a minute
_NUMERIC = ("integer", "number", "boolean")


def column_records(release: Release, schema: Schema, codes: Integers, answers: Answers | None) -> list[dict[str, Any]]:
    """Every column: its declaration, the synthetic shares of its atoms; where it was counted, its statistics, too."""
    shown = shown_codes(schema, codes)
    return [
        {
            **(declared := _declared(column)),
            "synthetic": numbers(_shares(shown[:, index], release.weights, len(declared["labels"]))),
            **(_statistics(release, column, answers) if answers is not None else {}),
        }
        for index, column in enumerate(schema)
    ]


def shown_codes(schema: Schema, codes: Integers) -> Integers:
    """Codes as the page has them, (rows, columns): of values in groups, the groups."""
    levels = declared_levels(schema.columns)
    if all(groups is None for groups in levels):
        return codes
    shown = [own if groups is None else groups[own] for own, groups in zip(codes.T, levels, strict=True)]
    return np.stack(shown, axis=1)


def _declared(column: Column) -> dict[str, Any]:
    """Labels, and what a condition compares: the least and greatest value of each cell, or the values themselves.

    Of values in groups the page has the groups: thousands of bars show nothing, and a question about a single value is
    for the command line.
    """
    shown: dict[str, Any] = {
        "name": column.name,
        "spelled": spell_name(column.name),
        "type": column.tag,
        "ordered": column.ordered,
        "nullable": column.nullable,
        "labels": list(column.labels()),
    }
    if isinstance(column, Celled):
        low, high = column.bounds()
        return {**shown, "low": _exact(low), "high": _exact(high)}
    if isinstance(column, Hierarchy) and declared_levels([column])[0] is not None:
        return {**shown, "labels": list(column.group_labels), "values": []}
    return {**shown, "values": column.decode(np.arange(column.size), np.random.default_rng(0)).to_pylist()}


def _exact(values: Floats) -> list[float | int]:
    """All digits: whether a threshold lies on an edge of a cell is a question of the last one."""
    return [int(value) if float(value).is_integer() and abs(value) < 2.0**53 else float(value) for value in values]


def _shares(codes: Integers, weights: Floats, size: int) -> Floats:
    shares: Floats = np.bincount(codes, weights=weights, minlength=size) / weights.sum()
    return shares


def _statistics(release: Release, column: Column, answers: Answers) -> dict[str, Any]:
    about = answers[column.name]
    shown: dict[str, Any] = {
        "noise": None if about.noise is None else number(about.noise),
        "smallest": None if about.smallest is None or about.smallest > answers.rows else math.ceil(about.smallest),
    }
    if column.tag in _NUMERIC:
        shown["mean"] = figure(release.mean(column.name))
    if column.tag in ("integer", "number"):
        shown["quantiles"] = [[share, figure(release.quantile(column.name, share))] for share in QUANTILES]
    return shown


def mean_records(release: Release, schema: Schema) -> dict[str, dict[str, list[list[Any]]]]:
    """Means of every column of numbers by every column measured with it: column → by → [label, figure] of each group.

    What takes long, pairs of two very fine columns, is left to the command line.
    """
    noisy = release.measured
    if not isinstance(noisy, NoisyBlocks):
        return {}
    found: dict[str, dict[str, list[list[Any]]]] = {}
    for first, second in itertools.islice(_together(noisy, schema), MOST_MEANS):
        groups = release.mean(first, by=second)
        found.setdefault(first, {})[second] = [[label, figure(estimate)] for label, estimate in groups.items()]
    return found


def _together(noisy: NoisyBlocks, schema: Schema) -> Iterator[tuple[str, str]]:
    """Columns of numbers, each with those that it was counted with."""
    counts = tabulation(noisy)
    for (first, column), (second, other) in itertools.permutations(enumerate(schema), 2):
        counted = column.tag in _NUMERIC and counts.marginals((min(first, second), max(first, second)))
        if counted and column.size * other.size <= FINEST:
            yield column.name, other.name


# --------------------
# Each pair, and where synthetic rows differ from the measurements.


MOST_SHOWN = 40  # cells in which rows and measurements disagree: enough to see where


def pair_records(noisy: NoisyBlocks, answers: Answers) -> list[dict[str, Any]]:
    """Every pair: whether it was measured, how finely, with what noise, and how strongly its columns go together."""
    counts = tabulation(noisy)
    pairs = itertools.combinations(range(noisy.width), 2)
    items = (item for item in answers.items if len(item.columns) == 2)
    return [
        {
            "columns": list(columns),
            "cells": item.cells,
            "noise": None if item.noise is None else number(item.noise),
            "smallest": None if item.smallest is None or item.smallest > answers.rows else round(item.smallest),
            "association": _association(counts.marginals(columns)),
        }
        for columns, item in zip(pairs, items, strict=True)
    ]


def _association(measured: tuple[MeasuredMarginal, ...]) -> dict[str, Any] | None:
    found = association(measured[0]) if measured else None
    if found is None:
        return None
    low, high = found.interval
    return {"value": number(found.value), "low": number(low), "high": number(high), "seen": found.seen}


def disagreements(noisy: NoisyBlocks, schema: Schema, codes: Integers, weights: Floats) -> dict[str, Any]:
    """Where the rows are furthest from the noisy counts, in standard errors; and how far on the whole.

    The noise alone puts one cell in twenty beyond two standard errors, so that the mean square, which it makes 1, says
    more than the worst cell. Variances are bounds from above: what is said to stand out does.
    """
    found = list(_compared(noisy, schema, codes, weights))
    scores = np.concatenate([item[2] for item in found])
    ranked = sorted(_worst(found), key=lambda cell: -abs(cell["z"]))[:MOST_SHOWN]
    return {"cells": len(scores), "mean_square": number(float(np.mean(scores**2))), "worst": ranked}


def _compared(
    noisy: NoisyBlocks, schema: Schema, codes: Integers, weights: Floats
) -> Iterator[tuple[MeasuredMarginal, tuple[Floats, Floats], Floats]]:
    """Each marginal with the counts of the rows and the estimated ones, and their distance in standard errors."""
    levels = levels_of(noisy)
    for size in (1, 2):
        for columns in itertools.combinations(range(len(schema)), size):
            for marginal in shown_marginals(noisy, columns, levels)[:1]:
                rows = synthetic_shares(marginal, codes, weights) * noisy.rows
                scores = (rows - marginal.counts) / np.sqrt(np.maximum(marginal.variances(), 1e-12))
                yield marginal, (rows, marginal.counts), scores


def _worst(found: list[tuple[MeasuredMarginal, tuple[Floats, Floats], Floats]]) -> Iterator[dict[str, Any]]:
    for marginal, (rows, counts), scores in found:
        for cell in np.argsort(-np.abs(scores))[:MOST_SHOWN].tolist():
            yield {
                "columns": list(marginal.columns),
                "cell": [int(place) for place in np.unravel_index(cell, marginal.shape)],
                "rows": number(float(rows[cell])),
                "estimate": number(float(counts[cell])),
                "z": number(float(scores[cell])),
            }
