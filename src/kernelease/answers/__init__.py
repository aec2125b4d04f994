"""A release, and all that can be asked of it: questions, comparisons, rows, replicates. Public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.answers.comparisons import Comparisons
    from kernelease.answers.forms import Forms, Supervised
    from kernelease.answers.habits import Description
    from kernelease.answers.modelled import ModelQuestions
    from kernelease.answers.questions import Questions
    from kernelease.answers.release import Release
    from kernelease.answers.replicates import Replicates, Samples
    from kernelease.answers.vectors import Clusters, PrincipalAxes, RatioEstimate, VectorEstimate, Vectors
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "comparisons": "Comparisons",
            "forms": "Forms Supervised",
            "habits": "Description",
            "modelled": "ModelQuestions",
            "questions": "Questions",
            "release": "Release",
            "replicates": "Replicates Samples",
            "vectors": "Clusters PrincipalAxes RatioEstimate VectorEstimate Vectors",
        },
    )

__all__ = [
    "Clusters",
    "Comparisons",
    "Description",
    "Forms",
    "ModelQuestions",
    "PrincipalAxes",
    "Questions",
    "RatioEstimate",
    "Release",
    "Replicates",
    "Samples",
    "Supervised",
    "VectorEstimate",
    "Vectors",
]
