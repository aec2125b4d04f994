"""Columns and pairs of columns as the page shows them, with numbers as short as the shown digits allow."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from scipy.optimize import brentq
from scipy.special import chndtr, ndtr

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Answerable, Answers
from kernelease.analysis.inference import CONFIDENCE, Interval
from kernelease.answers.release import Release
from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import MeasuredMarginal, tabulation
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.offsets import Levels, declared_levels, levels_of
from kernelease.report.marginals import atom_cells, number, numbers, shown_marginals
from kernelease.table.columns.column import Celled, Column, Stepped
from kernelease.table.columns.listed import Hierarchy
from kernelease.table.expressions.terms import spell_name
from kernelease.table.schema import Schema

# --------------------
# An estimate, as short as the shown digits allow.


def figure(estimate: Estimate) -> list[Any]:
    """Value and 95 % interval; then, where there is any, whether it says little, and what must be known of it."""
    shown: list[Any] = numbers((estimate.value, *estimate.interval()))
    if estimate.remark:
        return [*shown, int(estimate.says_little), estimate.remark]
    return [*shown, 1] if estimate.says_little else shown


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
    finest = marginal.finest
    if finest is None:
        return None
    counts, variance = finest.counts(marginal.counts)
    return association_of(
        counts.reshape(marginal.shape), marginal.shares.reshape(marginal.shape), rows, variance, level
    )


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
# Each column.


QUANTILES = (0.25, 0.5, 0.75)  # shown of a column of numbers
FINEST = 30_000  # combinations of atoms of two columns whose means a page is made with: below a second each
MOST_MEANS = 400  # pairs of columns with such means: about a minute
_NUMERIC = ("integer", "number", "boolean")
_DRAWN = 5  # convention: digits of a number that is drawn, and not computed with


def column_records(release: Release, schema: Schema, codes: Integers, answers: Answers | None) -> list[dict[str, Any]]:
    """Every column: its declaration, the synthetic shares of its atoms; where it was counted, its statistics, too."""
    shown = shown_codes(schema, codes)
    return [
        {
            **(declared := _declared(column)),
            "synthetic": numbers(_shares(shown[:, index], release.weights, declared["size"])),
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
    """What a condition compares: the least and greatest value of each cell, or the values themselves with their labels.

    Of values in groups the page has the groups: thousands of bars show nothing, and a question about a single value is
    for the command line.
    """
    shown: dict[str, Any] = {
        "name": column.name,
        "spelled": spell_name(column.name),
        "type": column.tag,
        "ordered": column.ordered,
        "nullable": column.nullable,
        "size": column.size,
    }
    if isinstance(column, Celled):
        return shown | _cells(column)
    if isinstance(column, Hierarchy) and declared_levels([column])[0] is not None:
        return {**shown, "size": len(column.group_labels), "labels": list(column.group_labels), "values": []}
    values = column.decode(np.arange(column.size), np.random.default_rng(0)).to_pylist()
    labels = list(column.labels())
    return {**shown, "values": values} if labels == values else {**shown, "labels": labels, "values": values}


def _cells(column: Celled) -> dict[str, Any]:
    """The least value of each cell with all its digits, the greatest where it is another one, how far values are apart.

    Whether a threshold lies on the edge of a cell is a question of the last digit. Numbers without a spacing fill
    their cells: `high` is then the next float below the next cell, which the page finds by itself.
    """
    low, high = column.bounds()
    spacing = column.tick if isinstance(column, Stepped) else getattr(column, "spacing", None)
    told: dict[str, Any] = {"low": _exact(low), "spacing": spacing, "top": _exact(high[-1:])[0]}
    if spacing is None:
        return {**told, "points": column.points, "slips": _slips(column, low, high)}
    return told if np.array_equal(low, high) else {**told, "high": _exact(high)}


def _slips(column: Celled, low: Floats, high: Floats) -> list[list[int]]:
    """Cells whose least value, by a rounding of its last digit, is read into the cell before; and so at the upper end.

    The page has to place the same values into the same cells.
    """
    cells = np.arange(len(low))
    return [np.flatnonzero(column.encode(pa.array(ends)) != cells).tolist() for ends in (low, high)]


def _exact(values: Floats) -> list[float | int]:
    """All digits."""
    return [int(value) if float(value).is_integer() and abs(value) < 2.0**53 else float(value) for value in values]


def _shares(codes: Integers, weights: Floats, size: int) -> Floats:
    shares: Floats = np.bincount(codes, weights=weights, minlength=size) / weights.sum()
    return shares


def _statistics(release: Release, column: Column, answers: Answers) -> dict[str, Any]:
    about = answers[column.name]
    shown: dict[str, Any] = {
        "noise": None if about.noise is None else number(about.noise, _DRAWN),
        "smallest": None if about.smallest is None or about.smallest > answers.rows else math.ceil(about.smallest),
    }
    if column.tag in _NUMERIC:
        shown["mean"] = figure(release.mean(column.name))
    if column.tag in ("integer", "number"):
        shown["quantiles"] = [[share, figure(release.quantile(column.name, share))] for share in QUANTILES]
    return shown


def mean_records(release: Release, schema: Schema) -> dict[str, dict[str, list[list[Any]]]]:
    """Means of every column of numbers by every column measured with it: column → by → the figure of each group.

    Groups are in the order of their atoms. What takes long, two very fine columns, is left to the command line.
    """
    noisy = release.measurements.measured
    if not isinstance(noisy, NoisyBlocks):
        return {}
    found: dict[str, dict[str, list[list[Any]]]] = {}
    for first, second in itertools.islice(_together(noisy, schema), MOST_MEANS):
        found.setdefault(first, {})[second] = [figure(one) for one in release.mean(first, by=second).values()]
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


MOST_SHOWN = 15  # convention: cells in which rows and measurements disagree, enough to see where


def pair_records(noisy: NoisyBlocks, answers: Answers) -> list[dict[str, Any]]:
    """Every pair that was measured: how finely, with what noise, and how strongly its columns go together."""
    counts = tabulation(noisy)
    pairs = itertools.combinations(range(noisy.width), 2)
    items = (item for item in answers.items if len(item.columns) == 2)
    return [
        {
            "columns": list(columns),
            "cells": item.cells,
            "noise": number(item.noise, _DRAWN),
            "smallest": None if item.smallest is None or item.smallest > answers.rows else round(item.smallest),
            "association": strength_record(counts.marginals(columns)),
        }
        for columns, item in zip(pairs, items, strict=True)
        if item.noise is not None
    ]


def strength_record(measured: tuple[MeasuredMarginal, ...]) -> dict[str, Any] | None:
    """How strongly two columns go together, by the first round that measured them; None where nothing can be seen."""
    found = association(measured[0]) if measured else None
    if found is None:
        return None
    low, high = found.interval
    return {"value": number(found.value, 4), "low": number(low, 4), "high": number(high, 4), "seen": found.seen}


def worth(answers: Answers, pairs: list[dict[str, Any]]) -> dict[str, list[str]]:
    """What the release is good for, and what not: a few words each, from noisy numbers and their noise alone."""
    every = len(_of(answers, 2))
    seen = sum(pair["association"] is not None and pair["association"]["seen"] for pair in pairs)
    good, bad = [], []
    if (share := _share(answers)) is not None:
        good.append(f"shares of single columns to ± {share}")
    if seen:
        good.append(f"relations between {seen:,} of {every:,} pairs of columns")
    elif every:
        bad.append("relations between columns: the noise hides them, or they were not measured")
    alone, together = _smallest(answers)
    if alone is not None:
        bad.append(f"groups under {alone:,} rows")
    if together is not None and seen and together > (alone or 0):
        bad.append(f"groups by two columns under {together:,} rows")
    return {"good": good, "bad": bad}


def worth_in_words(answers: Answers) -> list[str]:
    """The same from the noise alone, without a look at how strongly columns go together: a sentence or two."""
    share, (alone, together) = _share(answers), _smallest(answers)
    found = [] if share is None else [f"Shares of single columns are known to ± {share} or better."]
    if alone is not None:
        pairs = "" if together is None else f", groups by two columns under about {together:,}"
        found.append(f"Groups under {alone:,} rows are too small to see{pairs}.")
    return found


def _share(answers: Answers) -> str | None:
    """How far a share of a single column may be off, of the column with the most noise."""
    noises = [item.noise for item in _of(answers, 1) if item.noise is not None]
    return _percent(_TWO_SIDED * max(noises) / answers.rows) if noises else None


def _smallest(answers: Answers) -> tuple[int | None, int | None]:
    """The smallest group that every column can show, and that half of the pairs can."""
    limits = [sorted(one.smallest for one in _of(answers, count) if one.smallest is not None) for count in (1, 2)]
    alone, together = limits
    return _about(alone[-1]) if alone else None, _about(together[len(together) // 2]) if together else None


_TWO_SIDED = 1.96  # convention: standard errors of a 95 % interval


def _of(answers: Answers, count: int) -> list[Answerable]:
    return [item for item in answers.items if len(item.columns) == count]


def _percent(share: float) -> str:
    """Two digits of a share.

    >>> _percent(0.0123), _percent(0.31), _percent(0.00042)
    ('1.2 %', '31 %', '0.042 %')
    """
    digits = max(0, 1 - math.floor(math.log10(100.0 * share))) if share > 0.0 else 0
    return f"{100.0 * share:.{digits}f} %"


def _about(rows: float) -> int:
    """A number of rows to two digits, rounded up.

    >>> _about(251.2), _about(7.1)
    (260, 8)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(max(rows, 1.0))) - 1)
    return unit * math.ceil(rows / unit)


