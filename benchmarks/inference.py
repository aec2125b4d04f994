"""How often the intervals of releases hold the truth, and how long they are beside the errors that answers really have.

    python benchmarks/inference.py --repeats 200 --jobs 16 --results FILE [--first 0] [--report] [--each] [--write]

Each repeat draws a table from a law, releases it and asks all questions of questions.py, about the table itself and
about the law. The result of each is a line of JSON in FILE; a run that was stopped goes on where it ended, and files of
several machines (with other repeats: --first) are joined by `cat`. Then, or with --report alone, the tables are
printed; --write puts them into docs/answers.md. Answers come from noisy counts: the synthetic rows, which say only
how a population varies, are those of a rough fit. Noise comes from seeds, so that the tables can be made again.
"""

import argparse
import itertools
import json
import math
import multiprocessing
import os
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import households, predictors, workers
from benchmarks.predictors import PREDICTORS
from benchmarks.questions import HOUSEHOLDS, WORKERS, Question, arrays
from kernelease.table import Schema

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "answers.md"
PAGE = DOCUMENT.with_name("benchmarks-inference.md")
HELD = """# Intervals over three kinds of predictor

Written by `python benchmarks/inference.py --laws predictors --page`. Each cell: how often 95 % intervals hold, of all
answers; half their length over 1.96 root mean squared errors; in brackets the share that says little. Numbers are
even, log-normal (skewed), or 0 for nine in ten (spiked).

"""
OPENING, CLOSING = "<!-- written by benchmarks/inference.py -->\n", "<!-- end -->"
DELTA = 1e-6
LEVEL, Z = 0.95, 1.96
LAW = 2_000_000  # rows that stand for the law: their own sampling error is 1/8 of that of 30,000
WORDS = {"table": "about the table itself", "population": "about the law it was drawn from"}
TARGETS = tuple(WORDS)
METHOD = ke.Interactions(solver=ke.fit.MixtureSolver().rough())


@dataclass(frozen=True)
class Setup:
    """A law of tables, what is asked of them, and the numbers of rows and ε of its releases."""

    schema: Schema
    draw: Callable[[int, np.random.Generator], pa.Table]
    questions: Sequence[Question]
    settings: Sequence[tuple[int, float]]


SETUPS = {
    "households": Setup(
        households.SCHEMA,
        households.households,
        HOUSEHOLDS,
        [(rows, epsilon) for rows in (5_000, 30_000) for epsilon in (0.3, 1.0, 5.0)],
    ),
    "workers": Setup(
        workers.SCHEMA,
        workers.workers,
        WORKERS,
        [(rows, epsilon) for rows in (2_000, 20_000) for epsilon in (0.1, 1.0)],
    ),
    "predictors": Setup(
        predictors.SCHEMA, predictors.predictors, PREDICTORS, [(5_000, 1.0), (30_000, 1.0), (30_000, 5.0)]
    ),
}
Unit = tuple[str, int, float, int]  # a setup, rows, ε and a repeat: one release


@lru_cache
def law(name: str) -> tuple[tuple[float, ...], ...]:
    """What is true of the law, for each question."""
    rows = arrays(SETUPS[name].draw(LAW, np.random.default_rng(10**6)))
    return tuple(tuple(map(float, question.truth(rows))) for question in SETUPS[name].questions)


