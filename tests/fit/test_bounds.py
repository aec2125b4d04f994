"""Means and variances of a mixture's numbers within bounds, with as little change as that takes."""

import numpy as np
import pytest

from kernelease.arrays import Floats
from kernelease.fit.mixtures.mixture import Bounds, Mixture, keep_within
from kernelease.fit.solver import Outcome

NUMBERS = np.array([0.0, 1.0, 2.0, 5.0, 20.0, np.nan])


def _mixture() -> Mixture:
    generator = np.random.default_rng(4)
    columns = tuple(generator.dirichlet(np.ones(size), 7) for size in (len(NUMBERS), 3))
    return Mixture(
        weights=generator.dirichlet(np.ones(7)), columns=columns, chi_squared=1.0, outcome=Outcome.NOISE_FLOOR
    )


def _moments(mixture: Mixture) -> tuple[float, float]:
    known = ~np.isnan(NUMBERS)
    margin = mixture.marginal(0)[known] / mixture.marginal(0)[known].sum()
    mean = float(margin @ NUMBERS[known])
    return mean, float(margin @ (NUMBERS[known] - mean) ** 2)


def _bounds(mean: tuple[float, float], variance: tuple[float, float], within: Floats | None = None) -> Bounds:
    return Bounds(
        column=0,
        numbers=NUMBERS,
        within=np.zeros(len(NUMBERS)) if within is None else within,
        mean=mean,
        variance=variance,
    )


def test_numbers_within_their_bounds_stay_as_they_are() -> None:
    mixture = _mixture()
    same = keep_within(mixture, [_bounds((0.0, 20.0), (0.0, 400.0))])
    assert all(np.array_equal(one, other) for one, other in zip(mixture.columns, same.columns, strict=True))


@pytest.mark.parametrize(
    ("mean", "variance"),
    [((2.0, 2.5), (20.0, 25.0)), ((8.0, 9.0), (60.0, 65.0)), ((8.0, 9.0), (0.0, 400.0)), ((0.0, 20.0), (22.0, 25.0))],
)
def test_numbers_beyond_them_move_to_the_nearest_end(mean: tuple[float, float], variance: tuple[float, float]) -> None:
    """One of both at least: where that brings the other within its bounds, it is left there."""
    before = _mixture()
    after = keep_within(before, [_bounds(mean, variance)])
    at_the_end = []
    for value, now, ends in zip(_moments(after), _moments(before), (mean, variance), strict=True):
        assert ends[0] * 0.99 <= value <= ends[1] * 1.01
        if not ends[0] <= now <= ends[1]:
            at_the_end.append(value == pytest.approx(np.clip(now, *ends), rel=0.01))
    assert any(at_the_end) or not at_the_end
    assert np.allclose(after.columns[0].sum(axis=1), 1.0)
    assert np.allclose(after.columns[0][:, -1], before.columns[0][:, -1])  # as many without a number
    assert np.array_equal(after.columns[1], before.columns[1])


def test_every_component_is_moved_by_the_same_ratios() -> None:
    before = _mixture()
    after = keep_within(before, [_bounds((8.0, 9.0), (60.0, 65.0))])
    ratios = after.columns[0][:, :5] / before.columns[0][:, :5]
    assert np.allclose(ratios / ratios[:, :1], (ratios / ratios[:, :1])[0])


def test_variance_within_atoms_counts() -> None:
    within = np.full(len(NUMBERS), 3.0)
    after = keep_within(_mixture(), [_bounds((8.0, 9.0), (60.0, 65.0), within)])
    assert 57.0 * 0.99 < _moments(after)[1] < 62.0 * 1.01


def test_a_mean_is_met_where_no_distribution_has_both() -> None:
    mean, variance = _moments(keep_within(_mixture(), [_bounds((8.0, 9.0), (1.0, 2.0))]))
    assert mean == pytest.approx(np.clip(_moments(_mixture())[0], 8.0, 9.0), abs=0.02)
    assert variance > 36.0


def test_a_mean_that_no_distribution_has_is_left_alone() -> None:
    mixture = _mixture()
    same = keep_within(mixture, [_bounds((20.5, 21.0), (0.0, 400.0))])
    assert np.array_equal(same.columns[0], mixture.columns[0])
