"""The kinds of rows (of a declared table, vectors or objects, vectors with classes), and the way to them from atoms."""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError, SchemaError
from kernelease.kernels.discrete import Kronecker
from kernelease.kernels.dot_product import UNDECLARED, LabelledSphere
from kernelease.kernels.kernel import Kernel
from kernelease.table.atom_features import atom_kernel
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.column import Column
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema

# ---- Atoms back to rows, and to rows that keep the declared constraints.


Flags: TypeAlias = NDArray[np.bool_]

_ROUNDS = 60  # of fresh draws: where one draw in ten is lawful, 2 rows in 1,000 are left without


@final
@dataclass(frozen=True, slots=True)
class Decoder:
    r"""Atom codes to an Arrow table in the schema's order and types: a legal value for each code.

    Inside the cell of a number or date the value is uniform, from a public generator; or its density rises or falls
    across the cell as `slopes` say, of each column, (cells,) from −1 to 1.

    >>> schema = Schema.parse('[columns.work]\ntype = "category"\nvalues = ["Private", "State-gov"]')
    >>> Decoder(schema).decode(np.array([[1], [0]]), np.random.default_rng(0)).to_pydict()
    {'work': ['State-gov', 'Private']}
    """

    schema: Schema
    slopes: tuple[Floats | None, ...] = ()

    def decode(self, codes: NDArray[Any], generator: np.random.Generator, *, deal: bool = False) -> pa.Table:
        """A row for each row of codes, complete with what is derived: (n, measured columns) → n rows.

        With `deal`, values that `null_when` would take away go to rows that may have one and were drawn without.
        """
        array = np.asarray(codes)
        if array.ndim != 2 or array.shape[1] != len(self.schema):
            raise ParameterError(f"Decoder: codes must be (n, {len(self.schema)}), got shape {array.shape}.")
        slopes = self.slopes or (None,) * len(self.schema)
        columns = [
            _decode_column(column, array[:, i], slope, generator)
            for i, (column, slope) in enumerate(zip(self.schema, slopes, strict=True))
        ]
        released, names = self.schema.arrow_schema(), self.schema.names
        drawn = pa.Table.from_arrays(columns, schema=pa.schema([released.field(name) for name in names]))
        return self.schema.structure.complete(drawn, deal=deal).select(self.schema.order).cast(released)


def _decode_column(column: Column, codes: Integers, slopes: Floats | None, generator: np.random.Generator) -> pa.Array:
    """A value for each code. Where the density 1 + s·(2t − 1) rises with t, the part of a cell below: one of two draws.

    Of two uniform draws the larger has the density 2t, the smaller 2(1 − t): the larger is taken with chance (1 + s)/2.
    """
    first = column.decode(codes, generator)
    if slopes is None:
        return first
    second = column.decode(codes, generator)
    inside = np.where(codes < len(slopes), slopes[np.minimum(codes, len(slopes) - 1)], 0.0)
    larger = generator.random(len(codes)) < (1.0 + inside) / 2.0
    swapped = pc.fill_null(pc.equal(pc.greater(second, first), pa.array(larger)), False)
    return pc.if_else(swapped, second, first)


def density_slopes(column: Column, shares: Floats) -> Floats | None:
    """How the density of a number or date rises across each of its cells, from −1 to 1, by shares of its atoms.

    A line within each cell that keeps its share, as steep as neighbours allow: none at a peak or beside a gap (van
    Leer's limiter, 1979). None for columns whose cells hold one value each, or are in no order.

    >>> from kernelease.table.columns.numbers import Integer
    >>> density_slopes(Integer(name="x", min=0, max=29, cells=5), np.array([0.1, 0.4, 0.3, 0.2, 0.0])).round(2).tolist()
    [0.0, -0.23, -0.12, -0.16, 0.0]
    """
    if not isinstance(column, Celled):
        return None
    edges = column.edges().astype(np.float64)
    width = np.diff(edges)
    held = np.maximum(shares[: len(width)], 0.0)
    density = np.divide(held, width, out=np.zeros_like(width), where=width > 0.0)
    middle = (edges[:-1] + edges[1:]) / 2.0
    change = np.divide(np.diff(density), np.diff(middle), out=np.zeros(len(width) - 1), where=np.diff(middle) > 0.0)
    before, after = np.append(0.0, change), np.append(change, 0.0)
    same = before * after > 0.0
    steep = np.divide(2.0 * before * after, before + after, out=np.zeros_like(width), where=same)
    slopes: Floats = np.clip(
        np.divide(steep * width / 2.0, density, out=np.zeros_like(width), where=density > 0.0), -1.0, 1.0
    )
    return slopes if slopes.any() else None


