"""A release as files: written, signed, opened by strangers, verified. Public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.bundle.saving import load, load_measurements, save
else:
    __getattr__, __dir__ = front_door(__name__, {"saving": "load load_measurements save"})

__all__ = ["load", "load_measurements", "save"]
