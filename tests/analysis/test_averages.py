"""Means, probabilities, counts and expectations: exact where there is no noise, and honest where something is open."""

import datetime as dt
import math

import numpy as np
import pytest

from kernelease.analysis.averages import count, crosstab, expectation, mean, probability
from kernelease.analysis.estimands import Indicator, NumericValue
from kernelease.analysis.estimate import Target
from kernelease.analysis.groups import EstimateTable, Groups
from kernelease.errors import ParameterError, SchemaError
from kernelease.privacy.accounting import Law
from kernelease.privacy.sensitivity import Neighbours
from kernelease.table import Date
from tests.analysis.tables import SCHEMA, evidence_of, exact_blocks, noisy_blocks, people, simple

ROWS = 3_000
TABLE = people(ROWS)
T = {name: TABLE.column(name).to_numpy() for name in TABLE.column_names}
CLEAR = simple(TABLE, 1e-4)  # hardly any noise
NOISY = simple(TABLE, 20.0)
EXACT = {
    "age": (lambda e: mean(e, "age"), T["age"].mean()),
    "age of women": (lambda e: mean(e, "age", where="sex == 'F'"), T["age"][T["sex"] == "F"].mean()),
    "pair": (
        lambda e: probability(e, "age > 30 and not school == 'none'"),
        ((T["age"] > 30) & (T["school"] != "none")).mean(),
    ),
    "either": (lambda e: probability(e, "sex == 'F' or kids >= 3"), ((T["sex"] == "F") | (T["kids"] >= 3)).mean()),
    "given": (
        lambda e: probability(e, "kids in (1, 2)", where="age >= 50"),
        np.isin(T["kids"][T["age"] >= 50], (1, 2)).mean(),
    ),
    "null": (lambda e: probability(e, "hours is null"), np.isnan(T["hours"]).mean()),
    "edge": (lambda e: probability(e, "kids < age", where="sex == 'M'"), 1.0),
    "count": (lambda e: count(e, "age >= 30"), (T["age"] >= 30).sum()),
    "square": (
        lambda e: expectation(e, lambda t: t["kids"] ** 2 * (t["sex"] == "F")),
        (T["kids"] ** 2)[T["sex"] == "F"].sum() / ROWS,
    ),
    "constant": (lambda e: expectation(e, lambda t: 3.0 + 0.0 * t["kids"]), 3.0),
}


@pytest.mark.parametrize("name", EXACT)
def test_without_noise_they_are_the_truth(name):
    ask, truth = EXACT[name]
    estimate = ask(CLEAR)
    if name != "edge":
        assert float(estimate) == pytest.approx(truth, rel=1e-4)
        assert estimate.parts.bias == 0.0
        assert estimate.margin() < 1e-3 * max(1.0, abs(truth))
    low, high = ask(NOISY).interval(0.999)
    assert low - 1e-9 <= truth <= high + 1e-9


@pytest.mark.parametrize(("sigma", "rough_bias"), [(30.0, False), (2_000.0, True)])
def test_cells_that_a_question_cuts_answer_it_where_they_are_surely_narrower(sigma, rough_bias):
    """Not where few rows would be in doubt if columns were independent of each other, and they are not."""
    fine, rough = exact_blocks(TABLE, sets=[(0,), (4,), (0, 4)]), exact_blocks(TABLE, sets=[(0, 1, 4)], cells=3)
    noisy = noisy_blocks(fine + rough, ROWS, [1.0, 1.0, sigma, 1.0], np.random.default_rng(0), rounds=[0, 0, 0, 1])
    estimate = probability(evidence_of(noisy), "age == 64 and kids == 5")
    assert (estimate.parts.inside > 0.0) == rough_bias
    low, high = estimate.interval(0.999)
    assert low <= np.mean((T["age"] == 64) & (T["kids"] == 5)) <= high


def test_all_rows_are_known():
    assert count(NOISY).interval() == (ROWS, ROWS)
    assert str(count(NOISY)) == "3,000 ± 0"


def test_numbers_are_as_uneven_in_their_cells_as_cells_are():
    """Hours are smooth: 16 cells, 5.7 wide, leave an error of .2, and not half a width."""
    estimate = mean(CLEAR, "hours")
    low, high = estimate.interval()
    assert low <= np.nanmean(T["hours"]) <= high
    assert estimate.parts.noise < 0.1 < estimate.parts.inside < 0.4
    assert float(estimate) == pytest.approx(np.nanmean(T["hours"]), abs=1.0)


