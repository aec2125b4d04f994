"""The mixture's gradient steps on a GPU: the same objective and rates, in a few dozen large operations."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from kernelease.arrays import Floats, Integers
from kernelease.cuda import cupy, program, translate_failures
from kernelease.errors import ParameterError
from kernelease.fit.mixtures.misfit import (
    LEAST,
    MEMORY,
    Correlations,
    Pairs,
    Set,
    Single,
    Singles,
    Term,
    apart,
)
from kernelease.fit.mixtures.mixture import GAIN, MOST_CHANGE, Schedule
from kernelease.fit.mixtures.objective import FLOOR, LAST_TRUST, Objective, bend_slope, leaning, tie_slope
from kernelease.measured.blocks import MOST_COLUMNS
from kernelease.progress import Progress

# --------------------
# All measured counts as one matrix product: a few large operations in place of the many small ones of `terms`.


Array: TypeAlias = Any  # CuPy's, which has no types of its own


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """One term: each row is a joint cell of at most three, `members` (3, rows), with which last cells are counted.

    The cell of probability 1 stands for a column that is not there.
    """

    members: Integers
    target: Single  # (rows, X)
    precision: Single  # 0 where nothing was measured
    trust: Single

    @classmethod
    def of(cls, term: Term, width: int) -> "_Rows":
        if isinstance(term, Singles):
            return cls._fill(np.full((MOST_COLUMNS - 1, 1), width - 1), term.place, width, term, term.trust)
        if isinstance(term, Pairs):
            members = np.full((MOST_COLUMNS - 1, len(term.target)), width - 1)
            members[0], members[1] = term.cells, width - 1 if term.cell is None else term.cell
            return cls._fill(members, term.cells, width, term, term.trust)
        if isinstance(term, Set):
            members = np.full((MOST_COLUMNS - 1, len(term.target)), width - 1)
            grid = np.meshgrid(*(np.arange(p.start, p.stop) for p in term.places[:-1]), indexing="ij")
            for axis, cells_of in enumerate(grid):
                members[axis] = cells_of.ravel()
            return cls._fill(members, term.places[-1], width, term, term.trust)
        raise ParameterError(f"{type(term).__name__}: this part of a fit has no program for a GPU: leave `device` out.")

    @classmethod
    def _fill(cls, members: Integers, last: slice | Integers, width: int, term: Any, trust: Any) -> "_Rows":
        shape = members.shape[1], width
        placed = [np.zeros(shape, dtype=np.float32) for _ in range(3)]
        for array, values in zip(placed, (term.target, term.precision, trust), strict=True):
            array[:, last] = values
        return cls(members=members, target=placed[0], precision=placed[1], trust=placed[2])


@final
class DeviceBlocks:
    """Some terms together: counts of joint cells (J) beside all cells (X), as the product of (M, J) and (M, X).

    Much of the product is about no block, and has precision 0. A GPU makes one large product sooner than many small.
    """

    def __init__(self, terms: Sequence[Term], width: int) -> None:
        xp, rows = cupy(), [_Rows.of(term, width) for term in terms]
        ends = np.cumsum([len(each.target) for each in rows])
        self.starts = {id(term): int(end) - len(r.target) for term, end, r in zip(terms, ends, rows, strict=True)}
        self._target, self._precision, self._trust = (
            xp.asarray(np.concatenate([getattr(each, name) for each in rows]))
            for name in ("target", "precision", "trust")
        )
        members = np.concatenate([each.members for each in rows], axis=1)
        members = members[(members < width - 1).any(axis=1) | (np.arange(len(members)) == 0)]  # others multiply by 1
        self._members = [xp.asarray(each) for each in members]
        self._folds = [xp.asarray(np.eye(width, dtype=np.float32)[each]) for each in members]
        self._squares = xp.zeros_like(self._target)

    def add(self, q: Array, w: Array, slope: Array, height: Array, chi_squared: Array) -> None:
        """Add χ² (1,) and its slopes to what is there, as `terms.Term.add` does."""
        xp = cupy()
        parts = [xp.take(q, member, axis=1) for member in self._members]
        joint = math.prod(parts[1:], start=parts[0])
        misfit = joint.T @ (q * w[:, None])
        pull = _pull()(misfit, self._target, self._precision, self._trust, misfit, self._squares)[0]
        chi_squared += self._squares.sum()
        onto, back = joint @ pull, q @ pull.T
        height += (onto * q).sum(axis=1)
        slope += onto
        for place, fold in enumerate(self._folds):
            slope += math.prod((part for other, part in enumerate(parts) if other != place), start=back) @ fold

    def sums(self, lasts: Array) -> Single:
        """χ² of each joint cell at the last step, over groups of last cells (X, groups): (J, groups)."""
        summed: Single = cupy().asnumpy(self._squares @ lasts)
        return summed

    def lean(self, rows: slice, last: slice, factor: float) -> None:
        """Trust a block more."""
        part = self._trust[rows, last]
        cupy().minimum(part * np.float32(factor), LAST_TRUST, out=part)


@functools.cache
def _pull() -> Any:
    """The pull of each number in place of its count, and what it adds to χ², in one pass over memory."""
    inputs = "float32 count, float32 target, float32 precision, float32 trust"
    code = "float away = count - target, raw = precision * away; squared = raw * away; pull = raw * trust;"
    return cupy().ElementwiseKernel(inputs, "float32 pull, float32 squared", code, "trusted_pull")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Where a block is: joint cells and last cells of one term, whose counts it has."""

    term: Term
    rows: slice  # of the term
    last: slice

    @classmethod
    def of(cls, trust: Single, objective: Objective) -> "Held":
        """By the array that holds the trust in the block: a set's own, or a part of a matrix of pairs."""
        for term in apart(objective.terms):
            if isinstance(term, Set) and term.trust is trust:
                return cls(term=term, rows=slice(0, len(term.target)), last=term.places[-1])
            if isinstance(term, Pairs) and trust.base is term.trust:
                offset = trust.__array_interface__["data"][0] - term.trust.__array_interface__["data"][0]
                column, row = divmod(offset // trust.itemsize, len(term.trust))  # in Fortran's order
                last = int(term.cells[column])
                return cls(term=term, rows=slice(row, row + len(trust)), last=slice(last, last + trust.shape[1]))
        raise ParameterError("A block of the fit belongs to no term.")


# --------------------
# The gradient steps.
#
# Sums are taken in another order than on the processor, in single precision: a fit ends at the same χ², not with the
# same bits. Nothing private is near.


_WARPS = 8  # convention: of 32 threads in a block
_ONE_BLOCK = 1024  # limit: threads of a block, where one has all components
_MOST_JOINT = 8192  # limit: joint cells of sets that are multiplied together: with 10,000 components, 330 MB


@final
class DeviceDescent:
    """Components' logits (M, C) and weights' (M,) on the GPU, and one step of their descent."""

    def __init__(self, objective: Objective, logits: Single, weight_logits: Single, schedule: Schedule) -> None:
        xp = cupy()
        self._objective, self._schedule = objective, schedule
        self._logits = xp.asarray(np.ascontiguousarray(logits.T))  # a component's cells stand together here
        self._weight_logits = xp.asarray(weight_logits)
        extensions = _extensions(objective)
        self._extend = [xp.asarray(extension) for extension in extensions]
        (cells, width), components = extensions[0].shape, len(weight_logits)
        self._q = xp.ones((components, cells), dtype=xp.float32)  # the last cell has probability 1
        part, parts = components * width, len(extensions)
        self._sums = xp.zeros(parts * part + components + 1, dtype=xp.float32)  # what terms add to, in one array
        self._slopes = [self._sums[k * part : (k + 1) * part].reshape(components, width) for k in range(parts)]
        self._height, self._chi_squared = self._sums[parts * part : -1], self._sums[-1:]
        self._w = xp.zeros(components, dtype=xp.float32)
        self._memory = [xp.zeros_like(each) for each in (self._logits, self._weight_logits) for _ in range(2)]
        self._log_prior = xp.asarray(np.log(objective.prior))
        self._bends = xp.asarray(objective.bends[:, None]) if objective.bends.any() else None
        self._ties = tuple((one, other, xp.asarray(tie)) for one, other, tie in objective.ties)
        self._starts = xp.asarray(np.array([*(p.start for p in objective.places), objective.size], dtype=np.int32))
        self._plan = xp.asarray(schedule.plan)
        self._state = xp.asarray(np.array([schedule.first, schedule.plan[0, 0], 0.0, 0.0], dtype=np.float32))
        self._held = [[Held.of(trust, objective) for trust in trusts] for trusts in objective.trusts]
        counted = [term for term in apart(objective.terms) if not isinstance(term, Correlations)]
        self._correlations = [_to_gpu(one) for one in objective.terms if isinstance(one, Correlations)]
        kinds = [[term for term in counted if term.centred is kind] for kind in (False, True)][:parts]
        batches = [(kind, few) for kind, terms in enumerate(kinds) for few in _batches(terms)]
        self._counts = [DeviceBlocks(few, width) for _, few in batches]
        self._kinds = [kind for kind, _ in batches]  # of probabilities: as they are, or less their means
        lasts = sorted({(held.last.start, held.last.stop) for block in self._held for held in block})
        self._group = {last: place for place, last in enumerate(lasts)}
        self._lasts = xp.asarray(_one_hot(lasts, width))

    def run(self, progress: Progress) -> tuple[Single, Single]:
        """All steps; the logits come back, (C, M) and (M,)."""
        xp = cupy()
        with translate_failures():
            for step in range(self._schedule.steps):
                self._step()
                progress.step()
                if self._schedule.leans(step) and float(self._state[2]) < self._schedule.near:
                    self._lean()
            return np.ascontiguousarray(xp.asnumpy(self._logits).T), xp.asnumpy(self._weight_logits)

    def _look(self) -> tuple[list[Any], tuple[int]]:
        """Probabilities, and χ² with its slopes by them; sizes and blocks as the programs take them."""
        components, cells = self._logits.shape
        sizes = [np.int32(n) for n in (components, len(self._objective.places), cells, cells + 1)]
        blocks = (-(-components * len(self._objective.places) // _WARPS),)
        _function("normalise")(blocks, (32 * _WARPS,), (self._logits, self._q, self._starts, *sizes))
        _function("weigh")((1,), (_ONE_BLOCK,), (self._weight_logits, self._w, sizes[0]))
        wide = [self._q @ extend for extend in self._extend]
        self._sums.fill(0)
        for counts, kind in zip(self._counts, self._kinds, strict=True):
            counts.add(wide[kind], self._w, self._slopes[kind], self._height, self._chi_squared)
        for one in self._correlations:
            one.add(wide[0].T, self._w, self._slopes[0].T, self._height)
        return sizes, blocks

    def _step(self) -> None:
        """A look at where it stands, Adam, and the penalty's next value."""
        sizes, blocks = self._look()
        slope = sum(slopes @ extend.T for slopes, extend in zip(self._slopes, self._extend, strict=True))
        if self._bends is not None:
            self._bend(slope[:, :-1])
        if self._ties:
            pull, reward = tie_slope(self._q[:, :-1].T, self._ties, self._state[0])
            slope[:, :-1] -= pull.T
            self._height -= reward
        scale = np.float32(1.0 / self._objective.numbers)
        moments, squares, weight_moments, weight_squares = self._memory
        arrays = (self._logits, self._q, slope, self._w, self._log_prior, self._height, moments, squares)
        _function("descend")(blocks, (32 * _WARPS,), (*arrays, self._starts, self._state, *sizes, scale))
        weights = (self._weight_logits, self._w, self._height, weight_moments, weight_squares)
        bounds = np.float32(self._schedule.least), np.float32(self._schedule.most)
        rest = (self._chi_squared, self._plan, self._state, sizes[0], scale, *bounds)
        _function("conclude")((1,), (_ONE_BLOCK,), (*weights, *rest))

    def _bend(self, slope: Array) -> None:
        """Add the slope of bends by logits as one by probabilities: a column's sum is 0, so both are the same."""
        ratios = self._logits - self._log_prior
        bent, bends = bend_slope(ratios.T, self._state[0] * self._bends)
        self._height += bends
        slope += bent.T / self._q[:, :-1]

    def _lean(self) -> None:
        """As `Objective.lean`, from the misfits of the last step."""
        sums = [np.cumsum(counts.sums(self._lasts), axis=0, dtype=np.float64) for counts in self._counts]
        for block, parts in zip(self._objective.blocks, self._held, strict=True):
            squared = sum(self._part_chi_squared(held, sums) for held in parts)
            factor = leaning(squared / block.block.numbers, block.block.numbers)
            for held in parts if factor > 1.0 else ():
                place, rows = self._place(held)
                self._counts[place].lean(rows, held.last, factor)

    def _place(self, held: Held) -> tuple[int, slice]:
        """The matrix that has a block's part, and its rows there."""
        for place, counts in enumerate(self._counts):
            if (start := counts.starts.get(id(held.term))) is not None:
                return place, slice(start + held.rows.start, start + held.rows.stop)
        raise KeyError(held)

    def _part_chi_squared(self, held: Held, sums: list[Floats]) -> float:
        """χ² of a block's part, from sums over the rows before each."""
        place, rows = self._place(held)
        column = sums[place][:, self._group[held.last.start, held.last.stop]]
        return float(column[rows.stop - 1] - (column[rows.start - 1] if rows.start else 0.0))


def _to_gpu(one: Correlations) -> Correlations:
    """The same with its arrays on the GPU."""
    place = cupy().asarray
    return dataclasses.replace(
        one,
        scores=tuple(place(own) for own in one.scores),
        target=place(one.target),
        precision=place(one.precision),
    )


@functools.cache
def _function(name: str) -> Any:
    constants = {"FLOOR": FLOOR, "LOG_FLOOR": np.log(FLOOR), "MEMORY": MEMORY}
    constants |= {"LEAST": LEAST, "GAIN": GAIN, "MOST_CHANGE": MOST_CHANGE}
    return program("mixture", name, **{key: f"{float(value):.9e}f" for key, value in constants.items()})


def _extensions(objective: Objective) -> list[Single]:
    """From cells, and one of probability 1, to those, groups of them and that one: (C + 1, X).

    Where interactions were measured, a second one that takes out the mean over each column's cells, or groups.
    """
    size, width = objective.size, objective.groupings.width
    plain = np.zeros((size + 1, width + 1), dtype=np.float32)
    plain[:size, :size] = np.eye(size, dtype=np.float32)
    plain[:size, size:width] = objective.groupings.back.toarray()
    plain[size, width] = 1.0
    if not any(term.centred for term in objective.terms):
        return [plain]
    places = (*objective.places, *objective.groupings.coarse.values())
    widths, centred = [place.stop - place.start for place in places], plain.copy()
    centred[-1, :-1] -= np.repeat(1.0 / np.array(widths), widths).astype(np.float32)
    return [plain, centred]


def _one_hot(places: Sequence[tuple[int, int]], width: int) -> Single:
    """Which cells each place has: (X, places)."""
    cells = np.arange(width)[:, None]
    starts, stops = np.array(places or [(0, 0)]).T
    within: Single = ((cells >= starts) & (cells < stops)).astype(np.float32)
    return within


def _batches(terms: Sequence[Term]) -> list[list[Term]]:
    """Terms in groups whose joint cells fit one matrix."""
    batches: list[list[Term]] = [[]]
    held = 0
    for term in terms:
        joint = len(term.target) if isinstance(term, (Pairs, Set)) else 1
        if held and held + joint > _MOST_JOINT:
            batches.append([])
            held = 0
        batches[-1].append(term)
        held += joint
    return batches
