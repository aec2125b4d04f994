"""Levels and power of all tests, on releases and on rows, beside the same tests without privacy.

    python benchmarks/inference_tests.py [--repeats 1000] [--jobs 2] [--calibrate]

Each line is a test at level 0.05, with fresh rows and fresh noise in each repeat: how often it rejects where its
hypothesis is true, and where it is not, and how often the non-private test on such rows does. Power is told from a
quarter of the repeats. Repeats run in batches, which are kept as lines of JSON: a run that was stopped goes on.

*Through releases* (δ = 1e-6, no sets of three, so that nothing has to be fitted; where two are compared, fresh rows of
the population stand for their synthetic rows) the alternatives of tables of 20,000 rows and 4 columns are such that the
non-private MMD test has power 0.8; `--calibrate` finds their scales anew. *On rows*, at ε = 1, heights and masses have
a correlation of ρ, and ages are normal with a standard deviation of 16.
"""

import math
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import stats

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import inference
from benchmarks.simulated import SCHEMA, linked, measured, people
from kernelease.analysis.comparisons.column_tests import column_goodness, independence_test
from kernelease.analysis.comparisons.mean_embedding import ScaledScatter, Scatter, common_coordinates, draw_errors
from kernelease.analysis.comparisons.score_tests import release_scores
from kernelease.analysis.comparisons.tables import sample_of_table
from kernelease.analysis.comparisons.two_sample import AgainstRelease, AgainstSample, squared_norm
from kernelease.analysis.estimate import Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.regression import regression
from kernelease.measured.blocks import NoisyBlocks
from kernelease.private_tests import PermutedStatistics, Statistic, group_statistics, pair_statistics
from kernelease.table import Schema
from kernelease.table.encode import Encoder

ROWS = 20_000
LEVEL = 0.05
DRAWS = 199  # with fewer, a kernel that weighs .15 beside scores can hardly reject by itself
ALTERNATIVES = {  # of the sample; the scale at which the non-private test has power 0.8, as found by this benchmark
    "older": 0.66,
    "spread": 0.64,
    "moved": 0.0155,
}
LINKS = {("age", "hours"): 0.0225, ("age", "ward"): 0.0385, ("age", "smoker"): 0.055, ("ward", "smoker"): 0.0487}
FIRST_SEED = 10_000  # not one that the scales were found with
BATCH = 25  # repeats of one line of JSON
WITHIN = (0.04, 0.06)  # where a level is to be
Generator = np.random.Generator
Run = Callable[[Generator], float]  # p of one repeat; of a private test 0 where it rejects, and 1 else

# --------------------
# Through releases of people at work.


def private_two_sample(generator: Generator, *, epsilon: float, rows: int = ROWS, **change: float) -> float:
    """p of the test of a release against a sample."""
    noisy = measured(people(generator, rows), epsilon=epsilon, generator=generator)
    sample = sample_of_table(people(generator, rows, **change), SCHEMA)
    (mean,) = common_coordinates([noisy], SCHEMA.columns)
    comparison = AgainstSample(released=mean, sample=sample, fitted=lambda: sample, seed=_seed(generator))
    return comparison.test(Target.POPULATION, DRAWS).p_value


def plain_two_sample(generator: Generator, *, rows: int = ROWS, **change: float) -> float:
    """p of the MMD test on the rows themselves: one kernel, the multiplier bootstrap of the sample, no noise."""
    exact = measured(people(generator, rows), epsilon=math.inf, generator=generator)
    sample = sample_of_table(people(generator, rows, **change), SCHEMA)
    (mean,) = common_coordinates([exact], SCHEMA.columns)
    scatter = Scatter.of(sample, [part.coordinates for part in mean.parts], generator)
    difference = [part.mean - other for part, other in zip(mean.parts, scatter.means, strict=True)]
    null = draw_errors([mean], [ScaledScatter(scatter=scatter, rate=2.0 / rows)], difference, generator, draws=DRAWS)
    return float(1 + (null.squares >= squared_norm(difference)).sum()) / (1 + DRAWS)


