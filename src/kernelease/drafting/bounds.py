"""Bounds of numbers and frequent values of text, bought with budget where the owner can't declare them.

Every cell of a column has exactly one place on a public grid (`decimal_grid`). Each look at a column counts its cells
in groups of places that are chosen from earlier looks' noisy counts alone, and that part all places:

    size     bins that end at 1, 2 and 5 times powers of ten, with their signs; zero; no number
    zoom     where the bounds must lie, in about five parts of a round width each; all else. Three times
    count    below, above, within and whole, within and not whole, no number

An end is cut off only where it is known, with the noise, to hold at most 1 % of the numbers, or at most 3 % and none
are seen; where noise hides that, bounds stay wide. What lies beyond the final ones is counted, and said. Columns share
each look evenly; those in which the first finds no numbers leave the others to the rest.

Noise makes all looks at all columns together (ε, δ)-DP: docs/proofs/bounds.md. Laplace noise where δ = 0, else Gaussian
noise, whose price beside later Gaussian releases is that of one of them. (A pure step has a price there that is many
times its own: μ² of ε = 0.5 alone is twice that of (2, 10⁻⁶).)
"""

import functools
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from kernelease.arrays import BigIntegers, Floats, Integers
from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Law, Loss, Measurement, Privacy, rounding_tau
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.mechanisms import PrivacyFilter, grid_bits, measure
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import ROUND_UP, ROWS, Subject, block_sensitivity
from kernelease.table.parsing import dense, read_numbers

# ---- A public grid on which every cell of a column has exactly one place: its number, to three digits.
#
# Places of positive numbers are the intervals ((m − 1)·10ᵏ, m·10ᵏ] with 100 < m ≤ 1000, so that a round number is the
# upper end of its place; negative numbers have the same, mirrored, and zero has a place of its own. Places are
# numbered by what they hold: 0 is zero, r > 0 and −r are mirror images, and a larger number is further right. Nothing
# here depends on data.


LOWEST, HIGHEST = -6, 19  # powers of ten: smaller and larger numbers have the first and the last place
SIZES: Final[Floats] = np.array(
    [0.0, float(f"1e{LOWEST}"), *(float(f"{m}e{k - 2}") for k in range(LOWEST, HIGHEST) for m in range(101, 1001))]
)
"""Where the places of positive numbers begin and end: r is (SIZES[r − 1], SIZES[r]]."""

FURTHEST: Final = len(SIZES) - 1
"""The place of the largest numbers."""

NO_NUMBER: Final = 2 * (FURTHEST + 1)
"""The code of a cell that holds no number; every other code is twice a place, and 1 more if the number is not whole."""


def codes_of(array: pa.Array) -> Integers:
    """The code of every cell: (n,). No value raises.

    >>> [lowest(code // 2) for code in codes_of(pa.array([7.0, -7.0, 0.0, 1234.0])).tolist()]
    [6.99, -7.0, 0.0, 1230.0]
    """
    numbers = read_numbers(array)
    known = ~np.isnan(numbers) & ~dense(pc.is_null(array))
    safe = np.where(known, numbers, 0.0)
    places = np.sign(safe).astype(np.int64) * np.minimum(np.searchsorted(SIZES, np.abs(safe)), FURTHEST)
    whole = np.isinf(safe) | (np.floor(safe) == safe)
    codes: Integers = np.where(known, 2 * places + ~whole, NO_NUMBER)
    return codes


def lowest(place: int) -> float:
    """Where a place begins."""
    return float(SIZES[place - 1]) if place > 0 else 0.0 - float(SIZES[-place])


def highest(place: int) -> float:
    """Where a place ends."""
    return 0.0 - lowest(-place)


def least_whole(place: int) -> int:
    """The least whole number that is in a place, or above it where it holds none.

    >>> [least_whole(place_of(number)) for number in (7.0, 0.0, -7.0, 18.0)]
    [7, 0, -7, 18]
    """
    if place > 0:
        return math.floor(lowest(place)) + 1
    return math.ceil(lowest(place))


def place_of(number: float) -> int:
    """The place of a finite number."""
    return int(math.copysign(1, number)) * min(int(np.searchsorted(SIZES, abs(number))), FURTHEST)


