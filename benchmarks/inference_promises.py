"""Promised analyses: answered in how many releases, and how wide beside what `plan` said before.

    python benchmarks/inference_promises.py [--repeats 100] [--jobs 2]

Each repeat draws a table of a trial and releases it with the promises of its schema. The plan is made twice, from the
schema alone, which gives a range (over rows of four shapes that nobody's are), and like rows that the planner
simulates from the same law, fresh ones and as many. Asked are all coefficients and groups; a width is half an interval,
and its ratio is that to the planned one.
"""

import math
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy.special import expit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import inference
from kernelease.answers.promises import GROUP, promised_answers
from kernelease.table import Schema
from kernelease.table.expressions.formulas import Analysis

SETTINGS = ((5_000, 1.0), (30_000, 1.0))
DELTA = 1e-6
METHOD = ke.Interactions(solver=ke.fit.MixtureSolver().rough())
SCHEMA = Schema.parse(
    """
    [table]
    name = "trial"
    [analyses]
    income = "income ~ age + arm"
    ill = "ill ~ age + arm * period"
    visits = "poisson visits ~ age + arm"
    means = "mean income by region, arm"
    effect = "difference in income by arm"
    [columns.age]
    type = "integer"
    min = 18
    max = 90
    [columns.arm]
    type = "category"
    values = ["drug", "placebo"]
    [columns.period]
    type = "category"
    values = ["before", "after"]
    [columns.ill]
    type = "boolean"
    [columns.region]
    type = "category"
    values = ["north", "middle", "south"]
    [columns.income]
    type = "number"
    min = 0.0
    max = 100.0
    [columns.visits]
    type = "integer"
    min = 0
    max = 15
    """
)


def trial(rows: int, generator: np.random.Generator) -> pa.Table:
    """A trial with an effect after its begin, incomes that rise with age, and visits."""
    age, drug, after = generator.integers(18, 91, rows), generator.random(rows) < 0.5, generator.random(rows) < 0.5
    ill = generator.random(rows) < expit(-1.0 + 0.02 * (age - 54) - 0.5 * (drug & after))
    income = np.clip(50.0 + 0.3 * (age - 54) + 4.0 * drug + generator.normal(0.0, 18.0, rows), 0.0, 100.0)
    visits = np.minimum(generator.poisson(np.exp(0.8 + 0.01 * (age - 54) - 0.3 * drug)), 15)
    return pa.table(
        {
            "age": age,
            "arm": np.where(drug, "drug", "placebo"),
            "period": np.where(after, "after", "before"),
            "ill": ill,
            "region": np.array(["north", "middle", "south"])[generator.integers(0, 3, rows)],
            "income": income,
            "visits": visits,
        }
    )


def asked(unit: inference.Unit) -> dict[str, Any]:
    """Half widths of one release by analysis and term, and whether each says little; None where it was refused."""
    _, rows, epsilon, repeat = unit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a rough fit is rough, and noise seeded
        release = ke.release(
            trial(rows, np.random.default_rng([rows, repeat])),
            schema=SCHEMA,
            privacy=ke.Privacy(epsilon=epsilon, delta=DELTA),
            method=METHOD,
            seed=repeat,
            noise=ke.SeededNoise(10_000 + repeat),
        )
    found: dict[str, Any] = {}
    for text in SCHEMA.analyses:
        try:
            answers = promised_answers(release, Analysis.parse(text))
        except ke.KerneleaseError:
            found[text] = None
            continue
        halves = {name: 0.5 * (one.interval(0.95)[1] - one.interval(0.95)[0]) for name, one in answers.items()}
        found[text] = [[str(name), half, bool(answers[name].says_little)] for name, half in halves.items()]
    return {"unit": list(unit), "answers": found}


def planned(rows: int, epsilon: float, like: pa.Table | None) -> dict[str, dict[str, tuple[float, float]]]:
    """What a plan says of each analysis: from which width to which."""
    plan = ke.plan(SCHEMA, privacy=ke.Privacy(epsilon=epsilon, delta=DELTA), rows=rows, like=like)
    return {
        one.analysis: {term: one.between.get(term, (half, half)) for term, half in one.half_widths.items()}
        for one in plan.promises
    }


def report(lines: Iterable[dict[str, Any]]) -> str:
    """A table for each setting: answered, the median of the width over its plan, and how many are within a quarter."""
    every = list(lines)
    text = []
    for rows, epsilon in SETTINGS:
        own = [one["answers"] for one in every if one["unit"][1:3] == [rows, epsilon]]
        if not own:
            continue
        even, simulated = (planned(rows, epsilon, like) for like in (None, trial(rows, np.random.default_rng(10**6))))
        text += [
            f"**{rows:,} rows, ε = {epsilon:g}**, {len(own)} releases:",
            "",
            "| analysis | answered | says little | width / range | within it | / planned, simulated | within 25 % |",
            "| --- | --- | --- | --- | --- | --- | --- |",
        ]
        for name in SCHEMA.analyses:
            answers = [one[name] for one in own]
            text += [_line(name, term, answers, even[name][term], simulated[name][term]) for term in simulated[name]]
        text.append("")
    return "\n".join(text)


def _line(name: str, term: str, releases: list[Any], alone: tuple[float, float], like: tuple[float, float]) -> str:
    told = [[one for one in found if term in (GROUP, one[0])] for found in releases if found is not None]
    halves = np.array([np.median([half for _, half, _ in found]) for found in told])
    answered = sum(bool(np.isfinite(half)) for half in halves)
    little = np.mean([flag for found in told for _, _, flag in found])
    simulated, (low, high) = like[0], alone
    near = np.mean(np.abs(halves / simulated - 1.0) <= 0.25)
    ranged = np.mean((halves >= 0.75 * low) & (halves <= 1.25 * high))
    cells = [
        f"{name}: {term}",
        f"{answered} of {len(releases)}",
        f"{little:.0%}",
        f"{np.median(halves) / low:.2f} to {np.median(halves) / high:.2f}" if math.isfinite(high) else "-",
        f"{ranged:.0%}",
        f"{np.median(halves) / simulated:.2f}" if math.isfinite(simulated) else "-",
        f"{near:.0%}",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    options = inference.options_of(__doc__, repeats=100, results="promises.jsonl").parse_args()
    units = [("trial", *setting, repeat) for repeat in range(options.repeats) for setting in SETTINGS]
    lines = inference.resumed(options.results, [] if options.report else units, asked, options.jobs, options.seconds)
    inference.tell(report(lines), options.results)


if __name__ == "__main__":
    main()
