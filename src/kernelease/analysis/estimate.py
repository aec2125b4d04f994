"""An answer that knows how far off it may be, where its error comes from, and what is computed from such answers."""

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum, unique
from numbers import Real
from typing import TypeAlias, final

from kernelease.analysis.inference import (
    CONFIDENCE,
    REAL_LINE,
    ConfidenceLimits,
    Interval,
    MonotoneLimits,
    NormalLimits,
    Operand,
    PairLimits,
    ProductLimits,
    QuotientLimits,
    ReciprocalLimits,
    SumLimits,
    TestResult,
    critical_value,
    exponential,
    logarithm,
    logit,
    rejected_level,
    square_root,
    times,
)
from kernelease.arrays import Floats
from kernelease.errors import ParameterError

# --------------------
# Numbers that are dates: days or microseconds since 1970, as people write them.


_EPOCH = date(1970, 1, 1)


@final
@unique
class Calendar(StrEnum):
    """What an estimate's number counts: days, or microseconds."""

    DATE = "date"
    DATETIME = "datetime"

    @property
    def day(self) -> float:
        """How many units a day has."""
        return 1.0 if self is Calendar.DATE else 86_400e6

    def moment(self, value: float) -> date | datetime | None:
        """The day or the second of a number; None where it is none.

        >>> Calendar.DATE.moment(19000.4), Calendar.DATETIME.moment(1e15)
        (datetime.date(2022, 1, 8), datetime.datetime(2001, 9, 9, 1, 46, 40))
        """
        if not math.isfinite(value):
            return None
        if self is Calendar.DATE:
            return _EPOCH + timedelta(days=math.floor(value))
        return datetime.fromtimestamp(0, UTC).replace(tzinfo=None) + timedelta(seconds=round(value / 1e6))

    def text_of(self, value: float) -> str:
        """The number as ISO 8601 writes it."""
        moment = self.moment(value)
        return "no limit" if moment is None else moment.isoformat()


# --------------------
# Where the error of an estimate comes from, so that two of one release are combined with their covariance.


SAMPLED = "rows"  # the errors of who happened to be in the table…
INSIDE = "inside"  # …those of where in their cells numbers lie, with what was asked; all others are privacy noise
Weights: TypeAlias = Mapping[tuple[str, Hashable], Floats]


