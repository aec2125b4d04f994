"""What is printed of a ledger, as tables, JSON and a page."""

import math
from typing import Any, Final

from rich.console import RenderableType

from kernelease.cli.screen import facts, grid, line
from kernelease.ledgers import LedgerFile, remaining_epsilon
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Receipt
from kernelease.report import sheet

_ENTRIES: Final = ("entry", "time", "purpose", "data set", "unit", "neighbours", "epsilon", "delta", "version")
_TEXT = (*range(6), 8)  # those of them that hold text
_NO_ENTRIES = "no entries yet"
_BAR = 30  # characters of a full bar, so that a line fits 80


def book_tables(ledger: LedgerFile, entries: list[Receipt], *, timeline: bool = False) -> list[RenderableType]:
    """The books, their entries, and if asked for what was left after each."""
    listed = grid(_ENTRIES, map(_row, entries), text=_TEXT) if entries else line(_NO_ENTRIES)
    shown: list[RenderableType] = [book_facts(ledger, entries), line(""), listed]
    return [*shown, line(""), _timeline(ledger.cap, entries)] if timeline else shown


def book_facts(ledger: LedgerFile, entries: list[Receipt]) -> RenderableType:
    """The books themselves."""
    return facts(_facts(ledger, entries))


def book_page(ledger: LedgerFile, entries: list[Receipt]) -> str:
    """The same numbers as a page, the timeline with them."""
    listed = sheet.grid("Entries", _ENTRIES, map(_row, entries), text=_TEXT) if entries else sheet.words([_NO_ENTRIES])
    points = [
        (number, time, f"{left:.3g}", sheet.Bar(share=left / ledger.cap.epsilon))
        for number, time, left in _left(ledger.cap, entries)
    ]
    left = sheet.grid(
        "Timeline",
        ("entry", "time", "epsilon left", f"of {ledger.cap.epsilon:g}"),
        points,
        text=(0, 1, 3),
        note="What was left after each entry, as the epsilon of one more release at the delta of the cap.",
    )
    about = _facts(ledger, entries)
    title = _name_of(_dataset(ledger, entries))
    return sheet.sheet(sheet.facts(about), listed, left, kicker="Budget", title=title, headline=ledger.remaining())


def _left(cap: Privacy, entries: list[Receipt]) -> list[tuple[object, str, float]]:
    """What was left at the beginning and after each entry, as the epsilon of one more release at the cap's delta."""
    after = [(entry.number, entry.time, remaining_epsilon(cap, entry.spent)) for entry in entries]
    return [("", "begin", cap.epsilon), *after]


def _timeline(cap: Privacy, entries: list[Receipt]) -> RenderableType:
    points = _left(cap, entries)
    rows = [(number, time, f"{left:.3g}", "█" * round(_BAR * left / cap.epsilon)) for number, time, left in points]
    return grid(("entry", "time", "epsilon left", f"of {cap.epsilon:g}"), rows, text=(0, 1, 3))


def _row(entry: Receipt) -> tuple[object, ...]:
    charge, asked = entry.charge, entry.charge.asked
    return (
        entry.number,
        entry.time,
        charge.purpose,
        _name_of(entry.dataset),
        charge.subject.unit_in_words,
        asked.relation.value,
        f"{asked.epsilon:g}",
        f"{asked.delta:g}",
        entry.version,
    )


def _name_of(dataset: str | None) -> str:
    return "not named" if dataset is None else dataset


def _facts(ledger: LedgerFile, entries: list[Receipt]) -> list[tuple[str, object]]:
    cap = ledger.cap
    return [
        ("data set", _name_of(_dataset(ledger, entries))),
        ("cap", f"epsilon {cap.epsilon:g}, delta {cap.delta:g}, {cap.relation.value} neighbours"),
        ("unit", ledger.subject.unit_in_words),
        ("budget", ledger.remaining()),
        ("identity", ledger.identity),
        ("ledger", ledger.path),
    ]


def _dataset(ledger: LedgerFile, entries: list[Receipt]) -> str | None:
    return entries[-1].dataset if entries else ledger.dataset


def book_fields(ledger: LedgerFile, entries: list[Receipt]) -> dict[str, Any]:
    """The same for machines."""
    return {
        "ledger": str(ledger.path),
        "identity": ledger.identity,
        "dataset": _dataset(ledger, entries),
        "unit": ledger.unit,
        "neighbours": ledger.cap.relation.value,
        "cap": {"epsilon": ledger.cap.epsilon, "delta": ledger.cap.delta},
        "remaining": ledger.remaining(),
        "remaining_epsilon": ledger.remaining_epsilon(),
        "entries": [_entry_fields(entry) for entry in entries],
    }


def _entry_fields(entry: Receipt) -> dict[str, Any]:
    charge = entry.charge
    return {
        "number": entry.number,
        "time": entry.time,
        "purpose": charge.purpose,
        "dataset": entry.dataset,
        "unit": charge.subject.unit,
        "neighbours": charge.asked.relation.value,
        "epsilon": charge.asked.epsilon,
        "delta": charge.asked.delta,
        "version": entry.version,
        "loss": _loss_fields(entry.cost),
        "spent": _loss_fields(entry.spent),
        "remaining_epsilon": remaining_epsilon(entry.cap, entry.spent),
    }


def _loss_fields(loss: Loss) -> dict[str, Any]:
    pure = loss.pure_epsilon if loss.pure_epsilon < math.inf else None
    return {"mu": loss.mu, "delta_zero": loss.delta_zero, "tau": loss.tau, "pure_epsilon": pure}
