"""How far a long call has come: stages and steps, for whoever wants to show them.

Only public things are told: never how many rows were read.
"""

from typing import Protocol, final


class Progress(Protocol):
    """Hears of each stage as it begins, and of each step as it ends."""

    def stage(self, name: str, steps: int | None = None) -> None:
        """A stage begins, of so many steps (None: nobody knows)."""
        ...

    def step(self) -> None:
        """A step of it is done."""
        ...


@final
class Silent:
    """Hears and says nothing."""

    __slots__ = ()

    def stage(self, name: str, steps: int | None = None) -> None:
        """Nothing."""

    def step(self) -> None:
        """Nothing."""


SILENT = Silent()
