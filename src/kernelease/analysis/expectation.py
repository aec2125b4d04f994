"""Averages over the rows of a private table, from what a release measured."""

import math
from contextlib import suppress
from dataclasses import replace

from kernelease.analysis.cellwise import cellwise
from kernelease.analysis.embedded import embedded
from kernelease.analysis.estimate import USUAL, Estimate, Parts
from kernelease.analysis.evidence import Evidence, Spread
from kernelease.analysis.limits import Unknown, critical
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.question import Question
from kernelease.analysis.representatives import LEAST, representatives, weighted
from kernelease.analysis.span import Span
from kernelease.analysis.unmeasured import unmeasured
from kernelease.errors import CapacityError

EVENLY = "assumes that rows are spread within each cell as the column's own counts are"


def average(evidence: Evidence, question: Question) -> Estimate:
    """The answer to a question.

    What was measured jointly is answered from its noisy counts alone, and the rest (so are three columns whose cells
    are too coarse for the question) by the extremes over all tables that agree with them. Where several rounds
    measured it, the one with the least noise and the finest cells answers.
    """
    if evidence.blocks is None:
        return embedded(evidence, question)
    hosts = evidence.marginals(evidence.positions(question.columns) or (0,))
    estimate = _spanned(evidence, question, hosts) if hosts else unmeasured(evidence, question)
    if estimate is None:
        return _nothing(evidence, question)
    return estimate if math.isfinite(estimate.value) else _placed(estimate, evidence, question)


def _spanned(evidence: Evidence, question: Question, hosts: tuple[Marginal, ...]) -> Estimate | None:
    found = [span for span in (_span(evidence, question, host) for host in hosts) if span is not None]
    if not found:
        return None
    # By the noise and the cells alone: a choice in sight of the noisy counts would favour lucky ones.
    span = found[0] if len(found) == 1 else min(found, key=lambda span: span.width)
    if len(span.marginal.columns) > 2 and not span.functions.exact:  # what pairs say of finer cells helps
        with suppress(CapacityError):
            return unmeasured(evidence, question)
    even = evidence.spread is Spread.EVEN and not span.functions.exact
    chosen = replace(span, functions=span.functions.evened()) if even else span
    scale = evidence.total if question.total and evidence.public_total else 1.0
    estimate = chosen.estimate(scale=scale, about=question.about)
    return replace(estimate, remark=EVENLY) if even else estimate


def _span(evidence: Evidence, question: Question, marginal: Marginal) -> Span | None:
    axes = []
    for index, groups in zip(marginal.columns, marginal.groups, strict=True):
        column = evidence.schema.columns[index]
        points = weighted(representatives(column, question.conditions), evidence.shares(index) + LEAST)
        axes.append((column.name, points, groups))
    functions = cellwise(axes, question.numerator, question.denominator)
    if functions.possible is None:
        return None
    return Span(
        marginal=marginal,
        functions=functions,
        target=evidence.target,
        possible=functions.possible,
        divisor=_divisor(evidence, question),
    )


def _divisor(evidence: Evidence, question: Question) -> float | None:
    """What the sum is divided by where no noisy sum is."""
    if question.denominator is not None:
        return None
    if evidence.public_total:
        return evidence.total
    return 1.0 if question.total else None


def _placed(estimate: Estimate, evidence: Evidence, question: Question) -> Estimate:
    """The estimate with the value of the synthetic rows, where they have one, else with the middle of its interval."""
    low, high = estimate.interval()
    found = evidence.synthetic(question.numerator, question.denominator)
    if found is None and not math.isfinite(high - low):
        return estimate
    scale = evidence.total if question.total else 1.0
    value = 0.5 * (low + high) if found is None else min(max(scale * found, low), high)
    noise = estimate.parts.noise if math.isfinite(estimate.parts.noise) else 0.0
    bias = max(0.0, max(value - low, high - value) - critical(USUAL) * noise)
    return replace(estimate, value=value, parts=Parts(noise=noise, bias=bias))


def _nothing(evidence: Evidence, question: Question) -> Estimate:
    """The answer about rows that can't exist."""
    return Estimate(
        value=math.nan,
        parts=Parts(noise=math.inf),
        limits=Unknown(),
        target=evidence.target,
        about=question.about,
        remark="no row that the schema allows fulfils the condition",
    )
