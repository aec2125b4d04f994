"""What is compared: noisy contingency tables, and samples that an analyst has at hand."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError, nearest
from kernelease.kernels.kernel import as_rows
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.measured.views import best_mean
from kernelease.privacy.accounting import Law
from kernelease.table.columns.cells import Celled, Texture
from kernelease.table.columns.column import MOST_ATOMS

if TYPE_CHECKING:
    from kernelease.table.schema import Schema

# --------------------
# Contingency tables: those that were counted with noise, and how far those of two tables are apart.


TableKey: TypeAlias = tuple[tuple[int, bytes], ...]
"""Columns and the grouping of their atoms: what two releases must share to be compared."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ContingencyTable:
    """Noisy counts of the cells of some columns: the margins of several blocks, weighted by their precision.

    Noise is of variance `variance` and independent among cells, up to the number of rows: what adds up to 0 over the
    cells of each column is independent between tables. Where noise is `centred`, so is it itself; an interaction's
    counts are, too. Functions that add up to 0 over the cells of each column don't see the difference.
    """

    columns: tuple[int, ...]
    groups: tuple[Integers, ...]
    counts: Floats  # an axis for each column
    variance: float
    law: Law
    centred: bool = False

    @property
    def key(self) -> TableKey:
        """What the table counts, whoever measured it."""
        return tuple((column, groups.tobytes()) for column, groups in zip(self.columns, self.groups, strict=True))


def on_common_cells(
    one: NoisyBlocks, two: NoisyBlocks, ours: "Schema", theirs: "Schema"
) -> "tuple[NoisyBlocks, NoisyBlocks, Schema]":
    """Two releases and a schema in whose atoms both are: where a number was laid twice, the cells of both layouts.

    A number whose values turned out to lie on two different grids is left out. A `ParameterError` where the releases
    declare different columns.
    """
    differ = ParameterError("These releases declare different columns, and can't be compared cell by cell.")
    if len(ours) != len(theirs):
        raise differ
    common, left_out = list(ours.columns), set()
    for index, (here, there) in enumerate(zip(ours, theirs, strict=True)):
        if here == there:
            continue
        if here.name != there.name or not (isinstance(here, Celled) and isinstance(there, Celled)):
            raise differ
        if here.texture is None or there.texture is None:
            raise differ
        if replace(here, texture=None) != replace(there, texture=None):
            left_out.add(index)
        else:
            first = sorted({*here.texture.first, *there.texture.first})
            common[index] = replace(here, texture=Texture(first=tuple(first)))
    schema = replace(ours, columns=tuple(common))
    return _in_atoms(one, ours, schema, left_out), _in_atoms(two, theirs, schema, left_out), schema


def _in_atoms(noisy: NoisyBlocks, own: "Schema", common: "Schema", left_out: set[int]) -> NoisyBlocks:
    """The same counts in terms of finer atoms, without those of some columns. Moments are left out."""
    if own.columns == common.columns and not left_out:
        return noisy
    places = {}
    for index, (column, finer) in enumerate(zip(own, common, strict=True)):
        if column != finer and index not in left_out:
            first, cuts = (one.texture.first for one in (column, finer) if isinstance(one, Celled) and one.texture)
            null = [len(first)] * column.nullable
            places[index] = np.append(np.searchsorted(first, cuts, side="right") - 1, null).astype(np.int64)
    blocks = tuple(
        replace(
            one,
            block=replace(
                one.block,
                groups=tuple(
                    groups[places[column]] if column in places else groups
                    for column, groups in zip(one.block.columns, one.block.groups, strict=True)
                ),
            ),
        )
        for one in noisy.blocks
        if not left_out & set(one.block.columns)
    )
    ordered = tuple(column.in_order for column in common)
    return replace(noisy, sizes=common.sizes, blocks=blocks, ordered=ordered, moments=(), looks=(), laid=())


def contingency_tables(
    noisy: NoisyBlocks, *, among: frozenset[int] | None = None, every_round: bool = False
) -> dict[TableKey, ContingencyTable]:
    """The table of every set of columns that some block holds; `among` limits the columns.

    Blocks that were selected in sight of the private rows (of a later round) are left out where others are there: how
    they would vary with another sample of rows is not known. `every_round` takes them all. Of thousands of leaves in
    groups there are the groups.
    """
    blocks = noisy.without_details.blocks
    planned = [block for block in blocks if every_round or block.round == 0]
    tables: dict[TableKey, list[ContingencyTable]] = {}
    for block in (one for one in planned or blocks if not _of_many_leaves(one)):
        for one in _subsets(block, among, noisy.rows):
            tables.setdefault(one.key, []).append(one)
    return {key: _combine([one for one in found if one.centred == found[0].centred]) for key, found in tables.items()}


def _of_many_leaves(block: NoisyBlock) -> bool:
    """Whether it counts so many values of one column that only their groups, which were counted, too, are compared."""
    return len(block.block.columns) == 1 and block.block.cells > MOST_ATOMS


def _subsets(block: NoisyBlock, among: frozenset[int] | None, rows: float) -> list[ContingencyTable]:
    """Each set of a block's columns, with its margins."""
    columns = sorted(zip(block.block.columns, range(len(block.block.columns)), strict=True))
    found = []
    for size in range(1, len(columns) + 1):
        for chosen in itertools.combinations(columns, size):
            own = tuple(column for column, _ in chosen)
            if block.block.covers(own) and (among is None or set(own) <= among):
                found.append(_margin(block, tuple(axis for _, axis in chosen), rows))
    return found


