"""A fault at any step of a call: a tracer that lists the places a call comes through, and raises at one of them.

A place is a call of one of kernelease's functions or, in the files that decide about charging and saving, any line or
return, in one phase of a release. So a step that somebody adds tomorrow is a place too.
"""

import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import kernelease

ROOT = os.path.dirname(kernelease.__file__) + os.sep
BY_LINE = (
    "pipeline.py",
    "cli/work/request.py",
    "ledgers.py",
    "bundle/container.py",
    "bundle/saving.py",
)
EVERY_TURN = ("privacy/mechanisms.py", "privacy/noise.py", "bundle/container.py", "bundle/saving.py")
MOST_TURNS = 12
PHASES = ("before", "charged", "measured", "saved")
BEGINS = {
    ("ledgers.py", "LedgerFile.charge", "return"): "charged",
    ("bundle/saving.py", "write", "call"): "measured",  # whoever saves or fits has something in hand
    ("certificate.py", "Measurements.fit", "call"): "measured",
    ("bundle/container.py", "write_bundle", "return"): "saved",
}
ENDS = {  # beyond the last place where anyone could say a word
    ("pipeline.py", "release"),
    ("pipeline.py", "measure"),
    ("pipeline.py", "takes_options.<locals>.decorate.<locals>.call"),
    ("bundle/saving.py", "Watched.told_if_spent"),
}


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where in a release: its phase, a function, what happens there, and for the how manyth time in this phase."""

    phase: str
    file: str
    function: str
    event: str
    line: int
    turn: int

    def __str__(self) -> str:
        turn = f", time {self.turn}" if self.turn > 1 else ""
        return f"{self.phase}: {self.event} of {self.file}:{self.function} (line {self.line}{turn})"


class Tracer:
    """Tells `visit` of each place, in all threads, until it is removed or `visit` raises."""

    def __init__(self, visit: Callable[[Place], None]) -> None:
        self._visit = visit
        self._turns = Counter[tuple[Any, ...]]()
        self._phase = PHASES[0]

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(ROOT):
            return None
        file = frame.f_code.co_filename.removeprefix(ROOT)
        frame.f_trace_lines = file in BY_LINE
        self._see(frame, file, "call")
        return self._inside

    def _inside(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event != "exception":
            self._see(frame, frame.f_code.co_filename.removeprefix(ROOT), event)
        return self._inside

    def _see(self, frame: FrameType, file: str, event: str) -> None:
        function = frame.f_code.co_qualname
        self._phase = max(self._phase, BEGINS.get((file, function, event), PHASES[0]), key=PHASES.index)
        if function.endswith(">") or (event == "return" and (file not in BY_LINE or (file, function) in ENDS)):
            return
        line = frame.f_lineno if event == "line" else frame.f_code.co_firstlineno
        where = (self._phase, file, function, event, line)
        self._turns[where] += 1
        turn = self._turns[where]
        if turn <= (MOST_TURNS if file in EVERY_TURN else 1):
            self._visit(Place(*where, turn))


@contextmanager
def traced(visit: Callable[[Place], None]) -> Iterator[None]:
    """Trace what happens inside, and in threads that it starts."""
    before, tracer = sys.gettrace(), Tracer(visit)
    threading.settrace(tracer)
    sys.settrace(tracer)
    try:
        yield
    finally:
        sys.settrace(before)
        threading.settrace(before)  # type: ignore[arg-type]  # None takes it away


def places(call: Callable[[], object]) -> list[Place]:
    """All that a call comes through, in order."""
    found: list[Place] = []
    with traced(found.append):
        call()
    return found


def failing_at(place: Place, fault: BaseException, call: Callable[[], object]) -> None:
    """Run the call with a fault at one place. Ctrl-C comes in the main thread only, as in a real process."""
    raised = []

    def visit(here: Place) -> None:
        if here == place and not raised:
            raised.append(here)
            aside = threading.current_thread() is not threading.main_thread()
            raise RuntimeError("a fault in a thread") if aside and isinstance(fault, KeyboardInterrupt) else fault

    with traced(visit):
        call()
