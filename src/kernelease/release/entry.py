"""What a bundle says of the ledger that paid for it."""

from dataclasses import dataclass
from typing import final

from kernelease.errors import ParameterError
from kernelease.kinds import Kind
from kernelease.privacy.accounting import Loss
from kernelease.privacy.ledger import Receipt


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
        """What may be said of a receipt; when it was written is no part of a bundle."""
        return cls(number=receipt.number, ledger=receipt.ledger, dataset=receipt.dataset, spent=receipt.spent)

    def __str__(self) -> str:
        about = "" if self.dataset is None else f" of data set {self.dataset!r}"
        if self.ledger is None:
            return "no ledger: nobody counts what else is published about the same people"
        return f"entry {self.number} of ledger {self.ledger}{about}; with it, mu = {self.spent.mu:.4g} in all"
