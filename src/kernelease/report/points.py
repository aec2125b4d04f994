"""Vectors as the page shows them: rows along the axes on which they vary most, their classes, how exact they are."""

import math
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.answers.release import Release
from kernelease.arrays import Floats, Rows
from kernelease.features.class_moments import ClassMoments
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.report.marginals import number, numbers
from kernelease.table.domains import LABEL, LabelledDomain

_DRAWN = 1_000  # convention: points of a picture
_AXES = 6  # convention: axes that a reader can choose from
_MOST_EVALUATED = 8_000_000  # limit: numbers of features that are computed for a page: 64 MB
_TWO_SIDED = 1.96  # convention: standard errors of a 95 % interval


def points_record(release: Release) -> dict[str, Any] | None:
    """All that the page says of vectors; None of tables, and of rows that are no numbers. Nothing in it is private."""
    rows = _vectors(release)
    if release.schema is not None or rows is None:
        return None
    weights = np.maximum(release.weights, 0.0)
    weights /= weights.sum()
    centre, axes, shares = principal_axes(rows, weights)
    classes, codes = _classes(release)
    every = len(rows) <= _DRAWN
    chosen = np.arange(len(rows)) if every else np.sort(np.random.default_rng(0).choice(len(rows), _DRAWN, p=weights))
    return {
        "columns": rows.shape[1],
        "axes": [f"x{place}" for place in range(rows.shape[1])] if rows.shape[1] <= 2 else len(axes),
        "shares": numbers(shares, 4),
        "places": [numbers(row, 4) for row in ((rows[chosen] - centre) @ axes.T)],
        "weights": numbers(weights * len(rows), 3) if every else None,
        "codes": None if codes is None else codes[chosen].tolist(),
        "classes": classes,
        "accuracy": _accuracy(release, chosen),
    }


def points_worth(points: dict[str, Any]) -> dict[str, list[str]] | None:
    """What a release of vectors is good for, and what not, in a few words."""
    found = points["accuracy"]
    if found is None or not found["sample"]:
        return None
    good = f"means of smooth functions, as exact as a sample of about {_round(found['sample']):,} real rows"
    return {"good": [good], "bad": ["single vectors: no row is a person"]}


def _round(rows: float) -> int:
    """Two digits.

    >>> _round(4849.0), _round(7.4)
    (4800, 7)
    """
    unit: int = 10 ** max(0, math.floor(math.log10(max(rows, 1.0))) - 1)
    return unit * round(rows / unit)


def principal_axes(rows: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """The mean (d,), the directions of most variance (k, d), and the share of the variance along each (k,).

    Of one or two numbers they are the numbers themselves. A direction points to where its largest number is positive.

    >>> rows = np.array([[0.0, 0.0, 0.0], [2.0, 2.0, 0.0], [4.0, 4.0, 0.0]])
    >>> principal_axes(rows, np.full(3, 1 / 3))[2].round(3)[:2]
    array([1., 0.])
    """
    mean: Floats = weights @ rows
    centred = rows - mean
    covariance = (centred * weights[:, None]).T @ centred
    if rows.shape[1] <= 2:
        variances = np.diag(covariance)
        return np.zeros(rows.shape[1]), np.eye(rows.shape[1]), variances / max(variances.sum(), 1e-300)
    values, vectors = np.linalg.eigh(covariance)
    axes = vectors.T[::-1][:_AXES]
    largest = axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)]
    shares: Floats = np.maximum(values[::-1], 0.0)[:_AXES] / max(float(values.sum()), 1e-300)
    return mean, axes * np.where(largest < 0.0, -1.0, 1.0)[:, None], shares


def _vectors(release: Release) -> Floats | None:
    """Synthetic rows as numbers, without their classes; None where a column holds something else."""
    table = release.rows
    if LABEL in table.column_names:
        table = table.drop_columns([LABEL])
    plain = all(pa.types.is_floating(kind) or pa.types.is_integer(kind) for kind in table.schema.types)
    if not plain or not table.num_columns:
        return None
    rows: Floats = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.float64)
    return rows


def _classes(release: Release) -> tuple[list[dict[str, Any]] | None, Any]:
    """Each class with its share, as it was measured, and in the rows; and the class of each row, by its place."""
    domain, measured = release.measurements.domain, release.measurements.measured
    if not isinstance(domain, LabelledDomain) or not isinstance(measured, NoisyEmbeddings):
        return None, None
    names = [str(name) for name in domain.kernel.classes]
    codes = domain.placed(_cells(release))[:, -1].astype(np.int64)
    rows = np.bincount(codes, weights=release.weights, minlength=len(names)) / release.weights.sum()
    stages = [stage for stage in measured.stages if isinstance(stage.feature_map, ClassMoments)]
    measures = [_shares(stage) for stage in stages]
    values, error = min(measures, key=lambda one: one[1])
    total = float(values.sum())
    return [
        {
            "name": name,
            "share": numbers(_limits(float(value) / total, _TWO_SIDED * error / total)),
            "rows": number(float(share)),
        }
        for name, value, share in zip(names, values, rows, strict=True)
    ], codes


def _shares(stage: NoisyEmbedding) -> tuple[Floats, float]:
    """The noisy share of each class, and the standard deviation of its noise."""
    assert isinstance(stage.feature_map, ClassMoments)
    found = stage.feature_map.moments(stage.mean)
    return found.shares, float(found.errors[0]) * stage.sigma


def _limits(value: float, margin: float) -> tuple[float, float, float]:
    centre = min(max(value, 0.0), 1.0)
    return centre, max(0.0, centre - margin), min(1.0, centre + margin)


def _cells(release: Release) -> Rows:
    columns = [column.to_pylist() for column in release.rows.columns]
    cells: Rows = np.array(list(zip(*columns, strict=True)), dtype=object)
    return cells


def _accuracy(release: Release, drawn: Any) -> dict[str, Any] | None:
    """How far what was measured is from the truth, and the rows from what was measured: as a sample of so many rows.

    The mean of n fresh rows is √((E‖φ‖² − ‖μ‖²)/n) from the mean of all, and the noise has a norm of σ√F. So the noise
    is that of a sample of n = (E‖φ‖² − ‖μ‖²)/(σ²F) rows; E‖φ‖² and ‖μ‖² are taken from the synthetic rows.
    """
    measured = release.measurements.measured
    if not isinstance(measured, NoisyEmbeddings):
        return None
    stage = measured.embedding
    most = max(1, _MOST_EVALUATED // max(1, stage.feature_map.dimension))
    few = len(release.weights) <= most
    rows = np.arange(len(release.weights)) if few else drawn[:most]
    weights = release.weights if few else np.full(len(rows), 1.0 / len(rows))
    cells = _cells(release)[rows]
    domain = release.measurements.domain
    points = domain.placed(cells) if isinstance(domain, LabelledDomain) else cells.astype(np.float64)
    features = stage.feature_map.evaluate(points)
    mean = weights @ features
    spread = float(weights @ np.sum(features**2, axis=1) - mean @ mean)
    floor = stage.noise_floor
    return {
        "noise": number(floor, 4),
        "numbers": stage.feature_map.dimension,
        "sample": number(max(0.0, spread) / floor**2, 4) if floor > 0.0 else None,
        "fit": number(float(np.linalg.norm(mean - stage.mean)) / floor, 4) if few and floor > 0.0 else None,
        "fresh": number(math.sqrt(max(0.0, spread) / max(1.0, stage.rows)), 4),
    }
