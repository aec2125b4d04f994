"""White-box audits of what helps to draft a schema: private bounds of numbers, and names of frequent values."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from audits.attacker import epsilon_bound, judged
from audits.case import Case, Effort, Verdict
from audits.transcript import Run, log_ratios
from audits.twins import BulkNoise, QuietNoise
from kernelease.arrays import Floats
from kernelease.drafting import bounds as frequent_module
from kernelease.drafting.bounds import NAMING_SHARE, frequent_values, private_bounds, threshold
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import NoiseSource, Privacy

PURE = {Effort.FAST: Privacy(epsilon=1.0, delta=0.0), Effort.FULL: Privacy(epsilon=2.0, delta=0.0)}
"""Well below what so many trials can prove of a twin."""
NAMES = Privacy(epsilon=2.0, delta=1e-3)


def bounds_of(privacy: Privacy) -> Run:
    """A run of the mechanism on one column."""

    def run(column: Any, noise: NoiseSource) -> object:
        batch = pa.record_batch({"income": pa.array(column, pa.float64())})
        return private_bounds([batch], ("income",), privacy=privacy, ledger=MemoryLedger(privacy), noise=noise)

    return run


def bounds(effort: Effort) -> Verdict:
    """A cell moves to another group in every look: from within what the first one finds to far outside of it."""
    trials, quiet, rows = (250, 0.0625, 120) if effort is Effort.FAST else (1_500, 0.25, 60)
    most = [7.0] * rows  # so many that the first look finds them, and the others follow
    tables = ([*most, 5.5], [*most, 1e300])

    def bound(noise: NoiseSource) -> float:
        return epsilon_bound(*log_ratios(bounds_of(PURE[effort]), tables, noise, trials, adaptive=True))

    return judged(
        trials=2 * trials,
        claim=PURE[effort].epsilon,
        real=bound(BulkNoise()),
        twins={f"Δ₁ too small by a factor of {1 / quiet:.0f}": bound(QuietNoise(quiet))},
        symbol="ε",
    )


def named(counts: dict[str, int], noise: NoiseSource) -> tuple[str, ...]:
    """What is named of a column with so many rows of each value."""
    batch = pa.record_batch({"job": pa.array([value for value, count in counts.items() for _ in range(count)])})
    return frequent_values([batch], ("job",), privacy=NAMES, ledger=MemoryLedger(NAMES), noise=noise)["job"]


def near_the_threshold(world: int, trials: int, noise: NoiseSource) -> Floats:
    """One row moves from a value at the threshold to another just below it. Score: which of the two are named."""
    least = threshold(math.sqrt(2.0) / NAMES.total(2).mu, NAMING_SHARE * NAMES.delta)
    counts = {"x": least - world, "y": least - 1 + world}
    names = (named(counts, noise) for _ in range(trials))
    return np.array([float("y" in seen) - float("x" in seen) for seen in names])


def held_by_one(world: int, trials: int, noise: NoiseSource) -> Floats:
    """A value that one row holds in world B and none in world A. Score: whether it is named."""
    counts = {"x": 3} | ({"y": 1} if world else {})
    return np.array([float("y" in named(counts, noise)) for _ in range(trials)])


def names(effort: Effort) -> Verdict:
    """Both games."""
    trials = 1_500 if effort is Effort.FAST else 5_000

    def bound(noise: NoiseSource) -> float:
        games = (near_the_threshold, held_by_one)
        return max(
            epsilon_bound(*(game(world, trials, noise) for world in (0, 1)), delta=NAMES.delta) for game in games
        )

    real, quiet = bound(BulkNoise()), bound(QuietNoise(0.125))
    keep, frequent_module.threshold = frequent_module.threshold, lambda *_: 1
    try:
        everything = bound(BulkNoise())
    finally:
        frequent_module.threshold = keep
    return judged(
        trials=4 * trials,
        claim=NAMES.epsilon,
        real=real,
        twins={"an eighth of the noise": quiet, "every value that occurs is named": everything},
        symbol="ε",
    )


CASES = (
    Case(
        name="private bounds",
        kind="audit",
        claim="Bounds of columns, drafted from private rows in looks of which each is planned from the last, are ε-DP.",
        run=bounds,
    ),
    Case(
        name="frequent values",
        kind="audit",
        claim="Names of frequent values are (ε, δ)-DP; a value that one row holds stays unknown.",
        run=names,
    ),
)
