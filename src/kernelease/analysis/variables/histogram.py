"""A picture of a variable."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelease.analysis.pictures import altair
from kernelease.arrays import Floats
from kernelease.errors import ParameterError


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
