"""Adaptive: two charged stages, of which the second looks where the first found mass."""

import math
from dataclasses import replace

import numpy as np
import pytest

import kernelease as ke
from kernelease.arrays import Floats, Rows
from kernelease.exact.rows import ExactEmbedding, PrivateArray
from kernelease.features.fourier import Fourier
from kernelease.features.moments import Ball
from kernelease.features.nystrom import Nystrom
from kernelease.fit.gaussians.fitted_laws import averages_of, subspace_likelihood
from kernelease.measured import NoisyEmbeddings
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.methods.adaptive import Adaptive, plan_stages
from kernelease.methods.method import Context
from kernelease.pipeline import method_for
from kernelease.privacy.accounting import Loss
from kernelease.privacy.sensitivity import sum_sensitivity
from kernelease.table.domains import VectorDomain

KERNEL = ke.kernels.Gaussian(lengthscale=(1.0, 1.0))
PRIOR = ke.fit.NormalPoints(dimension=2, scale=5.0)
SMALL = Adaptive(points=PRIOR, features=256, rank=64)
PRIVACY = ke.Privacy(epsilon=1.0, delta=1e-6)


def _rows(count: int = 3000, seed: int = 0) -> Floats:
    generator = np.random.default_rng(seed)
    centres = np.array([[4.0, -3.0], [-2.0, 5.0], [0.0, 0.0]])
    return centres[generator.integers(3, size=count)] + 0.3 * generator.standard_normal((count, 2))


def _context(privacy: ke.Privacy = PRIVACY, kernel: ke.kernels.Kernel = KERNEL, noise: int = 0) -> Context:
    return Context(
        domain=VectorDomain(kernel),
        privacy=privacy,
        ledger=ke.MemoryLedger(privacy),
        noise=ke.SeededNoise(noise),
        seed=ke.PublicSeed(3),
    )


class _Watched:
    """Records every embedding that goes through the barrier, exact and noisy."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.exact: list[ExactEmbedding] = []
        self.noisy: list[NoisyEmbedding] = []
        privatise = ExactEmbedding.privatise

        def watching(exact: ExactEmbedding, *args: object, **kwargs: object) -> NoisyEmbedding:
            result = privatise(exact, *args, **kwargs)
            self.exact.append(exact)
            self.noisy.append(result)
            return result

        monkeypatch.setattr(ExactEmbedding, "privatise", watching)


def _measured(rows: Rows, method: Adaptive = SMALL, **context: object) -> NoisyEmbeddings:
    return method.measure(PrivateArray(rows), _context(**context))


def test_both_stages_are_charged_and_use_the_whole_budget() -> None:
    setting = _context()
    measured = SMALL.measure(PrivateArray(_rows()), setting)
    spent, total = sum((step.loss for step in measured.steps), Loss()), setting.ledger.spent()
    assert len(measured.steps) == 2
    assert spent.mu_squared <= total.mu_squared
    assert spent.mu_squared == pytest.approx(total.mu_squared, rel=1e-9)
    assert spent.tau <= total.tau


def test_stage_one_gets_its_share() -> None:
    measured = _measured(_rows(), Adaptive(points=PRIOR, features=256, rank=64, share=0.25))
    first, second = (step.loss.mu_squared for step in measured.steps)
    assert first / (first + second) == pytest.approx(0.25)


def test_no_replaced_row_moves_a_stage_further_than_its_noise_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact vector of each stage, at the points that this history chose, for the most different rows there are."""
    watched = _Watched(monkeypatch)
    rows = _rows(200)
    _measured(rows)
    assert [type(exact.feature_map) for exact in watched.exact] == [Fourier, Nystrom]
    for exact, noisy in zip(watched.exact, watched.noisy, strict=True):
        bound = sum_sensitivity(exact.feature_map, ke.Neighbours.REPLACE_ONE).l2
        assert noisy.measurement.step.sensitivity == bound
        moved = []
        for stranger in ([4.0, -3.0], [-2.0, 5.0], [1e9, -1e9], [np.nan, np.inf]):
            neighbour = rows.copy()
            neighbour[0] = stranger
            other = ExactEmbedding.of(neighbour, exact.feature_map)
            difference = exact.feature_map.project(exact._total) - exact.feature_map.project(other._total)
            moved.append(float(np.linalg.norm(difference.astype(np.float64))))
        assert max(moved) <= bound
        assert max(moved) > 0.3 * bound  # the test would notice a bound that is too small by a factor of four


