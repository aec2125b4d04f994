"""Frictionless Table Schema, alone or in a data package."""

from collections.abc import Mapping
from typing import Any

from kernelease.errors import ParameterError
from kernelease.table.dictionaries.described import Described, bound


def read_table_schema(data: Mapping[str, Any]) -> dict[str, Described]:
    """The fields of a Table Schema, or of the first resource of a data package.

    >>> field = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 120, "required": True}}
    >>> read_table_schema({"fields": [field]})["age"].nullable
    False
    """
    if "resources" in data:
        resources = data["resources"]
        data = resources[0].get("schema", {}) if isinstance(resources, list) and resources else {}
    fields = data.get("fields")
    if not isinstance(fields, list) or not all(
        isinstance(f, Mapping) and isinstance(f.get("name"), str) for f in fields
    ):
        raise ParameterError("The Table Schema must have a list of fields, each an object with a name.")
    return {field["name"]: _described(field) for field in fields}


def _described(field: Mapping[str, Any]) -> Described:
    rules, kind = field.get("constraints") or {}, str(field.get("type", "string"))
    form = field.get("format")
    categories = field.get("categories") or rules.get("enum") or ()
    values = [item.get("value") if isinstance(item, Mapping) else item for item in categories]
    length = rules.get("maxLength")
    return Described(
        type=kind,
        min=bound(rules.get("minimum"), kind),
        max=bound(rules.get("maximum"), kind),
        values=tuple(value if isinstance(value, int) else str(value) for value in values),
        nullable=not rules["required"] if isinstance(rules.get("required"), bool) else None,
        max_length=length if isinstance(length, int) else None,
        date_format=form if isinstance(form, str) and "%" in form else None,
    )
