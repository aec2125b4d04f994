"""Altair charts, where Altair is installed."""

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats
from kernelease.errors import ParameterError

if TYPE_CHECKING:
    from kernelease.analysis.comparisons.two_sample import Difference

_INK = "#2f5d8a"  # of estimates without a colour of their own
_VALUE = re.compile(r"(?<=\[)[^\]]*(?=\])")  # in the name of a coefficient: sex[male]
_ALL_PLOTTED = 300  # a column of 256 cells and NULL is drawn whole
MOST_PLOTTED = 60  # cells of a column that a picture still shows one by one


def altair() -> Any:
    """The module, or a `ParameterError` that says how to install it."""
    try:
        return import_module("altair")
    except ImportError:
        raise ParameterError("plot: needs Altair. Install kernelease[plot].") from None


def histogram(values: NDArray[Any], weights: Floats, bins: int) -> Any:
    """An Altair chart of the probability of each interval, or of each value where they are not numbers."""
    charts = altair()
    if values.ndim != 1:
        raise ParameterError("plot: shows one column at a time.")
    if values.dtype.kind in "fiu":
        finite = np.isfinite(values)
        heights, edges = np.histogram(values[finite], bins=bins, weights=weights[finite])
        bars = [
            {"from": float(a), "to": float(b), "share": float(h)}
            for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
        ]
        chart = charts.Chart(charts.Data(values=bars)).mark_bar()
        across = charts.X("from:Q", bin="binned", title="value")
        return chart.encode(x=across, x2="to:Q", y=charts.Y("share:Q", title="probability"))
    labels, codes = np.unique(values.astype(str), return_inverse=True)
    shares = np.bincount(codes, weights)
    named = [{"value": str(label), "share": float(share)} for label, share in zip(labels, shares, strict=True)]
    chart = charts.Chart(charts.Data(values=named)).mark_bar()
    return chart.encode(x=charts.X("value:N", sort=None, title="value"), y=charts.Y("share:Q", title="probability"))


def difference_chart(differences: Sequence["Difference"]) -> Any:
    """An Altair chart of differences with bars of two standard errors, one below the other for each set of columns."""
    charts = altair()
    names = list(dict.fromkeys(one.columns for one in differences))
    parts = [_column_chart(charts, [one for one in differences if one.columns == name], name) for name in names]
    return parts[0] if len(parts) == 1 else charts.vconcat(*parts)


def _column_chart(charts: Any, differences: Sequence["Difference"], name: str) -> Any:
    shown, title = differences, name
    if len(differences) > _ALL_PLOTTED:
        clearest = sorted(range(len(differences)), key=lambda i: -abs(differences[i].z))[:MOST_PLOTTED]
        shown = [differences[i] for i in sorted(clearest)]  # in their own order
        title = f"{name}, the {MOST_PLOTTED} clearest of {len(differences)} cells"
    data = charts.Data(
        values=[
            {
                "cell": one.cell,
                "difference": one.value,
                "low": one.value - 2.0 * one.standard_error,
                "high": one.value + 2.0 * one.standard_error,
                "clear": "beyond two standard errors" if abs(one.z) > 2.0 else "within",
            }
            for one in shown
        ]
    )
    order = [one.cell for one in shown]
    across = charts.X("cell:N", sort=order, title=title, axis=charts.Axis(labelOverlap=True))
    colour = charts.Color(
        "clear:N",
        scale=charts.Scale(domain=["within", "beyond two standard errors"], range=["#9aa5b1", "#c0392b"]),
        title=None,
        legend=charts.Legend(orient="top"),
    )
    base = charts.Chart(data).encode(x=across)
    bars = base.mark_bar().encode(y=charts.Y("difference:Q", title="share: release − other"), color=colour)
    whiskers = base.mark_rule(color="#333333").encode(y=charts.Y("low:Q", title=""), y2="high:Q")
    zero = charts.Chart(charts.Data(values=[{"zero": 0}])).mark_rule(color="black").encode(y="zero:Q")
    return charts.layer(bars, whiskers, zero).properties(width=max(240, min(640, 14 * len(shown))), height=180)


