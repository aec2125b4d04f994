"""Algorithm 1, end to end: without noise it is the projection, with noise it is Hall et al.'s mechanism."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from kernelease.arrays import Floats, Rows
from kernelease.errors import CapacityError, ParameterError
from kernelease.exact.rows import PrivateArray
from kernelease.features import Nystrom
from kernelease.features.nystrom import Order
from kernelease.fit import (
    Constraint,
    Free,
    L1Ball,
    NormalPoints,
    Outcome,
    PublicPoints,
    Shrinkage,
    Simplex,
    SyntheticSet,
    UniformPoints,
)
from kernelease.fit.solver import PublishedRows
from kernelease.kernels import Gaussian, Kernel, Kronecker, OnColumns, Product, Spectrum
from kernelease.methods import RandomFeatures, Subspace
from kernelease.noises import SeededNoise
from kernelease.privacy import Calibration, Neighbours, Privacy
from kernelease.seeds import PublicSeed
from tests.methods.stand_ins import KERNEL, STRONG, context, entries, kernel_distance

pytestmark = pytest.mark.slow

GENERATOR = np.random.default_rng(2)
ROWS = GENERATOR.normal(size=(300, 2))
POINTS = GENERATOR.normal(size=(40, 2)) * 1.5
FEW = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [-1.0, 0.5], [1.5, 1.5], [-1.0, -1.5]])
PEOPLE = np.array([[20 + i % 50, ("f", "m")[i % 2], ("Ada", "Bob", "Eve")[i % 3]] for i in range(120)], dtype=object)
PERSON = Product(
    kernels=(
        OnColumns(kernel=Gaussian(lengthscale=10.0), columns=(0,)),
        OnColumns(kernel=Kronecker(values=("f", "m")), columns=(1,)),
        OnColumns(kernel=Spectrum(n=2), columns=(2,)),
    )
)
ADD_REMOVE = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)


def _projection(kernel: Kernel, points: Rows, rows: Rows) -> Floats:
    """Weights of the function nearest to the mean embedding in the span of k(z, ·), by least squares."""
    means = kernel.gram(rows, points).mean(axis=0)
    weights: Floats = np.linalg.solve(kernel.gram(points, points), means)
    return weights


# Without noise


@pytest.mark.parametrize(
    ("kernel", "points", "rows"),
    [
        (KERNEL, FEW, ROWS),
        (PERSON, PEOPLE[:6], PEOPLE),
        (Kronecker(values=("f", "m")), PEOPLE[:2, 1:2], PEOPLE[:, 1:2]),
    ],
    ids=["numbers", "people", "categories"],
)
def test_without_noise_the_weights_are_those_of_the_projection(kernel: Kernel, points: Rows, rows: Rows) -> None:
    setting = context(kernel=kernel)
    method = Subspace(points=PublicPoints(points), tolerance=1e-4)
    solution = method.fit(method.measure(PrivateArray(rows), setting), setting.seed)
    found = dict(zip(map(tuple, solution.synthetic.points), solution.synthetic.weights, strict=True))
    expected = dict(zip(map(tuple, points), _projection(kernel, points, rows), strict=True))
    assert found == pytest.approx(expected, abs=1e-5)
    assert solution.outcome is Outcome.EXACT
    assert solution.distance == pytest.approx(0.0, abs=1e-7)


def test_without_noise_the_coordinates_are_the_exact_integers() -> None:
    setting = context()
    measured = Subspace(points=PublicPoints(POINTS)).measure(PrivateArray(ROWS), setting)
    phi = measured.embedding.feature_map
    exact = phi.project(phi.total(ROWS).astype(object))
    assert measured.embedding.sum.tolist() == [int(value) * phi.step for value in exact]


def test_published_rows_of_the_whole_table_reproduce_its_mean() -> None:
    setting = context()
    rows = ROWS[:20]
    method = Subspace(points=PublishedRows(20), tolerance=1e-9)
    solution = method.fit(method.measure(PrivateArray(rows), setting), setting.seed)
    assert kernel_distance(KERNEL, solution.synthetic, rows) < 1e-3


# With noise


def _noise_of(method: Subspace, seeds: int, **parameters: Any) -> tuple[Floats, float]:
    """Noise in each coordinate of repeated measurements, (seeds, F), and the σ that they claim."""
    exact = method.measure(PrivateArray(ROWS), context(**parameters)).embedding
    assert exact is not None
    noises = []
    for seed in range(seeds):
        noisy = method.measure(PrivateArray(ROWS), context(noise=SeededNoise(seed), **parameters)).embedding
        assert noisy is not None
        noises.append(noisy.mean - exact.mean)
    return np.array(noises), noisy.sigma


@pytest.mark.statistical
def test_the_error_is_the_root_of_the_rank_times_sigma() -> None:
    """‖noise‖²/σ² is chi-square with F degrees of freedom a draw. Two-sided, false alarm 1e-6."""
    noises, sigma = _noise_of(Subspace(points=PublicPoints(POINTS)), seeds=60)
    statistic = (noises**2).sum() / sigma**2
    assert 5e-7 < chi2.cdf(statistic, noises.size) < 1.0 - 5e-7
    noisy = Subspace(points=PublicPoints(POINTS)).measure(PrivateArray(ROWS), context()).embedding
    assert noisy is not None
    assert noisy.noise_floor == pytest.approx(math.sqrt(noises.shape[1]) * sigma)
    assert sigma == pytest.approx(noisy.feature_map.diameter / (300 * 0.23668), rel=1e-3)  # μ of (1, 1e-6)


# Constraints


def _best(constraint: Constraint, features: Floats, target: Floats) -> float:
    """The least distance that allowed weights reach, by sequential quadratic programming on p − n, p and n ≥ 0."""
    count = len(features)
    total = 1.0 if isinstance(constraint, Simplex) else constraint.radius

    def distance(parts: Floats) -> float:
        return float((((parts[:count] - parts[count:]) @ features - target) ** 2).sum())

    result = minimize(
        distance,
        np.concatenate([np.full(count, total / count), np.zeros(count)]),
        method="SLSQP",
        bounds=[(0.0, None)] * count + [(0.0, 0.0 if isinstance(constraint, Simplex) else None)] * count,
        constraints={"type": "eq" if isinstance(constraint, Simplex) else "ineq", "fun": lambda w: total - w.sum()},
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    return math.sqrt(result.fun)


@pytest.mark.parametrize("constraint", [L1Ball(1.0), L1Ball(0.5), L1Ball(3.0), Simplex()], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_constrained_weights_are_the_best_there_are(constraint: Constraint, seed: int) -> None:
    """The appendix's version of line 8. A small table, so that the noise is large and the constraint is felt."""
    setting = context(noise=SeededNoise(seed))
    method = Subspace(points=PublicPoints(FEW), tolerance=1e-4, constraint=constraint)
    measured = method.measure(PrivateArray(ROWS[:25]), setting)
    solution = method.fit(measured, setting.seed)
    features = measured.embedding.feature_map.evaluate(FEW)
    assert solution.synthetic.points.tolist() == FEW.tolist()
    assert solution.distance == pytest.approx(_best(constraint, features, measured.embedding.mean), abs=1e-6)
    assert solution.outcome is Outcome.OPTIMAL
    weights = solution.synthetic.weights
    if isinstance(constraint, L1Ball):
        assert np.abs(weights).sum() <= constraint.radius * (1 + 1e-9)
    else:
        assert weights.sum() == pytest.approx(1.0)
        assert weights.min() >= 0.0


