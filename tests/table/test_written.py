"""How rows are written: declared once, checked when declared, read cell by cell."""

import datetime
import re

import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from kernelease.errors import ParameterError, SchemaError
from kernelease.table import Schema
from kernelease.table.parsing import FORMATS, DateFormat, Numerals, as_iso
from kernelease.table.written import Written

SICK = '[columns.sick]\ntype = "boolean"\n'


@given(
    st.integers(-(10**12), 10**12), st.integers(0, 999), st.sampled_from([",", "."]), st.sampled_from([None, " ", "'"])
)
def test_numbers_are_read_as_they_are_written(whole: int, part: int, decimal: str, thousands: str | None) -> None:
    text = f"{whole:,}" if thousands else str(whole)
    text = text.replace(",", thousands or "") + f"{decimal}{part:03d}"
    numerals = Numerals(decimal=decimal, thousands=thousands)
    cells = pa.array([text, "soon", "", None])
    read = numerals.plain(cells).to_pylist()
    if numerals.usual:
        assert read == cells.to_pylist()
    else:
        assert read == [f"{whole}.{part:03d}", "\x1asoon", None, None]


@pytest.mark.parametrize("cells", [pa.array([1.5]), pa.array([1, 2]).dictionary_encode()])
def test_numbers_are_left_alone(cells: pa.Array) -> None:
    assert Numerals(decimal=",").plain(cells) is cells
    assert as_iso(cells, (DateFormat("%d/%m/%Y"),)) is cells


@given(st.datetimes(datetime.datetime(1969, 1, 1), datetime.datetime(2068, 12, 31)), st.sampled_from(FORMATS))
def test_dates_are_read_as_they_are_written(moment: datetime.datetime, form: str) -> None:
    cell, parts = moment.strftime(form), re.split(" %[HI]", form)
    clock = moment.replace(microsecond=0, second=moment.second if "%S" in form else 0)
    expected = clock.isoformat() if len(parts) > 1 else moment.date().isoformat()
    assert DateFormat(form).iso(cell) == expected
    read = as_iso(pa.array([cell, "soon", None, cell.encode().decode()]).dictionary_encode(), (DateFormat(form),))
    assert read.to_pylist() == [expected, "soon", None, expected]


@given(st.integers(-(10**9), 10**9), st.sampled_from(["$", "USD", "%", "kg", "kr"]), st.booleans(), st.booleans())
def test_marks_around_numbers_say_nothing(number: int, mark: str, before: bool, blank: bool) -> None:
    numerals, between = Numerals(thousands=",", marks=(mark, "()")), " " if blank else ""
    sized = f"{mark}{between}{abs(number):,}" if before else f"{abs(number):,}{between}{mark}"
    sign = "-" if number < 0 else ""
    assert numerals.plain(pa.array([sign + sized, f"({sized})", str(number), f"{sized} x", mark])).to_pylist() == [
        str(number),
        f"-{abs(number)}",
        str(number),
        f"\x1a{sized} x",
        f"\x1a{mark}",
    ]
    assert Numerals(thousands=",").plain_text(sized) == f"\x1a{sized}"


def test_hours_of_a_clock_of_twelve() -> None:
    form = DateFormat("%d/%m/%Y %I:%M:%S %p")
    hours = ("12:00:01 AM", "1:00:00 am", "12:30:00 p.m.", "11:59:59 PM", "0:10:00 AM", "13:00:00 PM")
    read = [form.iso(f"31/12/2024 {hour}") for hour in hours]
    assert [text and text[11:] for text in read] == ["00:00:01", "01:00:00", "12:30:00", "23:59:59", None, None]


def test_no_day_that_there_is_not() -> None:
    assert DateFormat("%d/%m/%Y").iso("31/02/2024") is None
    assert DateFormat("%d.%m.%y").iso("1.2.68") == "2068-02-01"


def test_bytes_are_texts_too() -> None:
    cells = pa.array([b"1,5", b"1.2.2024"])
    assert Numerals(decimal=",").plain(cells).to_pylist() == ["1.5", "\x1a1.2.2024"]
    assert as_iso(cells, (DateFormat("%d.%m.%Y"),)).to_pylist() == ["1,5", "2024-02-01"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('separator = ";;"', "separator must be a tab"),
        ("separator = 3", "separator must be a tab"),
        ('quote = "`"', "quote must be"),
        ('quote = "\'"\nseparator = "\'"', "quote and separator must differ"),
        ('encoding = "utf-16"', "encoding must be one of"),
        ('names = ["a", "a"]', "names must be distinct"),
        ("nulls = [1]", "nulls must be a list of strings"),
        ('decimal = ";"', "decimal must be '.' or ','"),
        ('thousands = ";"', "thousands must be"),
        ('decimal = ","\nthousands = ","', "decimal and thousands must differ"),
        ('marks = "1"', "marks must be texts without digits"),
        ('marks = [" "]', "marks must be texts without digits"),
        ('dates = "%d/%m"', "dates must be formats like"),
        ('dates = "%d/%m/%Y %I:%M"', "dates must be formats like"),
        ('dates = "%d/%m/%Y %Z"', "dates must be formats like"),
        ('dates = ["%d/%m/%Y", "%m/%d/%Y"]', "one reads the other's dates"),
    ],
)
def test_what_is_declared_wrongly(line: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.parse(f"[source]\n{line}\n{SICK}")
    assert caught.value.path[0] == "source"


def test_round_trips_and_joins() -> None:
    text = (
        '[source]\nrecords = "lines"\nseparator = "\\t"\nquote = ""\nencoding = "latin-1"\nnames = ["sick"]\n'
        f'nulls = "NA"\ndecimal = ","\nthousands = "."\nmarks = ["kr"]\ndates = "%d.%m.%Y"\n{SICK}'
    )
    schema = Schema.parse(text)
    assert Schema.parse(schema.to_toml()) == Schema.from_dict(schema.to_dict()) == schema
    assert Schema.parse(SICK).written_as(schema.source) == schema
    with pytest.raises(SchemaError, match=r"nulls = \['NA'\] is declared, but \['-'\] was asked for"):
        schema.written_as(Written(nulls=("-",)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[columns.a]\ntype = "boolean"\nfrom = ""\n', "from must be the name of a column"),
        ('[columns.a]\ntype = "boolean"\nfrom = "b"\n[columns.b]\ntype = "boolean"\n', "'b' is column 'a' already"),
        (
            '[table]\nunit = "who"\nmax_rows_per_unit = 2\n[columns.a]\ntype = "boolean"\nfrom = "who"\n',
            "'who' identifies persons and can't be released",
        ),
        ('[table]\nconfirmed = 1\n[columns.a]\ntype = "boolean"\n', "confirmed must be true or false"),
    ],
)
def test_names_in_the_source(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Schema.parse(text)


@pytest.mark.slow
def test_numerals_and_formats_alone() -> None:
    with pytest.raises(ParameterError, match="decimal must be"):
        Numerals(decimal="x")
    with pytest.raises(ParameterError, match="dates must be"):
        DateFormat("%d %d %m %Y")
