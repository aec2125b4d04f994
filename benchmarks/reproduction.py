"""The parts of the benchmark: each gives numbers for the results' JSON, and checks."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

import kernelease as ke
from benchmarks import mixtures
from benchmarks.algorithm1 import OURS, PAPER, TOLERANCE, Experiment, Noise
from benchmarks.algorithm2 import COUNTS, path_errors
from benchmarks.checks import Check
from benchmarks.contenders import CONTENDERS, scores, targets_met
from benchmarks.published import DELTA, EPSILONS, Curve, published
from benchmarks.truth import OfRows, mean_gram
from kernelease.arrays import Floats, Integers
from kernelease.features.nystrom import Order

Record = dict[str, Any]

PROJECTION_TOLERANCE = 0.01
DEVIATIONS = 3.0  # a published draw may lie this many standard deviations from our mean
SHARE_WITHIN = 0.9  # of the published draws, at least: their law is skewed where few coordinates carry noise
SCALE_TOLERANCE = 0.05  # by how much the scale of the published noise may differ from ours
PRINTED = 1e-5  # relative: the published table has six digits
NOISE_DOMINATES = 0.01  # where the projection has at most this share of the squared error
GAIN_NEEDED = {0.01: 2.3, 1.0: 1.7}
SAME = 1.005  # "no worse" leaves half a percent for ties: at M = 1 every method finds the same point
WHOLE_RELEASE = 1072  # the number of published rows at which the product's own release is compared with the curve


@dataclass(frozen=True)
class Effort:
    """How much to compute."""

    repeats: int = 20  # of the noise in Algorithm 1
    runs: int = 3  # of Algorithm 2
    largest: int = 10_000  # number of public points
    counts: tuple[int, ...] = COUNTS  # numbers of points on the greedy solver's path
    slow: bool = True  # whether the slow contenders take part

    @classmethod
    def quick(cls) -> "Effort":
        return cls(repeats=10, runs=1, largest=WHOLE_RELEASE, counts=COUNTS[:8], slow=False)

    def with_repeats(self, repeats: int) -> "Effort":
        return replace(self, repeats=repeats)


@dataclass(frozen=True)
class Part:
    """One part's results and checks."""

    record: Any
    checks: list[Check]


def private_truth(dimension: int, *, recompute: bool = False) -> OfRows:
    """The private embedding of the paper's data set; its energy is a published constant unless recomputed."""
    rows, kernel = mixtures.private_rows(dimension), mixtures.kernel(dimension)
    known = published(dimension).mean_gram
    return OfRows(kernel, rows, mean_gram(kernel, rows) if recompute else known)


def parts(truth: OfRows, dimension: int, effort: Effort) -> dict[str, Callable[[], Part]]:
    """What there is to do for one data set, by name in the results."""
    paper = published(dimension)
    return {
        "leak": lambda: with_published_rows(truth, paper.leak, effort),
        "random": lambda: with_random_points(truth, paper.random, dimension, effort),
        "random_features": lambda: random_features(truth, paper.random_features, dimension, effort),
        "contenders": lambda: contenders(truth, dimension, effort),
    }


def with_published_rows(truth: OfRows, curve: Curve, effort: Effort) -> Part:
    """Figure 1: Algorithm 1 where the first M rows are public, with the paper's noise and with ours."""
    name = "Figure 1, Algorithm 1"
    curve = _up_to(curve, effort.largest)
    experiment = Experiment.of(truth, truth.rows[: effort.largest])
    record, checks, errors = _algorithm_1(name, experiment, curve, effort)
    ours = _repeated(experiment, curve.points, OURS, effort.repeats)
    record["ours"] = _summary(ours)
    checks += _gains(errors, ours, np.array(record["projection"]))
    checks.append(_whole_releases(truth, curve, errors))
    return Part(record, checks)


