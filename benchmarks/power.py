"""Power and level of tests through releases of a mixed table, and of tests on its rows, each for one ε.

    python benchmarks/power.py [--repeats 200] [--processes 2]

People with 8 columns: a skewed wage, a cost that is mostly 0, heights with NULL, categories of 2, 5 and 20 values; or
with 4 of them. Heights and masses have a correlation of ρ, ages are normal with a standard deviation of 16. ε = 1 and
the level is 0.05. Measurements have δ = 1e-6 and no sets of three, so that nothing has to be fitted; where two releases
are compared, fresh rows of the population stand for their synthetic rows.
"""

import math
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks.checks import table
from kernelease.analysis.comparisons.column_tests import independence_test
from kernelease.analysis.comparisons.mean_embedding import common_coordinates
from kernelease.analysis.comparisons.score_tests import release_scores
from kernelease.analysis.comparisons.tables import sample_of_table
from kernelease.analysis.comparisons.two_sample import AgainstRelease
from kernelease.analysis.estimate import Target
from kernelease.measured.blocks import NoisyBlocks

CODES = [f"k{number}" for number in range(20)]
EIGHT = ke.Schema.parse(f"""
    [table]
    name = "people"
    [columns.age]
    type = "integer"
    min = 18
    max = 90
    [columns.height]
    type = "number"
    min = 140.0
    max = 210.0
    nullable = true
    [columns.mass]
    type = "number"
    min = 30.0
    max = 150.0
    [columns.sex]
    type = "category"
    values = ["F", "M"]
    [columns.wage]
    type = "number"
    min = 0.0
    max = 500.0
    [columns.cost]
    type = "number"
    min = 0.0
    max = 1000.0
    [columns.ward]
    type = "category"
    values = ["a", "b", "c", "d", "e"]
    [columns.code]
    type = "category"
    values = {CODES!r}
""")
FOUR = replace(EIGHT, columns=EIGHT.columns[:4], order=())
EPSILON, LEVEL, DRAWS = 1.0, 0.05, 199
Run = Callable[[int], bool]


def people(generator: np.random.Generator, count: int, *, rho: float = 0.0, older: float = 0.0) -> pa.Table:
    """Rows of all eight columns; `rho` is the correlation of height and mass, `older` adds years."""
    age = np.clip(generator.normal(48.0 + older, 16.0, count), 18.0, 90.0).astype(np.int64)
    sex = np.where(generator.random(count) < 0.5, "F", "M")
    wage = np.exp(generator.normal(3.5, 0.7, count) + 0.2 * (sex == "M"))
    cost = np.where(generator.random(count) < 0.6, 0.0, np.exp(generator.normal(4.0, 1.0, count) + 0.01 * (age - 48)))
    tall = generator.normal(size=count)
    heavy = rho * tall + math.sqrt(1.0 - rho**2) * generator.normal(size=count)
    missing = generator.random(count) < 0.05
    shares = 1.0 / np.arange(1, len(CODES) + 1)
    return pa.table(
        {
            "age": age,
            "height": pa.array(np.clip(172.0 + 9.0 * tall, 140.0, 210.0), mask=missing),
            "mass": np.clip(75.0 + 14.0 * heavy, 30.0, 150.0),
            "sex": sex,
            "wage": np.clip(wage, 0.0, 500.0),
            "cost": np.clip(cost, 0.0, 1000.0),
            "ward": generator.choice(list("abcde"), count, p=[0.4, 0.25, 0.2, 0.1, 0.05]),
            "code": generator.choice(CODES, count, p=shares / shares.sum()),
        }
    )


def measured(rows: pa.Table, schema: ke.Schema, seed: int) -> NoisyBlocks:
    """All that a release would measure, but for sets of three."""
    return ke.measure(
        rows.select(list(schema.names)),
        schema=schema,
        privacy=ke.Privacy(epsilon=EPSILON, delta=1e-6),
        method=ke.Interactions(triples=0),
        noise=ke.SeededNoise(seed),
    ).measured


