"""Workbooks: Excel's files, and OpenDocument spreadsheets, by calamine."""

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias, final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.sources.source import FileSource, FileStamp, Piece, in_turn
from kernelease.sources.sql import needs

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
                chosen = _chosen(workbook, sheet, path)
                first = next(filter(_is_written, _lines(workbook, chosen)), [])
        except library.PasswordError:
            raise SourceError(f"{path} is protected by a password. Save it without one.") from None
        except (library.CalamineError, OSError):
            raise SourceError(f"{path} is not a workbook that can be read. Check its name, or save it again.") from None
        header = tuple(_text(cell) or "" for cell in first)
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

    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        return in_turn(self._rows(columns))

    def _rows(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
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
        texts = (_text(cell) for cell in cells)
        return pa.array([None if text in self.nulls else text for text in texts], pa.large_string())


def _calamine() -> Any:
    try:
        import python_calamine
    except ImportError:
        raise needs("excel") from None
    return python_calamine


def _chosen(workbook: Any, sheet: str | None, path: Path) -> str:
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
    """Whether a line has a cell that is not empty."""
    return any(cell != "" for cell in line)


def _text(cell: object) -> str | None:
    """A cell as a CSV file would have it; None for an empty one.

    >>> [_text(cell) for cell in ("Ulm", 34.0, 0.5, True, datetime.date(2024, 1, 31), datetime.timedelta(1), "")]
    ['Ulm', '34', '0.5', 'true', '2024-01-31', '86400', None]
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < 2**53 else repr(cell)
    if isinstance(cell, datetime.date | datetime.time):
        return cell.isoformat()
    if isinstance(cell, datetime.timedelta):
        return _text(cell.total_seconds())
    return str(cell) or None


def sheet_lines(path: Path, sheet: str | None = None) -> list[list[str]]:
    """The lines of a public workbook, as a code book is: cells as texts, empty lines left out."""
    library = _calamine()
    try:
        with library.CalamineWorkbook.from_path(path) as workbook:
            lines = filter(_is_written, _lines(workbook, _chosen(workbook, sheet, path)))
            return [[_text(cell) or "" for cell in line] for line in lines]
    except (library.CalamineError, OSError):
        raise SourceError(f"{path} is not a workbook that can be read. Check its name, or save it again.") from None
