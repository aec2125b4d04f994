"""A release: synthetic rows with weights, the noisy numbers behind them, and the certificate."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import final

import numpy as np
import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease import html
from kernelease.analysis.agreement import Agreement, agreement
from kernelease.analysis.averages import mean
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Answers, Evidence, answers
from kernelease.analysis.groups import Regression
from kernelease.analysis.spread import standard_deviation
from kernelease.arrays import Floats, Rows, as_rows
from kernelease.errors import ParameterError
from kernelease.fit.points import herd
from kernelease.fit.solver import Outcome, Solution, SyntheticSet
from kernelease.fit.weights import Constraint, Simplex, WeightSolver
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.measured.measured import Measured
from kernelease.methods.method import Method
from kernelease.progress import SILENT, Progress
from kernelease.release.alike import is_machine, this_machine
from kernelease.release.certificate import Certificate, Measurements
from kernelease.release.comparisons import Comparisons
from kernelease.release.frames import Frames
from kernelease.release.questions import Among, Questions
from kernelease.release.reading import evidence_of, reading
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain
from kernelease.table.reading import float_values
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FitSettings:
    """What rows were made with. With the measurements it says all: the same settings give the same rows."""

    method: Method
    seed: PublicSeed
    rows: int | None = None  # how many were asked for, where rows are drawn
    machine: str = field(default_factory=this_machine)  # the kind on which they are made: it decides how floats round

    def __post_init__(self) -> None:
        if not is_machine(self.machine):
            raise ParameterError("FitSettings: machine must be a short line of text.")


@final
@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Release(Comparisons, Frames, Questions[Estimate, Regression]):
    """What the owner publishes. Nothing in it is private; everything computed from it is free.

    `table` holds the synthetic rows, and last their weights (those of a distribution add up to 1), in the column
    `weight_name`: `weight`, where no column of the table is called so.
    `settings` is None where rows were changed after they had been fitted.
    """

    table: pa.Table
    measurements: Measurements
    settings: FitSettings | None = None
    solution: Solution | None = None  # of methods that fit points; not kept in a bundle
    _evidence: dict[Target, Evidence] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def fitted(cls, measurements: Measurements, settings: FitSettings, progress: Progress = SILENT) -> "Release":
        """The rows that these settings make of the measurements."""
        progress.stage("fitting")
        result = settings.method.fit(measurements.measured, settings.seed, progress)
        progress.stage("drawing rows")
        return cls(
            table=result.table(measurements.domain, settings.rows, settings.seed.generator("rows")),
            measurements=measurements,
            settings=settings,
            solution=result if isinstance(result, Solution) else None,
        )

    @property
    def certificate(self) -> Certificate:
        """The guarantee."""
        return self.measurements.certificate

    @property
    def domain(self) -> Domain:
        """What rows are."""
        return self.measurements.domain

    @property
    def method(self) -> Method:
        """The one that measured."""
        return self.measurements.method

    @property
    def schema(self) -> Schema | None:
        """The declared columns; vectors have none."""
        return self.measurements.schema

    @property
    def measured(self) -> Measured:
        """The noisy numbers that everything here was made from."""
        return self.measurements.measured

    @property
    def points(self) -> Rows:
        """The synthetic rows as an array: (M, d)."""
        if self.solution is not None:
            return self.solution.synthetic.points
        columns = [column.to_pylist() for column in self.rows.columns]
        return as_rows(list(zip(*columns, strict=True)))

    @property
    def weight_name(self) -> str:
        """The column of `table` that holds the weights: the first of weight, row_weight, row_weight_2 … to be free."""
        return self.domain.weight_name

    @property
    def weights(self) -> Floats:
        """w: (M,)."""
        return float_values(self.table.column(self.weight_name))

    @property
    def rows(self) -> pa.Table:
        """The synthetic rows without their weights."""
        return self.table.drop_columns([self.weight_name])

    def check(self) -> Agreement:
        """Where the synthetic rows and the estimates disagree by more than the noise: trust the estimates there."""
        return agreement(evidence_of(self, Target.TABLE), mean, standard_deviation)

    def answers(self) -> Answers:
        """What this release can and can't answer, by column and by pair of columns."""
        return replace(answers(evidence_of(self, Target.TABLE)), notices=self.measurements.notices)

    @property
    def _among(self) -> Among:
        return Among(release=self)

    def save(self, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False) -> Path:
        """Write the release as a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
        from kernelease.release.bundle import save  # noqa: PLC0415  # bundles are made of releases, and load them too

        return save(self, path, key=key, overwrite=overwrite)

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release explorer: one .html file that opens in any browser, without a network."""
        from kernelease.report.page import report_release  # noqa: PLC0415  # the page is made of releases

        return report_release(self, path, overwrite=overwrite)

    def uniform(self, count: int) -> "Release":
        """The release with `count` rows of equal weight, taken by herding; it reports its own distance."""
        noisy = self._measured("uniform")
        return self._with(herd(noisy.feature_map, noisy.mean, self.points, count))

    def bounded(self, constraint: Constraint | None = None) -> "Release":
        """The same rows with weights fitted again under a constraint (None: the simplex), so that Σ|w| is bounded."""
        view = reading(self)
        noisy = view.embedding("bounded")
        design = noisy.feature_map.evaluate(view.points()).T
        solver = WeightSolver(constraint=Simplex() if constraint is None else constraint)
        weights = solver.solve(design, noisy.mean).weights
        table = self.rows.append_column(self.weight_name, pa.array(weights))
        return replace(self, table=table, settings=None, solution=None)

    def as_float32(self) -> "Release":
        """The release with points rounded to float32; it reports its own distance."""
        self._measured("as_float32")
        return self._with(SyntheticSet(points=self.points, weights=self.weights).as_float32())

    def __repr__(self) -> str:
        return f"Release({self.table.num_rows} rows; {self.certificate.headline})"

    def _repr_html_(self) -> str:
        sampled = self.table.slice(0, 5).to_pylist()
        names = self.table.column_names
        first = html.grid(names, [[_cell(row[name]) for name in names] for row in sampled])
        about = [
            ("guarantee", self.certificate.headline),
            ("rows", f"{self.table.num_rows:,} of {len(names) - 1} columns"),
        ]
        return html.card("Release", html.facts(about), first)

    def _measured(self, what: str) -> NoisyEmbedding:
        if self.solution is None:
            raise ParameterError(f"{what}: needs a release that was just fitted to a noisy embedding.")
        return reading(self).embedding(what)

    def _with(self, synthetic: SyntheticSet) -> "Release":
        noisy = self._measured("this form")
        assert self.solution is not None  # _measured has looked
        distance = synthetic.distance(noisy.feature_map, noisy.mean)
        solution = replace(self.solution, synthetic=synthetic, distance=distance, outcome=Outcome.CONVERTED)
        table = self.domain.weighted(synthetic.points, synthetic.weights, np.random.default_rng(0))
        return replace(self, table=table, settings=None, solution=solution)


def _cell(value: object) -> str:
    """A cell of a row in a notebook: numbers in four digits."""
    return "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
