"""What gives synthetic rows away: spikes, grids, distinct values, determined columns, ranges, and a classifier.

    python benchmarks/texture.py [--runs 5] [--only maps,bank] [--write]

ε = 1, δ = 1e-9, defaults, no target; mean and worst of some runs, each with fresh noise. Generated tables need nothing;
public ones are looked at where they are at hand (../shared). Every run is a line of benchmarks/out/texture.jsonl, which
is begun anew unless there is an --add: so tables can be run apart. With --write the page of all of them goes to
docs/benchmarks-texture.md; tables that were not run keep their lines there, with a †.
"""

import dataclasses
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks.machine import described
from benchmarks.public_tables import NIST, NIST_BIN, TABLES, rows_file
from kernelease.table.schema import Schema

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks-texture.md"
RUNS = ROOT / "benchmarks" / "out" / "texture.jsonl"
TOOLS = TABLES.parent.parent / "tools"
PRIVACY = (1.0, 1e-9)
ROWS = 50_000
FEW_ROWS = 548
INTRODUCTION = """# Texture

What gives synthetic rows away, by `make bench-texture`: ε = 1, δ = 1e-9, defaults, no target, mean and worst of so many
runs. Where a figure is of the real rows, it stands in the line. ✗: farther than it should be. † of an earlier state of
the code.

| table (runs) | what | mean | worst | asked |
| --- | --- | --- | --- | --- |"""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A figure, and what it should be: at most, at least, or within so much of a number."""

    name: str
    most: float | None = None
    least: float | None = None
    of: float | None = None
    within: float = 0.0

    def line(self, table: str, found: list[float]) -> str:
        """A line of the page: the worst is the one that is farthest from what was asked."""
        mean = float(np.mean(found))
        if self.of is not None:
            worst, asked = max(found, key=lambda x: abs(x - self.of)), f"{self.of:.4g} ± {self.within:.2g}"
            holds = abs(worst - self.of) <= self.within
        elif self.least is not None:
            worst, asked, holds = min(found), f"≥ {self.least:g}", min(found) >= self.least
        else:
            worst, asked = max(found), "" if self.most is None else f"≤ {self.most:g}"
            holds = self.most is None or mean <= self.most
        return f"| {table} | {self.name} | {mean:.4g} | {worst:.4g} | {asked}{'' if holds else ' ✗'} |"


# --------------------
# Generated tables.


def maps() -> tuple[pa.Table, str]:
    """A map of 20 values to 4, a chain of 40, 12 and 3, a one-to-one pair of 300, a map that holds in 99.5 %."""
    g = np.random.default_rng(1)

    def onto(values: int, others: int) -> np.ndarray:
        return np.concatenate([np.arange(others), g.integers(0, others, values - others)])

    sub, name, code, unit = (g.choice(k, ROWS, p=g.dirichlet(np.full(k, 5.0))) for k in (20, 40, 300, 15))
    kind = onto(40, 12)[name]
    loose = np.where(g.random(ROWS) < 0.005, g.integers(0, 5, ROWS), onto(15, 5)[unit])
    columns = {"sub": sub, "grade": onto(20, 4)[sub], "name": name, "kind": kind, "office": onto(12, 3)[kind]}
    columns |= {"code": code, "label": g.permutation(300)[code], "unit": unit, "region": loose}
    return _categories(columns)


def amounts() -> tuple[pa.Table, str]:
    """Incomes under a range ten times too wide, some in thousands; prices in quarters; a spike at 0; nine years."""
    g = np.random.default_rng(2)
    income = np.round(np.exp(g.normal(10.0, 0.9, ROWS)))
    income = np.where(g.random(ROWS) < 0.3, np.round(income / 1000) * 1000, income)
    price = np.round(g.gamma(4.0, 1.0, ROWS) * 4) / 4
    price = np.where(g.random(ROWS) < 0.04, np.round(price + 0.01 * g.integers(1, 25, ROWS), 2), price)
    balance = np.where(g.random(ROWS) < 0.077, 0, np.round(g.normal(800, 600, ROWS))).astype(np.int64)
    table = pa.table({"income": income, "price": price, "balance": balance, "year": g.integers(2008, 2017, ROWS)})
    ranges = {"income": (0, 10 * int(income.max())), "price": (0, 200), "balance": (-10_000, 110_000)}
    kinds = {"income": "number", "price": "number", "balance": "integer", "year": "integer"}
    bounds = ranges | {"year": (1800, 2100)}
    text = "".join(
        f'[columns.{name}]\ntype = "{kinds[name]}"\nmin = {low}\nmax = {high}\n' for name, (low, high) in bounds.items()
    )
    return table, '[table]\nneighbours = "add-remove"\n' + text


def few() -> tuple[pa.Table, str]:
    """548 rows of ten columns of which two pairs are strongly correlated."""
    g = np.random.default_rng(3)
    z = g.normal(size=(10, FEW_ROWS))
    z[1], z[3] = 0.9 * z[0] + 0.436 * z[1], 0.85 * z[2] + 0.527 * z[3]
    table = pa.table({f"v{i}": np.round(np.clip(50 + 15 * own, 0, 100)).astype(np.int64) for i, own in enumerate(z)})
    text = "".join(f'[columns.v{i}]\ntype = "integer"\nmin = 0\nmax = 100\n' for i in range(10))
    return table, '[table]\nneighbours = "add-remove"\n' + text


STAY = """[columns.stay]
type = "integer"
from = "discharged"
minus = "admitted"
min = 0
max = 120
[columns.discharged]
type = "date"
computed = "admitted + stay"
"""
ALONE = '[columns.discharged]\ntype = "date"\nmin = 2019-01-01\nmax = 2023-12-31\n'


def stays(discharged: str = STAY) -> tuple[pa.Table, str]:
    """Stays of some days in a table of five years, whose cost follows from their length."""
    g = np.random.default_rng(4)
    admitted, days = np.datetime64("2019-01-01") + g.integers(0, 1_500, ROWS), g.geometric(0.1, ROWS) - 1
    cost = np.round(200 + 150 * days + np.exp(g.normal(5.0, 1.0, ROWS)), 2)
    table = pa.table({"admitted": admitted, "discharged": admitted + days, "cost": cost})
    table = table.append_column("age", pa.array(g.integers(18, 95, ROWS)))
    text = f"""[table]
