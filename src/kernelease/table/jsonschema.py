"""A JSON Schema of schema files, so that an editor can complete and check them."""

from collections.abc import Mapping, Sequence
from typing import Any

from kernelease.table.columns.cells import SCALES
from kernelease.table.columns.column import MOST_ATOMS
from kernelease.table.columns.listed import MOST_VALUES
from kernelease.table.columns.registry import COLUMN_TYPES, column_keys, required_keys
from kernelease.table.derived import Computed, Determined
from kernelease.table.parsing import DECIMALS, MOST_DECIMALS, MOST_ROWS_PER_UNIT, ROWS_WITHOUT_UNIT, THOUSANDS
from kernelease.table.schema import NEIGHBOURS
from kernelease.table.written import ENCODINGS, QUOTES, Records

_NUMBER = {"type": "number"}
_INTEGER = {"type": "integer"}
_DATE = {"type": "string", "format": "date", "description": "a date like 2024-12-31"}
_DATETIME = {"type": "string", "format": "date-time", "description": "a date and time like 2024-12-31T23:59:59"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}
_VALUES: dict[str, Any] = {
    "type": "array",
    "items": {"type": ["string", "integer"]},
    "minItems": 1,
    "maxItems": MOST_ATOMS,
    "uniqueItems": True,
    "description": "the values that are possible, from public knowledge; in order, for an ordinal",
}
_LIST: dict[str, Any] = {"type": ["string", "array"], "items": {"type": "string"}}
_COMMON: dict[str, dict[str, Any]] = {
    "from": {"type": "string", "minLength": 1, "description": "its name in the source, where that is another one"},
    "minus": {"type": "string", "minLength": 1, "description": "the column that is taken off: how far apart they are"},
    "nullable": {"type": "boolean", "description": "whether a value may be missing; NULL is then a value of its own"},
    "cells": {"type": "integer", "minimum": 1, "maximum": MOST_ATOMS, "description": "the most cells to use"},
    "other": {"type": ["boolean", "string", "integer"], "description": "a bucket for other values, or its label"},
    "max_length": {"type": "integer", "minimum": 1, "description": "the most characters of free text"},
    "decimals": {"type": "integer", "minimum": 0, "maximum": MOST_DECIMALS, "description": "digits after the point"},
    "scale": {"enum": list(SCALES), "description": "log where numbers span decades: cells widen with the value"},
    "null_when": {"type": "string", "description": "a condition under which a released value is NULL"},
    "prefix": {"type": "integer", "minimum": 1, "description": "how many characters of a value say its group"},
    "groups": {"type": "array", "items": {"type": ["string", "integer"]}, "description": "the group of each value"},
    "level": {"type": "string", "description": "the column of the code book that says the group of each value"},
    "codebook": {"type": "string", "description": "a CSV file beside this one that lists the values, by column name"},
}
_SCALAR = {"type": ["string", "integer", "number", "boolean"]}
_BOUND = {"integer": _INTEGER, "number": _NUMBER, "date": _DATE, "datetime": _DATETIME}
_DEFAULT = {**_BOUND, "boolean": {"type": "boolean"}, "string": {"type": "string"}}
_RESOLUTION = {"integer": _INTEGER, "number": _NUMBER, "date": _INTEGER, "datetime": _NUMBER}


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a schema file; dates of TOML count as strings.

    >>> json_schema()["properties"]["columns"]["additionalProperties"]["oneOf"][0]["oneOf"]
    [{'required': ['min', 'max']}, {'required': ['values']}]
    """
    kinds = [*(_column(tag) for tag in COLUMN_TYPES), _computed_column(), _determined_column()]
    columns = {"type": "object", "minProperties": 1, "additionalProperties": {"oneOf": kinds}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kernelease schema file",
        "description": "What is public knowledge about a private table.",
        **_object({"table": _table(), "source": _source(), "columns": columns}, required=("columns",)),
    }


def _object(properties: Mapping[str, Any], *, required: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """A table of these keys, and no others."""
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "additionalProperties": False, **needed, "properties": dict(properties), **more}


def _table() -> dict[str, Any]:
    return _object(
        {
            "name": {"type": "string", "minLength": 1},
            "neighbours": {"enum": list(NEIGHBOURS), "description": "which two tables must look alike"},
            "unit": {"type": "string", "minLength": 1, "description": "the column that identifies a person"},
            "max_rows_per_unit": {"type": "integer", "minimum": 1, "maximum": MOST_ROWS_PER_UNIT},
            "rows_without_unit": {"enum": list(ROWS_WITHOUT_UNIT)},
            "confirmed": {"type": "boolean", "description": "of a draft from private rows: true once all is public"},
            "constraints": {"type": "array", "items": {"type": "string", "examples": ["start <= end"]}},
        },
        dependentRequired={"unit": ["max_rows_per_unit"], "max_rows_per_unit": ["unit"]},
    )


def _source() -> dict[str, Any]:
    words = "where a record of a CSV file ends: at a newline outside quotes, or at every newline"
    return _object(
        {
            "records": {"enum": [str(rule) for rule in Records], "description": words},
            "separator": {"type": "string", "minLength": 1, "maxLength": 1, "description": "between cells"},
            "quote": {"enum": list(QUOTES), "description": "around cells; empty for none"},
            "encoding": {"type": "string", "description": "of characters in bytes", "examples": sorted(ENCODINGS)},
            "names": {**_LIST, "description": "the columns of a file without a header line"},
            "nulls": {**_LIST, "description": "texts that mean NULL, where they are not quoted"},
            "decimal": {"enum": list(DECIMALS), "description": "the sign before decimals"},
            "thousands": {"enum": list(THOUSANDS), "description": "the sign between thousands"},
            "marks": {**_LIST, "description": "before or after numbers, no part of them", "examples": ["$", "%", "()"]},
            "dates": {**_LIST, "description": "formats of dates that are not ISO 8601", "examples": ["%d/%m/%Y"]},
        }
    )


def _column(tag: str) -> dict[str, Any]:
    kind = COLUMN_TYPES[tag]
    properties = {"type": {"const": tag}, **{key: _property(tag, key) for key in column_keys(kind)}}
    result = _object(properties, required=("type", *required_keys(kind)))
    if tag == "string":
        result["anyOf"] = [{"required": ["values"]}, {"required": ["max_length"]}]
    elif tag in ("integer", "number"):
        result["required"] = ["type"]
        result["oneOf"] = [{"required": ["min", "max"]}, {"required": ["values"]}]
    elif tag in ("category", "ordinal", "hierarchy"):
        result["properties"]["codebook"] = _COMMON["codebook"]
        result["required"] = ["type"]
        result["oneOf"] = [{"required": ["values"]}, {"required": ["codebook"]}]
        if tag == "hierarchy":
            result["properties"] |= {"level": _COMMON["level"], "values": {**_VALUES, "maxItems": MOST_VALUES}}
    return result


def _computed_column() -> dict[str, Any]:
    return _object(
        {
            "type": {"enum": list(Computed.types)},
            "computed": {"type": "string", "examples": ["principal + interest", "year(admitted)"]},
            "decimals": _COMMON["decimals"],
            "min": {"type": ["number", "string"]},
            "max": {"type": ["number", "string"]},
            "null_when": _COMMON["null_when"],
        },
        required=("type", "computed"),
    )


def _determined_column() -> dict[str, Any]:
    return _object(
        {
            "type": {"enum": list(Determined.types)},
            "determined_by": {"type": "string", "description": "the column whose value says this one's"},
            "mapping": {"type": "object", "additionalProperties": _SCALAR, "minProperties": 1},
            "values": _VALUES,
            "codebook": _COMMON["codebook"],
            "nullable": _COMMON["nullable"],
            "null_when": _COMMON["null_when"],
        },
        required=("type", "determined_by"),
        oneOf=[{"required": ["mapping"]}, {"required": ["codebook"]}],
    )


def _property(tag: str, key: str) -> dict[str, Any]:
    if key in ("min", "max"):
        return _BOUND[tag]
    if key == "default":
        return _DEFAULT.get(tag, {"type": ["string", "integer"]})
    if tag in ("integer", "number") and key == "values":
        return {**_VALUES, "items": _BOUND[tag], "minItems": 2, "description": "all that are possible, in rising order"}
    if key == "resolution":
        return {**_RESOLUTION[tag], "exclusiveMinimum": 0}
    if key == "values":
        return _TEXTS if tag == "string" else _VALUES
    return _COMMON[key]
