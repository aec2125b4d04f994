"""A release in other hands: data frames, files, samples, learning, random variables."""

import datetime
import hashlib
import math
import os
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa

from kernelease.answers.habits import ROWS_ALONE, pandas_for
from kernelease.answers.reading import Released, reading
from kernelease.arrays import Floats, Integers
from kernelease.errors import BundleError, ParameterError, UncertaintyWarning, check_integer, nearest
from kernelease.fit.points import thin
from kernelease.machine import draft_beside
from kernelease.seeds import PublicSeed
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Category, Listed, Ordinal
from kernelease.table.columns.numbers import Integer
from kernelease.table.domain import Domain

if TYPE_CHECKING:
    from kernelease.analysis.variables import Origin, RandomVariable
    from kernelease.answers.vectors import Vectors


# --------------------
# A table as an ordinary file: CSV, Parquet, Feather or Excel, by the ending of its name.


_ENDINGS = (".csv", ".parquet", ".feather", ".arrow", ".xlsx")


def check_export(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise `BundleError` if a table can't be written there: another ending, or a file that is not to be replaced."""
    if Path(path).suffix.lower() not in _ENDINGS:
        raise BundleError(f"{path}: the name must end in {', '.join(_ENDINGS)}.")
    if not overwrite and os.path.lexists(path):
        raise BundleError(
            f"{path} already exists. Choose another name, or give --overwrite (overwrite=True in Python)."
        )
    if not os.path.isdir(Path(path).parent):
        raise BundleError(f"{path} could not be written: its folder is missing. Make it first.")


def export_table(table: pa.Table, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write a table, whole or not at all. In CSV, NULL is an empty cell."""
    check_export(path, overwrite=overwrite)
    target = Path(path)
    try:
        with draft_beside(target) as draft:
            _write(table, str(draft), target.suffix.lower())
            os.replace(draft, target)
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or "it can't be written in this format"
        raise BundleError(f"{path} could not be written: {reason}.") from error
    return target


def _write(table: pa.Table, path: str, ending: str) -> None:
    """Only the writer of this format is loaded: most who open a release write none."""
    if ending == ".csv":
        write_csv(table, path)
    elif ending == ".parquet":
        from pyarrow import parquet

        parquet.write_table(table, path)
    elif ending == ".xlsx":
        _write_workbook(table, path)
    else:
        from pyarrow import feather

        feather.write_feather(table, path)


def write_csv(table: pa.Table, path: str | Path) -> None:
    """Moments of whole seconds are written without six zeros behind them."""
    from pyarrow import csv  # questions need no files

    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            with suppress(pa.ArrowInvalid):  # a fraction of a second would be lost
                table = table.set_column(place, field.name, table.column(place).cast(pa.timestamp("s", field.type.tz)))
    csv.write_csv(table, path)


_SHEET_LINES = 2**20  # limit: Excel's own, the header among them
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_BEFORE_EXCEL = datetime.datetime(1899, 12, 30)  # day 0 of its calendar, from March 1900 on
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_OFFICE = "http://schemas.openxmlformats.org"
_SHEET_PARTS = {  # the least that a workbook needs: one sheet, and formats of dates and of moments
    "[Content_Types].xml": f'{_XML}<Types xmlns="{_OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/worksheets/sheet1.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
    '<Override PartName="/xl/styles.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>',
    "_rels/.rels": f'{_XML}<Relationships xmlns="{_OFFICE}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'{_XML}<workbook xmlns="{_OFFICE}/spreadsheetml/2006/main" '
    f'xmlns:r="{_OFFICE}/officeDocument/2006/relationships"><sheets><sheet name="rows" sheetId="1" r:id="rId1"/>'
    "</sheets></workbook>",
    "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_OFFICE}/package/2006/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument/2006/relationships/worksheet" '
    'Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/officeDocument/2006/relationships/styles" Target="styles.xml"/>'
    "</Relationships>",
    "xl/styles.xml": f'{_XML}<styleSheet xmlns="{_OFFICE}/spreadsheetml/2006/main"><fonts count="1"><font/></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    '<borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs>'
    '<cellXfs count="3"><xf/><xf numFmtId="14" applyNumberFormat="1"/><xf numFmtId="22" applyNumberFormat="1"/>'
    '</cellXfs><cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>',
}


def _write_workbook(table: pa.Table, path: str) -> None:
    """One sheet, the names of columns first. Texts are texts, never formulas; NULL is an empty cell."""
    if table.num_rows >= _SHEET_LINES:
        raise BundleError(f"A sheet of Excel must have fewer than {_SHEET_LINES:,} rows. Choose CSV or Parquet.")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in _SHEET_PARTS.items():
            book.writestr(name, text)
        with book.open("xl/worksheets/sheet1.xml", "w") as sheet:
            sheet.write(f'{_XML}<worksheet xmlns="{_OFFICE}/spreadsheetml/2006/main"><sheetData>'.encode())
            sheet.write(_sheet_line(table.column_names).encode())
            for batch in table.to_batches(max_chunksize=4096):  # convention: some hundred kilobytes at a time
                columns = [column.to_pylist() for column in batch.columns]
                sheet.write("".join(map(_sheet_line, zip(*columns, strict=True))).encode())
            sheet.write(b"</sheetData></worksheet>")


def _sheet_line(cells: Iterable[Any]) -> str:
    return f"<row>{''.join(map(_sheet_cell, cells))}</row>"


def _sheet_cell(cell: Any) -> str:
    """A cell in Excel's XML.

    >>> _sheet_cell(1.5), _sheet_cell("a<b"), _sheet_cell(datetime.date(2024, 1, 1)), _sheet_cell(None)
    ('<c><v>1.5</v></c>', '<c t="inlineStr"><is><t>a&lt;b</t></is></c>', '<c s="1"><v>45292</v></c>', '<c/>')
    """
    if cell is None:
        return "<c/>"
    if isinstance(cell, bool):
        return f'<c t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, int | float) and math.isfinite(cell):
        return f"<c><v>{cell!r}</v></c>"
    if isinstance(cell, datetime.datetime):
        return f'<c s="2"><v>{(cell.replace(tzinfo=None) - _BEFORE_EXCEL) / datetime.timedelta(days=1)!r}</v></c>'
    if isinstance(cell, datetime.date):
        return f'<c s="1"><v>{(cell - _BEFORE_EXCEL.date()).days}</v></c>'
    text = _NOT_XML.sub(lambda sign: f"_x{ord(sign[0]):04X}_", str(cell))
    space = ' xml:space="preserve"' if text != text.strip() else ""
    return f'<c t="inlineStr"><is><t{space}>{escape(text)}</t></is></c>'


# --------------------
# Synthetic rows as pandas has them: nullable integers, dates that are dates, declared categories.


def pandas_frame(table: pa.Table, domain: Domain) -> Any:
    """A data frame whose types follow from the schema, never from which rows were drawn.

    Weights are scaled to mean 1, as `sample_weight` of scikit-learn and survey software take it.
    """
    frame = _plain(table)
    for column in domain.schema or ():
        frame[column.name] = _as_declared(frame[column.name], column)
    if domain.weight_name in table.column_names:
        frame[domain.weight_name] *= len(frame)
    return frame


def _plain(table: pa.Table) -> Any:
    pandas_for("to_pandas")
    return table.to_pandas(date_as_object=False, integer_object_nulls=True)


def _as_declared(values: Any, column: Column) -> Any:
    if isinstance(column, Integer):
        return values.astype("Int64" if column.nullable else "int64")
    if isinstance(column, Boolean):
        return values.astype("boolean" if column.nullable else "bool")
    if isinstance(column, Category | Ordinal):
        return values.astype(_category(column))
    return values


def _category(column: Listed) -> Any:
    values = [*column.vocabulary] + ([] if column.other_label is None else [column.other_label])
    return pandas_for("to_pandas").CategoricalDtype(values, ordered=isinstance(column, Ordinal))


# --------------------
# A release in other hands: data frames, files, samples, learning, random variables.


class Frames:
    """The rows of a release for other tools, with their weights or in equal numbers."""

    __slots__ = ()

    def to_pandas(self: Released, *, weights: bool = True) -> Any:
        """The rows as a pandas data frame, with types as declared: Int64 where NULL may be, dates, categories.

        The weights, in the last column, have mean 1, so that scikit-learn takes them as they are. Rows are for code,
        pictures and models that you check: numbers come with intervals from the release itself, and a warning says so.
        """
        warnings.warn(ROWS_ALONE, UncertaintyWarning, stacklevel=2)
        return pandas_frame(self.table if weights else self.rows, self.measurements.domain)

    def _frame(self: Released, *, weights: bool) -> Any:
        return pandas_frame(self.table if weights else self.rows, self.measurements.domain)

    def __len__(self: Released) -> int:
        return int(self.table.num_rows)

    def export(self: Released, path: str | Path, *, weights: bool = True, overwrite: bool = False) -> Path:
        """Write the rows as CSV, Parquet, Feather or Excel, by the ending of the name. NULL is an empty cell."""
        return export_table(self.table if weights else self.rows, path, overwrite=overwrite)

    def sample(self: Released, count: int, *, seed: int = 0) -> pa.Table:
        """`count` rows of equal weight, thinned so that their mean embedding stays near that of the weighted rows.

        As `to_pandas`, it warns that numbers computed from rows have no interval.
        """
        check_integer("sample: count", count, 1, 2**62)
        warnings.warn(ROWS_ALONE, UncertaintyWarning, stacklevel=2)
        generator = PublicSeed(seed).generator("sample")
        view = reading(self)
        encoded, parts = view.points(), view.coordinates()

        def features(rows: Integers) -> Floats:
            if not parts:  # without a measured embedding: only the weights are kept
                return np.zeros((len(rows), 1))
            return np.hstack([part.features(encoded[rows]) for part in parts])

        return self.rows.take(pa.array(thin(features, self.weights, count, generator)))

    def vectors(self: Released) -> "Vectors":
        """Rows, classes and weights of a release of vectors as arrays, and what was measured about them."""
        from kernelease.answers.vectors import Vectors

        return Vectors.of(self)

    def __iter__(self: Released) -> Iterator[str]:
        """The names of the columns, as pandas has it."""
        return iter(self.rows.column_names)

    def __contains__(self: Released, name: object) -> bool:
        return name in self.rows.column_names

    def __setitem__(self, name: object, value: object) -> None:
        """Refused: a release is what it is."""
        raise ParameterError(
            "A release can't be changed. Its rows can: frame = release.to_pandas(); the schema computes columns, too."
        )

    def __getitem__(self: Released, names: str | tuple[str, ...] | list[str]) -> "RandomVariable":
        """A column as a random variable; several, r["a", "b"], as one of several numbers."""
        from kernelease.analysis.variables import RandomVariable

        if not isinstance(names, str | tuple | list):
            raise ParameterError(
                f'Release: name a column, as ["age"], got {type(names).__name__}. Rows are chosen by a condition: '
                'release.where("age > 30").'
            )
        wanted = (names,) if isinstance(names, str) else names
        known = tuple(self.rows.column_names)
        for name in wanted:
            if name not in known:
                raise ParameterError(f"There is no column {name!r} in this release.{nearest(str(name), known)}")
        origin = _origin(self)
        if isinstance(names, str):
            return RandomVariable.of(_values(self.table.column(names)), origin)
        return RandomVariable.of(np.column_stack([_values(self.table.column(name)) for name in wanted]), origin)


def _origin(release: Released) -> "Origin":
    """The rows as an origin of randomness. Two fits of the same measurements are related, and not the same rows."""
    from kernelease.analysis.variables import Origin

    table = hashlib.sha256()
    for column in release.table.columns:
        table.update(repr(column.to_pylist()).encode())
    name = release.schema.name if release.schema else "points"
    ancestor = release.measurements.measured.fingerprint or table.hexdigest()
    return Origin(release.weights, name=name, key=table.hexdigest(), ancestors=frozenset({ancestor}), released=True)


def _values(column: pa.ChunkedArray) -> Any:
    """Numbers as float64 with NaN for NULL, truth values as such, everything else as Python objects."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.array(column.cast(pa.float64()).to_numpy(), dtype=np.float64)
    if pa.types.is_boolean(kind) and column.null_count == 0:
        return np.array(column.to_numpy(), dtype=bool)
    return np.array(column.to_pylist(), dtype=object)
