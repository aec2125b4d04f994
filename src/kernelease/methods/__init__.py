"""The methods: strategies over the same few parts."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
