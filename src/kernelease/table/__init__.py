"""Tables: declared domains, and the way from rows to atoms and back."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.table.columns.column import Codes, Column
    from kernelease.table.columns.listed import Boolean, Category, Hierarchy, Ordinal, String
    from kernelease.table.columns.numeric import Integer, Number
    from kernelease.table.columns.temporal import Date, Datetime
    from kernelease.table.derived import Computed, Derived, Determined
    from kernelease.table.domains import Decoder
    from kernelease.table.draft import draft_from_public
    from kernelease.table.jsonschema import json_schema
    from kernelease.table.schema import Rule, Schema
    from kernelease.table.written import Records
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "columns.column": "Codes Column",
            "columns.listed": "Boolean Category Hierarchy Ordinal String",
            "columns.numeric": "Integer Number",
            "columns.temporal": "Date Datetime",
            "domains": "Decoder",
            "derived": "Computed Derived Determined",
            "draft": "draft_from_public",
            "jsonschema": "json_schema",
            "schema": "Rule Schema",
            "written": "Records",
        },
    )

__all__ = [
    "Boolean",
    "Category",
    "Codes",
    "Column",
    "Computed",
    "Date",
    "Datetime",
    "Decoder",
    "Derived",
    "Determined",
    "Hierarchy",
    "Integer",
    "Number",
    "Ordinal",
    "Records",
    "Rule",
    "Schema",
    "String",
    "draft_from_public",
    "json_schema",
]
