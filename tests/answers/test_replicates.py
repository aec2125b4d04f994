"""Replicates: weights that vary as a release is uncertain, and one answer out of the results on all of them."""

import math
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.answers import replicates
from kernelease.answers.reading import evidence_of
from kernelease.errors import ParameterError

SCHEMA = ke.Schema.parse(
    """
    [columns.age]
    type = "integer"
    min = 0
    max = 99
    [columns.smoker]
    type = "boolean"
    [columns.ward]
    type = "category"
    values = ["north", "south", "west"]
    [columns.paid]
    type = "number"
    min = 0.0
    max = 1000000.0
    """
)
ROWS = 2_000


def people(seed):
    generator = np.random.default_rng(seed)
    age = generator.integers(10, 90, ROWS)
    return pa.table(
        {
            "age": age,
            "smoker": generator.random(ROWS) < 0.1 + 0.005 * age,
            "ward": np.array(["north", "south", "west"])[generator.integers(0, 3, ROWS)],
            "paid": generator.exponential(1_000.0, ROWS),
        }
    )


def made(seed, **options):
    return ke.release(
        people(seed),
        schema=SCHEMA,
        privacy=(2.0, 1e-6),
        method=ke.Interactions(solver=ke.fit.MixtureSolver().rough(), **options),
        noise=ke.SeededNoise(seed),
    )


@pytest.fixture(scope="module")
def release():
    return made(0)


@pytest.fixture(scope="module")
def sets(release):
    return release.forms.replicates(10, of="table")


def weighted_mean(name):
    return lambda t: float(
        np.average(np.array(t.column(name).to_pylist(), dtype=float), weights=t["weight"].to_numpy())
    )


def test_data_sets_are_the_same_rows_with_weights_from_0_on(sets):
    assert len(sets) == 12
    assert sets[0].column_names == [*SCHEMA.names, "weight"]
    assert sets.weights.min() >= 0.0
    assert sets.weights.sum(axis=1) == pytest.approx(np.ones(12))
    assert 0.0 < sets.step <= 1.0


def test_a_share_is_that_of_the_best_estimate_and_as_uncertain(release, sets):
    """The update is the best linear guess, so that of a share with little noise it is the unbiased answer nearly.

    Noise is seeded; a prior of four times the noise pulls by little.
    """
    found, own = sets.estimate(weighted_mean("smoker")), release.mean("smoker")
    assert abs(float(found) - float(own)) < 1.0 * own.standard_error
    assert 0.3 < found.standard_error / own.standard_error < 2.0
    assert found.target is ke.analysis.Target.TABLE


def test_a_population_is_less_certain(release, sets):
    table, population = sets, release.forms.replicates(10)
    errors = [one.estimate(weighted_mean("age")).standard_error for one in (table, population)]
    sampled = np.std(people(0).column("age").to_numpy()) / math.sqrt(ROWS)
    assert errors[1] > 0.5 * sampled
    assert population.target is ke.analysis.Target.POPULATION


@pytest.fixture
def update(release, monkeypatch):
    """The rows that are reweighted, each once, and the equations, solved tightly."""
    monkeypatch.setattr(replicates, "FINE", 1)
    monkeypatch.setattr(replicates, "ACCURATE", 1e-10)
    few = SimpleNamespace(blocks=release.measurements.measured, schema=release.measurements.laid_domain.schema)
    support = replicates._Support.of(release, few, np.random.default_rng(0))
    return support, replicates._Update(support, few, evidence_of(release, ke.analysis.Target.TABLE))


def test_what_the_rows_of_a_cell_share():
    """A tilt leaves the rows of a cell as many, and moves their mean as far as is likely; a level makes them more."""
    numbers, cells = np.array([1.0, 3.0, 7.0, 7.0, math.nan]), np.array([0, 0, 1, 1, 1])
    weights, likely = np.array([1.0, 3.0, 2.0, 2.0, 5.0]), np.array([0.5, 0.5])
    tilt = replicates._tilt(numbers, cells, likely, weights).toarray()
    assert tilt[:, 0].sum() == pytest.approx(0.0)
    assert np.nansum(numbers * tilt[:, 0]) / 4.0 == pytest.approx(0.5 * math.sqrt(0.75))  # of a deviation of √(3/4)
    assert not tilt[:, 1].any()  # all rows of this cell have one value
    level = replicates._level(cells, np.array([8.0, 9.0]), weights).toarray()
    assert level.sum(axis=0) == pytest.approx([8.0, 9.0])
    assert level[:2, 0] == pytest.approx([2.0, 6.0])


def test_the_update_agrees_with_its_equations(update):
    """K = V Aᵀ (A V Aᵀ + I)⁻¹ from dense matrices, another way: (V⁻¹ + AᵀA)⁻¹ Aᵀ."""
    support, update = update
    dense = update._numbers(np.eye(len(support.weights)))
    missing = np.concatenate([one.values for one in update.parts]) - dense @ support.weights
    modes = update._modes.toarray()
    precision = np.linalg.inv(np.diag(update.variance) + modes @ modes.T) + dense.T @ dense
    (best,) = update.changes(ke.analysis.Target.TABLE, [])
    wanted = np.linalg.solve(precision, dense.T @ missing)
    assert np.abs(best - wanted).max() < 1e-5 * np.abs(wanted).max()


