"""Persons with records: how near released tables come, what they keep to, noise, coverage of answers, size.

    python benchmarks/relational.py [--only near,rules] [--times 3] [--jobs 2] [--write]

The scorer of two public pairs of tables is ../shared/tools/evaluate_relational.py, beside records dealt anew and random
halves of the real tables; `others` scores what benchmarks/hma.py wrote to $HMA/players and $HMA/households; the other
parts need nothing. With --write each part that was run takes its place in
docs/benchmarks-relational.md. Releases are made in --jobs processes of one thread each.
"""

import argparse
import functools
import importlib.util
import itertools
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")  # of each process; before NumPy

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks.machine import described
from kernelease.answers.release import TablesRelease, contents_of
from kernelease.bundle.verify import key_problems
from kernelease.measured.counts import Counts
from kernelease.methods.interactions.interactions import count_noise
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.sensitivity import Neighbours
from kernelease.relational.schema_of_tables import WEIGHT, Tables
from kernelease.seeds import PublicSeed
from kernelease.sources.private_rows import private_tables
from kernelease.table.domains import lawful_flags

HERE = Path(__file__).resolve().parent.parent
PAGE = HERE / "docs" / "benchmarks-relational.md"
SHARED = HERE.parent / "shared"
DATA, SCORER = SHARED / "data" / "relational", SHARED / "tools" / "evaluate_relational.py"
KINDS = ("parent", "number", "child", "parent x child", "siblings")


def _column(table: str, name: str, **body: object) -> str:
    lines = [f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}" for key, value in body.items()]
    return f"[tables.{table}.columns.{name}]\n" + "\n".join(lines).replace("'", '"') + "\n"


def _whole(table: str, most: dict[str, tuple[int, int]], nullable: tuple[str, ...] = (), **more: object) -> str:
    return "".join(
        _column(table, name, type="integer", min=low, max=high, nullable=name in nullable, **more)
        for name, (low, high) in most.items()
    )


COUNTRIES = ["CAN", "Cuba", "D.R.", "Japan", "Mexico", "P.R.", "Panama", "USA", "United Kingdom", "Venezuela", "other"]
PLAYERS = (
    '[unit]\ntable = "players"\nneighbours = "add-remove"\n[tables.players]\nkey = "player"\n'
    + _column("players", "country", type="category", values=COUNTRIES)
    + _column("players", "birthDate", type="date", min="1830-01-01", max="2005-12-31", nullable=True, cells=36)
    .replace('"1830-01-01"', "1830-01-01")
    .replace('"2005-12-31"', "2005-12-31")
    + _column("players", "deathDate", type="date", min="1870-01-01", max="2022-12-31", nullable=True, cells=36)
    .replace('"1870-01-01"', "1870-01-01")
    .replace('"2022-12-31"', "2022-12-31")
    + _whole("players", {"weight": (60, 320)}, ("weight",))
    + _whole("players", {"height": (40, 90)}, ("height",))
    + _column("players", "bats", type="category", values=["B", "L", "R"], nullable=True)
    + _column("players", "throws", type="category", values=["L", "R", "S"], nullable=True)
    + '[tables.seasons]\nparent = "players"\nforeign_key = "player"\nmax_rows = 32\n'
    + _whole("seasons", {"year": (1870, 2025)}, cells=39)
    + _column("seasons", "league", type="category", values=["AA", "AL", "FL", "NL", "PL", "UA"], nullable=True)
    + _whole(
        "seasons",
        {"G": (0, 170), "AB": (0, 720), "R": (0, 200), "H": (0, 265), "HR": (0, 75)}
        | {"RBI": (0, 195), "SB": (0, 140), "BB": (0, 235), "SO": (0, 225)},
        ("RBI", "SB", "SO"),
        scale="log",
        cells=24,
    )
)
REGIONS = [
    *("Burgenland", "Carinthia", "Lower Austria", "Salzburg", "Styria", "Tyrol"),
    *("Upper Austria", "Vienna", "Vorarlberg"),
]
_MONEY = {"net_income": 30, "employee_income": 30, "self_employed_income": 12}  # cells; what is below 0 counts as 0
_MONEY |= {"unemployment_benefit": 12, "old_age_benefit": 24}
HOUSEHOLDS = (
    '[unit]\ntable = "households"\nneighbours = "add-remove"\n[tables.households]\nkey = "household"\n'
    + _column("households", "region", type="category", values=REGIONS)
    + _column("households", "weight", type="number", min=3.5, max=13.0, cells=600)
    + '[tables.persons]\nparent = "households"\nforeign_key = "household"\nmax_rows = 10\n'
    + _whole("persons", {"age": (-1, 100)})
    + _column("persons", "sex", type="category", values=["female", "male"])
    + _whole("persons", {"status": (1, 7)}, ("status",))
    + _column("persons", "citizenship", type="category", values=["AT", "EU", "Other"], nullable=True)
    + "".join(
        _column("persons", name, type="number", min=0.0, max=60000.0, cells=cells, nullable=True)
        for name, cells in _MONEY.items()
    )
)
ASKED = {
    "players": {"parent": 0.045, "number": 0.015, "child": 0.045, "parent x child": 0.035, "siblings": 0.045},
    "households": {"parent x child": 0.080, "siblings": 0.075},
}
PRIVACY = (1.0, 1e-6)
LISTED = "households, weights listed"  # 71 numbers, one for each region and size: as docs/schema.md says of few values
PAIRS = {
    "players": (PLAYERS, ("players", "seasons"), "player"),
    "households": (HOUSEHOLDS, ("households", "persons"), "household"),
}


