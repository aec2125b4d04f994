"""Rows that stay where they lie, in parts: the protocol for engines that run a function on each part."""

import secrets
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
import pyarrow as pa

from kernelease._version import __version__
from kernelease.arrays import BigIntegers, Integers, Rows
from kernelease.errors import ParameterError, SourceError
from kernelease.exact.counting import ExactCounts, tables_of
from kernelease.exact.persons import UnitCap
from kernelease.exact.rows import ExactEmbedding, PrivateRows
from kernelease.features.feature_map import FeatureMap
from kernelease.passes import Layout
from kernelease.privacy.sensitivity import Neighbours, public_number
from kernelease.seeds import PublicSeed
from kernelease.sources.partial import (
    Stage,
    Task,
    cap_persons,
    count,
    encode,
    encode_persons,
    from_limbs,
    run_after,
    sum_codes,
    sum_vectors,
    weigh,
)
from kernelease.sources.source import Source, Wrapper
from kernelease.table.encode import Encoder
from kernelease.table.parsing import is_number
from kernelease.table.schema import Schema

# ---- Private rows in parts elsewhere: only sums of integers leave a part.


Summing: TypeAlias = Callable[[Any], Iterable[Any]]  # of a layout or a feature map: an array from each part


@final
class DistantRows(PrivateRows):
    """Rows in parts, each of which gives partial counts of a `Layout` or partial sums of a feature map.

    `summing` asks all parts, each once. A part's answer is an array of integers, and the sum of all is that of the
    table: however it is divided, and wherever it lies, nothing but speed depends on it. `counts` is None for vectors.
    """

    __slots__ = ("_count", "_counts", "_summing", "_width")

    def __init__(self, summing: Summing, *, width: int, counts: ExactCounts | None) -> None:
        self._summing = summing
        self._width = width
        self._counts = counts
        self._count: int | None = None

    @property
    def width(self) -> int:
        return self._width

    def public_count(self, neighbours: Neighbours) -> int | None:
        if neighbours is Neighbours.ADD_REMOVE:
            return None
        if self._counts is not None:
            return round(self._counts.public_rows(neighbours) or 0)
        if self._count is None:
            self._count = int(added_up(self._summing(None), 1)[0])
        return public_number(self._count, neighbours)

    def array(self) -> Rows:
        raise ParameterError("This method has to see the rows, and these stay where they lie. Take another method.")

    def counts(self) -> ExactCounts:
        if self._counts is None:
            raise ParameterError("Interactions: counts need declared columns. Give a schema, or another method.")
        return self._counts

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """The sum of the rows' features, from each part's own."""
        if self._counts is not None and self._counts.unit != 1:
            raise ParameterError("This method protects rows, not persons. Take the Interactions method.")
        return ExactEmbedding.of_parts(feature_map, [added_up(self._summing(feature_map), 2 * feature_map.width + 1)])


def distant_counts(
    summing: Summing,
    weighing: Summing,
    sizes: tuple[int, ...],
    *,
    unit: int,
    again: Callable[[Schema], ExactCounts] | None = None,
) -> ExactCounts:
    """Counts of a table in parts, and moments: `weighing` asks all parts for those of some blocks, in limbs.

    A `SourceError` if a later pass finds another number of rows than the first did.
    """
    found: list[int] = []

    def tables(blocks: Any) -> list[Integers]:
        layout = Layout.of(blocks, sizes)
        counts = added_up(summing(layout), layout.starts[-1])
        found.append(int(counts[: layout.starts[1]].sum()))  # every row is in one cell of every group
        if found[-1] != found[0]:
            raise SourceError("A later pass found other rows than the first. Give a query that always gives the same.")
        return tables_of(layout, counts, blocks)

    def moments(blocks: Any) -> list[BigIntegers]:
        return from_limbs(added_up(weighing(blocks), 2 * sum(block.cells for block in blocks)), blocks)

    counts = ExactCounts(tables, sizes, unit=unit, weigher=moments)
    counts.again = again
    return counts


