"""What every kernel, feature map, solver, source and kind of block must satisfy, as checks for those who write one."""

import decimal
import itertools
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import special

from kernelease.arrays import BigIntegers, Floats, Integers, Rows, block_slices
from kernelease.errors import ParameterError, PrivacyError, SchemaError
from kernelease.features.feature_map import FeatureMap
from kernelease.fit.solver import Outcome, PointSolver, PointSource, Solution
from kernelease.fit.weights import Constraint, WeightSolver
from kernelease.kernels.kernel import Kernel, as_rows
from kernelease.measured.blocks import Block
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.measured.sums import CodedRows
from kernelease.privacy.sensitivity import Neighbours
from kernelease.seeds import PublicSeed
from kernelease.sources.source import LARGEST_BATCH, Source, plain
from kernelease.table.parsing import DAY, MICROSECOND, is_instant, is_number, parse_instant, read_instants

_NUMBERS = (np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324, -2.2e-308, 1e-160, 1e150, -1e308, 1.0 + 2.0**-52)
_OBJECTS: tuple[Any, ...] = (
    *(None, True, 10**400, -(10**400), 1j, np.float32("nan"), np.datetime64("NaT", "s"), object()),
    *("", "text", "nan", "1e999", " 7 ", "\ud800", "\x02\x03\x00", "é" * 5000, b"", b"\xff\x00"),
    *((), [], [1.0], {}, {"a": 1}, np.zeros(3), ([],)),
)


def check_kernel(kernel: Kernel, rows: Rows) -> None:
    """Raise an `AssertionError` that says which property of a kernel fails on these public rows, or on hostile ones.

    Admission is total, row by row and idempotent; the Gram matrix is symmetric, positive semidefinite, within `bound`,
    of the claimed sign, as smooth as `lipschitz` says where rows are numbers; k(x, y) depends on x and y alone, to the
    bit, and `total` adds up just that. Some 30 varied rows are a good test; the check takes time of order n³.

    >>> from kernelease.kernels.numeric import Gaussian
    >>> check_kernel(Gaussian(lengthscale=1.0), np.linspace(0.0, 3.0, 20).reshape(10, 2))
    """
    given = as_rows(rows)
    if len(given) < 2:
        raise AssertionError("check_kernel needs at least two rows to compare.")
    for batch in (given, _hostile_numbers(given), _hostile_objects(given)):
        admitted = _check_admission(kernel, batch)
        _check_values(kernel, admitted)
        _check_independence(kernel, admitted)
        _check_smoothness(kernel, admitted)


def _hostile_numbers(rows: Rows) -> Floats:
    """Rows of the extremes of floating point, then one extreme in each column of an ordinary row."""
    columns = rows.shape[1]
    whole = np.repeat(np.array(_NUMBERS)[:, np.newaxis], columns, axis=1)
    single = np.ones((len(_NUMBERS), columns))
    single[np.arange(len(_NUMBERS)), np.arange(len(_NUMBERS)) % columns] = _NUMBERS
    return np.concatenate([whole, single])


def _hostile_objects(rows: Rows) -> Rows:
    """The first row, with one odd cell in each column in turn."""
    hostile = np.repeat(rows[:1].astype(object), len(_OBJECTS) + len(_NUMBERS), axis=0)
    for i, cell in enumerate((*_OBJECTS, *_NUMBERS)):
        hostile[i, i % rows.shape[1]] = cell
    return hostile


def _check_admission(kernel: Kernel, rows: Rows) -> Rows:
    admitted: Rows = _quietly(kernel, "admit", lambda: kernel.admit(rows))
    again = _quietly(kernel, "admit", lambda: kernel.admit(admitted))
    _require(len(admitted) == len(rows), "admit must return one row for each row", kernel)
    _require(
        _same_rows(admitted, again),
        "admit must be idempotent: rows admitted twice differ from rows admitted once",
        kernel,
    )
    for i in range(len(rows)):
        alone = kernel.admit(rows[i : i + 1])
        _require(
            _same_rows(alone, admitted[i : i + 1]), "admit must treat each row alone: other rows changed a row", kernel
        )
    return admitted