def independence(
    generator: Generator, *, epsilon: float, pair: tuple[str, str], strength: float, rows: int = ROWS
) -> float:
    """p of the HSIC test on what a release measures; with ε = ∞ on the exact counts of all atoms."""
    table = linked(generator, rows, strength)
    if math.isinf(epsilon):
        noisy, laid = measured(table, epsilon=epsilon, generator=generator), SCHEMA
    else:
        noisy, laid = released(table, SCHEMA, generator, epsilon)
    return independence_test(noisy, laid, *pair, draws=DRAWS, seed=_seed(generator)).p_value


def released(table: pa.Table, schema: Schema, generator: Generator, epsilon: float = 1.0) -> tuple[NoisyBlocks, Schema]:
    """All that a release would measure, but for sets of three, and the columns as it laid their cells."""
    found = ke.measure(
        table,
        schema=schema,
        privacy=ke.Privacy(epsilon=epsilon, delta=1e-6),
        method=ke.Interactions(triples=0),
        noise=ke.SeededNoise(_seed(generator)),
    )
    assert found.laid_domain.schema is not None  # of a table
    return found.measured, found.laid_domain.schema


def column_law(generator: Generator, *, epsilon: float, moved: float, rows: int = ROWS) -> float:
    """p of the test whether wards have the shares that they have; without noise by the χ² of Pearson."""
    table, shares = people(generator, rows, moved=moved), {"north": 0.4, "east": 0.3, "south": 0.2, "west": 0.1}
    if math.isinf(epsilon):
        counts = [int(np.sum(np.asarray(table["ward"]) == ward)) for ward in shares]
        return float(stats.chisquare(counts, rows * np.array(list(shares.values()))).pvalue)
    noisy, laid = released(table, SCHEMA, generator, epsilon)
    return column_goodness(noisy, laid, "ward", shares, draws=DRAWS, seed=_seed(generator)).p_value


@cache
def _population() -> pa.Table:
    """A thousand rows that are a law themselves: tables are drawn from them."""
    return people(np.random.default_rng(1), 1_000)


def law_of_rows(generator: Generator, *, epsilon: float, shifted: float, rows: int = ROWS) -> float:
    """p of the test whether a table was drawn from given rows; of which a share has other ages."""
    drawn = _population().take(pa.array(generator.integers(0, 1_000, rows)))
    age = np.asarray(drawn["age"]) + 3 * (generator.random(rows) < shifted)
    table = drawn.set_column(0, "age", pa.array(np.minimum(age, 81)))
    noisy = measured(table, epsilon=epsilon, generator=generator)
    sample = sample_of_table(_population(), SCHEMA)
    (mean,) = common_coordinates([noisy], SCHEMA.columns)
    comparison = AgainstSample(released=mean, sample=sample, fitted=lambda: sample, seed=_seed(generator))
    return comparison.goodness(Target.POPULATION, DRAWS).p_value


def joint_test(generator: Generator, *, epsilon: float, hours: float, rows: int = ROWS) -> float:
    """p of the test whether all wards work alike, given their ages; without noise by F of least squares."""
    table = people(generator, rows)
    ward = np.asarray(table["ward"])
    longer = np.clip(np.asarray(table["hours"]) + hours * (ward == "south"), 0.0, 80.0)
    table = table.set_column(1, "hours", pa.array(longer))
    if math.isinf(epsilon):
        return _f_test(np.asarray(table["age"], dtype=float), ward, longer)
    noisy, laid = released(table, SCHEMA, generator, epsilon)
    rough = people(generator, 2_000)
    found = regression(
        Evidence(schema=laid, measured=noisy, rows=rough, weights=np.full(2_000, 1 / 2_000), target=Target.POPULATION),
        "hours ~ age + ward",
    )
    return found.test(*(name for name in found if name.startswith("ward"))).p_value


def _f_test(age: np.ndarray, ward: np.ndarray, hours: np.ndarray) -> float:
    few = np.column_stack([np.ones(len(age)), age])
    many = np.column_stack([few, *(ward == one for one in ("east", "south", "west"))])
    left = [float(np.sum((hours - x @ np.linalg.lstsq(x, hours, rcond=None)[0]) ** 2)) for x in (few, many)]
    freedom = len(age) - many.shape[1]
    return float(stats.f.sf((left[0] - left[1]) / 3 / (left[1] / freedom), 3, freedom))


