"""JSON Schema: the properties of an object are the columns."""

from collections.abc import Mapping
from typing import Any

from kernelease.table.dictionaries.described import Described


def read_json_schema(data: Mapping[str, Any]) -> dict[str, Described]:
    """The properties of an object, or of the items of an array.

    >>> read_json_schema({"properties": {"sex": {"enum": ["f", "m", None]}}})["sex"].values
    ('f', 'm')
    """
    body = data.get("items", data) if data.get("type") == "array" else data
    required = body.get("required", [])
    properties = {name: item for name, item in body.get("properties", {}).items() if isinstance(item, Mapping)}
    return {name: _described(item, name in required) for name, item in properties.items()}


def _described(item: Mapping[str, Any], required: bool) -> Described:
    kinds = item.get("type", "string")
    words = [kinds] if isinstance(kinds, str) else list(kinds)
    null = "null" in words or None in item.get("enum", ())
    kind = next((word for word in words if word != "null"), "string")
    if kind == "string" and item.get("format") in ("date", "date-time"):
        kind = str(item["format"])
    values = tuple(value for value in item.get("enum", ()) if value is not None)
    return Described(
        type=kind,
        min=item.get("minimum"),
        max=item.get("maximum"),
        values=tuple(value if type(value) is int else str(value) for value in values),
        nullable=True if null else False if required else None,
        max_length=item.get("maxLength"),
    )
