"""All that a private look has found."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from kernelease.check.finding import PRIVATE, Finding, Level

_VERDICTS: Final = {
    Level.NOTE: "nothing found that changes cells",
    Level.LOOK: "something to look at before you release",
    Level.DAMAGE: "damage: correct it before you release",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The findings of a private look, the worst first. For the owner's eyes: it is never written into a bundle."""

    source: str
    rows: int
    findings: tuple[Finding, ...]
    persons: int | None = None  # where the schema has a unit

    @property
    def level(self) -> Level:
        """That of the worst finding."""
        return max((finding.level for finding in self.findings), default=Level.NOTE)

    @property
    def size(self) -> str:
        """How many rows there are, and of how many persons where these are protected."""
        return f"{self.rows:,} rows" + ("" if self.persons is None else f" of {self.persons:,} persons")

    @property
    def verdict(self) -> str:
        """In a few words."""
        return _VERDICTS[self.level]

    def damaged(self, *, strict: bool = False) -> bool:
        """Whether a release should wait. With `strict`, any cell that changes its meaning is reason enough."""
        return self.level >= (Level.LOOK if strict else Level.DAMAGE)

    def lines(self) -> Iterator[tuple[Level, str]]:
        """For people, each line marked as private, with how bad it is."""
        yield self.level, f"[{PRIVATE}] {self.source}: {self.size}; {self.verdict}"
        for item in self.findings:
            yield item.level, f"[{PRIVATE}] {item.level.name.lower()}: {item.where}: {item.words}."
            yield item.level, f"[{PRIVATE}]   write or do: {item.remedy}."

    def __str__(self) -> str:
        return "\n".join(text for _, text in self.lines())

    def to_dict(self) -> dict[str, Any]:
        """For machines, marked as private."""
        return {
            "private": PRIVATE,
            "source": self.source,
            "rows": self.rows,
            "persons": self.persons,
            "level": self.level.name.lower(),
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
        }
