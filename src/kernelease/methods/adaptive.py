"""Spend a part of the budget to find where the rows are, look at the noisy result, and spend the rest there."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from kernelease.arrays import Floats, Rows, finite_numbers
from kernelease.errors import ParameterError, check_integer
from kernelease.exact.rows import PrivateRows
from kernelease.features.feature_map import default_resolution
from kernelease.features.fourier import Fourier
from kernelease.features.moments import Ball
from kernelease.features.nystrom import WIDENING, Nystrom, extend, factorise, well_conditioned
from kernelease.fit.gaussians.fitted_laws import (
    FittedLaws,
    joint_likelihood,
    measured_mean,
    optimiser,
    share_of_the_mean,
    wave_likelihood,
)
from kernelease.fit.gaussians.likelihood import JointLikelihood, Likelihood
from kernelease.fit.gaussians.sliding_frank_wolfe import (
    NARROWEST,
    SIGNIFICANCE,
    Growing,
    SlidingFrankWolfe,
    Whereabouts,
)
from kernelease.fit.solver import Outcome, PointSource, PublishedRows, Solution, SyntheticSet, check_points
from kernelease.fit.tilting import Tilted, Tilting, match_mean
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.numeric import Gaussian, ShiftInvariant
from kernelease.machine import one_thread
from kernelease.measured.embeddings import Gaussians, NoisyEmbedding, NoisyEmbeddings
from kernelease.measured.measured import Choice, Measured
from kernelease.methods.method import (
    Context,
    Method,
    admitted_rows,
    measured_subspace,
    refuse_other_columns,
    refuse_publishing,
    rehearse_measurement,
)
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed

# --------------------
# How the budget is divided, how much is measured, in how many rounds: from public quantities alone.
#
# Stage one looks for mass. With a share a of the budget its noise is σ₁ = 2/(N·μ·√a) in each coordinate, and a
# Gaussian of weight w stands out where w > √(16 + d)·σ₁. What it misses, stage two may still find: it can look at many
# places at once: at the weak peaks of stage one, at points of the public law, and, having seen those, at places
# nearby. That is why
#
# - 8 percent are enough where a few hundred public points fill the space at the kernel's lengthscale,
# - 10 percent where thousands come near most places, as in five columns,
# - else as much as it takes to see weights of 3 percent, within 15 and 30 percent: nothing else will show the way.
#
# Further rounds of stage two cost nothing but time. They find what the first missed, so they are made where weights
# of 3 percent are hidden in the noise of stage one.


WORTH_SEEING = 0.03  # of the rows: weight of a Gaussian. research: Vectors: Gaussians, and rounds at one price
# Of the budget, for stage one. research: Vectors: the share of stage one
SHARE_IF_FILLED, SHARE_IF_NEAR, LEAST_SHARE, LARGEST_SHARE = 0.08, 0.1, 0.15, 0.3
# Of one lengthscale. derived: hundreds of public points fill, thousands come near
CELLS_FILLED, CELLS_NEAR = 2**8, 2**20
MOST_OCTAVES = 6  # doubled lengthscales at most. limit: widths of 64 lengthscales
MOST_ROUNDS = 3  # of stage two. limit: of time, each sums over all rows again


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
        """The number of points of all kinds."""
        return self.near + self.far + self.peaks + self.around + self.draws


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stages:
    """What stage one gets of the budget, how much it measures, at which multiples of the lengthscale; all rounds.

    `cells` of one lengthscale make up the public law's space; `gaussians` have a closed form in the kernel's subspaces.
    Gaussians of 3 % of the rows are hidden in the noise of stage one where it is `blind`.
    """

    share: float
    features: int
    octaves: int
    dimension: int
    rounds: int
    cells: float
    gaussians: bool
    blind: bool
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
    def search(self) -> float:
        """What the best of n places explains by chance: the largest square of n noises is about 2 ln n."""
        return 2.0 * math.log(min(self.cells, self.search_draws))

    @property
    def first_cloud(self) -> CloudSizes:
        """Points near the mass are what counts; public draws look for more where they come near most places.

        Where no Gaussians explain it, the points themselves have to; where stage one shows all mass, fewer look for it.
        """
        if not self.gaussians:
            return CloudSizes(near=1024, far=256, peaks=256, around=0, draws=256)
        if self.cells <= CELLS_FILLED:
            return CloudSizes(near=768, far=256, peaks=256, around=0, draws=256)
        if not self.blind:
            return CloudSizes(near=640, far=192, peaks=128, around=0, draws=64)
        if self.cells > CELLS_NEAR:
            return CloudSizes(near=512, far=256, peaks=512, around=0, draws=128)
        return CloudSizes(near=512, far=256, peaks=512, around=0, draws=1024)

    @property
    def next_cloud(self) -> CloudSizes:
        """The sizes of the cloud in further rounds."""
        return CloudSizes(near=160, far=64, peaks=224, around=64, draws=128)


def plan_stages(
    kernel: ShiftInvariant,
    privacy: Privacy,
    rows: int | None,
    draws: Floats,
    *,
    features: int | None = None,
    share: float | None = None,
    rounds: int | None = None,
) -> Stages:
    """The rule. `rows` is N where it is public, `draws` are points from the public source: (m, d)."""
    dimension = draws.shape[1]
    octaves = min(MOST_OCTAVES, max(0, math.ceil(math.log2(max(_typical_distance(kernel, draws), 1.0) / 2.0))))
    cells = _cells(kernel, draws)
    hidden = _least_visible(privacy, rows, MORE_FEATURES if features is None else features, dimension)
    chosen, reason = (share, "as given") if share is not None else _share(hidden, cells)
    gaussians = isinstance(kernel, Gaussian)
    blind = hidden is None or hidden > WORTH_SEEING * math.sqrt(chosen)
    waves, number = _features(features, blind=blind)
    looks, why = _rounds(rounds, cells, possible=gaussians and not privacy.pure, blind=blind)
    stages = Stages(
        share=chosen,
        features=waves,
        octaves=octaves,
        dimension=dimension,
        rounds=looks,
        cells=cells,
        gaussians=gaussians,
        blind=blind,
    )
    return replace(
        stages,
        choices=(
            Choice(name="stages", value=2, reason="Fourier features find the mass, a subspace around it is measured"),
            Choice(name="percent of the budget for stage one", value=round(100 * chosen), reason=reason),
            Choice(name="features of stage one", value=waves, reason=number),
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


def _cells(kernel: ShiftInvariant, draws: Floats) -> float:
    """How many cells of one lengthscale make up the public law's space."""
    return float((1.0 + _typical_distance(kernel, draws)) ** draws.shape[1])


