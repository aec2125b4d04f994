"""A privacy filter: steps that may depend on earlier results, within a total fixed and paid for at the start."""

from dataclasses import dataclass, field
from threading import Lock
from typing import final

from kernelease.errors import BudgetError, ParameterError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Charge, Ledger, Receipt


@final
@dataclass(slots=True)
class PrivacyFilter:
    """The budget of one release. The ledger is charged with all of it when the filter opens, before any noise.

    Later steps may be chosen by what earlier ones showed, as long as their losses add up to no more than the total:
    for Gaussian steps that is a condition on Σμ² (fully adaptive composition, docs/proofs/accounting.md).
    """

    privacy: Privacy
    total: Loss
    receipt: Receipt
    _spent: Loss = field(default_factory=Loss)
    _lock: Lock = field(default_factory=Lock, repr=False)

    @classmethod
    def open(cls, privacy: Privacy, *, ledger: Ledger, coordinates: int, purpose: str) -> "PrivacyFilter":
        """Charge the whole of `privacy` to the ledger and open a filter that can draw at most `coordinates` numbers."""
        if coordinates < 1:
            raise ParameterError(f"PrivacyFilter: coordinates must be at least 1, got {coordinates!r}.")
        total = privacy.total(coordinates)
        receipt = ledger.charge(Charge(loss=total, neighbours=privacy.neighbours, purpose=purpose))
        return cls(privacy, total, receipt)

    @property
    def spent(self) -> Loss:
        """What the steps so far have used."""
        return self._spent

    def spend(self, loss: Loss, *, step: str) -> None:
        """Take `loss` out of the total, or raise `BudgetError` and take nothing. Call before drawing noise."""
        with self._lock:
            after = self._spent + loss
            if not after.fits(self.total):
                raise BudgetError(
                    f"The step '{step}' needs more than is left of this release's budget. Nothing was drawn."
                )
            self._spent = after
