"""Rehearsals: what public parameters make impossible has to fail before the ledger is charged, not after.

A rehearsal goes through the same doors as the release, with no rows, no noise, and books that are thrown away.
"""

from collections.abc import Sequence
from typing import final

import numpy as np

from kernelease.arrays import Integers
from kernelease.features.feature_map import FeatureMap
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.ledger import MemoryLedger
from kernelease.privacy.mechanisms import measure, select
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.noise import LARGEST_LAPLACE_SCALE, check_scale
from kernelease.privacy.sensitivity import sum_sensitivity
from kernelease.privacy.subject import ROWS


def rehearse_measurement(feature_map: FeatureMap, privacy: Privacy) -> NoisyEmbedding:
    """An embedding that is all zeros, with the noise scale of a real one for a single row."""
    count = 1 if privacy.relation is Neighbours.ADD_REMOVE else 0
    measurement = measure(
        np.zeros(feature_map.dimension + count, dtype=object),
        sum_sensitivity(feature_map, privacy.relation),
        budget=_scratch_budget(privacy, feature_map.dimension + 1),
        share=1.0,
        noise=_Silence(),
        label="rehearsal",
    )
    return NoisyEmbedding(
        feature_map=feature_map,
        measurement=measurement,
        neighbours=privacy.relation,
        rows=1.0,
    )


def rehearse_selection(sensitivity: int, privacy: Privacy) -> None:
    """A choice among one candidate."""
    budget = _scratch_budget(privacy, 1)
    select([0], sensitivity, budget=budget, share=1.0, noise=_Silence(), label="rehearsal")


def _scratch_budget(privacy: Privacy, coordinates: int) -> PrivacyFilter:
    books = MemoryLedger.for_one(privacy, ROWS)
    return PrivacyFilter.open(privacy, ledger=books, subject=ROWS, coordinates=coordinates, purpose="rehearsal")


@final
class _Silence:
    """No noise at all; it refuses the scales that the samplers refuse."""

    @property
    def private(self) -> bool:
        return False

    def gaussian(self, scale: float, size: int) -> Integers:
        check_scale(scale)
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        check_scale(scale, LARGEST_LAPLACE_SCALE)
        return np.zeros(size, dtype=np.int64)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        check_scale(scale)
        return 0
