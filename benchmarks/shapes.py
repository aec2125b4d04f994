"""Adaptive beside one stage, the paper's two algorithms and noisy moments on vectors of eighteen shapes: one table.

python benchmarks/shapes.py             every shape
python benchmarks/shapes.py ring        those whose name contains a word
python benchmarks/shapes.py --jobs 16 --write       in processes; with --write into docs/benchmarks-vectors.md

Each contender has the same public law of points, the same kernel and the same (ε, δ). Algorithm 1 and simplex weights
have the number of points that an oracle would choose, Algorithm 2 likewise. Noisy moments are sums of x and of x·xᵀ
over rows clipped to the ball that the public law declares, with half of the budget each: what an owner would do for a
mean and a covariance alone. Errors of covariances are relative, those of means in standard deviations of the rows.
"""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import machine
from benchmarks.checks import VECTORS, Check, bullets, markdown, table, write_part
from benchmarks.truth import OfRows
from kernelease.arrays import Floats
from kernelease.privacy.calibration import gaussian_mu

ROWS = 20_000
DELTA = 1e-6
COUNTS = (64, 256, 1024)  # M of Algorithm 1, of which the best is shown: an oracle's choice
POINTS = (30, 100)  # M of Algorithm 2, likewise
ALLOWED, HALF = 1.05, 0.7  # how far from the best contender everywhere, and on half of the shapes
NOISES = 200  # of noisy moments: five are too few, in two columns their median is .59 of that of these
ALLOWED_MOMENTS = 1.2  # how much worse than noisy moments a mean or a covariance may be

Maker = Callable[[np.random.Generator, int], Floats]


# --------------------
# Shapes.


@dataclass(frozen=True)
class Shape:
    """Rows, a kernel for them, and the public law of points: normal of some spread, or a declared box."""

    rows: Maker
    kernel: ke.kernels.Kernel
    scale: float
    count: int = ROWS
    box: bool = False

    def law(self, dimension: int) -> ke.fit.NormalPoints | ke.fit.UniformPoints:
        """What is public about where rows lie."""
        if self.box:
            return ke.fit.UniformPoints(low=(-self.scale,) * dimension, high=(self.scale,) * dimension)
        return ke.fit.NormalPoints(dimension=dimension, scale=self.scale)

    def radius(self, dimension: int) -> float:
        """Of a ball that holds the box, or all but a thousandth of the normal law."""
        return self.scale * (math.sqrt(dimension) + (0.0 if self.box else 3.0))


def _mixture(dimension: int, width: float = 0.3, clusters: int = 8) -> Maker:
    def rows(generator: np.random.Generator, count: int) -> Floats:
        centres = generator.normal(1.0, 2.0, (clusters, dimension))
        return centres[generator.integers(clusters, size=count)] + width * generator.standard_normal((count, dimension))

    return rows


def _stretched(dimension: int, clusters: int = 4) -> Maker:
    """Gaussians ten times as long in one direction as in the others."""

    def rows(generator: np.random.Generator, count: int) -> Floats:
        centres = generator.normal(0.0, 2.5, (clusters, dimension))
        axes = generator.standard_normal((clusters, dimension))
        axes /= np.linalg.norm(axes, axis=1, keepdims=True)
        members = generator.integers(clusters, size=count)
        along = 1.5 * generator.standard_normal((count, 1)) * axes[members]
        return centres[members] + along + 0.15 * generator.standard_normal((count, dimension))

    return rows


def _ring(generator: np.random.Generator, count: int) -> Floats:
    angles = generator.uniform(0.0, 2.0 * np.pi, count)
    around = 4.0 * np.column_stack([np.cos(angles), np.sin(angles), np.zeros(count)])
    return around + 0.1 * generator.standard_normal((count, 3))


