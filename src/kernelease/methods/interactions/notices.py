"""What a release of a table can't show, each in a sentence that a newcomer understands.

Before a release it follows from the schema, the promise and a number of rows that the owner gives; after it, from these
and from noisy numbers. So nothing that a release says of itself depends on more than was paid for.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kernelease.arrays import Integers
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.measured.measured import Measured
from kernelease.privacy.accounting import Privacy
from kernelease.table.columns.column import NULL_LABEL, Column
from kernelease.table.columns.listed import Listed, String
from kernelease.table.schema import Schema

if TYPE_CHECKING:  # the method itself says these sentences
    from kernelease.methods.interactions.interactions import Interactions

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # convention: those that a plan compares, and that are advised
ANSWERED = 4.0  # convention: a share of so many standard deviations has a 95 % interval within half of it
MOST_HIDDEN = 0.2  # convention: where noise hides larger shares of one column, little is left to ask
LOST = 0.95  # convention: of a column's cells, that are no declared value
_SURE = 0.1  # convention: the noise of that share, at most, for a sentence about it


def planned_notices(
    schema: Schema, privacy: Privacy, rows: float, method: "Interactions", *, pairs: int, floor: float
) -> tuple[str, ...]:
    """Before a release: of so many `pairs` that will be measured, and a `floor` of noise of one column, as a share."""
    told = [_hidden_notice(schema, privacy, rows, method, floor)] if ANSWERED * floor > MOST_HIDDEN else []
    if pairs == 0 and len(_varying(schema)) > 1:
        total = method.reserve(schema.columns).total(privacy)
        sides = method.shares(schema.columns, privacy, total, rows).sides > 0.0
        told.append(_unrelated_notice(schema, privacy, rows, method, "will be", sides=sides))
    return *told, *_free_texts(schema)


def release_notices(
    measured: Measured, schema: Schema | None, privacy: Privacy, method: "Interactions"
) -> tuple[str, ...]:
    """After a release: the same by its noisy numbers, and columns of which nearly all cells are no declared value."""
    if not isinstance(measured, NoisyBlocks) or schema is None:
        return ()
    alone = _best_alone(measured)
    pairs = len({noisy.block.columns for noisy in measured.blocks if len(noisy.block.columns) > 1})
    floor = float(np.median([noisy.deviation for noisy in alone.values()])) / measured.rows if alone else 0.0
    told = [_hidden_notice(schema, privacy, measured.rows, method, floor)] if ANSWERED * floor > MOST_HIDDEN else []
    if pairs == 0 and len(_varying(schema)) > 1:
        sides = any(noisy.block.moves_rows for noisy in measured.moments)
        told.append(_unrelated_notice(schema, privacy, measured.rows, method, "was", sides=sides))
    return *told, *_free_texts(schema), *_lost_columns(schema, alone, measured.rows)


def _varying(schema: Schema) -> tuple[Column, ...]:
    """The columns that may have more than one value: others are related to nothing."""
    return tuple(column for column in schema.columns if column.size > 1)


def _what(schema: Schema, privacy: Privacy, rows: float) -> str:
    one = "row" if schema.unit is None else "person"
    columns = f"{len(schema)} column{'s' * (len(schema) > 1)}"
    return f"with {rows:,.0f} {one}s and {columns}, epsilon = {privacy.epsilon:.3g}"


def _unrelated_notice(
    schema: Schema, privacy: Privacy, rows: float, method: "Interactions", verb: str, *, sides: bool
) -> str:
    """The notice that no pair of columns was counted, and how few of them, or which ε, would show pairs.

    With `sides`, rows were told to lie above or below the middles of columns, which is something.
    """
    free, columns = replace(method, target=None), _varying(schema)
    several = _most_related(columns, privacy, rows, free, counted=sides)
    enough = [
        epsilon
        for epsilon in EPSILONS
        if epsilon > privacy.epsilon and _relates(columns, replace(privacy, epsilon=epsilon), rows, free, counted=sides)
    ]
    ways = [f"name up to {several} columns"] if several > 1 else []
    ways += [f"raise epsilon to {enough[0]:g}"] if enough else []
    ways += [] if ways else ["a table of more rows is needed"]
    if sides:
        return (
            f"No pair of columns {verb} counted: {_what(schema, privacy, rows)} shows single columns, and of two "
            "columns only how often rows are above or below the middles of both. Rows hold a part of strong "
            f"correlations by that, and nothing finer; for counts, {' or '.join(ways)}."
        )
    return (
        f"No relation between columns {verb} measured: {_what(schema, privacy, rows)} shows single columns only; "
        f"{' or '.join(ways)}."
    )


def _relates(
    columns: Sequence[Column], privacy: Privacy, rows: float, method: "Interactions", *, counted: bool
) -> bool:
    """Whether pairs of these columns would be measured: `counted`, or at least told by sides."""
    total = method.reserve(tuple(columns)).total(privacy)
    shares = method.shares(columns, privacy, total, rows)
    return len(columns) > 1 and (shares.most != 0 or (shares.sides > 0.0 and not counted))


def _most_related(
    columns: Sequence[Column], privacy: Privacy, rows: float, method: "Interactions", *, counted: bool
) -> int:
    """The most columns of which pairs would be measured, whichever they are: those with the most atoms are tried."""
    ordered = sorted(columns, key=lambda column: -column.size)
    low, high = 1, len(ordered)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high) if _relates(ordered[:middle], privacy, rows, method, counted=counted) else (low, middle - 1)
        )
    return low


def _hidden_notice(schema: Schema, privacy: Privacy, rows: float, method: "Interactions", floor: float) -> str:
    """The notice that noise hides most shares of even one column, and which ε would show them."""

    def precision(epsilon: float) -> float:
        """In which single columns are counted: with more to spend, some of it may go to pairs."""
        promised = replace(privacy, epsilon=epsilon)
        total = method.reserve(schema.columns).total(promised)
        singles = method.shares(schema.columns, promised, total, rows).singles
        return total.pure_epsilon * singles if privacy.pure else total.mu * math.sqrt(singles)

    here = precision(privacy.epsilon)
    enough = [e for e in EPSILONS if e > privacy.epsilon and ANSWERED * floor * here / precision(e) <= MOST_HIDDEN]
    share = ANSWERED * floor
    seen = "no share of one column" if share >= 1.0 else f"only shares of one column above {100 * share:.0f} %"
    more = f", or raise epsilon to {enough[0]:g}" if enough else ""
    return f"Noise hides nearly all: {_what(schema, privacy, rows)} shows {seen}; name fewer columns{more}."


def _free_texts(schema: Schema) -> Iterator[str]:
    for column in schema:
        if isinstance(column, String) and not column.values:
            yield (
                f"Column {column.name!r} is free text, of which nothing can be counted: every released value is "
                f"{column.other_label} or empty. Declare its values, or a hierarchy of codes, or leave it out."
            )


def _best_alone(measured: NoisyBlocks) -> dict[int, NoisyBlock]:
    """For each column, its single-column counts with most cells, and among those with the least noise."""
    alone: dict[int, NoisyBlock] = {}
    for noisy in measured.blocks:
        if not noisy.block.alone:
            continue
        (column,) = noisy.block.columns
        known = alone.get(column)
        if known is None or (noisy.block.cells, -noisy.sigma) > (known.block.cells, -known.sigma):
            alone[column] = noisy
    return alone


def _lost_columns(schema: Schema, alone: dict[int, NoisyBlock], rows: float) -> Iterator[str]:
    """Columns of which nearly all cells are `other`, NULL or what unreadable ones become, by noisy counts."""
    for place, noisy in alone.items():
        column, counts, cells = schema.columns[place], noisy.counts(rows).reshape(-1), noisy.block.groups[0]
        if noisy.sigma <= _SURE * rows and counts.max() + ANSWERED / 2.0 * noisy.sigma >= rows:
            yield from _constant_column(column, int(counts.argmax()), cells)
        special = {} if isinstance(column, String) and not column.values else _special(column)
        own = {label: int(cells[atom]) for label, atom in special.items() if (cells == cells[atom]).sum() == 1}
        share = sum(counts[cell] for cell in own.values()) / rows
        if own and share >= LOST and noisy.sigma * math.sqrt(len(own)) <= _SURE * rows:
            label = max(own, key=lambda one: float(counts[own[one]]))
            yield (
                f"Column {column.name!r}: by the noisy counts about {100 * min(1.0, share):.0f} % of its cells are "
                f"{label}, so it says next to nothing. "
                + (
                    "They are missing, or can't be read: correct [source] or the type."
                    if label == NULL_LABEL
                    else "Its values are not in the schema: declare them."
                )
            )


def _constant_column(column: Column, full: int, cells: Integers) -> Iterator[str]:
    """The sentence about a column with all its rows in one cell, where that is what becomes of unreadable ones."""
    atom = column.unknown
    if column.size > 1 and cells[atom] == full and (cells == full).sum() == 1 and not _special(column):
        yield (
            f"Column {column.name!r}: by the noisy counts all of its cells may be {column.labels()[atom]}, so it says "
            "next to nothing. Cells that can't be read, or are not declared, become that, too: check the source."
        )


def _special(column: Column) -> dict[str, int]:
    """The atoms that mean no declared value, by their labels: the last ones."""
    atoms = {NULL_LABEL: column.size - 1} if column.nullable else {}
    if isinstance(column, Listed) and column.other_label is not None:
        atoms[str(column.other_label)] = column.size - 1 - column.nullable
    return atoms