def _least_visible(privacy: Privacy, rows: int | None, features: int, dimension: int) -> float | None:
    """The weight of a Gaussian that stage one would show, if it had the whole budget; None where N is private.

    It has to stand above the highest peak of noise that a search finds: the best start, climbed in d directions.
    """
    if rows is None or privacy.pure:
        return None
    return math.hypot(SIGNIFICANCE, math.sqrt(dimension)) * 2.0 / (rows * privacy.total(features).mu)


def _share(visible: float | None, cells: float) -> tuple[float, str]:
    if cells <= CELLS_FILLED:
        return SHARE_IF_FILLED, "the public points fill the space at the kernel's lengthscale"
    if cells <= CELLS_NEAR:
        if visible is None or visible > WORTH_SEEING * math.sqrt(SHARE_IF_NEAR):
            return LEAST_SHARE, "the public points come near most places, but light Gaussians are hidden in the noise"
        return SHARE_IF_NEAR, "the public points come near most places"
    if visible is None:
        return LARGEST_SHARE, "the rule where the number of rows is private, or the noise is Laplace's"
    wanted = (visible / WORTH_SEEING) ** 2
    if wanted > LARGEST_SHARE:
        return LARGEST_SHARE, "the most it may have: to see Gaussians of 3 % of the rows it would need more"
    return max(wanted, LEAST_SHARE), "enough to see Gaussians of 3 % of the rows, and at least 15"


def _features(given: int | None, *, blind: bool) -> tuple[int, str]:
    if given is not None:
        return given, "as given"
    if blind:
        return MORE_FEATURES, "light Gaussians are hidden in the noise"
    return FEATURES, "light Gaussians stand out of the noise"


