"""The private side: it sums exactly, shows nothing, and has one door (what `resume` adds to it is tested beside)."""

import copy
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from kernelease.arrays import Rows
from kernelease.errors import BudgetError, ParameterError, PrivacyError
from kernelease.exact.rows import ExactEmbedding
from kernelease.features.feature_map import FeatureMap
from kernelease.noises import SeededNoise
from kernelease.privacy import Loss, Neighbours, Privacy, SystemNoise
from tests.privacy.toys import OneHot, Paired, RecordingNoise, categories, open_filter

REPLACE = Privacy(epsilon=1.0, delta=1e-6)
ADD = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
PURE = Privacy(epsilon=1.0, delta=0.0)
PURE_ADD = Privacy(epsilon=1.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
RELATIONS = [REPLACE, ADD, PURE, PURE_ADD]

SECRET = categories(*[0] * 4711, *[1] * 1234, *[2] * 99)


@pytest.fixture
def secret() -> ExactEmbedding:
    return ExactEmbedding.of(SECRET, OneHot(categories=3))


def sums(exact: ExactEmbedding, privacy: Privacy = REPLACE) -> list[float]:
    """What is inside, by way of the door and noise that is none."""
    return exact.privatise(open_filter(privacy), noise=RecordingNoise()).measurement.values.tolist()


# It shows nothing.


def test_it_prints_no_value(secret: ExactEmbedding) -> None:
    for text in (repr(secret), str(secret), f"{secret}", "%s" % (secret,)):  # noqa: UP031 - one more way to print
        assert text == "ExactEmbedding(private)"


@pytest.mark.parametrize(
    "leak",
    [len, iter, list, bool, pickle.dumps, copy.copy, copy.deepcopy, sum, sorted, lambda e: e.__getstate__()],
)
def test_it_has_no_length_no_items_no_truth_and_no_copies(secret: ExactEmbedding, leak) -> None:
    with pytest.raises(PrivacyError) as caught:
        leak(secret)
    assert not any(digit in str(caught.value) for digit in ("4711", "1234", "99", "6044"))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_protocol_takes_it(secret: ExactEmbedding, protocol: int) -> None:
    with pytest.raises(PrivacyError):
        pickle.dumps([secret], protocol=protocol)


def test_no_public_attribute_holds_a_sum(secret: ExactEmbedding) -> None:
    with pytest.raises(TypeError):
        vars(secret)
    assert {name for name in dir(secret) if not name.startswith("_")} == {
        "feature_map",
        "join",
        "of_parts",
        "of",
        "privatise",
        "resume",
    }
    with pytest.raises(AttributeError):
        secret.note = 1
    with pytest.raises(TypeError):
        secret[0]
    with pytest.raises(TypeError):
        float(secret)


def test_numpy_sees_one_opaque_object(secret: ExactEmbedding) -> None:
    array = np.asarray(secret)
    assert array.shape == ()
    assert array.dtype == object


def test_it_equals_only_itself(secret: ExactEmbedding) -> None:
    assert secret != ExactEmbedding.of(SECRET, OneHot(categories=3))


# It sums exactly.


def test_the_sum_by_hand(secret: ExactEmbedding) -> None:
    assert sums(secret) == [4711.0, 1234.0, 99.0]
    assert sums(secret, ADD) == [4711.0, 1234.0, 99.0, 6044.0]


def test_cells_that_are_no_category_raise_nothing() -> None:
    rows = np.array([[1], ["x"], [None], [math.nan], [1e308], [-math.inf]], dtype=object)
    assert sums(ExactEmbedding.of(rows, OneHot(categories=2))) == [5.0, 1.0]


tables = st.lists(st.integers(0, 3), min_size=1, max_size=60)


@given(tables, st.randoms(use_true_random=False), st.integers(1, 20), st.sampled_from([1, 2, 5]), st.integers(1, 9))
@settings(deadline=None)
def test_order_batches_blocks_and_threads_change_nothing(cells, random, batch, threads, block) -> None:
    shuffled = list(cells)
    random.shuffle(shuffled)
    batches = [categories(*shuffled[start : start + batch]) for start in range(0, len(cells), batch)]
    whole = ExactEmbedding.of(categories(*cells), OneHot(categories=4, units=3))
    parts = ExactEmbedding.of(iter(batches), OneHot(categories=4, units=3, rows_at_once=block), threads=threads)
    for privacy in RELATIONS:
        assert sums(whole, privacy) == sums(parts, privacy)


@given(tables)
@settings(deadline=None)
def test_the_maps_own_total_is_the_sum_of_its_integers(cells: list[int]) -> None:
    """The toy map overrides `total`; the other tests rest on that being the same."""
    feature_map, rows = OneHot(categories=4, units=3), categories(*cells)
    assert FeatureMap.total(feature_map, rows).tolist() == feature_map.total(rows).tolist()


class Heavy(OneHot):
    """Integers of the largest size allowed: a sum of 65,536 of them still fits 62 bits, more need Python's integers."""

    def total(self, rows: Rows) -> np.ndarray:
        assert len(rows) <= 2**16
        return super().total(rows)


def test_sums_do_not_overflow() -> None:
    feature_map = Heavy(categories=1, units=2**46, rows_at_once=2**20)
    exact = ExactEmbedding.of((np.zeros((2**18, 1)) for _ in range(3)), feature_map)
    noisy = exact.privatise(open_filter(REPLACE), noise=RecordingNoise())
    assert int(noisy.measurement.integers[0]) == 3 * 2**18 * 2**46
    assert noisy.mean.tolist() == [1.0]


def test_what_is_released_is_the_projection() -> None:
    exact = ExactEmbedding.of(categories(0, 1, 2, 3, 3), Paired(categories=2))
    assert sums(exact) == [2.0, 3.0]


# The door.


def test_the_budget_is_spent_before_noise_is_drawn(secret: ExactEmbedding) -> None:
    for privacy in RELATIONS:
        budget = open_filter(privacy)
        noise = RecordingNoise(budget=budget)
        secret.privatise(budget, noise=noise, share=0.5)
        assert noise.events[0][-1].mu_squared > 0
        secret.privatise(budget, noise=noise, share=0.5)
        with pytest.raises(BudgetError, match="'one too many' needs more"):
            secret.privatise(budget, noise=noise, share=0.5, label="one too many")
        assert len(noise.events) == 2


def test_under_replace_one_the_number_of_rows_is_public(secret: ExactEmbedding) -> None:
    noisy = secret.privatise(open_filter(REPLACE), noise=RecordingNoise(value=2**62))
    assert noisy.rows == 6044.0
    assert len(noisy.measurement.integers) == 3


def test_under_add_remove_the_count_is_released_jointly() -> None:
    """One more coordinate, the same noise, and Δ = √2·R for the two together."""
    exact = ExactEmbedding.of(categories(0, 0, 1), OneHot(categories=2, units=8))
    noise = RecordingNoise(value=2**34)
    noisy = exact.privatise(open_filter(ADD), noise=noise)
    shift = math.ldexp(1.0, 34 - noisy.measurement.step.bits)
    assert noise.events[0][2] == 3
    assert noisy.measurement.values.tolist() == [16.0 + shift, 8.0 + shift, 24.0 + shift]
    assert noisy.measurement.step.scale == pytest.approx(8 * math.sqrt(2.0) / ADD.total(3).mu, rel=1e-9)
    assert noisy.rows == (24.0 + shift) / 8
    assert noisy.mean.tolist() == [(16.0 + shift) / (24.0 + shift), (8.0 + shift) / (24.0 + shift)]


def test_an_empty_table_is_refused_where_its_size_is_public() -> None:
    empty = ExactEmbedding.of(np.empty((0, 1)), OneHot(categories=2))
    budget, noise = open_filter(REPLACE), RecordingNoise()
    with pytest.raises(ParameterError, match="empty"):
        empty.privatise(budget, noise=noise)
    assert (budget.spent, noise.events) == (Loss(), [])


@pytest.mark.parametrize("privacy", [ADD, PURE_ADD], ids=repr)
@pytest.mark.parametrize("value", [0, -(2**40), -1])
@pytest.mark.parametrize("cells", [(), (1,)])
def test_a_noisy_count_that_is_not_positive_means_one_row(privacy: Privacy, value: int, cells: tuple[int, ...]) -> None:
    table = ExactEmbedding.of([categories(*cells)], OneHot(categories=2))
    noisy = table.privatise(open_filter(privacy), noise=RecordingNoise(value=value))
    assert noisy.rows == 1.0
    assert np.isfinite(noisy.mean).all()
    assert math.isfinite(noisy.sigma)


def test_no_batch_at_all_is_an_empty_table() -> None:
    assert sums(ExactEmbedding.of([], OneHot(categories=2)), ADD) == [0.0, 0.0, 0.0]


def test_all_of_the_path_is_marked_by_its_noise(secret: ExactEmbedding) -> None:
    assert secret.privatise(open_filter(REPLACE), noise=SystemNoise()).private
    noisy = secret.privatise(open_filter(REPLACE), noise=SeededNoise(1))
    assert not noisy.private
    assert "NOT PRIVATE" in repr(noisy)


@pytest.mark.statistical
@pytest.mark.parametrize(("privacy", "units"), list(itertools.product(RELATIONS, (1, 2**14))))
def test_the_noise_of_the_mean_has_the_standard_deviation_that_is_claimed(privacy: Privacy, units: int) -> None:
    """Empty categories show the noise alone. False alarms: one in a million runs.

    The variance of a squared standardised draw is 2 for the Gaussian and about 5 for the Laplace law; a little is added
    because squares are skewed.
    """
    size, rows = 8000, 500
    exact = ExactEmbedding.of(categories(*[0] * rows), OneHot(categories=size + 1, units=units))
    noisy = exact.privatise(open_filter(privacy, coordinates=size + 2), noise=SystemNoise())
    square = float(np.mean((noisy.mean[1:] / noisy.sigma) ** 2))
    assert abs(square - 1.0) <= stats.norm.isf(5e-7) * math.sqrt((6.5 if privacy.pure else 2.3) / size)
