"""Weights on the simplex for Gaussians that stay where they are."""

import numpy as np

from kernelease.fit.gaussians.likelihood import Likelihood
from kernelease.fit.weights.active_set import nearest_in_hull
from kernelease.measured.gaussians import Gaussians

_LEAST = 1e-6  # weights below are none. research: Vectors: one constant at a time


def reweighted(likelihood: Likelihood, gaussians: Gaussians) -> Gaussians:
    """The best weights for these Gaussians; those without weight are dropped."""
    features = likelihood.features(gaussians.centres, gaussians.widths)
    basis, factor = np.linalg.qr(features.T)  # distances within the span are all that weights can change
    shares = nearest_in_hull(factor, likelihood.target @ basis)
    return gaussians.weighted(np.where(shares > _LEAST, shares, 0.0)) if shares is not None else gaussians
