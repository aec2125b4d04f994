"""Several tables: noisy counts of persons' paths, as of one flat table, and of two records of one parent."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.exact.rows import PrivateRows
from kernelease.fit.mixtures.draw import draw_rows
from kernelease.fit.mixtures.maps import maps_of
from kernelease.fit.mixtures.mixture import Mixture, bounds_of, keep_within
from kernelease.fit.mixtures.one_way import distributions_of
from kernelease.fit.records import RecordBlocks, drawn_records
from kernelease.fit.sequences import Counted, SequenceBlocks, drawn_sequences
from kernelease.machine import one_thread
from kernelease.measured.bags import NoisyBags
from kernelease.measured.blocks import Block, with_share
from kernelease.measured.counts import Counts
from kernelease.measured.looks import laid_columns
from kernelease.measured.measured import Measured
from kernelease.methods.interactions import texture
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.interactions.pairs import MOST_PAIR_NUMBERS, PAIR_POWER, pair_cells
from kernelease.methods.interactions.rounds import FITTING, fit_workload
from kernelease.methods.interactions.singles import Noise, count_noise, width
from kernelease.methods.method import Context, Method
from kernelease.privacy.accounting import Privacy
from kernelease.progress import SILENT, Progress
from kernelease.relational.domain_of_tables import TablesDomain
from kernelease.relational.schema_of_tables import Place, TableOfRecords, Tables, sequence_keys
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Column
from kernelease.table.domain import Domain
from kernelease.table.domains import Decoder, density_slopes, lawful_flags
from kernelease.table.schema import Schema

SIBLINGS = 0.1  # convention: of the budget, for two records of one parent. docs/research.md: .2 is no better for them
FAINT = 1.0 / 30.0  # convention: of all persons, the noise of a count at which pairs of siblings are counted
FITS = 6  # convention: that are averaged. docs/research.md: Tables: the mean of two fits
_ROUNDING = 1.0 - 2.0**-30  # derived: of that share: covers the rounding of all charges before it
_AGAIN = 20  # limit: draws of the values within cells, for records that break a rule


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bags(Method):
    """Count persons' paths as `interactions` counts rows; then pairs of records of one parent; fit; draw tables.

    Every block moves by one person's weight, whatever the number of records and the depth (docs/proofs/bags.md).
    """

    uses_kernel: ClassVar[bool] = False
    draws_rows: ClassVar[bool] = True

    interactions: Interactions = field(default_factory=Interactions)
    siblings: float = SIBLINGS

    def __post_init__(self) -> None:
        if not 0.0 <= self.siblings < 1.0:
            raise ParameterError(f"Bags: siblings must be from 0 to below 1, got {self.siblings!r}.")

    @property
    def of_paths(self) -> Interactions:
        """`interactions`."""
        return self.interactions

    def check(self, domain: Domain) -> None:
        """Refuse, before anything is read or spent, what is no set of tables, and siblings that leave paths too little.

        Paths keep as much as siblings get, beside what is set aside for numbers and analyses.
        """
        if not isinstance(domain, TablesDomain):
            raise ParameterError("Bags: needs several declared tables. Give a schema of tables, or another method.")
        self.interactions.check(domain)
        most = (1.0 - self.interactions.aside(domain.schema.columns)) / 2.0
        if self.siblings > most:
            raise ParameterError(
                f"Bags: siblings must be at most {most:.2f} for these tables, half of what is not set aside for "
                f"numbers and analyses, got {self.siblings!r}."
            )

    @one_thread()
    def measure(self, rows: PrivateRows, context: Context) -> NoisyBags:
        """Charge the ledger, then count paths in rounds, and siblings last."""
        self.check(context.domain)
        if not isinstance(context.domain, TablesDomain):
            raise ParameterError("Bags: needs several declared tables.")
        tables, counts = context.domain.tables, rows.counts()
        context.public_rows(rows)  # an empty table is refused here
        schema = tables.flat
        reserve = self.interactions.reserve(schema.columns)
        reserve.total(context.privacy, counts.unit)  # refuses, before the charge, what could not be drawn
        most = MOST_PAIR_NUMBERS if self.siblings else 0
        budget = context.open_budget(reserve.numbers + most, f"Bags on {tables.name}")
        looks = texture.Looks(counts, schema, budget, context.noise)
        if (laid := looks.lay()) and counts.again is not None:
            schema = replace(schema, columns=laid_columns(schema.columns, laid))
            counts = counts.again(schema)
        paths = self.interactions.rounds(
            counts.first(len(schema)),
            schema.columns,
            budget,
            noise=context.noise,
            seed=context.seed,
            progress=context.progress,
            looks=tuple(looks.taken),
            laid=laid,
            kept=self.siblings,
        )
        noise = count_noise(context.privacy, budget.total)
        alone = distributions_of(paths)
        blocks = self.sibling_blocks(tables, schema.columns, alone, paths.rows, noise)
        after = counts.privatise(blocks, budget, noise=context.noise) if blocks else ()
        return NoisyBags(paths=paths, siblings=after)

    def sibling_blocks(
        self, tables: Tables, columns: Sequence[Column], alone: Sequence[Floats], rows: float, noise: Noise
    ) -> tuple[Block, ...]:
        """Of each table of records, every pair of columns of two records; where these are too faint, each with its own.

        Cells hold so many records that pairs of them can be seen, by the distributions of single columns, `alone`. Of
        records in sequence the other one is the next, and columns of the first and the last record are counted, too.
        """
        if self.siblings == 0.0:
            return ()
        each = self.siblings * _ROUNDING / (len(tables.places) - 1)
        return tuple(
            block
            for number in range(1, len(tables.places))
            for block in _of_one(columns, tables, number, alone, rows, each, noise)
        )

    @one_thread()
    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> "FittedBags":
        """The public step: free, and repeatable with another solver."""
        if not isinstance(measured, NoisyBags):
            raise ParameterError("Bags: can only fit noisy counts of several tables.")
        solver = self.interactions.solver
        solver = replace(solver, fits=FITS if solver.fits is None else solver.fits)
        progress.expect(fit_workload(measured.paths, solver).after())
        mixture = solver.solve(measured.paths, seed, progress, stage=FITTING)
        return FittedBags(mixture=mixture, measured=measured)

    def notices(self, measured: Measured, schema: Schema | None, privacy: Privacy) -> tuple[str, ...]:
        """Those of the paths."""
        if not isinstance(measured, NoisyBags):
            return ()
        return self.interactions.notices(measured.paths, schema, privacy)


def _of_one(
    columns: Sequence[Column],
    tables: Tables,
    number: int,
    distributions: Sequence[Floats],
    rows: float,
    share: float,
    noise: Noise,
) -> tuple[Block, ...]:
    places, (which, *ends) = tables.places[number].columns, tables.tables[number].beside
    own, alone = [columns[place] for place in places], [distributions[place] for place in places]
    never = [bool(ends) and not column.nullable for column in tables.tables[number].schema]
    if ends:
        every = list(itertools.product(range(len(own)), repeat=2))
    else:
        every = list(itertools.combinations_with_replacement(range(len(own)), 2))
    for pairs in (every, [(one, one) for one in range(len(own))]):
        most = len(pairs) + len(ends) * len(own)
        if noise(share / most) > FAINT * rows:
            continue
        cells = pair_cells(own, alone, rows=rows, share=share, noise=noise, most=most)
        cells = [_null_apart(groups) if apart else groups for groups, apart in zip(cells, never, strict=True)]
        wide = [(one, other) for one, other in pairs if min(width(cells[one]), width(cells[other])) > 1]
        if not wide:
            continue
        blocks = [
            Counts(
                columns=(places[one], tables.place_beside(places[other], which)),
                groups=(cells[one], _with_none(cells[other], never[other])),
                share=float(width(cells[one]) * width(cells[other])) ** PAIR_POWER,
            )
            for one, other in wide
        ]
        blocks += [
            Counts(
                columns=(tables.place_beside(places[one], end),),
                groups=(_with_none(cells[one], never[one]),),
                share=float(width(cells[one])) ** PAIR_POWER,
            )
            for end in ends
            for one in range(len(own))
            if width(cells[one]) > 1
        ]
        return with_share(blocks, share)
    return ()


def _null_apart(cells: Integers) -> Integers:
    """The same cells, the last of which has NULL alone: paths that have no record."""
    others = np.unique(cells[:-1], return_inverse=True)[1]
    return np.append(others, width(others))


def _with_none(cells: Integers, never: bool) -> Integers:
    """The cells of a column of another record: one more where there is none.

    Where no record is NULL, which has the last cell alone, that cell is free for it.
    """
    return np.append(cells, width(cells) - never)


# --------------------
# Tables from what was fitted.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedBags:
    """A mixture over paths, and what it was fitted to."""

    mixture: Mixture
    measured: NoisyBags

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> dict[str, pa.Table]:
        """The rows of each table, by its name."""
        if not isinstance(domain, TablesDomain):
            raise ParameterError("Bags: needs several declared tables.")
        return self.tables(domain, count, generator)

    def tables(self, domain: TablesDomain, count: int | None, generator: np.random.Generator) -> dict[str, pa.Table]:
        """Rows of every table: `count` of the root (None: as many as there are), and their records. All keys exist."""
        tables, paths = domain.tables, self.measured.paths
        wanted = max(1, round(paths.rows)) if count is None else count
        mixture = keep_within(self.mixture, bounds_of(domain.schema.columns, paths))
        flat = maps_of(paths).apply(draw_rows(mixture, wanted, generator), generator)
        made: dict[str, _Made] = {}
        for place, table in zip(tables.places, tables.tables, strict=True):
            if place.parent is None:
                own = {c: flat[c] for c in (*place.columns, *tables.numbers_of(table.name))}
                rows = _decode(domain.schema_of(table.name), _stack(own, place), generator)
                made[table.name] = _Made(_with_keys(rows, table, None), own, np.arange(wanted))
            else:
                made[table.name] = self._make(domain, place, table, mixture, made, generator)
        return {table.name: _with_references(made, table, generator) for table in tables.tables}

    def _make(
        self,
        domain: TablesDomain,
        place: Place,
        table: TableOfRecords,
        mixture: Mixture,
        made: Mapping[str, "_Made"],
        generator: np.random.Generator,
    ) -> "_Made":
        """The records of one table, whose parents are made."""
        tables, above = domain.tables, made[str(table.parent)]
        number = self._number(tables, place, above.codes, generator)
        owner = np.repeat(np.arange(len(number)), number)
        wanted = (*place.columns, *tables.numbers_of(table.name))
        within = Place(columns=wanted, parent=place.parent, number=place.number, before=place.before)
        before = np.stack([above.codes[c] for c in place.before])
        never = [_never(domain, table.name, c) for c in wanted]
        drawn = self._records(tables, table, within, mixture, before, number, never, generator)
        own, schema = dict(zip(wanted, drawn, strict=True)), domain.schema_of(table.name)
        rows = _decode(schema, _stack(own, place), generator)
        rules, rows_above = tables.rules_of(table.name), {name: one.rows for name, one in made.items()}

        def lawful(rows: pa.Table, owner: Integers) -> NDArray[np.bool_]:
            """Whether rows keep all rules, those across tables with the rows that they belong to."""
            flags = lawful_flags(schema, rows)
            joined = tables.with_rows_above(table.name, rows, owner, rows_above) if rules else rows
            for rule in rules:
                flags &= rule.holds(joined)
            return flags

        if rules:
            named = {tables.flat.names.index(n) for rule in rules for n in rule.columns if n in tables.flat.names}
            kin = [above.codes[c][owner] for c in sorted(named & {*place.before})]
            rows, moved, stay = _within_rules(rows, _stack(own, place), schema, lawful, owner, _alike(kin), generator)
            own, owner = {c: codes[moved] for c, codes in own.items()}, owner[stay]
        if table.order is not None:
            rows, moved = _in_sequence(rows, schema, table.order, owner, lawful)
            own = {c: codes[moved] for c, codes in own.items()}
        own |= {c: above.codes[c][owner] for c in place.before}
        return _Made(_with_keys(rows, table, owner + 1), own, above.roots[owner])

    def _records(
        self,
        tables: Tables,
        table: TableOfRecords,
        place: Place,
        mixture: Mixture,
        above: Integers,
        number: Integers,
        never: Sequence[int | None],
        generator: np.random.Generator,
    ) -> Integers:
        """Atoms of a table's records, the parents' in turn."""
        rows, known = self.measured.paths.rows, dict(enumerate(tables.beside, len(tables.flat)))
        own = [
            (block, *known[block.block.columns[-1]])
            for block in self.measured.siblings
            if known[block.block.columns[-1]][0] in place.columns
        ]
        if table.order is None:
            after = min((at for at, (column, _) in known.items() if column in place.columns), default=0)
            pairs, siblings = self.measured.paths.without_details.blocks, [block for block, _, _ in own]
            blocks = RecordBlocks(pairs=pairs, siblings=siblings, after=after, rows=rows)
            return drawn_records(mixture, place, above, number, blocks, never=never, generator=generator)
        at = place.columns.index
        counted = [
            Counted.of(at(one.block.columns[0]) if which == "next" else None, at(column), one, rows)
            for one, column, which in own
            if which in ("next", "first")
        ]
        cells = {at(column): one.block.groups[-1][:-1] for one, column, _ in own}
        sequence = SequenceBlocks(blocks=tuple(counted), cells=cells)
        order = table.schema.names.index(table.order)
        return drawn_sequences(
            *(mixture, place, above, number, sequence), order=order, never=never, generator=generator
        )

    def _number(
        self, tables: Tables, place: Place, above: dict[int, Integers], generator: np.random.Generator
    ) -> Integers:
        """How many records each parent has, by the atoms that were drawn."""
        if place.number is None:
            raise ParameterError("Bags: the root has no parent.")
        column = tables.flat.columns[place.number]
        values = column.decode(above[place.number], generator)
        return np.nan_to_num(np.array(values.to_numpy(zero_copy_only=False), dtype=np.float64)).astype(np.int64)


def _never(domain: TablesDomain, name: str, column: int) -> int | None:
    """The atom of a flat column that no record has: NULL, where the table's own column has none."""
    flat = domain.schema.columns[column]
    table = domain.tables.table(name)
    nullable = {f"{name}.{one.name}": one.nullable for one in table.schema}
    nullable |= {f"{name}.{one.name}": one.may_be_null for one in table.aggregates}
    return None if nullable.get(flat.name) else flat.null


