"""Weights on the simplex for blobs that stay where they are."""

import numpy as np

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
