"""Every solver passes the conformance suite, and every broken twin fails it with a sentence that names the reason."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np
import pytest

from kernelease.arrays import Floats
from kernelease.conformance import check_solver
from kernelease.fit import (
    FixedPoints,
    NormalPoints,
    Outcome,
    PointSolver,
    PointSource,
    PublicPoints,
    Simplex,
    Solution,
    UniformPoints,
)
from kernelease.measured import NoisyEmbedding
from kernelease.noises import SeededNoise
from kernelease.privacy import SystemNoise
from kernelease.seeds import PublicSeed
from tests.fit.embeddings import mixture, of_mixture
from tests.fit.solvers import SOLVERS, Entry

pytestmark = pytest.mark.slow

SOURCES = (
    NormalPoints(dimension=2, scale=3.0),
    UniformPoints(low=(-5.0, -5.0), high=(5.0, 5.0)),
    PublicPoints(mixture(300, seed=8)),
)
SOURCE = SOURCES[0]


@pytest.mark.parametrize("entry", SOLVERS, ids=[entry.name for entry in SOLVERS])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: type(source).__name__)
@pytest.mark.parametrize("floor", [0.005, 0.3])
def test_every_solver_conforms(
    entry: Entry, source: PointSource, floor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    noisy = of_mixture(floor=floor)
    for kind, law in itertools.product((SystemNoise, SeededNoise), ("gaussian", "laplace", "noisy_max")):
        monkeypatch.setattr(kind, law, _no_noise)
    check_solver(entry.solver, noisy, source, constraint=entry.constraint)


def _no_noise(*_: object) -> NoReturn:
    raise AssertionError("A solver must not draw noise.")


@dataclass(frozen=True)
class Altered(PointSolver):
    """A right solver whose answer is changed."""

    change: Callable[[Solution, Floats, NoisyEmbedding], Solution]
    inner: PointSolver = field(default_factory=lambda: FixedPoints(points=40))

    def solve(self, noisy: NoisyEmbedding, target: Floats, source: PointSource, seed: PublicSeed) -> Solution:
        return self.change(self.inner.solve(noisy, target, source, seed), target, noisy)


def _with(**changes: Any) -> Altered:
    return Altered(lambda solution, *_: replace(solution, **changes))


def _of_set(**changes: Callable[[Any], Any]) -> Altered:
    def change(solution: Solution, *_: object) -> Solution:
        new = {name: function(getattr(solution.synthetic, name)) for name, function in changes.items()}
        return replace(solution, synthetic=replace(solution.synthetic, **new))

    return Altered(change)


def _to_the_mean(solution: Solution, _: Floats, noisy: NoisyEmbedding) -> Solution:
    return replace(solution, distance=solution.synthetic.distance(noisy.feature_map, noisy.mean))


def _spoiling_the_target(solution: Solution, target: Floats, _: NoisyEmbedding) -> Solution:
    target *= 2.0
    return solution


def _uniform(solution: Solution, target: Floats, noisy: NoisyEmbedding) -> Solution:
    weights = np.full(len(solution.synthetic), 1.0 / len(solution.synthetic))
    synthetic = replace(solution.synthetic, weights=weights)
    return replace(solution, synthetic=synthetic, distance=synthetic.distance(noisy.feature_map, target))


def _unseeded(solution: Solution, *_: object) -> Solution:
    order = np.random.default_rng().permutation(len(solution.synthetic))
    points, weights = solution.synthetic.points[order], solution.synthetic.weights[order]
    return replace(solution, synthetic=replace(solution.synthetic, points=points, weights=weights))


BROKEN = (
    ("flatters itself", _with(distance=0.0), "distance must be that of the set"),
    ("measures to the noisy mean", Altered(_to_the_mean), "distance must be that of the set"),
    ("doubles the weights", _of_set(weights=lambda w: 2.0 * w), "distance must be that of the set"),
    ("has no noise floor", _with(noise_floor=0.0), "noise_floor must be the embedding's"),
    ("is not optimal", Altered(_uniform), "can be improved"),
    ("is not at the floor", _with(outcome=Outcome.NOISE_FLOOR), "above the noise floor"),
    ("is not exact", _with(outcome=Outcome.EXACT), "claims to be exact"),
    ("claims a selection", _with(outcome=Outcome.SELECTED), "not for solvers to say"),
    ("claims a conversion", _with(outcome=Outcome.CONVERTED), "not for solvers to say"),
    ("changes the target", Altered(_spoiling_the_target), "target must not be changed"),
    ("uses fresh randomness", Altered(_unseeded), "same seed must give the same set"),
    ("drops a column", _of_set(points=lambda z: z[:, :1]), "must have the 2 columns"),
    ("has weights of another shape", _of_set(weights=lambda w: w[:, None]), "one weight per point"),
    ("has infinite weights", _of_set(weights=lambda w: w + np.inf), "Weights must be finite"),
    ("has infinite points", _of_set(points=lambda z: z + np.inf), "Points must be finite"),
    ("has no points", _of_set(points=lambda z: z[:0], weights=lambda w: w[:0]), "at least one point"),
)


@pytest.mark.parametrize(("twin", "sentence"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_broken_twin_is_rejected(twin: PointSolver, sentence: str) -> None:
    with pytest.raises(AssertionError, match=sentence):
        check_solver(twin, of_mixture(), SOURCE, constraint=Simplex())


def test_twin_that_ignores_its_constraint_is_rejected() -> None:
    free = next(entry.solver for entry in SOLVERS if entry.name == "fixed, free")
    with pytest.raises(AssertionError, match=r"Weights must lie in Simplex\(\)"):
        check_solver(free, of_mixture(), SOURCE, constraint=Simplex())


def test_twin_that_changes_the_embedding_is_rejected() -> None:
    def change(solution: Solution, _: Floats, noisy: NoisyEmbedding) -> Solution:
        noisy.measurement.integers[0] += 1 << 60
        return solution

    with pytest.raises(AssertionError, match="embedding must not be changed"):
        check_solver(Altered(change), of_mixture(), SOURCE)


def test_the_unaltered_twin_passes() -> None:
    check_solver(Altered(lambda solution, *_: solution), of_mixture(), SOURCE, constraint=Simplex())
