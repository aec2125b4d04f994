"""The weight solver against scipy's, and its duality gap against what is really left to gain."""

import numpy as np
import pytest
import scipy
from scipy.optimize import minimize, nnls

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.features import Nystrom
from kernelease.fit import Constraint, FittedWeights, Free, L1Ball, Simplex, WeightSolver, weights as active_set
from kernelease.kernels import Gaussian

SHAPES = ((3, 5), (5, 3), (8, 8), (1, 4), (12, 1), (30, 20))


def _problem(seed: int, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    generator = np.random.default_rng([seed, *shape])
    design = generator.normal(size=shape) + generator.choice([0.0, 3.0])
    return design, generator.normal(size=shape[0])


def _nonnegative(design: Floats, target: Floats, total: float | None) -> float:
    """min ‖Aw − b‖² over w ≥ 0 (and Σw = total, by a heavy extra row), by active sets."""
    if total is not None:
        design = np.vstack([design, np.full((1, design.shape[1]), 1e5)])
        target = np.append(target, 1e5 * total)
    weights = nnls(design, target, maxiter=10_000)[0]
    residual = design @ weights - target
    return float(residual @ residual)


def _oracle(constraint: Constraint, design: Floats, target: Floats) -> float:
    match constraint:
        case Simplex():
            return _nonnegative(design, target, 1.0)
        case L1Ball(radius):  # w = p − n with p, n ≥ 0, and a slack variable
            signed = np.hstack([design, -design, np.zeros((len(design), 1))])
            return _nonnegative(signed, target, radius)
        case _:
            return float(np.linalg.norm(design @ np.linalg.lstsq(design, target)[0] - target) ** 2)


@pytest.mark.parametrize("constraint", [Simplex(), L1Ball(1.0), L1Ball(0.1), L1Ball(20.0), Free()], ids=repr)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_objective_is_the_least_there_is(constraint: Constraint, shape: tuple[int, int]) -> None:
    for seed in range(6):
        design, target = _problem(seed, shape)
        energy = float(target @ target)
        fitted = WeightSolver(constraint=constraint, iterations=20_000).solve(design, target)
        best = _oracle(constraint, design, target)
        assert fitted.converged
        assert fitted.objective == pytest.approx(
            np.linalg.norm(design @ fitted.weights - target) ** 2, abs=1e-9 * energy
        )
        assert fitted.objective <= best + 1e-6 * energy
        assert fitted.objective >= best - 1e-6 * energy
        assert constraint.project(fitted.weights) == pytest.approx(fitted.weights, abs=1e-9)


def test_objective_agrees_with_sequential_quadratic_programming() -> None:
    """A second oracle, which shares nothing with the first."""
    for seed in range(5):
        design, target = _problem(seed, (6, 4))
        best = minimize(
            lambda w, design=design, target=target: ((design @ w - target) ** 2).sum(),
            np.full(4, 0.25),
            method="SLSQP",
            bounds=[(0.0, 1.0)] * 4,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
            options={"ftol": 1e-14},
        )
        assert WeightSolver().solve(design, target).objective == pytest.approx(best.fun, abs=1e-6)


def _by_gradient(solver: WeightSolver, design: Floats, target: Floats) -> FittedWeights:
    return solver.solve_quadratic(design.T @ design, design.T @ target, float(target @ target))


@pytest.mark.parametrize("constraint", [Simplex(), L1Ball(1.0)], ids=repr)
@pytest.mark.parametrize("iterations", [1, 20, 40, 400])
def test_the_gap_bounds_what_could_be_gained(constraint: Constraint, iterations: int) -> None:
    """Also for weights that are far from the best: the bound is proved, not hoped for."""
    for seed in range(10):
        design, target = _problem(seed, (10, 15))
        solver = WeightSolver(constraint=constraint, iterations=iterations, tolerance=1e-14)
        fitted = _by_gradient(solver, design, target)
        best = _oracle(constraint, design, target)
        assert fitted.objective - best <= fitted.gap + 1e-6
        assert fitted.iterations <= iterations
        assert fitted.gap >= -1e-12


def test_converged_is_only_claimed_with_a_small_gap() -> None:
    design, target = _problem(0, (30, 20))
    few = _by_gradient(WeightSolver(iterations=2, tolerance=1e-12), design, target)
    assert not few.converged
    assert few.gap > 1e-12 * target @ target
    enough = _by_gradient(WeightSolver(iterations=5000, tolerance=1e-6), design, target)
    assert enough.converged
    assert enough.gap <= 1e-6 * target @ target
    assert enough.iterations < 5000


def test_active_sets_that_give_up_leave_it_to_gradient_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    def give_up(*_: object, **__: object) -> None:
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr(scipy.optimize, "nnls", give_up)
    design, target = _problem(1, (30, 20))
    assert active_set.nearest_in_hull(design, target) is None
    fitted = WeightSolver().solve(design, target)
    assert fitted.converged
    assert fitted.objective == pytest.approx(_oracle(Simplex(), design, target), rel=1e-6)
    assert fitted.iterations > 0


@pytest.mark.parametrize("constraint", [Simplex(), L1Ball(2.0), Free()], ids=repr)
def test_quadratic_form_gives_the_same_weights(constraint: Constraint) -> None:
    design, target = _problem(3, (30, 8))
    solver = WeightSolver(constraint=constraint)
    direct = solver.solve(design, target)
    quadratic = solver.solve_quadratic(design.T @ design, design.T @ target, float(target @ target))
    assert quadratic.converged
    assert quadratic.weights == pytest.approx(direct.weights, abs=1e-5)
    assert quadratic.objective == pytest.approx(direct.objective, abs=1e-9)


def test_a_good_start_is_used() -> None:
    design, target = _problem(5, (40, 30))
    cold = _by_gradient(WeightSolver(), design, target)
    warm = WeightSolver().solve(design, target, start=cold.weights)
    assert warm.iterations == 0 < cold.iterations
    assert warm.objective == pytest.approx(cold.objective, abs=1e-9)


def test_hardly_distinguishable_columns() -> None:
    """Points so close that their Gram matrix is singular to the last digit, as in real problems."""
    points = np.linspace(0.0, 1.0, 80)[:, None]
    coordinates = Nystrom.spanning(Gaussian(lengthscale=1.0), points).evaluate(points).T
    target = coordinates @ np.random.default_rng(0).dirichlet(np.ones(80))
    for noise in (0.0, 1e-6, 0.01):
        noisy = target + noise * np.random.default_rng(1).normal(size=len(target))
        fitted = WeightSolver().solve(coordinates, noisy)
        assert fitted.objective <= _oracle(Simplex(), coordinates, noisy) + 1e-8
        assert fitted.converged


@pytest.mark.parametrize("constraint", [Simplex(), L1Ball(1.0), Free()], ids=repr)
def test_zero_columns_and_a_zero_target_have_defined_results(constraint: Constraint) -> None:
    nothing = WeightSolver(constraint=constraint).solve(np.zeros((3, 2)), np.array([1.0, 2.0, 3.0]))
    assert nothing.objective == pytest.approx(14.0)
    silent = WeightSolver(constraint=constraint).solve(np.eye(3), np.zeros(3))
    assert np.isfinite(silent.weights).all()
    assert silent.objective <= 1.0 / 3.0 + 1e-9


@pytest.mark.parametrize(("iterations", "tolerance"), [(0, 1e-3), (-1, 1e-3), (5, 0.0), (5, 1.0), (5, float("nan"))])
def test_refusals(iterations: int, tolerance: float) -> None:
    with pytest.raises(ParameterError, match="iterations must be at least 1 and tolerance between 0 and 1"):
        WeightSolver(iterations=iterations, tolerance=tolerance)
