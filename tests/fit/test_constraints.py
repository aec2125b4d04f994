"""Projections: idempotent, feasible, and the nearest point there is."""

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.fit import Constraint, Free, L1Ball, Simplex

CONSTRAINTS = (Free(), Simplex(), L1Ball(1.0), L1Ball(3.0), L1Ball(1e-18), L1Ball(1e6))
EVERY_CONSTRAINT = pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
ANY_WEIGHTS = arrays(np.float64, st.integers(1, 9), elements=st.floats(-1e200, 1e200))
WEIGHTS = arrays(np.float64, st.integers(1, 9), elements=st.floats(-10.0, 10.0))


def _outside(constraint: Constraint, weights: Floats) -> float:
    """How far weights are from being allowed, relative to the set's own size."""
    match constraint:
        case Simplex():
            return max(abs(weights.sum() - 1.0), -weights.min())
        case L1Ball(radius):
            return float(np.abs(weights).sum() / radius - 1.0)
        case _:
            return 0.0


@pytest.mark.slow
@EVERY_CONSTRAINT
@given(weights=ANY_WEIGHTS)
def test_projection_is_feasible_and_idempotent(constraint: Constraint, weights: Floats) -> None:
    once = constraint.project(weights)
    assert once.shape == weights.shape
    assert _outside(constraint, once) <= 1e-12
    assert constraint.project(once) == pytest.approx(once, rel=1e-9, abs=1e-12)


@pytest.mark.slow
@EVERY_CONSTRAINT
@given(weights=WEIGHTS, data=st.data())
def test_no_allowed_point_is_nearer(constraint: Constraint, weights: Floats, data: st.DataObject) -> None:
    """The variational inequality ⟨w − p, v − p⟩ ≤ 0 for allowed v: every vertex, and allowed points at random."""
    nearest = constraint.project(weights)
    offset = weights - nearest
    assert offset @ nearest >= -constraint.lowest(-offset) - 1e-9 * (1.0 + abs(offset).max())
    other = constraint.project(data.draw(arrays(np.float64, len(weights), elements=st.floats(-10.0, 10.0))))
    assert np.linalg.norm(offset) <= np.linalg.norm(weights - other) + 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("constraint", [Simplex(), L1Ball(1.0), L1Ball(2.5)], ids=repr)
def test_projection_agrees_with_a_quadratic_program(constraint: Constraint, seed: int) -> None:
    weights = np.random.default_rng(seed).normal(size=5) * 2.0
    if isinstance(constraint, Simplex):
        signs, total, equal = np.ones((5, 1)).T, 1.0, True
    else:
        signs, total, equal = np.array(np.meshgrid(*[[-1.0, 1.0]] * 5)).reshape(5, -1).T, constraint.radius, False
    best = minimize(
        lambda w: ((w - weights) ** 2).sum(),
        np.full(5, 0.2),
        method="SLSQP",
        bounds=[(0.0, None)] * 5 if equal else None,
        constraints={"type": "eq" if equal else "ineq", "fun": lambda w: total - signs @ w},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert constraint.project(weights) == pytest.approx(best.x, abs=1e-6)


def test_ties_are_shared() -> None:
    assert Simplex().project(np.full(4, 1e300)).tolist() == [0.25] * 4
    assert L1Ball(1.0).project(np.array([5.0, -5.0])).tolist() == [0.5, -0.5]


@EVERY_CONSTRAINT
@pytest.mark.parametrize("count", [1, 3])
def test_start_is_allowed(constraint: Constraint, count: int) -> None:
    start = constraint.start(count)
    assert start.shape == (count,)
    assert _outside(constraint, start) <= 1e-12


@given(gradient=WEIGHTS)
def test_lowest_is_reached_at_a_vertex(gradient: Floats) -> None:
    vertices = np.eye(len(gradient))
    assert Simplex().lowest(gradient) == (vertices @ gradient).min()
    assert L1Ball(2.0).lowest(gradient) == -2.0 * np.abs(gradient).max()
    assert Free().lowest(gradient) == (-math.inf if gradient.any() else 0.0)


@EVERY_CONSTRAINT
def test_signed_says_whether_weights_may_be_negative(constraint: Constraint) -> None:
    assert constraint.signed == bool(constraint.project(np.array([-1.0, 0.0])).min() < 0.0)


@pytest.mark.parametrize("radius", [0.0, -1.0, math.inf, math.nan])
def test_radius_must_be_positive_and_finite(radius: float) -> None:
    with pytest.raises(ParameterError, match="radius must be positive and finite"):
        L1Ball(radius)


@pytest.mark.parametrize("constraint", [Simplex(), L1Ball(1.0), L1Ball(2.5)], ids=repr)
def test_mixtures_of_corners_are_the_allowed_weights(constraint: Constraint) -> None:
    generator = np.random.default_rng(0)
    design = generator.normal(size=(4, 3))
    corners = constraint.corners(design)
    assert corners is not None
    for _ in range(20):
        shares = generator.dirichlet(np.ones(corners.shape[1]))
        weights = constraint.mixture(shares)
        assert _outside(constraint, weights) <= 1e-12
        assert design @ weights == pytest.approx(corners @ shares, abs=1e-12)
    assert Free().corners(design) is None
