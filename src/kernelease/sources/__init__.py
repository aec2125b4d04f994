"""Where private rows come from: files, databases, data frames, all as Arrow record batches of bounded size."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
