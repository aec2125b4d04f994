"""Persons with records in several tables: each person becomes a bag of paths whose weights add up to one total.

A person is a row of the root table with all records that refer to it, records of records included. Think of its total
weight as `total` ticks. A record has a run of ticks, which its own records share out as evenly as whole numbers allow;
at each tick the person shows one path: the root row, one record of each table, and other records of the same parent:
the next one, in a circle (its *sibling*) or up to the last, and the first and last. So a person adds `total` to the
counts of every block, all told, whatever the number of its records and the depth (docs/proofs/bags.md). Which records
are kept, and in which order, follows from that person's records alone.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Integers, block_slices
from kernelease.errors import ParameterError
from kernelease.exact.encode import NarrowCodes
from kernelease.exact.private import Private
from kernelease.seeds import PublicSeed
from kernelease.spool import Batch
from kernelease.table.reading import identities

NOBODY = -1  # the number of a key that is missing, or that no row has
_BLOCK = 65_536  # paths at a time, or about so many
Which: TypeAlias = Literal["own", "sibling", "next", "first", "last"]  # of the records of one parent
Fold: TypeAlias = Callable[[Integers, Integers, int], NDArray[Any]]  # rows, their parents of so many: codes of these
_FACTOR, _SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # of a multiplicative hash. convention


@final
class Keys(Private):
    """Keys by numbers. They are compared as text, so that 7, 7.0 and "7" are one; null, NaN and "" are none."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}

    def digests(self, numbers: NDArray[Any]) -> NDArray[np.uint64]:
        """A digest of each row's key, (n,): a function of the key alone, unlike its number."""
        every = [int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) for key in self._numbers]
        return np.array([*every, 0], dtype=np.uint64).take(numbers)

    def number(self, array: pa.Array, *, new: bool) -> Integers:
        """The number of each row's key, (n,): a `new` one gets the next number, else it is nobody's."""
        positions, keys = identities(array)
        numbers = np.array([self._number(key, new) for key in keys], dtype=np.int64)
        return numbers.take(positions) if len(positions) else np.empty(0, dtype=np.int64)

    def _number(self, key: bytes | None, new: bool) -> int:
        if key is None:
            return NOBODY
        return self._numbers.setdefault(key, len(self._numbers)) if new else self._numbers.get(key, NOBODY)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is public about one of the tables: where it hangs, and which of a parent's records are kept."""

    parent: int | None  # the place of its parent's table
    max_rows: int  # of one parent


@final
class PathColumn(Private):
    """A column of paths: codes of a table's rows, of other records beside them, or of how many a parent has."""

    __slots__ = ("codes", "fold", "missing", "number", "table", "which")

    def __init__(
        self,
        table: int,
        codes: NDArray[Any],
        missing: int,
        *,
        number: bool = False,
        which: Which = "own",
        fold: Fold | None = None,
    ) -> None:
        self.table = table  # its place
        self.codes = codes  # of each of its rows; or of 0, 1, …, max_rows records
        self.missing = missing  # the code where there is no such record, or no parent
        self.number, self.which = number, which
        self.fold = fold  # what a parent's records come to, in the place of their number


