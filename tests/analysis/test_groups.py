"""Estimates by group: by several columns, as data frames and charts; quantiles of groups and of dates."""

import datetime
import sys

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

from kernelease.analysis.averages import count, crosstab, mean, probability
from kernelease.analysis.estimate import Calendar, Estimate
from kernelease.analysis.groups import MOST_GROUPS
from kernelease.analysis.quantile import quantile
from kernelease.errors import CapacityError, ParameterError
from kernelease.table import Schema
from tests.analysis.tables import SCHEMA, evidence_of, exact_blocks, noisy_blocks, people, simple


@pytest.fixture(scope="module")
def evidence():
    return simple(people(2000))


def test_by_several_columns(evidence):
    groups = probability(evidence, "kids >= 1", by=["sex", "school"])
    assert groups.by == ("sex", "school")
    assert list(groups)[:2] == [("F", "none"), ("F", "some")]
    assert len(groups) == 6
    assert "F, none" in str(groups)
    assert "<th>sex</th><th>school</th>" in groups._repr_html_()


def test_groups_of_counts_add_up():
    evidence = simple(people(2000), sets=[(0,), (1,), (2,), (1, 2)])
    groups = list(count(evidence, by=["sex", "school"]).values())
    total = groups[0]
    for group in groups[1:]:
        total = total + group
    assert total.value == pytest.approx(2000)
    assert total.standard_error == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("by", [[], ["sex", "sex"]])
def test_groups_need_different_columns(evidence, by):
    with pytest.raises(ParameterError, match="different columns"):
        mean(evidence, "age", by=by)


def test_too_many_groups_are_refused(evidence):
    with pytest.raises(CapacityError, match=f"more than {MOST_GROUPS:,}"):
        mean(evidence, "age", by=["hours", "kids", "sex", "age"])


def test_groups_as_a_data_frame(evidence):
    frame = mean(evidence, "age", by=["sex", "school"]).to_pandas()
    assert list(frame.columns) == ["sex", "school", "value", "low", "high", "standard_error", "says_little"]
    assert (frame.low <= frame.value).all()
    table = crosstab(evidence, "sex", "school")
    assert len(table.to_pandas(0.9)) == 6
    assert table.to_pandas().value.sum() == pytest.approx(1.0)


def test_charts_have_error_bars(evidence):
    chart = mean(evidence, "age", by="school").plot().to_dict()
    assert [layer["mark"]["type"] for layer in chart["layer"]] == ["rule", "point"]
    assert [line["group"] for line in chart["data"]["values"]] == ["none", "some", "much"]
    assert chart["layer"][0]["encoding"]["y2"]["field"] == "high"
    cells = crosstab(evidence, "sex", "school").plot().to_dict()
    assert "color" in cells["layer"][0]["encoding"]


def test_without_pandas_a_sentence_says_so(evidence, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ParameterError, match="Install pandas"):
        mean(evidence, "age", by="sex").to_pandas()


@pytest.mark.slow
def test_quantiles_of_groups_and_conditions_hold():
    """60 tables: fails where 95 % intervals hold less often, wrongly at most once in 10,000 times."""
    table, generator, repeats = people(3000), np.random.default_rng(2), 60
    rows = table.to_pandas()
    truths = {
        "by": np.quantile(rows[rows.sex == "M"].kids, 0.5, method="inverted_cdf"),
        "where": np.quantile(rows[(rows.school == "some")].age, 0.7, method="inverted_cdf"),
        "cut": np.quantile(rows[(rows.hours > 31.7)].kids, 0.6, method="inverted_cdf"),
    }
    hits = dict.fromkeys(truths, 0)
    exact = exact_blocks(table)
    for _ in range(repeats):
        evidence = evidence_of(noisy_blocks(exact, 3000, 8.0, generator))
        found = {
            "by": quantile(evidence, "kids", 0.5, by="sex")["M"],
            "where": quantile(evidence, "age", 0.7, where="school == 'some'"),
            "cut": quantile(evidence, "kids", 0.6, where="hours > 31.7"),
        }
        for name, estimate in found.items():
            low, high = estimate.interval()
            hits[name] += low <= truths[name] <= high
            assert high - low < 40.0
    assert min(hits.values()) >= binom.ppf(1e-4, repeats, 0.95)


def test_a_quantile_of_what_was_not_measured_together_says_so():
    table = people(500)
    evidence = simple(table, sets=[(i,) for i in range(len(SCHEMA))])
    found = quantile(evidence, "age", 0.5, where="sex == 'F'")
    assert found.says_little
    assert "not measured together" in found.remark
    seen = evidence_of(evidence.measured, rows=table, weights=np.full(500, 1 / 500))
    assert 30.0 < quantile(seen, "age", 0.5, where="sex == 'F'").value < 50.0


def test_quantiles_of_dates_are_dates():
    schema = Schema.parse('[columns.day]\ntype = "date"\nmin = 2020-01-01\nmax = 2020-12-31')
    days = np.datetime64("2020-01-01") + np.arange(366).repeat(5).astype("timedelta64[D]")
    found = quantile(simple(pa.table({"day": days}), 1.0, schema=schema), "day", 0.5)
    assert found.calendar is Calendar.DATE
    assert str(found).startswith("2020-0")
    assert abs((found.calendar.moment(found.value) - datetime.date(2020, 7, 1)).days) < 10
    assert "95 % interval: 2020-" in found.summary()
    assert Calendar.DATE.text_of(np.inf) == "no limit"


def test_an_estimate_says_why_it_says_little():
    assert (
        Estimate.normal(0.5, noise=0.01, bias=0.5, within=(0.0, 1.0)).why
        == "too little was measured, even without noise"
    )
    assert Estimate.normal(0.5, noise=0.5, within=(0.0, 1.0)).why == "the noise hides it"
