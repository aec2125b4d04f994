"""Tables: declared domains, and the way from rows to atoms and back."""

from kernelease.table.columns import (
    Boolean,
    Category,
    Codes,
    Column,
    Date,
    Datetime,
    Hierarchy,
    Integer,
    Number,
    Ordinal,
    String,
)
from kernelease.table.derived import Computed, Derived, Determined
from kernelease.table.draft import draft, draft_from_public
from kernelease.table.encode import Encoder
from kernelease.table.jsonschema import json_schema
from kernelease.table.records import Records
from kernelease.table.rows import Decoder
from kernelease.table.schema import Rule, Schema
from kernelease.table.units import UnitCap

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
    "draft",
    "draft_from_public",
    "json_schema",
]