def _check_values(kernel: Kernel, rows: Rows) -> None:
    gram = _quietly(kernel, "gram", lambda: kernel.gram(rows, rows))
    error, bound = kernel.evaluation_error(rows.shape[1]), kernel.bound
    _require(gram.shape == (len(rows), len(rows)), "gram must have a row for each x and a column for each y", kernel)
    _require(np.isfinite(gram).all(), "gram must be finite for all rows that admit returned", kernel)
    _require((abs(gram - gram.T) <= 2 * error).all(), "gram must be symmetric", kernel)
    _require((abs(gram) <= bound + error).all(), f"|k(x, y)| must be at most bound = {bound:g}", kernel)
    _require(not kernel.nonnegative or (gram >= -error).all(), "k(x, y) must not be negative, as claimed", kernel)
    smallest, tolerance = np.linalg.eigvalsh(gram)[0], len(rows) * (error + 2.0**-48 * bound)
    _require(
        smallest >= -tolerance, f"gram must be positive semidefinite, its smallest eigenvalue is {smallest:.3g}", kernel
    )
    diagonal = _quietly(kernel, "diagonal", lambda: kernel.diagonal(rows))
    _require(np.array_equal(diagonal, gram.diagonal()), "diagonal must equal the diagonal of gram, to the bit", kernel)
    unit = 2.0**40 / max(1.0, bound)
    total = _quietly(kernel, "total", lambda: kernel.total(rows, rows, per_unit=unit))
    whole = np.rint(gram * unit).astype(np.int64).sum(axis=0)
    _require(np.array_equal(total, whole), "total must be the exact sum of gram's rounded values", kernel)


def _check_independence(kernel: Kernel, rows: Rows) -> None:
    gram = kernel.gram(rows, rows)
    order = np.random.default_rng(0).permutation(len(rows))
    repeats = 2 + 2**9 // len(rows)
    _same_entries(kernel, kernel.gram(rows[order], rows[order]), gram[np.ix_(order, order)], "in another order")
    _same_entries(kernel, kernel.gram(rows[::2], rows[1::2]), gram[::2, 1::2], "without its neighbours")
    _same_entries(kernel, kernel.gram(np.asfortranarray(rows), rows[::-1]), gram[:, ::-1], "in another memory layout")
    _same_entries(kernel, kernel.gram(rows, np.tile(rows, (repeats, 1))), np.tile(gram, repeats), "among more rows")
    for i in range(len(rows)):
        _same_entries(kernel, kernel.gram(rows[i : i + 1], rows), gram[i : i + 1], "alone")


def _check_smoothness(kernel: Kernel, rows: Rows) -> None:
    if kernel.lipschitz is None or rows.dtype != np.float64 or not np.isfinite(rows).all():
        return
    gram, generator = kernel.gram(rows, rows), np.random.default_rng(0)
    for size in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        moved = kernel.admit(rows + size * generator.standard_normal(rows.shape))
        change = abs(kernel.gram(moved, rows) - gram).max(axis=1)
        allowed = kernel.lipschitz * np.sqrt(((moved - rows) ** 2).sum(axis=1))
        within = change <= allowed * (1 + 1e-9) + 2 * kernel.evaluation_error(rows.shape[1])
        _require(within.all(), f"k must change by at most lipschitz = {kernel.lipschitz:g} times the distance", kernel)