def _decode(schema: Schema, codes: Integers, generator: np.random.Generator) -> pa.Table:
    """Rows of a table; those that break one of its rules are replaced by others that do not."""
    counts = [np.bincount(own, minlength=column.size) for own, column in zip(codes.T, schema, strict=True)]
    slopes = tuple(density_slopes(column, own / max(1, len(codes))) for column, own in zip(schema, counts, strict=True))
    decoder = Decoder(schema, slopes)
    table = decoder.decode(codes, generator, deal=True)
    if not (schema.constraints or schema.derived) or not len(codes):
        return table
    lawful = lawful_flags(schema, table)
    for _ in range(_AGAIN):
        if lawful.all():
            return table
        broken = np.flatnonzero(~lawful)
        again = decoder.decode(codes[broken], generator)
        place = np.arange(len(codes))
        place[broken] = len(codes) + np.arange(len(broken))
        table = pa.concat_tables([table, again]).take(pa.array(place)).combine_chunks()
        lawful = lawful_flags(schema, table)
    if not lawful.any():
        raise ParameterError(f"No synthetic row of {schema.name} keeps its constraints: they contradict the counts.")
    place = np.arange(len(codes))
    place[~lawful] = generator.choice(np.flatnonzero(lawful), int((~lawful).sum()))
    return table.take(pa.array(place)).combine_chunks()


