"""The synthetic rows of a release in other forms: other weights, fewer rows, several data sets, features and labels."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kernelease.analysis.comparisons.tables import as_table
from kernelease.analysis.estimate import Target
from kernelease.answers.habits import in_words
from kernelease.answers.reading import CountsReading, NoReading, choice, reading
from kernelease.arrays import Floats
from kernelease.errors import ParameterError
from kernelease.fit.points import herd
from kernelease.fit.solver import Outcome, Solution, SyntheticSet
from kernelease.fit.weights import Constraint, Simplex, WeightSolver
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.progress import Progress, show_progress
from kernelease.table.columns.column import Column
from kernelease.table.columns.listed import Boolean
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.schema import Schema

if TYPE_CHECKING:
    from kernelease.answers.release import Release
    from kernelease.answers.replicates import Replicates, Samples


# --------------------------------------------------------------------------------------------------------------
# A release as features, labels and weights, for learning from it.


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Supervised:
    """X, y, sample_weight: unpack it. `transform` encodes other rows in the same way, to test on.

    A number is one feature (NULL: its mean, and a feature that says so), an ordered column its rank, and every other
    column one feature per declared value. All of that comes from the schema, so that it fits any rows of the table.
    """

    X: Floats
    y: NDArray[Any]
    sample_weight: Floats
    feature_names: tuple[str, ...]
    target: str
    schema: Schema
    fills: dict[str, float]  # what stands for NULL, by column

    @classmethod
    def of(cls, rows: pa.Table, weights: Floats, schema: Schema, target: str) -> "Supervised":
        """Features of all columns but the target."""
        schema.column(target)
        others = [column for column in schema if column.name != target]
        if not others:
            raise ParameterError("supervised: needs at least one column beside the target.")
        if np.any(weights < 0.0):
            raise ParameterError("supervised: weights must not be negative; fit the release on the simplex.")
        fills = {column.name: _mean(column, rows.column(column.name), weights) for column in others}
        features = [_features(column, rows.column(column.name), fills[column.name]) for column in others]
        return cls(
            X=np.column_stack([part for part, _ in features]),
            y=_labels(schema.column(target), rows.column(target)),
            sample_weight=weights * len(weights) / weights.sum(),
            feature_names=tuple(name for _, names in features for name in names),
            target=target,
            schema=schema,
            fills=fills,
        )

    def __iter__(self) -> Iterator[Any]:
        return iter((self.X, self.y, self.sample_weight))

    def transform(self, rows: Any) -> tuple[Floats, NDArray[Any]]:
        """X and y of other rows of the same table: (n, d), (n,)."""
        table = as_table(rows)
        missing = [name for name in self.schema.names if name not in table.column_names]
        if missing:
            raise ParameterError(f"transform: the rows lack {', '.join(missing)}.")
        parts = [
            _features(column, table.column(column.name), self.fills[column.name])[0]
            for column in self.schema
            if column.name != self.target
        ]
        return np.column_stack(parts), _labels(self.schema.column(self.target), table.column(self.target))

    def dataset(self) -> "SyntheticDataset":
        """The same for torch.utils.data: x, y and weight of each row as tensors. Needs torch."""
        try:
            import torch  # type: ignore[import-not-found,unused-ignore]  # an optional engine
        except ImportError:
            raise ParameterError("dataset: needs torch, which is not installed.") from None
        labels = self.y if self.y.dtype.kind == "f" else np.unique(self.y, return_inverse=True)[1]
        return SyntheticDataset(
            x=torch.as_tensor(self.X, dtype=torch.float32),
            y=torch.as_tensor(labels),
            weight=torch.as_tensor(self.sample_weight, dtype=torch.float32),
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticDataset:
    """A map-style data set: what torch.utils.data.DataLoader takes. Each item is (x, y, weight)."""

    x: Any
    y: Any
    weight: Any

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        return self.x[index], self.y[index], self.weight[index]


def _numbers(column: Column, values: pa.ChunkedArray) -> Floats:
    """A number for each cell of an ordered column, NaN for NULL: its value, or its rank among the atoms."""
    if isinstance(column, Integer | Number):
        numbers: Floats = np.array(column.keys(values).cast(pa.float64()).to_numpy(), dtype=np.float64)
        return numbers
    codes = column.encode(values).astype(np.float64)
    return np.where(codes == column.null, np.nan, codes) if column.null is not None else codes


def _mean(column: Column, values: pa.ChunkedArray, weights: Floats) -> float:
    if not column.ordered or isinstance(column, Boolean):
        return 0.0
    numbers = _numbers(column, values)
    known = ~np.isnan(numbers)
    total = float(weights[known].sum())
    return float(weights[known] @ numbers[known]) / total if total > 0.0 else 0.0


def _features(column: Column, values: pa.ChunkedArray, fill: float) -> tuple[Floats, list[str]]:
    if column.ordered and not isinstance(column, Boolean):
        numbers = _numbers(column, values)
        missing = np.isnan(numbers)
        filled = np.where(missing, fill, numbers)
        if not column.nullable:
            return filled[:, None], [column.name]
        return np.column_stack([filled, missing]), [column.name, f"{column.name} is NULL"]
    codes, labels = column.encode(values), column.labels()
    if isinstance(column, Boolean) and not column.nullable:
        return codes[:, None].astype(np.float64), [column.name]
    return np.eye(len(labels))[codes], [f"{column.name} = {label}" for label in labels]


def _labels(column: Column, values: pa.ChunkedArray) -> NDArray[Any]:
    """Numbers as they are; everything else by its label."""
    if isinstance(column, Integer | Number):
        return _numbers(column, values)
    return np.array(column.labels())[column.encode(values)]


# --------------------------------------------------------------------------------------------------------------
# The synthetic rows of a release in other forms: other weights, fewer rows, several data sets, features and labels.


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
        release = self._release
        if release.schema is None:
            raise ParameterError("supervised: needs a release of a table with a schema.")
        return Supervised.of(release.rows, release.weights, release.schema, target)

    @in_words
    def replicates(self, count: int = 20, *, of: Target | str = Target.POPULATION, seed: int = 0) -> "Replicates":
        """Data sets of a counted table for any tool: weights that vary as it is uncertain. `ke.pool` joins results."""
        from kernelease.answers.replicates import replicates_of

        return replicates_of(self._release, count, target=choice(Target, of, "of"), seed=seed)

    @in_words
    def samples(
        self,
        count: int = 5,
        *,
        of: Target | str = Target.POPULATION,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> "Samples":
        """Several sets of weights of a release of vectors, that differ as it differs from the truth.

        Counted tables have `replicates`. `progress` None: a bar where somebody may watch.
        """
        from kernelease.answers.replicates import point_samples

        if count < 2:
            raise ParameterError(f"samples: count must be at least 2, got {count!r}.")
        release, view, aim = self._release, reading(self._release), choice(Target, of, "of")
        if isinstance(view, NoReading):
            raise ParameterError("samples: this release holds no noisy measurements to fit again.")
        if isinstance(view, CountsReading):
            raise ParameterError(
                "samples: are of vectors. This release counted columns: ask release.forms.replicates(20)."
            )
        with show_progress(progress) as watching:
            noisy = view.embedding("samples")
            return point_samples(release, view.points(), noisy, count, target=aim, seed=seed, progress=watching)

    def _fit_of(self, what: str) -> tuple[NoisyEmbedding, Solution]:
        solution = self._release._solution
        if solution is None:
            raise ParameterError(f"{what}: needs a release that was just fitted to a noisy embedding.")
        return reading(self._release).embedding(what), solution

    def _with(self, synthetic: SyntheticSet, noisy: NoisyEmbedding, solution: Solution) -> "Release":
        distance = synthetic.distance(noisy.feature_map, noisy.mean)
        made = replace(solution, synthetic=synthetic, distance=distance, outcome=Outcome.CONVERTED)
        domain = self._release.measurements.laid_domain
        table = domain.table_of_points(synthetic.points, synthetic.weights, np.random.default_rng(0))
        return replace(self._release, table=table, settings=None, _solution=made)
