"""Progress as one bar for the whole call, on a terminal and in a notebook; nothing elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import final

from rich.console import Console, RenderableType
from rich.progress import Progress as Bars
from rich.progress import ProgressColumn, SpinnerColumn, Task, TimeElapsedColumn
from rich.progress_bar import ProgressBar
from rich.text import Text

from kernelease.course import Course, in_words
from kernelease.errors import ParameterError
from kernelease.progress import SILENT, Progress

_WIDTH = 30  # characters of the bar: with the name of the longest stage it fits a line of 100


@contextmanager
def shown(progress: Progress | None = None, *, console: Console | None = None) -> Iterator[Progress]:
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
        """As it is now."""
        return self._made(task)


def _bar(course: Course, task: Task) -> ProgressBar:
    """How much of the whole call is done; it pulses where nobody knows."""
    share = course.share()
    total = None if share is None else 1.0
    return ProgressBar(total=total, completed=share or 0.0, width=_WIDTH, animation_time=task.get_time())