def test_a_wide_ball_is_no_constraint() -> None:
    setting = context(noise=SeededNoise(1))
    free, wide = (Subspace(points=PublicPoints(FEW), tolerance=1e-4, constraint=c) for c in (Free(), L1Ball(1e6)))
    measured = free.measure(PrivateArray(ROWS), setting)
    exact, bounded = free.fit(measured, setting.seed), wide.fit(measured, setting.seed)
    assert bounded.distance < 1e-6
    assert bounded.synthetic.embedding(measured.embedding.feature_map) == pytest.approx(
        exact.synthetic.embedding(measured.embedding.feature_map),
        abs=1e-6,
    )


@pytest.mark.statistical
def test_the_simplex_removes_noise() -> None:
    """Mean squared distance to the truth over 20 seeds; the simplex is far ahead each time in practice."""
    errors: dict[str, list[float]] = {"free": [], "simplex": []}
    for seed in range(20):
        setting = context(noise=SeededNoise(seed))
        measured = Subspace(points=PublicPoints(POINTS)).measure(PrivateArray(ROWS), setting)
        for name, constraint in (("free", Free()), ("simplex", Simplex())):
            fitted = Subspace(points=PublicPoints(POINTS), constraint=constraint).fit(measured, setting.seed)
            errors[name].append(kernel_distance(KERNEL, fitted.synthetic, ROWS) ** 2)
    assert np.mean(errors["simplex"]) < 0.6 * np.mean(errors["free"])


