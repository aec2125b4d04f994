"""What a release of one table or several would be like, before anyone touches the data: noise, attackers, time, size.

Everything is computed from the schema, the promise and a number of rows that the owner gives.
"""

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias, final

import numpy as np

from kernelease import html
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.measured.blocks import Block, finest
from kernelease.methods.interactions import texture
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.interactions.notices import ANSWERED, EPSILONS, planned_notices
from kernelease.methods.interactions.pairs import MOST_PAIR_NUMBERS
from kernelease.methods.interactions.rounds import Reserve, Workload, fitted_cells
from kernelease.methods.interactions.singles import (
    SIZE,
    Noise,
    Shares,
    centres,
    count_noise,
    first_look,
    group_values,
    leaves,
    single_blocks,
    width,
)
from kernelease.passes import MOST_KEPT
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.sensitivity import Neighbours, block_sensitivity
from kernelease.relational.domain_of_tables import TablesDomain
from kernelease.relational.schema_of_tables import TableOfRecords, Tables
from kernelease.table.columns.column import Column
from kernelease.table.domains import TableDomain
from kernelease.table.schema import Schema

ONE_PERCENT = 0.01  # convention: the share that advice is given for
FALSE_POSITIVES = (0.01, 0.05)  # convention: rates at which an attacker is told of

