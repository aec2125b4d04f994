"""Tests about columns, from noisy counts: whether one has a given distribution, whether two are independent.

Independence is tested by the Hilbert–Schmidt independence criterion. In centred features HSIC is ‖M − m·nᵀ‖², with M
the mean features of the pair and m, n those of either column: all three are released, with noise that is independent
between them. Under the hypothesis M − m·nᵀ varies by the sampling of rows, with covariance (S ⊗ T)/N for the features'
own covariances S and T, and by the noise of M, m and n. The plainest kind of dependence, by the products of few scores,
weighs most (`score_tests`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from kernelease.analysis.comparisons.mean_embedding import CellFeatures, count_deviation, draw_noise
from kernelease.analysis.comparisons.score_tests import dependence_scores
from kernelease.analysis.comparisons.tables import ContingencyTable, TableKey, contingency_tables
from kernelease.analysis.estimate import Target
from kernelease.analysis.inference import DRAWS, TestResult, check_draws, wilson_hilferty
from kernelease.arrays import Floats, Integers
from kernelease.errors import ParameterError, nearest
from kernelease.estimate.marginal import tabulation
from kernelease.fit.weights import Simplex
from kernelease.measured.blocks import NoisyBlocks
from kernelease.privacy.accounting import Law
from kernelease.seeds import PublicSeed
from kernelease.table.atom_features import LENGTHSCALE
from kernelease.table.columns.column import Column
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.schema import Schema

_LARGEST_COUNT = 2**40  # rows that are drawn at most: beyond, sampling is nothing beside the noise
POWERS = (1, 3)  # of the kernels: the second sees less detail, and less noise with it
SELECTED = "This pair was measured because it looked dependent, and p does not account for that choice."


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
    check_draws(draws)
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
    null = _noise(counted, noisy, draws, generator)[:, cells]
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


def independence_test(
    noisy: NoisyBlocks,
    schema: Schema,
    first: str,
    second: str,
    *,
    target: Target = Target.POPULATION,
    draws: int = DRAWS,
    lengthscale: float = LENGTHSCALE,
    seed: int = 0,
) -> TestResult:
    """Whether two columns are independent in the population, or (`target` "table") were so in the table to the row."""
    if first == second:
        raise ParameterError(f"independence_test: needs two columns, got {first!r} twice.")
    check_draws(draws)
    indices = tuple(sorted(schema.names.index(schema.column(name).name) for name in (first, second)))
    pair, tables, remark = _measured_pair(noisy, indices)
    if pair is None:
        raise ParameterError(
            f"Columns {first!r} and {second!r} were not counted together, so their dependence was not measured."
        )
    columns = []
    for index, cells, groups in zip(indices, pair.key, pair.groups, strict=True):
        features = CellFeatures.of(schema.columns[index], groups, lengthscale=lengthscale)
        columns.append(_Column.of(*_counts_of(noisy, index, groups, tables.get((cells,))), features, noisy.rows))
    sampling = 1.0 / noisy.rows if target is Target.POPULATION else 0.0
    problem = _Problem(
        columns=(columns[0], columns[1]),
        deviation=_deviation(pair, columns, noisy.rows),
        law=pair.law,
        sampling=sampling,
        count_deviation=count_deviation(noisy),
    )
    joint = columns[0].cells.features.T @ (pair.counts / noisy.rows) @ columns[1].cells.features
    observed = problem.squares(joint - np.outer(columns[0].measured, columns[1].measured))
    squares = np.vstack([observed, problem.draw(draws, PublicSeed(seed).generator("independence"))])
    scores = wilson_hilferty(squares).max(axis=1)
    result = TestResult.from_draws(
        f"{first} and {second} are independent of each other",
        float(scores[0]),
        scores[1:],
        statistic=float(observed[0] - squares[1:, 0].mean()),
        remark=remark,
    )
    return result.with_scores(dependence_scores(noisy, schema, (indices[0], indices[1]), target=target))


def _finest(noisy: NoisyBlocks, index: int) -> ContingencyTable | None:
    """The column in most cells, from all blocks that hold it so."""
    tables = contingency_tables(noisy, among=frozenset({index})).values()
    return max(tables, key=lambda one: (one.counts.size, -one.variance), default=None)


def _noise(counted: ContingencyTable, noisy: NoisyBlocks, draws: int, generator: np.random.Generator) -> Floats:
    """Noise of the counts of a column: (draws, cells). The mean of centred ones is that of the number of rows."""
    size = counted.counts.size
    noise = draw_noise(counted.law, np.full((draws, size), math.sqrt(counted.variance)), generator)
    if not counted.centred:
        return noise
    rows = count_deviation(noisy) * noisy.rows * generator.standard_normal((draws, 1))
    centred: Floats = noise - noise.mean(axis=1, keepdims=True) + rows / size
    return centred


def _statistic(counts: Floats, expected: Floats, features: Floats, total: float) -> Floats:
    misfit = (counts - counts.sum(axis=1, keepdims=True) * expected) @ features / total
    squares: Floats = np.einsum("nf,nf->n", misfit, misfit)
    return squares


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
    """Shares of cells under a law of numbers. Values beyond the bounds fall into the outer cells, as in the release.

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
    masses = np.diff(below, prepend=0.0, append=1.0)
    if not np.isfinite(masses).all() or np.any(masses < -1e-12):
        raise ParameterError("goodness_of_fit: this distribution has no proper cdf on the column's range.")
    return np.append(np.maximum(masses, 0.0), np.zeros(column.size - len(masses)))


