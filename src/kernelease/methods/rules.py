"""How many points and features: the theorems' rules, corrected, under caps; each choice says which limit was active.

Balancing the terms of the appendix gives M = N^(2 − 4/(2D + a + 2)) points (it prints the exponent 1 − 4/…, a misprint:
docs/proofs/rates.md) and J = N^(4/3) features. Both ask for millions at N = 100,000, so a cap usually decides.
"""

import math

import numpy as np

from kernelease.arrays import Floats
from kernelease.measured.choice import Choice

POINTS_CAP = 4096  # limit: the factorisation holds points × rank floats, at most 128 MiB
FEATURES_CAP = 4096  # limit: of time, as for points
SLACK = 0.01  # the theorem's a. convention: any positive number


def number_of_points(rows: int | None, dimension: int, cap: int = POINTS_CAP) -> Choice:
    """M for Algorithm 1: N^(2 − 4/(2D + a + 2)) or the cap. `rows` is N where it is public, else None."""
    if rows is None:
        return Choice(name="points", value=cap, reason="the cap (the number of rows is private)")
    return _capped("points", float(rows) ** (2.0 - 4.0 / (2.0 * dimension + SLACK + 2.0)), cap)


def number_of_features(rows: int | None, cap: int = FEATURES_CAP) -> Choice:
    """J for Algorithm 2: N^(4/3) or the cap, and even."""
    if rows is None:
        return Choice(name="features", value=cap, reason="the cap (the number of rows is private)")
    return _capped("features", float(rows) ** (4.0 / 3.0), cap)


def _capped(name: str, rule: float, cap: int) -> Choice:
    wanted = max(2, 2 * math.ceil(rule / 2.0))
    if wanted <= cap:
        return Choice(name=name, value=wanted, reason="the theorem's rule")
    return Choice(name=name, value=cap, reason=f"the cap (the theorem's rule asks for {wanted:.3g})")


def noise_optimal_rank(residuals: Floats, sigma: float) -> int:
    """The rank F that minimises F·σ² + (mean squared distance of the public points to the span).

    More coordinates bring more noise; fewer leave more of each point outside the span. The public points stand in for
    the private rows here, so only public numbers decide.

    >>> noise_optimal_rank(np.array([1.0, 0.1, 0.01, 0.009]), sigma=0.1)
    2
    """
    ranks = np.arange(len(residuals))
    return max(1, int(np.argmin(ranks * sigma**2 + residuals)))
