"""Whether a coefficient says something: on the scale of the standard deviations of its two columns."""

import math
from dataclasses import replace

import numpy as np

from kernelease.analysis.coefficients import Regression
from kernelease.analysis.estimands import NUMERIC, numbers_of
from kernelease.analysis.evidence import Evidence


def judged(evidence: Evidence, found: Regression) -> Regression:
    """The coefficients, with what is possible for each taken as two standard deviations of the response per one of it.

    So one `says_little` where its interval is longer than ± 1 in such units: not even its sign and size are known.
    """
    response = _spread(evidence, found.formula.partition("~")[0].strip())
    estimates = {}
    for name, estimate in found.items():
        column, _, label = name.partition("[")
        own = _spread(evidence, column, label.rstrip("]")) if column in evidence.schema.names else 0.0
        reach = 2.0 * response / own if own > 0.0 else math.inf
        known = math.isfinite(reach) and reach > 0.0
        estimates[name] = replace(estimate, possible=(-reach, reach)) if known else estimate
    return Regression(found.formula, estimates)


def _spread(evidence: Evidence, name: str, label: str = "") -> float:
    """The standard deviation of a number, or of whether a column has a value, in the synthetic rows; 0 without any."""
    if evidence.rows is None or evidence.weights is None or name not in evidence.schema.names:
        return 0.0
    column = evidence.column(name)
    if label:
        atom = column.labels().index(label) if label in column.labels() else -1
        values = (column.encode(evidence.rows.column(name)) == atom).astype(np.float64)
    elif column.tag in NUMERIC:
        values = numbers_of(column, evidence.rows)
    else:
        return 0.0
    kept = ~np.isnan(values)
    weights = np.maximum(evidence.weights, 0.0)[kept]
    if not weights.sum() > 0.0:
        return 0.0
    centre = float(np.average(values[kept], weights=weights))
    return math.sqrt(float(np.average((values[kept] - centre) ** 2, weights=weights)))
