"""What a feature map is: rows to integer vectors of known norm and diameter."""

from abc import ABC, abstractmethod

from kernelease.arrays import BigIntegers, Floats, Integers, Rows
from kernelease.kinds import Kind


class FeatureMap(Kind, ABC):
    """φ: a row to a vector whose norm and diameter are known before any row is seen.

    On the private side a row becomes *integers* that depend on that row alone (`integers`), integers are summed
    exactly, and a public function of that sum (`project`, usually the identity) is what a mechanism adds noise to:
    one unit of it is `step` in feature units. On the public side `evaluate` gives φ of synthetic points as floats.

    The bounds belong to the map itself, never to the kernel that it approximates, and hold for every input whatever:
    NaN, infinities, unknown categories.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of coordinates that are released (J)."""

    @property
    def width(self) -> int:
        """Number of integers that a row contributes; differs from `dimension` only where `project` does something."""
        return self.dimension

    @property
    @abstractmethod
    def step(self) -> float:
        """What one unit of `project`'s result is worth in feature units."""

    @property
    @abstractmethod
    def norm_bound(self) -> float:
        """R ≥ sup ‖φ(x)‖, rounding included."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """≥ sup ‖φ(x) − φ(x′)‖, rounding included."""

    @property
    @abstractmethod
    def diameter_l1(self) -> float:
        """≥ sup ‖φ(x) − φ(x′)‖₁, rounding included."""

    @property
    @abstractmethod
    def norm_bound_l1(self) -> float:
        """≥ sup ‖φ(x)‖₁, rounding included."""

    @property
    def block_rows(self) -> int:
        """How many rows to handle at once: about 32 MiB of integers. Changes no bit of the result."""
        return max(16, min(2**16, 2**22 // self.width))

    @abstractmethod
    def integers(self, rows: Rows) -> Integers:
        """A row's integers, a function of that row alone: (n, d) → (n, width). Each is below 2⁴⁶ in size."""

    def total(self, rows: Rows) -> Integers:
        """Sum of `integers` over at most `block_rows` rows: (n, d) → (width,). Override where a sum is quicker."""
        total: Integers = self.integers(rows).sum(axis=0)
        return total

    def project(self, total: BigIntegers) -> BigIntegers:
        """The released coordinates of an exact sum, in units of `step`: (width,) → (dimension,). Public and fixed."""
        return total

    @abstractmethod
    def evaluate(self, points: Rows) -> Floats:
        """φ of synthetic points, in floats: (m, d) → (m, J)."""
