"""The plots: Figures 1 and 2 of the paper, ours beside published, and error against ε. Input: the results' JSON."""

from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import altair as alt

from benchmarks.contenders import MANY_ROWS, PUBLISHED_ROWS
from benchmarks.published import EPSILONS, Curve, published

Record = dict[str, Any]

_EPSILON_COLOURS = {"ε = 0.01": "#D55E00", "ε = 0.1": "#009E73", "ε = 1": "#0072B2"}  # Okabe & Ito: colour-blind safe
_OTHER_COLOURS = {"no noise (projection)": "#999999", "uniform weights": "#000000"}
_CONTENDER_COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
_WITHOUT_ROWS, _WITH_ROWS = (
    "no published rows",
    f"{MANY_ROWS:,} published rows (Subspace {PUBLISHED_ROWS:,})",
)
_FONT = "Helvetica, Arial, sans-serif"


def figure_1(results: Record, dimension: int) -> alt.LayerChart:
    """Algorithm 1 with published rows."""
    curve, ours = published(dimension).leak, results[f"D{dimension}"]["leak"]
    lines = [
        *_curves("ours, the paper's noise", ours["points"], ours["paper"]["mean"]),
        *_curves("ours, Δ = √2/N and analytic σ", ours["points"], ours["ours"]["mean"]),
        *_records("ours, the paper's noise", "no noise (projection)", ours["points"], ours["projection"]),
        *_records("ours, the paper's noise", "uniform weights", curve.points, curve.baseline),
    ]
    dots = [*_published("published", curve), *_projection(curve)]
    return _log_log(lines, dots, f"Figure 1, D = {dimension}: Algorithm 1, the first M rows are published")


def figure_2(results: Record, dimension: int) -> alt.LayerChart:
    """Both algorithms where no row is published."""
    paper, ours = published(dimension), results[f"D{dimension}"]
    first, second = ours["random"], ours["random_features"]
    lines = [
        *_curves("Algorithm 1, ours", first["points"], first["paper"]["mean"]),
        *_curves("Algorithm 2, ours", second["points"], second["median"]),
        *_records("Algorithm 1, ours", "no noise (projection)", first["points"], first["projection"]),
    ]
    dots = [
        *_published("Algorithm 1, published", paper.random),
        *_published("Algorithm 2, published", paper.random_features),
        *_projection(paper.random, "Algorithm 1, published"),
    ]
    return _log_log(lines, dots, f"Figure 2, D = {dimension}: no published rows")


def error_vs_epsilon(results: Record) -> alt.HConcatChart:
    """Whole releases at each ε, beside the paper's best over all M."""
    dimensions = [d for d in (2, 5) if f"D{d}" in results]
    records = [record for d in dimensions for record in _contenders(results, d)]
    names = list(dict.fromkeys(record["release"] for record in records))
    panels = [_epsilon_panel([r for r in records if r["dimension"] == d], names, d) for d in dimensions]
    return _styled(alt.hconcat(*panels, spacing=28), legend={"orient": "bottom", "direction": "vertical", "offset": 8})


def rates(results: Record) -> alt.HConcatChart:
    """Error against the number of rows, one panel for each dimension."""
    records = [
        {"dimension": series["dimension"], "method": series["name"], "rows": rows, "distance": distance}
        for series in results["series"]
        for rows, runs in zip(series["rows"], series["errors"], strict=True)
        for distance in runs
    ]
    names = list(dict.fromkeys(record["method"] for record in records))
    dimensions = sorted({record["dimension"] for record in records})
    panels = [_rates_panel([r for r in records if r["dimension"] == d], names, d) for d in dimensions]
    return _styled(alt.hconcat(*panels, spacing=28))


