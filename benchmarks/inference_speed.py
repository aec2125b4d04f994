"""CPU seconds of three things that analysts wait for, each the median of some runs.

    python benchmarks/inference_speed.py [--repeats 5]

A product of two numbers of the predictors' table (30,000 rows, ε = 1); `answers()` of a table of 60 columns; and the
first question to a bundle beyond loading it. Each run is in a process of its own and opens the bundle anew, so that
nothing is kept from the run before.
"""

import multiprocessing
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import inference

COLUMNS = 60
FOLDER = inference.OUT / "releases"


def wide() -> Path:
    """A bundle of 5,000 rows and 60 columns: numbers, categories and booleans."""
    path = FOLDER / "wide.zip"
    if path.exists():
        return path
    generator, text, columns = np.random.default_rng(0), "", {}
    for place in range(COLUMNS):
        name, kind = f"c{place}", place % 3
        text += f'[columns.{name}]\ntype = "{("number", "category", "boolean")[kind]}"\n'
        text += ("min = 0.0\nmax = 100.0\n", 'values = ["a", "b", "c", "d"]\n', "")[kind]
        columns[name] = (
            generator.uniform(0.0, 100.0, 5_000),
            generator.choice(list("abcd"), 5_000),
            generator.random(5_000) < 0.3,
        )[kind]
    release = ke.release(
        pa.table(columns),
        schema=ke.Schema.parse(text),
        privacy=(1.0, 1e-6),
        method=inference.METHOD,
        noise=ke.SeededNoise(0),
    )
    FOLDER.mkdir(parents=True, exist_ok=True)
    release.save(path)
    return path


def predictors() -> Path:
    """A bundle of the predictors' table."""
    unit = ("predictors", 30_000, 1.0, 0)
    inference.release_of(unit, FOLDER)
    return FOLDER / "predictors-30000-1-0.zip"


QUESTIONS: dict[str, tuple[Callable[[], Path], Callable[[ke.Release], Any], float]] = {
    "expectation of a product": (predictors, lambda r: r.ask.expectation(lambda t: t["skewed"] * t["visits"]), 0.5),
    "answers() of 60 columns": (wide, lambda r: str(r.answers()), 1.0),
    "first question, beyond loading": (predictors, lambda r: r.mean("even"), 0.1),
}


def seconds(name: str) -> float:
    """CPU seconds of one question to a bundle that was just loaded."""
    bundle, ask, _ = QUESTIONS[name]
    release = ke.load(bundle())
    started = time.process_time()
    ask(release)
    return time.process_time() - started


def report(repeats: int) -> str:
    """A line for each."""
    lines = ["| | CPU seconds, median (least to most) | asked |", "| --- | --- | --- |"]
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        for name, (bundle, _, most) in QUESTIONS.items():
            bundle()
            found = pool.map(seconds, [name] * repeats, chunksize=1)
            lines.append(f"| {name} | {np.median(found):.2f} ({min(found):.2f} to {max(found):.2f}) | {most:g} |")
    return "\n".join(lines)


def main() -> None:
    options = inference.options_of(__doc__, repeats=5, results="speed.jsonl").parse_args()
    inference.tell(report(options.repeats), options.results)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a rough fit is rough, and noise seeded
        main()
