"""White-box audit of sums of offsets: the row that moves them most, and weights that are charged as counts."""

from typing import Any
from unittest import mock

import numpy as np

from audits.attacker import claimed_mu, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.methods import PRIVACY
from audits.transcript import Run, log_ratios
from audits.twins import BulkNoise
from kernelease.measured.block import Block
from kernelease.measured.ramp import Ramp
from kernelease.privacy import MemoryLedger, NoiseSource, PrivacyFilter
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.privacy.subject import ROWS
from kernelease.private.counts import ExactCounts
from kernelease.private.encoded import EncodedRows

SIZES = (8, 2)
LIMIT = 8
RAMP = Ramp(start=np.arange(8) * 3 - 10, slope=np.zeros(8, dtype=np.int64), limit=LIMIT)  # clamped at both ends
BLOCK = Block(columns=(0, 1), groups=(np.zeros(8, dtype=np.int64), np.arange(2)), share=1.0, ramps=(RAMP, None))
TABLES = ([(3, 0), (4, 1), (0, 0)], [(3, 0), (4, 1), (7, 0)])  # from one end of the range to the other, in one cell
TRIALS = {Effort.FAST: 150, Effort.FULL: 1_500}  # per world


def weighed(rows: Any, noise: NoiseSource) -> object:
    """One moment, for the whole budget."""
    codes = np.array(rows, dtype=np.int64).T
    counts = ExactCounts.of(EncodedRows(lambda: iter([(codes, None)]), SIZES), SIZES)
    budget = PrivacyFilter.open(PRIVACY, ledger=MemoryLedger(PRIVACY), subject=ROWS, coordinates=2, purpose="an audit")
    return counts.privatise([BLOCK], budget, noise=noise)


def as_counts(rows: Any, noise: NoiseSource) -> object:
    """Weights up to `LIMIT`, with noise for a row that counts as 1."""

    def typed(neighbours: Any, *, limit: int, unit: int = 1) -> Any:
        return block_sensitivity(neighbours, unit=unit)

    with mock.patch("kernelease.private.counts.moment_sensitivity", typed):
        return weighed(rows, noise)


def unclamped(rows: Any, noise: NoiseSource) -> object:
    """Weights as the arrays have them, whatever the limit says."""

    def of(ramp: Ramp, atoms: Any, fine: Any) -> Any:
        return 2 * (ramp.start[atoms] + ramp.slope[atoms] * fine)

    with mock.patch.object(Ramp, "of", of):
        return weighed(rows, noise)


def moments(effort: Effort) -> Verdict:
    """The likelihood ratio of both worlds: the row moves the sum by twice the limit, all that was charged."""
    trials = TRIALS[effort]

    def bound(run: Run) -> float:
        return normal_mu_bound(*log_ratios(run, TABLES, BulkNoise(), trials, adaptive=False))

    return judged(
        trials=2 * trials,
        claim=claimed_mu(PRIVACY),
        real=bound(weighed),
        twins={"charged as counts": bound(as_counts), "weights that are not clamped": bound(unclamped)},
        symbol="μ",
        sharp=0.5 if effort is Effort.FAST else 0.75,
    )


CASES = (
    Case(
        name="moments",
        kind="audit",
        claim="Sums of offsets within cells are worth no more than they were charged, whatever row is replaced.",
        run=moments,
    ),
)
