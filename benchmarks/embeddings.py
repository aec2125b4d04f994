"""Vectors of norm 1 with classes: rows of ours, and of what others would do, as training data and as a distribution.

python benchmarks/embeddings.py [--runs 5] [--only texts] [--jobs 16] [--write]

The texts are docstrings of four Python libraries, by TF-IDF and SVD to 50 columns; the digits are scikit-learn's,
8 × 8, by 50 principal components; the third set is generated, in 384 columns. Contenders are small versions of our own,
made from their papers, at the same (ε, δ): noisy class moments (counts, means, covariances, clipped to be positive),
DP-MERF (Harder, Adamczewski & Park 2021: points moved to match noisy random features of each class), Private Evolution
(Lin et al. 2024: noisy votes for candidates, without a foundation model: variations are perturbations on the sphere).
"""

import ast
import importlib.util
import math
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # so that this file runs as a script

import kernelease as ke
from benchmarks import machine
from benchmarks.checks import VECTORS, Check, bullets, markdown, write_part
from kernelease.arrays import Floats, Integers
from kernelease.features.moments import unit_vectors
from kernelease.privacy.calibration import gaussian_mu

EPSILON, DELTA = 1.0, 1e-5
LIBRARIES = ("sklearn", "scipy", "pandas", "pyspark")
LENGTHSCALE = 0.7  # of the Gaussian kernel in which distances are told
PUBLIC = 1024
MOST_COMPARED = 3000  # rows of each side of a distance

Labelled = tuple[Floats, Integers]


# --------------------
# Data.


@dataclass(frozen=True)
class Data:
    """Private rows, public rows of the same law (none where there are too few), and fresh ones to judge by."""

    name: str
    private: Labelled
    public: Labelled | None
    fresh: Labelled

    @property
    def classes(self) -> int:
        """C."""
        return int(self.private[1].max()) + 1


def docstrings(library: str) -> Iterator[str]:
    """Every docstring of a library's modules, in the order of their paths, without its tests."""
    spec = importlib.util.find_spec(library)
    assert spec is not None
    assert spec.origin is not None
    root = Path(spec.origin).parent
    for path in sorted(root.rglob("*.py")):
        if "test" in str(path.relative_to(root)):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, ValueError):
            continue
        kinds = (ast.FunctionDef, ast.ClassDef, ast.Module, ast.AsyncFunctionDef)
        yield from filter(None, (ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)))


def texts(rows: int = 5000, fresh: int = 2000, dimension: int = 50) -> Data:
    """Pieces of 40 words."""
    generator = np.random.default_rng(0)
    pieces: list[str] = []
    labels: list[int] = []
    each = (rows + fresh + PUBLIC) // len(LIBRARIES)
    for code, library in enumerate(LIBRARIES):
        words = (re.findall(r"[a-z]{3,}", text.lower()) for text in docstrings(library))
        own = sorted({" ".join(w[i : i + 40]) for w in words for i in range(0, len(w) - 19, 40)})
        pieces += [own[i] for i in generator.permutation(len(own))[:each]]
        labels += [code] * each
    counts = TfidfVectorizer(stop_words="english", min_df=3, sublinear_tf=True).fit_transform(pieces)
    vectors = unit_vectors(TruncatedSVD(dimension, random_state=0).fit_transform(counts))
    return _parted("texts", vectors, np.array(labels), rows, PUBLIC, generator)


def digits(dimension: int = 50) -> Data:
    """1,397 rows, and 400 to judge by."""
    pixels, labels = load_digits(return_X_y=True)
    vectors = unit_vectors(PCA(dimension, random_state=0).fit_transform(pixels / 16.0))
    return _parted("digits", vectors, labels, 1397, 0, np.random.default_rng(0))


def generated(rows: int = 50_000, dimension: int = 384, classes: int = 10) -> Data:
    """Classes near each other, with a common covariance of 16 strong axes and 4 of each class's own."""
    generator = np.random.default_rng(0)
    count = rows + 3000

    def directions(*shape: int) -> Floats:
        return np.asarray(generator.standard_normal((*shape, dimension)) / math.sqrt(dimension))

    centres = 0.12 * directions(classes)
    common = 0.3 * np.geomspace(1.0, 0.2, 16)[:, None] * directions(16)
    own = 0.15 * directions(classes, 4)
    labels = generator.integers(0, classes, count)
    vectors = 0.2 * directions() + centres[labels] + generator.standard_normal((count, 16)) @ common
    vectors += np.einsum("nk,nkd->nd", generator.standard_normal((count, 4)), own[labels])
    vectors += 0.6 * directions(count)
    return _parted("generated", unit_vectors(vectors), labels, rows, 0, generator)


