"""Growing a set of Gaussians: one more where it explains what chance can't, none that its penalty outweighs."""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.fit.gaussians.levenberg_marquardt import FittedGaussians, LevenbergMarquardt
from kernelease.fit.gaussians.likelihood import Likelihood
from kernelease.measured.gaussians import Gaussians

# Of Gaussians that nothing is known about, in lengthscales. research: Vectors: one constant at a time
_FIRST_WIDTH = 0.3
_PROMISING = 12.0  # χ² that a place must promise to be tried. research: Vectors: one constant at a time
_TRIED = 3  # places at each step. research: Vectors: one constant at a time
_CLEAR = 5.0  # times its penalty: no need to try another place. research: Vectors: one constant at a time
_REMOVED = 5  # lightest Gaussians whose removal is tried. research: Vectors: one constant at a time
# Of a direction, so much counts even if moving the others does it too. research: Vectors: one constant at a time
_HIDDEN = 0.02
_SHORT = 12  # steps of the optimiser after a removal. research: Vectors: one constant at a time


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
        """From `start` (which may be empty), with more Gaussians at some of `places`: (m, d)."""
        width = _FIRST_WIDTH * self.optimiser.lengthscale
        scan = _Scan(likelihood, places, likelihood.features(places, np.full(len(places), width)))
        if len(start) == 0:
            start = start.joined(places[[scan.alone()]], width).weighted(np.ones(1))
        grown = self.optimiser.fit(likelihood, start)
        most = max(1, self.parameters // (places.shape[1] + 2))
        while len(places) and len(grown.gaussians) < most:
            better = self._with_one_more(scan, grown)
            if better is None:
                break
            grown = better
        return self._pruned(likelihood, grown)

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
            more = grown.gaussians.joined(scan.places[[place]], typical)
            more = more.weighted(np.append(grown.gaussians.weights * (1.0 - weight), weight))
            tried = self.optimiser.fit(scan.likelihood, more)
            best = min(best, tried, key=lambda fitted: fitted.misfit)
            if grown.misfit - best.misfit > _CLEAR * penalty:
                break
            near = np.linalg.norm(scan.places - scan.places[place], axis=1) < 0.5 * self.optimiser.lengthscale
            scores[near] = 0.0
        return best if grown.misfit - best.misfit > penalty + self.search else None

    def _pruned(self, likelihood: Likelihood, grown: FittedGaussians) -> FittedGaussians:
        """Without the Gaussians whose parameters cost more than they explain."""
        quick = replace(self.optimiser, steps=_SHORT)
        while len(grown.gaussians) > 1:
            for index in np.argsort(grown.gaussians.weights)[:_REMOVED]:
                weights = grown.gaussians.weights.copy()
                weights[index] = 0.0
                fewer = quick.fit(likelihood, grown.gaussians.weighted(weights))
                if fewer.misfit - grown.misfit < self._penalty(grown.gaussians):
                    grown = fewer
                    break
            else:
                break
        return grown


@final
@dataclass(frozen=True, slots=True)
class _Scan:
    """Places for Gaussians, with their features: (m, d), (m, n)."""

    likelihood: Likelihood
    places: Floats
    features: Floats

    def alone(self) -> int:
        """The place that explains most by itself."""
        return int(np.argmax(self.features @ self.likelihood.target / np.linalg.norm(self.features, axis=1)))

    def promises(self, gaussians: Gaussians) -> tuple[Floats, Floats]:
        """By how much a Gaussian at each place would lower χ² while all others give way, and the weight it would have.

        The score test: what the residual says of the direction, over what is left of it beside the directions in
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
        agreement = self.features @ residual - fitted @ residual
        whole = (self.features**2).sum(axis=1)
        free = np.maximum(whole - ((self.features @ directions) ** 2).sum(axis=1), _HIDDEN * whole)
        return np.where(agreement > 0.0, agreement**2 / free, 0.0), agreement / free
