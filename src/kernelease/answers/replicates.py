"""Weights of a release of vectors that vary as it is uncertain, at no privacy cost.

They are a parametric bootstrap: take the weighted points for the truth, draw N rows from them (for the population; the
points as they are for the table itself), add fresh noise of the released size to their features, and fit the weights
again. How far a statistic of such a set lies from that of the points, on average, is how far the release lies from the
truth: by sampling, by noise, and by the fit. What was never measured is outside of it. Counted tables have replicates
that do not rest on a fit (`kernelease.answers.calibration`).
"""

import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pyarrow as pa
from scipy.special import stdtrit

from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.inference import ConfidenceLimits, Interval
from kernelease.answers.reading import Released
from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError, UncertaintyWarning
from kernelease.fit.weights import Simplex, WeightSolver, tolerance_at_noise
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.privacy.accounting import Law
from kernelease.progress import SILENT, Progress, Repeated
from kernelease.seeds import PublicSeed
from kernelease.table.domain import free_name

_FIT = (
    "Replicates show how the fit varies, not how far it is from the truth: intervals of skewed means, variances and "
    "dependence can be far too short. release.mean, correlation, regression, ask.gini and so on count all of it; "
    "release.agreement() says where rows and estimates disagree."
)


@final
@dataclass(frozen=True, slots=True)
class StudentLimits(ConfidenceLimits):
    """Value ± t·(standard error), where the error itself was estimated from few replicates."""

    value: float
    error: float
    replicates: int

    def at(self, level: float) -> Interval:
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        reach = float(stdtrit(self.replicates, 0.5 + level / 2.0)) * self.error
        return self.value - reach, self.value + reach


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The synthetic rows, and data sets that differ from them as they differ from the truth. Weights are last."""

    rows: pa.Table
    weight_name: str  # the column of each that holds its weights
    replicates: tuple[pa.Table, ...]
    target: Target

    def __len__(self) -> int:
        return len(self.replicates)

    def __iter__(self) -> Iterator[pa.Table]:
        return iter(self.replicates)

    def __getitem__(self, index: int) -> pa.Table:
        return self.replicates[index]

    def estimate(self, statistic: Callable[[pa.Table], Any], about: str = "") -> Estimate:
        """A statistic of the synthetic rows, with the error that its values on the data sets show.

        `statistic` takes a table, with its weights in the column `weight_name`, and gives a number.
        """
        value = float(statistic(self.rows))
        return self.combine(value, [float(statistic(table)) for table in self.replicates], about)

    def combine(self, value: float, values: Sequence[float], about: str = "") -> Estimate:
        """The combining rule: the mean squared distance of the replicates' values from the release's own value.

        The distance is from the value of the release, not from the replicates' mean: so the bias of the fit counts.
        """
        if len(values) != len(self.replicates) or not np.isfinite([value, *values]).all():
            raise ParameterError(f"combine: needs {len(self.replicates)} finite values, one for each data set.")
        warnings.warn(_FIT, UncertaintyWarning, stacklevel=2)
        error = math.sqrt(float(np.mean((np.asarray(values) - value) ** 2)))
        return Estimate(
            value=value,
            parts=Parts(noise=error),
            limits=StudentLimits(value, error, len(values)),
            target=self.target,
            about=about,
            remark="noise, sampling and how the fit varies; not how far the fit is from the truth",
        )

    def replicate_weights(self) -> pa.Table:
        """One table for survey software: the rows, their weights, and a column of weights for each replicate.

        The variance of a statistic is the mean over replicates of its squared distance from that of the main weights:
        balanced repeated replication with a scale of 1/R, which R's survey package, Stata and SAS read. Their columns
        are replicate_1, replicate_2, …, or row_replicate_1, … where the table has such columns itself.
        """
        table = self.rows
        for name, replicate in zip(self._names(), self.replicates, strict=True):
            table = table.append_column(name, replicate.column(self.weight_name))
        return table

    def _names(self) -> list[str]:
        return replicate_names(self.rows.column_names, len(self.replicates))


def replicate_names(columns: Sequence[str], count: int) -> list[str]:
    """Names of the columns of replicate weights: numbered, after a word that no column of the table begins with."""
    word = free_name("replicate", (re.sub("_[0-9]+$", "", name) for name in columns))
    return [f"{word}_{number}" for number in range(1, count + 1)]


def point_samples(
    release: Released,
    points: Rows,
    embedding: NoisyEmbedding,
    count: int,
    *,
    target: Target,
    seed: int,
    progress: Progress = SILENT,
) -> Samples:
    """Samples of a release of weighted points: the same points, reweighted to a bootstrapped, noisy embedding."""
    weights = release.weights
    design = embedding.feature_map.evaluate(points).T
    solver = WeightSolver(
        constraint=Simplex(), tolerance=tolerance_at_noise(embedding.noise_floor, embedding.mean), iterations=500
    )
    replicates = []
    for index in range(count):
        watching = Repeated(progress, "data set", index + 1, count)
        watching.expect({"fitting": 1.0})  # seconds, until the first one shows how many
        watching.stage("fitting")
        generator = PublicSeed(seed + index).generator("replicate")
        shares = _bootstrap(weights, embedding.rows, target, generator)
        noisy = design @ shares + _noise(embedding.measurement.law, embedding.sigma, len(design), generator)
        fitted = solver.solve(design, noisy, weights / weights.sum()).weights
        replicates.append(release.rows.append_column(release.measurements.domain.weight_name, pa.array(fitted)))
    return _samples(release, replicates, target)


def _samples(release: Released, replicates: Sequence[pa.Table], target: Target) -> Samples:
    name = release.measurements.domain.weight_name
    return Samples(rows=release.table, weight_name=name, replicates=tuple(replicates), target=target)


def _bootstrap(weights: Floats, rows: float, target: Target, generator: np.random.Generator) -> Floats:
    """The shares of synthetic rows in a table that is drawn from them; as they are where the table is the target."""
    shares: Floats = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    if target is Target.TABLE:
        return shares
    size = max(1, round(rows))
    drawn: Floats = generator.multinomial(size, shares) / size
    return drawn


def _noise(law: Law, deviation: float, size: int, generator: np.random.Generator) -> Floats:
    if law is Law.LAPLACE:
        return generator.laplace(0.0, deviation / math.sqrt(2.0), size)
    noise: Floats = generator.standard_normal(size) * deviation
    return noise
