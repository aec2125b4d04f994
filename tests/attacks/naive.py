"""Textbook implementations in floating point. Each is broken in the way that a published attack describes.

They are kept so that every attack of the audits is known to succeed where it should: what passes on the product must
fail here.
"""

import numpy as np

from kernelease.arrays import Floats, Integers


def laplace(value: float, scale: float, size: int, generator: np.random.Generator) -> Floats:
    """value ± scale·ln u, in doubles (Mironov 2012): only some doubles can come out, and which ones shows the value."""
    uniform = 1.0 - generator.random(size)  # multiples of 2⁻⁵³ in (0, 1]
    return value + np.where(generator.random(size) < 0.5, scale, -scale) * np.log(uniform)


def gaussian(value: float, scale: float, size: int, generator: np.random.Generator) -> Floats:
    """value + normal noise, in doubles (Haney et al. 2022): the sum is rounded to the value's precision."""
    return value + generator.normal(0.0, scale, size)


def running_sum(column: Floats) -> float:
    """One after the other, in doubles (Casacuberta et al. 2022): each addition rounds."""
    return float(np.cumsum(column)[-1])


def counter(increments: Integers) -> int:
    """In 64-bit integers, which wrap around (Casacuberta et al. 2022)."""
    return int(np.sum(increments, dtype=np.int64))


def clip(rows: Floats, radius: float) -> Floats:
    """Rows scaled to a norm of at most `radius`, as far as doubles can tell. NaN and overflow pass."""
    with np.errstate(all="ignore"):
        norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        return rows * np.minimum(1.0, radius / norms)


def cell_of(numbers: Floats, low: float, high: float, cells: int) -> Integers:
    """The cell of a number in [low, high], without a thought for numbers that are none."""
    with np.errstate(all="ignore"):
        return np.floor((numbers - low) / (high - low) * cells).astype(np.int64)