def _rounds(given: int | None, cells: float, *, possible: bool, blind: bool) -> tuple[int, str]:
    if given is not None:
        if given > 1 and not possible:
            raise ParameterError("Adaptive: more than one round needs a Gaussian kernel and Gaussian noise (δ > 0).")
        return given, "as given"
    if not (possible and blind and cells > CELLS_FILLED):
        return 1, "one shows all that can be found"
    most = MOST_ROUNDS if cells <= CELLS_NEAR else 2  # each is slower in more columns, and finds less
    return most, "light Gaussians are hidden from stage one"


# --------------------
# Where to look next, from noisy results alone. Distances are in lengthscales.


_NEAR, _FAR = 0.2, 0.7  # of points from where mass was seen, in lengthscales. convention: none near is worse
_PEAK_WIDTH = 0.2  # of the Gaussians whose witness is climbed. convention: none near is worse


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Explorer:
    """Gaussians that explain what has been measured, and the points that the next measurement should look at."""

    kernel: ShiftInvariant
    source: PointSource
    stages: Stages
    generator: np.random.Generator
    whereabouts: Whereabouts  # in lengthscales
    ball: Ball  # around the middle of the public law, as far as its farthest draw

    @classmethod
    def of(
        cls, kernel: ShiftInvariant, source: PointSource, stages: Stages, generator: np.random.Generator
    ) -> "Explorer":
        """One that expects mass where the public law has it."""
        scale = np.broadcast_to(np.asarray(kernel.lengthscale, dtype=np.float64), (stages.dimension,))
        draws = finite_numbers(source.draw(_PUBLIC_DRAWS, generator)) / scale
        whereabouts = Whereabouts.of(draws, 1.0)
        farthest = max(1.0, float(np.linalg.norm(whereabouts.away(draws), axis=1).max()))
        ball = Ball(
            middle=tuple((whereabouts.middle * scale).tolist()),
            reach=tuple((whereabouts.spread * farthest * scale).tolist()),
        )
        return cls(kernel=kernel, source=source, stages=stages, generator=generator, whereabouts=whereabouts, ball=ball)

    @property
    def scale(self) -> Floats:
        """The lengthscale of each column: (d,)."""
        return np.broadcast_to(np.asarray(self.kernel.lengthscale, dtype=np.float64), (self.stages.dimension,))

    def first_gaussians(self, waves: Likelihood) -> Gaussians:
        """What stands out of the noise of stage one, coarse to fine."""
        solver = SlidingFrankWolfe(lengthscale=1.0, widths=self.stages.widths)
        return solver.gaussians(waves, self._draw, self.generator)

    def grow(self, likelihood: JointLikelihood, places: Floats, start: Gaussians) -> Gaussians:
        """Gaussians that explain all that was measured, from those of the round before."""
        moving = optimiser(self.whereabouts, 2.0 * max(self.stages.widths))
        growing = Growing(optimiser=moving, search=self.stages.search)
        grown = growing.grow(likelihood, places, start)
        if self.stages.cells <= CELLS_FILLED:  # so that places say enough of where mass is
            grown = growing.begin_anew(likelihood, places, grown)
        return grown.gaussians

    def cloud(self, likelihood: Likelihood, gaussians: Gaussians, *, first: bool) -> Floats:
        """Points around the Gaussians, at weak peaks that may be something, and first from the public law: (m, d).

        A peak that can't be told from noise costs nothing to look at: if it was noise, it will be gone.
        """
        sizes = self.stages.first_cloud if first else self.stages.next_cloud
        solver = SlidingFrankWolfe(
            lengthscale=1.0, widths=self.stages.widths, draws=self.stages.search_draws, starts=2 * sizes.peaks
        )
        peaks = solver.missing(
            likelihood, gaussians, self._draw, self.generator, width=_PEAK_WIDTH, significance=0.0, count=sizes.peaks
        )
        # A light Gaussian has as many parameters as a heavy one; but where it may be noise, it has fewer points.
        known = gaussians if self.stages.blind else gaussians.with_weights(np.ones(len(gaussians)))
        near = known.sample(sizes.near, self.generator, jitter=_NEAR)
        far = known.sample(sizes.far, self.generator, jitter=_FAR)
        around = peaks[: sizes.around] + _NEAR * self.generator.standard_normal(peaks[: sizes.around].shape)
        return np.concatenate([gaussians.centres, near, far, peaks, around, self._draw(sizes.draws)])

    def _draw(self, count: int) -> Floats:
        return finite_numbers(self.source.draw(count, self.generator)) / self.scale


# --------------------
# The method itself.


