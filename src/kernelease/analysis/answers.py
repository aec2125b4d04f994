"""What a release can and can't answer, by column and by pair of columns."""

import html
import itertools
import math
from dataclasses import dataclass
from typing import final

from kernelease.analysis.evidence import Evidence
from kernelease.analysis.limits import critical
from kernelease.analysis.marginal import Counts

USABLE = 0.25  # of the count: half the length of a usable 95 % interval


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answerable:
    """What is known about a column, or about how two go together: from their own finest block, else a larger one.

    `noise` is the standard deviation of the count of one of its `cells`, in rows. `smallest` is how many rows a group
    that is one cell must have for the 95 % interval of its size to reach at most a quarter of it to either side; a
    group of k cells needs √k times as many. All three are None where the columns were not measured together.
    """

    columns: tuple[str, ...]
    cells: int | None
    noise: float | None
    smallest: float | None

    @property
    def measured(self) -> bool:
        """Whether the columns were measured, together if there are two."""
        return self.noise is not None

    def share(self, rows: float) -> float | None:
        """`smallest` as a share of all rows."""
        return None if self.smallest is None else self.smallest / rows


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """Every column and every pair of columns of a release; `rows` is how many rows the private table has."""

    rows: float
    items: tuple[Answerable, ...]

    def __getitem__(self, names: str | tuple[str, ...]) -> Answerable:
        wanted = {names} if isinstance(names, str) else set(names)
        for item in self.items:
            if set(item.columns) == wanted:
                return item
        raise KeyError(names)

    @property
    def lines(self) -> list[tuple[str, str, str, str]]:
        """Columns, cells, noise of a count, smallest group; as text."""
        return [(" × ".join(item.columns), *self._told(item)) for item in self.items]

    def _told(self, item: Answerable) -> tuple[str, str, str]:
        if item.cells is None or item.noise is None or item.smallest is None:
            return "not measured", "-", "-"
        if item.smallest > self.rows:
            return f"{item.cells:,}", f"{item.noise:,.1f}", "none: the noise hides every single cell"
        return f"{item.cells:,}", f"{item.noise:,.1f}", f"{item.smallest:,.0f} rows ({item.smallest / self.rows:.1%})"

    def __str__(self) -> str:
        lines = [HEADER, *self.lines]
        widths = [max(len(line[place]) for line in lines) for place in range(len(HEADER))]
        return "\n".join("  ".join(f"{c:<{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        def row(cells: tuple[str, ...], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row(line, "td") for line in self.lines)
        return f"<table><thead>{row(HEADER, 'th')}</thead><tbody>{body}</tbody></table>"


HEADER = ("columns", "cells", "noise of a count", "smallest usable group")


def answers(evidence: Evidence) -> Answers:
    """Look through everything that was measured."""
    count = len(evidence.schema)
    sets = [(index,) for index in range(count)] + list(itertools.combinations(range(count), 2))
    return Answers(evidence.total, tuple(_answerable(evidence, columns) for columns in sets))


def _answerable(evidence: Evidence, columns: tuple[int, ...]) -> Answerable:
    names = tuple(evidence.schema.names[index] for index in columns)
    hosts = [part for part in evidence.counts if part.hosts(columns)]
    if not hosts:
        return Answerable(columns=names, cells=None, noise=None, smallest=None)
    best = min(hosts, key=lambda part: (len(part.block.columns), -math.prod(part.sizes(columns)), part.sigma))
    noise = _deviation(best, columns)
    factor = critical(0.95, heavy=best.heavy) / USABLE
    return Answerable(columns=names, cells=math.prod(best.sizes(columns)), noise=noise, smallest=factor * noise)


def _deviation(counts: Counts, columns: tuple[int, ...]) -> float:
    """Of the noise of one cell of these columns, a sum over the block's other columns."""
    return counts.sigma * math.sqrt(counts.block.cells / math.prod(counts.sizes(columns)))
