"""The methods: strategies over the same few parts."""

from kernelease.fit.points.source import PublishedRows
from kernelease.methods.adaptive.adaptive import Adaptive
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Context, Method
from kernelease.methods.random_features import RandomFeatures
from kernelease.methods.small_database import SmallDatabase
from kernelease.methods.subspace import Subspace

__all__ = [
    "Adaptive",
    "Context",
    "Interactions",
    "Method",
    "PublishedRows",
    "RandomFeatures",
    "SmallDatabase",
    "Subspace",
]
