"""How a release of a table parts its budget among single columns, pairs, and sets that are chosen later."""

import dataclasses
import math
from dataclasses import dataclass
from typing import final

SIZE = 0.03  # research: Tables: single columns without their mean. For the number of rows, where it is private
LEAST_SINGLES, MOST_SINGLES = 0.1, 0.6  # research: Tables: one constant at a time. Of the budget for single columns
# research: Tables: pairs in few cells, too. The same where pairs say nothing about single columns; the most grows with
# the logarithm (to base 2) of the number of columns
LEAST_BESIDE_INTERACTIONS, MOST_BESIDE_INTERACTIONS, MORE_FOR_MORE = 0.15, 0.3, 0.03
# research: Tables: single columns, twice. Columns beyond which the most grows twice as fast; and what it never passes
MANY_COLUMNS, MOST_OF_ALL = 16, 0.75
# research: Tables: interactions in place of counts. Times what they have beside counts of pairs
SINGLES_BESIDE_INTERACTIONS = 1.3
# research: Tables: all pairs, and sets of three. What a larger set gets of the budget, over what a pair gets
TRIPLE = 0.5
DETAILS = 0.03  # research: Tables: details of pairs. Of the share of pairs, for details of some
# research: Tables: one constant at a time. Of what they have without one: pairs per class show them too
SINGLES_BESIDE_TARGET = 0.75
CHOICE = 0.02  # research: Tables: one constant at a time. Of the budget for choosing them
FEWEST_TRIPLES, MOST_TRIPLES = 4, 40  # research: Tables: one constant at a time. Sets of three or four
# research: Tables: one constant at a time. Of a forest of pairs and for its counts, where pairs are chosen
FOREST_CHOICE, FOREST = 0.05, 0.08


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Parts of the budget (of μ², or of a pure ε). They add up to 1; what a round leaves goes to the next."""

    size: float
    singles: float
    pairs: float
    choice: float
    triples: float
    count: int  # of the sets of three or four
    forest: float = 0.0  # of the pairs that are chosen first
    most: int | None = None  # pairs that are measured, where they are chosen; None: all
    interactions: bool = False  # whether pairs are measured as interactions
    details: float = 0.0  # of some pairs; where there are none, of the sets

    @classmethod
    def rule(
        cls,
        columns: int,
        signal: float,
        *,
        known_rows: bool,
        target: bool,
        interactions: bool = False,
        triples: int | None = None,
    ) -> "Shares":
        """Shares by the number of columns and the `signal`: rows over the noise of all atoms' counts together.

        Where the noise is as large as the counts (signal near 1), a release is mostly single columns; where it is
        small, they are cheap: their share falls as 1/√signal. Pairs and larger sets part the rest: there are more
        such sets the better they can be seen, and each gets `TRIPLE` of what a pair gets.
        """
        size = 0.0 if known_rows else SIZE
        if columns == 1:
            return cls(
                size=size, singles=1.0 - size, pairs=0.0, choice=0.0, triples=0.0, count=0, interactions=interactions
            )
        singles = max(LEAST_SINGLES, min(MOST_SINGLES, signal**-0.5) * (SINGLES_BESIDE_TARGET if target else 1.0))
        if interactions:
            wanted = SINGLES_BESIDE_INTERACTIONS * signal**-0.5
            singles = max(LEAST_BESIDE_INTERACTIONS, min(_most_beside_interactions(columns), wanted))
        most = columns * (columns - 1) * (columns - 2) // 6 - (columns - 1) * (columns - 2) // 2 * target
        wished = min(MOST_TRIPLES, max(FEWEST_TRIPLES, int(5.0 * signal**0.5))) if triples is None else triples
        count = max(0, min(wished, most))
        choice = CHOICE if count else 0.0
        sets, together = TRIPLE * count, 1.0 - size - singles - choice
        third = together * sets / (columns * (columns - 1) / 2 + sets)
        details = DETAILS * (together - third) if interactions and count else 0.0
        return cls(
            size=size,
            singles=singles,
            pairs=1.0 - size - singles - choice - third - details,
            choice=choice,
            triples=third,
            count=count,
            interactions=interactions,
            details=details,
        )

    def beside(self, aside: float) -> "Shares":
        """The same parts of what is left where so much is set aside."""
        left = 1.0 - aside
        return dataclasses.replace(
            self,
            size=self.size * left,
            singles=self.singles * left,
            pairs=self.pairs * left,
            choice=self.choice * left,
            triples=self.triples * left,
            forest=self.forest * left,
            details=self.details * left,
        )

    def chosen(self, most: int) -> "Shares":
        """The same where at most so many pairs can be seen: they are chosen, and there are no larger sets."""
        if most == 0:
            return dataclasses.replace(
                self, singles=1.0 - self.size, pairs=0.0, choice=0.0, triples=0.0, count=0, most=0, details=0.0
            )
        return dataclasses.replace(
            self,
            pairs=1.0 - self.size - self.singles - FOREST_CHOICE - FOREST,
            choice=FOREST_CHOICE,
            forest=FOREST,
            triples=0.0,
            count=0,
            most=most,
            details=0.0,
        )


def _most_beside_interactions(columns: int) -> float:
    """The most that single columns get beside interactions: every column takes part in more pairs the more there are.

    >>> [round(_most_beside_interactions(columns), 2) for columns in (2, 16, 64, 1000)]
    [0.33, 0.42, 0.54, 0.75]
    """
    more = math.log2(columns) + max(0.0, math.log2(columns / MANY_COLUMNS))
    return min(MOST_OF_ALL, MOST_BESIDE_INTERACTIONS + MORE_FOR_MORE * more)
