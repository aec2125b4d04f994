"""Hundreds of releases in a row from one process: memory, open files and threads stay flat."""

from __future__ import annotations

import gc
import multiprocessing
import os
import statistics
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from unittest import SkipTest

import pyarrow as pa

from audits.case import Case, Effort, Verdict
from audits.tracer import memory_disk
from kernelease.answers.release import load
from kernelease.bundle.verify import verify
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.ledgers import LedgerFile
from kernelease.methods.interactions.interactions import Interactions
from kernelease.pipeline import release
from kernelease.privacy import Privacy
from kernelease.table import Schema

ROUNDS = {Effort.FAST: 60, Effort.FULL: 500}
TWIN_ROUNDS = 40
ALLOWED = 8 * 1024  # bytes a release, over the second half: what an allocator's own unrest comes to
SCHEMA = Schema.parse("""
[columns.age]
type = "integer"
min = 0
max = 7

[columns.sex]
type = "category"
values = ["f", "m"]
""")
TABLE = pa.table({"age": [i % 8 for i in range(40)], "sex": ["f", "m"] * 20})
METHOD = Interactions(solver=MixtureSolver(components=4, steps=5))
PROMISE = Privacy(epsilon=1.0, delta=1e-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """What a process held after each round."""

    memory: tuple[int, ...]  # bytes, resident
    files: tuple[int, ...]
    threads: tuple[int, ...]

    @property
    def growth(self) -> float:
        """Bytes a round: from the third quarter of the rounds to the last, by their medians."""
        quarter = len(self.memory) // 4
        third, last = (
            statistics.median(self.memory[-2 * quarter : -quarter]),
            statistics.median(self.memory[-quarter:]),
        )
        return (last - third) / quarter

    @property
    def wrong(self) -> list[str]:
        """What is not flat."""
        half = len(self.files) // 2
        rules = {
            f"memory grows by {self.growth / 1024:.1f} KiB a round": self.growth > ALLOWED,
            f"open files grow from {self.files[half]} to {self.files[-1]}": self.files[-1]
            > max(self.files[: half + 1]),
            f"threads grow from {self.threads[half]} to {self.threads[-1]}": (
                self.threads[-1] > max(self.threads[: half + 1])
            ),
        }
        return [words for words, broken in rules.items() if broken]


def one_release(folder: Path) -> None:
    """Make a ledger, charge it, measure, fit, write, verify and open a release."""
    ledger = LedgerFile.create(folder / "ledger", cap=PROMISE)  # a new one: reading a long one takes more memory
    made = release(TABLE, schema=SCHEMA, privacy=PROMISE, method=METHOD, ledger=ledger)
    ledger.path.unlink()
    path = made.save(folder / "out", overwrite=True)
    assert all(finding.holds for finding in verify(path))
    load(path)


_KEPT: list[Any] = []


def hoarding(folder: Path) -> None:
    """A broken twin: it keeps a little of each release."""
    one_release(folder)
    _KEPT.append(os.urandom(4 * ALLOWED))


def leaving_open(folder: Path) -> None:
    """A broken twin: it forgets to close a file."""
    one_release(folder)
    _KEPT.append(open(folder / "out" / "certificate.json", "rb"))  # noqa: SIM115  # the twin: left open


def soak(work: Callable[[Path], None], rounds: int) -> Levels:
    """The levels of a fresh process over so many rounds."""
    if not Path("/proc/self/fd").is_dir():
        raise SkipTest("This system does not tell what a process holds: there is no /proc.")
    context = multiprocessing.get_context("forkserver")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_watch, args=(work, rounds, sender))
    child.start()
    sender.close()
    try:
        levels: Levels = receiver.recv()
        return levels
    finally:
        child.join()


def _watch(work: Callable[[Path], None], rounds: int, pipe: Connection) -> None:
    with tempfile.TemporaryDirectory(dir=memory_disk()) as name:
        levels = [_after(work, Path(name)) for _ in range(rounds)]
    memory, files, threads = zip(*levels, strict=True)
    pipe.send(Levels(memory=memory, files=files, threads=threads))


def _after(work: Callable[[Path], None], folder: Path) -> tuple[int, int, int]:
    work(folder)
    gc.collect()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resident, len(os.listdir("/proc/self/fd")), threading.active_count()


def flat(effort: Effort) -> Verdict:
    """The product over all rounds, two leaking twins over some."""
    found = soak(one_release, ROUNDS[effort])
    twins = {"keeps 32 KiB of each": soak(hoarding, TWIN_ROUNDS), "leaves a file open": soak(leaving_open, TWIN_ROUNDS)}
    return Verdict(
        trials=ROUNDS[effort],
        holds=not found.wrong,
        measured=f"{found.growth / 1024:+.1f} KiB a release over the second half, {found.files[-1]} open files, "
        f"{found.threads[-1]} threads: {'; '.join(found.wrong) or 'flat'}",
        twin="; ".join(f"a loop that {name}: {'; '.join(twin.wrong) or 'flat'}" for name, twin in twins.items()),
        twin_caught=all(twin.wrong for twin in twins.values()),
    )


CASES = (
    Case(
        name="500 releases in a row",
        kind="soak",
        claim="A process may make releases for ever: memory, open files and threads do not grow.",
        run=flat,
    ),
)
