"""How numbers go together: sums over rows of their products, and rows that are brought as near to each other."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError
from kernelease.measured.blocks import LARGEST_SUM, RowSums
from kernelease.measured.sums import CodedRows, Look, Mixed, Program, Whole
from kernelease.privacy.sensitivity import Neighbours, Sensitivity, row_sensitivity

MOST_SPREAD = 12  # limit: numbers of a spread: with more, no table here is large enough for its noise


@final
@dataclass(frozen=True, kw_only=True)
class Spread(RowSums):
    """How numbers go together: Σ q_i q_j over rows, i ≤ j, of q = (one, Σ_k scores[k][a_k]·mixing[k]).

    a_k is a row's atom in column k. Rows with Σ q_i² above `limit` add nothing: NULL has a score that sees to that.
    All of it is public. Whatever scores and mixing say, no row adds more than `limit`: sensitivity needs nothing else.
    """

    scores: tuple[Integers, ...]  # (atoms,) each
    mixing: Integers  # (columns, columns)
    one: int
    limit: int

    most_columns: ClassVar[int] = MOST_SPREAD
    moves_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        width = len(self.columns)
        if len(self.scores) != width or self.mixing.shape != (width, width) or any(s.ndim != 1 for s in self.scores):
            raise ParameterError("Spread: needs a score for each atom of each column, and a square mixing of them.")
        if not 1 <= self.one**2 <= self.limit <= LARGEST_SUM:
            raise ParameterError(
                f"Spread: needs 1 ≤ one² ≤ limit ≤ {LARGEST_SUM}, got {self.one!r} and {self.limit!r}."
            )
        RowSums.__post_init__(self)

    @property
    def width(self) -> int:
        """Numbers of q."""
        return len(self.columns) + 1

    @property
    def whole(self) -> int:
        """The most that a row can add to a sum, either way."""
        return self.limit

    @cached_property
    def _vector(self) -> tuple[list[Whole], Whole]:
        """q without its first number, no farther than beyond the limit, and whether a row is within it."""
        looks = tuple([Look(column=c, values=own) for c, own in zip(self.columns, self.scores, strict=True)])
        mixed = (Mixed(parts=looks, weights=tuple(own)) for own in self.mixing.T.tolist())
        q = [one.clamp(math.isqrt(self.limit) + 1) for one in mixed]
        squares = Mixed(parts=tuple([one * one for one in q]), weights=(1,) * len(q))
        return q, squares.at_most(self.limit - self.one**2)

    @cached_property
    def addends(self) -> tuple[Whole, ...]:
        """All products, row by row of the triangle, of a row that is within the limit. Each number is, too."""
        q, inside = self._vector
        kept = [one.clamp(math.isqrt(self.limit)) for one in q]
        first = [inside * self.one**2, *(one * inside * self.one for one in kept)]
        return (*first, *(a * b * inside for a, b in itertools.combinations_with_replacement(kept, 2)))

    def sensitivity(self, neighbours: Neighbours, unit: int) -> Sensitivity:
        """A row adds all products of a vector q with ‖q‖² ≤ limit: at most ‖q‖² in L2, (‖q‖₁² + ‖q‖²)/2 in L1.

        Two such vectors of products have an inner product of at least 0.
        """
        return row_sensitivity(neighbours, l1=(self.width + 1) / 2.0, apart=math.sqrt(2.0), unit=self.limit * unit)

    def vectors(self, atoms: Sequence[NDArray[Any]]) -> tuple[Integers, NDArray[np.bool_]]:
        """q of each row without its first number, and whether it is within the limit.

        `atoms` are those of each of the columns, (n,): (n, columns), (n,).
        """
        q, inside = self._vector
        program = Program.of([*q, inside])
        found = program.numbers(CodedRows(dict(zip(self.columns, atoms, strict=True)), {}))
        *numbers, within = (found[place] for place in program.wanted)
        return np.stack(numbers, axis=1), within.astype(bool)

    def moments(self, values: Floats, sigma: float) -> "SpreadMoments | None":
        """What noisy sums say, each with noise σ in rows; None where they say that there are no rows."""
        table = np.zeros((self.width, self.width))
        table[np.triu_indices(self.width)] = values.ravel() * (self.limit / self.one**2)
        table += np.triu(table, 1).T
        rows = float(table[0, 0])
        if not rows > 0.0:
            return None
        mean = table[0, 1:] / rows
        return SpreadMoments(
            mean=mean,
            covariance=table[1:, 1:] / rows - np.outer(mean, mean),
            noise=sigma * self.limit / self.one**2 / rows,
        )

    def mover(
        self, values: Floats, sigma: float, rows: float, columns: tuple[int | None, ...], atoms: tuple[Integers, ...]
    ) -> "RowSpread | None":
        """What brings rows as near to each other; None where no row was seen, or a column has no place of its own."""
        found, places = self.moments(values, sigma), tuple([column for column in columns if column is not None])
        if found is None or len(places) < len(columns):
            return None
        return RowSpread(block=self, columns=places, atoms=atoms, found=found)

    @property
    def label(self) -> str:
        return f"how columns {self.columns} go together"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadMoments:
    """Mean and covariance of q / one over the rows within the limit, and the noise of each of the latter's numbers."""

    mean: Floats
    covariance: Floats
    noise: float


