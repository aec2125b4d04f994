"""From noisy embeddings to the Gaussians that they show, and to averages over rows that these tell.

All of it is public: functions of what was measured. Distances are in lengthscales.

Averages have errors as if rows were draws of the Gaussians that were fitted to them. What was measured, whitened, is
y = f(θ) + J·δ + u + e: the features of the fitted Gaussians; what a change δ of their parameters does; how N rows
differ from their law by chance, of covariance C/N; and noise of variance 1. An average of h over the rows is, likewise,
E h + g·δ + v with Cov(u, v) = Cov(φ, h)/N. Given y it is normal (kriging):

    E h + c·S⁻¹r + b·P⁻¹·J·S⁻¹r  ±  √(Var h/N − c·S⁻¹c + b·P⁻¹b)

with r = y − f, S = I + C/N, c = Cov(φ, h)/N, b = g − J·S⁻¹c and P = J·S⁻¹Jᵀ, to which what is expected of centres adds,
and that widths are alike, where Gaussians are round. The last term is what the parameters are not known by, the two
before it are what chance leaves open.

Where averages of some functions were measured by themselves, m = h̄ + e, what is said of any others is that of a normal
law given m: with V the covariance of what is left open about both and W that of e, q̄ + V_qh·(V_hh + W)⁻¹(m − h̄).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap, default_resolution
from kernelease.features.fourier import Fourier
from kernelease.features.moments import Ball
from kernelease.features.nystrom import Nystrom
from kernelease.fit.gaussians.ellipsoids import Ellipsoids, fit_ellipsoids, memberships
from kernelease.fit.gaussians.likelihood import (
    FourierLikelihood,
    JointLikelihood,
    SampleLikelihood,
    SubspaceLikelihood,
    expected_alike,
)
from kernelease.fit.gaussians.sliding_frank_wolfe import Growing, LevenbergMarquardt, Whereabouts
from kernelease.kernels.numeric import Gaussian, ShiftInvariant
from kernelease.measured.embeddings import Gaussians, NoisyEmbedding, NoisyEmbeddings
from kernelease.privacy.sensitivity import sum_sensitivity
from kernelease.seeds import PublicSeed

# ---- Averages over rows, with their errors.


POINTS = 2048  # of the law, over which averages are taken. limit: of time, a second


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """Averages over the rows that were measured by themselves, with noise."""

    functions: Callable[[Floats], Floats]  # of points in lengthscales: (M, d) → (M, q)
    averages: Floats  # (q,)
    noise: Floats  # its covariance: (q, q)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Averages:
    """Averages of functions over rows: their expectation given what was measured, and what that leaves open.

    `points` are draws of the law, (M, d), in lengthscales; a function is given by its values there.
    """

    points: Floats
    weights: Floats  # of the points: (M,)
    residual: Floats  # r, through the root of S: (F,)
    features: Floats  # of the points, from their mean, likewise: (M, F)
    moves: Floats  # J, likewise: (p, F)
    scores: Floats  # ∂ log p/∂θ at the points: (M, p)
    precision: Floats  # P: (p, p)
    rows: float
    told: Told | None = None

    @classmethod
    def of(
        cls,
        likelihood: SubspaceLikelihood,
        law: Gaussians | Ellipsoids,
        rows: float,
        *,
        count_error: float,
        likeness: float,
        whereabouts: Whereabouts,
        generator: np.random.Generator,
        told: Told | None = None,
    ) -> "Averages":
        """Of a law that was fitted to what a subspace says.

        `likeness` is how far log-variances were expected apart, `count_error` what is not known of the number of rows,
        by which all coordinates were divided, over that number. Centres were expected at `whereabouts`.
        """
        # Fewer points say wrongly what averages a light Gaussian changes: they have not even its mean and covariance.
        points, weights = law.spread(POINTS, generator, least=4 * (law.centres.shape[1] + 1))
        raw = likelihood.features(points, np.zeros(len(points)))
        raw -= weights @ raw
        covariance = (raw.T * weights) @ raw
        if isinstance(law, Ellipsoids):
            fitted, moves, scores = law.features(likelihood), law.slopes(likelihood), law.scores(points)
            expected = np.diag(law.pull(whereabouts) ** 2)
        else:
            fitted = likelihood.target - likelihood.residual(law)
            moves, scores, expected = likelihood.moves(law), _scores(law, points), expected_alike(law, likeness)
            pull = np.broadcast_to(whereabouts.spread**-2.0, law.centres.shape).T.ravel()
            expected += np.diag(np.append(np.zeros(2 * len(law)), pull))
        covariance = covariance / rows + count_error**2 * np.outer(fitted, fitted)
        lower = np.linalg.cholesky(np.eye(len(covariance)) + covariance)
        whole = np.vstack([raw, moves, (likelihood.target - fitted)[None]])
        turned = solve_triangular(lower, whole.T, lower=True).T
        features, moves, residual = turned[: len(raw)], turned[len(raw) : -1], turned[-1]
        precision = moves @ moves.T + expected
        return cls(
            points=points,
            weights=weights,
            residual=residual,
            features=features,
            moves=moves,
            scores=scores,
            precision=precision,
            rows=rows,
            told=told,
        )

    def estimate(self, values: Floats) -> tuple[Floats, Floats]:
        """Of functions with these values at the points: their averages (q,), and the covariance of what is left open.

        (M, q) → (q,), (q, q).
        """
        if self.told is None:
            return self._by_features(values)
        asked = values.shape[1]
        value, open_ = self._by_features(np.hstack([values, self.told.functions(self.points)]))
        gain = np.linalg.solve(open_[asked:, asked:] + self.told.noise, open_[asked:, :asked]).T
        value = value[:asked] + gain @ (self.told.averages - value[asked:])
        left = np.hstack([np.eye(asked), -gain])  # a sum of squares, so that rounding leaves no negative variance
        return value, left @ open_ @ left.T + gain @ self.told.noise @ gain.T

    @property
    def about_the_mean(self) -> float:
        """The variance of what features alone leave open about the mean of the rows, in all columns."""
        return float(np.trace(self._by_features(self.points)[1]))

    def _by_features(self, values: Floats) -> tuple[Floats, Floats]:
        """The same by what the subspace tells alone."""
        mean = self.weights @ values
        centred = values - mean
        weighted = centred * self.weights[:, None]
        shared = self.features.T @ weighted / self.rows  # c: (F, q)
        followed = self.scores.T @ weighted - self.moves @ shared  # b: (p, q)
        # Logits are known up to a constant, which changes nothing: the least of all solutions is as good as any.
        solved = np.linalg.lstsq(self.precision, followed, rcond=1e-12)[0]
        value = mean + shared.T @ self.residual + solved.T @ (self.moves @ self.residual)
        open_ = weighted.T @ centred / self.rows - shared.T @ shared + followed.T @ solved
        return value, 0.5 * (open_ + open_.T)


def _scores(law: Gaussians, points: Floats) -> Floats:
    """Derivatives of the logarithm of the law's density, in the same order: (M, d) → (M, (d + 2)·K)."""
    dimension = points.shape[1]
    gaps = points[:, None, :] - law.centres  # (M, K, d)
    squares = (gaps**2).sum(axis=2) / law.widths**2
    logs = np.log(law.weights) - dimension * np.log(law.widths) - 0.5 * squares
    member = memberships(logs)
    by_variance = member * 0.5 * (squares - dimension)
    by_centre = member[:, :, None] * gaps / law.widths[:, None] ** 2
    return np.hstack([member - law.weights, by_variance, *np.moveaxis(by_centre, 2, 0)])


