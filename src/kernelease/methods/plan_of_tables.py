"""What a release of several tables would be like, before anyone touches the data."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kernelease.methods.bags import Bags, sibling_blocks
from kernelease.methods.interactions.interactions import count_noise
from kernelease.methods.interactions.pairs import MOST_PAIR_NUMBERS
from kernelease.methods.interactions.plan import BYTES_PER_NUMBER, Floor, Plan, RecordsPlan, bits, block_noise, plan
from kernelease.methods.interactions.singles import Shares
from kernelease.privacy.accounting import Privacy
from kernelease.relational.domain import TablesDomain
from kernelease.relational.schema import TableOfRecords, Tables

_BYTES_OF_A_CELL = 16  # limit: rough, of a record's: its code, its number, and what stands beside both
_ROUNDED = 1e-6  # convention: parts of the budget that are not named


def plan_tables(tables: Tables, *, privacy: Privacy, rows: int, method: Bags | None = None) -> Plan:
    """What to expect of a release of so many persons with their records. No data are touched.

    As for one table every value, and every number of records, is taken to be as frequent as any other.
    """
    chosen, flat = method or Bags(), tables.flat
    chosen.check(TablesDomain(tables))
    kept, after = chosen.siblings, MOST_PAIR_NUMBERS if chosen.siblings else 0
    expected = plan(flat, privacy=privacy, rows=rows, method=chosen.interactions, kept=kept, numbers_after=after)
    promised = expected.privacy
    total = promised.total(chosen.interactions.reserve(flat.columns).numbers + after)
    noise = count_noise(promised, total)
    even = [np.full(column.size, 1.0 / column.size) for column in flat.columns]
    blocks = sibling_blocks(tables, flat.columns, even, rows, kept, noise)
    floors: dict[str, list[Floor]] = {name: [] for name in tables.names}
    for block in blocks:
        sigma, names = block_noise(block, noise, promised), tuple(_in_words(tables, c) for c in block.columns)
        of = flat.names[tables.beside[block.columns[-1] - len(flat)][0]].split(".")[0]
        floors[of].append(Floor(columns=names, cells=block.cells, count=sigma, share=sigma / rows))
    shares = chosen.interactions.shares(flat.columns, promised, total, rows, kept)
    records = _even_records(tables, rows)
    cells = [(records[table.name], column) for table in tables.tables for column in table.schema]
    numbers = expected.numbers + sum(block.numbers for block in blocks)
    return replace(
        expected,
        tables=tuple(_records_plan(table, floors[table.name]) for table in tables.tables[1:]),
        budget=_budget(shares, sum(block.share for block in blocks)),
        numbers=numbers,
        memory=expected.memory + _BYTES_OF_A_CELL * sum(count for count, _ in cells),
        size=numbers * BYTES_PER_NUMBER + sum(count * bits(column) for count, column in cells) / 8,
        one="person",
    )


def _even_records(tables: Tables, persons: int) -> dict[str, float]:
    """How many rows each table has where every number of records is as frequent as any other."""
    records = {tables.root.name: float(persons)}
    for table in tables.tables[1:]:
        records[table.name] = records[str(table.parent)] * (table.max_rows or 0) / 2.0
    return records


def _in_words(tables: Tables, column: int) -> str:
    """A column of paths, or of a record beside it, as a plan names it."""
    if column < len(tables.flat):
        return tables.flat.names[column]
    place, which = tables.beside[column - len(tables.flat)]
    return f"{tables.flat.names[place]} of {'another' if which == 'sibling' else f'the {which}'} record"


def _records_plan(table: TableOfRecords, floors: Sequence[Floor]) -> RecordsPlan:
    return RecordsPlan(
        table=table.name,
        parent=str(table.parent),
        most=table.max_rows or 0,
        first_by=table.order,
        floors=tuple(floors),
    )


def _budget(shares: Shares, together: float) -> tuple[tuple[str, float], ...]:
    """Which parts of the budget are for what; looks at numbers and their moments have the rest."""
    parts = {
        "the number of persons": shares.size,
        "single columns": shares.singles,
        "pairs of columns": shares.pairs + shares.forest + shares.details,
        "larger sets": shares.triples + shares.choice,
        "two records of one parent": together,
    }
    parts["looks at numbers, and their means"] = 1.0 - sum(parts.values())
    return tuple((what, part) for what, part in parts.items() if part > _ROUNDED)
