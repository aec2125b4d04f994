"""Columns of every type: declared domains, as finite lists of atoms."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.table.columns.cells import Celled, Stepped
    from kernelease.table.columns.column import MOST_ATOMS, Codes, Column
    from kernelease.table.columns.listed import OTHER_LABEL, Boolean, Category, Hierarchy, Listed, Ordinal, String
    from kernelease.table.columns.numeric import Integer, Number
    from kernelease.table.columns.registry import (
        COLUMN_TYPES,
        FILL_IN,
        column_from_dict,
        column_keys,
        column_to_dict,
        required_keys,
    )
    from kernelease.table.columns.temporal import Date, Datetime
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "cells": "Celled Stepped",
            "column": "Codes Column MOST_ATOMS",
            "listed": "Boolean Category Hierarchy Listed OTHER_LABEL Ordinal String",
            "numeric": "Integer Number",
            "registry": "COLUMN_TYPES FILL_IN column_from_dict column_keys column_to_dict required_keys",
            "temporal": "Date Datetime",
        },
    )

__all__ = ["Boolean", "Category", "Date", "Datetime", "Hierarchy", "Integer", "Number", "Ordinal", "String"]
__all__ += ["MOST_ATOMS", "OTHER_LABEL", "Celled", "Codes", "Column", "Listed", "Stepped"]
__all__ += ["COLUMN_TYPES", "FILL_IN", "column_from_dict", "column_keys", "column_to_dict", "required_keys"]
