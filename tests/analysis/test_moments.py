"""Means, correlations and regressions of numbers in wide cells: unbiased, with intervals as narrow as the noise."""

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.analysis.averages import expectation, mean
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups
from kernelease.analysis.inside import unevenness
from kernelease.analysis.quantile import quantile
from kernelease.analysis.regression import regression
from kernelease.analysis.representatives import CLOSE, EVEN, representatives
from kernelease.analysis.spread import correlation
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.numbers import Number

ROWS, REPEATS = 4_000, 40
SCHEMA = ke.Schema.parse(
    """
    [columns.wage]
    type = "number"
    min = 0.0
    max = 400.0
    cells = 24
    [columns.age]
    type = "integer"
    min = 18
    max = 89
    [columns.hours]
    type = "number"
    min = 0.0
    max = 80.0
    cells = 12
    nullable = true
    [columns.sex]
    type = "category"
    values = ["F", "M"]
    """
)


def people(rows: int) -> pa.Table:
    """A skewed number, an ordinary one, one with many zeros and NULLs, and two groups."""
    generator = np.random.default_rng(0)
    sex = np.where(generator.random(rows) < 0.5, "F", "M")
    age = np.clip(generator.normal(45.0, 15.0, rows), 18, 89).astype(np.int64)
    wage = np.clip(np.exp(generator.normal(3.0 + 0.01 * (age - 45) + 0.3 * (sex == "M"), 0.7)), 0.0, 400.0)
    hours = np.where(generator.random(rows) < 0.3, 0.0, generator.normal(30.0 + 0.2 * (age - 45), 9.0))
    missing = generator.random(rows) < 0.1
    return pa.table({"wage": wage, "age": age, "hours": pa.array(np.clip(hours, 0, 80), mask=missing), "sex": sex})


TABLE = people(ROWS)
T = {name: np.asarray(TABLE.column(name).to_pandas()) for name in SCHEMA.names}
KNOWN = ~np.isnan(T["hours"])
FEMALE = T["sex"] == "F"


def evidence(seed: int, epsilon: float, target: Target = Target.TABLE) -> Evidence:
    measured = ke.measure(
        TABLE,
        schema=SCHEMA,
        privacy=ke.Privacy(epsilon=epsilon, delta=1e-6),
        method=ke.Interactions(triples=0),
        seed=seed,
        noise=ke.SeededNoise(seed),
    ).measured
    return Evidence(schema=SCHEMA, measured=measured, target=target)


def slopes() -> np.ndarray:
    design = np.stack([np.ones(ROWS), T["age"], T["sex"] == "M"], axis=1).astype(float)[KNOWN]
    return np.linalg.lstsq(design, T["hours"][KNOWN], rcond=None)[0]


def answers(told: Evidence) -> dict[str, Estimate]:
    groups = mean(told, "hours", by="sex")
    assert isinstance(groups, Groups)
    fitted = regression(told, "hours ~ age + sex")
    plain = {
        "wage": mean(told, "wage"),
        "hours": mean(told, "hours"),
        "wage of F": mean(told, "wage", where="sex == 'F'"),
    }
    return {
        **{name: one for name, one in plain.items() if isinstance(one, Estimate)},
        "hours of M": groups["M"],
        "correlation": correlation(told, "age", "hours"),
        "slope": fitted["age"],
        "effect": fitted["sex[M]"],
    }


TRUTHS = {
    "wage": T["wage"].mean(),
    "hours": T["hours"][KNOWN].mean(),
    "wage of F": T["wage"][FEMALE].mean(),
    "hours of M": T["hours"][KNOWN & ~FEMALE].mean(),
    "correlation": np.corrcoef(T["age"][KNOWN], T["hours"][KNOWN])[0, 1],
    "slope": slopes()[1],
    "effect": slopes()[2],
}


def test_without_noise_to_speak_of_nothing_is_left_of_a_cells_width() -> None:
    """Cells of wage are 18 wide, of hours 8: half of them is far more than the answers are off."""
    for name, estimate in answers(evidence(0, 900.0)).items():
        low, high = estimate.interval()
        assert low <= TRUTHS[name] <= high, name
        if name == "effect":  # where there are no hours, in a tenth of rows, age and sex may go together in any way
            assert estimate.margin() <= 0.6
            continue
        assert float(estimate) == pytest.approx(TRUTHS[name], rel=0.02, abs=0.05), name
        assert estimate.margin() <= 0.1 * abs(TRUTHS[name]) + 0.05, name


