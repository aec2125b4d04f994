"""Every map passes the conformance suite, and every broken twin fails it with a sentence that names the reason."""

import math
from typing import Any

import numpy as np
import pytest

from kernelease.arrays import Integers, Rows
from kernelease.conformance import check_feature_map
from kernelease.errors import ParameterError
from kernelease.features import FeatureMap, Fourier, HashedNgrams, OneHot
from kernelease.kernels import Gaussian
from kernelease.seeds import PublicSeed
from tests.features.broken_maps import Altered, MatrixProductPhases, OffsetCosines
from tests.features.table import CASES, NUMBERS, TEXTS, Case

GOOD = Fourier.random(Gaussian(lengthscale=1.0), features=16, dimension=3, seed=PublicSeed(0))
GENERATOR = np.random.default_rng(1)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_map_conforms(case: Case) -> None:
    draws = [case.make(PublicSeed(seed)) for seed in range(1000, 1200)] if case.kernel else []
    for seed in range(3):
        check_feature_map(case.make(PublicSeed(seed)), case.rows, case.kernel, draws=draws, bias=case.bias)


def _waves(kind: type[OffsetCosines] | type[MatrixProductPhases], columns: int, scale: int, amplitude: float) -> Any:
    return kind(
        frequencies=GENERATOR.normal(size=(32, columns)),
        offsets=GENERATOR.uniform(0, math.tau, 32),
        scale=scale,
        amplitude=amplitude,
    )


def _centred(rows: Rows) -> Integers:
    integers = GOOD.integers(rows)
    return integers - integers[:1] // 2


def _in_layout(rows: Rows) -> Integers:
    return GOOD.integers(rows) // (2 if rows.flags.f_contiguous and len(rows) > 1 else 1)


def _raising(rows: Rows) -> Integers:
    for cell in rows[:, 0]:
        float(cell)
    return GOOD.integers(rows)


BROKEN: tuple[tuple[str, FeatureMap, str], ...] = (
    ("offset cosines", _waves(OffsetCosines, 3, 2**14, math.sqrt(2.0)), "norm_bound does not hold"),
    ("matrix-product phases", _waves(MatrixProductPhases, 3, 2**44, 1.0), "depend on that row alone"),
    ("Fourier of diameter √2", Altered(inner=GOOD, changes={"diameter": math.sqrt(2.0)}), "^diameter does not hold"),
    ("a map that sees the first row", Altered(inner=GOOD, changes={"integers": _centred}), "that row alone"),
    ("a map that sees the layout", Altered(inner=GOOD, changes={"integers": _in_layout}), "stored by columns"),
    ("a map that raises", Altered(inner=GOOD, changes={"integers": _raising}), "must not raise or warn"),
    ("a small L1 norm", Altered(inner=GOOD, changes={"norm_bound_l1": 3.0}), "norm_bound_l1 does not hold"),
    ("a small L1 diameter", Altered(inner=GOOD, changes={"diameter_l1": 4.0}), "diameter_l1 does not hold"),
    ("a step of zero", Altered(inner=GOOD, changes={"step": 0.0}), "step must be positive"),
    ("no features", Altered(inner=GOOD, changes={"dimension": 0}), "dimension must be a positive integer"),
    ("a wrong dimension", Altered(inner=GOOD, changes={"dimension": 17}), "must have shape"),
    ("floats", Altered(inner=GOOD, changes={"integers": lambda rows: GOOD.integers(rows) * 1.0}), "must be int64"),
    ("huge integers", Altered(inner=GOOD, changes={"integers": lambda rows: GOOD.integers(rows) << 30}), "below 2"),
    ("a wrong total", Altered(inner=GOOD, changes={"total": lambda rows: GOOD.total(rows[1:])}), "exact sum"),
    ("a wrong value", Altered(inner=GOOD, changes={"evaluate": lambda z: -GOOD.evaluate(z)}), "evaluate must be"),
    ("a wrong value shape", Altered(inner=GOOD, changes={"evaluate": lambda z: np.ones(3)}), "evaluate must have"),
)


@pytest.mark.parametrize(("twin", "sentence"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_twin_is_rejected(twin: FeatureMap, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_feature_map(twin, NUMBERS)


def test_the_unaltered_twin_passes() -> None:
    check_feature_map(Altered(inner=GOOD), NUMBERS)


def test_signed_hashing_can_not_claim_the_diameter_of_unsigned() -> None:
    signed = HashedNgrams(n=2, buckets=8, max_length=40, signed=True)
    twin = Altered(inner=signed, changes={"diameter": math.sqrt(2.0)})
    with pytest.raises(AssertionError, match="diameter does not hold"):
        check_feature_map(twin, TEXTS)


def test_a_map_of_another_kernel_is_rejected() -> None:
    kernel = Gaussian(lengthscale=1.5)
    draws = [Fourier.random(kernel, features=64, dimension=3, seed=PublicSeed(seed)) for seed in range(50)]
    check_feature_map(draws[0], NUMBERS, kernel, draws=draws)
    with pytest.raises(AssertionError, match="differs from k"):
        check_feature_map(draws[0], NUMBERS, Gaussian(lengthscale=2.0), draws=draws)


def test_a_kernel_needs_draws() -> None:
    with pytest.raises(ParameterError, match="at least 8 maps"):
        check_feature_map(GOOD, NUMBERS, Gaussian(lengthscale=1.0))


def test_no_rows_are_enough_for_adversarial_cells() -> None:
    check_feature_map(OneHot(("a",)), np.empty((0, 1)))
