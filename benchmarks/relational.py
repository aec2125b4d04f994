"""Two pairs of public tables, released at ε = 1: how near parents, numbers, children and siblings come.

The scorer is ../shared/tools/evaluate_relational.py, beside children dealt anew and random halves of the real tables.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import kernelease as ke
from kernelease.relational.schema import Tables

HERE = Path(__file__).resolve().parent.parent
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
    '[unit]\ntable = "players"\n[tables.players]\nkey = "player"\n'
    + _column("players", "country", type="category", values=COUNTRIES)
    + _column("players", "birthDate", type="date", min="1830-01-01", max="2005-12-31", nullable=True, cells=36)
    .replace('"1830-01-01"', "1830-01-01")
    .replace('"2005-12-31"', "2005-12-31")
    + _column("players", "deathDate", type="date", min="1870-01-01", max="2022-12-31", nullable=True, cells=36)
    .replace('"1870-01-01"', "1870-01-01")
    .replace('"2022-12-31"', "2022-12-31")
    + _whole("players", {"weight": (60, 320)}, ("weight",), cells=26)
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
        cells=16,
    )
)
REGIONS = [
    *("Burgenland", "Carinthia", "Lower Austria", "Salzburg", "Styria", "Tyrol"),
    *("Upper Austria", "Vienna", "Vorarlberg"),
]
_MONEY = {"net_income": 30, "employee_income": 30, "self_employed_income": 12}  # cells; what is below 0 counts as 0
_MONEY |= {"unemployment_benefit": 12, "old_age_benefit": 24}
HOUSEHOLDS = (
    '[unit]\ntable = "households"\n[tables.households]\nkey = "household"\n'
    + _column("households", "region", type="category", values=REGIONS)
    + _column("households", "weight", type="number", min=3.5, max=13.0, cells=50)
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
PAIRS = {
    "players": (PLAYERS, ("players", "seasons"), "player"),
    "households": (HOUSEHOLDS, ("households", "persons"), "household"),
}


def scores(pair: str, folder: Path, *options: str) -> dict[str, dict[str, float]]:
    """What the scorer prints: of the synthetic tables in a folder, and of what `options` ask for."""
    _, names, key = PAIRS[pair]
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


def main() -> None:
    """Release each pair with several seeds, and print the mean and the worst of each score."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--pairs", nargs="*", default=list(PAIRS))
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--epsilon", type=float, default=1.0)
    asked = arguments.parse_args()
    for pair in asked.pairs:
        text, names, _ = PAIRS[pair]
        tables = Tables.parse(text)
        every: list[dict[str, float]] = []
        beside: dict[str, dict[str, float]] = {}
        seconds = []
        for seed in range(asked.seeds):
            begin = time.perf_counter()
            release = ke.release(
                {name: DATA / f"{name}.csv.gz" for name in names},
                schema=tables,
                privacy=(asked.epsilon, 1e-6),
                seed=seed,
                noise=ke.SeededNoise(seed),
            )
            seconds.append(time.perf_counter() - begin)
            with tempfile.TemporaryDirectory() as folder:
                release.export(folder, form="csv")
                found = scores(pair, Path(folder), *(["--shuffled", "--halves"] if seed == 0 else []))
            every.append(found.pop("synthetic"))
            beside |= found
        print(f"{pair}, epsilon {asked.epsilon:g}, delta 1e-6, {asked.seeds} releases, {np.mean(seconds):.0f} s each")
        rows = {
            "mean": {kind: float(np.mean([one[kind] for one in every])) for kind in KINDS},
            "worst": {kind: max(one[kind] for one in every) for kind in KINDS},
            **beside,
        }
        print(f"{'':10}" + "".join(f"{kind:>16}" for kind in KINDS))
        for name, row in rows.items():
            print(f"{name:10}" + "".join(f"{row[kind]:16.4f}" for kind in KINDS))


if __name__ == "__main__":
    main()
