"""A privacy filter: steps that may depend on earlier results, within a total fixed and paid for at the start."""

from dataclasses import dataclass, field
from threading import Lock
from typing import final

from kernelease.errors import BudgetError, ParameterError, PrivacyError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.charge import Charge
from kernelease.privacy.ledger import Ledger, Receipt
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.step import Step
from kernelease.privacy.subject import Subject


@final
@dataclass(slots=True)
class PrivacyFilter:
    """The budget of one release. The ledger is charged with all of it when the filter opens, before any noise.

    Later steps may be chosen by what earlier ones showed, as long as their losses add up to no more than the total:
    for Gaussian steps that is a condition on Σμ² (fully adaptive composition, docs/proofs/accounting.md).

    The filter remembers each step that may be resumed, by identity, and forgets it as soon as it has been: what one
    price pays for is revealed once (docs/proofs/rounds.md).
    """

    privacy: Privacy
    total: Loss
    receipt: Receipt
    _spent: Loss = field(default_factory=Loss)
    _charges: list[tuple[Loss, Step | None]] = field(default_factory=list, repr=False)  # with what may be resumed
    _lock: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def open(
        cls,
        privacy: Privacy,
        *,
        ledger: Ledger,
        subject: Subject,
        coordinates: int,
        purpose: str,
        outright: Loss | None = None,
    ) -> "PrivacyFilter":
        """Charge the whole of `privacy` to the ledger and open a filter that can draw at most `coordinates` numbers.

        `subject` is whom the release protects; a ledger of another one refuses. `outright` is what steps without
        Gaussian noise may cost beside, within the part of δ that is kept for them.
        """
        if coordinates < 1:
            raise ParameterError(f"PrivacyFilter: coordinates must be at least 1, got {coordinates!r}.")
        total = privacy.total(coordinates)
        if outright is not None and not privacy.allows(total := total + outright):
            raise ParameterError("PrivacyFilter: what is added outright passes the part of delta that is kept for it.")
        charge = Charge(loss=total, asked=privacy, subject=subject, purpose=purpose, numbers=coordinates)
        return cls(privacy, total, ledger.charge(charge))

    @property
    def neighbours(self) -> Neighbours:
        """The relation under which the budget was charged."""
        return self.privacy.relation

    @property
    def spent(self) -> Loss:
        """What the steps so far have used."""
        return self._spent

    def spend(self, loss: Loss, *, label: str, resumable: Step | None = None) -> None:
        """Take `loss` out of the total, or raise `BudgetError` and take nothing. Call before drawing noise.

        `resumable` is the step that the loss pays for, where more of the same measurement may be revealed later.
        """
        with self._lock:
            self._settle([*self._charges, (loss, resumable)], self._spent + loss, label)

    def resume(self, earlier: Step, whole: Step, *, label: str) -> None:
        """Put `whole` in the place of the step that it goes on with, and take the difference out of the total.

        Raises `PrivacyError` for a step that this filter has not charged, or that was resumed before, and `BudgetError`
        where the difference is more than is left; then nothing is taken. Call before drawing noise.
        """
        with self._lock:
            places = [place for place, (_, open_step) in enumerate(self._charges) if open_step is earlier]
            if not places:
                raise PrivacyError(
                    f"The step '{label}' can't go on with a measurement that was not made within this budget, or that "
                    "was resumed before. Nothing was drawn."
                )
            charges = [*self._charges]
            charges[places[0]] = (whole.loss, whole)
            self._settle(charges, sum((loss for loss, _ in charges), Loss()), label)

    def _settle(self, charges: list[tuple[Loss, Step | None]], spent: Loss, label: str) -> None:
        if not spent.fits(self.total):
            raise BudgetError(
                f"The step '{label}' needs more than is left of this release's budget. Nothing was drawn."
            )
        self._charges, self._spent = charges, spent
