"""How much of a long call is done, and how long the rest will take: from what was expected, and what was seen since."""

import math
import time
from collections.abc import Callable, Mapping
from typing import final

BELIEF = 0.1  # of the seconds that are expected in all: how much weight they have beside those that were seen
MOMENT = 1e-3  # seconds: less is as good as nothing, and no pace is told by it
OVERDUE = 0.1  # of the time that a stage has taken: what is said to be left of it, once it should have ended
SETTLED = 5  # steps after which their own time alone says how long the others take


@final
class Course:
    """A `Progress` that keeps time.

    What is left is what is left of the stage that runs, by the time of its steps where it has any, and the expected
    seconds of those ahead times a *pace*: the ratio of seconds that stages have taken to those that were expected of
    them. It is not zero before the end. Where nothing was expected, nothing is said.
    """

    __slots__ = (
        "_ahead",
        "_began",
        "_clock",
        "_done",
        "_expected",
        "_first",
        "_name",
        "_seen",
        "_share",
        "_since",
        "_steps",
        "_told",
    )

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, told: Callable[[], object] = lambda: None
    ) -> None:
        self._clock = clock
        self._told = told  # whom to tell of a new stage
        self._began = self._since = clock()
        self._ahead: dict[str, float] = {}
        self._seen = self._expected = 0.0  # seconds of the stages that have ended, where some were expected
        self._name = ""
        self._steps: int | None = None
        self._done = 0
        self._first = 0.0  # when the first step ended
        self._share = 0.0

    @property
    def name(self) -> str:
        """Of the stage that runs."""
        return self._name

    def expect(self, stages: Mapping[str, float]) -> None:
        """What is ahead; of the stage that runs, what was expected before holds unless it is said anew."""
        running = {self._name: self._ahead[self._name]} if self._name in self._ahead else {}
        self._ahead = running | {name: max(0.0, seconds) for name, seconds in stages.items()}

    def stage(self, name: str, steps: int | None = None) -> None:
        """The stage before has ended, and with it all that were expected before this one."""
        if name != self._name:
            self._end()
            self._forget_those_before(name)
            self._name, self._since = name, self._clock()
        self._steps, self._done = steps, 0
        self._told()

    def step(self) -> None:
        """One more. The first may have had something to prepare: the others are timed from its end."""
        self._done += 1
        if self._done == 1:
            self._first = self._clock()

    def left(self) -> float | None:
        """Seconds until the end, about; None where nobody knows."""
        if self._name not in self._ahead:
            return None
        later = sum(seconds for name, seconds in self._ahead.items() if name != self._name)
        return self._left_of_stage() + self._pace() * later

    def share(self) -> float | None:
        """How much of the time that it takes in all has passed, from 0 to 1; it never falls. None: nobody knows."""
        left, passed = self.left(), self._clock() - self._began
        if left is None:
            return None
        self._share = max(self._share, passed / (passed + left) if passed + left > 0.0 else 0.0)
        return self._share

    def _end(self) -> None:
        if self._name in self._ahead:
            self._seen += self._clock() - self._since
            self._expected += self._ahead.pop(self._name)

    def _forget_those_before(self, name: str) -> None:
        """Stages that were expected and left out."""
        if name in self._ahead:
            places = list(self._ahead)
            self._ahead = {later: self._ahead[later] for later in places[places.index(name) :]}

    def _pace(self) -> float:
        belief = max(BELIEF * (self._expected + sum(self._ahead.values())), MOMENT)
        return (self._seen + belief) / (self._expected + belief)

    def _left_of_stage(self) -> float:
        passed, expected = self._clock() - self._since, self._pace() * self._ahead[self._name]
        if self._steps and self._done > 1:
            more = self._done - 1
            seen = (self._clock() - self._first) / more * (self._steps - self._done)
            trust = min(1.0, more / SETTLED)
            return max(0.0, trust * seen + (1.0 - trust) * (expected - passed), OVERDUE * passed / self._steps)
        return max(expected - passed, OVERDUE * passed)


def in_words(seconds: float | None) -> str:
    """How long that is, rounded up, for people.

    >>> in_words(None), in_words(3.2), in_words(75.0), in_words(4000.0)
    ('', 'about 4 s left', 'about 2 min left', 'about 1 h 7 min left')
    """
    if seconds is None:
        return ""
    if seconds <= 60.0:
        return f"about {max(1, math.ceil(seconds))} s left"
    hours, minutes = divmod(math.ceil(seconds / 60.0), 60)
    return f"about {f'{hours} h ' if hours else ''}{minutes} min left"
