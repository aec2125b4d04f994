"""A number that a method chose by a public rule."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen, and why.

    >>> print(Choice(name="rank", value=12, reason="as given"))
    rank = 12: as given
    """

    name: str
    value: int
    reason: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value}: {self.reason}"
