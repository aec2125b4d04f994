"""One test on private rows, in place of a release, charged to the ledger: permutation tests with noise.

dpMMD and dpHSIC (Kim & Schrab 2023), and by the same argument tests of ranks, means and slopes.
"""

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Any, ClassVar, final

import numpy as np

from kernelease.analysis.inference import DRAWS, SIGNIFICANCE, PrivateTest
from kernelease.arguments import LedgerLike, PrivacyLike, SchemaLike, ledger_of, privacy_of, schema_of
from kernelease.arrays import Floats, Integers, block_slices
from kernelease.bundle.saving import Bought, Watched
from kernelease.errors import CapacityError, ParameterError
from kernelease.privacy.accounting import Measurement, Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.mechanisms import PrivacyFilter, exceed, laplace_scale
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.privacy.sensitivity import (
    Neighbours,
    Private,
    Sensitivity,
    Subject,
    covariance_sensitivity,
    mean_distance_sensitivity,
    swap_sensitivity,
    weighted_sensitivity,
)
from kernelease.seeds import PublicSeed
from kernelease.sources.private_rows import private_table
from kernelease.table.atom_features import STEPS, AtomFeatures, PairFeatures
from kernelease.table.columns.column import Column
from kernelease.table.domains import TableDomain
from kernelease.table.schema import Schema

# ---- Exact statistics: how far two groups of rows are apart, and how two columns go together.
#
# All are integers: one row moves each by at most its `Sensitivity`, whatever the order of the rows
# (docs/proofs/permutation-tests.md).


MOST_PRODUCTS = 2**16  # of two columns' features: so many are squared in Python's integers for each order
MOST_ROWS = 2**22  # of either table: (n + m)² products of two features below 2⁸ stay below 2⁶³
SCORES = 2**15  # steps of a declared range, of which a number counts the nearest: n² of them stay below 2⁶³
_AT_ONCE = 2**24  # rows times orders that are summed at a time: 128 MiB


@final
@unique
class Statistic(StrEnum):
    """What a test looks at: everything (kernel), order (rank), numbers (mean, slope), or what suits (auto)."""

    AUTO = "auto"
    KERNEL = "kernel"
    RANK = "rank"
    MEAN = "mean"
    SLOPE = "slope"


class GroupStatistic(ABC):
    """How far two tables are apart."""

    @abstractmethod
    def of(self, rows: Integers, chosen: Floats, sizes: tuple[int, int]) -> list[int]:
        """For orders of n + m rows, (rows, columns), of which `chosen` are the first n, (orders, rows): an integer."""

    @abstractmethod
    def sensitivity(self, sizes: tuple[int, int]) -> Sensitivity:
        """How far one row moves the difference of two orders."""

    @abstractmethod
    def unit(self, sizes: tuple[int, int]) -> float:
        """What one integer is worth."""


@final
@dataclass(frozen=True, slots=True)
class KernelDistance(GroupStatistic):
    """n·m·MMD, by the features of rows."""

    features: PairFeatures

    def of(self, rows: Integers, chosen: Floats, sizes: tuple[int, int]) -> list[int]:
        squares = np.zeros(len(chosen), dtype=object)
        for block in self.features.blocks(rows):
            sums = np.rint(chosen @ block).astype(np.int64)  # integers below 2⁵³: exact
            total = np.rint(block.sum(axis=0)).astype(np.int64)
            squares += _squares(len(rows) * sums - sizes[0] * total)
        return [math.isqrt(square) for square in squares]

    def sensitivity(self, sizes: tuple[int, int]) -> Sensitivity:
        return mean_distance_sensitivity(self.features.squared_diameter, sizes)

    def unit(self, sizes: tuple[int, int]) -> float:
        return self.features.unit / math.prod(sizes)


