"""What is said where there is no GPU, and what decides whether an array lives on one."""

import sys
import types

import numpy as np
import pytest

import kernelease as ke
from kernelease.cuda import cupy, on_device
from kernelease.errors import ParameterError
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom
from kernelease.kernels.numeric import Gaussian, Laplace
from kernelease.seeds import PublicSeed
from kernelease.sources.device_rows import sums_on_device

PRIVACY = ke.Privacy(epsilon=1.0, delta=1e-6)


class _Elsewhere:
    """An array that says through DLPack where it is."""

    def __init__(self, kind: int) -> None:
        self._kind = kind

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._kind, 0


def test_an_array_says_where_it_lives() -> None:
    assert on_device(_Elsewhere(2))
    assert not on_device(_Elsewhere(1))
    assert not on_device(np.zeros((2, 2)))
    assert not on_device([[1.0]])


def test_without_cupy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(ParameterError, match=r"kernelease\[gpu\]"):
        cupy()
    with pytest.raises(ParameterError, match=r"kernelease\[gpu\]"):
        ke.release(np.zeros((3, 1)), kernel=Gaussian(lengthscale=1.0), privacy=PRIVACY, device="cuda")


def test_without_a_gpu_the_flag_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> int:
        raise RuntimeError("no driver")

    runtime = types.SimpleNamespace(getDeviceCount=none)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=types.SimpleNamespace(runtime=runtime)))
    with pytest.raises(ParameterError, match="leave `device` out"):
        cupy()


def test_another_device_is_refused() -> None:
    with pytest.raises(ParameterError, match="None or 'cuda'"):
        ke.release(np.zeros((3, 1)), kernel=Gaussian(lengthscale=1.0), privacy=PRIVACY, device="tpu")


def test_which_maps_have_a_program() -> None:
    points = np.arange(6.0).reshape(3, 2)
    gaussian, laplace = Gaussian(lengthscale=1.0), Laplace(lengthscale=1.0)
    assert sums_on_device(Fourier.random(gaussian, features=4, dimension=32, seed=PublicSeed(0)))
    assert not sums_on_device(Fourier.random(gaussian, features=4, dimension=33, seed=PublicSeed(0)))
    assert sums_on_device(Nystrom.spanning(gaussian, points))
    assert not sums_on_device(Nystrom.spanning(laplace, points))


def test_a_fit_on_another_device_is_refused() -> None:
    with pytest.raises(ParameterError, match="None or 'cuda'"):
        ke.fit.MixtureSolver(device="tpu")
