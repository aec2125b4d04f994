"""Draw the pictures of docs/gallery: `python docs/make_gallery.py [NUMBER ...]`. Needs the extra `plot`.

Each page's own code is run, and its picture drawn from the names it leaves behind, so that page and picture agree. The
noise is seeded here, so that the same pictures come again; the pages themselves draw fresh noise.
"""

import contextlib
import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import vl_convert

import kernelease as ke

PAGES = Path(__file__).with_name("gallery")
PICTURES = Path(__file__).parent / "pictures" / "gallery"
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_TAG, _LONG = re.compile(r"<[^>]*>"), re.compile(r"\d+\.\d{2,}")
_PLACE = re.compile(r"translate\(([-\d.,]+)\)")
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_CLOUD = re.compile(
    rf'<path transform="{_PLACE.pattern}"(?P<style>[^>]*)/>(?:<path transform="{_PLACE.pattern}"(?P=style)/>)+'
)

# Okabe and Ito's colours, which the colour-blind tell apart, on a white card that stands on any background.
BLUE, ORANGE, GREEN, GREY, INK = "#0072B2", "#D55E00", "#009E73", "#8A9099", "#2B2F36"
SEED = 2018  # one for all pictures, not chosen by what they show
WIDTH, HEIGHT = 460, 230
DOTS = 1_000  # of a cloud: enough to see its shape

Names = Mapping[str, Any]
Row = dict[str, Any]


def draw(page: Path) -> Path:
    """Run a page, and write its picture."""
    target = PICTURES / f"{page.stem}.svg"
    drawing = vl_convert.vegalite_to_svg(styled(CHARTS[page.stem](names_of(page))).to_dict())
    target.write_text(_CLOUD.sub(one_path, _TAG.sub(in_tenths, drawing)) + "\n")
    return target


def in_tenths(tag: re.Match[str]) -> str:
    """Places and sizes to a tenth of a pixel, as fine as anybody sees. What is written between tags stays."""
    return _LONG.sub(lambda number: f"{float(number[0]):.1f}", tag[0])


def one_path(cloud: re.Match[str]) -> str:
    """Filled circles that differ in nothing but their place, as one path of round dots: a tenth of the characters."""
    style = dict(_ATTRIBUTE.findall(cloud["style"]))
    radius = re.match(r"M([\d.]+),0A", style["d"])
    if radius is None or "fill" not in style or "stroke" in style:
        return cloud[0]
    places = "".join(f"M{place}h0" for place in _PLACE.findall(cloud[0]))
    dots = f'stroke="{style["fill"]}" stroke-width="{2 * float(radius[1]):g}" opacity="{style["opacity"]}"'
    return f'<path d="{places}" stroke-linecap="round" {dots}/>'


