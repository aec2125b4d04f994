"""One test on private rows, in place of a release: dpMMD and dpHSIC (Kim & Schrab 2023), charged to the ledger."""

import math
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from kernelease.analysis.inference import DRAWS, SIGNIFICANCE, PrivateTest
from kernelease.arguments import LedgerLike, PrivacyLike, SchemaLike, ledger_of, privacy_of, schema_of
from kernelease.arrays import Floats, Integers, block_slices
from kernelease.bundle.saving import Bought, Watched
from kernelease.errors import CapacityError, ParameterError
from kernelease.exact.private import Private
from kernelease.ledgers import MemoryLedger
from kernelease.privacy.accounting import Measurement, Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.mechanisms import PrivacyFilter, exceed
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.privacy.sensitivity import (
    Neighbours,
    Sensitivity,
    Subject,
    covariance_sensitivity,
    mean_distance_sensitivity,
)
from kernelease.seeds import PublicSeed
from kernelease.sources.private_rows import private_table
from kernelease.table.atom_features import STEPS, AtomFeatures, PairFeatures
from kernelease.table.domains import TableDomain
from kernelease.table.schema import Schema

# --------------------
# Exact statistics: of the rows in their own order, and in random orders.
#
# All are norms of integer vectors, rounded down to integers: one row moves each by at most its `Sensitivity`,
# whatever the order (docs/proofs/permutation-tests.md).


MOST_PRODUCTS = 2**16  # of two columns' features: so many are squared in Python's integers for each order
MOST_ROWS = 2**22  # of either table: (n + m)² products of two features below 2⁸ stay below 2⁶³
_AT_ONCE = 2**24  # rows times orders that are summed at a time: 128 MiB


