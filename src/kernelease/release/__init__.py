"""Releases, their certificates and bundles. Public."""

from kernelease.release.bundle import load, load_measurements, save
from kernelease.release.certificate import Certificate
from kernelease.release.measurements import Measurements
from kernelease.release.release import Release

__all__ = ["Certificate", "Measurements", "Release", "load", "load_measurements", "save"]
