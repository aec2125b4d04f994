"""The way that each cell of a column is summed: never longer than the same way for all of them."""

import math

import numpy as np
from hypothesis import given, settings, strategies as st

from kernelease.estimate.marginal import MOST, MeasuredMarginal, Way, best_ways
from kernelease.measured.views import NoisySums

FINE, CELLS = 24, np.arange(24) // 4
NUMBERS = np.arange(24.0)


def marginal(counts: np.ndarray, sigma: float, coarse: float | None = None) -> MeasuredMarginal:
    """Counts of fine cells, with noise of `sigma`; and those of cells, where they have some of their own."""
    views = [NoisySums(index=np.arange(FINE), values=counts, precision=np.full(FINE, 1.0 / sigma**2))]
    if coarse is not None:
        views.append(NoisySums(index=CELLS, values=np.bincount(CELLS, counts), precision=np.full(6, 1.0 / coarse**2)))
    return MeasuredMarginal((0,), (np.arange(FINE),), tuple(views), None, ())


def ways(offset_noise: float) -> list[Way]:
    middle, nothing = (NUMBERS.reshape(-1, 4).mean(axis=1))[CELLS], np.zeros(6)
    return [
        Way(values=middle, slack=np.full(FINE, 2.0), variances=nothing),
        Way(values=middle, slack=np.zeros(FINE), variances=np.full(6, offset_noise**2)),
        Way(values=NUMBERS, slack=np.full(FINE, 0.5), variances=nothing),
    ]


def length(told: MeasuredMarginal, options: list[Way], chosen: np.ndarray) -> float:
    """Half the 95 % interval that a choice leads to, counts of fine cells being independent."""
    here = chosen[CELLS], np.arange(FINE)
    values, slack = (np.array([getattr(way, part) for way in options])[here] for part in ("values", "slack"))
    variance = float(told.joint([values])[1][0, 0])
    variance += float(np.array([way.variances for way in options])[chosen, np.arange(6)].sum())
    rows = np.maximum(np.bincount(CELLS, told.counts), 0.0) + MOST * math.sqrt(4.0 * told.variances()[0])
    return 1.96 * math.sqrt(variance) + float(rows @ slack[::4])


@given(
    rows=st.lists(st.floats(0.0, 1000.0), min_size=FINE, max_size=FINE),
    sigma=st.floats(0.1, 100.0),
    noise=st.floats(0.1, 1000.0),
)
@settings(deadline=None)
def test_no_single_way_is_shorter(rows: list[float], sigma: float, noise: float) -> None:
    told, options = marginal(np.array(rows), sigma), ways(noise)
    found = length(told, options, best_ways(told, CELLS, options))
    assert found <= 1.001 * length(told, options, np.zeros(6, dtype=np.int64)) + 1e-9


def test_full_cells_are_summed_finely_and_empty_ones_are_not() -> None:
    counts = np.where(CELLS < 3, 10_000.0, 0.0)
    assert best_ways(marginal(counts, 50.0, 1.0), CELLS, ways(1e9)).tolist() == [2, 2, 2, 0, 0, 0]
    assert best_ways(marginal(counts, 50.0, 1.0), CELLS, ways(100.0)).tolist() == [1, 1, 1, 0, 0, 0]