def lawful_rows(
    schema: Schema, draw: Callable[[int], Integers], count: int, generator: np.random.Generator
) -> pa.Table:
    """`count` decoded rows that keep every constraint of the schema: (rows that break one are drawn again).

    `draw(n)` gives n rows of atom codes, (n, columns). Where constraints are so rare that fresh draws do not suffice,
    lawful rows are repeated; where there is none at all, a `ParameterError` says so.
    """
    decoder = Decoder(schema)
    parts: list[pa.Table] = []
    missing = count
    for _ in range(_ROUNDS if _may_break(schema) else 1):
        table = decoder.decode(draw(missing), generator, deal=True)
        parts.append(table.filter(pa.array(lawful_flags(schema, table))))
        missing = count - sum(part.num_rows for part in parts)
        if missing == 0:
            break
    rows = pa.concat_tables(parts)
    if rows.num_rows == 0:
        raise ParameterError("No synthetic row keeps the declared constraints: they contradict the measured counts.")
    if missing:
        rows = rows.take(pa.array(np.arange(count) % rows.num_rows))
    return rows.slice(0, count).combine_chunks()


def decode_lawfully(schema: Schema, codes: Integers, generator: np.random.Generator) -> tuple[pa.Table, Flags]:
    """Every row of codes (n, columns) decoded, and whether it keeps the constraints: (n,).

    Values within a cell are drawn again where a row breaks one, so that what is left breaks it in every draw.
    """
    decoder = Decoder(schema)
    table = decoder.decode(codes, generator)
    lawful = lawful_flags(schema, table)
    for _ in range(_ROUNDS if _may_break(schema) else 0):
        if lawful.all():
            break
        again, keep = decoder.decode(codes, generator), pa.array(lawful)
        columns = [pc.if_else(keep, old, new) for old, new in zip(table.columns, again.columns, strict=True)]
        table = pa.Table.from_arrays(columns, schema=table.schema)
        lawful = lawful_flags(schema, table)
    return table, lawful


def _may_break(schema: Schema) -> bool:
    """Whether a drawn row may break what is declared: a rule, or bounds of what is computed."""
    return bool(schema.constraints or schema.derived)


def lawful_flags(schema: Schema, table: pa.Table) -> Flags:
    """Whether each decoded row keeps every constraint, and the bounds of what is computed: (n,)."""
    lawful = schema.structure.lawful(table)
    for rule in schema.constraints:
        lawful &= rule.holds(table)
    return lawful


# ---- The rows of a declared table.


