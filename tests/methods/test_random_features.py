"""Algorithm 2, end to end: points and weights recover a mixture, and the fit stops where the noise begins."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from kernelease.errors import CapacityError, ParameterError
from kernelease.exact.rows import PrivateArray
from kernelease.features import Fourier, OneHot, RandomBinning
from kernelease.fit import (
    Constraint,
    EmpiricalMean,
    Estimator,
    FixedPoints,
    GreedyPreimages,
    L1Ball,
    NormalPoints,
    Outcome,
    PointSolver,
    PublicPoints,
    Shrinkage,
    Simplex,
    SyntheticSet,
    UniformPoints,
)
from kernelease.kernels import Gaussian, Kernel, Kronecker, Laplace, Matern52, Product
from kernelease.measured import NoisyEmbeddings
from kernelease.methods import RandomFeatures, SmallDatabase
from kernelease.noises import SeededNoise
from kernelease.privacy import Neighbours, Privacy
from kernelease.seeds import PublicSeed
from tests.fit.embeddings import mixture
from tests.methods.stand_ins import KERNEL, STRONG, context, entries, kernel_distance

ROWS = mixture(3000)
START = UniformPoints(low=(-6.0, -6.0), high=(6.0, 6.0))


def _measured(method: RandomFeatures, **parameters: Any) -> NoisyEmbeddings:
    return method.measure(PrivateArray(ROWS), context(**parameters))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "constraint"),
    [
        (GreedyPreimages(points=80), L1Ball(1.0)),
        (GreedyPreimages(points=80, constraint=Simplex()), Simplex()),
        (FixedPoints(points=300), Simplex()),
    ],
    ids=["greedy", "greedy on the simplex", "fixed points"],
)
@pytest.mark.parametrize("orthogonal", [False, True])
def test_a_mixture_is_recovered(solver: PointSolver, constraint: Constraint, orthogonal: bool) -> None:
    """The distance to the private rows, in the kernel's own space, is a small part of what doing nothing leaves."""
    setting = context(noise=SeededNoise(0))
    method = RandomFeatures(start=START, features=400, solver=solver, orthogonal=orthogonal)
    measured = method.measure(PrivateArray(ROWS), setting)
    solution = method.fit(measured, setting.seed)
    nothing = math.sqrt(KERNEL.gram(ROWS, ROWS).mean())
    blind = START.draw(300, np.random.default_rng(0))
    guess = kernel_distance(KERNEL, SyntheticSet(points=blind, weights=np.full(300, 1 / 300)), ROWS)
    error = kernel_distance(KERNEL, solution.synthetic, ROWS)
    assert error < 0.15 * min(nothing, guess)
    assert solution.outcome in (Outcome.NOISE_FLOOR, Outcome.OPTIMAL)
    if solution.outcome is Outcome.NOISE_FLOOR:
        assert solution.distance <= solution.noise_floor == measured.embedding.noise_floor
    weights = solution.synthetic.weights
    assert constraint.project(weights) == pytest.approx(weights, abs=1e-9)


def test_more_budget_is_closer() -> None:
    errors = []
    for epsilon in (0.01, 0.1, 1.0):
        setting = context(privacy=Privacy(epsilon=epsilon, delta=1e-6), noise=SeededNoise(1))
        method = RandomFeatures(start=START, features=200, solver=FixedPoints(points=200))
        errors.append(
            kernel_distance(
                KERNEL, method.fit(method.measure(PrivateArray(ROWS), setting), setting.seed).synthetic, ROWS
            )
        )
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]


def test_without_noise_the_embedding_is_the_mean_of_the_features() -> None:
    measured = _measured(RandomFeatures(start=START, features=100))
    expected = measured.embedding.feature_map.evaluate(ROWS).mean(axis=0)
    assert measured.embedding.mean == pytest.approx(expected, abs=1e-4)


@pytest.mark.statistical
def test_the_noise_is_what_it_claims() -> None:
    """‖noise‖²/σ² is chi-square with J degrees of freedom. Two-sided, false alarm 1e-6."""
    method = RandomFeatures(start=START, features=500)
    exact, noisy = (_measured(method, noise=noise).embedding for noise in (None, SeededNoise(0)))
    assert exact is not None
    assert noisy is not None
    statistic = float(((noisy.mean - exact.mean) ** 2).sum()) / noisy.sigma**2
    assert 5e-7 < chi2.cdf(statistic, 500) < 1.0 - 5e-7
    assert noisy.sigma == pytest.approx(2.0 / (3000 * 0.23668), rel=1e-3)  # Δ = 2/N, μ of (1, 1e-6)