@functools.cache
def bins() -> Integers:
    """The places at which bins of the first look end: the smallest, and 1, 2 and 5 times powers of ten."""
    ends = (float(f"{m}e{k}") for k in range(LOWEST, HIGHEST) for m in (1, 2, 5))
    return np.array([*(place_of(end) for end in ends), FURTHEST])


def bins_of(places: Integers) -> Integers:
    """The bins of places, numbered from zero's, which is 0, in either direction."""
    return np.sign(places) * (np.searchsorted(bins(), np.abs(places)) + 1)


def places_in(number: int) -> tuple[int, int]:
    """The first and the last place of a bin.

    >>> [(lowest(first), highest(last)) for first, last in map(places_in, (-21, 0, 22))]
    [(-5.0, -2.0), (0.0, 0.0), (5.0, 10.0)]
    """
    if number == 0:
        return 0, 0
    size = abs(number)
    inner, outer = (int(bins()[size - 2]) + 1 if size > 1 else 1), int(bins()[size - 1])
    return (inner, outer) if number > 0 else (-outer, -inner)


def stretches(first: int, last: int, most: int) -> list[tuple[int, int]]:
    """The places from `first` to `last`, parted where multiples of a round width are: each part's first and last place.

    The width is the least of 1, 2 and 5 times a power of ten that makes about `most` parts, and none finer than the
    places themselves. Zero is a part of its own.

    >>> [(lowest(low), highest(high)) for low, high in stretches(*places_in(21), most=5)]
    [(2.0, 3.0), (3.0, 4.0), (4.0, 5.0)]
    """
    places = np.arange(first, last + 1)
    width = _round_width(lowest(first), highest(last), most)
    ends = np.ceil(SIZES[np.abs(places)] / width * (1.0 - 1e-9))  # three digits: a quotient is whole, or far from it
    numbers = np.sign(places) * np.maximum(1.0, ends)
    starts = np.flatnonzero(np.diff(numbers, prepend=np.nan))
    return [(int(places[i]), int(places[j - 1])) for i, j in itertools.pairwise([*starts.tolist(), len(places)])]


def _round_width(low: float, high: float, most: int) -> float:
    size = max(-low, high, SIZES[1])
    finest = math.floor(math.log10(size) - 1e-9) - 2
    exponent = max(finest, math.floor(math.log10(max((high - low) / most, SIZES[1] / 100))))
    widths = (float(f"{m}e{k}") for k in (exponent, exponent + 1) for m in (1, 2, 5))
    return next(width for width in widths if (high - low) / width <= most * (1 + 1e-9))


# ---- Bounds of numeric columns, measured with noise and charged.


Places: TypeAlias = tuple[int, int]  # the first and the last of a stretch