@final
@dataclass(frozen=True, slots=True)
class TableDomain(Domain):
    """The rows of a schema. A method sees them as atom codes, one for each column."""

    declared: Schema

    kernel_name: ClassVar[str] = "of the schema's atoms"

    def __post_init__(self) -> None:
        if self.declared.confirmed is False:
            raise SchemaError(
                "[table]: confirmed is false: this schema was drafted by looking at the private rows. Go through the "
                "marked lines: keep what is public knowledge, change the rest, then write confirmed = true.",
                path=("table", "confirmed"),
            )

    @property
    def name(self) -> str:
        return self.declared.name

    @property
    def kernel(self) -> Kernel:
        return atom_kernel(self.declared.columns)

    @property
    def protected(self) -> str:
        return self.declared.unit_in_words

    @property
    def provenance(self) -> str:
        if self.declared.confirmed is None:
            return "declared by the publisher without looking at the private rows"
        return "drafted by looking at the private rows; the publisher confirmed that all of it is public knowledge"

    def with_columns(self, columns: tuple[Column, ...]) -> "TableDomain":
        return TableDomain(replace(self.declared, columns=columns))

    @property
    def unit_weight(self) -> int:
        return self.declared.unit_weight

    @property
    def schema(self) -> Schema:
        return self.declared

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.declared.sizes

    def table_of_points(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Codes decoded; rows that can't keep the declared constraints are left out, and the others take their weight.

        Raises `ParameterError` where none is left.
        """
        table, lawful = decode_lawfully(self.declared, points.astype(np.int64), generator)
        if not lawful.any():
            raise ParameterError("No synthetic row keeps the declared constraints: they contradict what was measured.")
        kept = weights[lawful]
        total = float(kept.sum())
        scaled = kept * (float(weights.sum()) / total) if total != 0.0 and not lawful.all() else kept
        return table.filter(pa.array(lawful)).combine_chunks().append_column(self.weight_name, pa.array(scaled))

    def draw_table(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        table = lawful_rows(self.declared, draw, count, generator)
        return table.append_column(self.weight_name, pa.array(np.full(count, 1.0 / count)))


# ---- Rows that have no declared columns: vectors, or any objects that a kernel compares.


LABEL = "label"  # the column of released rows that holds the class of a vector. convention


@dataclass(frozen=True, slots=True)
class UndeclaredDomain(Domain, ABC):
    """Rows without declared columns, which a kernel compares."""

    kernel: Kernel

    name: ClassVar[str] = "table"
    protected: ClassVar[str] = "each row"
    provenance: ClassVar[str] = "chosen by the publisher without looking at the private rows"
    unit_weight: ClassVar[int] = 1
    schema: ClassVar[None] = None
    sizes: ClassVar[None] = None

    @property
    def kernel_name(self) -> str:
        return repr(self.kernel)

    def draw_table(self, draw: Callable[[int], Integers], count: int, generator: np.random.Generator) -> pa.Table:
        raise ParameterError("Rows can only be drawn for declared columns. Give a schema, or another method.")


@final
@dataclass(frozen=True, slots=True)
class VectorDomain(UndeclaredDomain):
    """Arrays of numbers or objects: x0, x1 and so on."""

    def table_of_points(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        columns = {f"x{index}": _column(points[:, index]) for index in range(points.shape[1])}
        return pa.table({**columns, self.weight_name: weights})


@final
@dataclass(frozen=True, slots=True)
class LabelledDomain(UndeclaredDomain):
    """Vectors of norm 1 that have a class: the columns x0, x1 and so on, and `label`."""

    kernel: LabelledSphere

    def table_of_points(self, points: Rows, weights: Floats, generator: np.random.Generator) -> pa.Table:
        """Vectors as they are, and the class that each row's last number is the place of."""
        columns = {f"x{index}": pa.array(points[:, index]) for index in range(self.kernel.dimension)}
        names = np.empty(len(self.kernel.classes), dtype=object)
        names[:] = self.kernel.classes
        label = _column(names[points[:, -1].astype(np.int64)])
        return pa.table({**columns, LABEL: label, self.weight_name: weights})

    def place_classes(self, rows: Rows) -> Floats:
        """Vectors followed by their class, as features take them: with its place in the list, or −1."""
        self.kernel.check_columns(rows)
        codes = Kronecker(values=self.kernel.classes).codes(rows[:, -1:])
        known = np.where(codes < len(self.kernel.classes), codes.astype(np.float64), UNDECLARED)
        return np.column_stack([finite_numbers(rows[:, :-1]), known])


def vector_domain(kernel: Kernel) -> VectorDomain | LabelledDomain:
    """The rows that a kernel compares."""
    return LabelledDomain(kernel) if isinstance(kernel, LabelledSphere) else VectorDomain(kernel)


_PLAIN = (pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us"))


def _column(cells: Rows) -> pa.Array:
    """One column of the table: as it is where one of a bundle's types serves all its cells, else text.

    It refuses nothing: by now the budget is charged.
    """
    values = [cell.value if isinstance(cell, Enum) else cell for cell in cells.tolist()]
    try:
        column = pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        column = None
    if column is not None and column.type in _PLAIN:
        return column
    return pa.array([None if value is None else _text(value) for value in values])


def _text(value: object) -> str:
    try:
        return str(value).encode(errors="replace").decode()
    except Exception:  # noqa: BLE001  # by now the budget is charged, and a cell's own __str__ must not cost the release
        return type(value).__name__
