"""The likelihood of Gaussians, given noisy embeddings, as Fourier features and as a subspace see them.

All vectors are *whitened*: divided by the standard deviation of the noise, so that −2 log L = ‖residual‖² is a χ².
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import final

import numpy as np
from scipy.linalg.blas import dtrmm, dtrmv

from kernelease.arrays import Floats, Rows, block_slices
from kernelease.features.feature_map import grid_reach
from kernelease.features.fourier import CELLS, Fourier
from kernelease.measured.embeddings import Gaussians

# --------------------
# The likelihood itself: features of Gaussians, their derivatives, and the residual.


@final
@dataclass(frozen=True, slots=True)
class Slopes:
    """Features of K Gaussians, (K, n), and their derivatives by each one's width, (K, n), and centre, (d, K, n)."""

    features: Floats
    by_width: Floats
    by_centre: Floats


class Likelihood(ABC):
    """L ∝ exp(−‖target − Σ w_k·f_k‖²/2), with f_k the features of the k-th Gaussian and w_k its weight.

    The witness function ⟨residual, E φ(z + s·ξ)⟩ says where to put more of them.
    """

    __slots__ = ()
    target: Floats
    """What was measured, whitened: (n,)."""

    @abstractmethod
    def features(self, centres: Floats, widths: Floats) -> Floats:
        """E φ(z_k + s_k·ξ) for standard normal ξ: (K, d), (K,) → (K, n)."""

    @abstractmethod
    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        """The same with derivatives."""

    @abstractmethod
    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """The witness at Gaussians of one width, and its gradient: (m, d), (n,) → (m,), (m, d)."""

    @abstractmethod
    def heights(self, points: Rows, residual: Floats, width: float) -> Floats:
        """The witness alone, to a few digits: they say from where to climb: (m, d), (n,) → (m,)."""

    def residual(self, gaussians: Gaussians) -> Floats:
        """What the Gaussians leave of the target: (n,)."""
        return self.target - gaussians.weights @ self.features(gaussians.centres, gaussians.widths)

    def linearise(self, centres: Floats, widths: Floats, residual: Floats) -> tuple[Floats, Floats]:
        """Dot products of all derivatives with each other and with the residual: (p, p), (p,) with p = (d + 2)·K.

        In the order: features, derivatives by width, by each column of the centre. The second is exact. The first may
        be that of a space which holds the Gaussians as a whole: it only says how far a step of the optimiser goes.
        """
        slopes = self.slopes(centres, widths)
        moves = np.concatenate([slopes.features, slopes.by_width, *slopes.by_centre])
        return moves @ moves.T, moves @ residual

    def moves(self, law: Gaussians) -> Floats:
        """How features of a law change by each logit, log-variance and column of a centre: ((d + 2)·K, n)."""
        slopes = self.slopes(law.centres, law.widths)
        weights = law.weights[:, None]
        whole = law.weights @ slopes.features
        by_centre = [weights * each for each in slopes.by_centre]
        return np.concatenate(
            [weights * (slopes.features - whole), weights * 0.5 * law.widths[:, None] * slopes.by_width, *by_centre]
        )

    def number_followed(self, law: Gaussians, *, likeness: float, narrowest: float) -> float:
        """How many parameters of a fitted law follow the noise: tr H(H + P)⁻¹, with H = J·Jᵀ and what is expected, P.

        Widths that are expected alike follow it less, and those at their least not at all.
        """
        moves = self.moves(law)
        moves[len(law) : 2 * len(law)][law.widths <= narrowest] = 0.0
        seen = moves @ moves.T
        known = np.linalg.pinv(seen + expected_alike(law, likeness), rcond=1e-12, hermitian=True)  # logits up to one
        return float(np.trace(known @ seen))

    def unlikelihood(self, law: Gaussians, misfit: float, *, likeness: float) -> float:
        """−2 log of the evidence for a likeness, up to a constant: the parameters are integrated out (Laplace).

        The law is the best one at that likeness, `misfit` its own with what unlike widths cost.
        """
        moves = self.moves(law)
        curvature = moves @ moves.T + expected_alike(law, likeness)
        curvature[: len(law), : len(law)] += 1.0  # logits are known up to a constant
        sign, volume = np.linalg.slogdet(curvature)
        return misfit + float(volume) + 2.0 * (len(law) - 1) * math.log(likeness) if sign > 0.0 else math.inf


