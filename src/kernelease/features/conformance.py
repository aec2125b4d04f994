"""The conformance suite of feature maps: what privacy rests on, checked for a map that someone just wrote.

Run it on rows of your own choosing, never on private ones: its messages name numbers. It is a net, not a proof. It
has caught offset cosine features that claim norm 1, phases from a floating-point matrix product, features that go
negative and claim a diameter of √2, and maps that look at other rows.
"""

import decimal
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
from scipy import special

from kernelease.arrays import BigIntegers, Floats, Integers, Rows, as_rows, block_slices
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.kernels.kernel import Kernel

FALSE_ALARM = 1e-6  # of the statistical comparison with a kernel
_LARGEST_INTEGER = 2**46  # as `FeatureMap.integers` promises: 2¹⁶ of them add up within 62 bits
_FEWEST_DRAWS = 8  # fewer have no spread to speak of
_NUMBERS = (
    *(0.0, -0.0, 0.1, 1.0, -1.0, 2.0**53, -(2.0**63), 1e16, np.nan, np.inf, -np.inf),
    *(5e-324, -5e-324, 2.2e-308, 1e-160, 1e150, -1e150, 1e308, -1e308, 1.7976931348623157e308),
)
_OBJECTS: tuple[object, ...] = (
    *(None, True, "", "no such category", "1e999", "nan", "\ud800", "\x00", "x" * 100_000, b"\xff", 10**400),
    *(decimal.Decimal("sNaN"), 1j, (), [], {}, object(), np.datetime64("NaT", "s")),
)


def check_feature_map(
    feature_map: FeatureMap,
    rows: Rows,
    kernel: Kernel | None = None,
    *,
    draws: Sequence[FeatureMap] = (),
    bias: float = 0.0,
    tolerance: float = 1e-3,
) -> None:
    """Raise an `AssertionError` that says which property fails, for `rows` (n, d) or for adversarial cells among them.

    - Integers have the right type, shape and size, and no cell whatever raises or warns.
    - Norm, diameter and their L1 forms hold in exact rational arithmetic.
    - A row's integers are the same, bit for bit, alone and beside others, in any order, layout, block or thread.
    - `total` is the sum of `integers`, and `evaluate` is within `tolerance`·norm_bound of integers·step.
    - With `kernel`, the mean of φ(x)·φ(y) over `draws`, maps with independent seeds, is k(x, y) up to `bias`, at a
      false-alarm rate of 10⁻⁶. Without, whether φ approximates anything is not checked.

    >>> from kernelease.features import OneHot
    >>> check_feature_map(OneHot(("red", "green")), np.array([["red"], ["green"], ["blue"]], dtype=object))
    """
    plain = as_rows(rows)
    everything = np.concatenate([plain.astype(object), _adversarial(plain)])
    _check_claims(feature_map)
    integers = _quiet_integers(feature_map, everything)
    _check_integers(feature_map, integers, len(everything))
    _check_alone(feature_map, everything, integers)
    _check_layout(feature_map, plain, integers[: len(plain)])
    _check_total(feature_map, everything, integers)
    vectors = np.array([feature_map.project(row) for row in integers.astype(object)])
    _check_norms(feature_map, vectors)
    _check_diameters(feature_map, vectors)
    _check_evaluate(feature_map, everything, vectors, tolerance)
    if kernel is not None:
        _check_expectation(draws, kernel, plain, bias + tolerance * feature_map.norm_bound**2)


def _require(holds: object, sentence: str) -> None:
    if not holds:
        raise AssertionError(sentence)


def _adversarial(rows: Rows) -> Rows:
    """Rows full of each adversarial cell, and rows with one such cell first: (2·cells, d)."""
    cells = [*_NUMBERS, *_OBJECTS]
    result = np.empty((2 * len(cells), rows.shape[1]), dtype=object)
    result[len(cells) :] = rows[:1] if len(rows) else 0.0
    for i, cell in enumerate(cells):
        result[len(cells) + i, 0] = cell
        for j in range(rows.shape[1]):
            result[i, j] = cell
    return result


def _check_claims(feature_map: FeatureMap) -> None:
    for name in ("step", "norm_bound", "diameter", "norm_bound_l1", "diameter_l1"):
        value = getattr(feature_map, name)
        _require(0.0 < value < np.inf, f"{name} must be positive and finite, got {value!r}.")
    for name in ("dimension", "width", "block_rows"):
        value = getattr(feature_map, name)
        _require(isinstance(value, int) and value >= 1, f"{name} must be a positive integer, got {value!r}.")


def _quiet_integers(feature_map: FeatureMap, rows: Rows) -> Integers:
    """The integers, computed where every warning, numpy's own too, is an exception."""
    try:
        with warnings.catch_warnings(), np.errstate(over="raise", divide="raise", invalid="raise"):
            warnings.simplefilter("error")
            return feature_map.integers(rows)
    except Exception as error:
        raise AssertionError(
            f"integers must not raise or warn, whatever a cell holds: an exception gives a private row away. {error!r}"
        ) from error