class Source(ABC):
    """An error to first order, as a weighted sum of independent errors of variance 1.

    `weights` has an array for each set of such errors: a block of a release, by the release's fingerprint and the
    block's place, or the rows of its table. Two estimates have the covariance Σ w·v over the sets that they share.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def laplace(self) -> bool:
        """Whether some of the errors are Laplace noise."""

    @abstractmethod
    def weights(self) -> Weights:
        """The weight of each error."""

    def functions(self) -> Sequence[tuple[object, Floats]]:
        """The same as sums of functions of the cells of marginals, as far as it comes from these."""
        return ()


@final
@dataclass(frozen=True, slots=True)
class CombinedSource(Source):
    """Σ gradient·source."""

    terms: tuple[tuple[float, Source], ...]

    @property
    def laplace(self) -> bool:
        return any(source.laplace for _, source in self.terms)

    def functions(self) -> Sequence[tuple[object, Floats]]:
        every = [(gradient, one) for gradient, source in self.terms for one in source.functions()]
        return [(marginal, gradient * function) for gradient, (marginal, function) in every]

    def weights(self) -> Weights:
        total: dict[tuple[str, Hashable], Floats] = {}
        for gradient, source in self.terms:
            for key, weight in source.weights().items():
                total[key] = total[key] + gradient * weight if key in total else gradient * weight
        return total


def covariance(one: Weights, other: Weights) -> float:
    """Covariance of two errors; parts that only one of them has are independent of the other."""
    return sum(float(one[key] @ other[key]) for key in one.keys() & other.keys())


def deviations(weights: Weights) -> tuple[float, float, float]:
    """The standard deviations by noise, by sampling, and by what is inside of cells."""
    squares = [0.0, 0.0, 0.0]
    for (_, part), weight in weights.items():
        kind = 1 if part == SAMPLED else 2 if isinstance(part, tuple) and part[0] == INSIDE else 0
        squares[kind] += float(weight @ weight)
    return math.sqrt(squares[0]), math.sqrt(squares[1]), math.sqrt(squares[2])


def correlation_of(first: Source | None, second: Source | None) -> float | None:
    """Correlation of the errors of two estimates; None where one does not know where its error comes from."""
    if first is None or second is None:
        return None
    one, other = first.weights(), second.weights()
    if any(len(one[key]) != len(other[key]) for key in one.keys() & other.keys()):
        return None  # other synthetic rows of the same table: how their samplings go together is not known
    spread = math.sqrt(covariance(one, one) * covariance(other, other))
    return min(max(covariance(one, other) / spread, -1.0), 1.0) if spread > 0.0 else 0.0


def combine_sources(terms: Sequence[tuple[float, Source | None]]) -> Source | None:
    """Σ gradient·source; None where one of them is not known."""
    known = [(gradient, source) for gradient, source in terms if source is not None]
    return CombinedSource(tuple(known)) if len(known) == len(terms) else None


# --------------------
# The estimate itself, and arithmetic with it.


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
    inside: float = 0.0  # standard deviation, from where in their cells numbers lie, if these are as uneven as others
    sampling: float = 0.0  # standard deviation, from who happened to be in the table; 0 where that is the target
    bias: float = 0.0  # at most so much, in either direction, from what was not measured at all

    @classmethod
    def of(cls, standard_error: float, *, noise: float) -> "Parts":
        """Parts of an error, from the standard error of noise and sampling together and that of the noise alone."""
        both = math.isfinite(standard_error) and math.isfinite(noise)
        sampling = math.sqrt(max(0.0, standard_error**2 - noise**2)) if both else 0.0
        return cls(noise=noise, sampling=sampling)

    @property
    def standard_error(self) -> float:
        """Noise, sampling and what is inside of cells together."""
        return math.hypot(self.noise, self.sampling, self.inside)


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
    scale: float = math.inf  # an interval that is longer says little, whatever is possible
    spread: float = math.inf  # two standard deviations of the column: what a difference of means is judged by
    vague: bool = False  # whether most of its error is that of an estimate that says little
    source: Source | None = None  # where the error comes from, so that estimates can be combined
    calendar: Calendar | None = None  # what it counts where it is a date: days or microseconds since 1970

    @classmethod
    def normal(
        cls,
        value: float,
        *,
        noise: float,
        inside: float = 0.0,
        sampling: float = 0.0,
        bias: float = 0.0,
        within: Interval = REAL_LINE,
        target: Target = Target.TABLE,
        about: str = "",
        source: Source | None = None,
    ) -> "Estimate":
        """An estimate with normal errors of known size around a value that is off by at most `bias`."""
        parts = Parts(noise=noise, inside=inside, sampling=sampling, bias=bias)
        error = parts.standard_error
        limits = NormalLimits(
            low=value - bias, high=value + bias, low_error=error, high_error=error, gap=2.0 * bias, within=within
        )
        return cls(
            value=value,
            parts=parts,
            limits=limits,
            target=target,
            about=about,
            possible=within,
            source=source,
        )

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
        """Whether the value is not known at all, or its interval is too long to be of use.

        So it is where the 95 % interval has no ends, is more than half of all that is possible or longer than `scale`,
        or where the value `is_open`; and so is what is computed from it, if most of the error comes from there.
        """
        low, high = self.interval()
        known = math.isfinite(self.value) and math.isfinite(high - low)
        return not known or high - low > self.telling or self.is_open or self.vague

    @property
    def telling(self) -> float:
        """The longest interval that says something."""
        whole = self.possible[1] - self.possible[0]
        return min(self.scale, 0.5 * whole) if whole > 0.0 else self.scale

    @property
    def is_open(self) -> bool:
        """Whether what was not measured may change the value by more than half of it, where 0 is the least possible.

        So are a share or a count of which more than half the rows are in doubt, however short the interval is beside
        all that is possible: the release says no more than that there are some such rows.
        """
        open_ = self.parts.bias + critical_value(CONFIDENCE) * self.parts.inside
        return self.possible[0] == 0.0 and 2.0 * open_ > self.value

    @property
    def why(self) -> str:
        """What makes most of the interval: the noise, or that too little was measured."""
        if self.is_open or self.parts.bias > self.standard_error or self.parts.inside > self.parts.noise:
            return "too little was measured, even without noise"
        return "the noise hides it"

    def test(self, value: float = 0.0) -> TestResult:
        """Whether the truth can be this value: the least level at which the interval leaves it out is 1 − p."""
        hypothesis = f"{self.about or 'the estimate'} is {value:g}"
        return TestResult(
            hypothesis=hypothesis, statistic=self.value - value, p_value=rejected_level(self.limits, value), draws=None
        )

    def log(self) -> "Estimate":
        """The natural logarithm; `np.log` calls it, too."""
        return self._map("log", logarithm, 1.0 / self.value if self.value > 0.0 else math.inf)

    def sqrt(self) -> "Estimate":
        """The square root of what can't be negative; `np.sqrt` calls it, too."""
        slope = 0.5 / math.sqrt(self.value) if self.value > 0.0 else math.inf
        return self._map("square root", square_root, slope)

    def exp(self) -> "Estimate":
        """The exponential."""
        return self._map("exp", exponential, exponential(self.value))

    def logit(self) -> "Estimate":
        """log(p / (1 − p)) of a share."""
        slope = self.value * (1.0 - self.value)
        return self._map("logit", logit, 1.0 / slope if slope > 0.0 else math.inf)

    def __add__(self, other: "Estimate | float") -> "Estimate":
        if isinstance(other, Estimate):
            words = f"{self._name} + {other._name}"
            return self._pair(other, SumLimits, self.value + other.value, (1.0, 1.0), words)
        return self._map("", lambda value: value + other, 1.0, f"{self._name} + {_name_of(other)}")

    def __sub__(self, other: "Estimate | float") -> "Estimate":
        result, words = self + (-other), f"{self._name} − {_name_of(other)}"
        if isinstance(other, Estimate) and self.calendar is not None and other.calendar is self.calendar:
            result, words = result * (1.0 / self.calendar.day), f"days from {other._name} to {self._name}"
        return replace(result, about=words)

    def __mul__(self, other: "Estimate | float") -> "Estimate":
        words = f"{self._name} · {_name_of(other)}"
        if isinstance(other, Estimate):
            return self._pair(other, ProductLimits, self.value * other.value, (other.value, self.value), words)
        return self._map("", lambda value: other * value, float(other), words)

    def __truediv__(self, other: "Estimate | float") -> "Estimate":
        words = f"{self._name} / {_name_of(other)}"
        if not isinstance(other, Estimate):
            return replace(self * (1.0 / other), about=words)
        if other.value == 0.0:
            return self._pair(other, QuotientLimits, math.nan, (math.inf, math.inf), words)
        value = self.value / other.value
        return self._pair(other, QuotientLimits, value, (1.0 / other.value, -value / other.value), words)

    def __neg__(self) -> "Estimate":
        return self._map("", lambda value: -value, -1.0, f"−{self._name}")

    def __radd__(self, other: float) -> "Estimate":
        return self + other

    def __rsub__(self, other: float) -> "Estimate":
        return -self + other

    def __rmul__(self, other: float) -> "Estimate":
        return self * other

    def __rtruediv__(self, other: float) -> "Estimate":
        slope = -1.0 / self.value**2 if self.value != 0.0 else -math.inf
        inverse = self._map("", lambda value: 1.0 / value if value != 0.0 else math.inf, slope)
        known = self.possible[0] > 0.0 or self.possible[1] < 0.0
        possible = inverse.possible if known else REAL_LINE
        turned = replace(inverse, limits=ReciprocalLimits(self.limits), possible=possible)
        return replace(turned * other, about=f"{other:g} / {self._name}")

    def __gt__(self, other: "Estimate | float") -> bool:
        """Whether the whole 95 % interval (of the difference) is above; `a > b` and `a < b` may both be false."""
        return (self - other).interval()[0] > 0.0

    def __lt__(self, other: "Estimate | float") -> bool:
        return (self - other).interval()[1] < 0.0

    @property
    def _name(self) -> str:
        return f"({self.about})" if " " in self.about else self.about or "estimate"

    def _map(self, name: str, function: Callable[[float], float], slope: float, about: str | None = None) -> "Estimate":
        """A monotone function of the estimate."""
        finite = math.isfinite(slope)
        value = function(self.value) if math.isfinite(self.value) else math.nan
        limits = MonotoneLimits(limits=self.limits, function=function, falling=slope < 0.0)
        ends = sorted(function(end) for end in self.possible)
        bias = max((abs(function(self.value + s * self.parts.bias) - value) for s in (1.0, -1.0)), default=0.0)
        size = abs(slope) if finite else math.inf
        return Estimate(
            value=value if math.isfinite(value) else math.nan,
            parts=Parts(
                noise=times(size, self.parts.noise),
                inside=times(size, self.parts.inside),
                sampling=times(size, self.parts.sampling),
                bias=bias,
            ),
            limits=limits,
            target=self.target,
            about=about or f"{name} of {self._name}",
            remark=self.remark,
            possible=(ends[0], ends[1]),
            scale=times(size, self.telling) if size > 0.0 else math.inf,
            vague=self.says_little,
            spread=times(size, self.spread) if size > 0.0 else math.inf,
            source=combine_sources([(slope, self.source)]) if finite else None,
        )

    def _pair(
        self,
        other: "Estimate",
        kind: Callable[..., PairLimits],
        value: float,
        slopes: tuple[float, float],
        about: str,
    ) -> "Estimate":
        """A function of two estimates, with the joint error of their sources."""
        if self.target is not other.target:
            raise ParameterError(
                f"These estimates can't be combined: {self._name} is about {_TARGETS[self.target]}, {other._name} "
                f"about {_TARGETS[other.target]}. Ask both with the same target."
            )
        pair = (self, other)
        operands = [Operand(value=one.value, bias=one.parts.bias, limits=one.limits) for one in pair]
        correlation = correlation_of(self.source, other.source)
        limits = kind(first=operands[0], second=operands[1], correlation=correlation)
        source = combine_sources(list(zip(slopes, (one.source for one in pair), strict=True)))
        ends = limits.over(self.possible, other.possible)
        return Estimate(
            value=value,
            parts=_pair_parts(pair, slopes, source if correlation is not None else None),
            limits=limits,
            target=self.target,
            about=about,
            remark="; ".join(dict.fromkeys(_remarks(pair, known=correlation is not None))),
            possible=REAL_LINE if any(math.isnan(end) for end in ends) else ends,
            scale=max(times(abs(k), min(one.telling, one.spread)) for k, one in zip(slopes, pair, strict=True))
            or math.inf,
            vague=_is_vague(pair, slopes),
            source=source if correlation is not None and all(map(math.isfinite, slopes)) else None,
        )

    def summary(self) -> str:
        """All of it in words."""
        low, high = self.interval()
        lines = [f"{self.about or 'estimate'}: {self}", f"95 % interval: {self.text_of(low)} to {self.text_of(high)}"]
        lines.append(
            f"standard error {plain_number(self.standard_error)}: privacy noise {plain_number(self.parts.noise)}, "
            f"sampling {plain_number(self.parts.sampling)}, places within cells {plain_number(self.parts.inside)}; "
            f"bias at most {plain_number(self.parts.bias)}"
        )
        lines.append(f"target: {_TARGETS[self.target]}")
        if self.says_little:
            lines.append(f"this release can't answer it: {self.why}")
        return "\n".join([*lines, self.remark] if self.remark else lines)

    def text_of(self, number: float) -> str:
        """A number of the estimate's kind in words: a date where it is one."""
        return _number(number) if self.calendar is None else self.calendar.text_of(number)

    def digits(self, level: float = CONFIDENCE) -> int:
        """How many decimals to print: two digits of the margin, and no more than value and both ends have."""
        ends = (self.value, *self.interval(level))
        own, margin = max(map(_own_decimals, ends)), max(abs(end - self.value) for end in ends)
        return min(own, _decimals(margin)) if margin > 0.0 else own

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        low, high = self.interval()
        if math.isnan(self.value):
            return f"unknown ({self.text_of(low)} to {self.text_of(high)})" if low < high < math.inf else "unknown"
        if self.calendar is not None:
            return f"{self.text_of(self.value)} ({self.text_of(low)} to {self.text_of(high)})"
        below, above = self.value - low, high - self.value
        if not (math.isfinite(below) and math.isfinite(above)):
            return f"{plain_number(self.value)} (not bounded)"
        digits = self.digits()
        value = f"{self.value:,.{digits}f}"
        if abs(below - above) <= 0.1 * max(below, above):
            return f"{value} ± {max(below, above):,.{digits}f}"
        return f"{value} ({low:,.{digits}f} to {high:,.{digits}f})"

    def __repr__(self) -> str:
        about = f"{self.about}: " if self.about else ""
        return f"<{about}{self}>"

    def _repr_html_(self) -> str:
        grey = ' style="color:#888"' if self.says_little else ""
        return f'<span title="{html.escape(self.summary(), quote=True)}"{grey}>{html.escape(str(self))}</span>'


