"""Everything that a run lets through the barrier, and how likely a neighbouring table would have let through the same.

The exact score of an attacker who sees all noisy numbers is the log-likelihood ratio of the whole transcript. It is
computed without knowing the method: run it on one table and write down every output; run it again on the other table
with a noise source that makes the mechanisms repeat those outputs. A later step then sees the same history, so its
exact value in either world is at hand, and each step adds the log ratio of its law at the same output. This covers
adaptive methods, whose later steps are chosen in sight of earlier results.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final
from unittest import mock

import numpy as np

from kernelease.arrays import BigIntegers, Floats, Integers
from kernelease.privacy import NoiseSource, mechanisms

Run: TypeAlias = Callable[[Any, NoiseSource], object]  # a whole measurement of a table, on books of its own


class DifferentCourse(Exception):
    """The neighbouring table asked for other numbers after the same history: what was asked gives it away."""


@final
@dataclass(frozen=True, slots=True)
class Event:
    """One crossing: noise of a law and scale around exact integers, and what came out (for a selection: the index)."""

    law: str
    scale: float
    exact: BigIntegers
    output: BigIntegers

    @property
    def log_likelihood(self) -> float:
        """Of the output under the law, up to what depends on the output alone."""
        if self.law == "noisy_max":
            scores = np.array([float(score - max(self.exact)) for score in self.exact]) / self.scale
            return float(scores[int(self.output[0])] - math.log(np.exp(scores).sum()))
        distances = (self.output - self.exact).astype(np.float64) / self.scale
        if self.law == "laplace":
            return float(-np.abs(distances).sum() + len(distances) * math.log(math.tanh(0.5 / self.scale)))
        return float(-0.5 * (distances**2).sum() - len(distances) * math.log(self.scale))


@final
@dataclass
class Tap:
    """A noise source that writes down what passes. It repeats a script of outputs, or draws from another source."""

    source: NoiseSource
    script: Sequence[Event] | None = None
    private: bool = True
    events: list[Event] = field(default_factory=list)
    _exact: BigIntegers | None = None

    def shift(self, exact: BigIntegers, bits: int) -> BigIntegers:
        """In place of the mechanisms' own: notes the exact value, and hands it on unless outputs are scripted."""
        self._exact = np.array([int(value) << bits for value in exact], dtype=object)
        return self._exact if self.script is None else np.zeros(len(exact), dtype=object)

    def gaussian(self, scale: float, size: int) -> Integers:
        return self._vector("gaussian", scale, size)

    def laplace(self, scale: float, size: int) -> Integers:
        return self._vector("laplace", scale, size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        exact = np.array(list(scores), dtype=object)
        if self.script is None:
            chosen = np.array([self.source.noisy_max(scores, scale)], dtype=object)
        else:
            chosen = self._scripted("noisy_max", len(exact)).output
        self.events.append(Event("noisy_max", scale, exact, chosen))
        return int(chosen[0])

    def _vector(self, law: str, scale: float, size: int) -> Any:
        exact, self._exact = self._exact, None
        if exact is None or len(exact) != size:
            raise AssertionError("A mechanism drew noise for numbers that it did not shift onto the noise grid.")
        if self.script is not None:
            output = self._scripted(law, size).output
            self.events.append(Event(law, scale, exact, output))
            return output
        drawn = getattr(self.source, law)(scale, size)
        self.events.append(Event(law, scale, exact, exact + drawn.astype(object)))
        return drawn

    def _scripted(self, law: str, size: int) -> Event:
        assert self.script is not None
        position = len(self.events)
        if position >= len(self.script):
            raise DifferentCourse
        event = self.script[position]
        if event.law != law or len(event.exact) != size:
            raise DifferentCourse
        return event


@contextlib.contextmanager
def _open(tap: Tap) -> Iterator[None]:
    with mock.patch.object(mechanisms, "_shift", tap.shift):
        yield


def record(run: Run, table: Any, noise: NoiseSource) -> list[Event]:
    """What one run on a table lets through."""
    tap = Tap(noise)
    with _open(tap):
        run(table, tap)
    return tap.events


def replay(run: Run, table: Any, noise: NoiseSource, script: Sequence[Event]) -> list[Event]:
    """The same outputs, around another table's exact values."""
    tap = Tap(noise, script=script)
    with _open(tap):
        run(table, tap)
    if len(tap.events) != len(script):
        raise DifferentCourse
    return tap.events


def log_ratios(
    run: Run, tables: tuple[Any, Any], noise: NoiseSource, trials: int, *, adaptive: bool = False
) -> tuple[Floats, Floats]:
    """log P_B/P_A of the transcripts of `trials` runs in each world: infinite where one gives its world away.

    Where no step depends on earlier results (not `adaptive`), the neighbour's exact values are the same in every trial
    and are replayed once; a run whose own exact values change is then refused.
    """
    a, b = (_scores(run, (tables[world], tables[1 - world]), noise, trials, adaptive) for world in (0, 1))
    return -a, b


def _scores(run: Run, tables: tuple[Any, Any], noise: NoiseSource, trials: int, adaptive: bool) -> Floats:
    """log P/P′ of runs on the first table, P′ the law on the second."""
    own, others, scores = [], [], []
    for trial in range(trials):
        events = record(run, tables[0], noise)
        if trial == 0 or adaptive:
            try:
                own, others = events, replay(run, tables[1], noise, events)
            except DifferentCourse:
                return np.full(trials, math.inf)
        elif not _same_course(events, own):
            raise ValueError("log_ratios: the run is adaptive, as its exact values are not always the same.")
        scores.append(_log_likelihood(events, events) - _log_likelihood(others, events))
    return np.array(scores)


def _same_course(events: list[Event], others: list[Event]) -> bool:
    return len(events) == len(others) and all(
        np.array_equal(one.exact, other.exact) for one, other in zip(events, others, strict=True)
    )


def _log_likelihood(course: list[Event], outputs: list[Event]) -> float:
    """Of outputs, under the laws and exact values of a course."""
    pairs = zip(course, outputs, strict=True)
    return sum(replace(event, output=output.output).log_likelihood for event, output in pairs)