@final
class Records(Private):
    """The encoded rows of one table, their keys, and the keys that they refer to."""

    __slots__ = ("codes", "digest", "key", "order", "parent")

    def __init__(
        self,
        codes: Sequence[NarrowCodes],
        parent: NDArray[Any],
        key: NDArray[Any] | None = None,
        digest: NDArray[np.uint64] | None = None,
        order: NDArray[Any] | None = None,
    ) -> None:
        self.codes, self.parent, self.order = tuple(codes), parent, order  # which of a parent's records come first
        self.key, self.digest = key, digest  # of tables that others refer to

    def ranks(self, seed: PublicSeed) -> NDArray[Any]:
        """All rows by parent, each parent's by the declared order, then by a keyed hash of content, then by content.

        Rows without a parent come first. Rows that are equal in all of it are the same to whoever counts them, unless
        records refer to them: so digests of their own keys come last.
        """
        hashes = np.full(len(self.parent), np.uint64(seed.value % 2**64) ^ _FACTOR)
        for column in self.codes:
            hashes ^= column.astype(np.uint64)
            hashes *= _FACTOR
            hashes ^= hashes >> _SHIFT
        last = [] if self.digest is None else [self.digest]
        keys = (*last, hashes, *([] if self.order is None else [self.order]), self.parent)
        order = np.lexsort(keys)
        tied = np.flatnonzero((np.diff(self.parent[order]) == 0) & (np.diff(hashes[order]) == 0))
        if any((column[order[tied]] != column[order[tied + 1]]).any() for column in self.codes):  # once in 2⁶⁴
            order = np.lexsort((*last, *self.codes[::-1], *keys[len(last) :]))
        return order.astype(np.uint32) if len(order) < 2**32 else order


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

    __slots__ = ("_of_key", "_ranked", "_shapes", "_tables", "_total")

    def __init__(self, tables: Sequence[Records], shapes: Sequence[Shape], *, total: int, seed: PublicSeed) -> None:
        if total < 1:
            raise ParameterError(f"Bags: total must be at least 1, got {total!r}.")
        self._tables, self._shapes, self._total = tuple(tables), tuple(shapes), total
        self._ranked = [records.ranks(seed) for records in tables]
        self._of_key = [records.parent[order] for records, order in zip(tables, self._ranked, strict=True)]

    def paths(self, columns: Sequence[PathColumn]) -> Iterator[Batch]:
        """Blocks of paths: their codes in these columns, and their weights. Each person's weigh `total` together."""
        own = self._of_key[0]  # of the root, its own keys: of one key, the first row; without a key, nobody
        persons = self._ranked[0][(own != NOBODY) & (np.diff(own, prepend=NOBODY) != 0)]
        records = sum(len(of_key) for of_key in self._of_key)
        for block in block_slices(len(persons), max(1, _BLOCK * len(persons) // max(1, records))):
            nodes = [_root_nodes(persons[block], self._total)]
            for place in range(1, len(self._tables)):
                nodes.append(self._hang(place, nodes[self._shapes[place].parent or 0]))
            starts = np.unique(np.concatenate([some.start[some.start < some.end] for some in nodes]))
            at = [_node_at(some, starts) for some in nodes]
            yield (
                tuple(self._column(column, nodes, at) for column in columns),
                np.diff(starts, append=nodes[0].end[-1:]),
            )

    def _hang(self, place: int, above: _Nodes) -> _Nodes:
        """The nodes of a table: each node of its parent gets at most `max_rows`, and parts its ticks among them."""
        shape, key = self._shapes[place], self._tables[self._shapes[place].parent or 0].key
        own = np.full(len(above.row), NOBODY) if key is None else key[above.row]
        first, last = (np.searchsorted(self._of_key[place], own, side=side) for side in ("left", "right"))
        number = np.where(own == NOBODY, 0, np.minimum(last - first, shape.max_rows))
        parent = np.repeat(np.arange(len(own)), number)
        begin = np.cumsum(number) - number
        rank = np.arange(len(parent)) - begin[parent]
        among, ticks = number[parent], (above.end - above.start)[parent]
        return _Nodes(
            row=self._ranked[place][first[parent] + rank],
            parent=parent,
            start=above.start[parent] + ticks * rank // among,
            end=above.start[parent] + ticks * (rank + 1) // among,
            first=begin[parent],
            last=begin[parent] + among - 1,
        )

    def _column(self, column: PathColumn, every: Sequence[_Nodes], at: Sequence[Integers]) -> NDArray[Any]:
        """The code of one column at each tick, by the nodes that have it."""
        place, nodes, above = column.table, every[column.table], self._shapes[column.table].parent or 0
        if column.number:
            parents = len(every[above].row)
            number = np.bincount(nodes.parent, minlength=parents)
            own = column.codes[number] if column.fold is None else column.fold(nodes.row, nodes.parent, parents)
            return _codes(own, at[above], column.missing)
        here = at[place]
        if column.which != "own":
            here = _codes(nodes.beside(column.which), here, NOBODY)
        return _codes(column.codes[nodes.row], here, column.missing)


def _root_nodes(persons: NDArray[Any], total: int) -> _Nodes:
    """One node for each of some persons, by their rows."""
    start = total * np.arange(len(persons), dtype=np.int64)
    nobody = np.full(len(persons), NOBODY)
    return _Nodes(row=persons, parent=nobody, start=start, end=start + total, first=nobody, last=nobody)


def _node_at(nodes: _Nodes, ticks: Integers) -> Integers:
    """The node that has each tick; −1 where none has. Nodes lie in order, and empty ones have no tick."""
    if not len(nodes.start):
        return np.full(len(ticks), NOBODY)
    at = np.searchsorted(nodes.start, ticks, side="right") - 1
    inside = (at >= 0) & (ticks < nodes.end[np.maximum(at, 0)])
    return np.where(inside, at, NOBODY)


def _codes(own: NDArray[Any], at: Integers, missing: int) -> NDArray[Any]:
    """What some nodes have, `missing` where there is no node."""
    if not len(own):
        return np.full(len(at), missing, dtype=np.int64)
    return np.where(at == NOBODY, missing, own[np.maximum(at, 0)].astype(np.int64))