Pair: TypeAlias = tuple[int, int]  # two columns
_BASE_BYTES = 200_000_000  # limit: rough, of the libraries
BYTES_PER_NUMBER = 14  # limit: rough, in measurements.json


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The noise on one column's or pair's counts: nothing smaller can be seen in them."""

    columns: tuple[str, ...]
    cells: int
    count: float  # standard deviation of the noise of a count, in rows (or persons)
    share: float  # the same as a share of all rows


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One ε: the median noise of columns and of pairs, as shares, and what an attacker can do."""

    epsilon: float
    column: float
    pair: float | None  # None where there is one column only
    attacker: dict[float, float]

    @classmethod
    def of(
        cls,
        epsilon: float,
        floors: tuple[Floor, ...],
        attacker: dict[float, float],
        counts: Sequence[int] | None = None,
    ) -> "Setting":
        """What the floors say of single columns and of pairs; each stands for so many that are alike (None: for 1)."""
        single = [floor.share for floor in floors if len(floor.columns) == 1]
        times = np.ones(len(floors), dtype=np.int64) if counts is None else np.array(counts)
        together = [place for place, floor in enumerate(floors) if len(floor.columns) > 1]
        paired = np.repeat([floors[place].share for place in together], times[together])
        pair = float(np.median(paired)) if together else None
        return cls(epsilon=epsilon, column=float(np.median(single)), pair=pair, attacker=attacker)

    @property
    def answers(self) -> str:
        """The smallest shares that can be told from noise, in words."""
        single = f"shares of one column {_down_to(self.column)}"
        return single if self.pair is None else f"{single}, of two columns together {_down_to(self.pair)}"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that can be said in advance."""

    privacy: Privacy
    rows: int
    floors: tuple[Floor, ...]
    attacker: dict[float, float]  # best true-positive rate, at each false-positive rate
    pairs: int  # that are measured
    chosen: bool  # whether pairs are chosen privately: the floors of pairs are then those of any that is
    numbers: int  # noisy numbers
    seconds: float
    memory: float  # bytes
    size: float  # bytes of the bundle
    settings: tuple[Setting, ...]
    notices: tuple[str, ...] = ()  # what such a release can't show
    one: str = "row"  # whom a count counts: a row, or a person with several
    promises: tuple["Promise", ...] = ()  # of the analyses that were promised
    tables: tuple["RecordsPlan", ...] = ()  # of several tables, those of records
    budget: tuple[tuple[str, float], ...] = ()  # of several tables: what gets which part of it

    def _repr_html_(self) -> str:
        best = ", ".join(
            f"{power:.1%} if {rate:.0%} of the innocent are accused" for rate, power in self.attacker.items()
        )
        about = [
            (f"{self.one}s", f"{self.rows:,}"),
            (f"attacker finds a given {self.one}", f"in at most {best}"),
            ("noisy numbers", f"{self.numbers:,}"),
            ("time and memory", f"about {self.seconds:.0f} s of one core, {self.memory / 1e6:.0f} MB"),
        ]
        rows = [
            (f"{s.epsilon:g}", s.answers, *(f"{power:.1%}" for power in s.attacker.values())) for s in self.settings
        ]
        compared = html.grid(("epsilon", "answers", "found at 1 %", "found at 5 %"), rows)
        title = f"Plan for epsilon = {self.privacy.epsilon:.3g}, delta = {self.privacy.delta:g}"
        return html.card(title, html.facts(about), html.lines((*self.notices, *self.advice)), compared)

    @property
    def advice(self) -> tuple[str, ...]:
        """What the promise is good for, and which one of those compared would show shares of one percent, in words.

        A share is answered where the 95 % interval that noise alone makes is within half of it: 4 standard deviations.
        """
        columns = len({name for floor in self.floors for name in floor.columns})
        here = Setting.of(self.privacy.epsilon, self.floors, self.attacker)
        table = f"With {self.rows:,} {self.one}s and {columns} column{'s' * (columns > 1)}"
        what = f"{table}, epsilon = {self.privacy.epsilon:.3g} answers {here.answers}."
        return what, _enough(self.settings), *(promise.told for promise in self.promises)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsPlan:
    """A table of records: how many of one parent are kept, and what is counted of two of them together."""

    table: str
    parent: str
    most: int  # of one parent
    first_by: str | None  # the column whose first are kept; None: chosen by a hash of their content
    floors: tuple[Floor, ...]  # of two records of one parent, and of the first and the last of a sequence

    @property
    def told(self) -> str:
        """In a sentence."""
        which = "by a hash of their content" if self.first_by is None else f"the first by {self.first_by}"
        kept = f"of one row of {self.parent} at most {self.most:,} are kept, {which}"
        if not self.floors:
            return f"{kept}; nothing is counted of two records together: it would drown in noise"
        noise = float(np.median([floor.share for floor in self.floors]))
        both = "of two records of one parent" if self.first_by is None else "of steps to the next record, and of ends"
        return f"{kept}; {len(self.floors):,} tables {both}, whose shares have a noise of {100 * noise:.2g} %"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """How far off the answers of an analysis would be by noise: half the lengths of their 95 % intervals.

    They are those of a rehearsal on rows that nobody's are, in units of each coefficient or mean; of groups, the
    median. A rare group, or a number that is more skewed than the rows of the rehearsal, has more.
    """

    analysis: str
    half_widths: Mapping[str, float]  # by coefficient; infinite where there would be no interval
    between: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # over several shapes, without public rows
    rows: int
    epsilon: float

    def rows_for(self, term: str, half_width: float) -> int:
        """About how many rows it would take for such a half width, at the same promise: noise falls as 1/rows."""
        return math.ceil(self.rows * self._of(term) / half_width)

    def epsilon_for(self, term: str, half_width: float) -> float:
        """About which ε it would take, with as many rows: noise falls as 1/ε."""
        return self.epsilon * self._of(term) / half_width

    def _of(self, term: str) -> float:
        if term not in self.half_widths:
            raise ParameterError(f"Promise: {self.analysis!r} has {', '.join(self.half_widths)}, and no {term!r}.")
        return self.half_widths[term]

    @property
    def told(self) -> str:
        """In a sentence."""
        widths = ", ".join(f"{term} ± {self._range(term)}" for term in self.half_widths)
        half = f"{2 * self.rows:,} rows, or epsilon = {2 * self.epsilon:.2g}"
        given = " (by how rows are distributed: such that look like the private ones say it better)"
        given = given if self.between else ""
        return f"{self.analysis}: by noise about {widths}{given}; half of it takes {half}."

    def _range(self, term: str) -> str:
        """A width, or from which to which it goes over rows of several shapes."""
        low, high = (f"{width:.2g}" for width in self.between.get(term, (self.half_widths[term],) * 2))
        return low if low == high else f"{low} to {high}"


def plan(
    schema: Schema,
    *,
    privacy: Privacy,
    rows: int,
    method: Interactions | None = None,
    kept: float = 0.0,
    numbers_after: int = 0,
) -> Plan:
    r"""What to expect of a release of `rows` rows (or persons). The neighbour relation is the schema's.

    The part `kept` of the budget is for at most so many noisy numbers that are measured after all that is told here.

    >>> schema = Schema.parse('[columns.sex]\ntype = "category"\nvalues = ["f", "m"]')
    >>> expected = plan(schema, privacy=Privacy(epsilon=1.0, delta=1e-6), rows=10_000)
    >>> [(floor.columns, round(floor.count, 1)) for floor in expected.floors], expected.numbers
    ([(('sex',), 6.0)], 2)
    """
    if rows < 1:
        raise ParameterError(f"plan: rows must be at least 1, got {rows!r}.")
    chosen = with_schema(Interactions() if method is None else method, schema)
    promised = privacy.under(Neighbours(schema.neighbours))
    chosen.check(TableDomain(schema))
    reserve = chosen.reserve(schema.columns)
    reserve = dataclasses.replace(reserve, promised=reserve.promised + numbers_after)
    total = reserve.total(promised)
    blocks = _blocks(schema, chosen, promised, rows, total, kept)
    pairs = len({block.columns for block in blocks if len(block.columns) > 1})
    most = chosen.shares(schema.columns, promised, total, rows).most
    measured = pairs if most is None else min(most, pairs)
    blocks_measured = _sample_pairs(blocks, measured)
    looks = 1 if first_look(len(schema), pure=promised.pure) == 1.0 else 2  # at single columns
    once = leaves(schema.columns)  # the leaves of a column in groups are looked at once
    numbers = sum(
        block.cells * (looks if len(block.columns) == 1 and block.cells != once[block.columns[0]] else 1)
        for block in blocks_measured
    ) + texture.expected_look_numbers(schema.columns)
    work = _workload(schema, blocks_measured, promised, rows, chosen, total, 0 if most is None else pairs)
    others = (dataclasses.replace(promised, epsilon=epsilon) for epsilon in EPSILONS)
    settings = (_setting(schema, chosen, privacy, rows, reserve, kept) for privacy in others)
    floors = _floors(schema, blocks, promised, rows, total)
    alone = float(np.median([floor.share for floor in floors if len(floor.columns) == 1]))
    return Plan(
        privacy=promised,
        rows=rows,
        floors=floors,
        attacker=_attacker(total),
        pairs=measured,
        chosen=most is not None,
        numbers=numbers,
        seconds=sum(work.seconds().values()),
        memory=_memory(schema, blocks_measured, rows, chosen),
        size=numbers * BYTES_PER_NUMBER + rows * sum(bits(column) for column in schema) / 8,
        settings=tuple(settings),
        notices=planned_notices(schema, promised, rows, chosen, pairs=measured, floor=alone),
        one="row" if schema.unit is None else "person",
    )


def with_schema(method: Interactions, schema: Schema) -> Interactions:
    """The method with the analyses of the schema, too."""
    return dataclasses.replace(method, analyses=(*method.analyses, *schema.analyses))


def _blocks(
    schema: Schema,
    method: Interactions,
    privacy: Privacy,
    rows: int,
    total: Loss,
    kept: float,
    alike: Counter[Pair] | None = None,
) -> tuple[Block, ...]:
    """Single columns and pairs as they would be measured if every column were uniform.

    The real cells follow from noisy counts, and so does what a column or a pair gets in the second look at it; both
    looks are one block here. Where pairs are chosen, all are here that could be; or, with a counter of `alike`, one of
    those that are alike, which are counted in it. Details and larger sets are chosen later, and are left out.
    """
    columns = group_values(schema.columns)
    noise, shares = count_noise(privacy, total), method.shares(columns, privacy, total, rows, kept)
    counted = leaves(schema.columns)
    centred = centres(len(columns), privacy.relation, pure=privacy.pure)
    alone = shares.most == 0 and len(columns) > 1
    shown = alone or (shares.interactions and len(columns) > 1)
    singles = single_blocks(columns, shares.singles, centred=centred, interactions=shown, leaves=counted)
    if alone or len(columns) == 1:
        return singles
    uniform = tuple(np.full(column.size, 1.0 / column.size) for column in columns)
    pairing = method.pairing(columns, shares, noise)(distributions=uniform, rows=rows)
    if shares.most is None:
        return singles + pairing.every()
    cells, part = pairing.cells(), (shares.forest + shares.pairs) / shares.most
    several = [i for i, grouping in enumerate(cells) if width(grouping) > 1]
    if alike is None:
        pairs = list(itertools.combinations(several, 2))
        return singles + pairing.chosen_blocks(pairs, cells, part * len(pairs))
    kinds = {i: (columns[i].size, columns[i].in_order, cells[i].tobytes(), i == pairing.target) for i in several}
    alike.update(_alike(kinds))
    weights = pairing.chosen_blocks(list(alike), cells, 1.0)  # of one pair each: those of all add up to their share
    whole = sum(alike[block.columns[0], block.columns[1]] * block.share for block in weights)
    return singles + pairing.chosen_blocks(list(alike), cells, part * alike.total() / whole)


def _alike(kinds: Mapping[int, Hashable]) -> Counter[Pair]:
    """One pair of columns of each two kinds, and how many there are of them.

    >>> _alike({0: "a", 1: "b", 2: "b", 3: "b"})
    Counter({(1, 2): 3, (0, 1): 3})
    """
    members: dict[Hashable, list[int]] = {}
    for column, kind in kinds.items():
        members.setdefault(kind, []).append(column)
    several = [same for same in members.values() if len(same) > 1]
    counts = Counter({(same[0], same[1]): math.comb(len(same), 2) for same in several})
    for one, other in itertools.combinations(members.values(), 2):
        counts[one[0], other[0]] = len(one) * len(other)
    return counts


def _sample_pairs(blocks: tuple[Block, ...], pairs: int) -> tuple[Block, ...]:
    """A number of evenly spaced pairs, as an example of those that could be chosen."""
    together = list(dict.fromkeys(block.columns for block in blocks if len(block.columns) > 1))
    kept = {together[place * len(together) // pairs] for place in range(pairs)}
    return tuple(block for block in blocks if len(block.columns) == 1 or block.columns in kept)


def _floors(schema: Schema, blocks: tuple[Block, ...], privacy: Privacy, rows: int, total: Loss) -> tuple[Floor, ...]:
    noise, names = count_noise(privacy, total), schema.names
    floors = []
    alone = {
        block.columns[0]: block_noise(block, noise, privacy) for block in reversed(blocks) if len(block.columns) == 1
    }
    kept = set(finest(blocks))
    for block in (block for place, block in enumerate(blocks) if len(block.columns) == 1 or place in kept):
        sigma = math.hypot(block_noise(block, noise, privacy), _noise_beside(block, noise, alone))
        together = tuple(names[column] for column in block.columns)
        floors.append(Floor(columns=together, cells=block.cells, count=sigma, share=sigma / rows))
    return tuple(floors)


def block_noise(block: Block, noise: Noise, privacy: Privacy) -> float:
    """Noise of each number of a block, by how far a row moves it beside a count."""
    moved = block.sensitivity(privacy.relation, 1).l2 / (block.whole * block_sensitivity(privacy.relation).l2)
    return noise(block.share) * moved * math.sqrt(block.numbers / block.cells)


def _noise_beside(block: Block, noise: Noise, alone: dict[int, float]) -> float:
    """Noise of what a block's numbers leave out of a count, by the number of rows and its columns' own counts."""
    sizes = zip(block.columns, block.groups, block.grid, strict=True)
    return block.lacks([alone[column] * math.sqrt(len(group) / size) for column, group, size in sizes], noise(SIZE))


def _attacker(total: Loss) -> dict[float, float]:
    """The best true-positive rate of any attacker, from the trade-off curve."""
    return {rate: total.attacker(rate) for rate in FALSE_POSITIVES}


def _setting(
    schema: Schema, method: Interactions, privacy: Privacy, rows: int, reserve: Reserve, kept: float
) -> Setting:
    alike: Counter[Pair] = Counter()
    total = reserve.total(privacy)
    floors = _floors(schema, _blocks(schema, method, privacy, rows, total, kept, alike), privacy, rows, total)
    number = {tuple(schema.names[column] for column in pair): count for pair, count in alike.items()}
    return Setting.of(privacy.epsilon, floors, _attacker(total), [number.get(floor.columns, 1) for floor in floors])


def _down_to(noise: float) -> str:
    """A share of four standard deviations of the noise, to two digits.

    >>> _down_to(0.00514), _down_to(0.3)
    ('down to 2.1 %', 'not at all: they drown in noise')
    """
    share = ANSWERED * noise
    return f"down to {100 * share:.2g} %" if share < 1.0 else "not at all: they drown in noise"


def _enough(settings: tuple[Setting, ...]) -> str:
    """The smallest ε of those compared at which pairs of columns (or the only one) show shares of one percent."""
    paired = any(setting.pair is not None for setting in settings)
    noise = [(setting.epsilon, setting.pair if paired else setting.column) for setting in settings]
    enough = [epsilon for epsilon, value in noise if value is not None and ANSWERED * value <= ONE_PERCENT]
    what = "two columns together" if paired else "one column"
    if not enough:
        return (
            f"No epsilon up to {settings[-1].epsilon:g} shows shares of 1 % of {what}; fewer columns or more rows do."
        )
    return f"For shares of 1 % of {what}, epsilon = {min(enough):g} is enough."


def _workload(
    schema: Schema,
    blocks: tuple[Block, ...],
    privacy: Privacy,
    rows: int,
    method: Interactions,
    total: Loss,
    looked_at: int,
) -> Workload:
    noise = count_noise(privacy, total)
    pairs = [noise(blocks[place].share) for place in finest(blocks) if len(blocks[place].columns) > 1]
    return Workload(
        rows=rows,
        columns=len(schema),
        blocks=blocks,
        looked_at=looked_at,
        signal=rows / float(np.median(pairs)) if pairs else 0.0,
        classes=1
        if method.target is None or any(not block.adds_up and len(block.columns) > 1 for block in blocks)
        else group_values([schema.column(method.target)])[0].size,
        solver=method.solver,
    )


def _memory(schema: Schema, blocks: tuple[Block, ...], rows: int, method: Interactions) -> float:
    cells, numbers = fitted_cells(blocks), sum(block.cells for block in blocks)
    solver = method.solver
    fitting = 4 * (5 * cells * cells + (10 + 5 * solver.number_of_fits()) * solver.effort(cells)[0] * cells)
    kept = min(2 * rows * len(schema), MOST_KEPT)
    return _BASE_BYTES + 100 * numbers + fitting + kept + 16 * rows * len(schema)


def bits(column: Column) -> float:
    """What a value takes in a compressed file, at most: its entropy if it were uniform."""
    if column.tag == "number":
        return 64.0
    low, high, tick = (getattr(column, name, None) for name in ("low", "high", "tick"))
    if low is None or high is None or tick is None:
        return math.log2(column.size) if column.size > 1 else 0.0
    return math.log2((high - low) / tick + 1 + column.nullable)


# --------------------
# Several tables.


_BYTES_OF_A_CELL = 16  # limit: rough, of a record's: its code, its number, and what stands beside both
_ROUNDED = 1e-6  # convention: parts of the budget that are not named


class CountsSiblings(Protocol):
    """A method for several tables: it counts persons' paths by `interactions`, then pairs of records of one parent."""

    @property
    def interactions(self) -> Interactions:
        """What counts paths."""

    @property
    def siblings(self) -> float:
        """The part of the budget for pairs of records."""

    def check(self, domain: TablesDomain) -> None:
        """Refuse what the declarations alone make impossible."""

    def sibling_blocks(
        self, tables: Tables, columns: Sequence[Column], alone: Sequence[Floats], rows: float, noise: Noise
    ) -> tuple[Block, ...]:
        """What it counts of pairs of records, where single columns are distributed so."""


def plan_tables(tables: Tables, chosen: CountsSiblings, *, privacy: Privacy, rows: int) -> Plan:
    """What to expect of a release of so many persons with their records. No data are touched.

    As for one table every value, and every number of records, is taken to be as frequent as any other.
    """
    flat = tables.flat
    chosen.check(TablesDomain(tables))
    kept, after = chosen.siblings, MOST_PAIR_NUMBERS if chosen.siblings else 0
    expected = plan(flat, privacy=privacy, rows=rows, method=chosen.interactions, kept=kept, numbers_after=after)
    promised = expected.privacy
    total = promised.total(chosen.interactions.reserve(flat.columns).numbers + after)
    noise = count_noise(promised, total)
    even = [np.full(column.size, 1.0 / column.size) for column in flat.columns]
    blocks = chosen.sibling_blocks(tables, flat.columns, even, rows, noise)
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
