"""A code book that is a CSV file: a line for each column, or a line for each value of a column."""

import csv
import io
from typing import Final

from kernelease.errors import ParameterError
from kernelease.table.dictionaries.described import Described, bound

_HEADINGS: Final = {
    "name": ("name", "column", "variable", "field", "var", "variable name", "column name", "field name"),
    "type": ("type", "data type", "datatype", "format", "class", "level", "measurement level"),
    "min": ("min", "minimum", "lowest", "lower", "from"),
    "max": ("max", "maximum", "highest", "upper", "to"),
    "values": (
        "values",
        "categories",
        "codes",
        "levels",
        "choices",
        "allowed values",
        "permitted values",
        "value",
        "code",
    ),
    "nullable": ("nullable", "missing", "optional", "null"),
}
_PARTS = ("|", ";", ",")  # between values, the first that is there
_YES = frozenset(["yes", "y", "true", "t", "1"])


def read_codebook(text: str) -> dict[str, Described]:
    r"""The columns that a code book lists, under headings as people choose them.

    >>> book = "variable;type;min;max;codes\nage;integer;0;120;\nsex;category;;;1=female|2=male\n"
    >>> read_codebook(book)["sex"].values, read_codebook(book)["age"].max
    (('1', '2'), 120)
    """
    first = text.split("\n", 1)[0]
    separator = max((";", "\t", ","), key=first.count)
    try:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    except csv.Error as error:
        raise ParameterError(f"The code book can't be read as CSV: {error}. Is a quote not closed?") from None
    places = _places(rows[0] if rows else [])
    cells: dict[str, dict[str, list[str]]] = {}
    for row in rows[1:]:
        found = {key: row[place].strip() for key, place in places.items() if place < len(row)}
        if name := found.pop("name", ""):
            for key, value in found.items():
                cells.setdefault(name, {}).setdefault(key, []).append(value)
    return {name: _described(columns) for name, columns in cells.items()}


def _places(header: list[str]) -> dict[str, int]:
    words = [cell.strip().lower().replace("_", " ").lstrip("\ufeff") for cell in header]
    places = {key: next((words.index(word) for word in known if word in words), -1) for key, known in _HEADINGS.items()}
    if places["name"] < 0:
        raise ParameterError(
            "The code book must have a column called name, column, variable or field in its first line; beside it "
            "type, min, max, values and nullable are read."
        )
    return {key: place for key, place in places.items() if place >= 0}


def _described(cells: dict[str, list[str]]) -> Described:
    first = {key: next((value for value in values if value), "") for key, values in cells.items()}
    kind, listed = first.get("type") or None, [value for value in cells.get("values", []) if value]
    values = _split(listed[0]) if len(listed) == 1 else [_code(value) for value in listed]
    known = first.get("nullable", "").lower()
    return Described(
        type=kind,
        min=bound(first.get("min"), kind),
        max=bound(first.get("max"), kind),
        values=tuple(dict.fromkeys(values)),
        nullable=(known in _YES) if known else None,
    )


def _split(text: str) -> list[str]:
    sign = next((part for part in _PARTS if part in text), None)
    return [_code(part) for part in (text.split(sign) if sign else [text]) if part.strip()]


def _code(text: str) -> str:
    """The value of "1 = female" or "1: female"; the text where there is no label."""
    return text.split("=", 1)[0].strip().strip("\"'")
