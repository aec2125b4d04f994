"""A release beside a sample, or beside another release: how far apart, and whether at all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.discrepancy import length, unit_direction
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.fluctuation import DRAWS, Fluctuation, Sampled, fluctuation
from kernelease.analysis.outcome import TestResult, normal_scores
from kernelease.analysis.released import ReleasedMean
from kernelease.analysis.samples import SampleRows
from kernelease.analysis.scatter import Scatter
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.seeds import PublicSeed


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
        sampled = [Sampled(scatter=scatter, rate=1.0 / scatter.units)]
        if target is Target.TABLE:
            sampled = []
        else:
            sampled.append(Sampled(scatter=self._scatter(self.fitted()), rate=1.0 / self.released.rows))
        difference = self._difference(scatter)
        error = self._error(sampled, unit_direction(difference), draws)
        return length(difference, error, target=target, about="MMD to the sample")

    def test(self, target: Target, draws: int = DRAWS) -> TestResult:
        """Under the hypothesis the private rows vary as those of the sample do: no fitted row is needed."""
        scatter = self._scatter(self.sample)
        of_table = 1.0 / self.released.rows if target is Target.POPULATION else 0.0
        sampled = [Sampled(scatter=scatter, rate=1.0 / scatter.units + of_table)]
        difference = self._difference(scatter)
        error = self._error(sampled, unit_direction(difference), draws)
        return _result("The sample comes from the distribution of the private table", difference, error)

    def goodness(self, target: Target, draws: int = DRAWS) -> TestResult:
        """The same with the rows of the sample as the whole distribution, which has no sampling error."""
        scatter = self._scatter(self.sample)
        of_table = 1.0 / self.released.rows if target is Target.POPULATION else 0.0
        difference = self._difference(scatter)
        error = self._error([Sampled(scatter=scatter, rate=of_table)], unit_direction(difference), draws)
        return _result("The private rows come from the distribution given by these rows", difference, error)

    def _scatter(self, rows: SampleRows) -> Scatter:
        generator = PublicSeed(self.seed).generator("groups")
        return Scatter.of(rows, [part.coordinates for part in self.released.parts], generator)

    def _difference(self, scatter: Scatter) -> list[Floats]:
        return [part.mean - mean for part, mean in zip(self.released.parts, scatter.means, strict=True)]

    def _error(self, sampled: list[Sampled], direction: list[Floats], draws: int) -> Fluctuation:
        generator = PublicSeed(self.seed).generator("null")
        return fluctuation([self.released], sampled, direction, generator, draws=_checked(draws))


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
        error = self._error(target, unit_direction(difference), draws)
        return length(difference, error, target=target, about="MMD of two releases")

    def test(self, target: Target, draws: int = DRAWS) -> TestResult:
        """Sampling variance by the synthetic rows of each; it matters where the noise is small beside it."""
        difference = self._difference()
        error = self._error(target, unit_direction(difference), draws)
        return _result("The two private tables come from one distribution", difference, error)

    def _difference(self) -> list[Floats]:
        one, other = self.released
        return [a.mean - b.mean for a, b in zip(one.parts, other.parts, strict=True)]

    def _error(self, target: Target, direction: list[Floats], draws: int) -> Fluctuation:
        sampled = []
        if target is Target.POPULATION:
            coordinates = [part.coordinates for part in self.released[0].parts]
            for index, (released, fitted) in enumerate(zip(self.released, self.fitted, strict=True)):
                generator = PublicSeed(self.seed).generator(f"groups {index}")
                scatter = Scatter.of(fitted(), coordinates, generator)
                sampled.append(Sampled(scatter=scatter, rate=1.0 / released.rows))
        generator = PublicSeed(self.seed).generator("null")
        return fluctuation(self.released, sampled, direction, generator, draws=_checked(draws))


def _result(hypothesis: str, difference: list[Floats], error: Fluctuation) -> TestResult:
    """The largest of the parts' distances and of their sum, each on one scale, against the same of the draws.

    One kernel alone sees little of a difference that lies in one column of many; taking the largest and drawing the
    null of that very maximum keeps the level, and finds both kinds (as in aggregated MMD tests, Schrab et al. 2023).
    """
    observed = np.array([float(part @ part) for part in difference])
    scores = normal_scores(_with_total(np.vstack([observed, error.part_energies]))).max(axis=1)
    return TestResult.from_draws(
        hypothesis, float(scores[0]), scores[1:], statistic=float(observed.sum()) - error.trace
    )


def _with_total(energies: Floats) -> Floats:
    """The energies of all parts, and their sum as one more: (n, parts) → (n, parts + 1)."""
    return np.column_stack([energies, energies.sum(axis=1)])


def _checked(draws: int) -> int:
    if draws < 19:
        raise ParameterError(f"draws must be at least 19, so that p can be 0.05, got {draws!r}.")
    return draws
