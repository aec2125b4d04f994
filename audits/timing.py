"""What time tells: of a draw about its noise, and of a release about its table."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import numpy as np
from scipy import stats

from audits.case import Case, Effort, Verdict
from audits.neighbours import PAIRS, Traces, fixed_mechanisms, release
from kernelease.arrays import Integers
from kernelease.certificate import Certificate
from kernelease.privacy import NoiseSource
from kernelease.privacy.noise import SystemNoise
from kernelease.table.encode import Encoder

BATCH = 32  # numbers drawn at once: a release has more
LIMIT = 0.6  # on the rank correlation of a batch's time with its mean |noise|; a single number's is 1/√BATCH of that
STRETCH = 20


class CountingNoise:
    """The twin: a geometric number is found by counting up to it, so that large noise takes long."""

    private = True
    noisy_max = SystemNoise.noisy_max

    def gaussian(self, scale: float, size: int) -> Integers:
        return self.laplace(scale, size)

    def laplace(self, scale: float, size: int) -> Integers:
        generator = np.random.default_rng()
        return np.array([self._count(generator) for _ in range(size)]) * int(scale / 1000)

    @staticmethod
    def _count(generator: np.random.Generator) -> int:
        steps, end = 0, generator.exponential(1000.0)
        while steps < end:
            steps += 1
        return steps


def correlation(source: NoiseSource, law: str, batches: int) -> float:
    """Rank correlation of the time of a batch with the mean size of its noise.

    The time is that of the processor: an observer's clock adds what other programs do, and sees less. Ranks are taken
    within stretches of `STRETCH` batches, so that a machine that slows down for a while hides nothing. The standard
    error is about 1/√batches.
    """
    times, sizes = np.empty(batches), np.empty(batches)
    for batch in range(batches):
        start = time.process_time_ns()
        drawn = getattr(source, law)(2.0**35.5, BATCH)
        times[batch] = time.process_time_ns() - start
        sizes[batch] = np.abs(drawn.astype(np.float64)).mean()
    stretches = zip(times.reshape(-1, STRETCH), sizes.reshape(-1, STRETCH), strict=True)
    return float(np.mean([stats.spearmanr(*stretch).statistic for stretch in stretches]))


def draws(effort: Effort) -> Verdict:
    """Both laws, and the twin."""
    batches = 400 if effort is Effort.FAST else 2_000
    found = {law: correlation(SystemNoise(threads=1), law, batches) for law in ("gaussian", "laplace")}
    twin = correlation(CountingNoise(), "laplace", batches)
    shown = ", ".join(f"{law} {value:+.2f}" for law, value in found.items())
    return Verdict(
        trials=batches,
        holds=all(abs(value) < LIMIT for value in found.values()),
        measured=f"correlation of a batch's time with its mean noise: {shown}; limit {LIMIT}",
        twin=f"a sampler that counts up: {twin:+.2f}",
        twin_caught=abs(twin) > LIMIT,
    )


def left_behind() -> Traces:
    """What a release leaves where the mechanisms always say the same."""
    with TemporaryDirectory() as folder, fixed_mechanisms():
        return release(PAIRS[0], PAIRS[0].first, Path(folder))


def slowly() -> Traces:
    """The same release a good second later, by a machine that dawdles over every batch."""
    encode = Encoder.encode

    def dawdling(self: Encoder, batch: Any) -> Any:
        time.sleep(1.2)
        return encode(self, batch)

    with mock.patch.object(Encoder, "encode", dawdling):
        return left_behind()


def no_times(effort: Effort) -> Verdict:
    """Files with a date, a duration or a time stamp in them could not be the same twice."""

    def telling(quick: Traces, slow: Traces) -> list[str]:
        return [name for name, content in quick.files.items() if slow.files.get(name) != content]

    def dated(self: Certificate) -> str:
        return f"made in {time.perf_counter()} seconds"

    real = telling(left_behind(), slowly())
    with mock.patch.object(Certificate, "__str__", dated):
        twin = telling(left_behind(), slowly())
    return Verdict(
        trials=1,
        holds=not real,
        measured=", ".join(real) or "a fast and a slow run leave the same bytes",
        twin=f"a duration on the certificate: {', '.join(twin) or 'nothing'} differ",
        twin_caught=bool(twin),
    )


CASES = (
    Case(
        name="time of drawing noise",
        kind="attack",
        claim=f"The time of a batch of {BATCH} draws has a rank correlation below {LIMIT} with its mean noise.",
        run=draws,
    ),
    Case(
        name="times in a release",
        kind="attack",
        claim="A bundle holds no date, duration or time stamp that the private rows could have changed.",
        run=no_times,
    ),
)
