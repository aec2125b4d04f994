"""Moving blobs: weights on the simplex for fixed blobs, and all of centres, widths and weights together."""

import numpy as np
from scipy.optimize import minimize

from kernelease.arrays import Floats
from kernelease.fit.active_set import nearest_in_hull
from kernelease.fit.blobs import Blobs
from kernelease.fit.landscape import Landscape

_LEAST = 1e-6  # weights below are none


def reweighted(landscape: Landscape, blobs: Blobs) -> Blobs:
    """The best weights for these blobs; those without weight are dropped."""
    features = landscape.features(blobs.centres, blobs.widths)
    basis, factor = np.linalg.qr(features.T)  # distances within the span are all that weights can change
    shares = nearest_in_hull(factor, landscape.target @ basis)
    return blobs.weighted(np.where(shares > _LEAST, shares, 0.0)) if shares is not None else blobs


def slid(landscape: Landscape, blobs: Blobs, *, scale: float, widest: float, steps: int) -> Blobs:
    """All blobs after at most `steps` steps of L-BFGS on the squared distance to the target.

    Weights are u/Σu with u ≥ 0. Centres and widths are in units of `scale`, so that all variables are of one size.
    """
    count, dimension = blobs.centres.shape
    places = count * dimension

    def unpacked(packed: Floats) -> tuple[Floats, Floats, Floats]:
        return packed[:places].reshape(count, dimension) * scale, packed[places:-count] * scale, packed[-count:]

    def squared_misfit(packed: Floats) -> tuple[float, Floats]:
        centres, widths, masses = unpacked(packed)
        total = masses.sum() + _LEAST  # L-BFGS may try masses of zero
        weights = masses / total
        misfit = landscape.misfit(Blobs(centres=centres, widths=widths, weights=weights))
        by_weight = -2.0 * misfit.heights
        gradient = [
            (-2.0 * scale * weights[:, None] * misfit.by_centre).ravel(),
            -2.0 * scale * weights * misfit.by_width,
            (by_weight - by_weight @ weights) / total,
        ]
        return float(misfit.residual @ misfit.residual), np.concatenate(gradient)

    start = np.concatenate([(blobs.centres / scale).ravel(), blobs.widths / scale, blobs.weights])
    bounds = [(None, None)] * places + [(0.0, widest / scale)] * count + [(0.0, None)] * count
    found = minimize(squared_misfit, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}).x
    centres, widths, masses = unpacked(found)
    moved = Blobs(centres=centres, widths=widths, weights=masses)
    return moved.weighted(np.where(masses > _LEAST * masses.sum(), masses, 0.0)) if masses.sum() > 0.0 else blobs