ZOOMS = 3  # each makes what is known of a bound about five times finer: two digits, from bins of 1, 2 and 5
SIZE_SHARE, ZOOM_SHARE = 0.4, 0.14  # of the budget, for the first look and each zoom; the rest counts what is outside
PARTS = 5  # of a stretch, about: the noise of a tail grows with their number, the precision of a bound too
CUT, UNSEEN = 0.01, 0.03  # of a column's numbers: what a bound may cut off, and what it may where nothing is seen
FALSE_ALARM = 0.01  # β: the chance that some bin without rows widens some bound
CUT_ALARM = 0.1  # the chance, for each tail, that more than this is cut off with it
DOUBT = 0.01  # the chance that more lies outside of a column's bounds than is said
NEAR_ZERO = 0.1  # of the larger bound: a smaller one that is nearer to zero is moved there, and cuts nothing
_SLOPES: Final[Floats] = np.linspace(0.01, 0.99, 99)  # of Chernoff's bound, which holds for each of them
_BINS = 2 * len(bins()) + 2  # of the first look: sizes with either sign, zero, no number
_COORDINATES = _BINS + ZOOMS * (4 * PARTS + 6) + 5  # noisy numbers of one column, at most


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Public bounds of a column, whether its numbers are whole, and what share of its cells lies outside of them.

    `outside` is an estimate, and `limit` passes the truth but with probability 1 % (of all cells, also of those without
    a number).
    """

    low: float
    high: float
    whole: bool
    outside: float
    limit: float


def private_bounds(
    batches: Iterable[pa.RecordBatch],
    columns: tuple[str, ...],
    *,
    privacy: Privacy,
    ledger: Ledger,
    noise: NoiseSource,
    subject: Subject = ROWS,
) -> dict[str, Bounds | None]:
    """Bounds of each column, None where too few cells are numbers to tell. The ledger is charged before noise is drawn.

    Each row is protected, not a person with several.
    """
    if not columns:
        raise ParameterError("private_bounds: there is no column to measure.")
    counts: dict[str, Counter[int]] = {name: Counter() for name in columns}
    for batch in batches:
        for name in columns:
            codes, times = np.unique(codes_of(batch.column(name)), return_counts=True)
            counts[name].update(dict(zip(codes.tolist(), times.tolist(), strict=True)))
    purpose = f"bounds of {len(columns)} columns"
    coordinates = _COORDINATES * len(columns)
    budget = PrivacyFilter.open(privacy, ledger=ledger, subject=subject, coordinates=coordinates, purpose=purpose)
    held = {name: _Column.of(counts[name], budget, noise) for name in columns}
    ends = {name: column.size(len(columns)) for name, column in held.items()}
    found = sum(one is not None for one in ends.values())
    return {name: None if one is None else held[name].bounds(one, 1.0 / found) for name, one in ends.items()}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Ends:
    """Where the bounds of a column must lie: the lower one in `lower`, the upper one in `upper`. Public."""

    lower: Places
    upper: Places

    @classmethod
    def between(cls, bottom: int, top: int, *, wider: bool) -> "_Ends":
        """Bounds from the lowest and the highest bin that hold rows; with `wider`, one bin further out.

        A bound that is near to zero, for the other one, is moved there.
        """
        lower, upper = places_in(bottom), places_in(top)
        if wider and bottom != 0 and abs(bottom - 1) <= len(bins()):
            lower = (places_in(bottom - 1)[0], lower[1])
        if wider and top != 0 and abs(top + 1) <= len(bins()):
            upper = (upper[0], places_in(top + 1)[1])
        if lower[0] > 0 and highest(lower[1]) <= NEAR_ZERO * highest(upper[1]):
            lower = (1, 1)
        if upper[1] < 0 and lowest(upper[0]) >= NEAR_ZERO * lowest(lower[0]):
            upper = (-1, -1)
        both = (lower[0], upper[1])
        return cls(lower=both, upper=both) if lower[1] >= upper[0] else cls(lower=lower, upper=upper)

    def parts(self) -> tuple[list[Places], list[Places], list[Places]]:
        """Finer stretches of the lower end, those between the ends, and finer stretches of the upper end."""
        if self.lower == self.upper:
            both = stretches(*self.lower, 2 * PARTS)
            return both, [], []
        between = (self.lower[1] + 1, self.upper[0] - 1)
        middle = [between] if between[0] <= between[1] else []
        return stretches(*self.lower, PARTS), middle, stretches(*self.upper, PARTS)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """Exact counts of a column by place, and the way past the barrier: a share of a budget, and noise. Private."""

    places: Integers
    whole: Integers  # 1 where the numbers are
    times: Integers
    missing: int  # cells without a number
    budget: PrivacyFilter
    noise: NoiseSource

    @classmethod
    def of(cls, counts: Counter[int], budget: PrivacyFilter, noise: NoiseSource) -> "_Column":
        codes = np.array([code for code in counts if code != NO_NUMBER], dtype=np.int64)
        return cls(
            places=codes // 2,
            whole=1 - codes % 2,
            times=np.array([counts[code] for code in codes.tolist()], dtype=np.int64),
            missing=counts[NO_NUMBER],
            budget=budget,
            noise=noise,
        )

    def size(self, columns: int) -> _Ends | None:
        """Around the bins that pass a threshold; None if none does. So many columns are looked at."""
        sizes = len(bins())
        seen = self._look(bins_of(self.places) + sizes, _BINS - 1, SIZE_SHARE / columns)
        threshold = tail(seen, 1, FALSE_ALARM / (columns * _BINS))
        passing = np.flatnonzero(seen.values[:-1] >= threshold) - sizes
        if len(passing) == 0:
            return None
        wider = threshold > UNSEEN * float(seen.values[:-1].sum())
        return _Ends.between(int(passing[0]), int(passing[-1]), wider=wider)

    def bounds(self, ends: _Ends, share: float) -> Bounds:
        """What the other looks say, for a share of what is left for them."""
        for _ in range(ZOOMS):
            ends = self._zoom(ends, share * ZOOM_SHARE)
        return self._count((ends.lower[0], ends.upper[1]), share * (1.0 - SIZE_SHARE - ZOOMS * ZOOM_SHARE))

    def _zoom(self, ends: _Ends, share: float) -> _Ends:
        """Finer ends, without the parts that hold too little, as far as can be told."""
        low, middle, high = ends.parts()
        groups = [*low, *middle, *high]
        seen = self._look(self._groups(groups), len(groups) + 1, share)
        counts = seen.values[: len(groups)]
        numbers = float(seen.values[:-1].sum())
        if not high:
            below, above = (_count_sparse(seen, one, numbers) for one in (counts, counts[::-1]))
            first, last = (below, len(low) - 1 - above) if below + above < len(low) else (0, len(low) - 1)
            return _Ends(lower=low[first], upper=low[last])
        below = _count_sparse(seen, counts[: len(low)], numbers)
        above = _count_sparse(seen, counts[::-1][: len(high)], numbers)
        return _Ends(lower=low[below], upper=high[len(high) - 1 - above])

    def _groups(self, groups: Sequence[Places]) -> Integers:
        """The group of each place; the one after all of them for places in none."""
        starts, stops = (np.array([one[side] for one in groups]) for side in (0, 1))
        found = np.searchsorted(stops, self.places)
        inside = found < len(groups)
        inside[inside] &= starts[found[inside]] <= self.places[inside]
        return np.where(inside, found, len(groups))

    def _count(self, window: Places, share: float) -> Bounds:
        """What lies beyond the window, and whether what lies within is whole."""
        groups = np.where(self.places < window[0], 0, np.where(self.places > window[1], 1, 2 + self.whole))
        seen = self._look(groups, 4, share)
        below, above, broken, unbroken, _ = seen.values.tolist()
        outside, cells = max(0.0, below + above), float(seen.values.sum())
        most, least = outside + tail(seen, 2, DOUBT / 2), cells - tail(seen, 5, DOUBT / 2)
        whole = broken < tail(seen, 1, DOUBT) <= unbroken
        return Bounds(
            low=float(least_whole(window[0])) if whole else lowest(window[0]),
            high=0.0 - least_whole(-window[1]) if whole else highest(window[1]),
            whole=whole,
            outside=min(1.0, outside / cells) if cells > 0.0 else 1.0,
            limit=min(1.0, most / least) if least > 0.0 else 1.0,
        )

    def _look(self, groups: Integers, number: int, share: float) -> Measurement:
        """Noisy counts of so many groups, and after them of the cells without a number."""
        counts = np.zeros(number + 1, dtype=np.int64)
        np.add.at(counts, groups, self.times)
        counts[number] = self.missing
        exact: BigIntegers = counts.astype(object)
        sensitivity = block_sensitivity(self.budget.neighbours)
        return measure(exact, sensitivity, budget=self.budget, share=share, noise=self.noise, label="bounds")


def tail(seen: Measurement, terms: int, chance: float) -> float:
    """What the noise of so many counts together passes with probability at most `chance`.

    Gaussian: σ·√k·Φ⁻¹(1 − p). Laplace: b·ln(1/p) for one, else the least Chernoff bound b·(ln(1/p) − k·ln(1 − s²))/s.
    """
    if seen.step.law is Law.GAUSSIAN:
        return -seen.step.scale * math.sqrt(terms) * float(scipy.special.ndtri(chance))
    surprise = -math.log(chance)
    if terms == 1:
        return seen.step.scale * surprise
    return seen.step.scale * float(((surprise - terms * np.log1p(-(_SLOPES**2))) / _SLOPES).min())


def _count_sparse(seen: Measurement, counts: Floats, numbers: float) -> int:
    """How many groups, from the outermost one inwards, hold few of so many numbers; never all of them."""
    doubts = np.array([tail(seen, terms, CUT_ALARM) for terms in range(1, len(counts))])
    tails = np.maximum(0.0, np.cumsum(counts[:-1]))  # luck below zero is no reason to cut
    unseen = (tails <= doubts / 2) & (tails + doubts <= UNSEEN * numbers)
    few = np.flatnonzero(unseen | (tails + doubts <= CUT * numbers))
    return int(few[-1]) + 1 if len(few) else 0


# ---- Frequent values of text columns, measured with noise and charged: a histogram with a threshold.
#
# Only values that occur are counted, so their list need not be known. Each count gets discrete Gaussian noise of
# standard deviation σ, and a value is named if its noisy count reaches T. With Δ₂ the L2 sensitivity of a column's
# counts and
#
#     σ = Δ₂/μ,        T = 1 + σ·√(2·ln(1/η)),
#
# one column costs what a Gaussian step of μ on two numbers and a (0, η) step cost. Proof. Let t, t′ be neighbours and
# A the values that occur in both. At most two counts of A differ between t and t′, by Δ₂ together; the others have
# one law in both, so that no more than two draws are compared with the continuous ones: a Gaussian step. At most one
# value occurs in t only, once, and at most one in t′ only. Either is named with probability at most P(noise ≥ T − 1)
# ≤ e^{−(T−1)²/2σ²} ≤ η (docs/proofs/discrete-noise.md, §5), independently of all else: let X be that name, or ∅ where
# it is not named. The two laws of X agree but for probability η: total variation η, which is (0, η)-DP. What is named
# is a function of X and of what is named of A. ∎
#
# C columns have μ²/C and η/C each. η in all is a small share of δ.


NAMING_SHARE = 0.002  # of δ: the chance that some value of a single row is named; a ledger has room for four of it
MOST_VALUES = 256  # of a column, the first ones in alphabetical order
LONGEST = 200  # characters: longer texts are not categories


def frequent_values(
    batches: Iterable[pa.RecordBatch],
    columns: tuple[str, ...],
    *,
    privacy: Privacy,
    ledger: Ledger,
    noise: NoiseSource,
    subject: Subject = ROWS,
) -> dict[str, tuple[str, ...]]:
    """The values of each column that enough rows hold, in alphabetical order. The ledger is charged before noise.

    `privacy` must have δ > 0. Each row is protected, not a person with several.
    """
    if privacy.pure or not columns:
        raise ParameterError("frequent_values: needs a Privacy with delta above 0, and at least one column.")
    counts: dict[str, Counter[str]] = {name: Counter() for name in columns}
    for batch in batches:
        for name in columns:
            counts[name].update(_texts(batch.column(name)))
    chance = NAMING_SHARE * privacy.delta / len(columns)
    naming = Loss.approximate(0.0, chance)
    budget = PrivacyFilter.open(
        privacy,
        ledger=ledger,
        subject=subject,
        coordinates=2 * len(columns),
        purpose=f"frequent values of {len(columns)} columns",
        outright=sum((naming for _ in columns), Loss()),
    )
    delta_2 = block_sensitivity(budget.neighbours).l2
    sigma = ROUND_UP * delta_2 * math.sqrt(len(columns)) / privacy.total(2 * len(columns)).mu
    tau = rounding_tau(2, math.ldexp(sigma, grid_bits(sigma)))
    for name in columns:
        budget.spend(Loss.gaussian(delta_2 / sigma, tau=tau) + naming, label=f"values of {name}")
    least = threshold(sigma, chance)
    return {name: _frequent_values(counts[name], sigma, least, noise) for name in columns}


def threshold(sigma: float, chance: float) -> int:
    """T: a value that one row alone holds reaches it with probability at most `chance`."""
    return 1 + math.ceil(sigma * math.sqrt(-2.0 * math.log(chance)) * ROUND_UP)


def _frequent_values(counts: Counter[str], sigma: float, least: int, noise: NoiseSource) -> tuple[str, ...]:
    values, bits = sorted(counts), grid_bits(sigma)
    drawn = noise.gaussian(math.ldexp(sigma, bits), len(values)).tolist()
    passing = [
        value for value, extra in zip(values, drawn, strict=True) if (counts[value] - least << bits) + extra >= 0
    ]
    return tuple(passing[:MOST_VALUES])


def _texts(array: pa.Array) -> Iterable[str]:
    """The cells that are texts of moderate length, each decoded by itself; no cell raises."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return ()
    short = pc.less_equal(pc.utf8_length(array), LONGEST)
    return (text for text in array.filter(pc.fill_null(short, False)).to_pylist() if text)
