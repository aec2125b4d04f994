"""The rules for CSV, one by one."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from kernelease.errors import ParameterError, SchemaError, SourceError
from kernelease.sources import CsvFormat, open_source
from kernelease.sources.csv.format import ENCODINGS

Row = tuple[str | None, ...]


def read(path: Path, body: bytes, **how: Any) -> list[Row]:
    path.write_bytes(body)
    source = open_source(path, csv=CsvFormat(**how))
    batches = source.batches(source.names())
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


LINES = {
    "plain": (b"1,2", ("1", "2")),
    "empty field": (b"1,", ("1", None)),
    "quoted empty field": (b'1,""', ("1", "")),
    "empty line": (b"", (None, None)),
    "too few": (b"1", ("1", None)),
    "too many": (b"1,2,3,4", ("1", "2")),
    "separator in quotes": (b'"a, b",2', ("a, b", "2")),
    "doubled quotes": (b'"say ""no""",2', ('say "no"', "2")),
    "quote within a field": (b'5" pipe,2', ('5" pipe', "2")),
    "text after a quote": (b'"a"bc,2', ("abc", "2")),
    "quotes after a quote": (b'"a"b"c,2', ('ab"c', "2")),
    "lone quote": (b'1,"a, b', ("1", "a, b")),
    "lone quote at the start": (b'"1,2', ("1,2", None)),
    "blanks stay": (b" 1 , 2", (" 1 ", " 2")),
    "blank before a quote": (b'1, "a"', ("1", ' "a"')),
    "not UTF-8": (b"caf\xe9,\xff", ("caf\ufffd", "\ufffd")),
    "UTF-8 cut short": (b"\xe6\x97,2", ("\ufffd", "2")),
    "a surrogate": (b"\xed\xa0\x80,2", ("\ufffd\ufffd\ufffd", "2")),
    "NUL": (b"\x00,a\x00b", ("\x00", "a\x00b")),
    "carriage return within": (b"a\rb,2", ("a\rb", "2")),
    "carriage return at the end": (b"1,2\r", ("1", "2")),
    "carriage return, lone quote": (b'1,"2\r', ("1", "2")),
    "form feed and U+2028": ("\f,\u2028".encode(), ("\f", "\u2028")),
    "mark within": (b"\xef\xbb\xbf1,2", ("\ufeff1", "2")),
    "NULL is a word": (b"NULL,NA", ("NULL", "NA")),
}


@pytest.mark.parametrize("newlines_in_values", [False, True])
@pytest.mark.parametrize(("line", "cells"), LINES.values(), ids=LINES)
def test_a_line_is_a_row_whatever_stands_in_it(
    line: bytes, cells: Row, newlines_in_values: bool, tmp_path: Path
) -> None:
    around: list[Row] = [("7", "8")]
    body = b"one,two\n7,8\n" + line + b"\n7,8\n"
    assert read(tmp_path / "t.csv", body, newlines_in_values=newlines_in_values) == [*around, cells, *around]


def test_among_many_lines_too(tmp_path: Path) -> None:
    body, expected = b"one,two\n", []
    for line, cells in LINES.values():
        body += b"7,8\n" * 100 + line + b"\n"
        expected += [("7", "8")] * 100 + [cells]
    assert read(tmp_path / "t.csv", body) == expected


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_line_ends_and_the_last_line(end: bytes, tmp_path: Path) -> None:
    body = end.join([b"one,two", b"1,2", b'"3",4'])
    assert read(tmp_path / "t.csv", body) == [("1", "2"), ("3", "4")]
    assert read(tmp_path / "t.csv", body + end) == [("1", "2"), ("3", "4")]
    assert read(tmp_path / "t.csv", body + end + end) == [("1", "2"), ("3", "4"), (None, None)]


def test_no_rows_are_no_batches(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", b"one,two\n") == []
    assert read(tmp_path / "t.csv", b"one,two") == []
    assert read(tmp_path / "t.csv", b"", names=("one", "two")) == []
    assert read(tmp_path / "t.csv", b"\xef\xbb\xbf", names=("one", "two")) == []


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'\xef\xbb\xbf"one",two\n1,2\n')
    assert open_source(tmp_path / "t.csv").names() == ("one", "two")
    assert read(tmp_path / "t.csv", b"\xef\xbb\xbf1,2\n", names=("one", "two")) == [("1", "2")]


def test_embedded_newlines(tmp_path: Path) -> None:
    body = b'one,two\n1,"a\nb"\r\n3,"c\r\n\r\nd"\n5,6\n'
    whole = [("1", "a\nb"), ("3", "c\r\n\r\nd"), ("5", "6")]
    assert read(tmp_path / "t.csv", body, newlines_in_values=True) == whole
    lines = [("1", "a"), ('b"', None), ("3", "c"), (None, None), ('d"', None), ("5", "6")]
    assert read(tmp_path / "t.csv", body) == lines