def _measured_pair(
    noisy: NoisyBlocks, indices: tuple[int, ...]
) -> tuple[ContingencyTable | None, dict[TableKey, ContingencyTable], str]:
    """The pair in the cells where its noise is least; blocks of later rounds only where there is no other."""
    for every_round, remark in ((False, ""), (True, SELECTED)):
        tables = contingency_tables(noisy, among=frozenset(indices), every_round=every_round)
        pairs = [one for one in tables.values() if one.columns == indices]
        if pairs:
            return min(pairs, key=lambda one: one.variance * one.counts.size), tables, remark
    return None, {}, ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One of the two columns: its features, their noisy mean, and their distribution without the noise."""

    cells: CellFeatures
    measured: Floats  # (r,)
    noise: Floats  # (r, r): noise·noiseᵀ is the covariance of the noise
    mean: Floats  # (r,), of the denoised distribution
    root: Floats  # (r, r): root·rootᵀ is the covariance of the features

    @classmethod
    def of(cls, counts: Floats, covariance: Floats, cells: CellFeatures, rows: float) -> "_Column":
        shares = Simplex().project(counts / rows)
        mean = shares @ cells.features
        spread = (cells.features * shares[:, None]).T @ cells.features - np.outer(mean, mean)
        return cls(
            cells=cells,
            measured=counts / rows @ cells.features,
            noise=_root(cells.features.T @ covariance @ cells.features) / rows,
            mean=mean,
            root=_root(spread),
        )


def _counts_of(
    noisy: NoisyBlocks, index: int, groups: Integers, table: ContingencyTable | None
) -> tuple[Floats, Floats]:
    """The counts of a column in some cells, and the covariance of their noise: (cells,), (cells, cells).

    From tables of these cells; where there are none, from all that was counted of the column.
    """
    if table is not None:
        return table.counts, table.variance * np.eye(table.counts.size)
    marginal = tabulation(noisy).marginal_in((index,), {index: groups})
    assert marginal is not None  # every column is counted on its own
    _, covariance = marginal.joint(list(np.eye(marginal.size)))
    return marginal.counts, covariance


def _root(covariance: Floats) -> Floats:
    """R with R·R = covariance, R symmetric: the one root that does not depend on a choice of eigenvectors."""
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return root


def _deviation(pair: ContingencyTable, columns: Sequence[_Column], rows: float) -> Floats:
    """Standard deviations of the noise of the pair's mean features: (r, s)."""
    spectrum = np.outer(columns[0].cells.spectrum, columns[1].cells.spectrum)
    deviation: Floats = np.sqrt(pair.variance * spectrum) / rows
    return deviation


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Problem:
    columns: tuple[_Column, _Column]
    deviation: Floats
    law: Law
    sampling: float  # 1/N, or 0
    count_deviation: float

    def draw(self, draws: int, generator: np.random.Generator) -> Floats:
        """`squares` of M − m·nᵀ under the hypothesis: (draws, powers)."""
        one, other = self.columns
        product = np.outer(one.mean, other.mean)
        statistics = np.empty((draws, len(POWERS)))
        for index in range(draws):
            chance = one.root @ generator.standard_normal(product.shape) @ other.root.T * np.sqrt(self.sampling)
            joint = product + chance + draw_noise(self.law, self.deviation, generator)
            first, second = (
                column.mean + column.noise @ draw_noise(self.law, np.ones(len(column.mean)), generator)
                for column in self.columns
            )
            counted = 1.0 + self.count_deviation * generator.standard_normal()
            statistics[index] = self.squares(joint / counted - np.outer(first, second) / counted**2)
        return statistics

    def squares(self, difference: Floats) -> Floats:
        """‖D‖² with the kernels as they are, and with smoother ones: their powers as operators. (powers,)."""
        one, other = (column.cells.spectrum / column.cells.spectrum.max() for column in self.columns)
        return np.array([np.sum(difference**2 * np.outer(one, other) ** (power - 1)) for power in POWERS])
