from kernelease.table.columns.column import Codes as Codes, Column as Column
from kernelease.table.columns.listed import (
    Boolean as Boolean,
    Category as Category,
    Hierarchy as Hierarchy,
    Ordinal as Ordinal,
    String as String,
)
from kernelease.table.columns.numbers import Integer as Integer, Number as Number
from kernelease.table.columns.temporal import Date as Date, Datetime as Datetime
from kernelease.table.derived import Computed as Computed, Derived as Derived, Determined as Determined
from kernelease.table.domains import Decoder as Decoder
from kernelease.table.draft import draft_from_public as draft_from_public
from kernelease.table.jsonschema import json_schema as json_schema
from kernelease.table.schema import Rule as Rule, Schema as Schema
from kernelease.table.written import Records as Records
