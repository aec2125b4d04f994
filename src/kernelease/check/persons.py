"""What a private look says about persons with several rows."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

import numpy as np
import pyarrow as pa

from kernelease.check.finding import Finding, Level, share
from kernelease.table.units import identities

_MANY = 0.1  # convention: a cap that leaves out one row in ten was chosen too low, or on purpose


@final
@dataclass(slots=True, kw_only=True)
class Persons:
    """How many rows each person has. Private."""

    unit: str
    cap: int
    rows: Counter[bytes | None] = field(default_factory=Counter)

    def add(self, identifiers: pa.Array) -> None:
        """Some more rows, by the identifier of their person."""
        positions, keys = identities(identifiers)
        counts = np.bincount(positions, minlength=len(keys)).tolist()
        self.rows.update({key: count for key, count in zip(keys, counts, strict=True) if count})

    @property
    def number(self) -> int:
        """Of persons."""
        return len(self.rows) - (None in self.rows)

    def findings(self) -> Iterator[Finding]:
        """Rows that the cap leaves out, and rows of nobody."""
        total, nobody = self.rows.total(), self.rows[None]
        beyond = [count - self.cap for key, count in self.rows.items() if key is not None and count > self.cap]
        if beyond:
            words = (
                f"{share(len(beyond), self.number)} have more than {self.cap} rows; {share(sum(beyond), total)} rows "
            )
            yield Finding(
                level=Level.DAMAGE if sum(beyond) >= _MANY * total else Level.NOTE,
                where=self.unit,
                words=words + "are left out",
                remedy="a higher max_rows_per_unit, if rows of one person matter; each person then adds more noise",
            )
        if nobody:
            yield Finding(
                level=Level.of_share(nobody / total),
                where=self.unit,
                words=f"{share(nobody, total)} rows have no {self.unit}",
                remedy='rows_without_unit = "drop" leaves them out, "one-unit" counts them as one person',
            )
