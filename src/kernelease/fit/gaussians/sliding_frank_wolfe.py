"""Sliding Frank–Wolfe: insert Gaussians where mass is missing, move all, drop the empty, grow while it pays.

Denoyelle, Duval, Peyré & Soubies (2019), with Gaussians in place of points: wide ones are placed first, where the
witness function is smooth enough to be climbed from afar, and narrow ones then start inside them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, finite_numbers
from kernelease.errors import ParameterError, check_integer, check_number
from kernelease.features.feature_map import FeatureMap
from kernelease.features.fourier import Fourier
from kernelease.fit.gaussians.likelihood import FourierLikelihood, JointLikelihood, Likelihood
from kernelease.fit.solver import Outcome, PointSolver, PointSource, Solution, SyntheticSet
from kernelease.fit.weights import nearest_in_hull
from kernelease.measured.embeddings import Gaussians, NoisyEmbedding
from kernelease.seeds import PublicSeed

# --------------------
# Peaks of a witness function, by gradient ascent from many starts at once.


Witness: TypeAlias = Callable[[Floats], tuple[Floats, Floats]]
"""Values and gradients at points: (m, d) → (m,), (m, d)."""

STEPS = 25  # of each climb. convention: none near is worse
_LONGEST = 0.7  # of a step, in units of the scale. convention: none near is worse
_APART = 0.5  # peaks closer than this are one. convention: none near is worse


def climb(witness: Witness, starts: Floats, scale: float) -> tuple[Floats, Floats]:
    """Where ascent ends from each start, and how high it is there: (m, d) → (m, d), (m,).

    Each start has a step length of its own, which grows after a step upwards and shrinks after one that was not. It is
    at its peak when it rises by a step so short that all of them together would make no longest one. `scale` is the
    width of a typical peak.
    """
    points, longest = starts.copy(), _LONGEST * scale
    heights, slopes = witness(points)
    lengths = 0.5 * scale**2 / (np.abs(heights) + np.finfo(float).tiny)
    climbing = np.arange(len(points))
    for _ in range(STEPS):
        sizes = lengths[climbing] * np.linalg.norm(slopes[climbing], axis=1) + np.finfo(float).tiny
        moves = (lengths[climbing] * np.minimum(1.0, longest / sizes))[:, None] * slopes[climbing]
        higher, steeper = witness(points[climbing] + moves)
        up = higher > heights[climbing]
        points[climbing[up]] += moves[up]
        heights[climbing[up]], slopes[climbing[up]] = higher[up], steeper[up]
        lengths[climbing] *= np.where(up, 1.6, 0.35)
        climbing = climbing[~up | (sizes > longest / STEPS)]
    return points, heights


def distinct(points: Floats, heights: Floats, scale: float, count: int) -> Floats:
    """At most `count` points, highest first, none within half a scale of a higher one: (m, d) → (≤ count, d)."""
    chosen: list[int] = []
    for index in np.argsort(-heights):
        gaps = np.linalg.norm(points[chosen] - points[index], axis=1)
        if np.all(gaps > _APART * scale):
            chosen.append(int(index))
        if len(chosen) == count:
            break
    return points[chosen]


# --------------------
# Weights on the simplex for Gaussians that stay where they are.


_LEAST = 1e-6  # weights below are none. convention: none near is worse


def reweight(likelihood: Likelihood, gaussians: Gaussians) -> Gaussians:
    """The best weights for these Gaussians; those without weight are dropped."""
    features = likelihood.features(gaussians.centres, gaussians.widths)
    basis, factor = np.linalg.qr(features.T)  # distances within the span are all that weights can change
    shares = nearest_in_hull(factor, likelihood.target @ basis)
    return gaussians.with_weights(np.where(shares > _LEAST, shares, 0.0)) if shares is not None else gaussians


# --------------------
# Moving Gaussians: all weights, widths and centres together, by Levenberg–Marquardt steps on the squared misfit.


LEAST = 1e-5  # weights below are none. convention: none near is worse
# Widths, in lengthscales: narrower ones can't be told from points. convention: none near is worse
NARROWEST = 0.03
_FARTHEST = 0.5  # that a centre moves in one step, in lengthscales. convention: none near is worse
_FACTOR = 1.5  # the most by which log-weights and log-variances change. convention: none near is worse
# At first, then changed by factors. convention: none near is worse
_DAMPING, _RELIEF, _TIGHTENING, _ATTEMPTS = 1e-2, 5.0, 4.0, 8
_GAIN = 0.05  # of χ²: steps that gain less are not worth taking. convention: none near is worse


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    """Where centres are expected, before anything is measured: a normal law with a mean and a spread in each column.

    A Gaussian far from all that is measured is seen by no feature: without this it may drift anywhere, and take weight
    along that is missing elsewhere. An infinite spread expects nothing.
    """

    middle: Floats  # (d,)
    spread: Floats  # (d,)

    @classmethod
    def of(cls, draws: Floats, lengthscale: float) -> "Whereabouts":
        """Those of draws of a public law, (m, d), which is taken to be as wide as the kernel at least."""
        return cls(middle=draws.mean(axis=0), spread=np.maximum(draws.std(axis=0), lengthscale))

    def away(self, centres: Floats) -> Floats:
        """How many spreads centres are from the middle: (K, d) → (K, d)."""
        return np.asarray((centres - self.middle) / self.spread, dtype=np.float64)


ANYWHERE = Whereabouts(middle=np.zeros(1), spread=np.full(1, math.inf))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedGaussians:
    """Gaussians, and their misfit: ‖target − Σ w_k·f_k‖² plus what unlike widths and far centres cost."""

    gaussians: Gaussians
    misfit: float


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class LevenbergMarquardt:
    """Steps of damped least squares in log-weights, log-variances and centres, all unconstrained.

    `likeness` is how far log-variances are expected to be from their mean: widths that the data say little about are
    then like those of the others (infinite: no such pull). `lengthscale` is the kernel's, `widest` bounds the widths,
    and centres are expected at `whereabouts`.
    """

    lengthscale: float
    widest: float
    likeness: float = math.inf
    whereabouts: Whereabouts = ANYWHERE
    steps: int = 40

    def fit(self, likelihood: Likelihood, gaussians: Gaussians) -> FittedGaussians:
        """Move these Gaussians to a local optimum; those that lose their weight on the way are dropped."""
        state = _State.of(gaussians, NARROWEST * self.lengthscale)
        (misfit, residual), damping = self._misfit(likelihood, state), _DAMPING
        for _ in range(self.steps):
            normal, slope = self._equations(likelihood, state, residual)
            for _ in range(_ATTEMPTS):
                step = np.linalg.solve(normal + damping * np.diag(np.diag(normal) + 1e-6), slope)
                moved = self._take_step(state, step.astype(np.float64, copy=False))
                reached, left = self._misfit(likelihood, moved)
                if reached < misfit:
                    break
                damping *= _TIGHTENING
            else:
                break
            gain, state, misfit, residual = misfit - reached, moved, reached, left
            damping = max(damping / _RELIEF, 1e-6)
            kept = state.weights > LEAST
            if not kept.all():
                state = state.only(kept)
                misfit, residual = self._misfit(likelihood, state)
            elif gain < _GAIN:
                break
        return FittedGaussians(gaussians=state.gaussians, misfit=misfit)

    def _misfit(self, likelihood: Likelihood, state: "_State") -> tuple[float, Floats]:
        """With the residual, which the next step needs again."""
        residual = likelihood.residual(state.gaussians)
        unlike = self._unlike(state) @ state.variances
        away = self.whereabouts.away(state.centres)
        return float(residual @ residual + unlike @ unlike + (away**2).sum()), residual

    def _unlike(self, state: "_State") -> Floats:
        """The matrix that takes log-variances to their distance from the weighted mean, over `likeness`: (K, K)."""
        matrix: Floats = (np.eye(len(state.weights)) - state.weights) / self.likeness
        return matrix

    def _equations(self, likelihood: Likelihood, state: "_State", residual: Floats) -> tuple[Floats, Floats]:
        """The normal equations of the linearised misfit: (p, p), (p,) with p = (d + 2)·K."""
        gaussians = state.gaussians
        products, agreement = likelihood.linearise(gaussians.centres, gaussians.widths, residual)
        weights, count = gaussians.weights, len(gaussians)
        # By the logit of a weight Σ w·f changes by w_k·(f_k − Σ w·f), by the others by w_k times their derivative.
        scales = np.concatenate([weights, weights * 0.5 * gaussians.widths, *[weights] * gaussians.centres.shape[1]])
        products[:count] -= weights @ products[:count]
        products[:, :count] -= (products[:, :count] @ weights)[:, None]
        agreement[:count] -= weights @ agreement[:count]
        normal, slope = products * np.outer(scales, scales), agreement * scales
        spread = slice(count, 2 * count)
        unlike = self._unlike(state)
        normal[spread, spread] += unlike.T @ unlike
        slope[spread] -= unlike.T @ (unlike @ state.variances)
        pull = np.broadcast_to(1.0 / self.whereabouts.spread, state.centres.shape)
        normal[2 * count :, 2 * count :] += np.diag((pull**2).T.ravel())
        slope[2 * count :] -= (pull * self.whereabouts.away(state.centres)).T.ravel()
        return normal, slope

    def _take_step(self, state: "_State", step: Floats) -> "_State":
        count, dimension = state.centres.shape
        weights, variances = np.clip(step[: 2 * count].reshape(2, count), -_FACTOR, _FACTOR)
        far = step[2 * count :].reshape(dimension, count).T
        sizes = np.linalg.norm(far, axis=1, keepdims=True)
        far *= np.minimum(1.0, _FARTHEST * self.lengthscale / np.maximum(sizes, np.finfo(float).tiny))
        bounds = 2.0 * np.log([NARROWEST * self.lengthscale, self.widest])
        return _State(
            logits=state.logits + weights,
            variances=np.clip(state.variances + variances, *bounds),
            centres=state.centres + far,
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _State:
    """Gaussians in unconstrained variables."""

    logits: Floats  # of the weights, up to a constant
    variances: Floats  # their logarithms
    centres: Floats

    @classmethod
    def of(cls, gaussians: Gaussians, narrowest: float) -> "_State":
        return cls(
            logits=np.log(np.maximum(gaussians.weights, LEAST)),
            variances=2.0 * np.log(np.maximum(gaussians.widths, narrowest)),
            centres=gaussians.centres,
        )

    @property
    def weights(self) -> Floats:
        masses: Floats = np.exp(self.logits - self.logits.max())
        masses /= masses.sum()
        return masses

    @property
    def gaussians(self) -> Gaussians:
        return Gaussians(centres=self.centres, widths=np.exp(0.5 * self.variances), weights=self.weights)

    def only(self, kept: NDArray[np.bool_]) -> "_State":
        return _State(logits=self.logits[kept], variances=self.variances[kept], centres=self.centres[kept])


# --------------------
# Sliding Frank–Wolfe: insert Gaussians where mass is missing, solve all weights, move them, drop the empty ones.


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
        first = draw(self.draws)
        found, whereabouts = Gaussians.none(first.shape[1]), Whereabouts.of(first, self.lengthscale)
        for width in self.widths:
            for _ in range(self.rounds):
                peaks = self.missing(likelihood, found, draw, generator, width=width)
                if len(peaks) == 0:
                    break
                found = reweight(likelihood, found.join(peaks, width * self.lengthscale))
                found = self._slide(likelihood, found, self.steps, whereabouts)
        if len(found) == 0:  # nothing stands out of the noise: one wide Gaussian says so
            found = Gaussians(
                centres=first.mean(axis=0, keepdims=True), widths=np.array([first.std()]), weights=np.ones(1)
            )
        return self._slide(likelihood, found, self.final_steps, whereabouts)

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
        best = np.argsort(-likelihood.heights(starts, residual, spread))[: max(self.starts, 3 * wanted)]
        peaks = distinct(*climb(witness, starts[best], scale), scale, wanted)
        level = 0.0 if len(gaussians) == 0 else float((likelihood.target - residual) @ residual)
        gains, bar = witness(peaks)[0] - level, self.significance if significance is None else significance
        if bar > 0.0:
            gains /= np.linalg.norm(likelihood.features(peaks, np.full(len(peaks), spread)), axis=1)
        standing_out: Floats = peaks[gains > bar]
        return standing_out

    def _slide(self, likelihood: Likelihood, gaussians: Gaussians, steps: int, whereabouts: Whereabouts) -> Gaussians:
        widest = self.lengthscale * max(1.0, 2.0 * max(self.widths))
        optimiser = LevenbergMarquardt(
            lengthscale=self.lengthscale, widest=widest, steps=steps, whereabouts=whereabouts
        )
        return optimiser.fit(likelihood, gaussians).gaussians


def likelihood_of(noisy: NoisyEmbedding, target: Floats) -> FourierLikelihood:
    """The likelihood that an estimate made from a noisy embedding gives to Gaussians."""
    return FourierLikelihood(_fourier(noisy.feature_map), target / noisy.sigma, noisy.sigma)


def _fourier(feature_map: FeatureMap) -> Fourier:
    if not isinstance(feature_map, Fourier):
        raise ParameterError(f"SlidingFrankWolfe: needs Fourier features, got {type(feature_map).__name__}.")
    return feature_map


# --------------------
# Growing a set of Gaussians: add one while it explains more than chance would, and more than its penalty.


# Of Gaussians that nothing is known about, in lengthscales. convention: none near is worse
_FIRST_WIDTH = 0.3
_PROMISING = 12.0  # χ² that a place must promise to be tried. convention: none near is worse
_TRIED = 3  # places at each step. convention: none near is worse
_CLEAR = 5.0  # times its penalty: no need to try another place. convention: none near is worse
_REMOVED = 5  # Gaussians whose removal is tried, the cheapest. convention: none near is worse
# Of a direction, so much counts even if moving the others does it too. convention: none near is worse
_HIDDEN = 0.02
_SHORT = 12  # steps of the optimiser after a removal. convention: none near is worse
_HALVINGS = 7  # of the likeness of widths: to a hundredth. limit: of time


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """Gaussians are added at the most promising places while each lowers χ² by more than its penalty.

    A Gaussian has d + 2 parameters. Each of them follows the noise and so lowers χ² by 1 and raises the squared error
    by 1: a Gaussian is kept where it lowers χ² by twice their number. To be taken in, it must do better by `search`,
    since the best of many places looks good by chance alone. All Gaussians together have at most so many `parameters`.
    """

    optimiser: LevenbergMarquardt
    search: float = 8.0
    parameters: int = 420

    def grow(self, likelihood: Likelihood, places: Floats, start: Gaussians) -> FittedGaussians:
        """Grow `start` (which may be empty) by Gaussians at some of `places`: (m, d)."""
        width = _FIRST_WIDTH * self.optimiser.lengthscale
        scan = _Scan(likelihood, places, likelihood.features(places, np.full(len(places), width)))
        if len(start) == 0:
            start = start.join(places[[scan.alone()]], width).with_weights(np.ones(1))
        grown = self.optimiser.fit(likelihood, start)
        most = max(1, self.parameters // (places.shape[1] + 2))
        while len(places) and len(grown.gaussians) < most:
            better = self._with_one_more(scan, grown) or self._with_one_split(likelihood, grown)
            if better is None:
                break
            grown = better
        return self._prune(likelihood, grown)

    def begin_anew(self, likelihood: JointLikelihood, places: Floats, grown: FittedGaussians) -> FittedGaussians:
        """These Gaussians, or those that many places are pruned to where they explain more: growing may get stuck.

        The places are those with weight in the nearest point of their hull, near ones as one, and pruned as the last
        embedding sees them, which is quicker. Both are judged by all of the embeddings.
        """
        last = likelihood.parts[-1]
        width = _FIRST_WIDTH * self.optimiser.lengthscale
        even = np.full(len(places), 1.0 / len(places))
        hull = reweight(last, Gaussians(centres=places, widths=np.full(len(places), width), weights=even))
        start = _cluster(hull, _APART * self.optimiser.lengthscale)
        if start.parameters > self.parameters:
            return grown
        pruned = self._prune(last, self.optimiser.fit(last, start)).gaussians
        other = self.optimiser.fit(likelihood, pruned)
        more = other.gaussians.parameters - grown.gaussians.parameters
        return other if grown.misfit - other.misfit > 2.0 * more else grown

    def polish(self, likelihood: Likelihood, grown: Gaussians) -> tuple[Gaussians, float]:
        """Gaussians as this likelihood has them, without those that do not pay, and how alike their widths are.

        The likeness is halved from the optimiser's while evidence for it grows: widths that are all the same need one
        parameter, not K, and where they differ nothing is gained by it.
        """
        optimiser = self.optimiser
        fitted = optimiser.fit(likelihood, grown)
        least = likelihood.unlikelihood(fitted.gaussians, fitted.misfit, likeness=optimiser.likeness)
        for _ in range(_HALVINGS):
            closer = replace(optimiser, likeness=0.5 * optimiser.likeness)
            other = closer.fit(likelihood, fitted.gaussians)
            reached = likelihood.unlikelihood(other.gaussians, other.misfit, likeness=closer.likeness)
            if len(other.gaussians) != len(fitted.gaussians) or not reached < least - _GAIN:
                break
            optimiser, fitted, least = closer, other, reached
        pruned = replace(self, optimiser=optimiser)._prune(likelihood, fitted)
        return pruned.gaussians, optimiser.likeness

    def _penalty(self, gaussians: Gaussians) -> float:
        return 2.0 * (int(gaussians.centres.shape[1]) + 2)

    def _with_one_more(self, scan: "_Scan", grown: FittedGaussians) -> FittedGaussians | None:
        """The best of a few promising places, if it is worth it."""
        scores, weights = scan.promises(grown.gaussians)
        penalty = self._penalty(grown.gaussians)
        best = grown
        for _ in range(_TRIED):
            place = int(np.argmax(scores))
            if scores[place] < _PROMISING:
                break
            weight = float(np.clip(weights[place], 0.003, 0.3))
            typical = float(np.exp(grown.gaussians.weights @ np.log(grown.gaussians.widths)))
            more = grown.gaussians.join(scan.places[[place]], typical)
            more = more.with_weights(np.append(grown.gaussians.weights * (1.0 - weight), weight))
            tried = self.optimiser.fit(scan.likelihood, more)
            best = min(best, tried, key=lambda fitted: fitted.misfit)
            if grown.misfit - best.misfit > _CLEAR * penalty:
                break
            near = np.linalg.norm(scan.places - scan.places[place], axis=1) < 0.5 * self.optimiser.lengthscale
            scores[near] = 0.0
        return best if grown.misfit - best.misfit > penalty + self.search else None

    def _with_one_split(self, likelihood: Likelihood, grown: FittedGaussians) -> FittedGaussians | None:
        """Two in the place of one, if that is worth it: places beside one Gaussian can't show that it covers two.

        The best of K Gaussians looks good by chance as well, by the largest square of K noises.
        """
        promises, axes = splits(likelihood, grown.gaussians)
        penalty = self._penalty(grown.gaussians)
        best = grown
        for index in np.argsort(-promises)[:_TRIED]:
            if promises[index] < _PROMISING:
                break
            tried = self.optimiser.fit(likelihood, _halve(grown.gaussians, int(index), axes[index]))
            best = min(best, tried, key=lambda fitted: fitted.misfit)
            if grown.misfit - best.misfit > _CLEAR * penalty:
                break
        return best if grown.misfit - best.misfit > penalty + 2.0 * math.log(len(grown.gaussians)) else None

    def _prune(self, likelihood: Likelihood, grown: FittedGaussians) -> FittedGaussians:
        """Without the Gaussians whose parameters cost more than they explain."""
        quick = replace(self.optimiser, steps=_SHORT)
        while len(grown.gaussians) > 1:
            for index in np.argsort(removal_costs(likelihood, grown.gaussians))[:_REMOVED]:
                weights = grown.gaussians.weights.copy()
                weights[index] = 0.0
                fewer = quick.fit(likelihood, grown.gaussians.with_weights(weights))
                if fewer.misfit - grown.misfit < self._penalty(grown.gaussians):
                    grown = fewer
                    break
            else:
                break
        return grown


def removal_costs(likelihood: Likelihood, gaussians: Gaussians) -> Floats:
    """About how much χ² rises without each Gaussian, all others adjusting: (K,).

    Near an optimum it is w²/[H⁻¹]_kk for a weight w and the matrix H of all derivatives' products (Wald's test).
    """
    count = len(gaussians)
    products, _ = likelihood.linearise(gaussians.centres, gaussians.widths, np.zeros(len(likelihood.target)))
    scales = np.concatenate([np.ones(count), np.tile(gaussians.weights, gaussians.centres.shape[1] + 1)])
    products *= np.outer(scales, scales)
    products[:count, :count] += products[:count, :count].max()  # the sum of weights is known
    products[np.diag_indices_from(products)] *= 1.0 + 1e-6
    return np.asarray(gaussians.weights**2 / np.diagonal(np.linalg.inv(products))[:count], dtype=np.float64)


def _cluster(gaussians: Gaussians, apart: float) -> Gaussians:
    """One in the place of all that are within a distance of a heavier one, with their weight and mean."""
    heads: list[int] = []
    members = np.empty(len(gaussians), dtype=np.int64)
    for index in np.argsort(-gaussians.weights, kind="stable"):
        gaps = np.linalg.norm(gaussians.centres[heads] - gaussians.centres[index], axis=1)
        if len(heads) == 0 or gaps.min() > apart:
            members[index] = len(heads)
            heads.append(int(index))
        else:
            members[index] = np.argmin(gaps)
    weights, centres = np.zeros(len(heads)), np.zeros((len(heads), gaussians.centres.shape[1]))
    np.add.at(weights, members, gaussians.weights)
    np.add.at(centres, members, gaussians.weights[:, None] * gaussians.centres)
    return Gaussians(centres=centres / weights[:, None], widths=gaussians.widths[heads], weights=weights)


def splits(likelihood: Likelihood, gaussians: Gaussians) -> tuple[Floats, Floats]:
    """How much two halves in the place of each Gaussian would lower χ², and the axis along which: (K,), (K, d).

    The axis is that in which the witness curves upward most, the score that of `_Scan.promises`.
    """
    count, dimension = gaussians.centres.shape
    residual = likelihood.residual(gaussians)
    axes = np.empty((count, dimension))
    for index, (centre, width) in enumerate(zip(gaussians.centres, gaussians.widths, strict=True)):
        ends = centre + width * np.concatenate([np.eye(dimension), -np.eye(dimension)])
        upper, lower = np.split(likelihood.witness(ends, residual, float(width))[1], 2)
        axes[index] = np.linalg.eigh(upper - lower + (upper - lower).T)[1][:, -1]
    moves = gaussians.widths[:, None] * axes
    ends = np.concatenate([gaussians.centres + moves, gaussians.centres - moves])
    halves = likelihood.features(ends, np.tile(gaussians.widths, 2)).reshape(2, count, -1).mean(axis=0)
    halves -= likelihood.features(gaussians.centres, gaussians.widths)
    return _Scan(likelihood, gaussians.centres, halves).promises(gaussians, instead=False)[0], axes


def _halve(gaussians: Gaussians, index: int, axis: Floats) -> Gaussians:
    """Half of a Gaussian a width ahead along an axis, half of it a width behind."""
    move = gaussians.widths[index] * axis
    centres = gaussians.centres.copy()
    centres[index] += move
    weights = gaussians.weights.copy()
    weights[index] /= 2.0
    return Gaussians(
        centres=np.concatenate([centres, [gaussians.centres[index] - move]]),
        widths=np.append(gaussians.widths, gaussians.widths[index]),
        weights=np.append(weights, weights[index]),
    )


@final
@dataclass(frozen=True, slots=True)
class _Scan:
    """Places for Gaussians, with their features: (m, d), (m, n)."""

    likelihood: Likelihood
    places: Floats
    features: Floats
    squares: Floats = field(init=False)  # of their norms: (m,)

    def __post_init__(self) -> None:
        object.__setattr__(self, "squares", np.einsum("mn,mn->m", self.features, self.features))

    def alone(self) -> int:
        """The place that explains most by itself."""
        return int(np.argmax(self.features @ self.likelihood.target / np.sqrt(self.squares)))

    def promises(self, gaussians: Gaussians, *, instead: bool = True) -> tuple[Floats, Floats]:
        """How much a Gaussian at each place would lower χ², all others adjusting, and the weight it would have.

        Its weight is taken from the others `instead`, unless the features are those of a change without one. The score
        test: what the residual says of the direction, over what is left of it beside the directions in
        which the present Gaussians can move.
        """
        slopes = self.likelihood.slopes(gaussians.centres, gaussians.widths)
        fitted = gaussians.weights @ slopes.features
        residual = self.likelihood.target - fitted
        moves = np.concatenate([slopes.features, slopes.by_width, *slopes.by_centre])
        moves /= np.linalg.norm(moves, axis=1, keepdims=True) + np.finfo(float).tiny
        sizes, axes = np.linalg.eigh(moves @ moves.T)
        kept = sizes > 1e-9 * sizes[-1]
        directions = moves.T @ (axes[:, kept] / np.sqrt(sizes[kept]))
        agreement = self.features @ residual - (fitted @ residual if instead else 0.0)
        known = ((self.features @ directions) ** 2).sum(axis=1)
        free = np.maximum(self.squares - known, _HIDDEN * self.squares)
        return np.where(agreement > 0.0, agreement**2 / free, 0.0), agreement / free
