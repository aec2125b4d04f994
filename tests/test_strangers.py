"""Text, JSON and TOML of strangers: read within bounds, or refused at once, by every reader of such files."""

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kernelease as ke
from kernelease import ledgers
from kernelease.answers.release import contents_of
from kernelease.bundle.saving import documents, measurements_of
from kernelease.bundle.signing import load_public_key, parse_public_key
from kernelease.drafting.drafts import SdvTable
from kernelease.errors import KerneleaseError
from kernelease.ledgers import LedgerFile
from kernelease.strangers import DEEPEST, MOST_VALUES, check_depth, parse_json, parse_toml, read_text
from kernelease.table.dictionaries import read_dictionary
from kernelease.table.expressions.logic import parse
from kernelease.table.toml import locate
from tests.bundle.every_bundle import honest

DEEP = "[" * 900 + "]" * 900  # Python's parser holds it; what walks through it did not
DEEPER = "[" * 10**6 + "]" * 10**6
MANY = "[" + "[]," * MOST_VALUES + "[]]"
DOTTED = ".".join("a" * 40_000) + " = 1"  # took Python's parser 30 seconds
PARTS = "x = {" + " . ".join(['"a"'] * 40_000) + " = 1}"
NESTED = "<codeBook>" + '<var name="a">' * 10_000 + "</var>" * 10_000 + "</codeBook>"


def test_a_text_of_some_length(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12\r\n")
    assert read_text(tmp_path / "a") == "12\r\n"
    with pytest.raises(ValueError, match="longer than 3 bytes"):
        read_text(tmp_path / "a", most=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DEEP, f"nested more than {DEEPEST} deep"),
        (DEEPER, f"nested more than {DEEPEST} deep"),
        (MANY, f"more than {MOST_VALUES:,} values"),
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "the key 'c' is there twice"),
        ("[NaN]", "holds NaN"),
        ("[-Infinity]", "holds -Infinity"),
        ("9" * 5000, "digits"),
        ("{", "Expecting"),
        ("\ud800", "Expecting"),
    ],
    ids=["deep", "deeper", "many", "twice", "NaN", "infinite", "huge", "no JSON", "no text"],
)
def test_json_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_json(text)
    if text.isascii():
        with pytest.raises(ValueError, match=message):
            parse_json(text.encode())


def test_json_up_to_the_limits() -> None:
    assert parse_json("[" * DEEPEST + "]" * DEEPEST) is not None
    check_depth({"a": [{"b": 1}]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (DOTTED, "a key is nested"),
        (PARTS, "a key is nested"),
        ("a = " + "[" * 10**5, f"nested more than {DEEPEST} deep"),
        ("a = " + "[" * 100 + "]" * 100, f"nested more than {DEEPEST} deep"),
        ("# " + "x" * (1 << 21), "longer than"),
        ("a =", "Invalid value"),
    ],
    ids=["dots", "quoted parts", "open", "deep", "long", "no TOML"],
)
def test_toml_that_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_toml(text)


def test_a_line_is_found_in_a_long_file_without_reading_it_a_thousand_times() -> None:
    listed = "[columns.a]\nvalues = [\n" + '    "x",\n' * 50_000 + "]\nmin = 1\n"
    assert locate(listed, ("columns", "a", "min")) == 50_004
    mean = "[columns.a]\nvalues = [\n" + '    "]",\n' * 50_000 + "]\nmin = 1\n"
    assert locate(mean, ("columns", "a", "min")) == 1  # the table's: the file is not worth a longer look


def _bundle(name: str, text: str) -> Callable[[Path], Any]:
    return lambda _: measurements_of({**documents(contents_of(honest("subspace"))), name: text.encode()})


def _file(name: str, content: str | bytes, read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    def written(folder: Path) -> Any:
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read(folder / name)

    return written


def _sparse(name: str, read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """A file of a terabyte, of which nothing is on disk."""

    def written(folder: Path) -> Any:
        with open(folder / name, "wb") as file:
            file.truncate(1 << 40)
        return read(folder / name)

    return written


def _book(folder: Path) -> Any:
    (folder / "schema.toml").write_text("[columns.a]\ntype = 'category'\ncodebook = 'book.csv'\n")
    return _sparse("book.csv", lambda path: ke.Schema.load(path.parent / "schema.toml"))(folder)


SCHEMA = ke.Schema.parse("[columns.a]\ntype = 'boolean'\n")
HOSTILE: dict[str, Callable[[Path], Any]] = {
    "a deep measurements.json": _bundle("measurements.json", DEEP),
    "a deeper measurements.json": _bundle("measurements.json", DEEPER),
    "a certificate.json of lists": _bundle("certificate.json", MANY),
    "a schema.json of lists": _bundle("schema.json", MANY),
    "a schema with a long key": _file("a.toml", DOTTED, ke.Schema.load),
    "a schema with a key in parts": _file("a.toml", PARTS, ke.Schema.load),
    "a schema of lists": _file("a.toml", "a = " + "[" * 10**5, ke.Schema.load),
    "an endless schema": _sparse("a.toml", ke.Schema.load),
    "a schema's endless code book": _book,
    "a deep data dictionary": _file("a.json", DEEP, read_dictionary),
    "a data dictionary of lists": _file("a.json", MANY, read_dictionary),
    "an endless data dictionary": _sparse("a.csv", read_dictionary),
    "a data dictionary with a long cell": _file("a.csv", "name\n" + "x" * 200_000, read_dictionary),
    "a deep DDI file": _file("a.xml", NESTED, read_dictionary),
    "deep SDV metadata": _file("a.json", DEEP, SdvTable.read),
    "endless SDV metadata": _sparse("a.json", SdvTable.read),
    "a deep condition": lambda _: parse("(" * 5000 + "a == true" + ")" * 5000, SCHEMA),
    "a long condition": lambda _: parse("a == true and " * 10**6, SCHEMA),
    "an endless key": _sparse("a.pem", load_public_key),
    "a long key in a bundle": lambda _: parse_public_key(b"#" * (1 << 24)),
    "an endless ledger": _sparse("ledger", LedgerFile.open),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_soon_and_in_little_memory(name: str, tmp_path: Path) -> None:
    if "json" in name:
        honest("subspace")
    tracemalloc.start()
    start = time.process_time()
    try:
        with pytest.raises(KerneleaseError) as caught:
            HOSTILE[name](tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(str(caught.value)) < 500
    assert time.process_time() - start < 10.0  # tracing slows it down; without, it is under a second
    assert peak < 200 << 20


def test_a_ledger_of_many_entries_is_not_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = LedgerFile.create(tmp_path / "ledger", cap=ke.Privacy(epsilon=1.0, delta=0.0))
    monkeypatch.setattr(ledgers, "_LARGEST_FILE", ledger.path.stat().st_size)
    assert LedgerFile.open(ledger.path) == ledger