def _near_pairs() -> dict[str, tuple[str, tuple[str, str], str]]:
    """Both pairs; households also with the weights of the survey as a list, to four decimals."""
    text, names, key = PAIRS["households"]
    weights = sorted(set(pd.read_csv(DATA / "households.csv.gz").weight.round(4)))
    body = text[text.index("[tables.households.columns.weight]") : text.index("[tables.persons]")]
    return PAIRS | {
        LISTED: (text.replace(body, _column("households", "weight", type="number", values=weights)), names, key)
    }


def scores(pair: str, folder: Path, *options: str) -> dict[str, dict[str, float]]:
    """What the scorer prints: of the synthetic tables in a folder, and of what `options` ask for."""
    _, names, key = _near_pairs()[pair]
    files = [str(DATA / f"{name}.csv.gz") for name in names] + [str(folder / f"{name}.csv") for name in names]
    told = subprocess.run(
        [sys.executable, str(SCORER), *files, "--key", key, *options], capture_output=True, text=True, check=True
    ).stdout
    found = {}
    for line in told.splitlines():
        name, _, rest = line.partition(" ")
        if name in ("synthetic", "shuffled", "halves"):
            parts = rest.strip().split("  ")
            found[name] = {part.rsplit(" ", 1)[0]: float(part.rsplit(" ", 1)[1]) for part in parts}
    return found


