"""How far a long call has come, and one bar for it on a terminal or in a notebook.

Only public things are told: never how many rows were read.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol, final, runtime_checkable

from rich.console import Console, RenderableType
from rich.progress import Progress as Bars, ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from kernelease.errors import ParameterError

# ---- Stages and steps of a long call.


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
        self._whole.expect({self._label(number, name): stages[name] for number in numbers for name in stages})

    def stage(self, name: str, steps: int | None = None) -> None:
        self._whole.stage(self._label(self._number, name), steps)

    def step(self) -> None:
        self._whole.step()

    def _label(self, number: int, name: str) -> str:
        return f"{self._name} {number} of {self._count}: {name}"


# ---- How much is done, and how long the rest will take: expected times, corrected by those seen since.


BELIEF = 0.1  # of the seconds that are expected in all: how much weight they have beside those that were seen
MOMENT = 1e-3  # seconds: less is as good as nothing, and no pace is told by it
OVERDUE = 0.1  # of the time that a stage has taken: what is said to be left of it, once it should have ended
SETTLED = 5  # steps after which their own time alone says how long the others take


@final
class Course:
    """A `Progress` that keeps time.

    The time left is that of the running stage, told by its steps where it has any, and that of the stages ahead: their
    expected seconds times a *pace*, the seconds that past stages took over those that were expected of them. It is
    not zero before the end. Where nothing was expected, nothing is said.
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
        """The part of the whole time that has passed, from 0 to 1, which never falls; None where nobody knows."""
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


# ---- One bar for the whole call, on a terminal and in a notebook; nothing elsewhere.


_WIDTH = 30  # characters of the bar: with the name of the longest stage it fits a line of 100


@contextmanager
def show_progress(progress: Progress | None = None, *, console: Console | None = None) -> Iterator[Progress]:
    """The progress that was given; None: a bar on stderr where somebody may be watching, else silence.

    The bar is gone when it ends, so that what is said then stays on the screen. What can't be told of stages is refused
    here, before anything is spent.
    """
    if progress is not None and not isinstance(progress, Progress):
        raise ParameterError(
            f"progress must have the methods expect, stage and step, got {type(progress).__name__}: see "
            "kernelease.progress. None shows a bar."
        )
    where = Console(stderr=True) if console is None else console
    if progress is not None or not (where.is_terminal or where.is_jupyter):
        yield SILENT if progress is None else progress
        return
    with Bars(console=where, transient=True) as bars:
        course = Course(told=bars.refresh)
        name, bar = _Live(lambda _: Text(course.name)), _Live(lambda task: _bar(course, task))
        bars.columns = (SpinnerColumn(), name, bar, TimeElapsedColumn(), _Live(lambda _: Text(in_words(course.left()))))
        bars.add_task("")
        yield course


@final
class _Live(ProgressColumn):
    """A part of the line that is made anew each time it is drawn."""

    def __init__(self, made: Callable[[Task], RenderableType]) -> None:
        super().__init__()
        self._made = made

    def render(self, task: Task) -> RenderableType:
        return self._made(task)


def _bar(course: Course, task: Task) -> ProgressBar:
    """How much of the whole call is done; it pulses where nobody knows."""
    share = course.share()
    total = None if share is None else 1.0
    return ProgressBar(total=total, completed=share or 0.0, width=_WIDTH, animation_time=task.get_time())
