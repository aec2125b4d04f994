"""The table of all point solvers: one line each drives the conformance suite."""

from typing import NamedTuple

from kernelease.fit import (
    Constraint,
    FixedPoints,
    Free,
    GreedyPreimages,
    L1Ball,
    PointSolver,
    Simplex,
    SlidingFrankWolfe,
)


class Entry(NamedTuple):
    name: str
    solver: PointSolver
    constraint: Constraint


SOLVERS = (
    Entry("fixed, simplex", FixedPoints(points=60), Simplex()),
    Entry("fixed, bounded", FixedPoints(points=60, constraint=L1Ball(2.0)), L1Ball(2.0)),
    Entry("fixed, free", FixedPoints(points=60, constraint=Free()), Free()),
    Entry("fixed, more points than features", FixedPoints(points=200), Simplex()),
    Entry("greedy, bounded", GreedyPreimages(points=15), L1Ball(1.0)),
    Entry("greedy, simplex", GreedyPreimages(points=15, constraint=Simplex()), Simplex()),
    Entry("greedy, free", GreedyPreimages(points=15, constraint=Free()), Free()),
    Entry("greedy, one point", GreedyPreimages(points=1), L1Ball(1.0)),
    Entry("greedy to the last point", GreedyPreimages(points=15, stop_at_noise=False), L1Ball(1.0)),
    Entry("sliding", SlidingFrankWolfe(lengthscale=1.0, rounds=3, draws=256), Simplex()),
)
