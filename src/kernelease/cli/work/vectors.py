"""Questions of `kernelease query` to a release of vectors: columns are x0, x1 and so on, and a place is its numbers."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from kernelease.analysis.estimate import Estimate, Parts
from kernelease.analysis.groups import Groups, Label
from kernelease.analysis.inference import CONFIDENCE, REAL_LINE, ConfidenceLimits, Interval, critical_value
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.answers.vector_estimates import RatioEstimate, VectorEstimate
    from kernelease.answers.vectors import Vectors
    from kernelease.cli.work.questions import Asking


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


def _expected(vectors: "Vectors", asked: "Asking") -> Estimate:
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
    "expected": _expected,
}
_BY_LABEL = ("mean", "covariance", "density")


def _by_label(vectors: "Vectors", asked: "Asking", answer: Callable[[object], Estimate]) -> Estimate | Groups:
    """One answer, or one for each class."""
    if asked.by is None:
        return answer(None)
    if vectors.labels is None:
        raise ParameterError("query: these vectors have no classes, so there is no --by label.")
    return Groups("label", {str(label): answer(label) for label in dict.fromkeys(vectors.labels.tolist())})


def _estimate(found: "VectorEstimate | RatioEstimate", place: "int | tuple[int, int]", about: str) -> Estimate:
    """One number of an array of estimates."""
    from kernelease.answers.vector_estimates import VectorEstimate  # only vectors need it

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
    from kernelease.cli.work.questions import read_number  # which imports this module

    return [read_number(text, "each coordinate") for text in texts]


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ParameterError(f"query: how many is a whole number, like 3; got {text!r}.")
    return int(text)
