"""What a release of a table sets aside before the ledger is charged, so that no later step can find too little."""

from dataclasses import dataclass
from typing import final

from kernelease.errors import CapacityError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.mechanisms import noise_scale
from kernelease.privacy.noise import LARGEST_LAPLACE_SCALE
from kernelease.privacy.sensitivity import block_sensitivity

LEAST_SHARE = 2.0**-24  # limit: of the budget: no block and no choice gets less, whatever the noisy counts are


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reserve:
    """The most noisy numbers of each round, by declared sizes and caps alone.

    Later rounds follow from noisy counts, which nobody knows when the ledger is charged: so each round keeps to what is
    set aside for it here, and every share is at least `LEAST_SHARE`.
    """

    singles: int
    pairs: int
    triples: int
    moments: int = 0
    details: int = 0

    @property
    def numbers(self) -> int:
        """Of all rounds."""
        return self.singles + self.pairs + self.triples + self.moments + self.details

    def total(self, privacy: Privacy, unit: int = 1) -> Loss:
        """The budget with room for all numbers; `CapacityError` where its noise can't be drawn."""
        total = privacy.total(self.numbers)
        scale = 4.0 * noise_scale(privacy, total, block_sensitivity(privacy.relation, unit=unit), LEAST_SHARE)
        if not scale <= LARGEST_LAPLACE_SCALE:  # four times: what a choice needs beside a count
            raise CapacityError(
                f"epsilon = {privacy.epsilon!r} with delta = {privacy.delta!r} is too small: the noise of a count "
                "would be larger than can be drawn. Take a larger epsilon."
            )
        return total
