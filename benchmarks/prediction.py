"""What a classifier learns from released rows of public tables: ours beside AIM and MST, on real test rows.

python benchmarks/prediction.py --runs 10                      br2000, stroke, fire, national2019, bank at ε = 1
python benchmarks/prediction.py --keep --only stroke           with the peers' outcomes of earlier runs

For each table one value of a category is predicted from all other columns. The benchmark chose it before any release
was scored; no contender is told.
"""

import dataclasses
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.csv
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from benchmarks.adult import ROOT, split
from benchmarks.checks import Check
from benchmarks.machine import described
from benchmarks.public_tables import NIST, TABLES
from benchmarks.table_contenders import (
    KEPT,
    PEERS_PYTHON,
    Contender,
    Outcome,
    Task,
    contenders,
    kept,
    numbered,
    one_run,
    save,
)
from benchmarks.table_reports import markdown
from benchmarks.tables_scores import trees_auc
from kernelease import __version__
from kernelease.arrays import Integers
from kernelease.sources import open_source
from kernelease.table import Schema
from kernelease.table.encode import Encoder

DELTA = 1e-9
TARGETS = {
    "br2000": ("c13", "1"),
    "stroke": ("rvisinf", "1"),
    "fire": ("als_unit", "1"),
    NIST: ("OWN_RENT", "2"),
    "bank": ("y", "yes"),
}
OURS, REAL = "ours", "real"
COLUMNS = {  # of the page
    OURS: "kernelease",
    "dpmm-aim": "AIM (dpmm; 4 rounds per column, 200 steps each, 2,500 in the last fit)",
    "dpmm-mst": "MST (dpmm)",
    REAL: "the real training rows",
}
PEERS = tuple(who for who in COLUMNS if who not in (OURS, REAL))
HEADER = ("", "training rows × columns", "predicted", *COLUMNS.values())


def main(
    *,
    only: Annotated[list[str] | None, typer.Option(help="A table's name; several times for several.")] = None,
    epsilon: Annotated[float, typer.Option(help="ε.")] = 1.0,
    delta: Annotated[float, typer.Option(help="δ.")] = DELTA,
    runs: Annotated[int, typer.Option(min=1, help="Releases of ours; a peer has one.")] = 3,
    limit: Annotated[float, typer.Option(help="Seconds that one run may take.")] = 900.0,
    keep: Annotated[bool, typer.Option("--keep", help="Take what is there from earlier runs; run the rest.")] = False,
    peers_python: Annotated[Path, typer.Option(help="The Python that has the peers' packages.")] = PEERS_PYTHON,
    out: Annotated[Path, typer.Option(help="Folder for JSON.")] = ROOT / "benchmarks" / "results",
    document: Annotated[Path, typer.Option(help="The page to write.")] = ROOT / "docs" / "benchmarks-prediction.md",
) -> None:
    """Compare AUCs on real test rows."""
    if not TABLES.is_dir():
        raise SystemExit(f"The public tables are not here: {TABLES}.")
    everyone = [contender for contender in contenders(peers_python=peers_python) if contender.name in COLUMNS]
    settings = {"epsilon": epsilon, "delta": delta}
    done = kept((KEPT / "prediction.json", out / "prediction.json"), [OURS], settings) if keep else []
    tables = [Split.load(name) for name in only or TARGETS]
    for table in tables:
        with tempfile.TemporaryDirectory() as folder:
            waiting = [who for who in everyone if not of(done, who.name, table.name)]
            for outcome in outcomes(table, waiting, Path(folder), **settings, runs=runs, limit=limit):
                done.append(outcome)
                save(done, out / "prediction.json", version=__version__, machine=described(), **settings)
        print(*line(table, done), sep="; ", flush=True)
    print(*checks(tables, done), sep="\n")
    document.write_text(page(tables, done, **settings))


