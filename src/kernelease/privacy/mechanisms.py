"""The only doors in the privacy barrier, and the filter that keeps all steps within what was paid for.

Order matters in each of them: compute the cost, spend it (which may refuse), and only then draw noise.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import final

import numpy as np

from kernelease.arrays import BigIntegers
from kernelease.errors import BudgetError, ParameterError, PrivacyError
from kernelease.privacy.accounting import SMALLEST_SCALE, Law, Loss, Measurement, Privacy, Selection, Step
from kernelease.privacy.calibration import pure_epsilon_for
from kernelease.privacy.ledger import Charge, Ledger, Receipt
from kernelease.privacy.noise import LARGEST_LAPLACE_SCALE, LEAST_LAPLACE_SCALE, NoiseSource, check_scale
from kernelease.privacy.sensitivity import ROUND_UP, Neighbours, Sensitivity, Subject

# --------------------
# The filter: steps may depend on earlier results, within a total that is fixed and paid at the start.


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


# --------------------
# The doors: exact integers go in, the budget is charged, noisy integers come out.


LARGEST_SCORE = 2**62  # the sampler works on 64-bit integers


def measure(
    exact: BigIntegers, sensitivity: Sensitivity, *, budget: PrivacyFilter, share: float, noise: NoiseSource, label: str
) -> Measurement:
    """Add noise for a share of the budget: Gaussian, or Laplace where the guarantee is pure (δ = 0)."""
    _check_share(share)
    _check_relation(sensitivity, budget)
    mechanism = _laplace if budget.privacy.pure else _gaussian
    return mechanism(exact, sensitivity, budget, share, noise, label)


def resume(
    earlier: Measurement,
    more: BigIntegers,
    whole: Sensitivity,
    *,
    budget: PrivacyFilter,
    noise: NoiseSource,
    label: str,
) -> Measurement:
    """Reveal more coordinates of a vector that was measured before, for the τ of the new ones alone.

    `whole` bounds how far a row moves earlier and new coordinates *together*: no further than was paid for, so that
    noise of the same σ on the new ones, which may be chosen in sight of the earlier, costs no more μ
    (docs/proofs/rounds.md). A measurement is resumed at most once; what comes back may be resumed in turn.
    """
    _check_resumption(earlier, whole, budget, noise)
    if len(more) == 0:
        raise ParameterError("resume: needs at least one more coordinate, got none.")
    crossing = replace(earlier.step, coordinates=earlier.step.coordinates + len(more))
    budget.resume(earlier.step, crossing, label=label)
    scale = math.ldexp(crossing.scale, crossing.bits)
    noisy = _shift(more, crossing.bits) + noise.gaussian(scale, len(more)).astype(object)
    return Measurement(integers=np.concatenate([earlier.integers, noisy]), step=crossing, private=noise.private)


def _check_resumption(earlier: Measurement, whole: Sensitivity, budget: PrivacyFilter, noise: NoiseSource) -> None:
    if earlier.step.law is not Law.GAUSSIAN:
        raise PrivacyError(
            "Only a Gaussian measurement can be resumed: the price of other noise grows with each number."
        )
    _check_relation(whole, budget)
    if whole.l2 > earlier.step.sensitivity:
        raise PrivacyError(
            f"A row can move the whole vector by {whole.l2:.6g}, but the measurement to be resumed was charged for "
            f"{earlier.step.sensitivity:.6g}. Nothing was drawn."
        )
    if earlier.private != noise.private:
        raise PrivacyError("A measurement can be resumed with noise of its own kind only: private, or from a seed.")


def _check_relation(sensitivity: Sensitivity, budget: PrivacyFilter) -> None:
    if sensitivity.neighbours is not budget.neighbours:
        raise PrivacyError(
            f"A sensitivity under {sensitivity.neighbours.value} can't be used for a guarantee under "
            f"{budget.neighbours.value}."
        )


def _gaussian(
    exact: BigIntegers, sensitivity: Sensitivity, budget: PrivacyFilter, share: float, noise: NoiseSource, label: str
) -> Measurement:
    """Discrete Gaussian noise on a grid so fine (s ≥ 2³⁵) that the continuous calibration holds up to τ."""
    mu = math.sqrt(share * budget.total.mu_squared)
    sigma = ROUND_UP * sensitivity.l2 / mu
    bits = grid_bits(sigma)
    scale = math.ldexp(sigma, bits)
    check_scale(scale)
    crossing = Step(law=Law.GAUSSIAN, coordinates=len(exact), sensitivity=sensitivity.l2, scale=sigma, bits=bits)
    budget.spend(crossing.loss, label=label, resumable=crossing)
    noisy = _shift(exact, bits) + noise.gaussian(scale, len(exact)).astype(object)
    return Measurement(integers=noisy, step=crossing, private=noise.private)


def grid_bits(sigma: float) -> int:
    """How much finer than the input's the grid of Gaussian noise has to be, in powers of two."""
    return max(0, math.frexp(SMALLEST_SCALE)[1] - math.frexp(sigma)[1])


