"""The plots are drawn from results of any size."""

import pytest

pytestmark = pytest.mark.slow

figures = pytest.importorskip("benchmarks.figures", reason="the plotting extra is not installed")


@pytest.fixture
def results():
    """What a tiny run might give."""
    curves = {"mean": [[0.3, 0.1]] * 3, "spread": [[0.01, 0.01]] * 3}
    first = {"points": [1, 10], "ranks": [1, 10], "projection": [0.3, 0.1], "paper": curves, "ours": curves}
    second = {"points": [1, 3], "median": [[0.3, 0.2]] * 3, "runs": [[[0.3, 0.2]]] * 3}
    contender = {"name": "Subspace", "published_rows": False, "drawn": True, "errors": [[0.1]] * 3}
    record = {"leak": first, "random": first, "random_features": second, "contenders": [contender]}
    return {"D2": record, "D5": record}


def test_every_figure_is_drawn_and_saved(results, tmp_path):
    charts = figures.all_figures(results)
    assert set(charts) == {"figure1-D2", "figure1-D5", "figure2-D2", "figure2-D5", "error-vs-epsilon"}
    for name, chart in charts.items():
        for file in figures.save(chart, tmp_path / name):
            assert file.stat().st_size > 1000


def test_one_dimension_is_enough(results, tmp_path):
    del results["D5"]
    assert "figure1-D5" not in figures.all_figures(results)


def test_contenders_that_are_not_drawn_are_left_out(results):
    results["D2"]["contenders"].append(
        {"name": "hidden", "published_rows": True, "drawn": False, "errors": [[1.0]] * 3}
    )
    assert "hidden" not in figures.error_vs_epsilon(results).to_json()


def test_rates_are_drawn(tmp_path):
    series = {"dimension": 2, "name": "Algorithm 1", "rows": [1000, 10_000], "errors": [[0.1, 0.11], [0.03, 0.04]]}
    (file,) = figures.save(figures.rates({"series": [series]}), tmp_path / "rates", png=False)
    assert file.stat().st_size > 1000
