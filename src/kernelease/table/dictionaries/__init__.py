"""Code books: what the documentation of a table says about its columns."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.table.dictionaries.described import Described
    from kernelease.table.dictionaries.reading import read_dictionary
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "described": "Described",
            "reading": "read_dictionary",
        },
    )

__all__ = [
    "Described",
    "read_dictionary",
]
