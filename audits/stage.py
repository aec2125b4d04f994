"""One release on a stage: a small table, its ledger, a fault at one write, and what is found afterwards.

`python -m audits.stage PLOT` runs the release once to count its writes, then once for each fault, and prints what was
found as JSON lines. It is a process of its own because it forks: threads, which a test's process has, do not survive
that. Each release, and each look at what it left, happens in a child.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import io
import json
import mmap
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from audits.tracer import Fault, Run, Unsupported, memory_disk, trace
from kernelease.bundle import saving as bundle, saving as keeping
from kernelease.bundle.container import write_bundle
from kernelease.bundle.verify import verify
from kernelease.cli import app, command as exits
from kernelease.errors import KerneleaseError
from kernelease.ledgers import LedgerFile, MemoryLedger
from kernelease.privacy import Privacy, SystemNoise
from kernelease.privacy.ledger import Charge, Receipt
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.privacy.sensitivity import Subject

__all__ = ["Found", "Plot", "play"]

SCHEMA = """\
[table]
name = "people"

[columns.age]
type = "integer"
min = 0
max = 7

[columns.sex]
type = "category"
values = ["f", "m"]
"""
ROWS = "age,sex\n" + "".join(f"{(7 * i) % 8},{'fm'[i % 3 > 0]}\n" for i in range(40))
CAP = Privacy(epsilon=10.0, delta=1e-6)
NO_FAULT, DEFECT, HUNG = 0, 70, 71
TRACED = {  # faults at a system call: the error, the signal
    "kill": (0, signal.SIGKILL),
    "SIGINT": (0, signal.SIGINT),
    "SIGTERM": (0, signal.SIGTERM),
    "full": (errno.ENOSPC, 0),
    "read-only": (errno.EROFS, 0),
}
SPARE = tuple(round(2.0 ** (20 + 10 * i / 19)) for i in range(20))  # bytes of addresses: from 1 MiB to 1 GiB
_PATIENCE = 240.0  # seconds: a release that has not ended by then hangs, however busy the machine is
_MESSAGE = slice(8, 4096)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """What is to be played: the start, the kind of fault, which twin takes the product's place, how many points."""

    out: str = "out"  # or out.zip
    ledger: bool = False  # whether there is one already; else the release makes it, with room for itself alone
    older: bool = False  # whether a bundle lies there already
    fault: str = "kill"
    twin: str = ""
    points: int = 0  # evenly spread; 0: all
    rerun: bool = True  # whether to run it again afterwards


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a fault left behind."""

    at: int
    events: int  # of the release without a fault
    code: int  # of the release; minus the signal that ended it; HUNG if it came to no end
    message: str
    drawn: bool  # whether any noise was
    entries: int
    names: tuple[str, ...]
    bundle: str  # "", "measurements", "release" or what is wrong with it
    rerun: str  # "" or what is wrong with it


def play(plot: Plot) -> list[Found]:
    """Play a plot in a process of its own. Raises `Unsupported` where this machine can't trace."""
    command = [sys.executable, "-m", "audits.stage", json.dumps(dataclasses.asdict(plot))]
    root = Path(__file__).resolve().parent.parent
    calm = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=root, env=calm, capture_output=True, text=True, check=False)
    if done.returncode == NO_FAULT:
        return [Found(**{**line, "names": tuple(line["names"])}) for line in map(json.loads, done.stdout.splitlines())]
    raise (Unsupported if done.returncode == 3 else RuntimeError)(done.stderr)


