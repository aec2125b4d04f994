"""Bounds of numeric columns, measured with a charged mechanism instead of read off the rows.

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

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
import pyarrow as pa
import scipy

from kernelease.arrays import BigIntegers, Floats, Integers
from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.decimal_grid import (
    NO_NUMBER,
    bins,
    bins_of,
    codes_of,
    highest,
    least_whole,
    lowest,
    places_in,
    stretches,
)
from kernelease.privacy.filter import PrivacyFilter
from kernelease.privacy.ledger import Ledger
from kernelease.privacy.mechanisms import measure
from kernelease.privacy.noise import NoiseSource
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.privacy.step import Law, Measurement
from kernelease.privacy.subject import ROWS, Subject

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
        """From the lowest and the highest bin that hold rows; with `wider`, also in the next bin further out.

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
            ends = self._zoomed(ends, share * ZOOM_SHARE)
        return self._counted((ends.lower[0], ends.upper[1]), share * (1.0 - SIZE_SHARE - ZOOMS * ZOOM_SHARE))

    def _zoomed(self, ends: _Ends, share: float) -> _Ends:
        """Finer ends, without the parts that hold too little, as far as can be told."""
        low, middle, high = ends.parts()
        groups = [*low, *middle, *high]
        seen = self._look(self._groups(groups), len(groups) + 1, share)
        counts = seen.values[: len(groups)]
        numbers = float(seen.values[:-1].sum())
        if not high:
            below, above = (_cut(seen, one, numbers) for one in (counts, counts[::-1]))
            first, last = (below, len(low) - 1 - above) if below + above < len(low) else (0, len(low) - 1)
            return _Ends(lower=low[first], upper=low[last])
        below = _cut(seen, counts[: len(low)], numbers)
        above = _cut(seen, counts[::-1][: len(high)], numbers)
        return _Ends(lower=low[below], upper=high[len(high) - 1 - above])

    def _groups(self, groups: Sequence[Places]) -> Integers:
        """The group of each place; the one after all of them for places in none."""
        starts, stops = (np.array([one[side] for one in groups]) for side in (0, 1))
        found = np.searchsorted(stops, self.places)
        inside = found < len(groups)
        inside[inside] &= starts[found[inside]] <= self.places[inside]
        return np.where(inside, found, len(groups))

    def _counted(self, window: Places, share: float) -> Bounds:
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
    if seen.law is Law.GAUSSIAN:
        return -seen.scale * math.sqrt(terms) * float(scipy.special.ndtri(chance))
    surprise = -math.log(chance)
    if terms == 1:
        return seen.scale * surprise
    return seen.scale * float(((surprise - terms * np.log1p(-(_SLOPES**2))) / _SLOPES).min())


def _cut(seen: Measurement, counts: Floats, numbers: float) -> int:
    """How many groups, from the outermost one inwards, hold few of so many numbers; never all of them."""
    doubts = np.array([tail(seen, terms, CUT_ALARM) for terms in range(1, len(counts))])
    tails = np.maximum(0.0, np.cumsum(counts[:-1]))  # luck below zero is no reason to cut
    unseen = (tails <= doubts / 2) & (tails + doubts <= UNSEEN * numbers)
    few = np.flatnonzero(unseen | (tails + doubts <= CUT * numbers))
    return int(few[-1]) + 1 if len(few) else 0
