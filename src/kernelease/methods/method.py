"""What a method is: measure (private, charged) and fit (public, free), kept apart, rehearsed before the charge."""

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Rows
from kernelease.errors import ParameterError
from kernelease.features.feature_map import FeatureMap
from kernelease.features.nystrom import Nystrom
from kernelease.fit.solver import PointSource, PublishedRows
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import Kind
from kernelease.ledgers import MemoryLedger
from kernelease.measured.embeddings import NoisyEmbedding, NoisyEmbeddings
from kernelease.measured.measured import Choice, Measured
from kernelease.noises import Silence
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.mechanisms import PrivacyFilter, measure, select
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import ROWS, Neighbours, Subject, sum_sensitivity
from kernelease.progress import SILENT, Progress
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema

if TYPE_CHECKING:
    from kernelease.exact.rows import PrivateRows

# --------------------
# The method: measure (private, charged) and fit (public, free), kept apart.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """All that a method may know beside the rows: what they are, the guarantee, the books, two kinds of randomness."""

    domain: Domain
    privacy: Privacy
    ledger: Ledger
    noise: NoiseSource
    seed: PublicSeed
    subject: Subject = ROWS  # whom the rows are about
    threads: int = 1
    progress: Progress = SILENT

    @property
    def kernel(self) -> Kernel:
        """How alike two rows are."""
        return self.domain.kernel

    def declared(self, owner: str) -> Schema:
        """The declared columns, for a method that needs them."""
        if self.domain.schema is None:
            raise ParameterError(f"{owner}: needs declared columns. Give a schema, or another method.")
        return self.domain.schema

    def open_budget(self, coordinates: int, purpose: str) -> PrivacyFilter:
        """Charge the ledger with the whole guarantee, once, before any noise."""
        return PrivacyFilter.open(
            self.privacy, ledger=self.ledger, subject=self.subject, coordinates=coordinates, purpose=purpose
        )

    def public_rows(self, rows: "PrivateRows") -> int | None:
        """N where the relation makes it public, else None: nothing may then depend on it. Warns of a weak guarantee."""
        known = rows.public_count(self.privacy.relation)  # refuses an empty table
        if known is not None:
            warn_if_weak(self.privacy, known)
        return known


def warn_if_weak(privacy: Privacy, rows: float) -> None:
    """Warn where δ ≥ 1/N: publishing one row at random would satisfy such a guarantee.

    `rows` must be public: N under replace-one, a noisy count under add-remove.
    """
    if privacy.delta * rows >= 1.0:
        warnings.warn(
            f"delta = {privacy.delta!r} is not below 1/N = {1 / rows:.1e}: such a guarantee allows a mechanism that "
            "publishes some row outright. Take delta far below 1/N.",
            stacklevel=3,
        )


class Fitted(Protocol):
    """What a fit gives: a law, or weighted points, that become rows."""

    def table(
        self, domain: Domain, count: int | None, generator: np.random.Generator
    ) -> pa.Table | Mapping[str, pa.Table]:
        """Synthetic rows with their weights: `count` of them (None: as many as the fit has, or says).

        Of several tables: the rows of each by its name, without weights, `count` of the first.
        """
        ...


class Method(Kind, ABC):
    """A strategy for turning private rows into synthetic ones."""

    uses_kernel: ClassVar[bool] = True  # whether the certificate names one
    draws_rows: ClassVar[bool] = False  # whether its fit draws rows, as many as are asked for; else points have weights

    @property
    def dimension(self) -> int | None:
        """How many columns its rows have, where its parameters say so. An empty list of rows has these, too."""
        return None

    @property
    def of_paths(self) -> "Method":
        """What counts persons' paths as one table, in a method for several; else the method itself."""
        return self

    def check(self, domain: Domain) -> None:  # most methods have nothing to refuse so early
        """Refuse, before anything is read, what the declarations alone make impossible."""

    @abstractmethod
    def measure(self, rows: "PrivateRows", context: Context) -> Measured:
        """The private step: read rows, charge the ledger, add noise. Refuses bad input before anything is charged."""

    @abstractmethod
    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Fitted:
        """The public step, from noisy numbers alone. Free, and repeatable with other settings."""

    def notices(self, measured: Measured, schema: Schema | None, privacy: Privacy) -> tuple[str, ...]:
        """What a release of these numbers can't show, each in a sentence; none where nothing is known to be lacking."""
        return ()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownMethod(Method):
    """A method that is not one of this package's: a bundle knows its name, and nothing else of it."""

    name: str

    def measure(self, rows: "PrivateRows", context: Context) -> Measured:
        raise ParameterError(f"The method {self.name[:60]!r} is not part of kernelease: give it anew.")

    def fit(self, measured: Measured, seed: PublicSeed, progress: Progress = SILENT) -> Fitted:
        raise ParameterError(f"The method {self.name[:60]!r} is not part of kernelease: give it anew to fit with it.")


