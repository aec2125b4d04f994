from kernelease.analysis.agreement import Agreement as Agreement
from kernelease.analysis.comparisons.tables import MarginalErrors as MarginalErrors, marginal_errors as marginal_errors
from kernelease.analysis.comparisons.two_sample import Witness as Witness
from kernelease.analysis.estimands import parse_condition as parse_condition
from kernelease.analysis.estimate import Estimate as Estimate, Parts as Parts, Target as Target
from kernelease.analysis.evidence import Answerable as Answerable, Answers as Answers, Evidence as Evidence
from kernelease.analysis.groups import (
    EstimateTable as EstimateTable,
    Groups as Groups,
    Regression as Regression,
    RegressionGroups as RegressionGroups,
)
from kernelease.analysis.inference import PrivateTest as PrivateTest, TestResult as TestResult
from kernelease.analysis.variables import RandomVariable as RandomVariable
