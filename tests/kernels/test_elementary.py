"""exp and log: accuracy against 50-digit arithmetic, and the same bits wherever an element stands."""

import decimal
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernelease.arrays import Floats
from kernelease.kernels import elementary
from kernelease.kernels.elementary import (
    EXP_CUTOFF,
    EXP_ERROR,
    LOG_ERROR,
    exp_negative,
    exp_negative_in_place,
    log_positive,
)

CONTEXT = decimal.Context(prec=50)
RNG = np.random.default_rng(0)
EXPONENTS = np.concatenate(
    [
        RNG.uniform(0, 64, 1500),
        10.0 ** RNG.uniform(-20, 1.8, 1500),
        np.arange(0, 4096, 3) / 64,
        np.nextafter(np.arange(1, 4097, 3) / 64, 0),
        [0.0, 5e-324, 1e-308, np.nextafter(64.0, 0.0)],
    ]
)
POSITIVE = np.concatenate(
    [
        1 + RNG.random(1000),
        1 + 10.0 ** RNG.uniform(-16, 0, 1000),
        1 - 10.0 ** RNG.uniform(-16, -1, 1000),
        np.exp(RNG.uniform(-700, 700, 1000)),
        np.arange(64, 129) / 128,
        np.nextafter(np.arange(64, 129) / 128, 0),
        [1.0, 2.0, 5e-324, 2.2e-308, 1e308, 1.7976931348623157e308],
    ]
)


def test_exp_is_accurate() -> None:
    for t, value in zip(EXPONENTS.tolist(), exp_negative(EXPONENTS).tolist(), strict=True):
        exact = CONTEXT.exp(-Decimal(t))
        assert abs(Decimal(value) - exact) <= Decimal(EXP_ERROR) * exact


def test_exp_is_zero_beyond_the_cutoff() -> None:
    assert exp_negative(np.array([EXP_CUTOFF, 65.0, 1e308, np.inf])).tolist() == [0.0] * 4
    assert np.exp(-EXP_CUTOFF) < EXP_ERROR


def test_exp_of_zero_is_one_and_never_more() -> None:
    assert exp_negative(np.zeros(3)).tolist() == [1.0] * 3
    assert exp_negative(EXPONENTS).max() <= 1.0


def test_log_is_accurate() -> None:
    for y, value in zip(POSITIVE.tolist(), log_positive(POSITIVE).tolist(), strict=True):
        exact = CONTEXT.ln(Decimal(y))
        assert abs(Decimal(value) - exact) <= Decimal(LOG_ERROR) * (1 + abs(exact))


def test_log_of_one_is_zero_and_above_it_never_negative() -> None:
    assert log_positive(np.ones(1)).item() == 0.0
    assert (log_positive(1.0 + np.arange(5000) * 2.0**-52) >= 0.0).all()


@pytest.mark.parametrize(("function", "values"), [(exp_negative, EXPONENTS), (log_positive, POSITIVE)])
def test_a_value_does_not_depend_on_its_place(function, values: Floats) -> None:
    whole = function(values)
    order = RNG.permutation(len(values))
    assert function(values[order]).tobytes() == whole[order].tobytes()
    assert function(values[::3]).tobytes() == whole[::3].tobytes()
    assert function(values[::-1]).tobytes() == whole[::-1].tobytes()
    assert function(np.asfortranarray(values[:4000].reshape(40, 100))).ravel().tobytes() == whole[:4000].tobytes()
    for length in range(1, 40):
        assert function(values[1 : 1 + length].copy()).tobytes() == whole[1 : 1 + length].tobytes()


def test_exp_in_place_is_the_same_and_leaves_its_argument_otherwise() -> None:
    t = EXPONENTS.copy()
    expected = exp_negative(t)
    assert t.tobytes() == EXPONENTS.tobytes()
    exp_negative_in_place(t, np.empty_like(t))
    assert t.tobytes() == expected.tobytes()


def test_tables_do_not_depend_on_the_callers_decimal_context() -> None:
    with decimal.localcontext(decimal.Context(prec=3, rounding=decimal.ROUND_UP)):
        exp_values, log_table = elementary.exp_table.__wrapped__(), elementary._log_table.__wrapped__()
    assert exp_values.tobytes() == elementary.exp_table().tobytes()
    assert log_table[0].tobytes() == elementary._log_table()[0].tobytes()
    assert log_table[1].tobytes() == elementary._log_table()[1].tobytes()


@given(st.floats(0, 1e308), st.floats(0, 1e308))
def test_exp_falls(a: float, b: float) -> None:
    low, high = exp_negative(np.array(sorted([a, b])))
    assert high <= low * (1 + 2 * EXP_ERROR)
