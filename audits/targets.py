"""What is fuzzed: for each kind of input, honest examples of it, and what reads it.

A target takes bytes. It returns where they were read or refused with a `KerneleaseError`, and lets everything else out:
that is a finding. So is a message that holds `SECRET`, which stands in private cells only, and any error at all where
the bytes are private cells: whether there is one must not depend on them.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kernelease.analysis.estimands import parse_condition
from kernelease.answers.release import load
from kernelease.bundle.container import SEALS, Limits, read_bundle, write_bundle
from kernelease.bundle.saving import load_measurements
from kernelease.bundle.verify import verify
from kernelease.errors import KerneleaseError
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.ledgers import LedgerFile
from kernelease.methods.interactions.interactions import Interactions
from kernelease.pipeline import release
from kernelease.privacy import Charge, Loss, Privacy
from kernelease.privacy.sensitivity import ROWS
from kernelease.sources import CsvFormat, Source, open_source
from kernelease.table import Records, Rule, Schema
from kernelease.table.encode import Encoder
from kernelease.table.expressions.logic import Condition, parse

SECRET = "Zaphod Beeblebrox"
SMALL = Limits(file_bytes=1 << 20, total_bytes=4 << 20, files=20)

SCHEMA_TEXT = """\
[table]
name = "people"
neighbours = "add-remove"
constraints = ["if smoker == true then age >= 18", "hours < 90", "hours is null or age + hours < 170"]

[columns.age]
type = "integer"
min = 0
max = 99
cells = 10

[columns.hours]
type = "number"
min = -1.5
max = 80.0
cells = 8
nullable = true

[columns.sex]
type = "category"
values = ["f", "m"]

[columns.grade]
type = "ordinal"
values = ["low", "middle", "high"]
default = "low"

[columns.born]
type = "date"
min = 1900-01-01
max = 2024-12-31
cells = 16

[columns.seen]
type = "datetime"
min = 2020-01-01T00:00:00
max = 2024-12-31T00:00:00
cells = 16
nullable = true

[columns.smoker]
type = "boolean"
"""
QUERY = "age > 30 and (sex == 'f' or hours is null) and not grade in ('low', 'high') and born < '2000-01-01'"
RULE = "if smoker == true then age * 2 + 1 >= hours / 4 - -1.5 or (hours is not null and age not in (1, 2))"
CSV = f'age,hours,sex\n34,7.5,f\n51,"NA",m\n"x ""y""",{SECRET},"f\n\n7,,{SECRET},more\n'.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A reader, honest inputs to begin with, and words of its language."""

    read: Callable[[bytes, Path], None]
    seeds: Callable[[], tuple[bytes, ...]]
    words: tuple[bytes, ...] = ()


@cache
def declared() -> Schema:
    """The schema of the examples, without its rules."""
    return Schema.parse("\n".join(line for line in SCHEMA_TEXT.splitlines() if not line.startswith("constraints")))


def read_schema(data: bytes, folder: Path) -> None:
    """A schema file. What is accepted says the same in all its forms."""
    path = folder / "schema.toml"
    path.write_bytes(data)
    try:
        schema = Schema.load(path)
    except KerneleaseError:
        return
    assert Schema.parse(schema.to_toml()) == schema
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def read_query(data: bytes, _: Path) -> None:
    """A condition of an analyst's query, and as such a rule of a schema. What is accepted can be asked of a table."""
    text, schema = data.decode(errors="surrogateescape"), declared()
    try:
        condition = Rule.parse(text, schema).condition
    except KerneleaseError:
        condition = None
    try:
        asked = parse_condition(text, schema)
    except KerneleaseError:
        asked = None
    assert asked in (None, condition)  # one language: analysts are refused some of it, and see nothing else in it
    if condition is not None:
        assert len(condition.holds(_synthetic())) == len(condition.allows(_synthetic())) == 4
        _print_again(condition)