def _quietly(kernel: Kernel, method: str, call: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return call()
        except Exception as error:
            sentence = f"{method} must not raise or warn for a value, but there was {type(error).__name__}"
            raise AssertionError(f"{type(kernel).__name__}: {sentence}.") from error


def _same_entries(kernel: Kernel, found: Floats, expected: Floats, circumstance: str) -> None:
    sentence = f"k(x, y) must depend on x and y alone, to the bit, but it changed for a row {circumstance}"
    _require(found.tobytes() == expected.tobytes(), sentence, kernel)


def _same_rows(a: Rows, b: Rows) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype != np.dtype(object):
        return a.tobytes() == b.tobytes()
    return all(map(_same_cell, a.flat, b.flat))


def _same_cell(p: Any, q: Any) -> bool:
    both_missing = isinstance(p, float) and isinstance(q, float) and math.isnan(p) and math.isnan(q)
    return p is q or both_missing or (type(p) is type(q) and bool(p == q))


# ---- The conformance suite of feature maps: what privacy rests on, checked for a map that someone just wrote.
#
# Run it on rows of your own choosing, never on private ones: its messages name numbers. It is a net, not a proof. It
# has caught offset cosine features that claim norm 1, phases from a floating-point matrix product, features that go
# negative and claim a diameter of √2, and maps that look at other rows.


FALSE_ALARM = 1e-6  # of the statistical comparison with a kernel
_LARGEST_INTEGER = 2**46  # as `FeatureMap.integers` promises: 2¹⁶ of them add up within 62 bits
_FEWEST_DRAWS = 8  # fewer have no spread to speak of
_ADVERSARIAL_NUMBERS = (
    *(0.0, -0.0, 0.1, 1.0, -1.0, 2.0**53, -(2.0**63), 1e16, np.nan, np.inf, -np.inf),
    *(5e-324, -5e-324, 2.2e-308, 1e-160, 1e150, -1e150, 1e308, -1e308, 1.7976931348623157e308),
)
_ADVERSARIAL_OBJECTS: tuple[object, ...] = (
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


def _require(holds: object, sentence: str, of: Kernel | Source | None = None) -> None:
    """An `AssertionError` that says the sentence, and of which kind it is said where it is `of` something."""
    if not holds:
        raise AssertionError(sentence if of is None else f"{type(of).__name__}: {sentence}.")


def _adversarial(rows: Rows) -> Rows:
    """Rows full of each adversarial cell, and rows with one such cell first: (2·cells, d)."""
    cells = [*_ADVERSARIAL_NUMBERS, *_ADVERSARIAL_OBJECTS]
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
        _require_same(feature_map.integers(rows[i : i + 1]), integers[i : i + 1], "computed alone")
        if i < 3:
            others = np.arange(len(rows)) != i
            _require_same(feature_map.integers(rows[others]), integers[others], "when another row is dropped")
    _require_same(feature_map.integers(rows[::-1])[::-1], integers, "when the rows are reversed")
    for size in (2, 3, 7):
        parts = [feature_map.integers(rows[block]) for block in block_slices(len(rows), size)]
        _require_same(np.concatenate(parts), integers, "in another block size")
    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda block: feature_map.integers(rows[block]), block_slices(len(rows), 5)))
    _require_same(np.concatenate(parts), integers, "in another thread")


def _check_layout(feature_map: FeatureMap, rows: Rows, integers: Integers) -> None:
    before = rows.copy()
    before.setflags(write=False)
    _require_same(feature_map.integers(before), integers, "as numbers instead of objects, or as a read-only array")
    _require_same(feature_map.integers(np.asfortranarray(rows)), integers, "stored by columns")
    _require_same(feature_map.integers(np.repeat(rows, 2, axis=0)[::2]), integers, "stored with gaps")


def _require_same(found: Integers, expected: Integers, how: str) -> None:
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


# ---- The conformance suite of reduced-set solvers: what a release says about its fit, for a solver someone just wrote.


_NOT_A_SOLVERS = (Outcome.SELECTED, Outcome.CONVERTED)


def check_solver(
    solver: PointSolver,
    noisy: NoisyEmbedding,
    source: PointSource,
    *,
    constraint: Constraint | None = None,
    tolerance: float = 1e-6,
) -> None:
    """Raise an `AssertionError` that says which property fails, for a public `noisy` embedding and `source` of points.

    - One finite weight per point, as many columns as the source has, and the embedding's own noise floor.
    - The distance is that of the returned set to the target, up to `tolerance`·‖target‖, also for a target that is
      not the noisy mean.
    - Weights lie in `constraint`, where one is given.
    - The same seed gives the same set, to the bit, and neither target nor embedding is changed. (So fresh randomness,
      of noise or of a global generator, shows.)
    - The outcome is true: at the noise floor, exact, or not to be improved by other weights.
    """
    solver.check(noisy.feature_map, source)
    for share in (1.0, 0.5):
        target = share * noisy.mean
        solution = _solve_twice(solver, noisy, target, source)
        _check_form(solution, noisy, source)
        _check_distance(solution, noisy, target, tolerance)
        if constraint is not None:
            _check_weights(solution.synthetic.weights, constraint, tolerance)
        _check_outcome(solution, noisy, target, constraint, tolerance)


