"""The tests as on other machines: with the answers that another linear algebra gives, and with other seeds.

An eigenvector's sign, and the basis of an eigenspace, are for LAPACK to choose: it chooses by the processor, the number
of threads and the last bits of the matrix. `other_linear_algebra` chooses again, by chance, so that whatever hangs on
such a choice fails on every machine. `other_seeds` gives each seed another stream: what passes by a lucky draw fails.

    python -m tests.anywhere OPTIONS    # the tests under each of SETTINGS in turn, with options of pytest
"""

import contextlib
import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

_EQUAL = 8.0 * np.finfo(np.float64).eps  # times the size and the largest: eigenvalues that rounding can't tell apart
_qr = np.linalg.qr  # as it is, whatever is put in its place


@contextlib.contextmanager
def other_linear_algebra() -> Iterator[None]:
    """`eigh`, `svd` and `qr` of NumPy and SciPy, each as valid as before, with other signs and other bases."""
    with contextlib.ExitStack() as put_back:
        for module in (np.linalg, scipy.linalg):
            for name, other in (("eigh", _other_eigh), ("svd", _other_svd), ("qr", _other_qr)):
                _replace(put_back, module, name, other(getattr(module, name)))
        yield


@dataclass
class Shift:
    """What is mixed into every seed; nothing where it is 0, or where `exempt` is true."""

    amount: int
    exempt: bool = False

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Seeds as they are written."""
        before, self.exempt = self.exempt, True
        try:
            yield
        finally:
            self.exempt = before

    def of(self, seed: Any) -> Any:
        """Another seed for one that is given; a generator, and none at all, stay what they are."""
        if self.exempt or not self.amount or seed is None or isinstance(seed, np.random.Generator):
            return seed
        given = seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)
        return np.random.SeedSequence(given.entropy, spawn_key=(*given.spawn_key, self.amount))


@contextlib.contextmanager
def other_seeds(shift: Shift) -> Iterator[None]:
    """Every seed shifted that `numpy.random.default_rng` and `random.Random` are given, in tests and in the library.

    `PublicSeed` and `SeededNoise` draw from `default_rng`: theirs are among them.
    """
    original, plain = np.random.default_rng, random.Random

    class ShiftedRandom(plain):  # type: ignore[valid-type, misc]
        def seed(self, a: Any = None, version: int = 2) -> None:
            shifted = a if a is None or shift.exempt or not shift.amount else f"{a!r} shifted by {shift.amount}"
            super().seed(shifted, version)

    with contextlib.ExitStack() as put_back:
        _replace(put_back, np.random, "default_rng", lambda seed=None: original(shift.of(seed)))
        _replace(put_back, random, "Random", ShiftedRandom)
        yield


def dispatched() -> tuple[str, ...]:
    """NumPy's names of the wider instructions that it uses where a processor has them: what to switch off."""
    names: tuple[str, ...] = tuple(np._core._multiarray_umath.__cpu_dispatch__)
    return names


