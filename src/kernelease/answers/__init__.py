"""A release, and all that can be asked of it: questions, comparisons, rows, replicates. Public."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