@pytest.mark.statistical
def test_intervals_hold_as_often_as_they_say_and_are_as_wide_as_the_errors() -> None:
    """Of 40 releases at least 33 must hold: fewer have a chance of 7e-4 a question where 95 % do. Seeds are fixed."""
    found = [answers(evidence(seed, 2.0)) for seed in range(REPEATS)]
    for name, truth in TRUTHS.items():
        errors = np.array([float(one[name]) - truth for one in found])
        held = sum(low <= truth <= high for low, high in (one[name].interval() for one in found))
        width = float(np.median([one[name].margin() for one in found])) / (1.96 * math.sqrt(float(np.mean(errors**2))))
        assert held >= 33, name
        assert 0.6 < width < 1.7, name  # of 40 errors: a root mean square is known to 11 %
        assert abs(errors.mean()) < 4.5 * errors.std() / math.sqrt(REPEATS), name


@pytest.mark.slow
def test_wide_cells_are_left_out_where_noise_is_large() -> None:
    """Of sums over all cells of wage beside sex; what they leave out, the interval of a group's mean holds."""
    wage, told = SCHEMA.columns[0], []
    for epsilon in (1.0, 900.0):
        moments = evidence(0, epsilon).moments
        assert moments is not None
        assert isinstance(wage, Celled)
        found = moments.beside(0, wage, 3)
        assert found is not None
        told.append(found[1])
    assert not told[0].told_cells.all()
    assert told[0].half[~told[0].told_cells].min() > told[0].widest
    assert np.mean(told[1].told_cells) > np.mean(told[0].told_cells)
    groups = [mean(evidence(seed, 1.0), "wage", where="sex == 'F'") for seed in range(4)]
    inside = [group.parts.inside for group in groups if isinstance(group, Estimate)]
    assert max(inside) > 0.05  # 0 where noisy counts find nobody in the wide cells


def test_a_difference_has_the_noise_of_both_means() -> None:
    """The groups share no row and hardly any noisy number: their variances add up, those of offsets among them."""
    groups = mean(evidence(0, 2.0), "wage", by="sex")
    assert isinstance(groups, Groups)
    difference = groups["M"] - groups["F"]
    together = math.hypot(groups["M"].parts.noise, groups["F"].parts.noise)
    assert difference.parts.noise == pytest.approx(together, rel=0.35)
    assert difference.margin() >= difference.parts.noise


def test_noise_in_an_empty_tail_is_no_sampling_error() -> None:
    """Of one release it may be off by half; its mean over eight, whose standard deviation is a tenth, is not."""
    told = [mean(evidence(seed, 2.0, Target.POPULATION), "wage") for seed in range(8)]
    sampling = [noisy.parts.sampling for noisy in told if isinstance(noisy, Estimate)]
    assert len(sampling) == 8
    assert np.mean(sampling) == pytest.approx(T["wage"].std() / math.sqrt(ROWS), rel=0.4)


def test_a_population_adds_the_errors_of_sampling() -> None:
    table, population = (mean(evidence(0, 900.0, target), "wage") for target in (Target.TABLE, Target.POPULATION))
    assert isinstance(table, Estimate)
    assert isinstance(population, Estimate)
    assert table.parts.sampling == 0.0
    assert population.parts.sampling == pytest.approx(T["wage"].std() / math.sqrt(ROWS), rel=0.2)


def test_the_effect_is_as_sharp_as_the_others_where_the_missing_rows_are_known() -> None:
    """With sets of three, age and sex are counted beside hours."""
    measured = ke.measure(
        TABLE.select(["age", "hours", "sex"]),
        schema=ke.Schema([SCHEMA.column(name) for name in ("age", "hours", "sex")]),
        privacy=ke.Privacy(epsilon=900.0, delta=1e-6),
        method=ke.Interactions(triples=1),
        seed=0,
        noise=ke.SeededNoise(0),
    )
    told = Evidence(
        schema=ke.Schema([SCHEMA.column(name) for name in ("age", "hours", "sex")]), measured=measured.measured
    )
    effect = regression(told, "hours ~ age + sex")["sex[M]"]
    assert effect.margin() <= 0.1 * abs(TRUTHS["effect"]) + 0.05
    assert abs(float(effect) - TRUTHS["effect"]) <= effect.margin()


@pytest.mark.slow
def test_without_moments_the_gap_is_back() -> None:
    told = evidence(0, 900.0)
    bare = dataclasses.replace(told, measured=dataclasses.replace(told.measured, moments=()))
    for name in ("hours of M", "slope"):
        assert answers(bare)[name].margin() > 2.0 * answers(told)[name].margin(), name


UNEVEN = ke.Schema.parse(
    """
    [columns.x]
    type = "number"
    min = 0.0
    max = 100.0
    cells = 8
    [columns.y]
    type = "boolean"
    """
)


