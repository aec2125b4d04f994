"""Where the error of an estimate comes from, so that two of one release are combined with their covariance."""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from kernelease.arrays import Floats

SAMPLED = "rows"  # the errors of who happened to be in the table; all others are privacy noise
Weights: TypeAlias = Mapping[tuple[str, Hashable], Floats]


class Source(ABC):
    """An error to first order, as a weighted sum of independent errors of variance 1.

    `weights` has an array for each set of such errors: a block of a release, by the release's fingerprint and the
    block's place, or the rows of its table. Two estimates have the covariance Σ w·v over the sets that they share.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def laplace(self) -> bool:
        """Whether some of the errors are Laplace noise."""

    @abstractmethod
    def weights(self) -> Weights:
        """The weight of each error."""

    def functions(self) -> Sequence[tuple[object, Floats]]:
        """The same as sums of functions of the cells of marginals, as far as it comes from these."""
        return ()


@final
@dataclass(frozen=True, slots=True)
class CombinedSource(Source):
    """Σ gradient·source."""

    terms: tuple[tuple[float, Source], ...]

    @property
    def laplace(self) -> bool:
        return any(source.laplace for _, source in self.terms)

    def functions(self) -> Sequence[tuple[object, Floats]]:
        every = [(gradient, one) for gradient, source in self.terms for one in source.functions()]
        return [(marginal, gradient * function) for gradient, (marginal, function) in every]

    def weights(self) -> Weights:
        total: dict[tuple[str, Hashable], Floats] = {}
        for gradient, source in self.terms:
            for key, weight in source.weights().items():
                total[key] = total[key] + gradient * weight if key in total else gradient * weight
        return total


def covariance(one: Weights, other: Weights) -> float:
    """Of two errors; sets of errors that only one of them has are independent of the other."""
    return sum(float(one[key] @ other[key]) for key in one.keys() & other.keys())


def deviations(weights: Weights) -> tuple[float, float]:
    """The standard deviations by noise and by sampling."""
    squares = [0.0, 0.0]
    for (_, part), weight in weights.items():
        squares[part == SAMPLED] += float(weight @ weight)
    return math.sqrt(squares[0]), math.sqrt(squares[1])


def correlation_of(first: Source | None, second: Source | None) -> float | None:
    """Of the errors of two estimates; None where one does not know where its error comes from."""
    if first is None or second is None:
        return None
    one, other = first.weights(), second.weights()
    if any(len(one[key]) != len(other[key]) for key in one.keys() & other.keys()):
        return None  # other synthetic rows of the same table: how their samplings go together is not known
    spread = math.sqrt(covariance(one, one) * covariance(other, other))
    return min(max(covariance(one, other) / spread, -1.0), 1.0) if spread > 0.0 else 0.0


def combined(terms: Sequence[tuple[float, Source | None]]) -> Source | None:
    """Σ gradient·source; None where one of them is not known."""
    known = [(gradient, source) for gradient, source in terms if source is not None]
    return CombinedSource(tuple(known)) if len(known) == len(terms) else None
