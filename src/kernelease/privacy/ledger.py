"""What is about to be spent, on whom, and who keeps the books. Budget is spent before noise is drawn, never after."""

import datetime
import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, final

from kernelease import html
from kernelease._version import __version__
from kernelease.errors import BudgetError, ParameterError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.calibration import pure_mu
from kernelease.privacy.neighbours import Neighbours, Subject, is_text

# --------------------
# A charge: what is about to be spent, on whom, and how a ledger counts it.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What is about to be spent, on what, and about whom.

    `asked` is the guarantee that was asked for, with its relation; `loss` is what it costs, and what adds up. `numbers`
    is how many noisy ones it may buy, at most: whoever charges makes room for them; no ledger keeps it.
    """

    loss: Loss
    asked: Privacy
    subject: Subject
    purpose: str
    numbers: int = field(default=1, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not is_text(self.purpose):
            raise ParameterError(f"Charge: purpose must be a text that is not empty, got {self.purpose!r}.")


def refuse_other(cap: Privacy, books: Subject, charge: Charge) -> None:
    """Raise `BudgetError` if a charge is about another data set, unit or relation than the books of a ledger.

    A ledger that names no data set takes any. Entries without a name were once taken by every ledger, and are read.
    """
    refuse_other_subject(books, charge.subject)
    loss, theirs = charge.loss, charge.asked.relation
    if theirs is not cap.relation and (cap.relation is not Neighbours.REPLACE_ONE or loss.delta_zero > 0.0):
        raise BudgetError(
            f"This ledger counts under {cap.relation.value} neighbours, the charge for {charge.purpose} is under "
            f"{theirs.value} ones, and its cost can't be converted. Set neighbours in the schema as in the ledger, or "
            "use a ledger of that relation. Nothing was spent."
        )


def refuse_other_subject(books: Subject, subject: Subject) -> None:
    """The same for the data set and the unit alone, which are known before anything is read."""
    if None not in {books.dataset, subject.dataset} and books.dataset != subject.dataset:
        raise BudgetError(
            f"This ledger is of the data set {books.dataset!r}, the release is of {subject.dataset!r}. Use the ledger "
            "of that data set; if they are one and the same, give the schema the ledger's name (a draft: --dataset). "
            "Nothing was spent."
        )
    if books.unit != subject.unit:
        raise BudgetError(
            f"This ledger counts the loss of {books.unit_in_words}, the release protects {subject.unit_in_words}. Set "
            "unit in the schema as in the ledger, or use a ledger of that unit. Nothing was spent."
        )


def refuse_unnamed(dataset: str | None, subject: Subject) -> None:
    """Raise `BudgetError` if something that names no data set would be charged to the ledger of one."""
    if dataset is not None and subject.dataset is None:
        raise BudgetError(
            f"This ledger is of the data set {dataset!r}, and what is to be charged does not say of which it is. If "
            f"they are one and the same, give dataset={dataset!r}; else use another ledger. Nothing was spent."
        )


def counted_loss(cap: Privacy, charge: Charge) -> Loss:
    """What a charge costs in the relation of the cap: more, where it was asked for under add-remove and that is not.

    To replace a row is to remove it and add another, so replace-one neighbours t, t′ have a common add-remove
    neighbour t″. Let M be a step charged (μ², δ₀ = 0, τ) or, if pure, ε, under add-remove. Then

    - Gaussian part: M(t), M(t″) and M(t″), M(t′) are each as hard to tell apart as N(0, 1) and N(μ, 1), hence M(t) and
      M(t′) as N(0, 1) and N(2μ, 1) (group privacy of Gaussian DP, Dong, Roth & Su 2022): μ² counts four times.
    - Pure part: P(M(t) ∈ S) ≤ e^ε P(M(t″) ∈ S) ≤ e^{2ε} P(M(t′) ∈ S): 2ε, and with it the μ of a 2ε-DP step if smaller.
    - τ bounds, for each table alone, the distance of the noise drawn from the noise calibrated. No pair of tables
      enters, so it counts once.
    - δ₀ > 0 would become (1 + e^{ε_s})·δ₀ with the step's own ε_s, which a sum of losses no longer knows: refused.

    The converse is refused too: replace-one says nothing about the number of rows, which add-remove protects.

    >>> asked = Privacy(epsilon=0.5, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
    >>> step = Charge(loss=Loss.pure(0.5), asked=asked, subject=Subject(), purpose="a doctest")
    >>> counted_loss(Privacy(epsilon=1.0, delta=0.0), step) == Loss.pure(1.0)
    True
    """
    loss = charge.loss
    if charge.asked.relation is cap.relation:
        return loss
    pure = 2.0 * loss.pure_epsilon
    mu_squared = 4.0 * loss.mu_squared
    if pure < math.inf:
        mu_squared = min(mu_squared, pure_mu(pure) ** 2)
    return Loss(mu_squared=mu_squared, tau=loss.tau, pure_epsilon=pure)


# --------------------
# The ledger.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A line of a ledger: proof that a charge is on the books, and where they stand with it. All of it is public.

    `ledger` is the identity of the ledger, None where there was none: then `spent` is this release's loss alone, and
    nobody counts what else is published about the same people.
    """

    number: int  # of the entry: 1, 2, 3, …
    charge: Charge
    time: str  # UTC, ISO 8601
    ledger: str | None
    dataset: str | None  # by the ledger's name, else by the first name that was charged to it
    spent: Loss  # all entries up to this one, in the ledger's relation
    cap: Privacy
    version: str = __version__

    @property
    def counted(self) -> Loss:
        """What this charge costs in the ledger's relation."""
        return counted_loss(self.cap, self.charge)


class Ledger(Protocol):
    """Books for one subject (a data set and a unit in it): one relation, one cap, entries that are never taken back.

    `charge` returns only once the entry is as durable as this ledger makes it; a mechanism draws noise after that.
    So a crash can lose utility, never privacy.
    """

    @property
    def cap(self) -> Privacy:
        """The most that may ever be spent on this data set."""
        ...

    def charge(self, charge: Charge) -> Receipt:
        """Enter the charge, or raise `BudgetError` and enter nothing."""
        ...

    def spent(self) -> Loss:
        """All entries, added up."""
        ...


def next_receipt(
    charge: Charge, before: Sequence[Receipt], *, cap: Privacy, books: Subject, ledger: str | None, time: str
) -> Receipt:
    """The receipt of one more charge after those `before`, or `BudgetError` if it is about someone else.

    Shared by all ledgers, to enter a charge and to read it again.
    """
    dataset = _dataset(books, before)
    refuse_other(cap, Subject(dataset=dataset, unit=books.unit), charge)
    return Receipt(
        number=len(before) + 1,
        charge=charge,
        time=time,
        ledger=ledger,
        dataset=charge.subject.dataset if dataset is None else dataset,
        spent=(before[-1].spent if before else Loss()) + counted_loss(cap, charge),
        cap=cap,
    )


def refuse_beyond(receipt: Receipt, before: Sequence[Receipt]) -> None:
    """Raise `BudgetError` if a new receipt would pass the cap, or names no data set where the ledger does.

    Shared by all ledgers.
    """
    refuse_unnamed(receipt.dataset, receipt.charge.subject)
    if not receipt.cap.allows(receipt.spent):
        raise BudgetError(_beyond(receipt.cap, before[-1].spent if before else Loss(), receipt.charge))


def now() -> str:
    """The time of an entry: UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _dataset(books: Subject, before: Sequence[Receipt]) -> str | None:
    """The data set of a ledger: its own name, else the first that was charged to it."""
    return books.dataset if books.dataset is not None or not before else before[-1].dataset


def _beyond(cap: Privacy, spent: Loss, charge: Charge) -> str:
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
            refuse_beyond(receipt, before)
            self.entries.append(receipt)
            return receipt

    def spent(self) -> Loss:
        """All entries, added up."""
        return self.entries[-1].spent if self.entries else Loss()

    def _repr_html_(self) -> str:
        return books_in_html(self.subject, self.cap, self.entries)