neighbours = "add-remove"
constraints = ["admitted <= discharged"]
[columns.admitted]
type = "date"
min = 2019-01-01
max = 2023-12-31
{discharged}
[columns.cost]
type = "number"
min = 0
max = 30_000
decimals = 2
[columns.age]
type = "integer"
min = 0
max = 110
"""
    return table, text


def _categories(columns: dict[str, np.ndarray]) -> tuple[pa.Table, str]:
    table = pa.table({name: pa.array([f"{name}{value:03d}" for value in own]) for name, own in columns.items()})
    text = "".join(
        f'[columns.{name}]\ntype = "category"\nvalues = {[f"{name}{v:03d}" for v in range(int(own.max()) + 1)]}\n'
        for name, own in columns.items()
    )
    return table, '[table]\nneighbours = "add-remove"\n' + text.replace("'", '"')


# --------------------
# What is looked at.


def numbers(table: pa.Table, name: str) -> np.ndarray:
    """The numbers of a column, without NULL; of dates, days."""
    found = table.column(name).drop_null()
    return (found.cast(pa.int32()) if pa.types.is_date(found.type) else found).to_numpy().astype(np.float64)


def on_grid(values: np.ndarray, grid: float) -> float:
    """The share of multiples of a grid."""
    return float(np.mean(np.abs(values / grid - np.round(values / grid)) < 1e-6))


def determined(real: pa.Table, made: pa.Table, first: str, second: str) -> float:
    """The share of made rows whose second value is the one that real rows have most often beside the first."""
    one, other = (real.column(name).to_pylist() for name in (first, second))
    pairs, counts = np.unique(np.array([one, other]), axis=1, return_counts=True)
    order = np.argsort(counts)
    known = dict(zip(pairs[0][order], pairs[1][order], strict=True))
    rows = zip(made.column(first).to_pylist(), made.column(second).to_pylist(), strict=True)
    return float(np.mean([known.get(a) == b for a, b in rows]))


def of_maps(real: pa.Table, made: pa.Table) -> Iterator[tuple[Asked, float]]:
    """Determined columns that stay determined."""
    pairs = (("sub", "grade"), ("name", "kind"), ("kind", "office"), ("name", "office"), ("code", "label"))
    for first, second in (*pairs, ("label", "code"), ("unit", "region")):
        yield Asked(name=f"{first} → {second}, share of rows", least=0.995), determined(real, made, first, second)


def of_amounts(real: pa.Table, made: pa.Table) -> Iterator[tuple[Asked, float]]:
    """Quantiles and means under a wide range, shares on grids, a spike, distinct years."""
    for name, part in (("income", 0.15), ("balance", 0.15)):
        want, got = (numbers(table, name) for table in (real, made))
        high = float(np.quantile(got, 0.99)) / float(np.quantile(want, 0.99))
        yield Asked(name=f"{name}: 99 % quantile over the real one", of=1.0, within=part), high
        yield Asked(name=f"{name}: mean over the real one", of=1.0, within=0.05), float(got.mean() / want.mean())
    for name, grid in (("income", 1000.0), ("price", 0.25)):
        share = on_grid(numbers(real, name), grid)
        yield Asked(name=f"{name}: share on {grid:g}", of=share, within=0.03), on_grid(numbers(made, name), grid)
    yield from spike(real, made, "balance", 0.0)
    yield from distinct(real, made, "year")


def of_few(real: pa.Table, made: pa.Table) -> Iterator[tuple[Asked, float]]:
    """Correlations of the two pairs over the real ones."""
    for first, second in (("v0", "v1"), ("v2", "v3")):
        want, got = (np.corrcoef(numbers(t, first), numbers(t, second))[0, 1] for t in (real, made))
        yield Asked(name=f"{first} × {second}: correlation over the real one", least=0.5), float(got / want)


def of_stays(real: pa.Table, made: pa.Table) -> Iterator[tuple[Asked, float]]:
    """How long stays are, and whether their cost follows from it."""

    def days(table: pa.Table) -> np.ndarray:
        return numbers(table, "discharged") - numbers(table, "admitted")

    want, got = days(real), days(made)
    yield Asked(name="days: mean over the real one", of=1.0, within=0.05), float(got.mean() / want.mean())
    high = float(np.quantile(got, 0.99) / np.quantile(want, 0.99))
    yield Asked(name="days: 99 % quantile over the real one", of=1.0, within=0.15), high
    ties = [float(np.corrcoef(days(table), numbers(table, "cost"))[0, 1]) for table in (made, real)]
    yield Asked(name="days × cost: correlation over the real one", least=0.9), ties[0] / ties[1]


def spike(real: pa.Table, made: pa.Table, name: str, value: float) -> Iterator[tuple[Asked, float]]:
    """The share of one value."""
    want, got = (float(np.mean(numbers(table, name) == value)) for table in (real, made))
    yield Asked(name=f"{name} = {value:g}, share of rows", of=want, within=0.005), got


def distinct(real: pa.Table, made: pa.Table, name: str) -> Iterator[tuple[Asked, float]]:
    """Distinct values over those of the real rows."""
    want, got = (len(np.unique(numbers(table, name))) for table in (real, made))
    yield Asked(name=f"{name}: distinct values, over {want}", most=2.0), got / want


def of_diamonds(real: pa.Table, made: pa.Table) -> Iterator[tuple[Asked, float]]:
    """Shares on grids, and distinct values."""
    for name, grid in (("table", 1.0), ("carat", 0.01), ("price", 5.0)):
        share = on_grid(numbers(real, name), grid)
        yield Asked(name=f"{name}: share on {grid:g}", of=share, within=0.03), on_grid(numbers(made, name), grid)
    for name in ("carat", "depth", "table", "z"):
        yield from distinct(real, made, name)


def of_bank(real: pa.Table, made: pa.Table) -> Iterator[tuple[Asked, float]]:
    """Spikes."""
    for name, value in (("balance", 0.0), ("pdays", -1.0), ("previous", 0.0)):
        yield from spike(real, made, name, value)
    yield from distinct(real, made, "previous")


def of_stroke(real: pa.Table, made: pa.Table) -> Iterator[tuple[Asked, float]]:
    """A country and its number, which go one to one."""
    names = ("country", "cntrynum")
    text = pa.schema([(name, pa.string()) for name in names])
    one, other = (table.select(names).cast(text) for table in (real, made))
    yield Asked(name="country → cntrynum, share of rows"), determined(one, other, *names)


# --------------------
# Runs.


Look: TypeAlias = Callable[[pa.Table, pa.Table], Iterator[tuple[Asked, float]]]
GENERATED: dict[str, tuple[Callable[[], tuple[pa.Table, str]], Look]] = {
    "maps": (maps, of_maps),
    "amounts": (amounts, of_amounts),
    "few": (few, of_few),
    "stays": (stays, of_stays),
    "stays by two dates": (partial(stays, ALONE), of_stays),
}
NOTHING: Look = lambda real, made: iter(())  # noqa: E731


@dataclass(frozen=True, kw_only=True)
class Public:
    """What is looked at in a public table, and at most: its errors, a classifier's AUC that tells rows apart, CPU s."""

    look: Look = NOTHING
    errors: tuple[float, float] | None = None  # of pairs and threes of columns
    auc: float
    seconds: float | None = None


