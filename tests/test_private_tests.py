"""Tests on private rows from the owner's side: what they find, what they refuse, what they charge, what they state."""

import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import kernelease as ke
from kernelease.privacy import mechanisms
from kernelease.privacy.sensitivity import Neighbours
from kernelease.private_tests import MeanDistance, PermutedStatistics

SCHEMA = ke.Schema.parse("""
    [table]
    name = "people"

    [columns.age]
    type = "integer"
    min = 18
    max = 81

    [columns.hours]
    type = "number"
    min = 0.0
    max = 80.0
    cells = 32
    nullable = true

    [columns.ward]
    type = "category"
    values = ["north", "east", "south", "west"]
""")
ROWS, DRAWS, LEVEL = 300, 99, 0.05


def people(seed, count=ROWS, *, link=0.0, older=0.0):
    generator = np.random.default_rng(seed)
    age = np.clip(generator.normal(50.0 + older, 14.0, count), 18, 81).astype(int)
    hours = np.clip(38.0 + 8.0 * generator.normal(size=count) + link * (age - 50), 0.0, 80.0)
    wards = generator.choice(["north", "east", "south", "west"], count)
    return pa.table({"age": age, "hours": pa.array(hours, mask=generator.random(count) < 0.05), "ward": wards})


def two_sample(one, other, **options):
    settings = {"schema": SCHEMA, "privacy": (1.0, 0.0), "draws": DRAWS, **options}
    return ke.private_two_sample_test(one, other, **settings)


def independence(rows, first="age", second="hours", **options):
    settings = {"schema": SCHEMA, "privacy": (1.0, 0.0), "draws": DRAWS, **options}
    return ke.private_independence_test(rows, first, second, **settings)


def test_clear_differences_are_found():
    assert two_sample(people(1, 2_000), people(2, 2_000, older=15.0)).rejected
    assert independence(people(1, 2_000, link=0.8)).rejected


@pytest.mark.parametrize("statistic", ["kernel", "rank", "mean"])
def test_every_statistic_finds_a_clear_difference_of_one_column(statistic):
    one, other = people(1, 2_000), people(2, 2_000, older=15.0)
    assert two_sample(one, other, columns=["age"], statistic=statistic).rejected


@pytest.mark.parametrize("statistic", ["kernel", "rank", "slope"])
def test_every_statistic_finds_a_clear_dependence(statistic):
    assert independence(people(1, 2_000, link=0.8), statistic=statistic).rejected


def test_ranks_see_more_of_what_rises():
    """Kernels alone reject in .3 of such tables, ranks in .85: of 40 as many or more by kernels once in 10⁷ runs."""
    found = {
        name: sum(
            independence(people(s, 250, link=0.25), statistic=name, noise=ke.SeededNoise(s)).rejected for s in range(40)
        )
        for name in ("kernel", "rank")
    }
    assert found["kernel"] < found["rank"]


REPEATS, ALARM = 200, 1e-4
MOST = stats.binom.ppf(1.0 - ALARM, REPEATS, LEVEL)  # an honest test passes it once in ten thousand runs


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 20.0])  # noise alone, and nearly none
def test_levels_are_kept(epsilon):
    found = [
        (
            two_sample(
                people(2 * seed, 120),
                people(2 * seed + 1, 80),
                columns=["age", "ward"],
                privacy=(epsilon, 0.0),
                noise=ke.SeededNoise(seed),
            ).rejected,
            independence(people(seed, 120), privacy=(epsilon, 0.0), noise=ke.SeededNoise(seed)).rejected,
        )
        for seed in range(REPEATS)
    ]
    assert np.sum(found, axis=0).max() <= MOST


@pytest.mark.statistical
def test_power_grows_with_epsilon():
    """60 tables: from hardly more than the level to nearly all; the bounds are five standard errors away."""
    found = {
        epsilon: np.mean(
            [
                independence(people(s, link=0.25), privacy=(epsilon, 0.0), noise=ke.SeededNoise(s)).rejected
                for s in range(60)
            ]
        )
        for epsilon in (0.02, 5.0)
    }
    assert found[0.02] < 0.35
    assert found[5.0] > 0.8


