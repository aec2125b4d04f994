"""A similarity matrix that is positive semidefinite up to rounding only must not break a claimed diameter."""

import numpy as np

from kernelease.features import Nystrom
from kernelease.kernels import Similarity


def nearly_indefinite() -> Similarity:
    """97 categories that are all alike, and three whose likeness uses up what the check of eigenvalues lets pass."""
    size, close = 100, 1e-11
    slack = 0.45 * size * 2.0**-48 * 97
    matrix = np.zeros((size, size))
    matrix[3:, 3:] = 1.0
    matrix[:3, :3] = np.eye(3)
    matrix[0, 1] = matrix[1, 0] = 1 - close / 2
    matrix[1, 2] = matrix[2, 1] = 0.98 * np.sqrt(close + 2 * slack)
    return Similarity(values=tuple(range(size)), matrix=tuple(map(tuple, matrix.tolist())), default=0)


def test_the_diameter_covers_what_the_check_lets_pass():
    kernel = nearly_indefinite()
    feature_map = Nystrom.spanning(kernel, np.array([[0.0], [1.0], [3.0]]), tolerance=1e-12)
    rows = np.arange(100.0)[:, None]
    coordinates = np.array(
        [[float(v) for v in feature_map.project(i.astype(object))] for i in feature_map.integers(rows)]
    )
    distances = np.linalg.norm(coordinates[:, None] - coordinates[None, :], axis=2) * feature_map.step
    assert distances.max() <= feature_map.diameter
    assert distances.max() > kernel.diameter, "else this matrix tests nothing"
