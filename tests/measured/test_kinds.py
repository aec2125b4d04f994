"""Every kind of block keeps its claims, and a twin that breaks one of them is caught."""

import inspect
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from kernelease.arrays import Floats
from kernelease.conformance import check_block
from kernelease.measured.blocks import Block
from kernelease.measured.counts import Contrasts, Counts, without_means
from kernelease.measured.offsets import Moments, Sides
from kernelease.measured.spreads import Spread
from kernelease.measured.sums import Ramp
from kernelease.measured.views import NoisySums
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, block_sensitivity

TWO, THREE, FOUR = np.arange(2), np.arange(3), np.array([0, 1, 1, 0])
RAMP = Ramp(start=np.array([-7, 0, 7]), slope=np.zeros(3, dtype=np.int64), limit=7)
BLOCKS: list[Block] = [
    Counts(columns=(), groups=(), share=0.1),
    Counts(columns=(0,), groups=(THREE,), share=0.1),
    Counts(columns=(3, 1, 0), groups=(FOUR, TWO, THREE), share=0.1),
    Contrasts(columns=(0,), groups=(THREE,), share=0.1),
    Contrasts(columns=(1, 0), groups=(TWO, THREE), share=0.1),
    Moments(columns=(0,), groups=(THREE,), share=0.1, ramps=(RAMP,)),
    Moments(columns=(0, 1), groups=(np.zeros(3, dtype=np.int64), TWO), share=0.1, ramps=(RAMP, None)),
    Spread(
        columns=(0, 1),
        groups=(np.zeros(3, dtype=np.int64), np.zeros(2, dtype=np.int64)),
        share=0.1,
        scores=(np.array([-3, 0, 4]), np.array([-5, 5])),
        mixing=np.array([[2, 1], [-1, 3]]),
        one=8,
        limit=400,
    ),
    Sides(
        columns=(0, 1, 3),
        groups=tuple(np.zeros(size, dtype=np.int64) for size in (3, 2, 4)),
        share=0.1,
        sides=(np.array([-1, 1, 0]), np.array([-1, 1]), np.array([1, -1, -1, -1])),
        ordered=(2, 2, 0),
    ),
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.label}")
def test_a_block_keeps_its_claims(block: Block) -> None:
    check_block(block)


def test_every_kind_of_kernelease_is_tried() -> None:
    """So that a new kind can't be forgotten: it is known by being defined."""
    kinds = {kind for kind in subclasses(Block) if kind.__module__.startswith("kernelease.")}
    assert {type(block) for block in BLOCKS} == {kind for kind in kinds if not inspect.isabstract(kind)}


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(one) for one in kind.__subclasses__()))


@dataclass(frozen=True, kw_only=True)
class EvenAndOdd(Block):
    """Rows by whether the codes of their cells have an even or an odd sum: numbers that are no table's cells."""

    shape = (2,)

    @property
    def _odd(self) -> Any:
        return np.indices(self.grid).sum(axis=0) % 2

    def exact(self, table: Any) -> Any:
        return np.array([table[self._odd == side].sum() for side in (0, 1)])

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        return block_sensitivity(neighbours, unit=unit)

    def numbers_in(self, table: Floats) -> Floats:
        return np.bincount(self._odd.ravel(), table.ravel(), minlength=2).astype(np.float64)

    def spread(self, numbers: Floats) -> Floats:
        return numbers[self._odd]

    def covers(self, columns: tuple[int, ...]) -> bool:
        return False

    def tells(self, columns: tuple[int, ...]) -> bool:
        return set(self.columns) <= set(columns)

    def view(self, numbers: Floats, sigma: float, columns: Any, groups: Any) -> NoisySums:
        return NoisySums.of(numbers, sigma, self._odd.ravel(), TWO)

    def coefficients(self, sigma: float, columns: Any, groups: Any, weight: Floats) -> Floats:
        return NoisySums.coefficients(sigma, self._odd.ravel(), TWO, weight)

    @property
    def label(self) -> str:
        return f"parity of columns {self.columns}"


