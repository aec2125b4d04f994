"""Persons with records in several tables: each person becomes a bag of paths whose weights add up to one total.

A person is a row of the root table with all records that refer to it, records of records included. Think of its total
weight as `total` ticks. A record has a run of ticks, which its own records share out as evenly as whole numbers allow;
at each tick the person shows one path: the root row, one record of each table, and other records of the same parent:
the next one, in a circle (its *sibling*) or up to the last, and the first and last. So a person adds `total` to the
counts of every block, all told, whatever the number of its records and the depth (docs/proofs/bags.md). Which records
are kept, and in which order, follows from that person's records alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Integers, block_slices
from kernelease.errors import ParameterError
from kernelease.exact.persons import NOBODY, distinct
from kernelease.passes import Batch
from kernelease.privacy.sensitivity import Private
from kernelease.seeds import PublicSeed
from kernelease.table.encode import NarrowCodes

_BLOCK = 65_536  # paths at a time, or about so many
Which: TypeAlias = Literal["own", "sibling", "next", "first", "last"]  # of the records of one parent
Fold: TypeAlias = Callable[[Integers, Integers, int], NDArray[Any]]  # rows, their parents of so many: codes of these
_FACTOR, _SHIFT, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(29), np.uint64(32)  # of a hash. convention


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is public about one of the tables: where it hangs, and which of a parent's records are kept."""

    parent: int | None  # the place of its parent's table
    max_rows: int  # of one parent


@final
@dataclass(slots=True, repr=False, eq=False)
class PathColumn(Private):
    """A column of paths: codes of a table's rows, of other records beside them, or of how many a parent has."""

    table: int  # its place
    codes: NDArray[Any]  # of each of its rows; or of 0, 1, …, max_rows records
    missing: int  # the code where there is no such record, or no parent
    number: bool = False
    which: Which = "own"
    fold: Fold | None = None  # what a parent's records come to, in the place of their number


@final
@dataclass(slots=True, repr=False, eq=False)
class Records(Private):
    """The encoded rows of one table, their keys, and the keys that they refer to."""

    codes: Sequence[NarrowCodes]
    parent: NDArray[Any]
    key: NDArray[Any] | None = None  # of tables that others refer to, with its digest
    digest: NDArray[np.uint64] | None = None
    order: NDArray[Any] | None = None  # which of a parent's records come first

    def ranks(self, seed: PublicSeed) -> NDArray[Any]:
        """All rows by parent, each parent's by the declared order, then by a keyed hash of content, then by content.

        Rows without a parent come first. Rows that are equal in all of it are the same to whoever counts them, unless
        records refer to them: so digests of their own keys come last.
        """
        keys = np.empty(len(self.parent), dtype=np.uint64)  # half of a hash tells nearly all apart: one number sorts by
        for part in block_slices(len(keys), _BLOCK):  # it and by the parent
            keys[part] = (self.parent[part].astype(np.uint64) + np.uint64(1)) << _HALF
            keys[part] |= self._hashes(part, seed) >> _HALF
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        tied = np.flatnonzero(keys[1:] == keys[:-1])
        apart = any((column[order[tied]] != column[order[tied + 1]]).any() for column in self.codes)
        if apart or self.order is not None or self.digest is not None:
            last, come = ([] if one is None else [one] for one in (self.digest, self.order))
            hashes = self._hashes(slice(0, len(keys)), seed)
            order = np.lexsort((*last, *self.codes[::-1], hashes, *come, self.parent))
        return order.astype(np.uint32) if len(order) < 2**32 else order

    def _hashes(self, part: slice, seed: PublicSeed) -> NDArray[np.uint64]:
        """Of the content of some rows."""
        hashes = np.full(len(self.parent[part]), np.uint64(seed.value % 2**64) ^ _FACTOR)
        for column in self.codes:
            hashes ^= column[part]
            hashes *= _FACTOR
            hashes ^= hashes >> _SHIFT
        return hashes


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes:
    """The records of one table in some persons' trees: row, the parent's node, ticks [start, end), first and last."""

    row: Integers
    parent: Integers
    start: Integers
    end: Integers
    first: Integers  # the nodes of the first and the last record of the same parent: those between follow each other
    last: Integers

    def beside(self, which: Which) -> Integers:
        """The node of another record of the same parent, −1 where there is none: (n,)."""
        if which in ("first", "last"):
            return self.first if which == "first" else self.last
        own = np.arange(len(self.row))
        after = np.where(own == self.last, self.first if which == "sibling" else NOBODY, own + 1)
        return np.where(self.first == self.last, NOBODY, after)


