"""Other tables than Adult, with defaults: generated ones of 5 to 1,000 columns and 500 to 1,000,000 rows.

python benchmarks/other_tables.py              all of them, and one at several ε; writes the page
python benchmarks/other_tables.py --quick      the small ones
python benchmarks/other_tables.py --budgets    the one at several ε: more budget must not make it worse

Two-way error of ours beside the product of noisy one-way marginals at the same ε, rules that synthetic rows break
(there must be none), seconds and memory.
"""

import dataclasses
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from benchmarks.adult import ROOT
from benchmarks.checks import Check, table
from benchmarks.generated_tables import generated
from benchmarks.machine import described
from benchmarks.scoring_cells import MOST, ScoringCells
from benchmarks.table_contenders import Outcome, Task, contenders, one_run, save
from benchmarks.table_reports import markdown
from benchmarks.tables_scores import marginal_errors
from kernelease import Schema, __version__

TABLES = (  # kind, columns, rows
    ("banking", 5, 1_000),
    ("medical", 12, 5_000),
    ("banking", 14, 50_000),
    ("flights", 10, 200_000),
    ("medical", 30, 20_000),
    ("medical", 60, 100_000),
    ("flights", 12, 1_000_000),
    ("unrelated", 10, 5_000),
    ("medical", 200, 500),
    ("medical", 1_000, 5_000),
)
QUICK = 3  # of the tables above
BUDGETED = ("medical", 12, 5_000)
BUDGETS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
BY_CHANCE = 1.05  # of an error: two runs with the same budget differ by as much
DELTA = 1e-9
CONTENDERS = ("ours", "one-way")
HEADER = ("", "1-way", "2-way", "product: 1-way", "2-way", "2-way / product", "rules broken", "seconds", "MB")


def main(
    *,
    quick: Annotated[bool, typer.Option("--quick", help="The small tables alone.")] = False,
    budgets: Annotated[bool, typer.Option("--budgets", help="One table at several ε instead.")] = False,
    epsilon: Annotated[float, typer.Option(help="ε.")] = 1.0,
    delta: Annotated[float, typer.Option(help="δ.")] = DELTA,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each.")] = 1,
    limit: Annotated[float, typer.Option(help="Seconds that one run may take.")] = 600.0,
    out: Annotated[Path, typer.Option(help="Folder for JSON.")] = ROOT / "benchmarks" / "results",
    document: Annotated[Path, typer.Option(help="The page to write.")] = ROOT / "docs" / "benchmarks-other.md",
) -> None:
    """Compare releases of generated tables."""
    if budgets:
        print(*budget_checks(by_budget(delta=delta, runs=runs, limit=limit)), sep="\n")
        return
    everyone = [contender for contender in contenders() if contender.name in CONTENDERS]
    done: dict[str, list[Outcome]] = {}
    for kind, columns, rows in TABLES[:QUICK] if quick else TABLES:
        name = _name(kind, columns, rows)
        with tempfile.TemporaryDirectory() as folder:
            task = generated_task(kind, columns, rows, Path(folder), delta=delta)
            done[name] = [
                one_run(contender, task, epsilon, run, limit=limit) for contender in everyone for run in range(runs)
            ]
        print(name, *map(_progress, done[name]), sep="; ", flush=True)
        records = [dataclasses.replace(o, contender=f"{o.contender}: {each}") for each in done for o in done[each]]
        save(records, out / "other-tables.json", version=__version__, machine=described(), delta=delta)
    print(table(_title(epsilon, delta), HEADER, lines(done)), *checks(done), sep="\n")
    if not quick:
        errors = by_budget(delta=delta, runs=runs, limit=limit)
        print(*budget_checks(errors), sep="\n")
        document.write_text(page(done, errors, epsilon=epsilon, delta=delta))


def by_budget(*, delta: float, runs: int, limit: float) -> dict[float, float]:
    """The mean two-way error of one table at each ε."""
    (ours,) = (contender for contender in contenders() if contender.name == "ours")
    kind, columns, rows = BUDGETED
    errors = {}
    with tempfile.TemporaryDirectory() as folder:
        task = generated_task(kind, columns, rows, Path(folder), delta=delta)
        for epsilon in BUDGETS:
            errors[epsilon] = _mean([one_run(ours, task, epsilon, run, limit=limit) for run in range(runs)], "two_way")
            print(f"{_name(*BUDGETED)}, ε = {epsilon:g}: {errors[epsilon]:.4f}", flush=True)
    return errors


def budget_checks(errors: dict[float, float]) -> list[Check]:
    """The error must not rise from one ε to the next."""
    return [
        Check(f"ε = {more:g} is no worse than {less:g}", f"{after:.4f} after {before:.4f}", after <= BY_CHANCE * before)
        for (less, before), (more, after) in itertools.pairwise(errors.items())
    ]