class Cheap(EvenAndOdd):
    """Says that a row moves it half as far as it does."""

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        honest = block_sensitivity(neighbours, unit=unit)
        return replace(honest, l2=honest.l2 / 2.0)


class CheapInSum(EvenAndOdd):
    """Says so of the sum of what it is moved, alone."""

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        return replace(block_sensitivity(neighbours, unit=unit), l1=0.5)


class CheapWhereRowsAreExchanged(EvenAndOdd):
    """Forgets that under replace-one a row goes and another comes."""

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        return replace(block_sensitivity(Neighbours.ADD_REMOVE, unit=unit), neighbours=neighbours)


class Doubled(EvenAndOdd):
    """Adds a row twice."""

    def exact(self, table: Any) -> Any:
        return 2 * EvenAndOdd.exact(self, table)


class AnotherTranspose(EvenAndOdd):
    def spread(self, numbers: Floats) -> Floats:
        return numbers[1 - self._odd]


class AnotherWhole(EvenAndOdd):
    @property
    def whole(self) -> int:
        return 2


class AddsUpToNothing(EvenAndOdd):
    @property
    def adds_up(self) -> bool:
        return False


class AnotherView(EvenAndOdd):
    def view(self, numbers: Floats, sigma: float, columns: Any, groups: Any) -> NoisySums:
        return NoisySums.of(numbers[::-1], sigma, self._odd.ravel(), TWO)


class OtherCoefficients(EvenAndOdd):
    def coefficients(self, sigma: float, columns: Any, groups: Any, weight: Floats) -> Floats:
        return NoisySums.coefficients(2.0 * sigma, self._odd.ravel(), TWO, weight)


class ForgetsWhatIsSeen(EvenAndOdd):
    def complete(self, numbers: Floats, alone: Any, rows: float) -> Floats:
        return np.full(self.grid, rows / math.prod(self.grid))


def test_a_kind_of_ones_own_keeps_its_claims() -> None:
    check_block(EvenAndOdd(columns=(0, 1), groups=(THREE, TWO), share=0.1))


@pytest.mark.parametrize(
    ("twin", "claim"),
    [
        (Cheap, "farther in L2"),
        (CheapInSum, "farther in L1"),
        (CheapWhereRowsAreExchanged, "replace-one moves it farther"),
        (Doubled, "farther in L1"),
        (AnotherTranspose, "transpose"),
        (AnotherWhole, "what values are"),
        (AddsUpToNothing, "adds_up"),
        (AnotherView, "a view without noise"),
        (OtherCoefficients, "coefficients"),
        (ForgetsWhatIsSeen, "complete must keep"),
    ],
)
def test_a_broken_twin_is_caught(twin: type[EvenAndOdd], claim: str) -> None:
    with pytest.raises(AssertionError, match=claim):
        check_block(twin(columns=(0, 1), groups=(THREE, TWO), share=0.1))


def test_sums_of_weights_are_no_function_of_counts() -> None:
    moments, table = BLOCKS[-1], np.ones((1, 2))
    for ask in (moments.numbers_in, moments.spread):
        with pytest.raises(ValueError, match="no function of counts"):
            ask(table)
    with pytest.raises(ValueError, match="no function of counts"):
        moments.view(table, 1.0, moments.columns, moments.groups)
    with pytest.raises(ValueError, match="no function of counts"):
        moments.coefficients(1.0, moments.columns, moments.groups, table)
    assert not moments.tells((0, 1))
    assert not moments.covers((0,))


def test_contrasts_with_their_means_are_counts() -> None:
    counts = np.array([[3.0, 1.0, 2.0], [5.0, 0.0, 9.0]])
    pair, single = BLOCKS[4], BLOCKS[3]
    whole = pair.complete(without_means(counts), [counts.sum(axis=1), counts.sum(axis=0)], 20.0)
    np.testing.assert_allclose(whole, counts, atol=1e-12)
    np.testing.assert_allclose(single.complete(without_means(counts[0]), [counts[0]], 6.0), counts[0])
