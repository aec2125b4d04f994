"""What an analyst computes from a release. Nothing here sees a private row, and everything is free."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