def _solve_twice(solver: PointSolver, noisy: NoisyEmbedding, target: Floats, source: PointSource) -> Solution:
    """The solution, the second time."""
    given, total = target.copy(), noisy.measurement.integers.copy()
    first, second = (solver.solve(noisy, given, source, PublicSeed(1)) for _ in range(2))
    _require(np.array_equal(given, target), "The target must not be changed.")
    _require(np.array_equal(noisy.measurement.integers, total), "The noisy embedding must not be changed.")
    _require(
        np.array_equal(first.synthetic.points, second.synthetic.points)
        and np.array_equal(first.synthetic.weights, second.synthetic.weights)
        and first.distance == second.distance,
        "The same seed must give the same set: all randomness comes from the seed.",
    )
    return second


def _check_form(solution: Solution, noisy: NoisyEmbedding, source: PointSource) -> None:
    points, weights = solution.synthetic.points, solution.synthetic.weights
    _require(len(weights) >= 1, "There must be at least one point.")
    _require(
        points.ndim == 2 and points.shape[1] == source.dimension,
        f"Points must have the {source.dimension} columns of the source, got shape {points.shape}.",
    )
    _require(weights.shape == (len(points),), f"There must be one weight per point, got shape {weights.shape}.")
    _require(np.isfinite(weights).all(), "Weights must be finite.")
    _require(points.dtype == object or np.isfinite(points).all(), "Points must be finite.")
    _require(
        solution.noise_floor == noisy.noise_floor,
        f"noise_floor must be the embedding's, {noisy.noise_floor!r}, got {solution.noise_floor!r}.",
    )


def _check_distance(solution: Solution, noisy: NoisyEmbedding, target: Floats, tolerance: float) -> None:
    found = solution.synthetic.distance(noisy.feature_map, target)
    _require(
        abs(solution.distance - found) <= tolerance * float(np.linalg.norm(target)),
        f"distance must be that of the set to the target, {found!r}, got {solution.distance!r}.",
    )


def _check_weights(weights: Floats, constraint: Constraint, tolerance: float) -> None:
    excess = float(np.abs(constraint.project(weights) - weights).sum())
    _require(excess <= tolerance, f"Weights must lie in {constraint!r}, but are {excess:.3g} away.")


def _check_outcome(
    solution: Solution, noisy: NoisyEmbedding, target: Floats, constraint: Constraint | None, tolerance: float
) -> None:
    outcome, size = solution.outcome, float(np.linalg.norm(target))
    _require(outcome not in _NOT_A_SOLVERS, f"{outcome} is not for solvers to say.")
    if outcome is Outcome.NOISE_FLOOR:
        above = solution.distance - solution.noise_floor
        _require(above <= tolerance * size, f"The distance is {above:.3g} above the noise floor it claims.")
    if outcome is Outcome.EXACT:
        _require(
            solution.distance <= tolerance * size, f"The fit claims to be exact, but is {solution.distance:.3g} off."
        )
    if outcome is Outcome.OPTIMAL and constraint is not None:
        design = noisy.feature_map.evaluate(solution.synthetic.points).T
        best = WeightSolver(constraint=constraint).solve(design, target).objective
        gain = solution.distance**2 - best
        _require(gain <= tolerance * size**2, f"Weights that claim to be optimal can be improved by {gain:.3g}.")


# ---- What every source must satisfy, as a check for those who write one.


_FAR = 2**62  # in days or microseconds: beyond every instant