def test_results_of_other_tools(sets):
    values = np.arange(12.0)
    (one,) = {float(sets.pool(list(values)))}
    assert one == pytest.approx(0.0 + 1.0 / sets.step)
    frames = [{"a": value, "b": 2.0 * value} for value in values]
    pooled = ke.pool(frames, sets, about="slopes")
    assert float(pooled["b"]) == pytest.approx(2.0 * float(pooled["a"]))
    series = [SimpleNamespace(params=SimpleNamespace(to_dict=lambda own=own: own)) for own in frames]
    assert float(sets.pool(series)["a"]) == float(pooled["a"])
    learned = [SimpleNamespace(coef_=np.array([[v, 2 * v]]), intercept_=np.array([v])) for v in values]
    assert list(sets.pool(learned)) == ["intercept", "coefficient 0", "coefficient 1"]
    assert list(sets.pool([np.array([v, v]) for v in values])) == ["0", "1"]


def test_what_can_not_be_covered_is_refused(release, sets):
    with pytest.raises(ParameterError, match="12 results"):
        sets.pool([1.0])
    with pytest.raises(ParameterError, match="not finite"):
        sets.pool([math.nan] * 12)
    pairs = made(0, triples=0).forms.replicates(10, of="table")
    with pytest.raises(ParameterError, match="were not measured together"):
        pairs.pool([1.0] * 12, columns=SCHEMA.names)
    with pytest.raises(ParameterError, match="at least 2"):
        release.forms.replicates(1)


def test_vectors_have_samples():
    rows, method = np.eye(2)[[0, 1, 1]], ke.SmallDatabase(domain=np.eye(2), size=2)
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    points = ke.release(rows, kernel=kernel, method=method, privacy=ke.Privacy(epsilon=1.0, delta=0.0))
    with pytest.raises(ParameterError, match=r"release\.forms\.samples"):
        points.forms.replicates(2)


def test_a_result_that_never_moves_says_so(sets):
    same = sets.pool([1.0] * 12)
    assert same.says_little
    assert "no replicate differs" in same.remark


def test_half_of_what_a_step_changes_is_an_error(sets):
    """Rows can't follow every change, and one step is not the whole way."""
    far = sets.pool([0.0, *(sets.step + 1e-9 * np.arange(11.0))])
    assert float(far) == pytest.approx(1.0)
    assert far.standard_error == pytest.approx(0.5, rel=1e-3)


def test_results_that_move_from_row_to_row_are_the_mean_of_all(sets):
    """A step moves a median by a row or by none: replicates, some further and some less far, by as much on average."""
    place, grid = np.concatenate([[0.3, 0.5], 0.5 + 0.6 * np.random.default_rng(0).standard_normal(10)]), 1.0
    jumps = np.floor(place / grid) * grid
    median = sets.pool(list(jumps))
    assert float(median) == pytest.approx((jumps[2:].mean() - jumps[0]) / sets.step)
    noise = np.std(jumps[2:], ddof=1) * math.sqrt(1.1)
    by_hand = math.hypot(noise, 0.5 * jumps[2:].mean()) / sets.step
    assert median.standard_error == pytest.approx(by_hand)


def test_gaps_between_rows_are_as_those_around_them():
    """In the same order and the same cells; equal numbers, of which there are spikes and grids, stay."""
    schema = ke.Schema.parse('[columns.x]\ntype = "number"\nmin = 0.0\nmax = 10.0\ncells = 4')
    x = np.random.default_rng(0).uniform(0.0, 10.0, 2_000)
    x[x > 7.5] = 8.0 + (np.arange(len(x[x > 7.5])) % 2)
    rows = pa.table({"x": x})
    codes = schema.columns[0].encode(rows.column("x"))
    spaced = replicates._space_evenly(schema, rows, {0: codes}).column("x").to_numpy()
    assert (schema.columns[0].encode(pa.chunked_array([spaced])) == codes).all()
    assert (spaced[x > 7.5] == x[x > 7.5]).all()
    low = x <= 5.0
    assert (np.argsort(x[low]) == np.argsort(spaced[low])).all()
    before, after = (np.diff(np.sort(one[low])) for one in (x, spaced))
    assert after.std() < 0.5 * before.std()
    assert np.abs(spaced - x).max() < 0.1


def test_cells_with_few_rows_get_more_of_next_to_no_weight(release, update):
    support, _ = update
    added = support.weights[release.rows.num_rows :]
    assert len(added) > 0
    assert added.sum() < 0.01 * ROWS
    assert support.weights.sum() == pytest.approx(ROWS)


def test_survey_software_has_a_column_for_each(sets):
    table = sets.survey()
    assert table.column_names[4:7] == ["fit", "weight", "replicate_1"]
    values = np.array([float(np.average(table["age"].to_numpy(), weights=w)) for w in sets.weights])
    noise = math.sqrt(float(np.sum((values[2:] - values[1]) ** 2)) / (10 * sets.step**2))
    by_hand = math.hypot(noise, 0.5 * (values[1] - values[0]) / sets.step)
    assert sets.estimate(weighted_mean("age")).standard_error == pytest.approx(by_hand)


def test_rows_are_read_as_blocks_measure_them(update):
    """Counts, and counts without their means, of the synthetic rows: as each block would make them of a table."""
    support, update = update
    read = np.split(update._numbers(np.ones(len(support.codes))), update._ends[1:-1])
    kinds = set()
    for part, numbers in zip(update.parts, read, strict=True):
        block = part.noisy.block
        if block.ramp_count:
            continue
        cells = [groups[support.codes[:, at]] for at, groups in zip(block.columns, block.groups, strict=True)]
        table = np.zeros(block.grid, dtype=np.int64)
        np.add.at(table, tuple(cells), 1)
        exact = np.asarray(block.exact(table), dtype=np.float64).reshape(block.shape) / block.whole
        assert part.noisy.sigma * numbers == pytest.approx(block.values(exact).ravel(), abs=1e-8)
        kinds.add(type(block).__name__)
    assert {"Counts", "Contrasts"} <= kinds
