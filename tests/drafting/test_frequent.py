"""Frequent values: nothing that one row alone holds is named, but with the probability that δ pays for."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import ndtr

from kernelease.drafting.bounds import LONGEST, MOST_VALUES, NAMING_SHARE, frequent_values, threshold
from kernelease.errors import BudgetError, ParameterError
from kernelease.ledgers import MemoryLedger
from kernelease.noises import SeededNoise
from kernelease.privacy import Charge, Neighbours, Privacy, SystemNoise

CAP = Privacy(epsilon=5.0, delta=1e-3)
ASKED = Privacy(epsilon=1.0, delta=1e-6)
TABLE = pa.record_batch({"town": ["Ulm"] * 400 + ["Bonn"] * 300 + ["Rare"], "n": list(range(701))})


def named(batches, columns=("town",), privacy=ASKED, noise=None, ledger=None):
    books = MemoryLedger(CAP) if ledger is None else ledger
    return frequent_values(batches, columns, privacy=privacy, ledger=books, noise=noise or SystemNoise())


def test_what_many_rows_hold_is_named_in_alphabetical_order():
    assert named([TABLE.slice(0, 500), TABLE.slice(500)]) == {"town": ("Bonn", "Ulm")}


@pytest.mark.parametrize("sigma", [0.5, 3.0, 100.0, 1e5])
@pytest.mark.parametrize("chance", [1e-300, 1e-12, 1e-6, 1e-3])
def test_a_value_of_one_row_passes_with_at_most_its_chance(sigma, chance):
    """The tail of the discrete Gaussian on a grid of 2^35 steps is that of the Gaussian, to nine digits."""
    least = threshold(sigma, chance)
    assert ndtr(-(least - 1) / sigma) <= chance
    assert math.exp(-(((least - 2) / sigma) ** 2) / 2) > chance, "a threshold this high would cost utility"


@pytest.mark.statistical
def test_rare_values_are_named_as_seldom_as_promised():
    """20,000 values of one row each, at a chance so large that some pass. False alarm: a Poisson tail of 1e-6."""
    chance, sigma = 0.01, 10.0
    drawn = SystemNoise().gaussian(sigma * 2.0**32, 20_000) / 2.0**32
    expected = 20_000 * chance
    assert int((1 + drawn >= threshold(sigma, chance)).sum()) <= expected + 5 * math.sqrt(expected)
    twin = int((1 + drawn >= threshold(sigma, chance) / 2).sum())  # a threshold of half the height is caught
    assert twin > expected + 5 * math.sqrt(expected)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("columns", [("town",), ("town", "n")])
def test_the_price_is_that_of_a_gaussian_release_and_a_small_share_of_delta(neighbours, columns):
    asked = Privacy(epsilon=1.0, delta=1e-6, neighbours=neighbours)
    ledger = MemoryLedger(asked)
    named([TABLE], columns=columns, privacy=asked, ledger=ledger)
    spent, total = ledger.spent(), asked.total(2 * len(columns))
    assert spent.delta_zero == pytest.approx(NAMING_SHARE * 1e-6)
    assert (spent.mu_squared, spent.tau, spent.pure_epsilon) == (total.mu_squared, total.tau, math.inf)
    assert spent.delta(1.0) <= 1e-6


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1e-4, 0.1), (0.1, 1e-6), (1.0, 0.5), (20.0, 1e-9), (1000.0, 1e-9)])
def test_what_the_columns_spend_is_what_was_charged(columns, epsilon, delta):
    """Nothing is refused after the ledger was charged."""
    privacy = Privacy(epsilon=epsilon, delta=delta)
    batch = pa.record_batch({str(number): ["x"] for number in range(columns)})
    named([batch], columns=tuple(batch.schema.names), privacy=privacy, ledger=MemoryLedger(privacy))


def test_no_more_values_are_named_than_a_column_should_have():
    batch = pa.record_batch({"town": [f"{i:03d}" for i in range(300)] * 200})
    assert len(named([batch])["town"]) == MOST_VALUES


def test_the_ledger_is_charged_before_noise_is_drawn():
    events = []

    class Books:
        cap = CAP

        def charge(self, charge: Charge):
            events.append(("charge", charge.loss.delta_zero))

        def spent(self):
            raise AssertionError

    class Noise(SeededNoise):
        def gaussian(self, scale, size):
            events.append(("noise", size))
            return super().gaussian(scale, size)

    named([TABLE], columns=("town", "n"), ledger=Books(), noise=Noise(0))
    assert events[0] == ("charge", pytest.approx(2e-9))
    assert [event for event, _ in events] == ["charge", "noise", "noise"]


def test_a_ledger_that_does_not_allow_it_refuses_and_nothing_is_drawn():
    for cap in (
        Privacy(epsilon=5.0, delta=0.0),
        Privacy(epsilon=5.0, delta=1e-7),
    ):  # no δ at all; 0.9 % of it is too little
        with pytest.raises(BudgetError, match="Nothing was spent"):
            named([TABLE], ledger=MemoryLedger(cap), noise=object())


@pytest.mark.parametrize(("columns", "privacy"), [((), ASKED), (("town",), Privacy(epsilon=1.0, delta=0.0))])
def test_it_needs_columns_and_a_delta(columns, privacy):
    with pytest.raises(ParameterError, match="delta above 0"):
        named([TABLE], columns=columns, privacy=privacy)


def test_no_cell_raises_and_only_texts_count():
    long, odd = "x" * (LONGEST + 1), "a\udc80b"
    batch = pa.record_batch(
        {
            "long": [long] * 500,
            "null": pa.array([None] * 500, pa.string()),
            "empty": [""] * 500,
            "dictionary": pa.array(["d"] * 500).dictionary_encode(),
            "number": np.arange(500),
        }
    )
    assert odd not in named([batch], columns=tuple(batch.schema.names))["long"]
    assert named([batch], columns=tuple(batch.schema.names)) == {
        "long": (),
        "null": (),
        "empty": (),
        "dictionary": ("d",),
        "number": (),
    }
