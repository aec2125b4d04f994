"""Where the randomness of a variable comes from: rows of one release, or the values of a reduced variable."""

from dataclasses import dataclass, field
from typing import final

import numpy as np

from kernelease.arrays import Floats
from kernelease.errors import ParameterError

LARGEST_NORM = 10.0  # of weights: Σ|w| that is still bounded


@final
@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Weighted rows. Variables of one origin are joint, row by row; variables of different origins are independent.

    Two origins with a common ancestor are neither: a variable that was reduced to few values has lost its rows.
    """

    weights: Floats  # (M,), adding up to 1
    name: str = "rows"
    key: object = field(default_factory=object)  # rows with the same key are the same rows
    ancestors: frozenset[object] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if not self.ancestors:
            object.__setattr__(self, "ancestors", frozenset({self.key}))
        total = float(self.weights.sum())
        if not total > 0.0:
            raise ParameterError("A random variable needs weights that add up to more than 0.")
        norm = float(np.abs(self.weights).sum()) / total
        if norm > LARGEST_NORM:
            raise ParameterError(
                f"The weights of this release are not bounded: Σ|w|/Σw is {norm:.3g}, and functions of released "
                f"variables are consistent only where it stays bounded (here at most {LARGEST_NORM:g}). Release with "
                "a constraint=Simplex() or L1Ball(), or refit the weights of this one: release.bounded()."
            )
        object.__setattr__(self, "weights", self.weights / total)

    def __len__(self) -> int:
        return len(self.weights)

    def related(self, other: "Origin") -> bool:
        """Whether two different origins have rows in common."""
        return bool(self.ancestors & other.ancestors)


def check_unrelated(origins: tuple[Origin, ...]) -> None:
    """Raise where two origins share an ancestor without being the same rows."""
    for index, one in enumerate(origins):
        for other in origins[index + 1 :]:
            if one.related(other):
                raise ParameterError(
                    f"These variables depend on each other through {one.name!r}, but one of them was reduced to few "
                    "values and has lost its rows. Write the whole expression before reducing it, or say that they "
                    "are independent: variable.independent_copy()."
                )
