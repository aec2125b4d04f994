"""Seconds and peak memory of one command, with a limit on its time.

    python benchmarks/stopwatch.py LIMIT REPORT COMMAND…

A process of its own, because Linux counts the memory of the process that starts a command as the command's own until
it has begun: a small starter keeps that below what is measured.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

POLL_SECONDS = 0.02


@dataclass(frozen=True)
class Measured:
    """What a command took, and how it ended. `code` is None where it ran out of time; `words` ends its errors."""

    seconds: float
    megabytes: float
    code: int | None
    words: str


def watch(command: Sequence[str], *, limit: float, cwd: Path, environment: Mapping[str, str] | None = None) -> Measured:
    """Run a command from a small starter, and measure it with all its children that it waited for."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        starter = [sys.executable, "-S", "-E", str(Path(__file__).resolve()), str(limit), str(report)]
        subprocess.run([*starter, *command], cwd=cwd, env={**os.environ, **(environment or {})}, check=True)
        return Measured(**json.loads(report.read_text()))


def main(limit: float, report: Path, command: Sequence[str]) -> None:
    asked: list[int] = []  # to end, with the command: heeded once that is known, or it could outlive its starter
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    errors = report.with_suffix(".errors")
    start = time.perf_counter()
    with errors.open("wb") as stream:
        try:
            process = subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True)
        except OSError as error:
            return _write(report, Measured(0.0, 0.0, 127, str(error)))
    try:
        code, usage = _wait(process.pid, start + limit, asked)
    finally:
        _end(process.pid)
    measured = Measured(time.perf_counter() - start, usage.ru_maxrss / 1024, code, _last_line(errors))
    return _write(report, measured)


def _wait(pid: int, deadline: float, asked: Sequence[int]):
    """Its exit code and usage; past the deadline it is killed, and the code is None. Exits where asked to."""
    while time.perf_counter() < deadline:
        if asked:
            sys.exit(1)
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status), usage
        time.sleep(POLL_SECONDS)
    _end(pid)
    return None, os.wait4(pid, 0)[2]


def _end(pid: int) -> None:
    """Kill the command's process group: itself, and whatever it left running."""
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _last_line(path: Path) -> str:
    lines = path.read_text(errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else ""


def _write(report: Path, measured: Measured) -> None:
    report.write_text(json.dumps(vars(measured)))


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
