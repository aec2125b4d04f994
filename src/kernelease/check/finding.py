"""One thing that a private look has found."""

from collections import Counter
from dataclasses import dataclass
from enum import IntEnum, unique
from typing import Any, Final, final

from kernelease.errors import ParameterError

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
        """Of a share of cells that change their meaning."""
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
        """For machines, marked as private like every line for people."""
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
