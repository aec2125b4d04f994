"""What `measure` and `release` are asked for: read and checked in full before any budget is spent."""

import dataclasses
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.errors import BundleError
from kernelease.methods.interactions.interactions import Interactions
from kernelease.pipeline import measure
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.ledger_on_demand import open_ledger
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.subject import Subject
from kernelease.progress import Progress
from kernelease.release.bundle import Measurements, save
from kernelease.release.container import check_target
from kernelease.release.release import Release
from kernelease.release.signing import load_private_key
from kernelease.seeds import PublicSeed
from kernelease.sources import Source, open_source
from kernelease.table import Schema


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
    push_down: bool = False
    target: str | None = None

    @classmethod
    def read(
        cls,
        data: str,
        *,
        query: str | None,
        schema: Path,
        epsilon: float,
        delta: float,
        ledger: Path | None,
        seed: int,
        out: Path,
        key: Path | None,
        overwrite: bool,
        push_down: bool = False,
        target: str | None = None,
    ) -> "Request":
        """The request in what was typed."""
        declared = Schema.load(schema)
        privacy = Privacy(epsilon=epsilon, delta=delta, neighbours=Neighbours(declared.neighbours))
        subject = Subject(dataset=declared.name, unit=declared.unit)
        check_target(out, overwrite=overwrite)
        Interactions(target=target).check(declared.columns)
        return cls(
            source=open_source(data, query=query),
            schema=declared,
            privacy=privacy,
            ledger=None if ledger is None else open_ledger(ledger, subject=subject, cap=privacy),
            seed=PublicSeed(seed).value,
            out=out,
            key=None if key is None else load_private_key(key),
            overwrite=overwrite,
            push_down=push_down,
            target=target,
        )

    def measure(self, progress: Progress) -> Measurements:
        """Read, charge, add noise, and save at once: whatever happens later, this budget is not lost."""
        measurements = measure(
            self.source,
            schema=self.schema,
            privacy=self.privacy,
            method=Interactions(target=self.target),
            ledger=self.ledger,
            seed=self.seed,
            push_down=self.push_down,
            progress=progress,
        )
        self.keep(measurements)
        return measurements

    def save(self, content: Measurements | Release) -> None:
        """Write the bundle."""
        save(content, self.out, key=self.key, overwrite=self.overwrite)

    def keep(self, content: Measurements | Release) -> None:
        """Write a bundle that was paid for just now. Where that fails, a temporary folder takes it."""
        try:
            self.save(content)
        except BundleError as error:
            spent = "" if self.ledger is None else f" (entry {content.certificate.receipt} of the ledger)"
            raise BundleError(f"{error} The budget is spent{spent}. {self._rescued(content)}") from error

    def _rescued(self, content: Measurements | Release) -> str:
        try:
            refuge = Path(tempfile.mkdtemp(prefix="kernelease-"), self.out.name)
            save(content, refuge, key=self.key)
        except (BundleError, OSError):
            return "What it paid for could not be written elsewhere either, and is lost."
        return f"What it paid for is safe in {refuge}: move it to a place that lasts."

    def replacing(self) -> "Request":
        """The same, once a bundle of its own lies there."""
        return dataclasses.replace(self, overwrite=True)