@pytest.mark.parametrize("constraint", [Free(), Simplex()], ids=repr)
def test_the_distance_is_to_the_noisy_embedding_after_shrinkage_too(constraint: Constraint) -> None:
    setting = context(noise=SeededNoise(3))
    guess = SyntheticSet(points=FEW[:2], weights=np.array([0.5, 0.5]))
    method = Subspace(points=PublicPoints(POINTS), constraint=constraint, estimator=Shrinkage(guess))
    measured = method.measure(PrivateArray(ROWS[:40]), setting)
    solution = method.fit(measured, setting.seed)
    found = solution.synthetic.distance(measured.embedding.feature_map, measured.embedding.mean)
    assert solution.distance == pytest.approx(found, abs=1e-9)
    assert found > 1e-3


# Published rows


def test_published_rows_are_the_first_of_the_table_and_counted() -> None:
    setting = context()
    measured = Subspace(points=PublishedRows(30), tolerance=1e-5, order=Order.GIVEN).measure(
        PrivateArray(ROWS), setting
    )
    assert measured.published_rows == 30
    assert measured.candidates.tolist() == ROWS[:30].tolist()
    assert str(measured.choices[0]) == "points = 30: the published rows"
    assert measured.embedding.rows == 300.0  # N counts them too


@pytest.mark.parametrize(
    ("count", "privacy", "message"),
    [(301, STRONG, "count is 301, but the table has 300 rows"), (5, ADD_REMOVE, "needs replace-one neighbours")],
)
def test_published_rows_that_can_not_be_are_refused(count: int, privacy: Privacy, message: str) -> None:
    setting = context(privacy=privacy)
    with pytest.raises(ParameterError, match=message):
        Subspace(points=PublishedRows(count)).measure(PrivateArray(ROWS), setting)
    assert entries(setting) == 0


# How many points and coordinates, and why


def _choices(method: Subspace, rows: Rows = ROWS, **parameters: Any) -> list[str]:
    return [str(choice) for choice in method.measure(PrivateArray(rows), context(**parameters)).choices]


def test_choices_say_which_limit_was_active() -> None:
    normal = NormalPoints(dimension=2, scale=2.0)
    few = ROWS[:20]
    assert _choices(Subspace(points=normal, count=30, rank=4)) == ["points = 30: as given", "rank = 4: as given"]
    assert (
        _choices(Subspace(points=normal), few)[0]
        == f"points = {2 * math.ceil(20 ** (2 - 4 / 6.01) / 2)}: the theorem's rule"
    )
    assert _choices(Subspace(points=PublicPoints(POINTS)))[0] == "points = 40: all that the source has"
    assert _choices(Subspace(points=PublicPoints(POINTS), tolerance=1e-2))[1].endswith(
        "the tolerance and the rank given"
    )
    loud = Privacy(epsilon=0.01, delta=1e-6)
    assert "noise-optimal" in _choices(Subspace(points=PublicPoints(POINTS)), privacy=loud)[1]
    quiet = Privacy(epsilon=8.0, delta=1e-6)
    assert _choices(Subspace(points=PublicPoints(FEW)), np.tile(ROWS, (50, 1)), privacy=quiet)[1] == (
        "rank = 6: all well-conditioned directions"
    )


def test_a_rank_beyond_conditioning_is_cut_and_said_so() -> None:
    line = PublicPoints(np.linspace(0.0, 1.0, 60)[:, None])
    measured = Subspace(points=line, rank=50).measure(PrivateArray(ROWS[:, :1]), context())
    phi = measured.embedding.feature_map
    assert phi.dimension < 15
    assert phi.diameter < math.sqrt(2.0) * 1.001
    assert str(measured.choices[1]) == f"rank = {phi.dimension}: all well-conditioned directions, below 50"


def test_the_noise_optimal_rank_has_the_least_expected_error() -> None:
    """Rank F costs F·σ² of noise; the public points stand in for the rows."""
    setting = context(privacy=Privacy(epsilon=0.05, delta=1e-6))
    best = Subspace(points=PublicPoints(POINTS)).measure(PrivateArray(POINTS), setting).embedding
    assert best is not None
    errors = {}
    for rank in range(1, 41):
        phi = Nystrom.spanning(KERNEL, POINTS, tolerance=1e-9, max_rank=rank)
        missing = 1.0 - (phi.evaluate(POINTS) ** 2).sum(axis=1).mean()
        errors[rank] = rank * best.sigma**2 + missing
    assert errors[best.feature_map.dimension] <= min(errors.values()) * (1 + 1e-6)


