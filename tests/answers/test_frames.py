"""A release in other hands: frames, files, samples, learning, variables, replicates."""

import dataclasses
import sys
from types import SimpleNamespace

import numpy as np
import polars
import pyarrow as pa
import pytest
from scipy import stats

import kernelease as ke
from benchmarks.simulated import people
from kernelease.answers.frames import export_table

SCHEMA = ke.Schema.parse("""
    [columns.age]
    type = "integer"
    min = 18
    max = 81
    nullable = true

    [columns.ward]
    type = "category"
    values = ["north", "east", "south", "west"]

    [columns.smoker]
    type = "boolean"
""")
TABLE = people(np.random.default_rng(0), 2_000).select(["age", "ward", "smoker"])
METHOD = ke.Interactions(solver=ke.fit.MixtureSolver(components=40, steps=60))
PRIVACY = ke.Privacy(epsilon=2.0, delta=1e-6)


@pytest.fixture(scope="module")
def release():
    return ke.release(TABLE, schema=SCHEMA, privacy=PRIVACY, method=METHOD, noise=ke.SeededNoise(0))


@pytest.fixture(scope="module")
def points():
    return ke.release(
        np.random.default_rng(0).normal(size=(2_000, 2)),
        kernel=ke.kernels.Gaussian(lengthscale=1.0),
        method=ke.Subspace(points=ke.fit.NormalPoints(dimension=2, scale=1.5), count=60, constraint=ke.fit.Simplex()),
        privacy=PRIVACY,
        noise=ke.SeededNoise(0),
    )


# Frames and files.


def test_frames(release):
    assert release.table.column_names == ["age", "ward", "smoker", "weight"]
    assert release.rows.column_names == ["age", "ward", "smoker"]
    assert list(release.to_pandas().columns) == release.table.column_names
    assert polars.from_arrow(release.table).columns == release.table.column_names
    assert len(release.to_pandas(weights=False)) == release.table.num_rows


def test_moments_of_whole_seconds_have_no_zeros_behind_them(tmp_path):
    moments = pa.array([1_330_556_422_000_000, None], pa.timestamp("us"))
    table = pa.table({"at": moments, "fine": moments.cast(pa.int64()).cast(pa.timestamp("us"))})
    fine = pa.array([1_330_556_422_000_001, None], pa.timestamp("us"))
    written = export_table(table.set_column(1, "fine", fine), tmp_path / "rows.csv").read_text()
    assert written.splitlines()[1:] == ["2012-02-29 23:00:22,2012-02-29 23:00:22.000001", ","]


def test_csv(release, tmp_path):
    path = release.export(tmp_path / "rows.csv")
    assert path.read_text().splitlines()[0] == '"age","ward","smoker","weight"'
    with pytest.raises(ke.KerneleaseError, match="already exists"):
        release.export(path)
    with pytest.raises(ke.KerneleaseError, match="must end in"):
        release.export(tmp_path / "rows.xls")
    with pytest.raises(ke.KerneleaseError, match=r"its folder is missing\. Make it first"):
        release.export(tmp_path / "none" / "rows.csv")


@pytest.mark.parametrize("frame", [lambda one: one.to_pandas(), lambda one: one.describe().to_pandas()])
def test_frames_need_their_library(release, monkeypatch, frame):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ke.errors.ParameterError, match="needs pandas"):
        frame(release)


# Samples of equal weight.


@pytest.mark.slow
def test_sample_is_nearer_than_independent_rows(release):
    def error(table):
        return float(np.abs(shares(table) - shares(release.rows)).sum())

    def shares(table):
        return np.array(
            [np.mean(np.array(table.column("ward")) == ward) for ward in ("north", "east", "south", "west")]
        )

    generator = np.random.default_rng(0)
    thinned = np.mean([error(release.sample(100, seed=seed)) for seed in range(40)])
    drawn = np.mean([error(release.rows.take(pa.array(generator.integers(0, 2_000, 100)))) for _ in range(40)])
    assert thinned < 0.5 * drawn


def test_sample_of_points_and_of_all_rows(release, points):
    assert points.sample(500).num_rows == 500
    assert release.sample(release.table.num_rows).num_rows == release.table.num_rows
    assert release.sample(50, seed=1).equals(release.sample(50, seed=1))
    with pytest.raises(ke.errors.ParameterError, match="must be an integer from 1"):
        release.sample(0)


# Learning.


def test_supervised(release):
    supervised = release.forms.supervised("ward")
    x, y, weight = supervised
    assert x.shape == (release.table.num_rows, 3)
    assert supervised.feature_names == ("age", "age is NULL", "smoker")
    assert set(y) <= {"north", "east", "south", "west"}
    assert weight.mean() == pytest.approx(1.0)
    again, labels = supervised.transform(TABLE.slice(0, 5).to_pandas())
    assert again[:, 0].tolist() == TABLE.column("age").to_pylist()[:5]
    assert labels.tolist() == TABLE.column("ward").to_pylist()[:5]


