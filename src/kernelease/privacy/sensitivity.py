"""Whom a guarantee is about, and how far one of them can move an exact sum. Sensitivities are computed here alone.

Let v be the integer vector that a mechanism sees: the feature map's projected sum and, under add-remove, one more
coordinate that counts rows. With R, d and d₁ the map's norm, diameter and L1 diameter in integer units:

    replace-one    ‖v − v′‖₂ ≤ d                ‖v − v′‖₁ ≤ d₁
    add-remove     ‖v − v′‖₂ ≤ √(R² + c²)       ‖v − v′‖₁ ≤ R₁ + c      (c: what one row adds to the count)

Proofs: docs/proofs/sensitivity.md.
"""

import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, unique
from typing import TYPE_CHECKING, Any, NoReturn, final

from kernelease.errors import ParameterError, PrivacyError
from kernelease.kinds import Kind

if TYPE_CHECKING:
    from kernelease.features.feature_map import FeatureMap


# --------------------------------------------------------------------------------------------------------------
# Which two tables count as neighbours: the first thing that a guarantee has to say.


@final
@unique
class Neighbours(Kind, Enum):
    """The neighbour relation of a guarantee. Every sensitivity asks for one, and the certificate prints it."""

    REPLACE_ONE = "replace-one"
    """One row is exchanged for any other. The number of rows N is public. This is the paper's relation."""

    ADD_REMOVE = "add-remove"
    """One row is there or not. N is private: only a noisy count leaves the private side."""


# --------------------------------------------------------------------------------------------------------------
# What may be known of private rows without noise: at most their number.


def public_number(count: int, neighbours: Neighbours) -> int | None:
    """A number of rows where the relation makes it public, else None; a `ParameterError` if it is public and 0."""
    if neighbours is Neighbours.ADD_REMOVE:
        return None
    if count == 0:  # N is public under replace-one, so this says nothing private
        raise ParameterError("The table is empty: under replace-one there is no row to protect or describe.")
    return count


class Private(ABC):  # noqa: B024  # abstract in what it is for: there is nothing to implement
    """Holds private values. It prints none, has no length, no truth value, can't be iterated, copied or pickled.

    Any of these would tell something of the rows to whoever happens to look: a log, a debugger, a test of truth.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"

    def __len__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} has no length: how many rows it holds may be private.")

    def __iter__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} can't be iterated: it holds private values.")

    def __bool__(self) -> NoReturn:
        raise PrivacyError(f"{type(self).__name__} has no truth value: it would depend on private rows.")

    def __reduce__(self) -> Any:
        raise PrivacyError(f"{type(self).__name__} can't be pickled or copied: it holds private values.")

    __getstate__ = __reduce__


# --------------------------------------------------------------------------------------------------------------
# Whom a guarantee is about.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A data set by its name, and what is protected in it: each row, or each person that a column identifies.

    `dataset` is the name that the owner gives (None: not named), never a digest of the data. `unit` names the column
    that identifies a person (None: each row stands for one). Loss of one subject says nothing about another's.
    """

    dataset: str | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("dataset", self.dataset), ("unit", self.unit)):
            if value is not None and not is_text(value):
                raise ParameterError(f"Subject: {name} must be a text that is not empty, got {value!r}.")

    @property
    def unit_in_words(self) -> str:
        """Whom one unit of the loss is counted for."""
        return "each row" if self.unit is None else f"each {self.unit}"


ROWS = Subject()  # each row of a data set that has no name


def is_text(value: object) -> bool:
    """Whether a value is a text that is not empty."""
    return isinstance(value, str) and bool(value)


# --------------------------------------------------------------------------------------------------------------
# How far one row can move an exact sum. The only place where a sensitivity is computed; nobody types one.


ROUND_UP = 1.0 + 2.0**-40  # covers the rounding of the few float operations below, each of relative error 2⁻⁵³


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """Upper bounds, in integer units, on how far neighbouring tables move a vector of sums."""

    l2: float
    l1: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        for name, value in (("l2", self.l2), ("l1", self.l1)):
            if not 0.0 < value < math.inf:
                raise ParameterError(f"Sensitivity: {name} must be positive and finite, got {value!r}.")


def count_increment(feature_map: "FeatureMap") -> int:
    """c: what one row adds to the count coordinate, in integer units. The norm of a row, so that both cost the same."""
    return max(1, round(feature_map.norm_bound / feature_map.step))


def sum_sensitivity(feature_map: "FeatureMap", neighbours: Neighbours) -> Sensitivity:
    """Sensitivity of the projected sum over rows (with the count coordinate under add-remove)."""
    unit = ROUND_UP / feature_map.step
    if neighbours is Neighbours.REPLACE_ONE:
        return Sensitivity(l2=feature_map.diameter * unit, l1=feature_map.diameter_l1 * unit, neighbours=neighbours)
    count = count_increment(feature_map)
    return Sensitivity(
        l2=ROUND_UP * math.hypot(feature_map.norm_bound * unit, count),
        l1=ROUND_UP * (feature_map.norm_bound_l1 * unit + count),
        neighbours=neighbours,
    )


def row_sensitivity(
    neighbours: Neighbours, *, l2: float = 1.0, l1: float = 1.0, apart: float = 2.0, unit: int = 1
) -> Sensitivity:
    """Sensitivity of a sum of vectors, one of each row: none is longer than `l2`, and `l1` in L1, times `unit`.

    No two are farther than `apart` from each other in L2: 2·l2 by themselves, √2·l2 where their inner products are at
    least 0. A person's rows add `unit` times a mean of such vectors, to which all of it applies (all three are convex).
    """
    far = (l2, l1) if neighbours is Neighbours.ADD_REMOVE else (apart, 2.0 * l1)
    return Sensitivity(l2=ROUND_UP * far[0] * unit, l1=ROUND_UP * far[1] * unit, neighbours=neighbours)