def released(unit: Unit) -> dict[str, Any]:
    """One release and its answers, each as [value, low, high, truth, says little] for both targets."""
    name, rows, epsilon, repeat = unit
    setup = SETUPS[name]
    table = setup.draw(rows, np.random.default_rng([rows, repeat]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a rough fit is rough, and a small ε weak
        release = ke.release(
            table,
            schema=setup.schema,
            privacy=ke.Privacy(epsilon=epsilon, delta=DELTA),
            method=METHOD,
            seed=repeat,
            noise=ke.SeededNoise(
                int(np.random.SeedSequence([rows, round(1000 * epsilon), repeat]).generate_state(1)[0])
            ),
        )
    own = arrays(table)
    answers: dict[str, list[Any]] = {target: [] for target in TARGETS}
    for question, general in zip(setup.questions, law(name), strict=True):
        truths = {"table": question.truth(own), "population": general}
        for target in TARGETS:
            answers[target].append(_asked(question, release, target, truths[target]))
    return {"unit": list(unit), **answers}


def _asked(question: Question, release: ke.Release, target: str, truths: Sequence[float]) -> list[Any]:
    """Each answer; a question that is refused has no interval, and says little."""
    try:
        estimates = question.ask(release, target)
    except ke.KerneleaseError:
        return [[math.nan, -math.inf, math.inf, float(truth), True] for truth in truths]
    return [
        [float(one), *map(float, one.interval(LEVEL)), float(truth), bool(one.says_little)]
        for one, truth in zip(estimates, truths, strict=True)
    ]


def run(units: Sequence[Unit], results: Path, jobs: int) -> None:
    """Release what is not in the file yet, and add a line for each."""
    done = {tuple(line["unit"]) for line in read(results)}
    left = [unit for unit in units if unit not in done]
    for name in {unit[0] for unit in left}:
        law(name)  # once, for all processes
    started = time.perf_counter()
    results.parent.mkdir(parents=True, exist_ok=True)
    if results.exists() and not results.read_bytes().endswith(b"\n"):  # a part of a line: what follows is not of it
        results.write_bytes(results.read_bytes() + b"\n")
    with results.open("a", encoding="utf-8") as file, multiprocessing.get_context("fork").Pool(jobs) as pool:
        for number, line in enumerate(pool.imap_unordered(released, left), 1):
            file.write(json.dumps(line) + "\n")
            file.flush()
            if number % 50 == 0 or number == len(left):
                print(f"{number} of {len(left)} releases, {time.perf_counter() - started:.0f} s", flush=True)


def read(results: Path) -> Iterator[dict[str, Any]]:
    """All whole lines of a file; a run that was killed may have left a part of one."""
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            continue


@dataclass
class Tally:
    """The answers to one question over all releases: (releases, 5), as `released` gives them."""

    answers: list[list[float]]

    @property
    def held(self) -> np.ndarray:
        """Whether each interval holds the truth; that of an answer "unknown" has no ends."""
        _, low, high, truth, _ = np.array(self.answers, dtype=float).T
        return np.isnan(low) | (low <= truth) & (truth <= high)

    @property
    def silent(self) -> np.ndarray:
        """Whether each answer says that it says little, or is unknown."""
        answers = np.array(self.answers, dtype=float)
        return (answers[:, 4] > 0.0) | np.isnan(answers[:, 1])

    @property
    def width(self) -> float:
        """Half the median interval over 1.96 root mean squared errors, of the answers that say something."""
        value, low, high, truth, little = np.array(self.answers, dtype=float).T
        told = (little == 0.0) & np.isfinite(value)
        if told.sum() < 5:
            return math.nan
        error = math.sqrt(float(np.mean((value[told] - truth[told]) ** 2)))
        return float(np.median((high - low)[told])) / 2.0 / (Z * error) if error > 0.0 else math.nan


Found = dict[tuple[int, float], dict[str, list[Tally]]]  # by setting, and by family or by question


def tallies(lines: Iterable[dict[str, Any]], name: str, target: str, *, each: bool) -> Found:
    """The answers of all releases of a law, by family, or with `each` by question."""
    found: dict[tuple[int, float], list[list[list[Any]]]] = defaultdict(list)
    for line in lines:
        if line["unit"][0] == name:
            found[line["unit"][1], line["unit"][2]].append(line[target])
    names = [question.words if each else question.family for question in SETUPS[name].questions]
    return {setting: _together(found[setting], names) for setting in sorted(found)}


def _together(releases: Sequence[Sequence[Any]], names: Sequence[str]) -> dict[str, list[Tally]]:
    together: dict[str, list[Tally]] = defaultdict(list)
    for place, name in enumerate(names):
        for answer in range(len(releases[0][place])):
            together[name].append(Tally([release[place][answer] for release in releases]))
    return dict(together)


def cell(parts: Sequence[Tally]) -> str:
    """Coverage in percent with its standard error (releases are independent, answers of one are not), and the width."""
    held = np.array([part.held for part in parts]).mean(axis=0)
    silent = float(np.mean([part.silent for part in parts]))
    widths = [part.width for part in parts if math.isfinite(part.width)]
    error = held.std(ddof=1) / math.sqrt(len(held)) if len(held) > 1 else math.nan
    told = f"{np.median(widths):.2f}" if widths else "-"
    return f"{100 * held.mean():.1f} ± {100 * error:.1f} / {told}" + (f" ({silent:.0%})" if silent > 0.005 else "")


def report(lines: Sequence[dict[str, Any]], *, each: bool = False) -> str:
    """A table for each law and target: families (or questions) down, settings across."""
    text = []
    for name, target in itertools.product(SETUPS, TARGETS):
        found = tallies(lines, name, target, each=each)
        if not found:
            continue
        settings = list(found.values())
        releases = min(len(next(iter(one.values()))[0].answers) for one in settings)
        head = ["", *(f"{rows:,}, ε = {epsilon:g}" for rows, epsilon in found)]
        body = [[words, *(cell(one[words]) for one in settings)] for words in settings[0]]
        text += [f"**{name.capitalize()}**, {WORDS[target]}, {releases} releases of each size and ε:", ""]
        text += ["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *body]] + [""]
    return "\n".join(text)


def write(text: str) -> None:
    """Into the document, in place of what was there."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(OPENING)
    after = rest.partition(CLOSING)[2]
    DOCUMENT.write_text(f"{before}{OPENING}\n{text}\n{CLOSING}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200, help="releases of each law, size and ε")
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat, for a second machine")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument(
        "--results", type=Path, default=Path("benchmarks/out/inference.jsonl"), help="file of lines, which is added to"
    )
    parser.add_argument(
        "--laws", nargs="*", choices=list(SETUPS), default=list(SETUPS), help="laws to draw tables from"
    )
    parser.add_argument("--report", action="store_true", help="release nothing: print what the file has")
    parser.add_argument("--each", action="store_true", help="a line for each question, not for each family")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/answers.md")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks-inference.md, of the predictors")
    options = parser.parse_args()
    repeats = range(options.first, options.first + options.repeats)
    units = [
        (name, *setting, repeat) for repeat in repeats for name in options.laws for setting in SETUPS[name].settings
    ]
    if not options.report:
        run(units, options.results, options.jobs)
    lines = list(read(options.results))
    print(report(lines, each=options.each))
    if options.write:
        write(report([line for line in lines if line["unit"][0] != "predictors"]))
    if options.page:
        told = report([line for line in lines if line["unit"][0] == "predictors"])
        PAGE.write_text(HELD + told.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
