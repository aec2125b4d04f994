"""Attacks on exact sums: order, rounding, overflow, rows that disturb each other, rows that escape their clip."""

from fractions import Fraction
from typing import Any

import numpy as np

from audits.case import Case, Effort, Verdict
from kernelease.arrays import Floats, Rows
from kernelease.exact.rows import ExactEmbedding
from kernelease.features import FeatureMap, KarKarnick, Nystrom
from kernelease.kernels import Gaussian, Spectrum
from kernelease.seeds import PublicSeed
from tests.attacks import naive
from tests.features.broken_maps import MatrixProductPhases
from tests.features.table import CASES as MAPS
from tests.privacy.toys import OneHot
from tests.table.table import ARRAYS, COLUMNS

# φ(x) = x on [−1, 1]: the plainest sum there is.
IDENTITY = KarKarnick(
    degrees=np.array([1]), weights=np.ones(1), signs=np.ones((1, 1, 1), dtype=np.int8), half_width=1.0, clip=1.0
)
SPANS = (
    (Nystrom.spanning(Gaussian(lengthscale=1.0), np.arange(12.0).reshape(-1, 2)), 2),
    (Nystrom.spanning(Spectrum(n=2), np.array([["red"], ["green"], ["x" * 50]], dtype=object)), 1),
)
DUST = 1.25 * 2.0**-53  # added to 1 it counts as 2⁻⁵², added to −1 as 2⁻⁵³


def exact_sum(rows: Rows, feature_map: FeatureMap, threads: int = 1) -> list[int]:
    """The integers that the product would protect: private, and looked at here only."""
    return [int(value) for value in ExactEmbedding.of(rows, feature_map, threads=threads)._total]


def moved(count: int) -> tuple[float, float]:
    """How far one row, 1 or −1 before much dust, moves the sum, in sensitivities: the product's, the textbook's."""
    tables = [np.concatenate([[first], np.full(count, DUST)]) for first in (1.0, -1.0)]
    sums = [exact_sum(column[:, None], IDENTITY)[0] for column in tables]
    allowed = Fraction(IDENTITY.diameter) / Fraction(IDENTITY.step)
    textbook = Fraction(naive.running_sum(tables[0])) - Fraction(naive.running_sum(tables[1]))
    return float((sums[0] - sums[1]) / allowed - 1), float(textbook / 2 - 1)


def rounding(effort: Effort) -> Verdict:
    """One row against the rounding of all others."""
    count = 100_000 if effort is Effort.FAST else 2_000_000
    real, twin = moved(count)
    return Verdict(
        trials=count,
        holds=real <= 0.0,
        measured=f"one row moves the sum by {real:+.1e} of Δ beyond Δ",
        twin=f"a running sum of doubles: {twin:+.1e}",
        twin_caught=twin > 0.0,
    )


def order(effort: Effort) -> Verdict:
    """Other orders, blocks and threads."""
    trials, generator = 10 if effort is Effort.FAST else 100, np.random.default_rng(0)
    column = generator.normal(size=20_000)

    def sums(shuffle: bool) -> tuple[tuple[int, ...], float]:
        rows = generator.permutation(column) if shuffle else column
        batches = np.array_split(rows[:, None], generator.integers(1, 50))
        total = ExactEmbedding.of(iter(batches), IDENTITY, threads=int(generator.integers(1, 3)))._total
        return tuple(int(value) for value in total), naive.running_sum(rows)

    real, twin = zip(*(sums(shuffle=trial > 0) for trial in range(trials)), strict=True)
    return Verdict(
        trials=trials,
        holds=len(set(real)) == 1,
        measured=f"{len(set(real))} sum in {trials} orders, batches and threads",
        twin=f"a running sum of doubles: {len(set(twin))} sums",
        twin_caught=len(set(twin)) > 1,
    )


def overflow(effort: Effort) -> Verdict:
    """Rows of the largest integers that a map may have, until 64 bits are too few."""
    blocks, unit = 9 if effort is Effort.FAST else 40, 2**44
    feature_map = OneHot(categories=1, units=unit, rows_at_once=65_536)
    rows = np.zeros((blocks * 65_536, 1))
    real = exact_sum(rows, feature_map)[0]
    twin = naive.counter(np.full(len(rows), unit, dtype=np.int64))
    return Verdict(
        trials=len(rows),
        holds=real == len(rows) * unit,
        measured=f"a sum of 2^{real.bit_length() - 1} and more is exact",
        twin=f"64-bit integers: the sum is {'right' if twin == len(rows) * unit else 'wrong'}",
        twin_caught=twin != len(rows) * unit,
    )


# A row's integers are its own.


def disturbed(feature_map: FeatureMap, rows: Rows) -> int:
    """How many rows change their integers when another row, or all others, are dropped."""
    together, everyone, changed = feature_map.integers(rows), np.arange(len(rows)), 0
    for row in everyone:
        for rest in (np.delete(everyone, row), everyone[row : row + 1]):
            changed += int((feature_map.integers(rows[rest]) != together[rest]).any(axis=1).sum())
    return changed


