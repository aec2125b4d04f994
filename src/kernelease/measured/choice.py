"""A number that a method chose by a public rule."""

from dataclasses import dataclass
from typing import final

from kernelease.kinds import Kind


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Kind):
    """What was chosen, and why.

    >>> print(Choice(name="rank", value=12, reason="as given"))
    rank = 12: as given
    """

    name: str
    value: int
    reason: str

    def __str__(self) -> str:
        return f"{self.name} = {self.value}: {self.reason}"
