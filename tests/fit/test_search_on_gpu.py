"""Likelihoods on a GPU, for which arrays stand that mix with none of NumPy's: the same numbers as on the processor."""

import dataclasses
import types
from typing import Any

import numpy as np
import pytest

import kernelease as ke
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom
from kernelease.fit.gaussians import search_on_gpu
from kernelease.fit.gaussians.likelihood import FourierLikelihood, JointLikelihood, Likelihood, SubspaceLikelihood
from kernelease.fit.gaussians.search_on_gpu import LikelihoodOnGpu
from kernelease.fit.gaussians.sliding_frank_wolfe import Growing, LevenbergMarquardt
from kernelease.kernels import Gaussian
from kernelease.measured.embeddings import Gaussians
from kernelease.seeds import PublicSeed

TRUTH = Gaussians(centres=np.array([[0.0, 0.0], [3.0, 1.0]]), widths=np.array([0.4, 0.9]), weights=np.array([0.7, 0.3]))


class There(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that no function of NumPy takes together with one that is here, as CuPy's don't."""

    __array_priority__ = 100

    def __init__(self, data: np.ndarray) -> None:
        self.data = data

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            options["out"] = tuple(map(_inside, out))
        return _outside(getattr(ufunc, method)(*map(_inside, inputs), **options))

    def __array_function__(self, function: Any, _: Any, args: Any, kwargs: Any) -> Any:
        return _outside(function(*map(_inside, args), **{name: _inside(value) for name, value in kwargs.items()}))

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.data, name)
        return (lambda *args, **kwargs: _outside(value(*args, **kwargs))) if callable(value) else _outside(value)

    def __getitem__(self, place: Any) -> Any:
        return _outside(self.data[place])

    def __setitem__(self, place: Any, value: Any) -> None:
        self.data[place] = _inside(value)

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Any:
        return iter(_outside(list(self.data)))


def _inside(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        raise TypeError(f"an array of the processor among those of the GPU, shape {value.shape}")
    if isinstance(value, list | tuple):
        return type(value)(map(_inside, value))
    return value.data if isinstance(value, There) else value


def _outside(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_outside, value))
    return There(value) if isinstance(value, np.ndarray) else value


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = type("OutOfMemoryError", (Exception,), {})
    cupy = types.SimpleNamespace(
        asarray=There,
        asnumpy=lambda value: value.data if isinstance(value, There) else np.asarray(value),
        cuda=types.SimpleNamespace(
            memory=types.SimpleNamespace(OutOfMemoryError=memory),
            runtime=types.SimpleNamespace(CUDARuntimeError=memory),
            driver=types.SimpleNamespace(CUDADriverError=memory),
        ),
    )
    monkeypatch.setattr(search_on_gpu, "cupy", lambda: cupy)
    monkeypatch.setattr("kernelease.cuda.cupy", lambda: cupy)


def _likelihoods() -> dict[str, Likelihood]:
    generator = np.random.default_rng(0)
    kernel = Gaussian(lengthscale=1.0)
    waves = Fourier.random(kernel, features=256, dimension=2, seed=PublicSeed(0))
    fourier = FourierLikelihood(waves, np.zeros(256), 0.01)
    fourier = dataclasses.replace(fourier, target=fourier.features(TRUTH.centres, TRUTH.widths).T @ TRUTH.weights)
    basis = Nystrom.spanning(kernel, 3.0 * generator.normal(size=(80, 2)), tolerance=1e-4)
    subspace = SubspaceLikelihood(
        np.asarray(basis.points),
        basis.change_of_basis / 0.01,
        np.zeros(basis.dimension),
        0.01,
        triangular=basis.triangular,
    )
    target = subspace.features(TRUTH.centres, TRUTH.widths).T @ TRUTH.weights
    return {
        "waves": fourier,
        "waves with a sketch": fourier.with_sketch(7),
        "subspace": dataclasses.replace(subspace, target=target),
    }


@pytest.mark.parametrize("name", _likelihoods())
def test_every_answer_is_the_processors(name: str) -> None:
    here = _likelihoods()[name]
    there = LikelihoodOnGpu(here)
    generator = np.random.default_rng(1)
    centres, widths, left = generator.normal(size=(5, 2)), generator.random(5), generator.normal(size=len(here.target))
    law = Gaussians(centres=centres, widths=widths, weights=np.full(5, 0.2))

    def answers(one: Likelihood) -> list[Floats]:
        slopes = one.slopes(centres, widths)
        return [
            one.target,
            one.features(centres, widths),
            slopes.features,
            slopes.by_width,
            slopes.by_centre,
            one.residual(law),
            *one.linearise(centres, widths, left),
            *one.witness(centres, left, 0.3),
            one.heights(centres, left, 0.3),
        ]

    for ours, theirs in zip(answers(here), answers(there), strict=True):
        assert isinstance(theirs, np.ndarray)
        np.testing.assert_allclose(theirs, ours, rtol=1e-9, atol=1e-9 * float(np.abs(ours).max()))


def test_gaussians_grow_as_on_the_processor() -> None:
    parts = [_likelihoods()[name] for name in ("waves", "subspace")]
    places = np.random.default_rng(2).normal(size=(50, 2)) * 2.0
    growing = Growing(optimiser=LevenbergMarquardt(lengthscale=1.0, widest=8.0, likeness=0.7))
    here, there = (
        growing.grow(JointLikelihood(*each), places, Gaussians.none(2)).gaussians
        for each in (parts, map(LikelihoodOnGpu, parts))
    )
    np.testing.assert_allclose(there.weights, here.weights, rtol=1e-4)
    np.testing.assert_allclose(there.centres, here.centres, atol=1e-4)


def test_a_release_searches_there() -> None:
    rows = np.random.default_rng(3).normal(size=(2000, 2))

    def release(device: str | None) -> ke.Release:
        method = ke.Adaptive(points=ke.fit.NormalPoints(dimension=2, scale=2.0), rank=128, features=64, device=device)
        noise = ke.SeededNoise(0)
        return ke.release(rows, kernel=Gaussian(lengthscale=1.0), method=method, privacy=(1.0, 1e-6), noise=noise)

    here, there = (release(device).vectors() for device in (None, "cuda"))
    for one in (here, there):
        np.testing.assert_allclose(one.weights @ one.rows, rows.mean(axis=0), atol=0.1)


def test_other_devices_and_likelihoods_are_refused() -> None:
    with pytest.raises(ParameterError, match="device must be None or 'cuda', got 'tpu'"):
        ke.Adaptive(points=ke.fit.NormalPoints(dimension=2, scale=2.0), device="tpu")
    with pytest.raises(ParameterError, match="no program for a JointLikelihood"):
        LikelihoodOnGpu(JointLikelihood(*_likelihoods().values()))


def test_arrays_of_both_kinds_do_not_mix() -> None:
    with pytest.raises(TypeError, match="array of the processor"):
        There(np.zeros(3)) + np.zeros(3)
