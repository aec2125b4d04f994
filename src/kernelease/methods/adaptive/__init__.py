"""Vectors: a private first look, then a subspace around what it showed."""

from kernelease.methods.adaptive.adaptive import Adaptive

__all__ = ["Adaptive"]
