"""What was counted of persons with records: blocks of paths, and of pairs and ends of the records of one parent."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.errors import ParameterError
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.measured.measured import Choice, Measured, RecordedNoise, Recording, all_private, digest, needed_by
from kernelease.privacy.accounting import Loss, Step
from kernelease.privacy.sensitivity import Neighbours, Sensitivity
from kernelease.table.domain import Domain

_SLACK = 1 + 1e-9  # for floats that were written in decimal and read again


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyBags(Measured):
    """Noisy counts of `paths`, as of a table of the flat schema, and then of `siblings`.

    A block of siblings is of two columns: one of a record, and one of another record of the same parent; the columns of
    these others follow all others. The last cell of such a column holds the records that have no sibling. Of records
    in sequence the other one is the next, and the last cell the end; blocks of one column are of the first and the last
    record of each parent.
    """

    paths: NoisyBlocks
    siblings: tuple[NoisyBlock, ...] = ()

    @property
    def neighbours(self) -> Neighbours:
        return self.paths.neighbours

    @property
    def rows(self) -> float:
        """The number of persons: N where it is public, else a noisy count."""
        return self.paths.rows

    @property
    def width(self) -> int:
        return self.paths.width

    @property
    def choices(self) -> tuple[Choice, ...]:
        return self.paths.choices

    @property
    def steps(self) -> tuple[Step, ...]:
        """Those of the paths, then every block of siblings."""
        return (*self.paths.steps, *(block.measurement.step for block in self.siblings))

    @property
    def private(self) -> bool:
        return self.paths.private and all_private(block.measurement for block in self.siblings)

    @property
    def replay(self) -> RecordedNoise:
        """Paths, siblings, and the picks of the paths."""
        before = self.paths.replay
        after = tuple(Recording(integers=block.measurement.integers) for block in self.siblings)
        return RecordedNoise(vectors=(*before.vectors, *after), picks=before.picks, private=self.private)

    def least_sensitivities(self, neighbours: Neighbours, unit: int) -> tuple[float, ...]:
        """Least sensitivities: a person moves a block of siblings as far as any other."""
        if any(block.unit != unit for block in self.siblings):
            raise ParameterError("a table of siblings is of another unit than the one that is protected.")
        steps = [block.measurement.step for block in self.siblings]
        least: list[Sensitivity] = [block.least(neighbours) for block in self.siblings]
        needed = [needed_by(step, own) for step, own in zip(steps, least, strict=True)]
        if any(step.sensitivity > exact * _SLACK for step, exact in zip(steps, needed, strict=True)):
            raise ParameterError("a table of siblings was measured for another relation than the one that is promised.")
        return (*self.paths.least_sensitivities(neighbours, unit), *needed)

    def domain_of(self, domain: Domain) -> Domain:
        return self.paths.domain_of(domain)

    def check(self, domain: Domain) -> None:
        """Paths of the flat schema, and siblings of its columns."""
        self.paths.check(domain)
        domain = self.domain_of(domain)
        if domain.counted_sizes is None or domain.sizes is None:
            raise ParameterError("there are no declared tables.")
        for block in self.siblings:
            block.check(domain.counted_sizes)
            beside = [column >= len(domain.sizes) for column in block.block.columns]
            if beside not in ([False, True], [True]) or block.block.weighs:
                raise ParameterError("a table of siblings is of other columns than a record's and another record's.")

    def check_shares(self, total: Loss) -> None:
        """Check shares of μ², or of a pure ε."""
        self.paths.check_shares(total)
        pure = total.pure_epsilon < math.inf
        for noisy in self.siblings:
            loss = noisy.measurement.step.loss
            part = loss.pure_epsilon / total.pure_epsilon if pure else loss.mu_squared / total.mu_squared
            if not math.isclose(part, noisy.block.share, rel_tol=1e-6):
                raise ParameterError("a table of siblings was charged another share of the budget than it states.")

    @property
    def accuracy(self) -> str:
        """As for one table, each person weighing 1; then the noise of siblings."""
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield self.paths.accuracy
        yield "A count of records is of persons: each weighs 1, shared out among their records."
        if self.siblings:
            noise = sorted(block.deviation for block in self.siblings)
            yield (
                f"{len(noise):,} tables of two records of one parent, or of the first or last one, were measured. The "
                f"noise of a count has a standard deviation of {noise[0]:.3g} to {noise[-1]:.3g} persons."
            )

    @property
    def fingerprint(self) -> str | None:
        """A digest of all noisy numbers."""
        after = [block.measurement.integers for block in self.siblings]
        return digest(np.array([self.paths.fingerprint, *(digest(one) for one in after)], dtype=object))
