"""Frequent values: nothing that one row alone holds is named, but with the probability that δ pays for."""

import math

import numpy as np
import pyarrow as pa
import pytest

from kernelease.errors import BudgetError, ParameterError
from kernelease.privacy import Charge, MemoryLedger, Neighbours, Privacy, SeededNoise, SystemNoise
from kernelease.privacy.frequent import LONGEST, MOST_VALUES, frequent_values, threshold

CAP = Privacy(epsilon=5.0, delta=1e-3)
ASKED = Privacy(epsilon=1.0, delta=1e-6)
TABLE = pa.record_batch({"town": ["Ulm"] * 400 + ["Bonn"] * 300 + ["Rare"], "n": list(range(701))})


def named(batches, columns=("town",), privacy=ASKED, noise=None, ledger=None):
    books = MemoryLedger(CAP) if ledger is None else ledger
    return frequent_values(batches, columns, privacy=privacy, ledger=books, noise=noise or SystemNoise())


def test_what_many_rows_hold_is_named_in_alphabetical_order():
    assert named([TABLE.slice(0, 500), TABLE.slice(500)]) == {"town": ("Bonn", "Ulm")}


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 0.1), (5.0, 1e-9), (20.0, 1e-3)])
def test_a_value_of_one_row_passes_with_at_most_its_share_of_delta(neighbours, epsilon, delta):
    """The tail of the discrete Laplace law, P(X ≥ k) = e^{−k/b}/(1 + e^{−1/b}), in closed form."""
    scale = (1.0 if neighbours is Neighbours.ADD_REMOVE else 2.0) / epsilon
    least = threshold(scale, epsilon, delta)
    tail = math.exp(-(least - 1) / scale) / (1.0 + math.exp(-1.0 / scale))
    assert tail <= delta / (1.0 + math.exp(epsilon))
    lower = max(0.0, least - 2 - scale)
    assert math.exp(-lower / scale) > delta / (1.0 + math.exp(epsilon)), "a threshold this high would cost utility"


@pytest.mark.statistical
def test_rare_values_are_named_as_seldom_as_promised():
    """20,000 values of one row each, at a δ so large that some pass. False alarm: a Poisson tail of 1e-6."""
    least = threshold(2.0, 1.0, 0.1)
    drawn = SystemNoise().laplace(2.0, 20_000)
    passing = int((1 + drawn >= least).sum())
    expected = 20_000 * 0.1 / (1 + math.e)
    assert passing <= expected + 5 * math.sqrt(expected)
    twin = int((1 + drawn >= least - 3).sum())  # a threshold too low by 3 is caught
    assert twin > expected + 5 * math.sqrt(expected)


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
        def laplace(self, scale, size):
            events.append(("noise", size))
            return super().laplace(scale, size)

    named([TABLE], columns=("town", "n"), ledger=Books(), noise=Noise(0))
    assert events[0] == ("charge", pytest.approx(1e-6))
    assert [event for event, _ in events] == ["charge", "noise", "noise"]


def test_a_ledger_that_does_not_allow_it_refuses_and_nothing_is_drawn():
    for cap in (Privacy(epsilon=5.0), Privacy(epsilon=5.0, delta=1e-6)):  # no δ at all; δ/100 is too little
        with pytest.raises(BudgetError, match="Nothing was spent"):
            named([TABLE], ledger=MemoryLedger(cap), noise=object())


@pytest.mark.parametrize(("columns", "privacy"), [((), ASKED), (("town",), Privacy(epsilon=1.0))])
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
