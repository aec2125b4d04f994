"""White-box audit of interactions: the two rows that differ most, and noise for rows that differ less."""

import math
from typing import Any
from unittest import mock

import numpy as np

from audits.attacker import claimed_mu, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.methods import PRIVACY
from audits.transcript import Run, log_ratios
from audits.twins import BulkNoise
from kernelease.measured.block import Block
from kernelease.privacy import MemoryLedger, NoiseSource, PrivacyFilter
from kernelease.privacy.sensitivity import Sensitivity, block_sensitivity
from kernelease.privacy.subject import ROWS
from kernelease.private.counts import ExactCounts
from kernelease.private.encoded import EncodedRows

SIZES = (8, 2)
BLOCK = Block(columns=(0, 1), groups=(np.arange(8), np.arange(2)), share=1.0, interaction=True)
TABLES = ([(3, 0), (4, 1), (5, 0)], [(3, 0), (4, 1), (5, 1)])  # one cell of the wide column, both of the narrow one
TRIALS = {Effort.FAST: 150, Effort.FULL: 1_500}  # per world


def contrasted(rows: Any, noise: NoiseSource) -> object:
    """One interaction, for the whole budget."""
    codes = np.array(rows, dtype=np.int64).T
    counts = ExactCounts.of(EncodedRows(lambda: iter([(codes, None)]), SIZES), SIZES)
    budget = PrivacyFilter.open(PRIVACY, ledger=MemoryLedger(PRIVACY), subject=ROWS, coordinates=16, purpose="an audit")
    return counts.privatise([BLOCK], budget, noise=noise)


def as_counts(rows: Any, noise: NoiseSource) -> object:
    """Integers that are sixteen times counts less their means, with noise for counts."""
    return _charged(rows, noise, lambda neighbours, *, shape, unit=1: block_sensitivity(neighbours, unit=unit))


def as_unlike_rows(rows: Any, noise: NoiseSource) -> object:
    """Noise for two rows that share no cell, √2 times a single row: but those that share one differ more."""

    def typed(neighbours: Any, *, shape: tuple[int, ...], unit: int = 1) -> Any:
        one = math.sqrt(math.prod(shape) * math.prod(size - 1 for size in shape))
        return Sensitivity(l2=math.sqrt(2.0) * one * unit, l1=4.0 * one * unit, neighbours=neighbours)

    return _charged(rows, noise, typed)


def _charged(rows: Any, noise: NoiseSource, typed: Any) -> object:
    with mock.patch("kernelease.private.counts.interaction_sensitivity", typed):
        return contrasted(rows, noise)


def interactions(effort: Effort) -> Verdict:
    """The likelihood ratio of both worlds, in which the row that is replaced keeps its cell of the wider column."""
    trials = TRIALS[effort]

    def bound(run: Run) -> float:
        return normal_mu_bound(*log_ratios(run, TABLES, BulkNoise(), trials, adaptive=False))

    return judged(
        trials=2 * trials,
        claim=claimed_mu(PRIVACY),
        real=bound(contrasted),
        twins={"charged as counts": bound(as_counts), "charged for rows that share no cell": bound(as_unlike_rows)},
        symbol="μ",
        sharp=0.5 if effort is Effort.FAST else 0.75,
    )


CASES = (
    Case(
        name="interaction of two columns",
        kind="audit",
        claim="Counts less the means of rows and columns are worth no more than they were charged, whatever row is "
        "replaced.",
        run=interactions,
    ),
)
