"""What `measure` and `release` are asked for: read and checked in full before any budget is spent."""

import dataclasses
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import typer

from kernelease.answers.release import Release
from kernelease.arguments import Order
from kernelease.bundle.signing import load_private_key
from kernelease.certificate import Measurements
from kernelease.cli.options import TypedOrder, on_a_terminal, read_cap
from kernelease.drafting.inspection import format_damage
from kernelease.errors import ParameterError
from kernelease.ledgers import open_ledger
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method
from kernelease.pipeline import measure, release, weighting
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.sensitivity import Neighbours, Subject
from kernelease.progress import Progress
from kernelease.relational.schema_of_tables import Tables
from kernelease.seeds import PublicSeed
from kernelease.sources.opening import open_declared, read_public
from kernelease.sources.partitioned import Partitioned
from kernelease.sources.source import LARGEST_BATCH, Source
from kernelease.table.domains import TableDomain
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A source, what is declared and promised about it, and the order to measure or release it."""

    data: str  # as it was typed
    query: str | None
    source: Source
    schema: Schema
    privacy: Privacy
    ledger: Ledger | None
    order: Order

    @classmethod
    def read(
        cls,
        data: str,
        typed: TypedOrder,
        schema: Schema,
        *,
        public: Path | None = None,
        published: Path | None = None,
        rows: int | None = None,
        fast: bool = False,
    ) -> "Request":
        """The request in what was typed. Public rows are read now: they decide what can be asked for."""
        promised = typed.privacy.read().under(Neighbours(schema.neighbours))
        subject = Subject(dataset=schema.name, unit=schema.unit)
        schema = dataclasses.replace(schema, analyses=(*schema.analyses, *(typed.analysis or ())))
        method = _method(schema, target=typed.target, public=public, published=published, seed=typed.seed)
        method.check(TableDomain(schema))
        source = open_declared(
            data, schema, query=typed.query, spark=typed.spark, batch_rows=LARGEST_BATCH, as_text=False
        )
        ledger = _ledger(typed.ledger, typed.cap, subject, promised)
        order = _order(typed, schema, promised, ledger, method=method, rows=rows, fast=fast)
        return cls(
            data=data, query=typed.query, source=source, schema=schema, privacy=promised, ledger=ledger, order=order
        )

    def look_at_format(self, *, accept_damage: bool) -> str:
        """Stop before anything is spent where the source can't be read as it is declared; what was done, in words.

        What is found is private, and decides about nothing but this: no cell and no count of it is printed.
        """
        if accept_damage:
            return "left out, by --accept-damage"
        if self.order.push_down or isinstance(self.source, Partitioned):
            return "left out: rows stay where they are"
        found = format_damage(self.data, self.schema, query=self.query)
        if not found:
            return "the source reads as declared; `kernelease check` shows what its cells become"
        told = "; ".join(dict.fromkeys(f"{finding.where}: {finding.gist}" for finding in found[:_MOST_TOLD]))
        more = f"; and {len(found) - _MOST_TOLD} more" if len(found) > _MOST_TOLD else ""
        raise ParameterError(
            f"The source can't be read as it is declared: {told}{more}. Nothing was spent. `kernelease check` shows "
            "the cells, and the line to write in the schema; --accept-damage goes on as it is."
        )

    def measure(self, progress: Progress) -> Measurements:
        """Read, charge, add noise, and save at once."""
        return measure(self.source, **replace(self.order, progress=progress).keywords())

    def release(self, progress: Progress) -> Release:
        """The same, then make rows of what was measured, and put the release in its place."""
        made: Release = release(self.source, **replace(self.order, progress=progress).keywords())
        return made


def tables_order(typed: TypedOrder, *, rows: int | None, fast: bool) -> Order:
    """The order for several tables in what was typed."""
    for option, given in (("query", typed.query), ("spark", typed.spark), ("target", typed.target)):
        if given is not None:
            raise ParameterError(f"--{option}: is for one table. Leave it out with --tables.")
    if typed.push_down:
        raise ParameterError("--push-down: a database counts one table. Leave it out with --tables.")
    tables = Tables.load(typed.schema)
    promised = typed.privacy.read().under(Neighbours(tables.neighbours))
    subject = Subject(dataset=tables.name, unit=str(tables.root.key))
    ledger = _ledger(typed.ledger, typed.cap, subject, promised)
    return _order(typed, tables, promised, ledger, rows=rows, fast=fast)


def _order(
    typed: TypedOrder,
    schema: Schema | Tables,
    promised: Privacy,
    ledger: Ledger | None,
    *,
    method: Method | None = None,
    rows: int | None,
    fast: bool,
) -> Order:
    return Order(
        privacy=promised,
        schema=schema,
        method=method,
        ledger=ledger,
        seed=PublicSeed(typed.seed).value,
        push_down=typed.push_down,
        rows=rows,
        fast=fast,
        out=typed.out,
        key=None if typed.key is None else load_private_key(typed.key),
        overwrite=typed.overwrite,
    )


_MOST_TOLD = 5  # damages that a refusal names


def _ledger(path: Path | None, cap: str | None, subject: Subject, promised: Privacy) -> Ledger | None:
    """The books that were named. On a terminal, the cap of those that are not there yet is asked for."""
    if path is None:
        if cap is not None:
            raise ParameterError("--cap is the cap of a ledger: say where with --ledger FILE, too.")
        return None
    if cap is None and not os.path.lexists(path) and on_a_terminal():
        cap = typer.prompt(
            f"There is no ledger {path} yet. The most that all releases of {subject.dataset!r} together may ever "
            f"spend, as EPS,DELTA (this one spends {promised.epsilon:g},{promised.delta:g})"
        )
    return open_ledger(path, subject=subject, promised=promised, cap=None if cap is None else read_cap(cap, promised))


def _method(schema: Schema, *, target: str | None, public: Path | None, published: Path | None, seed: int) -> Method:
    if public is None and published is None:
        return Interactions(target=target)
    if target is not None:
        raise ParameterError("--target: public rows are weighted, and weights serve every column alike. Leave it out.")
    known = read_public(public or published or "")
    return weighting(known, schema=schema, published=published is not None, seed=seed)
