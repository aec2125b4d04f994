"""What was measured, before or without a fit."""

from dataclasses import dataclass
from typing import final

from kernelease.measured.measured import Measured
from kernelease.methods.method import Method
from kernelease.privacy.accounting import Privacy
from kernelease.release.certificate import Certificate
from kernelease.table.domain import Domain
from kernelease.table.schema import Schema


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """All that fitting needs: it costs nothing, as often as one likes. Nothing here is private.

    `method` is the one that measured; another one may fit, if it knows what to do with the numbers.
    """

    certificate: Certificate
    domain: Domain
    method: Method
    measured: Measured

    @property
    def notices(self) -> tuple[str, ...]:
        """What a release of these numbers can't show, in sentences that follow from them and from what is declared."""
        stated = self.certificate
        privacy = Privacy(
            epsilon=stated.epsilon, delta=stated.delta, neighbours=stated.neighbours, calibration=stated.calibration
        )
        return self.method.notices(self.measured, self.schema, privacy)

    @property
    def schema(self) -> Schema | None:
        """The declared columns; vectors have none."""
        return self.domain.schema