def _spiral(generator: np.random.Generator, count: int) -> Floats:
    turns = np.sqrt(generator.uniform(0.0, 1.0, count))
    angles = 4.0 * np.pi * turns
    around = 6.0 * turns[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    return around + 0.15 * generator.standard_normal((count, 2))


def _heavy_tails(generator: np.random.Generator, count: int) -> Floats:
    return generator.standard_t(1.5, (count, 2))


def _lattice(generator: np.random.Generator, count: int) -> Floats:
    return 2.0 * generator.integers(-2, 3, (count, 2)).astype(np.float64)


def _uniform(generator: np.random.Generator, count: int) -> Floats:
    return generator.uniform(-4.0, 4.0, (count, 2))


def _narrow(generator: np.random.Generator, count: int) -> Floats:
    """A third of the rows within a fiftieth of a lengthscale, the others around them."""
    wide = generator.normal(0.0, 3.0, (count, 2))
    narrow = np.array([3.0, -2.0]) + 0.02 * generator.standard_normal((count, 2))
    return np.where(generator.random((count, 1)) < 1.0 / 3.0, narrow, wide)


def _one(generator: np.random.Generator, count: int) -> Floats:
    return np.array([1.0, -2.0, 0.5]) + generator.standard_normal((count, 3)) * np.array([0.5, 1.0, 2.0])


def _low_rank(generator: np.random.Generator, count: int) -> Floats:
    """One Gaussian in ten columns with three long axes."""
    axes = generator.standard_normal((3, 10))
    return generator.standard_normal((count, 3)) @ axes + 0.3 * generator.standard_normal((count, 10))


def _gaussian(dimension: int) -> ke.kernels.Gaussian:
    return ke.kernels.Gaussian(lengthscale=(float(np.sqrt(dimension / 2.0)),) * dimension)


SHAPES = {
    "1 column": Shape(_mixture(1), _gaussian(1), 5.0),
    "3 columns": Shape(_mixture(3), _gaussian(3), 5.0),
    "10 columns": Shape(_mixture(10), _gaussian(10), 5.0),
    "20 columns": Shape(_mixture(20), _gaussian(20), 5.0),
    "ring in 3 columns": Shape(_ring, _gaussian(3), 5.0),
    "spiral in 2 columns": Shape(_spiral, _gaussian(2), 5.0),
    "lattice in a box, 2 columns": Shape(_lattice, _gaussian(2), 5.0, box=True),
    "uniform in a box, 2 columns": Shape(_uniform, _gaussian(2), 5.0, box=True),
    "heavy tails, 2 columns": Shape(_heavy_tails, _gaussian(2), 10.0),
    "narrow cluster, 2 columns": Shape(_narrow, _gaussian(2), 5.0),
    "stretched Gaussians, 2 columns": Shape(_stretched(2), _gaussian(2), 5.0),
    "stretched Gaussians, 5 columns": Shape(_stretched(5), _gaussian(5), 5.0),
    "one Gaussian, 3 columns": Shape(_one, _gaussian(3), 5.0),
    "one flat Gaussian, 10 columns": Shape(_low_rank, _gaussian(10), 5.0),
    "1,000 rows, 2 columns": Shape(_mixture(2), _gaussian(2), 5.0, count=1_000),
    "Laplace kernel, 2 columns": Shape(_mixture(2), ke.kernels.Laplace(lengthscale=(2.0, 2.0)), 5.0),
    "Matérn 3/2 kernel, 3 columns": Shape(_mixture(3), ke.kernels.Matern32(lengthscale=(1.5,) * 3), 5.0),
    "rational quadratic, 2 columns": Shape(_mixture(2), ke.kernels.RationalQuadratic(lengthscale=(1.0, 1.0)), 5.0),
}


# --------------------
# Scores.


@dataclass(frozen=True)
class Score:
    """How far a release is: RKHS distance, mean, covariance; weight outside a declared box; CPU
    seconds."""

    distance: float
    mean: float
    covariance: float
    outside: float
    seconds: float


@dataclass(frozen=True)
class Setting:
    """A shape with its rows, at one ε."""

    shape: Shape
    truth: OfRows
    epsilon: float

    @property
    def law(self) -> ke.fit.NormalPoints | ke.fit.UniformPoints:
        """The public one."""
        return self.shape.law(self.truth.rows.shape[1])

    def released(self, method: ke.methods.Method, run: int) -> Score:
        """One release."""
        privacy = ke.Privacy(epsilon=self.epsilon, delta=DELTA)
        start = time.process_time()
        made = ke.release(self.truth.rows, kernel=self.truth.kernel, method=method, privacy=privacy, seed=run)
        seconds = time.process_time() - start
        points, weights = made.points, made.weights
        mean, covariance = self._moments_off(points, weights)
        outside = float(weights[(np.abs(points) > self.shape.scale).any(axis=1)].sum()) if self.shape.box else 0.0
        return Score(self.truth.distance(points, weights), mean, covariance, outside, seconds)

    def noisy_moments(self, run: int) -> tuple[float, float]:
        """Errors of the mean and of the covariance that noisy sums over clipped rows have."""
        generator, rows = np.random.default_rng(run), self.truth.rows
        count, d = rows.shape
        radius, mu = self.shape.radius(d), gaussian_mu(self.epsilon, DELTA) / math.sqrt(2.0)
        clipped = rows * np.minimum(1.0, radius / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300))
        mean = clipped.mean(axis=0) + 2.0 * radius / (count * mu) * generator.standard_normal(d)
        noise = np.triu(generator.standard_normal((d, d)), 1) / math.sqrt(2.0)
        noise = noise + noise.T + np.diag(generator.standard_normal(d))
        second = clipped.T @ clipped / count + math.sqrt(2.0) * radius**2 / (count * mu) * noise
        return self._off(mean, second - np.outer(mean, mean))

    def _moments_off(self, points: Floats, weights: Floats) -> tuple[float, float]:
        mean = weights @ points / weights.sum()
        centred = points - mean
        return self._off(mean, (centred.T * weights) @ centred / weights.sum())

    def _off(self, mean: Floats, covariance: Floats) -> tuple[float, float]:
        rows = self.truth.rows
        truth = np.atleast_2d(np.cov(rows, rowvar=False))
        shift = float(np.linalg.norm(mean - rows.mean(axis=0)) / math.sqrt(np.trace(truth)))
        return shift, float(np.linalg.norm(covariance - truth) / np.linalg.norm(truth))