@final
@dataclass(frozen=True, slots=True)
class MeanDistance(GroupStatistic):
    """n·m·|difference of means| of one column, by the integer score of each atom."""

    scores: Integers  # (atoms,)

    def of(self, rows: Integers, chosen: Floats, sizes: tuple[int, int]) -> list[int]:
        numbers = self.scores[rows[:, 0]]
        sums = np.rint(chosen @ numbers.astype(np.float64)).astype(np.int64)  # integers below 2⁵³: exact
        return [abs(len(rows) * int(one) - sizes[0] * int(numbers.sum())) for one in sums]

    def sensitivity(self, sizes: tuple[int, int]) -> Sensitivity:
        return mean_distance_sensitivity(int(np.ptp(self.scores)) ** 2, sizes)

    def unit(self, sizes: tuple[int, int]) -> float:
        return 1.0 / (SCORES * math.prod(sizes))


@final
@dataclass(frozen=True, slots=True)
class RankDistance(GroupStatistic):
    """|Σ sign(x − y)| over all pairs of a row of each side: Wilcoxon, Mann and Whitney. NULL has no rank."""

    size: int  # atoms in order; those beyond are not

    def of(self, rows: Integers, chosen: Floats, sizes: tuple[int, int]) -> list[int]:
        every = np.bincount(rows[:, 0], minlength=self.size)[: self.size]
        found = []
        for one in chosen:
            first = np.bincount(rows[one > 0.0, 0], minlength=self.size)[: self.size]
            below = np.cumsum(every - first)
            found.append(abs(int(first @ (2 * below - (every - first) - below[-1]))))
        return found

    def sensitivity(self, sizes: tuple[int, int]) -> Sensitivity:
        return mean_distance_sensitivity(4, sizes)

    def unit(self, sizes: tuple[int, int]) -> float:
        return 1.0 / math.prod(sizes)


class PairStatistic(ABC):
    """How two columns go together."""

    __slots__ = ()
    swaps: ClassVar[bool] = False  # whether orders swap the second column within pairs of rows, and no further

    @abstractmethod
    def of(self, first: Integers, second: Integers) -> int:
        """For the atoms of both in each row, (rows,) each: an integer."""

    @abstractmethod
    def sensitivity(self, rows: int) -> Sensitivity:
        """How far one row moves the difference of two orders of the second column."""

    @abstractmethod
    def unit(self, rows: int) -> float:
        """What one integer is worth."""

    def best_suited(self, rows: int, epsilon: float, level: float) -> "PairStatistic":
        """What finds the same with less noise, if anything does: by public numbers alone."""
        return self


@final
@dataclass(frozen=True, slots=True)
class KernelCovariance(PairStatistic):
    """n²·√HSIC, by the features of both columns; where those are few, by the fourth powers of singular values.

    Few features are smooth: two columns go together along few directions, and one row moves such a sum less.
    """

    columns: tuple[AtomFeatures, AtomFeatures]

    def __post_init__(self) -> None:
        one, other = self.columns
        if one.size * other.size > MOST_PRODUCTS:
            raise CapacityError(
                f"The two columns have {one.size} and {other.size} features; a test takes a product of at most "
                f"{MOST_PRODUCTS:,}. Declare groups of their values."
            )

    def of(self, first: Integers, second: Integers) -> int:
        one, other = (part.integers for part in self.columns)
        means = np.outer(_sum(one, first), _sum(other, second))
        return _size(len(first) * self._products(first, second) - means, self.power)

    def _products(self, first: Integers, second: Integers) -> Integers:
        """Σ φ(x)ψ(y)ᵀ over rows, by way of their contingency table: (r, s)."""
        one, other = (part.integers.astype(np.float64) for part in self.columns)
        counts = _contingency(first, second, len(one), len(other)).astype(np.float64)
        return np.rint(one.T @ counts @ other).astype(np.int64)

    @property
    def power(self) -> int:
        """Of the singular values that are added up: 4 where a column has fewer features than atoms, else 2 (HSIC)."""
        return 4 if any(part.size < len(part.integers) for part in self.columns) else 2

    @property
    def squared_diameters(self) -> tuple[int, int]:
        """Of the features of both columns."""
        return self.columns[0].squared_diameter, self.columns[1].squared_diameter

    def sensitivity(self, rows: int) -> Sensitivity:
        return covariance_sensitivity(self.squared_diameters, rows, power=self.power)

    def unit(self, rows: int) -> float:
        return 1.0 / (rows * STEPS) ** 2

    def best_suited(self, rows: int, epsilon: float, level: float) -> PairStatistic:
        """By pairs of rows where the critical value of the noise is above what even rows have by chance, n^(3/2)·√(st).

        s and t are the variances of features where every atom is as frequent.
        """
        even = math.prod(float(part.integers.var(axis=0).sum()) for part in self.columns)
        noise = self.sensitivity(rows).l1 / epsilon * math.log(0.5 / level)
        return SwappedCovariance(self) if noise > rows * math.sqrt(rows * even) else self


