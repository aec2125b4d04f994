"""Where `Adaptive` looks next, from what it has seen: all of this is public, and works in units of the lengthscales."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, finite_numbers
from kernelease.errors import ParameterError
from kernelease.features.fourier import Fourier
from kernelease.features.grid import default_resolution
from kernelease.features.nystrom import Nystrom
from kernelease.fit.gaussians.fourier import FourierLikelihood
from kernelease.fit.gaussians.growing import Growing
from kernelease.fit.gaussians.levenberg_marquardt import LevenbergMarquardt
from kernelease.fit.gaussians.likelihood import JointLikelihood, Likelihood
from kernelease.fit.gaussians.sliding_frank_wolfe import SlidingFrankWolfe
from kernelease.fit.gaussians.subspace import SubspaceLikelihood
from kernelease.fit.points.source import PointSource
from kernelease.kernels.shift_invariant import ShiftInvariant
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.measured.gaussians import Gaussians
from kernelease.methods.adaptive.stages import Stages

_NEAR, _FAR = 0.2, 0.7  # of points from where mass was seen, in lengthscales. research: Vectors: one constant at a time
_PEAK_WIDTH = 0.2  # of the Gaussians whose witness is climbed. research: Vectors: one constant at a time
_LIKENESS = 0.7  # spread of log-variances. research: Vectors: Gaussians, and rounds at one price


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Explorer:
    """Gaussians that explain what has been measured, and the points that the next measurement should look at."""

    kernel: ShiftInvariant
    source: PointSource
    stages: Stages
    generator: np.random.Generator

    @property
    def scale(self) -> Floats:
        """The lengthscale of each column: (d,)."""
        return np.broadcast_to(np.asarray(self.kernel.lengthscale, dtype=np.float64), (self.stages.dimension,))

    def waves(self, coarse: NoisyEmbedding) -> FourierLikelihood:
        """What Fourier features say, in lengthscales."""
        if not isinstance(coarse.feature_map, Fourier):
            raise ParameterError("Adaptive: stage one measures Fourier features.")
        rescaled = Fourier(
            frequencies=coarse.feature_map.frequencies * self.scale,
            resolution=default_resolution(1.0, self.stages.dimension),
        )
        return FourierLikelihood(rescaled, coarse.mean / coarse.sigma, coarse.sigma)

    def joint(self, coarse: NoisyEmbedding, fine: NoisyEmbedding) -> JointLikelihood:
        """What Fourier features and a subspace say together."""
        return JointLikelihood(self.waves(coarse), subspace_likelihood(fine, self.scale))

    def first_gaussians(self, waves: Likelihood) -> Gaussians:
        """What stands out of the noise of stage one, coarse to fine."""
        return SlidingFrankWolfe(lengthscale=1.0, widths=self.stages.widths).gaussians(
            waves, self._draw, self.generator
        )

    def grown(self, likelihood: Likelihood, places: Floats, start: Gaussians) -> Gaussians:
        """Gaussians that explain all that was measured, from those of the round before."""
        optimiser = LevenbergMarquardt(
            lengthscale=1.0, widest=2.0 * max(self.stages.widths), likeness=_LIKENESS, steps=25
        )
        return Growing(optimiser=optimiser).grow(likelihood, places, start).gaussians

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
        near = gaussians.sample(sizes.near, self.generator, jitter=_NEAR)
        far = gaussians.sample(sizes.far, self.generator, jitter=_FAR)
        around = peaks[: sizes.around] + _NEAR * self.generator.standard_normal(peaks[: sizes.around].shape)
        return np.concatenate([gaussians.centres, near, far, peaks, around, self._draw(sizes.draws)])

    def _draw(self, count: int) -> Floats:
        return finite_numbers(self.source.draw(count, self.generator)) / self.scale


def subspace_likelihood(noisy: NoisyEmbedding, scale: float | tuple[float, ...] | Floats) -> SubspaceLikelihood:
    """What coordinates in a subspace say, in lengthscales."""
    basis = noisy.feature_map
    if not isinstance(basis, Nystrom):
        raise ParameterError("Adaptive: stage two measures a subspace.")
    points = basis.points / np.asarray(scale, dtype=np.float64)
    return SubspaceLikelihood(points, basis.change_of_basis / noisy.sigma, noisy.mean / noisy.sigma)
