"""Two releases side by side: differences with intervals, and what is said of them."""

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest
from typer.testing import CliRunner

from kernelease import Privacy, Schema
from kernelease.answers.release import save
from kernelease.cli import app
from kernelease.cli.work.summary import SCHEMA, generated_table
from kernelease.errors import BundleError, ParameterError
from kernelease.pipeline import measure
from kernelease.report.comparison import comparison_record
from kernelease.report.page import report_bundle
from tests.report import releases
from tests.report.browser import Reader


@pytest.fixture(scope="module")
def years():
    return releases.years()


def test_what_differs_is_said_to_differ_and_nothing_else(years) -> None:
    """A fifth of those in work has lost it. A wrong mark comes in fewer than 5 % of all pages: here noise is fixed
    by no seed, so that only the true difference is required, and that at most one other column is marked."""
    record = comparison_record(*years)
    moved = {column["name"] for column in record["columns"] if any(value["moved"] for value in column["values"])}
    assert "employed" in moved
    assert len(moved) <= 2
    assert record["comparisons"] == sum(len(column["values"]) for column in record["columns"])
    assert not record["same_noise"]


def test_differences_are_near_the_truth(years) -> None:
    """Five standard errors: missed in fewer than one of a million cases."""
    table = generated_table(4_000)
    school = pc.sum(pc.equal(table["education"], "school")).as_py() / 4_000
    record = comparison_record(*years)
    (education,) = [column for column in record["columns"] if column["name"] == "education"]
    for value in education["values"]:
        difference, low, high = value["difference"]
        assert abs(difference) <= 5.0 * (high - low) / 3.92
    share, low, high = education["values"][0]["first"]
    assert abs(share - school) <= 5.0 * (high - low) / 3.92


def test_two_fits_of_one_measurement_are_no_comparison(years) -> None:
    record = comparison_record(years[0], years[0].measurements.fit(seed=5))
    assert record["same_noise"]
    assert all(abs(value["difference"][0]) < 1e-9 for column in record["columns"] for value in column["values"])


def test_columns_that_are_declared_otherwise_are_named(years) -> None:
    changed = SCHEMA.replace('"female", "male"', '"female", "male", "other"').replace("cells = 40", "cells = 8")
    schema = Schema.parse(changed)
    other = measure(generated_table(500), schema=schema, privacy=Privacy(epsilon=2.0, delta=1e-6), seed=0).fit()
    record = comparison_record(years[0], other)
    assert record["only"] == ["moved", "sex"]
    assert {column["name"] for column in record["columns"]} == {"age", "education", "hours", "employed"}


def test_numbers_whose_cells_were_laid_otherwise_are_compared_by_ranges() -> None:
    """Both declare the cost alike; what was seen in each laid other cells. In the second table costs are doubled."""
    first, second = releases.tails(), releases.tails(60.0)
    laid = [one.measurements.laid_domain.schema.column("cost").labels() for one in (first, second)]
    assert laid[0] != laid[1]
    record = comparison_record(first, second)
    assert record["only"] == []
    (cost,) = [column for column in record["columns"] if column["name"] == "cost"]
    assert len(cost["values"]) >= 5
    assert all(value["label"] for value in cost["values"])
    assert any(value["moved"] for value in cost["values"])
    for value in cost["values"]:  # the interval of the difference holds the difference of the values
        difference, low, high = value["difference"]
        assert low <= difference <= high
        assert difference == pytest.approx(value["first"][0] - value["second"][0], abs=1e-6)
    assert sum(value["first"][0] for value in cost["values"]) == pytest.approx(1.0, abs=0.05)
    assert record["comparisons"] == sum(len(column["values"]) for column in record["columns"])


def test_vectors_are_not_compared(years) -> None:
    with pytest.raises(ParameterError, match="counts of their columns"):
        comparison_record(years[0], releases.vectors())


def test_the_command_compares_two_bundles(years, tmp_path: Path) -> None:
    first, second = (save(release, tmp_path / name) for release, name in zip(years, ("a", "b"), strict=True))
    words = ["report", str(first), "--compare", str(second), "-o", str(tmp_path / "page.html"), "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["holds"] is True
    (second / "registry.yaml").write_text("name: other\n")
    assert CliRunner().invoke(app, [*words, "--overwrite"]).exit_code == 1
    save(years[0].measurements, tmp_path / "measured")
    with pytest.raises(BundleError, match="measurements only"):
        report_bundle(first, tmp_path / "other.html", compare=tmp_path / "measured")


@pytest.mark.slow
def test_the_page_begins_with_the_comparison(years, tmp_path: Path, reader: Reader) -> None:
    first, second = (save(release, tmp_path / name) for release, name in zip(years, ("a", "b"), strict=True))
    written, _ = report_bundle(first, tmp_path / "page.html", compare=second)
    with reader.opened(written, "") as shown:
        assert shown.locator("#panel-compare.current").count() == 1
        assert "survey 2024" in shown.inner_text("#panel-compare h2")
        card = shown.locator("#panel-compare article", has_text="employed").first
        card.scroll_into_view_if_needed()
        assert card.locator(".moved").count() == 2
        card.locator("svg.plot").wait_for()
        assert "null" not in shown.inner_text("#panel-compare").split()