def generated_task(kind: str, columns: int, rows: int, folder: Path, *, delta: float) -> Task:
    """A generated table as a Parquet file with its schema; scores in cells of the real table."""
    real, schema = generated(kind, columns=columns, rows=rows)
    pq.write_table(real, folder / "train.parquet")
    (folder / "schema.toml").write_text(schema.to_toml(), encoding="utf-8")
    cells = ScoringCells.of(schema, real)

    def scores(synthetic: pa.Table) -> dict[str, float]:
        errors = marginal_errors(cells.encode(real), cells.encode(synthetic), cells.sizes, ways=(1, 2))
        return {"one_way": errors[1], "two_way": errors[2], "broken": float(broken(schema, synthetic))}

    return Task(train=folder / "train.parquet", schema=folder / "schema.toml", rows=rows, delta=delta, scores=scores)


def broken(schema: Schema, synthetic: pa.Table) -> int:
    """How many rows break a rule of the schema."""
    rows = synthetic.select(list(schema.names)).cast(schema.arrow_schema())
    kept = np.ones(rows.num_rows, dtype=bool)
    for rule in schema.constraints:
        kept &= rule.holds(rows)
    return int((~kept).sum())


def lines(done: dict[str, list[Outcome]]) -> list[list[str]]:
    """A row of figures for each table."""
    made = []
    for name, outcomes in done.items():
        ours, product = ([o for o in outcomes if o.contender == who and not o.problem] for who in CONTENDERS)
        if not ours or not product:
            made.append([name, *(["–"] * 7), next(o.problem for o in outcomes if o.problem)])
            continue
        figures = [_mean(ours, "one_way"), _mean(ours, "two_way"), _mean(product, "one_way"), _mean(product, "two_way")]
        cost = [f"{max(o.seconds for o in ours):.0f}", f"{max(o.megabytes for o in ours):.0f}"]
        shown = [f"{figure:.4f}" for figure in figures]
        made.append([name, *shown, f"{figures[1] / figures[3]:.2f}", f"{_mean(ours, 'broken'):.0f}", *cost])
    return made


def page(done: dict[str, list[Outcome]], errors: dict[float, float], *, epsilon: float, delta: float) -> str:
    """The page of the documentation, made by a run alone."""
    runs = max(outcome.run for outcomes in done.values() for outcome in outcomes) + 1
    parts = [
        "# Generated tables: kernelease beside noisy single columns",
        f"Made by `make bench-other` with kernelease {__version__} on {described()}.",
        f"{_title(epsilon, delta)} of all columns and of all pairs; numbers and dates are compared in {MOST} cells. "
        "The product draws each column by itself from its noisy counts, with the whole budget on them. Mean of "
        f"{runs} runs each; seconds and MB are of the slowest and the largest whole process of ours.",
        markdown(HEADER, lines(done)),
        f"{_name(*BUDGETED)}, two-way error by ε:",
        markdown([f"ε = {budget:g}" for budget in errors], [[f"{error:.4f}" for error in errors.values()]]),
        "\n".join(f"- {check}" for check in [*checks(done), *budget_checks(errors)]),
    ]
    return "\n\n".join(parts) + "\n"


def checks(done: dict[str, list[Outcome]]) -> list[Check]:
    """Nothing fails, no rule is broken, and we are below the product of one-way marginals."""
    made = []
    for name, outcomes in done.items():
        problems = [outcome.problem for outcome in outcomes if outcome.problem]
        if problems:
            made.append(Check(f"{name}: released", problems[0], holds=False))
            continue
        ours, product = (_mean([o for o in outcomes if o.contender == who], "two_way") for who in CONTENDERS)
        made.append(Check(f"{name}: below the product", f"{ours:.4f} against {product:.4f}", ours < product))
        rules = sum(outcome.scores["broken"] for outcome in outcomes)
        made.append(Check(f"{name}: every row keeps the rules", f"{rules:.0f} rows do not", rules == 0))
    return made


def _progress(outcome: Outcome) -> str:
    return (
        f"{outcome.contender}: {outcome.problem or format(outcome.scores['two_way'], '.4f')}, {outcome.seconds:.0f} s"
    )


def _name(kind: str, columns: int, rows: int) -> str:
    return f"{kind}, {columns:,} columns, {rows:,} rows"


def _title(epsilon: float, delta: float) -> str:
    return f"Generated tables, ε = {epsilon:g}, δ = {delta:g}, defaults: mean L1 error"


def _mean(outcomes: list[Outcome], measure: str) -> float:
    return float(np.mean([outcome.scores[measure] for outcome in outcomes]))


if __name__ == "__main__":
    typer.run(main)