def expected_alike(law: Gaussians, likeness: float) -> Floats:
    """P: log-variances are expected alike, and of other parameters nothing is expected: (p, p)."""
    count = len(law)
    unlike = (np.eye(count) - law.weights) / likeness
    return np.asarray(np.pad(unlike.T @ unlike, (count, count * law.centres.shape[1])), dtype=np.float64)


@final
class JointLikelihood(Likelihood):
    """The product of the likelihoods of several embeddings of the same rows, whose noise is independent."""

    __slots__ = ("parts", "target")

    def __init__(self, *parts: Likelihood) -> None:
        self.parts = parts
        self.target = np.concatenate([part.target for part in parts])

    def features(self, centres: Floats, widths: Floats) -> Floats:
        """Those of all parts, side by side."""
        return np.hstack([part.features(centres, widths) for part in self.parts])

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        each = [part.slopes(centres, widths) for part in self.parts]
        return Slopes(
            features=np.hstack([slopes.features for slopes in each]),
            by_width=np.hstack([slopes.by_width for slopes in each]),
            by_centre=np.concatenate([slopes.by_centre for slopes in each], axis=2),
        )

    def residual(self, gaussians: Gaussians) -> Floats:
        return np.concatenate([part.residual(gaussians) for part in self.parts])

    def linearise(self, centres: Floats, widths: Floats, residual: Floats) -> tuple[Floats, Floats]:
        """The sums over the parts."""
        each = [part.linearise(centres, widths, left) for part, left in self._apart(residual)]
        return sum((one[0] for one in each[1:]), each[0][0]), sum((one[1] for one in each[1:]), each[0][1])

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """The sum of the parts' witnesses."""
        heights, gradients = np.zeros(len(points)), np.zeros(points.shape)
        for part, left in self._apart(residual):
            height, gradient = part.witness(points, left, width)
            heights += height
            gradients += gradient
        return heights, gradients

    def heights(self, points: Rows, residual: Floats, width: float) -> Floats:
        heights = np.zeros(len(points))
        for part, left in self._apart(residual):
            heights += part.heights(points, left, width)
        return heights

    def _apart(self, residual: Floats) -> Iterator[tuple[Likelihood, Floats]]:
        ends = np.cumsum([len(part.target) for part in self.parts])[:-1]
        return zip(self.parts, np.split(residual, ends), strict=True)


_SAMPLE = 512  # points that stand for a law. limit: of time, a tenth of a second
_FAINT = 0.02  # of the noise's variance: fainter directions of chance are left out. convention: as in `tilting`


@final
class SampleLikelihood(Likelihood):
    """The likelihood of a law of which N rows are a sample: y = f(θ) + u + e, with u of covariance C/N by chance.

    Features and target of a likelihood that knows of e alone are multiplied by S^(−1/2), S = I + C/N, so that the
    squared residual is a χ² again, and no Gaussian is fitted to what these rows have by chance.
    """

    __slots__ = ("axes", "inner", "shrinkage", "target")

    def __init__(self, inner: Likelihood, law: Gaussians, rows: float, generator: np.random.Generator) -> None:
        points, weights = law.spread(_SAMPLE, generator)
        features = inner.features(points, np.zeros(len(points)))
        features -= weights @ features
        features *= np.sqrt(weights / rows)[:, None]
        variances, turn = np.linalg.eigh(features @ features.T)
        seen = variances > _FAINT
        self.inner = inner
        self.axes: Floats = (features.T @ turn[:, seen]) / np.sqrt(variances[seen])  # of C/N: (n, r)
        self.shrinkage: Floats = 1.0 - 1.0 / np.sqrt(1.0 + variances[seen])
        self.target = self._whiten(inner.target)

    def features(self, centres: Floats, widths: Floats) -> Floats:
        return self._whiten(self.inner.features(centres, widths))

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        slopes = self.inner.slopes(centres, widths)
        return Slopes(*map(self._whiten, (slopes.features, slopes.by_width, slopes.by_centre)))

    def residual(self, gaussians: Gaussians) -> Floats:
        return self._whiten(self.inner.residual(gaussians))

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        """⟨residual, S^(−1/2)·E φ⟩: the matrix is symmetric."""
        return self.inner.witness(points, self._whiten(residual), width)

    def heights(self, points: Rows, residual: Floats, width: float) -> Floats:
        return self.inner.heights(points, self._whiten(residual), width)

    def _whiten(self, vectors: Floats) -> Floats:
        """S^(−1/2)·v for the last axis: (…, n) → (…, n)."""
        return np.asarray(vectors - ((vectors @ self.axes) * self.shrinkage) @ self.axes.T, dtype=np.float64)


