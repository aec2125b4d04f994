"""Estimates as tables for people and as records for programs."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, final

from rich.console import RenderableType

from kernelease.analysis.estimate import Estimate, Parts
from kernelease.analysis.groups import EstimateTable, Groups, Label, Regression, RegressionGroups, join_label
from kernelease.analysis.inference import CONFIDENCE, REAL_LINE, ConfidenceLimits, Interval, critical_value
from kernelease.cli.screen import grid, line, number
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.answers.vectors import RatioEstimate, VectorEstimate, Vectors
    from kernelease.cli.work.typed_questions import Answer, Asking


def record(answer: "Answer", level: float) -> dict[str, Any]:
    """What goes into JSON: `groups` of estimates, or for a cross-table `rows`, `columns` and `cells`. No NaN.

    A group is null where all rows are meant, and the coefficients of a model have a `term`. The errors of a date are in
    days.
    """
    if isinstance(answer, EstimateTable):
        cells = [[_fields(estimate, level) for estimate in row] for row in answer.estimates]
        return {"rows": list(answer.rows), "columns": list(answer.columns), "cells": cells}
    return {"groups": [{**named, **_fields(one, level)} for named, one in _entries(answer)]}


def _entries(answer: "Answer") -> Iterable[tuple[Mapping[str, str | None], Estimate]]:
    """Each estimate, with its group and term."""
    match answer:
        case Estimate():
            yield {"group": None}, answer
        case Groups():
            yield from (({"group": join_label(label)}, one) for label, one in answer.items())
        case Regression():
            yield from (({"group": None, "term": term}, one) for term, one in answer.items())
        case RegressionGroups():
            for label, model in answer.items():
                yield from (({"group": join_label(label), "term": term}, one) for term, one in model.items())


def _fields(estimate: Estimate, level: float) -> dict[str, Any]:
    low, high = estimate.interval(level)
    parts, unit = estimate.parts, 1.0 if estimate.calendar is None else estimate.calendar.day
    ends = {"value": estimate.value, "low": low, "high": high}
    return {
        **{key: _end(estimate, end) for key, end in ends.items()},
        "standard_error": _finite(estimate.standard_error / unit),
        "noise": _finite(parts.noise / unit),
        "inside": _finite(parts.inside / unit),
        "sampling": _finite(parts.sampling / unit),
        "bias": _finite(parts.bias / unit),
        "says_little": estimate.says_little,
        "about": estimate.about,
        "remark": estimate.remark or None,
    }


def _end(estimate: Estimate, value: float) -> float | str | None:
    if estimate.calendar is None or not math.isfinite(value):
        return _finite(value)
    return estimate.text_of(value)


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def show(answer: "Answer", level: float, *, parts: bool = False) -> tuple[RenderableType, ...]:
    """What is shown to people; with `parts`, what the error is made of, too."""
    if isinstance(answer, EstimateTable):
        cells = [(label, *map(str, row)) for label, row in zip(answer.rows, answer.estimates, strict=True)]
        every = {f"{row}, {column}": answer[row, column] for row in answer.rows for column in answer.columns}
        return (grid((answer.title, *answer.columns), cells), *(line(text) for text in _remarks(every)))
    if isinstance(answer, Estimate):
        told = (answer.about, *_cells(answer, level), *(_parts(answer) if parts else ()))
        weak = [line(text) for text in _remarks({"all": answer})]
        return (grid(("", "estimate", *_header(level, parts)), [told]), *weak)
    estimates = {_label(named): one for named, one in _entries(answer)}
    header = (_title(answer), "estimate", *_header(level, parts))
    rows = [(label, *_cells(one, level), *(_parts(one) if parts else ())) for label, one in estimates.items()]
    return (grid(header, rows), *(line(text) for text in _remarks(estimates)))


def _header(level: float, parts: bool) -> tuple[str, ...]:
    return (f"{100.0 * level:.4g} % interval", *(_PARTS if parts else ()))


def _label(named: Mapping[str, str | None]) -> str:
    return ": ".join(part for part in named.values() if part is not None) or "all"


def _title(answer: "Answer") -> str:
    if isinstance(answer, Groups | RegressionGroups):
        return join_label(answer.by)
    return answer.formula if isinstance(answer, Regression) else ""


_PARTS = tuple(part.name for part in dataclasses.fields(Parts))


def _cells(estimate: Estimate, level: float) -> tuple[str, str]:
    """The value, with its margin where both sides are alike, and the ends of the interval in as many digits."""
    low, high = estimate.interval(level)
    if estimate.calendar is not None or not math.isfinite(estimate.value + high - low):
        bounded = f"{estimate.text_of(low)} to {estimate.text_of(high)}" if math.isfinite(high - low) else "not bounded"
        return estimate.text_of(estimate.value) if math.isfinite(estimate.value) else "unknown", bounded
    digits = estimate.digits(level)
    value, *ends = (f"{one:,.{digits}f}" for one in (estimate.value, low, high))
    below, above = estimate.value - low, high - estimate.value
    alike = abs(below - above) <= 0.1 * max(below, above)
    return f"{value} ± {max(below, above):,.{digits}f}" if alike else value, " to ".join(ends)


def _parts(estimate: Estimate) -> tuple[str, ...]:
    """What the error is made of, of a date in days; what is only left of rounding is 0."""
    days = 1.0 if estimate.calendar is None else estimate.calendar.day
    least = 1e-9 * max(abs(estimate.value), estimate.standard_error)
    return tuple(number(_finite(0.0 if part <= least else part / days)) for part in dataclasses.astuple(estimate.parts))


def _remarks(estimates: Mapping[str, Estimate]) -> list[str]:
    """What must be known before a value is used, each once."""
    remarks = dict.fromkeys(estimate.remark for estimate in estimates.values() if estimate.remark)
    for why in dict.fromkeys(estimate.why for estimate in estimates.values() if estimate.says_little):
        weak = [label for label, estimate in estimates.items() if estimate.says_little and estimate.why == why]
        sign = "; " if any(", " in label for label in weak) else ", "
        named = sign.join(weak[:10]) + (" and others" if len(weak) > 10 else "")
        named = "any of them" if len(weak) == len(estimates) else named
        remarks["says little" + ("" if weak == ["all"] else f" about {named}") + f": {why}"] = None
    return list(remarks)


# ---- Questions to a release of vectors: columns are x0, x1 and so on, and a place is its numbers.


def vector_answer(name: str, asked: "Asking") -> Estimate | Groups:
    """The answer to one of these questions; what only tables can be asked is refused."""
    vectors = asked.release.vectors()
    if asked.where is not None or (asked.by is not None and (asked.by != "label" or name not in _BY_LABEL)):
        raise ParameterError("query: vectors take no --where; mean, covariance and density take --by label.")
    return _ANSWERS[name](vectors, asked)


def _mean(vectors: "Vectors", asked: "Asking") -> Estimate | Groups:
    column = _column(asked.about[0], vectors)
    return _by_label(vectors, asked, lambda label: _estimate(vectors.mean(label), column, f"mean of x{column}"))


def _covariance(vectors: "Vectors", asked: "Asking") -> Estimate | Groups:
    i, j = (_column(name, vectors) for name in asked.about)
    about = f"covariance of x{i} and x{j}"
    return _by_label(vectors, asked, lambda label: _estimate(vectors.covariance(label), (i, j), about))


def _density(vectors: "Vectors", asked: "Asking") -> Estimate | Groups:
    place = [_numbers(asked.about)]
    return _by_label(vectors, asked, lambda label: _estimate(vectors.density(place, label), 0, "density"))


def _axes(vectors: "Vectors", asked: "Asking") -> Groups:
    """Variances, with intervals that hold at once; directions are in the labels where there are few columns."""
    axes = vectors.axes(_count(asked.about[0]))
    few = axes.directions.shape[1] <= 6
    named: dict[Label, Estimate] = {}
    for index, direction in enumerate(axes.directions):
        way = f" ({', '.join(f'{part:.3f}' for part in direction)})" if few else ""
        value, ends = float(axes.variances[index]), (float(axes.low[index]), float(axes.high[index]))
        remark = "" if axes.angles[index] < 1.5 else "a direction is not told where its angle may be any"
        limits = _Ends(partial(_up_to_the_confidence, ends))
        named[f"axis {index + 1}{way}"] = _with_limits(value, limits, "variance along an axis", remark)
    return Groups("axis", named)


def _clusters(vectors: "Vectors", asked: "Asking") -> Groups:
    clusters = vectors.clusters(_count(asked.about[0]))
    few = clusters.centres.shape[1] <= 6
    named: dict[Label, Estimate] = {}
    for index, centre in enumerate(clusters.means.value):
        way = f" at ({', '.join(f'{part:.3g}' for part in centre)})" if few else ""
        named[f"{index + 1}{way}"] = _estimate(clusters.shares, index, "share of rows in a cluster")
    return Groups("cluster", named)


def _expectation(vectors: "Vectors", asked: "Asking") -> Estimate:
    of, *place = asked.about
    if vectors.labels is not None:
        label = next((name for name in set(vectors.labels) if str(name) == of), of)
        return _estimate(vectors.expected(label, [_numbers(place)]), 0, f"expected share of {of}")
    return _estimate(vectors.expected(_column(of, vectors), [_numbers(place)]), 0, f"expected {of}")


_ANSWERS: dict[str, Callable[["Vectors", "Asking"], Estimate | Groups]] = {
    "mean": _mean,
    "covariance": _covariance,
    "density": _density,
    "axes": _axes,
    "clusters": _clusters,
    "expected": _expectation,
}
_BY_LABEL = ("mean", "covariance", "density")


def _by_label(vectors: "Vectors", asked: "Asking", answer: Callable[[object], Estimate]) -> Estimate | Groups:
    if asked.by is None:
        return answer(None)
    if vectors.labels is None:
        raise ParameterError("query: these vectors have no classes, so there is no --by label.")
    return Groups("label", {str(label): answer(label) for label in dict.fromkeys(vectors.labels.tolist())})


def _estimate(found: "VectorEstimate | RatioEstimate", place: "int | tuple[int, int]", about: str) -> Estimate:
    from kernelease.answers.vectors import VectorEstimate  # only vectors need it

    if isinstance(found, VectorEstimate):
        bias = float(found.bias[place]) if found.bias.ndim else float(found.bias)
        noise = float(found.standard_error[place])
        return Estimate.normal(float(found.value[place]), noise=noise, bias=bias, about=about)
    limits = _Ends(lambda level: (float(found.interval(level)[0][place]), float(found.interval(level)[1][place])))
    return _with_limits(float(found.value[place]), limits, about)


@final
@dataclass(frozen=True, slots=True)
class _Ends(ConfidenceLimits):
    """The ends that an interval of each level has."""

    ends: Callable[[float], Interval]

    def at(self, level: float) -> Interval:
        return self.ends(level)


def _up_to_the_confidence(ends: Interval, level: float) -> Interval:
    """Ends that are known for one level hold for all below it; beyond it, nothing does."""
    return ends if level <= CONFIDENCE else REAL_LINE


def _with_limits(value: float, limits: ConfidenceLimits, about: str, remark: str = "") -> Estimate:
    low, high = limits.at(CONFIDENCE)
    noise = 0.5 * (high - low) / critical_value(CONFIDENCE)
    return Estimate(value=value, parts=Parts(noise=noise), limits=limits, about=about, remark=remark)


def _column(name: str, vectors: "Vectors") -> int:
    match = re.fullmatch(r"x(\d+)", name)
    if match is None or int(match[1]) >= vectors.rows.shape[1]:
        raise ParameterError(f"query: columns of vectors are x0 to x{vectors.rows.shape[1] - 1}, got {name!r}.")
    return int(match[1])


def _numbers(texts: Iterable[str]) -> list[float]:
    from kernelease.cli.work.typed_questions import read_number  # which imports this module

    return [read_number(text, "each coordinate") for text in texts]


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ParameterError(f"query: how many is a whole number, like 3; got {text!r}.")
    return int(text)
