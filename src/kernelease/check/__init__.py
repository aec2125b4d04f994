"""The owner's private look at a table before any budget is spent. What it says is not for publication."""

from kernelease.check.finding import PRIVATE, Finding, Level
from kernelease.check.inspection import check
from kernelease.check.report import Report

__all__ = ["PRIVATE", "Finding", "Level", "Report", "check"]
