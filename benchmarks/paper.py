"""The paper's Figures 1 and 2: our numbers beside the published ones, as tables, JSON and plots.

python benchmarks/paper.py              everything, into benchmarks/results
python benchmarks/paper.py release …    the algorithms as a tool, on your own array
"""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from benchmarks import reports
from benchmarks.mixtures import DIMENSIONS, ROWS
from benchmarks.published import DELTA
from benchmarks.release import release
from benchmarks.reproduction import Effort, parts, private_truth

HERE = Path(__file__).resolve().parent

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
app.command()(release)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer points and repeats: two minutes, rougher.")] = False,
    dimension: Annotated[list[int] | None, typer.Option(help="2 or 5 columns; both if not given.")] = None,
    repeats: Annotated[int | None, typer.Option(min=2, help="Draws of noise in Algorithm 1 (20).")] = None,
    recompute: Annotated[bool, typer.Option("--recompute", help="Also the 10^10 kernel values behind ‖μ‖².")] = False,
    out: Annotated[Path, typer.Option(help="Folder for JSON and plots.")] = HERE / "results",
) -> None:
    """Reproduce Figures 1 and 2 of the paper."""
    if context.invoked_subcommand is not None:
        return
    chosen = tuple(dimension or DIMENSIONS)
    if not set(chosen) <= set(DIMENSIONS):
        typer.echo("--dimension: the paper has data of 2 and of 5 columns.", err=True)
        raise typer.Exit(2)
    from benchmarks import figures  # noqa: PLC0415  the tool below does without the plotting extra

    effort = Effort.quick() if quick else Effort()
    results = run(chosen, effort if repeats is None else effort.with_repeats(repeats), recompute=recompute)
    out.mkdir(parents=True, exist_ok=True)
    (out / "paper.json").write_text(json.dumps(results, indent=1) + "\n")
    for name, chart in figures.all_figures(results).items():
        figures.save(chart, out / name)
    if effort.slow and chosen == DIMENSIONS:  # the figure of the README is made by a whole run only
        figures.save(
            figures.error_vs_epsilon(results), HERE.parent / "docs" / "pictures" / "error-vs-epsilon", png=False
        )
    print(f"\nResults and plots are in {out}.")


def run(dimensions: tuple[int, ...], effort: Effort, *, recompute: bool = False) -> dict[str, Any]:
    """All parts for each data set, printed as they come."""
    results: dict[str, Any] = {"rows": ROWS, "delta": DELTA, "repeats": effort.repeats, "runs": effort.runs}
    checks, seconds = [], {}
    for dimension in dimensions:
        truth = private_truth(dimension, recompute=recompute)
        record: dict[str, Any] = {"mean_gram": truth.energy}
        for name, part in parts(truth, dimension, effort).items():
            start = time.perf_counter()
            done = part()
            seconds[f"D{dimension} {name}"] = round(time.perf_counter() - start, 1)
            record[name] = done.record
            checks += [(f"D = {dimension}", check) for check in done.checks]
            print(reports.part(name, dimension, done), flush=True)
        results[f"D{dimension}"] = record
    results["seconds"] = seconds
    results["checks"] = [
        {"data": data, "claim": check.claim, "numbers": check.numbers, "holds": check.holds} for data, check in checks
    ]
    print(reports.summary(results), flush=True)
    return results


if __name__ == "__main__":
    app()