ADULT = "adult"
PUBLIC = {
    "diamonds": Public(look=of_diamonds, errors=(0.130, 0.30), auc=0.80),
    "bank": Public(look=of_bank, errors=(0.050, 0.125), auc=0.66),
    "stroke": Public(look=of_stroke, errors=(0.047, 0.086), auc=0.93),
    "br2000": Public(errors=(0.0222, 0.0554), auc=0.628, seconds=1.5),
    "fire": Public(errors=(0.042, 0.13), auc=1.0, seconds=20.0),
    NIST: Public(auc=0.622, seconds=1.2),
    ADULT: Public(errors=(0.059, 0.148), auc=0.639, seconds=4.0),
}
LEAST_NIST = 984.7  # NIST's score of national2019


def released(data: Any, schema: Any) -> tuple[pa.Table, float]:
    """Rows of a release with fresh noise, and its CPU seconds."""
    start = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        rows = ke.release(data, schema=schema, privacy=PRIVACY).rows
    return rows, time.process_time() - start


def run(name: str) -> None:
    """One release of a table: its figures become a line of the file."""
    found = _generated(name) if name in GENERATED else _public(name)
    line = {"table": name, "figures": [[dataclasses.asdict(asked), value] for asked, value in found]}
    with RUNS.open("a") as file:
        file.write(json.dumps(line) + "\n")


