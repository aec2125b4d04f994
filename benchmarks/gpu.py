"""Sums and fits on one GPU: rows a second, and whether they are the processor's to the bit.

python benchmarks/gpu.py

Needs CuPy and an NVIDIA GPU, and nothing that draws noise. Rows are generated on the GPU; each time is the best of
three, with the result copied back. A sample of every case is summed on the processor, too. The fit is that of a
generated table of the size of Adult at ε = 10, on the GPU and on the processor; the search is Adaptive's, among rows of
thirty Gaussians in five columns.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))  # so that this file runs without an install

import cupy

from kernelease.arrays import Floats, Integers
from kernelease.exact.counting import ExactCounts
from kernelease.exact.rows import ExactEmbedding, PrivateArray, PrivateTable
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.features.nystrom import Nystrom
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.solver import NormalPoints
from kernelease.kernels.numeric import Gaussian
from kernelease.ledgers import MemoryLedger
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.measured import Measured
from kernelease.methods.adaptive import Adaptive
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Context
from kernelease.noises import SeededNoise
from kernelease.passes import EncodedRows
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.sensitivity import ROWS as ROWS_OF_TABLE, Neighbours
from kernelease.seeds import PublicSeed
from kernelease.sources.device_rows import device_total
from kernelease.table.domains import TableDomain, VectorDomain
from kernelease.table.schema import Schema

ROWS = 2**25
SAMPLE = 20_000


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


def noisy_counts() -> Measured:
    """What `Interactions` measures of a table in which all columns depend on a hidden class, with seeded noise."""
    generator = np.random.default_rng(0)
    sizes = (74, 9, 60, 16, 16, 7, 15, 6, 5, 2, 60, 50, 60, 42)
    hidden = generator.integers(0, 12, 39_000)
    codes = np.stack([_column(generator, hidden, size) for size in sizes])
    declared = "".join(f'[columns.c{i}]\ntype = "integer"\nmin = 0\nmax = {n - 1}\n' for i, n in enumerate(sizes))
    schema = Schema.parse(f'[table]\nneighbours = "add-remove"\n{declared}')
    domain, privacy = TableDomain(schema), Privacy(epsilon=10.0, delta=1e-9, neighbours=Neighbours.ADD_REMOVE)
    rows = EncodedRows(lambda: iter([(codes, None)]), schema.sizes)
    context = Context(
        domain=domain,
        privacy=privacy,
        ledger=MemoryLedger.for_one(privacy, ROWS_OF_TABLE),
        noise=SeededNoise(0),
        seed=PublicSeed(0),
        subject=ROWS_OF_TABLE,
    )
    return Interactions().measure(PrivateTable(ExactCounts.of(rows, schema.sizes), rows), context)


def _column(generator: np.random.Generator, hidden: Integers, size: int) -> Integers:
    laws = generator.dirichlet(np.full(size, 0.3), size=12)
    marks = generator.random(len(hidden))
    return np.minimum((laws.cumsum(axis=1)[hidden] < marks[:, None]).sum(axis=1), size - 1)


def fits() -> None:
    noisy = noisy_counts()
    assert isinstance(noisy, NoisyBlocks)
    for device, components in (("cuda", None), ("cuda", 10_000), (None, None)):
        solver = MixtureSolver(device=device, components=components)
        if device is not None:
            solver.solve(noisy, PublicSeed(0))  # compiles
        started = time.perf_counter()
        mixture = solver.solve(noisy, PublicSeed(0))
        seconds, where = time.perf_counter() - started, device or "processor"
        name = f"fit of {len(noisy.blocks)} blocks, {len(mixture.weights):,} components, {where}"
        print(f"| {name} | {seconds:.2f} s | χ² {mixture.chi_squared:.3f} |", flush=True)


def mixture(rows: int) -> Floats:
    """Rows of thirty Gaussians in five columns."""
    generator = np.random.default_rng(0)
    centres = generator.normal(scale=4.0, size=(30, 5))
    return np.asarray(centres[generator.integers(0, 30, rows)] + 0.5 * generator.normal(size=(rows, 5)))


class TimedRows(PrivateArray):
    """Rows that know how long their sums took."""

    seconds = 0.0

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        started = time.perf_counter()
        total = super().embedding(feature_map, threads=threads)
        self.seconds += time.perf_counter() - started
        return total


def search(device: str | None, features: int) -> tuple[float, int, float]:
    """Seconds of Adaptive's measuring without its sums over rows, which are timed above; Gaussians; misfit."""
    rows, privacy = TimedRows(mixture(100_000)), Privacy(epsilon=1.0, delta=1e-6)
    context = Context(
        domain=VectorDomain(Gaussian(lengthscale=1.5)),
        privacy=privacy,
        ledger=MemoryLedger.for_one(privacy, ROWS_OF_TABLE),
        noise=SeededNoise(0),
        seed=PublicSeed(0),
        subject=ROWS_OF_TABLE,
    )
    method = Adaptive(points=NormalPoints(dimension=5, scale=4.0), device=device, features=features)
    started = time.perf_counter()
    measured = method.measure(rows, context)
    seconds = time.perf_counter() - started - rows.seconds
    assert measured.law is not None
    solution = method.fit(measured, PublicSeed(0))
    return seconds, len(measured.law), solution.distance / solution.noise_floor


def searches() -> None:
    for features in (2_048, 16_384):
        search("cuda", features)  # compiles
        for device in ("cuda", None):
            seconds, gaussians, ratio = search(device, features)
            name = f"search by {features:,} features, {gaussians} Gaussians, {device or 'processor'}"
            print(f"| {name} | {seconds:.2f} s | distance over noise {ratio:.3f} |", flush=True)


def main() -> None:
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    print(f"{name}, CuPy {cupy.__version__}\n\n| | | same bits |\n| --- | --- | --- |")
    sums("10,000 Fourier features, D = 5", fourier(5, 10_000), 5)
    sums("4,096 Fourier features, D = 2", fourier(2, 4096), 2)
    sums("2,048 Gaussian kernels, D = 2", nystrom(2, 2048), 2)
    sums("2,048 Gaussian kernels, D = 5", nystrom(5, 2048), 5)
    fits()
    searches()


if __name__ == "__main__":
    main()
