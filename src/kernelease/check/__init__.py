"""The owner's private look at a table before any budget is spent. What it says is not for publication."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.check.finding import PRIVATE, Finding, Level
    from kernelease.check.inspection import check
    from kernelease.check.report import Report
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "finding": "Finding Level PRIVATE",
            "inspection": "check",
            "report": "Report",
        },
    )

__all__ = [
    "PRIVATE",
    "Finding",
    "Level",
    "Report",
    "check",
]