def lines() -> Iterator[str]:
    """The lines of the page: of all runs, and those that stand there of tables that were not run."""
    runs = [json.loads(line) for line in RUNS.read_text().splitlines()]
    known = PAGE.read_text().splitlines() if PAGE.exists() else []
    for name in (*GENERATED, *PUBLIC):
        own = [one["figures"] for one in runs if one["table"] == name]
        for figures in zip(*own, strict=True):
            yield Asked(**figures[0][0]).line(f"{name} ({len(own)})", [value for _, value in figures])
        if not own:
            yield from (kept(line) for line in known if line.startswith(f"| {name} ("))


def kept(line: str) -> str:
    """A line of the page, marked as of an earlier state."""
    table, rest = line.removeprefix("| ").split(" |", 1)
    return f"| {table.removesuffix(' †')} † |{rest}"


def _generated(name: str) -> Iterator[tuple[Asked, float]]:
    make, look = GENERATED[name]
    real, schema = make()
    made, seconds = released(real, Schema.parse(schema))
    yield from look(real, made)
    yield Asked(name="CPU s"), seconds


def _public(name: str) -> Iterator[tuple[Asked, float]]:
    public = PUBLIC[name]
    with tempfile.TemporaryDirectory() as folder:
        file, schema = _real(name, Path(folder))
        rows, seconds = released(str(file), str(schema))
        made = Path(folder) / "made.csv"
        pyarrow.csv.write_csv(rows, made)
        yield from _errors(name, file, made, schema)
        told = _said("detect_rows.py", file, made, schema)
        yield Asked(name="AUC, real against synthetic", most=public.auc), _number(r"synthetic ([\d.]+)", told)
        yield from public.look(pyarrow.csv.read_csv(file), rows)
    yield Asked(name="CPU s", most=public.seconds), seconds


