"""White-box audits of the sums of one block: the two rows that differ most, and noise for rows that differ less."""

import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from audits.attacker import claimed_mu, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.methods import PRIVACY
from audits.transcript import Run, log_ratios
from audits.twins import BulkNoise
from kernelease.exact.counting import ExactCounts
from kernelease.ledgers import MemoryLedger
from kernelease.measured.blocks import Block
from kernelease.measured.counts import Contrasts
from kernelease.measured.offsets import Moments, Sides
from kernelease.measured.spreads import Spread
from kernelease.measured.sums import AtMost, Clamped, Ramp
from kernelease.passes import EncodedRows
from kernelease.privacy import Neighbours, NoiseSource, PrivacyFilter
from kernelease.privacy.sensitivity import ROWS, Sensitivity, block_sensitivity, centred_sensitivity, sides_sensitivity

SIZES = (8, 2)
TRIALS = {Effort.FAST: 300, Effort.FULL: 1_500}  # per world

RAMP = Ramp(start=np.arange(8) * 3 - 10, slope=np.zeros(8, dtype=np.int64), limit=8)  # clamped at both ends
MOMENT = Moments(columns=(0, 1), groups=(np.zeros(8, dtype=np.int64), np.arange(2)), share=1.0, ramps=(RAMP, None))
FROM_END_TO_END = ([(3, 0), (4, 1), (0, 0)], [(3, 0), (4, 1), (7, 0)])  # of the range, in one cell

SPREAD = Spread(  # of rows up to √50 long: those of atom 0 in the first column, or of 1 in the second, are
    columns=(0, 1),
    groups=(np.zeros(8, dtype=np.int64), np.zeros(2, dtype=np.int64)),
    share=1.0,
    scores=(np.array([-7, -3, -2, 0, 1, 2, 3, 70]), np.array([0, 7])),
    mixing=np.eye(2, dtype=np.int64),
    one=1,
    limit=50,
)
FROM_ONE_TO_ANOTHER = ([(4, 0), (5, 0), (0, 0)], [(4, 0), (5, 0), (3, 1)])  # of two axes, as long as can be

FOUR = (2, 2, 2, 2)
SIDES = Sides(
    columns=(0, 1, 2, 3),
    groups=tuple(np.zeros(size, dtype=np.int64) for size in FOUR),
    share=1.0,
    sides=(np.array([-1, 1]),) * 4,
    ordered=FOUR,
)
HALF_OF_THE_COLUMNS = ([(0, 0, 1, 1), (1, 0, 1, 0), (1, 1, 1, 1)], [(0, 0, 1, 1), (1, 0, 1, 0), (1, 1, 0, 0)])

INTERACTION = Contrasts(columns=(0, 1), groups=(np.arange(8), np.arange(2)), share=1.0)
CENTRED = Contrasts(columns=(0,), groups=(np.arange(8),), share=1.0)
ONE_CELL_SHARED = ([(3, 0), (4, 1), (5, 0)], [(3, 0), (4, 1), (5, 1)])  # that of the column with more of them


def measured(block: Block, sizes: tuple[int, ...] = SIZES) -> Run:
    """One block, for the whole budget."""

    def run(rows: Any, noise: NoiseSource) -> object:
        codes = np.array(rows, dtype=np.int64).T
        counts = ExactCounts.of(EncodedRows(lambda: iter([(codes, None)]), sizes), sizes)
        budget = PrivacyFilter.open(
            PRIVACY, ledger=MemoryLedger(PRIVACY), subject=ROWS, coordinates=block.cells, purpose="an audit"
        )
        return counts.privatise([block], budget, noise=noise)

    return run


def patched(run: Run, kind: type, method: str, broken: Callable[..., Any]) -> Run:
    """The same run with a method of some class broken."""

    def twin(rows: Any, noise: NoiseSource) -> object:
        with mock.patch.object(kind, method, broken):
            return run(rows, noise)

    return twin


def charged(block: Block, broken: Callable[..., Sensitivity], sizes: tuple[int, ...] = SIZES) -> Run:
    """A block whose noise is for another sensitivity than its own."""
    return patched(measured(block, sizes), type(block), "sensitivity", broken)


def as_counts(_: Block, neighbours: Any, unit: int) -> Sensitivity:
    """The noise of counts, for sums of larger integers."""
    return block_sensitivity(neighbours, unit=unit)


