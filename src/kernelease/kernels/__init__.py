"""Kernels: how alike two rows are, with the bounds that privacy and rates rest on."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
