"""How a release is read: what was measured decides, and is asked once, here."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, final

import numpy as np
import pyarrow as pa

from kernelease.analysis.comparisons.mean_embedding import (
    Coordinates,
    ReleasedMean,
    common_coordinates,
    released_embedding,
)
from kernelease.analysis.comparisons.tables import SampleRows, on_common_cells, sample_of_rows, sample_of_table
from kernelease.analysis.comparisons.two_sample import Witness, table_witness, vector_witness
from kernelease.analysis.estimate import Target
from kernelease.analysis.evidence import Evidence
from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError
from kernelease.kernels.kernel import as_rows
from kernelease.measured.blocks import NoisyBlocks
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.table.domains import LabelledDomain
from kernelease.table.encode import Encoder
from kernelease.table.schema import Schema

if TYPE_CHECKING:
    from kernelease.certificate import Measurements

# --------------------
# What the analyst's methods need of a release.


class Released(Protocol):
    """The public parts of a release."""

    @property
    def schema(self) -> Schema | None:
        """Of tables."""

    @property
    def measurements(self) -> "Measurements":
        """Noisy numbers, with what they were made by, and certified as."""

    @property
    def table(self) -> pa.Table:
        """Synthetic rows, weights last."""

    @property
    def rows(self) -> pa.Table:
        """Synthetic rows."""

    @property
    def points(self) -> Rows:
        """Synthetic rows as an array."""

    @property
    def weights(self) -> Floats:
        """Of the rows."""

    @property
    def _evidence(self) -> dict[Target, Evidence]:
        """What was put together for questions about the table, and about its population."""


# --------------------
# How a release is read: what was measured decides, and is asked once, here.


_MOST_COORDINATES = 1024  # in which thinning keeps the balance
_TOLD_APART = 64  # rows by which two feature maps are compared


class Reading(ABC):
    """What the analyst's methods ask of what was measured. A kind that has no answer refuses, and says why."""

    @abstractmethod
    def counts(self, what: str) -> tuple[NoisyBlocks, Schema]:
        """Noisy counts and the columns that they are of."""

    @abstractmethod
    def embedding(self, what: str) -> NoisyEmbedding:
        """The noisy mean of a feature map."""

    @abstractmethod
    def mean(self, among: frozenset[int] | None, lengthscale: float) -> ReleasedMean:
        """The released distribution as a mean of features; of some columns, where that is possible."""

    @abstractmethod
    def means(self, other: "Reading", lengthscale: float) -> tuple[ReleasedMean, ReleasedMean]:
        """This released distribution and another one, in the same features."""

    @abstractmethod
    def sample(self, data: Any) -> SampleRows:
        """Rows of an analyst's own, to compare with."""

    @abstractmethod
    def points(self, chosen: Integers | None = None) -> Rows:
        """Synthetic rows, all or some, as the measured features take them."""

    @abstractmethod
    def witness(self, data: Any, columns: Sequence[str] | None, target: Target) -> Witness:
        """Where a sample differs."""

    @abstractmethod
    def coordinates(self) -> list[Coordinates]:
        """Features in which rows of equal weight should stay near the weighted ones, the most telling first."""


def reading(release: Released) -> Reading:
    """The reading that suits what was measured."""
    measured, laid = release.measurements.measured, release.measurements.laid_domain.schema
    if isinstance(measured, NoisyBlocks) and laid is not None:
        return CountsReading(release, measured, laid)
    if isinstance(measured, NoisyEmbeddings):
        return FeaturesReading(release, measured.embedding)
    return NoReading(release)


@final
@dataclass(frozen=True, slots=True)
class CountsReading(Reading):
    """Of a table whose columns were counted."""

    release: Released
    blocks: NoisyBlocks
    schema: Schema

    def counts(self, what: str) -> tuple[NoisyBlocks, Schema]:
        return self.blocks, self.schema

    def embedding(self, what: str) -> NoisyEmbedding:
        raise ParameterError(f"{what}: needs a release of a noisy embedding; this one holds noisy counts.")

    def mean(self, among: frozenset[int] | None, lengthscale: float) -> ReleasedMean:
        """In coordinates of the columns that are there."""
        (mean,) = common_coordinates([self.blocks], self.schema.columns, among=among, lengthscale=lengthscale)
        return mean

    def means(self, other: Reading, lengthscale: float) -> tuple[ReleasedMean, ReleasedMean]:
        """Cell by cell."""
        theirs, laid = other.counts("A comparison with counted columns")
        one, two, schema = on_common_cells(self.blocks, theirs, self.schema, laid)
        first, second = common_coordinates([one, two], schema.columns, lengthscale=lengthscale)
        return first, second

    def sample(self, data: Any) -> SampleRows:
        """A table with some of the columns."""
        return sample_of_table(data, self.schema)

    def points(self, chosen: Integers | None = None) -> Rows:
        return atom_codes(self.release, self.schema, chosen)

    def witness(self, data: Any, columns: Sequence[str] | None, target: Target) -> Witness:
        """Per cell of each column, or of the named columns together."""
        return table_witness(self.blocks, self.schema, self.sample(data), columns=columns, target=target)

    def coordinates(self) -> list[Coordinates]:
        """Of small tables first, as many as thinning can keep up."""
        (mean,) = common_coordinates([self.blocks], self.schema.columns)
        chosen: list[Coordinates] = []
        width = 0
        for part in sorted(mean.parts, key=lambda part: len(part.mean)):
            width += len(part.mean)
            if chosen and width > _MOST_COORDINATES:
                break
            chosen.append(part.coordinates)
        return chosen


