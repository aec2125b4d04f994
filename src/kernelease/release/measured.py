"""Measurements from a file that a stranger wrote: whether their parts fit together."""

from typing import Any

import numpy as np

from kernelease.errors import BundleError
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.table import Schema

_MOST_ROWS = 2.0**47
_LEAST_NOISE, _MOST_NOISE = 2.0**-16, 2.0**47  # standard deviations, in rows: with these, squares fit every float


def check_measured(measured: Any, schema: Schema | None) -> None:
    """Raise a `BundleError` unless these are measurements whose shapes agree with each other and with the schema.

    Each part has passed its own constructor; here it is asked whether they belong together, so that whoever computes
    with them need not.
    """
    if isinstance(measured, NoisyBlocks):
        _check_rows(measured.rows)
        if not measured.blocks or (schema is not None and measured.sizes != schema.sizes):
            raise _wrong("there are none, or of other columns than the schema's")
        if measured.ordered and not _within(measured.ordered, measured.sizes):
            raise _wrong("the columns' order is of other columns")
        for block in measured.blocks:
            _check_block(block, measured.sizes)
    elif isinstance(measured, NoisyEmbedding):
        _check_rows(measured.rows)
        _check_numbers(measured.measurement.integers, measured.measurement.step.coordinates)
        if measured.sum.shape != (measured.feature_map.dimension,) or not np.isfinite(measured.sum).all():
            raise _wrong("the sum is not of the features")
    else:
        raise _wrong("it holds something else")


def _within(counts: tuple[int, ...], sizes: tuple[int, ...]) -> bool:
    return len(counts) == len(sizes) and all(0 <= count <= size for count, size in zip(counts, sizes, strict=True))


def _check_rows(rows: float) -> None:
    if not 1.0 <= rows < _MOST_ROWS:
        raise _wrong("the number of rows is below 1, or beyond all bounds")


def _check_block(noisy: NoisyBlock, sizes: tuple[int, ...]) -> None:
    block = noisy.block
    if not all(0 <= column < len(sizes) for column in block.columns) or len(set(block.columns)) < len(block.columns):
        raise _wrong("a table of counts is of columns that there are not")
    for column, cells in zip(block.columns, block.groups, strict=True):
        if cells.shape != (sizes[column],) or not 0 <= int(cells.min()) <= int(cells.max()) < sizes[column]:
            raise _wrong("a table of counts groups the values of a column wrongly")
    if noisy.unit < 1 or noisy.measurement.step.coordinates != block.cells:
        raise _wrong("a table of counts has another size than its noise")
    _check_numbers(noisy.measurement.integers, block.cells)
    if not _LEAST_NOISE < noisy.sigma < _MOST_NOISE or not np.abs(noisy.values).max() < _MOST_ROWS:
        raise _wrong("a count or its noise is beyond all bounds")


def _check_numbers(integers: Any, count: int) -> None:
    """So many noisy integers, small enough for the floats that they become."""
    if integers.shape != (count,) or any(abs(number) >= 1 << 512 for number in integers):
        raise _wrong("the number of noisy integers is not that of the step, or one is beyond all bounds")


def _wrong(what: str) -> BundleError:
    return BundleError(f"measurements.json can't be used: {what}.")
