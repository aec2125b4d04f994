"""How often the intervals of whole releases hold the truth, how long they are, and what a naive analysis does.

`make bench-inference` releases a simulated table again and again, asks each release the same questions, and writes one
table into docs/estimates.md. Three ways to an interval are compared: ours; *oracle*, which knows how far our estimates
really are from the truth (3.92 times their root mean squared error); and *naive*, which treats the synthetic rows as
if they were real ones. Noise comes from seeds, so that the table can be made again.
"""

import argparse
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import kernelease as ke
from kernelease.analysis import Estimate

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "estimates.md"
OPENING, CLOSING = "<!-- written by benchmarks/inference.py -->\n", "<!-- end -->"
SETTINGS = [(rows, epsilon) for rows in (2_000, 20_000) for epsilon in (0.1, 1.0)]
Z = 1.96

SCHEMA = ke.Schema.parse(
    """
    [table]
    name = "people"
    [columns.age]
    type = "integer"
    min = 18
    max = 65
    [columns.sex]
    type = "category"
    values = ["F", "M"]
    [columns.school]
    type = "category"
    values = ["none", "some", "much"]
    [columns.hours]
    type = "number"
    min = 0.0
    max = 80.0
    cells = 32
    nullable = true
    [columns.kids]
    type = "integer"
    min = 0
    max = 5
    """
)


def people(rows: int, seed: int = 0) -> pa.Table:
    """A table of mixed types, in which columns depend on each other."""
    generator = np.random.default_rng(seed)
    age = np.clip(generator.normal(40.0, 12.0, rows), 18, 65).astype(np.int64)
    sex = np.where(generator.random(rows) < 0.45 + 0.002 * (age - 40), "F", "M")
    school = np.array(["none", "some", "much"])[np.clip(generator.normal(age / 30.0, 0.7), 0.0, 2.99).astype(int)]
    hours = np.clip(generator.normal(30.0 + 0.3 * (age - 40) + 4.0 * (sex == "M"), 9.0), 0.0, 80.0)
    kids = np.clip(generator.poisson(0.05 * (age - 18)), 0, 5)
    missing = generator.random(rows) < 0.08
    return pa.table({"age": age, "sex": sex, "school": school, "hours": pa.array(hours, mask=missing), "kids": kids})


Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Question:
    """What is asked of a release; of rows it is a list of numbers whose mean is the answer, or a correlation."""

    words: str
    ask: Callable[[ke.Release], Estimate]
    numbers: Callable[[Arrays], np.ndarray] | None = None
    pair: tuple[str, str] | None = None

    def of_rows(self, rows: Arrays) -> tuple[float, float]:
        """The value and the standard error that the rows themselves would give."""
        if self.pair is not None:
            value = float(np.corrcoef(rows[self.pair[0]], rows[self.pair[1]])[0, 1])
            return value, (1.0 - value * value) / math.sqrt(len(rows["age"]))
        numbers = self.numbers(rows)
        return float(numbers.mean()), float(numbers.std() / math.sqrt(max(1, len(numbers))))


QUESTIONS = [
    Question("mean of age", lambda r: r.mean("age"), lambda t: t["age"]),
    Question(
        "P(age ≥ 40, F)",
        lambda r: r.probability("age >= 40 and sex == 'F'"),
        lambda t: ((t["age"] >= 40) & (t["sex"] == "F")).astype(float),
    ),
    Question(
        "mean of age, much school",
        lambda r: r.mean("age", where="school == 'much'", spread="even"),
        lambda t: t["age"][t["school"] == "much"],
    ),
    Question(
        "P(kids ≥ 2 given M)",
        lambda r: r.probability("kids >= 2", where="sex == 'M'"),
        lambda t: (t["kids"][t["sex"] == "M"] >= 2).astype(float),
    ),
    Question("correlation of age, kids", lambda r: r.correlation("age", "kids"), pair=("age", "kids")),
    Question("mean of hours (in cells)", lambda r: r.mean("hours"), lambda t: t["hours"][~np.isnan(t["hours"])]),
    Question(
        "P(4 columns)",
        lambda r: r.probability("age >= 40 and sex == 'F' and kids >= 1 and school == 'much'"),
        lambda t: ((t["age"] >= 40) & (t["sex"] == "F") & (t["kids"] >= 1) & (t["school"] == "much")).astype(float),
    ),
]


@dataclass
class Tally:
    """Over all releases of one table: hits at 90 and 95 %, lengths, errors, and the naive hits at 95 %."""

    hits: list[int]
    lengths: list[float]
    errors: list[float]
    naive: int = 0

    def line(self, words: str, rows: int, epsilon: float) -> str:
        count = len(self.lengths)
        oracle = 2.0 * Z * math.sqrt(float(np.mean(np.square(self.errors))))
        shares = [f"{hits / count:.0%}" for hits in self.hits]
        cells = [words, f"{rows:,}", f"{epsilon:g}", *shares, f"{np.median(self.lengths):.3g}", f"{oracle:.3g}"]
        return "| " + " | ".join([*cells, f"{self.naive / count:.0%}"]) + " |"


def arrays(table: pa.Table) -> Arrays:
    return {name: table.column(name).to_numpy() for name in SCHEMA.names}


def run(rows: int, epsilon: float, repeats: int) -> list[str]:
    """The lines of one setting."""
    table = people(rows)
    truths = [question.of_rows(arrays(table))[0] for question in QUESTIONS]
    tallies = [Tally([0, 0], [], []) for _ in QUESTIONS]
    for repeat in range(repeats):
        privacy = ke.Privacy(epsilon=epsilon, delta=1e-6)
        release = ke.release(table, schema=SCHEMA, privacy=privacy, seed=repeat, noise=ke.SeededNoise(repeat))
        synthetic = arrays(release.rows)
        for question, truth, tally in zip(QUESTIONS, truths, tallies, strict=True):
            estimate = question.ask(release)
            for place, level in enumerate((0.9, 0.95)):
                low, high = estimate.interval(level)
                tally.hits[place] += low <= truth <= high
            tally.lengths.append(high - low)
            tally.errors.append(float(estimate) - truth)
            value, error = question.of_rows(synthetic)
            tally.naive += abs(value - truth) <= Z * error
    return [tally.line(question.words, rows, epsilon) for question, tally in zip(QUESTIONS, tallies, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=40, help="releases of each table")
    parser.add_argument("--print", action="store_true", help="print the table, and leave the document alone")
    options = parser.parse_args()
    head = ["question", "rows", "ε", "90 % held", "95 % held", "median length", "oracle's", "naive 95 % held"]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
    started = time.perf_counter()
    for rows, epsilon in SETTINGS:
        lines += run(rows, epsilon, options.repeats)
        print("\n".join(lines[-len(QUESTIONS) :]), flush=True)
    note = f"{options.repeats} releases of each table, δ = 1e-6; the last three columns are about 95 % intervals."
    text = "\n".join([note, "", *lines, ""])
    print(f"{time.perf_counter() - started:.0f} s")
    if not options.print:
        content = DOCUMENT.read_text(encoding="utf-8")
        before, _, rest = content.partition(OPENING)
        _, _, after = rest.partition(CLOSING)
        DOCUMENT.write_text(f"{before}{OPENING}\n{text}\n{CLOSING}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
