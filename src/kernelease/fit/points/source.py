"""Where synthetic points come from before anything is known: public rows, or a law that the owner declares."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Rows, as_rows
from kernelease.errors import ParameterError
from kernelease.kernels.parameters import check_integer
from kernelease.kinds import Kind


class PointSource(Kind, ABC):
    """A public source of candidate points. It must not be made from private rows."""

    @abstractmethod
    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        """At most `count` points: (m, d). A source that has fewer gives all it has."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """d: number of columns."""

    @property
    def published(self) -> int:
        """How many rows of the private table these are, if any: they then have no guarantee."""
        return 0


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NormalPoints(PointSource):
    """Points from N(mean, scale²) in each of d columns: the paper's q. Its spread must cover where rows can be.

    >>> NormalPoints(dimension=2, scale=500.0).draw(3, np.random.default_rng(0)).shape
    (3, 2)
    """

    dimension: int
    mean: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.dimension < 1 or not 0.0 < self.scale < np.inf or not np.isfinite(self.mean):
            raise ParameterError(
                f"NormalPoints: needs at least one column, a finite mean and a positive scale, "
                f"got {self.dimension!r}, {self.mean!r} and {self.scale!r}."
            )

    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        """Independent draws."""
        return generator.normal(self.mean, self.scale, size=(count, self.dimension))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UniformPoints(PointSource):
    """Points from a declared box low ≤ x ≤ high."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high) or not self.low:
            raise ParameterError(
                f"UniformPoints: low and high need a number per column each, got {len(self.low)} and {len(self.high)}."
            )
        for column, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if not -np.inf < low < high < np.inf:
                raise ParameterError(
                    f"UniformPoints: column {column} must have finite bounds with low < high, got {low!r} and {high!r}."
                )

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.low)

    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        """Independent draws."""
        return generator.uniform(self.low, self.high, size=(count, self.dimension))


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PublicPoints(PointSource):
    """Given public rows, in their order.

    By default they are auxiliary knowledge (`--public FILE`), and every private row stays protected. `published` says
    that so many rows of the private table itself are out already (`--published-rows FILE`), these among them: they have
    no guarantee, and which they are must not depend on private values.
    """

    points: Rows
    published: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", as_rows(self.points))
        if len(self.points) == 0:
            raise ParameterError("PublicPoints: needs at least one public row, got none.")
        if self.published < 0:
            raise ParameterError(f"PublicPoints: published must be at least 0, got {self.published!r}.")

    def __repr__(self) -> str:
        return f"PublicPoints({len(self.points)} rows)"

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return int(self.points.shape[1])

    def draw(self, count: int, generator: np.random.Generator) -> Rows:
        """The first `count` of them."""
        return self.points[:count]


@final
@dataclass(frozen=True, slots=True)
class PublishedRows(Kind):
    """The first `count` rows of the private table are public already (the paper's publishable subset).

    Neighbouring tables then differ in the *other* rows only: the published ones have no guarantee, and the certificate
    says so. Which rows are published must not depend on private values.
    """

    count: int

    def __post_init__(self) -> None:
        check_integer("PublishedRows: count", self.count, 1, 2**62)

    @property
    def published(self) -> int:
        """How many rows have no guarantee."""
        return self.count
