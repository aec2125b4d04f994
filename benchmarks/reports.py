"""What the benchmark prints: tables of our numbers beside the published ones, and checks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.checks import table
from benchmarks.published import EPSILONS, Curve, published
from benchmarks.reproduction import Part

Record = dict[str, Any]

SHOWN = (1, 10, 31, 104, 319, 1072, 3274, 10_000)  # numbers of public points in the tables of Algorithm 1
_TITLES = {
    "leak": "Figure 1: Algorithm 1, the first M rows published",
    "random": "Figure 2: Algorithm 1, points from N(0, 500²)",
    "random_features": "Figure 2: Algorithm 2, greedy solver",
    "contenders": "Whole releases beside the paper's best over all M (an oracle's choice)",
}


def part(name: str, dimension: int, done: Part) -> str:
    """One part's table and checks."""
    paper = published(dimension)
    title = f"{_TITLES[name]}, D = {dimension}"
    if name == "contenders":
        text = _contenders(title, dimension, done.record)
    elif name == "random_features":
        text = _algorithm_2(title, done.record, paper.random_features)
    else:
        text = _algorithm_1(title, done.record, getattr(paper, name))
    return "\n".join([text, *(str(check) for check in done.checks)])


def summary(results: Record) -> str:
    """How many checks hold, which do not, and where the time went."""
    misses = [check for check in results["checks"] if not check["holds"]]
    lines = ["", f"{len(results['checks']) - len(misses)} of {len(results['checks'])} checks hold."]
    lines += [f"miss  {check['data']}: {check['claim']}: {check['numbers']}" for check in misses]
    lines += [f"{seconds:8.1f} s  {name}" for name, seconds in results["seconds"].items()]
    lines.append(f"{sum(results['seconds'].values()):8.1f} s  in all")
    return "\n".join(lines)


def _algorithm_1(title: str, record: Record, curve: Curve) -> str:
    shown = [i for i, count in enumerate(record["points"]) if count in SHOWN]
    header = ["M", "rank", "no noise", "published"]
    for epsilon in EPSILONS:
        header += [f"ε = {epsilon:g}", "published"]
    rows = []
    for i in shown:
        row: list[object] = [record["points"][i], record["ranks"][i], record["projection"][i]]
        row.append(float(curve.projection[i]) if curve.projection is not None else "")
        for e in range(len(EPSILONS)):
            row += [_mean_spread(record["paper"], e, i), float(curve.noisy[e, i])]
        rows.append(row)
    return table(f"{title} (the paper's noise; mean ± standard deviation over repeats)", header, rows)


def _mean_spread(summary: Record, epsilon: int, at: int) -> str:
    return f"{summary['mean'][epsilon][at]:.4g} ± {summary['spread'][epsilon][at]:.1g}"


def _algorithm_2(title: str, record: Record, curve: Curve) -> str:
    at = np.searchsorted(curve.points, record["points"])
    header = ["M"]
    for epsilon in EPSILONS:
        header += [f"ε = {epsilon:g}", "lowest – highest", "published"]
    runs = np.array(record["runs"])
    rows = []
    for i, count in enumerate(record["points"]):
        row: list[object] = [count]
        for e in range(len(EPSILONS)):
            spread = f"{runs[e, :, i].min():.3g} – {runs[e, :, i].max():.3g}"
            row += [record["median"][e][i], spread, float(curve.noisy[e, at[i]])]
        rows.append(row)
    return table(f"{title} (median over runs)", header, rows)


def _contenders(title: str, dimension: int, record: Sequence[Record]) -> str:
    paper = published(dimension)
    header = ["", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "points", "seconds"]
    rows: list[list[object]] = []
    for given, best in ((False, paper.best_without_rows), (True, paper.leak.best)):
        label = "up to 10,000 published rows" if given else "no published rows"
        rows.append([f"{label}: paper", *(float(value) for value in best), "", ""])
        for entry in record:
            count = entry["published_rows"]
            if (count > 0) is given:
                label = f"{count:,} published rows" if given else label
                rows.append([f"{label}: {entry['name']}", *map(_runs, entry["errors"]), *_cost(entry)])
    return table(title, header, rows)


def _runs(errors: Sequence[float]) -> str:
    median = f"{np.median(errors):.4g}"
    return median if len(errors) == 1 else f"{median} ({min(errors):.3g} – {max(errors):.3g})"


def _cost(entry: Record) -> list[str]:
    return [
        "/".join(str(count) for count in entry["points"]),
        "/".join(f"{seconds:.0f}" for seconds in entry["seconds"]),
    ]
