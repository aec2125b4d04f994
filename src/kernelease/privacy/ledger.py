"""What is about to be spent, on whom, and who keeps the books. Budget is spent before noise is drawn, never after."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, final

from kernelease._version import __version__
from kernelease.errors import BudgetError, ParameterError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.calibration import pure_mu
from kernelease.privacy.sensitivity import Neighbours, Subject, is_text

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
    def cost(self) -> Loss:
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
    named = books.dataset is not None or not before  # else by the first name that was charged
    dataset = books.dataset if named else before[-1].dataset
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


def refuse_beyond(receipt: Receipt, explain: Callable[[], str]) -> None:
    """Raise `BudgetError` if a new receipt would pass the cap, or names no data set where the ledger does.

    Shared by all ledgers; `explain` finds the words where the cap is passed.
    """
    refuse_unnamed(receipt.dataset, receipt.charge.subject)
    if not receipt.cap.allows(receipt.spent):
        raise BudgetError(explain())
