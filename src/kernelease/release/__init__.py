"""Releases, their certificates and bundles. Public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.release.bundle import load, load_measurements, save
    from kernelease.release.certificate import Certificate, Measurements
    from kernelease.release.release import Release
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "bundle": "load load_measurements save",
            "certificate": "Certificate Measurements",
            "release": "Release",
        },
    )

__all__ = [
    "Certificate",
    "Measurements",
    "Release",
    "load",
    "load_measurements",
    "save",
]
