"""Spend a part of the budget to find where the rows are, look at the noisy result, and spend the rest there."""

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.features.extension import extended
from kernelease.features.fourier import Fourier
from kernelease.features.grid import default_resolution
from kernelease.features.nystrom import WIDENING, Nystrom, factorise, well_conditioned_rank
from kernelease.fit.gaussians.likelihood import Likelihood
from kernelease.fit.points.source import PointSource, PublishedRows
from kernelease.fit.solution import Outcome, Solution, SyntheticSet
from kernelease.fit.weights.tilting import Tilted, Tilting, matched
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.parameters import check_integer
from kernelease.kernels.shift_invariant import ShiftInvariant
from kernelease.measured.choice import Choice
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.measured.embeddings import NoisyEmbeddings
from kernelease.measured.gaussians import Gaussians
from kernelease.measured.measured import Measured
from kernelease.methods.adaptive.explorer import Explorer, subspace_likelihood
from kernelease.methods.adaptive.stages import MOST_ROUNDS, Stages, plan_stages
from kernelease.methods.method import (
    Context,
    Method,
    admitted_rows,
    measured_subspace,
    refuse_other_columns,
    refuse_publishing,
)
from kernelease.methods.rehearsal import rehearse_measurement
from kernelease.privacy.accounting import Privacy
from kernelease.private.rows import PrivateRows
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed

