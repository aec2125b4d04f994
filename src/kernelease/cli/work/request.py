"""What `measure` and `release` are asked for: read and checked in full before any budget is spent."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import typer
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.check.inspection import format_damage
from kernelease.cli.knowledge import on_a_terminal
from kernelease.cli.options import read_cap
from kernelease.errors import ParameterError
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method
from kernelease.pipeline import measure, release, weighting
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.ledger_file import open_ledger
from kernelease.privacy.neighbours import Neighbours, Subject
from kernelease.progress import Progress
from kernelease.release.certificate import Measurements
from kernelease.release.release import Release
from kernelease.release.signing import load_private_key
from kernelease.seeds import PublicSeed
from kernelease.sources.opening import open_declared, read_public
from kernelease.sources.partitioned import Partitioned
from kernelease.sources.source import LARGEST_BATCH, Source
from kernelease.table.domains import TableDomain
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A source, what is declared and promised about it, its books, and where the bundle goes."""

    data: str  # as it was typed
    query: str | None
    source: Source
    schema: Schema
    privacy: Privacy
    ledger: Ledger | None
    seed: int
    out: Path
    key: Ed25519PrivateKey | None
    overwrite: bool
    method: Method
    push_down: bool = False

    @classmethod
    def read(
        cls,
        data: str,
        *,
        query: str | None,
        spark: str | None = None,
        schema: Schema,
        privacy: Privacy,
        ledger: Path | None,
        cap: str | None = None,
        seed: int,
        out: Path,
        key: Path | None,
        overwrite: bool,
        push_down: bool = False,
        target: str | None = None,
        public: Path | None = None,
        published: Path | None = None,
    ) -> "Request":
        """The request in what was typed. Public rows are read now: they decide what can be asked for."""
        promised = privacy.under(Neighbours(schema.neighbours))
        subject = Subject(dataset=schema.name, unit=schema.unit)
        method = _method(schema, target=target, public=public, published=published, seed=seed)
        method.check(TableDomain(schema))
        return cls(
            data=data,
            query=query,
            source=open_declared(data, schema, query=query, spark=spark, batch_rows=LARGEST_BATCH, as_text=False),
            schema=schema,
            privacy=promised,
            ledger=_ledger(ledger, cap, subject, promised),
            seed=PublicSeed(seed).value,
            out=out,
            key=None if key is None else load_private_key(key),
            overwrite=overwrite,
            method=method,
            push_down=push_down,
        )

    def look_at_format(self, *, accept_damage: bool) -> str:
        """Stop before anything is spent where the source can't be read as it is declared; what was done, in words.

        What is found is private, and decides about nothing but this: no cell and no count of it is printed.
        """
        if accept_damage:
            return "left out, by --accept-damage"
        if self.push_down or isinstance(self.source, Partitioned):
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
        return measure(self.source, method=self.method, progress=progress, **self._order)

    def release(self, rows: int | None, progress: Progress, *, fast: bool = False) -> Release:
        """The same, then make rows of what was measured, and put the release in its place."""
        return release(self.source, method=self.method, rows=rows, fast=fast, progress=progress, **self._order)

    @property
    def _order(self) -> dict[str, Any]:
        names = ("schema", "privacy", "ledger", "seed", "out", "key", "overwrite", "push_down")
        return {name: getattr(self, name) for name in names}


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