@final
@dataclass(frozen=True, slots=True)
class SwappedCovariance(PairStatistic):
    """‖Σ (φ(x) − φ(x′))(ψ(y) − ψ(y′))ᵀ‖ over pairs of rows, whose y and y′ are swapped or not: n·√HSIC on average.

    One row moves the swapped ones no further than its own, so that there is less noise; but chance is √2 times as much.
    """

    whole: KernelCovariance
    swaps: ClassVar[bool] = True

    def of(self, first: Integers, second: Integers) -> int:
        one, other = (
            part.integers[codes[::2]] - part.integers[codes[1::2]]
            for part, codes in zip(self.whole.columns, (first, second), strict=True)
        )
        products = np.rint(one.T.astype(np.float64) @ other.astype(np.float64))  # integers below 2⁵³: exact
        return _size(products.astype(np.int64), self.whole.power)

    def sensitivity(self, rows: int) -> Sensitivity:
        return swap_sensitivity(self.whole.squared_diameters, power=self.whole.power)

    def unit(self, rows: int) -> float:
        return 1.0 / (rows * STEPS**2)


@final
@dataclass(frozen=True, slots=True)
class ScoreCovariance(PairStatistic):
    """⌊n·|covariance|⌋ of the integer scores of two columns: whether the slope of one over the other is 0.

    n² of it would ask for more noise than 64 bits hold, from some 300,000 rows on.
    """

    scores: tuple[Integers, Integers]

    def of(self, first: Integers, second: Integers) -> int:
        x, y = self.scores[0][first], self.scores[1][second]
        return abs(len(first) * int(x @ y) - int(x.sum()) * int(y.sum())) // len(first)

    def sensitivity(self, rows: int) -> Sensitivity:
        one, other = (int(np.ptp(part)) ** 2 for part in self.scores)
        return covariance_sensitivity((one, other), rows, power=None, over=rows)

    def unit(self, rows: int) -> float:
        return 1.0 / (rows * SCORES**2)


@final
@dataclass(frozen=True, slots=True)
class RankAgreement(PairStatistic):
    """|Σ sign(x − x′)·sign(y − y′)| over all pairs of rows: Kendall's τ. NULL has no rank."""

    sizes: tuple[int, int]  # atoms in order of each column; those beyond are not

    def of(self, first: Integers, second: Integers) -> int:
        known = (first < self.sizes[0]) & (second < self.sizes[1])
        counts = _contingency(first[known], second[known], *self.sizes)
        below = np.zeros((self.sizes[0] + 1, self.sizes[1] + 1), dtype=np.int64)
        below[1:, 1:] = np.cumsum(np.cumsum(counts, axis=0), axis=1)
        alike, apart = below[:-1, :-1], below[:-1, -1:] - below[:-1, 1:]  # rows below in x, and below or above in y
        return abs(int((counts * (alike - apart)).sum()))

    def sensitivity(self, rows: int) -> Sensitivity:
        return covariance_sensitivity((4, 1), rows, power=None)

    def unit(self, rows: int) -> float:
        return 2.0 / (rows * max(1, rows - 1))


def _sum(features: Integers, codes: Integers) -> Integers:
    """The sum of the features of all rows."""
    total: Integers = np.bincount(codes, minlength=len(features)) @ features
    return total


