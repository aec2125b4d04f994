"""How far a long call has come: stages and steps, for whoever wants to show them.

Only public things are told: never how many rows were read.
"""

from collections.abc import Mapping
from typing import Protocol, final, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """Hears what is ahead, of each stage as it begins, and of each step as it ends."""

    def expect(self, stages: Mapping[str, float]) -> None:
        """The stages that are still ahead, in their order, and about how many seconds each will take.

        May be said again, when more is known: what was said before no longer holds.
        """
        ...

    def stage(self, name: str, steps: int | None = None) -> None:
        """A stage begins, of so many steps (None: nobody knows). One of the same name goes on."""
        ...

    def step(self) -> None:
        """A step of it is done."""
        ...


@final
class Silent:
    """Hears and says nothing."""

    __slots__ = ()

    def expect(self, stages: Mapping[str, float]) -> None:
        """Nothing."""

    def stage(self, name: str, steps: int | None = None) -> None:
        """Nothing."""

    def step(self) -> None:
        """Nothing."""


SILENT = Silent()


@final
class Repeated:
    """A call within a call, one of several alike: its stages bear its number, and what it expects holds for the rest.

    >>> from unittest.mock import Mock
    >>> whole = Mock()
    >>> Repeated(whole, "data set", 2, 3).expect({"fitting": 5.0})
    >>> whole.expect.call_args.args[0]
    {'data set 2 of 3: fitting': 5.0, 'data set 3 of 3: fitting': 5.0}
    """

    __slots__ = ("_count", "_name", "_number", "_whole")

    def __init__(self, whole: Progress, name: str, number: int, count: int) -> None:
        self._whole = whole
        self._name = name
        self._number = number
        self._count = count

    def expect(self, stages: Mapping[str, float]) -> None:
        """The same stages in this one and in all that follow."""
        numbers = range(self._number, self._count + 1)
        self._whole.expect({self._said(number, name): stages[name] for number in numbers for name in stages})

    def stage(self, name: str, steps: int | None = None) -> None:
        """A stage of this one."""
        self._whole.stage(self._said(self._number, name), steps)

    def step(self) -> None:
        """As it is."""
        self._whole.step()

    def _said(self, number: int, name: str) -> str:
        return f"{self._name} {number} of {self._count}: {name}"
