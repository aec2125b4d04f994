"""Tables: declared domains, and the way from rows to atoms and back."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
