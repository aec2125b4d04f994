"""Bounds of numeric columns, measured with a charged mechanism instead of read off the rows.

Every cell of a column falls into exactly one of a fixed, public list of bins: a power of two and a sign, zero, or no
number. So the counts of one column are a block of contingency counts, and `block_sensitivity` is theirs: a row adds 1
to one bin per column. Noise makes the counts of all columns together (ε, δ)-DP, each column with an equal share:
Laplace noise where δ = 0, else Gaussian noise, whose price beside later Gaussian releases is that of one of them. (A
pure step has a price there that is many times its own: μ² of ε = 0.5 alone is twice that of (2, 10⁻⁶).)

With C columns of B bins and p = β/(C·B), a bin that no row is in passes the threshold t with probability at most p, for
t = b·ln(1/p) under Laplace noise of scale b and t = σ·√(2·ln(1/p)) under Gaussian noise, so that any of them does with
probability at most β. The bounds are the edges of the outermost bins that pass: post-processing. What lies beyond
them, in bins of about t rows at most, will be clamped.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.mechanisms import measure
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.privacy.step import Law, Measurement
from kernelease.privacy.subject import ROWS
from kernelease.table.reading.arrow import dense
from kernelease.table.reading.numbers import read_numbers

LOWEST, HIGHEST = -20, 63  # exponents of two: smaller and larger numbers count as the smallest and largest size
FALSE_ALARM = 0.01  # β: the chance that some bin without rows widens some bound
_SIZES = HIGHEST - LOWEST + 1
BINS = 2 * _SIZES + 2  # negative sizes, zero, positive sizes, no number
_ZERO, _NO_NUMBER = _SIZES, BINS - 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Public bounds of a column, powers of two or 0."""

    low: float
    high: float


def private_bounds(
    batches: Iterable[pa.RecordBatch],
    columns: tuple[str, ...],
    *,
    privacy: Privacy,
    ledger: Ledger,
    noise: NoiseSource,
) -> dict[str, Bounds | None]:
    """Bounds of each column, None where too few cells are numbers to tell. The ledger is charged before noise is drawn.

    Each row is protected, not a person with several.
    """
    if not columns:
        raise ParameterError("private_bounds: there is no column to measure.")
    counts = np.zeros((len(columns), BINS), dtype=np.int64)
    for batch in batches:
        for i, name in enumerate(columns):
            counts[i] += np.bincount(bins_of(batch.column(name)), minlength=BINS)
    purpose = f"bounds of {len(columns)} columns"
    budget = PrivacyFilter.open(privacy, ledger=ledger, subject=ROWS, coordinates=counts.size, purpose=purpose)
    return {
        name: _bounds(_noisy(total, budget, noise, share=1.0 / len(columns)), len(columns))
        for name, total in zip(columns, counts, strict=True)
    }


def bins_of(array: pa.Array) -> Integers:
    """The bin of every cell: (n,). No value raises.

    >>> (bins_of(pa.array([-0.75, 0.0, 1.0, 1.5, 2.0])) - _ZERO).tolist()
    [-20, 0, 21, 21, 22]
    """
    numbers = read_numbers(array)
    known = ~np.isnan(numbers) & ~dense(pc.is_null(array))
    safe = np.where(known, numbers, 0.0)
    exponents = np.where(np.isinf(safe), HIGHEST, np.frexp(safe)[1].astype(np.int64) - 1)
    sizes = np.clip(exponents, LOWEST, HIGHEST) - LOWEST + 1
    bins: Integers = np.where(safe == 0.0, _ZERO, _ZERO + np.sign(safe).astype(np.int64) * sizes)
    return np.where(known, bins, _NO_NUMBER)


def _noisy(counts: Integers, budget: PrivacyFilter, noise: NoiseSource, *, share: float) -> Measurement:
    sensitivity = block_sensitivity(budget.neighbours)
    return measure(counts.astype(object), sensitivity, budget=budget, share=share, noise=noise, label="bounds")


def _bounds(measurement: Measurement, columns: int) -> Bounds | None:
    passing = np.flatnonzero(measurement.values[:_NO_NUMBER] >= _threshold(measurement, columns))
    if len(passing) == 0:
        return None
    edges = _edges()
    return Bounds(low=float(edges[passing[0], 0]), high=float(edges[passing[-1], 1]))


def _threshold(measurement: Measurement, columns: int) -> float:
    surprise = math.log(columns * BINS / FALSE_ALARM)
    return measurement.scale * (surprise if measurement.law is Law.LAPLACE else math.sqrt(2.0 * surprise))


def _edges() -> Floats:
    """Where each bin of numbers begins and ends: (BINS − 1, 2)."""
    powers = 2.0 ** np.arange(LOWEST, HIGHEST + 2)
    positive = np.column_stack([np.append(0.0, powers[1:-1]), powers[1:]])
    return np.concatenate([-positive[::-1, ::-1], [[0.0, 0.0]], positive])
