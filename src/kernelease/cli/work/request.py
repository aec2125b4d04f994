"""What `measure` and `release` are asked for: read and checked in full before any budget is spent."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.errors import ParameterError
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method
from kernelease.pipeline import measure, release, weighting
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.ledger_on_demand import open_ledger
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.subject import Subject
from kernelease.progress import Progress
from kernelease.release.measurements import Measurements
from kernelease.release.release import Release
from kernelease.release.signing import load_private_key
from kernelease.seeds import PublicSeed
from kernelease.sources.opening import open_declared
from kernelease.sources.public import read_public
from kernelease.sources.source import LARGEST_BATCH, Source
from kernelease.table.schema import Schema
from kernelease.table.table_domain import TableDomain


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A source, what is declared and promised about it, its books, and where the bundle goes."""

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
            source=open_declared(data, schema, query=query, spark=spark, batch_rows=LARGEST_BATCH, as_text=False),
            schema=schema,
            privacy=promised,
            ledger=None if ledger is None else open_ledger(ledger, subject=subject, cap=promised),
            seed=PublicSeed(seed).value,
            out=out,
            key=None if key is None else load_private_key(key),
            overwrite=overwrite,
            method=method,
            push_down=push_down,
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


def _method(schema: Schema, *, target: str | None, public: Path | None, published: Path | None, seed: int) -> Method:
    if public is None and published is None:
        return Interactions(target=target)
    if target is not None:
        raise ParameterError("--target: public rows are weighted, and weights serve every column alike. Leave it out.")
    known = read_public(public or published or "")
    return weighting(known, schema=schema, published=published is not None, seed=seed)
