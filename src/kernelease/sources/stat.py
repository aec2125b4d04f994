"""Files of SPSS, Stata and SAS as sources, and what they say about their columns; and workbooks, by calamine."""

import codecs
import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats
from kernelease.errors import SourceError
from kernelease.sources.source import SAS, SPSS, STATA, FileSource, FileStamp, kind_of
from kernelease.sources.sql import optional
from kernelease.table.draft import Described, type_word

# ---- How SPSS, Stata and SAS write dates: as numbers of seconds, days or milliseconds, told from others by a format.


_SECOND: Final = 10**6  # in microseconds
_DAY: Final = 86_400 * _SECOND
_UNIX: Final = datetime.date(1970, 1, 1)
_FIRST: Final = (datetime.date.min - _UNIX).days * _DAY
_LAST: Final = (datetime.date.max - _UNIX).days * _DAY + _DAY - 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """Numbers that count `tick`s, in microseconds, since a day. Of the days alone, or of moments."""

    since: datetime.date
    tick: int
    days: bool

    @property
    def type(self) -> pa.DataType:
        return pa.date32() if self.days else pa.timestamp("us")

    def read(self, numbers: Floats) -> pa.Array:
        """The day or the moment of each number, clamped to the years 1 to 9999; NULL for NaN.

        >>> Clock(since=datetime.date(1960, 1, 1), tick=_DAY, days=True).read(np.array([0.0, 1.5, np.nan])).to_pylist()
        [datetime.date(1960, 1, 1), datetime.date(1960, 1, 2), None]
        """
        start = (self.since - _UNIX).days * _DAY
        known = np.nan_to_num(numbers, nan=0.0).clip((_FIRST - start) / self.tick, (_LAST - start) / self.tick)
        whole = np.floor(known)
        micros = start + whole.astype(np.int64) * self.tick + np.rint((known - whole) * self.tick).astype(np.int64)
        micros = micros.clip(_FIRST, _LAST)
        absent = np.isnan(numbers)
        if self.days:
            return pa.array((micros // _DAY).astype(np.int32), mask=absent).view(pa.date32())
        return pa.array(micros, mask=absent).view(pa.timestamp("us"))


_GREGORY, _SIXTY = datetime.date(1582, 10, 14), datetime.date(1960, 1, 1)
_WIDTH = r"[0-9]*\.?[0-9]*"
# The formats that make a number a date or a moment. Times of day, durations and Stata's weeks, months, quarters and
# half-years are not among them, nor its %tC, which counts leap seconds: they stay the numbers that they are.
_CLOCKS: Final = {
    SPSS: (
        (rf"(?i:(?:[AEJS]?DATE|QYR|MOYR|WKYR){_WIDTH})", Clock(since=_GREGORY, tick=_SECOND, days=True)),
        (rf"(?i:(?:DATETIME|YMDHMS){_WIDTH})", Clock(since=_GREGORY, tick=_SECOND, days=False)),
    ),
    STATA: (
        ("%-?t?d.*", Clock(since=_SIXTY, tick=_DAY, days=True)),
        ("%-?tc.*", Clock(since=_SIXTY, tick=_SECOND // 1000, days=False)),
    ),
    SAS: (
        (
            r"(?i:(?:DATE|DAY|DOWNAME|JULDAY|JULIAN|(?:DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|(?:MMYY|YYMM)[CDNPS]?|MONNAME|"
            r"MONTH|MONYY|YYMON|QTRR?|YYQR?[CDNPS]?|NENGO|MINGUO|WEEKDAT[EX]|WEEKDAY|WEEK[UVW]|WORDDAT[EX]|YEAR|"
            rf"[BE]8601DA){_WIDTH})",
            Clock(since=_SIXTY, tick=_DAY, days=True),
        ),
        (
            r"(?i:(?:DATETIME|DATEAMPM|DTDATE|DTMONYY|DTWKDATX|DTYEAR|DTYYQC|MDYAMPM|"
            rf"[BE]8601(?:DN|DT|DX|DZ|LX)){_WIDTH})",
            Clock(since=_SIXTY, tick=_SECOND, days=False),
        ),
    ),
}


def clock_of(software: str, form: str) -> Clock | None:
    """How a column of this format counts time; None for numbers.

    >>> clock_of("SPSS", "ADATE10").days, clock_of("SAS", "E8601DT19.").days, clock_of("Stata", "%tdD_m_Y").days
    (True, False, True)
    >>> clock_of("SPSS", "TIME8"), clock_of("SAS", "BEST12."), clock_of("Stata", "%tC"), clock_of("Stata", "%9.0g")
    (None, None, None, None)
    """
    return next((clock for pattern, clock in _CLOCKS[software] if re.fullmatch(pattern, form)), None)


# ---- What a file of SPSS, Stata or SAS says about its columns, before any row is read.


_READERS: Final = {SPSS: "read_sav", STATA: "read_dta", SAS: "read_sas7bdat"}
_TRANSPORT: Final = ".xpt"
_TRANSPORT_RECORD = 80  # bytes: a SAS transport file has no count of rows, but is made of whole records
# Every byte is a character of latin-1 and comes back as that byte. So ReadStat decodes nothing, which it refuses to do
# for a whole file where one cell has a damaged byte, and each cell is decoded by itself.
_BYTES: Final = "LATIN1"
_WHOLE = re.compile(r"(?:F|N|COMMA|DOT)[0-9]+(?:\.0)?")  # SPSS: formats of numbers without decimals
_LONGEST_REMARK = 200  # characters: a line of labels that is still read


pyreadstat = partial(optional, "pyreadstat", extra="stat")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A column: its name, the bytes of that name as latin-1 has them, its declared type, and its value labels.

    Cells that the file declares to be missing (99 = refused) are NULL, as they are in its own software.
    """

    name: str
    raw: str
    type: pa.DataType
    clock: Clock | None
    measure: str
    labels: Mapping[Any, str]
    missing: tuple[Mapping[str, Any], ...]  # each from `lo` to `hi`
    elsewhere: bool = False  # Stata's strL: its texts lie apart, and pyreadstat raises for one that is damaged

    def array(self, cells: list[Any], encoding: str) -> pa.Array:
        """Cells as the file holds them, in Arrow. A label never takes the place of its code."""
        if pa.types.is_string(self.type):
            return pa.array([_text(cell, encoding) for cell in cells], pa.large_string())
        if self.clock is not None:
            return self.clock.read(np.array(cells, dtype=np.float64))
        return pa.array(cells, pa.float64())  # the file's own integers have at most 32 bits

    def describe(self) -> Described:
        """The column as in a code book: the codes that have labels are the values, the labels a remark."""
        codes = [code for code in self.labels if self._is_value(code)]
        if not codes or self.measure == "scale":
            return Described(type=type_word(self.type), nullable=True if self.missing else None)
        said = "; ".join(f"{_code(code)} = {self.labels[code]}" for code in codes)
        return Described(
            type="ordinal" if self.measure == "ordinal" else "category",
            values=_values(codes),
            nullable=True if self.missing else None,
            remark=said if len(said) <= _LONGEST_REMARK else f"{said[:_LONGEST_REMARK]}…",
        )

    def _is_value(self, code: Any) -> bool:
        """Whether a labelled code is a value of this column, and does not mean a missing one."""
        if isinstance(code, str) is not pa.types.is_string(self.type):
            return False  # Stata and SAS label missing values: .a, .b
        return not any(part["lo"] <= code <= part["hi"] for part in self.missing)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns of a file, the encoding of its texts, and the function that reads it."""

    path: Path
    software: str
    encoding: str
    variables: tuple[Variable, ...]
    reader: Callable[..., tuple[Any, Any]]

    @classmethod
    def read(cls, path: Path) -> "Header":
        """Names, formats, labels: all public, by the word of who has the file. No row is looked at."""
        software, library, transport = str(kind_of(path)), pyreadstat(), path.suffix.lower() == _TRANSPORT
        reader = getattr(library, "read_xport" if transport else _READERS[software])
        declared = {} if transport else {"user_missing": True}  # else the declarations of missing values are not told
        try:
            _, about = reader(path, metadataonly=True, **declared)
            _, raw = reader(path, metadataonly=True, encoding=_BYTES)
            whole = not transport or path.stat().st_size % _TRANSPORT_RECORD == 0
        except (library.ReadstatError, library.PyreadstatError, OSError, UnicodeError):
            raise SourceError(
                f"{path} is not a file of {software} that can be read. Check its name, or save it again."
            ) from None
        if not whole:
            raise SourceError(f"{path} was cut off: a SAS transport file is made of records of 80 bytes.")
        pairs = zip(about.column_names, raw.column_names, strict=True)
        variables = tuple(_variable(software, about, name, bytes_) for name, bytes_ in pairs)
        encoding = _encoding(path, software, about.file_encoding)
        return cls(path=path, software=software, encoding=encoding, variables=variables, reader=reader)

    def cells(self, variables: tuple[Variable, ...], start: int, count: int) -> dict[str, pa.Array]:
        """The cells of some columns in `count` rows, fewer at the end of the file; `EOFError` if it is damaged."""
        library = pyreadstat()
        try:
            found, _ = self.reader(
                self.path,
                usecols=[variable.raw for variable in variables],
                row_offset=start,
                row_limit=count,
                encoding=_BYTES,
                disable_datetime_conversion=True,
                output_format="dict",
            )
        except (library.ReadstatError, library.PyreadstatError):
            raise EOFError from None
        return {variable.name: variable.array(found[variable.raw], self.encoding) for variable in variables}


def _variable(software: str, about: Any, name: str, raw: str) -> Variable:
    form = about.original_variable_types.get(name) or ""
    kind = about.readstat_variable_types[name]
    clock = None if kind == "string" else clock_of(software, form)
    return Variable(
        name=name,
        raw=raw,
        type=_type(kind, clock, whole=software == SPSS and _WHOLE.fullmatch(form) is not None),
        clock=clock,
        measure=about.variable_measure.get(name) or "unknown",
        labels=about.variable_value_labels.get(name) or {},
        missing=tuple(about.missing_ranges.get(name) or ()),
        elsewhere=software == STATA and kind == "string" and about.variable_storage_width.get(name) == 0,
    )


def _type(kind: str, clock: Clock | None, *, whole: bool) -> pa.DataType:
    if kind == "string":
        return pa.string()
    if clock is not None:
        return clock.type
    return pa.int64() if whole or kind.startswith("int") else pa.float64()


def _encoding(path: Path, software: str, declared: str | None) -> str:
    """The file's own, by its name in Python. Stata's is UTF-8 since its version 14, and Windows' before."""
    name = declared or ("cp1252" if software == STATA and not _is_stata_14(path) else "utf-8")
    try:
        return codecs.lookup(name).name
    except LookupError:
        raise SourceError(f"{path} is in an encoding that is not known. Save it in UTF-8.") from None


def _is_stata_14(path: Path) -> bool:
    with path.open("rb") as file:
        release = re.search(rb"<release>([0-9]+)</release>", file.read(64))
    return release is not None and int(release[1]) >= 118


def _text(cell: str | None, encoding: str) -> str | None:
    """A text in the file's encoding; bytes that are not in it become U+FFFD. None for an empty one: it is missing."""
    return cell.encode("latin-1").decode(encoding, "replace") if cell else None


def _values(codes: list[Any]) -> tuple[Any, ...]:
    """Codes as a schema lists them: whole numbers if all are, else texts."""
    if all(isinstance(code, int | float) and float(code).is_integer() for code in codes):
        return tuple(int(code) for code in codes)
    return tuple(_code(code) for code in codes)


def _code(code: Any) -> str:
    return f"{code:g}" if isinstance(code, float) else str(code)


# ---- Files of SPSS, Stata and SAS as sources.


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class StatFile(FileSource):
    """A .sav, .zsav, .dta, .sas7bdat or .xpt file. Memory holds a batch, as Python objects and as Arrow."""

    header: Header

    @classmethod
    def open(cls, path: Path, *, batch_rows: int) -> "StatFile":
        """Read the header; no row is looked at."""
        stamp = FileStamp.of(path)
        return cls(path=path, stamp=stamp, header=Header.read(path), batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(variable.name for variable in self.header.variables)

    def declared_schema(self) -> pa.Schema:
        return pa.schema([(variable.name, variable.type) for variable in self.header.variables])

    def describe(self) -> str:
        return f"{self.header.software} file {self.path}"

    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        FileSource._check_columns(self, wanted)
        for variable in self.header.variables:
            if variable.elsewhere and variable.name in wanted:
                raise SourceError(
                    f"{self.describe()}: column {variable.name!r} is a strL, which can't be read cell by cell. Make it "
                    "an ordinary text in Stata (compress, or recast str2045), or leave it out."
                )

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        wanted = tuple(variable for variable in self.header.variables if variable.name in columns)
        start, found = 0, self.batch_rows
        while found == self.batch_rows:
            cells = self.header.cells(wanted, start, self.batch_rows)
            batch = pa.RecordBatch.from_arrays([cells[name] for name in columns], names=list(columns))
            found = batch.num_rows
            start += found
            yield batch


# ---- Workbooks.


Line: TypeAlias = list[Any]  # cells as calamine gives them: "" for an empty one


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ExcelSheet(FileSource):
    """A sheet of a workbook. Its first line that is not empty names the columns; each later one is a row.

    An empty line is a row of NULLs, as an empty record of a CSV file is: a row never goes by what its cells hold. A
    sheet ends with its last line that has a cell, whatever is formatted below it.

    Every cell has a type of its own there, so all arrive as text, as a CSV file would have it. Empty cells, errors
    (#N/A) and the texts in `nulls` are NULL. Memory holds the whole sheet, which has at most 1,048,576 lines.
    """

    sheet: str
    header: tuple[str, ...]  # "" above a column that has no name: it can't be asked for
    nulls: tuple[str, ...]

    @classmethod
    def open(cls, path: Path, sheet: str | None, *, nulls: tuple[str, ...], batch_rows: int) -> "ExcelSheet":
        """Read the names of sheets and columns. Of a workbook with one sheet that is not hidden, that is the one."""
        stamp, library = FileStamp.of(path), _calamine()
        try:
            with library.CalamineWorkbook.from_path(path) as workbook:
                chosen = _choose_sheet(workbook, sheet, path)
                first = next(filter(_is_written, _lines(workbook, chosen)), [])
        except library.PasswordError:
            raise SourceError(f"{path} is protected by a password. Save it without one.") from None
        except (library.CalamineError, OSError):
            raise SourceError(f"{path} is not a workbook that can be read. Check its name, or save it again.") from None
        header = tuple(_cell_text(cell) or "" for cell in first)
        if not any(header):
            raise SourceError(f"{path} has an empty sheet. Its first line must name the columns.")
        return cls(path=path, stamp=stamp, sheet=chosen, header=header, nulls=nulls, batch_rows=batch_rows)

    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self.header if name)

    def declared_schema(self) -> None:
        return None

    def describe(self) -> str:
        return f"Excel file {self.path} (sheet {self.sheet})"

    def heeds(self) -> tuple[str, ...]:
        return ("nulls", "dates")  # 1.234 is a number here: a declared sign between thousands would make it another

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        places = [self.header.index(name) for name in columns]
        library = _calamine()
        try:
            with library.CalamineWorkbook.from_path(self.path) as workbook:
                lines = _lines(workbook, self.sheet)
                next(filter(_is_written, lines), None)  # the header
                while batch := list(islice(lines, self.batch_rows)):
                    arrays = [self._array([line[place] for line in batch]) for place in places]
                    yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
        except library.CalamineError:
            raise EOFError from None

    def _array(self, cells: Line) -> pa.Array:
        texts = (_cell_text(cell) for cell in cells)
        return pa.array([None if text in self.nulls else text for text in texts], pa.large_string())


_calamine = partial(optional, "python_calamine", extra="excel")


def _choose_sheet(workbook: Any, sheet: str | None, path: Path) -> str:
    """The sheet that was asked for, or the only one that can be seen."""
    library = _calamine()
    if sheet is not None:
        if sheet not in workbook.sheet_names:
            raise SourceError(f"{path} has no sheet {sheet!r}. Compare the name in --query (query= in Python).")
        return sheet
    kind, seen = library.SheetTypeEnum.WorkSheet, library.SheetVisibleEnum.Visible
    visible = [about.name for about in workbook.sheets_metadata if about.typ == kind and about.visible == seen]
    if len(visible) != 1:
        raise SourceError(f"{path} has {len(visible)} sheets: name one with --query (query= in Python).")
    return str(visible[0])


def _lines(workbook: Any, sheet: str) -> Iterator[Line]:
    """The lines of a sheet, from the first to the last that has a cell."""
    return iter(workbook.get_sheet_by_name(sheet).iter_rows())


def _is_written(line: Line) -> bool:
    return any(cell != "" for cell in line)


def _cell_text(cell: object) -> str | None:
    """A cell as a CSV file would have it; None for an empty one.

    >>> [_cell_text(cell) for cell in ("Ulm", 34.0, 0.5, True, datetime.date(2024, 1, 31), datetime.timedelta(1), "")]
    ['Ulm', '34', '0.5', 'true', '2024-01-31', '86400', None]
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return _cell_text(cell.total_seconds())
    return str(cell) or None


def sheet_lines(path: Path) -> list[list[str]]:
    """The lines of a public workbook, as a code book is: cells as texts, empty lines left out."""
    library = _calamine()
    try:
        with library.CalamineWorkbook.from_path(path) as workbook:
            lines = filter(_is_written, _lines(workbook, _choose_sheet(workbook, None, path)))
            return [[_cell_text(cell) or "" for cell in line] for line in lines]
    except (library.CalamineError, OSError):
        raise SourceError(f"{path} is not a workbook that can be read. Check its name, or save it again.") from None
