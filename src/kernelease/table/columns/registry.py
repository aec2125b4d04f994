"""Columns by the tag of their type: a closed list, so that a file can name nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from kernelease.errors import nearest
from kernelease.table.columns.column import MOST_ATOMS, Column, column_error
from kernelease.table.columns.listed import Boolean, Category, Hierarchy, Ordinal, String
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime

COLUMN_TYPES: Mapping[str, type[Column]] = {
    kind.tag: kind for kind in (Integer, Number, Category, Ordinal, Hierarchy, Boolean, Date, Datetime, String)
}
_UNDECLARED = ("name", "texture")  # the header says the one, and noisy counts the other
_KEYS = {"source": "from"}  # where a field can't be called as in the file: `from` is a word of Python
_ORDER = (
    *("type", "from", "minus", "min", "max", "resolution", "decimals", "scale", "cells"),
    *("values", "prefix", "groups", "max_length", "other", "nullable", "default", "null_when"),
)
_ELSEWHERE = {  # what other tools call a type, and what it is here
    **dict.fromkeys(("float", "double", "real", "decimal", "numeric"), "number"),
    **dict.fromkeys(("factor", "enum", "nominal"), "category"),
    **{"text": "string", "timestamp": "datetime", "bigint": "integer", "yes/no": "boolean"},
}
FILL_IN = "FILL IN"
"""What a draft puts where the owner must decide."""


def column_keys(kind: type[Column]) -> tuple[str, ...]:
    """The keys that a column of this type may have in a file, beside `type`."""
    return tuple(sorted(_KEYS.get(field.name, field.name) for field in fields(kind) if field.name not in _UNDECLARED))


def required_keys(kind: type[Any]) -> tuple[str, ...]:
    """The keys that a declared column must have, derived or not."""
    return tuple(field.name for field in fields(kind) if field.default is MISSING and field.name != "name")


def column_from_dict(name: str, body: object) -> Column:
    """The column that a table of a schema file declares, or a `SchemaError`.

    >>> column_from_dict("age", {"type": "integer", "min": 17, "max": 90}).size
    74
    """
    if not isinstance(body, Mapping):
        raise column_error(name, f"must be a table with a type, got {body!r}.")
    tag, known = body.get("type"), ", ".join(COLUMN_TYPES)
    if tag == FILL_IN:
        raise column_error(name, f"type is not filled in yet: {known}.", "type")
    if not isinstance(tag, str) or tag not in COLUMN_TYPES:
        own = _ELSEWHERE.get(str(tag).lower())
        hint = nearest(str(tag), tuple(COLUMN_TYPES)) if own is None else f" Did you mean {own}?"
        raise column_error(name, f"type must be one of {known}, got {tag!r}.{hint}", "type")
    kind = COLUMN_TYPES[tag]
    keys = _with_ends(name, kind, {key: value for key, value in body.items() if key != "type"})
    what, why = f"type {kind.tag}", ", from public knowledge"
    check_keys(name, kind, keys, known=column_keys(kind), what=what, of=f"for {what}", why=why)
    arguments: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in keys.items()}
    if "from" in arguments:
        arguments["source"] = arguments.pop("from")
    return kind(name=name, **arguments)


def _with_ends(name: str, kind: type[Column], keys: dict[str, Any]) -> dict[str, Any]:
    """The keys of an integer or a number with listed values, whose ends follow."""
    if kind not in (Integer, Number) or "values" not in keys or keys["values"] == FILL_IN:
        return keys
    values = keys["values"]
    if not isinstance(values, list | tuple) or not values:
        wanted = f"values must be from 2 to {MOST_ATOMS - 1} numbers in rising order"
        raise column_error(name, f"{wanted}, got {values!r}.", "values")
    return {**keys, "min": keys.get("min", values[0]), "max": keys.get("max", values[-1])}


def column_to_dict(column: Column) -> dict[str, Any]:
    """The declaration of a column, without its name: the type first, defaults left out, values as they were given."""
    result: dict[str, Any] = {"type": column.tag}
    implied = (
        ("name", "min", "max") if isinstance(column, Integer | Number) and column.values is not None else ("name",)
    )
    for field in fields(column):
        value = getattr(column, field.name)
        if field.name not in implied and value != field.default:
            result[_KEYS.get(field.name, field.name)] = list(value) if isinstance(value, tuple) else value
    return {key: result[key] for key in _ORDER if key in result}


def check_keys(
    name: str, kind: type, keys: Mapping[str, object], *, known: Sequence[str], what: str, of: str, why: str = ""
) -> None:
    """Refuse keys that are not known or not filled in, and the lack of one that `what` is declared needs.

    `of` and `why` are parts of the sentences that say so.
    """
    for key, value in keys.items():
        if key in ("constraints", "unit", "neighbours"):
            raise column_error(name, f"{key} belongs in [table], at the top of the file.", str(key))
        if key not in known:
            told = f"unknown key {key!r} {of}; known are {', '.join(known)}.{nearest(str(key), known)}"
            raise column_error(name, told, str(key))
        if value in (FILL_IN, [FILL_IN]):
            raise column_error(name, f"{key} is not filled in yet. Write what is publicly known.", str(key))
    for key in required_keys(kind):
        if key not in keys:
            raise column_error(name, f"{what} needs {key}{why}. Add it.")
