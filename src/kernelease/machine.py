"""What the machine has: cores, threads that start, memory, and what rounds its floats. Nothing here looks at a row."""

import ctypes
import errno
import math
import mmap
import os
import platform
import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, final

from kernelease.errors import CapacityError, ResourceError

T = TypeVar("T")

MEMORY_CAP = 4 * 2**30  # bytes that a single array may take. limit: of small machines
_FOR_A_THREAD = 2**25  # bytes: a stack of 8 MiB, and what it takes to say that it runs


def refuse_beyond_memory(what: str, *shape: int) -> None:
    """Raise `CapacityError` if a float64 array of this shape would pass the cap; before any budget is spent.

    >>> refuse_beyond_memory("A thousand points", 1000, 2)
    """
    needed = 8 * math.prod(shape)
    if needed > MEMORY_CAP:
        raise CapacityError(
            f"{what} would need {needed / 2**30:,.0f} GiB in one array; the cap is {MEMORY_CAP / 2**30:.0f} GiB."
        )


def require_memory(size: int, purpose: str) -> None:
    """Raise `ResourceError` unless so many bytes can be had now: to be asked before any budget is spent."""
    if not _can_have(size):
        raise ResourceError(
            f"There is not enough memory to {purpose}: {size / 2**20:,.0f} MiB more can't be had. Close other "
            "programs, raise this process's limit (`ulimit -v`), or use a larger machine. Nothing was spent."
        )


def _can_have(size: int) -> bool:
    """Whether the system would give so many bytes. They are not written to, so they take none from others."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError, OverflowError):
        return False
    return True


def sync_folder(folder: Path) -> None:
    """Make names in a folder durable. Systems that can't open a folder (Windows) sync names by themselves."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def name_beside(target: Path) -> Path:
    """A name beside the target, on the same file system, that nobody takes for a finished file."""
    return target.parent / f".kernelease-{secrets.token_hex(8)}.partial"


def _unlink(draft: Path) -> None:
    with suppress(OSError):
        draft.unlink()


@contextmanager
def draft_beside(target: Path, remove: Callable[[Path], None] = _unlink) -> Iterator[Path]:
    """Such a name, for a draft that is renamed when it is whole; what is left under it in the end is removed."""
    draft = name_beside(target)
    try:
        yield draft
    finally:
        remove(draft)


def is_shortage(error: BaseException) -> bool:
    """Whether an error of any library says that memory ran out, and nothing about a file that was being read.

    >>> is_shortage(OSError(12, "Cannot allocate memory")), is_shortage(OSError(5, "Input/output error"))
    (True, False)
    """
    if isinstance(error, MemoryError) or "OutOfMemory" in type(error).__name__:
        return True
    return isinstance(error, OSError) and error.errno == errno.ENOMEM


def refuse_shortage(error: BaseException) -> None:
    """Raise `MemoryError` where an error says that memory ran out: whoever catches it may think of damage else."""
    if is_shortage(error):
        raise MemoryError from None


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def workers(threads: int) -> Executor:
    """This many threads; if memory or permission is missing to start them, the caller's own does the work.

    Python waits for ever for a thread that has no memory to say that it runs, and a pool that fails to start one keeps
    the task that it was given. So threads are tried before any task is.
    """
    startable = _can_have(_FOR_A_THREAD * threads) and _can_start(threads)
    return ThreadPoolExecutor(threads) if startable else _Here()


def _can_start(threads: int) -> bool:
    done, started = threading.Event(), list[threading.Thread]()
    try:
        for _ in range(threads):
            thread = threading.Thread(target=done.wait)
            thread.start()
            started.append(thread)
    except RuntimeError:  # the system allows no more of them
        return False
    finally:
        done.set()
        for thread in started:
            thread.join()
    return True


@final
class _Here(Executor):
    """The caller's own thread, which works when it is told to."""

    def submit(self, fn: Callable[..., T], /, *arguments: Any, **options: Any) -> "Future[T]":
        done: Future[T] = Future()
        try:
            done.set_result(fn(*arguments, **options))
        except Exception as error:  # noqa: BLE001  # whoever asks for the result gets it
            done.set_exception(error)
        return done


@contextmanager
def one_thread() -> Iterator[None]:
    """Linear algebra on the caller's thread alone, which is how everything is measured and fitted.

    NumPy and SciPy bring an OpenBLAS each. Their threads wait for work by spinning, take the cores from each other and
    from ours, and cost more than they gain in products as small as those of a fit. Sums also come out the same, to the
    bit, however many cores there are.
    """
    import scipy.linalg  # noqa: F401, PLC0415  # whose OpenBLAS must be there to be held back
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415  # as for what needs NumPy

    with ThreadpoolController().limit(limits=1, user_api="blas"):
        yield


ROUNDING = 1e-6  # relative: what another order of additions does to a fit, and far below what matters
EXACT = 0.0  # nothing: the same program on the same kind of machine adds in the same order
_LONGEST = 160  # characters in which a kind of machine is named
_BLAS = ("scipy_openblas_get_{}64_", "scipy_openblas_get_{}", "openblas_get_{}64_", "openblas_get_{}")


@cache
def this_machine() -> str:
    """What decides how floats are rounded here: processor, linear algebra, NumPy, SciPy, C library.

    Two machines of which this is the same give the same bits. Where NumPy has another linear algebra than OpenBLAS,
    or a C library does not say its name, it stays unnamed.
    """
    import numpy as np  # noqa: PLC0415  # whoever asks for cores and memory alone need not wait for it

    core = np._core._multiarray_umath  # type: ignore[attr-defined]  # NumPy's own switches have no public name
    widest = [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]
    blas = _ask_blas(core.__file__)
    libc = "" if "CS_GNU_LIBC_VERSION" not in os.confstr_names else os.confstr("CS_GNU_LIBC_VERSION") or ""
    parts = [platform.machine(), *widest[-1:], blas, libc, f"numpy {np.__version__}", f"scipy {version('scipy')}"]
    return ", ".join(part for part in parts if part)[:_LONGEST]


def _ask_blas(library: str) -> str:
    """The processor that OpenBLAS takes this one for."""
    try:
        loaded = ctypes.CDLL(library)
        name = next(name for name in _BLAS if hasattr(loaded, name.format("corename")))
        core = getattr(loaded, name.format("corename"))
        core.restype = ctypes.c_char_p
        return f"OpenBLAS {core().decode()}"
    except (OSError, StopIteration, AttributeError, UnicodeDecodeError):
        return ""


def is_machine(text: str) -> bool:
    """Whether a text can be the name of a kind of machine: one line, not long."""
    return len(text) <= _LONGEST and text.isprintable()


def rounding_since(machine: str) -> float:
    """How far numbers may be off that were made on some kind of machine: not at all, if it is this one."""
    return EXACT if machine == this_machine() else ROUNDING