def siblings_apart(pair: str, folder: Path) -> dict[tuple[str, str], tuple[float, ...]]:
    """Of each two columns of two siblings, how far released tables, records dealt anew and halves are, by the scorer.

    The scorer prints the means alone.
    """
    spec = importlib.util.spec_from_file_location("scorer", SCORER)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(SCORER)
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    _, names, key = _near_pairs()[pair]
    parents, records = (pd.read_csv(DATA / f"{name}.csv.gz") for name in names)
    codes = [{c: scorer.Codes(table[c]) for c in table if c != key} for table in (parents, records)]
    rng, each = np.random.default_rng(0), {c: own.size for c, own in codes[1].items()}

    def laws(above: pd.DataFrame, below: pd.DataFrame) -> dict[tuple[str, str], Any]:
        one = scorer.Pair(above, below, key, codes, 1, rng)
        first, second, weight = one.children, one.siblings, one.weight[one.pairs]
        return {
            (a, b): scorer.table(first[a][one.pairs], second[b][one.pairs], weight, (each[a], each[b]))
            for a, b in itertools.product(each, each)
        }

    half = pd.Series(rng.random(len(parents)) < 0.5, index=parents[key])
    halves = [(parents[flags.to_numpy()], records[records[key].map(flags)]) for flags in (half, ~half)]
    dealt = records.assign(**{key: rng.permutation(records[key].to_numpy())})
    released = (pd.read_csv(folder / f"{name}.csv") for name in names)
    real, made, anew, one, other = itertools.starmap(
        laws, [(parents, records), tuple(released), (parents, dealt), *halves]
    )
    beside = (real, made), (real, anew), (one, other)
    return {two: tuple(float(np.abs(x[two] - y[two]).sum()) / 2 for x, y in beside) for two in real}


def in_processes(
    task: Callable[..., Any], arguments: Iterable[tuple[Any, ...]], jobs: int, *, fresh: bool = True
) -> list[Any]:
    """What a task returns of each of some arguments, in their order, in so many processes: `fresh` ones, or not."""
    tasks = 1 if fresh else None
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), max_tasks_per_child=tasks) as pool:
        return [one.result() for one in [pool.submit(task, *one) for one in arguments]]