def test_a_small_delta_is_enough_where_few_numbers_are_noisy() -> None:
    setting = context(privacy=Privacy(epsilon=1.0, delta=1e-18))
    assert Subspace(points=PublicPoints(FEW)).measure(PrivateArray(ROWS), setting).embedding is not None


def test_points_are_drawn_from_the_public_seed_alone() -> None:
    method = Subspace(points=UniformPoints(low=(-3.0, -3.0), high=(3.0, 3.0)), count=20)
    first, second, other = (
        method.measure(PrivateArray(rows), context(seed=seed)).candidates
        for rows, seed in ((ROWS, 5), (ROWS + 1.0, 5), (ROWS, 6))
    )
    assert (first == second).all()
    assert (first != other).any()


def test_the_paper_s_numbers_of_noise() -> None:
    """Line 7 of Algorithm 1: σ = √(8 ln(1.25/δ))/(Nε), with the lemma's Δ = 2/N."""
    privacy = Privacy(epsilon=1.0, delta=1e-6, calibration=Calibration.CLASSIC)
    method = Subspace(points=PublicPoints(FEW), tolerance=1e-5, order=Order.GIVEN, lemma=True)
    noisy = method.measure(PrivateArray(ROWS), context(privacy=privacy)).embedding
    assert noisy is not None
    assert noisy.sigma == pytest.approx(math.sqrt(8.0 * math.log(1.25e6)) / 300.0, rel=1e-5)


# Refusals


@pytest.mark.parametrize("number", [0, -1, 2.5, math.nan, True])
def test_numbers_are_positive_integers(number: int) -> None:
    for name in ("count", "rank"):
        with pytest.raises(ParameterError, match=f"Subspace: {name} must be an integer from 1"):
            Subspace(points=PublicPoints(FEW), **{name: number})
    with pytest.raises(ParameterError, match="PublishedRows: count must be an integer from 1"):
        PublishedRows(number)


def test_the_order_as_given_needs_a_tolerance() -> None:
    with pytest.raises(ParameterError, match="needs a tolerance"):
        Subspace(points=PublicPoints(FEW), order=Order.GIVEN)


@pytest.mark.parametrize("privacy", [STRONG, ADD_REMOVE], ids=["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", [np.zeros((5, 3)), np.zeros((0, 3))], ids=["some rows", "no rows"])
def test_other_columns_are_refused_whether_or_not_there_are_rows(privacy: Privacy, rows: Rows) -> None:
    setting = context(privacy=privacy)
    with pytest.raises(ParameterError, match="the table has 3 columns, but the public points have 2"):
        Subspace(points=PublicPoints(FEW)).measure(PrivateArray(rows), setting)
    assert entries(setting) == 0


def test_more_points_than_memory_are_refused() -> None:
    setting = context()
    with pytest.raises(CapacityError, match=r"Subspace: 10,000,000,000,000 points would need"):
        Subspace(points=NormalPoints(dimension=2), count=10**13).measure(PrivateArray(ROWS), setting)
    with pytest.raises(CapacityError, match=r"Subspace: 400,000 points at rank 4,096 would need"):
        Subspace(points=NormalPoints(dimension=2), count=400_000).measure(PrivateArray(ROWS), setting)
    assert entries(setting) == 0


def test_only_its_own_measurements_can_be_fitted() -> None:
    setting = context()
    other = RandomFeatures(start=NormalPoints(dimension=2), features=10).measure(PrivateArray(ROWS), setting)
    with pytest.raises(ParameterError, match="can only fit what Subspace has measured"):
        Subspace(points=PublicPoints(FEW)).fit(other, setting.seed)


def test_fitting_again_costs_nothing() -> None:
    setting = context(noise=SeededNoise(0))
    method = Subspace(points=PublicPoints(POINTS))
    measured = method.measure(PrivateArray(ROWS), setting)
    for constraint in (Free(), Simplex(), L1Ball(2.0)):
        Subspace(points=PublicPoints(POINTS), constraint=constraint).fit(measured, setting.seed)
    assert entries(setting) == 1
    assert PublicSeed(0) == setting.seed