# --------------------
# What the two stages say of Gaussians.


# Of so many frequencies one says how far a step goes. limit: of time; prime, so that all octaves are among them
_SKETCH = 7
_LIKENESS = 0.7  # spread of log-variances. convention: none near is worse


def wave_likelihood(noisy: NoisyEmbedding, scale: Floats) -> FourierLikelihood:
    """What Fourier features say, in lengthscales."""
    if not isinstance(noisy.feature_map, Fourier):
        raise ParameterError("Adaptive: stage one measures Fourier features.")
    rescaled = Fourier(
        frequencies=noisy.feature_map.frequencies * scale, resolution=default_resolution(1.0, len(scale))
    )
    return FourierLikelihood(rescaled, noisy.mean / noisy.sigma, noisy.sigma)


def subspace_likelihood(noisy: NoisyEmbedding, scale: float | tuple[float, ...] | Floats) -> SubspaceLikelihood:
    """What coordinates in a subspace say, in lengthscales."""
    basis = noisy.feature_map
    if not isinstance(basis, Nystrom):
        raise ParameterError("Adaptive: stage two measures a subspace.")
    points = basis.points / np.asarray(scale, dtype=np.float64)
    return SubspaceLikelihood(
        points,
        basis.change_of_basis / noisy.sigma,
        noisy.mean / noisy.sigma,
        noisy.sigma,
        triangular=basis.triangular,
    )


