"""A release: synthetic rows with weights, the noisy numbers behind them, and the certificate."""

from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import final

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.arrays import Floats, Rows, as_rows
from kernelease.errors import ParameterError
from kernelease.fit.points.herding import herd
from kernelease.fit.solution import Outcome, Solution, SyntheticSet
from kernelease.fit.weights.constraints import Constraint, Simplex
from kernelease.fit.weights.weight_solver import WeightSolver
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.release.certificate import Certificate
from kernelease.release.comparisons import Comparisons
from kernelease.release.estimates import Estimates
from kernelease.release.frames import Frames, encoded_rows
from kernelease.release.replicates import WEIGHT
from kernelease.table import Schema

__all__ = ["WEIGHT", "Release", "points_table"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Release(Comparisons, Estimates, Frames):
    """What the owner publishes. Nothing in it is private; everything computed from it is free.

    `table` holds the synthetic rows, and last a column `weight` (the weights of a distribution add up to 1).
    """

    table: pa.Table
    certificate: Certificate
    schema: Schema | None = None
    embedding: NoisyEmbedding | None = None  # of methods that measure a feature map
    blocks: NoisyBlocks | None = None  # of methods that measure contingency counts
    solution: Solution | None = None  # of methods that fit points; not kept in a bundle

    @classmethod
    def of_points(cls, solution: Solution, embedding: NoisyEmbedding | None, certificate: Certificate) -> "Release":
        """A release of weighted points without a schema, in columns x0, x1 and so on."""
        return cls(
            table=points_table(solution.synthetic), certificate=certificate, embedding=embedding, solution=solution
        )

    @property
    def points(self) -> Rows:
        """The synthetic rows as an array: (M, d)."""
        if self.solution is not None:
            return self.solution.synthetic.points
        columns = [self.table.column(name).to_pylist() for name in self.table.column_names if name != WEIGHT]
        return as_rows(list(zip(*columns, strict=True)))

    @property
    def weights(self) -> Floats:
        """w: (M,)."""
        weights: Floats = self.table.column(WEIGHT).to_numpy().astype(np.float64)
        return weights

    @property
    def rows(self) -> pa.Table:
        """The synthetic rows without their weights."""
        return self.table.drop_columns([WEIGHT])

    def save(self, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False) -> Path:
        """Write the release as a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
        from kernelease.release.bundle import save  # noqa: PLC0415  # bundles are made of releases, and load them too

        return save(self, path, key=key, overwrite=overwrite)

    def uniform(self, count: int) -> "Release":
        """The release with `count` rows of equal weight, taken by herding; it reports its own distance."""
        noisy = self._measured("uniform")
        return self._with(herd(noisy.feature_map, noisy.mean, self.points, count))

    def bounded(self, constraint: Constraint | None = None) -> "Release":
        """The same rows with weights fitted again under a constraint (None: the simplex), so that Σ|w| is bounded."""
        if self.embedding is None:
            raise ParameterError("bounded: needs a release of a noisy embedding; counts give weights that are bounded.")
        design = self.embedding.feature_map.evaluate(encoded_rows(self)).T
        solver = WeightSolver(constraint=Simplex() if constraint is None else constraint)
        weights = solver.solve(design, self.embedding.mean).weights
        return replace(self, table=self.rows.append_column(WEIGHT, pa.array(weights)), solution=None)

    def as_float32(self) -> "Release":
        """The release with points rounded to float32; it reports its own distance."""
        self._measured("as_float32")
        return self._with(SyntheticSet(points=self.points, weights=self.weights).as_float32())

    def __repr__(self) -> str:
        return f"Release({self.table.num_rows} rows; {self.certificate.headline})"

    def _measured(self, what: str) -> NoisyEmbedding:
        if self.embedding is None or self.solution is None:
            raise ParameterError(f"{what}: needs a release that was just fitted to a noisy embedding.")
        return self.embedding

    def _with(self, synthetic: SyntheticSet) -> "Release":
        noisy = self._measured("this form")
        assert self.solution is not None  # _measured has looked
        distance = synthetic.distance(noisy.feature_map, noisy.mean)
        solution = replace(self.solution, synthetic=synthetic, distance=distance, outcome=Outcome.CONVERTED)
        return replace(self, table=points_table(synthetic), solution=solution)


def points_table(synthetic: SyntheticSet) -> pa.Table:
    """Points and weights as an Arrow table: x0, x1, …, weight."""
    columns = {f"x{index}": _column(synthetic.points[:, index]) for index in range(synthetic.points.shape[1])}
    return pa.table({**columns, WEIGHT: synthetic.weights})


def _column(cells: Rows) -> pa.Array:
    """One column of the table: as it is where one plain type serves all its cells, else text. It refuses nothing."""
    values = [cell.value if isinstance(cell, Enum) else cell for cell in cells.tolist()]
    try:
        column = pa.array(values)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        column = None
    if column is not None and not pa.types.is_nested(column.type):
        return column
    return pa.array([None if value is None else _text(value) for value in values])


def _text(value: object) -> str:
    try:
        return str(value).encode(errors="replace").decode()
    except Exception:  # noqa: BLE001  # by now the budget is charged, and a cell's own __str__ must not cost the release
        return type(value).__name__
