"""What was measured of the means and variances of numbers, as bounds that synthetic rows keep to."""

import numpy as np

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.products import number_term
from kernelease.analysis.spread import mean_and_variance
from kernelease.fit.mixtures.mixture import Bounds
from kernelease.measured.measured import Measured
from kernelease.table.schema import Schema

# research: Tables: means and deviations that rows keep to. Standard errors of an estimate that chance explains
CHANCE = 2.0


def bounds_of(schema: Schema, measured: Measured) -> tuple[Bounds, ...]:
    """Those of every column of numbers: its best estimates, give or take what chance and cells leave open."""
    evidence = Evidence(schema=schema, measured=measured)
    numbers = [index for index, column in enumerate(schema.columns) if column.tag in ("integer", "number")]
    return tuple(_bounds(evidence, index) for index in numbers) if evidence.counted else ()


def _bounds(evidence: Evidence, index: int) -> Bounds:
    column = evidence.schema.columns[index]
    term = number_term(evidence, column)
    mean, variance = mean_and_variance(evidence, column.name)
    return Bounds(
        column=index,
        numbers=np.where(np.isnan(column.centres()), np.nan, term.middle + term.centre),
        within=term.half**2 / 3.0,
        mean=_ends(mean),
        variance=_ends(variance),
    )


def _ends(estimate: Estimate) -> tuple[float, float]:
    reach = CHANCE * estimate.parts.noise + estimate.parts.bias
    return estimate.value - reach, estimate.value + reach