@final
@dataclass(frozen=True, slots=True)
class FeaturesReading(Reading):
    """Of vectors, or of a table, whose features were measured together."""

    release: Released
    noisy: NoisyEmbedding

    def counts(self, what: str) -> tuple[NoisyBlocks, Schema]:
        raise ParameterError(f"{what}: needs a release of a table with measured counts.")

    def embedding(self, what: str) -> NoisyEmbedding:
        return self.noisy

    def mean(self, among: frozenset[int] | None, lengthscale: float) -> ReleasedMean:
        """In the features that were measured, whichever columns are asked for."""
        return released_embedding(self.noisy)

    def means(self, other: Reading, lengthscale: float) -> tuple[ReleasedMean, ReleasedMean]:
        """Only of one and the same map."""
        theirs = other.embedding("A comparison with measured features")
        points = self.points(np.arange(min(_TOLD_APART, len(self.release.weights))))
        ours, others = (noisy.feature_map.evaluate(points) for noisy in (self.noisy, theirs))
        if ours.shape != others.shape or not np.allclose(ours, others):
            raise ParameterError("These releases measured different feature maps: take one kernel and seed for both.")
        return released_embedding(self.noisy), released_embedding(theirs)

    def sample(self, data: Any) -> SampleRows:
        """Rows with all columns."""
        schema = self.release.schema
        if schema is None:
            return self._sample_of_vectors(data)
        sample = sample_of_table(data, schema)
        if sample.columns is not None and len(sample.columns) < len(schema):
            raise ParameterError("The sample must have all columns: this release measured them together only.")
        return SampleRows(rows=as_rows(sample.rows), persons=sample.persons)

    def points(self, chosen: Integers | None = None) -> Rows:
        """Vectors, or codes as the kernel of atoms takes them."""
        if self.release.schema is None:
            points = self.release.points if chosen is None else self.release.points[chosen]
            domain = self.release.measurements.domain
            return domain.place_classes(points) if isinstance(domain, LabelledDomain) else points
        return as_rows(atom_codes(self.release, self.release.schema, chosen))

    def _sample_of_vectors(self, data: Any) -> SampleRows:
        """Vectors; where rows have classes, each followed by its own."""
        sample = sample_of_rows(data, self.release.points.shape[1])
        domain = self.release.measurements.domain
        if not isinstance(domain, LabelledDomain):
            return sample
        return SampleRows(rows=domain.place_classes(as_rows(sample.rows)), persons=sample.persons)

    def witness(self, data: Any, columns: Sequence[str] | None, target: Target) -> Witness:
        """At the synthetic points."""
        return vector_witness(self.noisy, self.points(), self.sample(data).rows, target=target)

    def coordinates(self) -> list[Coordinates]:
        return [part.coordinates for part in released_embedding(self.noisy).parts]


@final
@dataclass(frozen=True, slots=True)
class NoReading(Reading):
    """Of rows that were chosen, not measured: there is nothing to compare with."""

    release: Released

    def _none(self) -> NoReturn:
        raise ParameterError("This release holds no noisy measurements to compare with: its method keeps rows only.")

    def counts(self, what: str) -> tuple[NoisyBlocks, Schema]:
        self._none()

    def embedding(self, what: str) -> NoisyEmbedding:
        self._none()

    def mean(self, among: frozenset[int] | None, lengthscale: float) -> ReleasedMean:
        self._none()

    def means(self, other: Reading, lengthscale: float) -> tuple[ReleasedMean, ReleasedMean]:
        self._none()

    def sample(self, data: Any) -> SampleRows:
        self._none()

    def points(self, chosen: Integers | None = None) -> Rows:
        return self.release.points if chosen is None else self.release.points[chosen]

    def witness(self, data: Any, columns: Sequence[str] | None, target: Target) -> Witness:
        self._none()

    def coordinates(self) -> list[Coordinates]:
        """None: only weights can be kept."""
        return []


def atom_codes(release: Released, schema: Schema, chosen: Integers | None) -> Integers:
    """The synthetic rows that are chosen, or all of them, in the atoms of a schema: (n, columns)."""
    rows = release.rows if chosen is None else release.rows.take(chosen)
    codes: Integers = Encoder(schema).encode(rows).astype(np.int64)
    return codes


# --------------------
# What a release says, as its questions need it: put together once, and kept with the release.


Choice = TypeVar("Choice", bound=StrEnum)


def evidence_of(release: Released, target: Target) -> Evidence:
    """The evidence of a release of a table, for questions about the table or about its population."""
    laid = release.measurements.laid_domain.schema
    if laid is None:
        raise ParameterError("This release has no schema, so its columns have no declared meaning to ask about.")
    kept = release._evidence
    if target not in kept:
        kept[target] = Evidence(
            schema=laid,
            measured=release.measurements.measured,
            rows=release.rows,
            weights=release.weights,
            target=target,
        )
    return kept[target]


def choice(kind: type[Choice], given: Choice | str, name: str) -> Choice:
    """A member of an enumeration by its value, or an error that lists all of them."""
    try:
        return kind(given)
    except ValueError:
        names = " or ".join(repr(str(item)) for item in kind)
        raise ParameterError(f"{name} must be {names}, got {given!r}.") from None
