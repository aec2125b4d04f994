"""The nearest point of a convex hull, exactly: by active sets (Lawson & Hanson 1974)."""

import numpy as np
import scipy

from kernelease.arrays import Floats

_ROUNDS = 1000  # or 3 per coordinate. limit: a problem that needs more is so degenerate that it may go in circles


def nearest_in_hull(corners: Floats, target: Floats) -> Floats | None:
    """λ ≥ 0 with Σλ = 1 and Σ λᵢ·cornerᵢ nearest to the target: (F, V), (F,) → (V,). None where it had to give up.

    Let C hold the corners minus the target. For u = s·λ the best s leaves κ²‖Cλ‖²/(‖Cλ‖² + κ²) of
    ‖Cu‖² + κ²(Σu − 1)², which grows with ‖Cλ‖. So least squares over u ≥ 0 finds the best λ, for any κ > 0.

    >>> nearest_in_hull(np.array([[0.0, 2.0, 2.0], [0.0, 0.0, 2.0]]), np.array([1.0, -3.0]))
    array([0.5, 0.5, 0. ])
    """
    scale = float(np.linalg.norm(target)) or 1.0
    moved = np.vstack([corners - target[:, np.newaxis], np.full((1, corners.shape[1]), scale)])
    try:
        found = scipy.optimize.nnls(
            moved, np.append(np.zeros(len(target)), scale), maxiter=max(_ROUNDS, 3 * len(moved))
        )[0]
    except RuntimeError:  # too many iterations
        return None
    shares: Floats = found / found.sum()
    return shares
