"""How long each stage of a release takes, about: for plans, and for whoever watches. Everything in it is public."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.mixtures.objective import signal_of
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlocks

READING: Final = "reading rows"
TOGETHER: Final = "noisy counts of pairs"
ROUGHLY: Final = "a first fit, to choose what else to count"
CHOSEN: Final = "noisy counts of what was chosen"
FITTING: Final = "fitting"
DRAWING: Final = "drawing rows"

# Seconds of one core of an ordinary machine.
_START = 1.0  # research: Time of a release. Libraries are loaded, and the source is opened
_PER_CELL = 2e-7  # research: Time of a release. A cell of the table, read, encoded and counted
_PER_PAIR = 2.5e-8  # research: Time of a release. A row, counted in one pair of columns
_PER_DRAW = 1.2e-5  # research: Time of a release. A number of exact noise
_PER_CHOICE = 1.3e-6  # research: Time of a release. A cell of the table, counted in what is chosen
_PER_STEP = 2e-3  # research: Time of a release. A step of the fit, whatever there is to fit
_PER_PRODUCT = 3e-11  # research: Time of a release. A multiplication and addition in the fit
_PER_LOGIT = 3e-8  # research: Time of a release. A parameter of the fit, in one step
_PER_VALUE = 1.3e-6  # research: Time of a release. A value of a synthetic row, drawn and decoded


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What there is to do: so many rows and columns, blocks to count, and a mixture to fit to them."""

    rows: float
    columns: int
    blocks: tuple[Block, ...]  # single columns, and pairs that are measured
    looked_at: int = 0  # pairs of which some are chosen privately
    signal: float  # rows over the noise of a count, in pairs
    classes: int = 1  # of a target
    solver: MixtureSolver

    @property
    def cells(self) -> int:
        """Of all columns, as fine as pairs of them are measured."""
        return fitted_cells(self.blocks)

    def seconds(self) -> dict[str, float]:
        """Of each stage, in order."""
        pairs = sum(len(block.columns) > 1 for block in self.blocks)
        numbers = sum(block.cells for block in self.blocks)
        table = self.rows * self.columns
        counted = {READING: _START + table * _PER_CELL}
        if pairs:
            counted[TOGETHER] = self.rows * (pairs + self.looked_at) * _PER_PAIR + numbers * _PER_DRAW
            counted[ROUGHLY] = self._fit(self.solver.rough())
            counted[CHOSEN] = table * _PER_CHOICE
        return counted | self.after()

    def after(self) -> dict[str, float]:
        """What follows the measurements."""
        return {FITTING: self._fit(self.solver), DRAWING: self.rows * self.columns * _PER_VALUE}

    def _fit(self, solver: MixtureSolver) -> float:
        components, steps = solver.effort(self.cells, max(1.0, self.signal))
        products = 2 * self.classes * self.cells * self.cells * _PER_PRODUCT
        return steps * (_PER_STEP + components * (products + self.cells * _PER_LOGIT))


def fitted_cells(blocks: Sequence[Block]) -> int:
    """Cells of all columns in blocks of several: the parameters of a mixture's component."""
    cells: dict[int, int] = {}
    for block in blocks:
        if len(block.columns) > 1:
            for column, size in zip(block.columns, block.shape, strict=True):
                cells[column] = max(size, cells.get(column, 0))
    return max(1, sum(cells.values()))


def fit_workload(noisy: NoisyBlocks, solver: MixtureSolver, rows: int | None = None) -> Workload:
    """What a fit of these measurements has to do, and to draw so many rows of it."""
    noisy = noisy.without_details
    return Workload(
        rows=noisy.rows if rows is None else rows,
        columns=len(noisy.sizes),
        blocks=tuple(block.block for block in noisy.blocks),
        signal=signal_of(noisy),
        solver=solver,
    )
