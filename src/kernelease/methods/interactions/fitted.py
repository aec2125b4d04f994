"""A table as a mixture of products, from which rows are drawn."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.arrays import Integers
from kernelease.fit.mixtures.bounds import Bounds, kept
from kernelease.fit.mixtures.draw import draw_rows
from kernelease.fit.mixtures.misfit import Misfit
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.table.domain import Domain

SHOWN = 3  # convention: sets of columns that a warning names


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FittedTable:
    """A mixture of products, and how many rows it stands for."""

    mixture: Mixture
    rows: float

    def keeping(self, bounds: Sequence[Bounds]) -> "FittedTable":
        """The same with numbers whose means and variances are within bounds."""
        return replace(self, mixture=kept(self.mixture, bounds))

    def table(self, domain: Domain, count: int | None, generator: np.random.Generator) -> pa.Table:
        """`count` rows drawn from the mixture (None: as many as the table has, by its public or noisy count).

        Warns of columns that the rows do not hold together as they were measured.
        """
        wanted = max(1, round(self.rows)) if count is None else count
        poor: list[Misfit] = []

        def draw(number: int) -> Integers:  # first all, then in place of those that break a rule
            rows = draw_rows(self.mixture, number, generator, whole=wanted)
            if number == wanted:
                poor[:] = self.mixture.poorly_held_by(rows)
            return rows.T

        table = domain.drawn(draw, wanted, generator)
        if domain.schema is not None and poor:
            warnings.warn(poorly_held(poor, domain.schema.names), stacklevel=2)
        return table


def poorly_held(poor: Sequence[Misfit], names: Sequence[str]) -> str:
    """Which columns go together in the rows otherwise than in the noisy counts, beyond what noise explains."""
    told = [
        f"{misfit.chi_squared:.1f} for {' × '.join(names[column] for column in misfit.columns)}"
        for misfit in poor[:SHOWN]
    ]
    more = [f"above it for {len(poor) - SHOWN} more"] if len(poor) > SHOWN else []
    return (
        "Synthetic rows do not hold all that was measured: χ² per number, about 1 where only noise is in the way, "
        f"is {', '.join([*told, *more])}. Estimates come from the noisy counts and are not touched by it."
    )
