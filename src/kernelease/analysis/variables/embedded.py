"""The mean embedding of a variable."""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from kernelease.analysis.variables.reduction import Reduction
from kernelease.analysis.variables.values import as_matrix
from kernelease.arrays import Floats
from kernelease.fit.solution import SyntheticSet
from kernelease.kernels import Kernel


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Σ w k(z, ·): weighted values, their kernel, and what the reduction to them cost."""

    synthetic: SyntheticSet
    kernel: Kernel
    reductions: tuple[Reduction, ...]

    def at(self, points: Any) -> Floats:
        """⟨μ, k(x, ·)⟩ at points (n, d): (n,)."""
        rows = as_matrix(np.asarray(points, dtype=np.float64))
        return self.kernel.gram(rows, self.synthetic.points) @ self.synthetic.weights

    def distance(self, other: "Embedded") -> float:
        """‖μ − ν‖ in the space of this one's kernel: the MMD of two variables."""
        one, two = self.synthetic, other.synthetic
        squared = one.weights @ self.kernel.gram(one.points, one.points) @ one.weights
        squared -= 2.0 * one.weights @ self.kernel.gram(one.points, two.points) @ two.weights
        squared += two.weights @ self.kernel.gram(two.points, two.points) @ two.weights
        return math.sqrt(max(0.0, float(squared)))
