"""Two releases side by side: every column that both declare alike, with the difference of its shares and interval."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np

from kernelease.analysis.inference import CONFIDENCE, critical_value
from kernelease.answers.release import Release
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.estimate.marginal import MeasuredMarginal, tabulation
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.offsets import levels_of
from kernelease.measured.views import common_coarsening
from kernelease.report.marginals import (
    atom_cells,
    figure,
    number,
    numbers,
    share_record,
    shown_marginals,
    strength_record,
)
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.expressions.terms import spell_name
from kernelease.table.schema import Schema

Share: TypeAlias = tuple[float, float]
"""An estimate and its standard error."""
_BARS = 24  # convention: cells of a number that are compared one by one; more are joined to runs
_RANGES = 10  # convention: ranges of a number whose cells differ, of which each is asked of both releases


def comparison_record(first: Release, second: Release) -> dict[str, Any]:
    """What the page says of a second release beside its own. Nothing in it is private.

    The noises of two releases are independent, unless both are fits of the same measurements; the page says so then.
    """
    ours, theirs = (_counts_of(release)[0] for release in (first, second))
    shared = [column for column in ours if column.name in theirs.names and _declare_alike(first, second, column)]
    every = {*ours.names, *theirs.names} - {column.name for column in shared}
    columns = [record for column in shared for record in _column(first, second, ours, theirs, column)]
    comparisons = _mark(columns)
    return {
        "title": second.measurements.domain.name,
        "rows": number(second.measurements.measured.rows),
        "promise": {
            "epsilon": second.certificate.epsilon,
            "delta": second.certificate.delta,
            "words": second.certificate.words,
        },
        "same_noise": _noise(first) == _noise(second),
        "only": sorted(every),
        "comparisons": comparisons,
        "columns": columns,
        "pairs": _pairs((first, second), shared),
    }


def _counts_of(release: Release) -> tuple[Schema, NoisyBlocks]:
    """Declared columns and their noisy counts, or a `ParameterError` where there are none."""
    laid = release.measurements.laid_domain.schema  # numbers in the cells that they were counted in
    if laid is None or not isinstance(release.measurements.measured, NoisyBlocks):
        raise ParameterError("Two releases are compared by the counts of their columns; one of these has none.")
    return laid, release.measurements.measured


def _noise(release: Release) -> list[bytes]:
    return [np.ascontiguousarray(noisy.values).tobytes() for noisy in _counts_of(release)[1].blocks]


def _alike(one: Column, other: Column) -> bool:
    """Whether two columns have the same atoms, so that their cells can be held against each other."""
    return one.tag == other.tag and one.nullable == other.nullable and one.labels() == other.labels()


def _declare_alike(first: Release, second: Release, column: Column) -> bool:
    """Whether both declare a column alike, though its cells may have been laid otherwise."""
    declared = [one for one in (first.schema, second.schema) if one is not None and column.name in one.names]
    return len(declared) == 2 and _alike(*(one.column(column.name) for one in declared))


# ---- Columns: shares of each value, and of ranges of a number.


def _column(first: Release, second: Release, ours: Schema, theirs: Schema, column: Column) -> Iterator[dict[str, Any]]:
    """One record, or none where one of the two has no counts of the column."""
    place, other = ours.names.index(column.name), theirs.names.index(column.name)
    if isinstance(column, Celled) and not _alike(column, theirs.columns[other]):
        values = list(_ranges(first, second, column, theirs.columns[other]))
        yield {"name": column.name, "place": place, "mean": _mean(first, second, column), "values": values}
        return
    finest, theirs_too = _finest(first, place), _finest(second, other)
    if finest is None or theirs_too is None:
        return
    (one, cells), (another, others) = finest, theirs_too
    values = [
        _value(bar, _share(one, cells[bar]), _share(another, others[bar]), laplace=one.laplace or another.laplace)
        for bar in _bars(column, [cells, others])
    ]
    yield {"name": column.name, "place": place, "mean": _mean(first, second, column), "values": values}


def _ranges(first: Release, second: Release, column: Celled, other: Column) -> Iterator[dict[str, Any]]:
    """Shares of ranges of a number whose cells differ: each release is asked, and allows for the cells that it cuts.

    Ranges begin where cells of the coarser one do, so that only the other one cuts cells.
    """
    coarser = column if not isinstance(other, Celled) or column.size <= other.size else other
    lows, own, name = coarser.bounds()[0], column.bounds()[0], spell_name(column.name)
    cuts = lows[:: max(1, math.ceil(len(lows) / _RANGES))]
    for low, high in itertools.pairwise([*cuts, math.inf]):
        begin, end = f"{low:.12g}", f"{high:.12g}"
        atoms = np.flatnonzero((own >= low) & (own < high)).tolist() or [int(np.searchsorted(own, low)) - 1]
        if math.isfinite(high):
            yield _range(first, second, atoms, f"{begin} to {end}", f"{name} >= {begin} and {name} < {end}")
        else:
            yield _range(first, second, atoms, f"{begin} or more", f"{name} >= {begin}")
    if column.nullable:
        yield _range(first, second, [column.size - 1], "NULL", f"{name} is null")


def _range(first: Release, second: Release, atoms: list[int], label: str, condition: str) -> dict[str, Any]:
    """The share of a range in both releases, and their difference; the estimate itself says whether it stands out."""
    one, other = first.probability(condition), second.probability(condition)
    difference = one - other
    return {
        "atoms": atoms,
        "label": label,
        "first": figure(one)[:3],
        "second": figure(other)[:3],
        "difference": figure(difference)[:3],
        "estimate": difference,
    }


def _finest(release: Release, place: int) -> tuple[MeasuredMarginal, Integers] | None:
    """The finest counts of a column, and the cell of each of its atoms as the page has them; None where it has none."""
    noisy = _counts_of(release)[1]
    levels = levels_of(noisy)
    found = max(shown_marginals(noisy, (place,), levels), key=lambda one: one.size, default=None)
    return None if found is None else (found, atom_cells(found, levels)[0])


def _bars(column: Column, groups: list[Integers]) -> list[list[int]]:
    """Atoms that are compared as one: cells that both can tell; of a number's many cells, runs of about one length."""
    atoms = len(groups[0])
    if not isinstance(column, Celled):
        common = common_coarsening(*groups)[0][groups[0]]
        return [np.flatnonzero(common == cell).tolist() for cell in range(int(common.max()) + 1)]
    last = atoms - column.nullable
    cuts = [atom for atom in range(last) if atom == 0 or all(group[atom] != group[atom - 1] for group in groups)]
    step = max(1, math.ceil(len(cuts) / _BARS))
    runs = [list(range(start, end)) for start, end in itertools.pairwise([*cuts[::step], last])]
    return [*runs, [last]] if column.nullable else runs