@pytest.mark.slow
def test_points_depend_on_private_rows_by_noisy_numbers_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tables, one noisy stage one: the points of stage two are the same to the bit."""
    watched = _Watched(monkeypatch)
    one = _measured(_rows(seed=1))
    first = watched.noisy[0]
    privatise = ExactEmbedding.privatise
    calls: list[int] = []

    def replayed(exact: ExactEmbedding, *args: object, **kwargs: object) -> NoisyEmbedding:
        calls.append(1)
        result = privatise(exact, *args, **kwargs)
        return first if len(calls) == 1 else result

    monkeypatch.setattr(ExactEmbedding, "privatise", replayed)
    other = _measured(_rows(seed=2))
    assert np.array_equal(one.candidates, other.candidates)
    assert np.array_equal(one.embedding.feature_map.matrix, other.embedding.feature_map.matrix)


SPARSE = ke.fit.NormalPoints(dimension=3, scale=5.0)
ROUNDS = Adaptive(points=SPARSE, features=256, rank=96)


def _sparse_rows(count: int = 2000, seed: int = 0) -> Floats:
    generator = np.random.default_rng(seed)
    centres = np.array([[4.0, -3.0, 0.0], [-2.0, 5.0, 1.0], [0.0, 0.0, -4.0]])
    return centres[generator.integers(3, size=count)] + 0.3 * generator.standard_normal((count, 3))


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", list(ke.Neighbours))
def test_further_rounds_cost_no_further_share(neighbours: ke.Neighbours) -> None:
    privacy = ke.Privacy(epsilon=0.3, delta=1e-6, neighbours=neighbours)
    setting = _context(privacy=privacy, kernel=ke.kernels.Gaussian(lengthscale=1.0))
    measured = ROUNDS.measure(PrivateArray(_sparse_rows()), setting)
    assert measured.embedding.feature_map.dimension > ROUNDS.rank  # more than one round can hold
    assert len(measured.steps) == 2
    spent, total = sum((step.loss for step in measured.steps), Loss()), setting.ledger.spent()
    assert spent.mu_squared == pytest.approx(total.mu_squared, rel=1e-9)
    assert spent.mu_squared <= total.mu_squared
    assert spent.tau <= total.tau


@pytest.mark.slow
def test_no_replaced_row_moves_all_rounds_together_further_than_was_charged() -> None:
    rows, kernel = _sparse_rows(200), ke.kernels.Gaussian(lengthscale=1.0)
    measured = _measured(rows, ROUNDS, privacy=ke.Privacy(epsilon=0.3, delta=1e-6), kernel=kernel)
    basis, charged = measured.embedding.feature_map, measured.embedding.measurement.step.sensitivity
    assert isinstance(basis, Nystrom)
    rows[0] = basis.points[-1]  # of the last round
    exact = basis.project(ExactEmbedding.of(rows, basis)._total)
    moved = []
    for stranger in (*basis.points[::20], [1e9, -1e9, 0.0]):
        neighbour = rows.copy()
        neighbour[0] = stranger
        difference = exact - basis.project(ExactEmbedding.of(neighbour, basis)._total)
        moved.append(float(np.linalg.norm(difference.astype(np.float64))))
    assert 0.9 * charged < max(moved) <= charged


def test_pure_guarantees_have_one_round() -> None:
    kernel, pure = ke.kernels.Gaussian(lengthscale=1.0), ke.Privacy(epsilon=0.3, delta=0.0)
    draws = SPARSE.draw(512, np.random.default_rng(0))
    assert plan_stages(kernel, pure, 2000, draws, share=None, features=256).rounds == 1
    assert plan_stages(kernel, PRIVACY, 100, draws, share=None, features=256).rounds > 1
    assert plan_stages(kernel, PRIVACY, 100, draws, features=256, rounds=1).rounds == 1
    with pytest.raises(ke.errors.ParameterError, match="more than one round needs a Gaussian kernel"):
        plan_stages(kernel, pure, 2000, draws, features=256, rounds=2)
    with pytest.raises(ke.errors.ParameterError, match="more than one round needs a Gaussian kernel"):
        plan_stages(ke.kernels.Laplace(lengthscale=1.0), PRIVACY, 2000, draws, features=256, rounds=2)


def test_what_can_not_be_planned_is_refused_before_anything_is_charged() -> None:
    three = ke.kernels.Gaussian(lengthscale=(1.0, 1.0, 1.0))
    ledger = ke.MemoryLedger(PRIVACY)
    with pytest.raises(ke.errors.ParameterError, match="one column per lengthscale"):
        SMALL.plan(three, PRIVACY, 1000)
    with pytest.raises(ke.errors.ParameterError, match="one column per lengthscale"):
        ke.release(_rows(), kernel=three, method=SMALL, privacy=PRIVACY, ledger=ledger)
    assert ledger.entries == []
    with pytest.raises(ke.errors.ParameterError, match="rows must be an integer from 1"):
        SMALL.plan(KERNEL, PRIVACY, 0)
    with pytest.raises(ke.errors.ParameterError, match="rounds must be an integer from 1 to 3"):
        Adaptive(points=PRIOR, rounds=4)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_plan_is_what_measuring_then_chooses(epsilon: float) -> None:
    privacy, kernel = ke.Privacy(epsilon=epsilon, delta=1e-6), ke.kernels.Gaussian(lengthscale=1.0)
    planned = ROUNDS.plan(kernel, privacy, 2000, seed=3)
    measured = _measured(_sparse_rows(), ROUNDS, privacy=privacy, kernel=kernel)
    assert measured.choices[:-1] == planned[:-1]
    assert planned[-1].name == measured.choices[-1].name == "rank"


@pytest.mark.slow
def test_the_same_noise_and_seed_give_the_same_release() -> None:
    sets = []
    for _ in range(2):
        measured = _measured(_rows())
        sets.append(SMALL.fit(measured, _context().seed).synthetic)
    assert np.array_equal(sets[0].points, sets[1].points)
    assert np.array_equal(sets[0].weights, sets[1].weights)


def _distance(synthetic: ke.fit.SyntheticSet, rows: Rows) -> float:
    weights = np.concatenate([synthetic.weights, np.full(len(rows), -1.0 / len(rows))])
    points = np.concatenate([synthetic.points, rows])
    return float(np.sqrt(max(0.0, weights @ KERNEL.gram(points, points) @ weights)))


@pytest.mark.slow
def test_it_comes_closer_than_both_algorithms_of_the_paper() -> None:
    rows = _rows()
    errors = {}
    for name, method in {
        "Adaptive": Adaptive(points=PRIOR, features=1024, rank=256),
        "Algorithm 1": ke.Subspace(points=PRIOR, count=512),
        "Algorithm 2": ke.RandomFeatures(start=PRIOR, features=1024, solver=ke.fit.GreedyPreimages(points=30)),
    }.items():
        context = _context()
        errors[name] = _distance(method.fit(method.measure(PrivateArray(rows), context), context.seed).synthetic, rows)
    assert errors["Adaptive"] < 0.05
    assert errors["Adaptive"] < 0.7 * min(errors["Algorithm 1"], errors["Algorithm 2"])


@pytest.mark.statistical
def test_published_rows_are_weighted_in_one_stage() -> None:
    """At a small ε, too, they come nearer than rows of equal weight, on average over the noise.

    The logarithm of both distances' ratio is −.36 on average, with a deviation of .26: a mean of 12 above log 1.05 is
    5.4 standard errors away.
    """
    rows = _rows()
    method = Adaptive(points=ke.fit.PublishedRows(300), rank=64)
    uniform = ke.fit.SyntheticSet(points=rows[:300], weights=np.full(300, 1.0 / 300))
    ratios = []
    for noise in range(12):
        context = _context(ke.Privacy(epsilon=0.05, delta=1e-6), noise=noise)
        measured = method.measure(PrivateArray(rows), context)
        synthetic = method.fit(measured, context.seed).synthetic
        assert len(measured.steps) == 1
        assert measured.published_rows == 300
        assert np.array_equal(synthetic.points, rows[:300])
        assert np.all(synthetic.weights >= 0.0)
        assert synthetic.weights.sum() == pytest.approx(1.0)
        ratios.append(_distance(synthetic, rows) / _distance(uniform, rows))
    assert np.mean(np.log(ratios)) <= np.log(1.05)


def test_a_kernel_without_fourier_features_takes_one_stage_and_says_why() -> None:
    kernel = ke.kernels.Kronecker(values=("a", "b", "c"))
    rows = np.array([["a"]] * 700 + [["b"]] * 300, dtype=object)
    method = Adaptive(points=ke.fit.PublicPoints(np.array([["a"], ["b"], ["c"]], dtype=object)))
    context = _context(kernel=kernel)
    measured = method.measure(PrivateArray(rows), context)
    assert "Kronecker is not shift-invariant" in str(measured.choices[0])
    weights = method.fit(measured, context.seed).synthetic.weights
    assert np.abs(weights - [0.7, 0.3, 0.0]).max() < 0.05


@pytest.mark.slow
def test_add_remove_says_nothing_about_the_number_of_rows() -> None:
    privacy = ke.Privacy(epsilon=1.0, delta=1e-6, neighbours=ke.Neighbours.ADD_REMOVE)
    few, many = (_measured(_rows(count), privacy=privacy).choices for count in (1000, 3000))
    assert [str(choice) for choice in few[:-1]] == [str(choice) for choice in many[:-1]]


def test_a_table_of_other_columns_is_refused_before_any_charge() -> None:
    context = _context()
    with pytest.raises(ke.errors.ParameterError, match="has 3 columns"):
        SMALL.measure(PrivateArray(np.zeros((10, 3))), context)
    SMALL.measure(PrivateArray(_rows(100)), context)  # the whole budget is still there


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"share": 0.0}, "share must lie between 0 and 1"),
        ({"share": 1.0}, "share must lie between 0 and 1"),
        ({"features": 3}, "features must be even"),
        ({"rank": 0}, "rank"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ke.errors.ParameterError, match=message):
        Adaptive(points=PRIOR, **settings)


def test_what_was_not_measured_by_it_is_refused() -> None:
    method = ke.RandomFeatures(start=PRIOR, features=64)
    measured = method.measure(PrivateArray(_rows(100)), _context())
    with pytest.raises(ke.errors.ParameterError, match="can only fit what Adaptive has measured"):
        SMALL.fit(measured, _context().seed)


def test_gaussians_are_not_fitted_where_rows_are_published() -> None:
    measured = SMALL.measure(PrivateArray(_rows(100)), _context())
    with pytest.raises(ke.errors.ParameterError, match="with points of the same kind"):
        Adaptive(points=ke.fit.PublishedRows(10)).fit(measured, _context().seed)


def test_points_stay_within_a_declared_box() -> None:
    """Rows at the edge of the box: half of a Gaussian around them would lie outside."""
    box = ke.fit.UniformPoints(low=(-8.0, -8.0), high=(0.5, 0.5))
    rows = np.clip(_rows(400), None, 0.5)
    context = _context()
    method = replace(SMALL, points=box)
    made = method.fit(method.measure(PrivateArray(rows), context), context.seed).synthetic
    assert made.points.max() <= 0.5
    np.testing.assert_array_equal(box.within(np.array([[9.0, -1.0]])), [[0.5, -1.0]])
    np.testing.assert_array_equal(PRIOR.within(np.array([[9e9, -1.0]])), [[9e9, -1.0]])


def test_a_law_that_ends_at_a_wall_is_told_without_gaps() -> None:
    """Gaussians left gaps of up to a tenth of all rows, which a kernel of one lengthscale does not see."""
    rows = np.random.default_rng(0).exponential(1.0, (10_000, 1)) - 8.0
    kernel = ke.kernels.Gaussian(lengthscale=(1.0,))
    method = Adaptive(points=ke.fit.UniformPoints(low=(-8.0,), high=(8.0,)))
    release = ke.release(rows, kernel=kernel, method=method, privacy=PRIVACY, noise=ke.SeededNoise(1))
    values = np.linspace(-8.0, -4.0, 41)
    shares = [float(release.weights[release.points[:, 0] <= value].sum()) for value in values]
    real = [float((rows <= value).mean()) for value in values]
    assert np.abs(np.subtract(shares, real)).max() < 0.03


def test_parameters_that_are_expected_alike_follow_the_noise_less() -> None:
    measured = SMALL.measure(PrivateArray(_rows()), _context())
    law, likelihood = measured.law, subspace_likelihood(measured.embedding, 1.0)
    free, alike = (likelihood.number_followed(law, likeness=each, narrowest=0.03) for each in (1e6, 1e-3))
    assert free == pytest.approx(law.parameters - 1, abs=0.01)  # weights add up to 1
    assert alike == pytest.approx(law.parameters - len(law), abs=0.01)  # one width for all
    narrow = replace(law, widths=np.full(len(law), 0.03))
    held = likelihood.number_followed(narrow, likeness=1e6, narrowest=0.03)
    assert held == pytest.approx(law.parameters - 1 - len(law), abs=0.01)


def test_less_budget_gives_stage_one_a_larger_share() -> None:
    draws = ke.fit.NormalPoints(dimension=5, scale=20.0).draw(200, np.random.default_rng(0))
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    shares = [
        plan_stages(kernel, ke.Privacy(epsilon=e, delta=1e-6), 20_000, draws, share=None, features=512).share
        for e in (0.01, 0.1, 1.0)
    ]
    assert shares[0] == 0.3
    assert sorted(shares, reverse=True) == shares
    assert shares[2] == 0.15


def test_more_columns_hide_light_gaussians_in_higher_peaks_of_noise() -> None:
    """A search climbs noise in every column: what stands out of it in 7 columns may not in 20."""
    privacy, rounds = ke.Privacy(epsilon=0.1, delta=1e-6), []
    for dimension in (7, 20):
        draws = ke.fit.NormalPoints(dimension=dimension, scale=5.0).draw(200, np.random.default_rng(0))
        rounds.append(plan_stages(ke.kernels.Gaussian(lengthscale=1.0), privacy, 25_000, draws).rounds)
    assert rounds == [1, 2]


def test_auto_takes_adaptive_and_refuses_kernels_that_need_points() -> None:
    assert isinstance(method_for(VectorDomain(KERNEL), 2), Adaptive)
    with pytest.raises(ke.errors.ParameterError, match="needs a method with public points"):
        method_for(VectorDomain(ke.kernels.Kronecker(values=("a", "b"))), 1)


@pytest.mark.slow
def test_a_release_without_a_method_says_what_was_chosen() -> None:
    released = ke.release(_rows(2000), kernel=KERNEL, privacy=PRIVACY, noise=ke.SeededNoise(0))
    assert released.certificate.method == "Adaptive"
    assert any("percent of the budget for stage one" in choice for choice in released.certificate.choices)
    assert len(released.certificate.steps) == 2


def _heavy_tails(count: int = 20_000) -> Floats:
    return np.random.default_rng(0).standard_t(1.5, (count, 2))


def test_a_mean_that_features_leave_open_is_measured_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Heavy tails: a kernel's features told the mean four to seven times less well than a noisy sum does.

    Rows beyond the ball are cut, by the sum too: what is compared is the mean within it.
    """
    watched = _Watched(monkeypatch)
    rows, method = _heavy_tails(), Adaptive(points=replace(PRIOR, scale=10.0))
    release = ke.release(rows, kernel=KERNEL, method=method, privacy=PRIVACY, noise=ke.SeededNoise(1))
    measured = release.measurements.measured
    coarse, mean, fine = watched.noisy
    assert isinstance(mean.feature_map, Ball)
    assert measured.stages == (coarse, mean, fine)
    losses = [step.loss.mu_squared for step in measured.steps]
    assert 0.1 < losses[1] / sum(losses) < 0.4
    assert sum(losses) == pytest.approx(PRIVACY.total(4096).mu ** 2, rel=0.01)
    truth = mean.feature_map.evaluate(rows).mean(axis=0)
    released = release.weights @ mean.feature_map.evaluate(release.points) / release.weights.sum()
    assert np.linalg.norm(released - truth) < 4.0 * mean.sigma
    told = release.vectors().average(lambda points: mean.feature_map.evaluate(points)[:, 0])
    assert abs(float(told.value) - truth[0]) < 4.0 * float(told.standard_error)
    assert float(told.standard_error) < mean.sigma


