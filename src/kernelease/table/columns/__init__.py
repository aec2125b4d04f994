"""Columns of every type: declared domains, as finite lists of atoms."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
