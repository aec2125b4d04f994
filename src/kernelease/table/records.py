"""What one record of a CSV file is."""

from enum import StrEnum, unique


@unique
class Records(StrEnum):
    """Where a record of a CSV file ends: a declared choice, since the guarantee is for one record.

    `QUOTED` is RFC 4180: at a newline that stands outside double quotes. `LINES` is at every newline, whatever is
    quoted; the guarantee is then for each line of the file, and one person's comment of five lines is five of them.
    """

    QUOTED = "quoted"
    LINES = "lines"
