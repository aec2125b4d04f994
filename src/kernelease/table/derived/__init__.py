"""Columns that are neither read nor measured: what everybody knows about a row, from its other columns."""

from kernelease.table.derived.computed import Computed
from kernelease.table.derived.derived import Derivation, Derived
from kernelease.table.derived.determined import Determined
from kernelease.table.derived.structure import Structure

__all__ = ["Computed", "Derivation", "Derived", "Determined", "Structure"]
