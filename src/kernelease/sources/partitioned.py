"""Sources whose rows stay where they lie, in parts: the protocol for engines that run a function on each part."""

import secrets
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from kernelease.arrays import Integers
from kernelease.errors import SourceError
from kernelease.private.distant import DistantRows, Summing, distant_counts
from kernelease.seeds import PublicSeed
from kernelease.sources.partial import Cap, Count, Encode, EncodePersons, Stage, SumCodes, SumVectors, Task, Then, Weigh
from kernelease.sources.source import Source
from kernelease.table.encode import Encoder, finer_columns
from kernelease.table.reading.numbers import is_number
from kernelease.table.schema import Schema
from kernelease.table.units import UnitCap

Sums: TypeAlias = Callable[[Task], Iterable[Integers]]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Partitioned(Source):
    """Rows in parts that another engine holds. A part is asked for one array of integers, and arrays are added up.

    Integers make the sum the same whichever rows are in a part, and in whichever order they come. The engine answers
    for one thing: that each row is in exactly one part of a pass, also where it does a task again.
    """

    @abstractmethod
    def sums(self, columns: tuple[str, ...], task: Task) -> Iterable[Integers]:
        """`task` of the record batches of each part, which hold these columns in this order; each part once.

        `task` can be pickled, and raises for no cell. A failed one may be done again.
        """

    def encoded(self, columns: tuple[str, ...], stage: Stage) -> Sums:
        """Sums over what a stage makes of each part. An engine that keeps what was made reads its rows once."""
        return lambda task: self.sums(columns, Then(stage=stage, task=task))

    def regrouped(self, columns: tuple[str, ...], stage: Stage, after: Stage) -> Sums:
        """The same with two stages: between them, all rows of a `person` are brought to one part."""
        raise SourceError(f"{self.describe()} can't bring the rows of a person together, as [table] unit needs it.")

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        raise SourceError(f"{self.describe()}: its rows stay where they lie, and only sums come from there.")


def distant_table(source: Partitioned, schema: Schema, seed: PublicSeed) -> DistantRows:
    """A declared table whose rows stay where they lie."""
    Encoder(schema).check(pa.schema([(name, pa.null()) for name in source.names()]))
    if schema.unit is None:
        unit, sums = 1, source.encoded(schema.names, Encode(schema=schema))
    else:
        cap, columns = UnitCap.of(schema, seed), (*schema.names, schema.unit)
        first = EncodePersons(schema=schema, cap=cap, key=secrets.token_bytes(16))
        width = Encoder(schema, fine=True).width
        unit, sums = cap.total, source.regrouped(columns, first, Cap(cap=cap, columns=width))
    fine = tuple(finer_columns(schema))
    counts = distant_counts(
        lambda layout: sums(Count(layout=layout)),
        lambda blocks: sums(Weigh(blocks=tuple(blocks), columns=len(schema), fine=fine)),
        schema.sizes,
        unit=unit,
    )
    summing: Summing = lambda feature_map: sums(SumCodes(feature_map=feature_map, columns=len(schema)))  # noqa: E731
    return DistantRows(summing, width=len(schema), counts=counts)


def distant_vectors(source: Partitioned) -> DistantRows:
    """Rows of numbers that stay where they lie: every column is a coordinate."""
    declared = source.declared_schema()
    for column in () if declared is None else declared:
        if not (is_number(column.type) or pa.types.is_boolean(column.type)):
            raise SourceError(f"{source.describe()}: column {column.name!r} is not of numbers. Select those that are.")

    def summing(feature_map: Any) -> Iterable[Integers]:
        return source.sums(source.names(), SumVectors(feature_map=feature_map))

    return DistantRows(summing, width=len(source.names()), counts=None)
