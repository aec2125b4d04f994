"""White-box audit of a measurement that is revealed in rounds, the second chosen by the noisy numbers of the first."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias
from unittest import mock

import numpy as np

from audits.attacker import claimed_mu, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.methods import FAR, PRIVACY
from audits.transcript import Run, log_ratios
from audits.twins import BulkNoise
from kernelease.arrays import Rows
from kernelease.exact.rows import ExactEmbedding
from kernelease.features import Nystrom
from kernelease.features.nystrom import extend
from kernelease.kernels import Gaussian
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import NoiseSource, PrivacyFilter
from kernelease.privacy.sensitivity import ROWS

FIRST = Nystrom.spanning(Gaussian(lengthscale=1.0), np.zeros((1, 1)), tolerance=1e-3, reserve=0.01)
TABLES = ([[0.0], [0.0], [0.0], [0.0]], [[0.0], [0.0], [0.0], [FAR]])  # the row moves one coordinate of each round
AGAIN = 8  # points of the second round that are nearly the first round's; and how often a twin goes on with the first
TRIALS = {Effort.FAST: 150, Effort.FULL: 1_500}  # per world

Extending: TypeAlias = Callable[[Nystrom, Rows], Nystrom]


def orthogonal(basis: Nystrom, points: Rows) -> Nystrom:
    """What the product does."""
    return extend(basis, points, most=len(points))


def as_they_are(basis: Nystrom, points: Rows) -> Nystrom:
    """Each point a coordinate of its own, whatever the first round has shown of it, and the stretch left as it was."""
    size = basis.dimension + len(points)
    matrix = np.eye(size, dtype=np.int64) * 2**30
    matrix[: basis.dimension, : basis.dimension] = basis.matrix
    return replace(basis, points=np.concatenate([basis.points, points]), matrix=matrix)


def in_rounds(extending: Extending) -> Run:
    """One coordinate, then more: close to the first, and on the side of the far row that the first one's noise says."""

    def run(rows: Any, noise: NoiseSource) -> object:
        table = np.array(rows, dtype=np.float64)
        books = MemoryLedger(PRIVACY)
        budget = PrivacyFilter.open(PRIVACY, ledger=books, subject=ROWS, coordinates=2 + AGAIN, purpose="an audit")
        first = ExactEmbedding.of(table, FIRST).privatise(budget, noise=noise)
        side = 0.2 if first.sum[0] > len(table) - 0.5 else -0.2
        points = np.array([[side / 1000.0]] * AGAIN + [[FAR + side]])
        whole = extending(FIRST, points)
        return ExactEmbedding.of(table, whole).resume(first, budget=budget, noise=noise)

    return run


def in_many_second_rounds(rows: Any, noise: NoiseSource) -> object:
    """The first round resumed again and again, by a filter that does not remember it."""
    budget = PrivacyFilter.open(
        PRIVACY, ledger=MemoryLedger(PRIVACY), subject=ROWS, coordinates=2 * AGAIN, purpose="an audit"
    )
    table, points = np.array(rows, dtype=np.float64), np.array([[FAR]])
    first = ExactEmbedding.of(table, FIRST).privatise(budget, noise=noise)
    exact = ExactEmbedding.of(table, orthogonal(FIRST, points))
    with mock.patch.object(PrivacyFilter, "resume", return_value=None):
        return [exact.resume(first, budget=budget, noise=noise) for _ in range(AGAIN)]


def rounds(effort: Effort) -> Verdict:
    """The likelihood ratio of both rounds: on either side the far row moves the second by nearly 1."""
    trials = TRIALS[effort]

    def bound(run: Run, *, adaptive: bool = True) -> float:
        return normal_mu_bound(*log_ratios(run, TABLES, BulkNoise(), trials, adaptive=adaptive))

    return judged(
        trials=2 * trials,
        claim=claimed_mu(PRIVACY),
        real=bound(in_rounds(orthogonal)),
        twins={
            "points in the first span measured again": bound(in_rounds(as_they_are)),
            f"one first round, {AGAIN} second ones": bound(in_many_second_rounds, adaptive=False),
        },
        symbol="μ",
        sharp=0.5 if effort is Effort.FAST else 0.75,
    )


CASES = (
    Case(
        name="a subspace in rounds",
        kind="audit",
        claim="A measurement whose directions are chosen and revealed in rounds is worth no more than it was charged.",
        run=rounds,
    ),
)
