"""The mixture's gradient steps on a GPU: the same objective, rates and penalty, a few dozen large operations a step.

Sums are taken in another order than on the processor, in single precision: a fit ends at the same χ², not with the same
bits. Nothing private is near.
"""

import functools
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from kernelease.arrays import Floats
from kernelease.cuda.device import cupy, program, translated
from kernelease.fit.mixtures.adam import LEAST, LONG_MEMORY, MEMORY, Single
from kernelease.fit.mixtures.device_blocks import DeviceBlocks, Held
from kernelease.fit.mixtures.objective import FLOOR, Objective, leaning
from kernelease.fit.mixtures.schedule import GAIN, MOST_CHANGE, Schedule
from kernelease.fit.mixtures.stacks import apart
from kernelease.fit.mixtures.terms import Pairs, Set, Term
from kernelease.progress import Progress

_WARPS = 8  # convention: of 32 threads in a block
_ONE_BLOCK = 1024  # limit: threads of a block, where one has all components
_MOST_JOINT = 8192  # limit: joint cells of sets that are multiplied together: with 10,000 components, 330 MB


@final
class DeviceDescent:
    """Components' logits (M, C) and weights' (M,) on the GPU, and one step of their descent."""

    def __init__(self, objective: Objective, logits: Single, weight_logits: Single, schedule: Schedule) -> None:
        xp = cupy()
        self._objective, self._schedule = objective, schedule
        self._logits, self._weight_logits = xp.asarray(logits), xp.asarray(weight_logits)
        extensions = _extensions(objective)
        self._extend = [xp.asarray(extension) for extension in extensions]
        cells, width = extensions[0].shape
        self._q = xp.ones((len(logits), cells), dtype=xp.float32)  # the last cell has probability 1
        part, parts = len(logits) * width, len(extensions)
        self._sums = xp.zeros(parts * part + len(logits) + 1, dtype=xp.float32)  # what terms add to, in one array
        self._slopes = [self._sums[k * part : (k + 1) * part].reshape(len(logits), width) for k in range(parts)]
        self._height, self._chi_squared = self._sums[parts * part : -1], self._sums[-1:]
        self._w = xp.zeros(len(logits), dtype=xp.float32)
        self._memory = [xp.zeros_like(each) for each in (self._logits, self._weight_logits) for _ in range(2)]
        self._log_prior = xp.asarray(np.log(objective.prior))
        self._starts = xp.asarray(np.array([*(p.start for p in objective.places), objective.size], dtype=np.int32))
        self._plan = xp.asarray(schedule.plan)
        self._state = xp.asarray(np.array([schedule.first, schedule.plan[0, 0], 0.0, 0.0], dtype=np.float32))
        self._held = [[Held.of(trust, objective) for trust in trusts] for trusts in objective.trusts]
        kinds = [[term for term in apart(objective.terms) if term.centred is kind] for kind in (False, True)][:parts]
        batches = [(kind, few) for kind, terms in enumerate(kinds) for few in _batches(terms)]
        self._counts = [DeviceBlocks(few, width) for _, few in batches]
        self._kinds = [kind for kind, _ in batches]  # of probabilities: as they are, or less their means
        lasts = sorted({(held.last.start, held.last.stop) for block in self._held for held in block})
        self._group = {last: place for place, last in enumerate(lasts)}
        self._lasts = xp.asarray(_one_hot(lasts, width))

    def run(self, progress: Progress) -> tuple[Single, Single]:
        """All steps; the logits come back."""
        xp = cupy()
        with translated():
            for step in range(self._schedule.steps):
                self._step()
                progress.step()
                if self._schedule.leans(step) and float(self._state[2]) < self._schedule.near:
                    self._lean()
            return xp.asnumpy(self._logits), xp.asnumpy(self._weight_logits)

    def _step(self) -> None:
        """Probabilities, χ² with its slopes, Adam, and the penalty's next value."""
        components, cells = self._logits.shape
        sizes = [np.int32(n) for n in (components, len(self._objective.places), cells, cells + 1)]
        blocks = (-(-components * len(self._objective.places) // _WARPS),)
        _function("normalise")(blocks, (32 * _WARPS,), (self._logits, self._q, self._starts, *sizes))
        _function("weigh")((1,), (_ONE_BLOCK,), (self._weight_logits, self._w, sizes[0]))
        wide = [self._q @ extend for extend in self._extend]
        self._sums.fill(0)
        for counts, kind in zip(self._counts, self._kinds, strict=True):
            counts.add(wide[kind], self._w, self._slopes[kind], self._height, self._chi_squared)
        slope = sum(slopes @ extend.T for slopes, extend in zip(self._slopes, self._extend, strict=True))
        scale = np.float32(1.0 / self._objective.numbers)
        moments, squares, weight_moments, weight_squares = self._memory
        arrays = (self._logits, self._q, slope, self._w, self._log_prior, self._height, moments, squares)
        _function("descend")(blocks, (32 * _WARPS,), (*arrays, self._starts, self._state, *sizes, scale))
        weights = (self._weight_logits, self._w, self._height, weight_moments, weight_squares)
        bounds = np.float32(self._schedule.least), np.float32(self._schedule.most)
        rest = (self._chi_squared, self._plan, self._state, sizes[0], scale, *bounds)
        _function("conclude")((1,), (_ONE_BLOCK,), (*weights, *rest))

    def _lean(self) -> None:
        """As `Objective.lean`, from the misfits of the last step."""
        sums = [np.cumsum(counts.sums(self._lasts), axis=0, dtype=np.float64) for counts in self._counts]
        for block, parts in zip(self._objective.blocks, self._held, strict=True):
            squared = sum(self._squared(held, sums) for held in parts)
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

    def _squared(self, held: Held, sums: list[Floats]) -> float:
        """χ² of a block's part, from sums over the rows before each."""
        place, rows = self._place(held)
        column = sums[place][:, self._group[held.last.start, held.last.stop]]
        return float(column[rows.stop - 1] - (column[rows.start - 1] if rows.start else 0.0))


@functools.cache
def _function(name: str) -> Any:
    constants = {"FLOOR": FLOOR, "LOG_FLOOR": np.log(FLOOR), "MEMORY": MEMORY, "LONG_MEMORY": LONG_MEMORY}
    constants |= {"LEAST": LEAST, "GAIN": GAIN, "MOST_CHANGE": MOST_CHANGE}
    return program("mixture", name, **{key: f"{float(value):.9e}f" for key, value in constants.items()})


def _extensions(objective: Objective) -> list[Single]:
    """From cells, and one of probability 1, to those, groups of them and that one: (C + 1, X).

    Where interactions were measured, a second one that takes out the mean over each column's cells, or groups.
    """
    columns = [np.eye(objective.size + 1, objective.size, dtype=np.float32)]
    widths = [place.stop - place.start for place in objective.places]
    for key, onto in objective.groupings.one_hot.items():
        wide = np.zeros((objective.size + 1, onto.shape[1]), dtype=np.float32)
        wide[objective.places[key[0]]] = onto
        columns.append(wide)
        widths.append(onto.shape[1])
    plain = np.concatenate([*columns, np.eye(objective.size + 1, dtype=np.float32)[:, -1:]], axis=1)
    if not any(term.centred for term in objective.terms):
        return [plain]
    centred = plain.copy()
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