def joint_likelihood(coarse: NoisyEmbedding, fine: NoisyEmbedding, scale: Floats) -> JointLikelihood:
    """What Fourier features and a subspace say together; most of it comes from the subspace."""
    return JointLikelihood(wave_likelihood(coarse, scale).with_sketch(_SKETCH), subspace_likelihood(fine, scale))


def optimiser(whereabouts: Whereabouts, widest: float = math.inf) -> LevenbergMarquardt:
    """That moves Gaussians whose widths are expected alike."""
    return LevenbergMarquardt(lengthscale=1.0, widest=widest, likeness=_LIKENESS, steps=25, whereabouts=whereabouts)


# --------------------
# Gaussians, fitted to all that was measured, and averages over the rows.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedLaws:
    """Gaussians that both stages show, if rows are a sample of them: round ones, and flat ones where they pay."""

    likelihood: SubspaceLikelihood
    round: Gaussians
    flat: Ellipsoids | None
    likeness: float  # of the round ones' widths
    whereabouts: Whereabouts

    @classmethod
    def of(cls, measured: NoisyEmbeddings, kernel: ShiftInvariant, whereabouts: Whereabouts) -> "FittedLaws":
        """From what is public."""
        likelihood = subspace_likelihood(measured.embedding, kernel.lengthscale)
        gaussians, likeness = _polish(measured, kernel, whereabouts)
        flat = fit_ellipsoids(likelihood, gaussians, whereabouts)
        return cls(likelihood=likelihood, round=gaussians, flat=flat, likeness=likeness, whereabouts=whereabouts)

    def averages(self, measured: NoisyEmbeddings, kernel: ShiftInvariant) -> Averages:
        """Averages over rows, by the law that leaves less open about the mean.

        Gaussians of any shape may say next to nothing of how far they reach in a direction that the kernel hardly sees.
        """
        noisy = measured.embedding
        told = [
            Averages.of(
                self.likelihood,
                law,
                noisy.rows,
                count_error=noisy.count_error,
                likeness=self.likeness,
                whereabouts=self.whereabouts,
                generator=PublicSeed(0).generator("adaptive: averages"),
                told=_told_mean(measured, kernel),
            )
            for law in (self.flat, self.round)
            if law is not None
        ]
        return min(told, key=lambda one: one.about_the_mean)


def measured_mean(measured: NoisyEmbeddings) -> NoisyEmbedding | None:
    """The noisy mean of the rows themselves, where it was measured."""
    return next((stage for stage in measured.stages if isinstance(stage.feature_map, Ball)), None)