def _in_sequence(
    rows: pa.Table, schema: Schema, order: str, owner: Integers, lawful: "Lawful"
) -> tuple[pa.Table, Integers]:
    """Each parent's rows in the declared order; and where each of them was.

    Within a cell of the ordering column its values change rows, and rows stay where they are: so steps are kept. Where
    that breaks a rule, and where something is computed of it, whole rows change places.
    """
    ranked = np.lexsort((sequence_keys(schema.column(order), rows.column(order)), owner))
    if schema.derived or any(column.null_when for column in schema):
        return rows.take(pa.array(ranked)).combine_chunks(), ranked
    place, stay = schema.order.index(order), np.arange(len(owner))
    sorted_values = rows.set_column(place, rows.schema.field(place), rows.column(order).take(pa.array(ranked)))
    broken = np.isin(owner, owner[~lawful(sorted_values, owner)])
    chosen = pa.array(np.where(broken, len(owner) + ranked, stay))
    return pa.concat_tables([sorted_values, rows]).take(chosen).combine_chunks(), np.where(broken, ranked, stay)


@final
@dataclass(frozen=True, slots=True)
class _Made:
    """A table that is made: its rows with their keys, atoms of its columns and of those above, and whose it is."""

    rows: pa.Table
    codes: dict[int, Integers]
    roots: Integers  # the place of the root's row of each


