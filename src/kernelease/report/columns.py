"""Columns and pairs of columns as the page shows them, with numbers as short as the shown digits allow."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.analysis.evidence import Answerable, Answers
from kernelease.answers.release import Release
from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import MeasuredMarginal, tabulation
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.offsets import Levels, declared_levels, levels_of
from kernelease.report.marginals import atom_cells, figure, number, numbers, shown_marginals, strength_record
from kernelease.table.columns.column import Celled, Column, Stepped
from kernelease.table.columns.listed import Hierarchy
from kernelease.table.expressions.terms import spell_name
from kernelease.table.schema import Schema

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
