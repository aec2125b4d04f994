"""Tables: declared domains, and the way from rows to atoms and back."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.table.columns.column import Codes, Column
    from kernelease.table.columns.listed import Boolean, Category, Hierarchy, Ordinal, String
    from kernelease.table.columns.numeric import Integer, Number
    from kernelease.table.columns.temporal import Date, Datetime
    from kernelease.table.derived.computed import Computed
    from kernelease.table.derived.derived import Derived
    from kernelease.table.derived.determined import Determined
    from kernelease.table.draft import draft_from_public
    from kernelease.table.encode import Encoder, UnitCap
    from kernelease.table.jsonschema import json_schema
    from kernelease.table.rows import Decoder
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
            "derived.computed": "Computed",
            "derived.derived": "Derived",
            "derived.determined": "Determined",
            "draft": "draft_from_public",
            "encode": "Encoder UnitCap",
            "jsonschema": "json_schema",
            "rows": "Decoder",
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
    "Encoder",
    "Hierarchy",
    "Integer",
    "Number",
    "Ordinal",
    "Records",
    "Rule",
    "Schema",
    "String",
    "UnitCap",
    "draft_from_public",
    "json_schema",
]
