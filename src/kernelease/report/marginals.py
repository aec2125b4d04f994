"""What the page adds up by itself: all noisy sums that speak of the cells of a column, or of a pair of columns."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelease.analysis.contrasts import NoisyContrasts
from kernelease.analysis.marginal import MeasuredMarginal, tabulation
from kernelease.analysis.views import NoisySums, along
from kernelease.arrays import Floats, Integers
from kernelease.measured.block import within
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.levels import Levels, levels_of
from kernelease.report.figures import number, numbers

MOST_CELLS = 60_000  # of all marginals together: about a megabyte; the page shows a command for what is beyond


def marginal_records(noisy: NoisyBlocks, codes: Integers, weights: Floats) -> list[dict[str, Any]]:
    """The marginals of every column, then of every pair, as long as there is room: the smallest first.

    Each has its cells (for each column, the cell of each atom, or of each group of leaves), the noisy sums that speak
    of them, and how the synthetic rows, by their codes (rows, columns) and weights (rows,), fill them. Those of one set
    of columns come together, in the order of their rounds: an answer looks at all of them.
    """
    levels = levels_of(noisy)
    every = sorted(_every(noisy, levels), key=lambda rounds: (len(rounds[0].columns), _size(rounds)))
    return [
        _record(marginal, levels, codes, weights)
        for rounds, used in zip(every, itertools.accumulate(map(_size, every)), strict=True)
        if used <= MOST_CELLS
        for marginal in rounds
    ]


def _every(noisy: NoisyBlocks, levels: Levels) -> Iterator[tuple[MeasuredMarginal, ...]]:
    for size in (1, 2):
        for columns in itertools.combinations(range(noisy.width), size):
            if rounds := shown_marginals(noisy, columns, levels):
                yield rounds


def shown_marginals(noisy: NoisyBlocks, columns: tuple[int, ...], levels: Levels) -> tuple[MeasuredMarginal, ...]:
    """The marginals of some columns; of a single one whose atoms are leaves in groups, that of the groups."""
    groups = levels[columns[0]]
    if len(columns) > 1 or groups is None:
        return tabulation(noisy).marginals(columns)
    found = tabulation(noisy).aligned(columns, {columns[0]: groups})
    return () if found is None else (found,)


def _size(rounds: tuple[MeasuredMarginal, ...]) -> int:
    return sum(marginal.size for marginal in rounds)


def _record(marginal: MeasuredMarginal, levels: Levels, codes: Integers, weights: Floats) -> dict[str, Any]:
    groups = [
        own if (level := levels[column]) is None else within(level, own)
        for column, own in zip(marginal.columns, marginal.groups, strict=True)
    ]
    return {
        "columns": list(marginal.columns),
        "groups": [group.tolist() for group in groups],
        "laplace": marginal.laplace,
        "views": [told for view in marginal.views for told in _views(view)],
        "synthetic": numbers(synthetic_shares(marginal, codes, weights)),
    }


def _views(view: NoisySums | NoisyContrasts) -> list[dict[str, Any]]:
    """Noisy sums: `index` is the sum that each cell is in; one precision stands for all where they are the same.

    An interaction of the two columns has none: its values are those of the cells, or of the sums `onto` which they
    are added up along either column, each of so many (`held`) cells of the interaction. A centred column's sums tell
    what counts would, less what these would tell of the number of rows: a view of precision below 0.
    """
    if isinstance(view, NoisySums):
        return [_sums(view.index, view.values, view.precision)]
    if len(view.axes) == 1:
        held = view.held[0]
        index = np.broadcast_to(along(view.onto[0], view.axes[0], len(view.shape)), view.shape).ravel()
        rows = np.zeros(len(index), dtype=np.int64)
        known = _sums(rows, np.zeros(1), np.array([-view.precision / held.sum()]))
        return [_sums(index, view.values, view.precision / held), known]
    turned = view.turned
    told = {"values": numbers(turned.values.ravel()), "precision": number(turned.precision)}
    if view.whole:
        return [told]
    sums = {"onto": [cells.tolist() for cells in turned.onto], "held": [numbers(held) for held in turned.held]}
    return [told | sums]


def _sums(index: Integers, values: Floats, precision: Floats) -> dict[str, Any]:
    same = np.ptp(precision) == 0.0
    return {
        "index": index.tolist(),
        "values": numbers(values),
        "precision": number(float(precision[0])) if same else numbers(precision),
    }


def synthetic_shares(marginal: MeasuredMarginal, codes: Integers, weights: Floats) -> Floats:
    """How the synthetic rows are distributed over the cells: (cells,)."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for column, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        cells = cells * size + groups[codes[:, column]]
    shares: Floats = np.bincount(cells, weights=weights, minlength=marginal.size) / weights.sum()
    return shares