def _real(name: str, folder: Path) -> tuple[Path, Path]:
    """The file of a table's rows, and its schema. Adult's training rows are written to the folder."""
    if name == ADULT:
        _said("evaluate_adult.py", "--make-split", folder)
        return folder / "adult_train.csv", ROOT / "examples" / "adult_discrete.toml"
    return rows_file(name), TABLES / f"{name}.toml"


def _errors(name: str, file: Path, made: Path, schema: Path) -> Iterator[tuple[Asked, float]]:
    """How far pairs and threes of columns are off, or NIST's score, by the scorers that lie beside the tables."""
    errors = PUBLIC[name].errors
    if errors is None:
        said = _said("score_nist.py", file, made)
        score = _number(rf"\b{NIST_BIN}: (?:np\.float64\()?([0-9.]+)", said)
        yield Asked(name="NIST score", least=LEAST_NIST), score
        return
    scores = (
        _said("evaluate_adult.py", made, "--no-ml") if name == ADULT else _said("evaluate_table.py", file, made, schema)
    )
    for what, most, ways in zip(("two-way error", "three-way error"), errors, (2, 3), strict=True):
        yield Asked(name=what, most=most), _number(rf'"l1_{ways}way": ([\d.]+)', scores)


def _said(tool: str, *arguments: Path | str) -> str:
    command = [sys.executable, str(TOOLS / tool), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise ValueError(f"no {pattern} in {text!r}")
    return float(found[1])


def main(
    runs: Annotated[int, typer.Option(help="Releases of each table.")] = 5,
    only: Annotated[str, typer.Option(help="Tables, by commas.")] = "",
    add: Annotated[bool, typer.Option(help="Add to the runs of the file.")] = False,
    jobs: Annotated[int, typer.Option(help="Releases at once, each in a process of its own.")] = 1,
    write: Annotated[bool, typer.Option(help="Write the page.")] = False,
) -> None:
    """Print a line for each figure."""
    here = [*PUBLIC] if TABLES.exists() and TOOLS.exists() else []
    RUNS.parent.mkdir(exist_ok=True)
    if not add:
        RUNS.unlink(missing_ok=True)
    names = (only.split(",") if only else [*GENERATED, *here]) * runs
    longest_first = sorted(names, key=lambda name: (name != "fire", name != "stroke", name))
    with ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn")) as pool:
        for done in as_completed({pool.submit(run, name) for name in longest_first}):
            done.result()
            print(f"a run is in {RUNS}", flush=True)
    page = "\n".join([INTRODUCTION, *lines(), "", f"{described()}.", ""])
    print(page)
    if write:
        PAGE.write_text(page)


if __name__ == "__main__":
    typer.run(main)
