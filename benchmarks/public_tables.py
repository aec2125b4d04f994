"""Public tables that are wide, long or nearly functional: releases with defaults, beside what real rows would score.

python benchmarks/public_tables.py                    br2000, stroke, fire, national2019: three runs each at ε = 1
python benchmarks/public_tables.py --only stroke --runs 1
"""

import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import pandas as pd

import kernelease as ke
from benchmarks.machine import described
from benchmarks.moments import LIMIT, apart

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
TABLES = SHARED / "data" / "tables"
NIST = "national2019"
NAMES = ("br2000", "stroke", "fire", NIST)
REQUIRED = {"br2000": (0.025, 0.062), "stroke": (0.048, 0.105), "fire": (0.068, 0.22)}  # two-way, three-way, at most
NIST_BIN = 5  # years of age


def main(
    *,
    only: Annotated[list[str] | None, typer.Option(help="A table's name; several times for several.")] = None,
    epsilon: Annotated[float, typer.Option(help="ε.")] = 1.0,
    delta: Annotated[float, typer.Option(help="δ.")] = 1e-9,
    runs: Annotated[int, typer.Option(min=1, help="Releases of each table.")] = 3,
) -> None:
    """Print errors, CPU seconds and memory of whole releases with default settings."""
    if not TABLES.is_dir():
        raise SystemExit(f"The public tables are not here: {TABLES}.")
    print(f"ε = {epsilon:g}, δ = {delta:g}, add-remove; kernelease {ke.__version__} on {described()}\n")
    privacy = ke.Privacy(epsilon=epsilon, delta=delta)
    for name in only or NAMES:
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn"), max_tasks_per_child=1) as alone:
            results = [alone.submit(_run, name, privacy, run).result() for run in range(runs)]
        print(f"{name:12}  {_told(name, results)}", flush=True)


def _run(name: str, privacy: ke.Privacy, run: int) -> dict[str, float]:
    """One release and its scores, in a process of its own. Only public randomness is seeded."""
    schema, rows = ke.Schema.load(TABLES / f"{name}.toml"), _rows(name)
    start = time.process_time()
    release = ke.release(rows, schema=schema, privacy=privacy, seed=run)
    seconds, memory = time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    with tempfile.TemporaryDirectory() as folder:
        scores = _scores(name, release.export(Path(folder, "rows.csv"), weights=False))
    away = apart(release)
    if away:
        scores |= {
            f"means and deviations beyond {LIMIT:g} standard errors": sum(z > LIMIT for z in away.values()),
            f"farthest of {len(away)}": max(away.values()),
        }
    return {**scores, "CPU s": seconds, "MB": memory}


def rows_file(name: str) -> Path:
    """Where the rows of a table lie."""
    return TABLES / ("national2019_ten.csv" if name == NIST else f"{name}_train.csv.gz")


def _rows(name: str) -> Any:
    return pd.read_csv(rows_file(name), **({"dtype": str, "keep_default_na": False} if name == NIST else {}))


def _scores(name: str, made: Path) -> dict[str, float]:
    """By the scorers that lie beside the tables."""
    if name == NIST:
        found = re.search(rf"\b{NIST_BIN}: (?:np\.float64\()?([0-9.]+)", _said("score_nist.py", rows_file(name), made))
        assert found is not None
        return {"NIST score": float(found[1])}
    errors = json.loads(_said("evaluate_table.py", rows_file(name), made, TABLES / f"{name}.toml"))["synthetic"]
    return {"two-way": errors["l1_2way"], "three-way": errors["l1_3way"]}


def _said(tool: str, *arguments: Path) -> str:
    command = [sys.executable, str(SHARED / "tools" / tool), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _told(name: str, results: list[dict[str, float]]) -> str:
    parts = []
    for what in results[0]:
        values = [result[what] for result in results]
        spread = f" ({min(values):.4g}–{max(values):.4g})" if len(values) > 1 else ""
        parts.append(f"{what} {statistics.mean(values):.4g}{spread}")
    if name in REQUIRED:
        parts.append("asked for: at most " + " / ".join(f"{value:g}" for value in REQUIRED[name]))
    return ", ".join(parts)


if __name__ == "__main__":
    typer.run(main)
