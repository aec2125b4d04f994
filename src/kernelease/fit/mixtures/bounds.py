"""Numbers of a mixture that keep to their means and variances, as far as these were measured."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import scipy

from kernelease.arrays import Floats
from kernelease.fit.mixtures.mixture import Mixture

_STEEPEST = 500.0  # limit: of an exponent: by then all is in one atom
_NEAR = 1e-5  # limit: standard deviations, or variances: what is so near is met


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Between what the mean and the variance of a column's numbers are; rows without a number don't count."""

    column: int
    numbers: Floats  # (atoms,): the mean of each, NaN where it has no number
    within: Floats  # (atoms,): the variance of each
    mean: tuple[float, float]
    variance: tuple[float, float]

    def nearest(self, moments: Floats) -> Floats:
        """The mean and the variance within bounds that are nearest: (2,)."""
        low, high = np.array([self.mean, self.variance]).T
        nearest: Floats = np.clip(moments, low, high)
        return nearest


def kept(mixture: Mixture, bounds: Sequence[Bounds]) -> Mixture:
    """The mixture with every column within its bounds, where that can be; the mean alone, where both can't.

    Of a column that is outside, every component's shares are multiplied by e^(a·x + b·x²), with the same a and b: of
    all distributions with the wanted mean and variance the nearest in the sense of Kullback and Leibler. How many rows
    have a number stays as it is in each component.
    """
    columns = list(mixture.columns)
    for one in bounds:
        columns[one.column] = _kept(columns[one.column], mixture.weights, one)
    return dataclasses.replace(mixture, columns=tuple(columns))


def _kept(shares: Floats, weights: Floats, bounds: Bounds) -> Floats:
    """Shares of atoms, (M, atoms), within bounds; or as they were."""
    known = ~np.isnan(bounds.numbers)
    tilt = _Tilt(shares=shares[:, known], weights=weights, numbers=bounds.numbers[known], within=bounds.within[known])
    now = tilt.moments(np.zeros(2))
    goal = bounds.nearest(now)
    if np.array_equal(goal, now) or not now[1] > 0.0:
        return shares
    found = [tilt.slopes(goal, free) for free in ((True, False), (False, True), (True, True))]
    met = [slopes for slopes in found if tilt.near(slopes, bounds.nearest(tilt.moments(slopes)))]
    if not met and not tilt.near(found[0], goal, only=1):
        return shares
    result = shares.copy()
    result[:, known] = tilt.at(met[0] if met else found[0])
    return result


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Tilt:
    """Shares of atoms with numbers x, (M, atoms), multiplied by e^(a·z + b·z²), where z is x in standard deviations."""

    shares: Floats
    weights: Floats  # (M,)
    numbers: Floats  # (atoms,)
    within: Floats  # (atoms,)

    def moments(self, slopes: Floats) -> Floats:
        """Mean and variance at slopes a and b: (2,)."""
        return self._moments(self.at(slopes))

    def at(self, slopes: Floats) -> Floats:
        """The shares, with the sum that each component had."""
        mean, variance = self._moments(self.shares)
        z = (self.numbers - mean) / math.sqrt(variance) if variance > 0.0 else np.zeros_like(self.numbers)
        exponent = slopes[0] * z + slopes[1] * z**2
        raised = self.shares * np.exp(np.maximum(exponent - exponent.max(), -_STEEPEST))
        sums = np.maximum(raised.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        result: Floats = raised * (self.shares.sum(axis=1, keepdims=True) / sums)
        return result

    def slopes(self, goal: Floats, free: tuple[bool, bool]) -> Floats:
        """Slopes, those that are not free 0, at which as many moments are as they should be; as near as was found."""
        chosen = np.array(free)

        def off(values: Floats) -> Floats:
            slopes = np.zeros(2)
            slopes[chosen] = values
            missing: Floats = self._off(slopes, goal)[chosen]
            return missing

        result = np.zeros(2)
        result[chosen] = np.nan_to_num(scipy.optimize.root(off, np.zeros(int(chosen.sum()))).x)
        return result

    def near(self, slopes: Floats, goal: Floats, *, only: int = 2) -> bool:
        """Whether the moments at these slopes, or the first alone, are as they should be."""
        return bool(np.all(np.abs(self._off(slopes, goal)[:only]) < _NEAR))

    def _off(self, slopes: Floats, goal: Floats) -> Floats:
        variance = self._moments(self.shares)[1]
        apart: Floats = (self.moments(slopes) - goal) / [math.sqrt(variance), variance]
        return apart

    def _moments(self, shares: Floats) -> Floats:
        margin = self.weights @ shares
        margin = margin / margin.sum()
        mean = float(margin @ self.numbers)
        return np.array([mean, float(margin @ ((self.numbers - mean) ** 2 + self.within))])