def _parted(name: str, x: Floats, y: Integers, rows: int, public: int, generator: np.random.Generator) -> Data:
    order = generator.permutation(len(x))
    mine, known, rest = np.split(order, [rows, rows + public])
    return Data(name, (x[mine], y[mine]), (x[known], y[known]) if public else None, (x[rest], y[rest]))


# --------------------
# Contenders. Each returns vectors, classes and weights.

Rows = tuple[Floats, Integers, Floats]
_MU = gaussian_mu(EPSILON, DELTA)


def _equal(x: Floats, y: Integers) -> Rows:
    return x, y, np.full(len(x), 1.0 / len(x))


def ours(data: Data, seed: int, public: Labelled | None = None) -> Rows:
    """One call, with its defaults."""
    x, y = data.private
    release = ke.release(x, labels=y, classes=range(data.classes), public=public, privacy=(EPSILON, DELTA), seed=seed)
    vectors = release.vectors()
    assert vectors.labels is not None
    return vectors.rows, vectors.labels.astype(np.int64), vectors.weights


def class_moments(data: Data, seed: int) -> Rows:
    """Noisy counts, means and second moments of each class, a Gaussian for each, as they are."""
    x, y = data.private
    generator, d = np.random.default_rng(seed), x.shape[1]
    shares = (0.1, 0.45, 0.45)
    noise = [
        norm / (_MU * math.sqrt(share)) for norm, share in zip((math.sqrt(2), 2.0, math.sqrt(2)), shares, strict=True)
    ]
    count = min(len(x), 10_000)
    parts, labels = [], []
    numbers = np.maximum(np.bincount(y, minlength=data.classes) + noise[0] * generator.standard_normal(data.classes), 1)
    for code in range(data.classes):
        mine, n = x[y == code], numbers[code]
        mean = (mine.sum(axis=0) + noise[1] * generator.standard_normal(d)) / n
        upper = np.triu(noise[2] * generator.standard_normal((d, d)), 1) / math.sqrt(2)
        second = mine.T @ mine + upper + upper.T + np.diag(noise[2] * generator.standard_normal(d))
        values, axes = np.linalg.eigh(second / n - np.outer(mean, mean))
        made = round(count * n / numbers.sum())
        spread = generator.standard_normal((made, d)) * np.sqrt(np.maximum(values, 0.0))
        parts.append(mean + spread @ axes.T)
        labels.append(np.full(made, code))
    return _equal(np.concatenate(parts), np.concatenate(labels))