def _contingency(first: Integers, second: Integers, one: int, other: int) -> Integers:
    """How many rows have each two atoms: (one, other)."""
    return np.bincount(first * other + second, minlength=one * other).reshape(one, other).astype(np.int64)


def _squares(vectors: Integers) -> Integers:
    """The squared norm of each row, in Python's integers, which can't overflow: (k, F) → (k,)."""
    squares: Integers = (vectors.astype(object) ** 2).sum(axis=1)
    return squares


def _size(matrix: Integers, power: int) -> int:
    """⌊(Σ σᵏ)^(1/k)⌋ of a matrix' singular values, for a power k of 2 or 4: exactly, by its squares or its Gram's."""
    if power == 2:
        return math.isqrt(int(_squares(matrix.reshape(1, -1))[0]))
    wide = (matrix if len(matrix) <= matrix.shape[1] else matrix.T).astype(object)
    return math.isqrt(math.isqrt(int(((wide @ wide.T) ** 2).sum())))


# ---- The same in random orders of the rows.


@final
class PermutedStatistics(Private):
    """One statistic of the rows, and those of the same rows reordered. Private: `exceed` is the only way out.

    It is a sum of several where each should count: with weights that make all move alike by one row. `unit` is what one
    integer is worth, in the measure of the first.
    """

    __slots__ = ("_observed", "_others", "_sensitivity", "unit")

    def __init__(self, statistics: list[int], sensitivity: Sensitivity, *, unit: float) -> None:
        self._observed, *self._others = statistics
        self._sensitivity = sensitivity
        self.unit = unit

    @classmethod
    def of_groups(
        cls,
        first: Integers,
        second: Integers,
        parts: Sequence[GroupStatistic],
        *,
        draws: int,
        generator: np.random.Generator,
    ) -> "PermutedStatistics":
        """Of two tables of atom codes, (n, columns) and (m, columns), and of random halves of their rows."""
        sizes = _check_size(len(first)), _check_size(len(second))
        weighed = _weigh([part.sensitivity(sizes) for part in parts])
        rows, found = np.concatenate([first, second]), list[int]()
        for place in block_slices(draws + 1, max(1, _AT_ONCE // len(rows))):
            chosen = _halves(place, sizes, generator)
            every = [part.of(rows, chosen, sizes) for part in parts]
            found += [
                sum(w * one for (w, _), one in zip(weighed, own, strict=True)) for own in zip(*every, strict=True)
            ]
        unit = parts[0].unit(sizes) / weighed[0][0]
        return cls(found, weighted_sensitivity(weighed), unit=unit)

    @classmethod
    def of_pairs(
        cls, codes: Integers, parts: Sequence[PairStatistic], *, draws: int, generator: np.random.Generator
    ) -> "PermutedStatistics":
        """Of two columns of atom codes, (n, 2), and of the same with the second in random orders."""
        count = _check_size(len(codes))
        weighed = _weigh([part.sensitivity(count) for part in parts])
        swaps = all(part.swaps for part in parts)
        rows = generator.permutation(codes)[: count - count % 2] if swaps else codes
        orders = _swaps if swaps else _orders
        found = []
        for second in orders(rows[:, 1], draws, generator):
            every = zip(weighed, parts, strict=True)
            found.append(sum(weight * part.of(rows[:, 0], second) for (weight, _), part in every))
        unit = parts[0].unit(count) / weighed[0][0]
        return cls(found, weighted_sensitivity(weighed), unit=unit)

    def check_noise(self, privacy: Privacy) -> None:
        """Refuse before the charge what `exceed` would refuse after it: more noise than 64 bits hold."""
        laplace_scale(self._sensitivity, privacy.epsilon)

    def exceed(self, level: float, *, budget: PrivacyFilter, noise: NoiseSource, label: str) -> Measurement:
        """How far the noisy statistic lies above its critical value, in integers: above 0 the test rejects.

        p = (1 + those that are no smaller) / (1 + all) is at most `level` exactly where the noisy statistic is above
        the ⌊level·(1 + all)⌋-th largest of the noisy others.
        """
        rank = math.floor(level * (1 + len(self._others)))
        return exceed(self._observed, self._others, rank, self._sensitivity, budget=budget, noise=noise, label=label)


def _weigh(every: Sequence[Sensitivity]) -> list[tuple[int, Sensitivity]]:
    """Whole weights that make all move about as far as the one that moves farthest."""
    largest = max(one.l1 for one in every)
    return [(max(1, round(largest / one.l1)), one) for one in every]


def _check_size(count: int) -> int:
    if count > MOST_ROWS:
        raise CapacityError(f"A test on rows takes at most {MOST_ROWS:,} of them: take a random part.")
    return count


def _halves(place: slice, sizes: tuple[int, int], generator: np.random.Generator) -> Floats:
    """1 for the rows that count as the first table's; as they are in the very first: (orders, rows)."""
    chosen = np.zeros((place.stop - place.start, sum(sizes)))
    for number, row in enumerate(chosen, start=place.start):
        row[generator.permutation(sum(sizes))[: sizes[0]] if number else slice(sizes[0])] = 1.0
    return chosen


def _orders(codes: Integers, draws: int, generator: np.random.Generator) -> Iterator[Integers]:
    """The rows in their own order, then in random orders."""
    yield codes
    for _ in range(draws):
        yield generator.permutation(codes)


def _swaps(codes: Integers, draws: int, generator: np.random.Generator) -> Iterator[Integers]:
    """The rows in their own order, then with every first and second one swapped or not, by chance."""
    yield codes
    pairs = codes.reshape(-1, 2)
    for _ in range(draws):
        yield np.where(generator.random((len(pairs), 1)) < 0.5, pairs, pairs[:, ::-1]).ravel()


# ---- Which statistic a test of declared columns takes.


def group_statistics(columns: Sequence[Column], chosen: Statistic) -> list[GroupStatistic]:
    """Of two tables: kernels, and for a single ordered column ranks as well, unless one of them is chosen."""
    alone = columns[0] if len(columns) == 1 else None
    if chosen is Statistic.SLOPE or (alone is None and chosen not in (Statistic.AUTO, Statistic.KERNEL)):
        raise ParameterError(
            f"statistic: two tables of several columns are compared by 'kernel', of one column by 'rank' or 'mean', "
            f"too; got {chosen.value!r} for {', '.join(column.name for column in columns)}."
        )
    kernel = KernelDistance(PairFeatures.of(columns))
    if alone is None or chosen is Statistic.KERNEL or (chosen is Statistic.AUTO and not alone.ordered):
        return [kernel]
    if chosen is Statistic.MEAN:
        return [MeanDistance(_scores(alone))]
    ranks = RankDistance(_in_order(alone))
    return [ranks] if chosen is Statistic.RANK else [kernel, ranks]


def pair_statistics(columns: Sequence[Column], chosen: Statistic) -> list[PairStatistic]:
    """Of two columns: kernels, and for ordered ones ranks as well, unless one of them is chosen."""
    one, other = columns
    if chosen is Statistic.MEAN:
        raise ParameterError("statistic: two columns go together by 'kernel', 'rank' or 'slope'; 'mean' is of one.")
    if chosen is Statistic.SLOPE:
        return [ScoreCovariance((_scores(one), _scores(other)))]
    kernel = KernelCovariance((AtomFeatures.of(one), AtomFeatures.of(other)))
    if chosen is Statistic.KERNEL or (chosen is Statistic.AUTO and not (one.ordered and other.ordered)):
        return [kernel]
    ranks = RankAgreement((_in_order(one), _in_order(other)))
    return [ranks] if chosen is Statistic.RANK else [kernel, ranks]


def _in_order(column: Column) -> int:
    """How many atoms of a column, from the first on, are in order: all but NULL."""
    if not column.ordered:
        raise ParameterError(f"statistic: 'rank' needs an ordered column; {column.name!r} is {column.tag}.")
    return column.size - column.nullable


def _scores(column: Column) -> Integers:
    """Steps of the declared range up to the middle of each atom; NULL is in the middle of all: (atoms,)."""
    places = column.centres()
    known = ~np.isnan(places)
    if column.tag not in ("integer", "number", "boolean") or known.sum() < 2:
        raise ParameterError(f"statistic: 'mean' and 'slope' need numbers; {column.name!r} is {column.tag}.")
    low, high = float(places[known].min()), float(places[known].max())
    scores: Integers = np.rint(np.where(known, (places - low) / (high - low), 0.5) * SCORES).astype(np.int64)
    return scores


def _choice(given: Statistic | str) -> Statistic:
    try:
        return Statistic(given)
    except ValueError:
        names = ", ".join(repr(one.value) for one in Statistic)
        raise ParameterError(f"statistic must be one of {names}, got {given!r}.") from None


# ---- The two tests.


MOST_DRAWS = 2**16  # orders of the rows: more tell a level apart that nobody asks for


def private_two_sample_test(
    first: Any,
    second: Any,
    *,
    schema: SchemaLike,
    privacy: PrivacyLike,
    columns: Sequence[str] | None = None,
    statistic: Statistic | str = Statistic.AUTO,
    level: float = SIGNIFICANCE,
    ledger: LedgerLike | None = None,
    draws: int = DRAWS,
    seed: int | None = None,
    noise: NoiseSource | None = None,
) -> PrivateTest:
    """Whether two private tables come from one distribution, by a permutation test with Laplace noise.

    `privacy` is (epsilon, 0): a test is pure. The tables have the same declared columns, of which `columns` names some.
    Each row of either is protected, and the sizes of both are public (replace-one). `statistic` is "kernel", which sees
    every difference (MMD); of one column "rank" (Wilcoxon) or "mean"; "auto" adds up kernel and ranks where there is an
    order. It and `level` have to be chosen before: they decide what is published. `draws` is the number of random
    orders; a `seed` for these goes with noise from a seed, for experiments.
    """
    declared, chosen = _columns_of(schema, columns), _choice(statistic)
    request = _Request.of(declared, privacy, level=level, draws=draws, seed=seed, ledger=ledger, noise=noise)
    parts = group_statistics(declared.columns, chosen)
    statistics = PermutedStatistics.of_groups(
        _codes(first, declared), _codes(second, declared), parts, draws=draws, generator=request.generator()
    )
    return request.answer(statistics, "The two private tables come from one distribution", "each row of either table")


def private_independence_test(
    data: Any,
    first: str,
    second: str,
    *,
    schema: SchemaLike,
    privacy: PrivacyLike,
    statistic: Statistic | str = Statistic.AUTO,
    level: float = SIGNIFICANCE,
    ledger: LedgerLike | None = None,
    draws: int = DRAWS,
    seed: int | None = None,
    noise: NoiseSource | None = None,
) -> PrivateTest:
    """Whether two columns of a private table are independent, by a permutation test with Laplace noise.

    Each row is protected, and their number is public (replace-one). `statistic` is "kernel", which sees every
    dependence (HSIC), "rank" (Kendall) or "slope" (a line); "auto" adds up kernel and ranks where both columns have an
    order. The other arguments are those of `private_two_sample_test`.
    """
    if first == second:
        raise ParameterError(f"private_independence_test: needs two columns, got {first!r} twice.")
    declared, chosen = _columns_of(schema, (first, second)), _choice(statistic)
    request = _Request.of(declared, privacy, level=level, draws=draws, seed=seed, ledger=ledger, noise=noise)
    parts, codes = pair_statistics(declared.columns, chosen), _codes(data, declared)
    if len(parts) == 1:
        parts = [parts[0].best_suited(len(codes), request.privacy.epsilon, level)]
    statistics = PermutedStatistics.of_pairs(codes, parts, draws=draws, generator=request.generator())
    return request.answer(statistics, f"{first} and {second} are independent of each other", "each row")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What is promised, and by which means: whatever can be refused was refused, and nothing was read."""

    privacy: Privacy
    subject: Subject
    ledger: Ledger
    given: bool  # whether the ledger is the caller's
    level: float
    seed: PublicSeed
    noise: NoiseSource

    @classmethod
    def of(
        cls,
        schema: Schema,
        privacy: PrivacyLike,
        *,
        level: float,
        draws: int,
        seed: int | None,
        ledger: LedgerLike | None,
        noise: NoiseSource | None,
    ) -> "_Request":
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        if not 1.0 / level - 1.0 <= draws <= MOST_DRAWS:
            raise ParameterError(
                f"draws must be from {1.0 / level - 1.0:.0f} to {MOST_DRAWS:,}, so that a test at level {level:g} can "
                f"reject, got {draws!r}."
            )
        drawn = SystemNoise() if noise is None else noise
        if seed is not None and drawn.private:
            raise ParameterError(
                "seed: random orders that are known protect a row only where rows keep their places, and a database "
                "or a sort keeps none. Leave it out, or give noise from a seed, too, for an experiment."
            )
        promised = _pure(privacy)
        subject = Subject(dataset=schema.name, unit=schema.unit)
        return cls(
            privacy=promised,
            subject=subject,
            ledger=ledger_of(ledger, subject=subject, promised=promised),
            given=ledger is not None,
            level=level,
            seed=PublicSeed(secrets.randbits(63) if seed is None else seed),
            noise=drawn,
        )

    def generator(self) -> Any:
        """Of the orders of rows: drawn afresh and never told, so that it says nothing in which order rows came."""
        return self.seed.generator("orders of rows")

    def answer(self, statistics: PermutedStatistics, hypothesis: str, protected: str) -> PrivateTest:
        """Charge the ledger, then add noise."""
        statistics.check_noise(self.privacy)
        books, bought = Watched(self.ledger, self.noise, given=self.given), Bought()
        with books.told_if_spent(bought):
            budget = PrivacyFilter.open(
                self.privacy, ledger=books, subject=self.subject, coordinates=1, purpose=f"a test: {hypothesis}"
            )
            measured = statistics.exceed(self.level, budget=budget, noise=self.noise, label="a permutation test")
            test = PrivateTest(
                hypothesis=hypothesis,
                level=self.level,
                margin=float(measured.values[0]) * statistics.unit,
                noise=measured.standard_deviation * statistics.unit,
                epsilon=self.privacy.epsilon,
                protected=protected,
                entry=books.receipt.number if self.given else None,
                private=measured.private,
            )
            bought.note_answer(test.words)
        return test


def _pure(privacy: PrivacyLike) -> Privacy:
    """The promise of a test: ε alone, of rows whose number is public."""
    promised = privacy_of(privacy)
    if promised.delta != 0.0:
        raise ParameterError(f"privacy: a test on rows is pure, so delta must be 0: ({promised.epsilon:g}, 0).")
    return promised.under(Neighbours.REPLACE_ONE)


def _columns_of(schema: SchemaLike, columns: Sequence[str] | None) -> Schema:
    """The schema of the columns that are tested; refused where rows are not what is protected, or not counted."""
    declared = schema_of(schema)
    if Neighbours(declared.neighbours) is not Neighbours.REPLACE_ONE:
        raise ParameterError("A test on rows needs their number to be public: set neighbours to replace-one.")
    if declared.unit is not None:
        raise ParameterError("A test on rows protects rows, not persons. Test a release instead.")
    names = declared.names if columns is None else tuple(dict.fromkeys(columns))
    if not names:
        raise ParameterError("columns must name at least one column.")
    chosen = tuple(declared.column(name) for name in names)
    for name in names:
        if (off := declared.taken_off(name)) is not None and off.name not in names:
            raise ParameterError(
                f"columns: {name!r} is read as a difference. Name {off.name!r} beside it, or test a release."
            )
    return TableDomain(
        Schema(columns=chosen, name=declared.name, source=declared.source, confirmed=declared.confirmed)
    ).declared


def _codes(data: Any, schema: Schema) -> Integers:
    rows = private_table(data, schema, seed=PublicSeed(0))
    rows.public_count(Neighbours.REPLACE_ONE)  # refuses an empty table
    codes: Integers = rows.array()
    return codes