def _stack(codes: Mapping[int, Integers], place: Place) -> Integers:
    """The atoms of a table's own columns: (n, columns)."""
    return np.stack([codes[c] for c in place.columns], axis=1)


Lawful: TypeAlias = Callable[[pa.Table, Integers], NDArray[np.bool_]]


def _alike(columns: Sequence[Integers]) -> Integers:
    """Numbers of rows that are alike in all of some columns: (n,)."""
    together = np.stack(columns) if columns else np.zeros((1, 0), dtype=np.int64)
    return np.unique(together, axis=1, return_inverse=True)[1].reshape(-1)


def _another(alike: Integers, places: Integers, generator: np.random.Generator) -> Integers:
    """For each of some places, a place that is alike."""
    ranked = np.argsort(alike, kind="stable")
    first, last = (np.searchsorted(alike[ranked], alike[places], side=side) for side in ("left", "right"))
    chosen: Integers = ranked[first + (generator.random(len(places)) * (last - first)).astype(np.int64)]
    return chosen


def _within_rules(
    rows: pa.Table,
    codes: Integers,
    schema: Schema,
    lawful: Lawful,
    owner: Integers,
    alike: Integers,
    generator: np.random.Generator,
) -> tuple[pa.Table, Integers, Integers]:
    """Rows that keep the rules across tables; which record each of them was, and which places are left.

    Where one breaks a rule its values are drawn anew within their cells, then another record takes its place: one whose
    parents are `alike` in what the rules name, or any. What finds no place beside its parent is left out.
    """
    moved = np.arange(len(owner))
    decoder = Decoder(schema)
    for turn in range(3 * _AGAIN):
        broken = np.flatnonzero(~lawful(rows, owner))
        if not len(broken):
            break
        source = broken if turn < _AGAIN else _another(alike if turn < 2 * _AGAIN else 0 * alike, broken, generator)
        again = decoder.decode(codes[source], generator)
        good = lawful(again, owner[broken])
        place = np.arange(len(owner))
        place[broken[good]] = len(owner) + np.flatnonzero(good)
        moved[broken[good]] = source[good]
        rows = pa.concat_tables([rows, again]).take(pa.array(place)).combine_chunks()
    stay = np.flatnonzero(lawful(rows, owner))
    return rows.take(pa.array(stay)).combine_chunks(), moved[stay], stay


