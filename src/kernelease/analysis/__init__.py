"""What an analyst computes from a release. Nothing here sees a private row, and everything is free."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.analysis.comparisons.tables import MarginalErrors, marginal_errors
    from kernelease.analysis.conditions import parse_condition
    from kernelease.analysis.estimate import Estimate, Parts, Target
    from kernelease.analysis.evidence import Answers, Evidence
    from kernelease.analysis.groups import EstimateTable, Groups, Regression
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "comparisons.tables": "MarginalErrors marginal_errors",
            "conditions": "parse_condition",
            "estimate": "Estimate Parts Target",
            "evidence": "Answers Evidence",
            "groups": "EstimateTable Groups Regression",
        },
    )

__all__ = [
    "Answers",
    "Estimate",
    "EstimateTable",
    "Evidence",
    "Groups",
    "MarginalErrors",
    "Parts",
    "Regression",
    "Target",
    "marginal_errors",
    "parse_condition",
]
