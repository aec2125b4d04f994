"""What a release promises, what it rests on, what it does not promise; what was measured under it, and made of that."""

import dataclasses
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any, final

import numpy as np
import pyarrow as pa

from kernelease import html
from kernelease._version import __version__
from kernelease.errors import ParameterError
from kernelease.fit.solver import Solution
from kernelease.kinds import Kind
from kernelease.machine import is_machine, one_thread, this_machine
from kernelease.measured.measured import Measured
from kernelease.methods.method import Method
from kernelease.privacy.accounting import Loss, Privacy, Step
from kernelease.privacy.calibration import Calibration
from kernelease.privacy.ledger import Receipt
from kernelease.privacy.sensitivity import Neighbours
from kernelease.progress import SILENT, Progress, show_progress
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema

# ---- An object's settings in one line of text.


def describe(value: Any) -> str:
    """A dataclass as Python would write it, without what is as by default; an array by its shape and a digest.

    Two objects that differ in any setting differ in their line.

    >>> from kernelease.fit import NormalPoints
    >>> describe(NormalPoints(dimension=2, scale=5.0))
    'NormalPoints(dimension=2, scale=5.0)'
    >>> describe(np.zeros((2, 3)))
    'array(2 x 3, 23b29d1122e2a9a0)'
    """
    if isinstance(value, np.ndarray):
        shape = " x ".join(str(size) for size in value.shape)
        return f"array({shape}, {_digest(value)})"
    if isinstance(value, Enum):
        return str(value.value)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return repr(value)
    parts = [(field, getattr(value, field.name)) for field in dataclasses.fields(value) if field.init]
    changed = [f"{field.name}={describe(part)}" for field, part in parts if not _as_by_default(field, part)]
    return f"{type(value).__name__}({', '.join(changed)})"


def _digest(array: np.ndarray[Any, Any]) -> str:
    data = repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
    return hashlib.sha256(array.dtype.str.encode() + data).hexdigest()[:16]


def _as_by_default(field: Any, part: Any) -> bool:
    """Arrays have no default, and are never compared."""
    if field.default is dataclasses.MISSING or isinstance(part, np.ndarray):
        return False
    return type(part) is type(field.default) and bool(part == field.default)


# ---- The entry in the ledger that paid for a release.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry(Kind):
    """A line of the owner's books: which ledger, of which data set, and what all releases on it cost so far.

    `ledger` is its identity, drawn at random when it was made; None: there was no ledger, and nobody counts what else
    is published about the same people.
    """

    number: int
    ledger: str | None
    dataset: str | None
    spent: Loss  # up to this entry, this one included, in the ledger's relation

    def __post_init__(self) -> None:
        if self.number < 1:
            raise ParameterError(f"LedgerEntry: number must be at least 1, got {self.number!r}.")

    @classmethod
    def of(cls, receipt: Receipt) -> "LedgerEntry":
        """The entry of a receipt, without its time, which is no part of a bundle."""
        return cls(number=receipt.number, ledger=receipt.ledger, dataset=receipt.dataset, spent=receipt.spent)

    def __str__(self) -> str:
        about = "" if self.dataset is None else f" of data set {self.dataset!r}"
        if self.ledger is None:
            return "no ledger: nobody counts what else is published about the same people"
        return f"entry {self.number} of ledger {self.ledger}{about}; with it, mu = {self.spent.mu:.4g} in all"


# ---- The certificate.


