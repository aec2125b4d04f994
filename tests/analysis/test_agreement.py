"""Rows beside estimates: those that agree, and those that do not."""

import numpy as np
import pytest

from kernelease.analysis.agreement import agreement
from kernelease.analysis.averages import average, mean
from kernelease.analysis.quantile import shares
from kernelease.analysis.regression import judge, regression
from kernelease.analysis.spread import standard_deviation
from kernelease.errors import ParameterError
from tests.analysis.tables import people, simple

TABLE = people(3000)


def beside(rows, sigma=5.0):
    return simple(TABLE, sigma, rows=rows, weights=np.full(rows.num_rows, 1.0 / rows.num_rows))


@pytest.mark.statistical
def test_rows_that_are_drawn_from_the_table_agree():
    """Once in twenty releases they may not, as `limit` says: of 20, more than 8 once in five million times."""
    found = []
    for seed in range(20):
        rows = TABLE.take(np.random.default_rng(seed).integers(0, 3000, 3000))
        told = simple(TABLE, 5.0, seed=seed, rows=rows, weights=np.full(3000, 1.0 / 3000))
        found.append(agreement(told, mean, standard_deviation))
    assert sum(bool(one.disagreements) for one in found) <= 8
    assert all(("agree within the noise" in str(one)) is not bool(one.disagreements) for one in found)


def test_rows_that_were_changed_are_found():
    rows = people(3000, seed=4)
    old = rows.column("age").to_numpy()
    found = agreement(beside(rows.set_column(0, "age", [np.minimum(old + 6, 65)])), mean, standard_deviation)
    names = [item.what for item in found.disagreements]
    assert "mean of age" in names
    assert any(name.startswith("share of age") for name in names)
    assert "trust the estimates" in str(found)
    assert "mean of age" in found._repr_html_()
    assert abs(found.disagreements[0].z) >= abs(found.disagreements[-1].z) > found.limit
    assert repr(found) == str(found)


def test_numbers_that_were_spread_are_found():
    rows = people(3000, seed=4)
    old = rows.column("age").to_numpy()
    wider = np.clip(np.round(old.mean() + 1.3 * (old - old.mean())), 18, 65).astype(old.dtype)
    found = agreement(beside(rows.set_column(0, "age", [wider])), mean, standard_deviation)
    assert "standard deviation of age" in [item.what for item in found.disagreements]


def test_there_must_be_rows():
    with pytest.raises(ParameterError, match="needs synthetic rows"):
        agreement(simple(TABLE), mean, standard_deviation)


def test_a_histogram_adds_up():
    assert sum(one.value for one in shares(beside(TABLE), "school", average).values()) == pytest.approx(1.0)
    assert sum(
        one.value for one in shares(beside(TABLE), "school", average, where="sex == 'F'").values()
    ) == pytest.approx(1.0)


def test_a_coefficient_that_is_not_known_at_all_says_little():
    formula = "hours ~ age + sex"
    clear, vague = (beside(TABLE, sigma) for sigma in (1.0, 60.0))
    assert not judge(clear, regression(clear, formula))["age"].says_little
    assert judge(vague, regression(vague, formula))["age"].says_little
    bare = simple(TABLE, 1.0)
    assert judge(bare, regression(bare, formula))["age"].possible == (-np.inf, np.inf)
