"""Progress as bars, on a terminal and in a notebook; nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import final

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from kernelease.progress import SILENT, Progress


@contextmanager
def shown(progress: Progress | None = None, *, console: Console | None = None) -> Iterator[Progress]:
    """The progress that was given; None: bars on stderr where somebody may be watching, else silence.

    The bars are gone when it ends, so that what is said then stays on the screen.
    """
    where = Console(stderr=True) if console is None else console
    if progress is not None or not (where.is_terminal or where.is_jupyter):
        yield SILENT if progress is None else progress
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bars(*columns, TimeRemainingColumn(), console=where, transient=True) as bars:
        yield Stages(bars)


@final
class Stages:
    """Stages as bars, one below the other."""

    __slots__ = ("_bars", "_task")

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task: TaskID | None = None

    def stage(self, name: str, steps: int | None = None) -> None:
        """The stage before is done; a new bar begins, which only pulses where nobody knows the number of steps."""
        if self._task is not None:
            self._bars.update(self._task, total=1, completed=1)
        self._task = self._bars.add_task(name, total=steps)

    def step(self) -> None:
        """The bar grows."""
        if self._task is not None:
            self._bars.advance(self._task)
