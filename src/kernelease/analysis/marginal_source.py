"""The error of a sum over all rows, as a weighted sum of the noise of a release's blocks."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.estimate import Parts, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.marginal import Marginal
from kernelease.analysis.offset_sums import OffsetPart
from kernelease.analysis.ratio_estimator import RatioEstimator
from kernelease.analysis.sources import SAMPLED, CombinedSource, Source, Weights
from kernelease.arrays import Floats, Integers


def marginal_source(evidence: Evidence, marginal: Marginal, function: Floats, *, sampling: float) -> Source | None:
    """Of the estimate of Σ function; None for a population of which there are no rows to see how it varies."""
    if evidence.target is Target.POPULATION and evidence.rows is None:
        return None
    return MarginalSource(evidence=evidence, marginal=marginal, function=function, sampling=sampling)


def ratio_source(
    evidence: Evidence, estimator: RatioEstimator, pair: tuple[Floats, Floats], parts: Parts, scale: float
) -> Source | None:
    """Of `scale` times a ratio, to first order: of Σ (numerator − ratio·denominator), over the denominators' sum."""
    if not math.isfinite(parts.standard_error):
        return None
    ratio, offset = estimator.ratio(pair), estimator.offset
    function, by = (
        pair[0] if estimator.divisor is not None else pair[0] - ratio.value * pair[1],
        scale / ratio.denominator,
    )
    counted = marginal_source(evidence, estimator.marginal, by * function, sampling=parts.sampling)
    if counted is None or offset is None:
        return counted
    return CombinedSource(((1.0, counted), (by, OffsetSource(evidence=evidence, offset=offset))))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetSource(Source):
    """The error of what offsets add to a sum, by noise alone: sampling is counted where the cells are."""

    evidence: Evidence
    offset: OffsetPart

    @property
    def laplace(self) -> bool:
        return self.offset.sums.laplace

    def weights(self) -> Weights:
        release, tabulated = self.evidence.fingerprint, self.evidence.tabulated
        assert tabulated is not None  # offsets come with counts
        found = self.offset.sums.coefficients(self.offset.function)
        return {(release, position): tabulated.sigmas[position] * weight for position, weight in found.items()}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalSource(Source):
    """The error of the estimate of Σ function over all rows, from a marginal: `function` has a number for each cell.

    For a population the sampling error has the standard deviation `sampling`, and goes row by row as the function does
    on the synthetic rows.
    """

    evidence: Evidence
    marginal: Marginal
    function: Floats  # (cells,)
    sampling: float = 0.0

    @property
    def laplace(self) -> bool:
        return self.marginal.laplace

    def weights(self) -> Weights:
        release = self.evidence.fingerprint
        sigmas = {position: part.sigma for position, part in self.marginal.sources}
        noise = self.marginal.coefficients(self.function)
        found: dict[tuple[str, Hashable], Floats] = {
            (release, position): sigmas[position] * weight for position, weight in noise.items()
        }
        if self.sampling > 0.0:
            found[release, SAMPLED] = self.sampling * self._scores()
        return found

    def functions(self) -> Sequence[tuple[object, Floats]]:
        return [(self.marginal, self.function)]

    def _scores(self) -> Floats:
        """How the function varies over the synthetic rows, of norm 1: (rows,)."""
        evidence = self.evidence
        assert evidence.weights is not None  # whoever made it has looked
        shares = np.maximum(evidence.weights, 0.0)
        values = self.function[_cells(evidence, self.marginal)]
        centred = np.sqrt(shares) * (values - float(shares @ values) / max(float(shares.sum()), 1e-300))
        norm = float(np.linalg.norm(centred))
        return centred / norm if norm > 0.0 else np.sqrt(shares / max(float(shares.sum()), 1e-300))


def _cells(evidence: Evidence, marginal: Marginal) -> Integers:
    """The cell of each synthetic row."""
    assert evidence.rows is not None  # whoever asks has looked
    cell = np.zeros(evidence.rows.num_rows, dtype=np.int64)
    for index, groups, size in zip(marginal.columns, marginal.groups, marginal.shape, strict=True):
        column = evidence.schema.columns[index]
        cell = cell * size + groups[column.encode(evidence.rows.column(column.name))]
    return cell
