"""How far a fit is from each measured block, in units of the block's own noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

# convention: standard deviations of χ² per number: of a thousand blocks at the noise floor none passes it by chance
_DOUBT = 5.0
_TOLERANCE = 0.25  # convention: a χ² that is higher by so little is no sign of a model that can't hold the block
# research: Tables: all pairs, and sets of three. Standard deviations of χ² up to which chance explains it: of all
# blocks together, and of the worst of many
_CHANCE, _WORST = 2.5, 5.0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Misfit:
    """χ² per number of one block: about 1 where only noise stands between the block and the model."""

    columns: tuple[int, ...]
    numbers: int
    chi_squared: float

    @property
    def beyond_noise(self) -> bool:
        """Whether noise does not explain it.

        >>> Misfit(columns=(0, 1), numbers=4, chi_squared=3.0).beyond_noise
        False
        >>> Misfit(columns=(0, 1), numbers=400, chi_squared=3.0).beyond_noise
        True
        """
        return self.chi_squared > 1.0 + max(_TOLERANCE, _DOUBT * math.sqrt(2.0 / self.numbers))

    @property
    def deviations(self) -> float:
        """How many of its standard deviations χ² is above its mean under noise alone."""
        return (self.chi_squared - 1.0) * math.sqrt(self.numbers / 2.0)


def all_by_chance(misfits: Sequence[Misfit]) -> bool:
    """Whether chance explains how far all blocks are from a model, together and one by one.

    >>> near, far = (Misfit(columns=(0, 1), numbers=50, chi_squared=value) for value in (1.1, 2.5))
    >>> all_by_chance([near] * 9), all_by_chance([near] * 100), all_by_chance([near, far])
    (True, False, False)
    """
    numbers = sum(misfit.numbers for misfit in misfits)
    together = sum(misfit.numbers * (misfit.chi_squared - 1.0) for misfit in misfits)
    worst = max((misfit.deviations for misfit in misfits), default=0.0)
    return together <= _CHANCE * math.sqrt(2.0 * numbers) and worst <= _WORST