# --------------------
# Numbers that go together more closely in the table than in the rows of a mixture.
#
# Second moments say in which directions real rows are much narrower. Rows are moved there along these directions, and
# each column's own values are then dealt to them in the new order: single columns stay as they are.


_NARROWER = 0.5  # convention: of the rows' own variance in a direction: what is not narrower than that is left alone
_SURE = 2.0  # convention: standard deviations of that
_FLAT = 1e-9  # limit: of the largest variance of rows along an axis: what is less is rounding
_FEWEST_ROWS = 100  # limit: of rows for each number, of which nothing is known by fewer


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RowSpread:
    """What was measured of how numbers go together, for rows of a mixture."""

    block: Spread
    columns: tuple[int, ...]  # of the mixture, in the order of the block's
    atoms: tuple[Integers, ...]  # of each of these columns, that of the block's column for each atom
    found: SpreadMoments

    def move(self, rows: Integers, generator: np.random.Generator) -> Integers:
        """The same rows, (columns, n), with values of numbers moved between those that the spread tells of."""
        codes = [own[rows[column]] for column, own in zip(self.columns, self.atoms, strict=True)]
        q, within = self.block.vectors(codes)
        inside = np.flatnonzero(within)
        if len(inside) < _FEWEST_ROWS * len(codes):
            return rows
        scores = np.stack(
            [_between(own, code[inside], generator) for own, code in zip(self.block.scores, codes, strict=True)], axis=1
        )
        moved = scores + self.block.one * self._steps(q[inside] / self.block.one)
        result = rows.copy()
        for place, column in enumerate(self.columns):
            before, after = (np.argsort(some[:, place], kind="stable") for some in (scores, moved))
            result[column, inside[after]] = rows[column, inside[before]]
        return result

    def _steps(self, q: Floats) -> Floats:
        """How far the scores of rows are to go, so that these are as narrow as was measured, over `one`: (n, columns).

        Of all steps that do so the least. Rows that lie in a plane stay in it: no direction across it is too wide.
        """
        variances, axes = np.linalg.eigh(np.cov(q.T))
        spread = variances > _FLAT * variances[-1]
        whitening = axes[:, spread] / np.sqrt(variances[spread])
        ratios, turn = np.linalg.eigh(whitening.T @ self.found.covariance @ whitening)
        directions = whitening @ turn
        doubts = self.found.noise * (directions**2).sum(axis=0)
        narrow = ratios + _SURE * doubts < _NARROWER
        along = q @ directions[:, narrow]
        left = np.sqrt(np.maximum(ratios, doubts)[narrow])
        wanted = self.found.mean @ directions[:, narrow] + left * (along - along.mean(axis=0))
        steps: Floats = (wanted - along) @ np.linalg.pinv(self.block.mixing @ directions[:, narrow])
        return steps


def _between(scores: Integers, atoms: Integers, generator: np.random.Generator) -> Floats:
    """A random place for each of some atoms: up to halfway to the next scores: (n,)."""
    known, place = np.unique(scores, return_inverse=True)
    edges = np.concatenate([known[:1], (known[1:] + known[:-1]) / 2.0, known[-1:]])
    at = place[atoms]
    return np.asarray(edges[at] + generator.random(len(at)) * (edges[at + 1] - edges[at]))
