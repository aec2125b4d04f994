"""Raw Adult beside the discretised one: the same people, released both ways, both sides binned alike before scoring."""

import dataclasses
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.adult import RAW_SCHEMA, SCHEMA, Adult, discretised, load_raw
from benchmarks.checks import Check, table
from benchmarks.machine import described
from benchmarks.table_contenders import Contender, Outcome, Task, numbered, one_run, save
from benchmarks.tables_scores import marginal_errors
from kernelease import Schema, __version__

TOLERANCE = 1.10  # of the two-way error, against the discretised table
DISCRETE, SAME, ALL = "discretised", "raw, the same 14 columns", "raw, all 15 columns"
REDUNDANT = "education"  # says what education_num says; the discretised table is without it


def main(data: Path, epsilons: Sequence[float], *, delta: float, runs: int, limit: float, out: Path) -> None:
    """Release the three forms of the table several times, and print their errors and ratios."""
    ours = Contender(name="ours", label="kernelease", runner="kernelease_interactions", ours=True)
    done: dict[tuple[str, float], list[Outcome]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, task in tasks(data, Path(folder), delta=delta).items():
            for epsilon in epsilons:
                made = [one_run(ours, task, epsilon, run, limit=limit) for run in range(runs)]
                done[name, epsilon] = [dataclasses.replace(outcome, contender=name) for outcome in made]
    every = [outcome for some in done.values() for outcome in some]
    save(every, out / "tables-raw.json", version=__version__, machine=described(), delta=delta)
    print(report(done), *checks(done), sep="\n")


def tasks(data: Path, folder: Path, *, delta: float) -> dict[str, Task]:
    """One task for each form of the table. All have the people that the raw file has, and the same scores."""
    adult, raw = load_raw(data)
    if not np.array_equal(discretised(raw, adult), adult.train):
        raise ValueError("the raw and the discretised table do not hold the same people in the same order.")

    def of_numbered(rows: pa.Table) -> dict[str, float]:
        return _scores(adult, numbered(rows, adult.names, adult.sizes))

    def of_raw(rows: pa.Table) -> dict[str, float]:
        return _scores(adult, discretised(rows, adult))

    files = {name: folder / f"{number}.csv" for number, name in enumerate((DISCRETE, SAME, ALL))}
    pyarrow.csv.write_csv(adult.table(adult.train), files[DISCRETE])
    pyarrow.csv.write_csv(raw, files[ALL])
    pyarrow.csv.write_csv(raw.drop_columns([REDUNDANT]), files[SAME])
    whole = dataclasses.replace(Schema.load(RAW_SCHEMA), neighbours="add-remove")
    without = dataclasses.replace(whole, columns=tuple(c for c in whole if c.name != REDUNDANT))
    schemas = {SAME: _written(without, folder / "same.toml"), ALL: _written(whole, folder / "all.toml")}
    return {
        name: _task(files[name], schemas.get(name, SCHEMA), adult, delta, of_numbered if name == DISCRETE else of_raw)
        for name in files
    }


def report(done: dict[tuple[str, float], list[Outcome]]) -> str:
    header = ["", "ε", "1-way", "2-way", "lowest–highest", "3-way", "2-way / discretised", "seconds", "MB"]
    lines: list[list[object]] = []
    for (name, epsilon), outcomes in sorted(done.items(), key=lambda item: (item[0][1], item[0][0])):
        good = [outcome for outcome in outcomes if outcome.problem is None]
        if not good:
            lines.append([name, f"{epsilon:g}", outcomes[0].problem, *[""] * 6])
            continue
        spread = [outcome.scores["two_way"] for outcome in good]
        lines.append(
            [
                name,
                f"{epsilon:g}",
                _mean(good, "one_way"),
                _mean(good, "two_way"),
                f"{min(spread):.4f}–{max(spread):.4f}",
                _mean(good, "three_way"),
                ratio(done, name, epsilon),
                f"{np.mean([outcome.seconds for outcome in good]):.0f}",
                f"{max(outcome.megabytes for outcome in good):.0f}",
            ]
        )
    return table(
        "Raw Adult: numbers as numbers, NULLs as NULLs; both sides binned as the discretised table", header, lines
    )


def checks(done: dict[tuple[str, float], list[Outcome]]) -> list[Check]:
    """The raw table's two-way error is within 10 % of the discretised one's."""
    made = []
    for name, epsilon in done:
        found = ratio(done, name, epsilon)
        if name != DISCRETE and found is not None:
            made.append(Check(f"ε = {epsilon:g}: {name}, 2-way error within 10 %", f"{found:.3f}", found <= TOLERANCE))
    return made


def ratio(done: dict[tuple[str, float], list[Outcome]], name: str, epsilon: float) -> float | None:
    """The two-way error against the discretised table's at the same ε; None where one of them has none."""
    some, base = ([o for o in done.get((n, epsilon), []) if o.problem is None] for n in (name, DISCRETE))
    return _mean(some, "two_way") / _mean(base, "two_way") if some and base else None


def _task(
    train: Path, schema: Path, adult: Adult, delta: float, scores: Callable[[pa.Table], dict[str, float]]
) -> Task:
    return Task(train=train, schema=schema, rows=len(adult.train), delta=delta, scores=scores)


def _written(schema: Schema, path: Path) -> Path:
    path.write_text(schema.to_toml(), encoding="utf-8")
    return path


def _scores(adult: Adult, codes: np.ndarray) -> dict[str, float]:
    errors = marginal_errors(adult.train, codes, adult.sizes)
    return {"one_way": errors[1], "two_way": errors[2], "three_way": errors[3]}


def _mean(outcomes: Sequence[Outcome], measure: str) -> float:
    return float(np.mean([outcome.scores[measure] for outcome in outcomes]))