def test_the_result_says_what_was_tested_spent_and_promised(tmp_path):
    path = ke.LedgerFile.create(tmp_path / "ledger", cap=ke.Privacy(epsilon=0.5, delta=0.0), dataset="people").path
    result = independence(people(1), ledger=path, privacy=(0.5, 0.0), level=0.1)
    assert (result.level, result.epsilon, result.entry, result.private) == (0.1, 0.5, 1, True)
    assert result.rejected == (result.margin > 0.0)
    assert "ε = 0.5 and δ = 0" in result.statement
    assert "each row" in result.statement
    assert "entry 1 of the ledger" in str(result)
    assert "age and hours are independent" in result._repr_html_()
    ledger = ke.LedgerFile.open(path)
    assert ledger.spent().pure_epsilon == 0.5
    assert ledger.subject.dataset == "people"
    with pytest.raises(ke.errors.BudgetError):
        independence(people(1), ledger=path, privacy=(0.5, 0.0))


def test_words_of_both_outcomes():
    others = people(1), people(2, older=40.0)
    found = [two_sample(people(1), other, noise=ke.SeededNoise(1), privacy=(5.0, 0.0), seed=1) for other in others]
    assert [result.rejected for result in found] == [False, True]
    assert "No evidence against" in str(found[0])
    assert "below its critical value" in str(found[0])
    assert str(found[1]).startswith("Evidence against")
    assert "NOT PRIVATE" in found[1].statement
    assert "no ledger was given" in two_sample(people(1), people(2)).statement


def test_a_ledger_of_any_delta_takes_a_test():
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=2.0, delta=1e-6), dataset="people")
    two_sample(people(1), people(2), ledger=ledger)
    assert len(ledger.entries) == 1
    assert ledger.entries[0].charge.asked.delta == 0.0


def test_orders_are_drawn_afresh_unless_a_seed_is_given():
    same = [independence(people(1), seed=5, noise=ke.SeededNoise(1)).margin for _ in range(2)]
    fresh = [independence(people(1), noise=ke.SeededNoise(1)).margin for _ in range(4)]
    assert same[0] == same[1]
    assert len(set(fresh)) > 1


def test_the_order_of_rows_says_nothing():
    """A row that was updated in a database lies at its end: with known orders that moved a margin by 28 times Δ."""
    part, generator = MeanDistance(np.array([0, 1])), np.random.default_rng(0)
    rows = generator.integers(0, 2, (8_000, 1))
    first, second = rows[:4_000], rows[4_000:]
    updated = np.concatenate([first[1:], first[:1]])

    def margins(first, seed):
        of = PermutedStatistics.of_groups(first, second, [part], draws=19, generator=np.random.default_rng(seed))
        return (of._observed - max(of._others)) / of._sensitivity.l1

    assert max(abs(margins(first, seed) - margins(updated, seed)) for seed in range(20)) > 10.0
    laws = [
        [margins(table, seed) for seed in seeds] for table, seeds in ((first, range(300)), (updated, range(300, 600)))
    ]
    assert stats.ks_2samp(*laws).pvalue > 1e-4
    for test in (lambda: independence(people(1), seed=5), lambda: two_sample(people(1), people(2), seed=5)):
        with pytest.raises(ke.errors.ParameterError, match="rows keep their places"):
            test()