@dataclass(frozen=True, kw_only=True)
class Split:
    """Train and test rows of a table, as text and as codes, (n, columns); and the value to predict."""

    name: str
    schema: Schema
    text: pa.Table  # train rows
    train: Integers
    test: Integers

    @classmethod
    def load(cls, name: str) -> "Split":
        """The split that lies beside the table; of NIST's, which has none, the one that Adult has."""
        schema = Schema.load(TABLES / f"{name}.toml")
        if name == NIST:
            rows = _text(TABLES / "national2019_ten.csv", schema)
            train, test = (rows.take(pa.array(some)) for some in split(rows.num_rows))
        else:
            train, test = (_text(TABLES / f"{name}_{part}.csv.gz", schema) for part in ("train", "test"))
        return cls(name=name, schema=schema, text=train, train=_codes(schema, train), test=_codes(schema, test))

    def auc(self, codes: Integers) -> float:
        """Of LightGBM, trained on these rows, on the real test rows."""
        column, value = TARGETS[self.name]
        place = self.schema.column(column).labels().index(value)
        return trees_auc(codes, self.test, target=self.schema.names.index(column), value=place)

    def task(self, folder: Path, *, delta: float, numbers: bool) -> Task:
        """The train rows as a file: as they are, or with numbered values for contenders that need them."""
        names, sizes = self.schema.names, self.schema.sizes
        train, domain = folder / f"{self.name}-{numbers}.csv", folder / f"{self.name}.json"
        pyarrow.csv.write_csv(pa.table(dict(zip(names, self.train.T, strict=True))) if numbers else self.text, train)
        domain.write_text(json.dumps(dict(zip(names, sizes, strict=True))))

        def scores(made: pa.Table) -> dict[str, float]:
            return {"auc": self.auc(numbered(made, names, sizes) if numbers else _codes(self.schema, made))}

        schema = TABLES / f"{self.name}.toml"
        return Task(train=train, schema=schema, rows=len(self.train), delta=delta, scores=scores, domain=domain)


def outcomes(
    table: Split, waiting: Sequence[Contender], folder: Path, *, epsilon: float, delta: float, runs: int, limit: float
) -> Iterator[Outcome]:
    """The real rows, our releases, one run of each peer."""
    yield Outcome(contender=_entry(REAL, table.name), epsilon=0.0, run=0, scores={"auc": table.auc(table.train)})
    for contender in waiting:
        task = table.task(folder, delta=delta, numbers=not contender.ours)
        for run in range(runs if contender.ours else 1):
            outcome = one_run(contender, task, epsilon, run, limit=limit)
            yield dataclasses.replace(outcome, contender=_entry(contender.name, table.name))


def of(done: Sequence[Outcome], who: str, table: str) -> list[Outcome]:
    """The outcomes of a contender with a table."""
    return [outcome for outcome in done if outcome.contender == _entry(who, table)]


def line(table: Split, done: Sequence[Outcome]) -> list[str]:
    """A table's row of the page."""
    size, target = f"{len(table.train):,} × {len(table.schema)}", " = ".join(TARGETS[table.name])
    return [table.name, size, target, *(_told(of(done, who, table.name)) for who in COLUMNS)]


def page(tables: Sequence[Split], done: Sequence[Outcome], *, epsilon: float, delta: float) -> str:
    """The page of the documentation, made by a run alone."""
    lines = [
        "# Prediction: kernelease beside its peers",
        "",
        f"Made by `python benchmarks/prediction.py` with kernelease {__version__} on {described()}.",
        "",
        "AUC of LightGBM on real test rows for one value of a category that no contender was told, trained on as many "
        f"released rows as there are training rows; ε = {epsilon:g}, δ = {delta:g}, add-remove neighbours, defaults. "
        "Mean (lowest–highest) over runs; a peer has one run, of the same columns with numbered values, beside "
        "other work on the same cores. † from an earlier run of the benchmark.",
        "",
        markdown(HEADER, [line(table, done) for table in tables]),
        "",
        *(f"- {check}" for check in checks(tables, done)),
    ]
    return "\n".join(lines) + "\n"


def checks(tables: Sequence[Split], done: Sequence[Outcome]) -> list[Check]:
    """The worst of our runs is no lower than the better of the peers that ended."""
    made = []
    for table in tables:
        ours, *peers = ([o.scores["auc"] for o in of(done, who, table.name) if o.scores] for who in (OURS, *PEERS))
        ended = [auc for some in peers for auc in some]
        if ours and ended:
            worst, best = min(ours), max(ended)
            what = f"{table.name}: the worst of {len(ours)} runs no lower than the better peer"
            made.append(Check(what, f"{worst:.4f}, {best:.4f}", worst >= best))
    return made


def _entry(contender: str, table: str) -> str:
    return f"{contender}: {table}"


def _told(some: Sequence[Outcome]) -> str:
    """The mean (lowest–highest) of its runs, † where kept; or why there is none."""
    aucs = [outcome.scores["auc"] for outcome in some if outcome.scores]
    if not aucs:
        return some[0].problem or "–" if some else "–"
    spread = f" ({_figure(min(aucs))}–{_figure(max(aucs))})" if len(aucs) > 1 else ""
    return f"{_figure(float(np.mean(aucs)))}{spread}{' †' if some[0].kept else ''}"


def _figure(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


def _text(path: Path, schema: Schema) -> pa.Table:
    return pa.Table.from_batches(list(open_source(path).batches(list(schema.names))))


def _codes(schema: Schema, table: pa.Table) -> Integers:
    return Encoder(schema).encode(table.select(list(schema.names)))


if __name__ == "__main__":
    typer.run(main)
