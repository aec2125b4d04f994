"""Whether a column has a given distribution."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelease.analysis.cells import CellFeatures
from kernelease.analysis.column_sets import ColumnSet, column_sets
from kernelease.analysis.estimate import Target
from kernelease.analysis.fluctuation import DRAWS
from kernelease.analysis.outcome import TestResult
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.measured.blocks import NoisyBlocks
from kernelease.privacy.step import Law
from kernelease.seeds import PublicSeed
from kernelease.table import Column, Integer, Number, Schema
from kernelease.table.atom_kernel import LENGTHSCALE
from kernelease.table.columns import nearest

_LARGEST_COUNT = 2**40  # rows that are drawn at most: beyond, sampling is nothing beside the noise


def column_goodness(
    noisy: NoisyBlocks,
    schema: Schema,
    name: str,
    distribution: Any,
    *,
    target: Target = Target.POPULATION,
    draws: int = DRAWS,
    lengthscale: float = LENGTHSCALE,
    seed: int = 0,
) -> TestResult:
    """Whether the values of a column that are not NULL have a distribution: probabilities by value, or scipy's.

    With counts c and probabilities q the statistic is ‖Lᵀ(c − (Σc)·q)‖² for features L of the cells: under the
    hypothesis it varies by noise and sampling alone, whatever the share of NULL and the number of rows.
    """
    column = schema.column(name)
    if draws < 19:
        raise ParameterError(f"draws must be at least 19, so that p can be 0.05, got {draws!r}.")
    counted = _finest(noisy, schema.names.index(name))
    if counted is None:
        raise ParameterError(f"Column {name!r} was not counted in this release.")
    groups = counted.groups[0]
    cells = np.unique(np.delete(groups, column.null) if column.null is not None else groups)
    expected: Floats = np.zeros(counted.counts.size)
    np.add.at(expected, groups, cell_probabilities(column, distribution))
    expected = expected[cells]
    features = CellFeatures.of(column, groups, lengthscale=lengthscale).features[cells]
    counts = counted.counts[cells]
    total = max(1.0, float(counts.sum()))
    generator = PublicSeed(seed).generator("goodness")
    null = _noise(counted, (draws, len(cells)), generator)
    if target is Target.POPULATION:
        size = min(round(total), _LARGEST_COUNT)
        null += generator.multinomial(size, expected, size=draws) * (total / size)
    else:
        null += total * expected
    observed = _statistic(counts[None], expected, features, total)[0]
    drawn = _statistic(null, expected, features, total)
    return TestResult.from_draws(
        f"{name} has the given distribution", float(observed), drawn, statistic=float(observed - drawn.mean())
    )


def _finest(noisy: NoisyBlocks, index: int) -> ColumnSet | None:
    """The column in most cells, from all blocks that hold it so."""
    sets = column_sets(noisy, among=frozenset({index})).values()
    return max(sets, key=lambda one: (one.counts.size, -one.variance), default=None)


def _noise(counted: ColumnSet, shape: tuple[int, int], generator: np.random.Generator) -> Floats:
    deviation = math.sqrt(counted.variance)
    if counted.law is Law.LAPLACE:
        return generator.laplace(0.0, deviation / math.sqrt(2.0), shape)
    return generator.standard_normal(shape) * deviation


def _statistic(counts: Floats, expected: Floats, features: Floats, total: float) -> Floats:
    misfit = (counts - counts.sum(axis=1, keepdims=True) * expected) @ features / total
    squares: Floats = np.einsum("nf,nf->n", misfit, misfit)
    return squares


def cell_probabilities(column: Column, distribution: Any) -> Floats:
    """The probability of each atom: (atoms,), 0 for NULL; they add up to 1."""
    if isinstance(distribution, Mapping):
        return _of_labels(column, distribution)
    if callable(getattr(distribution, "cdf", None)):
        return _of_law(column, distribution)
    raise ParameterError(
        "goodness_of_fit: a distribution is a mapping from values to probabilities, one of scipy.stats with its "
        f"parameters fixed, or a table of rows; got {type(distribution).__name__}."
    )


def _of_labels(column: Column, distribution: Mapping[Any, Any]) -> Floats:
    labels = column.labels()[: column.null]
    probabilities = np.zeros(column.size)
    for value, probability in distribution.items():
        label = str(value).lower() if isinstance(value, bool) else str(value)
        if label not in labels:
            raise ParameterError(f"goodness_of_fit: column {column.name!r} has no {value!r}.{nearest(label, labels)}")
        if not isinstance(probability, int | float) or not probability >= 0.0:
            raise ParameterError(f"goodness_of_fit: the probability of {value!r} must be a number from 0 to 1.")
        probabilities[labels.index(label)] += float(probability)
    if not math.isclose(float(probabilities.sum()), 1.0, abs_tol=1e-6):
        raise ParameterError(f"goodness_of_fit: probabilities must add up to 1, got {probabilities.sum():.6g}.")
    result: Floats = probabilities / probabilities.sum()
    return result


def _of_law(column: Column, law: Any) -> Floats:
    """Of a law of numbers. Values beyond the bounds fall into the outer cells, as they do in the release.

    A law on the real line is taken as rounded down for a column of integers, as the release does with such cells.
    """
    if not isinstance(column, Integer | Number):
        raise ParameterError(
            f"goodness_of_fit: column {column.name!r} is of type {column.tag}; give probabilities by value instead."
        )
    first, *edges = column.edges()[:-1].tolist()
    if callable(getattr(law, "pmf", None)):  # a cell begins with its edge; but a point at `min` holds its own
        edges = [edge if edge == first else math.nextafter(edge, -math.inf) for edge in edges]
    below = np.asarray(law.cdf(np.array(edges)), dtype=np.float64)
    steps = np.diff(below, prepend=0.0, append=1.0)
    if not np.isfinite(steps).all() or np.any(steps < -1e-12):
        raise ParameterError("goodness_of_fit: this distribution has no proper cdf on the column's range.")
    return np.append(np.maximum(steps, 0.0), np.zeros(column.size - len(steps)))
