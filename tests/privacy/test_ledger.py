"""The books: nothing beyond the cap is entered, nothing up to it is refused."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings, strategies as st

from kernelease.errors import BudgetError, ParameterError
from kernelease.ledgers import MemoryLedger, remaining_epsilon, remaining_in_words
from kernelease.privacy import Charge, Loss, Neighbours, Privacy, PrivacyFilter
from kernelease.privacy.ledger import counted_loss
from kernelease.privacy.sensitivity import ROWS

CAP = Privacy(epsilon=1.0, delta=1e-6)


def charge(loss: Loss, neighbours: Neighbours = Neighbours.REPLACE_ONE) -> Charge:
    return Charge(
        loss=loss, asked=Privacy(epsilon=1.0, delta=0.0, neighbours=neighbours), subject=ROWS, purpose="a test"
    )


def test_receipts_are_numbered_and_dated() -> None:
    ledger = MemoryLedger(CAP)
    one, two = (ledger.charge(charge(Loss.gaussian(0.01))) for _ in range(2))
    assert (one.number, two.number) == (1, 2)
    assert one.time.endswith("+00:00")
    assert ledger.entries == [one, two]
    assert ledger.spent().mu_squared == pytest.approx(2e-4)


def test_beyond_the_cap_is_refused_and_nothing_is_entered() -> None:
    ledger = MemoryLedger(CAP)
    ledger.charge(charge(Loss.gaussian(0.2)))
    before = (list(ledger.entries), ledger.spent())
    for loss in (Loss.gaussian(0.2), Loss.pure(1.0), Loss.approximate(0.0, 1e-6), Loss.gaussian(0.0, tau=1e-6)):
        with pytest.raises(BudgetError, match="would pass the cap"):
            ledger.charge(charge(loss))
    assert (ledger.entries, ledger.spent()) == before
    ledger.charge(charge(Loss.gaussian(0.1)))  # what was left is still there


@given(st.floats(1e-3, 20.0), st.floats(1e-12, 0.9), st.integers(1, 10**6))
@settings(max_examples=100, deadline=None)
def test_exactly_the_cap_is_accepted_and_nothing_after_it(epsilon: float, delta: float, coordinates: int) -> None:
    privacy = Privacy(epsilon=epsilon, delta=delta)
    ledger = MemoryLedger(privacy)
    PrivacyFilter.open(privacy, ledger=ledger, subject=ROWS, coordinates=coordinates, purpose="all of it")
    with pytest.raises(BudgetError):
        PrivacyFilter.open(privacy, ledger=ledger, subject=ROWS, coordinates=coordinates, purpose="all of it again")
    assert len(ledger.entries) == 1


@given(st.floats(1e-4, 1000.0))
@settings(deadline=None)
def test_exactly_a_pure_cap_is_accepted_and_nothing_after_it(epsilon: float) -> None:
    privacy = Privacy(epsilon=epsilon, delta=0.0)
    ledger = MemoryLedger(privacy)
    PrivacyFilter.open(privacy, ledger=ledger, subject=ROWS, coordinates=10**6, purpose="all of it")
    with pytest.raises(BudgetError):
        ledger.charge(charge(Loss.pure(epsilon * 1e-9)))


@pytest.mark.parametrize("mu", [1e-10, 0.02, 1.0])
def test_a_pure_cap_takes_no_gaussian_step_however_small(mu: float) -> None:
    with pytest.raises(BudgetError):
        MemoryLedger(Privacy(epsilon=1.0, delta=0.0)).charge(charge(Loss.gaussian(mu)))


# Two relations.


ADD_REMOVE = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)


def test_replace_one_steps_do_not_enter_an_add_remove_ledger() -> None:
    ledger = MemoryLedger(ADD_REMOVE)
    with pytest.raises(BudgetError, match="can't be converted"):
        ledger.charge(charge(Loss.gaussian(0.01), Neighbours.REPLACE_ONE))
    with pytest.raises(BudgetError, match="can't be converted"):
        PrivacyFilter.open(CAP, ledger=ledger, subject=ROWS, coordinates=1, purpose="a test")
    assert ledger.entries == []


def test_an_add_remove_step_counts_twice_in_a_replace_one_ledger() -> None:
    """Replacing a row is removing one and adding another: 2μ, and 2ε; τ belongs to each table alone."""
    ledger = MemoryLedger(CAP)
    ledger.charge(charge(Loss.gaussian(0.05, tau=1e-9), Neighbours.ADD_REMOVE))
    assert ledger.spent() == Loss.gaussian(0.1, tau=1e-9)
    with pytest.raises(BudgetError, match="would pass the cap"):
        ledger.charge(charge(Loss.gaussian(0.11), Neighbours.ADD_REMOVE))


@given(st.floats(0.0, 20.0))
@settings(deadline=None)
def test_a_pure_add_remove_step_counts_as_twice_its_epsilon(epsilon: float) -> None:
    counted = counted_loss(CAP, charge(Loss.pure(epsilon), Neighbours.ADD_REMOVE))
    assert counted.pure_epsilon == 2 * epsilon
    assert counted.mu_squared <= Loss.pure(2 * epsilon).mu_squared


def test_a_pure_add_remove_step_fills_half_of_a_replace_one_cap() -> None:
    ledger = MemoryLedger(Privacy(epsilon=1.0, delta=0.0))
    ledger.charge(charge(Loss.pure(0.5), Neighbours.ADD_REMOVE))
    with pytest.raises(BudgetError, match="nothing is left"):
        ledger.charge(charge(Loss.pure(0.001)))


def test_an_add_remove_step_with_a_delta_of_its_own_cannot_be_converted() -> None:
    with pytest.raises(BudgetError, match="can't be converted"):
        MemoryLedger(CAP).charge(charge(Loss.approximate(0.01, 1e-9), Neighbours.ADD_REMOVE))


# What is left.


@given(st.floats(0.05, 5.0), st.floats(1e-9, 1e-3), st.floats(0.0, 1.0), st.booleans())
@settings(max_examples=50, deadline=None)
def test_what_is_said_to_be_left_is_left_and_no_more(epsilon: float, delta: float, share: float, pure: bool) -> None:
    cap = Privacy(epsilon=epsilon, delta=0.0 if pure else delta)
    ledger = MemoryLedger(cap)
    total = cap.total(1)
    ledger.charge(charge(Loss.pure(share * epsilon) if pure else Loss.gaussian(share**0.5 * total.mu, tau=0.0)))
    left = remaining_epsilon(cap, ledger.spent())
    if left > 1e-6 * epsilon:
        more = Privacy(epsilon=min(epsilon * 2, left * 1.001), delta=cap.delta)
        if more.epsilon <= epsilon:
            with pytest.raises(BudgetError):
                PrivacyFilter.open(more, ledger=ledger, subject=ROWS, coordinates=1, purpose="more than what is left")
        PrivacyFilter.open(
            Privacy(epsilon=left, delta=cap.delta), ledger=ledger, subject=ROWS, coordinates=1, purpose="what is left"
        )


def test_what_is_left_in_words() -> None:
    assert (
        remaining_in_words(Privacy(epsilon=1.0, delta=0.0), Loss.pure(0.7))
        == "left: one release of epsilon up to 0.3 at delta = 0"
    )
    assert remaining_in_words(Privacy(epsilon=1.0, delta=0.0), Loss.pure(1.0)) == "nothing is left"


def test_a_cap_is_a_privacy() -> None:
    with pytest.raises(ParameterError, match="cap must be a Privacy, got tuple"):
        MemoryLedger((1.0, 1e-6))


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads take turns as often as they can, so that a missing lock shows."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("eager_threads")
@pytest.mark.slow
def test_of_threads_that_race_for_the_last_of_the_budget_one_wins() -> None:
    for _ in range(20):
        ledger, start = MemoryLedger(CAP), threading.Barrier(8)
        with ThreadPoolExecutor(8) as pool:
            wins = list(pool.map(lambda _, ledger=ledger, start=start: takes_all(ledger, start), range(8)))
        assert sum(wins) == 1
        assert len(ledger.entries) == 1


def takes_all(ledger: MemoryLedger, start: threading.Barrier) -> bool:
    start.wait()
    try:
        PrivacyFilter.open(CAP, ledger=ledger, subject=ROWS, coordinates=1, purpose="a race")
    except BudgetError:
        return False
    return True
