"""Code books: CSV files that list values, and what each of them determines."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelease.errors import SchemaError
from kernelease.strangers import read_text

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