def main() -> int:
    """The stage."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs audits in the background ignores it
    plot = Plot(**json.loads(sys.argv[1]))
    _release(Path("nowhere"), Path("nowhere"), plot)  # refused; but what commands import late is imported now
    try:
        for found in _all(plot):
            sys.stdout.write(json.dumps(dataclasses.asdict(found)) + "\n")
    except Unsupported as reason:
        sys.stderr.write(str(reason))
        return 3
    return NO_FAULT


def _all(plot: Plot) -> Iterator[Found]:
    if plot.fault not in TRACED:
        yield from _untraced(plot)
        return
    number, sent = TRACED[plot.fault]
    total = len(_once(plot, None)[0].events)
    points = min(plot.points or total, total)
    for at in (1 + (2 * i + 1) * total // (2 * points) for i in range(points)):
        fault = Fault(at=at, errno=number, room_only=plot.fault == "full", signal=sent)
        run, found = _once(plot, fault)
        yield Found(at=at, events=total, code=run.code, **found)


def _untraced(plot: Plot) -> Iterator[Found]:
    """Faults that last from the start: a library that does not load, or so much memory and no more."""
    before = {"memory": _limit_memory, "library": lambda _: sys.modules.update(opendp=None)}[plot.fault]
    total = len(SPARE) if plot.fault == "memory" else 1
    points = min(plot.points or total, total)
    for at in (1 + (2 * i + 1) * total // (2 * points) for i in range(points)):
        run, found = _once(plot, lambda act, at=at: _bounded(lambda: (before(at), act())[1]))
        yield Found(at=at, events=total, code=run.code, **found)


def _limit_memory(at: int) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + SPARE[at - 1],) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _bounded(act: Callable[[], int]) -> Run:
    """Run it in a forked child, which is killed if it does not come to an end."""
    child = os.fork()
    if child == 0:
        code = DEFECT
        try:
            code = act()
        finally:
            os._exit(code)
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return Run(events=(), code=os.waitstatus_to_exitcode(status))
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return Run(events=(), code=HUNG)


def _once(plot: Plot, fault: Fault | Callable[[Callable[[], int]], Run] | None) -> tuple[Run, dict[str, Any]]:
    """One release on a fresh stage, with a fault of the tracer's, or in whatever runs it."""
    with tempfile.TemporaryDirectory(dir=memory_disk()) as home, mmap.mmap(-1, 4096) as shared:
        folder, refuge = Path(home, "stage"), Path(home, "refuge")
        refuge.mkdir()
        _in_child(lambda: _prepare(folder, plot))
        act = functools.partial(_release, folder, refuge, plot, shared)
        run = fault(act) if callable(fault) else trace(act, folder, fault)
        message = shared[_MESSAGE].rstrip(b"\0").decode()
        found = {"drawn": shared[0] == 1, "message": message, **_in_child(lambda: _look(folder, refuge, plot))}
        return run, found


