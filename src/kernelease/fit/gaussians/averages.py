"""Averages over private rows, with their errors, if the rows are draws of Gaussians that were fitted to them.

What was measured, whitened, is y = f(θ) + J·δ + u + e: the features of the fitted Gaussians; what a change δ of their
parameters does; how N rows differ from their law by chance, of covariance C/N; and noise of variance 1. An average of h
over the rows is, likewise, E h + g·δ + v with Cov(u, v) = Cov(φ, h)/N. Given y it is normal (kriging):

    E h + c·S⁻¹r + b·P⁻¹·J·S⁻¹r  ±  √(Var h/N − c·S⁻¹c + b·P⁻¹b)

with r = y − f, S = I + C/N, c = Cov(φ, h)/N, b = g − J·S⁻¹c and P = J·S⁻¹Jᵀ, to which the expectation that widths are
alike adds, where Gaussians are round. The last term is what the parameters are not known by, the two before it are what
chance leaves open.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

from kernelease.arrays import Floats
from kernelease.fit.gaussians.ellipsoids import Ellipsoids, memberships
from kernelease.fit.gaussians.likelihood import SubspaceLikelihood
from kernelease.fit.gaussians.sliding_frank_wolfe import NARROWEST
from kernelease.measured.embeddings import Gaussians

POINTS = 2048  # of the law, over which averages are taken. limit: of time, a second


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

    @classmethod
    def of(
        cls,
        likelihood: SubspaceLikelihood,
        law: Gaussians | Ellipsoids,
        rows: float,
        *,
        count_error: float,
        likeness: float,
        generator: np.random.Generator,
    ) -> "Averages":
        """Of a law that was fitted to what a subspace says.

        `likeness` is how far log-variances were expected apart, `count_error` what is not known of the number of rows,
        by which all coordinates were divided, over that number.
        """
        points, weights = law.spread(POINTS, generator)
        raw = likelihood.features(points, np.zeros(len(points)))
        raw -= weights @ raw
        covariance = (raw.T * weights) @ raw
        if isinstance(law, Ellipsoids):
            fitted, moves, scores = law.features(likelihood), law.slopes(likelihood), law.scores(points)
            expected = np.zeros((law.parameters,) * 2)
        else:
            fitted = likelihood.target - likelihood.residual(law)
            moves, scores, expected = _moves(likelihood, law), _scores(law, points), _expected(law, likeness)
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
        )

    def estimate(self, values: Floats) -> tuple[Floats, Floats]:
        """Of functions with these values at the points: their averages (q,), and the covariance of what is left open.

        (M, q) → (q,), (q, q).
        """
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


def number_followed(likelihood: SubspaceLikelihood, law: Gaussians, likeness: float) -> float:
    """How many parameters of a fitted law follow the noise: tr H(H + P)⁻¹, with H = J·Jᵀ and what is expected, P.

    Widths that are expected alike follow it less, and those at their least not at all.
    """
    moves = _moves(likelihood, law)
    moves[len(law) : 2 * len(law)][law.widths <= NARROWEST] = 0.0
    seen = moves @ moves.T
    known = np.linalg.pinv(seen + _expected(law, likeness), rcond=1e-12, hermitian=True)  # logits, up to a constant
    return float(np.trace(known @ seen))


def _expected(law: Gaussians, likeness: float) -> Floats:
    """P: log-variances are expected alike, and of other parameters nothing is expected: (p, p)."""
    count = len(law)
    unlike = (np.eye(count) - law.weights) / likeness
    return np.asarray(np.pad(unlike.T @ unlike, (count, count * law.centres.shape[1])), dtype=np.float64)


def _moves(likelihood: SubspaceLikelihood, law: Gaussians) -> Floats:
    """How the features of the law change by each logit, log-variance and column of a centre: ((d + 2)·K, F)."""
    slopes = likelihood.slopes(law.centres, law.widths)
    weights = law.weights[:, None]
    whole = law.weights @ slopes.features
    by_centre = [weights * each for each in slopes.by_centre]
    return np.concatenate(
        [weights * (slopes.features - whole), weights * 0.5 * law.widths[:, None] * slopes.by_width, *by_centre]
    )


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
