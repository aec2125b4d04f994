"""What the page says of each column."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelease.analysis.evidence import Answers
from kernelease.analysis.marginal import tabulation
from kernelease.arrays import Floats, Integers
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.levels import declared_levels
from kernelease.release.release import Release
from kernelease.report.figures import figure, number, numbers
from kernelease.table.columns.celled import Celled
from kernelease.table.columns.column import Column
from kernelease.table.columns.hierarchy import Hierarchy
from kernelease.table.expressions.tokens import spell_name
from kernelease.table.schema import Schema

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
