"""Vectors without classes: ours beside what followed the paper, each by its own measure and by those of the others.

python benchmarks/descendants.py [--runs 5] [--only skewed] [--jobs 16] [--write]

Contenders are small versions of our own, made from their papers, all with Gaussian noise at the same (ε, δ) and with as
many points as ours: DP-MERF (Harder, Adamczewski & Park 2021: points moved to match noisy random Fourier features),
DP-HP (Vinaroz, Charusaie, Harder, Adamczewski & Park 2022: the same with Hermite features, of all columns or of pairs),
private KDE (Wagner, Naamad & Mishra 2023: densities from noisy Fourier features, or from noisy counts of hash cells),
the private measure (He, Vershynin & Zhu 2023: noisy counts of halved boxes, as deep as the noise lets be seen), PrivHP
(Holland, Camtepe, Tran, Wang & Rizoiu 2024: the same, but only the fullest boxes are halved again), Private Evolution
(Lin, Gopi, Kulkarni, Nori & Yekhanin 2024: noisy votes for candidates) and the Gaussian of noisy moments. Vectors with
classes are in embeddings.py. With --write the page goes to docs/benchmarks-vectors.md.
"""

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.stats import wasserstein_distance

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import machine
from benchmarks.checks import VECTORS, Check, markdown, write_part
from benchmarks.truth import OfRows
from kernelease.arrays import Floats
from kernelease.privacy.calibration import gaussian_mu

EPSILON, DELTA = 1.0, 1e-6
ROWS = 10_000
HELD_OUT = 500  # fresh rows, at which densities are asked
POINTS = 2_048  # that each contender makes, as ours does
FREQUENCIES = 500  # of DP-MERF and of private KDE
STEPS = 100  # of Adam
_MU = gaussian_mu(EPSILON, DELTA)


# --------------------
# Data: rows within a box that is public, and the kernel in which distances and densities are told.


@dataclass(frozen=True)
class Setting:
    """Private rows, fresh ones, half the width of the box around 0, and a kernel of lengthscale 1."""

    name: str
    rows: Floats
    fresh: Floats
    half_width: float
    kernel: ke.kernels.Gaussian | ke.kernels.Laplace

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.rows.shape[1])

    @property
    def law(self) -> ke.fit.UniformPoints:
        """All that is public."""
        return ke.fit.UniformPoints(low=(-self.half_width,) * self.dimension, high=(self.half_width,) * self.dimension)


def _mixture(dimension: int) -> Callable[[np.random.Generator, int], Floats]:
    centres = np.random.default_rng(1).uniform(-5.0, 5.0, (8, dimension))

    def rows(generator: np.random.Generator, count: int) -> Floats:
        members = generator.choice(8, count, p=np.arange(1, 9) / 36.0)
        return centres[members] + 0.5 * generator.standard_normal((count, dimension))

    return rows


def _skewed(generator: np.random.Generator, count: int) -> Floats:
    """Most of them near one end: PrivHP's own kind."""
    return np.minimum(generator.exponential(1.0, (count, 1)), 16.0) - 8.0


def _square(generator: np.random.Generator, count: int) -> Floats:
    """Every place alike: what the private measure is proved for."""
    return generator.uniform(-8.0, 8.0, (count, 2))


SETTINGS = {
    "mixture of Gaussians, 2 columns": (_mixture(2), 2, ke.kernels.Gaussian),
    "mixture of Gaussians, 5 columns": (_mixture(5), 5, ke.kernels.Gaussian),
    "mixture of Gaussians, 2 columns, Laplace kernel": (_mixture(2), 2, ke.kernels.Laplace),
    "skewed, 1 column": (_skewed, 1, ke.kernels.Gaussian),
    "uniform in a square": (_square, 2, ke.kernels.Gaussian),
}


@lru_cache
def setting_of(name: str) -> Setting:
    """One kind of data, made when it is wanted."""
    make, dimension, kernel = SETTINGS[name]
    return Setting(
        name=name,
        rows=np.clip(make(np.random.default_rng(0), ROWS), -8.0, 8.0),
        fresh=make(np.random.default_rng(2), HELD_OUT),
        half_width=8.0,
        kernel=kernel(lengthscale=(1.0,) * dimension),
    )


