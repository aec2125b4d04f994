"""How `Adaptive` divides its budget, how much it measures, and in how many rounds: from public quantities alone.

Stage one looks for mass. With a share a of the budget its noise is σ₁ = 2/(N·μ·√a) in each coordinate, and a Gaussian
of weight w stands out where w > 4σ₁. What it misses, stage two may still find, since it can look at many places at
once: at the weak peaks of stage one, at points of the public law, and, having seen those, at places nearby. That is why

- 8 percent are enough where a few hundred public points fill the space at the kernel's lengthscale,
- 10 percent where thousands come near most places, as in five columns,
- else as much as it takes to see weights of 3 percent, within 15 and 30 percent: nothing else will show the way.

Further rounds of stage two cost nothing but time. They find what the first missed, so they are made where weights of
3 percent are hidden in the noise of stage one.
"""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.fit.gaussians.sliding_frank_wolfe import SIGNIFICANCE
from kernelease.kernels.numeric import Gaussian
from kernelease.kernels.shift_invariant import ShiftInvariant
from kernelease.measured.choice import Choice
from kernelease.privacy.accounting import Privacy

WORTH_SEEING = 0.03  # of the rows: weight of a Gaussian. research: Vectors: Gaussians, and rounds at one price
# Of the budget, for stage one. research: Vectors: the share of stage one
SHARE_IF_FILLED, SHARE_IF_NEAR, LEAST_SHARE, LARGEST_SHARE = 0.08, 0.1, 0.15, 0.3
# Of one lengthscale. derived: hundreds of public points fill, thousands come near
CELLS_FILLED, CELLS_NEAR = 2**8, 2**20
MOST_OCTAVES = 6  # doubled lengthscales at most. limit: widths of 64 lengthscales
MOST_ROUNDS = 3  # of stage two. research: Vectors: Gaussians, and rounds at one price


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CloudSizes:
    """How many points lie near the Gaussians, far from them, at weak peaks and around the highest; and public draws."""

    near: int
    far: int
    peaks: int
    around: int
    draws: int

    @property
    def total(self) -> int:
        """Of all kinds."""
        return self.near + self.far + self.peaks + self.around + self.draws


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What stage one gets of the budget, how much it measures, at which multiples of the lengthscale; all rounds.

    `cells` of one lengthscale make up the public law's space; `gaussians` have a closed form in the kernel's subspaces.
    """

    share: float
    features: int
    octaves: int
    dimension: int
    rounds: int
    cells: float
    gaussians: bool
    choices: tuple[Choice, ...] = ()

    @property
    def widths(self) -> tuple[float, ...]:
        """Widths of Gaussians to try, in lengthscales: from the widest, by halves, to 0.3."""
        return (*(2.0**octave for octave in range(self.octaves, -1, -1)), 0.3)

    @property
    def search_draws(self) -> int:
        """Public draws from which the highest are climbed to find weak peaks."""
        return 2048 if self.cells <= CELLS_FILLED else 16384

    @property
    def first_cloud(self) -> CloudSizes:
        """Points near the mass are what counts; public draws look for more where they come near most places.

        Where no Gaussians explain it, the points themselves have to.
        """
        if not self.gaussians:
            return CloudSizes(near=1024, far=256, peaks=256, around=0, draws=256)
        if self.cells <= CELLS_FILLED:
            return CloudSizes(near=768, far=256, peaks=256, around=0, draws=256)
        if self.cells > CELLS_NEAR:
            return CloudSizes(near=512, far=256, peaks=512, around=0, draws=128)
        return CloudSizes(near=512, far=256, peaks=512, around=0, draws=1024)

    @property
    def next_cloud(self) -> CloudSizes:
        """Of the further rounds."""
        return CloudSizes(near=160, far=64, peaks=224, around=64, draws=128)


def plan_stages(
    kernel: ShiftInvariant,
    privacy: Privacy,
    rows: int | None,
    draws: Floats,
    *,
    features: int,
    share: float | None = None,
    rounds: int | None = None,
) -> Stages:
    """The rule. `rows` is N where it is public, `draws` are points from the public source: (m, d)."""
    dimension = draws.shape[1]
    apart = _typical_distance(kernel, draws)
    octaves = min(MOST_OCTAVES, max(0, math.ceil(math.log2(max(apart, 1.0) / 2.0))))
    cells = (1.0 + apart) ** dimension
    hidden = _least_visible(privacy, rows, features)
    chosen, reason = (share, "as given") if share is not None else _share(hidden, cells)
    gaussians = isinstance(kernel, Gaussian)
    blind = hidden is None or hidden > WORTH_SEEING * math.sqrt(chosen)
    looks, why = _rounds(rounds, cells, possible=gaussians and not privacy.pure, blind=blind)
    stages = Stages(
        share=chosen,
        features=features,
        octaves=octaves,
        dimension=dimension,
        rounds=looks,
        cells=cells,
        gaussians=gaussians,
    )
    return replace(
        stages,
        choices=(
            Choice(name="stages", value=2, reason="Fourier features find the mass, a subspace around it is measured"),
            Choice(name="percent of the budget for stage one", value=round(100 * chosen), reason=reason),
            Choice(name="features of stage one", value=features, reason="as given or by default"),
            Choice(
                name="lengthscales of stage one",
                value=octaves + 1,
                reason="the kernel's and its doubles, up to half the distance between public points",
            ),
            Choice(name="rounds of stage two", value=looks, reason=why),
            Choice(
                name="points of the first round",
                value=stages.first_cloud.total,
                reason="near the mass that stage one shows, at its weak peaks, and from the public law",
            ),
        ),
    )


def _typical_distance(kernel: ShiftInvariant, draws: Floats) -> float:
    """The median distance between public points, in lengthscales."""
    scaled = draws / np.asarray(kernel.lengthscale, dtype=np.float64)
    half = len(scaled) // 2
    if half == 0:
        return 0.0
    return float(np.median(np.linalg.norm(scaled[:half] - scaled[half : 2 * half], axis=1)))


def _least_visible(privacy: Privacy, rows: int | None, features: int) -> float | None:
    """The weight of a Gaussian that stage one would show, if it had the whole budget; None where N is private."""
    if rows is None or privacy.pure:
        return None
    return SIGNIFICANCE * 2.0 / (rows * privacy.total(features).mu)


def _share(visible: float | None, cells: float) -> tuple[float, str]:
    if cells <= CELLS_FILLED:
        return SHARE_IF_FILLED, "the public points fill the space at the kernel's lengthscale"
    if cells <= CELLS_NEAR:
        return SHARE_IF_NEAR, "the public points come near most places"
    if visible is None:
        return LARGEST_SHARE, "the rule where the number of rows is private, or the noise is Laplace's"
    wanted = (visible / WORTH_SEEING) ** 2
    if wanted > LARGEST_SHARE:
        return LARGEST_SHARE, "the most it may have: to see Gaussians of 3 % of the rows it would need more"
    return max(wanted, LEAST_SHARE), "enough to see Gaussians of 3 % of the rows, and at least 15"


def _rounds(given: int | None, cells: float, *, possible: bool, blind: bool) -> tuple[int, str]:
    if given is not None:
        if given > 1 and not possible:
            raise ParameterError("Adaptive: more than one round needs a Gaussian kernel and Gaussian noise (δ > 0).")
        return given, "as given"
    if not (possible and blind and cells > CELLS_FILLED):
        return 1, "one shows all that can be found"
    most = MOST_ROUNDS if cells <= CELLS_NEAR else 2  # each is slower in more columns, and finds less
    return most, "light Gaussians are hidden from stage one"