_ONE, _EIGHT = ({f"{name}_NUM_THREADS": count for name in ("OPENBLAS", "OMP")} for count in ("1", "8"))
MACHINES = {
    "as it is, on one thread": _ONE,
    "eight threads": _EIGHT,
    "Nehalem": {**_ONE, "OPENBLAS_CORETYPE": "Nehalem"},
    "Haswell": {**_ONE, "OPENBLAS_CORETYPE": "Haswell"},
    "Zen": {**_ONE, "OPENBLAS_CORETYPE": "Zen"},
    "no wide instructions": {**_ONE, "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched())},
}
SETTINGS = (
    *((name, environment, ()) for name, environment in MACHINES.items()),
    ("other linear algebra", _ONE, ("--adversarial",)),
    *((f"seeds shifted by {n}", _ONE, (f"--seed-shift={n}", f"--hypothesis-seed={n}")) for n in range(1, 6)),
)


def main(options: Sequence[str]) -> int:
    """Run the tests under every setting, whatever fails; how many settings did."""
    failed = []
    for name, environment, own in SETTINGS:
        sys.stdout.write(f"\n=== {name}\n")
        sys.stdout.flush()
        command = [sys.executable, "-m", "pytest", *own, *options]
        if subprocess.run(command, env={**os.environ, **environment}, check=False).returncode:
            failed.append(name)
    sys.stdout.write(f"\n{len(SETTINGS)} settings; tests failed under: {', '.join(failed) or 'none'}\n")
    return len(failed)


def _replace(put_back: contextlib.ExitStack, module: Any, name: str, other: Any) -> None:
    put_back.callback(setattr, module, name, getattr(module, name))
    setattr(module, name, other)


def _other_eigh(eigh: Callable[..., Any]) -> Callable[..., Any]:
    def other(a: Any, *args: Any, **kwargs: Any) -> Any:
        found = eigh(a, *args, **kwargs)
        if not isinstance(found, tuple):  # eigenvalues only
            return found
        values, vectors = found
        vectors, chance = np.array(vectors), _chance(a)
        for at in np.ndindex(values.shape[:-1]):
            for run in _equal(values[at]):
                vectors[at][:, run] = vectors[at][:, run] @ _rotation(run.stop - run.start, chance)
        return found._replace(eigenvectors=vectors) if hasattr(found, "_replace") else (values, vectors)

    return other


def _other_svd(svd: Callable[..., Any]) -> Callable[..., Any]:
    def other(a: Any, *args: Any, **kwargs: Any) -> Any:
        found = svd(a, *args, **kwargs)
        if not isinstance(found, tuple):  # singular values only
            return found
        left, values, right = found
        left, right, chance = np.array(left), np.array(right), _chance(a)
        for at in np.ndindex(values.shape[:-1]):
            for run in _equal(values[at]):
                rotation = _rotation(run.stop - run.start, chance)
                left[at][:, run] = left[at][:, run] @ rotation
                right[at][run] = rotation.T @ right[at][run]
            kept = values.shape[-1]  # beyond it, with full matrices, any basis will do
            left[at][:, kept:] = left[at][:, kept:] @ _rotation(left.shape[-1] - kept, chance)
            right[at][kept:] = _rotation(right.shape[-2] - kept, chance) @ right[at][kept:]
        return found._replace(U=left, Vh=right) if hasattr(found, "_replace") else (left, values, right)

    return other


def _other_qr(qr: Callable[..., Any]) -> Callable[..., Any]:
    def other(a: Any, *args: Any, **kwargs: Any) -> Any:
        found = qr(a, *args, **kwargs)
        mode = kwargs.get("mode", "full")
        if not isinstance(found, tuple) or len(found) < 2 or mode in ("r", "raw"):
            return found
        q, r, *pivots = found
        signs = _chance(a).choice([-1.0, 1.0], (*r.shape[:-2], r.shape[-2]))
        q, r = q * signs[..., None, :], r * signs[..., :, None]
        return found._replace(Q=q, R=r) if hasattr(found, "_replace") else (q, r, *pivots)

    return other


def _chance(a: Any) -> np.random.Generator:
    """By the matrix alone: one machine answers the same question twice in the same way."""
    digest = hashlib.sha256(np.ascontiguousarray(a).tobytes()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest)))


def _equal(values: Any) -> Iterator[slice]:
    """Runs of values, in their order, that differ by no more than rounding; most are of one."""
    size = len(values)
    gaps = np.abs(np.diff(values)) > _EQUAL * size * float(np.abs(values).max(initial=0.0))
    ends = [*np.flatnonzero(gaps) + 1, size]
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        yield slice(int(start), int(end))


def _rotation(size: int, chance: np.random.Generator) -> Any:
    """Uniform among the orthogonal matrices: (size, size). Of one dimension, a sign."""
    q, r = _qr(chance.standard_normal((size, size)))
    return q * np.sign(np.diagonal(r))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
