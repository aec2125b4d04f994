"""What a release holds, as files: written, signed, read by strangers, verified. Public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.bundle.saving import load_measurements, read, write
else:
    __getattr__, __dir__ = front_door(__name__, {"saving": "load_measurements read write"})

__all__ = ["load_measurements", "read", "write"]
