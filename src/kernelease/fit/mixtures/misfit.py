"""How far a fit is from each measured block, in units of the block's own noise."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

# convention: standard deviations of χ² per number: of a thousand blocks at the noise floor none passes it by chance
_DOUBT = 5.0
_TOLERANCE = 0.25  # convention: a χ² that is higher by so little is no sign of a model that can't hold the block


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


def poor(misfits: Sequence[Misfit]) -> tuple[Misfit, ...]:
    """Those that noise does not explain, the worst first."""
    return tuple(sorted((one for one in misfits if one.beyond_noise), key=lambda one: -one.chi_squared))