# --------------------
# Patients with heights and masses: through releases, and on the rows themselves.

CODES = [f"k{number}" for number in range(20)]
EIGHT = Schema.parse(f"""
    [table]
    name = "patients"
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


def patients(generator: Generator, count: int, *, rho: float = 0.0, older: float = 0.0) -> pa.Table:
    """Rows of eight columns: a skewed wage, a cost that is mostly 0, heights with NULL, categories of 2, 5 and 20.

    `rho` is the correlation of height and mass, `older` adds years.
    """
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


def dependence(generator: Generator, *, schema: Schema, rows: int, rho: float) -> float:
    """p of the test through a release whether height and mass are independent."""
    table = patients(generator, rows, rho=rho).select(list(schema.names))
    noisy, laid = released(table, schema, generator)
    return independence_test(noisy, laid, "height", "mass", draws=DRAWS, seed=_seed(generator)).p_value


def two_releases(generator: Generator, *, older: float, rows: int = 5_000) -> float:
    """p of the test by two releases whether their tables come from one distribution."""
    tables = people(generator, rows), people(generator, rows, older=older)
    one, other = (measured(each, epsilon=1.0, generator=generator) for each in tables)
    stand_in = sample_of_table(people(generator, 1_000), SCHEMA)
    first, second = common_coordinates([one, other], SCHEMA.columns)
    fitted = (lambda: stand_in, lambda: stand_in)
    result = AgainstRelease(released=(first, second), fitted=fitted, seed=_seed(generator)).test(
        Target.POPULATION, DRAWS
    )
    return result.with_scores(release_scores(one, other, SCHEMA.columns)).p_value


def pair_of_rows(generator: Generator, *, rows: int, rho: float, statistic: str) -> float:
    """Whether the private test on rows finds height and mass dependent."""
    test = ke.private_independence_test(
        patients(generator, rows, rho=rho),
        *("height", "mass"),
        schema=EIGHT,
        privacy=(1.0, 0.0),
        statistic=statistic,
        level=LEVEL,
        draws=DRAWS,
        noise=ke.SeededNoise(_seed(generator)),
    )
    return float(not test.rejected)


def plain_pair(generator: Generator, *, rows: int, rho: float, statistic: str) -> float:
    """p of the same permutation test without noise."""
    schema = Schema(columns=tuple(EIGHT.column(name) for name in ("height", "mass")), name="pair")
    codes = Encoder(schema).encode(patients(generator, rows, rho=rho).select(list(schema.names))).astype(np.int64)
    parts = pair_statistics(schema.columns, Statistic(statistic))
    return _permuted(PermutedStatistics.of_pairs(codes, parts, draws=DRAWS, generator=generator))


def two_tables(generator: Generator, *, rows: int, older: float, statistic: str) -> float:
    """Whether the private test on the ages of two tables finds them different."""
    test = ke.private_two_sample_test(
        patients(generator, rows),
        patients(generator, rows, older=older),
        schema=EIGHT,
        columns=["age"],
        privacy=(1.0, 0.0),
        statistic=statistic,
        level=LEVEL,
        draws=DRAWS,
        noise=ke.SeededNoise(_seed(generator)),
    )
    return float(not test.rejected)


def plain_two_tables(generator: Generator, *, rows: int, older: float, statistic: str) -> float:
    """p of the same permutation test without noise."""
    schema = Schema(columns=(EIGHT.column("age"),), name="ages")
    first, second = (
        Encoder(schema).encode(patients(generator, rows, older=years).select(["age"])).astype(np.int64)
        for years in (0.0, older)
    )
    parts = group_statistics(schema.columns, Statistic(statistic))
    return _permuted(PermutedStatistics.of_groups(first, second, parts, draws=DRAWS, generator=generator))


def _permuted(statistics: PermutedStatistics) -> float:
    reached = sum(one >= statistics._observed for one in statistics._others)
    return (1 + reached) / (1 + DRAWS)


def _seed(generator: Generator) -> int:
    return int(generator.integers(2**32))


# --------------------
# All of them.


@dataclass(frozen=True)
class Line:
    """A test where its hypothesis is true (None: that is another line's), where it is not, and that without privacy."""

    null: Run | None
    power: Run
    plain: Run


def lines() -> dict[str, Line]:
    """Every test that there is."""
    return {**_of_samples(), **_of_laws(), **_of_patients(), **_on_rows()}


def _of_samples() -> dict[str, Line]:
    """Releases against samples, and the independence of two columns; few rows are farther from the hypothesis."""
    found: dict[str, Line] = {}
    for epsilon, rows in ((1.0, ROWS), (0.1, ROWS), (1.0, 2_000)):
        told, farther = f"release of {rows:,}, ε = {epsilon:g}", math.sqrt(ROWS / rows)
        for place, (name, scale) in enumerate(ALTERNATIVES.items()):
            run, change = partial(private_two_sample, epsilon=epsilon, rows=rows), {name: farther * scale}
            plain = partial(plain_two_sample, rows=rows, **change)
            found[f"{told}: a sample, {name}"] = Line(None if place else run, partial(run, **change), plain)
        for pair, scale in LINKS.items() if epsilon == 1.0 else ():
            by = partial(independence, pair=pair, rows=rows)
            noisy, size = partial(by, epsilon=epsilon), farther * scale
            plain = partial(by, epsilon=math.inf, strength=size)
            found[f"{told}: {' and '.join(pair)}"] = Line(
                partial(noisy, strength=0.0), partial(noisy, strength=size), plain
            )
    return found


def _of_laws() -> dict[str, Line]:
    """Whether a release agrees with a law that is given, and the coefficients of a model."""
    tests: Sequence[tuple[str, Callable[..., float], str, float]] = (
        ("shares of a column", column_law, "moved", 0.012),
        ("a law of rows", law_of_rows, "shifted", 0.2),
        ("joint test of a model", joint_test, "hours", 0.5),
    )
    return {
        f"release of {ROWS:,}, ε = 1: {what}": Line(
            *(partial(run, epsilon=e, **{name: by}) for e, by in ((1.0, 0.0), (1.0, size), (math.inf, size)))
        )
        for what, run, name, size in tests
    }


def _of_patients() -> dict[str, Line]:
    found: dict[str, Line] = {}
    for schema, rows, rho in ((FOUR, 5_000, 0.3), (EIGHT, 30_000, 0.1)):
        null, power = (partial(dependence, schema=schema, rows=rows, rho=size) for size in (0.0, rho))
        plain = partial(plain_pair, rows=rows, rho=rho, statistic="kernel")
        found[f"release of {rows:,}, {len(schema)} columns, ε = 1: ρ = {rho:g}"] = Line(null, power, plain)
    null, power = (partial(two_releases, older=years) for years in (0.0, 2.0))
    plain = partial(plain_two_tables, rows=5_000, older=2.0, statistic="kernel")
    return {**found, "two releases of 5,000, ε = 1: age + 2": Line(null, power, plain)}


def _on_rows() -> dict[str, Line]:
    found: dict[str, Line] = {}
    for statistic in ("kernel", "rank", "slope", "auto"):
        null, power = (partial(pair_of_rows, rows=400, rho=rho, statistic=statistic) for rho in (0.0, 0.3))
        plain = partial(plain_pair, rows=400, rho=0.3, statistic=statistic)
        found[f"400 rows, ε = 1: ρ = 0.3, {statistic}"] = Line(null, power, plain)
    for statistic in ("kernel", "rank", "mean", "auto"):
        null, power = (partial(two_tables, rows=400, older=years, statistic=statistic) for years in (0.0, 4.0))
        plain = partial(plain_two_tables, rows=400, older=4.0, statistic=statistic)
        found[f"400 rows and 400, ε = 1: age + 4, {statistic}"] = Line(null, power, plain)
    return found


LINES = lines()
Unit = tuple[str, str, int]  # a line, which of its runs, and the number of a batch


def units(repeats: int) -> list[Unit]:
    """All batches: of power and of the test without privacy a quarter."""
    batches = {"null": repeats // BATCH, "power": repeats // BATCH // 4, "plain": repeats // BATCH // 4}
    return [
        (name, what, batch)
        for batch in range(max(1, batches["null"]))  # so that a run that is stopped has some of all
        for name, line in LINES.items()
        for what, most in batches.items()
        if batch < max(1, most) and getattr(line, what) is not None
    ]


def batch_of(unit: Unit) -> dict[str, Any]:
    """How often a test rejects in one batch, and how long that took."""
    name, what, batch = unit
    started = time.process_time()
    run: Run = getattr(LINES[name], what)
    rejected = rejections(run, range(FIRST_SEED + batch * BATCH, FIRST_SEED + (batch + 1) * BATCH))
    return {"unit": list(unit), "rejected": rejected, "seconds": time.process_time() - started}


def rejections(run: Run, seeds: Iterable[int]) -> int:
    """In how many repeats the test rejects."""
    return sum(run(np.random.default_rng(seed)) <= LEVEL for seed in seeds)


def power(run: Run, repeats: int, first_seed: int = 0) -> float:
    """The share of repeats in which the test rejects."""
    return rejections(run, range(first_seed, first_seed + repeats)) / repeats


def report(every: Iterable[dict[str, Any]]) -> str:
    """A line for each test: level, power, and power of the test without privacy."""
    found: dict[tuple[str, str], list[int]] = {}
    for line in every:
        found.setdefault((line["unit"][0], line["unit"][1]), []).append(line["rejected"])
    known = {name: found[name, "null"] for name in LINES if (name, "null") in found}
    if not known:
        return ""
    levels = {name: sum(own) / (len(own) * BATCH) for name, own in known.items()}
    repeats = min(len(own) * BATCH for own in known.values())
    low, high = WITHIN
    outside = sum(not low <= level <= high for level in levels.values())
    chance = stats.binom.cdf(math.ceil(low * repeats) - 1, repeats, LEVEL) + stats.binom.sf(
        math.floor(high * repeats), repeats, LEVEL
    )
    text = [
        f"{outside} of {len(levels)} levels are outside of {low:g} to {high:g}; if all were {LEVEL:g}, chance would "
        f"put {chance * len(levels):.1f} of them there with {repeats:,} repeats:",
        "",
        "| test at 0.05 | level | power | without privacy |",
        "| --- | --- | --- | --- |",
    ]
    for name in LINES:
        cells = [_share(found.get((name, what), [])) for what in ("null", "power", "plain")]
        text.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(text)


def _share(rejected: Sequence[int]) -> str:
    if not rejected:
        return "-"
    repeats = BATCH * len(rejected)
    share = sum(rejected) / repeats
    return f"{share:.3f} ± {math.sqrt(max(share * (1.0 - share), 1.0 / repeats) / repeats):.3f}"


# --------------------
# Scales of the alternatives.


def scale_for(run: Callable[[float], Run], guess: float, repeats: int, wanted: float = 0.8) -> float:
    """The scale at which a test has the wanted power, by bisection on the same seeds."""
    low, high = 0.6 * guess, 1.6 * guess
    for _ in range(6):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if power(run(middle), repeats) < wanted else (low, middle)
    return 0.5 * (low + high)


def calibrate(repeats: int) -> None:
    """Print the scales at which tests without privacy have power 0.8."""
    for name, known in ALTERNATIVES.items():
        print(name, scale_for(lambda size, name=name: partial(plain_two_sample, **{name: size}), known, repeats))
    for pair, known in LINKS.items():
        run = partial(independence, epsilon=math.inf, pair=pair)
        print(pair, scale_for(lambda size, run=run: partial(run, strength=size), known, repeats))


def main() -> None:
    parser = inference.options_of(__doc__, repeats=1_000, results="tests.jsonl")
    parser.add_argument("--calibrate", action="store_true", help="find the scales of alternatives anew, and stop")
    options = parser.parse_args()
    if options.calibrate:
        return calibrate(options.repeats)
    wanted = [] if options.report else units(options.repeats)
    lines = inference.resumed(options.results, wanted, batch_of, options.jobs, options.seconds)
    inference.tell(report(lines), options.results)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that noise is seeded
        main()
