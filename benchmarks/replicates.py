"""Whether intervals from replicates hold what is true of the law, for eight kinds of statistics over three predictors.

    python benchmarks/replicates.py [--repeats 100] [--jobs 2]

The tables and releases are those of benchmarks/inference.py, the fits rough. Each statistic is computed on weighted
rows, pooled over 20 replicates, and asked to hold the law's value at 95 %. Naive beside it: the same statistic of the
synthetic rows as if they were a sample, with the error of as many draws from them.
"""

import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from scipy.special import expit, stdtrit

import kernelease as ke
from benchmarks import inference, predictors
from benchmarks.questions import Arrays, arrays

COUNT = 20
OUT = inference.OUT
Statistic = Callable[[Arrays, np.ndarray], float]


def mean(x: np.ndarray, w: np.ndarray) -> float:
    """Σ w x / Σ w."""
    return float(x @ w / w.sum())


def median(x: np.ndarray, w: np.ndarray) -> float:
    """The least number that half the weight does not exceed."""
    order = np.argsort(x, kind="stable")
    below = np.cumsum(w[order])
    return float(x[order][np.searchsorted(below, 0.5 * below[-1])])


def covariance(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """About the weighted means."""
    return mean((x - mean(x, w)) * (y - mean(y, w)), w)


def odds(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    """The slope of a logistic model, by Newton's method."""
    size = x.std() or 1.0
    design, found = np.stack([np.ones_like(x), x / size], axis=1), np.zeros(2)
    for _ in range(50):
        p = expit(design @ found)
        step = np.linalg.solve((design * (w * p * (1.0 - p))[:, None]).T @ design, design.T @ (w * (y - p)))
        found = found + step * min(1.0, 2.0 / np.abs(design @ step).max())
        if np.abs(step).max() < 1e-11:
            break
    return float(found[1] / size)


def statistics(x: str, cut: float) -> dict[str, tuple[tuple[str, ...], Statistic]]:
    """Eight kinds over one predictor, each with the columns that it needs together."""

    def of(t: Arrays, name: str = "visits") -> np.ndarray:
        return np.asarray(t[name], dtype=np.float64)

    def difference(t: Arrays, w: np.ndarray) -> float:
        male = t["sex"] == "M"
        return mean(t[x][male], w[male]) - mean(t[x][~male], w[~male])

    def correlation(t: Arrays, w: np.ndarray) -> float:
        return covariance(t[x], of(t), w) / float(np.sqrt(covariance(t[x], t[x], w) * covariance(of(t), of(t), w)))

    return {
        "mean": ((x,), lambda t, w: mean(t[x], w)),
        "median": ((x,), lambda t, w: median(t[x], w)),
        "deviation": ((x,), lambda t, w: float(np.sqrt(covariance(t[x], t[x], w)))),
        "share": ((x,), lambda t, w: mean((t[x] <= cut).astype(float), w)),
        "correlation": ((x, "visits"), correlation),
        "slope": ((x, "visits"), lambda t, w: covariance(t[x], of(t), w) / covariance(t[x], t[x], w)),
        "logistic": ((x, "ill"), lambda t, w: odds(t[x], of(t, "ill"), w)),
        "group difference": ((x, "sex"), difference),
    }


EVERY = {
    f"{kind}, {names.kind}": found
    for names in predictors.GENERATED
    for kind, found in statistics(names.x, names.cuts[1]).items()
}


def law() -> dict[str, float]:
    """What is true of the law, by many rows of it."""
    path = OUT / "law-replicates.json"
    if not path.exists():
        rows = arrays(predictors.predictors(inference.LAW, np.random.default_rng(10**6)))
        path.write_text(json.dumps({name: one(rows, np.ones(inference.LAW)) for name, (_, one) in EVERY.items()}))
    known: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return known


def asked(unit: inference.Unit) -> dict[str, Any]:
    """Of each statistic: whether the pooled interval holds, and the naive one; None where it is refused."""
    release, truth = inference.release_of(unit, OUT / "releases"), law()
    sets = release.forms.replicates(COUNT)
    rows, found = arrays(sets.rows), {}
    own = arrays(release.rows)
    generator = np.random.default_rng(unit[3])
    drawn = generator.multinomial(unit[1], np.full(len(release.weights), 1.0 / len(release.weights)), COUNT)
    for name, (columns, one) in EVERY.items():
        naive = _naive(one, own, drawn.astype(float), truth[name])
        try:
            pooled = sets.pool([one(rows, w) for w in sets.weights], columns=columns)
        except ke.KerneleaseError:
            found[name] = [None, naive, 0.0, 0.0]
            continue
        low, high = pooled.interval(0.95)
        held = None if not np.isfinite(high - low) else bool(low <= truth[name] <= high)
        found[name] = [held, naive, float(pooled) - truth[name], 0.5 * (high - low)]
    return {"unit": list(unit), "answers": found}


def _naive(statistic: Statistic, rows: Arrays, drawn: np.ndarray, truth: float) -> bool:
    """Whether the interval of somebody holds who takes the rows for a sample; not if all rows are alike."""
    try:
        value = statistic(rows, np.ones(drawn.shape[1]))
        error = float(np.std([statistic(rows, weights) for weights in drawn]))
    except (ZeroDivisionError, np.linalg.LinAlgError):
        return False
    return bool(abs(value - truth) <= stdtrit(COUNT, 0.975) * error)


def report(lines: Iterable[dict[str, Any]]) -> str:
    """How many of 100 hold, half a length over 1.96 errors, what is refused, and naive."""
    settings = defaultdict(list)
    for line in lines:
        settings[line["unit"][1], line["unit"][2]].append(line["answers"])
    head = ["", *(f"{rows:,}, ε = {epsilon:g}" for rows, epsilon in sorted(settings))]
    body = [["releases", *(str(len(settings[one])) for one in sorted(settings))]]
    kinds = [*(f"**all, {names.kind}**" for names in predictors.GENERATED), *EVERY]
    for kind in kinds:
        names = [name for name in EVERY if name == kind or kind.strip("*") == f"all, {name.rpartition(', ')[2]}"]
        body.append([kind, *(_cell([[one[name] for one in settings[s]] for name in names]) for s in sorted(settings))])
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body])