_WORDS = (  # convention: by how many of the people they look for attackers find, if they accuse one in 20 wrongly
    (0.25, "nothing published would look much different"),
    (0.5, "what is published could look somewhat different"),
    (1.0, "what is published could look clearly different: the protection is weak"),
)
NOT_PROMISED = (
    "That nothing can be learned about a person: what holds for people like them can be learned without them, too.",
    "That synthetic rows resemble no real row: a resemblance may arise by chance and proves nothing either way.",
    "Anything about a person with more rows than the unit of protection covers.",
    "That every statistic is accurate: small groups drown in the noise.",
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Kind):
    """The statement that goes out with a release. All of it is public."""

    private: bool
    epsilon: float
    delta: float
    neighbours: Neighbours
    calibration: Calibration
    mu: float
    method: str
    settings: str  # of the method, as `described` writes them
    kernel: str | None
    unit: str  # whom the guarantee protects
    domain: str  # where bounds and values are known from
    steps: tuple[Step, ...]
    rows: float  # N where public, else the noisy count
    published_rows: int
    entry: LedgerEntry
    seed: int
    choices: tuple[str, ...]
    version: str = __version__
    machine: str = field(default_factory=this_machine)  # the kind on which it was measured: it decides how floats round

    @classmethod
    def of(
        cls, measured: Measured, privacy: Privacy, receipt: Receipt, domain: Domain, method: Method, seed: PublicSeed
    ) -> "Certificate":
        """What a method's measurements are worth, and what they cost."""
        return cls(
            private=measured.private,
            epsilon=privacy.epsilon,
            delta=privacy.delta,
            neighbours=privacy.relation,
            calibration=Calibration.ANALYTIC if privacy.pure else privacy.calibration,  # of Gaussian noise alone
            mu=receipt.charge.loss.mu,
            method=type(method).__name__,
            settings=describe(method),
            kernel=domain.kernel_name if method.uses_kernel else None,
            unit=domain.protected,
            domain=domain.provenance,
            steps=measured.steps,
            rows=measured.rows,
            published_rows=measured.published_rows,
            entry=LedgerEntry.of(receipt),
            seed=seed.value,
            choices=tuple(str(choice) for choice in measured.choices),
        )

    def __post_init__(self) -> None:
        if not (0.0 < self.epsilon < math.inf and 0.0 <= self.delta < 1.0 and 0.0 <= self.mu < math.inf):
            raise ParameterError("Certificate: epsilon must be positive, delta from 0 to below 1, mu at least 0.")
        if not 0.0 <= self.rows < math.inf or self.published_rows < 0:
            raise ParameterError("Certificate: numbers of rows must be at least 0 and finite.")
        if not is_machine(self.machine):
            raise ParameterError("Certificate: machine must be a short line of text.")
        # `promised` itself refuses an epsilon, a delta or a calibration that nothing can promise.
        if not self.promised.mu < math.inf:
            raise ParameterError("Certificate: epsilon is beyond all bounds.")

    @property
    def spent(self) -> Loss:
        """What the steps cost together, recomputed from their numbers."""
        return sum((step.loss for step in self.steps), Loss())

    @property
    def coordinates(self) -> int:
        """How many noisy numbers the release rests on."""
        return sum(step.coordinates for step in self.steps)

    @property
    def attacker(self) -> dict[float, float]:
        """The best true-positive rate of any attacker, at false-positive rates of 1 % and 5 %."""
        return {rate: self.promised.attacker(rate) for rate in (0.01, 0.05)}

    @property
    def one(self) -> str:
        """Whom an attacker looks for: a row, or a person with several."""
        several = self.unit.startswith("each person") or " with all its " in self.unit
        return "person" if several else "row"

    @property
    def asked(self) -> Privacy:
        """The guarantee as it was asked for."""
        return Privacy(epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, calibration=self.calibration)

    @property
    def promised(self) -> Loss:
        """The whole loss that ε and δ allow: what was charged, whatever the steps have used of it."""
        return self.asked.total(max(1, self.coordinates))

    @property
    def words(self) -> str:
        """The guarantee for people, without a symbol: what would be published if one person's row were another one."""
        if not self.private:
            return "This is an experiment: nobody is protected. Do not publish it."
        whose, other = self._whose
        instead = "left out" if self.neighbours is Neighbours.ADD_REMOVE else other
        power = self.promised.attacker(0.05)
        result = next(words for most, words in _WORDS if power <= most)
        return f"If {whose} were {instead}, {result}."

    @property
    def _whose(self) -> tuple[str, str]:
        """What belongs to one that is protected, and what it could be instead."""
        if " with all its " in self.unit:
            return self.unit.replace("each ", "one ", 1), "any other"
        return ("all rows of one person", "any others") if self.one == "person" else ("one person's row", "any other")

    @property
    def headline(self) -> str:
        """One line: the guarantee, or that there is none."""
        if not self.private:
            return "NOT PRIVATE: the noise came from a seed. For experiments only; do not publish."
        whom = self.unit[:1].upper() + self.unit[1:]
        return (
            f"{whom} is protected: differentially private with epsilon {self.epsilon:g} and delta {self.delta:g} "
            f"({self.neighbours.value} neighbours)"
        )

    def _repr_html_(self) -> str:
        best = ", ".join(
            f"{power:.1%} if {rate:.0%} of the innocent are accused" for rate, power in self.attacker.items()
        )
        about = [
            ("guarantee", self.headline),
            ("method", self.method),
            ("noisy numbers", f"{self.coordinates:,} in {len(self.steps)} steps"),
            (f"attacker finds a given {self.one}", f"in at most {best}"),
            ("ledger", str(self.entry)),
        ]
        return html.card(self.words, html.facts(about), "<i>Not promised</i>", html.lines(NOT_PROMISED))

    def __str__(self) -> str:
        lines = [self.headline, f"method: {self.settings}"]
        lines += [f"kernel: {self.kernel}"] if self.kernel else []
        lines += [f"  {choice}" for choice in self.choices]
        lines.append(f"bounds and values: {self.domain}")
        lines.append(f"noisy numbers: {self.coordinates:,} in {len(self.steps)} steps")
        best = ", ".join(f"{power:.3g} at {rate:.0%} false alarms" for rate, power in self.attacker.items())
        lines.append(f"an attacker's best chance to spot a given {self.one}: {best}")
        if self.published_rows:
            lines.append(f"the {self.published_rows} rows published before have no guarantee")
        lines += ["not promised:", *(f"  {item}" for item in NOT_PROMISED)]
        lines += [f"ledger: {self.entry}", f"public seed {self.seed}, kernelease {self.version}"]
        return "\n".join(lines)


