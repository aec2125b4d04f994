"""Steps taken again: the same for an honest release, and others where something else went in."""

import dataclasses

import numpy as np
import pytest

import kernelease as ke
from kernelease.bundle.verify import alike
from kernelease.errors import ParameterError
from kernelease.fit.solver import PublishedRows
from kernelease.measured import NoisyEmbeddings
from kernelease.methods.retracing import retrace
from kernelease.seeds import PublicSeed
from kernelease.table.domains import VectorDomain

KERNEL = ke.kernels.Gaussian(lengthscale=1.0)
PRIVACY = ke.Privacy(epsilon=2.0, delta=1e-6)
ROWS = np.random.default_rng(0).normal(size=(40, 2))
POINTS = ke.fit.NormalPoints(dimension=2, scale=2.0)
METHOD = ke.Subspace(points=POINTS, count=5)


def measured(method: ke.methods.Method, privacy: ke.Privacy = PRIVACY) -> NoisyEmbeddings:
    release = ke.measure(ROWS, kernel=KERNEL, method=method, privacy=privacy)
    assert isinstance(release.measured, NoisyEmbeddings)
    return release.measured


def again(
    method: ke.methods.Method, numbers: NoisyEmbeddings, *, seed: int = 0, privacy: ke.Privacy = PRIVACY
) -> object:
    return retrace(method, numbers, domain=VectorDomain(KERNEL), privacy=privacy, seed=PublicSeed(seed))[0]


def test_an_honest_method_takes_the_same_steps() -> None:
    numbers = measured(METHOD)
    assert alike(again(METHOD, numbers), numbers)
    published = ke.Subspace(points=PublishedRows(4))
    numbers = measured(published)
    assert alike(again(published, numbers), numbers)


def test_a_warning_is_not_repeated() -> None:
    weak = ke.Privacy(epsilon=2.0, delta=0.1)
    with pytest.warns(UserWarning, match="1/N"):
        numbers = measured(METHOD, weak)
    assert alike(again(METHOD, numbers, privacy=weak), numbers)


def test_another_seed_guarantee_or_setting_shows() -> None:
    numbers = measured(METHOD)
    assert not alike(again(METHOD, numbers, seed=1), numbers)
    assert not alike(again(METHOD, numbers, privacy=ke.Privacy(epsilon=3.0, delta=1e-6)), numbers)
    with pytest.raises(ParameterError, match="other vectors"):
        again(ke.Subspace(points=POINTS, count=9), numbers)
    with pytest.raises(ParameterError, match="more noisy numbers than the method draws"):
        again(METHOD, dataclasses.replace(numbers, stages=(*numbers.stages, *numbers.stages)))
