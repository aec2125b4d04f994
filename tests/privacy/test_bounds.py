"""Private bounds: which bin, what comes out, what it costs."""

import numpy as np
import pyarrow as pa
import pytest

from kernelease.errors import BudgetError, ParameterError
from kernelease.privacy import MemoryLedger, Neighbours, Privacy, SeededNoise
from kernelease.privacy.bounds import BINS, HIGHEST, LOWEST, Bounds, bins_of, private_bounds
from kernelease.privacy.ledger import remaining_epsilon

PURE, GAUSSIAN = Privacy(epsilon=1.0, delta=0.0), Privacy(epsilon=0.5, delta=1e-6)


def found(table, *, privacy=PURE, ledger=None, seed=0):
    return private_bounds(
        [pa.RecordBatch.from_pydict(dict(zip(table, table.values(), strict=True)))],
        tuple(table),
        privacy=privacy,
        ledger=MemoryLedger(privacy) if ledger is None else ledger,
        noise=SeededNoise(seed),
    )


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("neighbours", Neighbours)
def test_bounds_enclose_the_bulk_and_not_an_outlier(neighbours, delta):
    ages = np.append(np.random.default_rng(0).integers(18, 90, 5000), 10**9)
    debts = -np.random.default_rng(1).uniform(100.0, 900.0, 5001)
    debts[:2000] = 0.0
    answer = found(
        {"age": pa.array(ages), "debt": pa.array(debts), "name": pa.array(["x"] * 5001)},
        privacy=Privacy(epsilon=1.0, delta=delta, neighbours=neighbours),
    )
    assert answer == {"age": Bounds(low=16.0, high=128.0), "debt": Bounds(low=-1024.0, high=0.0), "name": None}


def test_every_cell_has_exactly_one_bin():
    cells = [0.0, -0.0, 1.0, -1.0, 5e-324, -1e-300, 1e308, float("inf"), float("-inf"), float("nan"), None]
    bins = bins_of(pa.array(cells))
    assert bins.min() >= 0
    assert bins.max() < BINS
    assert bins[0] == bins[1]
    assert bins[9] == bins[10] == BINS - 1
    assert len({bins[2], bins[3], bins[4], bins[5], bins[6], bins[8]}) == 6
    assert bins[6] == bins[7]


@pytest.mark.parametrize("array", [pa.array(["1", "x", ""]), pa.array([True, None]), pa.array([b"\xff"]), pa.nulls(2)])
def test_no_type_raises(array):
    assert len(bins_of(array)) == len(array)


@pytest.mark.parametrize("exponent", [LOWEST, -1, 0, 7, HIGHEST])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_column_of_one_value_is_enclosed_by_its_bin(exponent, sign):
    value = sign * 2.0**exponent
    (bounds,) = found({"x": pa.array([value] * 1000)}).values()
    assert bounds.low <= value <= bounds.high
    assert bounds.high - bounds.low <= 2.0 ** (exponent + 1)


@pytest.mark.parametrize("privacy", [PURE, GAUSSIAN])
def test_an_empty_column_has_none(privacy):
    # 200 runs with a false-alarm rate of 1 % each: more than 12 alarms have a probability below 1e-6.
    none = pa.array([], pa.float64())
    alarms = sum(found({"x": none}, privacy=privacy, seed=seed)["x"] is not None for seed in range(200))
    assert alarms <= 12


def test_beside_gaussian_releases_bounds_cost_what_one_of_them_does():
    """On a ledger of (2, 1e-6), ε = 0.5 at its δ leaves room for 1.91 more; a pure step of 0.5 left nothing."""
    ledger = MemoryLedger(Privacy(epsilon=2.0, delta=1e-6))
    found({"x": pa.array([1.0])}, privacy=GAUSSIAN, ledger=ledger)
    assert ledger.spent() == GAUSSIAN.total(BINS)
    assert remaining_epsilon(ledger.cap, ledger.spent()) == pytest.approx(1.915, abs=0.001)


def test_the_ledger_is_charged_in_full_before_noise():
    ledger = MemoryLedger(PURE)
    found({"x": pa.array([1.0])}, ledger=ledger)
    assert ledger.spent().pure_epsilon == 1.0
    with pytest.raises(BudgetError):
        found({"x": pa.array([1.0])}, ledger=ledger)


def test_refusals():
    with pytest.raises(ParameterError, match="no column"):
        private_bounds([], (), privacy=PURE, ledger=MemoryLedger(PURE), noise=SeededNoise(0))