def _with_keys(rows: pa.Table, table: TableOfRecords, parent: Integers | None) -> pa.Table:
    """Keys first: they count from 1, and every reference is to a row that is there."""
    if table.foreign_key is not None and parent is not None:
        rows = rows.add_column(0, pa.field(table.foreign_key, pa.int64(), False), pa.array(parent))
    if table.key is not None:
        own = pa.array(np.arange(1, rows.num_rows + 1))
        rows = rows.add_column(0, pa.field(table.key, pa.int64(), False), own)
    return rows


def _with_references(made: Mapping[str, _Made], table: TableOfRecords, generator: np.random.Generator) -> pa.Table:
    """The rows of a table, with references to other tables: to a row of the same person where there is one.

    Nothing was measured of them. Where the other table has no row at all they are NULL.
    """
    rows, roots = made[table.name].rows, made[table.name].roots
    for number, (column, other) in enumerate(table.references):
        theirs = made[other].roots
        ranked = np.argsort(theirs, kind="stable")
        first, last = (np.searchsorted(theirs[ranked], roots, side=side) for side in ("left", "right"))
        among = np.where(last > first, last - first, len(theirs))
        place = np.where(last > first, first, 0) + (generator.random(len(roots)) * among).astype(np.int64)
        chosen = pa.array(ranked[place] + 1) if len(theirs) else pa.nulls(len(roots), pa.int64())
        at = len(table.keys) - len(table.references) + number
        rows = rows.add_column(at, pa.field(column, pa.int64(), True), chosen)
    return rows
