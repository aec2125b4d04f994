"""An exact embedding that reveals more of a subspace: new coordinates only, beside the numbers already known."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from kernelease.arrays import Rows
from kernelease.errors import BudgetError, PrivacyError
from kernelease.exact.rows import ExactEmbedding
from kernelease.features import FeatureMap, Nystrom
from kernelease.features.nystrom import extend
from kernelease.kernels import Gaussian
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.privacy import Neighbours, Privacy, PrivacyFilter, SystemNoise
from tests.privacy.toys import OneHot, RecordingNoise, open_filter

REPLACE = Privacy(epsilon=1.0, delta=1e-6)
ADD = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
RELATIONS = pytest.mark.parametrize("privacy", [REPLACE, ADD], ids=["replace-one", "add-remove"])

KERNEL = Gaussian(lengthscale=1.0)
PLANE = np.random.default_rng(3).normal(size=(60, 2)) * 2.0
ROWS = np.random.default_rng(4).normal(size=(100, 2))
BASIS = Nystrom.spanning(KERNEL, PLANE[:20], tolerance=1e-2, reserve=0.01)
WHOLE = extend(BASIS, PLANE[20:], most=15)
FIRST, ALL = BASIS.dimension, WHOLE.dimension


def exact(feature_map: FeatureMap, rows: Rows = ROWS) -> ExactEmbedding:
    return ExactEmbedding.of(rows, feature_map)


def two_rounds(privacy: Privacy, noise: RecordingNoise) -> tuple[PrivacyFilter, NoisyEmbedding, NoisyEmbedding]:
    budget = open_filter(privacy, coordinates=100)
    noise.budget = budget
    first = exact(BASIS).privatise(budget, noise=noise, share=0.5)
    return budget, first, exact(WHOLE).resume(first, budget=budget, noise=noise)


@RELATIONS
def test_two_rounds_show_what_one_would_have(privacy: Privacy) -> None:
    """To the bit, where the noise is none: coordinates in their order, and the count last."""
    _, first, second = two_rounds(privacy, RecordingNoise())
    at_once = exact(WHOLE).privatise(open_filter(privacy, coordinates=100), noise=RecordingNoise(), share=0.5)
    assert second.measurement.integers.tolist() == at_once.measurement.integers.tolist()
    assert second.measurement.step == at_once.measurement.step
    assert second.sum.tolist() == at_once.sum.tolist()
    assert second.sum[:FIRST].tolist() == first.sum.tolist()
    assert (second.rows, second.sigma, second.neighbours) == (first.rows, first.sigma, first.neighbours)
    assert (second.rows, second.feature_map) == (100.0, WHOLE)


@RELATIONS
def test_only_new_numbers_are_drawn_and_only_their_tau_is_spent(privacy: Privacy) -> None:
    noise = RecordingNoise(value=12345)
    budget, first, second = two_rounds(privacy, noise)
    count = 1 if privacy is ADD else 0
    assert [event[2] for event in noise.events] == [FIRST + count, ALL - FIRST]
    assert noise.events[0][1] == noise.events[1][1]
    assert noise.events[1][-1] == budget.spent == second.measurement.step.loss
    assert budget.spent.mu_squared == first.measurement.step.loss.mu_squared
    assert second.measurement.step.coordinates == ALL + count == len(second.measurement.integers)
    assert second.measurement.integers[:FIRST].tolist() == first.measurement.integers[:FIRST].tolist()
    if privacy is ADD:
        assert second.measurement.integers[-1] == first.measurement.integers[-1]


@RELATIONS
def test_three_rounds(privacy: Privacy) -> None:
    budget, _, second = two_rounds(privacy, RecordingNoise())
    larger = extend(WHOLE, PLANE + 0.7, most=10)
    third = exact(larger).resume(second, budget=budget, noise=RecordingNoise())
    at_once = exact(larger).privatise(open_filter(privacy, coordinates=100), noise=RecordingNoise(), share=0.5)
    assert larger.dimension == ALL + 10
    assert third.measurement.integers.tolist() == at_once.measurement.integers.tolist()
    assert budget.spent == third.measurement.step.loss


@RELATIONS
def test_a_round_that_adds_nothing_gives_the_earlier_one_back(privacy: Privacy) -> None:
    budget, noise = open_filter(privacy, coordinates=100), RecordingNoise()
    first = exact(BASIS).privatise(budget, noise=noise)
    spent = budget.spent
    assert exact(BASIS).resume(first, budget=budget, noise=noise) is first
    assert (budget.spent, len(noise.events)) == (spent, 1)


@RELATIONS
def test_sums_of_points_that_are_added_need_not_be_made_again(privacy: Privacy) -> None:
    joined = exact(BASIS).join(exact(WHOLE.beyond(BASIS)), WHOLE)
    seen = [
        one.privatise(open_filter(privacy, coordinates=100), noise=RecordingNoise()) for one in (joined, exact(WHOLE))
    ]
    assert seen[0].measurement.integers.tolist() == seen[1].measurement.integers.tolist()
    assert seen[0].feature_map is WHOLE


def test_a_part_of_a_subspace_states_its_own_bounds() -> None:
    part = WHOLE.beyond(BASIS)
    assert part.dimension == ALL - FIRST
    assert part.stretch == part.least_stretch
    assert (part.integers(ROWS) == WHOLE.integers(ROWS)[:, FIRST:]).all()


@pytest.mark.parametrize(
    "more",
    [lambda: exact(WHOLE), lambda: exact(OneHot(categories=40)), lambda: exact(WHOLE.beyond(BASIS), ROWS[1:])],
    ids=["not what is added", "no subspace", "other rows"],
)
def test_other_sums_do_not_join(more: Callable[[], ExactEmbedding]) -> None:
    with pytest.raises(PrivacyError, match="Only the sum of the points that a subspace adds"):
        exact(BASIS).join(more(), WHOLE)
    with pytest.raises(PrivacyError, match="Only the sum of the points that a subspace adds"):
        exact(OneHot(categories=FIRST)).join(exact(WHOLE.beyond(BASIS)), WHOLE)


# Refusals: nothing is spent, nothing is drawn.


def refused(
    first: NoisyEmbedding, budget: PrivacyFilter, feature_map: FeatureMap, message: str, rows: Rows = ROWS
) -> None:
    noise, spent = RecordingNoise(), budget.spent
    with pytest.raises(PrivacyError, match=message):
        exact(feature_map, rows).resume(first, budget=budget, noise=noise)
    assert (budget.spent, noise.events) == (spent, [])


def opened(privacy: Privacy, feature_map: FeatureMap = BASIS) -> tuple[NoisyEmbedding, PrivacyFilter]:
    budget = open_filter(privacy, coordinates=100)
    return exact(feature_map).privatise(budget, noise=RecordingNoise(), share=0.5), budget


@RELATIONS
def test_only_an_extension_of_what_was_measured_is_revealed(privacy: Privacy) -> None:
    first, budget = opened(privacy)
    other = Nystrom.spanning(KERNEL, PLANE[::-1], tolerance=1e-2, reserve=0.01)
    wrong = replace(WHOLE, matrix=np.where(np.eye(ALL, dtype=bool), WHOLE.matrix + 1, WHOLE.matrix))
    for feature_map in (other, wrong, OneHot(categories=40)):
        refused(first, budget, feature_map, "Only an extension")
    refused(replace(first, feature_map=OneHot(categories=FIRST)), budget, WHOLE, "Only an extension")


@RELATIONS
def test_an_extension_that_costs_more_is_refused(privacy: Privacy) -> None:
    """With the points of a larger reserve, and with none to pay from."""
    first, budget = opened(privacy)
    message = "was charged for" if privacy is REPLACE else "not the one that was paid for"
    refused(first, budget, replace(WHOLE, reserve=0.02), message)
    refused(first, budget, replace(WHOLE, stretch=1.05), message)
    bare, budget = opened(privacy, replace(BASIS, reserve=0.0))
    refused(bare, budget, WHOLE, message)


def test_a_smaller_reserve_costs_less_but_counts_otherwise() -> None:
    first, budget = opened(REPLACE)
    more = exact(replace(WHOLE, reserve=0.005)).resume(first, budget=budget, noise=RecordingNoise())
    assert more.measurement.step.sensitivity == first.measurement.step.sensitivity
    first, budget = opened(ADD)
    refused(first, budget, replace(WHOLE, reserve=0.005), "not the one that was paid for")


def test_another_table_is_refused_where_its_size_is_public() -> None:
    first, budget = opened(REPLACE)
    refused(first, budget, WHOLE, "can't go on with another", rows=ROWS[1:])


def test_under_add_remove_the_number_of_rows_decides_nothing() -> None:
    """A refusal would tell it."""
    first, budget = opened(ADD)
    second = exact(WHOLE, ROWS[1:]).resume(first, budget=budget, noise=RecordingNoise())
    assert second.rows == first.rows


def test_another_relation_is_refused() -> None:
    first, _ = opened(REPLACE)
    refused(first, open_filter(ADD, coordinates=100), WHOLE, "can't go on under add-remove")
    refused(replace(first, neighbours=Neighbours.ADD_REMOVE), opened(ADD)[1], WHOLE, "numbers are not those")


@RELATIONS
def test_another_budget_is_refused(privacy: Privacy) -> None:
    first, _ = opened(privacy)
    refused(first, open_filter(privacy, coordinates=100), WHOLE, "not made within this budget")


@RELATIONS
def test_two_extensions_of_one_measurement_are_refused(privacy: Privacy) -> None:
    first, budget = opened(privacy)
    second = exact(WHOLE).resume(first, budget=budget, noise=RecordingNoise())
    other = extend(BASIS, PLANE[20:] + 0.3, most=15)
    refused(first, budget, other, "was resumed before")
    refused(first, budget, WHOLE, "was resumed before")
    refused(second, budget, other, "Only an extension")
    forged = replace(second, feature_map=BASIS)
    refused(forged, budget, other, "numbers are not those of its subspace")


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_laplace_noise_is_not_resumed(neighbours: Neighbours) -> None:
    first, budget = opened(Privacy(epsilon=1.0, delta=0.0, neighbours=neighbours))
    refused(first, budget, WHOLE, "Only a Gaussian measurement")


def test_noise_of_another_kind_is_refused() -> None:
    first, budget = opened(REPLACE)
    spent = budget.spent
    with pytest.raises(PrivacyError, match="noise of its own kind"):
        exact(WHOLE).resume(first, budget=budget, noise=SystemNoise())
    assert budget.spent == spent


def test_more_coordinates_than_were_reserved_are_refused() -> None:
    budget, noise = open_filter(REPLACE, coordinates=FIRST), RecordingNoise()
    first = exact(BASIS).privatise(budget, noise=noise, share=0.5)
    many = extend(BASIS, np.random.default_rng(0).normal(size=(400, 2)) * 9.0, most=400)
    assert many.dimension > 5 * FIRST
    with pytest.raises(BudgetError, match="'round two' needs more"):
        exact(many).resume(first, budget=budget, noise=noise, label="round two")
    assert len(noise.events) == 1


# The noise.


@pytest.mark.statistical
@RELATIONS
def test_the_noise_of_both_rounds_has_one_deviation_and_is_independent(privacy: Privacy) -> None:
    """Rows far from all points have coordinates 0 and show the noise alone. False alarms: one in a million runs."""
    grid = 50.0 * np.arange(200.0)[:, None]
    basis = Nystrom.spanning(KERNEL, grid[:100], tolerance=1e-3, reserve=0.01)
    whole = extend(basis, grid[100:], most=100)
    assert whole.dimension == 200
    nowhere = np.full((500, 1), -1e6)
    rounds = []
    for _ in range(40):
        budget = open_filter(privacy, coordinates=300)
        first = exact(basis, nowhere).privatise(budget, noise=SystemNoise())
        second = exact(whole, nowhere).resume(first, budget=budget, noise=SystemNoise())
        assert second.sum[:100].tolist() == first.sum.tolist()
        rounds.append(second.mean / second.sigma)
    noise = np.array(rounds)
    old, new = noise[:, :100].ravel(), noise[:, 100:].ravel()
    far, size = stats.norm.isf(1e-7), len(old)
    for draws in (old, new):
        assert abs(np.mean(draws**2) - 1.0) <= far * math.sqrt(2.3 / size)
        assert abs(np.mean(draws)) <= far / math.sqrt(size)
    assert abs(np.mean(old * new)) <= far * math.sqrt(1.1 / size)
    assert len(np.unique(noise)) == noise.size
