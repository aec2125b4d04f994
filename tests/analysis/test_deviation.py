"""Standard deviations: right where there is no noise, covered where there is, by groups, for skew and NULL."""

import math

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.analysis.estimate import Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.ratio_estimator import number_of
from kernelease.analysis.spread import standard_deviation, variance
from kernelease.errors import ParameterError
from tests.analysis.test_moments import FEMALE, SCHEMA, TABLE, T

RUNS = 40


def _told(seed: int, epsilon: float = 1.0) -> ke.Measurements:
    return ke.measure(
        TABLE,
        schema=SCHEMA,
        privacy=ke.Privacy(epsilon=epsilon, delta=1e-6),
        seed=seed,
        noise=ke.SeededNoise(seed),
    )


@pytest.mark.parametrize("column", ["wage", "age", "hours"])
def test_hardly_any_noise_leaves_what_cells_leave_open(column: str) -> None:
    told = Evidence(schema=SCHEMA, measured=_told(1, 40.0).measured)
    estimate = standard_deviation(told, column)
    low, high = estimate.interval()
    assert low <= np.nanstd(T[column]) <= high
    assert float(estimate) == pytest.approx(np.nanstd(T[column]), rel=0.03)


@pytest.mark.statistical
def test_intervals_hold_the_truth() -> None:
    """95 % intervals of three columns in 40 releases; the binomial limit of 120 at 4 standard deviations."""
    held = 0
    for seed in range(RUNS):
        told = Evidence(schema=SCHEMA, measured=_told(seed).measured)
        for column in ("wage", "age", "hours"):
            low, high = standard_deviation(told, column).interval()
            held += low <= np.nanstd(T[column]) <= high
    assert held / (3 * RUNS) > 0.95 - 4.0 * math.sqrt(0.95 * 0.05 / (3 * RUNS))


def test_whether_it_says_something_does_not_hang_on_its_own_noise() -> None:
    """Its error is judged beside the spread of rows. Beside its own value, only values that are too large would do."""
    measured = _told(3).measured
    rows = {"rows": TABLE, "weights": np.full(TABLE.num_rows, 1.0)}
    known = variance(Evidence(schema=SCHEMA, measured=measured, **rows), "age")
    assert not known.vague
    assert not known.says_little
    narrow = TABLE.set_column(TABLE.column_names.index("age"), "age", pa.array(np.full(TABLE.num_rows, 30)))
    crowded = Evidence(schema=SCHEMA, measured=measured, rows=narrow, weights=rows["weights"])
    assert math.isfinite(variance(crowded, "age").scale)  # rows without spread are no scale
    nearly = np.full(TABLE.num_rows, 30)
    nearly[:2] = 31
    almost = TABLE.set_column(TABLE.column_names.index("age"), "age", pa.array(nearly))
    assert variance(Evidence(schema=SCHEMA, measured=measured, rows=almost, weights=rows["weights"]), "age").vague


@pytest.mark.slow
def test_groups_and_conditions() -> None:
    release = _told(2, 8.0).fit()
    groups = release.by("sex").standard_deviation("age")
    for label, chosen in (("F", FEMALE), ("M", ~FEMALE)):
        low, high = groups[label].interval(0.999)
        assert low <= T["age"][chosen].std() <= high
    one = release.where("sex == 'F'").standard_deviation("age")
    assert float(one) == pytest.approx(float(groups["F"]))
    assert one.about == "standard deviation of age where sex == 'F'"


def test_a_population_has_the_error_of_drawing_it() -> None:
    told = Evidence(schema=SCHEMA, measured=_told(3).measured, target=Target.POPULATION)
    age = T["age"]
    expected = math.sqrt((((age - age.mean()) ** 2 - age.var()) ** 2).mean() / len(age))
    assert variance(told, "age").parts.sampling == pytest.approx(expected, rel=0.2)


def test_a_category_has_none() -> None:
    with pytest.raises(ParameterError, match="standard deviation: column 'sex' is of type category"):
        standard_deviation(Evidence(schema=SCHEMA, measured=_told(3).measured), "sex")


def test_every_cell_of_a_continuum_counts_as_wide_as_it_is() -> None:
    """An end that a float can only come near to may be of the next cell: a cell is no narrower for it."""
    schema = ke.Schema.parse('[columns.x]\ntype = "number"\nmin = 0.1\nmax = 5.0\ncells = 256\n')
    rows = pa.table({"x": np.linspace(0.1, 5.0, 500)})
    told = ke.measure(rows, schema=schema, privacy=ke.Privacy(epsilon=1.0, delta=1e-6), noise=ke.SeededNoise(1))
    half = number_of(Evidence(schema=schema, measured=told.measured), schema.columns[0]).half
    np.testing.assert_allclose(half[half > 0.0], half.max(), rtol=1e-9)