def _print_again(condition: Condition) -> None:
    """A condition as text is the same condition; it may be longer or deeper than what may be read."""
    with suppress(KerneleaseError):
        assert parse(str(condition), declared()) == condition


@cache
def _synthetic() -> pa.Table:
    generator = np.random.default_rng(0)
    codes = [generator.integers(0, column.size, 4) for column in declared()]
    arrays = [column.decode(part, generator) for column, part in zip(declared(), codes, strict=True)]
    return pa.Table.from_arrays(arrays, schema=declared().arrow_schema())


def read_csv(data: bytes, folder: Path) -> None:
    """A whole CSV file: the header, which is public, may be refused."""
    path = folder / "people.csv"
    path.write_bytes(data)
    for records in Records:
        try:
            source = open_source(path, csv=CsvFormat(records=records), batch_rows=7)
        except KerneleaseError:
            continue
        _drain(source)


def read_csv_body(data: bytes, folder: Path) -> None:
    """The rows of a CSV file, encoded as for a release: all of them are private, so nothing may be refused."""
    path = folder / "people.csv"
    path.write_bytes(b"age,hours,sex\n" + data)
    encoder, lines = Encoder(_three_columns()), data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    for records in Records:
        source = open_source(path, csv=CsvFormat(records=records), batch_rows=7)
        rows = sum(len(encoder.encode(batch)) for batch in source.batches(source.names()))
        assert rows == lines or (records is Records.QUOTED and b'"' in data and 0 < rows < lines)


@cache
def _three_columns() -> Schema:
    return Schema(tuple(column for column in declared() if column.name in ("age", "hours", "sex")))


def read_parquet(data: bytes, folder: Path) -> None:
    """A Parquet file: damage is refused, in words that hold no cell."""
    path = folder / "people.parquet"
    path.write_bytes(data)
    try:
        source = open_source(path, batch_rows=7)
        _drain(source)
    except KerneleaseError as error:
        _check_secrecy(error)


def _drain(source: Source) -> None:
    encoder = Encoder(_three_columns())
    try:
        for batch in source.batches(source.names()):
            batch.validate(full=True)
            if set(encoder.schema.names) <= set(batch.column_names):
                encoder.encode(batch)
    except KerneleaseError as error:
        _check_secrecy(error)


def _check_secrecy(error: BaseException) -> None:
    chain: BaseException | None = error
    while chain is not None:
        if SECRET in str(chain):
            raise PrivacyLeak(str(chain))
        chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)


class PrivacyLeak(Exception):
    """A message holds a private cell."""


def read_zip(data: bytes, folder: Path) -> None:
    """A bundle as one file."""
    path = folder / "bundle.zip"
    path.write_bytes(data)
    _open(path)


def read_content(data: bytes, folder: Path) -> None:
    """The files of a bundle, with sums that fit: the name of one, a newline, and what it shall hold."""
    name, _, content = data.partition(b"\n")
    files = dict(honest_files())
    if name.decode(errors="replace") in files:
        files[name.decode()] = content
        _open(write_bundle(folder / "bundle.zip", files, overwrite=True))


def _open(path: Path) -> None:
    """What an analyst does with a bundle, in the order of growing trust."""
    verify(path, limits=SMALL)
    with suppress(KerneleaseError):
        opened = load(path, limits=SMALL)
        _ = str(opened.certificate), opened.weights, opened.certificate.spent, opened.certificate.attacker
        opened.sample(3)
    with suppress(KerneleaseError), np.errstate(all="ignore"):  # numbers from nowhere may overflow on their way to rows
        load_measurements(path, limits=SMALL).fit(method=_METHOD, rows=3)


_METHOD = Interactions(solver=MixtureSolver(components=2, steps=2))


@cache
def honest_files() -> dict[str, bytes]:
    """The files of an honest bundle of a table."""
    schema = _three_columns()
    table = pa.table({"age": [30, 40, 50], "hours": [1.0, None, 40.0], "sex": ["f", "m", "f"]})
    made = release(table, schema=schema, privacy=Privacy(epsilon=1.0, delta=1e-6), method=_METHOD)
    with tempfile.TemporaryDirectory() as folder:
        return {name: data for name, data in read_bundle(made.save(Path(folder, "b"))).items() if name not in SEALS}


