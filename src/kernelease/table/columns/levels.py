"""Legal values in order, put into cells."""

from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.arrays import Integers

_FEWEST = 4  # cells with points: one for each end, and at least two for what lies between


def points_in(cells: int) -> int:
    """Of so many cells, how many at each end are points that hold a single value: 1, or 0 if there are too few."""
    return int(cells >= _FEWEST)


@final
@dataclass(frozen=True, slots=True)
class Levels:
    """Levels 0, 1, …, number − 1 in at most `most` cells.

    A level each, if that is enough. Else the first and the last level keep cells of their own, the *points*: there
    clamping heaps up rows, and there zeros and caps are. Those between are in equal runs, the last one perhaps
    shorter. Fewer than 4 cells are runs only.

    >>> [level.tolist() for level in Levels(9, 5).bounds()]
    [[0, 1, 4, 7, 8], [0, 3, 6, 7, 8]]
    """

    number: int
    most: int

    @property
    def points(self) -> int:
        """The number of points at each end, beside runs of several levels: 1 or 0."""
        return points_in(self.most) if self.number > self.most else 0

    @property
    def run(self) -> int:
        """The number of levels in a run."""
        return -(-(self.number - 2 * self.points) // (self.most - 2 * self.points))

    @property
    def cells(self) -> int:
        """The number of cells."""
        return -(-(self.number - 2 * self.points) // self.run) + 2 * self.points

    def bounds(self) -> tuple[Integers, Integers]:
        """The first and the last level of each cell: (cells,) each."""
        end = self.number - self.points
        runs = np.arange(self.points, end, self.run, dtype=np.int64)
        first = np.concatenate([np.arange(self.points), runs, np.arange(end, self.number)])
        return first, np.append(first[1:], self.number) - 1
