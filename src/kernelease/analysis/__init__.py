"""What an analyst computes from a release. Nothing here sees a private row, and everything is free."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.analysis.agreement import Agreement
    from kernelease.analysis.comparisons.tables import MarginalErrors, marginal_errors
    from kernelease.analysis.comparisons.two_sample import Witness
    from kernelease.analysis.estimands import parse_condition
    from kernelease.analysis.estimate import Estimate, Parts, Target
    from kernelease.analysis.evidence import Answerable, Answers, Evidence
    from kernelease.analysis.groups import EstimateTable, Groups, Regression, RegressionGroups
    from kernelease.analysis.inference import PrivateTest, TestResult
    from kernelease.analysis.variables import RandomVariable
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "agreement": "Agreement",
            "comparisons.tables": "MarginalErrors marginal_errors",
            "comparisons.two_sample": "Witness",
            "estimands": "parse_condition",
            "estimate": "Estimate Parts Target",
            "evidence": "Answerable Answers Evidence",
            "groups": "EstimateTable Groups Regression RegressionGroups",
            "inference": "PrivateTest TestResult",
            "variables": "RandomVariable",
        },
    )

__all__ = [
    "Agreement",
    "Answerable",
    "Answers",
    "Estimate",
    "EstimateTable",
    "Evidence",
    "Groups",
    "MarginalErrors",
    "Parts",
    "PrivateTest",
    "RandomVariable",
    "Regression",
    "RegressionGroups",
    "Target",
    "TestResult",
    "Witness",
    "marginal_errors",
    "parse_condition",
]
