"""The GPU, as far as this package knows it: is there one, whose arrays live on it, and programs compiled for it."""

import functools
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from kernelease.errors import CapacityError, ParameterError

_DLPACK_CUDA = 2  # DLPack's number for memory of a CUDA device


def cupy() -> Any:
    """The module CuPy, or a `ParameterError` that says how to get it."""
    try:
        module = importlib.import_module("cupy")
        module.cuda.runtime.getDeviceCount()
    except ImportError:
        raise ParameterError('A GPU needs CuPy: pip install "kernelease[gpu]".') from None
    except Exception:  # noqa: BLE001  # a driver that is absent or broken raises CuPy's own errors
        raise ParameterError("CuPy finds no NVIDIA GPU on this machine: leave `device` out.") from None
    return module


def on_device(data: object) -> bool:
    """Whether an array lives in a GPU's memory (CuPy, torch, cuDF and whatever else speaks DLPack)."""
    place = getattr(data, "__dlpack_device__", None)
    return place is not None and int(place()[0]) == _DLPACK_CUDA


def as_device_rows(data: Any) -> Any:
    """A float64 CuPy array (n, d) of what lives on the GPU already (no copy where it is one), or of a host array."""
    xp = cupy()
    with translate_failures():
        array = xp.from_dlpack(data) if on_device(data) else xp.asarray(data)
        if array.ndim != 2 or array.shape[1] == 0:
            raise ParameterError(
                f"Rows must be a two-dimensional array with at least one column, got shape {array.shape}."
            )
        return xp.ascontiguousarray(array, dtype=xp.float64)


@contextmanager
def translate_failures() -> Iterator[None]:
    """The GPU's own failures as errors that say what to do. None of them depends on what a row holds."""
    xp = cupy()
    try:
        yield
    except xp.cuda.memory.OutOfMemoryError:
        xp.get_default_memory_pool().free_all_blocks()
        raise CapacityError(
            "The GPU's memory is too small for this. Give fewer rows at a time, or leave `device` out."
        ) from None
    except (xp.cuda.runtime.CUDARuntimeError, xp.cuda.driver.CUDADriverError) as error:
        raise CapacityError(f"The GPU stopped working ({type(error).__name__}): run again, or without it.") from None


@functools.cache
def program(name: str, function: str, **constants: int | str) -> Any:
    """A function of one of the .cu files, compiled for this GPU with some constants. No operation is fused."""
    code = (files("kernelease") / "programs" / f"{name}.cu").read_text(encoding="utf-8")
    options = ("--fmad=false", *(f"-D{key}={value}" for key, value in constants.items()))
    kernel = cupy().RawKernel(code, function, options=options)
    kernel.max_dynamic_shared_size_bytes = shared_bytes() - kernel.shared_size_bytes
    return kernel


@functools.cache
def shared_bytes() -> int:
    """What a block of threads may have of shared memory here."""
    attributes = cupy().cuda.Device().attributes
    return int(attributes["MaxSharedMemoryPerBlockOptin"])


@functools.cache
def processors() -> int:
    """The GPU's number of multiprocessors."""
    return int(cupy().cuda.Device().attributes["MultiProcessorCount"])
