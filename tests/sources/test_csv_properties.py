"""Any bytes whatever: the fast parser, the slow one and the oracle agree. Well-formed records stay records."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from kernelease.sources import CsvFormat, open_source
from kernelease.sources.csv_file import Block, CellParser, RecordReader, decode_stream, line_ends
from kernelease.table import Records
from kernelease.table.parsing import read_numbers
from tests.sources import csv_oracle

# Mostly ordinary lines, so that the fast parser has its say, and now and then whatever can go wrong.
ORDINARY = st.sampled_from(
    [b"a,b\n", b"1,2\n", b'"x","y, z"\n', b",\n", b'"a ""b""",NA\r\n', b"\xc3\xa9,\xe6\x97\xa5\n"]
)
ODD = st.sampled_from(
    [
        *(b'"', b",", b"\n", b"\r", b"\r\n", b"\n\n", b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf", b'""', b'a"b', b'",'),
        *(b"NA", b"\t", b'"unclosed\n', b"1,2,3,4\n", b"1\n", b"long" * 20),
    ]
)
BYTES = st.one_of(
    st.lists(st.one_of(ORDINARY, ODD), max_size=40).map(b"".join),
    st.lists(ODD, max_size=60).map(b"".join),
    st.binary(max_size=80),
)
LONGEST = 40
NULLS = (b"NA",)


def rows_of(
    parts: list[Block], width: int, separator: str = ",", nulls: tuple[bytes, ...] = NULLS
) -> list[tuple[str | None, ...]]:
    parser = CellParser(width=width, separator=separator, nulls=frozenset(nulls))
    found: list[tuple[str | None, ...]] = []
    for block in parts:
        arrays = parser.columns(block, list(range(width)))
        for array in arrays:
            array.validate(full=True)
        found += zip(*(array.to_pylist() for array in arrays), strict=True)
    return found


def blocks(data: bytes, size: int, records: Records, separator: str = ",") -> list[Block]:
    reader = RecordReader(records=records, separator=separator, longest=LONGEST)
    return list(reader.blocks(decode_stream(io.BytesIO(data), size=size, encoding="utf-8")))


@given(data=BYTES, width=st.integers(1, 3), size=st.integers(1, 200), separator=st.sampled_from(",\t;|]^\\ a"))
@pytest.mark.slow
@settings(max_examples=200, deadline=None)
def test_every_line_is_one_row(data: bytes, width: int, size: int, separator: str) -> None:
    found = rows_of(blocks(data, size, Records.LINES, separator), width, separator)
    expected = [
        csv_oracle.row(line.removesuffix(b"\r"), width, separator, NULLS) for line in csv_oracle.lines(data, LONGEST)
    ]
    assert found == expected


@given(data=BYTES, width=st.integers(1, 3), size=st.integers(1, 200), separator=st.sampled_from(",\t;|]^\\ a"))
@pytest.mark.slow
@settings(max_examples=400, deadline=None)
def test_every_record_is_one_row(data: bytes, width: int, size: int, separator: str) -> None:
    found = rows_of(blocks(data, size, Records.QUOTED, separator), width, separator)
    expected = [
        csv_oracle.row(record.removesuffix(b"\r"), width, separator, NULLS)
        for record in csv_oracle.records(data, LONGEST, separator)
    ]
    assert found == expected


CELLS = st.lists(st.sampled_from(['"', ",", "\n", "\r", "\r\n", "a", "é", "1", " "]), max_size=8).map("".join)
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=12))


def written(rows: list[list[str]], quoting: Any, end: str) -> bytes:
    """A well-formed file, as Python's csv module writes it."""
    text = io.StringIO(newline="")
    csv.writer(text, quoting=quoting, lineterminator=end).writerows(rows)
    return text.getvalue().encode()


@pytest.mark.slow
@given(
    rows=TABLES,
    how=st.sampled_from([(csv.QUOTE_MINIMAL, "\r\n"), (csv.QUOTE_ALL, "\n"), (csv.QUOTE_ALL, "\r\n")]),
    size=st.integers(1, 64),
)
@settings(max_examples=300, deadline=None)
def test_what_python_writes_is_read_as_python_reads_it(rows: list[list[str]], how: tuple[Any, str], size: int) -> None:
    """(With newlines alone and few quotes, Python would leave a carriage return unquoted: not well-formed.)"""
    width, data = len(rows[0]) if rows else 1, written(rows, *how)
    reader = RecordReader(records=Records.QUOTED, separator=",", longest=2**10)
    found = rows_of(list(reader.blocks(decode_stream(io.BytesIO(data), size=size, encoding="utf-8"))), width, nulls=())
    cells = [[cell or "" for cell in row] for row in found]
    assert cells == rows == list(csv.reader(io.StringIO(data.decode(), newline="")))


