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
from kernelease.fit.gaussians.likelihood import SubspaceLikelihood, expected_alike
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
            moves, scores, expected = likelihood.moves(law), _scores(law, points), expected_alike(law, likeness)
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
