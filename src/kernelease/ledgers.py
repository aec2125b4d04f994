"""Books that live as long as the process, and what is left of a budget, for people to read."""

import datetime
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import final

from kernelease import html
from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Charge, Receipt, next_receipt, refuse_beyond
from kernelease.privacy.neighbours import Subject

# --------------------
# What is left.


def beyond(receipt: Receipt, before: Sequence[Receipt]) -> str:
    """What to tell somebody whose charge would pass the cap."""
    cap, charge, spent = receipt.cap, receipt.charge, before[-1].spent if before else Loss()
    limit = f"the cap of epsilon = {cap.epsilon!r}, delta = {cap.delta!r}"
    ends = f"Nothing was spent; {remaining_in_words(cap, spent)}."
    if charge.asked.relation is cap.relation:
        return f"The charge for {charge.purpose} would pass {limit}. {ends}"
    return (
        f"The charge for {charge.purpose} is under {charge.asked.relation.value} neighbours; this ledger counts under "
        f"{cap.relation.value} ones, where it costs up to twice the epsilon. That would pass {limit}. Use a ledger of "
        f"its own relation, or ask for less. {ends}"
    )


def remaining_epsilon(cap: Privacy, spent: Loss) -> float:
    """The largest ε of one more release, at the δ of the cap and in its relation, that still fits. 0: none does.

    >>> round(remaining_epsilon(Privacy(epsilon=1.0, delta=0.0), Loss.pure(0.25)), 9)
    0.75
    """

    def fits(epsilon: float) -> bool:
        try:
            total = Privacy(epsilon=epsilon, delta=cap.delta).total(1)
        except ParameterError:  # an ε at which no noise can be computed
            return False
        return cap.allows(spent + total)

    low, high = 0.0, cap.epsilon
    if fits(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def remaining_in_words(cap: Privacy, spent: Loss) -> str:
    """What is left, rounded down to three digits, for messages.

    >>> remaining_in_words(Privacy(epsilon=1.0, delta=0.0), Loss.pure(0.25))
    'left: one release of epsilon up to 0.75 at delta = 0'
    """
    epsilon = remaining_epsilon(cap, spent)
    if epsilon < 1e-5 * cap.epsilon:  # rounding leaves crumbs
        return "nothing is left"
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    rounded = math.floor(epsilon / step * (1 + 1e-12)) * step  # 1e-12: 0.3 must not become 0.299
    return f"left: one release of epsilon up to {rounded:.3g} at delta = {cap.delta:g}"


def books_in_html(subject: Subject, cap: Privacy, entries: Sequence[Receipt]) -> str:
    """The books for a notebook: what was asked for, and what is left, in the same words."""
    spent = entries[-1].spent if entries else Loss()
    about = [
        ("data set", entries[-1].dataset if entries else subject.dataset),
        ("protects", subject.unit_in_words),
        ("cap", f"epsilon {cap.epsilon:g}, delta {cap.delta:g}, {cap.relation.value} neighbours"),
        ("budget", remaining_in_words(cap, spent)),
    ]
    asked = [
        (e.number, e.time, e.charge.purpose, f"{e.charge.asked.epsilon:g}", f"{e.charge.asked.delta:g}")
        for e in entries
    ]
    return html.card("Ledger", html.facts(about), html.grid(("entry", "time", "purpose", "epsilon", "delta"), asked))


# --------------------
# The books.


def now() -> str:
    """The time of an entry: UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@final
@dataclass(slots=True)
class MemoryLedger:
    """A ledger that lives as long as the process: for experiments, tests and single releases.

    >>> ledger = MemoryLedger(Privacy(epsilon=1.0, delta=0.0))
    >>> charge = Charge(loss=Loss.pure(1.0), asked=ledger.cap, subject=Subject(), purpose="a doctest")
    >>> ledger.charge(charge).number
    1
    """

    cap: Privacy
    dataset: str | None = None
    unit: str | None = None
    identity: str | None = field(default_factory=lambda: f"memory-{secrets.token_hex(8)}")
    entries: list[Receipt] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.cap, Privacy):
            raise ParameterError(f"MemoryLedger: cap must be a Privacy, got {type(self.cap).__name__}.")

    @classmethod
    def for_one(cls, privacy: Privacy, subject: Subject) -> "MemoryLedger":
        """No ledger at all: books that allow one release, and whose receipt says that there was no ledger."""
        return cls(privacy, dataset=subject.dataset, unit=subject.unit, identity=None)

    @property
    def subject(self) -> Subject:
        """Whom the books are about."""
        return Subject(dataset=self.dataset, unit=self.unit)

    def charge(self, charge: Charge) -> Receipt:
        """Enter the charge, or raise `BudgetError` and enter nothing."""
        with self._lock:
            books, before = self.subject, self.entries
            receipt = next_receipt(charge, before, cap=self.cap, books=books, ledger=self.identity, time=now())
            refuse_beyond(receipt, lambda: beyond(receipt, before))
            self.entries.append(receipt)
            return receipt

    def spent(self) -> Loss:
        """All entries, added up."""
        return self.entries[-1].spent if self.entries else Loss()

    def _repr_html_(self) -> str:
        return books_in_html(self.subject, self.cap, self.entries)
