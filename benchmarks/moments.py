"""How far the means and standard deviations of synthetic rows are from the best estimates of the measurements."""

import math

import numpy as np

import kernelease as ke
from kernelease.analysis.estimate import Estimate

LIMIT = 3.0  # standard errors


def apart(release: ke.Release) -> dict[str, float]:
    """In standard errors by the noise, of each number's mean and deviation, beyond what cells leave open."""
    assert release.schema is not None
    names = [column.name for column in release.schema.columns if column.tag in ("integer", "number")]
    found = {}
    for name in names:
        rows = np.asarray(release.rows.column(name).to_pandas(), dtype=np.float64)
        found[f"mean of {name}"] = _apart(np.nanmean(rows), release.mean(name))
        found[f"deviation of {name}"] = _apart(np.nanstd(rows), release.ask.standard_deviation(name))
    return found


def _apart(rows: np.floating, estimate: Estimate) -> float:
    away = max(0.0, abs(float(rows) - float(estimate)) - estimate.parts.bias)
    noise = estimate.parts.noise
    return away / noise if math.isfinite(noise) and noise > 0.0 else 0.0
