"""A measurement that goes on: noise of the same scale, τ for the new numbers, and never twice from the same place."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.arrays import BigIntegers
from kernelease.errors import BudgetError, KerneleaseError, ParameterError, PrivacyError
from kernelease.privacy import Law, Loss, Measurement, Neighbours, Privacy, PrivacyFilter, Sensitivity, Step
from kernelease.privacy.accounting import rounding_tau
from kernelease.privacy.mechanisms import measure, resume, select
from tests.privacy.toys import RecordingNoise, a_measurement, open_filter

GAUSSIAN = Privacy(epsilon=1.0, delta=1e-6)
ADD = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
PURE = Privacy(epsilon=1.0, delta=0.0)
UNIT = Sensitivity(l2=1.0, l1=1.0, neighbours=Neighbours.REPLACE_ONE)


def integers(*values: int) -> BigIntegers:
    return np.array(values, dtype=object)


def first_round(
    budget: PrivacyFilter, noise: RecordingNoise, *values: int, share: float = 0.5, sensitivity: Sensitivity = UNIT
) -> Measurement:
    return measure(integers(*values), sensitivity, budget=budget, share=share, noise=noise, label="round one")


def go_on(
    earlier: Measurement, budget: PrivacyFilter, noise: RecordingNoise, *values: int, whole: Sensitivity = UNIT
) -> Measurement:
    return resume(earlier, integers(*values), whole, budget=budget, noise=noise, label="round two")


# What comes out.


@pytest.mark.parametrize("value", [0, 1, -(2**62)])
def test_new_numbers_follow_the_earlier_ones_with_noise_of_the_same_scale(value: int) -> None:
    budget, noise = open_filter(GAUSSIAN), RecordingNoise(value=value)
    first = first_round(budget, noise, 5, -7)
    whole = go_on(first, budget, noise, 2**80, 0, -1)
    assert whole.integers[:2].tolist() == first.integers.tolist()
    assert whole.integers[2:].tolist() == [(exact << first.step.bits) + value for exact in (2**80, 0, -1)]
    assert [event[:3] for event in noise.events] == [
        ("gaussian", noise.events[0][1], 2),
        ("gaussian", noise.events[0][1], 3),
    ]
    assert whole.step == replace(first.step, coordinates=5)
    assert (whole.private, whole.standard_deviation) == (first.private, first.standard_deviation)


def test_a_smaller_sensitivity_changes_nothing() -> None:
    budget, noise = open_filter(GAUSSIAN), RecordingNoise()
    first = first_round(budget, noise, 5)
    whole = go_on(first, budget, noise, 6, whole=replace(UNIT, l2=0.3, l1=0.3))
    assert whole.step.sensitivity == first.step.sensitivity == 1.0
    assert whole.step.scale == first.step.scale


# What it costs.


def test_only_the_tau_of_the_new_numbers_is_spent_and_before_they_are_drawn() -> None:
    budget = open_filter(GAUSSIAN)
    noise = RecordingNoise(budget=budget)
    first = first_round(budget, noise, 1, 2)
    before = budget.spent
    whole = go_on(first, budget, noise, 3, 4, 5)
    assert budget.spent.mu_squared == before.mu_squared
    scale = noise.events[0][1]
    assert budget.spent.tau - before.tau == pytest.approx(rounding_tau(3, scale), rel=1e-12)
    assert noise.events[1][-1] == budget.spent
    assert budget.spent == whole.step.loss


@given(
    shares=st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6),
    extra=st.lists(st.integers(1, 5), min_size=6, max_size=6),
    order=st.permutations(range(6)),
)
@settings(deadline=None)
def test_what_was_spent_is_what_the_steps_add_up_to_to_the_bit(
    shares: list[float], extra: list[int], order: list[int]
) -> None:
    """In the order in which the steps were begun, as a certificate lists them."""
    budget, noise = open_filter(GAUSSIAN, coordinates=100), RecordingNoise()
    rounds = [first_round(budget, noise, 1, 2, share=share / sum(shares)) for share in shares]
    for place in order:
        if place < len(rounds):
            rounds[place] = go_on(rounds[place], budget, noise, *range(extra[place]))
    assert budget.spent == sum((measurement.step.loss for measurement in rounds), Loss())
    assert budget.spent.delta(1.0) <= 1e-6


def test_a_selection_between_the_rounds_is_charged_beside() -> None:
    budget, noise = open_filter(GAUSSIAN), RecordingNoise()
    first = first_round(budget, noise, 1)
    choice = select([1, 2], 1, budget=budget, share=0.5, noise=noise, label="between")
    whole = go_on(first, budget, noise, 2)
    assert budget.spent == whole.step.loss + choice.step.loss
    with pytest.raises(BudgetError):
        first_round(budget, noise, 1, share=1e-3)


def test_more_numbers_than_were_reserved_are_refused_and_may_be_asked_for_again() -> None:
    budget, noise = open_filter(GAUSSIAN, coordinates=10), RecordingNoise()
    first = first_round(budget, noise, 1)
    before = budget.spent
    with pytest.raises(BudgetError, match="'round two' needs more than is left"):
        go_on(first, budget, noise, *[0] * 40)
    assert (budget.spent, len(noise.events)) == (before, 1)
    assert len(go_on(first, budget, noise, 0, 0).integers) == 3


# Once.


def test_a_measurement_is_resumed_once() -> None:
    budget, noise = open_filter(GAUSSIAN, coordinates=100), RecordingNoise()
    first = first_round(budget, noise, 1)
    go_on(first, budget, noise, 2)
    spent = budget.spent
    with pytest.raises(PrivacyError, match="was resumed before"):
        go_on(first, budget, noise, 3)
    with pytest.raises(PrivacyError, match="was resumed before"):
        go_on(replace(first, integers=integers(9)), budget, noise, 3)
    assert (budget.spent, len(noise.events)) == (spent, 2)


def test_what_comes_back_may_be_resumed_in_turn() -> None:
    budget, noise = open_filter(GAUSSIAN, coordinates=100), RecordingNoise()
    second = go_on(first_round(budget, noise, 1), budget, noise, 2, 3)
    third = go_on(second, budget, noise, 4)
    assert third.values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert budget.spent == third.step.loss
    for earlier in (second, second):
        with pytest.raises(PrivacyError, match="was resumed before"):
            go_on(earlier, budget, noise, 5)


def test_an_equal_step_is_not_the_same_step() -> None:
    """Two measurements of the same numbers at the same price, and a copy of one: each goes on by itself, or not."""
    budget, noise = open_filter(GAUSSIAN, coordinates=100), RecordingNoise()
    one, two = (first_round(budget, noise, 1) for _ in range(2))
    assert one.step == two.step
    with pytest.raises(PrivacyError, match="not made within this budget"):
        go_on(replace(one, step=replace(one.step)), budget, noise, 2)
    go_on(one, budget, noise, 2)
    with pytest.raises(PrivacyError):
        go_on(one, budget, noise, 3)
    go_on(two, budget, noise, 2)
    assert budget.spent.mu_squared == pytest.approx(budget.total.mu_squared)


def test_of_threads_that_resume_one_measurement_one_wins() -> None:
    budget, noise, start = open_filter(GAUSSIAN, coordinates=1000), RecordingNoise(), threading.Barrier(8)
    first = first_round(budget, noise, 1)

    def races(number: int) -> bool:
        start.wait()
        try:
            go_on(first, budget, noise, number)
        except PrivacyError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(races, range(8))) == 1
    assert len(noise.events) == 2


# Refusals: nothing is spent, nothing is drawn.


@dataclass(frozen=True, kw_only=True)
class Refusal:
    error: type[KerneleaseError]
    message: str
    privacy: Privacy = GAUSSIAN
    sensitivity: Sensitivity = UNIT
    whole: Sensitivity = UNIT
    earlier: Callable[[Measurement], Measurement] = lambda measurement: measurement
    elsewhere: bool = False  # the budget is another one
    private: bool = False
    more: tuple[int, ...] = (1,)


ADD_UNIT = replace(UNIT, neighbours=Neighbours.ADD_REMOVE)
REFUSALS = [
    Refusal(error=PrivacyError, message="Only a Gaussian measurement", privacy=PURE),
    Refusal(error=PrivacyError, message="was charged for", whole=replace(UNIT, l2=1.0 + 1e-15)),
    Refusal(error=PrivacyError, message="was charged for", whole=replace(UNIT, l2=2.0)),
    Refusal(error=PrivacyError, message="can't be used for a guarantee under", whole=ADD_UNIT),
    Refusal(error=PrivacyError, message="can't be used for a guarantee under", privacy=ADD, sensitivity=ADD_UNIT),
    Refusal(error=PrivacyError, message="noise of its own kind", private=True),
    Refusal(error=PrivacyError, message="not made within this budget", elsewhere=True),
    Refusal(
        error=PrivacyError,
        message="not made within this budget",
        earlier=lambda _: a_measurement(1, law=Law.GAUSSIAN, scale=1.0, bits=40, private=False),
    ),
    Refusal(error=ParameterError, message="at least one more coordinate", more=()),
]


@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal.message for refusal in REFUSALS])
def test_refusals(refusal: Refusal) -> None:
    budget, noise = open_filter(refusal.privacy), RecordingNoise()
    first = refusal.earlier(first_round(budget, noise, 5, sensitivity=refusal.sensitivity))
    used = open_filter(refusal.privacy) if refusal.elsewhere else budget
    before = used.spent
    noise.private = refusal.private
    with pytest.raises(refusal.error, match=refusal.message) as caught:
        go_on(first, used, noise, *refusal.more, whole=refusal.whole)
    assert type(caught.value) is refusal.error
    assert (used.spent, len(noise.events)) == (before, 1)


@pytest.mark.parametrize("spends", [lambda budget, loss: budget.spend(loss, label="a step that can't go on")])
def test_what_was_not_declared_resumable_is_not(spends: Any) -> None:
    budget = open_filter(GAUSSIAN)
    step = Step(law=Law.GAUSSIAN, coordinates=1, sensitivity=1.0, scale=100.0, bits=40)
    spends(budget, step.loss)
    with pytest.raises(PrivacyError, match="not made within this budget"):
        budget.resume(step, replace(step, coordinates=2), label="a test")
    assert budget.spent == step.loss
