"""A release beside a sample, or beside another release: the maximum mean discrepancy, and whether it is 0.

D = μ̃ − ν̂ holds the noise of the release and the sampling error of either side, so ‖D‖² is too large on average by the
sum of their variances, tr V. That sum is known, and is subtracted. Fitted rows take no part in D; they stand only for
the sampling variance of the private table, a term of order 1/N.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.comparisons.mean_embedding import ReleasedMean
from kernelease.analysis.comparisons.sample import SampleRows
from kernelease.analysis.comparisons.sampling import ErrorDraws, ScaledScatter, Scatter, draw_errors
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.inference import DRAWS, ConfidenceLimits, Interval, TestResult, check_draws, wilson_hilferty
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.seeds import PublicSeed

_GRID = 400  # lengths at which a test is inverted to an interval


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstSample:
    """A release and the rows of a sample. `fitted` gives synthetic rows, for the sampling variance of the table."""

    released: ReleasedMean
    sample: SampleRows
    fitted: Callable[[], SampleRows]
    seed: int = 0

    def mmd(self, target: Target, draws: int = DRAWS) -> Estimate:
        """Between the private table and the sample, both as they are; or between the populations they came from."""
        scatter = self._scatter(self.sample)
        sampled = [ScaledScatter(scatter=scatter, rate=1.0 / scatter.units)]
        if target is Target.TABLE:
            sampled = []
        else:
            sampled.append(ScaledScatter(scatter=self._scatter(self.fitted()), rate=1.0 / self.released.rows))
        difference = self._difference(scatter)
        error = self._error(sampled, direction_of(difference), draws)
        return mmd_estimate(difference, error, target=target, about="MMD to the sample")

    def test(self, target: Target, draws: int = DRAWS) -> TestResult:
        """Under the hypothesis the private rows vary as those of the sample do: no fitted row is needed."""
        scatter = self._scatter(self.sample)
        of_table = 1.0 / self.released.rows if target is Target.POPULATION else 0.0
        sampled = [ScaledScatter(scatter=scatter, rate=1.0 / scatter.units + of_table)]
        difference = self._difference(scatter)
        error = self._error(sampled, direction_of(difference), draws)
        return _result("The sample comes from the distribution of the private table", difference, error)

    def goodness(self, target: Target, draws: int = DRAWS) -> TestResult:
        """The same with the rows of the sample as the whole distribution, which has no sampling error."""
        scatter = self._scatter(self.sample)
        of_table = 1.0 / self.released.rows if target is Target.POPULATION else 0.0
        difference = self._difference(scatter)
        error = self._error([ScaledScatter(scatter=scatter, rate=of_table)], direction_of(difference), draws)
        return _result("The private rows come from the distribution given by these rows", difference, error)

    def _scatter(self, rows: SampleRows) -> Scatter:
        generator = PublicSeed(self.seed).generator("groups")
        return Scatter.of(rows, [part.coordinates for part in self.released.parts], generator)

    def _difference(self, scatter: Scatter) -> list[Floats]:
        return [part.mean - mean for part, mean in zip(self.released.parts, scatter.means, strict=True)]

    def _error(self, sampled: list[ScaledScatter], direction: list[Floats], draws: int) -> ErrorDraws:
        generator = PublicSeed(self.seed).generator("null")
        return draw_errors([self.released], sampled, direction, generator, draws=check_draws(draws))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AgainstRelease:
    """Two releases, in the coordinates that they share; `fitted` are synthetic rows of each."""

    released: tuple[ReleasedMean, ReleasedMean]
    fitted: tuple[Callable[[], SampleRows], Callable[[], SampleRows]]
    seed: int = 0

    def mmd(self, target: Target, draws: int = DRAWS) -> Estimate:
        """Between the two private tables, or between the populations that they came from."""
        difference = self._difference()
        error = self._error(target, direction_of(difference), draws)
        return mmd_estimate(difference, error, target=target, about="MMD of two releases")

    def test(self, target: Target, draws: int = DRAWS) -> TestResult:
        """Sampling variance by the synthetic rows of each; it matters where the noise is small beside it."""
        difference = self._difference()
        error = self._error(target, direction_of(difference), draws)
        return _result("The two private tables come from one distribution", difference, error)

    def _difference(self) -> list[Floats]:
        one, other = self.released
        return [a.mean - b.mean for a, b in zip(one.parts, other.parts, strict=True)]

    def _error(self, target: Target, direction: list[Floats], draws: int) -> ErrorDraws:
        sampled = []
        if target is Target.POPULATION:
            coordinates = [part.coordinates for part in self.released[0].parts]
            for index, (released, fitted) in enumerate(zip(self.released, self.fitted, strict=True)):
                generator = PublicSeed(self.seed).generator(f"groups {index}")
                scatter = Scatter.of(fitted(), coordinates, generator)
                sampled.append(ScaledScatter(scatter=scatter, rate=1.0 / released.rows))
        generator = PublicSeed(self.seed).generator("null")
        return draw_errors(self.released, sampled, direction, generator, draws=check_draws(draws))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MmdLimits(ConfidenceLimits):
    """Limits for θ = ‖δ‖ where ‖δ + e‖² was observed and draws of e are at hand.

    A length θ is in the interval unless ‖δ + e‖² = θ² + 2θ⟨e, u⟩ + ‖e‖² would be as far out as the observed number,
    on either side, with probability below half of 1 − level; u is the observed direction.
    """

    observed: float  # ‖D‖²
    error: ErrorDraws  # its direction is D/‖D‖

    def at(self, level: float) -> Interval:
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        reach = np.sqrt(self.observed) + 6.0 * np.sqrt(self.error.trace)
        lengths = np.linspace(0.0, float(reach), _GRID + 1)
        lower, upper = (np.empty(_GRID + 1) for _ in range(2))
        tails = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        for index, length in enumerate(lengths):
            drawn = length**2 + 2.0 * length * self.error.projections + self.error.squares
            lower[index], upper[index] = np.quantile(drawn, tails)
        inside = np.flatnonzero((lower <= self.observed) & (self.observed <= upper))
        if len(inside) == 0:  # closer than noise allows for any length: nothing speaks for more than 0
            return 0.0, float(lengths[1])
        spacing = float(lengths[1])
        return max(0.0, float(lengths[inside[0]]) - spacing), float(lengths[inside[-1]]) + spacing


def mmd_estimate(difference: list[Floats], error: ErrorDraws, *, target: Target, about: str) -> Estimate:
    """‖δ‖ from D = δ + e, part by part, with draws of e: √max(0, ‖D‖² − tr V)."""
    observed = squared_norm(difference)
    squared = observed - error.trace
    value = float(np.sqrt(max(0.0, squared)))
    # Var ‖D‖² = Var(2θ⟨e, u⟩ + ‖e‖²); a length's error is that of its square over 2θ, or its root where θ is nil.
    deviation = float(np.std(2.0 * value * error.projections + error.squares))
    spread = min(deviation / (2.0 * value), np.sqrt(deviation)) if value > 0.0 else np.sqrt(deviation)
    share = error.noise_trace / error.trace if error.trace > 0.0 else 0.0
    remark = (
        "" if squared > 0.0 else "The squared distance is below what noise and sampling alone give: nothing is seen."
    )
    return Estimate(
        value=value,
        parts=Parts(noise=float(spread * np.sqrt(share)), sampling=float(spread * np.sqrt(1.0 - share))),
        limits=MmdLimits(observed=observed, error=error),
        target=target,
        about=about,
        remark=remark,
    )


def direction_of(difference: list[Floats]) -> list[Floats]:
    """D/‖D‖, part by part."""
    norm = np.sqrt(squared_norm(difference))
    return [part / norm if norm > 0.0 else part for part in difference]


def squared_norm(difference: list[Floats]) -> float:
    """‖D‖²."""
    return sum(float(part @ part) for part in difference)


def _result(hypothesis: str, difference: list[Floats], error: ErrorDraws) -> TestResult:
    """The largest of the parts' distances and of their sum, each on one scale, against the same of the draws.

    One kernel alone sees little of a difference that lies in one column of many; taking the largest and drawing the
    null of that very maximum keeps the level, and finds both kinds (as in aggregated MMD tests, Schrab et al. 2023).
    """
    observed = np.array([float(part @ part) for part in difference])
    scores = wilson_hilferty(_with_total(np.vstack([observed, error.part_squares]))).max(axis=1)
    return TestResult.from_draws(
        hypothesis, float(scores[0]), scores[1:], statistic=float(observed.sum()) - error.trace
    )


def _with_total(squares: Floats) -> Floats:
    """The squares of all parts, and their sum as one more: (n, parts) → (n, parts + 1)."""
    return np.column_stack([squares, squares.sum(axis=1)])
