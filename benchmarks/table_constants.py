"""What the tuned constants of tables are worth on tables that they were not tuned on: each halved and doubled.

python benchmarks/table_constants.py                       every constant, on all cores (hours on two)
python benchmarks/table_constants.py --only draw --seeds 1 those of modules whose name contains a word
python benchmarks/table_constants.py --vectors             those of the search for Gaussians

Prints, for each constant and both factors, the two-way and three-way error of releases over that with the constants as
they are, as the mean over tables and the worst table. Releases with the same seed have the same rows and the same
noise, so that most of the chance cancels; what the rest of it does is the first line, where nothing was changed but the
seed of public randomness. A constant that neither factor makes worse by more than that chance does not matter.
"""

import importlib
import itertools
import json
import math
import os
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import constants as vectors
from benchmarks.generated_tables import generated
from kernelease.arrays import Integers
from tests.test_constants import CONSTANTS

SHARED = Path(os.environ.get("KERNELEASE_SHARED", Path(__file__).resolve().parent.parent.parent / "shared"))
PUBLIC = {"br2000": 40_000, "stroke": 8_000, "fire": 40_000, "bank": 40_000, "diamonds": 20_000}  # rows, at most
GENERATED = {"banking": (14, 6_000), "flights": (10, 20_000), "medical": (30, 3_000)}  # columns, rows
TUNED = ("methods/interactions/", "fit/mixtures/", "measured/")
TIMES = "methods/interactions/rounds.py"  # seconds that a plan expects change no release
FACTORS = (0.5, 2.0)
TRIPLES, BINS = 150, 20
OTHER_SEED = 1000  # of public randomness alone: what chance does


@dataclass(frozen=True)
class Trial:
    """A release of a table with one constant multiplied; without a name, with another seed of public randomness."""

    module: str
    name: str
    factor: float
    table: str
    seed: int


@cache
def table(name: str) -> tuple[pd.DataFrame, ke.Schema]:
    """A table's rows and its schema."""
    if name in GENERATED:
        columns, rows = GENERATED[name]
        made, schema = generated(name, columns=columns, rows=rows)
        return made.to_pandas(), schema
    folder = SHARED / "data" / "tables"
    if name == "national2019":
        rows = pd.read_csv(folder / "national2019_ten.csv", dtype=str, keep_default_na=False)
    else:
        rows = pd.read_csv(folder / f"{name}_train.csv.gz", nrows=PUBLIC[name])
    return rows, ke.Schema.load(folder / f"{name}.toml")


def tables() -> tuple[str, ...]:
    """Those that are here."""
    public = (*PUBLIC, "national2019") if SHARED.is_dir() else ()
    return (*public, *GENERATED)


def tuned(word: str = "", section: str = "") -> list[tuple[str, str]]:
    """Module and name of each constant that an experiment on tables chose, of a section of the research log."""
    found = [
        one for one in CONSTANTS if "research:" in one.comment and one.path.startswith(TUNED) and one.path != TIMES
    ]
    return [
        (one.path.removesuffix(".py").replace("/", "."), name)
        for one in found
        for name in one.name.split(", ")
        if word in one.path and f"research: {section}" in one.comment
    ]


def error(trial: Trial) -> tuple[float, float]:
    """Mean two-way and three-way L1 error of one release."""
    warnings.simplefilter("ignore")
    rows, schema = table(trial.table)
    seed = trial.seed if trial.name else trial.seed + OTHER_SEED * (trial.factor != 1.0)
    home = importlib.import_module(f"kernelease.{trial.module or 'seeds'}")
    usual = getattr(home, trial.name) if trial.name else None
    if usual is not None:
        setattr(home, trial.name, scaled(usual, trial.factor))
    try:
        privacy, noise = ke.Privacy(epsilon=1.0, delta=1e-9), ke.SeededNoise(trial.seed)
        made = ke.release(rows, schema=schema, privacy=privacy, seed=seed, noise=noise).rows.to_pandas()
    finally:
        if usual is not None:
            setattr(home, trial.name, usual)
    return scores(rows, made, tuple(column.source or column.name for column in schema), schema.names)


def scaled(usual: Any, factor: float) -> Any:
    """A constant times a factor: a count stays one, a share stays one."""
    if isinstance(usual, int):
        return max(1, int(usual * factor))
    return min(usual * factor, (1.0 + usual) / 2.0) if usual < 1.0 else usual * factor


def scores(
    real: pd.DataFrame, made: pd.DataFrame, sources: tuple[str, ...], names: tuple[str, ...]
) -> tuple[float, float]:
    """Mean L1 distance over all pairs of columns, and over some sets of three; numbers in twenty cells."""
    coded = [_codes(real[source], made[name]) for source, name in zip(sources, names, strict=True)]
    pairs = list(itertools.combinations(range(len(coded)), 2))
    triples = list(itertools.combinations(range(len(coded)), 3))
    two, three = (
        float(np.mean([_apart(coded, some) for some in shuffled(sets)[:most]]))
        for sets, most in ((pairs, 10 * TRIPLES), (triples, TRIPLES))
    )
    return two, three