def added_up(parts: Iterable[Any], length: int) -> Integers:
    """Σ of what the parts gave: integers of this length each, or a `SourceError`."""
    total: Integers = np.zeros(length, dtype=np.int64)
    for part in parts:
        array = np.asarray(part)
        if array.shape != (length,) or array.dtype != np.int64:
            raise SourceError(f"A part of the rows must give {length} integers of 64 bits; it gave something else.")
        total += array
    return total


# ---- The protocol: an engine runs a function on each part.


Sums: TypeAlias = Callable[[Task], Iterable[Integers]]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Partitioned(Source):
    """Rows in parts that another engine holds. A part is asked for one array of integers, and arrays are added up.

    Integers make the sum the same whichever rows are in a part, and in whichever order they come. The engine answers
    for one thing: that each row is in exactly one part of a pass, also where it does a task again.
    """

    distant: ClassVar[bool] = True

    @abstractmethod
    def sums(self, columns: tuple[str, ...], task: Task) -> Iterable[Integers]:
        """`task` of the record batches of each part, which hold these columns in this order; each part once.

        `task` can be pickled, and raises for no cell. A failed one may be done again.
        """

    def encode_parts(self, columns: tuple[str, ...], stage: Stage) -> Sums:
        """Sums over what a stage makes of each part. An engine that keeps what was made reads its rows once."""
        return lambda task: self.sums(columns, partial(run_after, stage, task, __version__))

    def regroup(self, columns: tuple[str, ...], stage: Stage, after: Stage) -> Sums:
        """The same with two stages: between them, all rows of a `person` are brought to one part."""
        raise SourceError(f"{self.describe()} can't bring the rows of a person together, as [table] unit needs it.")

    def fetch(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """The rows themselves, a part at a time, for whoever has to bring those of several tables together."""
        raise SourceError(f"{self.describe()}: can't be one of several tables. Give files, frames or a database.")

    def gather(self) -> Source:
        return Fetched(inner=self)

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        raise SourceError(f"{self.describe()}: its rows stay where they lie, and only sums come from there.")


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Fetched(Wrapper):
    """The rows of another engine, which come here a part at a time: one of several tables, whose keys meet here."""

    inner: Partitioned

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return self.inner.fetch(columns)


def distant_table(source: Partitioned, schema: Schema, seed: PublicSeed) -> DistantRows:
    """A declared table whose rows stay where they lie."""
    schema.check_source(source.names())
    if schema.unit is None:
        unit, sums = 1, source.encode_parts(schema.names, partial(encode, schema))
    else:
        cap, columns = UnitCap.of(schema, seed), (*schema.names, schema.unit)
        first = partial(encode_persons, schema, cap, secrets.token_bytes(16))
        width = Encoder(schema, fine=True).width
        unit, sums = cap.total, source.regroup(columns, first, partial(cap_persons, cap, width))
    fine = tuple(schema.finer)
    counts = distant_counts(
        lambda layout: sums(partial(count, layout)),
        lambda blocks: sums(partial(weigh, tuple(blocks), len(schema), fine)),
        schema.sizes,
        unit=unit,
        again=lambda laid: distant_table(source, laid, seed).counts(),
    )
    return DistantRows(
        lambda features: sums(partial(sum_codes, features, len(schema))), width=len(schema), counts=counts
    )


def distant_vectors(source: Partitioned) -> DistantRows:
    """Rows of numbers that stay where they lie: every column is a coordinate."""
    declared = source.declared_schema()
    for column in () if declared is None else declared:
        if not (is_number(column.type) or pa.types.is_boolean(column.type)):
            raise SourceError(f"{source.describe()}: column {column.name!r} is not of numbers. Select those that are.")
    names = source.names()
    return DistantRows(
        lambda features: source.sums(names, partial(sum_vectors, features)), width=len(names), counts=None
    )