# ---- Measurements: what was measured under a certificate, with or without a fit.


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Measurements:
    """All that fitting needs: it costs nothing, as often as one likes. Nothing here is private.

    `method` is the one that measured; another one may fit, if it knows what to do with the numbers.
    """

    certificate: Certificate
    domain: Domain
    method: Method
    measured: Measured

    def __repr__(self) -> str:
        stated = self.certificate
        return f"Measurements({stated.coordinates:,} noisy numbers by {stated.method}; {stated.headline})"

    @property
    def notices(self) -> tuple[str, ...]:
        """What a release of these numbers can't show, in sentences that follow from them and from what is declared."""
        return self.method.notices(self.measured, self.laid_domain.schema, self.certificate.asked)

    @property
    def laid_domain(self) -> Domain:
        """What rows are, with columns as they were laid by what was measured."""
        return self.measured.domain_of(self.domain)

    @property
    def schema(self) -> Schema | None:
        return self.domain.schema

    def fit(
        self,
        *,
        method: Method | None = None,
        rows: int | None = None,
        seed: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Synthetic rows from the noisy numbers. Free, and repeatable with another solver, seed or size.

        `rows` is how many to make, where rows are drawn (None: as many as the table has, by its public or noisy count).
        """
        from kernelease.answers.release import fit_release  # noqa: PLC0415  # releases are made of measurements

        settings = FitSettings(
            method=self.method if method is None else method,
            seed=PublicSeed(self.certificate.seed if seed is None else seed),
            rows=rows,
        )
        with show_progress(progress) as watching:
            return fit_release(self, settings, watching)


# ---- Contents: measurements, and the rows that a fit has made of them.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """What rows were made with. With the measurements it says all: the same settings give the same rows."""

    method: Method
    seed: PublicSeed
    rows: int | None = None  # how many were asked for, where rows are drawn
    machine: str = field(default_factory=this_machine)  # the kind on which they are made: it decides how floats round

    def __post_init__(self) -> None:
        if not is_machine(self.machine):
            raise ParameterError("FitSettings: machine must be a short line of text.")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Measurements, and rows: of one table with their weights, of several tables by name, or none yet.

    `settings` is None where rows were changed after they had been fitted.
    """

    measurements: Measurements
    rows: pa.Table | Mapping[str, pa.Table] | None = None
    settings: FitSettings | None = None
    solution: Solution | None = None  # of methods that fit points; not in a bundle

    def __post_init__(self) -> None:
        several = self.measurements.domain.several
        if self.rows is not None and several is not isinstance(self.rows, Mapping):
            raise ParameterError("Contents: the rows are of one table and the measurements of several, or the reverse.")
        if isinstance(self.rows, Mapping):
            object.__setattr__(self, "rows", MappingProxyType(dict(self.rows)))

    @property
    def table(self) -> pa.Table:
        """The rows of the one table, with their weights."""
        if not isinstance(self.rows, pa.Table):
            raise ParameterError("Contents: these are not the rows of one table.")
        return self.rows

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """The rows of each of several tables, by name."""
        if not isinstance(self.rows, Mapping):
            raise ParameterError("Contents: these are not the rows of several tables.")
        return self.rows


def fit_rows(measurements: Measurements, settings: FitSettings, progress: Progress = SILENT) -> Contents:
    """The rows that these settings make of the measurements."""
    progress.stage("fitting")
    with one_thread():
        result = settings.method.fit(measurements.measured, settings.seed, progress)
        progress.stage("drawing rows")
        rows = result.table(measurements.laid_domain, settings.rows, settings.seed.generator("rows"))
    return Contents(
        measurements=measurements,
        rows=rows,
        settings=settings,
        solution=result if isinstance(result, Solution) else None,
    )
