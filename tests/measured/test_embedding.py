"""The public side: what is known about a noisy embedding."""

import math

import pytest

import kernelease.measured
from kernelease.measured import NoisyEmbedding
from kernelease.privacy import Law, Neighbours
from tests.privacy.toys import OneHot, a_measurement


def noisy(law: Law = Law.GAUSSIAN, private: bool = True, rows: float = 10.0) -> NoisyEmbedding:
    measurement = a_measurement(20, 40, 60, 80, bits=1, law=law, scale=4.0, private=private)
    return NoisyEmbedding(
        feature_map=OneHot(categories=4, units=2),
        measurement=measurement,
        neighbours=Neighbours.REPLACE_ONE,
        rows=rows,
    )


def test_the_mean_is_the_sum_by_rows() -> None:
    assert noisy().mean.tolist() == [0.5, 1.0, 1.5, 2.0]
    assert noisy(rows=1.0).mean.tolist() == [5.0, 10.0, 15.0, 20.0]


def test_sigma_is_in_units_of_the_mean() -> None:
    assert noisy().sigma == pytest.approx(4.0 * 0.5 / 10)
    assert noisy(Law.LAPLACE).sigma == pytest.approx(4.0 * math.sqrt(2.0) * 0.5 / 10, rel=0.01)


def test_the_noise_floor_is_the_expected_length_of_the_noise() -> None:
    assert noisy().noise_floor == pytest.approx(noisy().sigma * 2.0)


@pytest.mark.parametrize(
    ("law", "private", "text"),
    [
        (Law.GAUSSIAN, True, "NoisyEmbedding(4 coordinates, Gaussian noise 0.2 each)"),
        (Law.GAUSSIAN, False, "NoisyEmbedding(4 coordinates, Gaussian noise 0.2 each, NOT PRIVATE)"),
        (Law.LAPLACE, True, "NoisyEmbedding(4 coordinates, Laplace noise 0.283 each)"),
    ],
)
def test_it_says_what_its_noise_is(law: Law, private: bool, text: str) -> None:
    assert repr(noisy(law, private)) == text
    assert noisy(law, private).private is private


def test_the_package_offers_no_private_side() -> None:
    assert not any(name.startswith("Exact") for name in kernelease.measured.__all__)