def _check_integers(feature_map: FeatureMap, integers: Integers, count: int) -> None:
    _require(integers.dtype == np.int64, f"integers must be int64, got {integers.dtype}.")
    shape = (count, feature_map.width)
    _require(integers.shape == shape, f"integers must have shape (n, width) = {shape}, got {integers.shape}.")
    _require((np.abs(integers) < _LARGEST_INTEGER).all(), "integers must be below 2^46 in size.")


def _check_alone(feature_map: FeatureMap, rows: Rows, integers: Integers) -> None:
    for i in range(len(rows)):
        _same(feature_map.integers(rows[i : i + 1]), integers[i : i + 1], "computed alone")
        if i < 3:
            others = np.arange(len(rows)) != i
            _same(feature_map.integers(rows[others]), integers[others], "when another row is dropped")
    _same(feature_map.integers(rows[::-1])[::-1], integers, "when the rows are reversed")
    for size in (2, 3, 7):
        parts = [feature_map.integers(rows[block]) for block in block_slices(len(rows), size)]
        _same(np.concatenate(parts), integers, "in another block size")
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda block: feature_map.integers(rows[block]), block_slices(len(rows), 5)))
    _same(np.concatenate(parts), integers, "in another thread")


def _check_layout(feature_map: FeatureMap, rows: Rows, integers: Integers) -> None:
    before = rows.copy()
    before.setflags(write=False)
    _same(feature_map.integers(before), integers, "as numbers instead of objects, or as a read-only array")
    _same(feature_map.integers(np.asfortranarray(rows)), integers, "stored by columns")
    _same(feature_map.integers(np.repeat(rows, 2, axis=0)[::2]), integers, "stored with gaps")


def _same(found: Integers, expected: Integers, how: str) -> None:
    _require(
        found.shape == expected.shape and (found == expected).all(),
        f"A row's integers must depend on that row alone, but they change {how}.",
    )


def _check_total(feature_map: FeatureMap, rows: Rows, integers: Integers) -> None:
    for count in (0, 1, len(rows)):
        total = feature_map.total(rows[:count])
        _require(
            total.dtype == np.int64 and np.array_equal(total, integers[:count].sum(axis=0)),
            f"total must be the exact sum of integers over rows, as int64; it is not for {count} rows.",
        )


def _check_norms(feature_map: FeatureMap, vectors: BigIntegers) -> None:
    step = Fraction(feature_map.step)
    square, size = max((vectors**2).sum(axis=1)), max(np.abs(vectors).sum(axis=1))
    _below(step**2 * square, Fraction(feature_map.norm_bound) ** 2, "norm_bound", "squared norm")
    _below(step * size, Fraction(feature_map.norm_bound_l1), "norm_bound_l1", "L1 norm")


def _check_diameters(feature_map: FeatureMap, vectors: BigIntegers) -> None:
    step = Fraction(feature_map.step)
    distinct = np.array(list(set(map(tuple, vectors))), dtype=object)
    square = size = 0
    for vector in distinct:
        differences = distinct - vector
        square = max(square, *(differences**2).sum(axis=1))
        size = max(size, *np.abs(differences).sum(axis=1))
    _below(step**2 * square, Fraction(feature_map.diameter) ** 2, "diameter", "squared distance of two rows")
    _below(step * size, Fraction(feature_map.diameter_l1), "diameter_l1", "L1 distance of two rows")


def _below(found: Fraction, bound: Fraction, name: str, what: str) -> None:
    _require(found <= bound, f"{name} does not hold: a {what} is {float(found)!r}, above {float(bound)!r}.")


def _check_evaluate(feature_map: FeatureMap, rows: Rows, vectors: BigIntegers, tolerance: float) -> None:
    values = feature_map.evaluate(rows)
    shape = (len(rows), feature_map.dimension)
    _require(values.shape == shape, f"evaluate must have shape (m, dimension) = {shape}, got {values.shape}.")
    errors = np.sqrt(((values - vectors.astype(np.float64) * feature_map.step) ** 2).sum(axis=1))
    _require(
        (errors <= tolerance * feature_map.norm_bound).all(),
        f"evaluate must be integers·step up to {tolerance}·norm_bound, but is off by {errors.max()}.",
    )


def _check_expectation(draws: Sequence[FeatureMap], kernel: Kernel, points: Rows, bias: float) -> None:
    if len(draws) < _FEWEST_DRAWS:
        raise ParameterError(
            f"check_feature_map: with a kernel, draws must hold at least {_FEWEST_DRAWS} maps with seeds of their own, "
            f"got {len(draws)}."
        )
    features = [draw.evaluate(points) for draw in draws]
    grams: Floats = np.array([phi @ phi.T for phi in features])
    mean, deviation = grams.mean(axis=0), grams.std(axis=0, ddof=1) / np.sqrt(len(draws))
    quantile = special.stdtrit(len(draws) - 1, 1.0 - 0.5 * FALSE_ALARM / mean.size)
    excess = np.abs(mean - kernel.gram(points, points)) - quantile * deviation - bias
    _require((excess <= 0.0).all(), f"The mean of φ(x)·φ(y) differs from k(x, y), by {excess.max()} too much.")