def own_integers(effort: Effort) -> Verdict:
    """Every map of the package, and the matrix product."""
    maps = MAPS[::4] if effort is Effort.FAST else MAPS
    real = sum(disturbed(case.make(PublicSeed(1)), case.rows) for case in maps)
    generator = np.random.default_rng(0)
    product = MatrixProductPhases(
        frequencies=generator.normal(size=(32, 3)), offsets=generator.normal(size=32), scale=2**44
    )
    twin = disturbed(product, generator.normal(size=(24, 3)) * 2.0)
    return Verdict(
        trials=sum(len(case.rows) for case in maps),
        holds=real == 0,
        measured=f"{real} rows of {len(maps)} maps change when others are dropped",
        twin=f"phases from a matrix product of doubles: {twin} rows change",
        twin_caught=twin > 0,
    )


# Norms and cells.

HOSTILE: list[Any] = [
    *(0.0, -0.0, 5e-324, -5e-324, 2.2e-308, 1e-300, 1.0, -1.0, 1e200, -1e200, 1.7e308, -1.7e308),
    *(float("inf"), float("-inf"), float("nan"), 2.0**63, -(2.0**63), 2.0**53 + 1),
]
STRANGE: list[Any] = [*HOSTILE, 2**63 - 1, -(2**63), 10**400, None, "", "x" * 1_000_000, b"\xff", "red", True, [1]]


def hostile_rows(columns: int, cells: list[Any], trials: int, generator: np.random.Generator) -> Rows:
    """Rows of hostile cells in random company."""
    rows = np.empty((trials, columns), dtype=object)
    for index in np.ndindex(rows.shape):
        rows[index] = cells[generator.integers(len(cells))]
    return rows


def beyond(vectors: Any, step: Fraction, bound: float) -> int:
    """How many vectors are longer than the bound, as an inequality of rational numbers."""
    limit = Fraction(bound) ** 2 / step**2
    return sum(sum(int(value) ** 2 for value in vector) > limit for vector in vectors)


def too_long(rows: Floats, radius: float) -> int:
    """How many float rows are not of norm at most the radius: NaN is none, and neither is infinity."""
    finite = np.isfinite(rows).all(axis=1)
    long = sum(sum(Fraction(value) ** 2 for value in row) > Fraction(radius) ** 2 for row in rows[finite].tolist())
    return int((~finite).sum()) + long


def norms(effort: Effort) -> Verdict:
    """All maps, on adversarial cells: norms and distances in integers."""
    trials, generator, real = 20 if effort is Effort.FAST else 200, np.random.default_rng(3), 0
    maps = [*((case.make(PublicSeed(2)), case.rows.shape[1]) for case in MAPS), *SPANS]
    for feature_map, columns in maps:
        rows = hostile_rows(columns, STRANGE, trials, generator)
        vectors = np.array([feature_map.project(row) for row in feature_map.integers(rows).astype(object)])
        step = Fraction(feature_map.step)
        real += beyond(vectors, step, feature_map.norm_bound)
        real += beyond(vectors[1:] - vectors[:-1], step, feature_map.diameter)
    ordinary = generator.normal(size=(trials, 5))
    hostile = hostile_rows(5, HOSTILE, trials, generator).astype(np.float64)
    twin = [too_long(naive.clip(rows, 1.0), 1.0) for rows in (ordinary, hostile)]
    return Verdict(
        trials=len(maps) * trials,
        holds=real == 0,
        measured=f"{real} norms or distances beyond the bound, over {len(maps)} maps",
        twin=f"a clip in doubles: {twin[0]} of {trials} ordinary rows and {twin[1]} hostile ones escape",
        twin_caught=min(twin) > 0,
    )


def cells(effort: Effort) -> Verdict:
    """All kinds of column, on arrays of every type with the most that it can hold: codes stay in range."""
    columns = list(COLUMNS.values())[:: 5 if effort is Effort.FAST else 1]
    trials = real = 0
    for column in columns:
        for array in ARRAYS.values():
            codes = column.encode(array)
            trials += len(codes)
            real += int(((codes < 0) | (codes >= column.size)).sum())
    found = naive.cell_of(np.array(HOSTILE), 0.0, 100.0, 10)
    twin = int(((found < 0) | (found >= 10)).sum())
    return Verdict(
        trials=trials,
        holds=real == 0,
        measured=f"{real} of {trials:,} cells outside their column",
        twin=f"a cell by division: {twin} of {len(found)} are",
        twin_caught=twin > 0,
    )


CASES = (
    Case(
        name="rounding in sums (Casacuberta et al. 2022)",
        kind="attack",
        claim="One row moves an exact sum by at most Δ, as an inequality of integers.",
        run=rounding,
    ),
    Case(
        name="order of summation (Casacuberta et al. 2022)",
        kind="attack",
        claim="Order, batches and threads change no bit of a sum.",
        run=order,
    ),
    Case(
        name="overflow of sums (Casacuberta et al. 2022)",
        kind="attack",
        claim="Sums do not overflow, whatever the number of rows.",
        run=overflow,
    ),
    Case(
        name="dropping one row",
        kind="attack",
        claim="A row's integers are a function of that row alone.",
        run=own_integers,
    ),
    Case(
        name="clips and norms of hostile rows",
        kind="attack",
        claim="Subnormals, −0, infinities, NaN, 2⁶³ − 1 and enormous strings keep every bound of every map.",
        run=norms,
    ),
    Case(
        name="cells of hostile columns",
        kind="attack",
        claim="Every cell of every type, NaT and the ends of 64 bits included, becomes an atom of its column.",
        run=cells,
    ),
)
