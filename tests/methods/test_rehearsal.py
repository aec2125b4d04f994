"""Rehearsals fail where the release would, and touch nothing."""

import math

import numpy as np
import pytest

from kernelease.errors import CapacityError
from kernelease.methods.method import rehearse_measurement, rehearse_selection
from kernelease.privacy import Law, Neighbours, Privacy
from tests.fit.embeddings import waves
from tests.methods.stand_ins import STRONG
from tests.privacy.toys import OneHot


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(("delta", "law"), [(1e-6, Law.GAUSSIAN), (0.0, Law.LAPLACE)])
def test_a_rehearsal_is_a_silent_measurement(neighbours: Neighbours, delta: float, law: Law) -> None:
    phi = waves(20)
    silent = rehearse_measurement(phi, Privacy(epsilon=1.0, delta=delta, neighbours=neighbours))
    assert silent.mean.tolist() == [0.0] * 20
    assert silent.measurement.step.law is law
    assert not silent.private
    if law is Law.GAUSSIAN and neighbours is Neighbours.REPLACE_ONE:
        assert silent.sigma == pytest.approx(2.0 / 0.23668, rel=1e-3)  # of one row


@pytest.mark.parametrize(
    "privacy", [Privacy(epsilon=1.0, delta=1e-6), Privacy(epsilon=1.0, delta=0.0)], ids=["Gaussian", "Laplace"]
)
def test_noise_that_no_sampler_draws_is_found_out(privacy: Privacy) -> None:
    with pytest.raises(CapacityError, match="scale must be at most"):
        rehearse_measurement(OneHot(categories=3, units=2**60), privacy)


def test_a_selection_is_rehearsed_at_its_scale() -> None:
    rehearse_selection(1000, Privacy(epsilon=1.0, delta=0.0))
    with pytest.raises(CapacityError, match="scale must be at most"):
        rehearse_selection(2**60, Privacy(epsilon=1.0, delta=0.0))


def test_estimates_of_nothing_are_finite() -> None:
    silent = rehearse_measurement(waves(20), STRONG)
    assert math.isfinite(silent.noise_floor)
    assert np.isfinite(silent.mean).all()