def _margin(block: NoisyBlock, axes: tuple[int, ...], rows: float) -> ContingencyTable:
    shape, values = block.block.grid, block.counts(rows) if len(block.block.columns) == 1 else block.values
    others = tuple(axis for axis in range(len(shape)) if axis not in axes)
    ranks = np.argsort(np.argsort(axes))
    return ContingencyTable(
        columns=tuple(block.block.columns[axis] for axis in axes),
        groups=tuple(block.block.groups[axis] for axis in axes),
        counts=np.transpose(values.sum(axis=others), tuple(ranks)),
        variance=block.sigma**2 * math.prod(shape[axis] for axis in others),
        law=block.measurement.step.law,
        centred=not block.block.adds_up,
    )


def _combine(tables: Sequence[ContingencyTable]) -> ContingencyTable:
    if len(tables) == 1:
        return tables[0]
    counts, precision = best_mean([one.counts for one in tables], [1.0 / one.variance for one in tables])
    return replace(tables[0], counts=counts, variance=1.0 / precision)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalErrors:
    """Total variation distances: of each column's distribution, and of each pair's."""

    one_way: dict[int, float]
    two_way: dict[tuple[int, int], float]

    @property
    def mean_one_way(self) -> float:
        """The mean over columns."""
        return float(np.mean(list(self.one_way.values())))

    @property
    def mean_two_way(self) -> float:
        """The mean over pairs; 0 where there is one column only."""
        return float(np.mean(list(self.two_way.values()))) if self.two_way else 0.0


def marginal_errors(first: NDArray[Any], second: NDArray[Any], sizes: tuple[int, ...]) -> MarginalErrors:
    """½ Σ |p − q| of each column and pair, for two tables of atom codes (n, columns).

    >>> marginal_errors(np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 0]]), (2, 2)).two_way
    {(0, 1): 1.0}
    """
    if len(first) == 0 or len(second) == 0:
        raise ParameterError("marginal_errors: both tables need at least one row.")
    columns = range(len(sizes))
    return MarginalErrors(
        one_way={i: _distance(first[:, i], second[:, i], sizes[i]) for i in columns},
        two_way={
            (i, j): _distance(_pair(first, i, j, sizes), _pair(second, i, j, sizes), sizes[i] * sizes[j])
            for i, j in itertools.combinations(columns, 2)
        },
    )


def _pair(codes: NDArray[Any], i: int, j: int, sizes: tuple[int, ...]) -> NDArray[np.int64]:
    joint: NDArray[np.int64] = codes[:, i].astype(np.int64) * sizes[j] + codes[:, j]
    return joint


def _distance(first: NDArray[Any], second: NDArray[Any], size: int) -> float:
    return 0.5 * float(np.abs(_shares(first, size) - _shares(second, size)).sum())


def _shares(codes: NDArray[Any], size: int) -> Floats:
    return np.bincount(codes, minlength=size) / len(codes)


# --------------------
# An analyst's own sample, encoded by the schema of the release, and grouped by person.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SampleRows:
    """Rows (n, d), atom codes for a table, and whose row each is.

    The rows of one person count as their average, as in the release. `columns` are the ones that the sample has.
    """

    rows: Rows
    persons: Integers  # (n,): 0 … units − 1
    columns: frozenset[int] | None = None  # None: all of them

    @property
    def units(self) -> int:
        """The number of persons (of rows, where a row is one)."""
        return int(self.persons.max()) + 1 if len(self.persons) else 0


def as_table(data: Any) -> pa.Table:
    """An Arrow table from a table, a data frame, or a mapping of columns."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    try:
        if hasattr(data, "__arrow_c_stream__") or isinstance(data, Mapping):
            return pa.table(data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise ParameterError(f"The sample can't be read as a table: {error}.") from None
    raise ParameterError(
        f"A sample must be an Arrow table, a data frame or a mapping of columns, got {type(data).__name__}."
    )


def sample_of_table(data: Any, schema: "Schema") -> SampleRows:
    """A sample in the codes of a schema. It may lack columns, but not all. The unit's column says whose row each is."""
    table = as_table(data)
    if table.num_rows == 0:
        raise ParameterError("The sample is empty: there is nothing to compare with.")
    names = table.column_names
    present = frozenset(index for index, name in enumerate(schema.names) if names.count(name) == 1)
    if not present:
        hints = " ".join(nearest(name, schema.names) for name in names[:3])
        raise ParameterError(f"The sample has none of the release's columns ({', '.join(schema.names)}).{hints}")
    codes = np.zeros((table.num_rows, len(schema)), dtype=np.int64)
    for index in present:
        column = schema.columns[index]
        codes[:, index] = column.encode(table.column(column.name))
    return SampleRows(rows=codes, persons=_persons(table, schema.unit), columns=present)


def sample_of_rows(data: Any, width: int) -> SampleRows:
    """A sample of vectors: a two-dimensional array."""
    rows = as_rows(data)
    if rows.shape[1] != width:
        raise ParameterError(f"The sample must have {width} columns as the release has, got {rows.shape[1]}.")
    if len(rows) == 0:
        raise ParameterError("The sample is empty: there is nothing to compare with.")
    return SampleRows(rows=rows, persons=np.arange(len(rows)))


def _persons(table: pa.Table, unit: str | None) -> Integers:
    if unit is None or unit not in table.column_names:
        return np.arange(table.num_rows)
    encoded = pc.dictionary_encode(table.column(unit).combine_chunks(), null_encoding="encode")
    persons: Integers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return persons