def block_sensitivity(neighbours: Neighbours, *, unit: int = 1) -> Sensitivity:
    """Sensitivity of one block of grouped contingency counts: a row (or a person) adds `unit` to one of its cells."""
    return row_sensitivity(neighbours, apart=math.sqrt(2.0), unit=unit)


def centred_sensitivity(neighbours: Neighbours, *, shape: tuple[int, ...], unit: int = 1) -> Sensitivity:
    """Sensitivity of centred counts: (m·I − J) x of a column of m cells, (m·I − J) X (n·I − J) of two.

    A row in the cells a and b adds u_a v_bᵀ (or u_a) with u_a = m·e_a − 1: ‖u_a‖² = m(m − 1), and 2(m − 1) in L1. Under
    replace-one two rows differ most that share a cell of the column with more of them: ‖u_a‖²·‖v_b − v_b′‖², and
    ‖v_b − v_b′‖² = 2n². In L1 the bound is twice a row's. A person's rows add `unit` times a mean of such tables.
    """
    least, *more = sorted(shape)
    return row_sensitivity(
        neighbours,
        l2=math.sqrt(math.prod(size * (size - 1) for size in shape)),
        l1=math.prod(2.0 * (size - 1) for size in shape),
        apart=least * math.sqrt(2.0 * math.prod(size * (size - 1) for size in more)),
        unit=unit,
    )


def sides_sensitivity(neighbours: Neighbours, *, columns: int, unit: int = 1) -> Sensitivity:
    """Sensitivity of sums of all s_i s_j, i < j, with s_i in {−1, 0, 1} for each of D columns: two are D apart at most.

    Not twice as far as one of them is long, since no two differ in all products (docs/proofs/interactions.md).
    """
    pairs = math.comb(columns, 2)
    return row_sensitivity(neighbours, l2=math.sqrt(pairs), l1=float(pairs), apart=float(columns), unit=unit)


def distance_sensitivity(neighbours: Neighbours, *, unit: int = 1) -> int:
    """How far one row (or person) moves Σ |count − c| over the cells of a block, for public integers c: exactly.

    By the triangle inequality no further than it moves the block in L1: `unit` under add-remove, else 2·unit.
    """
    return unit if neighbours is Neighbours.ADD_REMOVE else 2 * unit


def mean_distance_sensitivity(squared_diameter: int, sizes: tuple[int, int]) -> Sensitivity:
    """Sensitivity of the difference of two statistics ⌊‖m·Σ φ(x) − n·Σ φ(y)‖⌋ of the same n + m rows in two orders.

    One row is in one of the two sums, which count it m or n times: a norm moves by max(n, m)·d, its floor by 1 more.
    Pairs of a row of each side, of which the first is larger, less those of which the second is, do so with d = 2.
    """
    moved = ROUND_UP * 2.0 * (max(sizes) * math.sqrt(squared_diameter) + 1.0)
    return Sensitivity(l2=moved, l1=moved, neighbours=Neighbours.REPLACE_ONE)


def covariance_sensitivity(
    squared_diameters: tuple[int, int], rows: int, *, power: int | None = 2, over: int = 1
) -> Sensitivity:
    """Sensitivity of the difference of two ⌊‖n·Σ φ(x)ψ(y)ᵀ − Σ φ(x)·Σ ψ(y)ᵀ‖⌋ of n rows, with the y reordered in one.

    A row (x, y) as it is moves it by `_product_move` times (n − 1)·d_φ·d_ψ; its x and its y in two places by twice
    (n − 1)·d_φ·d_ψ. Both norms may be divided by `over`. Each floor adds 1 (docs/proofs/permutation-tests.md).
    """
    return _of_two_products(squared_diameters, (_product_move(power) + 2.0) * (rows - 1) / over)


def swap_sensitivity(squared_diameters: tuple[int, int], *, power: int) -> Sensitivity:
    """Sensitivity of the difference of two ⌊‖Σ ±(φ(x) − φ(x′))(ψ(y) − ψ(y′))ᵀ‖⌋ over pairs of rows, with any signs.

    A row is in one pair, and moves its product by `_product_move`, whatever the sign.
    """
    return _of_two_products(squared_diameters, 2.0 * _product_move(power))


def _of_two_products(squared_diameters: tuple[int, int], products: float) -> Sensitivity:
    moved = ROUND_UP * (products * math.sqrt(math.prod(squared_diameters)) + 2.0)
    return Sensitivity(l2=moved, l1=moved, neighbours=Neighbours.REPLACE_ONE)


def _product_move(power: int | None) -> float:
    """sup ‖p′q′ᵀ − pqᵀ‖ of vectors that are, like their differences p − p′ and q − q′, no longer than 1.

    The norm is (Σ σᵏ)^(1/k) of the singular values σ, with k the `power`: 2 or 4, of which √(3/4) is twice the worst.
    Of numbers (None) it is 1.
    """
    return 1.0 if power is None else float(2.0 * 0.75 ** (power // 2)) ** (1.0 / power)


def weighted_sensitivity(parts: Sequence[tuple[int, Sensitivity]]) -> Sensitivity:
    """Sensitivity of a sum of numbers, each with a weight: the same sum of theirs."""
    moved = ROUND_UP * sum(weight * part.l1 for weight, part in parts)
    return Sensitivity(l2=moved, l1=moved, neighbours=parts[0][1].neighbours)