def for_unlike_rows(block: Block, neighbours: Any, unit: int) -> Sensitivity:
    """Noise for two rows that share no cell, √2 times a single row: but those that share one differ more."""
    one = math.sqrt(math.prod(block.grid) * math.prod(size - 1 for size in block.grid))
    return Sensitivity(l2=math.sqrt(2.0) * one * unit, l1=4.0 * one * unit, neighbours=neighbours)


def for_one_row(block: Block, neighbours: Any, unit: int) -> Sensitivity:
    """Noise for a row that leaves, where one comes in its place."""
    alone = centred_sensitivity(Neighbours.ADD_REMOVE, shape=block.grid, unit=unit)
    return Sensitivity(l2=alone.l2, l1=alone.l1, neighbours=neighbours)


def for_one_row_of_sides(block: Block, neighbours: Any, unit: int) -> Sensitivity:
    """The same for sides."""
    alone = sides_sensitivity(Neighbours.ADD_REMOVE, columns=len(block.columns), unit=unit)
    return Sensitivity(l2=alone.l2, l1=alone.l1, neighbours=neighbours)


def unclamped(_: Clamped, __: Any, number: Any) -> Any:
    """Numbers as they are and twice as large, whatever the limit says."""
    return 2 * number


def without_limit(_: AtMost, __: Any, number: Any) -> Any:
    """Rows of any length count, twice as much as they may."""
    return 2 * np.ones_like(number)


def game(run: Run, tables: tuple[Any, Any], twins: dict[str, Run]) -> Callable[[Effort], Verdict]:
    """The likelihood ratio of both worlds: the row moves the sums by all that was charged."""

    def audit(effort: Effort) -> Verdict:
        def bound(played: Run) -> float:
            return normal_mu_bound(*log_ratios(played, tables, BulkNoise(), TRIALS[effort], adaptive=False))

        return judged(
            trials=2 * TRIALS[effort],
            claim=claimed_mu(PRIVACY),
            real=bound(run),
            twins={name: bound(twin) for name, twin in twins.items()},
            symbol="μ",
            sharp=0.5 if effort is Effort.FAST else 0.75,
        )

    return audit


CASES = (
    Case(
        name="interaction of two columns",
        kind="audit",
        claim="Counts less the means of rows and columns are worth no more than they were charged, whatever row is "
        "replaced.",
        run=game(
            measured(INTERACTION),
            ONE_CELL_SHARED,
            {
                "charged as counts": charged(INTERACTION, as_counts),
                "charged for rows that share no cell": charged(INTERACTION, for_unlike_rows),
            },
        ),
    ),
    Case(
        name="a column without its mean",
        kind="audit",
        claim="Counts of a column less their mean are worth no more than they were charged, whatever row is replaced.",
        run=game(
            measured(CENTRED),
            FROM_END_TO_END,
            {
                "charged as counts": charged(CENTRED, as_counts),
                "charged for one row": charged(CENTRED, for_one_row),
            },
        ),
    ),
    Case(
        name="moments",
        kind="audit",
        claim="Sums of offsets within cells are worth no more than they were charged, whatever row is replaced.",
        run=game(
            measured(MOMENT),
            FROM_END_TO_END,
            {
                "charged as counts": charged(MOMENT, as_counts),
                "weights that are not clamped": patched(measured(MOMENT), Clamped, "of", unclamped),
            },
        ),
    ),
    Case(
        name="products of numbers",
        kind="audit",
        claim="Sums of products of scores are worth no more than they were charged, whatever row is replaced.",
        run=game(
            measured(SPREAD),
            FROM_ONE_TO_ANOTHER,
            {
                "charged as counts": charged(SPREAD, as_counts),
                "rows of any length": patched(measured(SPREAD), AtMost, "of", without_limit),
            },
        ),
    ),
    Case(
        name="sides of columns",
        kind="audit",
        claim="How often rows lie on the same sides of columns is worth no more than it was charged, whatever row is "
        "replaced.",
        run=game(
            measured(SIDES, FOUR),
            HALF_OF_THE_COLUMNS,
            {
                "charged as counts": charged(SIDES, as_counts, FOUR),
                "charged for one row": charged(SIDES, for_one_row_of_sides, FOUR),
            },
        ),
    ),
)