# Of stage one, where Gaussians of 3 % of the rows show in its noise. research: Vectors: half the features, where mass
# is visible
FEATURES = 2048
MORE_FEATURES = 2 * FEATURES  # where they don't. derived: twice the former
# Coordinates of the first round of stage two at most. limit: of time, the factorisation and the fit take seconds
RANK = 2048
_MORE_RANK = 512  # coordinates of each further round. convention: none near is worse
_SPANNING = 4096  # public points that may span the subspace. limit: their Gram matrix is 128 MiB
_PUBLIC_DRAWS = 1024  # to see how far public points are apart. convention: none near is worse
_RELEASED = 2048  # points drawn from the Gaussians, whose weights are fitted. convention: none near is worse
# Strength, per point drawn, with which weights keep to the Gaussians' mean. convention: none near is worse
_MATCHING = 0.5
_DOUBT = 2.0  # standard deviations of an estimate, to speak against natural weights. convention: about 95 %
_SOME = 512  # candidates by which a misfit is judged. limit: of time, a tenth of a second
_DRAWS = "adaptive: public points"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive(Method):
    """Two stages: random Fourier features find where mass is, then a subspace around it is measured, in rounds.

    `points` is what is public about where rows lie: a law to draw from, public points, or published rows. `share` is
    the part of the budget for stage one, `features` how much it measures (None: rules of public quantities), `rank`
    the most coordinates of a first look at the subspace, `rounds` how often it looks (None: likewise a rule). The
    weights are those of a probability distribution, chosen by `tilting`. With `device="cuda"` Gaussians are searched
    for on a GPU.

    For Gaussian kernels Gaussians explain what both stages show, and rows differ from their law by chance alone. Where
    these leave the mean of the rows more open than a noisy sum would, a part of the budget goes to that sum. Further
    rounds reveal more coordinates of the same noisy embedding at no further price (docs/proofs/rounds.md).

    One stage is enough where rows are published, since they say where to look; and kernels that are not shift-invariant
    have no Fourier features to look with: then the points span the subspace as they are.
    """

    points: PointSource | PublishedRows
    share: float | None = None
    features: int | None = None
    rank: int = RANK
    rounds: int | None = None
    tilting: Tilting = Tilting()
    device: str | None = None

    def __post_init__(self) -> None:
        check_points("Adaptive: points", self.points)
        if self.features is not None:
            check_integer("Adaptive: features", self.features, 2, 2**20)
        check_integer("Adaptive: rank", self.rank, 1, _SPANNING)
        if self.rounds is not None:
            check_integer("Adaptive: rounds", self.rounds, 1, MOST_ROUNDS)
        if self.features is not None and self.features % 2:
            raise ParameterError(f"Adaptive: features must be even, got {self.features!r}.")
        if self.share is not None and not 0.0 < self.share < 1.0:
            raise ParameterError(f"Adaptive: share must lie between 0 and 1, got {self.share!r}.")
        if self.device not in (None, "cuda"):
            raise ParameterError(f"Adaptive: device must be None or 'cuda', got {self.device!r}.")

    def plan(self, kernel: Kernel, privacy: Privacy, rows: int | None, *, seed: int = 0) -> tuple[Choice, ...]:
        """What `measure` would choose for a table of so many rows (None: private), from public quantities alone.

        >>> from kernelease.fit import NormalPoints
        >>> from kernelease.kernels import Gaussian
        >>> method = Adaptive(points=NormalPoints(dimension=2, scale=5.0))
        >>> print(method.plan(Gaussian(lengthscale=1.0), Privacy(epsilon=1.0, delta=1e-6), 100_000)[1])
        percent of the budget for stage one = 8: the public points fill the space at the kernel's lengthscale
        """
        cap = Choice(name="rank", value=self.rank, reason="at most: as far as the public points are well-conditioned")
        if isinstance(self.points, PublishedRows) or not isinstance(kernel, ShiftInvariant):
            return (Choice(name="stages", value=1, reason="the public points say where to look"), cap)
        if rows is not None:
            check_integer("Adaptive.plan: rows", rows, 1, 2**62)
        return (*self._stages(self.points, kernel, privacy, rows, PublicSeed(seed)).choices, cap)

    @property
    def dimension(self) -> int | None:
        return None if isinstance(self.points, PublishedRows) else self.points.dimension

    @one_thread()
    def measure(self, rows: PrivateRows, context: Context) -> NoisyEmbeddings:
        """Two stages where there is something to look for and a way to do it, else one."""
        if isinstance(self.points, PublishedRows):
            public = admitted_rows(self.points, rows, context)
            return self._one_stage(rows, public, context, "the published rows say where to look")
        refuse_publishing(self.points, context)
        refuse_other_columns(rows, self.points.dimension, "Adaptive")
        if isinstance(context.kernel, ShiftInvariant):
            return self._two_stages(rows, self.points, context.kernel, context)
        public = context.kernel.admit(self.points.draw(_SPANNING, context.seed.generator(_DRAWS)))
        reason = (
            f"{type(context.kernel).__name__} is not shift-invariant, so there are no Fourier features to look with"
        )
        return self._one_stage(rows, public, context, reason)

    @one_thread()
    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Solution:
        """Weights for the candidates, as far from the best guess as the noise lets be seen."""
        embeddings, basis = measured_subspace(measured, "Adaptive")
        noisy = embeddings.embedding
        laws = None if embeddings.law is None else self._laws(embeddings, basis.kernel, seed)
        points, tilted = self._tilt(embeddings, basis, laws, seed)
        if laws is not None and measured_mean(embeddings) is not None:
            tilted = _with_mean(embeddings, basis, laws, points, tilted)
        if laws is not None and self._fills_space(basis.kernel, seed):
            tilted = _with_moments(embeddings, basis, laws, points, tilted)
        synthetic = SyntheticSet(points=points, weights=tilted.weights)
        distance = float(np.linalg.norm(noisy.mean - noisy.sigma * tilted.fitted))
        return Solution(
            synthetic=synthetic,
            distance=distance,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.NOISE_FLOOR if distance <= noisy.noise_floor else Outcome.NO_PROGRESS,
            iterations=round(tilted.freedom),
        )

    def _laws(self, measured: NoisyEmbeddings, kernel: Kernel, seed: PublicSeed) -> FittedLaws:
        """The Gaussians, whose centres are expected where the public law has its points."""
        if not isinstance(kernel, ShiftInvariant) or isinstance(self.points, PublishedRows):
            raise ParameterError("Adaptive: can only fit what Adaptive has measured, with points of the same kind.")
        draws = finite_numbers(self.points.draw(_PUBLIC_DRAWS, seed.generator(_DRAWS)))
        return FittedLaws.of(measured, kernel, Whereabouts.of(draws / np.asarray(kernel.lengthscale), 1.0))

    def _fills_space(self, kernel: Kernel, seed: PublicSeed) -> bool:
        """Whether public points fill the space, so that points a lengthscale apart can be anywhere."""
        assert isinstance(kernel, ShiftInvariant)
        assert not isinstance(self.points, PublishedRows)
        draws = finite_numbers(self.points.draw(_PUBLIC_DRAWS, seed.generator(_DRAWS)))
        return _cells(kernel, draws) <= CELLS_FILLED

    def _tilt(
        self, measured: NoisyEmbeddings, basis: Nystrom, laws: FittedLaws | None, seed: PublicSeed
    ) -> tuple[Rows, Tilted]:
        """Points and their weights: near the Gaussians' law, near published rows, or near equal weights."""
        noisy, candidates = measured.embedding, measured.candidates
        if not isinstance(self.points, PublishedRows):
            candidates = self.points.within(candidates)
        target = noisy.mean / noisy.sigma
        around = None
        if laws is not None:
            around = self._around(measured, basis, laws, seed)
            if not self._leaves_signal(around[1], target, candidates, basis, noisy.sigma):
                return around
        features = basis.evaluate(candidates) / noisy.sigma
        base = np.full(len(candidates), 1.0 / len(candidates))
        natural = _natural_strength(measured.published_rows, noisy.rows)
        if natural is not None:
            return candidates, self.tilting.descend(features, target, base, natural=natural, doubt=_DOUBT)
        if around is None:
            return candidates, self.tilting.solve(features, target, base)
        free = replace(self.tilting, ratio=self.tilting.ratio**2).solve(features, target, base)  # only in case
        return (candidates, free) if free.surpasses(around[1], _DOUBT) else around

    def _leaves_signal(self, around: Tilted, target: Floats, candidates: Rows, basis: Nystrom, sigma: float) -> bool:
        """Whether the Gaussians leave more than noise: in all coordinates, or where candidates could have weight.

        Noise e of variance 1 has ‖e‖² = n ± √(2n), and eᵀCe = tr C ± √(2 tr C²) for the candidates' covariance C.
        """
        residual = target - around.fitted
        if around.risk > around.freedom + _DOUBT * math.sqrt(2.0 * len(residual)):
            return True
        some = candidates[:: max(1, len(candidates) // _SOME)]
        features = basis.evaluate(some) / sigma
        features -= features.mean(axis=0)
        gram = features @ features.T
        excess = float(((features @ residual) ** 2).sum() - np.trace(gram))
        return excess > _DOUBT * math.sqrt(2.0 * float((gram**2).sum()))

    def _around(
        self, measured: NoisyEmbeddings, basis: Nystrom, laws: FittedLaws, seed: PublicSeed
    ) -> tuple[Rows, Tilted]:
        """Points of the Gaussians' law, with weights near it; the Gaussians' parameters have followed the noise too."""
        noisy, kernel = measured.embedding, basis.kernel
        assert isinstance(kernel, ShiftInvariant)
        assert not isinstance(self.points, PublishedRows)
        likelihood, gaussians, flat = laws.likelihood, laws.round, laws.flat
        law = gaussians if flat is None else flat
        drawn, own = law.spread(_RELEASED, seed.generator("adaptive: released points"))
        points = kernel.admit(self.points.within(drawn * kernel.lengthscale))
        features = basis.evaluate(points) / noisy.sigma
        mean = likelihood.target - likelihood.residual(gaussians) if flat is None else flat.features(likelihood)
        base = match_mean(features, mean, own, strength=_MATCHING * len(points))
        tilted = self.tilting.descend(features, likelihood.target, base, natural=2.0 * noisy.rows)
        round_ = likelihood.number_followed(gaussians, likeness=laws.likeness, narrowest=NARROWEST)
        followed = round_ if flat is None else float(flat.parameters)
        near = points, replace(tilted, risk=tilted.risk + 2.0 * followed, freedom=tilted.freedom + followed)
        if not self._fills_space(kernel, seed):
            return near
        wide = replace(gaussians, widths=np.hypot(gaussians.widths, 1.0))
        drawn, own = wide.spread(_RELEASED, seed.generator("adaptive: blurred points"))
        blurred = self._blur(drawn * kernel.lengthscale, own, noisy, basis)
        # Weights near the Gaussians follow the noise where these have followed it: what both follow counts once.
        least = tilted.risk + 2.0 * max(0.0, followed - tilted.freedom)
        return blurred if blurred[1].risk < least else near

    def _blur(self, points: Rows, own: Floats, noisy: NoisyEmbedding, basis: Nystrom) -> tuple[Rows, Tilted]:
        """Points a lengthscale around the Gaussians, with weights as even as what was measured lets them be.

        Where columns are few, they fill the space. Gaussians end softly, and leave gaps where the kernel sees none: a
        law that ends at the wall of a box, or falls slowly, is told better by these. Points beyond it are left out.
        """
        inside = np.ones(len(points), dtype=np.bool_)
        if not isinstance(self.points, PublishedRows):
            inside = np.asarray((self.points.within(points) == points).all(axis=1))
        inside |= not inside.any()
        points = basis.kernel.admit(points[inside])
        features = basis.evaluate(points) / noisy.sigma
        return points, self.tilting.solve(features, noisy.mean / noisy.sigma, own[inside] / own[inside].sum())

    def _one_stage(self, rows: PrivateRows, public: Rows, context: Context, reason: str) -> NoisyEmbeddings:
        basis = self._subspace(public[:_SPANNING], context.kernel)
        rehearse_measurement(basis, context.privacy)
        exact = rows.embedding(basis, threads=context.threads)
        budget = context.open_budget(basis.dimension + 1, "Adaptive, one stage")
        return NoisyEmbeddings(
            stages=(exact.privatise(budget, noise=context.noise),),
            candidates=public,
            choices=(Choice(name="stages", value=1, reason=reason), _rank_choice(basis)),
            published=self.points.published,
        )

    def _stages(
        self, source: PointSource, kernel: ShiftInvariant, privacy: Privacy, rows: int | None, seed: PublicSeed
    ) -> Stages:
        draws = kernel.columns_checked(source.draw(_PUBLIC_DRAWS, seed.generator(_DRAWS)))
        return plan_stages(kernel, privacy, rows, draws, share=self.share, features=self.features, rounds=self.rounds)

    def _two_stages(
        self, rows: PrivateRows, source: PointSource, kernel: ShiftInvariant, context: Context
    ) -> NoisyEmbeddings:
        stages = self._stages(source, kernel, context.privacy, context.public_rows(rows), context.seed)
        waves = _waves(kernel, stages, context)
        place = self._place()
        rehearse_measurement(waves, context.privacy)
        exact = rows.embedding(waves, threads=context.threads)
        largest = waves.dimension + self.rank + (MOST_ROUNDS - 1) * _MORE_RANK
        budget = context.open_budget(largest + 3 + stages.dimension, "Adaptive, two stages")
        coarse = exact.privatise(budget, noise=context.noise, share=stages.share, label="stage one: Fourier features")

        generator = context.seed.generator("adaptive: cloud")
        explorer = Explorer.of(kernel, source, stages, generator)
        seen: Likelihood = place(wave_likelihood(coarse, explorer.scale))
        gaussians = explorer.first_gaussians(seen)
        cloud = explorer.cloud(seen, gaussians, first=True)
        reserve = 2.0 * WIDENING if stages.rounds > 1 else 0.0  # the first round may use half of it
        basis = self._subspace(kernel.admit(cloud * explorer.scale), kernel, reserve=reserve)
        mean, left = self._mean_first(rows, coarse, basis, gaussians, explorer, budget, context)
        exact = rows.embedding(basis, threads=context.threads)
        fine = exact.privatise(
            budget, noise=context.noise, share=left, label="stage two: coordinates where the mass is"
        )
        places = cloud
        if stages.gaussians:
            seen = both = JointLikelihood(*map(place, joint_likelihood(coarse, fine, explorer.scale).parts))
            gaussians = explorer.grow(both, cloud, Gaussians.none(stages.dimension))
        for round_ in range(2, stages.rounds + 1):
            cloud = explorer.cloud(seen, gaussians, first=False)
            larger = extend(basis, kernel.admit(cloud * explorer.scale), most=_MORE_RANK)
            if larger is not basis:
                more = rows.embedding(larger.beyond(basis), threads=context.threads)
                basis, exact = larger, exact.join(more, larger)
                label = f"stage two, round {round_}"
                fine = exact.resume(fine, budget=budget, noise=context.noise, label=label)
            seen = both = JointLikelihood(*map(place, joint_likelihood(coarse, fine, explorer.scale).parts))
            gaussians = explorer.grow(both, cloud, gaussians)
            places = np.concatenate([places, cloud])
        return NoisyEmbeddings(
            stages=(coarse, *mean, fine),
            candidates=kernel.admit(places * explorer.scale),
            law=gaussians if stages.gaussians else None,
            choices=(*stages.choices, _rank_choice(basis), *_mean_choice(1.0 - stages.share - left)),
        )

    def _place(self) -> Callable[[Likelihood], Likelihood]:
        """Where a search has its likelihoods: here, or on a GPU, which must be there before anything is charged."""
        if self.device is None:
            return lambda likelihood: likelihood
        from kernelease.cuda import cupy  # noqa: PLC0415  # an engine apart
        from kernelease.fit.gaussians.search_on_gpu import LikelihoodOnGpu  # noqa: PLC0415

        cupy()
        return LikelihoodOnGpu

    def _mean_first(
        self,
        rows: PrivateRows,
        coarse: NoisyEmbedding,
        basis: Nystrom,
        gaussians: Gaussians,
        explorer: Explorer,
        budget: PrivacyFilter,
        context: Context,
    ) -> tuple[tuple[NoisyEmbedding, ...], float]:
        """The noisy sum of the rows, if they need one, and what it leaves of the budget for stage two.

        Where stage one is blind its Gaussians don't say what stage two will tell: they are not asked then.
        """
        stages, rest = explorer.stages, 1.0 - explorer.stages.share
        if not stages.gaussians or stages.blind or context.privacy.pure:
            return (), rest
        share = share_of_the_mean(coarse, basis, explorer.ball, gaussians, explorer.whereabouts, explorer.stages.share)
        if share == 0.0:
            return (), rest
        exact = rows.embedding(explorer.ball, threads=context.threads)
        return (exact.privatise(budget, noise=context.noise, share=share, label="mean of the rows"),), rest - share

    def _subspace(self, points: Rows, kernel: Kernel, *, reserve: float = 0.0) -> Nystrom:
        """The span of public points, as far as floats carry: coordinates with little in them do no harm to the fit."""
        factorisation = factorise(kernel, points, max_rank=min(self.rank, len(points)))
        return replace(well_conditioned(kernel, points, factorisation), reserve=reserve)


def _rank_choice(basis: Nystrom) -> Choice:
    return Choice(name="rank", value=basis.dimension, reason="all well-conditioned directions under the cap")


def _mean_choice(share: float) -> tuple[Choice, ...]:
    if share <= 0.0:
        return ()
    reason = "features of the kernel would tell the mean less well than a noisy sum of the rows"
    return (Choice(name="percent of the budget for the mean", value=round(100 * share), reason=reason),)


def _with_mean(measured: NoisyEmbeddings, basis: Nystrom, laws: FittedLaws, points: Rows, tilted: Tilted) -> Tilted:
    """Weights as near these as can be whose mean is the one that all that was measured tells together."""
    stage, kernel = measured_mean(measured), basis.kernel
    assert stage is not None
    assert isinstance(kernel, ShiftInvariant)
    averages, ball = laws.averages(measured, kernel), stage.feature_map
    value, open_ = averages.estimate(ball.evaluate(averages.points * np.asarray(kernel.lengthscale)))
    error = math.sqrt(float(np.trace(open_)) / len(value))
    weights = match_mean(ball.evaluate(points) / error, value / error, tilted.weights, strength=1.0)
    return replace(tilted, weights=weights, fitted=weights @ basis.evaluate(points) / measured.embedding.sigma)


def _with_moments(measured: NoisyEmbeddings, basis: Nystrom, laws: FittedLaws, points: Rows, tilted: Tilted) -> Tilted:
    """Weights as near these as can be with the mean and second moments that all that was measured tells.

    Where points fill the space, theirs may be off by more than is known: the kernel hardly sees them. The weights stay
    where the features would be further off than chance allows, by 2 for each moment.
    """
    kernel = basis.kernel
    assert isinstance(kernel, ShiftInvariant)
    averages, scale = laws.averages(measured, kernel), np.asarray(kernel.lengthscale)

    def moments(places: Floats) -> Floats:
        away, (i, j) = laws.whereabouts.away(places), np.tril_indices(places.shape[1])
        return np.hstack([away, away[:, i] * away[:, j]])

    value, open_ = averages.estimate(moments(averages.points))
    variances, axes = np.linalg.eigh(open_)
    turn = axes / np.sqrt(np.maximum(variances, np.finfo(float).eps * variances[-1]))
    weights = match_mean(moments(points / scale) @ turn, value @ turn, tilted.weights, strength=1.0)
    fitted = weights @ basis.evaluate(points) / measured.embedding.sigma
    if float(((fitted - tilted.fitted) ** 2).sum()) > 2.0 * len(value):
        return tilted
    return replace(tilted, weights=weights, fitted=fitted)


def _natural_strength(published: int, rows: float) -> float | None:
    """The pull toward equal weights that published rows deserve, if which ones they are is by chance.

    Their mean is then off by a covariance of C·(1/n − 1/N), and Wiener shrinkage of a coordinate with noise of
    variance 1 takes C/(C + λ/2) of what is measured, with λ/2 = 1/(1/n − 1/N).
    """
    return 2.0 / (1.0 / published - 1.0 / rows) if 0 < published < rows else None


def _waves(kernel: ShiftInvariant, stages: Stages, context: Context) -> Fourier:
    """Three quarters of the frequencies at the kernel's lengthscale, the rest at its doubles: coarse ones see far."""
    count, dimension = stages.features // 2, stages.dimension
    frequencies = kernel.frequencies(context.seed.generator("Fourier frequencies"), count, dimension)
    if stages.octaves:
        coarse = np.arange(count - count // 4, count)
        frequencies[coarse] /= 2.0 ** (1 + coarse % stages.octaves)[:, None]
    return Fourier(frequencies=frequencies, resolution=default_resolution(kernel.lengthscale, dimension))
