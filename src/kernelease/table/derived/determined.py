"""Columns that another one determines, by a public table of values, which may be a code book."""

import csv
import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, final

import pyarrow as pa
import pyarrow.compute as pc

from kernelease.errors import SchemaError, nearest
from kernelease.strangers import read_text
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean, Category, Listed, Ordinal
from kernelease.table.columns.numeric import Integer, Number
from kernelease.table.derived.derived import Derivation, Derived

# --------------------
# Code books: CSV files that list values, and what each of them determines.


KEY = "codebook"


def with_codebooks(columns: Mapping[str, Any], folder: Path | None) -> dict[str, Any]:
    """The tables of columns, with what their code books say in place of the files' names.

    A code book is a CSV file in UTF-8 beside the schema file, with a header. The column of the book that has the
    column's own name lists its `values`, each once; of a column that another determines, it gives the `mapping` from
    the column of the book that has the other's name. For a hierarchy, `level` names the column of the groups.
    """
    return {name: _read(name, body, folder) for name, body in columns.items()}


def _read(name: str, body: Any, folder: Path | None) -> Any:
    if not isinstance(body, Mapping) or KEY not in body:
        return body
    rest = {key: value for key, value in body.items() if key != KEY}
    by = rest.get("determined_by")
    key = "values" if by is None else "mapping"
    if key in rest:
        raise _error(name, f"codebook has the {key}. Remove one of the two.")
    lines = _lines(name, body[KEY], folder)
    mine = _column(name, lines, name)
    if by is None:
        return _listed(name, rest, lines, mine)
    pairs = _told_once(name, _column(name, lines, str(by)), mine)
    return {**rest, key: {code: _typed(name, rest.get("type"), value) for code, value in pairs.items()}}


def _listed(name: str, body: dict[str, Any], lines: list[list[str]], mine: list[str]) -> dict[str, Any]:
    """The values of a column, and with `level` the group of each."""
    if (level := body.pop("level", None)) is None:
        return {**body, "values": list(dict.fromkeys(mine))}
    groups = _told_once(name, mine, _column(name, lines, str(level)))
    return {**body, "values": list(groups), "groups": list(groups.values())}


def _told_once(name: str, codes: list[str], values: list[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for code, value in zip(codes, values, strict=True):
        if pairs.setdefault(code, value) != value:
            raise _error(name, f"the code book gives {code!r} two values, {pairs[code]!r} and {value!r}.")
    return pairs


def _lines(name: str, given: object, folder: Path | None) -> list[list[str]]:
    if folder is None:
        raise _error(name, "a code book lies beside a schema file: load the schema from its file.")
    if not isinstance(given, str) or Path(given).name != given:
        raise _error(name, f"codebook must be the name of a CSV file in the schema's folder, got {given!r}.")
    try:
        text = read_text(folder / given, encoding="utf-8-sig")
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), strict=True) if line]
    except (OSError, ValueError, csv.Error) as error:
        raise _error(name, f"the code book {given!r} can't be read as CSV in UTF-8 ({type(error).__name__}).") from None
    if len(lines) < 2 or any(len(line) != len(lines[0]) for line in lines):
        raise _error(name, f"the code book {given!r} needs a header, and lines of as many cells as that.")
    return lines


def _column(name: str, lines: list[list[str]], wanted: str) -> list[str]:
    if lines[0].count(wanted) != 1:
        raise _error(name, f"the code book's header must have {wanted!r} once; it has {', '.join(lines[0])}.")
    place = lines[0].index(wanted)
    return [line[place] for line in lines[1:]]


def _typed(name: str, tag: object, text: str) -> str | int | float | bool:
    """A cell as its column's type has it; categories are text."""
    try:
        if tag == "integer":
            return int(text)
        if tag == "number":
            return float(text)
        if tag == "boolean":
            return {"true": True, "false": False}[text.lower()]
    except (ValueError, KeyError):
        raise _error(name, f"the code book gives {text!r}, which is no {tag}.") from None
    return text


def _error(name: str, message: str) -> SchemaError:
    return SchemaError(f"column {name!r}: {message}", path=("columns", name, KEY))


# --------------------
# Determined columns.


Value: TypeAlias = str | int | float | bool