def estimate_chart(
    lines: Sequence[Mapping[str, Any]], title: str, *, about: str, legend: str = "", zero: bool = False
) -> Any:
    """An Altair chart of estimates with their intervals: each line has group, value, low, high, and maybe a colour.

    Those of one group and several colours stand side by side. What is not bounded has no bar; what says little is pale.
    """
    charts = altair()
    order, colours = (list(dict.fromkeys(line.get(key) for line in lines)) for key in ("group", "colour"))
    across = charts.X("group:N", sort=order, title=title, axis=charts.Axis(labelOverlap=True))
    pale = charts.condition("datum.says_little", charts.value(0.35), charts.value(1.0))
    options: dict[str, Any] = {"opacity": pale}
    if len(colours) > 1:
        options["color"] = charts.Color("colour:N", title=legend or None, sort=colours)
        options["xOffset"] = charts.XOffset("colour:N", sort=colours)
    kind, height = _height(charts, lines, zero)
    base = charts.Chart(charts.Data(values=[_as_json(line) for line in lines])).encode(x=across)
    points = base.mark_point(filled=True, size=50, color=_INK).encode(
        y=charts.Y(f"value:{kind}", title=about, scale=height), **options
    )
    whiskers = base.mark_rule(strokeWidth=2, color=_INK).encode(
        y=charts.Y(f"low:{kind}", title=about, scale=height), y2="high", **options
    )
    return charts.layer(whiskers, points).properties(width=max(240, min(640, 14 * len(lines))), height=240)


def heat_chart(lines: Sequence[Mapping[str, Any]], down: str, across: str) -> Any:
    """An Altair chart of many shares as shades; pointing at one tells its interval, and what says little is pale."""
    charts = altair()
    orders = [list(dict.fromkeys(line[key] for line in lines)) for key in ("colour", "group")]
    told = [charts.Tooltip(f"{key}:Q", format=".2%", title=key) for key in ("value", "low", "high")]
    return (
        charts.Chart(charts.Data(values=[_as_json(line) for line in lines]))
        .mark_rect()
        .encode(
            x=charts.X("group:N", sort=orders[1], title=across, axis=charts.Axis(labelOverlap=True)),
            y=charts.Y("colour:N", sort=orders[0][::-1], title=down, axis=charts.Axis(labelOverlap=True)),
            color=charts.Color("value:Q", title="share of rows", scale=charts.Scale(scheme="blues")),
            opacity=charts.condition("datum.says_little", charts.value(0.35), charts.value(1.0)),
            tooltip=[charts.Tooltip("colour:N", title=down), charts.Tooltip("group:N", title=across), *told],
        )
        .properties(width=360, height=300)
    )


def _height(charts: Any, lines: Sequence[Mapping[str, Any]], zero: bool) -> tuple[str, Any]:
    """The type of the values, and their scale: dates need its ends, since intervals are not looked at for them."""
    dates = [line[key] for line in lines for key in ("value", "low", "high") if isinstance(line[key], np.datetime64)]
    if not dates:
        return "Q", charts.Scale(zero=zero)
    ends = [int(end.astype("datetime64[ms]").astype(np.int64)) for end in dates if not np.isnat(end)]
    return "T", charts.Scale(domain=[min(ends), max(ends)], nice=True) if ends else charts.Scale()


def coefficient_chart(lines: Sequence[Mapping[str, Any]], title: str) -> Any:
    """Charts of coefficients side by side, each on its own scale; those of one category's values share one."""
    charts = altair()
    panels: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        name = str(line["group"])
        label = ":".join(_VALUE.findall(name)) or name
        panels.setdefault(_VALUE.sub("…", name), []).append({**line, "group": label})
    parts = [
        estimate_chart(part, name, about="coefficient", zero=True).properties(width=max(60, min(640, 24 * len(part))))
        for name, part in panels.items()
    ]
    return charts.hconcat(*parts).properties(title=title)


def stack(parts: Sequence[Any]) -> Any:
    """Charts one below the other."""
    return parts[0] if len(parts) == 1 else altair().vconcat(*parts)


def _as_json(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line as JSON has it: dates as text, and nothing for what is no number."""
    return {key: _json(part) for key, part in line.items()}


def _json(part: Any) -> Any:
    if isinstance(part, np.datetime64):
        return None if np.isnat(part) else str(part)
    return None if isinstance(part, float) and not np.isfinite(part) else part
