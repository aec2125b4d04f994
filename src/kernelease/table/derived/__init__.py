"""Columns that are neither read nor measured: what everybody knows about a row, from its other columns."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.table.derived.computed import Computed
    from kernelease.table.derived.derived import Derivation, Derived
    from kernelease.table.derived.determined import Determined
    from kernelease.table.derived.structure import Structure
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "computed": "Computed",
            "derived": "Derivation Derived",
            "determined": "Determined",
            "structure": "Structure",
        },
    )

__all__ = [
    "Computed",
    "Derivation",
    "Derived",
    "Determined",
    "Structure",
]