def _contenders(law: ke.fit.NormalPoints | ke.fit.UniformPoints) -> dict[str, list[ke.methods.Method]]:
    simplex = ke.fit.Simplex()
    return {
        "Adaptive": [ke.Adaptive(points=law)],
        "Algorithm 1": [ke.Subspace(points=law, count=count) for count in COUNTS],
        "simplex": [ke.Subspace(points=law, count=max(COUNTS), constraint=simplex)],
        "Algorithm 2": [
            ke.RandomFeatures(start=law, features=4096, solver=ke.fit.GreedyPreimages(points=points))
            for points in POINTS
        ],
    }


# --------------------
# What is run, each in a process of its own where there are several, and what comes of it.


@dataclass(frozen=True)
class Unit:
    """One release: of a shape with so many rows at most, at one ε, by one of a contender's methods."""

    shape: str
    most: int | None
    energy: float
    epsilon: float
    contender: str
    method: int
    run: int


@lru_cache
def _truth(shape: str, most: int | None, energy: float | None) -> OfRows:
    chosen = SHAPES[shape]
    rows = chosen.rows(np.random.default_rng(0), min(chosen.count, most or chosen.count))
    return OfRows(chosen.kernel, rows, energy)


def _energy(shape: tuple[str, int | None]) -> float:
    return _truth(*shape, None).energy


def _score(unit: Unit) -> Score:
    setting = Setting(SHAPES[unit.shape], _truth(unit.shape, unit.most, unit.energy), unit.epsilon)
    return setting.released(_contenders(setting.law)[unit.contender][unit.method], unit.run)


def _units(shapes: dict[str, float], most: int | None, epsilons: list[float], runs: int) -> list[Unit]:
    law = ke.fit.NormalPoints(dimension=1)
    return [
        Unit(shape, most, energy, epsilon, contender, method, run)
        for contender, methods in _contenders(law).items()
        for shape, energy in shapes.items()
        for epsilon in epsilons
        for method in range(len(methods))
        for run in range(runs)
    ]


