"""A release, and all that can be asked of it: questions, comparisons, rows, replicates. Public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.answers.comparisons import Comparisons
    from kernelease.answers.forms import Forms
    from kernelease.answers.habits import Description
    from kernelease.answers.questions import Questions
    from kernelease.answers.release import Release
    from kernelease.answers.replicates import Samples
    from kernelease.answers.supervised import Supervised
    from kernelease.answers.vectors import VectorEstimate, Vectors
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "comparisons": "Comparisons",
            "forms": "Forms",
            "habits": "Description",
            "questions": "Questions",
            "release": "Release",
            "replicates": "Samples",
            "supervised": "Supervised",
            "vectors": "VectorEstimate Vectors",
        },
    )

__all__ = [
    "Comparisons",
    "Description",
    "Forms",
    "Questions",
    "Release",
    "Samples",
    "Supervised",
    "VectorEstimate",
    "Vectors",
]