REFUSED = {
    "one column": (lambda: independence(people(1), "age", "age"), "two columns"),
    "unknown column": (lambda: independence(people(1), "age", "agee"), "agee"),
    "no columns": (lambda: two_sample(people(1), people(2), columns=[]), "at least one column"),
    "level": (lambda: independence(people(1), level=1.0), "level must be between 0 and 1"),
    "too few draws": (lambda: independence(people(1), level=0.001), "draws must be from 999"),
    "too many draws": (lambda: independence(people(1), draws=10**6), "draws must be from 19"),
    "epsilon": (lambda: independence(people(1), privacy=(0.0, 0.0)), "psilon"),
    "delta": (lambda: independence(people(1), privacy=(1.0, 1e-6)), "delta must be 0"),
    "empty": (lambda: independence(people(1).slice(0, 0)), "empty"),
    "statistic": (lambda: independence(people(1), statistic="tau"), "must be one of 'auto', 'kernel'"),
    "mean of two": (lambda: independence(people(1), statistic="mean"), "'kernel', 'rank' or 'slope'"),
    "ranks of a category": (lambda: independence(people(1), "age", "ward", statistic="rank"), "ordered column; 'ward'"),
    "slope of a category": (lambda: independence(people(1), "age", "ward", statistic="slope"), "need numbers; 'ward'"),
    "ranks of several": (lambda: two_sample(people(1), people(2), statistic="rank"), "of one column by 'rank'"),
    "private number": (
        lambda: independence(people(1), schema=ke.Schema(SCHEMA.columns, neighbours="add-remove")),
        "replace-one",
    ),
    "persons": (
        lambda: independence(people(1), schema=ke.Schema(SCHEMA.columns, unit="person", max_rows_per_unit=2)),
        "protects rows, not persons",
    ),
    "drafted": (lambda: independence(people(1), schema=ke.Schema(SCHEMA.columns, confirmed=False)), "confirmed"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refusals(case):
    call, words = case
    with pytest.raises(ke.KerneleaseError, match=words):
        call()


def test_nothing_is_charged_for_what_is_refused():
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=2.0, delta=0.0), dataset="people")
    with pytest.raises(ke.errors.ParameterError):
        independence(people(1).slice(0, 0), ledger=ledger)
    assert ledger.entries == []
    with pytest.raises(ke.errors.BudgetError):
        independence(people(1), ledger=ledger, privacy=(3.0, 0.0))
    assert ledger.entries == []


def test_more_noise_than_there_can_be_is_refused_before_the_charge(monkeypatch):
    """By ε and the number of rows, which are public: of 400,000 rows and ε = 1, a slope was refused after it."""
    monkeypatch.setattr(mechanisms, "LARGEST_LAPLACE_SCALE", 1.0)
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=2.0, delta=0.0), dataset="people")
    for test in (lambda: independence(people(1), ledger=ledger), lambda: two_sample(*[people(1)] * 2, ledger=ledger)):
        with pytest.raises(ke.errors.CapacityError, match="a larger epsilon"):
            test()
    assert ledger.entries == []


def test_the_guarantee_is_under_replace_one():
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=2.0, delta=0.0), dataset="people")
    independence(people(1), ledger=ledger)
    assert ledger.entries[0].charge.asked.relation is Neighbours.REPLACE_ONE


def rank_probabilities(observed, others):
    """P(k of the others are above the observed), all with Laplace noise of scale 1: by integration over its value."""
    grid = np.linspace(-25.0, 25.0, 10_001)
    above = [np.where(grid < t, 1 - 0.5 * np.exp(-np.abs(grid - t)), 0.5 * np.exp(-np.abs(grid - t))) for t in others]
    counts = np.zeros((len(others) + 1, len(grid)))
    counts[0] = 1.0
    for chance in above:
        counts[1:] = counts[1:] * (1.0 - chance) + counts[:-1] * chance
        counts[0] *= 1.0 - chance
    return (counts * 0.5 * np.exp(-np.abs(grid - observed))).sum(axis=1) * (grid[1] - grid[0])


def test_a_p_value_would_say_more_than_epsilon():
    """With noise of 2Δ/ε for ε = 1 and scale 1, Δ is ½: no decision tells more than 1, but the p-value does."""
    step = 0.5
    worlds = [(3.0, [-1.0] * 6 + [1.0] * 14), (3.0 + step, [-1.0 + step] * 6 + [1.0 - step] * 14)]
    before, after = (rank_probabilities(*world) for world in worlds)
    assert np.abs(np.log(before / after)).max() > 1.1
    decisions = [np.cumsum(one)[:-1] for one in (before, after)]  # p ≤ (k + 1)/21
    assert np.abs(np.log(decisions[0] / decisions[1])).max() <= 1.0 + 1e-6
    assert np.abs(np.log((1 - decisions[0]) / (1 - decisions[1]))).max() <= 1.0 + 1e-6
    assert math.isclose(before.sum(), 1.0, rel_tol=1e-4)
