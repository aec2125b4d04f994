"""Faults at every write of a release: sudden death, signals, a disk that fills up or turns read-only.

And faults that last: noise that can't be loaded, memory that runs out.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from audits.case import Case, Effort, Verdict
from audits.stage import DEFECT, HUNG, Found, Plot, play

_SAID_SPENT = ("budget is spent", "may stand", "are safe in", "is in place")
_MISTAKES = {  # of each twin, and how it must show
    "writes in place": "half a bundle is visible",
    "charges after the noise": "noise was drawn that is not on the books",
    "goes on without its books": "noise was drawn that is not on the books",
    "holds no signal back": "what was charged is lost",
    "loads its noise after the charge": "what was charged is lost",
    "asks for no memory": "the line does not say that memory is short",
}
_EXPECTED = {"people.csv", "people.toml", "ledger", "ledger-journal"}


def problems(plot: Plot, found: Found) -> Iterator[str]:
    """What is wrong with what a fault left behind; nothing if all is well."""
    if found.drawn and found.entries == 0:
        yield "noise was drawn that is not on the books"
    if found.entries > 1:
        yield "one release was charged twice"
    if found.bundle not in ("", "older", "measurements", "release"):
        yield f"half a bundle is visible ({found.bundle})"
    if found.bundle in ("measurements", "release") and found.entries == 0:
        yield "a bundle is out that is not on the books"
    if plot.older and found.bundle == "":
        yield "the older bundle is gone"
    if found.rerun:
        yield f"a second run fails: {found.rerun}"
    if strange := [name for name in found.names if not _expected(name, plot, found)]:
        yield f"{strange[0]} was left behind"
    if _is_lost(plot, found):
        yield "what was charged is lost"
    if found.code not in (-signal.SIGKILL, -signal.SIGTERM):
        yield from _wrong_words(plot, found)


def _is_lost(plot: Plot, found: Found) -> bool:
    """Charged, and neither in OUT nor where the message says: as `kill -9` may do, and a disk within the commit."""
    kept = found.bundle in ("measurements", "release") or "safe in" in found.message
    broken_commit = plot.fault in ("full", "read-only") and not found.drawn and "may stand" in found.message
    return found.entries > 0 and not kept and plot.fault != "kill" and not broken_commit


def _expected(name: str, plot: Plot, found: Found) -> bool:
    """A killed process, and one that may remove nothing, leave drafts under names that nobody opens."""
    hidden = name.startswith(".kernelease-") and ".partial" in name
    return name in _EXPECTED or name == plot.out or (hidden and (found.code < 0 or plot.fault == "read-only"))


def _wrong_words(plot: Plot, found: Found) -> Iterator[str]:
    """A fault that the process survives ends in one line that says what was spent."""
    if found.code == HUNG:
        yield "it hangs"
    elif found.code == DEFECT or found.code < 0:
        yield f"a traceback: {found.message}"
    elif found.code != 0:
        last = (found.message.splitlines() or [""])[-1]
        if not last.startswith(("error: ", "Interrupted.")):
            yield f"the last line is not an error: {last}"
        if found.entries and not any(words in found.message for words in _SAID_SPENT):
            yield f"it does not say that the budget is spent: {last}"
        if plot.fault == "memory" and "not enough memory" not in last:
            yield f"the line does not say that memory is short: {last}"
        if found.entries and "othing was spent" in last:
            yield f"it says that nothing was spent: {last}"


def _verdict(effort: Effort, plots: list[Plot], twins: list[Plot], measured: str) -> Verdict:
    """All points of each plot, or a few of the first; some of each twin. Two stages at a time, one for each core."""
    if effort is Effort.FAST:
        plots = [replace(plots[0], points=3)]
    twins = [replace(twin, points=24 if effort is Effort.FULL else 6, rerun=False) for twin in twins]
    with ThreadPoolExecutor(2) as pool:
        played = list(pool.map(play, [*plots, *twins]))
    wrong = Counter(
        problem for plot, run in zip(plots, played, strict=False) for found in run for problem in problems(plot, found)
    )
    runs = played[len(plots) :]
    caught = [sum(_shows(twin, found) for found in run) for twin, run in zip(twins, runs, strict=True)]
    return Verdict(
        trials=sum(map(len, played[: len(plots)])),
        holds=not wrong,
        measured=f"{measured}: {_told(wrong)}",
        twin="; ".join(
            f"one that {twin.twin}: {_MISTAKES[twin.twin]} after {count} of {len(run)} faults"
            for twin, run, count in zip(twins, runs, caught, strict=True)
        ),
        twin_caught=all(caught),
    )


def _shows(twin: Plot, found: Found) -> bool:
    return any(problem.startswith(_MISTAKES[twin.twin]) for problem in problems(twin, found))


def _told(wrong: Counter[str]) -> str:
    return "; ".join(f"{problem} ({count} times)" for problem, count in wrong.items()) or "nothing wrong after any"


def sudden_death(effort: Effort) -> Verdict:
    """Kill -9 before each write, in three kinds of release."""
    plots = [
        Plot(ledger=True, older=True),
        Plot(),
        Plot(ledger=True, out="out.zip"),
    ]
    twins = [Plot(ledger=True, twin="writes in place"), Plot(ledger=True, twin="charges after the noise")]
    return _verdict(effort, plots, twins, "before each write, sync, rename and removal of three releases")


def disk_full(effort: Effort) -> Verdict:
    """From each write on, nothing takes room any more."""
    full = Plot(ledger=True, fault="full")
    twins = [replace(full, twin=name) for name in ("writes in place", "goes on without its books")]
    return _verdict(effort, [full], twins, "ENOSPC from each write on")


def read_only(effort: Effort) -> Verdict:
    """From each write on, the disk is read-only, as Linux makes a disk with errors."""
    changed = Plot(ledger=True, older=True, fault="read-only")
    return _verdict(effort, [changed], [replace(changed, twin="goes on without its books")], "EROFS from each write on")


def signals(effort: Effort) -> Verdict:
    """SIGINT and SIGTERM before each write."""
    plots = [Plot(ledger=True, fault="SIGTERM"), Plot(ledger=True, older=True, fault="SIGINT"), Plot(fault="SIGTERM")]
    twins = [Plot(ledger=True, fault="SIGTERM", twin="holds no signal back")]
    return _verdict(effort, plots, twins, "SIGINT or SIGTERM before each write, sync, rename and removal of a release")


def missing_library(effort: Effort) -> Verdict:
    """OpenDP does not load."""
    broken = Plot(ledger=True, fault="library", rerun=False)
    twins = [replace(broken, twin="loads its noise after the charge")]
    return _verdict(effort, [broken, replace(broken, older=True)], twins, "a library that does not load")


def low_memory(effort: Effort) -> Verdict:
    """Address space for so much more than a started process has, and no more."""
    short = Plot(ledger=True, fault="memory", rerun=False)
    return _verdict(
        effort, [short], [replace(short, twin="asks for no memory")], "from 1 MiB to 1 GiB beyond its start"
    )


CASES = (
    Case(
        name="signals at every write",
        kind="fault",
        claim="SIGINT and SIGTERM lose nothing: from the charge on they wait until the measurements are on disk.",
        run=signals,
    ),
    Case(
        name="a missing library",
        kind="fault",
        claim="A release that can draw no noise is refused before anything is charged.",
        run=missing_library,
    ),
    Case(
        name="too little memory",
        kind="fault",
        claim="Too little memory ends a release in one line that says so, uncharged or with its measurements saved.",
        run=low_memory,
    ),
    Case(
        name="kill -9 at every write",
        kind="fault",
        claim="A process that dies at any moment leaves a ledger that counts all noise drawn, and no half bundle.",
        run=sudden_death,
    ),
    Case(
        name="a disk that fills up",
        kind="fault",
        claim="A full disk gives one line that says what was spent; what was paid for is kept elsewhere.",
        run=disk_full,
    ),
    Case(
        name="a disk that turns read-only",
        kind="fault",
        claim="A disk that refuses writes midway gives one line that says what was spent, and no half bundle.",
        run=read_only,
    ),
)