@final
class Bags(Private):
    """All persons, ready to be read as weighted paths.

    `tables` come with their parents before them, the root first. Of rows of the root with one key, the first is the
    person's. Records whose key no row has are nobody's; where several rows have the key, they are records of each.
    """

    __slots__ = ("_begins", "_persons", "_ranked", "_shapes", "_tables", "_total")

    def __init__(self, tables: Sequence[Records], shapes: Sequence[Shape], *, total: int, seed: PublicSeed) -> None:
        if total < 1:
            raise ParameterError(f"Bags: total must be at least 1, got {total!r}.")
        self._tables, self._shapes, self._total = tuple(tables), tuple(shapes), total
        self._ranked = [records.ranks(seed) for records in tables]
        own = tables[0].parent[self._ranked[0]]  # its own keys: of one key, the first row; without a key, nobody
        self._persons = self._ranked[0][(own != NOBODY) & (np.diff(own, prepend=NOBODY) != 0)]
        most = 1 + max(int(keys.max(initial=0)) for one in tables for keys in (one.parent, one.key) if keys is not None)
        self._begins = [np.cumsum(np.bincount(one.parent + 1, minlength=most + 1)) for one in tables]  # ranks, by key

    def paths(self, columns: Sequence[PathColumn]) -> Iterator[Batch]:
        """Blocks of paths: their codes in these columns, and their weights. Each person's weigh `total` together."""
        persons, records = self._persons, sum(len(ranked) for ranked in self._ranked)
        for block in block_slices(len(persons), max(1, _BLOCK * len(persons) // max(1, records))):
            nobody = np.full(len(persons[block]), NOBODY)
            start = self._total * np.arange(len(nobody), dtype=np.int64)
            root = {"row": persons[block], "parent": nobody, "start": start, "end": start + self._total}
            nodes = [_Nodes(**root, first=nobody, last=nobody)]
            for place in range(1, len(self._tables)):
                nodes.append(self._hang(place, nodes[self._shapes[place].parent or 0]))
            starts = distinct(np.concatenate([some.start[some.start < some.end] for some in nodes]))
            at = {(place, "own"): _node_at(some, starts) for place, some in enumerate(nodes)}
            for place, which in {(column.table, column.which) for column in columns} - {*at}:
                at[place, which] = _codes(nodes[place].beside(which), at[place, "own"], NOBODY)
            codes = tuple(self._column(column, nodes, at) for column in columns)
            yield codes, np.diff(starts, append=nodes[0].end[-1:])

    def _hang(self, place: int, above: _Nodes) -> _Nodes:
        """The nodes of a table: each node of its parent gets at most `max_rows`, and parts its ticks among them."""
        shape, key = self._shapes[place], self._tables[self._shapes[place].parent or 0].key
        own = np.full(len(above.row), NOBODY) if key is None else key[above.row]
        first, after = self._begins[place][own], self._begins[place][own + 1]
        number = np.where(own == NOBODY, 0, np.minimum(after - first, shape.max_rows))
        parent = np.repeat(np.arange(len(own)), number)
        begin = np.cumsum(number) - number
        rank = np.arange(len(parent)) - begin[parent]
        among, ticks = number[parent], (above.end - above.start)[parent]
        start = above.start[parent] + ticks * rank // among
        end = np.where(rank + 1 == among, above.end[parent], np.roll(start, -1))  # where the next one begins
        row, last = self._ranked[place][first[parent] + rank], begin[parent] + among - 1
        return _Nodes(row=row, parent=parent, start=start, end=end, first=begin[parent], last=last)

    def _column(self, column: PathColumn, every: Sequence[_Nodes], at: dict[Any, Integers]) -> NDArray[Any]:
        """The code of one column at each tick, by the nodes that have it."""
        nodes, above = every[column.table], self._shapes[column.table].parent or 0
        if not column.number:
            return _codes(column.codes[nodes.row], at[column.table, column.which], column.missing)
        parents = len(every[above].row)
        number = np.bincount(nodes.parent, minlength=parents)
        own = column.codes[number] if column.fold is None else column.fold(nodes.row, nodes.parent, parents)
        return _codes(own, at[above, "own"], column.missing)


def _node_at(nodes: _Nodes, ticks: Integers) -> Integers:
    """The node that has each tick; −1 where none has. Nodes lie in order, and empty ones have no tick."""
    at = np.searchsorted(nodes.start, ticks, side="right") - 1
    return np.where(ticks < np.append(nodes.end, 0).take(at), at, NOBODY)


def _codes(own: NDArray[Any], at: Integers, missing: int) -> NDArray[Any]:
    """What some nodes have, `missing` where there is no node, which is the last place."""
    return np.append(own.astype(np.int32), np.int32(missing)).take(at)
