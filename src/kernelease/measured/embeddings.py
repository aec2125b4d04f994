"""Noisy mean embeddings in stages: what Subspace, RandomFeatures and Adaptive measure."""

from dataclasses import dataclass
from typing import final

from kernelease.arrays import Rows
from kernelease.errors import ParameterError
from kernelease.features.nystrom import Nystrom
from kernelease.kernels.kernel import Kernel
from kernelease.measured.choice import Choice
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.measured.gaussians import Gaussians
from kernelease.measured.measured import Measured, all_private, digest, needed_by
from kernelease.measured.recorded import RecordedNoise, Recording
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.sensitivity import sum_sensitivity
from kernelease.privacy.step import Step
from kernelease.table.domain import Domain

_SLACK = 1 + 1e-9  # for floats that were written in decimal and read again


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyEmbeddings(Measured):
    """One noisy embedding, or several of the same rows, each chosen in sight of those before it.

    `candidates` are the public points that a fit may use, and `law` the Gaussians that the stages were taken for, in
    units of the kernel's lengthscales, where a method looks for them.
    """

    stages: tuple[NoisyEmbedding, ...]
    candidates: Rows
    law: Gaussians | None = None
    published: int = 0
    choices: tuple[Choice, ...] = ()

    def __post_init__(self) -> None:
        if not self.stages or self.published < 0:
            raise ParameterError("NoisyEmbeddings: needs at least one stage, and no negative number of rows.")

    @property
    def embedding(self) -> NoisyEmbedding:
        """The last stage: what answers are taken from."""
        return self.stages[-1]

    @property
    def neighbours(self) -> Neighbours:
        """The relation of every stage."""
        return self.embedding.neighbours

    @property
    def rows(self) -> float:
        """Of the last stage."""
        return self.embedding.rows

    @property
    def steps(self) -> tuple[Step, ...]:
        """A step each."""
        return tuple(stage.measurement.step for stage in self.stages)

    @property
    def private(self) -> bool:
        """Whether all noise came from the operating system."""
        return all_private(self.stages)

    @property
    def width(self) -> int:
        """Number of columns, of the candidates too."""
        return int(self.candidates.shape[1])

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Of the stages that measure a kernel's subspace."""
        maps = (stage.feature_map for stage in self.stages)
        return tuple(feature_map.kernel for feature_map in maps if isinstance(feature_map, Nystrom))

    @property
    def recorded(self) -> RecordedNoise:
        """Stage by stage."""
        counted = self.neighbours is Neighbours.ADD_REMOVE
        vectors = tuple(Recording(integers=stage.measurement.integers, counted=counted) for stage in self.stages)
        return RecordedNoise(vectors=vectors, picks=(), private=self.private)

    @property
    def published_rows(self) -> int:
        """Rows of the private table that were public before."""
        return self.published

    @property
    def fingerprint(self) -> str:
        """Of the last stage."""
        return digest(self.embedding.measurement.integers)

    def needed(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """By each map's own diameter or norm; features weigh rows alike, so `unit` has to be 1."""
        if unit != 1:
            raise ParameterError("embeddings protect rows, not persons.")
        for stage in self.stages:
            _check_map(stage)
        return tuple(
            needed_by(stage.measurement.step, sum_sensitivity(stage.feature_map, neighbours)) for stage in self.stages
        )

    def check(self, domain: Domain) -> None:
        """Stages of one relation and one number of rows."""
        for stage in self.stages:
            stage.check()
            if stage.neighbours is not self.neighbours:
                raise ParameterError("the stages are of different neighbour relations.")
            if self.neighbours is Neighbours.REPLACE_ONE and stage.rows != self.rows:
                raise ParameterError("the stages are of different numbers of rows.")
        if domain.sizes is not None and self.candidates.shape[1] != len(domain.sizes):
            raise ParameterError("the public points have other columns than the schema.")

    @property
    def accuracy(self) -> str:
        """The noise of the last stage."""
        noisy = self.embedding
        return (
            f"A mean of {noisy.feature_map.dimension:,} features was measured; the noise of each has a standard "
            f"deviation of {noisy.sigma:.3g}, together {noisy.noise_floor:.3g} in the norm of the kernel."
        )


def _check_map(stage: NoisyEmbedding) -> None:
    """The one number in a feature map that shrinks its diameter, and that a file could understate."""
    feature_map = stage.feature_map
    if isinstance(feature_map, Nystrom) and feature_map.stretch * _SLACK < feature_map.least_stretch:
        raise ParameterError("the stretch of the subspace is understated.")