def check_source(source: Source, expected: pa.Table) -> None:
    """Raise an `AssertionError` that says what a source gets wrong about a public table that it should hold.

    Each pass has the columns that were asked for in that order, in batches of at most `batch_rows` rows, none empty,
    of plain types; all passes give the rows of `expected`, in any order. Cells are compared by what they say under the
    expected type: a source may give a number or its text. The source must allow more than one pass.

    >>> from kernelease.sources.opening import open_source
    >>> table = pa.table({"age": [30, None], "name": ["Ada", "Bob"]})
    >>> check_source(open_source(table), table)
    """
    _require(set(expected.column_names) <= set(source.names()), "names must list all columns", source)
    _check_secrecy(source)
    _check_missing_column(source)
    names = expected.column_names
    for columns in (names, names[::-1], names, *([name] for name in names)):
        found = _rows(_check_batches(source, columns), expected.schema, columns)
        _require(found == _rows([expected], expected.schema, columns), f"the cells of {columns} must be right", source)


def _check_secrecy(source: Source) -> None:
    _require(type(source.describe()) is str and source.describe() != "", "describe must say what it is", source)
    for attempt in (len, iter, lambda it: it.__reduce__()):
        _require(_raises(PrivacyError, attempt, source), "it must have no length, iterator or pickle", source)
    declared = source.declared_schema()
    _require(
        declared is None or tuple(declared.names) == source.names(), "declared_schema must have all columns", source
    )


def _check_missing_column(source: Source) -> None:
    absent = "no such column" + max(source.names(), key=len)
    _require(
        _raises(SchemaError, source.batches, [absent]), "a missing column must be reported before a row is read", source
    )


def _raises(kind: type[Exception], call: Callable[[Any], object], argument: object) -> bool:
    try:
        call(argument)
    except kind:
        return True
    return False


def _check_batches(source: Source, columns: Sequence[str]) -> Iterable[pa.RecordBatch]:
    for batch in source.batches(columns):
        _require(batch.column_names == list(columns), "a batch must have the columns asked for, in that order", source)
        bound = min(source.batch_rows, LARGEST_BATCH)
        _require(0 < batch.num_rows <= bound, f"a batch must have from 1 to {bound} rows", source)
        same = all(plain(array).type == array.type for array in batch.columns)
        _require(same, "columns must have plain types", source)
        batch.validate(full=True)
        yield batch


def _rows(parts: Iterable[Any], schema: pa.Schema, columns: Sequence[str]) -> Counter[tuple[object, ...]]:
    """The rows of batches or tables as a multiset, each cell as what it says under its declared type."""
    rows: Counter[tuple[object, ...]] = Counter()
    for part in parts:
        cells = [
            [said for array in _chunks(part.column(name)) for said in _values_of(array, schema.field(name).type)]
            for name in columns
        ]
        rows.update(zip(*cells, strict=True))
    return rows


