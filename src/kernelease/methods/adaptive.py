"""Spend a part of the budget to find where the rows are, look at the noisy result, and spend the rest there."""

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, Rows, finite_numbers
from kernelease.embedding.exact import ExactEmbedding
from kernelease.embedding.noisy import NoisyEmbedding
from kernelease.errors import ParameterError
from kernelease.features.fourier import Fourier
from kernelease.features.grid import default_resolution
from kernelease.features.nystrom import Nystrom, factorise, well_conditioned_rank
from kernelease.fit.particles import SlidingFrankWolfe, landscape_of
from kernelease.fit.points import PointSource
from kernelease.fit.solution import Outcome, Solution, SyntheticSet
from kernelease.fit.tilting import Tilting
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.parameters import check_integer
from kernelease.kernels.shift_invariant import ShiftInvariant
from kernelease.methods.adaptive_plan import Stages, plan_stages, typical_lengthscale
from kernelease.methods.method import Context, Measured, Method, refuse_other_columns
from kernelease.methods.rehearsal import rehearse_measurement
from kernelease.methods.rules import Choice, noise_optimal_rank
from kernelease.methods.subspace import PublishedRows, admitted_rows

FEATURES = 4096
RANK = 1536  # coordinates of the last stage at most: the factorisation and the fit then take seconds
_SPANNING = 4096  # public points that may span the subspace
_PUBLIC_DRAWS = 1024
_CLOUD = 1024  # points close to what stage one found, and a quarter as many further out
_WEAK_PEAKS = 256  # places that stage one can't tell from noise, for stage two to look at
_NEAR, _FAR = 0.2, 0.7  # how far points of the cloud are from where stage one puts mass, in lengthscales


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive(Method):
    """Two stages: random Fourier features find where mass is, then a subspace around it is measured.

    `points` is what is public about where rows lie: a law to draw from, public points, or published rows. `share` is
    the part of the budget for stage one (None: a rule of public quantities), `features` how much it measures, `rank`
    the most coordinates of stage two. The weights are those of a probability distribution, chosen by `tilting`.

    One stage is enough where rows are published, since they say where to look; and kernels that are not shift-invariant
    have no Fourier features to look with: then the points span the subspace as they are.
    """

    points: PointSource | PublishedRows
    share: float | None = None
    features: int = FEATURES
    rank: int = RANK
    tilting: Tilting = Tilting()

    def __post_init__(self) -> None:
        check_integer("Adaptive: features", self.features, 2, 2**20)
        check_integer("Adaptive: rank", self.rank, 1, _SPANNING)
        if self.features % 2:
            raise ParameterError(f"Adaptive: features must be even, got {self.features!r}.")
        if self.share is not None and not 0.0 < self.share < 1.0:
            raise ParameterError(f"Adaptive: share must lie between 0 and 1, got {self.share!r}.")

    def measure(self, rows: Rows, context: Context) -> Measured:
        """Two stages where there is something to look for and a way to do it, else one."""
        if isinstance(self.points, PublishedRows):
            public = admitted_rows(self.points, rows, context)
            return self._one_stage(rows, public, context, "the published rows say where to look")
        refuse_other_columns(rows, self.points.dimension, "Adaptive")
        generator = context.seed.generator("adaptive: public points")
        if isinstance(context.kernel, ShiftInvariant):
            draws = finite_numbers(self.points.draw(_PUBLIC_DRAWS, generator))
            return self._two_stages(rows, self.points, draws, context.kernel, context)
        public = context.kernel.admit(self.points.draw(_SPANNING, generator))
        reason = (
            f"{type(context.kernel).__name__} is not shift-invariant, so there are no Fourier features to look with"
        )
        return self._one_stage(rows, public, context, reason)

    def fit(self, measured: Measured, context: Context) -> Solution:
        """Weights for the candidates, as far from equal ones as the noise lets be seen."""
        noisy = measured.embedding
        if noisy is None or not isinstance(noisy.feature_map, Nystrom):
            raise ParameterError("Adaptive: can only fit what Adaptive has measured.")
        candidates = measured.candidates
        features = noisy.feature_map.evaluate(candidates) / noisy.sigma
        base = np.full(len(candidates), 1.0 / len(candidates))
        natural = _natural_strength(measured.published_rows, noisy.rows)
        tilted = self.tilting.solve(features, noisy.mean / noisy.sigma, base, natural=natural)
        synthetic = SyntheticSet(points=candidates, weights=tilted.weights)
        distance = synthetic.distance(noisy.feature_map, noisy.mean)
        return Solution(
            synthetic=synthetic,
            distance=distance,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.NOISE_FLOOR if distance <= noisy.noise_floor else Outcome.NO_PROGRESS,
            iterations=round(tilted.freedom),
        )

    def _one_stage(self, rows: Rows, public: Rows, context: Context, reason: str) -> Measured:
        sigma = self._expected_sigma(context, context.public_rows(rows), 1.0)
        basis, rank = self._subspace(public[:_SPANNING], context.kernel, sigma)
        rehearse_measurement(basis, context.privacy)
        exact = ExactEmbedding.of(rows, basis, threads=context.threads)
        budget = context.open_budget(basis.dimension + 1, "Adaptive, one stage")
        noisy = exact.privatise(budget, noise=context.noise)
        return Measured(
            budget=budget,
            embedding=noisy,
            steps=(noisy.measurement.step,),
            candidates=public,
            choices=(Choice(name="stages", value=1, reason=reason), rank),
            private=context.noise.private,
            published_rows=self.points.count if isinstance(self.points, PublishedRows) else 0,
        )

    def _two_stages(
        self, rows: Rows, source: PointSource, draws: Floats, kernel: ShiftInvariant, context: Context
    ) -> Measured:
        known = context.public_rows(rows)
        stages = plan_stages(kernel, context.privacy, known, draws, share=self.share, features=self.features)
        waves = _waves(kernel, stages, context)
        rehearse_measurement(waves, context.privacy)
        exact = ExactEmbedding.of(rows, waves, threads=context.threads)
        budget = context.open_budget(waves.dimension + self.rank + 2, "Adaptive, two stages")
        coarse = exact.privatise(budget, noise=context.noise, share=stages.share, step="stage one: Fourier features")
        cloud = _cloud(coarse, source, draws, stages, kernel, context)
        sigma = self._expected_sigma(context, known, 1.0 - stages.share)
        basis, rank = self._subspace(cloud, kernel, sigma)
        fine = ExactEmbedding.of(rows, basis, threads=context.threads).privatise(
            budget, noise=context.noise, share=1.0 - stages.share, step="stage two: coordinates where the mass is"
        )
        return Measured(
            budget=budget,
            embedding=fine,
            steps=(coarse.measurement.step, fine.measurement.step),
            candidates=cloud,
            choices=(*stages.choices, rank),
            private=context.noise.private,
        )

    def _subspace(self, points: Rows, kernel: Kernel, sigma: float | None) -> tuple[Nystrom, Choice]:
        """The span of public points, as far as its coordinates are worth their noise."""
        factorisation = factorise(kernel, points, max_rank=min(self.rank, len(points)))
        conditioned = well_conditioned_rank(kernel, points, factorisation)
        optimal = (
            conditioned if sigma is None else noise_optimal_rank(factorisation.residuals[: conditioned + 1], sigma)
        )
        reason = "noise-optimal" if optimal < conditioned else "all well-conditioned directions under the cap"
        choice = Choice(name="rank", value=optimal, reason=reason)
        return Nystrom.from_factor(kernel, points, factorisation, rank=optimal), choice

    def _expected_sigma(self, context: Context, rows: int | None, share: float) -> float | None:
        """The noise to expect in each coordinate of a subspace, where N is public."""
        if rows is None or context.privacy.pure:
            return None
        total = context.privacy.total(self.features + self.rank + 2)
        return context.kernel.diameter / (rows * total.mu * math.sqrt(share))


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


def _cloud(
    coarse: NoisyEmbedding,
    source: PointSource,
    draws: Floats,
    stages: Stages,
    kernel: ShiftInvariant,
    context: Context,
) -> Floats:
    """Points around what stage one shows, at weak peaks that may be something, and from the public law: (m, d)."""
    generator, unit = context.seed.generator("adaptive: cloud"), typical_lengthscale(kernel)
    solver = SlidingFrankWolfe(lengthscale=unit, widths=stages.widths)
    landscape = landscape_of(coarse, coarse.mean)

    def draw(count: int) -> Floats:
        return finite_numbers(source.draw(count, generator))

    blobs = solver.blobs(landscape, draw, generator)
    near = blobs.sample(_CLOUD, generator, jitter=_NEAR * unit)
    far = blobs.sample(_CLOUD // 4, generator, jitter=_FAR * unit)
    weak = solver.missing(landscape, blobs, draw, generator, width=0.0, significance=0.0, count=_WEAK_PEAKS)
    cloud: Floats = kernel.admit(np.concatenate([near, far, weak, draws[: len(draws) // 4]]))
    return cloud
