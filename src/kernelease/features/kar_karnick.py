"""Kar–Karnick features of dot-product kernels: products of random signed sums, clipped to a norm in integers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers, Rows, finite_numbers
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap, checked_rows, grid_columns
from kernelease.kernels.dot_product import BoxKernel, within_norm
from kernelease.kernels.elementary import sqrt_above
from kernelease.seeds import PublicSeed

_CELL_BITS = 20  # grid steps in a half width, and the fixed point of the products
_UNIT_BITS = 14  # fixed point of a feature before 1/√J
_ROOT_BITS = 30  # fixed point of 1/√d
_LARGEST = 2**32  # products are clamped to ±4096 on the way
_MOST_COLUMNS = 2**16  # √d·2⁵⁰, the largest product on the way, then fits 64 bits
_DEFAULT_SLACK = 1.25  # of the clip, over the norm that the kernel gives the longest rows: features scatter around it


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KarKarnick(FeatureMap):
    """Features of k(x, y) = Σ_p a_p·u^p, u = x·y/(d·b²) (Kar & Karnick 2012): φ_j = w_j·Π_{i ≤ p_j} s_ji·x/(√d·b)/√J.

    s_ji are random signs, so E[φ(x)·φ(y)] = k(x, y) up to two stated biases:

    - truncation: degrees above `max_degree` are left out, which changes k by at most `truncation_bias`;
    - clipping: single features can reach d^{p/2}, and ‖φ(x)‖ fluctuates around √k(x, x), so single features are cut
      at ±`clip` and rows of norm above `clip` scaled down to it. `clipping_bias` measures what that does to public
      points. A smaller `clip` means less noise and more bias.

    The norm is at most `clip`, the diameter 2·`clip`. Of J features, a share a_p/Σa has degree p exactly (not on
    average, which would add variance): w_j² = a_p·J/J_p.

    `half_width` (b) is the declared bound of every column: cells are clamped to ±b. `degrees` (J,), `weights` (J,)
    and `signs` (J, P, d) say what the features are.

    >>> from kernelease.kernels import Polynomial
    >>> kernel = Polynomial(degree=2, half_width=1.0, dimension=3)
    >>> phi = KarKarnick.random(kernel, features=50, max_degree=2, seed=PublicSeed(0))
    >>> phi.dimension, phi.diameter == 2 * phi.clip, phi.truncation_bias
    (50, True, 0.0)
    """

    degrees: Integers = field(repr=False)
    weights: Floats = field(repr=False)
    signs: NDArray[np.int8] = field(repr=False)
    half_width: float
    clip: float
    truncation_bias: float = 0.0

    def __post_init__(self) -> None:
        degrees, weights = np.array(self.degrees, dtype=np.int64), np.array(self.weights, dtype=np.float64)
        signs = np.array(self.signs, dtype=np.int8)
        _check_shapes(degrees, weights, signs)
        if not 1e-100 <= self.half_width <= 1e100:
            raise ParameterError(
                f"KarKarnick: half_width must be positive, from 1e-100 to 1e100, got {self.half_width!r}."
            )
        for name, value in (("degrees", degrees), ("weights", weights), ("signs", signs)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if not (0.0 < self.clip < math.inf) or self._limit < 1 or self._limit**2 * len(degrees) >= 2**62:
            raise ParameterError(
                f"KarKarnick: clip must be positive and clip·features below 2¹⁷, "
                f"got clip={self.clip!r} with {len(degrees)} features."
            )

    @classmethod
    def random(
        cls, kernel: BoxKernel, *, features: int, max_degree: int, seed: PublicSeed, clip: float | None = None
    ) -> Self:
        """J = `features` features of degree at most `max_degree`; `clip` is 1.25·√Σa unless given."""
        taylor = np.array(kernel.taylor, dtype=np.float64)
        kept = taylor[: max_degree + 1]
        if max_degree < 0 or not kept.sum() > 0.0:
            raise ParameterError(
                f"KarKarnick: max_degree must reach a positive coefficient of the kernel, got {max_degree!r}."
            )
        shares = _apportion(kept, features)
        present = np.flatnonzero(shares)
        generator = seed.generator("Kar-Karnick signs")
        drawn = generator.integers(0, 2, (features, len(kept) - 1, kernel.dimension), dtype=np.int8)
        return cls(
            degrees=np.repeat(present, shares[present]),
            weights=np.repeat(np.sqrt(kept[present] * features / shares[present]), shares[present]),
            signs=2 * drawn - 1,
            half_width=kernel.half_width,
            clip=_DEFAULT_SLACK * math.sqrt(kept.sum()) if clip is None else clip,
            truncation_bias=float(taylor[max_degree + 1 :].sum()),
        )

    @property
    def dimension(self) -> int:
        return len(self.degrees)

    @property
    def step(self) -> float:
        """2⁻¹⁴/√J."""
        return 1.0 / (float(2**_UNIT_BITS) * math.sqrt(len(self.degrees)))

    @property
    def norm_bound(self) -> float:
        return self.clip

    @property
    def diameter(self) -> float:
        """2·`clip`: products of odd degree change sign with the row."""
        return 2.0 * self.clip

    @property
    def norm_bound_l1(self) -> float:
        return sqrt_above(Fraction(self.clip) ** 2 * len(self.degrees))

    @property
    def diameter_l1(self) -> float:
        return 2.0 * self.norm_bound_l1

    @property
    def _limit(self) -> int:
        """The largest integer L with L·step ≤ clip."""
        return math.floor(Fraction(self.clip) / Fraction(self.step))

    def integers(self, rows: Rows) -> Integers:
        """The products in fixed point, clipped so that Σ v² ≤ (clip/step)² in integers: (n, d) → (n, J).

        Sums of signed cells are matrix products of whole numbers below 2⁵³, which are exact in any order.
        """
        columns = self.signs.shape[2]
        grid = (self.half_width * 2.0**-_CELL_BITS,) * columns
        cells = grid_columns(rows, grid, "KarKarnick", 2**_CELL_BITS).T.astype(np.float64)
        root = round(2**_ROOT_BITS / math.sqrt(columns))
        result = np.empty((len(cells), self.dimension), dtype=np.int64)
        for features, factors in self._strata():
            weights = np.rint(self.weights[features] * 2**_CELL_BITS).astype(np.int64)
            products = np.tile(weights, (len(cells), 1))
            for signs in factors:
                sums = _shift((cells @ signs).astype(np.int64) * root, _ROOT_BITS)
                products = np.clip(_shift(products * sums, _CELL_BITS), -_LARGEST, _LARGEST)
            result[:, features] = _shift(products, _CELL_BITS - _UNIT_BITS)
        return within_norm(result, self._limit)

    def _strata(self) -> Iterator[tuple[slice, list[Floats]]]:
        """For each degree p: the features that have it, and their p matrices of signs (d, J_p)."""
        starts = np.flatnonzero(np.diff(self.degrees, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(self.degrees)], strict=True):
            degree = self.degrees[start]
            yield slice(start, stop), [self.signs[start:stop, i].T.astype(np.float64) for i in range(degree)]

    def evaluate(self, points: Rows) -> Floats:
        """φ of public points, clipped: (m, d) → (m, J)."""
        result = np.clip(self.evaluate_unclipped(points), -self.clip, self.clip)
        norms = np.sqrt((result**2).sum(axis=1, keepdims=True))
        result *= self.clip / np.maximum(norms, self.clip)
        return result

    def evaluate_unclipped(self, points: Rows) -> Floats:
        """φ of public points before clipping, an unbiased map for the truncated kernel: (m, d) → (m, J)."""
        columns = self.signs.shape[2]
        cells = np.clip(finite_numbers(checked_rows(points, columns, "KarKarnick")), -self.half_width, self.half_width)
        scaled = cells / (self.half_width * math.sqrt(columns))
        result = np.tile(self.weights / math.sqrt(self.dimension), (len(scaled), 1))
        for features, factors in self._strata():
            for signs in factors:
                result[:, features] *= scaled @ signs
        return result

    def clipping_bias(self, points: Rows) -> float:
        """The largest change that clipping makes to φ(x)·φ(y) over pairs of public points."""
        clipped, free = self.evaluate(points), self.evaluate_unclipped(points)
        return float(np.abs(clipped @ clipped.T - free @ free.T).max())


def _check_shapes(degrees: Integers, weights: Floats, signs: NDArray[np.int8]) -> None:
    if degrees.ndim != 1 or len(degrees) == 0 or weights.shape != degrees.shape:
        raise ParameterError(
            f"KarKarnick: degrees and weights must have shape (J,), got {degrees.shape} and {weights.shape}."
        )
    if signs.ndim != 3 or len(signs) != len(degrees) or not 1 <= signs.shape[2] <= _MOST_COLUMNS:
        raise ParameterError(
            f"KarKarnick: signs must have shape (J, P, d) with d from 1 to {_MOST_COLUMNS}, got {signs.shape}."
        )
    if (np.abs(signs) != 1).any():
        raise ParameterError("KarKarnick: signs must be +1 or -1.")
    if (np.diff(degrees) < 0).any() or not degrees[-1] <= signs.shape[1] or degrees[0] < 0:
        raise ParameterError(f"KarKarnick: degrees must be sorted and from 0 to P = {signs.shape[1]}.")
    if not (np.abs(weights) < _LARGEST >> _CELL_BITS).all():
        raise ParameterError(f"KarKarnick: weights must be below {_LARGEST >> _CELL_BITS}: scale the kernel down.")


def _apportion(coefficients: Floats, features: int) -> Integers:
    """Features per degree in proportion to the coefficients, at least one where a coefficient is positive."""
    positive = coefficients > 0.0
    if features < positive.sum():
        raise ParameterError(
            f"KarKarnick: features must be at least {positive.sum()}, one per degree with a positive coefficient, "
            f"got {features!r}."
        )
    edges = np.rint(np.cumsum(coefficients) / coefficients.sum() * (features - positive.sum())).astype(np.int64)
    shares: Integers = np.diff(edges, prepend=0) + positive
    return shares


def _shift(values: Integers, bits: int) -> Integers:
    """values/2^bits, to the nearest integer."""
    shifted: Integers = (values + (1 << (bits - 1))) >> bits
    return shifted