@final
class PermutedStatistics(Private):
    """One statistic of the rows, and those of the same rows reordered. Private: `exceed` is the only way out.

    `unit` is what one integer is worth in the kernel's own measure.
    """

    __slots__ = ("_observed", "_others", "_sensitivity", "unit")

    def __init__(self, statistics: list[int], sensitivity: Sensitivity, *, unit: float) -> None:
        self._observed, *self._others = statistics
        self._sensitivity = sensitivity
        self.unit = unit

    @classmethod
    def distances(
        cls, first: Integers, second: Integers, features: PairFeatures, *, draws: int, generator: np.random.Generator
    ) -> "PermutedStatistics":
        """n·m·MMD of two tables of atom codes, (n, columns) and (m, columns), and of random halves of their rows."""
        sizes = _check_size(len(first)), _check_size(len(second))
        rows = np.concatenate([first, second])
        squares = np.zeros(draws + 1, dtype=object)
        for place in block_slices(draws + 1, max(1, _AT_ONCE // len(rows))):
            chosen = _halves(place, sizes, generator)
            for block in features.blocks(rows):
                sums = np.rint(chosen @ block).astype(np.int64)  # integers below 2⁵³: exact
                total = np.rint(block.sum(axis=0)).astype(np.int64)
                squares[place] += _squares(len(rows) * sums - sizes[0] * total)
        return cls(
            [math.isqrt(square) for square in squares],
            mean_distance_sensitivity(features.squared_diameter, sizes),
            unit=features.unit / math.prod(sizes),
        )

    @classmethod
    def covariances(
        cls, codes: Integers, columns: tuple[AtomFeatures, AtomFeatures], *, draws: int, generator: np.random.Generator
    ) -> "PermutedStatistics":
        """n²·√HSIC of two columns of atom codes, (n, 2), and of the same with the second in random orders."""
        count, (one, other) = _check_size(len(codes)), columns
        if one.size * other.size > MOST_PRODUCTS:
            raise CapacityError(
                f"The two columns have {one.size} and {other.size} features; a test takes a product of at most "
                f"{MOST_PRODUCTS:,}. Declare groups of their values."
            )
        means = np.outer(one.integers[codes[:, 0]].sum(axis=0), other.integers[codes[:, 1]].sum(axis=0))
        statistics = []
        for second in _orders(codes[:, 1], draws, generator):
            difference = count * _products(codes[:, 0], second, columns) - means
            statistics.append(math.isqrt(int(_squares(difference.reshape(1, -1))[0])))
        return cls(
            statistics,
            covariance_sensitivity((one.squared_diameter, other.squared_diameter), count),
            unit=1.0 / (count * STEPS) ** 2,
        )

    def exceed(self, level: float, *, budget: PrivacyFilter, noise: NoiseSource, label: str) -> Measurement:
        """How far the noisy statistic lies above its critical value, in integers: above 0 the test rejects.

        p = (1 + those that are no smaller) / (1 + all) is at most `level` exactly where the noisy statistic is above
        the ⌊level·(1 + all)⌋-th largest of the noisy others.
        """
        rank = math.floor(level * (1 + len(self._others)))
        return exceed(self._observed, self._others, rank, self._sensitivity, budget=budget, noise=noise, label=label)


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


def _products(first: Integers, second: Integers, columns: tuple[AtomFeatures, AtomFeatures]) -> Integers:
    """Σ φ(x)ψ(y)ᵀ over rows, by way of their contingency table: (r, s)."""
    one, other = (column.integers.astype(np.float64) for column in columns)
    counts = np.bincount(first * len(other) + second, minlength=len(one) * len(other))
    products: Floats = one.T @ counts.reshape(len(one), len(other)).astype(np.float64) @ other
    return np.rint(products).astype(np.int64)


def _squares(vectors: Integers) -> Integers:
    """The squared norm of each row, in Python's integers, which can't overflow: (k, F) → (k,)."""
    squares: Integers = (vectors.astype(object) ** 2).sum(axis=1)
    return squares


# --------------------
# The two tests.


MOST_DRAWS = 2**16  # orders of the rows: more tell a level apart that nobody asks for


def private_two_sample_test(
    first: Any,
    second: Any,
    *,
    schema: SchemaLike,
    privacy: PrivacyLike,
    columns: Sequence[str] | None = None,
    level: float = SIGNIFICANCE,
    ledger: LedgerLike | None = None,
    draws: int = DRAWS,
    seed: int | None = None,
    noise: NoiseSource | None = None,
) -> PrivateTest:
    """Whether two private tables come from one distribution, by a permutation test of their MMD with Laplace noise.

    `privacy` is (epsilon, 0): a test is pure. The tables have the same declared columns, of which `columns` names some.
    Each row of either is protected, and the sizes of both are public (replace-one). `level` has to be chosen before: it
    decides what is published. `draws` is the number of random orders. Give a `seed` only where these have to be the
    same again.
    """
    declared = _columns_of(schema, columns)
    request = _Request.of(declared, privacy, level=level, draws=draws, seed=seed, ledger=ledger, noise=noise)
    features = PairFeatures.of(declared.columns)
    statistics = PermutedStatistics.distances(
        _codes(first, declared), _codes(second, declared), features, draws=draws, generator=request.generator()
    )
    return request.answer(statistics, "The two private tables come from one distribution", "each row of either table")


def private_independence_test(
    data: Any,
    first: str,
    second: str,
    *,
    schema: SchemaLike,
    privacy: PrivacyLike,
    level: float = SIGNIFICANCE,
    ledger: LedgerLike | None = None,
    draws: int = DRAWS,
    seed: int | None = None,
    noise: NoiseSource | None = None,
) -> PrivateTest:
    """Whether two columns of a private table are independent, by a permutation test of HSIC with Laplace noise.

    Each row is protected, and their number is public (replace-one). The other arguments are those of
    `private_two_sample_test`.
    """
    if first == second:
        raise ParameterError(f"private_independence_test: needs two columns, got {first!r} twice.")
    declared = _columns_of(schema, (first, second))
    request = _Request.of(declared, privacy, level=level, draws=draws, seed=seed, ledger=ledger, noise=noise)
    one, other = (AtomFeatures.of(column) for column in declared.columns)
    statistics = PermutedStatistics.covariances(
        _codes(data, declared), (one, other), draws=draws, generator=request.generator()
    )
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
        _check_level(level, draws)
        promised = _pure(privacy)
        subject = Subject(dataset=schema.name, unit=schema.unit)
        return cls(
            privacy=promised,
            subject=subject,
            ledger=MemoryLedger.for_one(promised, subject)
            if ledger is None
            else ledger_of(ledger, subject=subject, promised=promised),
            given=ledger is not None,
            level=level,
            seed=PublicSeed(secrets.randbits(63) if seed is None else seed),
            noise=SystemNoise() if noise is None else noise,
        )

    def generator(self) -> Any:
        """Of the orders of rows: they are no secret, but a level is exact only where they are drawn afresh."""
        return self.seed.generator("orders of rows")

    def answer(self, statistics: PermutedStatistics, hypothesis: str, protected: str) -> PrivateTest:
        """Charge the ledger, then add noise."""
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
            bought.answered(test.words)
        return test


def _pure(privacy: PrivacyLike) -> Privacy:
    """The promise of a test: ε alone, of rows whose number is public."""
    promised = privacy_of(privacy)
    if promised.delta != 0.0:
        raise ParameterError(f"privacy: a test on rows is pure, so delta must be 0: ({promised.epsilon:g}, 0).")
    return promised.under(Neighbours.REPLACE_ONE)


def _check_level(level: float, draws: int) -> None:
    if not 0.0 < level < 1.0:
        raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
    if not 1.0 / level - 1.0 <= draws <= MOST_DRAWS:
        raise ParameterError(
            f"draws must be from {1.0 / level - 1.0:.0f} to {MOST_DRAWS:,}, so that a test at level {level:g} can "
            f"reject, got {draws!r}."
        )


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
    return TableDomain(
        Schema(columns=chosen, name=declared.name, source=declared.source, confirmed=declared.confirmed)
    ).declared


def _codes(data: Any, schema: Schema) -> Integers:
    rows = private_table(data, schema, seed=PublicSeed(0))
    rows.public_count(Neighbours.REPLACE_ONE)  # refuses an empty table
    codes: Integers = rows.array()
    return codes