def _mark(columns: list[dict[str, Any]]) -> int:
    """Say of each difference whether it stands out, and how many there are.

    A mark is wrong with probability 1 − `CONFIDENCE` for all of them together (Bonferroni): among hundreds of
    intervals that hold 0 in 95 % of cases, many leave it out by noise alone.
    """
    values = [value for column in columns for value in column["values"]]
    level = 1.0 - (1.0 - CONFIDENCE) / max(1, len(values))
    for value in values:
        if "estimate" in value:
            low, high = value.pop("estimate").interval(level)
            value["moved"] = low > 0.0 or high < 0.0
            continue
        error, laplace = value.pop("error"), value.pop("laplace")
        value["moved"] = abs(value["difference"][0]) > critical_value(level, laplace=laplace) * error
    return len(values)


def _value(bar: list[int], first: Share, second: Share, *, laplace: bool) -> dict[str, Any]:
    """A share in both releases, and their difference; the noises are independent, and their variances add up."""
    factor = critical_value(CONFIDENCE, laplace=laplace)
    difference, error = first[0] - second[0], math.hypot(first[1], second[1])
    return {
        "atoms": bar,
        "first": share_record(first[0], factor * first[1]),
        "second": share_record(second[0], factor * second[1]),
        "difference": numbers((difference, difference - factor * error, difference + factor * error)),
        "error": error,
        "laplace": laplace,
    }


def _share(marginal: MeasuredMarginal, cells: Integers) -> Share:
    """The share of some cells and its standard error; over a noisy number of rows, to first order."""
    chosen: Floats = np.zeros(marginal.size)
    chosen[cells] = 1.0
    values, covariance = marginal.joint([chosen, np.ones(marginal.size)])
    rows = max(1.0, float(values[1]))
    share = float(values[0]) / rows
    variance = covariance[0, 0] - 2.0 * share * covariance[0, 1] + share**2 * covariance[1, 1]
    return share, math.sqrt(max(0.0, float(variance))) / rows


def _mean(first: Release, second: Release, column: Column) -> list[list[Any]] | None:
    """Both means and their difference; None of columns without numbers."""
    if column.tag not in ("integer", "number"):
        return None
    one, other = first.mean(column.name), second.mean(column.name)
    return [figure(one), figure(other), figure(one - other)]


# ---- Pairs: how strongly columns go together in both.


def _pairs(releases: tuple[Release, Release], shared: list[Column]) -> list[dict[str, Any]]:
    """The strength of each relation that both have measured, the strongest first."""
    (ours, first), (theirs, second) = (_counts_of(release) for release in releases)
    tabulations, found = (tabulation(first), tabulation(second)), []
    for one, other in itertools.combinations([column.name for column in shared], 2):
        strengths = [
            strength_record(counts.marginals(tuple(sorted((schema.names.index(one), schema.names.index(other))))))
            for counts, schema in zip(tabulations, (ours, theirs), strict=True)
        ]
        if all(strength is not None for strength in strengths):
            found.append({"names": [one, other], "first": strengths[0], "second": strengths[1]})
    return sorted(found, key=lambda pair: -max(pair["first"]["value"], pair["second"]["value"]))
