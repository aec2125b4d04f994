"""Neighbouring tables leave the same bytes behind, once the mechanisms' outputs are the same.

Whatever a release shows beside the noisy numbers (files, their number and sizes, rows, stdout, log records, the exit
code) must not depend on a private cell. So the mechanisms' exact input is replaced by zeros and their noise by a fixed
stream, and two tables that differ in one row, or one person, must give the same bytes. A leak anywhere else would show.
Tables with uneven lines are released as they are (`--accept-damage`): else the owner is told of the damage, and stops.
Progress and times on stderr are the owner's own.
"""

import contextlib
import logging
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import numpy as np
from typer.testing import CliRunner

from audits.case import Case, Effort, Verdict
from kernelease.arrays import BigIntegers, Integers
from kernelease.cli import app
from kernelease.noises import SeededNoise
from kernelease.privacy import mechanisms
from kernelease.privacy.noise import SystemNoise

COLUMNS = """
[columns.age]
type = "integer"
min = 0
max = 99
cells = 10
nullable = true

[columns.ward]
type = "category"
values = ["north", "south"]
other = true

[columns.cost]
type = "number"
min = 0
max = 1000
cells = 8
"""
BASE = [b"34,north,12.5", b"57,south,800", b"8,north,0", b"71,south,99.75"] * 20
LINES = '[source]\nrecords = "lines"'
COMMENT = b'34,north,12.5,"first\nsecond, ""quoted""\r\nthird\nfourth\nfifth"'  # in a column that is not declared
PERSON = [b"1,34,north,12.5"] * 3  # as many rows as the cap allows
OTHERS = [b"%d,57,south,800" % (2 + i // 2) for i in range(40)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two neighbouring tables as CSV lines, what their schema says beside the columns, and the method."""

    name: str
    first: Sequence[bytes]
    second: Sequence[bytes]
    table: str = 'neighbours = "replace-one"'
    source: str = ""
    public: bool = False
    looked_at: bool = False  # whether the format is looked at first, as by default: of damage the owner is told then

    @property
    def header(self) -> bytes:
        """The first line. Its last column is not declared."""
        return b"who,age,ward,cost,comment" if "unit" in self.table else b"age,ward,cost,comment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """All that a release leaves."""

    exit_code: int
    stdout: str
    logs: tuple[str, ...]
    files: dict[str, bytes]


def replaced(name: str, line: bytes, *, source: str = "", public: bool = False) -> Pair:
    """The first line exchanged for another."""
    return Pair(name=name, first=BASE, second=[line, *BASE[1:]], source=source, public=public)


def added(name: str, line: bytes) -> Pair:
    """One more line, under add-remove."""
    return Pair(name=name, first=BASE, second=[*BASE, line], table='neighbours = "add-remove"')


def person(name: str, rows: Sequence[bytes], neighbours: str = "replace-one") -> Pair:
    """Another set of rows for one person."""
    table = f'neighbours = "{neighbours}"\nunit = "who"\nmax_rows_per_unit = 3'
    return Pair(name=name, first=[*PERSON, *OTHERS], second=[*rows, *OTHERS], table=table)


PAIRS = (
    replaced("a new category", b"34,a ward that nobody knew,12.5"),
    Pair(
        name="a new category, in a table that is looked at first",
        first=[line + b"," for line in BASE],
        second=[b"34,a ward that nobody knew,12.5,", *(line + b"," for line in BASE[1:])],
        looked_at=True,
    ),
    added("one more row", b"34,north,12.5"),
    person("a unit beyond the cap", [b"1,34,north,12.5"] * 40),
    replaced("an unparsable cell", b"thirty,north,12.5"),
    replaced("a comment of five lines", COMMENT),
    replaced("an ordinary other row", b"35,south,13"),
    replaced("an extreme value", b"34,north,1e300"),
    replaced("minus infinity", b"34,north,-inf"),
    replaced("a NULL", b",north,12.5"),
    replaced("a line that is too short", b"34"),
    replaced("a line that is too long", b"34,north,12.5,and,more"),
    replaced("a lone quote, where lines are records", b'34,"north,12.5', source=LINES),
    replaced("a comment of two million lines", b'34,north,12.5,"' + b"\n" * 2**21 + b'"'),
    replaced("a comment that looks like rows", b'34,north,12.5,"""\n' + b"57,south,800\n" * 500 + b'"""'),
    replaced("a line of empty cells", b",,"),
    replaced("a very long cell", b"34," + b"n" * 100_000 + b",12.5"),
    replaced("bytes that are not UTF-8", b"34,n\xffrth,12.5"),
    Pair(
        name="a column constant or not",
        first=[b"34,north,5"] * len(BASE),
        second=[b"34,north,6", *[b"34,north,5"] * (len(BASE) - 1)],
    ),
    added("one more row, of unknown things", b"thirty,a ward that nobody knew,1e300"),
    added("one more short line", b"34"),
    added("one more row, with a comment of five lines", COMMENT),
    person("a unit below the cap", [b"1,34,north,12.5"]),
    person("a unit with other rows", [b"1,,a ward that nobody knew,1e300"] * 3),
    person("a unit added", [*PERSON, *[b"99,71,south,1"] * 5], "add-remove"),
    replaced("a new category, with public rows", b"34,a ward that nobody knew,12.5", public=True),
)
BY_LINES = replaced("a comment of five lines, read as five rows", COMMENT, source=LINES)  # a broken twin


@contextlib.contextmanager
def fixed_mechanisms() -> Iterator[None]:
    """The same noisy numbers, whatever the rows: exact values are wiped, noise comes from one stream per size."""

    def wiped(exact: BigIntegers, bits: int) -> BigIntegers:
        return np.zeros(len(exact), dtype=object)

    def gaussian(self: SystemNoise, scale: float, size: int) -> Integers:
        return SeededNoise(size).gaussian(scale, size)

    with (
        mock.patch.object(mechanisms, "_shift", wiped),
        mock.patch.object(SystemNoise, "gaussian", gaussian),
        mock.patch.object(SystemNoise, "noisy_max", return_value=0),
    ):
        yield


@contextlib.contextmanager
def bare_mechanisms() -> Iterator[None]:
    """The broken twin: no noise, and the exact counts let through."""
    with (
        mock.patch.object(SystemNoise, "gaussian", lambda self, scale, size: np.zeros(size, dtype=np.int64)),
        mock.patch.object(SystemNoise, "noisy_max", lambda self, scores, scale: int(np.argmax(scores))),
    ):
        yield


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.seen.append(f"{record.name} {record.levelname} {record.getMessage()}")


def release(pair: Pair, lines: Sequence[bytes], folder: Path) -> Traces:
    """Run `kernelease release` on a table of these lines."""
    (folder / "schema.toml").write_text(f'[table]\nname = "patients"\n{pair.table}\n{pair.source}\n{COLUMNS}')
    (folder / "data.csv").write_bytes(b"\n".join([pair.header, *lines]) + b"\n")
    (folder / "public.csv").write_bytes(b"\n".join([b"age,ward,cost", *BASE[:4]]) + b"\n")
    out, records, root = folder / "bundle", _Records(), logging.getLogger()
    options = ["--public", str(folder / "public.csv")] if pair.public else ["--rows", "50"]
    options += [] if pair.looked_at else ["--accept-damage"]
    options += ["--schema", str(folder / "schema.toml"), "--epsilon", "1", "--delta", "1e-9", "--out", str(out)]
    root.addHandler(records)
    try:
        result = CliRunner().invoke(app, ["release", str(folder / "data.csv"), *options, "--quiet"])
    finally:
        root.removeHandler(records)
    return Traces(
        exit_code=result.exit_code,
        stdout=result.stdout.replace(str(folder), ""),
        logs=tuple(line.replace(str(folder), "") for line in records.seen),
        files={path.name: path.read_bytes() for path in sorted(out.iterdir())} if out.exists() else {},
    )


def differences(pair: Pair) -> list[str]:
    """What tells the two tables of a pair apart: names of files, or of other traces."""
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        first, second = release(pair, pair.first, Path(one)), release(pair, pair.second, Path(two))
    if first.exit_code != 0:
        raise AssertionError(f"{pair.name}: the release failed. {first.stdout}")
    names = sorted(first.files.keys() | second.files.keys())
    found = [name for name in names if first.files.get(name) != second.files.get(name)]
    return found + [name for name in ("exit_code", "stdout", "logs") if getattr(first, name) != getattr(second, name)]


def same_bytes(effort: Effort) -> Verdict:
    """All pairs, the first of them with a leak, and a comment of five lines where lines are taken for records."""
    pairs = PAIRS[:6] if effort is Effort.FAST else PAIRS
    with fixed_mechanisms():
        telling = {pair.name: found for pair in pairs if (found := differences(pair))}
        lines = differences(BY_LINES)
    with bare_mechanisms():
        twin = differences(pairs[0])
    shown = "; ".join(f"{name} shows in {', '.join(found)}" for name, found in telling.items())
    return Verdict(
        trials=len(pairs),
        holds=not telling,
        measured=shown or f"{len(pairs)} kinds of neighbours, no byte differs",
        twin=f"exact counts let through: {', '.join(twin) or 'nothing'} differ; "
        f"a comment read as five lines: {', '.join(lines) or 'nothing'} differ",
        twin_caught=bool(twin) and bool(lines),
    )


CASES = (
    Case(
        name="bytes of neighbouring tables",
        kind="audit",
        claim="Beside the noisy numbers nothing that a release leaves depends on a private cell.",
        run=same_bytes,
    ),
)
