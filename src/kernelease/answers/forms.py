"""The synthetic rows of a release in other forms: other weights, fewer rows, several data sets, features and labels."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.estimate import Target
from kernelease.answers.habits import in_words
from kernelease.answers.reading import CountsReading, NoReading, choice, reading
from kernelease.errors import ParameterError
from kernelease.fit.points import herd
from kernelease.fit.solver import Outcome, Solution, SyntheticSet
from kernelease.fit.weights import Constraint, Simplex, WeightSolver
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.methods.method import Method
from kernelease.progress import Progress, shown
from kernelease.seeds import PublicSeed

if TYPE_CHECKING:
    from kernelease.answers.release import Release
    from kernelease.answers.replicates import Samples
    from kernelease.answers.supervised import Supervised


@final
@dataclass(frozen=True, slots=True)
class Forms:
    """The rows of a release as other tools take them. Nothing is measured anew, and everything is free."""

    _release: "Release"

    @property
    def solution(self) -> Solution | None:
        """The weighted points and their distance, of a method that fits points. It is not kept in a bundle."""
        return self._release._solution

    @in_words
    def uniform(self, count: int) -> "Release":
        """The release with `count` rows of equal weight, taken by herding; it reports its own distance."""
        noisy, solution = self._fit_of("uniform")
        return self._with(herd(noisy.feature_map, noisy.mean, self._release.points, count), noisy, solution)

    @in_words
    def as_float32(self) -> "Release":
        """The release with points rounded to float32; it reports its own distance."""
        noisy, solution = self._fit_of("as_float32")
        own = SyntheticSet(points=self._release.points, weights=self._release.weights)
        return self._with(own.as_float32(), noisy, solution)

    @in_words
    def bounded(self, constraint: Constraint | None = None) -> "Release":
        """The same rows with weights fitted again under a constraint (None: the simplex), so that Σ|w| is bounded."""
        view = reading(self._release)
        noisy = view.embedding("bounded")
        design = noisy.feature_map.evaluate(view.points()).T
        solver = WeightSolver(constraint=Simplex() if constraint is None else constraint)
        weights = solver.solve(design, noisy.mean).weights
        name = self._release.measurements.domain.weight_name
        table = self._release.rows.append_column(name, pa.array(weights))
        return replace(self._release, table=table, settings=None, _solution=None)

    @in_words
    def supervised(self, target: str) -> "Supervised":
        """X, y, sample_weight for scikit-learn and the like; the target is a column."""
        from kernelease.answers.supervised import Supervised

        release = self._release
        if release.schema is None:
            raise ParameterError("supervised: needs a release of a table with a schema.")
        return Supervised.of(release.rows, release.weights, release.schema, target)

    @in_words
    def samples(
        self,
        count: int = 5,
        *,
        of: Target | str = Target.POPULATION,
        rows: int | None = None,
        method: Method | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> "Samples":
        """Several data sets that differ as the release differs from the truth, with a rule to combine their results.

        Each is a fit of its own, which takes as long as the release's. `method` is the one that the release was made
        with, where that was not the default; `rows` is how many rows each gets. `progress` None: a bar where somebody
        may watch, on a terminal or in a notebook.
        """
        from kernelease.answers.replicates import point_samples, table_samples

        if count < 2:
            raise ParameterError(f"samples: count must be at least 2, got {count!r}.")
        release, view, aim = self._release, reading(self._release), choice(Target, of, "of")
        if isinstance(view, NoReading):
            raise ParameterError("samples: this release holds no noisy measurements to fit again.")
        with shown(progress) as watching:
            if not isinstance(view, CountsReading):
                noisy = view.embedding("samples")
                return point_samples(release, view.points(), noisy, count, target=aim, seed=seed, progress=watching)
            chosen = release.measurements.method if method is None else method
            refit = _Refit(release, chosen, release.table.num_rows if rows is None else rows)
            return table_samples(
                release, view.points(), view.blocks, refit, count, target=aim, seed=seed, progress=watching
            )

    def _fit_of(self, what: str) -> tuple[NoisyEmbedding, Solution]:
        solution = self._release._solution
        if solution is None:
            raise ParameterError(f"{what}: needs a release that was just fitted to a noisy embedding.")
        return reading(self._release).embedding(what), solution

    def _with(self, synthetic: SyntheticSet, noisy: NoisyEmbedding, solution: Solution) -> "Release":
        distance = synthetic.distance(noisy.feature_map, noisy.mean)
        made = replace(solution, synthetic=synthetic, distance=distance, outcome=Outcome.CONVERTED)
        domain = self._release.measurements.laid
        table = domain.weighted(synthetic.points, synthetic.weights, np.random.default_rng(0))
        return replace(self._release, table=table, settings=None, _solution=made)


@final
@dataclass(frozen=True, slots=True)
class _Refit:
    """Rows made of other noisy counts of the same table, by a method."""

    release: "Release"
    method: Method
    rows: int

    def __call__(
        self, noisy: NoisyBlocks, public: PublicSeed, generator: np.random.Generator, progress: Progress
    ) -> pa.Table:
        result = self.method.fit(noisy, public, progress)
        progress.stage("drawing rows")
        return result.table(self.release.measurements.laid, self.rows, generator)
