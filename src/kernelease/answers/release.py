"""A release: synthetic rows with weights, the noisy numbers behind them, and the certificate."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease import html
from kernelease.analysis.agreement import Agreement, agreement
from kernelease.analysis.averages import mean
from kernelease.analysis.estimate import Estimate, Target, plain_number
from kernelease.analysis.evidence import Answers, Evidence, answers
from kernelease.analysis.groups import Regression
from kernelease.analysis.spread import standard_deviation
from kernelease.answers.comparisons import Comparisons
from kernelease.answers.forms import Forms
from kernelease.answers.frames import Frames
from kernelease.answers.habits import Description, describe
from kernelease.answers.questions import Among, Questions, ShortForms
from kernelease.answers.reading import evidence_of
from kernelease.arrays import Floats, Rows, as_rows
from kernelease.bundle.saving import write
from kernelease.certificate import Certificate, Contents, FitSettings, Measurements
from kernelease.errors import ParameterError
from kernelease.fit.solver import Solution
from kernelease.table.reading import float_values
from kernelease.table.schema import Schema

if TYPE_CHECKING:
    from kernelease.answers.replicates import Replicates


@final
@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Release(Frames, ShortForms):
    """What the owner publishes. Nothing in it is private; everything computed from it is free.

    Everyday questions are asked of the release itself: `release.mean("income", by="sex")`. All others are in `ask`,
    `where`, `by` and `of`; tests and distances in `tests`; its rows in other forms in `forms`.

    `table` holds the synthetic rows, and last their weights (those of a distribution add up to 1), in a column named
    `weight`, or row_weight where the table has a column `weight` itself.
    `settings` is None where rows were changed after they had been fitted.
    """

    table: pa.Table
    measurements: Measurements
    settings: FitSettings | None = None
    _solution: Solution | None = field(default=None, repr=False)  # of methods that fit points; not in a bundle
    _evidence: dict[Target, Evidence] = field(default_factory=dict, init=False, repr=False, compare=False)
    _replicates: dict[Target, "Replicates"] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def certificate(self) -> Certificate:
        """The guarantee."""
        return self.measurements.certificate

    @property
    def schema(self) -> Schema | None:
        """The declared columns; vectors have none."""
        return self.measurements.schema

    @property
    def points(self) -> Rows:
        """The synthetic rows as an array: (M, d)."""
        if self._solution is not None:
            return self._solution.synthetic.points
        columns = [column.to_pylist() for column in self.rows.columns]
        return as_rows(list(zip(*columns, strict=True)))

    @property
    def weights(self) -> Floats:
        """w: (M,)."""
        return float_values(self.table.column(self.measurements.domain.weight_name))

    @property
    def rows(self) -> pa.Table:
        """The synthetic rows without their weights."""
        return self.table.drop_columns([self.measurements.domain.weight_name])

    def agreement(self) -> Agreement:
        """Where the synthetic rows and the estimates disagree by more than the noise: trust the estimates there."""
        return agreement(evidence_of(self, Target.TABLE), mean, standard_deviation)

    def describe(self) -> Description:
        """What each column holds, with intervals: mean, deviation, median, what is missing or most frequent."""
        if self.schema is None:
            raise ParameterError("describe: needs a release of a table; of vectors, ask release.mean('x0') and so on.")
        return describe(self.ask, self.schema.columns)

    def answers(self) -> Answers:
        """What this release can and can't answer, by column and by pair of columns."""
        return replace(answers(evidence_of(self, Target.TABLE)), notices=self.measurements.notices)

    @property
    def ask(self) -> Questions[Estimate, Regression]:
        """Every question there is, about all rows: `release.ask.gini("income")`."""
        return Questions(Among(release=self))

    @property
    def tests(self) -> Comparisons:
        """Tests and distances: to a sample or another release, of independence, of a law that is given."""
        return Comparisons(self)

    @property
    def forms(self) -> Forms:
        """The rows in other forms: of equal weight, bounded weights, features and labels, several data sets."""
        return Forms(self)

    def save(self, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False) -> Path:
        """Write the release as a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
        contents = Contents(measurements=self.measurements, rows=self.table, settings=self.settings)
        return write(contents, path, key=key, overwrite=overwrite)

    def report(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release explorer: one .html file that opens in any browser, without a network."""
        from kernelease.report.page import report_release  # noqa: PLC0415  # the page is made of releases

        return report_release(self, path, overwrite=overwrite)

    def __repr__(self) -> str:
        size = f"{self.table.num_rows:,} rows of {self.table.num_columns - 1} columns"
        return f"Release({size}; {self.certificate.headline})"

    def _repr_html_(self) -> str:
        sampled = self.table.slice(0, 5).to_pylist()
        names = self.table.column_names
        first = html.grid(names, [[_cell(row[name]) for name in names] for row in sampled])
        about = [
            ("guarantee", self.certificate.headline),
            ("rows", f"{self.table.num_rows:,} of {len(names) - 1} columns"),
        ]
        return html.card("Release", html.facts(about), first)


def _refuse_change(_release: object, name: str, _value: object) -> None:
    raise AttributeError(f"{name}: a release does not change. Keep what you compute in a variable of your own.")


Release.__setattr__ = _refuse_change  # type: ignore[method-assign]  # Python's own refusal breaks where there are slots


def _cell(value: object) -> str:
    """A cell of a row in a notebook: numbers as people write them."""
    return "" if value is None else plain_number(value) if isinstance(value, float) else str(value)