def test_supervised_numbers_and_categories(release):
    supervised = release.forms.supervised("age")
    assert supervised.feature_names == ("ward = north", "ward = east", "ward = south", "ward = west", "smoker")
    assert supervised.y.dtype == np.float64
    assert np.all(supervised.X[:, :4].sum(axis=1) == 1.0)


def test_null_becomes_the_mean_and_a_flag(release):
    rows = pa.table({"age": [None, 20], "ward": ["north", "east"], "smoker": [True, False]})
    supervised = release.forms.supervised("ward")
    x, _ = supervised.transform(rows)
    assert x[0, :2] == pytest.approx([supervised.fills["age"], 1.0])
    assert x[1].tolist() == [20.0, 0.0, 0.0]


def test_supervised_refusals(release, points):
    with pytest.raises(ke.errors.ParameterError, match="Did you mean ward"):
        release.forms.supervised("wards")
    with pytest.raises(ke.errors.ParameterError, match="a table with a schema"):
        points.forms.supervised("x0")
    with pytest.raises(ke.errors.ParameterError, match="lack ward"):
        release.forms.supervised("age").transform(TABLE.select(["age", "smoker"]))
    signed = release.rows.append_column(
        release.measurements.domain.weight_name, pa.array(np.linspace(-1.0, 2.0, release.table.num_rows))
    )
    with pytest.raises(ke.errors.ParameterError, match="must not be negative"):
        dataclasses.replace(release, table=signed).forms.supervised("age")


def test_torch_only_if_it_is_there(release, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ke.errors.ParameterError, match="needs torch"):
        release.forms.supervised("ward").dataset()


def test_items_of_a_data_set(release, monkeypatch):
    """With a stand-in for torch, which is not installed with the tests."""
    stand_in = SimpleNamespace(as_tensor=lambda values, dtype=None: np.asarray(values, dtype), float32=np.float32)
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    supervised = release.forms.supervised("ward")
    dataset = supervised.dataset()
    x, y, weight = dataset[3]
    assert len(dataset) == release.table.num_rows
    assert x.tolist() == pytest.approx(supervised.X[3].tolist())
    assert sorted({"east", "north", "south", "west"})[y] == supervised.y[3]
    assert weight == pytest.approx(1.0)


def test_torch_data_set(release):
    torch = pytest.importorskip("torch")
    dataset = release.forms.supervised("ward").dataset()
    x, y, weight = next(iter(torch.utils.data.DataLoader(dataset, batch_size=8)))
    assert x.shape == (8, 3)
    assert y.shape == weight.shape == (8,)


# Random variables.


def test_columns_are_random_variables(release, points):
    age = release["age"].given(np.isfinite(release["age"]))
    values = np.array(release.table.column("age").cast(pa.float64()).to_numpy())
    assert age.mean() == pytest.approx(np.nanmean(values))
    assert (release["ward"] == "north").probability() == pytest.approx(0.4, abs=0.1)
    assert ((release["ward"] == "north") & release["smoker"]).probability() < 0.4
    assert points["x0", "x1"].mean() == pytest.approx(points.weights @ points.points)
    with pytest.raises(ke.errors.ParameterError, match="Did you mean ward"):
        _ = release["word"]


def test_the_same_release_opened_twice_is_one(release, tmp_path):
    release.save(tmp_path / "bundle")
    again = ke.load(tmp_path / "bundle")
    indicator = np.add(release["smoker"], 0.0) - np.add(again["smoker"], 0.0)
    assert indicator.variance() == pytest.approx(0.0, abs=1e-12)


def test_two_fits_of_one_measurement_do_not_mix(release):
    fewer = dataclasses.replace(release, table=release.table.slice(0, 100))
    with pytest.raises(ke.errors.ParameterError, match="depend on each other"):
        _ = release["smoker"] & fewer["smoker"]


def test_unbounded_weights_are_refused_and_can_be_refitted(points):
    wild = np.random.default_rng(0).normal(size=60) * 100.0
    wild += (1.0 - wild.sum()) / 60
    broken = dataclasses.replace(
        points, table=points.rows.append_column(points.measurements.domain.weight_name, pa.array(wild))
    )
    with pytest.raises(ke.errors.ParameterError, match="not bounded"):
        _ = broken["x0"]
    mended = broken.forms.bounded()
    assert mended.weights.min() >= 0.0
    assert mended["x0"].mean() == pytest.approx(points["x0"].mean(), abs=1e-3)
    assert np.abs(broken.forms.bounded(ke.fit.L1Ball(1.0)).weights).sum() <= 1.0 + 1e-9


