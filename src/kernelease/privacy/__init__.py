"""The privacy barrier, with `exact`: all that decides whether a release is private. docs/for-auditors.md leads on."""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