FEATURES = 4096  # of stage one. limit: of time, drawing and summing them takes seconds
# Coordinates of the first round of stage two at most. limit: of time, the factorisation and the fit take seconds
RANK = 2048
_MORE_RANK = 512  # coordinates of each further round. research: Vectors: one constant at a time
_SPANNING = 4096  # public points that may span the subspace. limit: their Gram matrix is 128 MiB
_PUBLIC_DRAWS = 1024  # to see how far public points are apart. research: Vectors: one constant at a time
_RELEASED = 2048  # points drawn from the Gaussians, whose weights are fitted. research: Vectors: one constant at a time
# Strength, per point drawn, with which weights keep to the Gaussians' mean. research: Vectors: one constant at a time
_MATCHING = 0.5
_DOUBT = 2.0  # standard deviations of an estimate, to speak against natural weights. research: Vectors: adaptive
_DRAWS = "adaptive: public points"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptive(Method):
    """Two stages: random Fourier features find where mass is, then a subspace around it is measured, in rounds.

    `points` is what is public about where rows lie: a law to draw from, public points, or published rows. `share` is
    the part of the budget for stage one (None: a rule of public quantities), `features` how much it measures, `rank`
    the most coordinates of a first look at the subspace, `rounds` how often it looks (None: likewise a rule). The
    weights are those of a probability distribution, chosen by `tilting`.

    For Gaussian kernels Gaussians explain what both stages show, and rows differ from their law by chance alone.
    Further rounds reveal more coordinates of the same noisy embedding at no further price (docs/proofs/rounds.md).

    One stage is enough where rows are published, since they say where to look; and kernels that are not shift-invariant
    have no Fourier features to look with: then the points span the subspace as they are.
    """

    points: PointSource | PublishedRows
    share: float | None = None
    features: int = FEATURES
    rank: int = RANK
    rounds: int | None = None
    tilting: Tilting = Tilting()

    def __post_init__(self) -> None:
        check_integer("Adaptive: features", self.features, 2, 2**20)
        check_integer("Adaptive: rank", self.rank, 1, _SPANNING)
        if self.rounds is not None:
            check_integer("Adaptive: rounds", self.rounds, 1, MOST_ROUNDS)
        if self.features % 2:
            raise ParameterError(f"Adaptive: features must be even, got {self.features!r}.")
        if self.share is not None and not 0.0 < self.share < 1.0:
            raise ParameterError(f"Adaptive: share must lie between 0 and 1, got {self.share!r}.")

    def plan(self, kernel: Kernel, privacy: Privacy, rows: int | None, *, seed: int = 0) -> tuple[Choice, ...]:
        """What `measure` would choose for a table of so many rows (None: private), from public quantities alone.

        >>> from kernelease import Gaussian, NormalPoints
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
        """Of the public points."""
        return None if isinstance(self.points, PublishedRows) else self.points.dimension

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

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Solution:
        """Weights for the candidates, as far from the best guess as the noise lets be seen."""
        embeddings, basis = measured_subspace(measured, "Adaptive")
        noisy = embeddings.embedding
        points, tilted = self._tilted(embeddings, basis, seed)
        synthetic = SyntheticSet(points=points, weights=tilted.weights)
        distance = synthetic.distance(basis, noisy.mean)
        return Solution(
            synthetic=synthetic,
            distance=distance,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.NOISE_FLOOR if distance <= noisy.noise_floor else Outcome.NO_PROGRESS,
            iterations=round(tilted.freedom),
        )

    def _tilted(self, measured: NoisyEmbeddings, basis: Nystrom, seed: PublicSeed) -> tuple[Rows, Tilted]:
        """Points and their weights: near the Gaussians' law, near published rows, or near equal weights."""
        noisy, candidates = measured.embedding, measured.candidates
        target = noisy.mean / noisy.sigma
        around = None
        if measured.law is not None:
            around = self._around(measured.law, noisy, basis, seed)
            if around[1].risk < around[1].freedom + math.sqrt(
                0.5 * basis.dimension
            ):  # as if the Gaussians were the law
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

    def _around(
        self, gaussians: Gaussians, noisy: NoisyEmbedding, basis: Nystrom, seed: PublicSeed
    ) -> tuple[Rows, Tilted]:
        """Points of the Gaussians' law, with weights near it; the Gaussians' parameters have followed the noise too."""
        kernel = basis.kernel
        if not isinstance(kernel, ShiftInvariant):
            raise ParameterError("Adaptive: can only fit what Adaptive has measured.")
        drawn = gaussians.spread(_RELEASED, seed.generator("adaptive: released points"))
        points = kernel.admit(drawn * kernel.lengthscale)
        features = basis.evaluate(points) / noisy.sigma
        likelihood = subspace_likelihood(noisy, kernel.lengthscale)
        law = likelihood.target - likelihood.residual(gaussians)
        equal = np.full(len(points), 1.0 / len(points))
        base = matched(features, law, equal, strength=_MATCHING * len(points))
        tilted = self.tilting.descend(features, likelihood.target, base, natural=2.0 * noisy.rows)
        followed = float(gaussians.parameters)
        return points, replace(tilted, risk=tilted.risk + 2.0 * followed, freedom=tilted.freedom + followed)

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
        rehearse_measurement(waves, context.privacy)
        exact = rows.embedding(waves, threads=context.threads)
        largest = waves.dimension + self.rank + (MOST_ROUNDS - 1) * _MORE_RANK
        budget = context.open_budget(largest + 2, "Adaptive, two stages")
        coarse = exact.privatise(budget, noise=context.noise, share=stages.share, label="stage one: Fourier features")

        explorer = Explorer(
            kernel=kernel, source=source, stages=stages, generator=context.seed.generator("adaptive: cloud")
        )
        seen: Likelihood = explorer.waves(coarse)
        gaussians = explorer.first_gaussians(seen)
        cloud = explorer.cloud(seen, gaussians, first=True)
        reserve = 2.0 * WIDENING if stages.rounds > 1 else 0.0  # the first round may use half of it
        basis = self._subspace(kernel.admit(cloud * explorer.scale), kernel, reserve=reserve)
        fine = rows.embedding(basis, threads=context.threads).privatise(
            budget, noise=context.noise, share=1.0 - stages.share, label="stage two: coordinates where the mass is"
        )
        places = cloud
        if stages.gaussians:
            seen = explorer.joint(coarse, fine)
            gaussians = explorer.grown(seen, cloud, Gaussians.none(stages.dimension))
        for round_ in range(2, stages.rounds + 1):
            cloud = explorer.cloud(seen, gaussians, first=False)
            basis = extended(basis, kernel.admit(cloud * explorer.scale), most=_MORE_RANK)
            fine = rows.embedding(basis, threads=context.threads).resume(
                fine, budget=budget, noise=context.noise, label=f"stage two, round {round_}"
            )
            seen = explorer.joint(coarse, fine)
            gaussians = explorer.grown(seen, cloud, gaussians)
            places = np.concatenate([places, cloud])
        return NoisyEmbeddings(
            stages=(coarse, fine),
            candidates=kernel.admit(places * explorer.scale),
            law=gaussians if stages.gaussians else None,
            choices=(*stages.choices, _rank_choice(basis)),
        )

    def _subspace(self, points: Rows, kernel: Kernel, *, reserve: float = 0.0) -> Nystrom:
        """The span of public points, as far as floats carry: coordinates with little in them do no harm to the fit."""
        factorisation = factorise(kernel, points, max_rank=min(self.rank, len(points)))
        rank = well_conditioned_rank(kernel, points, factorisation)
        return replace(Nystrom.from_factor(kernel, points, factorisation, rank=rank), reserve=reserve)


def _rank_choice(basis: Nystrom) -> Choice:
    return Choice(name="rank", value=basis.dimension, reason="all well-conditioned directions under the cap")


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
