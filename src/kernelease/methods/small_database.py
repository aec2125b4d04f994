"""§3.4 of the paper: the exponential mechanism over all small databases of a finite domain, scored by RKHS distance."""

import itertools
import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from kernelease.arrays import Integers, Rows, as_rows, check_integer
from kernelease.errors import CapacityError, ParameterError
from kernelease.exact.rows import PrivateRows
from kernelease.fit.solver import Outcome, Solution, SyntheticSet
from kernelease.machine import refuse_beyond_memory
from kernelease.measured.measured import Choice, Measured
from kernelease.measured.selected import Scale, SelectedDatabase
from kernelease.methods.method import Context, Method, refuse_other_columns, rehearse_selection
from kernelease.privacy.mechanisms import select
from kernelease.privacy.neighbours import Neighbours
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed

CANDIDATES_CAP = 200_000  # limit: of time, each is scored by itself
_COPIES = 4  # arrays with a cell per candidate and row. derived: as many as the scores hold at once


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDatabase(Method):
    """Draw one of all multisets of `size` domain rows, with probability ∝ exp(−ε·‖μ_D − μ_R‖ / 2Δ).

    Pure ε-differential privacy (give a `Privacy` with δ = 0), replace-one neighbours. `domain` lists every possible
    row; a row outside it counts as the domain's first row. Feasible for tiny domains only: it refuses above 200,000
    candidates.

    Everything is exact: the kernel is rounded to integers (with enough added to the diagonal to keep it positive
    definite), squared distances are integers, and scores are integer square roots of them.
    """

    domain: Rows
    size: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", as_rows(self.domain))
        check_integer("SmallDatabase: size", self.size, 1, 2**62)
        if len(self.domain) == 0:
            raise ParameterError("SmallDatabase: needs a domain of at least one row, got none.")

    @property
    def number_of_candidates(self) -> int:
        """How many multisets of `size` rows the domain has."""
        return math.comb(len(self.domain) + self.size - 1, self.size)

    @property
    def dimension(self) -> int:
        """The dimension of the domain's rows."""
        return int(self.domain.shape[1])

    def measure(self, rows: PrivateRows, context: Context) -> SelectedDatabase:
        """Count the rows of each kind, score every candidate, draw one."""
        count = self._refuse(context, rows)
        kernel = context.kernel
        domain = kernel.admit(self.domain)
        scale, candidates = Scale.of(kernel, domain, self.size), _multisets(len(domain), self.size)
        scores = _scores(scale, _counts(self.domain, rows.array()), candidates, count, self.size)
        rehearse_selection(scale.sensitivity, context.privacy)
        budget = context.open_budget(1, "SmallDatabase (exponential mechanism)")
        chosen = select(
            scores, scale.sensitivity, budget=budget, share=1.0, noise=context.noise, label="choice of a small database"
        )
        return SelectedDatabase(
            kernel=kernel,
            domain=domain,
            counts=candidates[chosen.index],
            selection=chosen,
            rows=float(count),
            choices=(Choice(name="candidates", value=len(candidates), reason="all multisets of the domain"),),
        )

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Solution:
        """The drawn database with uniform weights; there is nothing left to fit."""
        if not isinstance(measured, SelectedDatabase):
            raise ParameterError("SmallDatabase: can only give back what SmallDatabase has drawn.")
        synthetic = SyntheticSet(points=measured.points, weights=np.full(measured.size, 1.0 / measured.size))
        return Solution(synthetic=synthetic, distance=0.0, noise_floor=0.0, outcome=Outcome.SELECTED)

    def _refuse(self, context: Context, rows: PrivateRows) -> int:
        """What can't be done, before anything is charged; else N."""
        if not context.privacy.pure:
            raise ParameterError("SmallDatabase: the exponential mechanism is pure; give a Privacy with delta = 0.")
        if context.privacy.relation is not Neighbours.REPLACE_ONE:
            raise ParameterError("SmallDatabase: needs replace-one neighbours (its score uses the number of rows).")
        known = context.public_rows(rows)
        assert known is not None  # replace-one makes it public
        refuse_other_columns(rows, self.domain.shape[1], "SmallDatabase")
        if (count := self.number_of_candidates) > CANDIDATES_CAP:
            raise CapacityError(
                f"SmallDatabase: {len(self.domain)} kinds of row in databases of {self.size} make {count:,} "
                f"candidates, above the cap of {CANDIDATES_CAP:,}. Take a smaller domain or size, or another method."
            )
        what = f"SmallDatabase: {count:,} databases of {self.size} rows of {len(self.domain)} kinds"
        refuse_beyond_memory(what, count + len(self.domain), max(len(self.domain), self.size), _COPIES)
        return known


def _counts(domain: Rows, rows: Rows) -> Integers:
    """How many private rows are of each kind; a row outside the domain counts as the first kind."""
    kinds = {_key(kind): index for index, kind in enumerate(domain)}
    codes = [_kind(kinds, row) for row in rows]
    return np.bincount(codes, minlength=len(domain)).astype(np.int64)


def _kind(kinds: dict[Any, int], row: Rows) -> int:
    try:
        return kinds.get(_key(row), 0)
    except Exception:  # noqa: BLE001  # a cell's own __hash__ or __eq__ must not decide whether there is an error
        return 0


def _key(row: Rows) -> tuple[Any, ...]:
    """Cells that compare as a reader would: 1 is 1.0, 0 is −0, and NaN is None."""
    return tuple(None if isinstance(cell, float | np.floating) and math.isnan(cell) else cell for cell in row)


def _multisets(kinds: int, size: int) -> Integers:
    """Every multiset of `size` out of `kinds`, as counts: (candidates, kinds)."""
    chosen = np.array(list(itertools.combinations_with_replacement(range(kinds), size)), dtype=np.int64)
    counts = np.zeros((len(chosen), kinds), dtype=np.int64)
    for column in chosen.T:
        counts[np.arange(len(chosen)), column] += 1
    return counts


def _scores(scale: Scale, counts: Integers, candidates: Integers, rows: int, size: int) -> list[int]:
    """−‖μ_D − μ_R‖ in integers for every candidate R.

    With u = size·counts − rows·candidate, the squared distance is uᵀKu in units of (rows·size)⁻².
    """
    gram = scale.gram
    pull = (gram @ counts).astype(object)
    own = int(counts.astype(object) @ pull)
    cross = candidates.astype(object) @ pull
    within = np.einsum("ci,ij,cj->c", candidates, gram, candidates, optimize=True).astype(object)
    squared = size**2 * own - 2 * size * rows * cross + rows**2 * within
    return [-math.isqrt(int(value) << (2 * scale.bits)) for value in squared]
