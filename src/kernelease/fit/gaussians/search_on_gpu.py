"""The search for Gaussians on a GPU: likelihoods whose arrays live there, and whose answers come back.

What a search computes is public, so that nothing but time hangs on where. Sums are taken in another order than on the
processor: Gaussians are the same but for rounding, which a long search may turn into others as good.
"""

import copy
import dataclasses
from typing import Any, final

import numpy as np

from kernelease.arrays import Floats, Rows
from kernelease.cuda import cupy, translate_failures
from kernelease.errors import ParameterError
from kernelease.fit.gaussians.likelihood import FourierLikelihood, Likelihood, Slopes, SubspaceLikelihood
from kernelease.measured.embeddings import Gaussians

_CELLS = 2**24  # values at a time. limit: 128 MiB; fewer would leave most of a GPU idle


@final
class LikelihoodOnGpu(Likelihood):
    """A likelihood of which a copy lives on the GPU: Gaussians and residuals go there, features and sums come back."""

    __slots__ = ("_there", "target")

    def __init__(self, here: Likelihood) -> None:
        if not isinstance(here, FourierLikelihood | SubspaceLikelihood):
            raise ParameterError(f"A search on a GPU has no program for a {type(here).__name__}.")
        self.target = here.target
        with translate_failures():
            self._there = _copy_there(here)

    def features(self, centres: Floats, widths: Floats) -> Floats:
        answer: Floats = self._ask("features", centres, widths)
        return answer

    def slopes(self, centres: Floats, widths: Floats) -> Slopes:
        answer: Slopes = self._ask("slopes", centres, widths)
        return answer

    def residual(self, gaussians: Gaussians) -> Floats:
        answer: Floats = self._ask("residual", gaussians)
        return answer

    def linearise(self, centres: Floats, widths: Floats, residual: Floats) -> tuple[Floats, Floats]:
        answer: tuple[Floats, Floats] = self._ask("linearise", centres, widths, residual)
        return answer

    def witness(self, points: Rows, residual: Floats, width: float) -> tuple[Floats, Floats]:
        answer: tuple[Floats, Floats] = self._ask("witness", points, residual, width)
        return answer

    def heights(self, points: Rows, residual: Floats, width: float) -> Floats:
        answer: Floats = self._ask("heights", points, residual, width)
        return answer

    def _ask(self, question: str, *arguments: Any) -> Any:
        with translate_failures():
            return _fetch(getattr(self._there, question)(*map(_send, arguments)))


def _copy_there(here: Any) -> Any:
    """A likelihood whose arrays are on the GPU, with its sketch, in blocks as large as are quick there."""
    there = copy.copy(here)
    for field in dataclasses.fields(here):
        value = getattr(here, field.name)
        if isinstance(value, np.ndarray):
            object.__setattr__(there, field.name, cupy().asarray(value))
        elif isinstance(value, Likelihood):
            object.__setattr__(there, field.name, _copy_there(value))
    object.__setattr__(there, "cells", _CELLS)
    if isinstance(there, SubspaceLikelihood):
        object.__setattr__(there, "triangular", False)  # LAPACK's products of triangles are the processor's
    return there


def _send(value: Any) -> Any:
    """To the GPU: arrays, and Gaussians as theirs."""
    if isinstance(value, np.ndarray):
        return cupy().asarray(value)
    return _with_arrays(_send, value) if isinstance(value, Gaussians) else value


def _fetch(value: Any) -> Any:
    """From the GPU: arrays, and whatever holds them."""
    if isinstance(value, tuple):
        return tuple(map(_fetch, value))
    return _with_arrays(_fetch, value) if isinstance(value, Slopes) else cupy().asnumpy(value)


def _with_arrays(function: Any, whole: Any) -> Any:
    """The same with other arrays, of which nothing is checked: they are those that it has."""
    other = copy.copy(whole)
    for field in dataclasses.fields(whole):
        object.__setattr__(other, field.name, function(getattr(whole, field.name)))
    return other