def test_a_lone_quote_merges_lines_only_where_newlines_are_allowed(tmp_path: Path) -> None:
    body = b'one,two\n1,"a\n2,b\n3,"c"\n4,d\n'
    assert read(tmp_path / "t.csv", body) == [("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")]
    assert read(tmp_path / "t.csv", body, newlines_in_values=True) == [("1", 'a\n2,b\n3,c"'), ("4", "d")]


def test_a_lone_quote_reaches_no_further_than_the_longest_line(tmp_path: Path) -> None:
    lines = [b"%d,b" % i for i in range(200)]
    body = b"one,two\n" + b"\n".join([b'0,"a', *lines, b'9,"c"']) + b"\n"
    found = read(tmp_path / "t.csv", body, newlines_in_values=True, longest_line=256)
    assert found == [("0", "a"), *((str(i), "b") for i in range(200)), ("9", "c")]


@pytest.mark.parametrize("newlines_in_values", [False, True])
def test_a_line_that_is_too_long_is_cut(newlines_in_values: bool, tmp_path: Path) -> None:
    long = b"y" * (3 * 2**20)  # over several blocks
    body = b"one,two\n1,2\nx," + long + b',3\n4,"' + long + b"\n5,6\n"
    found = read(tmp_path / "t.csv", body, longest_line=2**10, newlines_in_values=newlines_in_values)
    assert found == [("1", "2"), ("x", "y" * 1022), ("4", "y" * 1021), ("5", "6")]


def test_texts_that_mean_null(tmp_path: Path) -> None:
    body = b'one,two\nNA,"NA"\n?,x\n ?,\n'
    assert read(tmp_path / "t.csv", body, nulls=("NA", "?")) == [(None, "NA"), (None, "x"), (" ?", None)]


def test_separators(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", b"one;two\n1,5;2\n", separator=";") == [("1,5", "2")]
    assert read(tmp_path / "t.tsv", b"one\ttwo\n1,5\t2\n") == [("1,5", "2")]
    assert read(tmp_path / "t.tsv", b"one|two\n1\t5|2\n", separator="|") == [("1\t5", "2")]


@pytest.mark.parametrize("encoding", sorted(ENCODINGS))
def test_encodings_keep_the_bytes_that_mean_something(encoding: str, tmp_path: Path) -> None:
    odd = bytes(range(128, 256))
    found = read(tmp_path / "t.csv", b'one,two\n1,2\n"' + odd + b'",' + odd + b"\n3,4\n", encoding=encoding)
    text = odd.decode(encoding, "replace")
    assert found == [("1", "2"), (text, text), ("3", "4")]


def test_a_header_in_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes("naïve,Straße\n1,2\n".encode("latin-1"))
    source = open_source(tmp_path / "t.csv", csv=CsvFormat(encoding="latin-1"))
    assert source.names() == ("naïve", "Straße")


def test_an_unnamed_column_is_one(tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", b",age\n0,30\n") == [("0", "30")]  # as pandas writes its index


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "must begin with a line of column names"),
        (b"\n1,2\n", "must begin with a line of column names"),
        (b"one,one\n", "two columns of the name 'one'"),
        (b",a,\n", "two columns of the name ''"),
        (b"one\rsecret\r", "carriage return"),
        (b"one," + b"x" * 2**21, "too long"),
        (b'one,"two\nsecret,2\n', "never closed"),
        ("one,two\nsecret,2\n".encode("utf-16"), "UTF-16"),
    ],
)
def test_headers_that_are_none(body: bytes, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(body)
    with pytest.raises(SourceError, match=sentence) as caught:
        open_source(tmp_path / "t.csv")
    assert "secret" not in str(caught.value)


def test_a_missing_column_is_named_and_the_first_line_is_not(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"Ada Lovelace,36\nBob,40\n")  # there is no header here
    with pytest.raises(SchemaError, match=r"t\.csv has no column 'name'\.") as caught:
        open_source(tmp_path / "t.csv").batches(["name"])
    assert "Ada" not in str(caught.value)
    assert caught.value.path == ("columns", "name")


@pytest.mark.parametrize(
    "wrong",
    [
        *({"separator": text} for text in (",,", '"', "\n", "é", "", "\x00")),
        *({"encoding": name} for name in ("utf-16", "no such", "idna", "shift_jis")),
        *({"longest_line": length} for length in (0, 2**30)),
        *({"names": names} for names in ((), ("a", "a"))),
    ],
    ids=str,
)
def test_formats_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=f"CsvFormat: {next(iter(wrong))} must be"):
        CsvFormat(**wrong)


@pytest.mark.parametrize("damage", ["cut", "changed", "not gzip"])
def test_damaged_compression(damage: str, tmp_path: Path) -> None:
    path, data = tmp_path / "t.csv.gz", bytearray(gzip.compress(b"one,two\n" + b"1,2\n" * 10**6, mtime=0))
    if damage == "changed":
        data[len(data) // 2] ^= 0xFF
    path.write_bytes(data[: len(data) // 2] if damage == "cut" else b"no" if damage == "not gzip" else data)
    with pytest.raises(SourceError, match="damaged"):
        for _ in open_source(path).batches(["one"]):
            pass
