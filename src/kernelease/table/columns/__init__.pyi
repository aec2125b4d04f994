from kernelease.table.columns.cells import Celled as Celled, Stepped as Stepped
from kernelease.table.columns.column import MOST_ATOMS as MOST_ATOMS, Codes as Codes, Column as Column
from kernelease.table.columns.listed import (
    OTHER_LABEL as OTHER_LABEL,
    Boolean as Boolean,
    Category as Category,
    Hierarchy as Hierarchy,
    Listed as Listed,
    Ordinal as Ordinal,
    String as String,
)
from kernelease.table.columns.numbers import Integer as Integer, Number as Number
from kernelease.table.columns.registry import (
    COLUMN_TYPES as COLUMN_TYPES,
    FILL_IN as FILL_IN,
    column_from_dict as column_from_dict,
    column_keys as column_keys,
    column_to_dict as column_to_dict,
    required_keys as required_keys,
)
from kernelease.table.columns.temporal import Date as Date, Datetime as Datetime
