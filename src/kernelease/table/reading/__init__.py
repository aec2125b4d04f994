"""Arrow arrays of any type as plain numbers, instants or bytes: one rule per cell, and no exception for any value."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.table.reading.arrow import as_bytes, dense, is_text, text_of_dates, through_distinct
    from kernelease.table.reading.instants import DAY, MICROSECOND, is_instant, parse_instant, read_instants
    from kernelease.table.reading.numbers import NUMBER, is_number, parse_number, read_numbers
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "arrow": "as_bytes dense is_text text_of_dates through_distinct",
            "instants": "DAY MICROSECOND is_instant parse_instant read_instants",
            "numbers": "NUMBER is_number parse_number read_numbers",
        },
    )

__all__ = [
    "DAY",
    "MICROSECOND",
    "NUMBER",
    "as_bytes",
    "dense",
    "is_instant",
    "is_number",
    "is_text",
    "parse_instant",
    "parse_number",
    "read_instants",
    "read_numbers",
    "text_of_dates",
    "through_distinct",
]