def save(chart: alt.TopLevelMixin, path: Path, *, png: bool = True) -> list[Path]:
    """Write a chart as SVG, and as PNG for those who look at files one by one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [path.with_suffix(suffix) for suffix in ((".svg", ".png") if png else (".svg",))]
    for file in files:
        chart.save(file, scale_factor=2 if file.suffix == ".png" else 1)
    return files


def _epsilon_name(epsilon: float) -> str:
    return f"ε = {epsilon:g}"


def _records(series: str, curve: str, points: Iterable[int], distances: Iterable[float]) -> list[Record]:
    return [
        {"points": int(m), "distance": float(d), "curve": curve, "series": series}
        for m, d in zip(points, distances, strict=True)
    ]


def _curves(series: str, points: Sequence[int], distances: Sequence[Sequence[float]]) -> list[Record]:
    """One curve for each ε."""
    pairs = zip(EPSILONS, distances, strict=True)
    return [record for epsilon, row in pairs for record in _records(series, _epsilon_name(epsilon), points, row)]


def _published(series: str, curve: Curve) -> list[Record]:
    return _curves(series, curve.points.tolist(), curve.noisy.tolist())


def _projection(curve: Curve, series: str = "published") -> list[Record]:
    return _records(series, "no noise (projection)", curve.points, curve.projection)


def _log_log(lines: list[Record], dots: list[Record], title: str) -> alt.LayerChart:
    colours = {**_EPSILON_COLOURS, **_OTHER_COLOURS}
    present = [name for name in colours if any(record["curve"] == name for record in lines)]
    x = alt.X("points:Q", title="number of points M", scale=alt.Scale(type="log", nice=False), axis=_log_axis())
    y = alt.Y(
        "distance:Q",
        title="RKHS distance to the private embedding",
        scale=alt.Scale(type="log", nice=False, padding=6),
        axis=_log_axis(),
    )
    colour = alt.Color(
        "curve:N",
        title=None,
        scale=alt.Scale(domain=present, range=[colours[name] for name in present]),
        sort=present,
        legend=alt.Legend(symbolType="square", symbolOpacity=1.0, symbolFillColor=None),
    )
    drawn = alt.Chart(alt.Data(values=lines)).mark_line(strokeWidth=2)
    dotted = alt.Chart(alt.Data(values=dots)).mark_point(size=24, opacity=0.7, strokeWidth=1.3)
    chart = alt.layer(
        drawn.encode(x, y, colour, strokeDash=_looks(alt.StrokeDash, lines, [[1, 0], [6, 4]], size=300)),
        dotted.encode(x, y, colour, shape=_looks(alt.Shape, dots, ["circle", "triangle-up"], size=60)),
    )
    chart = chart.resolve_scale(shape="independent", strokeDash="independent")
    return _styled(chart.properties(width=520, height=380, title=title))


def _looks(channel: type, records: list[Record], looks: list[Any], *, size: int) -> Any:
    """An encoding of `series`, with a legend of its own under the colours."""
    names = list(dict.fromkeys(record["series"] for record in records))
    scale = alt.Scale(domain=names, range=looks[: len(names)])
    return channel(
        "series:N", title=None, scale=scale, sort=names, legend=alt.Legend(symbolStrokeColor="#333333", symbolSize=size)
    )


def _log_axis() -> alt.Axis:
    """Powers of ten alone."""
    return alt.Axis(values=[10.0**n for n in range(-6, 7)], format=",~g", labelFlush=False)


def _contenders(results: Record, dimension: int) -> list[Record]:
    paper = published(dimension)
    best = {False: paper.best_without_rows, True: paper.leak.best}
    rows = [("the paper's best over all M", flag, best[flag].tolist()) for flag in (False, True)]
    for entry in results[f"D{dimension}"]["contenders"]:
        if entry["drawn"]:
            rows.append(
                (f"kernelease, {entry['name']}", entry["published_rows"], [_median(e) for e in entry["errors"]])
            )
    return [
        {
            "dimension": dimension,
            "release": name,
            "rows": _WITH_ROWS if flag else _WITHOUT_ROWS,
            "epsilon": epsilon,
            "distance": distance,
        }
        for name, flag, distances in rows
        for epsilon, distance in zip(EPSILONS, distances, strict=True)
    ]


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def _epsilon_panel(records: list[Record], names: list[str], dimension: int) -> alt.LayerChart:
    colours = alt.Scale(domain=names, range=list(_CONTENDER_COLOURS[: len(names)]))
    dashes = alt.Scale(domain=[_WITHOUT_ROWS, _WITH_ROWS], range=[[1, 0], [5, 4]])
    base = alt.Chart(alt.Data(values=records)).encode(
        alt.X(
            "epsilon:Q",
            title="ε",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(values=list(EPSILONS), format="~g", labelFlush=False),
        ),
        alt.Y("distance:Q", title="RKHS distance", scale=alt.Scale(type="log", domain=[2e-4, 0.6]), axis=_log_axis()),
        alt.Color("release:N", title=None, scale=colours, sort=names, legend=alt.Legend(symbolType="circle")),
        alt.Detail("rows:N"),
    )
    legend = alt.Legend(symbolType="stroke", symbolSize=300, symbolStrokeColor="#333333")
    dash = alt.StrokeDash("rows:N", title=None, scale=dashes, legend=legend)
    chart = alt.layer(base.mark_line(strokeWidth=2).encode(dash), base.mark_circle(size=45, opacity=1.0))
    return chart.properties(width=250, height=280, title=f"D = {dimension}")


def _rates_panel(records: list[Record], names: list[str], dimension: int) -> alt.LayerChart:
    colours = alt.Scale(domain=names, range=list(_CONTENDER_COLOURS[: len(names)]))
    base = alt.Chart(alt.Data(values=records)).encode(
        alt.X("rows:Q", title="number of rows N", scale=alt.Scale(type="log"), axis=_log_axis()),
        alt.Color("method:N", title=None, scale=colours, sort=names, legend=alt.Legend(symbolType="circle")),
    )
    scale = alt.Scale(type="log", domain=[5e-4, 1.0])
    title = "RKHS distance to the true embedding"
    dots = base.mark_circle(size=30, opacity=0.6).encode(
        alt.Y("distance:Q", title=title, scale=scale, axis=_log_axis())
    )
    lines = base.mark_line(strokeWidth=2).encode(alt.Y("median(distance):Q", title=title, scale=scale))
    return alt.layer(lines, dots).properties(width=280, height=300, title=f"D = {dimension}, ε = 1")


def _styled(chart: Any, legend: dict[str, Any] | None = None) -> Any:
    return (
        chart.configure(font=_FONT, background="white")
        .configure_axis(labelFontSize=13, titleFontSize=14, titleFontWeight="normal", gridColor="#e6e6e6")
        .configure_legend(
            labelFontSize=13, labelLimit=400, symbolStrokeWidth=2, rowPadding=4, **(legend or {"offset": 16})
        )
        .configure_title(fontSize=15, fontWeight="normal", anchor="start")
        .configure_view(stroke="#cccccc")
    )


def all_figures(results: Record) -> dict[str, Any]:
    """Every chart that the results allow, by file name."""
    dimensions = [d for d in (2, 5) if f"D{d}" in results]
    charts = {
        f"figure{number}-D{d}": draw(results, d)
        for (number, draw), d in product(((1, figure_1), (2, figure_2)), dimensions)
    }
    return {**charts, "error-vs-epsilon": error_vs_epsilon(results)}
