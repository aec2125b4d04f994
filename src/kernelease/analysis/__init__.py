"""What an analyst computes from a release. Nothing here sees a private row, and everything is free."""

from kernelease.analysis.coefficients import Regression
from kernelease.analysis.comparisons.contingency import MarginalErrors, marginal_errors
from kernelease.analysis.conditions import parse_condition
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.evidence import Answers, Evidence
from kernelease.analysis.groups import EstimateTable, Groups
from kernelease.table.expressions import Condition

__all__ = [
    "Answers",
    "Condition",
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