def test_a_threshold_inside_a_cell_is_bounded_by_the_cell():
    estimate = probability(CLEAR, "hours > 33.2")
    low, high = estimate.interval()
    truth = (T["hours"] > 33.2).mean()
    assert low < truth < high
    assert 0.05 < high - low < 0.4
    edge = 80.0 / 14.0 * 5.0
    assert probability(CLEAR, f"hours >= {edge!r}").margin() < 1e-3


def test_groups_come_in_the_declared_order():
    groups = mean(NOISY, "age", by="school")
    assert isinstance(groups, Groups)
    assert list(groups) == ["none", "some", "much"]
    assert len(groups) == 3
    for label in groups:
        low, high = groups[label].interval(0.999)
        assert low <= T["age"][T["school"] == label].mean() <= high
    assert "much" in str(groups)
    assert "by school" in repr(groups)
    assert "<td>much</td>" in groups._repr_html_()


def test_groups_of_numbers_are_as_fine_as_they_were_measured():
    evidence = simple(TABLE, 1e-4, cells=6)
    groups = probability(evidence, "sex == 'F'", by="age")
    assert next(iter(groups)) == "18..25"
    assert groups["18..25"].margin() < 1e-3
    assert float(groups["18..25"]) == pytest.approx((T["sex"][T["age"] <= 25] == "F").mean(), abs=1e-3)


def test_under_add_remove_the_number_of_rows_is_an_estimate():
    evidence = simple(TABLE, 20.0, neighbours=Neighbours.ADD_REMOVE)
    assert not evidence.public_total
    low, high = count(evidence).interval(0.999)
    assert low < ROWS < high
    low, high = count(evidence, "sex == 'F'").interval(0.999)
    assert low < (T["sex"] == "F").sum() < high
    low, high = probability(evidence, "sex == 'F'").interval(0.999)
    assert low < (T["sex"] == "F").mean() < high
    low, high = count(evidence, "age >= 40 and sex == 'F' and kids >= 1").interval()
    assert low < ((T["age"] >= 40) & (T["sex"] == "F") & (T["kids"] >= 1)).sum() < high


def test_the_population_adds_sampling():
    table, population = mean(NOISY, "age"), mean(simple(TABLE, 20.0, target=Target.POPULATION), "age")
    assert float(table) == float(population)
    assert population.parts.sampling == pytest.approx(T["age"].std() / math.sqrt(ROWS), rel=0.1)
    assert population.margin() > table.margin()
    unmeasured = simple(TABLE, 1.0, target=Target.POPULATION)
    asked = "age >= 40 and sex == 'F' and kids >= 1"
    assert probability(unmeasured, asked).margin() > probability(simple(TABLE, 1.0), asked).margin()


def test_laplace_noise_has_longer_intervals():
    normal, laplace = (probability(simple(TABLE, 20.0, law=law), "sex == 'F'") for law in (Law.GAUSSIAN, Law.LAPLACE))
    ratio = (laplace.margin() / laplace.standard_error) / (normal.margin() / normal.standard_error)
    assert ratio == pytest.approx(2.118 / 1.96, rel=0.01)


def test_a_later_round_answers_where_it_is_better():
    sets = [(0,), (1,), (0, 1)]
    evidence = simple(TABLE, [5.0, 5.0, 2.0], sets=sets, rounds=[0, 0, 1])
    pair = probability(evidence, "age >= 40 and sex == 'F'")
    assert pair.parts.noise < 2.0 * math.sqrt(27) / ROWS
    alone = probability(evidence, "sex == 'F'")
    assert alone.parts.noise == pytest.approx(5.0 / math.sqrt(2.0) / ROWS, rel=0.01)  # of round 0, N known


def test_rows_that_cannot_exist():
    for estimate in (
        mean(CLEAR, "age", where="age > 1000"),
        probability(CLEAR, "sex == 'F'", where="age < 0 and kids > 9 and hours > 3"),
    ):
        assert math.isnan(float(estimate))
        assert "no row" in estimate.remark
        assert str(estimate) == "unknown"


