"""§3.4 of the paper: the exponential mechanism over all small databases of a finite domain, scored by RKHS distance."""

import itertools
import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from kernelease.arrays import Integers, Rows, as_rows
from kernelease.errors import CapacityError, ParameterError
from kernelease.fit.capacity import refuse_beyond_memory
from kernelease.fit.solution import Outcome, Solution, SyntheticSet
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.parameters import check_integer
from kernelease.methods.method import Context, Measured, Method, refuse_other_columns
from kernelease.methods.rehearsal import rehearse_selection
from kernelease.methods.rules import Choice
from kernelease.privacy.mechanisms import select
from kernelease.privacy.neighbours import Neighbours

CANDIDATES_CAP = 200_000
_KERNEL_BITS = 20  # of the kernel's bound: its values become integers up to 2²⁰
_COPIES = 4  # arrays with a cell per candidate and row that are held at once
_SCORE_BITS = 10  # scores have 2¹⁰ steps per sensitivity, so that rounding them costs 0.1 %


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

    def measure(self, rows: Rows, context: Context) -> Measured:
        """Count the rows of each kind, score every candidate, draw one."""
        self._refuse(context, rows)
        gram = _integer_gram(context.kernel, context.kernel.admit(self.domain))
        candidates = _multisets(len(self.domain), self.size)
        scores, sensitivity = _scores(gram, _counts(self.domain, rows), candidates, len(rows), self.size)
        rehearse_selection(sensitivity, context.privacy)
        budget = context.open_budget(1, "SmallDatabase (exponential mechanism)")
        chosen = select(
            scores, sensitivity, budget=budget, share=1.0, noise=context.noise, step="choice of a small database"
        )
        points = np.repeat(self.domain, candidates[chosen.index], axis=0)
        return Measured(
            budget=budget,
            embedding=None,
            steps=(chosen.step,),
            candidates=points,
            choices=(Choice(name="candidates", value=len(candidates), reason="all multisets of the domain"),),
            private=context.noise.private,
        )

    def fit(self, measured: Measured, context: Context) -> Solution:
        """The drawn database with uniform weights; there is nothing left to fit."""
        count = len(measured.candidates)
        synthetic = SyntheticSet(points=measured.candidates, weights=np.full(count, 1.0 / count))
        return Solution(synthetic=synthetic, distance=0.0, noise_floor=0.0, outcome=Outcome.SELECTED)

    def _refuse(self, context: Context, rows: Rows) -> None:
        if not context.privacy.pure:
            raise ParameterError("SmallDatabase: the exponential mechanism is pure; give a Privacy with delta = 0.")
        if context.privacy.relation is not Neighbours.REPLACE_ONE:
            raise ParameterError("SmallDatabase: needs replace-one neighbours (its score uses the number of rows).")
        if len(rows) == 0:
            raise ParameterError("SmallDatabase: the table is empty; there is no row to describe.")
        refuse_other_columns(rows, self.domain.shape[1], "SmallDatabase")
        if (count := self.number_of_candidates) > CANDIDATES_CAP:
            raise CapacityError(
                f"SmallDatabase: {len(self.domain)} kinds of row in databases of {self.size} make {count:,} "
                f"candidates, above the cap of {CANDIDATES_CAP:,}. Take a smaller domain or size, or another method."
            )
        what = f"SmallDatabase: {count:,} databases of {self.size} rows of {len(self.domain)} kinds"
        refuse_beyond_memory(what, count + len(self.domain), max(len(self.domain), self.size), _COPIES)


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


def _integer_gram(kernel: Kernel, domain: Rows) -> Integers:
    """K as integers up to 2²⁰, positive definite: rounding moves K by at most kinds/2 in norm; the diagonal gets that.

    Scores are compared with their own sensitivity, so the unit of K is free: the power of two next to its bound.
    """
    unit = math.ldexp(1.0, _KERNEL_BITS - math.frexp(kernel.bound)[1])
    gram = np.rint(kernel.gram(domain, domain) * unit).astype(np.int64)
    gram = np.maximum(gram, gram.T)
    margin = math.ceil(len(domain) * (0.5 + kernel.evaluation_error(domain.shape[1]) * unit)) + 1
    return gram + margin * np.eye(len(domain), dtype=np.int64)


def _scores(gram: Integers, counts: Integers, candidates: Integers, rows: int, size: int) -> tuple[list[int], int]:
    """−‖μ_D − μ_R‖ in integers for every candidate R, and by how much one row can move it.

    With u = size·counts − rows·candidate, the squared distance is uᵀKu in units of (rows·size)⁻². One row moves
    μ_D by at most the integer kernel's own diameter, so the score by size·diameter in those units, exactly; the floor
    of the square root adds less than one step.
    """
    pull = (gram @ counts).astype(object)
    own = int(counts.astype(object) @ pull)
    cross = candidates.astype(object) @ pull
    within = np.einsum("ci,ij,cj->c", candidates, gram, candidates, optimize=True).astype(object)
    squared = size**2 * own - 2 * size * rows * cross + rows**2 * within
    diagonal = np.diagonal(gram)
    diameter_squared = int((diagonal[:, None] + diagonal[None, :] - 2 * gram).max())
    bits = max(0, _SCORE_BITS - (size**2 * diameter_squared).bit_length() // 2)
    scores = [-math.isqrt(int(value) << (2 * bits)) for value in squared]
    return scores, math.isqrt(size**2 * diameter_squared << (2 * bits)) + 2
