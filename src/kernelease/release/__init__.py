"""Releases, their certificates and bundles. Public."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.release.bundle import load, load_measurements, save
    from kernelease.release.certificate import Certificate, Measurements
    from kernelease.release.questions import Questions
    from kernelease.release.release import Release
    from kernelease.release.replicates import Samples
    from kernelease.release.supervised import Supervised
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "bundle": "load load_measurements save",
            "certificate": "Certificate Measurements",
            "questions": "Questions",
            "release": "Release",
            "replicates": "Samples",
            "supervised": "Supervised",
        },
    )

__all__ = [
    "Certificate",
    "Measurements",
    "Questions",
    "Release",
    "Samples",
    "Supervised",
    "load",
    "load_measurements",
    "save",
]
