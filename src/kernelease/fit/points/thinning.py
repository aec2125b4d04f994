"""Thinning: few rows of equal weight whose mean embedding stays near that of many weighted ones.

Halve a set again and again: take its rows two by two and keep one of each two, so that what was kept and what was
dropped stay in balance in the embedding. The mean then moves by about 1/n for n rows that are left, where independent
draws would move it by about 1/√n (self-balancing walks: Alweiss, Liu & Sawhney 2021; kernel thinning: Dwivedi & Mackey
2021).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, block_slices
from kernelease.errors import ParameterError

HALVINGS = 3  # from so many times as many rows, at most 2 to this power. research: Thinning
_LARGEST = 2**18  # rows to start from, unless one halving needs more. limit: of time, some seconds
_AT_ONCE = 2**22  # features in memory at a time. limit: 32 MiB


def thin(
    features: Callable[[Integers], NDArray[np.floating]], weights: Floats, count: int, generator: np.random.Generator
) -> Integers:
    """`count` rows, with repeats where a row weighs more than one of them: their numbers, (count,), in random order.

    `features(rows)` are the embeddings of rows given by their numbers: (n,) → (n, F).
    """
    if count < 1 or np.any(weights < 0.0) or not weights.sum() > 0.0:
        raise ParameterError(
            "sample: needs a positive number of rows and a release with weights that are not negative; "
            "fit it again on the simplex."
        )
    shares = weights / weights.sum() * count
    whole = np.floor(shares + 1e-9).astype(np.int64)  # rows that are taken in any case
    left = count - int(whole.sum())
    chosen = [np.repeat(np.arange(len(weights)), whole)]
    if left:
        rest = np.maximum(shares - whole, 0.0)
        rounds = max(1, min(HALVINGS, int(np.log2(max(2, _LARGEST // left)))))
        drawn = systematic(rest, left * 2**rounds, generator)
        for _ in range(rounds):
            drawn = halve(features, drawn, generator)
        chosen.append(drawn)
    return generator.permutation(np.concatenate(chosen))


def halve(
    features: Callable[[Integers], NDArray[np.floating]], rows: Integers, generator: np.random.Generator
) -> Integers:
    """One of each two rows, in balance: (2n,) → (n,). Of two that are the same row one is kept in any case."""
    distinct, numbers = np.unique(rows, return_counts=True)
    pairs = generator.permutation(distinct[numbers % 2 == 1]).reshape(-1, 2)
    kept = np.empty(len(pairs), dtype=np.int64)
    width = features(rows[:1]).shape[1]
    balance: NDArray[np.floating] = np.zeros(width, dtype=np.float32)  # Σ of what was kept minus what was dropped
    for block in block_slices(len(pairs), max(1, _AT_ONCE // max(1, width))):
        one, other = features(pairs[block, 0]), features(pairs[block, 1])
        for index, step in enumerate((one - other).astype(np.float32), start=block.start):
            first = float(balance @ step) <= 0.0
            balance += step if first else -step
            kept[index] = pairs[index, 0 if first else 1]
    return np.concatenate([np.repeat(distinct, numbers // 2), kept])


def systematic(weights: Floats, count: int, generator: np.random.Generator) -> Integers:
    """`count` rows in proportion to their weights, at equally spaced marks in a random order: (count,)."""
    order = generator.permutation(len(weights))
    ends = np.cumsum(weights[order]) / weights.sum() * count
    marks = np.searchsorted(ends, np.arange(count) + generator.random(), side="right")
    return order[np.minimum(marks, len(order) - 1)]