def _line(setting: Setting, name: str, scores: dict[Unit, Score]) -> list[str | float]:
    ours, theirs = [], {}
    for contender, methods in _contenders(setting.law).items():
        mine = [(unit.method, s) for unit, s in scores.items() if unit.contender == contender]
        each = [[score for method, score in mine if method == index] for index in range(len(methods))]
        if contender == "Adaptive":
            ours = each[0]
        else:
            theirs[contender] = min(float(np.median([score.distance for score in own])) for own in each)
    distance, mean, covariance, outside, seconds = np.median(
        [(s.distance, s.mean, s.covariance, s.outside, s.seconds) for s in ours], axis=0
    )
    noisy = np.median([setting.noisy_moments(run) for run in range(NOISES)], axis=0)
    return [
        name, setting.epsilon, distance, *theirs.values(), distance / min(theirs.values()),
        max(s.distance for s in ours) / distance, mean / noisy[0], covariance / noisy[1], outside, round(seconds, 1),
    ]  # fmt: skip


HEADER = [
    "shape", "ε", "Adaptive", "Algorithm 1", "simplex", "Algorithm 2", "ratio", "worst run", "mean", "covariance",
    "outside", "CPU s",
]  # fmt: skip


def main(
    word: Annotated[str, typer.Argument(help="Only shapes whose name contains this.")] = "",
    epsilon: Annotated[list[float] | None, typer.Option(help="ε; 0.1 and 1 if not given.")] = None,
    rows: Annotated[int | None, typer.Option(help="Fewer rows, for a quick look.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Releases of each method, of which medians are taken.")] = 5,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    kept: Annotated[Path | None, typer.Option(help="A file of results: go on from them.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the page.")] = False,
) -> None:
    """Print the distance of each release to the private mean embedding, and how good its moments are."""
    names = [name for name in SHAPES if word in name]
    energies = dict(
        zip(names, machine.in_processes(_energy, [(name, rows) for name in names], jobs, kept), strict=True)
    )
    units = _units(energies, rows, epsilon or [0.1, 1.0], runs)
    scores: dict[Unit, Score] = {}
    for unit, score in zip(units, machine.in_processes(_score, units, jobs, kept), strict=True):
        scores[unit] = score
        print(unit.shape, f"{unit.epsilon:g}", unit.contender, unit.method, unit.run, score, flush=True)
    lines = []
    for name, energy in energies.items():
        for value in epsilon or [0.1, 1.0]:
            own = {unit: score for unit, score in scores.items() if (unit.shape, unit.epsilon) == (name, value)}
            lines.append(_line(Setting(SHAPES[name], _truth(name, rows, energy), value), name, own))
    checks = _checks(np.array([line[6:11] for line in lines], dtype=np.float64))
    print(table(f"RKHS distance to the private embedding; medians of {runs} runs", HEADER, lines))
    print(*checks, sep="\n")
    if write:
        words = f"""`make bench-shapes` ({machine.described()}): N = {ROWS:,}, δ = {DELTA:g}, medians of {runs}
            releases. RKHS distance to the private embedding; ours over that of the best contender; ours in the worst
            run over its median; errors of mean and covariance over those of noisy sums; weight outside a declared box;
            CPU seconds."""
        write_part(VECTORS, "Eighteen shapes", words, markdown(HEADER, lines), bullets(checks))


def _checks(numbers: Floats) -> list[Check]:
    ratios, _, means, covariances, outside = numbers.T
    return [
        Check(f"never above {ALLOWED:g} times the best contender", f"{ratios.max():.2f}", ratios.max() <= ALLOWED),
        Check(f"at most {HALF:g} on half of them", f"median {np.median(ratios):.2f}", np.median(ratios) <= HALF),
        Check(
            f"mean and covariance never above {ALLOWED_MOMENTS:g} times those of noisy sums",
            f"{means.max():.2f}, {covariances.max():.2f}",
            max(means.max(), covariances.max()) <= ALLOWED_MOMENTS,
        ),
        Check("nothing outside a declared box", f"{outside.max():.2g}", outside.max() == 0.0),
    ]


if __name__ == "__main__":
    typer.run(main)