def unevenness_of(numbers):
    """ω of each cell that holds more than one value, by measurements with little noise, which is seeded."""
    rows = pa.table({"x": numbers, "y": np.arange(len(numbers)) % 2 == 0})
    found = ke.measure(rows, schema=UNEVEN, privacy=(50.0, 1e-6), noise=ke.SeededNoise(0))
    shares = np.full(len(numbers), 1.0 / len(numbers))
    laid, target = found.laid_domain.schema, Target.TABLE
    evidence = Evidence(schema=laid, measured=found.measured, rows=rows, weights=shares, target=target)
    own = unevenness(evidence, max(evidence.marginals((0,)), key=lambda one: one.size)).own
    return own[own > 0.0]


def test_offsets_show_that_rows_of_a_cell_lie_at_one_end():
    """Counts of cells are alike, so that splits of neighbours say nothing; sums of offsets do."""
    even = np.random.default_rng(0).uniform(0.0, 100.0, 4_000)
    assert unevenness_of(even).max() < 0.05
    assert unevenness_of(np.floor(even / 12.5) * 12.5 + 12.4).min() > 0.1


def test_offsets_that_are_noise_show_nothing():
    """Some are beyond two standard errors, which are more than the rows of a cell can be off: no cell but outermost."""
    schema = ke.Schema.parse("".join(f'[columns.{name}]\ntype = "number"\nmin = 0.0\nmax = 100.0\n' for name in "xyz"))
    for seed in range(3):
        rows = pa.table(dict(zip("xyz", np.random.default_rng(seed).uniform(0.0, 100.0, (3, 5_000)), strict=True)))
        found = ke.measure(rows, schema=schema, privacy=(1.0, 1e-6), noise=ke.SeededNoise(seed))
        evidence = Evidence(schema=found.laid_domain.schema, measured=found.measured)
        assert evidence.moments is not None
        own = unevenness(evidence, max(evidence.marginals((0,)), key=lambda one: one.size)).own
        assert np.count_nonzero(own == 1.0) <= 2


def measured_alone(numbers, seed, epsilon):
    """What counts without offsets say of one column of numbers, 0 to 100 in 8 cells; noise is seeded."""
    rows = pa.table({"x": numbers, "y": np.arange(len(numbers)) % 2 == 0})
    found = ke.measure(rows, schema=UNEVEN, privacy=(epsilon, 1e-6), noise=ke.SeededNoise(seed))
    return Evidence(schema=found.laid_domain.schema, measured=dataclasses.replace(found.measured, moments=()))


def logarithm(columns):
    return np.log1p(columns["x"])


def test_the_average_of_a_steep_function_over_a_cell_is_that_of_even_values():
    """Five values of a cell from 0 on have a mean logarithm that is a tenth off, as 0 is an eighth of them."""
    column = Number(name="x", min=0.0, max=1e6, cells=1)
    exact, found = 1.000001 * math.log(1e6 + 1.0) - 1.0, []
    for places in (EVEN, CLOSE):
        points = representatives(column, (), places)
        found.append(np.average(np.log1p(points.values.to_numpy()), weights=points.weights))
    assert found[0] < 0.95 * exact
    assert found[1] == pytest.approx(exact, rel=0.002)


def test_rows_may_begin_anywhere_in_the_first_cell():
    """All of them do in its upper half, and as many as in other cells: no split of neighbours shows it.

    Of 30 tables all but 7 must hold: more are missed once in a million where 95 % hold. Seeds are fixed.
    """
    held = 0
    for seed in range(30):
        numbers = np.random.default_rng(seed).uniform(0.0, 100.0, 4_000)
        numbers = np.where(numbers < 12.5, 6.25 + 0.5 * numbers, numbers)
        told = measured_alone(numbers, seed, 4.0)
        low, high = expectation(told, logarithm).interval()
        held += low <= np.log1p(numbers).mean() <= high
    assert held >= 23
    own = unevenness(told, told.marginals((0,))[0]).own
    assert own.max() == 1.0 > 10.0 * np.median(own)


def test_a_quantile_is_in_no_cell_that_ends_below_it():
    """An eighth less than a tenth of the rows are in the first cell, a sixth of the range, however they lie there."""
    low, high = (np.random.default_rng(0).uniform(*ends) for ends in ((0.0, 16.6, 350), (16.7, 100.0, 3_650)))
    found = quantile(measured_alone(np.append(low, high), 0, 900.0), "x", 0.1).interval()
    assert 16.6 < found[0] <= np.quantile(np.append(low, high), 0.1) <= found[1]