@pytest.mark.slow
def test_estimators_act_after_the_noise() -> None:
    """One measurement, several fits: a good guess helps where the noise is large."""
    setting = context(privacy=Privacy(epsilon=0.02, delta=1e-6), noise=SeededNoise(2))
    guess = SyntheticSet(points=mixture(50, seed=9), weights=np.full(50, 0.02))
    measured = RandomFeatures(start=START, features=300).measure(PrivateArray(ROWS), setting)
    estimators: dict[str, Estimator] = {"mean": EmpiricalMean(), "zero": Shrinkage(), "guess": Shrinkage(guess)}
    errors = {}
    for name, estimator in estimators.items():
        method = RandomFeatures(start=START, features=300, estimator=estimator, solver=FixedPoints(points=300))
        solution = method.fit(measured, setting.seed)
        errors[name] = kernel_distance(KERNEL, solution.synthetic, ROWS)
        found = solution.synthetic.distance(measured.embedding.feature_map, measured.embedding.mean)
        assert solution.distance == pytest.approx(found, abs=1e-9)
    assert errors["guess"] < 0.7 * errors["mean"]
    assert entries(setting) == 1


def test_a_map_of_one_s_own() -> None:
    binning = RandomBinning.random(
        Laplace(lengthscale=(2.0, 2.0)), grids=40, buckets=50, dimension=2, seed=PublicSeed(0)
    )
    setting = context(noise=SeededNoise(0))
    method = RandomFeatures(start=PublicPoints(mixture(400, seed=5)), features=binning, solver=FixedPoints(points=400))
    measured = method.measure(PrivateArray(ROWS), setting)
    assert measured.embedding.feature_map is binning
    assert str(measured.choices[0]) == f"features = {binning.dimension}: the map given"
    assert kernel_distance(KERNEL, method.fit(measured, setting.seed).synthetic, ROWS) < 0.1


def test_categories_need_no_kernel_of_their_own() -> None:
    colours = np.array([["red"], ["green"], ["red"], ["red"]] * 500, dtype=object)
    method = RandomFeatures(
        start=PublicPoints(np.array([["red"], ["green"], ["blue"]], dtype=object)),
        features=OneHot(("red", "green", "blue")),
        solver=FixedPoints(points=3),
    )
    setting = context(kernel=Kronecker(values=("red", "green", "blue")), noise=SeededNoise(0))
    solution = method.fit(method.measure(PrivateArray(colours), setting), setting.seed)
    assert solution.synthetic.weights == pytest.approx([0.75, 0.25, 0.0], abs=0.02)


