"""Several synthetic data sets from one release, at no privacy cost, that carry its uncertainty into any tool.

They are a parametric bootstrap of the whole release: take the synthetic rows for the truth, draw a table of N rows from
them (for the population; the rows as they are for the table itself), add fresh noise of the released size to its counts
or features, and fit again. How far a statistic of such a set lies from that of the synthetic rows, on average, is how
far the release lies from the truth: by sampling, by noise, and by the fit.

This is valid where the synthetic rows are near the truth and the fit moves little by little with its noisy input: for
means and shares, not for a dependence that noise hides. The fit pulls that toward none, and the bootstrap, which takes
the fit for the truth, sees only a part of that bias. What was never measured is outside of it too.
"""

import dataclasses
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
from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError, UncertaintyWarning
from kernelease.fit.weights import Simplex, WeightSolver, tolerance_at_noise
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks, estimated_rows
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.privacy.accounting import Law
from kernelease.privacy.sensitivity import Neighbours
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
    same_rows: bool  # whether only the weights differ

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
        balanced repeated replication with a scale of 1/R, which R's survey package, Stata and SAS read. Where each
        replicate has rows of its own, they weigh nothing elsewhere. Their columns are replicate_1, replicate_2, …, or
        row_replicate_1, … where the table has such columns itself.
        """
        return self._side_by_side() if self.same_rows else self._one_below_another()

    def _side_by_side(self) -> pa.Table:
        table = self.rows
        for name, replicate in zip(self._names(), self.replicates, strict=True):
            table = table.append_column(name, replicate.column(self.weight_name))
        return table

    def _one_below_another(self) -> pa.Table:
        tables = [self.rows, *self.replicates]
        stacked = pa.concat_tables([table.drop_columns([self.weight_name]) for table in tables])
        ends = np.cumsum([table.num_rows for table in tables])
        for name, table, end in zip([self.weight_name, *self._names()], tables, ends, strict=True):
            weights = np.zeros(stacked.num_rows)
            weights[end - table.num_rows : end] = table.column(self.weight_name).to_numpy()
            stacked = stacked.append_column(name, pa.array(weights))
        return stacked

    def _names(self) -> list[str]:
        return replicate_names(self.rows.column_names, len(self.replicates))


def replicate_names(columns: Sequence[str], count: int) -> list[str]:
    """Names of the columns of replicate weights: numbered, after a word that no column of the table begins with."""
    word = free_name("replicate", (re.sub("_[0-9]+$", "", name) for name in columns))
    return [f"{word}_{number}" for number in range(1, count + 1)]


def table_samples(
    release: Released,
    codes: Integers,
    blocks: NoisyBlocks,
    fitted: Callable[[NoisyBlocks, PublicSeed, np.random.Generator, Progress], pa.Table],
    count: int,
    *,
    target: Target,
    seed: int,
    progress: Progress = SILENT,
) -> Samples:
    """Samples of a release of noisy counts: bootstrap a table, count it, add noise, fit, and draw rows.

    `codes` are the atoms of its rows, (n, columns); `fitted` makes rows of noisy counts.
    """
    weights, replicates = release.weights, []
    for index in range(count):
        public = PublicSeed(seed + index)
        generator = public.generator("replicate")
        shares = _bootstrap(weights, blocks.rows, target, generator)
        noisy, watching = _add_noise(blocks, codes, shares, generator), Repeated(progress, "data set", index + 1, count)
        replicates.append(fitted(noisy, public, generator, watching))
    return _samples(release, replicates, target, same_rows=False)


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
    return _samples(release, replicates, target, same_rows=True)


def _samples(release: Released, replicates: Sequence[pa.Table], target: Target, *, same_rows: bool) -> Samples:
    name = release.measurements.domain.weight_name
    return Samples(
        rows=release.table, weight_name=name, replicates=tuple(replicates), target=target, same_rows=same_rows
    )


def _bootstrap(weights: Floats, rows: float, target: Target, generator: np.random.Generator) -> Floats:
    """The shares of synthetic rows in a table that is drawn from them; as they are where the table is the target."""
    shares: Floats = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    if target is Target.TABLE:
        return shares
    size = max(1, round(rows))
    drawn: Floats = generator.multinomial(size, shares) / size
    return drawn


def _add_noise(blocks: NoisyBlocks, codes: Integers, shares: Floats, generator: np.random.Generator) -> NoisyBlocks:
    fresh = tuple(_add_block_noise(block, codes, shares * blocks.rows, generator) for block in blocks.blocks)
    moments = tuple(_shake(moment, generator) for moment in blocks.moments)
    result = dataclasses.replace(blocks, blocks=fresh, moments=moments)
    if blocks.neighbours is Neighbours.ADD_REMOVE:
        return dataclasses.replace(result, rows=estimated_rows(fresh))
    return result


def _add_block_noise(block: NoisyBlock, codes: Integers, heights: Floats, generator: np.random.Generator) -> NoisyBlock:
    """The counts of weighted rows, with noise of the block's law and size, on its grid."""
    cells = [groups[codes[:, column]] for column, groups in zip(block.block.columns, block.block.groups, strict=True)]
    counts: Floats = np.bincount(
        np.ravel_multi_index(cells, block.block.grid), heights, minlength=math.prod(block.block.grid)
    ).astype(np.float64)
    counts = block.block.seen(counts.reshape(block.block.grid)).ravel()
    noisy = (counts + _noise(block.measurement.law, block.sigma, len(counts), generator)) * block.whole
    bits = block.measurement.bits
    integers = np.array([int(math.ldexp(value, bits)) for value in noisy.tolist()], dtype=object)
    return dataclasses.replace(block, measurement=dataclasses.replace(block.measurement, integers=integers))


def _shake(moment: NoisyBlock, generator: np.random.Generator) -> NoisyBlock:
    """A moment with its noise once more: synthetic rows follow it, so that they need not be weighed again."""
    noise = _noise(moment.measurement.law, moment.measurement.standard_deviation, moment.block.cells, generator)
    added = [int(math.ldexp(value, moment.measurement.bits)) for value in noise.tolist()]
    integers = moment.measurement.integers + np.array(added, dtype=object)
    return dataclasses.replace(moment, measurement=dataclasses.replace(moment.measurement, integers=integers))


def _noise(law: Law, deviation: float, size: int, generator: np.random.Generator) -> Floats:
    if law is Law.LAPLACE:
        return generator.laplace(0.0, deviation / math.sqrt(2.0), size)
    noise: Floats = generator.standard_normal(size) * deviation
    return noise
