"""Several estimates at once: one for each group, or for each cell of a cross-table."""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from kernelease.analysis.estimate import Estimate
from kernelease.arrays import Floats


@final
@dataclass(frozen=True, slots=True)
class Groups(Mapping[str, Estimate]):
    """An estimate for each value of a column, by its label, in the declared order."""

    by: str
    estimates: Mapping[str, Estimate]

    def __getitem__(self, label: str) -> Estimate:
        return self.estimates[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __str__(self) -> str:
        width = max((len(label) for label in self), default=0)
        return "\n".join(f"{label:<{width}}  {estimate}" for label, estimate in self.items())

    def __repr__(self) -> str:
        return f"by {self.by}:\n{self}"

    def _repr_html_(self) -> str:
        return _html((self.by, "estimate"), [(label, estimate) for label, estimate in self.items()])


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


def _html(header: Sequence[str], rows: Sequence[Sequence[str | Estimate]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: str | Estimate) -> str:
    return cell._repr_html_() if isinstance(cell, Estimate) else html.escape(cell)