def _cell(statistics: list[list[Any]]) -> str:
    """Of answers that are told: how many of 100 hold, and the middle one of the statistics' lengths."""
    answers = [one for releases in statistics for one in releases]
    told = np.array([one for one in answers if one[0] is not None], dtype=float)
    naive = f"{100 * np.mean([one[1] for one in answers]):.0f}"
    refused = 1.0 - len(told) / len(answers)
    little = f" ({refused:.0%})" if refused > 0.0 else ""
    lengths = [one for releases in statistics if (one := _length(releases)) is not None]
    if not lengths:
        return f"-{little}, naive {naive}"
    held = told[:, 0].mean()
    error = np.sqrt(held * (1 - held) / len(told))
    return f"{100 * held:.1f} ± {100 * error:.1f} / {np.median(lengths):.2f}{little}, naive {naive}"


def _length(releases: list[Any]) -> float | None:
    """Half the intervals of a statistic over 1.96 errors, root mean squares of both; None where few are told."""
    off, half = np.array([one[2:] for one in releases if one[0] is not None], dtype=float).reshape(-1, 2).T
    if len(off) < inference.FEW or not off.any():
        return None
    return float(np.sqrt(np.mean(half**2) / np.mean(off**2)) / inference.Z)


def main() -> None:
    parser = inference.options_of(__doc__, repeats=100, results="replicates.jsonl")
    parser.add_argument("--settings", type=int, nargs="*", default=[0, 1, 2], help="of the three: 5,000/1, 30,000/1, 5")
    options = parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    law()  # once, for all processes
    units = [
        ("predictors", *inference.SETTINGS[place], repeat)
        for repeat in range(options.repeats)
        for place in options.settings
    ]
    lines = inference.resumed(options.results, [] if options.report else units, asked, options.jobs, options.seconds)
    inference.tell(report(lines), options.results)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a rough fit is rough, and noise seeded
        main()
