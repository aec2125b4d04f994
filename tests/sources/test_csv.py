"""The rules for CSV, one by one."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from kernelease.errors import ParameterError, SchemaError, SourceError
from kernelease.sources import CsvFormat, open_source
from kernelease.table import Records
from kernelease.table.written import ENCODINGS

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
    "blanks stay": (b" 1 , 2", (" 1 ", " 2")),
    "blank before a quote": (b'1, "a"', ("1", ' "a"')),
    "not UTF-8": (b"caf\xe9,\xff", ("caf\ufffd", "\ufffd")),
    "UTF-8 cut short": (b"\xe6\x97,2", ("\ufffd", "2")),
    "a surrogate": (b"\xed\xa0\x80,2", ("\ufffd\ufffd\ufffd", "2")),
    "NUL": (b"\x00,a\x00b", ("\x00", "a\x00b")),
    "carriage return within": (b"a\rb,2", ("a\rb", "2")),
    "carriage return at the end": (b"1,2\r", ("1", "2")),
    "form feed and U+2028": ("\f,\u2028".encode(), ("\f", "\u2028")),
    "mark within": (b"\xef\xbb\xbf1,2", ("\ufeff1", "2")),
    "NULL is a word": (b"NULL,NA", ("NULL", "NA")),
}
OPEN = {  # a quoted field that the line leaves open
    "lone quote": (b'1,"a, b', ("1", "a, b")),
    "lone quote at the start": (b'"1,2', ("1,2", None)),
    "carriage return, lone quote": (b'1,"2\r', ("1", "2")),
}
BOTH = [*((Records.LINES, *case) for case in (LINES | OPEN).values()), *((Records.QUOTED, *c) for c in LINES.values())]


@pytest.mark.parametrize(("records", "line", "cells"), BOTH)
def test_a_line_is_a_row_whatever_stands_in_it(records: Records, line: bytes, cells: Row, tmp_path: Path) -> None:
    around: list[Row] = [("7", "8")]
    body = b"one,two\n7,8\n" + line + b"\n7,8\n"
    assert read(tmp_path / "t.csv", body, records=records) == [*around, cells, *around]


@pytest.mark.parametrize(("records", "lines"), [(Records.QUOTED, LINES), (Records.LINES, LINES | OPEN)])
def test_among_many_lines_too(records: Records, lines: dict[str, tuple[bytes, Row]], tmp_path: Path) -> None:
    body, expected = b"one,two\n", []
    for line, cells in lines.values():
        body += b"7,8\n" * 100 + line + b"\n"
        expected += [("7", "8")] * 100 + [cells]
    assert read(tmp_path / "t.csv", body, records=records) == expected


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


def test_quoted_newlines_belong_to_their_record(tmp_path: Path) -> None:
    body = b'one,two\n1,"a\nb"\r\n3,"c\r\n\r\nd"\n5,6\n'
    assert read(tmp_path / "t.csv", body) == [("1", "a\nb"), ("3", "c\r\n\r\nd"), ("5", "6")]
    lines = [("1", "a"), ('b"', None), ("3", "c"), (None, None), ('d"', None), ("5", "6")]
    assert read(tmp_path / "t.csv", body, records=Records.LINES) == lines


def test_a_quoted_newline_in_a_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'one,"two\r\n(years)"\r\n1,2\r\n')
    source = open_source(tmp_path / "t.csv")
    assert source.names() == ("one", "two\r\n(years)")
    assert [batch.num_rows for batch in source.batches(["one"])] == [1]


@pytest.mark.parametrize("before", range(2**20 - 12, 2**20 + 2))
def test_records_over_the_border_of_two_blocks(before: int, tmp_path: Path) -> None:
    record, names = b'1,"a ""b""\r\n\nc"\r\n', ("one", "two")
    body = b"x" * (before - 1) + b"\n" + record + b"5,6\n"
    whole = [("x" * (before - 1), None), ("1", 'a "b"\r\n\nc'), ("5", "6")]
    assert read(tmp_path / "t.csv", body, names=names, longest_record=2**21) == whole


MALFORMED = {  # what quoting that is none comes to: a function of the file alone
    "a lone quote goes on to the next quote": (b'1,"a\n2,b\n3,"c"\n4,d\n', [("1", 'a\n2,b\n3,c"'), ("4", "d")]),
    "or to the end of the file": (b'1,2\n3,"a\n4,b\n5,c\n', [("1", "2"), ("3", "a\n4,b\n5,c\n")]),
    "a quote within a field is a character": (b'1,a "b\n2,c"d"\n', [("1", 'a "b'), ("2", 'c"d"')]),
    "text after a closing quote belongs to the field": (b'1,"a"b"\n2,"c" \n', [("1", 'ab"'), ("2", "c ")]),
    "a quote at the very end": (b'1,"', [("1", "")]),
    "three quotes": (b'1,"""\n2,b\n', [("1", '"\n2,b\n')]),
}


@pytest.mark.parametrize(("body", "rows"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_quoting(body: bytes, rows: list[Row], tmp_path: Path) -> None:
    assert read(tmp_path / "t.csv", b"one,two\n" + body) == rows


@pytest.mark.parametrize("records", Records)
def test_a_record_that_is_too_long_is_cut_and_stays_one(records: Records, tmp_path: Path) -> None:
    long = b"y" * (3 * 2**20)  # over several blocks
    body = b"one,two\n1,2\nx," + long + b',3\n4,"' + long + b'"\n5,6\n'
    found = read(tmp_path / "t.csv", body, longest_record=2**10, records=records)
    assert found == [("1", "2"), ("x", "y" * 1022), ("4", "y" * 1021), ("5", "6")]


@pytest.mark.parametrize("longest", range(256, 262))
def test_a_long_record_of_many_lines_is_one_row_wherever_it_is_cut(longest: int, tmp_path: Path) -> None:
    comment = 'a "line"\n,and another\r\n' * 10_000
    body = b"one,two\n1,2\n3," + b'"' + comment.replace('"', '""').encode() + b'",4\n5,6\n'
    first, second, third = read(tmp_path / "t.csv", body, longest_record=longest)
    assert (first, third) == (("1", "2"), ("5", "6"))
    assert second[0] == "3"
    assert comment.startswith(str(second[1]))
    assert longest - 30 < len(str(second[1])) < longest


def test_no_character_is_cut_in_two(tmp_path: Path) -> None:
    for length in range(256, 260):
        ((cell,),) = read(tmp_path / "t.csv", "日".encode() * 200, names=("one",), longest_record=length)
        assert cell == "日" * (length // 3)


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
        (b"", "is empty"),
        (b"\n1,2\n", "must begin with a line of column names"),
        (b"secret,secret\n", "two columns of one name"),
        (b",a,\n", "two columns of one name"),
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
        *({"longest_record": length} for length in (0, 2**30)),
        {"records": "rows"},
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