def _name_of(operand: "Estimate | float") -> str:
    given: object = operand
    if not isinstance(given, Estimate | Real):
        raise ParameterError(f"An estimate must be combined with a number or an estimate, got {type(given).__name__}.")
    return operand._name if isinstance(operand, Estimate) else f"{operand:g}"


def _remarks(pair: "tuple[Estimate, Estimate]", *, known: bool) -> list[str]:
    """The remarks of both, and one more where it is not known how their errors depend on each other."""
    own = [remark for one in pair for remark in one.remark.split("; ") if remark]
    return own if known else [*own, APART]


def _is_vague(pair: "tuple[Estimate, Estimate]", slopes: tuple[float, float]) -> bool:
    """Whether the part with most of the error says little: a stratum that hardly counts may."""
    lengths = [one.interval()[1] - one.interval()[0] for one in pair]
    errors = [times(abs(slope), length) for slope, length in zip(slopes, lengths, strict=True)]
    return any(one.says_little and not 2.0 * e < max(errors) for one, e in zip(pair, errors, strict=True))


def _pair_parts(pair: tuple[Estimate, Estimate], slopes: tuple[float, float], source: Source | None) -> Parts:
    """Parts of the combined error, to first order; if the dependence is unknown, as if the errors had one sign."""
    sizes = [abs(slope) for slope in slopes]

    def total(name: str) -> float:
        return sum(times(size, getattr(one.parts, name)) for size, one in zip(sizes, pair, strict=True))

    if source is not None and all(map(math.isfinite, slopes)):
        noise, sampling, inside = deviations(source.weights())
    else:
        noise, sampling, inside = map(total, ("noise", "sampling", "inside"))
    return Parts(noise=noise, inside=inside, sampling=sampling, bias=total("bias"))


