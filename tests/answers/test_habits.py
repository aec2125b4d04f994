"""Habits of data frames: each name of pandas works with an interval, is public, needs rows, or is refused in words."""

import warnings
from pathlib import Path

import openpyxl
import pandas
import pyarrow as pa
import pytest

import kernelease as ke
from docs.make_habits import OWN, TARGET, page, table
from kernelease.analysis import Estimate, EstimateTable, Groups
from kernelease.answers import Questions
from kernelease.answers.frames import export_table
from kernelease.answers.habits import HABITS, MOVED
from kernelease.errors import ParameterError, UncertaintyWarning
from kernelease.sources.opening import open_source
from tests.cli.conftest import SCHEMA, people

CALLS = {
    "median": ("age",),
    "std": ("age",),
    "var": ("age",),
    "value_counts": ("sex",),
    "corr": ("age", "hours"),
    "groupby": ("sex",),
    "query": ("age > 30",),
    "hist": ("age",),
    "size": (),
}


@pytest.fixture(scope="module")
def release():
    return ke.release(people(), schema=ke.Schema.parse(SCHEMA), privacy=(3.0, 1e-6), noise=ke.SeededNoise(0), fast=True)


def test_the_document_lists_every_name():
    written = TARGET.read_text(encoding="utf-8")
    assert table() in written
    assert page(written) == written, "run: python -m docs.make_habits"
    issue = "columns shape head dtypes describe mean median std var quantile value_counts corr groupby query plot hist"
    assert set(issue.split()) <= {*OWN, *HABITS}


@pytest.mark.parametrize("name", [name for name, habit in HABITS.items() if habit.give is not None])
def test_names_that_work_have_intervals(release, name):
    asked = release.by("employed") if name == "size" else release  # of all rows, pandas' size is a number of cells
    answer = getattr(asked, name)(*CALLS[name])
    assert isinstance(answer, Estimate | Groups | Questions) or name == "hist"


def test_a_missing_label_is_a_key_error_too(release):
    groups = release.mean("age", by="sex")
    assert groups.get("mal") is None
    assert "male" in groups


def test_a_release_is_not_changed_as_a_frame_is(release):
    with pytest.raises(ParameterError, match=r"can't be changed.*to_pandas\(\)"):
        release["older"] = 1


def test_a_release_takes_no_attribute(release):
    for name in ("rows_of_mine", "table"):
        with pytest.raises(AttributeError, match=f"{name}: a release does not change"):
            setattr(release, name, 1)


def test_a_release_has_the_names_of_its_columns(release):
    assert list(release) == release.columns
    assert "age" in release
    assert "agee" not in release


def test_the_same_question_in_other_words(release):
    assert repr(release.groupby(by="sex").mean("age")) == repr(release.mean("age", by="sex"))
    assert repr(release.median("age")) == repr(release.quantile("age", 0.5))
    assert repr(release.groupby(["sex", "employed"]).std("age")) == repr(
        release.by("sex", "employed").standard_deviation("age")
    )
    assert repr(release.query("age > 30").mean("hours")) == repr(release.mean("hours", where="age > 30"))
    assert repr(release.corr("age", "hours")) == repr(release.correlation("age", "hours"))
    assert repr(release.groupby("sex").size()) == repr(release.count(by="sex"))


def test_what_is_public_is_shown(release):
    assert release.columns == list(release.schema.names)
    assert release.shape == (len(release), len(release.schema.names))
    assert list(release.dtypes.index) == release.columns
    assert release.size == release.shape[0] * release.shape[1]


def test_rows_to_look_at_come_without_a_warning(release):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(release.head().columns) == release.columns
        assert len(release.head(3)) == len(release.tail(3)) == 3


def test_every_name_of_a_data_frame_has_words(release):
    """Whatever pandas calls it: an answer, or what to write; never a guess at a name that is merely alike."""
    names = [name for name in dir(pandas.DataFrame) if not name.startswith("_")]
    for name in [name for name in names if not hasattr(release, name)]:
        with pytest.raises(AttributeError, match=f"^{name}: write "):
            getattr(release, name)


def test_one_column_as_pandas_takes_it_out(release):
    assert repr(release.groupby("sex")["age"].mean()) == repr(release.mean("age", by="sex"))
    assert repr(release.query("age > 30")["hours"].median()) == repr(release.quantile("hours", 0.5, where="age > 30"))
    assert repr(release.by("sex")["hours"].corr("age")) == repr(release.correlation("hours", "age", by="sex"))
    assert repr(release.ask["age"]).endswith("['age']")
    assert not hasattr(release.ask["age"], "_repr_html_")
    with pytest.raises(AttributeError, match="is no question about one column"):
        release.by("sex")["age"].probability("age > 3")


