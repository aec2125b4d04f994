"""Eight processes on one ledger: none may overspend, no entry may be lost, none may wait for ever."""

from __future__ import annotations

import multiprocessing
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from audits.case import Case, Effort, Verdict
from kernelease.errors import BudgetError, LedgerError
from kernelease.ledgers import LedgerFile
from kernelease.privacy import Charge, Loss, Privacy
from kernelease.privacy.sensitivity import ROWS

PROCESSES = 8
SHARE = 2.0**-9  # of the cap: a binary fraction, so that sums are exact
CAP = Privacy(epsilon=1.0, delta=0.0)
SECONDS = {Effort.FAST: 3.0, Effort.FULL: 60.0}
PATIENCE = 60.0  # beyond the race: who takes longer is stuck

Spend = Callable[[Path], int]  # charge once and return the entry's number, or raise `BudgetError`


@dataclass(frozen=True, slots=True, kw_only=True)
class Race:
    """What came of a race: the numbers on all receipts, what the books say, whether all processes came home."""

    receipts: tuple[int, ...]
    spent: float
    entries: int
    stuck: int

    @property
    def wrong(self) -> list[str]:
        """What must not be."""
        rules = {
            f"{self.stuck} processes never came back": self.stuck > 0,
            f"{len(self.receipts) - len(set(self.receipts))} receipts have a number twice": (
                len(set(self.receipts)) != len(self.receipts)
            ),
            f"{len(self.receipts) - self.entries} entries are lost": self.entries < len(self.receipts),
            f"{len(self.receipts) * SHARE:g} of a cap of 1 was handed out": len(self.receipts) * SHARE > CAP.epsilon,
            "the books do not add up": self.spent != self.entries * SHARE,
        }
        return [words for words, broken in rules.items() if broken]


def race(path: Path, spend: Spend, seconds: float) -> Race:
    """Let processes charge until the time is over; who is refused tries again."""
    context = multiprocessing.get_context("forkserver")  # its children have no threads, and import this module once
    context.set_forkserver_preload(["audits.concurrency"])
    start = context.Barrier(PROCESSES)
    pipes = [context.Pipe(duplex=False) for _ in range(PROCESSES)]
    runners = [context.Process(target=_run, args=(path, spend, seconds, start, end)) for _, end in pipes]
    for runner in runners:
        runner.start()
    receipts = [number for receiver, _ in pipes for number in _received(receiver, seconds + PATIENCE)]
    stuck = 0
    for runner in runners:
        runner.join(PATIENCE)
        if runner.is_alive():
            stuck += 1
            runner.kill()
    ledger = LedgerFile.open(path)
    return Race(receipts=tuple(receipts), spent=ledger.spent().pure_epsilon, entries=len(ledger.entries()), stuck=stuck)


def _received(receiver: Connection, seconds: float) -> list[int]:
    return receiver.recv() if receiver.poll(seconds) else []


def _run(path: Path, spend: Spend, seconds: float, start: Any, pipe: Connection) -> None:
    start.wait()
    end, numbers = time.monotonic() + seconds, []
    while time.monotonic() < end:
        with suppress(BudgetError, LedgerError):  # refused, or told that the others are too many
            numbers.append(spend(path))
    pipe.send(numbers)


def _charge() -> Charge:
    asked = Privacy(epsilon=CAP.epsilon * SHARE, delta=0.0)
    return Charge(loss=Loss.pure(asked.epsilon), asked=asked, subject=ROWS, purpose="a race")


def honest(path: Path) -> int:
    """A charge to the ledger as it is."""
    return LedgerFile.open(path).charge(_charge()).number


def unlocked(path: Path) -> int:
    """The broken twin: it reads what is spent, decides, and then writes, with no lock around the three."""
    ledger = LedgerFile.open(path)
    spent, loss = ledger.spent(), _charge().loss
    if not CAP.allows(spent + loss):
        raise BudgetError("The cap is reached.")
    number = len(ledger.entries()) + 1
    time.sleep(0.001)  # what an encoder or a network would take here
    with closing(sqlite3.connect(path, timeout=30.0)) as connection, connection:
        asked = ("replace-one", CAP.epsilon * SHARE, 0.0, "analytic")
        row = (number, "", "a race", None, None, *asked, loss.mu_squared, 0.0, 0.0, loss.pure_epsilon, "")
        with suppress(sqlite3.IntegrityError):  # someone else has this number; and the twin hands it out all the same
            connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(row))})", row)
    return number


def eight_processes(effort: Effort) -> Verdict:
    """A race on the ledger, and a shorter one on a twin without a lock."""
    with tempfile.TemporaryDirectory() as folder:
        found = race(_ledger(Path(folder, "honest")), honest, SECONDS[effort])
        twin = race(_ledger(Path(folder, "unlocked")), unlocked, SECONDS[Effort.FAST])
    return Verdict(
        trials=len(found.receipts),
        holds=not found.wrong,
        measured=f"{PROCESSES} processes for {SECONDS[effort]:g} s, {found.entries} entries: "
        + ("; ".join(found.wrong) or "each receipt has its entry, none twice, none beyond the cap"),
        twin=f"a ledger without a lock: {'; '.join(twin.wrong) or 'nothing wrong'}",
        twin_caught=bool(twin.wrong),
    )


def last_of_the_budget(effort: Effort) -> Verdict:
    """Races for the last share of a cap: one of eight wins, each time."""
    races = 2 if effort is Effort.FAST else 8
    with tempfile.TemporaryDirectory() as folder:
        wins = [_winners(Path(folder, f"honest {number}"), honest) for number in range(races)]
        twin = [_winners(Path(folder, f"unlocked {number}"), unlocked) for number in range(races)]
    return Verdict(
        trials=races,
        holds=all(count == 1 for count in wins),
        measured=f"{PROCESSES} processes race for the last share of the cap, {races} times: {wins} got it",
        twin=f"a ledger without a lock: {twin} got it",
        twin_caught=any(count > 1 for count in twin),
    )


def _winners(path: Path, spend: Spend) -> int:
    rest = Loss.pure(CAP.epsilon * (1.0 - SHARE))
    charge = Charge(loss=rest, asked=CAP, subject=ROWS, purpose="all but the last")
    LedgerFile.open(_ledger(path)).charge(charge)
    return len(race(path, spend, 1.0).receipts)


def _ledger(path: Path) -> Path:
    return LedgerFile.create(path, cap=CAP).path


CASES = (
    Case(
        name="eight processes on one ledger",
        kind="concurrency",
        claim="Processes that share a ledger never overspend it, lose an entry, or wait for ever.",
        run=eight_processes,
    ),
    Case(
        name="a race for the last of the budget",
        kind="concurrency",
        claim="Of processes that want the last of a budget, exactly one gets it.",
        run=last_of_the_budget,
    ),
)
