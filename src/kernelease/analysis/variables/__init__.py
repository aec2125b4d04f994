"""Random variables: functions of released columns, as weighted sets of values."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.analysis.variables.origin import Origin, Reduction
    from kernelease.analysis.variables.variable import RandomVariable
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "origin": "Origin Reduction",
            "variable": "RandomVariable",
        },
    )

__all__ = [
    "Origin",
    "RandomVariable",
    "Reduction",
]
