"""What an analyst asks of a release beside a sample, another release, or a hypothesis."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.fluctuation import DRAWS
from kernelease.analysis.goodness import column_goodness
from kernelease.analysis.independence import independence_test
from kernelease.analysis.outcome import TestResult
from kernelease.analysis.released import ReleasedMean, common_coordinates, released_embedding
from kernelease.analysis.samples import SampleRows, sample_of_rows, sample_of_table
from kernelease.analysis.two_sample import AgainstRelease, AgainstSample
from kernelease.analysis.witness import Witness, release_witness, table_witness, vector_witness
from kernelease.arrays import as_rows
from kernelease.errors import ParameterError
from kernelease.fit.points.thinning import systematic
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.release.released import Released
from kernelease.seeds import PublicSeed
from kernelease.table.atom_kernel import LENGTHSCALE
from kernelease.table.encode import Encoder
from kernelease.table.schema import Schema

_FITTED_ROWS = 4096  # synthetic rows that stand for the sampling variance of the private table


class Comparisons:
    """Discrepancies and tests of a release. Everything is computed from its noisy numbers, whose noise is known.

    `target` says whose distribution is meant: of the population that the private table was drawn from, or of the
    table itself. `lengthscale` is that of the kernel on ordered columns, as a share of their declared range; it must
    not be tuned to the result. `seed` drives the draws from the null.
    """

    __slots__ = ()

    def mmd(
        self: Released,
        other: Any,
        *,
        target: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> Estimate:
        """The maximum mean discrepancy to a sample or to another release, without the bias of noise and sampling."""
        return _against(self, other, lengthscale, seed).mmd(Target(target), draws)

    def two_sample_test(
        self: Released,
        other: Any,
        *,
        target: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> TestResult:
        """Whether a sample, or the table behind another release, comes from the same distribution."""
        return _against(self, other, lengthscale, seed).test(Target(target), draws)

    def independence_test(
        self: Released,
        first: str,
        second: str,
        *,
        target: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> TestResult:
        """Whether two columns that were counted together are independent."""
        blocks, schema = _table(self, "independence_test")
        return independence_test(
            blocks, schema, first, second, target=Target(target), draws=draws, lengthscale=lengthscale, seed=seed
        )

    def goodness_of_fit(
        self: Released,
        distribution: Any,
        *,
        column: str | None = None,
        target: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> TestResult:
        """Whether a column has given probabilities or a law of scipy.stats; without a column: all that of given rows.

        Given rows are taken as the distribution itself, not as a sample of one: for that, `two_sample_test`.
        """
        if column is None:
            comparison = _against(self, distribution, lengthscale, seed)
            if not isinstance(comparison, AgainstSample):
                raise ParameterError("goodness_of_fit: compare two releases by two_sample_test.")
            return comparison.goodness(Target(target), draws)
        blocks, schema = _table(self, "goodness_of_fit with a column")
        return column_goodness(
            blocks, schema, column, distribution, target=Target(target), draws=draws, lengthscale=lengthscale, seed=seed
        )

    def witness(
        self: Released, other: Any, *, columns: Sequence[str] | None = None, target: Target | str = Target.POPULATION
    ) -> Witness:
        """Where a sample or another release differs: per cell of each column, or of the named columns together."""
        if isinstance(other, Comparisons):
            two: Any = other
            blocks, schema = _table(self, "witness of two releases")
            others, _ = _table(two, "witness of two releases")
            _check_same_columns(self, two)
            return release_witness(blocks, others, schema, columns=columns, target=Target(target))
        if self.blocks is not None and self.schema is not None:
            sample = sample_of_table(other, self.schema)
            return table_witness(self.blocks, self.schema, sample, columns=columns, target=Target(target))
        embedding = _embedding(self)
        rows = _sample(self, other).rows
        points = _fitted(self).rows if self.schema is not None else self.points
        return vector_witness(embedding, points, rows, target=Target(target))


def _against(release: Released, other: Any, lengthscale: float, seed: int) -> AgainstSample | AgainstRelease:
    if isinstance(other, Comparisons):
        two: Any = other
        return AgainstRelease(
            released=_pair(release, two, lengthscale),
            fitted=(lambda: _fitted(release), lambda: _fitted(two)),
            seed=seed,
        )
    sample = _sample(release, other)
    if release.blocks is not None and release.schema is not None:
        columns = release.schema.columns
        (mean,) = common_coordinates([release.blocks], columns, among=sample.columns, lengthscale=lengthscale)
    else:
        mean = released_embedding(_embedding(release))
    return AgainstSample(released=mean, sample=sample, fitted=lambda: _fitted(release), seed=seed)


def _pair(one: Released, two: Released, lengthscale: float) -> tuple[ReleasedMean, ReleasedMean]:
    if one.blocks is not None and two.blocks is not None and one.schema is not None:
        _check_same_columns(one, two)
        first, second = common_coordinates([one.blocks, two.blocks], one.schema.columns, lengthscale=lengthscale)
        return first, second
    embeddings = _embedding(one), _embedding(two)
    ours, theirs = (noisy.feature_map.evaluate(_fitted(one).rows[:64]) for noisy in embeddings)
    if ours.shape != theirs.shape or not np.allclose(ours, theirs):
        raise ParameterError("These releases measured different feature maps: release both with one kernel and seed.")
    return released_embedding(embeddings[0]), released_embedding(embeddings[1])


def _check_same_columns(one: Released, two: Released) -> None:
    if one.schema is None or two.schema is None or one.schema.columns != two.schema.columns:
        raise ParameterError("These releases declare different columns, and can't be compared cell by cell.")


def _table(release: Released, what: str) -> tuple[NoisyBlocks, Schema]:
    if release.blocks is None or release.schema is None:
        raise ParameterError(f"{what}: needs a release of a table with measured counts.")
    return release.blocks, release.schema


def _embedding(release: Released) -> NoisyEmbedding:
    if release.embedding is None:
        raise ParameterError("This release holds no noisy measurements to compare with: its method keeps rows only.")
    return release.embedding


def _sample(release: Released, data: Any) -> SampleRows:
    if release.schema is None:
        return sample_of_rows(data, release.points.shape[1])
    sample = sample_of_table(data, release.schema)
    if release.blocks is None:
        if sample.columns is not None and len(sample.columns) < len(release.schema):
            raise ParameterError("The sample must have all columns: this release measured them together only.")
        return SampleRows(rows=as_rows(sample.rows), persons=sample.persons)
    return sample


def _fitted(release: Released) -> SampleRows:
    """Synthetic rows of equal weight. Negative weights are left out: they are no frequencies."""
    weights = np.maximum(release.weights, 0.0)
    count = min(_FITTED_ROWS, max(2, len(weights)))
    chosen = systematic(weights, count, PublicSeed(0).generator("fitted rows"))
    persons = np.arange(count)
    if release.schema is None:
        return SampleRows(rows=release.points[chosen], persons=persons)
    codes = Encoder(release.schema).encode(release.rows.take(pa.array(chosen))).astype(np.int64)
    return SampleRows(rows=codes if release.blocks is not None else as_rows(codes), persons=persons)
