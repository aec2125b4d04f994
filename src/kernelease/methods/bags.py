"""Several tables: noisy counts of persons' paths, as of one flat table, and of two records of one parent."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.exact.rows import PrivateRows
from kernelease.fit.mixtures.draw import draw_rows
from kernelease.fit.mixtures.maps import maps_of
from kernelease.fit.mixtures.mixture import Mixture, bounds_of, kept
from kernelease.fit.mixtures.one_way import one_ways
from kernelease.fit.records import drawn_records
from kernelease.measured.bags import NoisyBags
from kernelease.measured.blocks import Block, NoisyBlocks
from kernelease.measured.counts import Counts
from kernelease.measured.looks import laid_columns
from kernelease.measured.measured import Measured
from kernelease.methods.interactions import texture
from kernelease.methods.interactions.interactions import Interactions, count_noise
from kernelease.methods.interactions.pairs import MOST_PAIR_NUMBERS, pair_cells, with_share
from kernelease.methods.interactions.rounds import FITTING, fit_workload
from kernelease.methods.interactions.singles import Noise, width
from kernelease.methods.method import Context, Method
from kernelease.privacy.accounting import Privacy
from kernelease.progress import SILENT, Progress
from kernelease.relational.domain import TablesDomain
from kernelease.relational.schema import Place, Tables
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Column
from kernelease.table.decode import Decoder, density_slopes, lawful_flags
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema

SIBLINGS = 0.2  # convention: of the budget, for two records of one parent. docs/research.md: it matters little
FAINT = 1.0 / 30.0  # convention: of all persons, the noise of a count at which pairs of siblings are counted
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

    def check(self, domain: Domain) -> None:
        """Refuse, before anything is read or spent, what is no set of tables."""
        if not isinstance(domain, TablesDomain):
            raise ParameterError("Bags: needs several declared tables. Give a schema of tables, or another method.")
        self.interactions.check(domain)

    def measure(self, rows: PrivateRows, context: Context) -> NoisyBags:
        """Charge the ledger, then count paths in rounds, and siblings last."""
        self.check(context.domain)
        if not isinstance(context.domain, TablesDomain):
            raise ParameterError("Bags: needs several declared tables.")
        tables, counts = context.domain.tables, rows.counts()
        if (known := context.public_rows(rows)) is not None:  # an empty table is refused here
            context.privacy.warn_if_weak(known)
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
        blocks = sibling_blocks(tables, schema.columns, paths, self.siblings, noise)
        after = counts.privatise(blocks, budget, noise=context.noise) if blocks else ()
        return NoisyBags(paths=paths, siblings=after)

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> "FittedBags":
        """The public step: free, and repeatable with another solver."""
        if not isinstance(measured, NoisyBags):
            raise ParameterError("Bags: can only fit noisy counts of several tables.")
        progress.expect(fit_workload(measured.paths, self.interactions.solver).after())
        mixture = self.interactions.solver.solve(measured.paths, seed, progress, stage=FITTING)
        return FittedBags(mixture=mixture, measured=measured)

    def notices(self, measured: Measured, schema: Schema | None, privacy: Privacy) -> tuple[str, ...]:
        """Those of the paths."""
        if not isinstance(measured, NoisyBags):
            return ()
        return self.interactions.notices(measured.paths, schema, privacy)


def sibling_blocks(
    tables: Tables, columns: Sequence[Column], paths: NoisyBlocks, share: float, noise: Noise
) -> tuple[Block, ...]:
    """Of each table of records, every pair of columns of two records; where these are too faint, each with its own.

    Cells hold so many records, by what is known of single columns, that pairs of them can be seen.
    """
    if share == 0.0:
        return ()
    distributions = [one.distribution for one in one_ways(paths)]
    after, starts = len(tables.flat), {}
    for number, place in enumerate(tables.places[1:], 1):
        starts[number] = after
        after += len(place.columns)
    each = share * _ROUNDING / len(starts)
    return tuple(
        block
        for number, start in starts.items()
        for block in _of_one(columns, tables.places[number], start, distributions, paths.rows, each, noise)
    )


def _of_one(
    columns: Sequence[Column],
    place: Place,
    start: int,
    distributions: Sequence[Floats],
    rows: float,
    share: float,
    noise: Noise,
) -> tuple[Block, ...]:
    own = [columns[column] for column in place.columns]
    alone = [distributions[column] for column in place.columns]
    every = list(itertools.combinations_with_replacement(range(len(own)), 2))
    for pairs in (every, [(one, one) for one in range(len(own))]):
        if noise(share / len(pairs)) > FAINT * rows:
            continue
        cells = pair_cells(own, alone, rows=rows, share=share, noise=noise, most=len(pairs))
        wide = [(one, other) for one, other in pairs if min(width(cells[one]), width(cells[other])) > 1]
        if not wide:
            continue
        blocks = [
            Counts(
                columns=(place.columns[one], start + other),
                groups=(cells[one], np.append(cells[other], width(cells[other]))),
                share=float(width(cells[one]) * width(cells[other])) ** 0.25,
            )
            for one, other in wide
        ]
        return with_share(blocks, share)
    return ()


# --------------------
# Tables from what was fitted.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedBags:
    """A mixture over paths, and what it was fitted to."""

    mixture: Mixture
    measured: NoisyBags

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> pa.Table:
        """The root's rows with their weights; `tables` has all of them."""
        if not isinstance(domain, TablesDomain):
            raise ParameterError("Bags: needs several declared tables.")
        rows = self.tables(domain, count, generator)[domain.tables.root.name]
        return rows.append_column(domain.weight_name, pa.array(np.full(rows.num_rows, 1.0 / rows.num_rows)))

    def tables(self, domain: TablesDomain, count: int | None, generator: np.random.Generator) -> dict[str, pa.Table]:
        """Rows of every table: `count` of the root (None: as many as there are), and their records. All keys exist."""
        tables, paths = domain.tables, self.measured.paths
        wanted = max(1, round(paths.rows)) if count is None else count
        mixture = kept(self.mixture, bounds_of(domain.schema.columns, paths))
        flat = maps_of(paths).applied(draw_rows(mixture, wanted, generator), generator)
        codes: dict[int, Integers] = dict(enumerate(flat))  # of each flat column, for the rows of its own table
        keys: list[Integers] = []
        made: dict[str, pa.Table] = {}
        ancestors: list[dict[int, Integers]] = []  # of each table, the columns before its records'
        start = len(tables.flat)
        for place, table in zip(tables.places, tables.tables, strict=True):
            if place.parent is None:
                own, owner = {c: codes[c] for c in (*place.columns, *tables.numbers_of(table.name))}, None
                size = wanted
            else:
                above = ancestors[place.parent]
                number = self._number(tables, place, above, generator)
                owner = np.repeat(np.arange(len(number)), number)
                blocks = [b for b in self.measured.siblings if b.block.columns[0] in place.columns]
                wanted_columns = (*place.columns, *tables.numbers_of(table.name))
                within = Place(columns=wanted_columns, parent=place.parent, number=place.number, before=place.before)
                drawn = drawn_records(
                    mixture,
                    within,
                    np.stack([above[c] for c in place.before]),
                    number,
                    blocks,
                    after=start,
                    rows=paths.rows,
                    never=[_never(domain, table.name, c) for c in wanted_columns],
                    generator=generator,
                )
                own = dict(zip(wanted_columns, drawn, strict=True))
                size = len(owner)
                own |= {c: above[c][owner] for c in place.before}
                start += len(place.columns)
            ancestors.append(own)
            rows = _decoded(domain.schema_of(table.name), np.stack([own[c] for c in place.columns], axis=1), generator)
            parent = None if owner is None or place.parent is None else keys[place.parent][owner]
            keys.append(np.arange(1, size + 1))
            made[table.name] = _with_keys(rows, table.key, keys[-1], table.foreign_key, parent)
        return made

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
    own = {f"{name}.{one.name}": one for one in domain.tables.table(name).schema}.get(flat.name)
    return flat.null if own is None or not own.nullable else None


def _decoded(schema: Schema, codes: Integers, generator: np.random.Generator) -> pa.Table:
    """Rows of a table; those that break one of its rules are replaced by others that do not."""
    counts = [np.bincount(own, minlength=column.size) for own, column in zip(codes.T, schema, strict=True)]
    slopes = tuple(density_slopes(column, own / max(1, len(codes))) for column, own in zip(schema, counts, strict=True))
    decoder = Decoder(schema, slopes)
    table = decoder.decode(codes, generator)
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


def _with_keys(
    rows: pa.Table, key: str | None, own: Integers, foreign_key: str | None, parent: Integers | None
) -> pa.Table:
    """Keys first: they count from 1, and every reference is to a row that is there."""
    if foreign_key is not None and parent is not None:
        rows = rows.add_column(0, pa.field(foreign_key, pa.int64(), False), pa.array(parent))
    if key is not None:
        rows = rows.add_column(0, pa.field(key, pa.int64(), False), pa.array(own))
    return rows
