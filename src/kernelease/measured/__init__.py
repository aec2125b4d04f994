"""What has been paid for: noisy numbers, each of which saves, checks and describes itself. All public."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