_FITTING: Mapping[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}
MOST_INTEGERS = 65_536  # that a column may have for a table of all of them to be declared


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Determined(Derived):
    """A column that another one determines: `grade` by `sub_grade`, `region` by `municipality`.

    `mapping` gives the value for each value of the other column, by its text. Where that is NULL, so is this one; with
    `nullable`, a value that the mapping leaves out gives NULL, too. Of an ordinal, `values` may state the order.

    >>> Determined(name="grade", type="category", determined_by="sub_grade", mapping={"A1": "A"}).mapping
    (('A1', 'A'),)
    """

    determined_by: str
    mapping: tuple[tuple[str, Value], ...] | Mapping[str, Value]
    values: tuple[str | int, ...] = ()
    nullable: bool = False

    types: ClassVar[tuple[str, ...]] = ("category", "ordinal", "integer", "number", "boolean")
    key: ClassVar[str] = "determined_by"

    def _check(self) -> None:
        if not isinstance(self._given("determined_by"), str):
            raise self.error("determined_by", f"determined_by must name a column, got {self.determined_by!r}.")
        if not isinstance(self._given("nullable"), bool):
            raise self.error("nullable", f"nullable must be true or false, got {self.nullable!r}.")
        given = self._given("mapping")
        pairs = tuple(given.items()) if isinstance(given, Mapping) else given
        if not isinstance(pairs, tuple) or not pairs:
            raise self.error("mapping", f"mapping must be a table like {{ A1 = 'A' }}, got {given!r}.")
        object.__setattr__(self, "mapping", tuple((str(key), self._read(value)) for key, value in pairs))
        object.__setattr__(self, "values", tuple(self.values))
        if self.values and self.type != "ordinal":
            raise self.error(
                "values", "values are the order of an ordinal; elsewhere the mapping has them. Remove them."
            )
        if missing := {value for _, value in self.pairs} - {*(self.values or self._distinct)}:
            raise self.error(
                "values", f"values must hold all that the mapping gives; {min(map(str, missing))!r} is not there."
            )

    def _read(self, value: Any) -> Any:
        if type(value) not in _FITTING.get(self.type, (str, int)):
            raise self.error("mapping", f"mapping of type {self.type} can't give {value!r}.")
        return float(value) if self.type == "number" else value

    @property
    def pairs(self) -> tuple[tuple[str, Value], ...]:
        """The mapping, pair by pair."""
        return tuple(self.mapping.items()) if isinstance(self.mapping, Mapping) else self.mapping

    @property
    def _distinct(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(value for _, value in self.pairs))

    @property
    def told(self) -> str:
        return f"determined by {self.determined_by}"

    def reads(self, known: Collection[str]) -> tuple[str, ...]:
        if self.determined_by not in known:
            hint = nearest(self.determined_by, known)
            raise self.error("determined_by", f"there is no column {self.determined_by!r}.{hint}")
        return (self.determined_by,)

    def bind(self, columns: Mapping[str, Column]) -> Derivation:
        source, given = columns[self.determined_by], dict(self.pairs)
        legal = _legal(source)
        if legal is None:
            raise self.error(
                "determined_by",
                f"column {source.name!r} of type {source.tag} has no list of values; a category, an ordinal, a boolean "
                "or an integer has. Declare this one as computed.",
            )
        left_out = [value for value in legal if _text(value) not in given]
        if left_out and not self.nullable:
            raise self.error(
                "mapping",
                f"mapping has no value for {left_out[0]!r} of {source.name!r}, and {len(left_out) - 1:,} more. "
                "Add them, or declare nullable = true.",
            )
        kept = [value for value in legal if _text(value) in given]
        if not kept:
            raise self.error("mapping", f"mapping has none of the values of {source.name!r}.")
        nullable = source.nullable or bool(left_out) or self.null_when is not None
        column = self._column(nullable)
        return Lookup(
            column=column,
            sources=(source.name,),
            known=pa.array(kept, source.arrow_type),
            found=pa.array([given[_text(value)] for value in kept], column.arrow_type),
        )

    def _column(self, nullable: bool) -> Column:
        values: tuple[Any, ...] = self.values or self._distinct
        if self.type == "boolean":
            return Boolean(name=self.name, nullable=nullable)
        if self.type in ("category", "ordinal"):
            listed = Category if self.type == "category" else Ordinal
            return listed(name=self.name, values=values, nullable=nullable)
        low, high = min(values), max(values)
        ends = {"min": low, "max": high if low < high else low + 1}
        kind = Integer if self.type == "integer" else Number
        return kind(name=self.name, nullable=nullable, cells=1, **ends)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup(Derivation):
    """The values `found` in place of those that are `known`, one for each; NULL for all others."""

    known: pa.Array
    found: pa.Array

    def values(self, table: pa.Table) -> Any:
        places = pc.index_in(table.column(self.sources[0]), value_set=self.known)
        return self.found.take(places.combine_chunks() if isinstance(places, pa.ChunkedArray) else places)


def _legal(column: Column) -> Iterable[Any] | None:
    """The values that a column may have, NULL aside; None where they are too many to list."""
    if isinstance(column, Boolean):
        return (False, True)
    if isinstance(column, Listed):
        return (*column.vocabulary, *([] if column.other_label is None else [column.other_label]))
    if isinstance(column, Integer) and (column.high - column.low) // column.tick < MOST_INTEGERS:
        return range(column.low, column.high + 1, column.tick)
    return None


def _text(value: Value) -> str:
    """A value as the keys of a file write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
