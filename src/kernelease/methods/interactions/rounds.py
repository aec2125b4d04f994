"""Rounds of noisy counts of one table, and what is left of its budget after each."""

from collections.abc import Sequence
from typing import final

from kernelease.arrays import Integers
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.measured.levels import Levels, in_groups, of_atoms
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.step import Selection
from kernelease.private.counts import ExactCounts, joined

_ROUNDING = 1.0 - 2.0**-36  # derived: of what is left: covers the rounding of a sum of thousands of charges


@final
class Rounds:
    """All that was measured and chosen so far, in order.

    What is to be measured, and what is known, is in terms of groups where a column's atoms are leaves in groups.
    """

    __slots__ = ("_aside", "_blocks", "_budget", "_counts", "_levels", "_moments", "_noise", "_ordered", "_selections")

    def __init__(
        self,
        counts: ExactCounts,
        budget: PrivacyFilter,
        noise: NoiseSource,
        ordered: tuple[int, ...],
        *,
        aside: float = 0.0,
        levels: Levels | None = None,
    ) -> None:
        self._counts, self._budget, self._noise, self._ordered = counts, budget, noise, ordered
        self._aside = aside
        self._levels: Levels = (None,) * len(ordered) if levels is None else levels
        self._blocks: list[NoisyBlock] = []
        self._moments: list[NoisyBlock] = []
        self._selections: list[Selection] = []

    @property
    def left(self) -> float:
        """The share of the budget that no step has used yet, less what is set aside: the last round takes all of it."""
        spent, total = self._budget.spent, self._budget.total
        if self._budget.privacy.pure:
            return _ROUNDING * (1.0 - spent.pure_epsilon / total.pure_epsilon) - self._aside
        return _ROUNDING * (1.0 - spent.mu_squared / total.mu_squared) - self._aside

    def open(self) -> None:
        """From here on, what was set aside is there."""
        self._aside = 0.0

    @property
    def pure(self) -> bool:
        """Whether what is promised has no δ."""
        return self._budget.privacy.pure

    @property
    def neighbours(self) -> Neighbours:
        """Which tables are neighbours."""
        return self._budget.neighbours

    @property
    def rows(self) -> float | None:
        """The number of rows where it is public; else by what was measured, and None before that."""
        public = self._counts.public_rows(self._budget.neighbours)
        return self.noisy.rows if public is None and self._blocks else public

    @property
    def unit(self) -> int:
        """What one row (or person) adds to a count."""
        return self._counts.unit

    @property
    def leaves(self) -> tuple[int, ...]:
        """Of each column, how many leaves are in its groups; 0 where it has no such levels."""
        return tuple(0 if groups is None else len(groups) for groups in self._levels)

    @property
    def noisy(self) -> NoisyBlocks:
        """What is known of columns, and of groups where a column has leaves."""
        return in_groups(self.measured, self._levels)

    @property
    def measured(self) -> NoisyBlocks:
        """All that was measured."""
        return joined(
            self._blocks,
            self._counts,
            self._budget.neighbours,
            ordered=self._ordered,
            selections=tuple(self._selections),
            moments=self._moments,
        )

    def weigh(self, blocks: Sequence[Block]) -> None:
        """Measure moments, each for its share. No counts follow: the order of measuring is that of the record."""
        self._moments += self._counts.privatise(of_atoms(blocks, self._levels), self._budget, noise=self._noise)

    def count(self, blocks: Sequence[Block], *, stage: int = 0) -> None:
        """Measure blocks, each for its share."""
        self._blocks += self._counts.privatise(
            of_atoms(blocks, self._levels), self._budget, noise=self._noise, stage=stage
        )

    def choose(
        self,
        candidates: Sequence[Block],
        expected: Sequence[Integers],
        handicaps: Sequence[int],
        *,
        count: int,
        share: float,
        forest: bool = False,
    ) -> tuple[Block, ...]:
        """The candidates that a private choice finds farthest from what is expected of them."""
        chosen, picks = self._counts.choose(
            of_atoms(candidates, self._levels),
            expected,
            handicaps,
            self._budget,
            count=count,
            share=share,
            noise=self._noise,
            forest=forest,
        )
        self._selections += picks
        return tuple(candidates[index] for index in chosen)