def laplace_scale(sensitivity: Sensitivity, epsilon: float) -> float:
    """The scale of discrete Laplace noise that is worth ε; refused where 64-bit integers could saturate."""
    scale = max(LEAST_LAPLACE_SCALE, ROUND_UP * sensitivity.l1 / epsilon)
    check_scale(scale, LARGEST_LAPLACE_SCALE)
    return scale


def _laplace(
    exact: BigIntegers, sensitivity: Sensitivity, budget: PrivacyFilter, share: float, noise: NoiseSource, label: str
) -> Measurement:
    """Discrete Laplace noise is ε-DP on integers exactly: no grid of its own, no τ.

    Where ε asks for less noise than can be told from none, there is a little more.
    """
    scale = laplace_scale(sensitivity, share * budget.privacy.epsilon)
    crossing = Step(law=Law.LAPLACE, coordinates=len(exact), sensitivity=sensitivity.l1, scale=scale)
    budget.spend(crossing.loss, label=label)
    noisy = _shift(exact, 0) + noise.laplace(scale, len(exact)).astype(object)
    return Measurement(integers=noisy, step=crossing, private=noise.private)


def select(
    scores: Sequence[int], sensitivity: int, *, budget: PrivacyFilter, share: float, noise: NoiseSource, label: str
) -> Selection:
    """The exponential mechanism: index i with probability ∝ exp(ε·score[i] / 2·sensitivity), for a share of the budget.

    The ε is that share of a pure budget; beside Gaussian steps, the ε whose pure price is that share of μ². Scores
    are integers, so that neighbouring tables move them by at most `sensitivity` exactly. Beyond ±2⁶² they are
    clamped, which moves neighbours no further apart; an overflow would raise, and its message would show the score.
    """
    if not scores or sensitivity < 1:
        raise ParameterError(
            f"select: needs at least one score and a sensitivity of at least 1, got {len(scores)} and {sensitivity!r}."
        )
    _check_share(share)
    pure = budget.privacy.pure
    epsilon = share * budget.privacy.epsilon if pure else pure_epsilon_for(math.sqrt(share * budget.total.mu_squared))
    scale = ROUND_UP * 2.0 * sensitivity / epsilon
    check_scale(scale)
    crossing = Step(law=Law.EXPONENTIAL, coordinates=len(scores), sensitivity=float(sensitivity), scale=scale)
    budget.spend(crossing.loss, label=label)
    index = noise.noisy_max([max(-LARGEST_SCORE, min(LARGEST_SCORE, int(score))) for score in scores], scale)
    return Selection(index=index, step=crossing, private=noise.private)


def exceed(
    observed: int,
    others: Sequence[int],
    rank: int,
    sensitivity: Sensitivity,
    *,
    budget: PrivacyFilter,
    noise: NoiseSource,
    label: str,
) -> Measurement:
    """How far a number lies above the `rank`-th largest of others, each with Laplace noise, for a whole pure budget.

    `sensitivity` is of the difference of `observed` and any other. Given the noise of the others, their `rank`-th
    largest moves no further than the farthest of them, and the noise of `observed` alone makes it ε-DP. Those of the
    others have the same law, so that a permutation test keeps its level (docs/proofs/permutation-tests.md).
    """
    if not budget.privacy.pure:
        raise ParameterError("exceed: the noise is Laplace's. Take a Privacy with delta = 0.")
    if not 1 <= rank <= len(others):
        raise ParameterError(f"exceed: rank must be from 1 to {len(others)}, got {rank!r}.")
    _check_relation(sensitivity, budget)
    scale = laplace_scale(sensitivity, budget.privacy.epsilon)
    crossing = Step(law=Law.LAPLACE, coordinates=1, sensitivity=sensitivity.l1, scale=scale)
    budget.spend(crossing.loss, label=label)
    drawn = noise.laplace(scale, 1 + len(others)).tolist()
    noisy = sorted((int(value) + extra for value, extra in zip(others, drawn[1:], strict=True)), reverse=True)
    above = int(observed) + drawn[0] - noisy[rank - 1]
    return Measurement(integers=np.array([above], dtype=object), step=crossing, private=noise.private)


def _check_share(share: float) -> None:
    if not 0.0 < share <= 1.0:
        raise ParameterError(f"share must be above 0 and at most 1, got {share!r}.")


def _shift(exact: BigIntegers, bits: int) -> BigIntegers:
    """Onto the noise grid, in Python integers, which can't overflow."""
    return np.array([int(value) << bits for value in exact], dtype=object)
