"""The doors of the barrier, with the noise stubbed: what goes in, what comes out, what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from audits.twins import NoNoise
from kernelease.errors import BudgetError, CapacityError, ParameterError, PrivacyError
from kernelease.noises import SeededNoise
from kernelease.privacy import Law, Loss, Measurement, Neighbours, Privacy, Sensitivity, Step, SystemNoise
from kernelease.privacy.accounting import GAUSSIAN_SHARE, SMALLEST_SCALE, rounding_tau
from kernelease.privacy.calibration import gaussian_mu
from kernelease.privacy.mechanisms import LARGEST_SCORE, exceed, measure, select
from kernelease.privacy.sensitivity import block_sensitivity, mean_distance_sensitivity
from tests.privacy.toys import RecordingNoise, a_measurement, open_filter

GAUSSIAN = Privacy(epsilon=1.0, delta=1e-6)
PURE = Privacy(epsilon=0.5, delta=0.0)


def sensitivity(l2: float = 1.0, l1: float = 1.0, neighbours: Neighbours = Neighbours.REPLACE_ONE) -> Sensitivity:
    return Sensitivity(l2=l2, l1=l1, neighbours=neighbours)


def measured(
    exact: list[int], privacy: Privacy, noise: RecordingNoise, share: float = 1.0, l2: float = 1.0
) -> Measurement:
    return measure(
        np.array(exact, dtype=object),
        sensitivity(l2, l2),
        budget=open_filter(privacy),
        share=share,
        noise=noise,
        label="a test",
    )


# Exact integers plus noise.

BIG = [0, 1, -1, 2**80, -(2**100) + 1, 2**63]


@pytest.mark.parametrize("privacy", [GAUSSIAN, PURE], ids=repr)
@pytest.mark.parametrize("value", [0, 1, -(2**62)])
def test_what_comes_out_is_what_went_in_plus_noise(privacy: Privacy, value: int) -> None:
    result = measured(BIG, privacy, RecordingNoise(value=value))
    assert [int(integer) for integer in result.integers] == [(exact << result.step.bits) + value for exact in BIG]


@given(st.lists(st.integers(-(2**90), 2**90), min_size=1, max_size=8))
@settings(deadline=None)
def test_without_noise_values_are_the_exact_integers_as_floats(exact: list[int]) -> None:
    assert measured(exact, GAUSSIAN, RecordingNoise()).values.tolist() == [float(value) for value in exact]
    assert measured(exact, PURE, RecordingNoise()).values.tolist() == [float(value) for value in exact]


def test_values_are_in_units_of_the_input() -> None:
    result = measured([3], GAUSSIAN, RecordingNoise(value=2**35))
    assert result.values[0] == 3.0 + math.ldexp(1.0, 35 - result.step.bits)


# The noise.


@pytest.mark.parametrize("l2", [1e-9, 0.3, 1.0, 2.0, 2.0**14, 2.0**40, 2.0**48])
@pytest.mark.parametrize("share", [1.0, 0.25, 1e-3])
def test_the_gaussian_grid_and_its_sigma(l2: float, share: float) -> None:
    noise = RecordingNoise()
    result = measured([1, 2, 3], GAUSSIAN, noise, share=share, l2=l2)
    ((law, scale, size, _),) = noise.events
    assert (law, size) == ("gaussian", 3)
    assert (result.step.law, result.private) == (Law.GAUSSIAN, False)
    mu = math.sqrt(share) * gaussian_mu(1.0, 1e-6 * GAUSSIAN_SHARE)
    assert result.step.scale == pytest.approx(l2 / mu, rel=1e-9)
    assert result.step.scale >= l2 / mu
    assert result.standard_deviation == result.step.scale
    assert scale == math.ldexp(result.step.scale, result.step.bits)
    assert scale >= SMALLEST_SCALE
    assert scale < 2 * SMALLEST_SCALE or result.step.bits == 0
    assert result.step == Step(
        law=Law.GAUSSIAN, coordinates=3, sensitivity=l2, scale=result.step.scale, bits=result.step.bits
    )
    assert result.step.loss.tau == rounding_tau(3, scale)
    assert result.step.loss.mu == pytest.approx(l2 / result.step.scale, rel=1e-9)


@given(st.floats(1e-12, 1e12), st.floats(1e-3, 1.0))
@settings(deadline=None)
def test_the_gaussian_grid_is_never_too_coarse(l2: float, share: float) -> None:
    noise = RecordingNoise()
    measured([0] * 8, GAUSSIAN, noise, share=share, l2=l2)
    assert noise.events[0][1] >= SMALLEST_SCALE


@pytest.mark.parametrize("share", [1.0, 0.1])
@pytest.mark.parametrize("l1", [1.0, 2.0, 2.0**15])
def test_the_laplace_scale(share: float, l1: float) -> None:
    noise = RecordingNoise()
    result = measured([1, 2], PURE, noise, share=share, l2=l1)
    ((law, scale, size, _),) = noise.events
    assert (law, size) == ("laplace", 2)
    assert (result.step.law, result.step.bits) == (Law.LAPLACE, 0)
    assert result.step.scale == scale == pytest.approx(l1 / (share * 0.5), rel=1e-11)
    assert scale >= l1 / (share * 0.5)
    assert result.step.loss.pure_epsilon == pytest.approx(share * 0.5, rel=1e-11)
    assert result.step.loss.pure_epsilon <= share * 0.5


@pytest.mark.parametrize("scale", [0.001, 0.2, 1.0, 2.0, 1000.0])
def test_the_standard_deviation_of_discrete_laplace_noise(scale: float) -> None:
    result = a_measurement(0, law=Law.LAPLACE, scale=scale)
    support = np.arange(-60_000, 60_001)
    weights = np.exp(-np.abs(support) / scale)
    variance = float(np.sum(weights * support**2.0) / np.sum(weights))
    assert result.standard_deviation == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_on_a_fine_grid_laplace_noise_has_the_continuous_standard_deviation() -> None:
    result = a_measurement(0, bits=30, law=Law.LAPLACE, scale=2.0)
    assert result.standard_deviation == pytest.approx(2.0 * math.sqrt(2.0), rel=1e-12)


@pytest.mark.parametrize(("noise", "private"), [(SystemNoise(), True), (SeededNoise(1), False)])
def test_a_measurement_says_whether_its_noise_protects_anyone(noise: SystemNoise | SeededNoise, private: bool) -> None:
    for privacy in (GAUSSIAN, PURE):
        result = measure(
            np.array([1], dtype=object),
            sensitivity(),
            budget=open_filter(privacy),
            share=1.0,
            noise=noise,
            label="a test",
        )
        assert result.private is private


# Refusals: nothing is spent, nothing is drawn.


@pytest.mark.parametrize("privacy", [GAUSSIAN, PURE], ids=repr)
@pytest.mark.parametrize("share", [0.0, -0.5, 1.5, math.nan, math.inf])
def test_a_share_is_above_zero_and_at_most_one(privacy: Privacy, share: float) -> None:
    budget, noise = open_filter(privacy), RecordingNoise()
    with pytest.raises(ParameterError, match="share must be"):
        measure(np.array([1], dtype=object), sensitivity(), budget=budget, share=share, noise=noise, label="a test")
    assert (budget.spent, noise.events) == (Loss(), [])


@pytest.mark.parametrize(
    ("privacy", "neighbours"),
    [
        (GAUSSIAN, Neighbours.ADD_REMOVE),
        (PURE, Neighbours.ADD_REMOVE),
        (Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE), Neighbours.REPLACE_ONE),
    ],
)
def test_a_sensitivity_of_another_relation_is_refused(privacy: Privacy, neighbours: Neighbours) -> None:
    budget, noise = open_filter(privacy), RecordingNoise()
    with pytest.raises(PrivacyError, match="can't be used for a guarantee under"):
        measure(
            np.array([1], dtype=object),
            sensitivity(neighbours=neighbours),
            budget=budget,
            share=1.0,
            noise=noise,
            label="a test",
        )
    assert (budget.spent, noise.events) == (Loss(), [])


@pytest.mark.parametrize("privacy", [GAUSSIAN, PURE], ids=repr)
def test_noise_beyond_64_bits_is_refused_before_anything_is_spent(privacy: Privacy) -> None:
    budget, noise = open_filter(privacy), RecordingNoise()
    with pytest.raises(CapacityError, match="coarser"):
        measure(
            np.array([1], dtype=object),
            sensitivity(2.0**60, 2.0**60),
            budget=budget,
            share=1.0,
            noise=noise,
            label="a test",
        )
    assert (budget.spent, noise.events) == (Loss(), [])


def test_a_measurement_of_nothing_is_refused() -> None:
    budget, noise = open_filter(GAUSSIAN), RecordingNoise()
    with pytest.raises(ParameterError, match="number of coordinates"):
        measure(np.zeros(0, dtype=object), sensitivity(), budget=budget, share=1.0, noise=noise, label="a test")
    assert (budget.spent, noise.events) == (Loss(), [])


# What a step costs, from its numbers alone.


@pytest.mark.parametrize(
    ("step", "loss"),
    [
        (Step(law=Law.LAPLACE, coordinates=5, sensitivity=2.0, scale=8.0), Loss.pure(0.25)),
        (Step(law=Law.EXPONENTIAL, coordinates=5, sensitivity=2.0, scale=8.0), Loss.pure(0.5)),
        (
            Step(law=Law.GAUSSIAN, coordinates=5, sensitivity=2.0, scale=8.0, bits=40),
            Loss.gaussian(0.25, tau=rounding_tau(5, 2.0**43)),
        ),
    ],
)
def test_a_step_is_priced_again(step: Step, loss: Loss) -> None:
    assert step.loss == loss


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
@pytest.mark.parametrize("name", ["sensitivity", "scale", "coordinates"])
def test_the_numbers_of_a_step_are_positive_and_finite(name: str, value: float) -> None:
    numbers = {"sensitivity": 1.0, "scale": 1.0, "coordinates": 1} | {name: value}
    if numbers["coordinates"] != math.inf:  # a number of coordinates is an integer
        with pytest.raises(ParameterError, match="Step"):
            Step(law=Law.LAPLACE, **numbers)


# The exponential mechanism.


def test_select_passes_scores_and_scale() -> None:
    budget, noise = open_filter(PURE), RecordingNoise()
    selection = select([3, 9, 4], 2, budget=budget, share=0.5, noise=noise, label="a test")
    assert (selection.index, selection.private) == (1, False)
    ((law, scale, size, _),) = noise.events
    assert (law, size) == ("noisy_max", 3)
    assert scale == pytest.approx(2 * 2 / 0.25, rel=1e-11)
    assert scale >= 2 * 2 / 0.25
    assert selection.step == Step(law=Law.EXPONENTIAL, coordinates=3, sensitivity=2.0, scale=scale)
    assert budget.spent == selection.step.loss
    assert budget.spent.pure_epsilon == pytest.approx(0.25, rel=1e-11)


def test_select_charges_before_it_draws() -> None:
    budget = open_filter(PURE)
    noise = RecordingNoise(budget=budget)
    select([1, 2], 1, budget=budget, share=0.5, noise=noise, label="a test")
    assert noise.events[0][-1].pure_epsilon == pytest.approx(0.25, rel=1e-11)
    with pytest.raises(BudgetError):
        select([1, 2], 1, budget=budget, share=0.6, noise=noise, label="a test")
    assert len(noise.events) == 1


@pytest.mark.parametrize("scores", [[2**63, 0], [-(2**63) - 1, 0], [2**200, -(2**200)]])
def test_select_clamps_scores_that_64_bits_cannot_hold(scores: list[int]) -> None:
    """The sampler would raise, with the score in its message."""
    choice = select(scores, 1, budget=open_filter(PURE), share=1.0, noise=SystemNoise(), label="a test")
    assert scores[choice.index] == max(scores)


@given(st.integers(-(2**70), 2**70), st.integers(-1000, 1000))
def test_clamping_moves_neighbouring_scores_no_further_apart(score: int, move: int) -> None:
    noise = RecordingNoise()
    select([score, score + move], 1000, budget=open_filter(PURE), share=1.0, noise=noise, label="a test")
    ((one, other),) = noise.scores
    assert abs(one - other) <= abs(move)
    assert max(abs(one), abs(other)) <= LARGEST_SCORE


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5, math.nan])
def test_select_refuses_what_is_no_share(share: float) -> None:
    budget, noise = open_filter(PURE), RecordingNoise()
    with pytest.raises(ParameterError, match="share must be"):
        select([1, 2], 1, budget=budget, share=share, noise=noise, label="a test")
    assert (budget.spent, noise.events) == (Loss(), [])


@pytest.mark.parametrize("share", [1e-4, 0.1, 1.0])
def test_beside_gaussian_steps_a_selection_costs_its_share_of_mu_squared_at_the_pure_price(share: float) -> None:
    budget = open_filter(GAUSSIAN)
    selection = select([1, 2], 3, budget=budget, share=share, noise=RecordingNoise(), label="a test")
    epsilon = 2.0 * 3 / selection.step.scale
    assert selection.step.loss == Loss.pure(epsilon)
    assert budget.spent.mu_squared == pytest.approx(share * budget.total.mu_squared, rel=1e-9)
    assert budget.spent.mu_squared <= share * budget.total.mu_squared


@pytest.mark.parametrize(("scores", "sensitive"), [([], 1), ([1, 2], 0), ([1, 2], -1)])
def test_select_refuses_no_scores_and_no_sensitivity(scores: list[int], sensitive: int) -> None:
    budget, noise = open_filter(PURE), RecordingNoise()
    with pytest.raises(ParameterError, match="at least one score"):
        select(scores, sensitive, budget=budget, share=1.0, noise=noise, label="a test")
    assert (budget.spent, noise.events) == (Loss(), [])


def test_select_refuses_noise_beyond_64_bits_before_anything_is_spent() -> None:
    budget, noise = open_filter(PURE), RecordingNoise()
    with pytest.raises(CapacityError):
        select([1, 2], 2**60, budget=budget, share=1.0, noise=noise, label="a test")
    assert (budget.spent, noise.events) == (Loss(), [])


# How far a number lies above others.


def passing(observed, others, rank=1, *, sensitivity=None, noise=None, epsilon=1.0):
    bound = mean_distance_sensitivity(1, (4, 4)) if sensitivity is None else sensitivity
    filter_ = open_filter(Privacy(epsilon=epsilon, delta=0.0))
    return exceed(
        observed, others, rank, bound, budget=filter_, noise=SeededNoise(0) if noise is None else noise, label="a test"
    )


def test_exceed_pays_for_both_sides_of_the_difference() -> None:
    bound = mean_distance_sensitivity(9, (4, 7))
    assert bound.l1 == pytest.approx(2 * (7 * 3 + 1))
    measured = passing(5, [1, 2, 3], sensitivity=bound, epsilon=0.5)
    assert measured.step.sensitivity == bound.l1
    assert measured.step.scale == pytest.approx(bound.l1 / 0.5)
    assert measured.step.loss.pure_epsilon <= 0.5


def test_exceed_compares_with_the_ranked_of_the_others() -> None:
    for rank, expected in ((1, 10 - 7), (2, 10 - 4), (3, 10 - 1)):
        assert passing(10, [4, 1, 7], rank, noise=NoNoise()).integers.tolist() == [expected]


def test_exceed_refuses_what_it_can_not_keep() -> None:
    bound = mean_distance_sensitivity(1, (4, 4))
    with pytest.raises(ParameterError, match="delta = 0"):
        exceed(
            1, [1], 1, bound, budget=open_filter(Privacy(epsilon=1.0, delta=1e-6)), noise=SeededNoise(0), label="a test"
        )
    for rank in (0, 3):
        with pytest.raises(ParameterError, match="rank must be from 1 to 2"):
            passing(1, [1, 2], rank)
    with pytest.raises(PrivacyError, match="add-remove"):
        passing(1, [1, 2], sensitivity=block_sensitivity(Neighbours.ADD_REMOVE))