def synthetic_shares(marginal: MeasuredMarginal, codes: Integers, weights: Floats) -> Floats:
    """How the synthetic rows are distributed over the cells: (cells,)."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for column, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        cells = cells * size + groups[codes[:, column]]
    shares: Floats = np.bincount(cells, weights=weights, minlength=marginal.size) / weights.sum()
    return shares


def disagreements(noisy: NoisyBlocks, schema: Schema, codes: Integers, weights: Floats) -> dict[str, Any]:
    """Where the rows are furthest from the noisy counts, in standard errors; and how far on the whole.

    The noise alone puts one cell in twenty beyond two standard errors, so that the mean square, which it makes 1, says
    more than the worst cell. Variances are bounds from above: what is said to stand out does.
    """
    found = list(_compared(noisy, schema, codes, weights))
    scores = np.concatenate([item[2] for item in found])
    ranked = sorted(_worst(found, levels_of(noisy)), key=lambda cell: -abs(cell["z"]))[:MOST_SHOWN]
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


def _worst(
    found: list[tuple[MeasuredMarginal, tuple[Floats, Floats], Floats]], levels: Levels
) -> Iterator[dict[str, Any]]:
    """The furthest cells of each marginal: their atoms, or of leaves in groups the groups."""
    for marginal, (rows, counts), scores in found:
        shown = atom_cells(marginal, levels)
        told = np.abs(scores) * (np.maximum(rows, counts) >= 0.5)  # where both say none, noise alone is below 0
        for cell in np.argsort(-told)[:MOST_SHOWN].tolist():
            yield {
                "columns": list(marginal.columns),
                "atoms": [
                    np.flatnonzero(groups == place).tolist()
                    for groups, place in zip(shown, np.unravel_index(cell, marginal.shape), strict=True)
                ],
                "rows": number(float(rows[cell])),
                "estimate": number(max(0.0, float(counts[cell]))),  # noise alone puts it below 0
                "z": number(float(scores[cell]), _DRAWN),
            }