@pytest.mark.slow
@given(rows=TABLES.filter(bool), row=st.data(), longest=st.sampled_from([2**8, 2**20]))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_well_formed_record_is_one_row_and_touches_no_other(
    rows: list[list[str]], row: st.DataObject, longest: int, tmp_path: Path
) -> None:
    """Neighbouring files: one record replaced, of any length and with anything in it, or removed."""
    at = row.draw(st.integers(0, len(rows) - 1))
    other = row.draw(st.lists(CELLS, min_size=len(rows[0]), max_size=len(rows[0])))
    other[-1] += row.draw(st.sampled_from(["", "\n", '"', '\n"1,2"\n' * 300]))  # 300: beyond the longest record
    files = (rows, [*rows[:at], other, *rows[at + 1 :]], [*rows[:at], *rows[at + 1 :]])
    first, replaced, removed = (_table(tmp_path / "t.csv", part, longest) for part in files)
    assert len(first) == len(replaced) == len(removed) + 1
    assert first[:at] + first[at + 1 :] == replaced[:at] + replaced[at + 1 :] == removed


def test_lines_would_make_rows_of_one_record(tmp_path: Path) -> None:
    """The broken twin: read by lines, one record with a comment of five lines adds four rows."""
    plain, comment = [["1", "ok"]] * 10, [["1", "a\nb\nc\nd\ne"], *[["1", "ok"]] * 9]
    for records, rows in ((Records.QUOTED, 10), (Records.LINES, 14)):
        assert len(_table(tmp_path / "t.csv", plain, 2**20, records)) == 10
        assert len(_table(tmp_path / "t.csv", comment, 2**20, records)) == rows


def _table(path: Path, rows: list[list[str]], longest: int, records: Records = Records.QUOTED) -> list[Any]:
    path.write_bytes(written(rows, csv.QUOTE_ALL, "\r\n"))
    names = tuple(f"c{i}" for i in range(max(map(len, rows), default=1)))
    source = open_source(path, csv=CsvFormat(names=names, longest_record=longest, records=records))
    return [row for batch in source.batches(names) for row in batch.to_pylist()]


@pytest.mark.slow
@given(
    lines=st.lists(ORDINARY, min_size=1, max_size=40),
    damage=BYTES.map(lambda data: data.replace(b"\n", b"") + b"\n"),
    at=st.integers(0),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_one_damaged_line_touches_no_other_row(lines: list[bytes], damage: bytes, at: int, tmp_path: Path) -> None:
    at %= len(lines)
    before = _read(tmp_path / "before.csv", lines)
    after = _read(tmp_path / "after.csv", [*lines[:at], damage, *lines[at + 1 :]])
    assert len(after) == len(before)
    assert after[:at] + after[at + 1 :] == before[:at] + before[at + 1 :]


def _read(path: Path, lines: list[bytes]) -> list[dict[str, str | None]]:
    path.write_bytes(b"one,two\n" + b"".join(lines))
    source = open_source(path, csv=CsvFormat(records=Records.LINES))
    batches = list(source.batches(["two", "one"]))
    return pa.Table.from_batches(batches).to_pylist()


NUMERALS = st.one_of(
    st.floats().map(repr),
    st.integers(-(2**70), 2**70).map(str),
    st.from_regex(r"\A[ \t]?[+-]?[0-9]{0,20}\.?[0-9]{0,20}(e[+-]?[0-9]{1,3})?[ \t]?\Z"),
    st.sampled_from(
        ["", "nan", "-nan", "NaN(7)", "inf", "-Infinity", "NA", "0x10", "1_000", "1,5", "+1", "1e400", "5e-324"]
    ),
)


@pytest.mark.slow
@given(numerals=st.lists(NUMERALS, min_size=1, max_size=8), quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
@settings(deadline=None)
def test_cells_that_come_as_expected_say_what_their_text_says(numerals: list[str], quoting: Any) -> None:
    written = io.StringIO()
    csv.writer(written, quoting=quoting, lineterminator="\n").writerows([cell, cell] for cell in numerals)
    text = written.getvalue().encode()
    block = Block(text, line_ends(text))
    expected = ((0, pa.float64()), (1, pa.dictionary(pa.int32(), pa.string())))
    as_text = CellParser(width=2, separator=",", nulls=frozenset([b"NA"]))
    typed = CellParser(width=2, separator=",", nulls=frozenset([b"NA"]), expected=expected)
    texts, (numbers, labels) = as_text.columns(block, [0, 1]), typed.columns(block, [0, 1])
    assert numbers.is_null().equals(texts[0].is_null())
    absent = texts[0].is_null().to_numpy(zero_copy_only=False)
    found, meant = (np.where(absent, 0.0, read_numbers(column)) for column in (numbers, texts[0]))
    np.testing.assert_array_equal(found, meant)
    assert labels.to_pylist() == texts[1].to_pylist()
