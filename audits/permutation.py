"""Tests on private rows: the margin of a permutation test, around the worst neighbours."""

from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np

from audits.attacker import epsilon_bound, judged
from audits.case import Case, Effort, Verdict
from audits.twins import BulkNoise, QuietNoise
from kernelease.arrays import Floats
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import Neighbours, NoiseSource, Privacy, PrivacyFilter, Sensitivity
from kernelease.privacy.mechanisms import exceed
from kernelease.privacy.sensitivity import ROWS
from kernelease.private_tests import (
    GroupStatistic,
    KernelCovariance,
    KernelDistance,
    PairStatistic,
    PermutedStatistics,
    RankAgreement,
    RankDistance,
    SwappedCovariance,
)
from kernelease.table.atom_features import AtomFeatures, PairFeatures

PRIVACY = Privacy(epsilon=1.0, delta=0.0)
STEP = 1000  # how far one row moves each number, in integers
OTHERS = 39
RANK = 20  # the middle one of so many has little noise of its own: no other shows more
LEVEL = 0.15  # in `tables`, replacing a row brings the statistic down and this quantile of the others up
TRIALS = {Effort.FAST: 4_000, Effort.FULL: 15_000}  # per world
FEATURES = AtomFeatures(np.array([[0], [256]]))  # two atoms, as far apart as they can be
World = Callable[[NoiseSource], int]


OPEN = PrivacyFilter.open(PRIVACY, ledger=MemoryLedger(PRIVACY), subject=ROWS, coordinates=1, purpose="an audit")


def budget() -> PrivacyFilter:
    """For one more test."""
    return PrivacyFilter(PRIVACY, OPEN.total, OPEN.receipt)


def margins(world: World, noise: NoiseSource, trials: int) -> Floats:
    """What comes out of so many tests."""
    return np.array([world(noise) for _ in range(trials)], dtype=np.float64)


def bound(worlds: tuple[World, World], noise: NoiseSource, trials: int) -> float:
    """On ε."""
    a, b = (margins(world, noise, trials) for world in worlds)
    return epsilon_bound(a, b)


def numbers(observed: int, others: int, step: int = 2 * STEP) -> World:
    """The statistic and all the others at given places, charged for how far their difference may move."""
    charged = Sensitivity(l2=float(step), l1=float(step), neighbours=Neighbours.REPLACE_ONE)

    def run(noise: NoiseSource) -> int:
        found = exceed(observed, [others] * OTHERS, RANK, charged, budget=budget(), noise=noise, label="an audit")
        return int(found.integers[0])

    return run


def mechanism(effort: Effort) -> Verdict:
    """One row moves the statistic up by a step, and every other one down by a step."""
    trials = TRIALS[effort]

    def worlds(step: int = 2 * STEP) -> tuple[World, World]:
        return numbers(0, STEP, step), numbers(STEP, 0, step)

    return judged(
        trials=2 * trials,
        claim=PRIVACY.epsilon,
        real=bound(worlds(), BulkNoise(), trials),
        twins={"charged for the statistic alone": bound(worlds(STEP), BulkNoise(), trials)},
        symbol="ε",
        sharp=0.5 if effort is Effort.FAST else 0.7,
    )


def tables(rows: int, part: GroupStatistic, last: int) -> World:
    """Two tables that have nothing in common, but for the last row of the first."""
    first, second = np.ones((rows, 1), dtype=np.int64), np.zeros((rows, 1), dtype=np.int64)
    first[-1] = last
    return statistic(
        lambda generator: PermutedStatistics.of_groups(first, second, [part], draws=OTHERS, generator=generator)
    )


def pairs(rows: int, part: PairStatistic, last: int) -> World:
    """Two columns that are one and the same, but for the last row."""
    first = np.arange(rows) % 2
    codes = np.stack([first, first], axis=1)
    codes[-1, 1] = last
    return statistic(lambda generator: PermutedStatistics.of_pairs(codes, [part], draws=OTHERS, generator=generator))


def statistic(make: Callable[[np.random.Generator], PermutedStatistics]) -> World:
    """The test with the same orders each time: rows keep their places here."""
    made = make(np.random.default_rng(0))

    def run(noise: NoiseSource) -> int:
        return int(made.exceed(LEVEL, budget=budget(), noise=noise, label="an audit").integers[0])

    return run


STATISTICS: dict[str, Callable[[int], World]] = {
    "MMD": partial(tables, 6, KernelDistance(PairFeatures(columns=(FEATURES,)))),
    "ranks of two tables": partial(tables, 6, RankDistance(2)),
    "HSIC": partial(pairs, 8, KernelCovariance((FEATURES, FEATURES))),
    "HSIC of pairs": partial(pairs, 14, SwappedCovariance(KernelCovariance((FEATURES, FEATURES)))),
    "ranks of two columns": partial(pairs, 8, RankAgreement((2, 2))),
}


def on_rows(effort: Effort) -> Verdict:
    """Statistics on neighbouring tables; the twins take how far two atoms are apart for the sensitivity.

    Of pairs a quarter of it, as if a row were in one of the four terms of a product alone.
    """
    trials = TRIALS[effort]

    def typed(squared: Any, size: Any = None, *, power: int | None = 2, part: float = 1.0) -> Sensitivity:
        step = part * float(np.sqrt(np.prod(squared)))
        return Sensitivity(l2=step, l1=step, neighbours=Neighbours.REPLACE_ONE)

    def found(make: Callable[[int], World], noise: NoiseSource) -> float:
        return bound((make(0), make(1)), noise, trials)

    real = max(found(make, BulkNoise()) for make in STATISTICS.values())
    with (
        mock.patch("kernelease.private_tests.mean_distance_sensitivity", typed),
        mock.patch("kernelease.private_tests.covariance_sensitivity", typed),
        mock.patch("kernelease.private_tests.swap_sensitivity", partial(typed, part=0.25)),
    ):
        twins = {f"{name} charged as one row's": found(make, BulkNoise()) for name, make in STATISTICS.items()}
    quiet = found(STATISTICS["MMD"], QuietNoise(0.2))
    return judged(
        trials=2 * len(STATISTICS) * trials,
        claim=PRIVACY.epsilon,
        real=real,
        twins={**twins, "a fifth of the noise": quiet},
        symbol="ε",
        sharp=0.0 if effort is Effort.FAST else 0.1,
    )


CASES = (
    Case(
        name="a permutation test",
        kind="audit",
        claim="How far a statistic passes its critical value is ε-DP, whichever way the others move.",
        run=mechanism,
    ),
    Case(
        name="tests on rows",
        kind="audit",
        claim="A two-sample or independence test on private rows is ε-DP, whatever row is replaced.",
        run=on_rows,
    ),
)