@pytest.mark.parametrize("privacy", [Privacy(epsilon=1.0, delta=0.0), STRONG], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_every_law_and_relation(privacy: Privacy, neighbours: Neighbours) -> None:
    promised = Privacy(epsilon=privacy.epsilon, delta=privacy.delta, neighbours=neighbours)
    setting = context(privacy=promised, noise=SeededNoise(0))
    method = RandomFeatures(start=START, features=20)
    measured = method.measure(PrivateArray(ROWS), setting)
    assert measured.embedding.rows == pytest.approx(3000, rel=0.05)
    assert kernel_distance(KERNEL, method.fit(measured, setting.seed).synthetic, ROWS) < 0.5


def test_orthogonal_frequencies_are_orthogonal() -> None:
    embedding = _measured(RandomFeatures(start=START, features=40, orthogonal=True)).embedding
    assert embedding is not None
    phi = embedding.feature_map
    assert isinstance(phi, Fourier)
    for first, second in phi.frequencies.reshape(-1, 2, 2):
        assert first @ second == pytest.approx(0.0, abs=1e-9)


def test_features_and_points_come_from_separate_streams() -> None:
    """More starts change no frequency, and another seed changes both."""
    maps = [
        _measured(RandomFeatures(start=START, features=20, solver=GreedyPreimages(starts=starts)), seed=seed)
        for starts, seed in ((5, 0), (50, 0), (5, 1))
    ]
    frequencies = [measured.embedding.feature_map.frequencies for measured in maps]
    assert (frequencies[0] == frequencies[1]).all()
    assert (frequencies[0] != frequencies[2]).all()


def test_the_number_of_features_is_explained() -> None:
    for rows, choice in (
        (50, "features = 186: the theorem's rule"),
        (600, "features = 4096: the cap (the theorem's rule asks for 5.06e+03)"),
    ):
        measured = RandomFeatures(start=START).measure(PrivateArray(ROWS[:rows]), context())
        assert [str(given) for given in measured.choices] == [choice]
    assert str(_measured(RandomFeatures(start=START, features=8)).choices[0]) == "features = 8: as given"


@pytest.mark.parametrize("features", [0, 1, -2, 3, 2.5, math.nan, True, "10"])
def test_the_number_of_features_is_even_and_positive(features: int) -> None:
    with pytest.raises(ParameterError, match="RandomFeatures: features must be"):
        RandomFeatures(start=START, features=features)


LINES = Fourier.random(KERNEL, features=10, dimension=1, seed=PublicSeed(0))
WRONG_GUESS = Shrinkage(SyntheticSet(points=np.zeros((1, 3)), weights=np.ones(1)))
REFUSALS: tuple[tuple[str, RandomFeatures, Kernel, type[Exception], str], ...] = (
    (
        "not shift-invariant",
        RandomFeatures(start=START),
        Product(kernels=(KERNEL, KERNEL)),
        ParameterError,
        "not shift-invariant",
    ),
    ("not radial", RandomFeatures(start=START, orthogonal=True), Laplace(lengthscale=1.0), ParameterError, "Euclidean"),
    (
        "a kernel of other columns",
        RandomFeatures(start=START),
        Matern52(lengthscale=(1.0, 1.0, 1.0)),
        ParameterError,
        "3",
    ),
    (
        "a start of other columns",
        RandomFeatures(start=NormalPoints(dimension=3)),
        KERNEL,
        ParameterError,
        "the table has 2 columns",
    ),
    (
        "a map of other columns",
        RandomFeatures(start=START, features=LINES),
        KERNEL,
        ParameterError,
        "must have 1 columns",
    ),
    (
        "no gradient",
        RandomFeatures(start=START, features=OneHot((("a",), ("b",)))),
        KERNEL,
        ParameterError,
        "needs Fourier features",
    ),
    (
        "a guess of other columns",
        RandomFeatures(start=START, features=10, estimator=WRONG_GUESS),
        KERNEL,
        ParameterError,
        "2 columns",
    ),
    (
        "too many features",
        RandomFeatures(start=START, features=10**12),
        KERNEL,
        CapacityError,
        "1,000,000,000,000 features would need",
    ),
    (
        "too many points",
        RandomFeatures(start=START, features=10, solver=FixedPoints(points=10**12)),
        KERNEL,
        CapacityError,
        "points would need",
    ),
)


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("rows", [ROWS, ROWS[:0]], ids=["rows", "no rows"])
@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal[0] for refusal in REFUSALS])
def test_refusals_come_before_any_charge(refusal: Any, rows: Any, relation: Neighbours) -> None:
    """Also for an empty table, and there under either relation: whether there are rows decides nothing."""
    _, method, kernel, error, message = refusal
    empty = relation is Neighbours.REPLACE_ONE and len(rows) == 0
    setting = context(kernel=kernel, privacy=Privacy(epsilon=1.0, delta=1e-6, neighbours=relation))
    with pytest.raises((ParameterError, error), match=None if empty else message):
        method.measure(PrivateArray(rows), setting)
    assert entries(setting) == 0


def test_a_selection_can_not_be_fitted() -> None:
    setting = context(privacy=Privacy(epsilon=1.0, delta=0.0))
    selected = SmallDatabase(domain=np.eye(2), size=1).measure(PrivateArray(np.eye(2)), setting)
    with pytest.raises(ParameterError, match="can only fit a measured embedding"):
        RandomFeatures(start=START).fit(selected, setting.seed)


@pytest.mark.slow
def test_the_rule_of_the_theorem_on_a_whole_table() -> None:
    setting = context(kernel=Gaussian(lengthscale=1.0), noise=SeededNoise(0))
    rows = mixture(100_000, seed=3)
    method = RandomFeatures(start=START, solver=GreedyPreimages(points=200, constraint=Simplex()))
    solution = method.fit(method.measure(PrivateArray(rows), setting), setting.seed)
    assert kernel_distance(KERNEL, solution.synthetic, rows[:5000]) < 0.03
