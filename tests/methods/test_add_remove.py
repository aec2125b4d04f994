"""Under add-remove nothing but the noisy count tells how many rows there are."""

import warnings

import numpy as np
import pytest

from kernelease import release
from kernelease.arrays import Rows
from kernelease.exact.rows import ExactEmbedding, PrivateArray
from kernelease.fit import FixedPoints, Free, NormalPoints, PublicPoints, Shrinkage, Simplex
from kernelease.kernels import Gaussian
from kernelease.kernels.kernel import as_rows
from kernelease.methods import Method, RandomFeatures, Subspace
from kernelease.methods.method import warn_if_weak
from kernelease.privacy import Neighbours, Privacy
from tests.methods.stand_ins import ScriptedNoise, context

KERNEL = Gaussian(lengthscale=1.0)
GENERATOR = np.random.default_rng(2)
ROWS = GENERATOR.normal(size=(300, 2))
PUBLIC = PublicPoints(GENERATOR.normal(size=(40, 2)) * 1.5)
NORMAL = NormalPoints(dimension=2, scale=2.0)
LAWS = (
    Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE),
    Privacy(epsilon=1.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE),
)
METHODS: tuple[Method, ...] = (
    Subspace(points=PUBLIC, constraint=Free()),
    Subspace(points=PUBLIC, constraint=Simplex(), estimator=Shrinkage()),
    Subspace(points=NORMAL, count=25),
    RandomFeatures(start=NORMAL, features=60),
    RandomFeatures(start=NORMAL, features=60, solver=FixedPoints(points=50)),
)


def noise_to_one_result(
    method: Method, tables: tuple[Rows, Rows], privacy: Privacy
) -> tuple[ScriptedNoise, ScriptedNoise]:
    """Noise for two tables such that both releases rest on the same noisy integers."""
    embedding = method.measure(PrivateArray(tables[0]), context(privacy=privacy)).embedding
    assert embedding is not None
    phi = embedding.feature_map
    exact = []
    for table in tables:
        budget = context(privacy=privacy).open_budget(phi.dimension + 1, "test")
        exact.append(ExactEmbedding.of(table, phi).privatise(budget, noise=ScriptedNoise()).measurement.integers)
    noise = [int(value) for value in np.random.default_rng(0).integers(-(2**30), 2**30, len(exact[0]))]
    return ScriptedNoise(script=noise), ScriptedNoise(script=[a + z - b for a, b, z in zip(*exact, noise, strict=True)])


@pytest.mark.parametrize("privacy", LAWS, ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("counts", [(80, 81), (0, 1), (1, 300)], ids=str)
@pytest.mark.slow
def test_equal_noisy_numbers_give_equal_outcomes(method: Method, privacy: Privacy, counts: tuple[int, int]) -> None:
    """Points, weights, choices, scales, sentences: all that a release is made of."""
    tables = (ROWS[: counts[0]], ROWS[: counts[1]])
    outcomes = []
    for table, noise in zip(tables, noise_to_one_result(method, tables, privacy), strict=True):
        setting = context(privacy=privacy, noise=noise)
        measured = method.measure(PrivateArray(table), setting)
        solution = method.fit(measured, setting.seed)
        outcomes.append(
            (
                solution.synthetic.points.tolist(),
                solution.synthetic.weights.tolist(),
                (str(solution), repr(measured.embedding), repr(setting.ledger.spent())),
                (measured.choices, measured.steps, measured.embedding.rows, noise.scales),
            )
        )
    assert outcomes[0] == outcomes[1]


def test_twin_that_leaks_the_count_is_caught() -> None:
    """The same comparison under replace-one, where N is public and shows."""
    tables = (ROWS[:80], ROWS[:81])
    rows = [METHODS[0].measure(PrivateArray(table), context()).embedding.rows for table in tables]
    assert rows[0] != rows[1]


def test_an_empty_table_has_a_release() -> None:
    method = Subspace(points=PUBLIC, rank=6)
    setting = context(privacy=LAWS[0])
    measured = method.measure(PrivateArray(ROWS[:0]), setting)
    assert measured.embedding.rows == 1.0
    assert method.fit(measured, setting.seed).synthetic.weights.tolist() == [0.0] * 6


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_an_empty_list_is_an_empty_table(method: Method) -> None:
    assert as_rows([], columns=method.dimension).shape == (0, 2)
    made = [release(rows, kernel=KERNEL, method=method, privacy=LAWS[0]) for rows in ([], (), ROWS[:0])]
    assert len({tuple(item.rows.column_names) for item in made}) == 1


@pytest.mark.slow
def test_the_number_of_points_is_the_cap() -> None:
    for rows in (ROWS[:3], ROWS):
        points = Subspace(points=NORMAL, rank=3).measure(PrivateArray(rows), context(privacy=LAWS[0]))
        assert str(points.choices[0]) == "points = 4096: the cap (the number of rows is private)"
    features = RandomFeatures(start=NORMAL).measure(PrivateArray(ROWS[:9]), context(privacy=LAWS[0]))
    assert str(features.choices[0]) == "features = 4096: the cap (the number of rows is private)"


def test_a_delta_as_large_as_one_in_n_is_warned_of_under_replace_one_only() -> None:
    rows = PrivateArray(ROWS)
    with pytest.warns(UserWarning, match="not below 1/N"):
        assert context(privacy=Privacy(epsilon=1.0, delta=0.01)).public_rows(rows) == len(ROWS)
    private_count = Privacy(epsilon=1.0, delta=0.01, neighbours=Neighbours.ADD_REMOVE)
    assert context(privacy=private_count).public_rows(rows) is None  # a warning would tell the count


def test_a_delta_that_allows_publishing_a_row_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="delta = 0.01 is not below 1/N"):
        warn_if_weak(Privacy(epsilon=1.0, delta=0.01), 100)


def test_a_small_delta_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_weak(Privacy(epsilon=1.0, delta=0.01), 99)
        warn_if_weak(Privacy(epsilon=1.0, delta=0.01), 0)
        warn_if_weak(Privacy(epsilon=1.0, delta=0.0), 10**9)
