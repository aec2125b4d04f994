"""Bad input: refused in clear words before anything is charged, or given a defined result. One table of all of it.

Private rows hold SECRET and 123456.789, and no message may. Whether there is an error may depend on parameters and on
the shape of the table, never on a cell.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease import (
    KerneleaseError,
    MemoryLedger,
    Neighbours,
    Privacy,
    PublicSeed,
    RandomFeatures,
    Release,
    SmallDatabase,
    Subspace,
    release,
)
from kernelease.arrays import Rows
from kernelease.errors import CapacityError, ParameterError
from kernelease.features import Fourier, HashedNgrams, Nystrom
from kernelease.fit import (
    FixedPoints,
    GreedyPreimages,
    L1Ball,
    NormalPoints,
    PublicPoints,
    PublishedRows,
    Shrinkage,
    Simplex,
    SyntheticSet,
    UniformPoints,
)
from kernelease.kernels import (
    DotProduct,
    Gaussian,
    Kernel,
    Kronecker,
    Laplace,
    OnColumns,
    Product,
    Similarity,
    Spectrum,
)
from kernelease.methods import Method
from tests.methods.stand_ins import ScriptedNoise

pytestmark = pytest.mark.slow

SECRETS = ("SECRET", "123456.789")
PRIVATE = np.array([[123456.789, 1.0], [2.0, 123456.789], [3.0, 4.0]] * 20)
MIXED = np.array([[123456.789, "SECRET"], [2.0, "other"], [None, "SECRET"]] * 20, dtype=object)
KERNEL = Gaussian(lengthscale=1.0)
NORMAL = NormalPoints(dimension=2, scale=3.0)
STRONG = Privacy(epsilon=1.0, delta=1e-6)
PURE = Privacy(epsilon=1.0, delta=0.0)
PAIR = Product(
    kernels=(
        OnColumns(kernel=KERNEL, columns=(0,)),
        OnColumns(kernel=Spectrum(n=2), columns=(1,)),
        OnColumns(kernel=Kronecker(values=("other", None)), columns=(1,)),
    )
)
SUBSPACE = Subspace(points=NORMAL, count=20)
FEATURES = RandomFeatures(start=NORMAL, features=20, solver=GreedyPreimages(points=3))


def _attempt(
    rows: Any, method: Callable[[], Method], kernel: Callable[[], Kernel], privacy: Callable[[], Privacy]
) -> tuple[Release | None, Exception | None, MemoryLedger, ScriptedNoise]:
    """A release of rows, or the error that it or its parameters raised; the books, and the noise that was asked for."""
    ledger, noise = MemoryLedger(Privacy(epsilon=10.0, delta=0.1)), ScriptedNoise()
    try:
        promised = privacy()
        ledger = MemoryLedger(promised)
        made = release(rows, kernel=kernel(), method=method(), privacy=promised, ledger=ledger, noise=noise)
    except Exception as error:  # noqa: BLE001  # what it is, is for the tests to say
        return None, error, ledger, noise
    return made, None, ledger, noise


def _sentences(error: BaseException | None) -> str:
    """Messages of an error and of all that led to it: a traceback shows them too."""
    found = []
    while error is not None:
        found.append(f"{error} {error!r}")
        error = error.__cause__ or error.__context__
    return "\n".join(found)


class Bad(NamedTuple):
    name: str
    message: str
    method: Callable[[], Method] = lambda: SUBSPACE
    rows: Any = PRIVATE
    kernel: Callable[[], Kernel] = lambda: KERNEL
    privacy: Callable[[], Privacy] = lambda: STRONG
    error: type[Exception] = ParameterError


def _promise(
    epsilon: float, delta: float = 0.0, neighbours: Neighbours = Neighbours.REPLACE_ONE
) -> Callable[[], Privacy]:
    return lambda: Privacy(epsilon=epsilon, delta=delta, neighbours=neighbours)


def _points(kind: Any, *arguments: Any, **parameters: Any) -> Callable[[], Method]:
    return lambda: Subspace(points=kind(*arguments, **parameters))


def _subspace(**parameters: Any) -> Callable[[], Method]:
    return lambda: Subspace(**{"points": NORMAL, "count": 20, **parameters})


def _features(**parameters: Any) -> Callable[[], Method]:
    return lambda: RandomFeatures(**{"start": NORMAL, "features": 20, **parameters})


def _solver(kind: Any, **parameters: Any) -> Callable[[], Method]:
    return lambda: RandomFeatures(start=NORMAL, features=20, solver=kind(**parameters))


def _small(domain: Rows, size: int) -> Callable[[], Method]:
    return lambda: SmallDatabase(domain=domain, size=size)


def _lengthscale(kind: Any, lengthscale: Any) -> Callable[[], Kernel]:
    return lambda: kind(lengthscale=lengthscale)


def _matrix(*rows: tuple[float, ...]) -> Callable[[], Kernel]:
    return lambda: Similarity(values=("other", None), matrix=rows, default="other")


def _guess(columns: int) -> Shrinkage:
    return Shrinkage(SyntheticSet(points=np.zeros((1, columns)), weights=np.ones(1)))


def _waves(columns: int) -> Fourier:
    return Fourier.random(KERNEL, features=10, dimension=columns, seed=PublicSeed(0))


CLOSE = np.linspace(0, 1e-3, 400).reshape(-1, 2)
MANY = "points would need"

THE_GUARANTEE = (
    *(
        Bad(f"epsilon {e}", "epsilon must be positive", privacy=_promise(e, 1e-6))
        for e in (0.0, -1.0, math.nan, math.inf)
    ),
    *(Bad(f"delta {d}", "delta must be at least 0", privacy=_promise(1.0, d)) for d in (-1e-9, 1.0, 2.0, math.nan)),
    Bad("all noise", "epsilon must be from 0.0001", privacy=_promise(1e-5, 1e-12)),
    Bad("all noise, pure", "epsilon must be from 0.0001", privacy=_promise(1e-12)),
    Bad("no promise", "epsilon must be from 0.0001 to 1000", privacy=_promise(1e4)),
    Bad("exponential mechanism with delta", "delta = 0", _small(np.eye(2), 2)),
)
THE_TABLE = (
    Bad("no rows", "The table is empty", rows=PRIVATE[:0]),
    Bad("no rows for features", "The table is empty", _features(), rows=PRIVATE[:0]),
    Bad("one-dimensional", "two-dimensional", rows=PRIVATE[:, 0]),
    Bad("three-dimensional", "two-dimensional", rows=PRIVATE[None]),
    Bad("no columns", "at least one column", rows=PRIVATE[:, :0]),
    Bad("a number", "two-dimensional", rows=np.float64(123456.789)),
    Bad("rows of unequal length", "same number of columns", rows=[[123456.789, 1.0], [123456.789]]),
    Bad("an empty list", "The table is empty", rows=[]),
    Bad("an empty list for features", "The table is empty", _features(), rows=[]),
    Bad("an empty list for published rows", "an empty list shows none", _points(PublishedRows, 1), rows=[]),
    Bad("more columns than points", "the table has 3 columns", rows=np.full((5, 3), 123456.789)),
    Bad("fewer columns than points", "the table has 1 columns", _features(), rows=PRIVATE[:, :1]),
)
THE_KERNEL = (
    Bad("other columns", "3 columns", kernel=lambda: DotProduct(coefficients=(1.0,), half_width=1.0, dimension=3)),
    Bad("other lengthscales", "one column per lengthscale", kernel=_lengthscale(Gaussian, (1.0, 2.0, 3.0))),
    Bad("features of other lengthscales", "lengthscale", _features(), kernel=_lengthscale(Laplace, (1.0,))),
    Bad("later columns", "must have a column 7", kernel=lambda: OnColumns(kernel=KERNEL, columns=(7,))),
    Bad("not positive semidefinite", "positive semidefinite", kernel=_matrix((1.0, 2.0), (2.0, 1.0))),
    Bad("not symmetric", "symmetric", kernel=_matrix((1.0, 0.5), (0.4, 1.0))),
    Bad("not a number", "finite", kernel=_matrix((1.0, math.nan), (math.nan, 1.0))),
    Bad("lengthscale 0", "lengthscale", kernel=_lengthscale(Gaussian, 0.0)),
    Bad("lengthscale negative", "lengthscale", kernel=_lengthscale(Laplace, (-1.0, 1.0))),
    Bad("lengthscale not a number", "lengthscale", kernel=_lengthscale(Gaussian, math.nan)),
    Bad("not shift-invariant", "not shift-invariant", _features(), kernel=lambda: PAIR),
)
PUBLIC_POINTS = (
    Bad("bounds reversed", "low < high", _points(UniformPoints, low=(0.0, 9.0), high=(1.0, 2.0))),
    Bad("bounds equal", "low < high", _points(UniformPoints, low=(0.0,), high=(0.0,))),
    Bad("bounds not finite", "finite bounds", _points(UniformPoints, low=(-math.inf,), high=(1.0,))),
    Bad("no public points", "at least one public row", _points(PublicPoints, np.empty((0, 2)))),
    Bad("no spread", "positive scale", _points(NormalPoints, dimension=2, scale=0.0)),
    Bad("more published than there are", "but the table has 60 rows", _points(PublishedRows, 61)),
    Bad(
        "published under add-remove",
        "replace-one",
        _points(PublishedRows, 5),
        privacy=_promise(1.0, 1e-6, Neighbours.ADD_REMOVE),
    ),
    Bad("a tolerance too fine", "close to dependent", lambda: Subspace(points=PublicPoints(CLOSE), tolerance=1e-25)),
)
COUNTS = (
    *(Bad(f"count {n}", "count must be an integer from 1", _subspace(count=n)) for n in (0, -1, 2.5, math.nan)),
    *(Bad(f"rank {n}", "rank must be an integer from 1", _subspace(rank=n)) for n in (0, -1, 2.5, math.nan)),
    *(Bad(f"features {n}", "features must be", _features(features=n)) for n in (0, -2, 7, 2.5)),
    *(Bad(f"published {n}", "count must be an integer", _points(PublishedRows, n)) for n in (0, -1, 2.5)),
    *(Bad(f"fixed points {n}", "points must be an integer", _solver(FixedPoints, points=n)) for n in (0, -1, 2.5)),
    *(Bad(f"greedy points {n}", "points must be an integer", _solver(GreedyPreimages, points=n)) for n in (0, -1, 2.5)),
    *(Bad(f"greedy starts {n}", "starts must be an integer", _solver(GreedyPreimages, starts=n)) for n in (0, -1, 2.5)),
    Bad("no iterations", "iterations must be an integer", _solver(FixedPoints, iterations=0)),
    *(Bad(f"size {n}", "size must be an integer", _small(np.eye(2), n), privacy=_promise(1.0)) for n in (0, -1)),
    Bad("radius negative", "radius must be positive", lambda: Subspace(points=NORMAL, constraint=L1Ball(-1.0))),
)
MEMORY = (
    Bad("features beyond memory", "features would need", _features(features=10**12), error=CapacityError),
    Bad("points beyond memory", MANY, _subspace(count=10**12), error=CapacityError),
    Bad("fixed points beyond memory", MANY, _solver(FixedPoints, points=10**12), error=CapacityError),
    Bad("greedy points beyond memory", MANY, _solver(GreedyPreimages, points=10**9), error=CapacityError),
    Bad("candidates", "above the cap", _small(PRIVATE, 10), privacy=_promise(1.0), error=CapacityError),
)
LATE = (  # what would fail only when the fit begins, with the budget gone
    Bad("start of other columns", "2 columns", _features(start=NormalPoints(dimension=3), features=_waves(2))),
    Bad("map of other columns", "must have 3 columns", _features(features=_waves(3))),
    Bad("guess of other columns", "must have 2 columns", _features(estimator=_guess(3))),
    Bad("guess for a subspace", "same number of columns", _subspace(estimator=_guess(3))),
    Bad("no gradient", "needs Fourier", _features(features=Nystrom.spanning(KERNEL, np.eye(2), tolerance=1e-3))),
    Bad("features of text", "needs Fourier", _features(features=HashedNgrams(n=2, buckets=8, max_length=9))),
    Bad("not a method", "method must be a Method", lambda: PublicSeed(0)),
)
REFUSED = (*THE_GUARANTEE, *THE_TABLE, *THE_KERNEL, *PUBLIC_POINTS, *COUNTS, *MEMORY, *LATE)


@pytest.mark.parametrize("bad", REFUSED, ids=[bad.name for bad in REFUSED])
def test_bad_input_is_refused_before_anything_is_charged(bad: Bad) -> None:
    made, error, ledger, noise = _attempt(bad.rows, bad.method, bad.kernel, bad.privacy)
    assert made is None
    with pytest.raises(bad.error, match=bad.message):
        raise error
    assert isinstance(error, KerneleaseError)
    assert not ledger.entries
    assert not noise.scales
    assert not any(secret in _sentences(error) for secret in SECRETS)


# What is not refused has a defined result


class _Hostile:
    """A cell that raises whatever it is asked."""

    def __float__(self) -> float:
        raise RuntimeError("SECRET")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("SECRET")

    def __hash__(self) -> int:
        raise RuntimeError("SECRET")

    def __repr__(self) -> str:
        raise RuntimeError("SECRET")


CELLS: tuple[Any, ...] = (
    *(0.0, -0.0, 123456.789, math.nan, math.inf, -math.inf, 5e-324, 1.8e308, 10**400, -(10**400), True),
    *(None, "SECRET", "", "nan", "1e999", "\ud800", "\x00", b"\xff", 1j, (), [], [1.0, 2.0], {}),
    np.datetime64("NaT", "s"),
    *(np.float32("nan"), np.array([1.0, 2.0]), np.ma.masked, object(), _Hostile()),
)
TEXTS = PublicPoints(np.array([[0.0, "other"], [2.0, None], [5.0, "more"]], dtype=object))
WAYS: tuple[tuple[str, Kernel, Method, Privacy], ...] = (
    ("subspace", KERNEL, SUBSPACE, STRONG),
    ("published rows", KERNEL, Subspace(points=PublishedRows(3)), STRONG),
    ("polynomial", DotProduct(coefficients=(0.5, 0.5), half_width=1.0, dimension=2), SUBSPACE, STRONG),
    ("subspace of text", PAIR, Subspace(points=TEXTS, constraint=Simplex()), STRONG),
    ("published text", PAIR, Subspace(points=PublishedRows(3), constraint=Simplex()), STRONG),
    ("random features", KERNEL, FEATURES, STRONG),
    ("fixed points", KERNEL, RandomFeatures(start=NORMAL, features=20, solver=FixedPoints(points=9)), STRONG),
    ("pure", KERNEL, SUBSPACE, PURE),
    ("small database", KERNEL, SmallDatabase(domain=np.eye(2), size=2), PURE),
)
EVERY_WAY = pytest.mark.parametrize(
    ("kernel", "method", "privacy"), [way[1:] for way in WAYS], ids=[way[0] for way in WAYS]
)


def _spoiled(cell: Any, row: int, column: int) -> Rows:
    rows = PRIVATE.astype(object)
    rows[row, column] = cell
    return rows


def _released(rows: Any, kernel: Kernel, method: Method, privacy: Privacy) -> Release:
    made, error, ledger, noise = _attempt(rows, lambda: method, lambda: kernel, lambda: privacy)
    assert error is None, _sentences(error)
    assert made is not None
    assert len(ledger.entries) == len(noise.scales) == 1
    assert np.isfinite(made.weights).all()
    return made


@EVERY_WAY
@pytest.mark.parametrize("row", [0, 40], ids=["first row", "other row"])
@pytest.mark.parametrize("column", [0, 1])
def test_no_cell_decides_whether_there_is_an_error(
    kernel: Kernel, method: Method, privacy: Privacy, row: int, column: int
) -> None:
    for cell in CELLS:
        made = _released(_spoiled(cell, row, column), kernel, method, privacy)
        assert not any(secret in str(made.certificate) for secret in SECRETS)


@EVERY_WAY
def test_lists_with_any_cell_are_tables_too(kernel: Kernel, method: Method, privacy: Privacy) -> None:
    for cell in CELLS:
        _released([[cell, 1.0], [2.0, cell], [3.0, 4.0]], kernel, method, privacy)


DEFINED: tuple[tuple[str, Any], ...] = (
    ("one row", PRIVATE[:1]),
    ("constant columns", np.full((30, 2), 123456.789)),
    ("duplicate rows", PRIVATE[[0] * 50]),
    ("all missing", np.full((30, 2), np.nan)),
    ("all infinite", np.full((30, 2), -np.inf)),
    ("text in numeric rows", np.array([["SECRET", "123456.789"]] * 30)),
    ("integers", np.arange(60).reshape(30, 2)),
    ("booleans", np.ones((30, 2), dtype=bool)),
    ("small floats", np.ones((30, 2), dtype=np.float16)),
    ("dates", np.full((30, 2), np.datetime64("2020-01-01"))),
    ("complex numbers", np.full((30, 2), 1j)),
    ("columns first", np.asfortranarray(PRIVATE)),
    ("read-only", np.broadcast_to(PRIVATE[:1], (30, 2))),
)


@EVERY_WAY
@pytest.mark.parametrize("rows", [rows for _, rows in DEFINED], ids=[name for name, _ in DEFINED])
def test_odd_tables_have_a_defined_result(kernel: Kernel, method: Method, privacy: Privacy, rows: Any) -> None:
    if isinstance(method, Subspace) and isinstance(method.points, PublishedRows) and len(rows) < method.points.count:
        return
    made = _released(rows, kernel, method, privacy)
    assert made.certificate.rows == len(rows)


@pytest.mark.parametrize("count", [0, 1])
def test_under_add_remove_an_empty_table_is_a_table(count: int) -> None:
    for method in (SUBSPACE, FEATURES):
        privacy = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
        assert _released(PRIVATE[:count], KERNEL, method, privacy).certificate.rows == 1.0


ANY_CELL = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    st.integers(),
    st.text(max_size=20),
    st.text(alphabet="\ud800\x00e1.-", max_size=5),
    st.binary(max_size=5),
    st.none(),
    st.booleans(),
    st.complex_numbers(),
    st.decimals(),
    st.datetimes(),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.integers(), st.integers(), max_size=2),
)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[3], WAYS[5]], ids=lambda way: way[0])
@given(cells=st.lists(st.tuples(ANY_CELL, ANY_CELL), min_size=1, max_size=4), data=st.data())
@settings(deadline=None, max_examples=60)
def test_any_row_moves_the_measurement_by_no_more_than_the_diameter(way: Any, cells: list[Any], data: Any) -> None:
    """Garbage in one row: a release either way, and the sums differ as neighbours' sums may."""
    _, kernel, method, privacy = way
    rows = np.empty((len(cells), 2), dtype=object)
    for index, pair in enumerate(cells):
        rows[index, 0], rows[index, 1] = pair
    neighbour = rows.copy()
    replaced = data.draw(st.integers(0, len(cells) - 1))
    neighbour[replaced, 0], neighbour[replaced, 1] = data.draw(st.tuples(ANY_CELL, ANY_CELL))
    made = [_released(table, kernel, method, privacy) for table in (rows, neighbour)]
    embeddings = [one.measurements.measured.embedding for one in made]
    moved = np.linalg.norm(embeddings[0].sum - embeddings[1].sum)
    assert moved <= embeddings[0].feature_map.diameter * (1 + 1e-12)