def read_ledger(data: bytes, folder: Path) -> None:
    """A ledger file: damaged books are refused, and never charged by mistake."""
    path = folder / "ledger"
    path.write_bytes(data)
    with suppress(KerneleaseError):
        LedgerFile.open(path, patience=0.1).charge(_charge())


def _charge() -> Charge:
    return Charge(loss=Loss.gaussian(1e-3), asked=Privacy(epsilon=1.0, delta=1e-6), subject=ROWS, purpose="a test")


def _ledger() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        ledger = LedgerFile.create(Path(folder, "ledger"), cap=Privacy(epsilon=1.0, delta=1e-6))
        ledger.charge(_charge())
        return ledger.path.read_bytes()


def _parquet() -> bytes:
    table = pa.table({"age": [30, 40, None], "hours": [1.0, None, 40.0], "sex": ["f", SECRET, "m"]})
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def _zip() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return write_bundle(Path(folder, "b.zip"), honest_files()).read_bytes()


def _contents() -> tuple[bytes, ...]:
    return tuple(name.encode() + b"\n" + data for name, data in honest_files().items())


_JSON_WORDS: tuple[bytes, ...] = (
    b"null",
    b"-1",
    b"1e999",
    b"[]",
    b"{}",
    b'"tag"',
    b'"NaN"',
    b"9" * 400,
    b"[[[[",
    b'"\\ud800"',
    b"0.0",
)
_TOML_WORDS: tuple[bytes, ...] = (
    b"[columns.x]\n",
    b"type = ",
    b'"integer"',
    b'"string"',
    b"min = ",
    b"max = nan",
    b"cells = ",
    b"[[",
)
_TOML_WORDS += (b"inf", b"9" * 400, b'"""', b"values = [", b"unit = ", b"\\u0000", b"1979-05-27T07:32:00Z", b"= {")
_QUERY_WORDS: tuple[bytes, ...] = (
    b" and ",
    b" or ",
    b" not ",
    b" in (",
    b" is null",
    b"== ",
    b"(" * 50,
    b"'",
    b'"',
    b"`",
    b"1e999",
    b"9" * 99,
    b" + ",
    b" - ",
    b" * ",
    b" / ",
    b"if ",
    b" then ",
)
_QUERY_WORDS += (
    b"born",
    b"seen",
    b"smoker",
    b"grade",
    b"hours",
    b"<=",
    b"true",
    b"'2024-13-41'",
    b"\x00",
    b"\xff",
    b"-",
)
_CSV_WORDS: tuple[bytes, ...] = (
    b'"',
    b'""',
    b",",
    b"\n",
    b"\r\n",
    b"\r",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    SECRET.encode(),
    b"9" * 400,
)

TARGETS = {
    "schema files": Target(read=read_schema, seeds=lambda: (SCHEMA_TEXT.encode(),), words=_TOML_WORDS),
    "queries": Target(read=read_query, seeds=lambda: (QUERY.encode(), RULE.encode()), words=_QUERY_WORDS),
    "CSV files": Target(read=read_csv, seeds=lambda: (CSV,), words=_CSV_WORDS),
    "rows of CSV files": Target(read=read_csv_body, seeds=lambda: (CSV.split(b"\n", 1)[1],), words=_CSV_WORDS),
    "Parquet files": Target(read=read_parquet, seeds=lambda: (_parquet(),)),
    "bundles": Target(read=read_zip, seeds=lambda: (_zip(),), words=(b"PK\1\2", b"PK\3\4", b"PK\5\6")),
    "what bundles hold": Target(read=read_content, seeds=_contents, words=_JSON_WORDS),
    "ledgers": Target(read=read_ledger, seeds=lambda: (_ledger(),)),
}
