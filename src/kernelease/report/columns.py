"""Columns, pairs of columns and points as the page shows them, with numbers as short as the shown digits allow."""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.analysis.evidence import Answerable, Answers
from kernelease.answers.release import Release
from kernelease.arrays import Floats, Integers, Rows
from kernelease.estimate.marginal import MeasuredMarginal, tabulation
from kernelease.features.moments import ClassMoments
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.measured.offsets import Levels, declared_levels, levels_of
from kernelease.report.marginals import (
    atom_cells,
    every_marginal,
    figure,
    number,
    numbers,
    share_record,
    strength_record,
)
from kernelease.table.columns.cells import Celled, Stepped
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Hierarchy
from kernelease.table.domains import LABEL, LabelledDomain
from kernelease.table.expressions.terms import spell_name
from kernelease.table.schema import Schema

# ---- Each column.


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
            **(declared := _declaration(column)),
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


def _declaration(column: Column) -> dict[str, Any]:
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
        cells = np.arange(len(low))
        return {
            **told,
            "points": column.points,
            "slips": [np.flatnonzero(column.encode(pa.array(ends)) != cells).tolist() for ends in (low, high)],
        }
    return told if np.array_equal(low, high) else {**told, "high": _exact(high)}


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


# ---- Each pair, and where synthetic rows differ from the measurements.


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
    """How far a share of a single column may be off, of the column with the most noise; None beyond all shares."""
    noises = [item.noise for item in _of(answers, 1) if item.noise is not None]
    share = _TWO_SIDED * max(noises, default=math.inf) / answers.rows
    return _percent(share) if share < 1.0 else None


