"""An answer that knows how far off it may be; and several at once, by group or in a cross-table."""

import html
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import final

import numpy as np

from kernelease.analysis.inference import CONFIDENCE, REAL_LINE, ConfidenceLimits, Interval, NormalLimits
from kernelease.arrays import Floats


@final
@unique
class Target(StrEnum):
    """Whose value is estimated: that of the private table itself, or of the population it was drawn from."""

    TABLE = "table"
    POPULATION = "population"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """Where the error of an estimate comes from."""

    noise: float  # standard deviation, from the noise that protects people
    sampling: float = 0.0  # standard deviation, from who happened to be in the table; 0 where that is the target
    bias: float = 0.0  # at most so much, in either direction, from what was not measured at all

    @classmethod
    def of(cls, standard_error: float, *, noise: float, bias: float = 0.0) -> "Parts":
        """From the standard error of noise and sampling together, and that of the noise alone."""
        both = math.isfinite(standard_error) and math.isfinite(noise)
        sampling = math.sqrt(max(0.0, standard_error**2 - noise**2)) if both else 0.0
        return cls(noise=noise, sampling=sampling, bias=bias)

    @property
    def standard_error(self) -> float:
        """Noise and sampling together."""
        return math.hypot(self.noise, self.sampling)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value, its standard error, and a confidence interval of any level.

    `interval` covers the target's true value with at least the probability that is asked for: noise, sampling and the
    largest possible bias are all in it. It is printed as the value and half the length of the 95 % interval, or with
    both ends where these are not alike.

    >>> age = Estimate.normal(38.5771, noise=0.108, about="mean of age")
    >>> print(age)
    38.58 ± 0.21
    >>> float(age), age.standard_error, [round(end, 2) for end in age.interval(0.9)]
    (38.5771, 0.108, [38.4, 38.75])
    """

    value: float
    parts: Parts
    limits: ConfidenceLimits
    target: Target = Target.TABLE
    about: str = ""
    remark: str = ""  # what a reader must know before using the value
    possible: Interval = REAL_LINE  # all answers that any table could have

    @classmethod
    def normal(
        cls,
        value: float,
        *,
        noise: float,
        sampling: float = 0.0,
        bias: float = 0.0,
        within: Interval = REAL_LINE,
        target: Target = Target.TABLE,
        about: str = "",
        remark: str = "",
    ) -> "Estimate":
        """An estimate with normal errors of known size around a value that is off by at most `bias`."""
        parts = Parts(noise=noise, sampling=sampling, bias=bias)
        error = parts.standard_error
        limits = NormalLimits(
            low=value - bias, high=value + bias, low_error=error, high_error=error, gap=2.0 * bias, within=within
        )
        return cls(value=value, parts=parts, limits=limits, target=target, about=about, remark=remark, possible=within)

    @property
    def standard_error(self) -> float:
        """Standard deviation of the estimate by noise and sampling; a bias comes on top, in the interval."""
        return self.parts.standard_error

    def interval(self, level: float = CONFIDENCE) -> Interval:
        """Two numbers that hold the truth between them with probability at least `level`."""
        return self.limits.at(level)

    def margin(self, level: float = CONFIDENCE) -> float:
        """How far the interval reaches from the value, on the side where it reaches further."""
        low, high = self.interval(level)
        return max(self.value - low, high - self.value)

    @property
    def says_little(self) -> bool:
        """Whether the 95 % interval has no ends, or is more than half of all that is possible."""
        low, high = self.interval()
        length, whole = high - low, self.possible[1] - self.possible[0]
        return math.isfinite(self.value) and (not math.isfinite(length) or 0.0 < whole < 2.0 * length)

    def summary(self) -> str:
        """All of it in words."""
        low, high = self.interval()
        lines = [f"{self.about or 'estimate'}: {self}", f"95 % interval: {_number(low)} to {_number(high)}"]
        lines.append(
            f"standard error {_short(self.standard_error)}: privacy noise {_short(self.parts.noise)}, "
            f"sampling {_short(self.parts.sampling)}; bias at most {_short(self.parts.bias)}"
        )
        lines.append(f"target: {_TARGETS[self.target]}")
        if self.says_little:
            lines.append("this release can't answer it: too little signal in the noise")
        return "\n".join([*lines, self.remark] if self.remark else lines)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        low, high = self.interval()
        if math.isnan(self.value):
            return f"unknown ({_number(low)} to {_number(high)})" if low < high < math.inf else "unknown"
        below, above = self.value - low, high - self.value
        if not (math.isfinite(below) and math.isfinite(above)):
            return f"{_short(self.value)} (not bounded)"
        digits = _decimals(max(below, above))
        value = f"{self.value:,.{digits}f}"
        if abs(below - above) <= 0.1 * max(below, above):
            return f"{value} ± {max(below, above):,.{digits}f}"
        return f"{value} ({low:,.{digits}f} to {high:,.{digits}f})"

    def __repr__(self) -> str:
        about = f"{self.about}: " if self.about else ""
        return f"<{about}{self}>"

    def _repr_html_(self) -> str:
        return f'<span title="{html.escape(self.summary(), quote=True)}">{html.escape(str(self))}</span>'


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


_TARGETS = {
    Target.TABLE: "the private table itself",
    Target.POPULATION: "the population that the private table was drawn from",
}


def _decimals(margin: float) -> int:
    """As many decimals as show two digits of a margin.

    >>> _decimals(0.21), _decimals(0.0321), _decimals(12.0), _decimals(1234.0), _decimals(0.0)
    (2, 3, 0, 0, 0)
    """
    return min(12, max(0, 1 - math.floor(math.log10(margin)))) if margin > 0.0 else 0


def _number(value: float) -> str:
    return "no limit" if math.isinf(value) else _short(value)


def _short(value: float) -> str:
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e15 else f"{value:.4g}"


def _html(header: Sequence[str], rows: Sequence[Sequence[str | Estimate]]) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{_html_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_cell(cell: str | Estimate) -> str:
    return cell._repr_html_() if isinstance(cell, Estimate) else html.escape(cell)
