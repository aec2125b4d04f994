"""How strongly two columns go together, with the noise taken out: Cramér's V from noisy counts, with an interval."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chndtr, ndtr

from kernelease.analysis.inference import CONFIDENCE, Interval
from kernelease.analysis.marginal import MeasuredMarginal
from kernelease.arrays import Floats, Integers

_VISIBLE = 3.0  # standard errors of its count above which a value of a column is a row or column of its own
_LARGE = 1e4  # a sum of squares beyond which its law is normal to three digits


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Cramér's V, √(φ²/(k − 1)) with φ² = Σ (pᵢⱼ − pᵢpⱼ)²/(pᵢpⱼ) and k the lesser number of values: 0 to 1.

    With E the noise of the shares, φ̂² = ‖D + E‖² in weights 1/(pᵢpⱼ) has noise in it: about g·χ²(ν, φ²/g), a scaled
    noncentral law with the mean and the variance of the noise alone (Satterthwaite 1946). `value` has the mean of the
    noise removed; the interval holds all φ² that the law does not exclude. Values too rare to be seen are one.
    """

    value: float
    interval: Interval

    @property
    def seen(self) -> bool:
        """Whether the noise alone does not explain it."""
        return self.interval[0] > 0.0


def association(marginal: MeasuredMarginal, level: float = CONFIDENCE) -> Association | None:
    """From the finest counts of a pair of columns, or from their interaction, whose noise is all that matters here.

    None where a column has but one value that can be seen.
    """
    if min(marginal.shape) < 2:
        return None
    rows = float(marginal.counts.sum())
    if marginal.contrasts is not None:
        counts, variance = marginal.counts.reshape(marginal.shape), 1.0 / marginal.contrasts.precision
    else:
        finest = max(marginal.sums, key=lambda view: len(view.values))
        counts = finest.values[finest.index].reshape(marginal.shape)
        variance = float(np.mean(1.0 / finest.precision))
    return association_of(counts, marginal.shares.reshape(marginal.shape), rows, variance, level)


def association_of(
    counts: Floats, shares: Floats, rows: float, variance: float, level: float = CONFIDENCE
) -> Association | None:
    """From noisy counts (a, b) of independent noise, and shares (a, b) that are near the truth."""
    merged = [_visible(shares, axis, rows, variance) for axis in (0, 1)]
    sizes = [int(cells.max()) + 1 for cells in merged]
    if min(sizes) < 2:
        return None
    first, second = (np.eye(size)[:, cells] for size, cells in zip(sizes, merged, strict=True))
    table, fitted = first @ counts @ second.T, first @ shares @ second.T
    margins = fitted.sum(axis=1), fitted.sum(axis=0)
    left, right = (_residual(margin) for margin in margins)
    squares = float(((left @ (table / rows) @ right.T) ** 2).sum())
    spread = [part @ np.diag(np.bincount(cells).astype(float)) @ part.T for part, cells in ((left, merged[0]),)]
    spread += [right @ np.diag(np.bincount(merged[1]).astype(float)) @ right.T]
    noise = variance / rows**2
    mean = noise * math.prod(float(np.trace(part)) for part in spread)
    second_moment = noise**2 * math.prod(float((part**2).sum()) for part in spread)
    scale = second_moment / mean
    most = min(sizes) - 1
    low, high = (scale * end for end in _noncentrality(squares / scale, mean / scale, level))
    value = math.sqrt(min(1.0, max(0.0, squares - mean) / most))
    return Association(value=value, interval=(math.sqrt(min(1.0, low / most)), math.sqrt(min(1.0, high / most))))


def _visible(shares: Floats, axis: int, rows: float, variance: float) -> Integers:
    """The row of each value of a column: those whose count stands out of its noise, and one for all others."""
    margin = shares.sum(axis=1 - axis)
    least = _VISIBLE * math.sqrt(variance * shares.shape[1 - axis]) / rows
    rare = margin <= least
    if rare.any() and float(margin[rare].sum()) <= least:  # together still not seen: they go with the most frequent
        cells = np.cumsum(~rare) - 1
        return np.where(rare, cells[int(np.argmax(margin))], cells) if not rare.all() else np.zeros(len(rare), int)
    cells = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), cells)


def _residual(margin: Floats) -> Floats:
    """diag(p)^−½ (I − p1ᵀ): what is left of a table's rows once their share of the whole is taken out."""
    residual: Floats = (np.eye(len(margin)) - margin[:, None]) / np.sqrt(margin)[:, None]
    return residual


def _noncentrality(value: float, freedom: float, level: float) -> Interval:
    """All λ for which a noncentral χ² of so many degrees of freedom is as small, or as large, as `value`."""
    tail = (1.0 - level) / 2.0
    top = max(10.0, 4.0 * value + 40.0 * math.sqrt(value + freedom))
    ends = []
    for probability in (1.0 - tail, tail):  # the least λ leaves `value` in the upper tail, the greatest in the lower
        if _law(value, freedom, 0.0) <= probability:
            ends.append(0.0)
        else:
            ends.append(float(brentq(lambda x, p=probability: _law(value, freedom, x) - p, 0.0, top)))
    return ends[0], ends[1]


def _law(value: float, freedom: float, shift: float) -> float:
    """The distribution function of the noncentral χ²; normal where all is large."""
    if freedom + shift > _LARGE:
        return float(ndtr((value - freedom - shift) / math.sqrt(2.0 * (freedom + 2.0 * shift))))
    return float(chndtr(value, freedom, shift))
