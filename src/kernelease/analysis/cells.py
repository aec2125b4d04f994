"""A kernel on the cells of one column, as features: k(a, b) = features[a]·features[b]."""

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.linalg import helmert

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.table import Column
from kernelease.table.atom_kernel import LENGTHSCALE

_NEGLIGIBLE = 1e-3  # eigenvalues below this share of the largest are left out of a smooth kernel
_SPACED = 256  # places that a smooth kernel is computed from


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class CellFeatures:
    """Features of cells in the eigenbasis of their kernel: (cells, r), with featuresᵀ·features diagonal.

    So independent noise of equal size on the cells is independent noise on the features, of variance `spectrum`. Each
    feature adds up to 0 over the cells: a product of features of several columns sees only how these go together, and
    none sees the number of rows.
    """

    features: Floats
    spectrum: Floats  # (r,): the diagonal of featuresᵀ·features

    @classmethod
    def of(cls, column: Column, groups: Integers, *, lengthscale: float = LENGTHSCALE) -> "CellFeatures":
        """Cells of an ordered column are alike as a Gaussian of their distance; all others only to themselves.

        `lengthscale` is a share of the declared range.
        """
        if not 0.0 < lengthscale < np.inf:
            raise ParameterError(f"lengthscale must be positive and finite, got {lengthscale!r}.")
        places = _places(column, groups)
        if not column.ordered:
            return cls(features=helmert(len(places)).T, spectrum=np.ones(len(places) - 1))
        factor = _factor(places, lengthscale)
        vectors, roots, _ = np.linalg.svd(factor - factor.mean(axis=0), full_matrices=False)
        keep = roots**2 > min(_NEGLIGIBLE * roots[0] ** 2, 0.5)  # NULL's own is near 1
        return cls(features=vectors[:, keep] * roots[keep], spectrum=roots[keep] ** 2)


def _places(column: Column, groups: Integers) -> Floats:
    """The mean place of each cell's atoms, as a share of the declared range; NaN for NULL and others: (cells,)."""
    centres = column.centres()
    known = ~np.isnan(centres)
    cells = int(groups.max()) + 1
    numbers = np.bincount(groups[known], minlength=cells)
    sums = np.bincount(groups[known], centres[known], minlength=cells)
    places = np.full(cells, np.nan)
    np.divide(sums, numbers, out=places, where=numbers > 0)
    span = float(np.ptp(centres[known])) if known.any() else 0.0
    return places / span if span > 0.0 else places


def _factor(places: Floats, lengthscale: float) -> Floats:
    """F with F·Fᵀ = 1 for a cell and itself, for two places a Gaussian of their distance, else 0: (cells, r).

    The Gaussian's values between few equally spaced places give all others, to rounding: its rank is small.
    """
    placed = np.flatnonzero(~np.isnan(places))
    others = np.flatnonzero(np.isnan(places))
    known = places[placed] / lengthscale
    spaced = known if len(known) <= _SPACED else np.linspace(known.min(), known.max(), _SPACED)
    values, vectors = np.linalg.eigh(_gaussian(spaced, spaced))
    large = values > 1e-10 * values.max(initial=1.0)
    factor = np.zeros((len(places), int(large.sum()) + len(others)))
    factor[placed, : large.sum()] = _gaussian(known, spaced) @ (vectors[:, large] / np.sqrt(values[large]))
    factor[others, large.sum() + np.arange(len(others))] = 1.0
    return factor


def _gaussian(one: Floats, other: Floats) -> Floats:
    kernel: Floats = np.exp(-0.5 * (one[:, None] - other) ** 2)
    return kernel
