"""Any bytes whatever: the fast parser, the slow one and the oracle agree, and damage stays where it is."""

import io
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelease.sources import CsvFormat, open_source
from kernelease.sources.csv.cells import CellParser
from kernelease.sources.csv.lines import Block, line_blocks, record_blocks
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


def rows_of(blocks: list[Block], width: int, separator: str = ",") -> list[tuple[str | None, ...]]:
    parser = CellParser(width=width, separator=separator, nulls=frozenset(NULLS))
    found: list[tuple[str | None, ...]] = []
    for block in blocks:
        arrays = parser.columns(block, list(range(width)))
        for array in arrays:
            array.validate(full=True)
        found += zip(*(array.to_pylist() for array in arrays), strict=True)
    return found


def texts(data: bytes, size: int) -> list[bytes]:
    return [CsvFormat().decode(block) for block in line_blocks(io.BytesIO(data), size=size, longest=LONGEST)]


@given(data=BYTES, width=st.integers(1, 3), size=st.integers(1, 200), separator=st.sampled_from(",\t;|]^\\ a"))
@pytest.mark.slow
@settings(max_examples=200, deadline=None)
def test_every_line_is_one_row(data: bytes, width: int, size: int, separator: str) -> None:
    found = rows_of([Block.of_lines(text) for text in texts(data, size)], width, separator)
    expected = [
        csv_oracle.row(csv_oracle.stripped(line.decode("utf-8", "replace").encode()), width, separator, NULLS)
        for line in csv_oracle.lines(data, LONGEST)
    ]
    assert found == expected


@given(data=BYTES, width=st.integers(1, 3), size=st.integers(1, 200))
@pytest.mark.slow
@settings(max_examples=200, deadline=None)
def test_records_may_go_on_over_lines(data: bytes, width: int, size: int) -> None:
    found = rows_of(list(record_blocks(texts(data, size), separator=",", longest=LONGEST)), width)
    expected = [
        csv_oracle.row(csv_oracle.stripped(record), width, ",", NULLS) for record in csv_oracle.records(data, LONGEST)
    ]
    assert found == expected


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
    batches = list(open_source(path).batches(["two", "one"]))
    return pa.Table.from_batches(batches).to_pylist()
