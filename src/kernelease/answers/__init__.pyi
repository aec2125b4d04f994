from kernelease.answers.comparisons import Comparisons as Comparisons
from kernelease.answers.forms import Forms as Forms, Supervised as Supervised
from kernelease.answers.habits import Description as Description
from kernelease.answers.modelled import ModelQuestions as ModelQuestions
from kernelease.answers.questions import Questions as Questions
from kernelease.answers.release import Release as Release
from kernelease.answers.replicates import Replicates as Replicates, Samples as Samples
from kernelease.answers.vectors import (
    Clusters as Clusters,
    PrincipalAxes as PrincipalAxes,
    RatioEstimate as RatioEstimate,
    VectorEstimate as VectorEstimate,
    Vectors as Vectors,
)
