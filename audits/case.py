"""What a case is: a claim of the product, an attack or fault that tries to break it, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

__all__ = ["Case", "Effort", "Kind", "Verdict"]

Kind = Literal["audit", "attack", "fault", "fuzz", "hostile", "concurrency", "soak"]


class Effort(StrEnum):
    """How long a case may take: `FAST` within the tests (a second or two), `FULL` within `make audit` (a minute)."""

    FAST = "fast"
    FULL = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one run of a case found.

    `holds` is whether the product kept the claim over `trials` trials, and `measured` says by how much. `twin` names
    the broken variant that went through the same procedure, with what was measured on it; `twin_caught` is whether the
    procedure refused it. A case without a twin has `twin=""` and `twin_caught=None`.
    """

    trials: int
    holds: bool
    measured: str
    twin: str = ""
    twin_caught: bool | None = None

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise ValueError(f"Verdict: trials must be at least 1, got {self.trials}: nothing was tried.")
        if bool(self.twin) != (self.twin_caught is not None):
            raise ValueError("Verdict: a twin needs both its description and whether it was caught.")

    @property
    def passes(self) -> bool:
        """The claim held, and the twin, where there is one, did not."""
        return self.holds and self.twin_caught is not False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A named attack or fault. `claim` is the sentence of the docs that it tries to refute; `run` tries."""

    name: str
    kind: Kind
    claim: str
    run: Callable[[Effort], Verdict]