def dependence(seed: int, *, schema: ke.Schema, rows: int, rho: float) -> bool:
    """Whether a release rejects that height and mass are independent."""
    noisy = measured(people(np.random.default_rng(seed), rows, rho=rho), schema, seed)
    return independence_test(noisy, schema, "height", "mass", draws=DRAWS, seed=seed).rejects(LEVEL)


def two_releases(seed: int, *, schema: ke.Schema, rows: int, older: float) -> bool:
    """Whether two releases reject that their tables come from one distribution."""
    generator = np.random.default_rng(seed)
    tables = people(generator, rows), people(generator, rows, older=older)
    one, other = (measured(each, schema, 2 * seed + place) for place, each in enumerate(tables))
    stand_in = sample_of_table(people(generator, 1_000).select(list(schema.names)), schema)
    first, second = common_coordinates([one, other], schema.columns)
    comparison = AgainstRelease(released=(first, second), fitted=(lambda: stand_in, lambda: stand_in), seed=seed)
    result = comparison.test(Target.POPULATION, DRAWS)
    return result.with_scores(release_scores(one, other, schema.columns)).rejects(LEVEL)


def dependence_of_rows(seed: int, *, rows: int, rho: float) -> bool:
    """The same of the rows, by dpHSIC."""
    return ke.private_independence_test(
        people(np.random.default_rng(seed), rows, rho=rho),
        *("height", "mass"),
        schema=EIGHT,
        privacy=(EPSILON, 0.0),
        level=LEVEL,
        draws=DRAWS,
        noise=ke.SeededNoise(seed),
    ).rejected


def two_tables(seed: int, *, rows: int, older: float) -> bool:
    """The same of two tables' rows, by dpMMD."""
    generator = np.random.default_rng(seed)
    return ke.private_two_sample_test(
        people(generator, rows),
        people(generator, rows, older=older),
        schema=EIGHT,
        privacy=(EPSILON, 0.0),
        level=LEVEL,
        draws=DRAWS,
        noise=ke.SeededNoise(seed),
    ).rejected


def runs() -> dict[str, tuple[Run, Run]]:
    """Each test under an alternative, and under the hypothesis."""
    found: dict[str, tuple[Run, Run]] = {}
    for schema, name in ((FOUR, "4 columns"), (EIGHT, "8 columns")):
        for rows, rho in ((5_000, 0.3), (30_000, 0.1)):
            pair = (partial(dependence, schema=schema, rows=rows, rho=strength) for strength in (rho, 0.0))
            found[f"release, {name}, {rows:,} rows: independence, ρ = {rho:g}"] = next(pair), next(pair)
        pair = (partial(two_releases, schema=schema, rows=5_000, older=years) for years in (2.0, 0.0))
        found[f"two releases, {name}, 5,000 rows each: age + 2"] = next(pair), next(pair)
    pair = (partial(dependence_of_rows, rows=5_000, rho=strength) for strength in (0.1, 0.0))
    found["rows, 5,000 of them: independence, ρ = 0.1"] = next(pair), next(pair)
    pair = (partial(two_tables, rows=5_000, older=years) for years in (1.0, 0.0))
    found["rows of two tables, 5,000 each: age + 1"] = next(pair), next(pair)
    return found


def main(
    repeats: Annotated[int, typer.Option(help="Repeats of each figure.", min=20)] = 200,
    processes: Annotated[int, typer.Option(help="Processes that share the work.", min=1)] = 1,
) -> None:
    """Print the table."""
    rows: list[tuple[object, ...]] = []
    with ProcessPoolExecutor(processes) as pool:
        for name, both in runs().items():
            shares = [float(np.mean(list(pool.map(run, range(repeats), chunksize=4)))) for run in both]
            rows.append((name, *shares))
            print(name, *shares, flush=True)
    title = f"Rejected at level {LEVEL} ({repeats} repeats: standard error at most {0.5 / math.sqrt(repeats):.3f})"
    print(table(title, ("test at ε = 1", "under the alternative", "under the hypothesis"), rows))


if __name__ == "__main__":
    typer.run(main)
