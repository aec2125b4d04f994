"""Contingency counts of codes that live on the GPU: the same integers as on the processor."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers
from kernelease.cuda.device import cupy, processors, program, shared_bytes, translated
from kernelease.errors import CapacityError

_THREADS = 1024  # of a block, which fills a multiprocessor
_TILE_BYTES = 48 * 1024  # of shared memory for the codes at hand; the rest is for tables
_MOST_ROWS = 2**31  # in one call: a block's own counts have 32 bits

Codes: TypeAlias = NDArray[Any]
Group: TypeAlias = tuple[int, ...]


def device_counts(codes: Any, views: Sequence[Codes], groups: Sequence[Group]) -> list[Integers]:
    """How many rows each group of columns has in each combination of cells: one flat table for each group.

    `codes` (columns, n) are uint8 or uint16 on the GPU; `views[column]` is the cell of each code. Groups that together
    fit shared memory are counted in one pass over the codes.
    """
    lengths = [int(view.max()) + 1 for view in views]
    rounds = _rounds([math.prod(lengths[c] for c in group) for group in groups])
    tables: dict[int, Integers] = {}
    with translated():
        for places in rounds:
            for start in range(0, codes.shape[1], _MOST_ROWS):
                part = _count(codes[:, start : start + _MOST_ROWS], views, [groups[i] for i in places], lengths)
                for place, table in zip(places, part, strict=True):
                    tables[place] = tables[place] + table if place in tables else table
    return [tables.get(i, np.zeros(math.prod(lengths[c] for c in g), dtype=np.int64)) for i, g in enumerate(groups)]


def _rounds(cells: Sequence[int]) -> list[list[int]]:
    """Groups in passes, each with as many tables as fit shared memory, first come first."""
    room = (shared_bytes() - _TILE_BYTES) // 4
    rounds: list[list[int]] = []
    left = 0
    for place, size in enumerate(cells):
        if size > room:
            raise CapacityError(f"A table of {size:,} cells is more than the {room:,} that a GPU counts at once.")
        if size > left:
            rounds.append([])
            left = room
        rounds[-1].append(place)
        left -= size
    return rounds


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """Where the tables of some groups lie in shared memory, in the arrays that the program reads."""

    columns: list[int]  # those that some group has
    tables: list[slice]  # of each group, one after the other
    groups: list[tuple[int, int, int, int]]  # first member, members, start of its table, cells
    members: list[int]  # places among `columns`
    strides: list[int]

    @classmethod
    def of(cls, groups: Sequence[Group], lengths: Sequence[int]) -> "_Layout":
        columns = sorted({column for group in groups for column in group})
        layout = cls(columns=columns, tables=[], groups=[], members=[], strides=[])
        end = 0
        for group in groups:
            start, end = end, end + math.prod(lengths[c] for c in group)
            layout.tables.append(slice(start, end))
            layout.groups.append((len(layout.members), len(group), start, end - start))
            layout.members.extend(columns.index(column) for column in group)
            layout.strides.extend(math.prod(lengths[c] for c in group[i + 1 :]) for i in range(len(group)))
        return layout


def _count(codes: Any, views: Sequence[Codes], groups: Sequence[Group], lengths: Sequence[int]) -> list[Integers]:
    """One pass: the tables of groups that fit together."""
    xp, layout = cupy(), _Layout.of(groups, lengths)
    used = [views[column] for column in layout.columns]
    starts = np.cumsum([0, *(len(view) for view in used[:-1])])
    arrays = [
        xp.asarray(np.array(each, dtype=np.int32))
        for each in (starts, layout.groups, layout.members, layout.strides, layout.columns)
    ]
    totals = xp.zeros(layout.tables[-1].stop, dtype=xp.uint64)
    tile, rows = max(32, _TILE_BYTES // (2 * len(used)) // 32 * 32), codes.shape[1]
    sizes = np.array([len(groups), len(used), len(totals), tile], dtype=np.int32)
    view = xp.asarray(np.concatenate(used).astype(np.uint16))
    function = program(
        "counts", "count_groups", CODE="unsigned char" if codes.dtype.itemsize == 1 else "unsigned short"
    )
    blocks = max(1, min(-(-rows // tile), processors()))
    arguments = (xp.ascontiguousarray(codes), view, *arrays, totals, np.int64(rows), *sizes)
    function((blocks,), (_THREADS,), arguments, shared_mem=4 * len(totals) + 2 * len(used) * tile)
    whole = xp.asnumpy(totals).view(np.int64)
    return [whole[table] for table in layout.tables]
