"""Sums and counts on one GPU: rows a second, and whether they are the processor's to the bit.

python benchmarks/gpu.py

Needs CuPy and an NVIDIA GPU, and nothing that draws noise. Rows are generated on the GPU; each time is the best of
three, with the result copied back. A sample of every case is summed on the processor, too.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))  # so that this file runs without an install

import cupy

from kernelease.arrays import Floats
from kernelease.cuda.counts import device_counts
from kernelease.cuda.sums import device_total
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom
from kernelease.kernels.numeric import Gaussian
from kernelease.seeds import PublicSeed

ROWS = 2**25
SAMPLE = 20_000
COUNTED, COLUMNS, CELLS = 10**9, 14, 16


def best(run: Callable[[], object]) -> float:
    """Seconds, the best of three after one to warm up."""
    times = []
    for _ in range(4):
        started = time.perf_counter()
        run()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - started)
    return min(times[1:])


def fourier(columns: int, features: int) -> FeatureMap:
    kernel = Gaussian(lengthscale=0.3)
    return Fourier.random(kernel, features=features, dimension=columns, seed=PublicSeed(1))


def nystrom(columns: int, points: int) -> FeatureMap:
    """Sums of kernel values alone: the change of basis is applied once, to their total."""
    centres = 3.0 * np.random.default_rng(0).normal(size=(points, columns))
    basis = np.eye(points, dtype=np.int64)
    return Nystrom(kernel=Gaussian(lengthscale=0.5), points=centres, matrix=basis, stretch=1.0)


def on_processor(feature_map: FeatureMap, rows: Floats) -> list[int]:
    """The map's own sums, in blocks that it allows."""
    block = min(4096, feature_map.block_rows)
    parts = [feature_map.total(rows[start : start + block]).astype(object) for start in range(0, len(rows), block)]
    return [int(value) for value in sum(parts)]


def sums(name: str, feature_map: FeatureMap, columns: int) -> None:
    rows = cupy.random.default_rng(0).standard_normal((ROWS, columns))
    sample = rows[:SAMPLE]
    same = [int(v) for v in device_total(feature_map, sample)[0]] == on_processor(feature_map, cupy.asnumpy(sample))
    seconds = best(lambda: device_total(feature_map, rows))
    print(f"| {name} | {ROWS / seconds / 1e6:.0f} M rows/s | {'yes' if same else 'NO'} |", flush=True)


def counts() -> None:
    views = [np.arange(CELLS)] * COLUMNS
    groups = [(i, j) for i in range(COLUMNS) for j in range(i)]
    codes = cupy.random.default_rng(0).integers(0, CELLS, size=(COLUMNS, COUNTED), dtype=cupy.uint8)
    few = cupy.asnumpy(codes[:, :SAMPLE]).astype(np.int64)
    tables = device_counts(cupy.ascontiguousarray(codes[:, :SAMPLE]), views, groups)
    same = all(
        np.array_equal(table, np.bincount(few[i] * CELLS + few[j], minlength=CELLS**2))
        for (i, j), table in zip(groups, tables, strict=True)
    )
    seconds = best(lambda: device_counts(codes, views, groups))
    name = f"{len(groups)} pairs of {COLUMNS} columns, {COUNTED:.0e} rows"
    print(f"| {name} | {seconds:.2f} s | {'yes' if same else 'NO'} |", flush=True)


def main() -> None:
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}, CuPy {cupy.__version__}\n\n| | | same bits |\n| --- | --- | --- |")
    sums("10,000 Fourier features, D = 5", fourier(5, 10_000), 5)
    sums("4,096 Fourier features, D = 2", fourier(2, 4096), 2)
    sums("2,048 Gaussian kernels, D = 2", nystrom(2, 2048), 2)
    sums("2,048 Gaussian kernels, D = 5", nystrom(5, 2048), 5)
    counts()


if __name__ == "__main__":
    main()
