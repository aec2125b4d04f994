"""A black-box audit: is the canary in? The attacker has the bundle, all other rows, and nothing else.

The canary is a row like no other in a small table. Two attackers guess from a bundle as it lies on disk: one counts
cells of synthetic rows that are as the canary's, the other reads the noisy counts that the bundle publishes.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from audits.attacker import epsilon_bound
from audits.case import Case, Effort, Verdict
from audits.twins import BulkNoise, NoNoise
from kernelease import pipeline
from kernelease.answers.release import Release, load, save
from kernelease.arrays import Floats
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.methods import Interactions
from kernelease.privacy import NoiseSource, Privacy
from kernelease.table import Schema
from kernelease.table.encode import Encoder

PRIVACY = Privacy(epsilon=1.0, delta=1e-6)
SCHEMA = Schema.parse("""
[columns.ward]
type = "category"
values = ["north", "south", "east"]
[columns.age]
type = "integer"
min = 0
max = 9
""")
CANARY, OTHER = ("east", 9), ("north", 0)
REST = [("north", 0), ("north", 1), ("south", 2), ("south", 0)] * 4
QUICK = Interactions(solver=MixtureSolver(components=20, steps=40))


def table(*rows: tuple[str, int]) -> pa.Table:
    """Rows as a table."""
    return pa.table({"ward": [ward for ward, _ in rows], "age": pa.array([age for _, age in rows], pa.int64())})


def look_alikes(bundle: Release) -> float:
    """Cells of synthetic rows that are as the canary's, and as no other row's."""
    rows = bundle.rows
    return float(np.sum(rows["ward"].to_numpy() == CANARY[0]) + np.sum(rows["age"].to_numpy() == CANARY[1]))


def noisy_counts(bundle: Release) -> float:
    """The likelihood ratio's statistic: what each noisy block has in the canary's cell, by the block's precision."""
    blocks = bundle.measurements.measured
    assert blocks is not None
    codes = Encoder(SCHEMA).encode(table(CANARY, OTHER))
    score = 0.0
    for block in blocks.blocks:
        pairs = list(zip(block.block.columns, block.block.groups, strict=True))
        canary, other = (tuple(int(group[row[column]]) for column, group in pairs) for row in codes)
        score += (block.values[canary] - block.values[other]) / block.sigma**2
    return score


def play(member: bool, noise: NoiseSource, folder: Path) -> tuple[float, float]:
    """One release, on disk and back: both attackers' scores."""
    rows = table(*REST, CANARY if member else OTHER)
    target = folder / "bundle.zip"
    measured = pipeline.measure(rows, schema=SCHEMA, privacy=PRIVACY, method=QUICK, noise=noise)
    save(measured.fit(method=QUICK, rows=1_000), target, overwrite=True)  # more rows tell more
    bundle = load(target)
    return look_alikes(bundle), noisy_counts(bundle)


def bounds(trials: int, noise: NoiseSource) -> Floats:
    """Lower bounds on ε: from rows, and from noisy counts."""
    with tempfile.TemporaryDirectory() as folder:
        out, member = (np.array([play(world, noise, Path(folder)) for _ in range(trials)]) for world in (False, True))
    return np.array([epsilon_bound(out[:, i], member[:, i], PRIVACY.delta) for i in range(2)])


def membership(effort: Effort) -> Verdict:
    """Both attackers, on releases with noise and without."""
    trials = 120 if effort is Effort.FAST else 600
    real, twin = bounds(trials, BulkNoise()), bounds(min(trials, 400), NoNoise())
    return Verdict(
        trials=2 * trials,
        holds=bool((real <= PRIVACY.epsilon).all()),
        measured=f"ε ≥ {real[0]:.2g} from rows, ≥ {real[1]:.2g} from noisy counts, claimed {PRIVACY.epsilon:g}",
        twin=f"a release without noise: ε ≥ {twin[0]:.2g} from rows, ≥ {twin[1]:.2g} from counts",
        twin_caught=bool((twin > PRIVACY.epsilon).any()),
    )


CASES = (
    Case(
        name="membership of a canary",
        kind="audit",
        claim="Who holds the whole bundle, and every other row, can't tell whether a given row was in the table.",
        run=membership,
    ),
)
