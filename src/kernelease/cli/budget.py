"""`kernelease budget`: the ledger of a data set."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelease.cli.options import Delta, Epsilon, Json, Quiet
from kernelease.cli.screen import Screen, facts, grid, number
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger_file import Entry, LedgerFile
from kernelease.privacy.neighbours import Neighbours

budget = typer.Typer(no_args_is_help=True, help="The budget ledger of a data set: make one, look at one.")

_Path = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger, an SQLite file beside the private data.")]


@budget.command()
def create(
    ledger: _Path,
    epsilon: Epsilon,
    delta: Delta,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of the data set; by default a random one.")
    ] = None,
    neighbours: Annotated[
        Neighbours,
        typer.Option(metavar="replace-one|add-remove", help="Which two tables must look alike: as in the schema."),
    ] = Neighbours.REPLACE_ONE,
    unit: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column that identifies a person, if the schema has one.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a ledger with a cap of (epsilon, delta): all that may ever be spent on this data set."""
    cap = Privacy(epsilon=epsilon, delta=delta, neighbours=neighbours)
    made = LedgerFile.create(ledger, cap=cap, dataset=dataset, unit=unit)
    Screen(json=as_json, quiet=quiet).summary(_fields(made, []), facts(_facts(made)))


@budget.command()
def show(ledger: _Path, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what was spent, when, on what and by which version, and what is left."""
    opened = LedgerFile.open(ledger)
    entries = opened.entries()
    header = ("entry", "time", "purpose", "neighbours", "version", "mu", "epsilon if pure")
    rows = [
        (item.number, item.time, item.charge.purpose, item.charge.neighbours.value, item.version, *_amounts(item))
        for item in entries
    ]
    listed = grid(header, rows, text=range(5)) if rows else "no entries yet"
    Screen(json=as_json, quiet=quiet).result(_fields(opened, entries), facts(_facts(opened)), listed)


def _amounts(entry: Entry) -> tuple[str, str]:
    return number(entry.counted.mu), number(_finite(entry.counted.pure_epsilon))


def _facts(ledger: LedgerFile) -> list[tuple[str, object]]:
    cap = ledger.cap
    return [
        ("data set", ledger.dataset),
        ("cap", f"epsilon {cap.epsilon:g}, delta {cap.delta:g}, {cap.neighbours.value} neighbours"),
        ("unit", "each row" if ledger.unit is None else f"each {ledger.unit}"),
        ("budget", ledger.remaining()),
        ("ledger", ledger.path),
    ]


def _fields(ledger: LedgerFile, entries: list[Entry]) -> dict[str, Any]:
    return {
        "ledger": str(ledger.path),
        "dataset": ledger.dataset,
        "unit": ledger.unit,
        "neighbours": ledger.cap.neighbours.value,
        "cap": {"epsilon": ledger.cap.epsilon, "delta": ledger.cap.delta},
        "remaining_epsilon": ledger.remaining_epsilon(),
        "entries": [_entry_fields(entry) for entry in entries],
    }


def _entry_fields(entry: Entry) -> dict[str, Any]:
    return {
        "number": entry.number,
        "time": entry.time,
        "purpose": entry.charge.purpose,
        "neighbours": entry.charge.neighbours.value,
        "version": entry.version,
        "loss": _loss_fields(entry.counted),
    }


def _loss_fields(loss: Loss) -> dict[str, Any]:
    pure = _finite(loss.pure_epsilon)
    return {"mu": loss.mu, "delta_zero": loss.delta_zero, "tau": loss.tau, "pure_epsilon": pure}


def _finite(value: float) -> float | None:
    return value if value < math.inf else None
