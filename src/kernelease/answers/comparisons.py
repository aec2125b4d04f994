"""What an analyst asks of a release beside a sample, another release, or a hypothesis."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, final

import numpy as np

from kernelease.analysis.comparisons.tables import SampleRows, on_common_cells
from kernelease.analysis.comparisons.two_sample import Witness, release_witness
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.inference import DRAWS, TestResult
from kernelease.answers.habits import in_words
from kernelease.answers.reading import Released, atom_codes, choice, reading
from kernelease.errors import ParameterError
from kernelease.fit.points import systematic
from kernelease.measured.blocks import NoisyBlocks
from kernelease.seeds import PublicSeed
from kernelease.table.atom_features import LENGTHSCALE

if TYPE_CHECKING:  # tests are loaded when one is asked for
    from kernelease.analysis.comparisons.two_sample import AgainstRelease, AgainstSample

_FITTED_ROWS = 4096  # synthetic rows that stand for the sampling variance of the private table


@final
@dataclass(frozen=True, slots=True)
class Comparisons:
    """Discrepancies and tests of a release. Everything is computed from its noisy numbers, whose noise is known.

    `release.tests.two_sample(other)` compares with a sample, a data frame or another release.

    `of` says whose distribution is meant: of the population that the private table was drawn from, or of the
    table itself. `lengthscale` is that of the kernel on ordered columns, as a share of their declared range; it must
    not be tuned to the result. `seed` drives the draws from the null.
    """

    _release: Released

    @in_words
    def mmd(
        self,
        other: Any,
        *,
        of: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> Estimate:
        """The maximum mean discrepancy to a sample or to another release, without the bias of noise and sampling."""
        return _against(self._release, other, lengthscale, seed).mmd(_whose(of), draws)

    @in_words
    def two_sample(
        self,
        other: Any,
        *,
        of: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> TestResult:
        """Whether a sample, or the table behind another release, comes from the same distribution."""
        whose = _whose(of)
        result = _against(self._release, other, lengthscale, seed).test(whose, draws)
        return result.with_scores(_scores(self._release, other, whose))

    @in_words
    def independence(
        self,
        first: str,
        second: str,
        *,
        of: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> TestResult:
        """Whether two columns that were counted together are independent."""
        from kernelease.analysis.comparisons.column_tests import independence_test

        blocks, schema = reading(self._release).counts("tests.independence")
        return independence_test(
            blocks, schema, first, second, target=_whose(of), draws=draws, lengthscale=lengthscale, seed=seed
        )

    @in_words
    def goodness_of_fit(
        self,
        distribution: Any,
        *,
        column: str | None = None,
        of: Target | str = Target.POPULATION,
        draws: int = DRAWS,
        lengthscale: float = LENGTHSCALE,
        seed: int = 0,
    ) -> TestResult:
        """Whether a column has given probabilities or a law of scipy.stats; without a column: all that of given rows.

        Given rows are taken as the distribution itself, not as a sample of one: for that, `two_sample`.
        """
        from kernelease.analysis.comparisons.column_tests import column_goodness
        from kernelease.analysis.comparisons.two_sample import AgainstSample

        if column is None:
            comparison = _against(self._release, distribution, lengthscale, seed)
            if not isinstance(comparison, AgainstSample):
                raise ParameterError("goodness_of_fit: compare two releases by tests.two_sample.")
            return comparison.goodness(_whose(of), draws)
        blocks, schema = reading(self._release).counts("goodness_of_fit with a column")
        return column_goodness(
            blocks, schema, column, distribution, target=_whose(of), draws=draws, lengthscale=lengthscale, seed=seed
        )

    @in_words
    def witness(
        self, other: Any, *, columns: Sequence[str] | None = None, of: Target | str = Target.POPULATION
    ) -> Witness:
        """Where a sample or another release differs: per cell of each column, or of the named columns together."""
        if isinstance(other, type(self._release)):
            two: Any = other
            blocks, schema = reading(self._release).counts("witness of two releases")
            others, theirs = reading(two).counts("witness of two releases")
            blocks, others, schema = on_common_cells(blocks, others, schema, theirs)
            return release_witness(blocks, others, schema, columns=columns, target=_whose(of))
        return reading(self._release).witness(other, columns, _whose(of))


def _whose(of: Target | str) -> Target:
    return choice(Target, of, "of")


def _against(release: Released, other: Any, lengthscale: float, seed: int) -> "AgainstSample | AgainstRelease":
    from kernelease.analysis.comparisons.two_sample import AgainstRelease, AgainstSample

    ours = reading(release)
    if isinstance(other, type(release)):
        two: Any = other
        return AgainstRelease(
            released=ours.means(reading(two), lengthscale),
            fitted=(lambda: _equal_rows(release, two), lambda: _equal_rows(two, release)),
            seed=seed,
        )
    sample = ours.sample(other)
    mean = ours.mean(sample.columns, lengthscale)
    return AgainstSample(released=mean, sample=sample, fitted=lambda: _equal_rows(release), seed=seed)


def _scores(release: Released, other: Any, target: Target) -> float | None:
    """p by the scores of single columns, where columns were counted."""
    measured, laid = release.measurements.measured, release.measurements.laid_domain.schema
    if not isinstance(measured, NoisyBlocks) or laid is None:
        return None
    from kernelease.analysis.comparisons.score_tests import release_scores, sample_scores

    if isinstance(other, type(release)):
        theirs, others = reading(cast(Any, other)).counts("A comparison with counted columns")
        ours, theirs, schema = on_common_cells(measured, theirs, laid, others)
        return release_scores(ours, theirs, schema.columns, target=target)
    return sample_scores(measured, laid.columns, reading(release).sample(other), target=target)


def _equal_rows(release: Released, other: Released | None = None) -> SampleRows:
    """Synthetic rows of equal weight. Negative weights are left out: they are no frequencies.

    Where they are compared with another release, they are in the atoms that both have in common.
    """
    weights = np.maximum(release.weights, 0.0)
    count = min(_FITTED_ROWS, max(2, len(weights)))
    chosen = systematic(weights, count, PublicSeed(0).generator("fitted rows"))
    rows = reading(release).points(chosen)
    if other is not None and release.measurements.laid_domain.schema != other.measurements.laid_domain.schema:
        ours, theirs = reading(release).counts("A comparison"), reading(other).counts("A comparison")
        schema = on_common_cells(ours[0], theirs[0], ours[1], theirs[1])[2]
        rows = atom_codes(release, schema, chosen)
    return SampleRows(rows=rows, persons=np.arange(count))