# --------------------
# Contenders. Each returns points and weights, and densities at fresh rows where it has them of its own.


@dataclass(frozen=True)
class Made:
    """Points with weights (none: it makes no rows), and its own densities at the fresh rows."""

    points: Floats | None = None
    weights: Floats | None = None
    density: Floats | None = None


def _equal(points: Floats) -> Made:
    return Made(points, np.full(len(points), 1.0 / len(points)))


def ours(setting: Setting, seed: int) -> Made:
    """One call, with its defaults; densities from the noisy numbers."""
    release = ke.release(
        setting.rows,
        kernel=setting.kernel,
        method=ke.Adaptive(points=setting.law),
        privacy=ke.Privacy(epsilon=EPSILON, delta=DELTA),
        seed=seed,
    )
    return Made(release.points, release.weights, release.vectors().density(setting.fresh).value)


def _moved(start: Floats, slope: Callable[[Floats], Floats], reach: float) -> Floats:
    """Points moved down a slope by Adam, within the box."""
    points, first, second = start.copy(), np.zeros_like(start), np.zeros_like(start)
    for step in range(1, STEPS + 1):
        gradient = slope(points)
        first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
        points -= (
            0.1 * (1.0 - step / (STEPS + 1)) * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-12)
        )
        np.clip(points, -reach, reach, out=points)
    return points


def _promising(setting: Setting, density: Callable[[Floats], Floats], generator: np.random.Generator) -> Floats:
    """Public draws, taken in proportion to what the noisy features say of the density: where to start from."""
    draws = setting.law.draw(4 * POINTS, generator)
    law = np.maximum(density(draws), 0.0) ** 2 + 1e-12
    return np.asarray(draws[generator.choice(len(draws), POINTS, p=law / law.sum())], dtype=np.float64)


def _waves(setting: Setting, generator: np.random.Generator) -> Floats:
    return setting.kernel.frequencies(generator, FREQUENCIES, setting.dimension)