def test_lines_to_write_have_columns_of_the_release(release):
    with pytest.raises(AttributeError, match=r'pivot_table: write release\.by\("sex", "employed"\)\.mean\("age"\)'):
        release.pivot_table(index="sex")


@pytest.mark.parametrize("name", [name for name, habit in HABITS.items() if habit.give is None and habit.show is None])
def test_all_else_says_what_to_write(release, name):
    for asked in (release, release.by("sex")):
        with pytest.raises(AttributeError) as refusal:
            getattr(asked, name)
        assert str(refusal.value).startswith(f"{name}: write ")
        assert str(refusal.value).endswith(f": {HABITS[name].why}.")
        assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", MOVED)
def test_names_that_are_elsewhere_are_there(release, name):
    with pytest.raises(AttributeError, match=f"write {MOVED[name]}: it has another name"):
        getattr(release, name)
    place = release
    for part in MOVED[name].split(".")[1:]:
        place = getattr(place, part)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.meen("age"), "Did you mean mean"),
        (lambda r: r.by("sex").meen("age"), "Did you mean mean"),
        (lambda r: r.gini("age"), r"release\.ask\.gini"),
        (lambda r: r.hours, r"hours: is a column: write release\.mean\(\"hours\"\)"),
        (lambda r: r.hour, r"Did you mean release\[\"hours\"\]"),
        (lambda r: r.xyzzy, "has no 'xyzzy'. help"),
        (lambda r: ke.relese, "Did you mean"),
        (lambda r: r.by("sex").columns, "a group of rows has none"),
    ],
)
def test_no_attribute(release, ask, message):
    with pytest.raises(AttributeError, match=message):
        ask(release)


def test_probes_of_other_libraries_find_nothing(release):
    for name in ("__array__", "_ipython_display_", "__dataframe__", "_repr_png_"):
        assert not hasattr(release, name)
        assert not hasattr(release.ask, name)
    assert isinstance(release.crosstab("sex", "employed"), EstimateTable)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda r: r.mean(), r"mean: needs column: mean\(column\)\. release\.describe\(\) has a line"),
        (lambda r: r.mean(["age", "hours"]), "the name of one column, got list. One at a time"),
        (lambda r: r.mean("age", "hours"), "got 2 things without a name"),
        (lambda r: r.mean("age", bye="sex"), "Did you mean by"),
        (lambda r: r.ask.mean("age", by="sex"), r"release\.ask\.by\('sex'\)\.mean\(column\)"),
        (lambda r: r.mean("age", where=3), "where must be a condition in a text, .* got int"),
        (lambda r: r.regression(3), "formula must be a formula in a text"),
        (lambda r: r.by("sex")[["age", "hours"]], r"name one column, as \[\"age\"\], got list"),
        (lambda r: r.by("sex")["agee"], "Did you mean age"),
        (lambda r: r[r["age"]], r"release\.where\(\"age > 30\"\)"),
        (lambda r: r.corr(), "needs first, second"),
        (lambda r: r.quantile("age", [0.25, 0.5]), "share must be one number from 0 to 1.*One at a time"),
        (lambda r: r.quantile("age", "0.5"), "share must be one number from 0 to 1.*got str"),
        (lambda r: r.mean("age", by="sex")["mal"], r"There is no 'mal' by sex\. Did you mean male\? There are"),
        (lambda r: r.crosstab("sex", "employed")["mal", "true"], "Did you mean male"),
        (lambda r: r.regression("age ~ hours")["hour"], "Did you mean hours"),
        (lambda r: r.logistic("employed ~ sex", by="sex")["mal"], "Did you mean male"),
        (lambda r: r.describe()["agee"], "Did you mean age"),
        (lambda r: r.ask.expectation("age"), "function must be a function of a row.* got str"),
        (lambda r: r.mean("age") + "1", "combined with a number or an estimate, got str"),
        (lambda r: r.sample(1.5), "count must be an integer"),
        (lambda r: ke.plan(r.schema, privacy=(1, 1e-6)), r"plan: needs rows: plan\(schema, privacy, rows"),
        (lambda r: ke.plan(r.schema, privacy=(1, 1e-6), rows="many"), "rows must be an integer"),
        (lambda r: ke.release(r.rows, schema=r.schema, privacy=(1, 1e-6), seed="a"), "value must be an integer"),
        (lambda r: ke.load("a", "b"), r"load: got 2 things without a name, and needs load\(path, limits\)"),
        (lambda r: ke.LedgerFile.create("ledger"), r"create: needs cap"),
        (lambda r: ke.LedgerFile("ledger.db"), r"LedgerFile: LedgerFile.open\(path\) opens one"),
        (lambda r: ke.pool([1.0, 2.0]), r"pool: needs replicates: pool\(results, replicates"),
        (lambda r: ke.Privacy(1), r"needs names for its values: Privacy\(epsilon=…, delta=…\)"),
        (lambda r: ke.Privacy(epsilon="1", delta=1e-6), "must be numbers, got '1'"),
        (lambda r: ke.Privacy(eps=1, epsilon=1), "Did you mean epsilon"),
        (lambda r: ke.Synthesizer(bound={}), "Did you mean bounds"),
        (lambda r: ke.release(epsilon=1), r"privacy=\(1\.0, 1e-6\)"),
        (lambda r: ke.release(r.rows, data=r.rows, privacy=(1, 1e-6)), "got data twice"),
        (lambda r: ke.release(privacy=(1, 1e-6)), "needs the data first"),
        (lambda r: ke.release(r.rows), "needs privacy"),
        (lambda r: ke.release(r.rows, 3), "needs names for all else"),
        (lambda r: ke.release(r.rows, privacy=(1, 1e-6), schem=3), "Did you mean schema"),
        (lambda r: ke.measure(r.rows, privacy=(1, 1e-6), schema=r.schema, fast=True), "makes no rows"),
    ],
)
def test_calls_that_do_not_fit_are_refused_in_words(release, ask, message):
    with pytest.raises(ParameterError, match=message):
        ask(release)