def names_of(page: Path) -> Names:
    """What a page's code leaves behind, run in an empty folder, with seeded noise."""
    private, names = ke.release, {"__name__": "__main__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), open(os.devnull, "w") as nowhere:
        ke.release = functools.partial(private, noise=ke.SeededNoise(SEED))
        try:
            with contextlib.redirect_stdout(nowhere):
                for block in _BLOCK.findall(page.read_text()):
                    exec(compile(block, page.name, "exec"), names)  # noqa: S102 (our own pages)
        finally:
            ke.release = private
    return names


def styled(chart: Any) -> Any:
    """The one style: no frame, faint lines, a white card with a margin."""
    axis = {"grid": True, "gridColor": "#E8EAED", "domainColor": GREY, "tickColor": GREY, "labelColor": INK}
    text = {"labelFontSize": 12, "titleFontSize": 12, "titleColor": INK, "titleFontWeight": "normal"}
    return (
        chart.configure(background="white", padding=18, font="DejaVu Sans, Verdana, sans-serif", aria=False)
        .configure_view(stroke=None)
        .configure_axis(**axis, **text, titlePadding=8)
        .configure_legend(**text, labelColor=INK, symbolSize=90, symbolStrokeWidth=2, labelLimit=300)
        .configure_title(fontSize=13, fontWeight="normal", color=INK, anchor="start")
    )


def data(rows: Iterable[Row]) -> Any:
    """Rows as data of a chart: nothing but plain numbers and words."""
    return alt.Data(values=list(rows))


def row(estimate: Any, **more: Any) -> Row:
    """An estimate and its 95 % interval."""
    low, high = estimate.interval(0.95)
    return {"value": float(estimate), "low": float(low), "high": float(high), **more}


def legend(pairs: Mapping[str, str]) -> Any:
    """A colour for each kind, named above the chart."""
    scale = alt.Scale(domain=list(pairs), range=list(pairs.values()))
    return alt.Color("kind:N", scale=scale, title=None, legend=alt.Legend(orient="top", direction="horizontal"))


def told_and_known() -> tuple[Any, Any]:
    """Colour and shape of an estimate and of the truth: one legend for both."""
    kinds = ["release, 95 % interval", "private table"]
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"]), title=None)
    return legend(dict(zip(kinds, (BLUE, ORANGE), strict=True))), shape


def with_intervals(rows: list[Row], truth: list[Row], across: Any, title: str, **up: Any) -> Any:
    """Points with bars of their intervals, and the private table's own values as diamonds beside."""
    colour, shape = told_and_known()
    told = [{**one, "kind": "release, 95 % interval"} for one in rows]
    known = [{**one, "kind": "private table"} for one in truth]
    base = alt.Chart(data(told)).encode(x=across, color=colour)
    bars = base.mark_rule(strokeWidth=3).encode(y=alt.Y("low:Q", title=title, **up), y2="high:Q")
    points = base.mark_point(size=60, strokeWidth=2, fill="white", opacity=1)
    points = points.encode(y=alt.Y("value:Q", **up), shape=shape)
    diamonds = alt.Chart(data(known)).mark_point(size=60, strokeWidth=2, opacity=1, xOffset=14)
    return alt.layer(bars, points, diamonds.encode(x=across, y=alt.Y("value:Q", **up), color=colour, shape=shape))


def means_by_group(names: Names) -> Any:
    """01: points with intervals, one per ward."""
    stays, private = names["stay"], names["private"].to_pandas()
    across = alt.X("ward:N", sort=list(stays), title=None, axis=alt.Axis(labelAngle=0, grid=False))
    truth = private.groupby("ward")["days"].mean()
    rows = [row(estimate, ward=ward) for ward, estimate in stays.items()]
    known = [{"ward": ward, "value": float(truth[ward])} for ward in stays]
    return with_intervals(rows, known, across, "mean days").properties(width=WIDTH, height=HEIGHT)


def visits(names: Names) -> Any:
    """02: a heat map of the cross-table, each cell with its margin in words."""
    table = names["table"]
    cells = [
        {
            "age": age,
            "reason": reason,
            "share": float(table[age, reason]),
            "words": f"{float(table[age, reason]):.1%} ± {table[age, reason].margin(0.95):.1%}",
        }
        for age in table.rows
        for reason in table.columns
    ]
    plain = {"domain": False, "ticks": False, "grid": False}
    base = alt.Chart(data(cells)).encode(
        x=alt.X("reason:N", sort=list(table.columns), title=None, axis=alt.Axis(labelAngle=0, orient="top", **plain)),
        y=alt.Y("age:N", sort=list(table.rows), title="age", axis=alt.Axis(**plain)),
    )
    shade = alt.Color("share:Q", scale=alt.Scale(range=["#F3F7FA", BLUE], domainMin=0.0), legend=None)
    dark = alt.condition(alt.datum.share > 0.17, alt.value("white"), alt.value(INK))
    words = base.mark_text(fontSize=12).encode(text="words:N", color=dark)
    return (base.mark_rect(stroke="white", strokeWidth=3).encode(color=shade) + words).properties(
        width=WIDTH, height=180
    )


def regression(names: Names) -> Any:
    """03: coefficients with intervals, beside those of the private rows."""
    fit = names["fit"]
    design = np.column_stack([np.ones(len(names["hours"])), names["hours"], names["insured"]])
    truth = np.linalg.lstsq(design, names["content"], rcond=None)[0]
    labels = {"hours": "an hour of waiting", "insurance[private]": "private insurance"}
    across = alt.X("value:Q", title="points of content")
    order = alt.Y("term:N", sort=list(labels.values()), title=None, axis=alt.Axis(grid=False))
    colour, shape = told_and_known()
    told = [row(fit[name], term=label, kind="release, 95 % interval") for name, label in labels.items()]
    known = [
        {"term": label, "value": float(value), "kind": "private table"}
        for label, value in zip(labels.values(), truth[1:], strict=True)
    ]
    base = alt.Chart(data(told)).encode(y=order, color=colour)
    zero = alt.Chart(data([{"zero": 0}])).mark_rule(color=GREY, strokeDash=[4, 4]).encode(x="zero:Q")
    bars = base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q", title="points of content"), x2="high:Q")
    points = base.mark_point(size=60, strokeWidth=2, fill="white", opacity=1).encode(x=across, shape=shape)
    diamonds = alt.Chart(data(known)).mark_point(size=60, strokeWidth=2, opacity=1, yOffset=16)
    layers = alt.layer(zero, bars, points, diamonds.encode(x=across, y=order, color=colour, shape=shape))
    return layers.properties(width=WIDTH - 60, height=150)


def incomes(names: Names) -> Any:
    """04: deciles with intervals on a scale of logarithms."""
    private = np.asarray(names["private"]["income"])
    across = alt.X("tenth:O", title="share that earns at most so much, %", axis=alt.Axis(labelAngle=0, grid=False))
    rows = [row(income, tenth=10 * tenth) for tenth, income in names["deciles"].items()]
    known = [{"tenth": 10 * tenth, "value": float(np.quantile(private, tenth / 10))} for tenth in names["deciles"]]
    ticks = alt.Axis(values=[10_000, 20_000, 40_000, 80_000], format=",")
    scale = alt.Scale(type="log", domain=[8_000, 100_000], nice=False)
    chart = with_intervals(rows, known, across, "income", scale=scale, axis=ticks)
    return chart.properties(width=WIDTH, height=HEIGHT + 40)


def two_years(names: Names) -> Any:
    """05: differences by decade, with two standard errors."""
    cells = [one for one in names["witness"].differences if one.columns == "decade"]
    rows = [
        {
            "decade": one.cell,
            "value": one.value,
            "low": one.value - 2 * one.standard_error,
            "high": one.value + 2 * one.standard_error,
            "kind": "beyond two standard errors" if abs(one.z) > 2 else "within",
        }
        for one in cells
    ]
    order = [one.cell for one in cells]
    across = alt.X("decade:N", sort=order, title="age, decade", axis=alt.Axis(labelAngle=0, grid=False))
    up = alt.Y("value:Q", title="share in 2024 − share in 2023", axis=alt.Axis(format="+.0%"))
    base = alt.Chart(data(rows)).encode(x=across)
    bars = base.mark_bar().encode(y=up, color=legend({"beyond two standard errors": BLUE, "within": "#B8BEC6"}))
    whiskers = base.mark_rule(color=INK, strokeWidth=1.5).encode(y="low:Q", y2="high:Q")
    return (bars + whiskers).properties(width=WIDTH, height=HEIGHT)


def classifier(names: Names) -> Any:
    """06: a sample of synthetic rows, and the lines where either model is undecided."""
    rows = names["release"].sample(300, seed=1).to_pylist()
    kinds = {True: "synthetic, high", False: "synthetic, low"}
    dots = [{"age": one["age"], "hours": one["hours"], "kind": kinds[one["high"]]} for one in rows]
    lines = [
        {"age": age, "hours": hours, "model": label}
        for label, key in (("trained on the release", "model"), ("trained on the private rows", "ideal"))
        for age in (18, 80)
        for hours in [_undecided(names[key], names["data"].feature_names, age)]
    ]
    across = alt.X("age:Q", scale=alt.Scale(domain=[18, 80]))
    up = alt.Y("hours:Q", title="hours a week", scale=alt.Scale(domain=[0, 60]))
    shape = alt.Shape("kind:N", legend=None, scale=alt.Scale(domain=list(kinds.values()), range=["circle", "square"]))
    points = alt.Chart(data(dots)).mark_point(size=22, strokeWidth=1.2, opacity=0.75)
    points = points.encode(x=across, y=up, shape=shape, color=legend({kinds[True]: BLUE, kinds[False]: ORANGE}))
    dash = alt.StrokeDash("model:N", title=None, legend=alt.Legend(orient="bottom", symbolSize=300), sort=None)
    drawn = (
        alt.Chart(data(lines)).mark_line(color=INK, strokeWidth=2.5, clip=True).encode(x=across, y=up, strokeDash=dash)
    )
    return (points + drawn).properties(width=WIDTH, height=300)


def _undecided(model: Any, features: list[str], age: float) -> float:
    """The hours at which a model gives both classes even chances."""
    weight = dict(zip(features, model.coef_[0], strict=True))
    return float(-(model.intercept_[0] + weight["age"] * age) / weight["hours"])


def two_moons(names: Names) -> Any:
    """07: private points beside released ones."""
    released = np.column_stack([names["few"][name] for name in ("x0", "x1")])
    clouds = {"private": names["moons"][: len(released)], "released": released}
    across = alt.X("x:Q", title=None, scale=alt.Scale(domain=[-1.6, 2.6]))
    up = alt.Y("y:Q", title=None, scale=alt.Scale(domain=[-1.2, 1.7]))
    parts = [
        alt.Chart(data({"x": round(float(x), 3), "y": round(float(y), 3)} for x, y in cloud), title=title)
        .mark_circle(size=11, opacity=0.7, clip=True, color=colour)
        .encode(x=across, y=up)
        .properties(width=270, height=190)
        for (title, cloud), colour in zip(clouds.items(), (GREY, BLUE), strict=True)
    ]
    return alt.hconcat(*parts)


def risk(names: Names) -> Any:
    """08: trade-off curves above the diagonal."""
    colours = {0.05: GREEN, 0.1: BLUE, 0.3: ORANGE}
    points = [
        {"false": float(rate), "true": float(true), "kind": f"advantage {advantage:g}"}
        for advantage, curve in names["curves"].items()
        for rate, true in zip(names["rates"], curve, strict=True)
    ]
    across, up = alt.X("false:Q", title="false alarms"), alt.Y("true:Q", title="true alarms, at best")
    axis = alt.Axis(format="%", tickCount=5)
    across, up = across.axis(axis), up.axis(axis)
    guess = alt.Chart(data([{"false": 0, "true": 0}, {"false": 1, "true": 1}]))
    diagonal = guess.mark_line(color=GREY, strokeDash=[5, 4]).encode(x=across, y=up)
    word = alt.Chart(data([{"false": 0.62, "true": 0.54}])).mark_text(
        text="guessing", color=INK, align="left", fontSize=12
    )
    lines = alt.Chart(data(points)).mark_line(strokeWidth=2.5)
    lines = lines.encode(x=across, y=up, color=legend({f"advantage {one:g}": shade for one, shade in colours.items()}))
    return alt.layer(diagonal, lines, word.encode(x=across, y=up)).properties(width=330, height=300)


def computed_columns(names: Names) -> Any:
    """09: the total against the sum of its parts, where it was measured and where it is computed."""
    plain = ke.Schema.parse("""
        [columns]
        loan = {type = "integer", min = 0, max = 30_000}
        interest = {type = "integer", min = 0, max = 9_000}
        total = {type = "integer", min = 0, max = 39_000}
    """)
    private = names["private"].to_pandas()
    private["total"] = private["loan"] + private["interest"]
    measured = ke.release(
        private, schema=plain, privacy=ke.Privacy(epsilon=1.0, delta=1e-6), noise=ke.SeededNoise(SEED)
    )
    return alt.hconcat(
        _totals(measured, "total as a column of its own", ORANGE), _totals(names["release"], "total computed", BLUE)
    )


def _totals(release: Any, title: str, colour: str) -> Any:
    rows = release.sample(DOTS, seed=1).to_pylist()
    dots = [{"sum": (one["loan"] + one["interest"]) / 1000, "total": one["total"] / 1000} for one in rows]
    scale = alt.Scale(domain=[0, 40])
    chart = alt.Chart(data(dots), title=title).mark_circle(size=11, opacity=0.7, color=colour)
    across = alt.X("sum:Q", scale=scale, title="loan + interest, thousands")
    up = alt.Y("total:Q", scale=scale, title="total, thousands")
    return chart.encode(x=across, y=up).properties(width=240, height=220)


def ledger(names: Names) -> Any:
    """10: what is left after each release, and the request that was refused."""
    left = names["left"]
    words = ["ledger opened", *(f"release {number}" for number in range(1, len(left)))]
    rows = [{"when": word, "left": one, "words": f"{one:.2f}"} for word, one in zip(words, left, strict=True)]
    asked = {"when": "refused", "left": 1.5, "words": "1.5 asked"}
    order = [*words, "refused"]
    across = alt.X("when:N", sort=order, title=None, axis=alt.Axis(labelAngle=0, grid=False))
    up = alt.Y("left:Q", title="ε of one more release", scale=alt.Scale(domain=[0, 2.2]))
    base = alt.Chart(data(rows)).encode(x=across, y=up)
    no = alt.Chart(data([asked])).encode(x=across, y=up)
    label = {"dy": -9, "fontSize": 12, "color": INK}
    return alt.layer(
        base.mark_bar(color=BLUE, width=46),
        base.mark_text(**label).encode(text="words:N"),
        no.mark_bar(filled=False, stroke=ORANGE, strokeDash=[5, 4], strokeWidth=2, width=46),
        no.mark_text(**label).encode(text="words:N"),
    ).properties(width=WIDTH, height=HEIGHT)


CHARTS: Mapping[str, Callable[[Names], Any]] = {
    "01-means-by-group": means_by_group,
    "02-persons-with-several-rows": visits,
    "03-regression": regression,
    "04-incomes": incomes,
    "05-two-years": two_years,
    "06-classifier": classifier,
    "07-two-moons": two_moons,
    "08-risk": risk,
    "09-computed-columns": computed_columns,
    "10-ledger": ledger,
}


if __name__ == "__main__":
    for stem in CHARTS:
        if not sys.argv[1:] or stem[:2] in sys.argv[1:]:
            written = draw(PAGES / f"{stem}.md")
            print(f"{written.name}: {written.stat().st_size / 1000:.0f} kB")