def _in_child(work: Callable[[], Any]) -> Any:
    """What `work` returns in a forked child: whatever threads it starts, there are none here."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with open(writer, "w") as pipe:
                json.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as pipe:
        answer = json.load(pipe)
    os.waitpid(child, 0)
    return answer


def _prepare(folder: Path, plot: Plot) -> None:
    folder.mkdir()
    (folder / "people.toml").write_text(SCHEMA)
    (folder / "people.csv").write_text(ROWS)
    if plot.ledger:
        LedgerFile.create(folder / "ledger", cap=CAP)
    if plot.older:
        write_bundle(folder / plot.out, {"README.md": b"an older bundle"})


def _release(folder: Path, refuge: Path, plot: Plot, shared: mmap.mmap | None = None) -> int:
    """The command line, as an owner types it. In `shared`, it leaves a mark before noise is drawn, and its message."""
    if shared is not None:
        _mark_draws(shared)
        TWINS[plot.twin]()
    words = ["release", folder / "people.csv", "--schema", folder / "people.toml", "--epsilon", "1", "--delta", "1e-6"]
    words += ["--ledger", folder / "ledger", "--out", folder / plot.out, "--overwrite"]
    words += [] if plot.ledger else ["--cap", "1,1e-6"]
    said, code = io.StringIO(), DEFECT
    elsewhere = mock.patch.object(tempfile, "tempdir", str(refuge))
    with elsewhere, contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            app([str(word) for word in words])
        except SystemExit as leaving:
            code = int(leaving.code or 0)
        except BaseException as defect:  # noqa: BLE001  # it is told apart by its exit code
            said.write(f"{type(defect).__name__}: {defect}")
    if shared is not None:
        text = said.getvalue().encode()[-4000:]
        shared[8 : 8 + len(text)] = text
    return code


def _mark_draws(shared: mmap.mmap) -> None:
    honest = SystemNoise.gaussian

    def marked(self: SystemNoise, scale: float, size: int) -> Any:
        shared[0] = 1
        return honest(self, scale, size)

    SystemNoise.gaussian = marked  # type: ignore[method-assign]  # a child that dies soon


def _look(folder: Path, refuge: Path, plot: Plot) -> dict[str, Any]:
    names = sorted(os.listdir(folder))
    entries = _entries(folder)
    state = _bundle(folder / plot.out)
    again = _rerun(folder, refuge, plot, entries) if plot.rerun else ""
    return {"names": names, "entries": entries, "bundle": state, "rerun": again}


def _entries(folder: Path) -> int:
    return len(LedgerFile.open(folder / "ledger").entries()) if (folder / "ledger").exists() else 0


def _bundle(path: Path) -> str:
    """What lies there: nothing, a kind of whole bundle, or what is wrong with it."""
    if not path.exists():
        return ""
    try:
        files = bundle.checked_files(path)
        if "certificate.json" not in files:
            return "older"
        bundle.load_measurements(path)
        wrong = [finding.detail for finding in verify(path) if not finding.holds]
        return "; ".join(wrong) or ("release" if "data.parquet" in files else "measurements")
    except KerneleaseError as error:
        return str(error)


def _rerun(folder: Path, refuge: Path, plot: Plot, entries: int) -> str:
    """The same command again: it works, or is refused because a ledger with room for one release holds one."""
    spent = entries > 0 and not plot.ledger
    code = _release(folder, refuge, plot)
    if code != (3 if spent else 0):
        return f"exit code {code}"
    if _entries(folder) != entries + (not spent):
        return "the entry is missing"
    return "" if spent or _bundle(folder / plot.out) == "release" else "no bundle"


# ------------------------------------------------------------------------------------------------------ broken twins


def _write_in_place() -> None:
    """A writer that makes the target first and fills it file by file."""

    def careless(path: Any, files: dict[str, bytes], **_: Any) -> Path:
        target = Path(path)
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for name, data in files.items():
            (target / name).write_bytes(data)
        return target

    mock.patch.object(bundle, "write_bundle", careless).start()


def _charge_late() -> None:
    """Books that are brought up to date when the bundle is written, after the noise."""
    honest, pending = LedgerFile.charge, list[tuple[LedgerFile, Charge]]()

    def promised(self: LedgerFile, charge: Charge) -> Receipt:
        pending.append((self, charge))
        return self._receipt(charge, self.entries(), "")

    def saved(*arguments: Any, **options: Any) -> Path:
        while pending:
            honest(*pending.pop())
        return write_bundle(*arguments, **options)

    LedgerFile.charge = promised  # type: ignore[method-assign]  # the twin, in a child that dies soon
    mock.patch.object(bundle, "write_bundle", saved).start()


def _hide_the_disk() -> None:
    """A filter that goes on without its books when they can't be written."""
    honest = PrivacyFilter.open.__func__  # type: ignore[attr-defined]  # what a class method wraps

    def lenient(cls: type[PrivacyFilter], privacy: Privacy, *, subject: Subject, **options: Any) -> Any:
        try:
            return honest(cls, privacy, subject=subject, **options)
        except KerneleaseError:
            options["ledger"] = MemoryLedger.for_one(privacy, subject)
            return honest(cls, privacy, subject=subject, **options)

    PrivacyFilter.open = classmethod(lenient)  # type: ignore[assignment]  # the twin, in a child that dies soon


def _hold_nothing() -> None:
    """A release that any signal ends, between the charge and the saved measurements, too."""
    mock.patch.object(keeping.Patience, "begin").start()


def _load_late() -> None:
    """A release that finds out after the charge whether noise can be drawn."""
    mock.patch.object(keeping, "try_noise").start()


def _ask_for_no_memory() -> None:
    """A release that finds out what can't be had when it needs it."""
    for module in (keeping, exits):
        mock.patch.object(module, "require_memory").start()


TWINS: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "writes in place": _write_in_place,
    "charges after the noise": _charge_late,
    "goes on without its books": _hide_the_disk,
    "holds no signal back": _hold_nothing,
    "loads its noise after the charge": _load_late,
    "asks for no memory": _ask_for_no_memory,
}

if __name__ == "__main__":
    sys.exit(main())