def refuse_other_columns(rows: "PrivateRows", columns: int, owner: str) -> None:
    """Refuse a table whose columns are not those of the public points: asked of the shape, so of an empty table too."""
    if rows.width != columns:
        raise ParameterError(f"{owner}: the table has {rows.width} columns, but the public points have {columns}.")


def admitted_rows(published: PublishedRows, rows: "PrivateRows", context: Context) -> Rows:
    """The part of the table that is public already, or a refusal."""
    refuse_publishing(published, context)
    known = rows.first(published.count)
    if published.count > len(known):
        raise ParameterError(f"PublishedRows: count is {published.count}, but the table has {len(known)} rows.")
    return context.kernel.admit(known)


def measured_subspace(measured: Measured, owner: str) -> tuple[NoisyEmbeddings, Nystrom]:
    """What was measured and its subspace, or a refusal of what another method has measured."""
    if isinstance(measured, NoisyEmbeddings) and isinstance(basis := measured.embedding.feature_map, Nystrom):
        return measured, basis
    raise ParameterError(f"{owner}: can only fit what {owner} has measured.")


def refuse_publishing(points: PointSource | PublishedRows, context: Context) -> None:
    """Published rows are fixed, and so is their place among all rows: that is replace-one."""
    if points.published and context.privacy.relation is not Neighbours.REPLACE_ONE:
        raise ParameterError("Published rows: a published part of the table needs replace-one neighbours.")


# --------------------
# Rehearsals: parameters that can't work must fail before the ledger is charged, not after.
#
# A rehearsal goes through the same doors as the release, with no rows, no noise, and books that are thrown away.


def rehearse_measurement(feature_map: FeatureMap, privacy: Privacy) -> NoisyEmbedding:
    """An embedding that is all zeros, with the noise scale of a real one for a single row."""
    count = 1 if privacy.relation is Neighbours.ADD_REMOVE else 0
    measurement = measure(
        np.zeros(feature_map.dimension + count, dtype=object),
        sum_sensitivity(feature_map, privacy.relation),
        budget=_scratch_budget(privacy, feature_map.dimension + 1),
        share=1.0,
        noise=Silence(),
        label="rehearsal",
    )
    return NoisyEmbedding(feature_map=feature_map, measurement=measurement, neighbours=privacy.relation, rows=1.0)


def rehearse_selection(sensitivity: int, privacy: Privacy) -> None:
    """A choice among one candidate."""
    budget = _scratch_budget(privacy, 1)
    select([0], sensitivity, budget=budget, share=1.0, noise=Silence(), label="rehearsal")


def _scratch_budget(privacy: Privacy, coordinates: int) -> PrivacyFilter:
    books = MemoryLedger.for_one(privacy, ROWS)
    return PrivacyFilter.open(privacy, ledger=books, subject=ROWS, coordinates=coordinates, purpose="rehearsal")


# --------------------
# How many points and features: the theorems' rules, corrected, under caps; each choice says which limit was active.
#
# Balancing the terms of the appendix gives M = N^(2 − 4/(2D + a + 2)) points (it prints the exponent 1 − 4/…, a
# misprint: docs/proofs/rates.md) and J = N^(4/3) features. Both ask for millions at N = 100,000, so a cap usually
# decides.


POINTS_CAP = 4096  # limit: the factorisation holds points × rank floats, at most 128 MiB
FEATURES_CAP = 4096  # limit: of time, as for points
SLACK = 0.01  # the theorem's a. convention: any positive number


def number_of_points(rows: int | None, dimension: int, cap: int = POINTS_CAP) -> Choice:
    """M for Algorithm 1: N^(2 − 4/(2D + a + 2)) or the cap. `rows` is N where it is public, else None."""
    if rows is None:
        return Choice(name="points", value=cap, reason="the cap (the number of rows is private)")
    return _cap("points", float(rows) ** (2.0 - 4.0 / (2.0 * dimension + SLACK + 2.0)), cap)


def number_of_features(rows: int | None, cap: int = FEATURES_CAP) -> Choice:
    """J for Algorithm 2: N^(4/3) or the cap, and even."""
    if rows is None:
        return Choice(name="features", value=cap, reason="the cap (the number of rows is private)")
    return _cap("features", float(rows) ** (4.0 / 3.0), cap)


def _cap(name: str, rule: float, cap: int) -> Choice:
    wanted = max(2, 2 * math.ceil(rule / 2.0))
    if wanted <= cap:
        return Choice(name=name, value=wanted, reason="the theorem's rule")
    return Choice(name=name, value=cap, reason=f"the cap (the theorem's rule asks for {wanted:.3g})")


def noise_optimal_rank(residuals: Floats, sigma: float) -> int:
    """The rank F that minimises F·σ² + (mean squared distance of the public points to the span).

    More coordinates bring more noise; fewer leave more of each point outside the span. The public points stand in for
    the private rows here, so only public numbers decide.

    >>> noise_optimal_rank(np.array([1.0, 0.1, 0.01, 0.009]), sigma=0.1)
    2
    """
    ranks = np.arange(len(residuals))
    return max(1, int(np.argmin(ranks * sigma**2 + residuals)))