def test_rows_say_what_they_are_good_for(release):
    for rows in (release.to_pandas, lambda: release.sample(10)):
        with pytest.warns(UncertaintyWarning, match="has no interval"):
            rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert release.table.num_rows
        assert len(release.dtypes) == len(release.columns)


@pytest.mark.parametrize(
    ("column", "rest"),
    [
        ("age", {}),
        ("sex", {"second": "employed"}),
        ("age", {"second": "hours"}),
        ("age", {"by": "sex"}),
        ("sex", {"by": "employed"}),
        ("employed ~ age + sex", {}),
        ("hours ~ age", {"where": "sex == 'male'"}),
    ],
)
def test_plots_draw_intervals(release, column, rest):
    chart = release.plot(column, **rest).to_json()
    assert '"low"' in chart
    assert '"high"' in chart


def test_workbooks_hold_the_rows(release, tmp_path):
    path = release.export(tmp_path / "rows.xlsx")
    names, *lines = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    assert list(names) == release.table.column_names
    assert [list(line) for line in lines] == [list(row.values()) for row in release.table.to_pylist()]
    assert open_source(path).names() == tuple(release.table.column_names)


def test_texts_of_a_workbook_are_texts(tmp_path):
    cells = ["=1+1", " a<b&c ", "a\x07b", None, "ümlaut"]
    path = export_table(pa.table({"a": cells}), tmp_path / "texts.xlsx")
    found = [line[0] for line in openpyxl.load_workbook(path).active.iter_rows(min_row=2, values_only=True)]
    assert found[:2] == ["=1+1", " a<b&c "]
    assert found[3:] == [None, "ümlaut"]
    book = openpyxl.load_workbook(path).active
    assert book["A2"].data_type == "s"  # no formula


@pytest.mark.parametrize(
    "address", ["https://example.org/a.csv?b=1", "HTTP://example.org/*.csv", "s3://bucket/a.parquet"]
)
def test_addresses_on_the_web_are_refused_in_words(address):
    with pytest.raises(ke.errors.SourceError, match="nothing is fetched from there"):
        ke.release(address, schema=ke.Schema.parse(SCHEMA), privacy=(1.0, 1e-6))
    with pytest.raises(ke.errors.SchemaError, match="nothing is fetched from there"):
        ke.release("a.csv", schema=Path(address), privacy=(1.0, 1e-6))
    with pytest.raises(ke.errors.BundleError, match="nothing is fetched from there"):
        ke.load(address)
