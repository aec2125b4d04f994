"""Private rows in a GPU's memory, and sums of their features there."""

import functools
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from kernelease.arrays import Integers, Rows, block_slices
from kernelease.cuda import as_device_rows, cupy, processors, program, shared_bytes, translate_failures
from kernelease.exact.rows import ExactEmbedding, PrivateArray
from kernelease.features.feature_map import LARGEST_STEP, FeatureMap
from kernelease.features.fourier import ANGLE_BITS, Fourier, circle
from kernelease.features.nystrom import KERNEL_BITS, Nystrom
from kernelease.kernels.elementary import exp_table
from kernelease.kernels.kernel import as_rows
from kernelease.kernels.numeric import Gaussian

# ---- Sums of features over rows that live on the GPU, to the bit those of the feature map itself.


_THREADS = 1024  # of a block: with the circle's table in shared memory, one block fills a multiprocessor
_PER_THREAD = 2  # frequencies or points of a thread: 64 registers hold no more of five columns
_ROWS = 2**22  # at a time: sums of integers up to 2⁴⁰ stay below 2⁶²
_MOST_TILE = 2048  # rows that a block reads together: sums of 32 bits hold 4,096
_MOST_COLUMNS = 32  # a thread holds the columns of its frequencies in registers


def sums_on_device(feature_map: FeatureMap) -> bool:
    """Whether `device_total` can sum this map's features."""
    if isinstance(feature_map, Fourier):
        return len(feature_map.resolution) <= _MOST_COLUMNS
    return (
        isinstance(feature_map, Nystrom)
        and isinstance(feature_map.kernel, Gaussian)
        and feature_map.points.shape[1] <= _MOST_COLUMNS
    )


def device_total(feature_map: FeatureMap, rows: Any) -> list[Integers]:
    """Sums of the map's integers over blocks of rows (n, d) on the GPU: (width,) each, to be added without overflow."""
    with translate_failures():
        return [_block_total(feature_map, rows[block]) for block in block_slices(len(rows), _ROWS)]


def _block_total(feature_map: FeatureMap, rows: Any) -> Integers:
    if isinstance(feature_map, Fourier):
        return _fourier(feature_map, rows)
    if isinstance(feature_map, Nystrom) and isinstance(feature_map.kernel, Gaussian):
        return _gaussian(feature_map, feature_map.kernel, rows)
    raise TypeError(f"{type(feature_map).__name__} has no program for a GPU.")


def _fourier(feature_map: Fourier, rows: Any) -> Integers:
    xp = cupy()
    count, columns = rows.shape
    steps = xp.empty((count, columns), dtype=xp.int64)
    resolution = xp.asarray(np.array(feature_map.resolution))
    to_grid, cells = program("grid", "to_grid"), np.int64(rows.size)
    to_grid((8 * processors(),), (256,), (rows, resolution, steps, cells, np.int32(columns), np.float64(LARGEST_STEP)))
    plan = _Plan.of(len(feature_map.frequencies), columns, _quarter().nbytes)
    function = program("fourier", "fourier_sums", **plan.constants)
    return plan.sums(function, (steps, xp.asarray(feature_map.turns), _quarter()), count, feature_map.dimension)


def _gaussian(feature_map: Nystrom, kernel: Gaussian, rows: Any) -> Integers:
    xp = cupy()
    weights = kernel.per_column(lambda value: kernel.scale / (value * value))
    each = isinstance(weights, tuple)
    table = _scaled_exponentials()
    plan = _Plan.of(feature_map.width, rows.shape[1], table.nbytes)
    function = program("gaussian", "gaussian_sums", **plan.constants, WEIGHTED=int(each))
    scales = xp.asarray(np.array(weights if each else [weights], dtype=np.float64))
    points = xp.asarray(kernel.columns_checked(feature_map.points))
    return plan.sums(function, (rows, points, table, scales), len(rows), feature_map.width)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """How threads share the work: each owns some frequencies or points; where those are few, lanes share the rows."""

    owned: int  # frequencies or points in all
    columns: int
    lanes: int
    tile: int  # rows that a block reads together
    shared: int  # bytes of shared memory: a table and the tile
    across: int  # blocks side by side, each with other owners

    @classmethod
    def of(cls, owned: int, columns: int, table_bytes: int) -> "_Plan":
        threads, lanes = -(-owned // _PER_THREAD), 1
        while lanes < _THREADS and _THREADS // (2 * lanes) >= threads:
            lanes *= 2
        room = (shared_bytes() - table_bytes) // (8 * columns)
        tile = max(lanes, min(_MOST_TILE, 1 << (room.bit_length() - 1)))
        across = -(-threads // (_THREADS // lanes))
        shared = table_bytes + 8 * columns * tile
        return cls(owned=owned, columns=columns, lanes=lanes, tile=tile, shared=shared, across=across)

    @property
    def constants(self) -> dict[str, int | str]:
        """What a program is compiled with."""
        sizes = {"COLUMNS": self.columns, "LANES": self.lanes, "TILE": self.tile}
        return {**sizes, "THREADS": _THREADS, "PER": _PER_THREAD}

    def sums(self, function: Any, arrays: tuple[Any, ...], rows: int, width: int) -> Integers:
        """Run a program over all rows: (width,)."""
        xp = cupy()
        sums = xp.zeros(width, dtype=xp.uint64)
        share = -(-self.owned // (_PER_THREAD * self.across))
        along = max(1, min(-(-rows // self.tile), -(-2 * processors() // self.across)))
        numbers = np.int64(rows), np.int32(self.owned), np.int32(share)
        function((self.across, along), (_THREADS,), (*arrays, sums, *numbers), shared_mem=self.shared)
        total: Integers = xp.asnumpy(sums).view(np.int64)
        return total


@functools.cache
def _quarter() -> Any:
    """Cosines and sines of the first quarter turn, side by side: (2¹⁴, 2) on the GPU."""
    cosines, sines = circle()
    quarter = 2 ** (ANGLE_BITS - 2)
    return cupy().asarray(np.stack([cosines[:quarter], sines[:quarter]], axis=1).astype(np.int32))


@functools.cache
def _scaled_exponentials() -> Any:
    """exp(−n/64)·2⁴⁰ on the GPU: a power of two changes no rounding."""
    return cupy().asarray(exp_table() * 2.0**KERNEL_BITS)


# ---- Private rows in a GPU's memory.


@final
class DeviceRows(PrivateArray):
    """Vectors that live on a GPU, or were sent there. Sums of their features are the same integers as anywhere.

    What has no program for a GPU (`sums_on_device`) is summed on the processor, from a copy.
    """

    __slots__ = ("_copy",)

    def __init__(self, data: Any) -> None:
        super().__init__(as_device_rows(data))
        self._copy: Rows | None = None

    def array(self) -> Rows:
        if self._copy is None:
            self._copy = as_rows(cupy().asnumpy(self._rows))
        return self._copy

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        if not sums_on_device(feature_map):
            return super().embedding(feature_map, threads=threads)
        total = np.zeros(feature_map.width, dtype=object)
        for part in device_total(feature_map, self._rows):
            total += part.astype(object)
        return ExactEmbedding(feature_map, total, len(self._rows))
