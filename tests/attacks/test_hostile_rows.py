"""A hostile row moves what a method measures by no more than the sensitivity on its certificate, in integers."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from audits.methods import CORNERS, PRIVACY, of_method
from audits.sums import HOSTILE, STRANGE
from audits.transcript import record
from audits.twins import NoNoise
from kernelease import pipeline
from kernelease.features import Fourier
from kernelease.fit import PublicPoints, UniformPoints
from kernelease.methods import Interactions, Method, RandomFeatures, Subspace
from kernelease.privacy import NoiseSource
from kernelease.table import Schema

ORDINARY = [0.0, 1.0, -1.0]
METHODS: dict[str, Method] = {
    "Subspace": Subspace(points=PublicPoints(np.concatenate([CORNERS, CORNERS + 0.5])), count=4),
    "RandomFeatures": RandomFeatures(
        start=UniformPoints(low=(0.0,), high=(1.0,)),
        features=Fourier(frequencies=np.array([[1.0], [0.3], [7.0]]), resolution=(2.0**-20,)),
    ),
}


def exact_vectors(run: Any, table: Any) -> tuple[list[Any], Any]:
    """What the mechanisms are given, and what the run returns."""
    kept: list[Any] = []

    def keeping(rows: Any, noise: NoiseSource) -> object:
        kept.append(run(rows, noise))
        return kept[-1]

    return [event.exact for event in record(keeping, table, NoNoise())], kept[-1]


def moved_too_far(before: Any, after: Any, step: Any) -> bool:
    limit = Fraction(step.sensitivity) * 2**step.bits
    return sum(int(gap) ** 2 for gap in after - before) > limit**2


@pytest.mark.parametrize("cell", HOSTILE, ids=repr)
@pytest.mark.parametrize("name", METHODS)
def test_a_hostile_row_of_an_array(name: str, cell: float) -> None:
    run = of_method(METHODS[name])
    (before,), measured = exact_vectors(run, [[x] for x in ORDINARY])
    (after,), _ = exact_vectors(run, [[cell], *([x] for x in ORDINARY[1:])])
    assert not moved_too_far(before, after, measured.steps[0])


SCHEMA = Schema.parse("""
[columns.text]
type = "category"
values = ["red", "green"]
other = true
nullable = true
[columns.number]
type = "number"
min = 0
max = 100
nullable = true
[columns.day]
type = "datetime"
min = 2020-01-01T00:00:00
max = 2030-01-01T00:00:00
""")
INSTANTS = [0, 1, -1, 2**63 - 1, -(2**63), None]


def a_table(cell: Any, instant: int | None) -> pa.Table:
    text = cell if isinstance(cell, str) else repr(cell)[:50]
    number = float(cell) if isinstance(cell, float) else None
    return pa.table(
        {
            "text": pa.array([text, "red", None]),
            "number": pa.array([number, 5.0, None], pa.float64()),
            "day": pa.array([instant, 10**9, None], pa.int64()).cast(pa.timestamp("us")),
        }
    )


def measured_table(table: Any, noise: NoiseSource) -> Any:
    method = Interactions(triples=0)
    return pipeline.measure(table, schema=SCHEMA, privacy=PRIVACY, method=method, noise=noise)


CELLS = [cell for cell in STRANGE if isinstance(cell, float | str)]


@pytest.fixture(scope="module")
def ordinary() -> tuple[list[Any], Any]:
    return exact_vectors(measured_table, a_table("red", 10**15))


@pytest.mark.parametrize(
    ("cell", "instant"), [*zip(CELLS, itertools.cycle(INSTANTS), strict=False)], ids=lambda value: repr(value)[:20]
)
def test_a_hostile_row_of_a_table(ordinary: tuple[list[Any], Any], cell: Any, instant: int | None) -> None:
    """Single columns are measured first, whatever the noise; every row is in one cell of each."""
    before, measured = ordinary
    after, _ = exact_vectors(measured_table, a_table(cell, instant))
    for index in range(len(SCHEMA)):
        assert sum(after[index]) == sum(before[index])
        assert not moved_too_far(before[index], after[index], measured.certificate.steps[index])


def test_the_comparison_can_fail() -> None:
    run = of_method(METHODS["Subspace"])
    (before,), measured = exact_vectors(run, [[0.0]])
    assert moved_too_far(before, before + 2**80, measured.steps[0])