def shuffled(things: list[Any]) -> list[Any]:
    """The same in another order, always the same one."""
    return [things[place] for place in np.random.default_rng(0).permutation(len(things))]


def _codes(real: pd.Series, made: pd.Series) -> tuple[Integers, Integers, int]:
    if pd.api.types.is_numeric_dtype(real) and not pd.api.types.is_bool_dtype(real):
        edges = np.unique(np.quantile(real.dropna(), np.linspace(0, 1, BINS + 1)))[:-1]
        both = [pd.to_numeric(cells, errors="coerce") for cells in (real, made)]
        first, second = (np.where(x.isna(), 0, 1 + np.searchsorted(edges, x.fillna(0), side="left")) for x in both)
        return first, second, len(edges) + 2
    if (
        pd.api.types.is_datetime64_any_dtype(real)
        or "date" in str(real.dtype)
        or hasattr(real.dropna().iloc[0], "year")
    ):
        days = [pd.to_datetime(cells, errors="coerce") for cells in (real, made)]
        numbers = [x.astype("int64").where(x.notna(), np.nan).astype("float64") for x in days]
        return _codes(*numbers)
    values, codes = np.unique(np.concatenate([real.astype(str), made.astype(str)]), return_inverse=True)[:2]
    return codes[: len(real)], codes[len(real) :], len(values)


def _apart(coded: list[tuple[Integers, Integers, int]], some: tuple[int, ...]) -> float:
    first = second = np.int64(0)
    cells = 1
    for column in some:
        real, made, size = coded[column]
        first, second, cells = first * size + real, second * size + made, cells * size
    shares = [np.bincount(codes, minlength=cells) / len(codes) for codes in (first, second)]
    return float(np.abs(shares[0] - shares[1]).sum())


def vector_error(trial: Trial) -> tuple[float, float]:
    """The distance of releases of vectors, twice: there are no pairs to tell apart."""
    found = vectors.distance() if not trial.name else vectors.varied(trial.module, trial.name, trial.factor)
    return found, found


def main(
    *,
    only: Annotated[str, typer.Option(help="Constants of modules whose path contains this.")] = "",
    section: Annotated[str, typer.Option(help="Those that name a section which begins so.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="Releases of each table.")] = 1,
    first: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    gaussians: Annotated[bool, typer.Option("--vectors", help="Those of the search for Gaussians.")] = False,
    out: Annotated[Path | None, typer.Option(help="A file for the errors themselves.")] = None,
) -> None:
    """Print a line for each constant."""
    if gaussians:
        chosen = [(module, name) for module, names in vectors.CONSTANTS.items() for name in names if only in module]
    else:
        chosen = tuned(only, section)
    places, many = ("vectors",) if gaussians else tables(), range(first, first + seeds)
    trials = [Trial("", "", factor, place, seed) for factor in (1.0, 2.0) for place in places for seed in many]
    trials += [Trial(*one, f, place, seed) for one in chosen for f in FACTORS for place in places for seed in many]
    work = vector_error if gaussians else error
    found: dict[Trial, tuple[float, float]] = {}
    with ProcessPoolExecutor(max_workers=workers, mp_context=get_context("spawn"), initializer=_alone) as pool:
        waiting = {pool.submit(work, trial): trial for trial in shuffled(trials)}
        for done in as_completed(waiting):
            if (failure := done.exception()) is None:
                found[waiting[done]] = done.result()
            else:
                print(f"no figure for {waiting[done]}: {failure!r}", file=sys.stderr, flush=True)
            if out is not None:
                out.write_text(json.dumps([[*vars(t).values(), *e] for t, e in found.items()]), encoding="utf-8")
    print("| constant | factor | two-way | worst | three-way | worst |\n| --- | --- | --- | --- | --- | --- |")
    for module, name in [("", ""), *chosen]:
        for factor in FACTORS if name else (2.0,):
            print(_line(module, name, factor, places, many, found), flush=True)


def _alone() -> None:
    """One core for each process: they share the machine."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


def _line(module: str, name: str, factor: float, places: Any, seeds: range, found: dict[Trial, Any]) -> str:
    told = []
    for order in (0, 1):
        ratios = {}
        for place in places:
            changed = [found.get(Trial(module, name, factor, place, seed), (math.nan,) * 2)[order] for seed in seeds]
            usual = [found.get(Trial("", "", 1.0, place, seed), (math.nan,) * 2)[order] for seed in seeds]
            ratios[place] = float(np.mean(changed) / np.mean(usual))
        mean = float(np.nanmean(list(ratios.values())))
        worst = max(ratios, key=lambda place: -math.inf if math.isnan(ratios[place]) else ratios[place])
        told += [f"{mean:.4f}", f"{ratios[worst]:.3f} {worst}"]
    return f"| {f'`{name}` of {module}' if name else 'chance'} | {factor:g} | {' | '.join(told)} |"


if __name__ == "__main__":
    typer.run(main)
