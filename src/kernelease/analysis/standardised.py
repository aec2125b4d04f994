"""Whether a coefficient says something: on the scale of the standard deviations of its two columns."""

import math
from dataclasses import replace

import numpy as np

from kernelease.analysis.coefficients import INTERCEPT, Regression
from kernelease.analysis.estimands import NUMERIC
from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.representatives import YEAR, atom_numbers


def judged(evidence: Evidence, found: Regression, latent: float | None = None) -> Regression:
    """The coefficients, with what is possible for each taken as one standard deviation of the response per one of it.

    That is the scale of a correlation, −1 to 1; so one `says_little` where its interval is longer than half of it. The
    response of a logistic or log-linear model is on the scale of its linear predictor, whose standard deviation is
    `latent`. The intercept is told beside two standard deviations to either side of itself.
    """
    response = latent or _spread(evidence, found.formula.partition("~")[0].strip())
    estimates = {}
    for name, estimate in found.items():
        own = _own_spread(evidence, name)
        reach = response / own if own > 0.0 else math.inf
        centre = estimate.value if name == INTERCEPT else 0.0
        known = math.isfinite(reach) and reach > 0.0 and math.isfinite(centre)
        estimates[name] = replace(estimate, possible=(centre - reach, centre + reach)) if known else estimate
    return Regression(found.formula, estimates)


def _own_spread(evidence: Evidence, name: str) -> float:
    """The standard deviation of a variable; of a product, that of its factors' product; 1/2 for the intercept."""
    if name == INTERCEPT:
        return 0.5
    parts = [one.partition("[") for one in name.split(":")]
    if any(column not in evidence.schema.names for column, _, _ in parts):
        return 0.0
    return math.prod(_spread(evidence, column, label.rstrip("]")) for column, _, label in parts)


def judged_trend(evidence: Evidence, found: Estimate, column: str, over: str) -> Estimate:
    """A slope, judged as a coefficient is."""
    response, own = _spread(evidence, column), _spread(evidence, over)
    return replace(found, possible=(-response / own, response / own)) if response > 0.0 and own > 0.0 else found


def _spread(evidence: Evidence, name: str, label: str = "") -> float:
    """The standard deviation of a number or date (in years), or of whether a column has a value; 0 without any rows."""
    if evidence.rows is None or evidence.weights is None or name not in evidence.schema.names:
        return 0.0
    column = evidence.column(name)
    codes = column.encode(evidence.rows.column(name))
    if label:
        atom = column.labels().index(label) if label in column.labels() else -1
        values = (codes == atom).astype(np.float64)
    elif column.tag in (*NUMERIC, *YEAR):
        values = atom_numbers(column)[codes]
    else:
        return 0.0
    kept = ~np.isnan(values)
    weights = np.maximum(evidence.weights, 0.0)[kept]
    if not weights.sum() > 0.0:
        return 0.0
    centre = float(np.average(values[kept], weights=weights))
    return math.sqrt(float(np.average((values[kept] - centre) ** 2, weights=weights)))