def test_counts_need_no_refit(release):
    with pytest.raises(ke.errors.ParameterError, match="noisy embedding"):
        release.forms.bounded()


# Several data sets.


def test_replicate_weights_of_points(points):
    samples = points.forms.samples(20)
    table = samples.replicate_weights()
    assert table.num_rows == points.table.num_rows
    assert table.column_names[-1] == "replicate_20"
    mean = samples.estimate(lambda t: t.column(samples.weight_name).to_numpy() @ t.column("x0").to_numpy())
    # 1/√2000 = .022 by sampling alone; the noise is of the same order.
    assert 0.01 < mean.standard_error < 0.2
    low, high = mean.interval(0.95)
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, 20) * mean.standard_error)


def test_samples_refuse(points, release):
    with pytest.raises(ke.errors.ParameterError, match=r"release\.forms\.replicates"):
        release.forms.samples(2)
    with pytest.raises(ke.errors.ParameterError, match="at least 2"):
        points.forms.samples(1)
    with pytest.raises(ke.errors.ParameterError, match="3 finite values"):
        points.forms.samples(3).combine(1.0, [1.0])
    with pytest.raises(ke.errors.ParameterError, match="between 0 and 1"):
        points.forms.samples(2).combine(1.0, [1.0, 2.0]).interval(0.0)
    rows, method = np.eye(2)[[0, 1, 1]], ke.SmallDatabase(domain=np.eye(2), size=2)
    kernel = ke.kernels.Gaussian(lengthscale=1.0)
    selected = ke.release(rows, kernel=kernel, method=method, privacy=ke.Privacy(epsilon=1.0, delta=0.0))
    with pytest.raises(ke.errors.ParameterError, match="no noisy measurements"):
        selected.forms.samples(2)


TYPES = """
[columns.count]
type = "integer"
min = 0
max = 9
nullable = true
[columns.whole]
type = "integer"
min = 0
max = 9
[columns.day]
type = "date"
min = 2020-01-01
max = 2020-12-31
[columns.flag]
type = "boolean"
nullable = true
[columns.kind]
type = "category"
values = ["a", "b"]
other = true
[columns.size]
type = "ordinal"
values = ["small", "large"]
[columns.amount]
type = "number"
min = 0
max = 1
nullable = true
"""


@pytest.fixture(scope="module")
def typed():
    rows = pa.table(
        {
            "count": pa.array([1, None] * 100),
            "whole": [3] * 200,
            "day": ["2020-05-01"] * 200,
            "flag": pa.array([True, None] * 100),
            "kind": ["a", "z"] * 100,
            "size": ["small", "large"] * 100,
            "amount": pa.array([0.5, None] * 100),
        }
    )
    return ke.release(rows, schema=ke.Schema.parse(TYPES), privacy=(5.0, 1e-6))


@pytest.mark.slow
def test_pandas_has_the_declared_types(typed):
    frame = typed.to_pandas()
    kinds = {name: str(kind) for name, kind in frame.dtypes.items()}
    assert kinds.pop("day").startswith("datetime64")
    assert kinds == {
        "count": "Int64",
        "whole": "int64",
        "flag": "boolean",
        "kind": "category",
        "size": "category",
        "amount": "float64",
        "weight": "float64",
    }
    assert frame["size"].cat.ordered
    assert list(frame["kind"].cat.categories) == ["a", "b", "__other__"]


def test_weights_in_a_frame_have_mean_one(typed):
    """So that scikit-learn takes them as they are: its penalties weigh against their sum."""
    assert typed.to_pandas()["weight"].mean() == pytest.approx(1.0)
    assert typed.table["weight"].to_numpy().sum() == pytest.approx(1.0)


def test_a_frame_of_a_release_can_be_released_and_compared(typed):
    again = ke.release(typed.to_pandas(weights=False), schema=typed.schema, privacy=(1.0, 1e-6))
    assert again.schema == typed.schema
    assert typed.tests.mmd(typed.to_pandas(weights=False)).value < 0.2


def test_description_and_length(typed):
    about = typed.describe()
    assert len(typed) == typed.table.num_rows == 200
    assert list(about) == list(typed.schema.names)
    assert repr(about["amount"]["mean"]) == repr(typed.mean("amount"))
    assert about["amount"]["missing"].value == pytest.approx(typed.probability("amount is null").value)
    assert repr(about["day"]["median"]) == repr(typed.quantile("day", 0.5))
    assert about["size"]["most frequent"] in {"small", "large"}
    frame = about.to_pandas()
    assert list(frame.index) == list(typed.schema.names)
    assert (frame["mean low"].dropna() <= frame["mean high"].dropna()).all()
    assert str(about).count("\n") == len(typed.schema.names)