def _told_mean(measured: NoisyEmbeddings, kernel: ShiftInvariant) -> Told | None:
    stage = measured_mean(measured)
    if stage is None:
        return None
    counted = stage.count_error**2 * np.outer(stage.mean, stage.mean)
    return Told(
        functions=lambda points: stage.feature_map.evaluate(points * np.asarray(kernel.lengthscale)),
        averages=stage.mean,
        noise=stage.sigma**2 * np.eye(len(stage.mean)) + counted,
    )


def _polish(measured: NoisyEmbeddings, kernel: ShiftInvariant, whereabouts: Whereabouts) -> tuple[Gaussians, float]:
    """The law that both stages show, if rows are a sample of it, and how alike its widths are. All of it is public."""
    if measured.law is None:
        raise ParameterError("averages: these embeddings were not taken for Gaussians.")
    coarse, fine = measured.stages[0], measured.embedding
    scale = np.broadcast_to(np.asarray(kernel.lengthscale, dtype=np.float64), measured.law.centres.shape[1:])
    generator = PublicSeed(0).generator("adaptive: sample of the law")
    sample = SampleLikelihood(joint_likelihood(coarse, fine, scale), measured.law, fine.rows, generator)
    return Growing(optimiser=optimiser(whereabouts)).polish(sample, measured.law)


def averages_of(measured: NoisyEmbeddings, kernel: Gaussian) -> Averages:
    """Averages over rows, as the stages and the Gaussians that they were taken for tell them. All of it is public."""
    whereabouts = Whereabouts.of(measured.candidates / np.asarray(kernel.lengthscale), 1.0)
    return FittedLaws.of(measured, kernel, whereabouts).averages(measured, kernel)


# --------------------
# What a sum of the rows gets of the budget.
#
# A kernel sees the mean of rows that lie many lengthscales apart less well than a sum of the rows does: in units of the
# noise, a sum of coordinates within a ball is off by its diameter, and by features by far more where tails are heavy.
# So the rows' sum gets a share s where the Gaussians of stage one say that stage two would tell the mean with a
# variance v above 1.2² times that of a sum with half of the budget, V. Both together then have that variance at most:
#
#     (1 − s/(1 − a))/v + 2s/V = 1/(1.2²·V).
#
# It gets half of what stage one leaves at most, whatever share a that was given: stage two has to be paid, too.


# Times a noisy sum's error, that of the mean at most. convention: what is promised of moments
NO_WORSE = 1.2


def share_of_the_mean(
    coarse: NoisyEmbedding, basis: Nystrom, ball: Ball, law: Gaussians, whereabouts: Whereabouts, share: float
) -> float:
    """What a sum of the rows gets of the budget, in sight of stage one and of the Gaussians that it shows.

    `share` is that of stage one; noise goes with a map's sensitivity over the root of its share.
    """

    def sigma(feature_map: FeatureMap, part: float) -> float:
        wide, narrow = (sum_sensitivity(m, coarse.neighbours).l2 * m.step for m in (feature_map, coarse.feature_map))
        return coarse.sigma * wide / narrow * math.sqrt(share / part)

    assert isinstance(basis.kernel, Gaussian)
    scale = np.asarray(basis.kernel.lengthscale)
    noise, rest = sigma(basis, 1.0 - share), 1.0 - share
    likelihood = SubspaceLikelihood(
        basis.points / scale,
        basis.change_of_basis / noise,
        np.zeros(basis.dimension),
        noise,
        triangular=basis.triangular,
    )
    generator = PublicSeed(0).generator("adaptive: averages")
    averages = Averages.of(
        likelihood,
        law,
        coarse.rows,
        count_error=0.0,
        likeness=_LIKENESS,
        whereabouts=whereabouts,
        generator=generator,
    )
    open_ = np.trace(averages.estimate(ball.evaluate(averages.points * scale))[1])
    told = ball.dimension * sigma(ball, 0.5) ** 2 / max(float(open_), np.finfo(float).tiny)  # V/v
    gain, missing = 2.0 - told / rest, NO_WORSE**-2.0 - told
    return min(missing / gain, rest / 2.0) if missing > 0.0 and gain > 0.0 else 0.0
