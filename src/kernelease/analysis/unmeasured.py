"""Averages of columns that were not measured together."""

import itertools
import math

import numpy as np

from kernelease.analysis.cellwise import cellwise
from kernelease.analysis.classes import Classes, classes
from kernelease.analysis.estimate import USUAL, Estimate, Parts, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.limits import Interval
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.polytope import Polytope, facts_of
from kernelease.analysis.question import Question
from kernelease.errors import CapacityError

MOST_POINTS = 20_000  # variables of a linear program
PARTS = (16, 8, 4, 2)  # ranges that numbers are cut into: as many as fit
Z = 4.0  # standard errors within which a noisy number of rows is taken to be
REMARK = (
    "{} were not measured together in cells as fine as the question: the interval holds every table that agrees with "
    "what was measured"
)


def unmeasured(evidence: Evidence, question: Question) -> Estimate | None:
    """The extremes over all tables that agree with the noisy counts; the value is NaN. None where no row can exist."""
    columns = evidence.positions(question.columns)
    chosen = _classes(evidence, question, columns)
    axes = [
        (evidence.schema.columns[index].name, part.points, part.groups)
        for index, part in zip(columns, chosen, strict=True)
    ]
    functions = cellwise(axes, question.numerator, question.denominator)
    if functions.possible is None:
        return None
    sampled = evidence.total if evidence.target is Target.POPULATION else 0.0
    known = _known(evidence, columns)
    limits = Polytope(
        functions=functions,
        facts=facts_of(known, tuple(part.groups for part in chosen), columns, sampled=sampled),
        rows=_rows(evidence),
        total=question.total,
        heavy=any(marginal.heavy for marginal in known),
    )
    return Estimate(
        value=math.nan,
        parts=Parts(noise=_noise(limits)),
        limits=limits,
        target=evidence.target,
        about=question.about,
        remark=REMARK.format(", ".join(evidence.schema.names[index] for index in columns)),
        possible=limits.possible,
    )


def _noise(limits: Polytope) -> float:
    """By how much each half of the interval grows when all facts may be off by one standard error more."""
    long, short = (high - low for low, high in (limits.at(level) for level in (USUAL, 0.5)))
    return max(0.0, 0.5 * (long - short) / (limits.factor(USUAL) - limits.factor(0.5)))


def _classes(evidence: Evidence, question: Question, columns: tuple[int, ...]) -> list[Classes]:
    """The atoms of each column in as many classes as a linear program can take."""
    declared = [evidence.schema.columns[index] for index in columns]
    for parts in PARTS:
        found = [
            classes(column, question.conditions, parts=parts if column.name in question.valued else 1)
            for column in declared
        ]
        if math.prod(len(part.points.atoms) for part in found) <= MOST_POINTS:
            return found
    raise CapacityError(
        f"The columns {', '.join(column.name for column in declared)} were not measured together, and are too many to "
        "bound the answer from what was. Ask about fewer of them at once, or with fewer values."
    )


def _known(evidence: Evidence, columns: tuple[int, ...]) -> list[Marginal]:
    """What was measured of some of the columns, in the round that has the least noise."""
    known = []
    for size in (1, 2, 3):
        for part in itertools.combinations(columns, size):
            hosts = evidence.marginals(part)
            if hosts:
                known.append(min(hosts, key=lambda host: float(host.variances().max())))
    return known


def _rows(evidence: Evidence) -> Interval:
    """The least and the greatest number of rows."""
    if evidence.public_total:
        return evidence.total, evidence.total
    marginal = evidence.marginals((0,))[0]
    values, covariance = marginal.joint([np.ones(marginal.size)])
    error = math.sqrt(covariance[0, 0])
    return max(1.0, values[0] - Z * error), max(1.0, values[0] + Z * error)
