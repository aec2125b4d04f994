"""Damaged and hostile input for everything that reads a file or a query: it is read, or refused in words."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from audits.case import Case, Effort, Verdict
from audits.targets import SECRET, TARGETS, Target
from audits.tracer import memory_disk

TRIALS = {Effort.FAST: 60, Effort.FULL: 1000}
SLOWEST = 10.0  # seconds for one input of some kilobytes: beyond that it hangs
_ODD = (0, 1, 127, 128, 255)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """An input that broke a reader."""

    data: bytes
    what: str


def mutations(target: Target, seed: int) -> Iterator[bytes]:
    """Honest inputs, changed a little or a lot, without end. A seed gives the same ones each time."""
    chance, seeds = random.Random(seed), target.seeds()  # noqa: S311  # no secret hangs on it
    while True:
        data = bytearray(chance.choice(seeds))
        for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
            _change(data, chance, target.words, chance.choice(seeds))
        yield bytes(data)


def _change(data: bytearray, chance: random.Random, words: tuple[bytes, ...], other: bytes) -> None:
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.choice((0, 1, 1, 2, 8, 64)))
    kind = chance.randrange(6)
    if kind == 0 and start < len(data):
        data[start] ^= 1 << chance.randrange(8)
    elif kind == 1 and start < len(data):
        data[start] = chance.choice(_ODD)
    elif kind == 2:
        del data[start:end]
    elif kind == 3 and words:
        data[start:end] = chance.choice(words)
    elif kind == 4:
        data[start:end] = data[start:end] * chance.choice((2, 3, 50))
    else:
        place = chance.randrange(len(other) + 1)
        data[start:end] = other[place : place + chance.choice((1, 8, 64, 512))]


def attack(target: Target, trials: int, seed: int = 0) -> list[Finding]:
    """What breaks a reader, among so many mutations."""
    found: list[Finding] = []
    with tempfile.TemporaryDirectory(dir=memory_disk()) as name:
        for data, _ in zip(mutations(target, seed), range(trials), strict=False):
            if what := broken_by(target, data, Path(name)):
                found.append(Finding(data=data, what=what))
    return found


def broken_by(target: Target, data: bytes, folder: Path) -> str:
    """How an input breaks a reader, in a few words; none if it does not."""
    start = time.perf_counter()
    try:
        target.read(data, folder)
    except Exception as error:  # noqa: BLE001  # whatever it is, it should not have come out
        return f"{type(error).__name__}: {str(error)[:100]}"
    seconds = time.perf_counter() - start
    return f"it took {seconds:.0f} s" if seconds > SLOWEST else ""


def _careless_csv(data: bytes, _: Path) -> None:
    """A reader as many are written: the text is assumed to be UTF-8, and numbers to be numbers."""
    for line in data.decode().splitlines()[1:]:
        age, *_rest = line.split(",")
        try:
            float(age or "nan")
        except ValueError as error:
            raise ValueError(f"not a number: {line}") from error


TWIN = Target(read=_careless_csv, seeds=TARGETS["CSV files"].seeds, words=TARGETS["CSV files"].words)


def _fuzz(name: str, effort: Effort) -> Verdict:
    trials = TRIALS[effort]
    found, twin = attack(TARGETS[name], trials), attack(TWIN, 60)
    leaks = sum(SECRET in finding.what for finding in twin)
    return Verdict(
        trials=trials,
        holds=not found,
        measured=found[0].what if found else "each was read, or refused by an error of its own; none hung",
        twin=f"a reader that trusts its input: {len(twin)} of 60 break it, {leaks} show a private cell",
        twin_caught=bool(twin) and leaks > 0,
    )


def _case(name: str) -> Case:
    return Case(
        name=f"damaged {name}",
        kind="fuzz",
        claim=f"Damaged {name} are read or refused in words, in bounded time, and no message holds a private cell.",
        run=lambda effort: _fuzz(name, effort),
    )


CASES = tuple(_case(name) for name in TARGETS)
