"""A method's steps, taken again without the private rows."""

import warnings
from typing import final

import numpy as np

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.exact.counting import ExactCounts
from kernelease.exact.rows import ExactEmbedding, PrivateRows
from kernelease.features.feature_map import FeatureMap
from kernelease.ledgers import MemoryLedger
from kernelease.measured.embeddings import NoisyEmbeddings
from kernelease.measured.measured import Measured
from kernelease.methods.method import Context, Method
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.sensitivity import Neighbours
from kernelease.seeds import PublicSeed
from kernelease.table.domain import Domain

# --------------------
# Blank rows: every sum and count is 0, and only what is public is known.


@final
class BlankRows(PrivateRows):
    """A table whose every sum and count is 0, though it is said to have `count` rows, of which some are `published`.

    A method that measures it with recorded noise (`RecordedNoise`) takes every step that it took on the private
    rows, so that anybody can see where those steps came from. `sizes` are the atoms of declared columns.
    """

    __slots__ = ("_count", "_published", "_sizes", "_unit", "_width")

    def __init__(
        self, *, width: int, count: int, published: Rows, sizes: tuple[int, ...] | None = None, unit: int = 1
    ) -> None:
        self._width = width
        self._count = count
        self._published = published
        self._sizes = sizes
        self._unit = unit

    @property
    def width(self) -> int:
        return self._width

    def public_count(self, neighbours: Neighbours) -> int | None:
        return self._count if neighbours is Neighbours.REPLACE_ONE else None

    def array(self) -> Rows:
        return np.empty((0, self._width))

    def first(self, count: int) -> Rows:
        return self._published[:count]

    def embedding(self, feature_map: FeatureMap, *, threads: int = 1) -> ExactEmbedding:
        """A sum of 0. Where persons have several rows there is none, as for rows that are there."""
        if self._unit != 1:
            raise ParameterError("This method protects rows, not persons. Take the Interactions method.")
        return ExactEmbedding(feature_map, np.zeros(feature_map.width, dtype=object), self._count)

    def counts(self) -> ExactCounts:
        if self._sizes is None:
            raise ParameterError("Interactions: counts need declared columns. Give a schema, or another method.")
        return self._blank(self._sizes)

    def _blank(self, sizes: tuple[int, ...]) -> ExactCounts:
        counts = ExactCounts(
            lambda blocks: [np.zeros(block.grid, dtype=np.int64) for block in blocks],
            sizes,
            weigher=lambda blocks: [np.zeros(block.shape, dtype=object) for block in blocks],
            unit=self._unit,
            count=self._count * self._unit,
        )
        counts.again = lambda schema: self._blank(schema.sizes)
        return counts


# --------------------
# The steps.


def retrace(
    method: Method, measured: Measured, *, domain: Domain, privacy: Privacy, seed: PublicSeed
) -> tuple[Measured, Loss]:
    """What the method measures, and charges, if every door of the barrier gives the noisy numbers that it gave before.

    All else follows from these numbers and public things alone, or the guarantee does not cover it: which cells,
    points, stages and sets were measured, with how much noise, and what was chosen. Whatever went in unseen makes this
    differ from `measured`. Raises `ParameterError` where the method takes other steps.
    """
    known = measured.neighbours is Neighbours.REPLACE_ONE
    rows = BlankRows(
        width=measured.width,
        count=round(measured.rows) if known else 0,
        published=measured.candidates if isinstance(measured, NoisyEmbeddings) else np.empty((0, measured.width)),
        sizes=domain.counted_sizes,
        unit=domain.unit_weight,
    )
    noise = measured.replay
    context = Context(domain=domain, privacy=privacy, ledger=MemoryLedger(privacy), noise=noise, seed=seed)
    method.check(domain)
    with warnings.catch_warnings(action="ignore"):  # what there was to warn of was said when the rows were measured
        again = method.measure(rows, context)
    if not noise.exhausted:
        raise ParameterError("there are more noisy numbers than the method draws.")
    return again, context.ledger.spent()