# --------------------
# Gaussians as Fourier features see them.


@final
@dataclass(frozen=True, slots=True)
class FourierLikelihood(Likelihood):
    """A Gaussian of width s has the features of its centre times exp(−s²‖ω‖²/2), exactly, whatever the kernel.

    A fit takes hundreds of steps, so what they need of the feature map is taken from it once: the features are
    `amplitude` times the cosines and sines of ω·z. How far a step goes, a `sketch` of some frequencies may say.
    """

    feature_map: Fourier
    target: Floats  # (J,), whitened
    sigma: float
    sketch: "FourierLikelihood | None" = field(default=None, repr=False)
    cells: int = CELLS  # waves at a time
    frequencies: Floats = field(init=False, repr=False)  # ω: (F, d)
    squares: Floats = field(init=False, repr=False)  # ‖ω‖²: (F,)
    reach: Floats = field(init=False, repr=False)  # the largest numbers that the map tells apart: (d,)
    amplitude: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        frequencies = self.feature_map.frequencies
        for name, value in (
            ("frequencies", frequencies),
            ("squares", (frequencies**2).sum(axis=1)),
            ("reach", grid_reach(self.feature_map.resolution)),
            ("amplitude", self.feature_map.amplitude),
        ):
            object.__setattr__(self, name, value)

    def features(self, centres: Floats, widths: Floats) -> Floats:
        features = np.empty_like(centres, shape=(len(centres), len(self.target)))
        for block, cosines, sines in self._waves(centres):
            features[block] = np.concatenate([cosines, sines], axis=1)
        features *= self.amplitude
        return features * self._damping(widths) / self.sigma

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        """Derivatives by centre (each pair of waves, turned by a quarter) and by width (through the damping)."""
        features = self.features(centres, widths)
        cosines, sines = np.hsplit(features, 2)
        turned = np.hstack([-sines, cosines])
        return Slopes(
            features=features,
            by_width=-widths[:, None] * np.tile(self.squares, 2) * features,
            by_centre=np.stack([turned * np.tile(column, 2) for column in self.frequencies.T]),
        )

    def linearise(self, centres: Floats, widths: Floats, residual: Floats) -> tuple[Floats, Floats]:
        """Dot products as the sketch has them, if there is one; those with the residual by all frequencies."""
        if self.sketch is None:
            return Likelihood.linearise(self, centres, widths, residual)
        features, both = self.features(centres, widths), np.tile(self.squares, 2)
        cosines, sines = np.hsplit(features, 2)
        a, b = np.split(residual, 2)
        by_centre = (cosines * b - sines * a) @ self.frequencies
        agreement = [features @ residual, -widths * (features @ (both * residual)), by_centre.T.ravel()]
        products, _ = self.sketch.linearise(centres, widths, self.sketch.target)
        return products, np.concatenate(agreement)

    def with_sketch(self, every: int) -> "FourierLikelihood":
        """The same with a sketch of every so manieth frequency: fewer have the same dot products, but for chance."""
        some = replace(self.feature_map, frequencies=self.frequencies[::every])
        kept = self.target.reshape(2, -1)[:, ::every].ravel()
        return replace(self, sketch=FourierLikelihood(some, kept, self.sigma))

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        damped = residual * self._damping(np.full_like(residual[:1], width))[0] / self.sigma
        a, b = (damped * self.amplitude).reshape(2, -1)
        heights, gradients = np.empty_like(points[:, 0]), np.empty_like(points)
        for block, cosines, sines in self._waves(points):
            heights[block] = cosines @ a + sines @ b
            gradients[block] = (b * cosines - a * sines) @ self.frequencies
        return heights, gradients

    def heights(self, points: Rows, residual: Floats, width: float) -> Floats:
        """In single precision, of which a processor does twice as many at once: (m, d), (J,) → (m,)."""
        damped = residual * self._damping(np.full_like(residual[:1], width))[0] * (self.amplitude / self.sigma)
        a, b = damped.astype(np.float32).reshape(2, -1)
        within = np.clip(points, -self.reach, self.reach).astype(np.float32)
        columns, heights = self.frequencies.T.astype(np.float32, order="C"), np.empty_like(points[:, 0])
        for block in block_slices(len(points), max(1, self.cells // len(self.frequencies))):
            phases = within[block] @ columns
            heights[block] = np.cos(phases) @ a + np.sin(phases) @ b
        return heights

    def _waves(self, points: Rows) -> Iterator[tuple[slice, Floats, Floats]]:
        """Blocks of points, and cos ω·z and sin ω·z at these, as the map itself has them: (m, F) each."""
        within, columns = np.clip(points, -self.reach, self.reach), self.frequencies.T.copy()
        for block in block_slices(len(points), max(1, self.cells // len(self.frequencies))):
            t = np.tan(0.5 * (within[block] @ columns))
            scale = 2.0 / (1.0 + t * t)
            yield block, scale - 1.0, t * scale

    def _damping(self, widths: Floats) -> Floats:
        """(K,) → (K, J)."""
        damping = np.exp(-0.5 * np.outer(widths**2, self.squares))
        return np.hstack([damping, damping])


# --------------------
# Gaussians as a subspace of the Gaussian kernel sees them.


_BLOCK = 512  # Gaussians at a time. limit: 512 by 4,096 points are 16 MiB
_CELLS = 2**16  # values of a witness at a time. limit: they stay in the processor's cache


@final
@dataclass(frozen=True, slots=True)
class SubspaceLikelihood(Likelihood):
    """Coordinates W·k(z, ·) in the span of points z, in units of the kernel's lengthscales.

    For the Gaussian kernel a Gaussian of width s has E k(z, c + s·ξ) = (1 + s²)^(−d/2)·exp(−‖z − c‖²/2(1 + s²)).
    """

    points: Floats  # (F, d), in lengthscales
    basis: Floats  # W over the standard deviation of the noise: (F, F)
    target: Floats  # (F,), whitened
    sigma: float  # that standard deviation
    triangular: bool = False  # whether W is 0 above its diagonal: half of it need not be read then
    cells: int = _CELLS  # values of a witness at a time

    def features(self, centres: Floats, widths: Floats) -> Floats:
        slices = block_slices(len(centres), _BLOCK)
        blocks = [self.coordinates(_blur(centres[s], widths[s], self.points)[0]) for s in slices]
        return np.concatenate(blocks) if blocks else np.empty((0, len(self.points)))

    def coordinates(self, values: Floats) -> Floats:
        """Those of functions with such values at the points: (m, F) → (m, F)."""
        if not self.triangular:
            coordinates: Floats = values @ self.basis.T
            return coordinates
        turned: Floats = dtrmm(1.0, self.basis.T, values.T, side=0, lower=0, trans_a=1)  # as Fortran has it: no copy
        return turned.T

    def residual(self, gaussians: Gaussians) -> Floats:
        """One product of W with a vector."""
        kernel, _ = _blur(gaussians.centres, gaussians.widths, self.points)
        return self.target - self._turn(gaussians.weights @ kernel)

    def linearise(self, centres: Floats, widths: Floats, residual: Floats) -> tuple[Floats, Floats]:
        """Dot products in the kernel's whole space, in closed form; those with the residual by one product of W."""
        kernel, squares = _blur(centres, widths, self.points)
        kernel *= self._turned_back(residual)
        heights, variances = kernel.sum(axis=1), 1.0 + widths**2
        bends = np.einsum("kf,kf->k", kernel, squares) / variances - centres.shape[1] * heights
        by_centre = (kernel @ self.points - heights[:, None] * centres) / variances[:, None]
        agreement = np.concatenate([heights, widths * bends / variances, by_centre.T.ravel()])
        return overlaps(centres, widths) / self.sigma**2, agreement

    def _turn(self, amounts: Floats) -> Floats:
        """W·amounts: (F,) → (F,)."""
        if not self.triangular:
            return self.basis @ amounts
        turned: Floats = dtrmv(self.basis.T, amounts, lower=0, trans=1)  # as Fortran has it: no copy is made
        return turned

    def _turned_back(self, coordinates: Floats) -> Floats:
        """Wᵀ·coordinates: (F,) → (F,)."""
        if not self.triangular:
            return coordinates @ self.basis
        turned: Floats = dtrmv(self.basis.T, coordinates, lower=0, trans=0)
        return turned

    def _stack(self, centres: Floats, widths: Floats) -> Floats:
        """E k at the points and its derivatives by width and by each column of the centre: (d + 2, K, F)."""
        kernel, squares = _blur(centres, widths, self.points)
        variances = 1.0 + widths[:, None] ** 2
        dimension = centres.shape[1]
        by_variance = kernel * (squares / variances - dimension) / (2.0 * variances)
        gaps = (self.points.T[:, None, :] - centres.T[:, :, None]) / variances
        return np.concatenate([kernel[None], (2.0 * widths[:, None] * by_variance)[None], kernel * gaps])

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        """The kernel's derivatives, in the same coordinates."""
        stacked = self._stack(centres, widths)
        shape = stacked.shape
        turned = self.coordinates(stacked.reshape(-1, shape[2])).reshape(shape)  # one product: W is read only once
        return Slopes(features=turned[0], by_width=turned[1], by_centre=turned[2:])

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        amounts = self._turned_back(residual)
        heights, gradients = np.empty_like(points[:, 0]), np.empty_like(points)
        for s in block_slices(len(points), max(1, self.cells // len(self.points))):
            kernel, _ = _blur(points[s], np.full_like(points[s, 0], width), self.points)
            kernel *= amounts
            heights[s] = kernel.sum(axis=1)
            gradients[s] = (kernel @ self.points - heights[s, None] * points[s]) / (1.0 + width**2)
        return heights, gradients

    def heights(self, points: Rows, residual: Floats, width: float) -> Floats:
        """In full precision: `amounts` are large where the subspace has much of itself twice: (m, d), (F,) → (m,)."""
        amounts, heights = self._turned_back(residual), np.empty_like(points[:, 0])
        for s in block_slices(len(points), max(1, self.cells // len(self.points))):
            heights[s] = _blur(points[s], np.full_like(points[s, 0], width), self.points)[0] @ amounts
        return heights


def _blur(centres: Floats, widths: Floats, points: Floats) -> tuple[Floats, Floats]:
    """E k(z, c + s·ξ) and ‖z − c‖²: (K, d), (K,), (F, d) → (K, F), (K, F)."""
    variances = 1.0 + widths[:, None] ** 2
    middle = points.mean(axis=0)  # from which numbers are small, wherever the columns begin
    mine, theirs = centres - middle, points - middle
    # ‖z‖² − 2z·c + ‖c‖² as one product: passes over the result cost more than it does.
    mine = np.column_stack([-2.0 * mine, (mine**2).sum(axis=1), np.ones_like(mine[:, 0])])
    theirs = np.column_stack([theirs, np.ones_like(theirs[:, 0]), (theirs**2).sum(axis=1)])
    squares = mine @ theirs.T
    np.maximum(squares, 0.0, out=squares)
    heights = squares * (-0.5 / variances)
    np.exp(heights, out=heights)
    heights *= variances ** (-centres.shape[1] / 2.0)
    return heights, squares


def overlaps(centres: Floats, widths: Floats) -> Floats:
    """Dot products of Gaussians' embeddings and their derivatives in the space of the Gaussian kernel: (p, p).

    E k(c + s·ξ, c′ + s′·ξ′) = g(v, r²) = v^(−d/2)·exp(−r²/2v) with v = 1 + s² + s′² and r = ‖c − c′‖; p and the order
    are those of `Likelihood.linearise`.
    """
    count, dimension = centres.shape
    gaps = centres[:, None, :] - centres[None, :, :]  # (K, K, d)
    squares = (gaps**2).sum(axis=2)
    v = 1.0 + widths[:, None] ** 2 + widths[None, :] ** 2
    g = v ** (-dimension / 2.0) * np.exp(-0.5 * squares / v)
    slope = squares / (2.0 * v**2) - dimension / (2.0 * v)  # ∂ log g/∂v
    bend = slope**2 - squares / v**3 + dimension / (2.0 * v**2)  # ∂²g/∂v² over g
    result = np.empty_like(gaps, shape=(dimension + 2, count, dimension + 2, count))
    result[0, :, 0] = g
    result[0, :, 1] = 2.0 * widths * (g * slope)
    result[1, :, 0] = result[0, :, 1].T
    result[1, :, 1] = 4.0 * np.outer(widths, widths) * g * bend
    for i in range(dimension):
        result[0, :, 2 + i] = g * gaps[:, :, i] / v
        result[2 + i, :, 0] = result[0, :, 2 + i].T
        result[1, :, 2 + i] = 2.0 * widths[:, None] * g * gaps[:, :, i] * (slope / v - 1.0 / v**2)
        result[2 + i, :, 1] = result[1, :, 2 + i].T
        for j in range(dimension):
            result[2 + i, :, 2 + j] = g * ((i == j) / v - gaps[:, :, i] * gaps[:, :, j] / v**2)
    size = (dimension + 2) * count
    return result.reshape(size, size)
