"""Several estimates at once: by group, and in a cross-table."""

import html
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias, final

import numpy as np

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.inference import CONFIDENCE
from kernelease.analysis.plots import estimate_chart
from kernelease.arrays import Floats
from kernelease.errors import ParameterError

FIELDS = ("value", "low", "high", "standard_error", "says_little")
Label: TypeAlias = str | tuple[str, ...]
"""Of a group: the value of its column, or of each of several columns."""


@final
@dataclass(frozen=True, slots=True)
class Groups(Mapping[Label, Estimate]):
    """An estimate for each value of a column, by its label, in the declared order; or for each of several columns.

    `g["F"]`, and by two columns `g["F", "school"]`.
    """

    by: Label
    estimates: Mapping[Label, Estimate]

    def __getitem__(self, label: Label) -> Estimate:
        return self.estimates[label]

    def __iter__(self) -> Iterator[Label]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def to_pandas(self, level: float = CONFIDENCE) -> Any:
        """A data frame: the groups' columns, value, low, high, standard_error, says_little. Needs pandas."""
        names = _tuple(self.by)
        lines = [dict(zip(names, _tuple(label), strict=True)) | fields(one, level) for label, one in self.items()]
        return _pandas().DataFrame(lines, columns=[*names, *FIELDS])

    def plot(self, level: float = CONFIDENCE) -> Any:
        """An Altair chart of values with their intervals. Needs the extra `plot`."""
        lines = [{"group": joined(label)} | fields(one, level) for label, one in self.items()]
        return estimate_chart(lines, joined(self.by), about=_common(self.values()))

    def __str__(self) -> str:
        labels = [joined(label) for label in self]
        width = max(map(len, labels), default=0)
        return "\n".join(f"{label:<{width}}  {estimate}" for label, estimate in zip(labels, self.values(), strict=True))

    def __repr__(self) -> str:
        return f"by {joined(self.by)}:\n{self}"

    def _repr_html_(self) -> str:
        lines: list[list[str | Estimate]] = [[*_tuple(label), estimate] for label, estimate in self.items()]
        return _html((*_tuple(self.by), "estimate"), lines)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateTable:
    """The share of rows in each cell of two columns: `estimates[i][j]` is of `rows[i]` and `columns[j]`."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]

    @property
    def values(self) -> Floats:
        """The values: (rows, columns)."""
        return np.array([[estimate.value for estimate in line] for line in self.estimates])

    @property
    def standard_errors(self) -> Floats:
        """The standard errors: (rows, columns)."""
        return np.array([[estimate.standard_error for estimate in line] for line in self.estimates])

    def to_pandas(self, level: float = CONFIDENCE) -> Any:
        """A data frame with one line for each cell: row, column, value, low, high and so on. Needs pandas."""
        return _pandas().DataFrame(self._lines(level), columns=["row", "column", *FIELDS])

    def plot(self, level: float = CONFIDENCE) -> Any:
        """An Altair chart of the share of each cell with its interval, a colour per row. Needs the extra `plot`."""
        lines = self._lines(level)
        named = [{"group": f"{line['row']}, {line['column']}", "colour": line["row"], **line} for line in lines]
        return estimate_chart(named, self.title, about="share")

    def _lines(self, level: float) -> list[dict[str, Any]]:
        return [
            {"row": row, "column": column} | fields(estimate, level)
            for row, line in zip(self.rows, self.estimates, strict=True)
            for column, estimate in zip(self.columns, line, strict=True)
        ]

    def __getitem__(self, place: tuple[str, str]) -> Estimate:
        row, column = place
        return self.estimates[self.rows.index(row)][self.columns.index(column)]

    def __str__(self) -> str:
        lines = [[self.title, *self.columns]]
        lines += [[label, *map(str, line)] for label, line in zip(self.rows, self.estimates, strict=True)]
        widths = [max(len(line[place]) for line in lines) for place in range(len(lines[0]))]
        return "\n".join(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows: list[list[str | Estimate]] = [
            [label, *line] for label, line in zip(self.rows, self.estimates, strict=True)
        ]
        return _html((self.title, *self.columns), rows)


def fields(estimate: Estimate, level: float) -> dict[str, Any]:
    """An estimate as plain numbers; what is not bounded is NaN."""
    low, high = estimate.interval(level)
    numbers = (estimate.value, low, high, estimate.standard_error)
    told = [float(number) if math.isfinite(number) else math.nan for number in numbers]
    return dict(zip(FIELDS, (*told, estimate.says_little), strict=True))


def joined(label: Label) -> str:
    """A label in one line."""
    return ", ".join(_tuple(label))


def _tuple(label: Label) -> tuple[str, ...]:
    return (label,) if isinstance(label, str) else tuple(label)


def _common(estimates: Iterable[Estimate]) -> str:
    """What all estimates are about, without the group."""
    words = [one.about for one in estimates]
    return words[0].rpartition(" for ")[0] or words[0] if words else ""


def _pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError:
        raise ParameterError("to_pandas: needs pandas. Install pandas.") from None


def _html(header: Sequence[str], rows: Sequence[Sequence[str | Estimate]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{_html_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(cell: str | Estimate) -> str:
    return cell._repr_html_() if isinstance(cell, Estimate) else html.escape(cell)