def _line(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def _files(pair: str) -> dict[str, Path]:
    return {name: DATA / f"{name}.csv.gz" for name in _near_pairs()[pair][1]}


# --------------------
# How near: of each pair of public tables, some releases beside records dealt anew and halves.


def near(seeds: int, jobs: int) -> list[str]:
    """The mean and the worst of each score."""
    lines = [
        "## How near",
        "",
        f"ε = 1, δ = 1e-6, add-remove, {seeds} releases with fresh noise. Mean total variation over pairs of columns,",
        "each person weighing 1; in brackets the worst. ✗: above what is asked. The weight of a household is one of 71",
        "numbers, by its region and size: as a number in 600 cells it falls beside some of them; listed, it does not.",
        "",
        _line("tables", "", *KINDS, "CPU s"),
        _line(*["---"] * (len(KINDS) + 3)),
    ]
    pairs = _near_pairs()
    found = in_processes(_one_near, [(pair, seed) for seed in range(seeds) for pair in pairs], jobs)
    for number, pair in enumerate(pairs):
        lines += _near(pair, found[number :: len(pairs)])
        print("\n".join(lines[-4:]), flush=True)
    lines += [
        "",
        "Siblings, two columns at a time: pairs whose mean over the releases is nearer than records dealt anew, of",
        "those that dealing anew puts farther off than one half of the real tables is from the other.",
        "",
        _line("tables", "nearer", "not"),
        _line(*["---"] * 3),
        *(_nearer(pair, found[number :: len(pairs)]) for number, pair in enumerate(pairs)),
    ]
    print("\n".join(lines[-len(pairs) :]), flush=True)
    return lines


def _nearer(pair: str, every: list[dict[str, Any]]) -> str:
    """How many pairs of siblings' columns are nearer than those of records dealt anew, and which are not."""
    apart = {two: np.mean([one["siblings"][two] for one in every], axis=0) for two in every[0]["siblings"]}
    told = {" x ".join(two): (made, anew) for two, (made, anew, halves) in apart.items() if anew > halves}
    worse = [f"{two} {made:.3f} ({anew:.3f})" for two, (made, anew) in told.items() if made >= anew]
    title = " / ".join(PAIRS[pair][1]) if pair in PAIRS else pair
    return _line(title, f"{len(told) - len(worse)} of {len(told)}", ", ".join(worse) or "none")


def _one_near(pair: str, seed: int) -> dict[str, Any]:
    """The scores of one release, and its CPU seconds; of the first also what records dealt anew and halves come to."""
    begin = time.process_time()
    release = ke.release(_files(pair), schema=Tables.parse(_near_pairs()[pair][0]), privacy=PRIVACY, seed=seed)
    seconds = time.process_time() - begin
    with tempfile.TemporaryDirectory() as folder:
        release.export(folder, form="csv")
        also = ["--shuffled", "--halves"] if seed == 0 else []
        apart = siblings_apart(pair, Path(folder))
        return {"seconds": seconds, "siblings": apart, **scores(pair, Path(folder), *also)}


def _near(pair: str, every: list[dict[str, Any]]) -> list[str]:
    seconds, asked = np.mean([one["seconds"] for one in every]), ASKED["households" if pair == LISTED else pair]
    told = [_score([one["synthetic"][kind] for one in every], asked.get(kind)) for kind in KINDS]
    title = " / ".join(PAIRS[pair][1]) if pair in PAIRS else pair
    lines = [_line(title, "kernelease", *told, f"{seconds:.0f}")]
    lines.append(_line("", "asked", *(f"{asked[kind]:.3f}" if kind in asked else "" for kind in KINDS), ""))
    for name, words in (("shuffled", "records dealt anew"), ("halves", "halves of the real tables")):
        lines.append(_line("", words, *(f"{every[0][name][kind]:.3f}" for kind in KINDS), ""))
    return lines


def _score(found: list[float], asked: float | None) -> str:
    missed = " ✗" if asked is not None and np.mean(found) > asked else ""
    return f"{np.mean(found):.3f} ({max(found):.3f}){missed}"


# --------------------
# What releases keep to: keys, caps, rules.


RULED = {"players": ("[tables.players]\n", '[tables.players]\nconstraints = ["deathDate >= birthDate"]\n')}


def rules(count: int, jobs: int) -> list[str]:
    """Orphans, parents beyond their cap, and rows that break a rule, in some releases of each."""
    lines = [
        "## Keys, caps and rules",
        "",
        f"{count} releases of each, of 2,000 persons. A rule is one of a table's `constraints`; visits also keep",
        "`visits.date >= patients.born`, and come in the order of their dates.",
        "",
        _line("tables", "problems of keys, caps, orders and rules across tables", "rows that break a rule", "rows"),
        _line(*["---"] * 4),
    ]
    names = [*(pair for pair in PAIRS if DATA.exists()), "generated", "visits"]
    found = in_processes(_one_ruled, [(name, seed) for name in names for seed in range(count)], jobs, fresh=False)
    for number, name in enumerate(names):
        problems, broken, rows = np.sum(found[number * count : (number + 1) * count], axis=0)
        lines.append(_line(name, problems, broken, f"{rows:,}"))
        print(lines[-1], flush=True)
    return lines


def _one_ruled(name: str, seed: int) -> tuple[int, int, int]:
    """Problems of keys, rows that break a rule of their table, and rows, of one release."""
    given: dict[str, tuple[str, Callable[[], Any]]] = {
        "generated": (GENERATED, lambda: generated(2000)),
        "visits": (VISITS, lambda: visited(2000)),
    }
    text, data = given[name] if name in given else (_ruled(name), lambda: _files(name))
    tables = Tables.parse(text)
    release = ke.release(data(), schema=tables, privacy=PRIVACY, rows=2000, seed=seed, fast=True)
    made = {table: release.tables[table.name].rows for table in tables.tables}
    broken = sum(int((~lawful_flags(t.schema, rows.select(t.schema.names))).sum()) for t, rows in made.items())
    return (
        len(key_problems(contents_of(release).tables, release.schema)),
        broken,
        sum(rows.num_rows for rows in made.values()),
    )


VISITS = """
[unit]
table = "patients"
neighbours = "add-remove"
rules = ["visits.date >= patients.born"]
[tables.patients]
key = "patient"
[tables.patients.columns.born]
type = "date"
min = 1920-01-01
max = 2020-12-31
cells = 20
[tables.visits]
parent = "patients"
foreign_key = "patient"
max_rows = 8
order = "date"
[tables.visits.columns.date]
type = "date"
min = 1920-01-01
max = 2023-12-31
cells = 20
[tables.visits.columns.state]
type = "category"
values = ["well", "ill", "in hospital"]
"""


def visited(count: int) -> dict[str, pd.DataFrame]:
    """Patients with visits in sequence, none of which is before birth."""
    rng = np.random.default_rng(0)
    born = rng.integers(0, 36_000, count)
    owner = np.repeat(np.arange(count), rng.integers(0, 10, count))
    day = born[owner] + (rng.random(len(owner)) * (37_900 - born[owner])).astype(int)
    start = np.datetime64("1920-01-01")
    state = rng.choice(["well", "ill", "in hospital"], len(owner), p=[0.6, 0.3, 0.1])
    visits = pd.DataFrame({"patient": owner, "date": start + day.astype("timedelta64[D]"), "state": state})
    return {"patients": pd.DataFrame({"patient": np.arange(count), "born": start + born.astype("timedelta64[D]")})} | {
        "visits": visits
    }


def _ruled(pair: str) -> str:
    return PAIRS[pair][0].replace(*RULED.get(pair, ("", "")))


# --------------------
# Noise: the same at every depth, whatever the cap.


def noise(_: int, jobs: int) -> list[str]:
    """What one person changes, in integers, and the noise that follows, beside a product of caps."""
    lines = [
        "## Noise by depth and cap",
        "",
        "What a person with twice as many records as are kept adds to the counts of a column of the table at that",
        "depth, in persons (in integers: with the person less without); and the noise for 1 % of ε = 1, δ = 1e-6.",
        "Beside it the noise where records are summed, by the product of the caps, which is dpsynth's formula.",
        "",
        _line("depth", "most records of a parent", "one person adds", "noise, persons", "by the product of caps"),
        _line(*["---"] * 5),
    ]
    privacy = Privacy(epsilon=PRIVACY[0], delta=PRIVACY[1], neighbours=Neighbours.ADD_REMOVE)
    for depth, cap in itertools.product((1, 2, 3), (5, 50, 500)):
        tables = Tables.parse(_chain(depth, cap))
        place = tables.places[depth - 1].columns[0]
        block = Counts(columns=(place,), groups=(np.arange(tables.flat.sizes[place]),), share=0.01)
        moved = _changed(tables, cap, block)
        far = block.sensitivity(Neighbours.ADD_REMOVE, WEIGHT).l2 / WEIGHT
        scale = far * count_noise(privacy, privacy.total(1))(0.01)
        lines.append(_line(depth, cap, f"{moved:g}", f"{scale:.1f}", f"{scale * cap ** (depth - 1):,.0f}"))
    print("\n".join(lines[-9:]), flush=True)
    return lines


def _chain(depth: int, cap: int) -> str:
    """Tables that hang on each other: `first`, `second`, `third`; their last column is of the deepest."""
    names = ("first", "second", "third")[: max(2, depth)]
    text = '[unit]\ntable = "first"\nneighbours = "add-remove"\n'
    for name, parent in zip(names, (None, *names), strict=False):
        hangs = "" if parent is None else f'parent = "{parent}"\nforeign_key = "of"\nmax_rows = {cap}\n'
        text += f'[tables.{name}]\nkey = "key"\n{hangs}[tables.{name}.columns.kind]\ntype = "boolean"\n'
    return text


def _changed(tables: Tables, cap: int, block: Counts) -> float:
    """Σ |counts with one more person − counts without|, in persons."""
    frames = {}
    for names in ((1, 2), (1,)):
        rows = {"first": pd.DataFrame({"key": names, "kind": [True] * len(names)})}
        for name, parent in zip(tables.names[1:], tables.names[:-1], strict=True):
            above = rows[parent].key.to_numpy()
            keys = np.repeat(above if parent == "first" else above[:: 2 * cap], 2 * cap)
            rows[name] = pd.DataFrame({"key": np.arange(len(keys)), "of": keys, "kind": np.arange(len(keys)) % 3 == 0})
        frames[len(names)] = private_tables(rows, tables, seed=PublicSeed(0))
    with_, without = (frames[n].counts()._counter([block])[0].astype(float) for n in (2, 1))
    return float(np.abs(with_ - without).sum()) / WEIGHT


# --------------------
# Coverage of answers over joins.


GENERATED = """
[unit]
table = "homes"
neighbours = "add-remove"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["a", "b", "c"]
[tables.homes.columns.earned]
aggregate = "sum(people.pay)"
min = 0
max = 6000
cells = 20
[tables.homes.columns.old]
aggregate = "any(people, age >= 70)"
[tables.people]
parent = "homes"
foreign_key = "home"
max_rows = 5
constraints = ["pay <= 20 * age"]
[tables.people.columns.role]
type = "category"
values = ["head", "spouse", "child"]
[tables.people.columns.age]
type = "integer"
min = 0
max = 99
[tables.people.columns.pay]
type = "integer"
min = 0
max = 1999
cells = 20
"""


def generated(count: int, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Homes and their people: pay depends on the town and the role, and some homes have nobody."""
    rng = np.random.default_rng(seed)
    homes = pd.DataFrame({"home": np.arange(count), "town": rng.choice(["a", "b", "c"], count, p=[0.5, 0.3, 0.2])})
    number = rng.choice(6, count, p=[0.05, 0.35, 0.3, 0.15, 0.1, 0.05])
    owner = np.repeat(np.arange(count), number)
    rank = np.arange(len(owner)) - np.repeat(np.cumsum(number) - number, number)
    grown = rank < 2
    age = np.where(grown, rng.integers(20, 99, len(owner)), rng.integers(0, 19, len(owner)))
    richer = (homes.town == "a").to_numpy()[owner]
    pay = np.where(grown, np.minimum(20 * age, rng.integers(100, 1200, len(owner)) + 600 * richer), 0)
    roles = np.array(["head", "spouse", "child"])[np.minimum(rank, 2)]
    return {"homes": homes, "people": pd.DataFrame({"home": owner, "role": roles, "age": age, "pay": pay})}


def coverage(count: int, jobs: int) -> list[str]:
    """How often 95 % intervals hold the truth, and how wide they are beside the errors."""
    truth = _truth(generated(4000))
    releases = in_processes(_one_covered, [(seed,) for seed in range(count)], jobs, fresh=False)
    found = {name: [one[name] for one in releases] for name in truth}
    lines = [
        "## Coverage of answers over joins",
        "",
        f"{count} releases of 4,000 generated homes with their people; 95 % intervals, asked 93 to 98 %, half widths",
        "at most 1.5 of 1.96 · RMSE. ✗: outside.",
        "",
        _line("answer", "truth", "covered", "half width over 1.96 · RMSE"),
        _line(*["---"] * 4),
    ]
    for name, every in found.items():
        values, low, high = np.array(every).T
        covered = float(np.mean((low <= truth[name]) & (truth[name] <= high)))
        wide = float(np.mean(high - low)) / 2 / (1.96 * float(np.sqrt(np.mean((values - truth[name]) ** 2))))
        marks = (" ✗" if not 0.93 <= covered <= 0.98 else "", " ✗" if wide > 1.5 else "")
        lines.append(_line(name, f"{truth[name]:.3f}", f"{covered:.0%}{marks[0]}", f"{wide:.2f}{marks[1]}"))
    print("\n".join(lines[-len(found) :]), flush=True)
    return lines


def _one_covered(seed: int) -> dict[str, tuple[float, float, float]]:
    """Every answer of one release, and its interval: they come from noisy counts, so that no rows are made anew."""
    measured = ke.measure(generated(4000), schema=Tables.parse(GENERATED), privacy=PRIVACY, seed=seed)
    release = TablesRelease(tables=_rows_of_homes(), measurements=measured)
    return {name: (told.value, *told.interval()) for name, told in _answers(release).items()}


@functools.cache
def _rows_of_homes() -> Mapping[str, Any]:
    """Rows of one release, which no answer follows from."""
    return ke.release(generated(4000), schema=Tables.parse(GENERATED), privacy=PRIVACY, rows=400, fast=True).tables


def _answers(release: TablesRelease) -> dict[str, "ke.Estimate"]:
    pay = release.mean("people.pay", by="homes.town")
    return {
        "mean of homes.people": release.mean("homes.people"),
        "mean of homes.earned, a sum of people.pay": release.mean("homes.earned"),
        "share of homes.old, any person of 70 or more": release.probability("homes.old = true"),
        **{f"mean of people.pay, town {town}": pay[town] for town in "abc"},
        "mean of people.age": release.mean("people.age"),
        "mean of people.pay per record": release.mean("people.pay", per="record"),
        "share of records: children": release.probability("people.role = 'child'", per="record"),
        "share of homes with nobody": release.flat.probability("homes.people = 0"),
        "share of paths: children in town c": release.flat.probability("people.role = 'child' and homes.town = 'c'"),
    }


def _truth(data: dict[str, pd.DataFrame]) -> dict[str, float]:
    homes, people = data["homes"], data["people"].copy()
    number = people.groupby("home").size().reindex(homes.home, fill_value=0)
    people["weight"] = 1.0 / people.home.map(number)
    people["town"] = people.home.map(homes.set_index("home").town)

    def mean(rows: pd.DataFrame, column: str) -> float:
        return float((rows[column] * rows.weight).sum() / rows.weight.sum())

    child = people[(people.role == "child") & (people.town == "c")]
    return {
        "mean of homes.people": float(number.mean()),
        "mean of homes.earned, a sum of people.pay": float(people.pay.sum() / len(homes)),
        "share of homes.old, any person of 70 or more": people[people.age >= 70].home.nunique() / len(homes),
        **{f"mean of people.pay, town {town}": mean(people[people.town == town], "pay") for town in "abc"},
        "mean of people.age": mean(people, "age"),
        "mean of people.pay per record": float(people.pay.mean()),
        "share of records: children": float((people.role == "child").mean()),
        "share of homes with nobody": float((number == 0).mean()),
        "share of paths: children in town c": float(child.weight.sum() / len(homes)),
    }


# --------------------
# Size.


def size(parents: int, jobs: int) -> list[str]:
    """One pass over many persons: CPU seconds and memory, beside a single table with as many rows, from Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        records = 10 * parents
        in_processes(_write_many, [(parents, folder)], 1)
        ran = in_processes(_one_size, [("one", folder), ("several", folder)], min(jobs, 2))
    (one, beside), (several, memory) = ran
    lines = [
        "## Size",
        "",
        f"{parents:,} persons with {records:,} records, from Parquet: {several:.0f} CPU s to measure,",
        f"{several / one:.1f} times the {one:.0f} CPU s of one table of as many rows (asked: at most 3).",
        f"{memory:.2f} GiB at most in the process (asked: 1), beside {beside:.2f} of one table.",
    ]
    print(" ".join(lines[-3:]), flush=True)
    return lines


def _write_many(parents: int, folder: str) -> None:
    for name, frame in _many(parents).items():
        frame.to_parquet(Path(folder) / f"{name}.parquet", index=False)


def _one_size(what: str, folder: str) -> tuple[float, float]:
    """CPU seconds of measuring one table or several, and the most memory of this process, in GiB."""
    columns = GENERATED[GENERATED.index("[tables.people.columns") :].replace("tables.people.", "")
    alone = ke.Schema.parse(f'[table]\nname = "people"\nneighbours = "add-remove"\n{columns}')
    given = Path(folder) / "people.parquet" if what == "one" else Path(folder)
    begin = time.process_time()
    ke.measure(given, schema=alone if what == "one" else Tables.parse(GENERATED), privacy=PRIVACY)
    return time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _many(parents: int) -> dict[str, pd.DataFrame]:
    """So many homes, and ten times as many people."""
    rng = np.random.default_rng(0)
    owner = np.sort(rng.integers(0, parents, 10 * parents))
    homes = pd.DataFrame({"home": np.arange(parents), "town": pd.Categorical(rng.choice(["a", "b", "c"], parents))})
    people = pd.DataFrame({"home": owner, "role": pd.Categorical(rng.choice(["head", "spouse", "child"], len(owner)))})
    people["age"], people["pay"] = (rng.integers(0, most, len(owner), dtype=np.int16) for most in (100, 2000))
    return {"homes": homes, "people": people}


# --------------------
# Others.


def others(_count: int, _jobs: int) -> list[str]:
    """SDV's HMA by the same scorer, of tables that benchmarks/hma.py has made."""
    made = {pair: Path(os.environ.get("HMA", "hma")) / pair for pair in PAIRS}
    lines = [
        "## Beside others",
        "",
        "SDV's HMA, which promises no privacy, with its settings (`benchmarks/hma.py`, one run), by the same scorer.",
        "dpsynth can't be installed here; its noise, by its formula, is in the table above.",
        "",
        _line("tables", "", *KINDS),
        _line(*["---"] * (2 + len(KINDS))),
    ]
    for pair, folder in made.items():
        _, names, _ = PAIRS[pair]
        there = all((folder / f"{name}.csv").exists() for name in names)
        found = scores(pair, folder)["synthetic"] if there else {}
        shown = [f"{found[kind]:.3f}" for kind in KINDS] if there else ["not run"] + [""] * (len(KINDS) - 1)
        lines.append(_line(" / ".join(names), "HMA", *shown))
    print("\n".join(lines[5:]), flush=True)
    return lines


# --------------------
# The page.


INTRODUCTION = """# Persons with records: figures

By `make bench-relational`: what [several tables](several-tables.md) released together come to. Two pairs of public
tables (players and seasons, 19,689 / 107,429; households and persons, 4,641 / 11,725), and generated ones.
"""
PARTS: dict[str, tuple[Callable[[int, int], list[str]], int]] = {
    "near": (near, 3),
    "rules": (rules, 20),
    "noise": (noise, 0),
    "coverage": (coverage, 300),
    "others": (others, 0),
    "size": (size, 1_000_000),
}


def written(parts: dict[str, list[str]]) -> None:
    """The page with these parts anew, and the others as they are."""
    before = PAGE.read_text() if PAGE.exists() else ""
    old = dict(re.findall(r"<!-- (\w+) -->\n(.*?)(?=<!-- |\Z)", before, flags=re.DOTALL))
    new = {name: "\n".join([*lines, "", f"On {described()}.", ""]) for name, lines in parts.items()}
    every = {name: new.get(name, old.get(name, "").strip() + "\n") for name in PARTS if name in new or name in old}
    PAGE.write_text("\n".join([INTRODUCTION, *(f"<!-- {name} -->\n{text}" for name, text in every.items())]))


def main() -> None:
    """Run the parts that are asked for."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default=",".join(PARTS), help="parts, with commas between them")
    arguments.add_argument("--times", type=int, help="releases of each part, or persons")
    arguments.add_argument("--jobs", type=int, default=1, help="processes that make releases")
    arguments.add_argument("--write", action="store_true")
    asked = arguments.parse_args()
    for name in asked.only.split(","):
        part, usual = PARTS[name]
        if name in ("near", "others") and not DATA.exists():
            print(f"{name}: the public tables are not at hand.")
            continue
        lines = part(asked.times or usual, asked.jobs)
        if asked.write:
            written({name: lines})


if __name__ == "__main__":
    main()
