"""Which solver makes rows of measurements."""

import dataclasses

from kernelease.errors import ParameterError
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method


def solved_by(method: Method, *, components: int | None, steps: int | None, goal: float | None) -> Method:
    """The method that measured, with the solver that was asked for. Only counts are fitted by a mixture."""
    solver = MixtureSolver(components=components, steps=steps, goal=goal)
    if isinstance(method, Interactions):
        return dataclasses.replace(method, solver=solver)
    if solver != MixtureSolver():
        raise ParameterError(f"--components, --steps, --goal: {type(method).__name__} fits no mixture. Leave them out.")
    return method
