"""What a release holds, as files: written, signed, read by strangers, verified. Public."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
