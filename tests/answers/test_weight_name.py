"""A table may have a column `weight` of its own: the weights of released rows then take another name, everywhere."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st
from typer.testing import CliRunner

import kernelease as ke
from kernelease.analysis.estimate import Target
from kernelease.answers.release import load, save
from kernelease.answers.replicates import Samples
from kernelease.bundle.container import sums_file
from kernelease.bundle.data_parquet import write_rows
from kernelease.bundle.verify import verify
from kernelease.cli import app
from kernelease.errors import BundleError
from kernelease.pipeline import weighting
from kernelease.table.domain import free_name

TEXT = """
[columns.weight]
type = "integer"
min = 40
max = 139

[columns.row_weight]
type = "category"
values = ["light", "heavy"]

[columns.ill]
type = "boolean"
"""
SCHEMA = ke.Schema.parse(TEXT)
NAME = "row_weight_2"
PRIVACY = ke.Privacy(epsilon=4.0, delta=1e-6)
METHOD = ke.Interactions(solver=ke.fit.MixtureSolver(components=20, steps=40))


def table(rows: int = 2_000) -> pa.Table:
    generator = np.random.default_rng(0)
    kilos = generator.integers(50, 100, rows)
    words = np.where(kilos < 75, "light", "heavy")
    return pa.table({"weight": kilos, "row_weight": words, "ill": generator.random(rows) < 0.3})


@pytest.fixture(scope="module")
def made() -> ke.Release:
    return ke.release(table(), schema=SCHEMA, privacy=PRIVACY, method=METHOD, noise=ke.SeededNoise(0))


@pytest.fixture(scope="module")
def weighted() -> ke.Release:
    """Public rows that are weighted: their weights are not all alike."""
    method = weighting(table(300), schema=SCHEMA)
    return ke.release(table(), schema=SCHEMA, privacy=PRIVACY, method=method, noise=ke.SeededNoise(0))


@given(columns=st.lists(st.sampled_from(["weight", "Weight", "row_weight", "ROW_WEIGHT_2", "row_weight_3", "age"])))
def test_the_name_is_free_and_the_first_that_is(columns: list[str]) -> None:
    name = free_name("weight", columns)
    taken = {column.lower() for column in columns}
    order = ["weight", "row_weight", "row_weight_2", "row_weight_3", "row_weight_4"]
    assert name == next(each for each in order if each not in taken)
    assert name == free_name("weight", [*columns, *columns[:1]])


def test_rows_keep_the_column_and_weights_come_last(made: ke.Release) -> None:
    assert made.measurements.domain.weight_name == NAME
    assert made.table.column_names == [*SCHEMA.order, NAME]
    assert made.rows.column_names == list(SCHEMA.order)
    assert made.weights.sum() == pytest.approx(1.0)
    assert set(made.rows.column("row_weight").to_pylist()) <= {"light", "heavy"}


@pytest.mark.parametrize("release", ["made", "weighted"])
def test_frames(release: str, request: pytest.FixtureRequest) -> None:
    given: ke.Release = request.getfixturevalue(release)
    frame = given.to_pandas()
    assert frame["weight"].tolist() == given.rows.column("weight").to_pylist()
    assert frame[NAME].tolist() == pytest.approx((given.weights * len(given)).tolist())
    assert list(given.to_pandas(weights=False).columns) == list(SCHEMA.order)
    if release == "made":  # columns were counted; weighted points know means of features alone
        assert list(given.describe()) == list(SCHEMA.names)
        assert repr(given.describe()["weight"]["mean"]) == repr(given.mean("weight"))
    mean = float(given.weights @ given.rows.column("weight").to_numpy()) / given.weights.sum()
    assert given["weight"].mean() == pytest.approx(mean)


def test_learning_and_samples_of_equal_weight(made: ke.Release) -> None:
    x, y, weights = made.forms.supervised("weight")
    assert x.shape[0] == len(y) == len(weights)
    assert weights.mean() == pytest.approx(1.0)
    assert made.sample(50).column_names == list(SCHEMA.order)
    assert made.forms.supervised("ill").feature_names[0] == "weight"


def test_estimates_are_about_the_column(made: ke.Release) -> None:
    truth = float(table().column("weight").to_numpy().mean())
    assert made.mean("weight", of="table").interval(0.999)[0] <= truth
    assert made.mean("weight", of="table").interval(0.999)[1] >= truth
    assert made.probability("weight >= 40").value == pytest.approx(1.0, abs=0.05)


def test_a_bundle_and_its_checks(weighted: ke.Release, tmp_path: Path) -> None:
    bundle = save(weighted, tmp_path / "out")
    assert all(finding.holds for finding in verify(bundle) if finding.check != "noise")
    again = load(bundle)
    assert again.table.equals(weighted.table)
    assert again.measurements.domain.weight_name == NAME
    fields = json.loads((bundle / "datapackage.json").read_text("utf-8"))["resources"][0]["schema"]["fields"]
    assert [field["name"] for field in fields] == [*SCHEMA.order, NAME]
    weights = duckdb.sql(f"SELECT sum({NAME}), avg(weight) FROM '{bundle / 'data.parquet'}'").fetchall()
    assert weights[0] == pytest.approx((1.0, float(weighted.rows.column("weight").to_numpy().mean())))


def test_weights_under_a_name_of_the_table_are_refused(weighted: ke.Release, tmp_path: Path) -> None:
    bundle = save(weighted, tmp_path / "out")
    rows = pq.read_table(bundle / "data.parquet")
    (bundle / "data.parquet").write_bytes(write_rows(rows.rename_columns([*SCHEMA.order, "row_weight_3"])))
    files = {file.name: file.read_bytes() for file in bundle.iterdir() if file.name != "SHA256SUMS"}
    (bundle / "SHA256SUMS").write_bytes(sums_file(files))
    with pytest.raises(BundleError, match=f"no column '{NAME}'"):
        load(bundle)


def test_replicates(made: ke.Release, weighted: ke.Release) -> None:
    samples, sets = weighted.forms.samples(2), made.forms.replicates(2)
    assert samples.weight_name == sets.weight_name == NAME
    assert all(each.column_names[-1] == NAME for each in (*samples, *sets))
    for survey, before in ((samples.replicate_weights(), []), (sets.survey(), ["fit"])):
        assert survey.column_names == [*SCHEMA.order, *before, NAME, "replicate_1", "replicate_2"]
        assert survey.column("replicate_2").to_numpy().sum() == pytest.approx(1.0)


def test_replicate_weights_take_names_that_are_free() -> None:
    rows = pa.table({"Replicate_7": ["a"], "row_replicate_2": ["b"], "weight": [1.0]})
    samples = Samples(rows=rows, weight_name="weight", replicates=(rows, rows), target=Target.TABLE)
    names = samples.replicate_weights().column_names
    assert names == [*rows.column_names, "row_replicate_2_1", "row_replicate_2_2"]


def test_a_synthesizer_keeps_the_column() -> None:
    frame = table().to_pandas()
    drawn = ke.Synthesizer(privacy=(4.0, 1e-6), schema=SCHEMA).fit(frame).sample(40)
    assert list(drawn.columns) == list(SCHEMA.order)
    assert drawn["weight"].between(40, 139).all()


def test_the_command_line_from_draft_to_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [f"{weight},{str(ill).lower()}" for weight, _, ill in zip(*table(600).to_pydict().values(), strict=True)]
    Path("people.csv").write_text("\n".join(["weight,ill", *lines, ""]), "utf-8")
    Path("book.csv").write_text("name,type,min,max\nweight,integer,40,139\nill,boolean,,\n", "utf-8")

    def run(*words: str) -> str:
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == 0, result.output
        return result.stdout

    run("schema", "draft", "people.csv", "--from-dictionary", "book.csv", "-o", "people.toml")
    text = Path("people.toml").read_text("utf-8")
    assert "[columns.weight]\n" in text
    assert "from =" not in text
    Path("people.toml").write_text(text.replace("nullable = true", "nullable = false"), "utf-8")
    run("schema", "check", "people.toml")
    run("check", "people.csv", "--schema", "people.toml", "--strict")
    run("plan", "--rows", "600", "--schema", "people.toml", "--epsilon", "4", "--delta", "1e-6")
    run("release", "people.csv", "--schema", "people.toml", "--epsilon", "4", "--delta", "1e-6", "--out", "bundle")
    assert "✓ rows" in run("verify", "bundle", "--refit")
    (answer,) = json.loads(run("query", "bundle", "mean(weight)", "--json"))["groups"]
    assert abs(answer["value"] - 75.0) < 10.0
    run("export", "bundle", "--weights", "--out", "rows.csv")
    assert Path("rows.csv").read_text("utf-8").splitlines()[0] == '"weight","ill","row_weight"'
    run("export", "bundle", "--out", "equal.csv")
    assert Path("equal.csv").read_text("utf-8").splitlines()[0] == '"weight","ill"'
    run("report", "bundle", "-o", "report.html")
    run("report", "bundle", "-o", "report-private.html", "--private", "people.csv")
    assert '"weight"' in Path("report.html").read_text("utf-8")
