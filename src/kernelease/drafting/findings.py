"""What a private look has found: one finding, and all of them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Any, Final, final

from kernelease.errors import ParameterError

LOOKED_AT = 2**18  # convention: rows that are searched for persons and relations: both show in fewer

# ---- One thing that a private look has found.


PRIVATE: Final = "private, for the owner's eyes, not for publication"
DAMAGED_SHARE: Final = 0.01  # convention: cells that change their meaning are damage from one in a hundred on
_SHOWN = 3  # examples of cells, the most frequent first
_LONGEST = 40  # characters of an example


@unique
class Level(IntEnum):
    """How bad it is: something to know, some cells that change their meaning, or many of them."""

    NOTE = 0
    LOOK = 1
    DAMAGE = 2

    @classmethod
    def of_share(cls, share: float) -> "Level":
        """The level of a finding, by the share of cells that change their meaning."""
        return cls.DAMAGE if share >= DAMAGED_SHARE else cls.LOOK


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found, in which column if it is one, and what to do: a line to write, where there is one.

    Its words may hold private cells and counts: that is its purpose, and why it is not for publication. `gist`, of what
    is wrong with the format of a source, says it without either: a release that stops by itself prints no more.
    """

    level: Level
    where: str
    words: str
    remedy: str
    gist: str = ""

    def __post_init__(self) -> None:
        if not self.words or not self.remedy:
            raise ParameterError("Finding: words and remedy must say something.")

    def to_dict(self) -> dict[str, Any]:
        """The finding for machines, marked as private like every line for people."""
        return {
            "private": PRIVATE,
            "level": self.level.name.lower(),
            "where": self.where,
            "words": self.words,
            "remedy": self.remedy,
        }


def share(count: int, of: int) -> str:
    """A part of a whole, in words.

    >>> share(21, 100), share(1, 40_000)
    ('21 of 100 (21 %)', '1 of 40,000 (0.0025 %)')
    """
    return f"{count:,} of {of:,} ({100 * count / max(of, 1):.3g} %)"


def rough_share(count: int, of: int) -> str:
    """A part of a whole so roughly that no count is told.

    >>> rough_share(3, 3), rough_share(51, 100), rough_share(2, 100)
    ('all', 'most', 'some')
    """
    return "all" if count >= 0.99 * of else "most" if 2 * count > of else "some"


def examples(cells: Counter[str]) -> str:
    """The most frequent cells of some, with how often they are there.

    >>> examples(Counter({"n/a": 12, "?": 1}))
    "'n/a' 12 times, '?' once"
    """
    most = sorted(cells.items(), key=lambda item: (-item[1], item[0]))
    told = [f"{short(cell)!r} {'once' if times == 1 else f'{times:,} times'}" for cell, times in most[:_SHOWN]]
    return ", ".join(told) + (f", and {len(most) - _SHOWN:,} others" if len(most) > _SHOWN else "")


def short(cell: str) -> str:
    """A cell, cut where it is long."""
    return cell if len(cell) <= _LONGEST else cell[: _LONGEST - 1] + "…"


# ---- All that a private look has found.


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
        return max((finding.level for finding in self.findings), default=Level.NOTE)

    @property
    def size(self) -> str:
        """How many rows there are, and of how many persons where these are protected."""
        return f"{self.rows:,} rows" + ("" if self.persons is None else f" of {self.persons:,} persons")

    @property
    def verdict(self) -> str:
        return _VERDICTS[self.level]

    def damaged(self, *, strict: bool = False) -> bool:
        """Whether a release should wait. With `strict`, any cell that changes its meaning is reason enough."""
        return self.level >= (Level.LOOK if strict else Level.DAMAGE)

    def lines(self) -> Iterator[tuple[Level, str]]:
        """Lines for people, each marked as private, with how bad it is."""
        yield self.level, f"[{PRIVATE}] {self.source}: {self.size}; {self.verdict}"
        for item in self.findings:
            yield item.level, f"[{PRIVATE}] {item.level.name.lower()}: {item.where}: {item.words}."
            yield item.level, f"[{PRIVATE}]   write or do: {item.remedy}."

    def __str__(self) -> str:
        return "\n".join(text for _, text in self.lines())

    def to_dict(self) -> dict[str, Any]:
        """The report for machines, marked as private."""
        return {
            "private": PRIVATE,
            "source": self.source,
            "rows": self.rows,
            "persons": self.persons,
            "level": self.level.name.lower(),
            "verdict": self.verdict,
            "findings": [finding.to_dict() for finding in self.findings],
        }