@pytest.mark.parametrize("share", [0.3, 0.7, 0.97])
def test_what_a_given_share_leaves_pays_for_the_mean_and_for_stage_two(share: float) -> None:
    """The mean asked for a third of the budget, whatever was left: what was charged was lost."""
    wide = replace(SMALL, share=share, features=16, rank=6)
    measured = _measured(_rows(), wide, kernel=ke.kernels.Gaussian(lengthscale=(20.0, 20.0)))
    _, mean, fine = (step.loss.mu_squared for step in measured.steps)
    assert isinstance(measured.stages[1].feature_map, Ball)
    assert 0.0 < mean <= fine * (1.0 + 1e-9)


def test_a_mean_that_features_tell_is_not_measured() -> None:
    assert len(_measured(_rows(20_000), Adaptive(points=PRIOR)).stages) == 2


def test_what_is_told_by_itself_narrows_what_features_leave_open() -> None:
    """However little they say: a normal law, given a measurement of the same number, is never less certain than it."""
    rows = _heavy_tails()
    method = Adaptive(points=replace(PRIOR, scale=10.0))
    release = ke.release(rows, kernel=KERNEL, method=method, privacy=PRIVACY, noise=ke.SeededNoise(1))
    averages = averages_of(release.measurements.measured, KERNEL)
    assert averages.told is not None
    values = averages.told.functions(averages.points)
    for precision in (averages.precision, 1e-12 * averages.precision):
        together = replace(averages, precision=precision).estimate(values)[1]
        assert (np.linalg.eigvalsh(together) > 0.0).all()
        assert (np.diagonal(together) < np.diagonal(averages.told.noise)).all()


@pytest.mark.slow
def test_rows_that_fill_a_box_have_the_moments_that_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points a lengthscale apart had covariances further off than the Gaussians, which the kernel does not see."""
    rows = np.random.default_rng(0).uniform(-4.0, 4.0, (20_000, 2))
    method = Adaptive(points=ke.fit.UniformPoints(low=(-5.0, -5.0), high=(5.0, 5.0)))
    context = _context(noise=1)
    measured = method.measure(PrivateArray(rows), context)
    after = method.fit(measured, context.seed).synthetic
    monkeypatch.setattr("kernelease.methods.adaptive._with_moments", lambda *given: given[-1])
    before = method.fit(measured, context.seed).synthetic

    def off(made: ke.fit.SyntheticSet) -> float:
        return float(np.linalg.norm(np.cov(made.points.T, aweights=made.weights, bias=True) - np.cov(rows.T)))

    assert off(after) < 0.9 * off(before)
    embedding = measured.embedding
    moved = after.weights @ embedding.feature_map.evaluate(after.points)
    moved -= before.weights @ embedding.feature_map.evaluate(before.points)
    assert np.linalg.norm(moved) <= math.sqrt(2.0 * 5.0) * embedding.sigma  # five moments
