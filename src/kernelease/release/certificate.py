"""What a release promises, what it rests on, and what it does not promise."""

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from kernelease import html
from kernelease._version import __version__
from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.measured.measured import Measured
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.calibration import Calibration
from kernelease.privacy.ledger import Receipt
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.step import Step
from kernelease.release.alike import is_machine, this_machine
from kernelease.release.described import described
from kernelease.release.entry import LedgerEntry
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain

if TYPE_CHECKING:  # a certificate states a method's settings, and needs none of its code
    from kernelease.methods.method import Method

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
        cls,
        measured: Measured,
        privacy: Privacy,
        receipt: Receipt,
        domain: Domain,
        method: "Method",
        seed: PublicSeed,
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
            settings=described(method),
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
        if (
            not self.promised.mu < math.inf
        ):  # or it refuses an epsilon, a delta or a calibration that nothing can promise
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
        return "person" if self.unit.startswith("each person") else "row"

    @property
    def promised(self) -> Loss:
        """The whole loss that ε and δ allow: what was charged, whatever the steps have used of it."""
        asked = Privacy(
            epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, calibration=self.calibration
        )
        return asked.total(max(1, self.coordinates))

    @property
    def headline(self) -> str:
        """One line: the guarantee, or that there is none."""
        if not self.private:
            return "NOT PRIVATE: the noise came from a seed. For experiments only; do not publish."
        return (
            f"({self.epsilon:g}, {self.delta:g})-differentially private for {self.unit}, "
            f"{self.neighbours.value} neighbours"
        )

    def _repr_html_(self) -> str:
        best = ", ".join(f"{power:.1%} at {rate:.0%} false alarms" for rate, power in self.attacker.items())
        about = [
            ("method", self.method),
            ("noisy numbers", f"{self.coordinates:,} in {len(self.steps)} steps"),
            (f"attacker finds a given {self.one}", f"at best in {best}"),
            ("ledger", str(self.entry)),
        ]
        return html.card(self.headline, html.facts(about), "<i>Not promised</i>", html.lines(NOT_PROMISED))

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
