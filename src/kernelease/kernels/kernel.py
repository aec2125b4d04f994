"""What a kernel is, and the bounds that it carries."""

from abc import ABC, abstractmethod

import numpy as np

from kernelease.arrays import Floats, Rows
from kernelease.kinds import Kind


class Kernel(Kind, ABC):
    """A positive-definite function k(x, y) on rows, with the bounds that privacy and rates rest on.

    Every evaluation is elementwise and in a fixed order over columns: k(x, y) depends on x and y alone, to the bit,
    whatever other rows are in the same array.
    """

    @property
    @abstractmethod
    def bound(self) -> float:
        """sup k(x, x). The norm of k(x, ·) is at most its square root."""

    @property
    @abstractmethod
    def nonnegative(self) -> bool:
        """Whether k(x, y) ≥ 0 for all x and y: two rows are then at most √(2·bound) apart, not 2·√bound."""

    @property
    @abstractmethod
    def lipschitz(self) -> float | None:
        """L with |k(x, y) − k(x′, y)| ≤ L·‖x − x′‖ for all x, x′, y, or None where there is none."""

    @abstractmethod
    def evaluation_error(self, columns: int) -> float:
        """sup |computed k(x, y) − exact k(x, y)| for rows of so many columns that `admit` returned."""

    @abstractmethod
    def admit(self, rows: Rows) -> Rows:
        """Rows made legal for this kernel, cell by cell: clamped, damaged cells replaced. Never raises for a value."""

    @abstractmethod
    def gram(self, x: Rows, y: Rows) -> Floats:
        """K[i, j] = k(x[i], y[j]): (n, d), (m, d) → (n, m)."""

    def diagonal(self, x: Rows) -> Floats:
        """k(x[i], x[i]): (n, d) → (n,)."""
        return np.array([self.gram(x[i : i + 1], x[i : i + 1])[0, 0] for i in range(len(x))])

    @property
    def diameter(self) -> float:
        """sup ‖k(x, ·) − k(x′, ·)‖ in the kernel's own space."""
        return float(np.sqrt((2.0 if self.nonnegative else 4.0) * self.bound))
