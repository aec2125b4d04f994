"""What an analyst computes from a release. Nothing here sees a private row, and everything is free."""

from kernelease.analysis.conditions import Condition, parse_condition
from kernelease.analysis.marginals import MarginalErrors, marginal_errors
from kernelease.analysis.query import Crosstab, Group, WeightedRows, count, crosstab, mean, probability

__all__ = [
    "Condition",
    "Crosstab",
    "Group",
    "MarginalErrors",
    "WeightedRows",
    "count",
    "crosstab",
    "marginal_errors",
    "mean",
    "parse_condition",
    "probability",
]