def test_a_group_that_drowns_in_the_noise_says_so():
    estimate = mean(simple(TABLE, 500.0), "age", where="kids == 5")
    assert estimate.interval() == (18.0, 65.0)
    assert estimate.says_little
    assert "can't answer" in estimate.summary()


def test_a_crosstab_adds_up():
    table = crosstab(NOISY, "sex", "school")
    assert isinstance(table, EstimateTable)
    assert table.values.sum() == pytest.approx(1.0)
    assert table.standard_errors.shape == (2, 3)
    assert float(table["F", "much"]) == pytest.approx(((T["sex"] == "F") & (T["school"] == "much")).mean(), abs=0.05)
    assert float(probability(NOISY, "sex == 'F' and school == 'much'")) == pytest.approx(float(table["F", "much"]))
    assert "sex \\ school" in repr(table)
    assert "<th>much</th>" in table._repr_html_()
    some = crosstab(CLEAR, "sex", "school", where="sex == 'F'")
    assert some.values[1] == pytest.approx(0.0, abs=1e-6)
    with pytest.raises(ParameterError, match="two different"):
        crosstab(CLEAR, "sex", "sex")


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda: mean(CLEAR, "agee"), SchemaError, "Did you mean age?"),
        (lambda: mean(CLEAR, "school"), ParameterError, "has no mean"),
        (lambda: mean(CLEAR, "age", by="sexx"), SchemaError, "Did you mean sex?"),
        (lambda: mean(CLEAR, "age", where="sex == 'f'"), ParameterError, "not one of the declared values"),
        (lambda: probability(CLEAR, "age >"), ParameterError, "ends too early"),
        (lambda: probability(CLEAR, "__import__('os').system('true')"), ParameterError, "condition"),
        (lambda: expectation(CLEAR, lambda t: t["agee"]), ParameterError, "no column 'agee'"),
        (lambda: expectation(CLEAR, lambda t: t["age"][:1]), ParameterError, "one number per row"),
        (lambda: expectation(CLEAR, lambda t: t["sex"]), ParameterError, "one number per row"),
        (lambda: expectation(CLEAR, lambda t: 1.0 / t["kids"]), ParameterError, "infinite"),
    ],
)
def test_what_is_refused(ask, error, message):
    with pytest.raises(error, match=message):
        ask()


def test_dates_have_a_median_in_place_of_a_mean():
    born = Date(name="born", min=dt.date(1990, 1, 1), max=dt.date(1990, 12, 31))
    with pytest.raises(ParameterError, match=r"has no mean\. Ask for its median, quantile 0\.5, instead"):
        NumericValue(column=born, where=Indicator(()))


@pytest.mark.slow
def test_a_function_sees_columns():
    seen = {}

    def look(columns):
        seen.update({name: columns[name] for name in columns})
        return columns["age"]

    expectation(CLEAR, look)
    assert len(seen) == len(SCHEMA)
    assert seen["age"].dtype == np.float64
    assert seen["sex"].dtype == object


def test_where_a_function_is_not_defined_it_leaves_rows_out():
    estimate = expectation(CLEAR, lambda t: np.where(t["kids"] > 0, t["kids"], np.nan))
    assert float(estimate) == pytest.approx(T["kids"][T["kids"] > 0].mean(), rel=1e-3)


def test_three_columns_are_as_uneven_as_pairs_of_them_say():
    """Sex and school were counted with all ages in one cell: how ages differ by either alone was counted finely.

    Of 30 intervals all but 7 must hold: more miss once in a million where 95 % hold. Seeds are fixed.
    """
    fine, rough = exact_blocks(TABLE, sets=[(0,), (0, 1), (0, 2)]), exact_blocks(TABLE, sets=[(0, 1, 2)], cells=1)
    wanted = {f"age <= {cut} and sex == 'F' and school == 'some'": T["age"] <= cut for cut in (30, 40, 50)}
    held = 0
    for seed in range(10):
        told = evidence_of(noisy_blocks(fine + rough, ROWS, 3.0, np.random.default_rng(seed)))
        for event, old in wanted.items():
            low, high = probability(told, event).interval()
            held += low <= np.mean(old & (T["sex"] == "F") & (T["school"] == "some")) <= high
    assert held >= 23
    alone = evidence_of(noisy_blocks(fine[:1] + rough, ROWS, 3.0, np.random.default_rng(0)))
    for event in wanted:
        assert probability(told, event).margin() < 0.75 * probability(alone, event).margin()
