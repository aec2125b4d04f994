"""How `Adaptive` divides its budget and how much it measures: from public quantities alone.

Stage one looks for mass. With a share a of the budget its noise is σ₁ = 2/(N·μ·√a) in each coordinate, and a blob of
weight w stands out where w > 4σ₁. So a is chosen to see weights of 3 %, within 15 and 30 percent of the budget: less
finds nothing, more leaves too little for stage two, whose coordinates have a noise that is lower by √2. Where a few
hundred public points fill the whole space at the kernel's lengthscale, there is little to look for: 8 percent.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.fit.particles import SIGNIFICANCE
from kernelease.kernels.shift_invariant import ShiftInvariant
from kernelease.methods.rules import Choice
from kernelease.privacy.accounting import Privacy

WORTH_SEEING = 0.03
LEAST_SHARE, LARGEST_SHARE, SHARE_WITHOUT_N, SHARE_IF_FILLED = 0.15, 0.3, 0.3, 0.08
CELLS_COVERED = 256  # cells of one lengthscale that the public draws fill
MOST_OCTAVES = 6


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What stage one gets of the budget, how much it measures, and at which multiples of the lengthscale."""

    share: float
    features: int
    octaves: int
    dimension: int
    choices: tuple[Choice, ...]

    @property
    def widths(self) -> tuple[float, ...]:
        """Widths of blobs to try, in lengthscales: from the widest, by halves, to 0.3."""
        return (*(2.0**octave for octave in range(self.octaves, -1, -1)), 0.3)


def plan_stages(
    kernel: ShiftInvariant, privacy: Privacy, rows: int | None, draws: Floats, *, share: float | None, features: int
) -> Stages:
    """The rule. `rows` is N where it is public, `draws` are points from the public source: (m, d)."""
    dimension = draws.shape[1]
    apart = _typical_distance(kernel, draws)
    octaves = min(MOST_OCTAVES, max(0, math.ceil(math.log2(max(apart, 1.0) / 2.0))))
    covered = (1.0 + apart) ** dimension <= CELLS_COVERED
    chosen, reason = (share, "as given") if share is not None else _share(privacy, rows, features, covered=covered)
    return Stages(
        share=chosen,
        features=features,
        octaves=octaves,
        dimension=dimension,
        choices=(
            Choice(name="stages", value=2, reason="Fourier features find the mass, a subspace around it is measured"),
            Choice(name="percent of the budget for stage one", value=round(100 * chosen), reason=reason),
            Choice(name="features of stage one", value=features, reason="as given or by default"),
            Choice(
                name="lengthscales of stage one",
                value=octaves + 1,
                reason="the kernel's and its doubles, up to half the distance between public points",
            ),
        ),
    )


def typical_lengthscale(kernel: ShiftInvariant) -> float:
    """One number for all columns: the geometric mean."""
    return float(np.exp(np.mean(np.log(np.asarray(kernel.lengthscale, dtype=np.float64)))))


def _typical_distance(kernel: ShiftInvariant, draws: Floats) -> float:
    """The median distance between public points, in lengthscales."""
    scaled = draws / np.asarray(kernel.lengthscale, dtype=np.float64)
    half = len(scaled) // 2
    if half == 0:
        return 0.0
    return float(np.median(np.linalg.norm(scaled[:half] - scaled[half : 2 * half], axis=1)))


def _share(privacy: Privacy, rows: int | None, features: int, *, covered: bool) -> tuple[float, str]:
    if covered:
        return SHARE_IF_FILLED, "the public points fill the space at the kernel's lengthscale"
    if rows is None or privacy.pure:
        return SHARE_WITHOUT_N, "the rule where the number of rows is private, or the noise is Laplace's"
    sigma = 2.0 / (rows * privacy.total(features).mu)
    wanted = (SIGNIFICANCE * sigma / WORTH_SEEING) ** 2
    if wanted > LARGEST_SHARE:
        return LARGEST_SHARE, "the most it may have: to see blobs of 3 % of the rows it would need more"
    return max(wanted, LEAST_SHARE), "enough to see blobs of 3 % of the rows, and at least 15"
