"""What a method is: measure (private, charged) and fit (public, free), kept apart."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.features.nystrom import Nystrom
from kernelease.fit.points.source import PointSource, PublishedRows
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import Kind
from kernelease.measured.embeddings import NoisyEmbeddings
from kernelease.measured.measured import Measured
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.subject import ROWS, Subject
from kernelease.private.rows import PrivateRows
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All that a method may know beside the rows: what they are, the guarantee, the books, two kinds of randomness."""

    domain: Domain
    privacy: Privacy
    ledger: Ledger
    noise: NoiseSource
    seed: PublicSeed
    subject: Subject = ROWS  # whom the rows are about
    threads: int = 1
    progress: Progress = SILENT

    @property
    def kernel(self) -> Kernel:
        """How alike two rows are."""
        return self.domain.kernel

    def declared(self, owner: str) -> Schema:
        """The declared columns, for a method that needs them."""
        if self.domain.schema is None:
            raise ParameterError(f"{owner}: needs declared columns. Give a schema, or another method.")
        return self.domain.schema

    def open_budget(self, coordinates: int, purpose: str) -> PrivacyFilter:
        """Charge the ledger with the whole guarantee, once, before any noise."""
        return PrivacyFilter.open(
            self.privacy, ledger=self.ledger, subject=self.subject, coordinates=coordinates, purpose=purpose
        )

    def public_rows(self, rows: PrivateRows) -> int | None:
        """N where the relation makes it public, else None: nothing may then depend on it."""
        return rows.public_count(self.privacy.relation)


class Fitted(Protocol):
    """What a fit gives: a law, or weighted points, that become rows."""

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> pa.Table:
        """Synthetic rows with their weights: `count` of them (None: as many as the fit has, or says)."""
        ...


class Method(Kind, ABC):
    """A strategy for turning private rows into synthetic ones."""

    uses_kernel: ClassVar[bool] = True  # whether the certificate names one
    draws_rows: ClassVar[bool] = False  # whether its fit draws rows, as many as are asked for; else points have weights

    @property
    def dimension(self) -> int | None:
        """How many columns its rows have, where its parameters say so. An empty list of rows has these, too."""
        return None

    def check(self, domain: Domain) -> None:  # most methods have nothing to refuse so early
        """Refuse, before anything is read, what the declarations alone make impossible."""

    @abstractmethod
    def measure(self, rows: PrivateRows, context: Context) -> Measured:
        """The private step: read rows, charge the ledger, add noise. Refuses bad input before anything is charged."""

    @abstractmethod
    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Fitted:
        """The public step, from noisy numbers alone. Free, and repeatable with other settings."""

    def notices(self, measured: Measured, schema: Schema | None, privacy: Privacy) -> tuple[str, ...]:
        """What a release of these numbers can't show, each in a sentence; none where nothing is known to be lacking."""
        return ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownMethod(Method):
    """A method that is not one of this package's: a bundle knows its name, and nothing else of it."""

    name: str

    def measure(self, rows: PrivateRows, context: Context) -> Measured:
        """Refused."""
        raise ParameterError(f"The method {self.name[:60]!r} is not part of kernelease: give it anew.")

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Fitted:
        """Refused."""
        raise ParameterError(f"The method {self.name[:60]!r} is not part of kernelease: give it anew to fit with it.")


def refuse_other_columns(rows: PrivateRows, columns: int, owner: str) -> None:
    """Refuse a table whose columns are not those of the public points: asked of the shape, so of an empty table too."""
    if rows.width != columns:
        raise ParameterError(f"{owner}: the table has {rows.width} columns, but the public points have {columns}.")


def admitted_rows(published: PublishedRows, rows: PrivateRows, context: Context) -> Rows:
    """The part of the table that is public already, or a refusal."""
    refuse_publishing(published, context)
    known = rows.first(published.count)
    if published.count > len(known):
        raise ParameterError(f"PublishedRows: count is {published.count}, but the table has {len(known)} rows.")
    return context.kernel.admit(known)


def measured_subspace(measured: Measured, owner: str) -> tuple[NoisyEmbeddings, Nystrom]:
    """What was measured and its subspace, or a refusal of what another method has measured."""
    if isinstance(measured, NoisyEmbeddings) and isinstance(basis := measured.embedding.feature_map, Nystrom):
        return measured, basis
    raise ParameterError(f"{owner}: can only fit what {owner} has measured.")


def refuse_publishing(points: PointSource | PublishedRows, context: Context) -> None:
    """Published rows are fixed, and so is their place among all rows: that is replace-one."""
    if points.published and context.privacy.relation is not Neighbours.REPLACE_ONE:
        raise ParameterError("Published rows: a published part of the table needs replace-one neighbours.")
