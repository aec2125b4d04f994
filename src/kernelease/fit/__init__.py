"""The reduced-set problem: weighted synthetic points that match a noisy embedding. All public, all free."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