def with_random_points(truth: OfRows, curve: Curve, dimension: int, effort: Effort) -> Part:
    """Figure 2: Algorithm 1 where no row is public."""
    curve = _up_to(curve, effort.largest)
    experiment = Experiment.of(truth, mixtures.random_points(dimension, effort.largest))
    record, checks, _ = _algorithm_1("Figure 2, Algorithm 1", experiment, curve, effort)
    return Part(record, checks)


def random_features(truth: OfRows, curve: Curve, dimension: int, effort: Effort) -> Part:
    """Figure 2: Algorithm 2 with the greedy solver."""
    errors = path_errors(truth, truth.rows, effort.runs, effort.counts)
    median = np.median(errors, axis=1)
    at = np.searchsorted(curve.points, effort.counts)
    checks = [
        _no_worse(epsilon, ours, theirs, effort.counts)
        for epsilon, ours, theirs in zip(EPSILONS, median, curve.noisy[:, at], strict=True)
    ]
    record = {"points": list(effort.counts), "median": median.tolist(), "runs": errors.tolist()}
    return Part(record, checks)


def contenders(truth: OfRows, dimension: int, effort: Effort) -> Part:
    """Whole releases at their defaults."""
    chosen = [contender for contender in CONTENDERS if effort.slow or not contender.slow]
    entries = [one for contender in chosen for one in scores(contender, truth, dimension, effort.runs)]
    return Part([asdict(entry) for entry in entries], targets_met(entries, dimension))


def _up_to(curve: Curve, largest: int) -> Curve:
    kept = curve.points <= largest
    assert curve.projection is not None
    return Curve(points=curve.points[kept], noisy=curve.noisy[:, kept], projection=curve.projection[kept])


def _algorithm_1(name: str, experiment: Experiment, curve: Curve, effort: Effort) -> tuple[Record, list[Check], Floats]:
    """The authors' basis and noise: projections, errors (3, repeats, m), and both beside the published ones."""
    projection = experiment.projection(curve.points)
    errors = _repeated(experiment, curve.points, PAPER, effort.repeats)
    checks = [_projection_matches(name, projection, curve)]
    checks += [
        _noise_matches(f"{name}, ε = {epsilon:g}", ours, theirs, projection)
        for epsilon, ours, theirs in zip(EPSILONS, errors, curve.noisy, strict=True)
    ]
    record = {
        "points": curve.points.tolist(),
        "ranks": [experiment.basis.rank(count) for count in curve.points],
        "projection": projection.tolist(),
        "paper": _summary(errors),
    }
    return record, checks, errors


def _repeated(experiment: Experiment, counts: Integers, noise: Noise, repeats: int) -> Floats:
    return np.array([experiment.errors(counts, noise, ke.Privacy(epsilon=e, delta=DELTA), repeats) for e in EPSILONS])


def _summary(errors: Floats) -> Record:
    """Mean and standard deviation over repeats: (3, repeats, m) → (3, m) each."""
    return {"mean": errors.mean(axis=1).tolist(), "spread": errors.std(axis=1, ddof=1).tolist()}


def _projection_matches(name: str, ours: Floats, curve: Curve) -> Check:
    deviation = np.abs(ours / curve.projection - 1.0)
    worst = int(deviation.argmax())
    return Check(
        f"{name}, projection within {PROJECTION_TOLERANCE:.0%} of published at every M",
        f"largest deviation {deviation[worst]:.1e}, at M = {curve.points[worst]}",
        bool(deviation[worst] <= PROJECTION_TOLERANCE),
    )


def _noise_matches(name: str, ours: Floats, theirs: Floats, projection: Floats) -> Check:
    """One published draw at each M against our repeats: (repeats, m), (m,), (m,)."""
    within = float((np.abs(deviations(ours, theirs)) <= DEVIATIONS).mean())
    ratio = float(np.median(theirs / ours.mean(axis=0)))
    scale = _noise_scale(ours, theirs, projection)
    return Check(
        f"{name} within Monte-Carlo error of published",
        f"{within:.1%} of {len(theirs)} values of M within ±{DEVIATIONS:g} standard deviations, "
        f"median published/ours {ratio:.4f}, scale of the noise published/ours {scale:.3f}",
        within >= SHARE_WITHIN and abs(scale - 1.0) <= SCALE_TOLERANCE,
    )