def _noisy_waves(setting: Setting, waves: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Means of cosines and sines, of norm 1: Δ = 2/N."""
    phases = setting.rows @ waves.T
    noise = 2.0 / (_MU * len(setting.rows)) * generator.standard_normal((2, len(waves)))
    root = math.sqrt(len(waves))
    return np.cos(phases).mean(axis=0) / root + noise[0], np.sin(phases).mean(axis=0) / root + noise[1]


def dp_merf(setting: Setting, seed: int) -> Made:
    """Points moved to match noisy random Fourier features."""
    generator = np.random.default_rng(seed)
    waves = _waves(setting, generator)
    cosine, sine = _noisy_waves(setting, waves, generator)
    root = math.sqrt(len(waves))

    def slope(points: Floats) -> Floats:
        phases = points @ waves.T
        cosines, sines = np.cos(phases), np.sin(phases)
        a, b = cosines.mean(axis=0) / root - cosine, sines.mean(axis=0) / root - sine
        return (b * cosines - a * sines) @ waves

    def density(points: Floats) -> Floats:
        phases = points @ waves.T
        return np.cos(phases) @ cosine + np.sin(phases) @ sine

    return _equal(_moved(_promising(setting, density, generator), slope, setting.half_width))


def private_kde(setting: Setting, seed: int) -> Made:
    """Densities from noisy random Fourier features."""
    generator = np.random.default_rng(seed)
    waves = _waves(setting, generator)
    cosine, sine = _noisy_waves(setting, waves, generator)
    phases = setting.fresh @ waves.T
    return Made(density=(np.cos(phases) @ cosine + np.sin(phases) @ sine) / math.sqrt(len(waves)))


def private_kde_cells(setting: Setting, seed: int, tables: int = 200) -> Made:
    """Densities from noisy counts of random cells, whose chance to hold both of two rows is the Laplace kernel."""
    generator = np.random.default_rng(seed)
    noise = math.sqrt(2.0 * tables) / _MU
    found = np.zeros(len(setting.fresh))
    for _ in range(tables):
        widths = generator.gamma(2.0, 1.0, setting.dimension)
        offsets = generator.uniform(0.0, widths)
        counts: dict[tuple[int, ...], float] = {}
        for cell in map(tuple, np.floor((setting.rows - offsets) / widths).astype(int).tolist()):
            counts[cell] = counts.get(cell, 0.0) + 1.0
        for index, cell in enumerate(map(tuple, np.floor((setting.fresh - offsets) / widths).astype(int).tolist())):
            if cell not in counts or counts[cell] == int(counts[cell]):  # a cell has noise of its own, drawn once
                counts[cell] = counts.get(cell, 0.0) + noise * generator.standard_normal()
            found[index] += counts[cell]
    return Made(density=found / (tables * len(setting.rows)))


def _hermite(x: Floats, rho: float, order: int) -> tuple[Floats, Floats]:
    """Features of the Gaussian kernel by Mehler's formula, and their slopes: (n,) → (n, order + 1) each."""
    features, slopes = np.empty((len(x), order + 1)), np.empty((len(x), order + 1))
    decay = rho / (1.0 + rho)
    features[:, 0] = (1.0 - rho**2) ** 0.25 * np.exp(-decay * x**2)
    before = np.zeros(len(x))
    for c in range(order + 1):
        slopes[:, c] = math.sqrt(2.0 * c * rho) * before - 2.0 * decay * x * features[:, c]
        if c < order:
            more = math.sqrt(2.0 * rho / (c + 1)) * x * features[:, c] - rho * math.sqrt(c / (c + 1)) * before
            before, features[:, c + 1] = features[:, c], more
    return features, slopes


def dp_hp(setting: Setting, seed: int, order: int = 100) -> Made:
    """Points moved to match noisy Hermite features: of every column, and of products of two."""
    generator, d = np.random.default_rng(seed), setting.dimension
    rho = math.sqrt(2.0) - 1.0  # ρ/(1 − ρ²) = 1/2: a lengthscale of 1
    pairs = list(itertools.combinations(range(d), 2)) or [(0, 0)]
    noise = 2.0 / (_MU * len(setting.rows)) * math.sqrt(len(pairs))
    targets = []
    for i, j in pairs:
        a, b = (_hermite(setting.rows[:, column], rho, order)[0] for column in (i, j))
        mean = a.T @ b / len(a) if i != j else np.diag(a.mean(axis=0))
        drawn = generator.standard_normal((order + 1, order + 1))
        targets.append(mean + noise * (drawn if i != j else np.diag(np.diag(drawn))))

    def slope(points: Floats) -> Floats:
        result = np.zeros_like(points)
        each = [_hermite(column, rho, order) for column in points.T]
        for (i, j), target in zip(pairs, targets, strict=True):
            (a, by_a), (b, by_b) = each[i], each[j]
            if i == j:
                result[:, i] += by_a @ (a.mean(axis=0) - np.diag(target))
                continue
            gap = a.T @ b / len(points) - target
            result[:, i] += (by_a * (b @ gap.T)).sum(axis=1)
            result[:, j] += (by_b * (a @ gap)).sum(axis=1)
        return result

    def density(points: Floats) -> Floats:
        each = [_hermite(column, rho, order)[0] for column in points.T]
        sums = [
            each[i] @ np.diag(target) if i == j else ((each[i] @ target) * each[j]).sum(axis=1)
            for (i, j), target in zip(pairs, targets, strict=True)
        ]
        return np.maximum(np.min(sums, axis=0), 0.0)  # mass is where all pairs say so

    return _equal(_moved(_promising(setting, density, generator), slope, setting.half_width))


def _halved(setting: Setting, seed: int, most: int | None) -> Made:
    """Boxes halved in one column after another, noisy counts at each depth, made consistent from the top."""
    generator, d = np.random.default_rng(seed), setting.dimension
    depth = max(1, math.floor(math.log2(_MU * len(setting.rows))))
    shares = 2.0 ** (0.5 * (1.0 - 1.0 / d) * np.arange(1, depth + 1))  # deep boxes are many and small
    shares = shares ** (-2.0 / 3.0) / (shares ** (-2.0 / 3.0)).sum()
    places = (setting.rows + setting.half_width) / (2.0 * setting.half_width)
    codes = np.zeros(len(places), dtype=np.int64)
    boxes, masses = np.zeros(1, dtype=np.int64), np.array([float(len(places))])
    lows, sizes = np.zeros((1, d)), np.ones((1, d))
    finished: list[tuple[Floats, Floats, Floats]] = []
    for level in range(depth):
        column = level % d
        bits = np.floor(places[:, column] * 2.0 ** (level // d + 1)).astype(np.int64) & 1
        codes = 2 * codes + np.where(places[:, column] >= 1.0, 1, bits)
        if most is not None and len(boxes) > most:
            order = np.argsort(-masses, kind="stable")
            kept, rest = order[:most], order[most:]
            finished.append((lows[rest], sizes[rest], masses[rest]))
            boxes, masses, lows, sizes = boxes[kept], masses[kept], lows[kept], sizes[kept]
        children = np.concatenate([2 * boxes, 2 * boxes + 1])
        values, numbers = np.unique(codes, return_counts=True)
        at = np.minimum(np.searchsorted(values, children), len(values) - 1)
        counts = np.where(values[at] == children, numbers[at], 0)
        noise = math.sqrt(2.0) / (_MU * math.sqrt(shares[level]))
        noisy = np.maximum(counts + noise * generator.standard_normal(len(children)), 0.0).reshape(2, -1)
        total = noisy.sum(axis=0)
        parts = np.where(total > 0.0, noisy / np.where(total > 0.0, total, 1.0), 0.5)
        half = sizes.copy()
        half[:, column] /= 2.0
        upper = lows.copy()
        upper[:, column] += half[:, column]
        boxes, masses = children, (parts * masses).ravel()
        lows, sizes = np.concatenate([lows, upper]), np.concatenate([half, half])
    finished.append((lows, sizes, masses))
    lows, sizes, masses = (np.concatenate(arrays) for arrays in zip(*finished, strict=True))
    law = masses / masses.sum()
    ends = np.floor(np.cumsum(law) * POINTS + generator.random()).astype(np.int64)
    chosen = np.repeat(np.arange(len(law)), np.diff(ends, prepend=0))
    drawn = lows[chosen] + sizes[chosen] * generator.random((len(chosen), d))
    return _equal((2.0 * drawn - 1.0) * setting.half_width)


def private_measure(setting: Setting, seed: int) -> Made:
    """All boxes, down to those that hold about one row by the noise."""
    return _halved(setting, seed, None)


def private_pruned(setting: Setting, seed: int) -> Made:
    """PrivHP: the 64 fullest boxes of each depth are halved again."""
    return _halved(setting, seed, 64)


def private_evolution(setting: Setting, seed: int, rounds: int = 10) -> Made:
    """Every row votes for the nearest candidate; candidates with votes stay, perturbed by less and less."""
    generator = np.random.default_rng(seed)
    points = setting.law.draw(POINTS, generator)
    noise = math.sqrt(2.0 * rounds) / _MU
    for turn in range(rounds):
        squares = (points**2).sum(axis=1)
        nearest = [
            np.argmin(squares - 2.0 * block @ points.T, axis=1)
            for block in np.array_split(setting.rows, max(1, len(setting.rows) // 1000))
        ]
        votes = np.bincount(np.concatenate(nearest), minlength=POINTS) + noise * generator.standard_normal(POINTS)
        kept = np.maximum(votes - 2.0 * noise, 0.0)
        law = kept / kept.sum() if kept.any() else np.full(POINTS, 1.0 / POINTS)
        spread = 0.5 * setting.half_width * 0.6**turn
        chosen = points[generator.choice(POINTS, POINTS, p=law)]
        points = np.clip(
            chosen + spread * generator.standard_normal(chosen.shape), -setting.half_width, setting.half_width
        )
    return _equal(points)


def noisy_moments(setting: Setting, seed: int) -> Made:
    """A Gaussian with the noisy mean and covariance, half of the budget each."""
    generator, (count, d) = np.random.default_rng(seed), setting.rows.shape
    radius, mu = setting.half_width * math.sqrt(d), _MU / math.sqrt(2.0)
    mean = setting.rows.mean(axis=0) + 2.0 * radius / (count * mu) * generator.standard_normal(d)
    noise = np.triu(generator.standard_normal((d, d)), 1) / math.sqrt(2.0)
    noise = noise + noise.T + np.diag(generator.standard_normal(d))
    second = setting.rows.T @ setting.rows / count + math.sqrt(2.0) * radius**2 / (count * mu) * noise
    values, axes = np.linalg.eigh(second - np.outer(mean, mean))
    drawn = generator.standard_normal((POINTS, d)) * np.sqrt(np.maximum(values, 0.0))
    return _equal(mean + drawn @ axes.T)


def fresh_rows(setting: Setting, seed: int) -> Made:
    """So many of the private rows themselves: no noise, and no privacy."""
    return _equal(setting.rows[np.random.default_rng(seed).choice(ROWS, POINTS, replace=False)])


# --------------------
# Measures: all are distances, the less the better.

MEASURES = ("RKHS", "density", "sliced W1", "Fréchet", "mean", "covariance")


def scores(setting: Setting, made: Made) -> Floats:
    """By all measures; those that need rows are missing where there are none."""
    truth = OfRows(setting.kernel, setting.rows)
    exact = setting.kernel.gram(setting.fresh, setting.rows).mean(axis=1)
    if made.points is None or made.weights is None:
        assert made.density is not None
        return np.array([np.nan, np.abs(made.density - exact).mean() / exact.mean(), *[np.nan] * 4])
    points, weights = made.points, made.weights / made.weights.sum()
    density = setting.kernel.gram(setting.fresh, points) @ weights if made.density is None else made.density
    means = weights @ points, setting.rows.mean(axis=0)
    centred = points - means[0]
    covariances = (centred.T * weights) @ centred, np.atleast_2d(np.cov(setting.rows, rowvar=False))
    spread = math.sqrt(float(np.trace(covariances[1])))
    return np.array(
        [
            truth.distance(points, weights),
            np.abs(density - exact).mean() / exact.mean(),
            _sliced(points, weights, setting.rows),
            math.sqrt(max(0.0, frechet(*means, *covariances))),
            np.linalg.norm(means[0] - means[1]) / spread,
            np.linalg.norm(covariances[0] - covariances[1]) / np.linalg.norm(covariances[1]),
        ]
    )


def _sliced(points: Floats, weights: Floats, rows: Floats) -> float:
    directions = np.random.default_rng(0).standard_normal((32 if rows.shape[1] > 1 else 1, rows.shape[1]))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return float(np.mean([wasserstein_distance(points @ u, rows @ u, weights) for u in directions]))


def frechet(mean: Floats, other: Floats, covariance: Floats, theirs: Floats) -> float:
    """The squared Wasserstein distance of two Gaussians, as images are judged by: ‖m − m′‖² + tr(C + C′ − 2(CC′)^½)."""
    values, axes = np.linalg.eigh(covariance)
    root = (axes * np.sqrt(np.maximum(values, 0.0))) @ axes.T
    shared = np.sqrt(np.maximum(np.linalg.eigvalsh(root @ theirs @ root), 0.0)).sum()
    return float(((mean - other) ** 2).sum() + np.trace(covariance) + np.trace(theirs) - 2.0 * shared)


# Each contender, and the measure that its own paper is about.
CONTENDERS: dict[str, tuple[Callable[[Setting, int], Made], str]] = {
    "ours": (ours, ""),
    "DP-MERF": (dp_merf, "RKHS"),
    "DP-HP": (dp_hp, "RKHS"),
    "private KDE, Fourier": (private_kde, "density"),
    "private KDE, cells": (private_kde_cells, "density"),
    "private measure": (private_measure, "sliced W1"),
    "PrivHP": (private_pruned, "sliced W1"),
    "Private Evolution": (private_evolution, "Fréchet"),
    "noisy moments": (noisy_moments, "covariance"),
    "real rows, as many": (fresh_rows, ""),
}


# Why a contender may be ahead, by part of what is claimed.
REASONS = {
    "sliced W1": "The kernel, of lengthscale 1, sees little of what is finer; halved boxes have no such limit.",
    "Laplace kernel": "Gaussians explain rows in the Gaussian kernel only; elsewhere weights are free.",
}


def _taking_part(setting: Setting) -> Iterator[str]:
    """Hash cells have the Laplace kernel, Hermite features the Gaussian one."""
    laplace = isinstance(setting.kernel, ke.kernels.Laplace)
    for name in CONTENDERS:
        if not (name == "private KDE, cells" and not laplace) and not (name == "DP-HP" and laplace):
            yield name


def _score(unit: tuple[str, str, int]) -> Floats:
    """One release by all measures, and its CPU seconds."""
    name, contender, seed = unit
    setting = setting_of(name)
    start = time.process_time()
    made = CONTENDERS[contender][0](setting, seed)
    seconds = time.process_time() - start
    return np.append(scores(setting, made), seconds)


def _checks(setting: Setting, medians: dict[str, Floats]) -> Iterator[Check]:
    for name, (_, measure) in CONTENDERS.items():
        if measure and name in medians:
            at = MEASURES.index(measure)
            mine, theirs = float(medians["ours"][at]), float(medians[name][at])
            claim = f"{setting.name}: {name} by {measure} at most level with ours"
            yield Check(claim, f"{theirs:.4f}, ours {mine:.4f}", mine <= theirs)


def _part(setting: Setting, medians: dict[str, Floats]) -> str:
    lines = []
    for name, values in medians.items():
        own = CONTENDERS[name][1]
        cells = [
            "–" if np.isnan(value) else f"**{value:.4f}**" if measure == own else f"{value:.4f}"
            for measure, value in zip(MEASURES, values, strict=False)
        ]
        lines.append((name, *cells, f"{values[-1]:.1f}"))
    title = f"### {setting.name[0].upper()}{setting.name[1:]}"
    behind = [
        f"Behind: {check.claim.split(': ', 1)[1].split(' at most')[0]}, {check.numbers}. {reason}".rstrip()
        for check in _checks(setting, medians)
        for reason in [next((words for measure, words in REASONS.items() if measure in check.claim), "")]
        if not check.holds
    ]
    return "\n\n".join([title, markdown(("", *MEASURES, "CPU s"), lines), *behind])


def main(
    runs: Annotated[int, typer.Option(min=1, help="Releases of each.")] = 5,
    only: Annotated[str, typer.Option(help="Only data whose name contains this.")] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    kept: Annotated[Path | None, typer.Option(help="A file of results: go on from them.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the page.")] = False,
) -> None:
    """Make points, judge them, say who is nearer."""
    chosen = [name for name in SETTINGS if only in name]
    units = [
        (name, contender, seed)
        for name in chosen
        for contender in _taking_part(setting_of(name))
        for seed in range(runs)
    ]
    found: dict[str, dict[str, list[Floats]]] = {}
    for unit, score in zip(units, machine.in_processes(_score, units, jobs, kept), strict=True):
        found.setdefault(unit[0], {}).setdefault(unit[1], []).append(score)
        print(*unit, *(f"{value:.4f}" for value in score), flush=True)
    medians = {name: {one: np.median(s, axis=0) for one, s in own.items()} for name, own in found.items()}
    for name in chosen:
        print(*_checks(setting_of(name), medians[name]), sep="\n")
    if write:
        words = f"""`make bench-descendants` ({machine.described()}): N = {ROWS:,}, ε = {EPSILON:g}, δ = {DELTA:g},
            medians of {runs} runs, {POINTS:,} points each. What a contender's own paper is about is in bold. All
            measures are distances: RKHS distance to the private rows; mean error of the kernel density at {HELD_OUT}
            fresh rows, over its mean; W1, averaged over 32 directions; Fréchet distance (of Gaussians with the same
            moments); mean, in standard deviations; covariance, relative. Contenders are small versions of our own,
            made from their papers (`benchmarks/descendants.py` names them); noise is Gaussian for all. What is not
            private is last."""
        parts = (_part(setting_of(name), medians[name]) for name in chosen)
        write_part(VECTORS, "Beside what followed the paper", words, *parts)


if __name__ == "__main__":
    typer.run(main)
