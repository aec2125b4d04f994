from fractions import Fraction

from hypothesis import given, strategies as st

from kernelease.kernels.elementary import sqrt_above, step_below


@given(st.integers(1, 2**60))
def test_steps_are_rounded_down_by_less_than_a_few_ulps(square: int) -> None:
    step = Fraction(step_below(square))
    assert 1 - Fraction(1, 2**50) <= step**2 * square <= 1


@given(st.fractions(min_value=Fraction(1, 1000), max_value=2**60))
def test_bounds_are_rounded_up_by_less_than_a_few_ulps(square: Fraction) -> None:
    bound = Fraction(sqrt_above(square))
    assert square <= bound**2 <= square * (1 + Fraction(1, 2**50))
