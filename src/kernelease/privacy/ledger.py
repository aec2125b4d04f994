"""Who keeps the books. Budget is spent before noise is drawn, never after."""

import datetime
import math
from dataclasses import dataclass, field
from threading import Lock
from typing import Protocol, final

from kernelease.errors import BudgetError, ParameterError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.calibration import pure_mu
from kernelease.privacy.neighbours import Neighbours


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What is about to be spent, and on what."""

    loss: Loss
    neighbours: Neighbours
    purpose: str


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Proof that a charge is on the books: its number there, and when it was entered."""

    number: int
    charge: Charge
    time: str


class Ledger(Protocol):
    """Books for one data set: one relation, one cap, entries that are never taken back.

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


def counted_loss(cap: Privacy, charge: Charge) -> Loss:
    """What a charge costs in the relation of the cap. Only add-remove may enter under another one, replace-one.

    To replace a row is to remove it and add another, so replace-one neighbours t, t′ have a common add-remove
    neighbour t″. Let M be a step charged (μ², δ₀ = 0, τ) or, if pure, ε, under add-remove. Then

    - Gaussian part: M(t), M(t″) and M(t″), M(t′) are each as hard to tell apart as N(0, 1) and N(μ, 1), hence M(t) and
      M(t′) as N(0, 1) and N(2μ, 1) (group privacy of Gaussian DP, Dong, Roth & Su 2022): μ² counts four times.
    - Pure part: P(M(t) ∈ S) ≤ e^ε P(M(t″) ∈ S) ≤ e^{2ε} P(M(t′) ∈ S): 2ε, and with it the μ of a 2ε-DP step if smaller.
    - τ bounds, for each table alone, the distance of the noise drawn from the noise calibrated. No pair of tables
      enters, so it counts once: δ(ε) = δ_{2μ}(ε) + (1 + e^ε)·τ.
    - δ₀ > 0 would become (1 + e^{ε_s})·δ₀ with the step's own ε_s, which a sum of losses no longer knows: refused.

    The converse is refused too: replace-one says nothing about the number of rows, which add-remove protects.

    >>> step = Charge(loss=Loss.pure(0.5), neighbours=Neighbours.ADD_REMOVE, purpose="a doctest")
    >>> counted_loss(Privacy(epsilon=1.0), step) == Loss.pure(1.0)
    True
    """
    loss = charge.loss
    if charge.neighbours is cap.neighbours:
        return loss
    if cap.neighbours is not Neighbours.REPLACE_ONE or loss.delta_zero > 0.0:
        raise BudgetError(
            f"This ledger protects {cap.neighbours.value} neighbours; the charge for {charge.purpose} protects "
            f"{charge.neighbours.value} neighbours, and its cost can't be converted. Use one relation per ledger."
        )
    pure = 2.0 * loss.pure_epsilon
    mu_squared = 4.0 * loss.mu_squared
    if pure < math.inf:
        mu_squared = min(mu_squared, pure_mu(pure) ** 2)
    return Loss(mu_squared=mu_squared, tau=loss.tau, pure_epsilon=pure)


def remaining_epsilon(cap: Privacy, spent: Loss) -> float:
    """The largest ε of one more release, at the δ of the cap and in its relation, that still fits. 0: none does.

    >>> round(remaining_epsilon(Privacy(epsilon=1.0), Loss.pure(0.25)), 9)
    0.75
    """

    def fits(epsilon: float) -> bool:
        try:
            total = Privacy(epsilon=epsilon, delta=cap.delta, neighbours=cap.neighbours).total(1)
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

    >>> remaining_in_words(Privacy(epsilon=1.0), Loss.pure(0.25))
    'left: one release of epsilon up to 0.75 at delta = 0'
    """
    epsilon = remaining_epsilon(cap, spent)
    if epsilon < 1e-5 * cap.epsilon:  # rounding leaves crumbs
        return "nothing is left"
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    rounded = math.floor(epsilon / step * (1 + 1e-12)) * step  # 1e-12: 0.3 must not become 0.299
    return f"left: one release of epsilon up to {rounded:.3g} at delta = {cap.delta:g}"


def refuse_beyond(cap: Privacy, spent: Loss, charge: Charge) -> None:
    """Raise `BudgetError` if the charge would pass the cap or is of another relation. Shared by all ledgers."""
    if not cap.allows(spent + counted_loss(cap, charge)):
        raise BudgetError(
            f"The charge for {charge.purpose} would pass the cap of epsilon = {cap.epsilon!r}, delta = {cap.delta!r}. "
            f"Nothing was spent; {remaining_in_words(cap, spent)}."
        )


@final
@dataclass(slots=True)
class MemoryLedger:
    """A ledger that lives as long as the process: for experiments, tests and single releases.

    >>> ledger = MemoryLedger(Privacy(epsilon=1.0))
    >>> charge = Charge(loss=Loss.pure(1.0), neighbours=Neighbours.REPLACE_ONE, purpose="a doctest")
    >>> ledger.charge(charge).number
    1
    """

    cap: Privacy
    entries: list[Receipt] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.cap, Privacy):
            raise ParameterError(f"MemoryLedger: cap must be a Privacy, got {type(self.cap).__name__}.")

    def charge(self, charge: Charge) -> Receipt:
        """Enter the charge, or raise `BudgetError` and enter nothing."""
        with self._lock:
            refuse_beyond(self.cap, self.spent(), charge)
            time = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
            receipt = Receipt(number=len(self.entries) + 1, charge=charge, time=time)
            self.entries.append(receipt)
            return receipt

    def spent(self) -> Loss:
        """All entries, added up."""
        return sum((counted_loss(self.cap, entry.charge) for entry in self.entries), Loss())
