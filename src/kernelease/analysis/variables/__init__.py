"""Random variables: functions of released columns, as weighted sets of values."""

from kernelease.analysis.variables.origin import Origin, Reduction
from kernelease.analysis.variables.variable import RandomVariable

__all__ = ["Origin", "RandomVariable", "Reduction"]