APART = "nothing says how the errors of the two go together: the interval holds however they do"
_TARGETS = {
    Target.TABLE: "the private table itself",
    Target.POPULATION: "the population that the private table was drawn from",
}


def _decimals(margin: float) -> int:
    """How many decimals show two digits of a margin.

    >>> _decimals(0.21), _decimals(0.0321), _decimals(12.0), _decimals(1234.0), _decimals(0.0)
    (2, 3, 0, 0, 0)
    """
    return min(12, max(0, 1 - math.floor(math.log10(margin)))) if margin > 0.0 else 0


def _own_decimals(value: float) -> int:
    """How many decimals a number has, as it is written.

    >>> _own_decimals(60.0), _own_decimals(0.1 + 0.2), _own_decimals(1e-7)
    (0, 1, 7)
    """
    text = f"{value:.12f}".rstrip("0")
    return len(text.partition(".")[2])


def _number(value: float) -> str:
    return "no limit" if math.isinf(value) else plain_number(value)


def align(lines: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table as text, with columns as wide as their longest cell.

    >>> align([("a", "b"), ("long", "c")])
    ['a     b', 'long  c']
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]


def plain_number(value: float) -> str:
    """A number in four digits, as people write it: no exponent, where it is not very large or very small.

    >>> plain_number(25770.4), plain_number(0.000123456), plain_number(3.0), plain_number(1234.56)
    ('25,770', '0.0001235', '3', '1,235')
    """
    if 1e3 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    if 1e-12 < abs(value) < 1e-3:
        return f"{value:.{3 - math.floor(math.log10(abs(value)))}f}".rstrip("0")
    return f"{value:.4g}"
