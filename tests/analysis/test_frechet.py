"""Bounds of what was not measured together, and the classes of atoms that make them small."""

import numpy as np
import pytest
from scipy.stats import binom

from kernelease.analysis.averages import count, expectation, mean, probability
from kernelease.analysis.estimands import parse_condition
from kernelease.analysis.frechet import atom_classes
from kernelease.errors import CapacityError
from kernelease.table import Schema
from tests.analysis.tables import people, simple

ROWS = 3_000
TABLE = people(ROWS)
T = {name: TABLE.column(name).to_numpy() for name in TABLE.column_names}
CLEAR = simple(TABLE, 1e-4)  # hardly any noise
KINDS = Schema.parse(
    """
    [columns.count]
    type = "integer"
    min = 0
    max = 999
    cells = 10
    [columns.kind]
    type = "category"
    values = ["a", "b"]
    other = true
    """
)


def test_columns_that_were_not_measured_together_are_bounded():
    estimate = probability(CLEAR, "age >= 40 and sex == 'F' and kids >= 1")
    truth = ((T["age"] >= 40) & (T["sex"] == "F") & (T["kids"] >= 1)).mean()
    low, high = estimate.interval()
    assert low <= truth <= high
    assert high - low < 0.2
    assert "not measured together" in estimate.remark
    group = mean(CLEAR, "hours", where="age >= 40 and sex == 'F'")
    low, high = group.interval()
    assert low <= np.nanmean(T["hours"][(T["age"] >= 40) & (T["sex"] == "F")]) <= high
    alone = simple(TABLE, 1e-4, sets=[(i,) for i in range(5)])
    low, high = probability(alone, "sex == 'F' and kids == 0").interval()
    women, none = (T["sex"] == "F").mean(), (T["kids"] == 0).mean()
    assert low == pytest.approx(max(0.0, women + none - 1.0), abs=1e-3)  # Fréchet's bounds
    assert high == pytest.approx(min(women, none), abs=1e-3)
    low, high = count(alone, "sex == 'F' and kids == 0").interval()
    assert high == pytest.approx(ROWS * min(women, none), abs=2.0)


def test_noise_so_strong_that_counts_contradict_each_other_still_gives_an_interval():
    low, high = probability(simple(TABLE, 3_000.0, seed=3), "age >= 40 and sex == 'F' and kids >= 1").interval()
    assert 0.0 <= low <= high <= 1.0


def test_too_many_columns_at_once_are_refused():
    many = " or ".join(f"age == {year} and hours > {year}" for year in range(20, 60)) + " or kids == 1 and sex == 'F'"
    with pytest.raises(CapacityError, match="fewer of them"):
        expectation(
            CLEAR, lambda t: t["age"] + t["hours"] + t["kids"] + (t["sex"] == "F") + (t["school"] == "none"), where=many
        )


def test_classes_hold_atoms_that_a_condition_can_not_tell_apart():
    column = KINDS.column("count")
    found = atom_classes(column, [parse_condition("count >= 500", KINDS)], parts=1)
    assert len(np.unique(found.groups)) == 3  # below, in the middle of it, above
    assert len(found.points.atoms) == 4
    finer = atom_classes(column, [], parts=4)
    assert len(np.unique(finer.groups)) == 4
    assert len(np.unique(atom_classes(KINDS.column("kind"), [], parts=2).groups)) == 3


QUESTION = "age >= 40 and sex == 'F' and kids >= 1"
ASKED = (T["age"] >= 40) & (T["sex"] == "F") & (T["kids"] >= 1)
SHARES = {"rows": TABLE, "weights": np.full(ROWS, 1 / ROWS)}


def test_one_bound_on_either_side_is_shorter_than_all_counts_at_once():
    """Synthetic rows say which counts to weigh; without noise the bounds are the same, with it they are nearer."""
    exact = [probability(simple(TABLE, 1e-4, **given), QUESTION).interval() for given in ({}, SHARES)]
    assert exact[0] == pytest.approx(exact[1], abs=1e-4)
    noisy = [probability(simple(TABLE, 20.0, **given), QUESTION).margin() for given in ({}, SHARES)]
    assert noisy[1] < 0.85 * noisy[0]
    totals = [count(simple(TABLE, 20.0, **given), QUESTION).margin() for given in ({}, SHARES)]
    assert totals[1] == pytest.approx(ROWS * noisy[1], rel=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("weights", ["own", "wrong"])
def test_bounds_hold_whatever_rows_weigh_the_counts(weights):
    """60 releases, once with rows that have nothing to do with the table: fails wrongly once in 10,000 times."""
    other = people(ROWS, seed=9).take(np.random.default_rng(0).permutation(ROWS))
    shuffled = other.set_column(0, other.column_names[0], other.column(0).take(np.arange(ROWS)[::-1]))
    given = SHARES if weights == "own" else {**SHARES, "rows": shuffled}
    held = [
        low <= ASKED.mean() <= high
        for low, high in (probability(simple(TABLE, 20.0, seed=s, **given), QUESTION).interval() for s in range(60))
    ]
    assert sum(held) >= binom.ppf(1e-4, 60, 0.95)


def test_ratios_are_bounded_by_all_counts_at_once():
    """Of a ratio of two sums that are both bounds, no weights are one."""
    given, plain = (
        mean(simple(TABLE, 20.0, **more), "kids", where="age >= 40 and sex == 'F'") for more in (SHARES, {})
    )
    assert given.interval() == plain.interval()