def dp_merf(data: Data, seed: int, features: int = 1000, points: int = 2000, steps: int = 200) -> Rows:
    """Points of each class moved, by Adam, to match noisy random Fourier features: Δ = 2."""
    x, y = data.private
    generator, d = np.random.default_rng(seed), x.shape[1]
    waves = generator.standard_normal((d, features // 2)) / LENGTHSCALE

    def phi(z: Floats) -> Floats:
        phases = z @ waves
        return np.hstack([np.cos(phases), np.sin(phases)]) * math.sqrt(2.0 / features)

    target = np.stack([phi(x[y == code]).sum(axis=0) for code in range(data.classes)])
    target = target + 2.0 / _MU * generator.standard_normal(target.shape)
    shares = np.maximum(np.bincount(y, minlength=data.classes) / len(y), 1e-9)  # as if they were known
    each = points // data.classes
    parts = []
    for code in range(data.classes):
        goal = target[code] / (shares[code] * len(x))
        z = unit_vectors(generator.standard_normal((each, d)))
        first, second = np.zeros_like(z), np.zeros_like(z)
        for step in range(1, steps + 1):
            phases = z @ waves
            cosines, sines = (f(phases) * math.sqrt(2.0 / features) for f in (np.cos, np.sin))
            gap = np.concatenate([cosines.mean(axis=0), sines.mean(axis=0)]) - goal
            a, b = np.split(gap, 2)
            slope = (cosines * b - sines * a) @ waves.T
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
            z -= 0.05 * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-12)
        parts.append(z)
    counts = np.repeat(shares / shares.sum() / each, each)
    return np.concatenate(parts), np.repeat(np.arange(data.classes), each), counts


def private_evolution(data: Data, seed: int, points: int = 2000, rounds: int = 10) -> Rows:
    """Every row votes for the nearest candidate of its class; noisy votes are resampled and perturbed."""
    x, y = data.private
    generator, d = np.random.default_rng(seed), x.shape[1]
    each = points // data.classes
    noise = math.sqrt(2.0) * math.sqrt(rounds) / _MU
    parts = [unit_vectors(generator.standard_normal((each, d))) for _ in range(data.classes)]
    for turn in range(rounds):
        for code in range(data.classes):
            z = parts[code]
            votes = np.bincount(np.argmax(x[y == code] @ z.T, axis=1), minlength=each)
            noisy = np.maximum(votes + noise * generator.standard_normal(each) - 2.0 * noise, 0.0)
            law = noisy / noisy.sum() if noisy.any() else np.full(each, 1.0 / each)
            chosen = z[generator.choice(each, each, p=law)]
            parts[code] = unit_vectors(chosen + 0.8**turn * generator.standard_normal((each, d)) / math.sqrt(d))
    return _equal(np.concatenate(parts), np.repeat(np.arange(data.classes), each))


# --------------------
# How rows are judged.


def scores(data: Data, rows: Rows, seed: int = 0) -> tuple[float, float, float, float, float]:
    """Accuracy of logistic regression and of 15 neighbours, distance, error of the covariance, error of the norm."""
    x, y, weights = rows
    fresh, labels = data.fresh
    taken = np.random.default_rng(seed).choice(len(x), min(len(x), 10_000), p=weights / weights.sum())
    with warnings.catch_warnings(action="ignore"):
        linear = LogisticRegression(max_iter=300).fit(x, y, sample_weight=weights * len(x)).score(fresh, labels)
    near = KNeighborsClassifier(15).fit(x[taken], y[taken]).score(fresh, labels)
    mine, truth = (np.cov(a, rowvar=False, aweights=w) for a, w in ((x, weights), (data.private[0], None)))
    covariance = float(np.linalg.norm(mine - truth) / np.linalg.norm(truth))
    norm = float(np.abs(np.linalg.norm(x, axis=1) - 1.0).max())
    return linear, near, distance(data, rows), covariance, norm


def distance(data: Data, rows: Rows) -> float:
    """To the private rows, in the RKHS of a Gaussian kernel times equality of classes; of 3,000 rows each at most."""
    generator = np.random.default_rng(1)
    x, y, weights = rows
    mine = generator.permutation(len(x))[:MOST_COMPARED]
    theirs = generator.permutation(len(data.private[0]))[:MOST_COMPARED]
    own = weights[mine] / weights[mine].sum()
    total = 0.0
    for code in range(data.classes):
        a, b = mine[y[mine] == code], theirs[data.private[1][theirs] == code]
        u, v = own[y[mine] == code], np.full(len(b), 1.0 / len(theirs))
        total += _inner(x[a], x[a], u, u) - 2.0 * _inner(x[a], data.private[0][b], u, v)
        total += _inner(data.private[0][b], data.private[0][b], v, v)
    return math.sqrt(max(total, 0.0))


def _inner(a: Floats, b: Floats, u: Floats, v: Floats) -> float:
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2.0 * a @ b.T
    return float(u @ np.exp(-np.maximum(squares, 0.0) / (2.0 * LENGTHSCALE**2)) @ v)


# Those that can be tried. Public rows are given to two of them, where data have any.
CONTENDERS: dict[str, Callable[[Data, int], Rows]] = {
    "real rows": lambda data, _: _equal(*data.private),
    "ours": ours,
    "noisy class moments": class_moments,
    "DP-MERF": dp_merf,
    "Private Evolution": private_evolution,
    "public rows alone": lambda data, _: _equal(*(data.public or data.private)),
    "ours, with public rows": lambda data, seed: ours(data, seed, data.public),
}
FIXED = ("real rows", "public rows alone")  # no run differs from another
MAKERS: dict[str, Callable[[], Data]] = {"texts": texts, "digits": digits, "generated": generated}
HEADER = ("rows", "logistic", "15 neighbours", "distance", "covariance", "norm off by", "CPU s")


@lru_cache
def _data(name: str) -> Data:
    return MAKERS[name]()


def _score(unit: tuple[str, str, int]) -> tuple[float, ...]:
    """What `scores` says of one release, and its CPU seconds."""
    name, contender, seed = unit
    data = _data(name)
    start = time.process_time()
    rows = CONTENDERS[contender](data, seed)
    seconds = time.process_time() - start
    return *scores(data, rows), seconds


def main(
    runs: Annotated[int, typer.Option(min=1, help="Releases of each.")] = 5,
    only: Annotated[str | None, typer.Option(help="texts, digits or generated; all if not given.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    kept: Annotated[Path | None, typer.Option(help="A file of results: go on from them.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the page.")] = False,
) -> None:
    """Make rows, judge them, print a table for each data set and what it must show."""
    units = [
        (name, contender, seed)
        for name in reversed(MAKERS)  # what takes longest first
        for contender in CONTENDERS
        for seed in range(1 if contender in FIXED else runs)
        if only in (None, name) and (name == "texts" or "public" not in contender)
    ]
    found: dict[str, dict[str, list[tuple[float, ...]]]] = {}
    for unit, score in zip(units, machine.in_processes(_score, units, jobs, kept), strict=True):
        found.setdefault(unit[0], {}).setdefault(unit[1], []).append(score)
        print(*unit, *(f"{value:.4g}" for value in score), flush=True)
    parts = [_part(_data(name), found[name]) for name in MAKERS if name in found]
    print("\n\n".join(parts))
    if write:
        words = f"""`make bench-embeddings` ({machine.described()}): ε = {EPSILON:g}, δ = {DELTA:g}, medians of {runs}
            releases. Accuracy on fresh rows, RKHS distance (Gaussian kernel of lengthscale .7 times equality of
            classes), relative error of the covariance, largest error of a norm. Texts are docstrings of four Python
            libraries by TF-IDF and SVD, digits scikit-learn's by principal components; contenders are small versions
            of our own."""
        write_part(VECTORS, "Embeddings with classes", words, *parts)


def _part(data: Data, found: dict[str, list[tuple[float, ...]]]) -> str:
    medians = {name: np.median(scores, axis=0) for name, scores in found.items()}
    lines = [
        (name, *(f"{value:.3f}" for value in median[:4]), f"{median[4]:.1g}", f"{median[5]:.1f}")
        for name, median in medians.items()
    ]
    n, d = data.private[0].shape
    title = f"### {data.name.capitalize()}: N = {n:,}, D = {d}, {data.classes} classes"
    return "\n".join([title, "", markdown(HEADER, lines), "", bullets(_checks(data, medians))])


def _checks(data: Data, medians: dict[str, Any]) -> Iterator[Check]:
    mine, moments, real = (medians[name] for name in ("ours", "noisy class moments", "real rows"))
    numbers = f"{mine[0]:.3f}, noisy class moments {moments[0]:.3f}, real rows {real[0]:.3f}"
    if data.name == "texts":
        yield Check("accuracy at least .785/.835 of that of real rows", numbers, mine[0] >= 0.785 / 0.835 * real[0])
    elif data.name == "digits":
        yield Check("accuracy at least that of noisy class moments and .02", numbers, mine[0] >= moments[0] + 0.02)
    else:
        yield Check("accuracy at least that of noisy class moments", numbers, mine[0] >= moments[0])
    yield Check("norm 1 to a thousandth", f"{mine[4]:.1g}", mine[4] <= 1e-3)
    if data.name == "texts":
        yield Check("error of the covariance at most .45", f"{mine[3]:.3f}", mine[3] <= 0.45)
    if data.public is not None:
        with_public, alone = medians["ours, with public rows"], medians["public rows alone"]
        numbers = f"{with_public[2]:.4f}, public rows {alone[2]:.4f}"
        yield Check("no farther than public rows with equal weights", numbers, with_public[2] <= alone[2])
        yield Check("with public rows, distance at most .034", f"{with_public[2]:.4f}", with_public[2] <= 0.034)
        numbers = f"{with_public[0]:.3f}, public rows {alone[0]:.3f}, real rows {real[0]:.3f}"
        enough = with_public[0] >= 0.82 / 0.835 * real[0]
        yield Check("with public rows, accuracy at least .82/.835 of that of real rows", numbers, enough)
    if data.name == "generated":
        yield Check("at most 60 CPU seconds", f"{mine[5]:.1f}", mine[5] <= 60.0)


if __name__ == "__main__":
    typer.run(main)
