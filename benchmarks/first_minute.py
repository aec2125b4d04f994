"""CPU seconds of the commands that somebody types first, beside the release that they belong to.

    python benchmarks/first_minute.py [--quick] [--write]

Each command runs in a process of its own, as it does from a shell; user and system seconds of all its threads count, so
that a busy machine matters less than for seconds by the clock. Modules are compiled before, as they are wherever Python
may write. With --quick only what is generated is looked at, in fewer columns. With --write the table goes to
docs/benchmarks-first-minute.md. Public tables are those that are at hand.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyarrow import csv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

from benchmarks.generated_tables import generated
from benchmarks.machine import described
from benchmarks.public_tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks-first-minute.md"
ADULT = TABLES.parent / "adult" / "adult_discrete.csv"
PRIVACY = ("--epsilon", "1", "--delta", "1e-9", "--seed", "1")
PUBLIC = ("stroke", "fire", "br2000")
HEADER = "| command | CPU s | its release, CPU s | times | at most |\n| --- | --- | --- | --- | --- |"
INTRODUCTION = """# The first minute

CPU seconds (user and system, all threads) of the commands that somebody types first, beside the release that they
belong to; each in a process of its own. `make bench-first-minute` writes this page."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """A command, what it took, what its release took, and what it may take: in seconds, or in its release's time."""

    command: str
    seconds: float
    release: float | None = None
    seconds_allowed: float | None = None
    times_allowed: float | None = None

    @property
    def holds(self) -> bool:
        """Whether it kept to what it may take."""
        if self.release is not None and self.times_allowed is not None:
            return self.seconds <= self.times_allowed * self.release
        return self.seconds_allowed is None or self.seconds <= self.seconds_allowed

    def __str__(self) -> str:
        beside, times, allowed = "", "", ""
        if self.release is not None:
            beside, times = f"{self.release:.1f}", f"{self.seconds / self.release:.2f}"
        if self.times_allowed is not None:
            allowed = f"{self.times_allowed:.2f} times"
        if self.seconds_allowed is not None:
            allowed = f"{self.seconds_allowed:g} s"
        return f"| {self.command} | {self.seconds:.1f} | {beside} | {times} | {allowed}{'' if self.holds else ' ✗'} |"


def main(*, quick: bool = False, write: bool = False) -> None:
    """Measure, print line by line, and with --write put the table on its page."""
    lines = []
    print(HEADER, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for line in measured(Path(folder), quick=quick):
            lines.append(line)
            print(line, flush=True)
    if write:
        table = "\n".join([HEADER, *map(str, lines)])
        PAGE.write_text(f"{INTRODUCTION}\n\n{table}\n\n{described()}. ✗: more than it may take.\n")


def measured(folder: Path, *, quick: bool) -> Iterator[Line]:
    """All lines, in order."""
    yield Line(command="`demo`, its page included", seconds=cpu(folder, "demo"), seconds_allowed=12.0)
    bundle = "demo-release"
    yield Line(
        command="`query demo-release mean age`",
        seconds=cpu(folder, "query", bundle, "mean", "age"),
        seconds_allowed=0.8,
    )
    (folder / "wrong.toml").write_text('[columns.age]\ntyp = "integer"\n')
    refusal = cpu(folder, "release", "people.csv", "--schema", "wrong.toml", "--out", "x", *PRIVACY, code=2)
    yield Line(command="`release`, refusing a key of the schema", seconds=refusal, seconds_allowed=0.4)
    yield from _generated(folder, rows=2_000 if quick else 8_000, columns=8 if quick else 14)
    if not quick:
        yield from _public(folder)
    yield _plan(folder, columns=60 if quick else 300)


def _generated(folder: Path, *, rows: int, columns: int) -> Iterator[Line]:
    """The page for the owner, of a table whose private rows are at hand."""
    _write_generated(folder, "banking", rows=rows, columns=columns)
    release = cpu(folder, "release", "banking.csv", "--schema", "banking.toml", "--out", "banking", *PRIVACY)
    options = ("--private", "banking.csv", "--out", "banking-private.html")
    yield Line(
        command=f"`report --private`, {rows:,} × {columns}",
        seconds=cpu(folder, "report", "banking", *options),
        release=release,
        times_allowed=2.0,
    )


def _public(folder: Path) -> Iterator[Line]:
    """The page of public tables, where they are at hand."""
    sources = {"Adult": (ADULT, ROOT / "examples" / "adult_discrete.toml")}
    sources |= {name: (TABLES / f"{name}_train.csv.gz", TABLES / f"{name}.toml") for name in PUBLIC}
    for name, (rows, schema) in sources.items():
        if rows.exists():
            release = cpu(folder, "release", str(rows), "--schema", str(schema), "--out", name, *PRIVACY)
            seconds = cpu(folder, "report", name, "--out", f"{name}.html")
            yield Line(command=f"`report`, {name}", seconds=seconds, release=release, times_allowed=2.0)


def _plan(folder: Path, *, columns: int) -> Line:
    """The plan of a wide table, which sees no row."""
    _write_generated(folder, "unrelated", rows=5_000, columns=columns)
    release = cpu(folder, "release", "unrelated.csv", "--schema", "unrelated.toml", "--out", "wide", *PRIVACY)
    seconds = cpu(folder, "plan", "--schema", "unrelated.toml", "--rows", "5000", "--epsilon", "1", "--delta", "1e-9")
    return Line(command=f"`plan`, {columns} columns", seconds=seconds, release=release, times_allowed=1.0 / 3.0)


def _write_generated(folder: Path, kind: str, *, rows: int, columns: int) -> None:
    table, schema = generated(kind, columns=columns, rows=rows)
    csv.write_csv(table, folder / f"{kind}.csv")
    (folder / f"{kind}.toml").write_text(schema.to_toml())


def cpu(folder: Path, *arguments: str, code: int = 0) -> float:
    """CPU seconds of a command of kernelease in a folder; it must end with that code."""
    command: Sequence[str] = (sys.executable, "-m", "kernelease", *arguments)
    with (folder / "words.txt").open("w+") as words:
        usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        process = subprocess.Popen(command, cwd=folder, stdout=words, stderr=words, env=usual)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        words.seek(0)
        if process.returncode != code:
            raise SystemExit(
                f"kernelease {' '.join(arguments)} ended with {process.returncode}: {words.read()[-2000:]}"
            )
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main(quick="--quick" in sys.argv[1:], write="--write" in sys.argv[1:])
