"""Tables: ours beside the peers, on one split of the Adult data, in one table of error, AUC, time and memory.

python benchmarks/tables.py             discretised Adult: ours, the product of one-way marginals, the peers
python benchmarks/tables.py --raw       raw Adult beside the discretised one: numbers as numbers, NULLs as NULLs
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import pyarrow.csv
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from benchmarks import raw_adult
from benchmarks.adult import FOLDER, ROOT, SCHEMA, TARGET, Adult, MissingDataError
from benchmarks.machine import described
from benchmarks.table_contenders import (
    KEPT,
    PEERS_PYTHON,
    Contender,
    Outcome,
    Task,
    contenders,
    kept,
    numbered,
    outcomes,
    save,
)
from benchmarks.table_reports import HEADER, checks, markdown, rows, text
from benchmarks.tables_scores import accuracy, can_predict, marginal_errors
from kernelease import __version__
from kernelease.arrays import Integers

DELTA = 1e-9
EPSILONS = (0.1, 1.0, 10.0)
TITLE = "Discretised Adult: mean L1 error of all 1-, 2- and 3-way marginals, and AUC on real test rows"
LEGEND = (
    "Mean (lowest–highest) over runs; ✓✓ the aim is met, ✓ what is required, ✗ neither. "
    "AUC is LightGBM's. Seconds and MB are of the whole process, imports and files included."
)


def main(
    *,
    data: Annotated[Path, typer.Option(help="The folder of the Adult files.")] = FOLDER,
    epsilon: Annotated[list[float] | None, typer.Option(help="ε; several times for several (0.1, 1 and 10).")] = None,
    delta: Annotated[float, typer.Option(help="δ.")] = DELTA,
    runs: Annotated[int, typer.Option(min=1, help="Runs of each contender at each ε.")] = 3,
    peer_runs: Annotated[int | None, typer.Option(min=1, help="Runs of a peer, if other: they take minutes.")] = None,
    limit: Annotated[float, typer.Option(help="Seconds that one run may take.")] = 600.0,
    target: Annotated[str, typer.Option(help="The column to name as the target.")] = TARGET,
    only: Annotated[list[str] | None, typer.Option(help="A contender's name; several times for several.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep earlier outcomes of contenders not run now.")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="Raw Adult beside the discretised one, ours alone.")] = False,
    dpsynth: Annotated[Path | None, typer.Option(help="A checkout of google/dpsynth.")] = None,
    private_pgm: Annotated[Path | None, typer.Option(help="A checkout of private-pgm.")] = None,
    peers_python: Annotated[Path, typer.Option(help="The Python that has the peers' packages.")] = PEERS_PYTHON,
    out: Annotated[Path, typer.Option(help="Folder for JSON.")] = ROOT / "benchmarks" / "results",
    document: Annotated[Path, typer.Option(help="The page to write.")] = ROOT / "docs" / "benchmarks-tables.md",
) -> None:
    """Compare releases of the Adult table."""
    everyone = contenders(peers_python=peers_python, dpsynth=dpsynth, private_pgm=private_pgm)
    names = [contender.name for contender in everyone]
    if not set(only or ()) <= set(names):
        typer.echo(f"--only: the contenders are {', '.join(names)}.", err=True)
        raise typer.Exit(2)
    chosen = [contender for contender in everyone if only is None or contender.name in only]
    epsilons = tuple(epsilon or EPSILONS)
    try:
        if raw:
            raw_adult.main(data, epsilons, delta=delta, runs=runs, limit=limit, out=out)
            return
        adult = Adult.load(data)
    except MissingDataError as error:
        typer.echo(f"--data: {error}", err=True)
        raise typer.Exit(2) from None
    if not can_predict():
        typer.echo("LightGBM and scikit-learn are not installed, so there is no AUC: `make bench-tables` has them.")
    settings = {"delta": delta, "rows": len(adult.train)}
    earlier = (KEPT / "adult.json", out / "tables.json")
    done = kept(earlier, [contender.name for contender in chosen], settings) if keep else []
    done += references(adult)
    with tempfile.TemporaryDirectory() as folder:
        task = adult_task(adult, Path(folder), delta=delta, target=target)
        for outcome in outcomes(chosen, task, epsilons, runs=runs, peer_runs=peer_runs or runs, limit=limit):
            done.append(outcome)
            print(progress(outcome), flush=True)
            save(done, out / "tables.json", version=__version__, machine=described(), **settings)
    print(text(TITLE, everyone, done), LEGEND, *checks(done), sep="\n")
    document.write_text(page(everyone, done, delta=delta, rows_out=len(adult.train)))
    print(f"\nAll runs are in {out / 'tables.json'}, the table in {document}.")


def adult_task(adult: Adult, folder: Path, *, delta: float, target: str = TARGET) -> Task:
    """The train rows as a file, to be released by anyone, and the scores against them."""
    train, domain = folder / "train.csv", folder / "domain.json"
    pyarrow.csv.write_csv(adult.table(adult.train), train)
    domain.write_text(json.dumps(dict(zip(adult.names, adult.sizes, strict=True))))

    def scores(table: pa.Table) -> dict[str, float]:
        return scored(adult, numbered(table, adult.names, adult.sizes))

    return Task(
        train=train,
        schema=SCHEMA,
        rows=len(adult.train),
        delta=delta,
        scores=scores,
        domain=domain,
        target=target,
    )


def scored(adult: Adult, codes: Integers, *, predict: bool = True) -> dict[str, float]:
    """All scores of synthetic rows."""
    errors = marginal_errors(adult.train, codes, adult.sizes)
    scores = {"one_way": errors[1], "two_way": errors[2], "three_way": errors[3]}
    if predict and can_predict():
        learned = accuracy(codes, adult.test, adult.sizes, target=adult.target, numeric=adult.numeric)
        scores |= {"auc": learned.lightgbm, "auc_logistic": learned.logistic}
    return scores


def references(adult: Adult) -> list[Outcome]:
    """The real rows themselves, and other real rows of the same kind. Not private, for orientation."""
    fresh = f"a fresh real sample of {len(adult.test):,} rows"
    return [
        Outcome(contender="training on the real rows", epsilon=0.0, run=0, scores=scored(adult, adult.train)),
        Outcome(contender=fresh, epsilon=0.0, run=0, scores=scored(adult, adult.test, predict=False)),
    ]


def progress(outcome: Outcome) -> str:
    what = f"{outcome.contender}, ε = {outcome.epsilon:g}, run {outcome.run + 1}"
    if outcome.problem is not None:
        return f"{what}: {outcome.problem}"
    shown = ", ".join(f"{name} {value:.4f}" for name, value in outcome.scores.items())
    return f"{what}: {shown}; {outcome.seconds:.0f} s, {outcome.megabytes:.0f} MB"


def command(arguments: list[str]) -> str:
    """How the benchmark was started, without the paths of this machine."""
    if len(arguments) == 1:
        return "make bench-tables"
    shown = ["PATH" if "/" in argument else argument for argument in arguments[1:]]
    return " ".join(["python benchmarks/tables.py", *shown])


def page(everyone: tuple[Contender, ...], done: list[Outcome], *, delta: float, rows_out: int) -> str:
    """The page of the documentation, made by a run alone."""
    settings = f"add-remove neighbours, δ = {delta:g}, {rows_out:,} rows from each contender"
    earlier = (
        ["† from an earlier run of the benchmark, whose times and these do not compare.", ""]
        if any(outcome.kept for outcome in done)
        else []
    )
    lines = [
        "# Tables: kernelease beside its peers",
        "",
        f"Made by `{command(sys.argv)}` with kernelease {__version__} on {described()}.",
        "",
        f"{TITLE}; {settings}. {LEGEND}",
        "",
        markdown(HEADER, rows(everyone, done)),
        "",
        *earlier,
        *(f"- {check}" for check in checks(done)),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    typer.run(main)
