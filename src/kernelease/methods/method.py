"""What a method is: measure (private, charged) and fit (public, free), kept apart."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.fit.gaussians.gaussians import Gaussians
from kernelease.fit.solution import Solution
from kernelease.kernels.kernel import Kernel
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.methods.rules import Choice
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.step import Step
from kernelease.privacy.subject import ROWS, Subject
from kernelease.seeds import PublicSeed


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All that a method may know beside the rows: the kernel, the guarantee, the books, and two kinds of randomness."""

    kernel: Kernel
    privacy: Privacy
    ledger: Ledger
    noise: NoiseSource
    seed: PublicSeed
    subject: Subject = ROWS  # whom the rows are about
    threads: int = 1

    def open_budget(self, coordinates: int, purpose: str) -> PrivacyFilter:
        """Charge the ledger with the whole guarantee, once, before any noise."""
        return PrivacyFilter.open(
            self.privacy, ledger=self.ledger, subject=self.subject, coordinates=coordinates, purpose=purpose
        )

    def public_rows(self, rows: Rows) -> int | None:
        """N where the relation makes it public, else None: nothing may then depend on it."""
        if self.privacy.relation is Neighbours.ADD_REMOVE:
            return None
        if len(rows) == 0:  # N is public under replace-one, so this says nothing private
            raise ParameterError("The table is empty: under replace-one there is no row to protect or describe.")
        return len(rows)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came through the barrier, with everything public that led to it. Fitting it again costs nothing."""

    budget: PrivacyFilter
    embedding: NoisyEmbedding | None  # None for a method that selects rather than measures
    steps: tuple[Step, ...]
    candidates: Rows  # public points that the fit may use
    gaussians: Gaussians | None = None  # what explains the measurements, in units of the kernel's lengthscales
    choices: tuple[Choice, ...] = ()
    private: bool = True
    published_rows: int = 0


def refuse_other_columns(rows: Rows, columns: int, owner: str) -> None:
    """Refuse a table whose columns are not those of the public points: asked of the shape, so of an empty table too."""
    if rows.shape[1] != columns:
        raise ParameterError(f"{owner}: the table has {rows.shape[1]} columns, but the public points have {columns}.")


class Method(ABC):
    """A strategy for turning private rows into synthetic ones."""

    @abstractmethod
    def measure(self, rows: Rows, context: Context) -> Measured:
        """The private step: read rows, charge the ledger, add noise. Refuses bad input before anything is charged."""

    @abstractmethod
    def fit(self, measured: Measured, context: Context) -> Solution:
        """The public step: synthetic rows from noisy numbers. Free, and repeatable with other settings."""