def _smallest(answers: Answers) -> tuple[int | None, int | None]:
    """The smallest group that every column can show, and that half of the pairs can."""
    limits = [sorted(one.smallest for one in _of(answers, count) if one.smallest is not None) for count in (1, 2)]
    alone, together = limits
    rarest = alone[-1:], together[len(together) // 2 :][:1]
    first, second = (_two_digits(one[0], math.ceil) if one else None for one in rarest)
    return first, second


_TWO_SIDED = 1.96  # convention: standard errors of a 95 % interval


def _of(answers: Answers, count: int) -> list[Answerable]:
    return [item for item in answers.items if len(item.columns) == count]


def _two_digits(rows: float, rounded: Callable[[float], int]) -> int:
    """A number of rows to two digits.

    >>> _two_digits(251.2, math.ceil), _two_digits(7.4, round)
    (260, 7)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(max(rows, 1.0))) - 1)
    return unit * rounded(rows / unit)


def _percent(share: float) -> str:
    """Two digits of a share.

    >>> _percent(0.0123), _percent(0.31), _percent(0.00042)
    ('1.2 %', '31 %', '0.042 %')
    """
    digits = max(0, 1 - math.floor(math.log10(100.0 * share))) if share > 0.0 else 0
    return f"{100.0 * share:.{digits}f} %"


def synthetic_shares(marginal: MeasuredMarginal, codes: Integers, weights: Floats) -> Floats:
    """How the synthetic rows are distributed over the cells: (cells,)."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for column, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        cells = cells * size + groups[codes[:, column]]
    shares: Floats = np.bincount(cells, weights=weights, minlength=marginal.size) / weights.sum()
    return shares


def disagreements(noisy: NoisyBlocks, codes: Integers, weights: Floats) -> dict[str, Any]:
    """Where the rows are furthest from the noisy counts, in standard errors; and how far on the whole.

    The noise alone puts one cell in twenty beyond two standard errors, so that the mean square, which it makes 1, says
    more than the worst cell. Variances are bounds from above: what is said to stand out does.
    """
    found = list(_compare(noisy, codes, weights))
    scores = np.concatenate([item[2] for item in found])
    ranked = sorted(_worst(found, levels_of(noisy)), key=lambda cell: -abs(cell["z"]))[:MOST_SHOWN]
    return {"cells": len(scores), "mean_square": number(float(np.mean(scores**2))), "worst": ranked}


def _compare(
    noisy: NoisyBlocks, codes: Integers, weights: Floats
) -> Iterator[tuple[MeasuredMarginal, tuple[Floats, Floats], Floats]]:
    """Each marginal with the counts of the rows and the estimated ones, and their distance in standard errors."""
    for marginal, *_ in every_marginal(noisy, levels_of(noisy)):
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


# ---- Points: vectors as the page shows them.


_PICTURED = 1_000  # convention: points of a picture
_AXES = 6  # convention: axes that a reader can choose from
_MOST_EVALUATED = 8_000_000  # limit: numbers of features that are computed for a page: 64 MB


def points_record(release: Release) -> dict[str, Any] | None:
    """All that the page says of vectors; None of tables, and of rows that are no numbers. Nothing in it is private."""
    rows = _vectors(release)
    if release.schema is not None or rows is None:
        return None
    weights = np.maximum(release.weights, 0.0)
    weights /= weights.sum()
    centre, axes, shares = principal_axes(rows, weights)
    classes, codes = _classes(release)
    every = len(rows) <= _PICTURED
    chosen = (
        np.arange(len(rows)) if every else np.sort(np.random.default_rng(0).choice(len(rows), _PICTURED, p=weights))
    )
    return {
        "columns": rows.shape[1],
        "axes": [f"x{place}" for place in range(rows.shape[1])] if rows.shape[1] <= 2 else len(axes),
        "shares": numbers(shares, 4),
        "places": [numbers(row, 4) for row in ((rows[chosen] - centre) @ axes.T)],
        "weights": numbers(weights * len(rows), 3) if every else None,
        "codes": None if codes is None else codes[chosen].tolist(),
        "classes": classes,
        "accuracy": _accuracy(release, chosen),
    }


def points_worth(points: dict[str, Any]) -> dict[str, list[str]] | None:
    """What a release of vectors is good for, and what not, in a few words."""
    found = points["accuracy"]
    if found is None or not found["sample"]:
        return None
    good = f"means of smooth functions, as exact as a sample of about {_two_digits(found['sample'], round):,} real rows"
    return {"good": [good], "bad": ["single vectors: no row is a person"]}


def principal_axes(rows: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean (d,), the directions of most variance (k, d), and the share of the variance along each (k,).

    Of one or two numbers they are the numbers themselves. A direction points to where its largest number is positive.

    >>> rows = np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 0.0], [4.0, 4.0, 0.0]])
    >>> principal_axes(rows, np.full(3, 1 / 3))[2].round(3)[:2]
    array([1., 0.])
    """
    mean: Floats = weights @ rows
    centred = rows - mean
    covariance = (centred * weights[:, None]).T @ centred
    if rows.shape[1] <= 2:
        variances = np.diag(covariance)
        return np.zeros(rows.shape[1]), np.eye(rows.shape[1]), variances / max(variances.sum(), 1e-300)
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors.T[::-1][:_AXES]
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    shares: Floats = np.maximum(values[::-1], 0.0)[:_AXES] / max(float(values.sum()), 1e-300)
    return mean, axes * np.where(largest < 0.0, -1.0, 1.0)[:, None], shares


def _vectors(release: Release) -> Floats | None:
    """Synthetic rows as numbers, without their classes; None where a column holds something else."""
    table = release.rows
    if LABEL in table.column_names:
        table = table.drop_columns([LABEL])
    plain = all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in table.schema.types)
    if not plain or not table.num_columns:
        return None
    rows: Floats = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)
    return rows


def _classes(release: Release) -> tuple[list[dict[str, Any]] | None, Any]:
    """Each class with its share, as it was measured, and in the rows; and the class of each row, by its place."""
    domain, measured = release.measurements.domain, release.measurements.measured
    if not isinstance(domain, LabelledDomain) or not isinstance(measured, NoisyEmbeddings):
        return None, None
    names = [str(name) for name in domain.kernel.classes]
    codes = domain.place_classes(_point_cells(release))[:, -1].astype(np.int64)
    rows = np.bincount(codes, weights=release.weights, minlength=len(names)) / release.weights.sum()
    stages = [stage for stage in measured.stages if isinstance(stage.feature_map, ClassMoments)]
    measures = [_class_shares(stage) for stage in stages]
    values, error = min(measures, key=lambda one: one[1])
    total = float(values.sum())
    return [
        {
            "name": name,
            "share": share_record(float(value) / total, _TWO_SIDED * error / total),
            "rows": number(float(share)),
        }
        for name, value, share in zip(names, values, rows, strict=True)
    ], codes


def _class_shares(stage: NoisyEmbedding) -> tuple[Floats, float]:
    """The noisy share of each class, and the standard deviation of its noise."""
    assert isinstance(stage.feature_map, ClassMoments)
    found = stage.feature_map.moments(stage.mean)
    return found.shares, float(found.errors[0]) * stage.sigma


def _point_cells(release: Release) -> Rows:
    columns = [column.to_pylist() for column in release.rows.columns]
    cells: Rows = np.array(list(zip(*columns, strict=True)), dtype=object)
    return cells


def _accuracy(release: Release, drawn: Any) -> dict[str, Any] | None:
    """How far what was measured is from the truth, and the rows from what was measured: as a sample of so many rows.

    The mean of n fresh rows is √((E‖φ‖² − ‖μ‖²)/n) from the mean of all, and the noise has a norm of σ√F. So the noise
    is that of a sample of n = (E‖φ‖² − ‖μ‖²)/(σ²F) rows; E‖φ‖² and ‖μ‖² are taken from the synthetic rows.
    """
    measured = release.measurements.measured
    if not isinstance(measured, NoisyEmbeddings):
        return None
    stage = measured.embedding
    most = max(1, _MOST_EVALUATED // max(1, stage.feature_map.dimension))
    few = len(release.weights) <= most
    rows = np.arange(len(release.weights)) if few else drawn[:most]
    weights = release.weights if few else np.full(len(rows), 1.0 / len(rows))
    cells = _point_cells(release)[rows]
    domain = release.measurements.domain
    points = domain.place_classes(cells) if isinstance(domain, LabelledDomain) else cells.astype(np.float64)
    features = stage.feature_map.evaluate(points)
    mean = weights @ features
    spread = float(weights @ np.sum(features**2, axis=1) - mean @ mean)
    floor = stage.noise_floor
    return {
        "noise": number(floor, 4),
        "numbers": stage.feature_map.dimension,
        "sample": number(max(0.0, spread) / floor**2, 4) if floor > 0.0 else None,
        "fit": number(float(np.linalg.norm(mean - stage.mean)) / floor, 4) if few and floor > 0.0 else None,
        "fresh": number(math.sqrt(max(0.0, spread) / max(1.0, stage.rows)), 4),
    }
