"""Whether two columns are independent of each other: the Hilbert–Schmidt independence criterion, from noisy counts.

In centred features HSIC is ‖M − m·nᵀ‖², with M the mean features of the pair and m, n those of either column: all three
are released, with noise that is independent between them. Under the hypothesis M − m·nᵀ varies by the sampling of rows,
with covariance (S ⊗ T)/N for the features' own covariances S and T, and by the noise of M, m and n.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.cells import CellFeatures
from kernelease.analysis.column_sets import ColumnSet, Key, column_sets
from kernelease.analysis.estimate import Target
from kernelease.analysis.fluctuation import DRAWS
from kernelease.analysis.outcome import TestResult, normal_scores
from kernelease.analysis.released import count_deviation
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.fit.weights.constraints import Simplex
from kernelease.measured.blocks import NoisyBlocks
from kernelease.privacy.step import Law
from kernelease.seeds import PublicSeed
from kernelease.table import Schema
from kernelease.table.atom_kernel import LENGTHSCALE

POWERS = (1, 3)  # of the kernels: the second sees less detail, and less noise with it
SELECTED = "This pair was measured because it looked dependent, and p does not account for that choice."


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
    if draws < 19:
        raise ParameterError(f"draws must be at least 19, so that p can be 0.05, got {draws!r}.")
    indices = tuple(sorted(schema.names.index(schema.column(name).name) for name in (first, second)))
    pair, sets, remark = _measured_pair(noisy, indices)
    if pair is None:
        raise ParameterError(
            f"Columns {first!r} and {second!r} were not counted together, so their dependence was not measured."
        )
    columns = [
        _Column.of(sets[(cells,)], CellFeatures.of(schema.columns[index], groups, lengthscale=lengthscale), noisy.rows)
        for index, cells, groups in zip(indices, pair.key, pair.groups, strict=True)
    ]
    sampling = 1.0 / noisy.rows if target is Target.POPULATION else 0.0
    problem = _Problem(
        columns=(columns[0], columns[1]),
        deviation=_deviation(pair, columns, noisy.rows),
        law=pair.law,
        sampling=sampling,
        count_deviation=count_deviation(noisy),
    )
    joint = columns[0].cells.features.T @ (pair.counts / noisy.rows) @ columns[1].cells.features
    observed = problem.energies(joint - np.outer(columns[0].measured, columns[1].measured))
    energies = np.vstack([observed, problem.draw(draws, PublicSeed(seed).generator("independence"))])
    scores = normal_scores(energies).max(axis=1)
    return TestResult.from_draws(
        f"{first} and {second} are independent of each other",
        float(scores[0]),
        scores[1:],
        statistic=float(observed[0] - energies[1:, 0].mean()),
        remark=remark,
    )


def _measured_pair(noisy: NoisyBlocks, indices: tuple[int, ...]) -> tuple[ColumnSet | None, dict[Key, ColumnSet], str]:
    """The pair in the cells where its noise is least; blocks of later rounds only where there is no other."""
    for every_round, remark in ((False, ""), (True, SELECTED)):
        sets = column_sets(noisy, among=frozenset(indices), every_round=every_round)
        pairs = [one for one in sets.values() if one.columns == indices]
        if pairs:
            return min(pairs, key=lambda one: one.variance * one.counts.size), sets, remark
    return None, {}, ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """One of the two columns: its features, their noisy mean, and their distribution without the noise."""

    cells: CellFeatures
    measured: Floats  # (r,)
    deviation: Floats  # (r,), of the noise
    mean: Floats  # (r,), of the denoised distribution
    root: Floats  # (r, r): root·rootᵀ is the covariance of the features

    @classmethod
    def of(cls, one: ColumnSet, cells: CellFeatures, rows: float) -> "_Column":
        shares = Simplex().project(one.counts / rows)
        mean = shares @ cells.features
        covariance = (cells.features * shares[:, None]).T @ cells.features - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(covariance)
        return cls(
            cells=cells,
            measured=one.counts / rows @ cells.features,
            deviation=np.sqrt(one.variance * cells.spectrum) / rows,
            mean=mean,
            root=vectors * np.sqrt(np.maximum(values, 0.0)),
        )


def _deviation(pair: ColumnSet, columns: Sequence[_Column], rows: float) -> Floats:
    """Of the noise of the pair's mean features: (r, s)."""
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
        """`energies` of M − m·nᵀ under the hypothesis: (draws, powers)."""
        one, other = self.columns
        product = np.outer(one.mean, other.mean)
        statistics = np.empty((draws, len(POWERS)))
        for index in range(draws):
            chance = one.root @ generator.standard_normal(product.shape) @ other.root.T * np.sqrt(self.sampling)
            joint = product + chance + self._noise(self.deviation, generator)
            first, second = (column.mean + self._noise(column.deviation, generator) for column in self.columns)
            counted = 1.0 + self.count_deviation * generator.standard_normal()
            statistics[index] = self.energies(joint / counted - np.outer(first, second) / counted**2)
        return statistics

    def energies(self, difference: Floats) -> Floats:
        """‖D‖² with the kernels as they are, and with smoother ones: their powers as operators. (powers,)."""
        one, other = (column.cells.spectrum / column.cells.spectrum.max() for column in self.columns)
        return np.array([np.sum(difference**2 * np.outer(one, other) ** (power - 1)) for power in POWERS])

    def _noise(self, deviation: Floats, generator: np.random.Generator) -> Floats:
        if self.law is Law.LAPLACE:
            return np.asarray(generator.laplace(0.0, deviation / np.sqrt(2.0)), dtype=np.float64)
        noise: Floats = generator.standard_normal(deviation.shape) * deviation
        return noise
