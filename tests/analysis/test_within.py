"""Questions about a condition and by group: the same numbers as those of the rows alone, joint noise, and refusals."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from scipy.stats import binom

from kernelease.analysis.averages import mean, probability
from kernelease.analysis.estimate import APART, Estimate, Target, deviations
from kernelease.analysis.evidence import EVERYBODY
from kernelease.analysis.fitted import Family
from kernelease.analysis.glm import generalised_regression
from kernelease.analysis.groups import (
    ALONE,
    REMARK,
    Groups,
    RegressionGroups,
    answer_estimate,
    answer_model,
    with_doubt,
)
from kernelease.analysis.quantile import quantile, survival
from kernelease.analysis.regression import judge, judged_trend, regression, trend
from kernelease.analysis.spread import correlation, entropy, gini
from kernelease.errors import ParameterError
from tests.analysis.tables import evidence_of, exact_blocks, noisy_blocks, people, simple

FALSE_ALARMS = 1e-4  # of each statistical test here
TABLE = people(3000)
TOGETHER = [(0,), (1,), (2,), (4,), (0, 1), (0, 4), (1, 4), (2, 4), (0, 1, 4)]  # age, sex and kids among them
BLOCKS = exact_blocks(TABLE, sets=TOGETHER)


@pytest.fixture(scope="module")
def evidence():
    """Almost without noise, and every cell is one value."""
    return simple(TABLE, 1e-4, sets=TOGETHER)


def women():
    return TABLE.filter(pc.equal(TABLE.column("sex"), "F"))


def numbers(table, name):
    return np.asarray(table.column(name).to_numpy(), dtype=float)


def noisy(blocks, sigma, seed=1, **options):
    """The counts of the table with noise."""
    return noisy_blocks(blocks, TABLE.num_rows, sigma, np.random.default_rng(seed), **options)


def within(evidence, text):
    return evidence.within(evidence.where(text))


def test_answers_are_those_of_the_rows_alone(evidence):
    rows = within(evidence, "sex == 'F'")
    age, kids = (numbers(women(), name) for name in ("age", "kids"))
    assert rows.total == pytest.approx(len(age), abs=0.1)
    assert not rows.public_total
    assert correlation(rows, "age", "kids").value == pytest.approx(np.corrcoef(age, kids)[0, 1], abs=1e-3)
    slope, start = np.polyfit(age, kids, 1)
    model = regression(rows, "kids ~ age")
    assert (model["age"].value, model["intercept"].value) == pytest.approx((slope, start), abs=1e-3)
    assert trend(rows, "kids", "age").value == pytest.approx(slope, abs=1e-3)
    differences = np.abs(kids[:, None] - kids).mean()
    assert gini(rows, "kids").value == pytest.approx(differences / (2 * kids.mean()), abs=1e-3)
    shares = np.bincount(kids.astype(int)) / len(kids)
    assert entropy(rows, "kids").value == pytest.approx(
        -(shares[shares > 0] * np.log(shares[shares > 0])).sum(), abs=1e-3
    )


def test_a_condition_on_the_columns_themselves_needs_no_third(evidence):
    old = TABLE.filter(pc.greater_equal(TABLE.column("age"), 40))
    found = correlation(within(evidence, "age >= 40 and kids < 5"), "age", "kids")
    kept = old.filter(pc.less(old.column("kids"), 5))
    assert found.value == pytest.approx(np.corrcoef(numbers(kept, "age"), numbers(kept, "kids"))[0, 1], abs=1e-3)


def test_everybody_is_everybody(evidence):
    assert evidence.within(EVERYBODY) is evidence
    assert evidence.public_total


def test_rows_that_nobody_drew_are_not_looked_at():
    synthetic = TABLE.filter(pc.equal(TABLE.column("sex"), "M"))
    evidence = evidence_of(
        noisy(BLOCKS, 1e-4),
        rows=synthetic,
        weights=np.full(synthetic.num_rows, 1.0 / synthetic.num_rows),
    )
    assert within(evidence, "sex == 'F'").rows is None
    assert within(evidence, "sex == 'M'").rows is synthetic


@pytest.mark.slow
@pytest.mark.parametrize("target", list(Target))
def test_intervals_of_a_group_hold(target):
    """A coefficient of a group of 60 noisy tables."""
    truth = np.polyfit(numbers(women(), "age"), numbers(women(), "kids"), 1)[0]
    held = 0
    for seed in range(60):
        rows = within(evidence_of(noisy(BLOCKS, 8.0, seed), target=target), "sex == 'F'")
        low, high = regression(rows, "kids ~ age")["age"].interval(0.9)
        held += low <= truth <= high
    assert held >= binom.ppf(FALSE_ALARMS, 60, 0.9)


def test_groups_and_their_names(evidence):
    groups = answer_estimate(
        evidence,
        [("age", "kids")],
        lambda rows: correlation(rows, "age", "kids"),
        what="correlation",
        where="age >= 20",
        by="sex",
    )
    assert isinstance(groups, Groups)
    assert list(groups) == ["F", "M"]
    assert groups["F"].about == "correlation of age and kids where age >= 20 for sex F"
    one = answer_estimate(evidence, [("kids",)], lambda rows: gini(rows, "kids"), what="gini", where="sex == 'F'")
    assert one.about == "Gini coefficient of kids where sex == 'F'"


def test_groups_are_as_coarse_as_the_coarsest_set():
    evidence = simple(TABLE, 1e-4, sets=[*TOGETHER, (0, 2), (0, 2, 4)], cells=6)
    labels = [label for label, _ in evidence.groups("age", ("kids",), ("kids", "sex"))]
    assert len(labels) == 6
    assert labels[0] == "18..25"
    assert len(evidence.groups("age")) == 48


def test_models_by_group(evidence):
    models = answer_model(
        evidence, [("kids", "age")], lambda rows: judge(rows, regression(rows, "kids ~ age")), what="", by="sex"
    )
    assert isinstance(models, RegressionGroups)
    assert models.names == ("intercept", "age")
    assert len(models) == 2
    slope = models.coefficient("age")
    assert slope["F"] == models["F"]["age"]
    assert models.minus("F")["M"]["age"].value == pytest.approx(slope["M"].value - slope["F"].value)
    assert models.over("F")["M"]["age"].value == pytest.approx(slope["M"].value / slope["F"].value)
    assert list(models.to_pandas().columns)[:3] == ["sex", "term", "value"]
    assert len(models.to_pandas()) == 4
    assert models["F"].to_pandas().term.tolist() == ["intercept", "age"]
    assert "<caption>kids ~ age</caption>" in models._repr_html_()
    assert "F: kids ~ age" in str(models)
    assert repr(models).startswith("by sex")


@pytest.mark.slow
def test_the_noise_of_two_groups_is_joint():
    """A coefficient less itself is nothing; of two groups it has the noise of both, as many tables show."""
    found, errors = [], []
    for seed in range(80):
        evidence = evidence_of(noisy(BLOCKS, 4.0, seed))
        slopes = [regression(within(evidence, f"sex == '{sex}'"), "kids ~ age")["age"] for sex in "FM"]
        difference = slopes[0] - slopes[1]
        found.append(difference.value)
        errors.append(difference.standard_error)
    assert np.std(found) == pytest.approx(np.mean(errors), rel=0.4)  # 5 standard errors of 80
    assert (slopes[0] - slopes[0]).standard_error == pytest.approx(0.0, abs=1e-12)


def test_every_source_has_the_noise_that_is_told():
    evidence = evidence_of(noisy(BLOCKS, 5.0))
    for estimate in (
        correlation(evidence, "age", "kids"),
        regression(evidence, "kids ~ age")["age"],
        mean(evidence, "age", where="sex == 'F'"),
        quantile(evidence, "age", 0.5),
        quantile(evidence, "age", 0.5, where="sex == 'F'"),
        gini(within(evidence, "sex == 'F'"), "age"),
        generalised_regression(within(evidence, "sex == 'F'"), "kids ~ age", Family.POISSON)["age"],
    ):
        assert deviations(estimate.source.weights())[0] == pytest.approx(estimate.parts.noise, rel=0.02), estimate.about


@pytest.mark.slow
def test_the_difference_of_two_quantiles_holds():
    held = 0
    truth = np.subtract(
        *(np.quantile(numbers(TABLE.filter(pc.equal(TABLE.column("sex"), sex)), "age"), 0.5) for sex in "FM")
    )
    for seed in range(60):
        groups = quantile(evidence_of(noisy(BLOCKS, 8.0, seed)), "age", 0.5, by="sex")
        low, high = (groups["F"] - groups["M"]).interval(0.9)
        held += low <= truth <= high
    assert held >= binom.ppf(FALSE_ALARMS, 60, 0.9)


def test_what_is_not_known_of_two_errors_is_said():
    one, other = replace(Estimate.normal(1.0, noise=1.0), remark="careful"), Estimate.normal(2.0, noise=1.0)
    assert (one - other).remark == f"careful; {APART}"
    assert ((one - other) - other).remark == f"careful; {APART}"
    known = simple(TABLE, 1.0, sets=TOGETHER)
    assert (mean(known, "age") - mean(known, "kids")).remark == ""


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda e: answer_estimate(e, [("age", "school")], gini, what="correlation", by="kids"),
            "correlation: age, school, kids were not measured together, so nothing says .* "
            "Measured together were age, sex, kids. Ask about all rows",
        ),
        (lambda e: gini(within(e, "school == 'some'"), "age"), "gini: age, school .* among such rows"),
        (lambda e: regression(within(e, "school == 'some'"), "age ~ sex"), "age: age, school were not measured"),
        (lambda e: regression(within(e, "kids > 1"), "age ~ school"), "age, school, kids were not .* sex, kids. Leave"),
        (lambda e: entropy(simple(TABLE, sets=[(0,)]), "sex"), "'sex' was not counted"),
        (lambda e: answer_estimate(e, [("age",)], gini, what="gini", by=[]), "different columns"),
        (lambda e: survival(e, "age", [], probability), "one or several times"),
    ],
)
def test_what_was_not_measured_together_is_refused(evidence, ask, message):
    with pytest.raises(ParameterError, match=message):
        ask(evidence)


def test_only_pairs(evidence):
    few = simple(TABLE, sets=[(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    with pytest.raises(ParameterError, match=f"Only single columns and pairs were. {ALONE}"):
        answer_estimate(few, [("age", "school")], gini, what="gini", by="sex")


CUT = [(0,), (4,), (0, 4), (1,), (0, 1)]


def ask(evidence, text, answer, *columns):
    return answer_estimate(evidence, [columns], answer, what="it", where=text)


@pytest.mark.parametrize("least", [20, 22, 28, 30, 31])
def test_a_condition_that_cuts_through_a_cell_puts_its_rows_in_doubt(least):
    """Cells of age are 18..25, 26..33 and so on; counts are almost exact, so that the doubt must hold the truth."""
    evidence = simple(TABLE, 1e-4, sets=CUT, cells=6)
    kept = TABLE.filter(pc.greater_equal(TABLE.column("age"), least))
    age, kids = (numbers(kept, name) for name in ("age", "kids"))
    found = ask(evidence, f"age >= {least}", lambda rows: correlation(rows, "age", "kids"), "age", "kids")
    low, high = found.interval()
    assert low <= np.corrcoef(age, kids)[0, 1] <= high
    assert REMARK in found.remark
    shares = np.bincount(kids.astype(int)) / len(kids)
    truth = -(shares[shares > 0] * np.log(shares[shares > 0])).sum()
    spread = ask(evidence, f"age >= {least}", lambda rows: entropy(rows, "kids"), "kids")
    edge = ask(evidence, "age >= 26", lambda rows: entropy(rows, "kids"), "kids")
    assert spread.interval()[0] <= truth <= spread.interval()[1]
    assert edge.parts.inside == 0.0 < spread.parts.inside < 0.5
    model = answer_model(
        evidence, [("age", "sex")], lambda rows: regression(rows, "age ~ sex"), what="it", where=f"age >= {least}"
    )["sex[M]"]
    men = np.array(kept.column("sex").to_pylist()) == "M"
    assert model.interval()[0] <= age[men].mean() - age[~men].mean() <= model.interval()[1]


def test_many_rows_in_doubt_are_refused():
    """Where no two cells side by side show how even rows are, all of a cell may be on one side of a cut."""
    evidence = simple(TABLE, 1e-4, sets=CUT, cells=2)
    with pytest.raises(ParameterError, match=r"cuts through age .*, one cell of what was counted of age, kids"):
        ask(evidence, "age >= 62", lambda rows: correlation(rows, "age", "kids"), "age", "kids")


def test_doubt_needs_to_know_where_an_error_comes_from():
    vague = Estimate.normal(0.5, noise=0.1, within=(0.0, 1.0), about="a share")
    with pytest.raises(ParameterError, match="a share: the condition cuts through a cell"):
        with_doubt(vague)
    whole = Estimate.normal(0.5, noise=10.0, within=(0.0, 1.0))
    assert with_doubt(whole) is whole


def test_a_round_whose_cells_are_cut_is_left_out():
    fine, coarse = exact_blocks(TABLE, sets=[(0,), (4,), (0, 4)]), exact_blocks(TABLE, sets=[(0, 4)], cells=6)
    evidence = evidence_of(noisy([*fine, *coarse], 1e-4, rounds=[0, 0, 0, 1]))
    assert len(evidence.marginals((0, 4))) == 2
    assert len(within(evidence, "age >= 30").marginals((0, 4))) == 1
    assert not within(evidence, "age >= 30").marginals((0, 4))[0].is_cut


def test_survival_by_group(evidence):
    groups = survival(evidence, "kids", [0, 2], probability, where="age >= 40", by="sex")
    assert list(groups) == [("F", "0"), ("F", "2"), ("M", "0"), ("M", "2")]
    assert groups.by == ("sex", "kids")
    kept = women().filter(pc.greater_equal(women().column("age"), 40))
    assert groups["F", "2"].value == pytest.approx((numbers(kept, "kids") > 2).mean(), abs=1e-3)
    assert groups["F", "2"].about == "share of rows beyond kids where age >= 40 for kids 2, F"
    known = survival(simple(TABLE, 1e-4), "hours", [20], probability)
    hours = numbers(TABLE, "hours")
    low, high = known["20"].interval()
    assert low <= (hours[~np.isnan(hours)] > 20).mean() <= high


def test_a_slope_on_a_scale_of_its_own_says_little():
    """On the scale of a correlation: a standard deviation of the response per one of the variable."""
    rows = pa.table({name: TABLE.column(name) for name in TABLE.column_names})
    weights = np.full(rows.num_rows, 1.0 / rows.num_rows)
    vague = evidence_of(noisy(BLOCKS, 60.0), rows=rows, weights=weights)
    wide = judge(vague, regression(vague, "age ~ kids + sex"))
    assert wide["kids"].says_little
    clear = evidence_of(noisy(BLOCKS, 0.1), rows=rows, weights=weights)
    good = judge(clear, regression(clear, "age ~ kids + sex"))
    assert not any(one.says_little for one in good.values())
    slope = judged_trend(clear, trend(clear, "kids", "age"), "kids", "age")
    assert slope.possible[1] == pytest.approx(np.std(numbers(TABLE, "kids")) / np.std(numbers(TABLE, "age")))
    assert judged_trend(simple(TABLE, sets=TOGETHER), slope, "kids", "age") is slope
    loose = judge(clear, generalised_regression(clear, "kids ~ age * sex", Family.POISSON), Family.POISSON.latent)
    assert all(math.isfinite(one.possible[1]) for one in loose.values())
