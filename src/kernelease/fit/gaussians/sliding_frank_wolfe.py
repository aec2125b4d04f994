"""Sliding Frank–Wolfe: insert Gaussians where mass is missing, solve all weights, move them, drop the empty ones.

Denoyelle, Duval, Peyré & Soubies (2019), with Gaussians in place of points: wide ones are placed first, where the
witness function is smooth enough to be climbed from afar, and narrow ones then start inside them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Floats, finite_numbers
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.fit.gaussians.climbing import climb, distinct
from kernelease.fit.gaussians.fourier import FourierLikelihood
from kernelease.fit.gaussians.levenberg_marquardt import LevenbergMarquardt
from kernelease.fit.gaussians.likelihood import Likelihood
from kernelease.fit.gaussians.reweighting import reweighted
from kernelease.fit.points.source import PointSource
from kernelease.fit.solution import Outcome, Solution, SyntheticSet
from kernelease.fit.solver import PointSolver
from kernelease.kernels.parameters import check_integer, check_number
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.measured.gaussians import Gaussians
from kernelease.seeds import PublicSeed

SIGNIFICANCE = 4.0  # standard deviations of the noise. derived: √(2 ln n), the highest of n = 3,000 noises

Draw = Callable[[int], Floats]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingFrankWolfe(PointSolver):
    """Gaussians that match a noisy embedding, coarse to fine, down to what the noise can hide.

    A Gaussian is inserted where its features correlate with the residual by more than `significance` standard
    deviations of the noise: more would fit noise. `lengthscale` is the kernel's (one number), the width of the finest
    peaks; `widths` are those of the Gaussians that are tried, in units of it, wide ones first.
    """

    lengthscale: float
    widths: tuple[float, ...] = (0.3,)
    significance: float = SIGNIFICANCE
    rounds: int = 12
    insertions: int = 8
    starts: int = 64
    draws: int = 2048
    steps: int = 40
    final_steps: int = 120

    def __post_init__(self) -> None:
        check_number("SlidingFrankWolfe: lengthscale", self.lengthscale, 1e-150, 1e150)
        for name in ("rounds", "insertions", "starts", "draws", "steps", "final_steps"):
            check_integer(f"SlidingFrankWolfe: {name}", getattr(self, name), 1, 2**62)

    def check(self, feature_map: FeatureMap, source: PointSource) -> None:
        """Refuse maps other than Fourier features: Gaussians have a closed form there."""
        _fourier(feature_map)

    def solve(self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed) -> Solution:
        """The Gaussians as crosses of points."""
        generator = seed.generator("sliding Frank–Wolfe")
        gaussians = self.gaussians(
            likelihood_of(noisy, target), lambda count: finite_numbers(source.draw(count, generator)), generator
        )
        points, weights = gaussians.crosses()
        synthetic = SyntheticSet(points=points, weights=weights)
        distance = synthetic.distance(noisy.feature_map, target)
        return Solution(
            synthetic=synthetic,
            distance=distance,
            noise_floor=noisy.noise_floor,
            outcome=Outcome.NOISE_FLOOR if distance <= noisy.noise_floor else Outcome.NO_PROGRESS,
            iterations=len(gaussians),
        )

    def gaussians(self, likelihood: Likelihood, draw: Draw, generator: np.random.Generator) -> Gaussians:
        """Gaussians that stand out of the noise, from public draws."""
        found = Gaussians.none(draw(1).shape[1])
        for width in self.widths:
            for _ in range(self.rounds):
                peaks = self.missing(likelihood, found, draw, generator, width=width)
                if len(peaks) == 0:
                    break
                found = reweighted(likelihood, found.joined(peaks, width * self.lengthscale))
                found = self._slid(likelihood, found, self.steps)
        if len(found) == 0:  # nothing stands out of the noise: one wide Gaussian says so
            first = draw(self.draws)
            found = Gaussians(
                centres=first.mean(axis=0, keepdims=True), widths=np.array([first.std()]), weights=np.ones(1)
            )
        return self._slid(likelihood, found, self.final_steps)

    def missing(
        self,
        likelihood: Likelihood,
        gaussians: Gaussians,
        draw: Draw,
        generator: np.random.Generator,
        *,
        width: float,
        significance: float | None = None,
        count: int | None = None,
    ) -> Floats:
        """Peaks of the witness that stand out of the noise, highest first: (≤ count, d)."""
        residual = likelihood.residual(gaussians)
        spread = width * self.lengthscale
        scale = float(np.hypot(self.lengthscale, spread))

        def witness(points: Floats) -> tuple[Floats, Floats]:
            return likelihood.witness(points, residual, spread)

        starts = draw(self.draws)
        if len(gaussians):
            starts = np.concatenate(
                [starts, gaussians.centres, gaussians.sample(self.draws // 4, generator, jitter=scale)]
            )
        wanted = self.insertions if count is None else count
        best = np.argsort(-witness(starts)[0])[: max(self.starts, 3 * wanted)]
        peaks = distinct(*climb(witness, starts[best], scale), scale, wanted)
        features = likelihood.features(peaks, np.full(len(peaks), spread))
        level = 0.0 if len(gaussians) == 0 else float((likelihood.target - residual) @ residual)
        gains = (features @ residual - level) / np.linalg.norm(features, axis=1)
        standing_out: Floats = peaks[gains > (self.significance if significance is None else significance)]
        return standing_out

    def _slid(self, likelihood: Likelihood, gaussians: Gaussians, steps: int) -> Gaussians:
        widest = self.lengthscale * max(1.0, 2.0 * max(self.widths))
        return (
            LevenbergMarquardt(lengthscale=self.lengthscale, widest=widest, steps=steps)
            .fit(likelihood, gaussians)
            .gaussians
        )


def likelihood_of(noisy: NoisyEmbedding, target: Floats) -> FourierLikelihood:
    """The likelihood that an estimate made from a noisy embedding gives to Gaussians."""
    return FourierLikelihood(_fourier(noisy.feature_map), target / noisy.sigma, noisy.sigma)


def _fourier(feature_map: FeatureMap) -> Fourier:
    if not isinstance(feature_map, Fourier):
        raise ParameterError(f"SlidingFrankWolfe: needs Fourier features, got {type(feature_map).__name__}.")
    return feature_map
