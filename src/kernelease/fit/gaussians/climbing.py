"""Peaks of a witness function, from many starts at once by gradient ascent."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from kernelease.arrays import Floats

Witness: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""Values and gradients at points: (m, d) → (m,), (m, d)."""

STEPS = 25  # of each climb. research: Vectors: one constant at a time
_LONGEST = 0.7  # of a step, in units of the scale. research: Vectors: one constant at a time
_APART = 0.5  # peaks closer than this are one. research: Vectors: one constant at a time


def climb(witness: Witness, starts: Floats, scale: float) -> tuple[Floats, Floats]:
    """Where ascent ends from each start, and how high it is there: (m, d) → (m, d), (m,).

    Each start has a step length of its own, which grows after a step upwards and shrinks after one that was not.
    `scale` is the width of a typical peak.
    """
    points = starts.copy()
    heights, slopes = witness(points)
    lengths = 0.5 * scale**2 / (np.abs(heights) + np.finfo(float).tiny)
    for _ in range(STEPS):
        moves = lengths[:, None] * slopes
        sizes = np.linalg.norm(moves, axis=1) + np.finfo(float).tiny
        moves *= np.minimum(1.0, _LONGEST * scale / sizes)[:, None]
        higher, steeper = witness(points + moves)
        up = higher > heights
        points[up] += moves[up]
        heights[up], slopes[up] = higher[up], steeper[up]
        lengths *= np.where(up, 1.6, 0.35)
    return points, heights


def distinct(points: Floats, heights: Floats, scale: float, count: int) -> Floats:
    """At most `count` points, highest first, none within half a scale of a higher one: (m, d) → (≤ count, d)."""
    chosen: list[int] = []
    for index in np.argsort(-heights):
        gaps = np.linalg.norm(points[chosen] - points[index], axis=1)
        if np.all(gaps > _APART * scale):
            chosen.append(int(index))
        if len(chosen) == count:
            break
    return points[chosen]