def _chunks(column: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return column.chunks if isinstance(column, pa.ChunkedArray) else [column]


def _values_of(array: pa.Array, kind: pa.DataType) -> list[object]:
    """What each cell says when it is read as a value of this type; None for NULL."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(kind, pa.DictionaryType):
        return _values_of(array, kind.value_type)
    if is_instant(array.type):
        unit = DAY if pa.types.is_date(kind) else MICROSECOND
        ticks = read_instants(array, unit, -_FAR, _FAR)[0].tolist()
        return [tick if there else None for tick, there in zip(ticks, array.is_valid().to_pylist(), strict=True)]
    return [None if cell is None else _value(cell, kind) for cell in array.to_pylist()]


def _value(cell: object, kind: pa.DataType) -> object:
    text = cell.decode() if isinstance(cell, bytes) and not pa.types.is_binary(kind) else cell
    if pa.types.is_boolean(kind):
        return str(text).lower() in ("true", "t", "1")
    if pa.types.is_floating(kind):
        number = np.dtype(kind.to_pandas_dtype()).type(text)
        return "nan" if np.isnan(number) else number
    if is_number(kind):
        return decimal.Decimal(str(text))
    if is_instant(kind):
        micros = parse_instant(str(text).encode())
        return micros if micros is None or not pa.types.is_date(kind) else micros // (DAY // MICROSECOND)
    return text.encode() if isinstance(text, str) else text


# ---- What every kind of block must satisfy.


_ROUNDING = 1e-9  # of float64, after a few sums
_FINER = (0, 1, 2**14)  # codes of finer cells: the least, and one beyond all…
_BESIDE = -1  # …which stand beside the columns' own


def check_block(block: Block) -> None:
    """Raise an `AssertionError` that says which claim of a block of counts or sums fails: try it with few atoms.

    A row of any atoms, and any two that are exchanged, move its integers no farther than it says. What is left of
    counts without noise is what it says of the table (`numbers_in`), of which `spread` is the transpose; views without
    noise agree with the counts that they are of.

    >>> from kernelease.measured.counts import Counts
    >>> check_block(Counts(columns=(0, 1), groups=(np.arange(2), np.arange(3)), share=0.1))
    """
    _check_moves(block)
    if not block.weighs:  # sums of weights say nothing of counts
        table = np.random.default_rng(0).integers(0, 50, block.grid)
        _check_seen(block, table)
        _check_views(block, table.astype(np.float64))


def _check_moves(block: Block) -> None:
    alone = _every_row(block) if block.weighs else _every_cell(block)
    pairs = [(one, other) for one in alone for other in alone]
    moves = {Neighbours.ADD_REMOVE: alone, Neighbours.REPLACE_ONE: [one - other for one, other in pairs]}
    _require(all(one.shape == (block.cells,) for one in alone), "exact must give integers in the block's shape.")
    for neighbours, moved in moves.items():
        allowed = block.sensitivity(neighbours, 1)
        _require(max(np.abs(one).sum() for one in moved) <= allowed.l1, f"{neighbours.value} moves it farther in L1.")
        squared = max((one * one).sum() for one in moved)
        _require(math.sqrt(squared) <= allowed.l2, f"{neighbours.value} moves it farther in L2 than it says.")


def _every_row(block: Block) -> list[BigIntegers]:
    """What a row of any atoms adds, in any of some finer cells."""
    rows = np.array([*itertools.product(*(range(len(group)) for group in block.groups), _FINER)]).T
    codes = dict(zip((*block.columns, _BESIDE), rows, strict=True))
    cells, numbers = block.adds(CodedRows(codes, dict.fromkeys(block.columns, _BESIDE)))
    tables = np.zeros((len(cells), math.prod(block.grid), numbers.shape[1]), dtype=object)
    tables[np.arange(len(cells)), cells] = numbers
    return [*tables.reshape(len(cells), -1)]


def _every_cell(block: Block) -> list[BigIntegers]:
    """What a row in each cell adds, if it is counted there."""
    tables = np.eye(math.prod(block.grid), dtype=object).reshape(-1, *block.grid)
    return [np.asarray(block.exact(table), dtype=object).ravel() for table in tables]


def _check_seen(block: Block, table: Integers) -> None:
    counts, exact = table.astype(np.float64), np.asarray(block.exact(table.astype(object)), dtype=np.float64)
    seen = block.numbers_in(counts)
    _require(_near(block.values(exact.reshape(block.shape) / block.whole), seen), "seen must be what values are.")
    asked = np.random.default_rng(1).normal(size=block.shape)
    _require(_near(np.vdot(seen, asked), np.vdot(counts, block.spread(asked))), "spread must be the transpose of seen.")
    _require(block.adds_up == _near(seen.sum(), counts.sum()), "adds_up must say whether it adds up to all rows.")
    margins = [counts.sum(axis=tuple(j for j in range(counts.ndim) if j != i)) for i in range(counts.ndim)]
    whole = block.complete(seen, margins, float(counts.sum())) if margins else counts
    _require(whole.shape == block.grid and _near(block.numbers_in(whole), seen), "complete must keep what is seen.")


def _check_views(block: Block, counts: Floats) -> None:
    if not block.tells(block.columns) or not block.columns:
        return
    view = block.view(block.numbers_in(counts), 2.0, block.columns, block.groups)
    told = np.zeros(counts.size)
    for term in view.terms:
        told += (term.weights * np.bincount(term.index, counts.ravel(), minlength=len(term.weights)))[term.index]
    _require(_near(view.by_precision, told), "a view without noise must agree with the counts.")
    multipliers = np.random.default_rng(2).normal(size=counts.size)
    weights = block.coefficients(2.0, block.columns, block.groups, multipliers)
    _require(
        _near(weights @ block.numbers_in(counts).ravel(), multipliers @ told), "coefficients must be those of the view."
    )


def _near(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=_ROUNDING, atol=_ROUNDING))
