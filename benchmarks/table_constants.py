"""What the constants of tables are worth: each halved and doubled, one at a time.

python benchmarks/table_constants.py              every constant
python benchmarks/table_constants.py mixtures     those of modules whose name contains a word

Prints, for each, the two-way error of releases of two generated tables (few columns, where all pairs are measured;
more, where they are not), relative to that with the constants as they are. Releases with the same seed have the same
rows and the same noise.
"""

import importlib
import itertools
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from kernelease.arrays import Integers

SEEDS = range(1)
TABLES = ((6, 6_000), (14, 1_500))  # columns and rows
CONSTANTS = {
    "fit.mixtures.draw": ("MOST_SWEEPS",),
    "fit.mixtures.beyond": ("_DOUBT", "_TOLERANCE"),
    "fit.mixtures.mixture": (
        *("_FEW_STEPS", "_STEPS"),
        *("SETTLING", "GAIN", "MOST_CHANGE", "LEANING", "FIRST", "FALL", "RANGE"),
        *("SHARP", "JITTER", "VISIBLE"),
    ),
    "fit.mixtures.objective": ("_TRUST", "_LEAST_TRUST", "_MOST_TRUST", "_DOUBT", "_CERTAIN"),
    "fit.mixtures.one_way": ("SHORTEST", "PASSES", "SHIFTS", "SIGNIFICANT", "NOTHING", "LONG"),
    "methods.interactions.interactions": ("NEARLY_ALL",),
    "methods.interactions.pairs": ("PAIR_POWER", "VISIBLE", "FAINT", "DEPENDENT"),
    "methods.interactions.singles": (
        *("SIZE", "LEAST_SINGLES", "MOST_SINGLES", "TRIPLE", "CHOICE", "FEWEST_TRIPLES", "FOREST_CHOICE", "FOREST"),
        *("SINGLE_POWER", "LONG", "RUN", "COARSE"),
    ),
    "methods.interactions.sets": ("VISIBLE",),
}


def error(columns: int, rows: int) -> float:
    """Mean two-way L1 error over the seeds."""
    return float(np.mean([_error_of(columns, rows, seed) for seed in SEEDS]))


def _error_of(columns: int, rows: int, seed: int) -> float:
    codes, sizes = _table(np.random.default_rng(seed), columns, rows)
    declared = "".join(f'[columns.c{i}]\ntype = "integer"\nmin = 0\nmax = {size - 1}\n' for i, size in enumerate(sizes))
    release = ke.release(
        pa.table({f"c{i}": codes[:, i] for i in range(columns)}),
        schema=ke.Schema.parse(f'[table]\nneighbours = "add-remove"\n{declared}'),
        privacy=ke.Privacy(epsilon=1.0, delta=1e-9),
        seed=seed,
        noise=ke.SeededNoise(seed),
    )
    made = np.stack([release.rows.column(f"c{i}").to_numpy() for i in range(columns)], axis=1)
    pairs = list(itertools.combinations(range(columns), 2))
    return float(np.mean([np.abs(_share(codes, sizes, pair) - _share(made, sizes, pair)).sum() for pair in pairs]))


def _share(codes: Integers, sizes: list[int], pair: tuple[int, int]) -> np.ndarray:
    first, second = pair
    cells = codes[:, first] * sizes[second] + codes[:, second]
    return np.bincount(cells, minlength=sizes[first] * sizes[second]) / len(codes)


def _table(generator: np.random.Generator, columns: int, rows: int) -> tuple[Integers, list[int]]:
    """Every third column on its own, the others driven by two common factors; one of a hundred values in four."""
    sizes = [150 if i % 4 == 3 else int(generator.integers(2, 10)) for i in range(columns)]
    factors = generator.random((2, rows))
    drivers = [generator.random(rows) if i % 3 == 0 else factors[i % 2] for i in range(columns)]
    blurred = [np.clip(driver + 0.15 * generator.normal(size=rows), 0.0, 0.999) ** 1.7 for driver in drivers]
    return np.stack([(size * x).astype(np.int64) for size, x in zip(sizes, blurred, strict=True)], axis=1), sizes


def varied(module: str, name: str, factor: float) -> list[float]:
    """The errors of both tables with one constant multiplied."""
    home = importlib.import_module(f"kernelease.{module}")
    usual = getattr(home, name)
    setattr(home, name, max(1, int(usual * factor)) if isinstance(usual, int) else _scaled(usual, factor))
    try:
        return [error(*table) for table in TABLES]
    finally:
        setattr(home, name, usual)


def _scaled(usual: float, factor: float) -> float:
    """A share stays one."""
    return min(usual * factor, (1.0 + usual) / 2.0) if usual < 1.0 else usual * factor


def main() -> None:
    """A line for each constant."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    usual = [error(*table) for table in TABLES]
    print(f"as they are: {usual[0]:.4f}, {usual[1]:.4f}\n| constant | halved | doubled |\n| --- | --- | --- |")
    for module, names in CONSTANTS.items():
        for name in names if word in module else ():
            told = [_told(varied(module, name, factor), usual) for factor in (0.5, 2.0)]
            print(f"| `{name}` of {module} | {told[0]} | {told[1]} |", flush=True)


def _told(errors: list[float], usual: list[float]) -> str:
    return ", ".join(f"{one / other:.2f}" for one, other in zip(errors, usual, strict=True))


if __name__ == "__main__":
    main()
