"""How wide the answers of promised analyses will be: each is asked of rehearsals, and nothing private is read."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.groups import INTERCEPT, Groups
from kernelease.analysis.inference import CONFIDENCE
from kernelease.errors import KerneleaseError
from kernelease.table.columns.listed import Boolean, Listed
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.expressions.formulas import Analysis

if TYPE_CHECKING:
    from kernelease.answers.release import Release

GROUP = "a group"  # what stands for all groups of a mean


def promised_widths(releases: Sequence["Release"], analysis: Analysis) -> dict[str, float]:
    """Half the lengths of an analysis's 95 % intervals, as is typical of releases: by coefficient or over all groups.

    They are infinite where it would be refused.
    """
    found = [_widths(release, analysis) for release in releases]
    terms = dict.fromkeys(term for one in found for term in one)
    widths = {term: _typical([one.get(term, math.inf) for one in found]) for term in terms}
    return widths or {analysis.columns[0]: math.inf}


def _typical(widths: Sequence[float]) -> float:
    """The geometric mean of the middle third or more: it varies less than a median does, and one infinite is no matter.

    >>> _typical([1.0, 2.0, 4.0, 8.0, math.inf]), _typical([3.0, math.inf])
    (4.0, inf)
    """
    cut = len(widths) // 3
    return float(np.exp(np.mean(np.log(np.sort(widths)[cut : len(widths) - cut]))))


def _widths(release: "Release", analysis: Analysis) -> dict[str, float]:
    try:
        answers = promised_answers(release, analysis)
    except KerneleaseError:
        return {} if analysis.formula is not None else {GROUP: math.inf}
    widths = {str(name): _half(one) for name, one in answers.items() if name != INTERCEPT}
    return widths if analysis.formula is not None else {GROUP: float(np.median(list(widths.values())))}


def _half(estimate: Estimate) -> float:
    low, high = estimate.interval(CONFIDENCE)
    return 0.5 * (high - low) if math.isfinite(high - low) else math.inf


def promised_answers(release: "Release", analysis: Analysis) -> Mapping[Any, Estimate]:
    """The answers that were promised: coefficients by name, or means and shares by group.

    A model that does not say which it is, is one of least squares where its response is a number, else of odds.
    """
    assert release.schema is not None  # analyses are of columns
    column, *groups = analysis.columns
    declared = release.schema.column(column)
    if analysis.formula is not None:
        kind = analysis.kind or ("logistic" if isinstance(declared, Boolean | Listed) else "regression")
        model: Mapping[Any, Estimate] = getattr(release.ask, kind)(analysis.formula)
        return model
    asked: Any = release.by(*groups) if groups else release.ask
    found = asked.mean(column) if isinstance(declared, Integer | Number | Boolean) else asked.histogram(column)
    if not isinstance(found, Groups):
        return {column: found}
    return found.minus(next(iter(found))) if analysis.kind == "difference" else found
