"""An attacker who knows every seed, and one who shares the process: noise can be neither repeated nor foreseen."""

import random
import subprocess
import sys
from collections.abc import Callable

import numpy as np

from audits.attacker import claimed_mu, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.methods import PRIVACY, REST, schema, table
from kernelease import pipeline
from kernelease.arrays import Floats
from kernelease.noises import SeededNoise
from kernelease.privacy import NoiseSource, SystemNoise

SEED = 20
WORLDS = (table(*REST, ("north", 0)), table(*REST, ("south", 9)))


def published(world: int, source: Callable[[], NoiseSource]) -> Floats:
    """The first noisy counts of a release of which all seeds are known; what is asked later depends on them."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002  # the global state is what this is about
    measured = pipeline.measure(WORLDS[world], schema=schema(), privacy=PRIVACY, seed=SEED, noise=source())
    return measured.measured.blocks[0].values.ravel()


def rerun(effort: Effort) -> Verdict:
    """The attacker runs the same program, seeds and all, on table A, and subtracts the result from the published."""
    trials = 100 if effort is Effort.FAST else 300

    def bound(source: Callable[[], NoiseSource]) -> float:
        calm = [published(world, lambda: SeededNoise(SEED)) for world in (0, 1)]
        direction = calm[1] - calm[0]
        own = [[published(0, source) @ direction for _ in range(trials)] for _ in range(2)]
        out = [[published(world, source) @ direction for _ in range(trials)] for world in (0, 1)]
        return normal_mu_bound(*(np.array(seen) - np.array(foreseen) for seen, foreseen in zip(out, own, strict=True)))

    return judged(
        trials=2 * trials,
        claim=claimed_mu(PRIVACY),
        real=bound(SystemNoise),
        twins={"noise from the public seed": bound(lambda: SeededNoise(SEED))},
        symbol="μ",
    )


PROGRAM = """
import os
from kernelease.privacy.noise import SystemNoise
from kernelease.noises import SeededNoise
source = {source}
source.gaussian(2.0**40, 1)
for _ in range({children}):
    if os.fork() == 0:
        print(source.gaussian(2.0**40, 1)[0], flush=True)
        os._exit(0)
    os.wait()
"""


def forks(effort: Effort) -> Verdict:
    """Children of one process start with a copy of its memory; a generator that lives there repeats itself."""
    children = 8 if effort is Effort.FAST else 64

    def distinct(source: str) -> int:
        program = PROGRAM.format(source=source, children=children)
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        drawn = done.stdout.split()
        assert len(drawn) == children
        return len(set(drawn))

    real, twin = distinct("SystemNoise(threads=1)"), distinct("SeededNoise(0)")
    return Verdict(
        trials=children,
        holds=real == children,
        measured=f"{real} of {children} draws differ",
        twin=f"a generator in the process's memory: {twin} of {children} differ",
        twin_caught=twin < children,
    )


CASES = (
    Case(
        name="seeds that are known",
        kind="attack",
        claim="No seed reaches the noise: who runs the same program with the same seeds learns nothing more.",
        run=rerun,
    ),
    Case(
        name="noise in forked processes",
        kind="attack",
        claim="Processes that share their past do not share their noise.",
        run=forks,
    ),
)