def _noise_scale(ours: Floats, theirs: Floats, projection: Floats) -> float:
    """σ published over σ of ours, from the energy that noise adds to the projection, where six digits show it."""
    energy = (ours**2).mean(axis=0) - projection**2
    visible = energy > 1e-3 * projection**2
    return float(np.sqrt((theirs**2 - projection**2)[visible].sum() / energy[visible].sum()))


def deviations(ours: Floats, theirs: Floats) -> Floats:
    """How many standard deviations a single draw is from the mean of our repeats: (repeats, m), (m,) → (m,)."""
    variance = ours.var(axis=0, ddof=1) * (1.0 + 1.0 / len(ours))
    return (theirs - ours.mean(axis=0)) / np.sqrt(variance + (PRINTED * theirs) ** 2)


def _gains(paper: Floats, ours: Floats, projection: Floats) -> list[Check]:
    """Errors with the paper's noise over errors with ours, at equal rank, where noise dominates."""
    checks = []
    for epsilon, theirs, mine in zip(EPSILONS, paper.mean(axis=1), ours.mean(axis=1), strict=True):
        dominated = projection**2 <= NOISE_DOMINATES * mine**2
        if epsilon in GAIN_NEEDED and dominated.any():
            gains = theirs[dominated] / mine[dominated]
            checks.append(
                Check(
                    f"our noise at equal rank, ε = {epsilon:g}: error lower by at least {GAIN_NEEDED[epsilon]:g}",
                    f"median {np.median(gains):.3f}, from {gains.min():.3f} to {gains.max():.3f} "
                    f"over the {len(gains)} values of M where noise dominates",
                    bool(np.median(gains) >= GAIN_NEEDED[epsilon]),
                )
            )
    return checks


def _whole_releases(truth: OfRows, curve: Curve, errors: Floats) -> Check:
    """The product's own release, from rows to weights, evaluated point by point, against the curve above."""
    method = ke.Subspace(points=ke.fit.PublishedRows(WHOLE_RELEASE), order=Order.GIVEN, tolerance=TOLERANCE, lemma=True)
    at = int(np.searchsorted(curve.points, WHOLE_RELEASE))
    released = [_released_error(truth, method, epsilon) for epsilon in EPSILONS]
    scores = [float(deviations(errors[i][:, [at]], np.array([e]))[0]) for i, e in enumerate(released)]
    return Check(
        f"whole releases at M = {WHOLE_RELEASE} agree with the curve",
        ", ".join(
            f"ε = {epsilon:g}: {error:.4g} ({deviation:+.1f} standard deviations)"
            for epsilon, error, deviation in zip(EPSILONS, released, scores, strict=True)
        ),
        bool(np.max(np.abs(scores)) <= 4.0),
    )


def _released_error(truth: OfRows, method: ke.methods.Method, epsilon: float) -> float:
    privacy = ke.Privacy(epsilon=epsilon, delta=DELTA, calibration=ke.privacy.Calibration.CLASSIC)
    release = ke.release(truth.rows, kernel=truth.kernel, method=method, privacy=privacy)
    return truth.distance(release.points, release.weights)


def _no_worse(epsilon: float, ours: Floats, theirs: Floats, counts: tuple[int, ...]) -> Check:
    ratios = ours / theirs
    worst = int(ratios.argmax())
    return Check(
        f"Figure 2, Algorithm 2, ε = {epsilon:g}: no worse than published at M ≤ {counts[-1]}",
        f"ours/published from {ratios.min():.3f} to {ratios[worst]:.4f} (at M = {counts[worst]}), "
        f"{int((ratios <= 1.0).sum())} of {len(ratios)} at or below 1",
        bool(ratios[worst] <= SAME),
    )
