"""One release's budget: charged when it opens, then taken apart in shares."""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import BudgetError, ParameterError
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import Loss, Neighbours, Privacy, PrivacyFilter, Sensitivity
from kernelease.privacy.mechanisms import measure
from kernelease.privacy.sensitivity import ROWS
from tests.privacy.toys import RecordingLedger, RecordingNoise, open_filter

GAUSSIAN = Privacy(epsilon=1.0, delta=1e-6)
PURE = Privacy(epsilon=1.0, delta=0.0)
SENSITIVITY = Sensitivity(l2=1.0, l1=1.0, neighbours=Neighbours.REPLACE_ONE)


def take(budget: PrivacyFilter, share: float, noise: RecordingNoise) -> None:
    exact = np.array([5], dtype=object)
    measure(exact, SENSITIVITY, budget=budget, share=share, noise=noise, label="a test")


@pytest.mark.parametrize("privacy", [GAUSSIAN, PURE], ids=repr)
@pytest.mark.parametrize("shares", [[1.0], [0.1] * 10, [1 / 3] * 3, [0.7, 0.2, 0.1], [1 / 49] * 49, [0.001] * 1000])
def test_shares_that_add_up_to_one_are_accepted(privacy: Privacy, shares: list[float]) -> None:
    budget, noise = open_filter(privacy, coordinates=len(shares)), RecordingNoise()
    for share in shares:
        take(budget, share, noise)
    assert len(noise.events) == len(shares)
    with pytest.raises(BudgetError, match="Nothing was drawn"):
        take(budget, 1e-4, noise)
    assert len(noise.events) == len(shares)


@pytest.mark.parametrize("privacy", [GAUSSIAN, PURE], ids=repr)
def test_shares_beyond_one_are_refused_before_any_noise(privacy: Privacy) -> None:
    budget, noise = open_filter(privacy), RecordingNoise()
    take(budget, 0.9, noise)
    before = budget.spent
    with pytest.raises(BudgetError, match="'a test' needs more than is left"):
        take(budget, 0.1001, noise)
    assert len(noise.events) == 1
    assert budget.spent == before
    take(budget, 0.1, noise)  # the refused step took nothing


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=12), st.booleans())
@settings(deadline=None)
def test_what_was_spent_never_passes_the_promise(weights: list[float], pure: bool) -> None:
    """Any split of the whole is accepted, and costs no more than (ε, δ) up to the rounding that the noise covers."""
    privacy = PURE if pure else GAUSSIAN
    budget = open_filter(privacy, coordinates=len(weights))
    for weight in weights:
        take(budget, weight / sum(weights), RecordingNoise())
    assert budget.spent.delta(privacy.epsilon * (1 + 1e-12)) <= privacy.delta * (1 + 1e-9)


def test_the_ledger_is_charged_before_any_noise_and_the_filter_before_each() -> None:
    events: list[object] = []
    ledger, noise = RecordingLedger(GAUSSIAN, events), RecordingNoise(events=events)
    budget = PrivacyFilter.open(GAUSSIAN, ledger=ledger, subject=ROWS, coordinates=8, purpose="a release")
    noise.budget = budget
    take(budget, 0.25, noise)
    take(budget, 0.75, noise)
    charged, first, second = events
    assert charged.loss == budget.total == GAUSSIAN.total(8)
    assert charged.purpose == "a release"
    spent = [event[-1].mu_squared / budget.total.mu_squared for event in (first, second)]
    assert spent == pytest.approx([0.25, 1.0])


def test_a_refused_charge_opens_no_filter() -> None:
    ledger = MemoryLedger(Privacy(epsilon=0.5, delta=1e-6))
    with pytest.raises(BudgetError):
        PrivacyFilter.open(GAUSSIAN, ledger=ledger, subject=ROWS, coordinates=1, purpose="a test")
    assert ledger.entries == []


def test_the_receipt_is_the_ledgers() -> None:
    ledger = MemoryLedger(GAUSSIAN)
    budget = PrivacyFilter.open(GAUSSIAN, ledger=ledger, subject=ROWS, coordinates=1, purpose="a test")
    assert ledger.entries == [budget.receipt]
    assert budget.spent == Loss()


@pytest.mark.parametrize("coordinates", [0, -1])
def test_a_filter_needs_coordinates(coordinates: int) -> None:
    with pytest.raises(ParameterError, match="coordinates must be at least 1"):
        PrivacyFilter.open(
            GAUSSIAN, ledger=MemoryLedger(GAUSSIAN), subject=ROWS, coordinates=coordinates, purpose="a test"
        )


def test_more_numbers_than_were_reserved_are_refused() -> None:
    """A number's τ lies between a quarter of what is reserved for it and the whole, so four times as many never fit."""
    budget, noise = open_filter(GAUSSIAN, coordinates=10), RecordingNoise()
    with pytest.raises(BudgetError):
        measure(np.zeros(41, dtype=object), SENSITIVITY, budget=budget, share=0.5, noise=noise, label="a test")
    assert noise.events == []
    measure(np.zeros(10, dtype=object), SENSITIVITY, budget=budget, share=0.5, noise=noise, label="a test")


def test_a_pure_filter_takes_no_other_step() -> None:
    budget = open_filter(PURE)
    for loss in (Loss.gaussian(1e-6), Loss.approximate(0.1, 1e-9)):
        with pytest.raises(BudgetError):
            budget.spend(loss, label="a test")
    assert budget.spent == Loss()


def test_a_gaussian_filter_takes_a_pure_step_at_the_price_of_its_mu() -> None:
    budget = open_filter(Privacy(epsilon=3.0, delta=1e-6))
    loss = Loss.pure(0.3)
    budget.spend(loss, label="a test")
    assert budget.spent.mu_squared == loss.mu_squared
    with pytest.raises(BudgetError):
        budget.spend(Loss.approximate(0.1, 1e-12), label="a test")


class SlowLoss:
    """Six tenths of the total, read so slowly that threads without a lock would all see the same filter."""

    delta_zero = tau = 0.0
    pure_epsilon = math.inf

    def __init__(self, total: Loss) -> None:
        self._total = total

    @property
    def mu_squared(self) -> float:
        time.sleep(0.02)
        return 0.6 * self._total.mu_squared


def test_of_threads_that_race_for_the_last_share_one_wins() -> None:
    budget, start = open_filter(GAUSSIAN), threading.Barrier(4)
    with ThreadPoolExecutor(4) as pool:
        wins = list(pool.map(lambda _: spends_most(budget, start), range(4)))
    assert sum(wins) == 1
    assert budget.spent.mu_squared == 0.6 * budget.total.mu_squared


def spends_most(budget: PrivacyFilter, start: threading.Barrier) -> bool:
    start.wait()
    try:
        budget.spend(SlowLoss(budget.total), label="a race")
    except BudgetError:
        return False
    return True


def test_what_is_added_outright_has_its_part_of_delta_and_no_more() -> None:
    ledger = MemoryLedger(GAUSSIAN)
    with pytest.raises(ParameterError, match="what is added outright"):
        opened(ledger, Loss(delta_zero=0.01 * GAUSSIAN.delta))
    assert ledger.entries == []
    budget = opened(ledger, Loss(delta_zero=0.009 * GAUSSIAN.delta))
    assert budget.total.delta(GAUSSIAN.epsilon) <= GAUSSIAN.delta
    assert ledger.spent() == budget.total


def opened(ledger: MemoryLedger, outright: Loss) -> PrivacyFilter:
    return PrivacyFilter.open(GAUSSIAN, ledger=ledger, subject=ROWS, coordinates=1, purpose="a test", outright=outright)
