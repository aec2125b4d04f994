"""Solved marginals for the page: the best estimates of all counts, and their covariance in few numbers.

And how strongly two columns go together.
"""

import base64
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.optimize import brentq
from scipy.special import chndtr, ndtr

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.inference import CONFIDENCE, Interval
from kernelease.analysis.inside import squared_rows, unevenness
from kernelease.arrays import Floats, Integers
from kernelease.estimate.marginal import MeasuredMarginal, tabulation
from kernelease.measured.blocks import NoisyBlocks, within
from kernelease.measured.offsets import Levels, levels_of
from kernelease.measured.views import Precision

# ---- Numbers for the page: as short as possible without changing a shown digit.


_DIGITS = 9  # convention: significant ones of a number that the page carries; it shows no more than six of them


def number(value: float, digits: int = _DIGITS) -> float | int | None:
    """A number for JSON, which has no NaN and no infinity.

    >>> number(3.0), number(0.1 + 0.2), number(math.nan)
    (3, 0.3, None)
    """
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 2.0**53 else rounded


def numbers(values: Iterable[float], digits: int = _DIGITS) -> list[float | int | None]:
    """Several."""
    return [number(float(value), digits) for value in values]


def pack(values: Floats) -> str:
    """Numbers of four bytes each, little-endian, in base64: half as long as in decimals."""
    return base64.b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()


def share_record(value: float, margin: float) -> list[float | int | None]:
    """A share and its interval, moved and cut to what a share can be."""
    centre = min(max(value, 0.0), 1.0)
    return numbers((centre, max(0.0, centre - margin), min(1.0, centre + margin)))


def figure(estimate: Estimate) -> list[Any]:
    """Value and 95 % interval; then, where there is any, whether it says little, and what must be known of it."""
    shown: list[Any] = numbers((estimate.value, *estimate.interval()))
    if estimate.remark:
        return [*shown, int(estimate.says_little), estimate.remark]
    return [*shown, 1] if estimate.says_little else shown


# ---- The covariance of all counts of a marginal, in the form that a page can read.


_LARGEST = 600  # limit: sums of a marginal whose matrix a page carries, 0.7 MB in base64


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Sums of cells: along each column, the place of each of its cells, or None where all of them are added up."""

    maps: tuple[Integers | None, ...]
    index: Integers  # (cells,): the sum that each cell is in

    @property
    def size(self) -> int:
        return int(self.index.max()) + 1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """Estimates p of the counts of all cells, with covariance Σ = V − V E C Eᵀ V.

    V = diag(`variances`) is what the finest counts alone would have. E adds up cells in all ways in which sums of them
    were told as well, and C is what these sums, and a public number of rows, take from the variance (Woodbury). The
    estimate of Σ_c h_c p_c is h·p, and two such estimates have the covariance hᵀΣk: nothing is left to solve.
    """

    counts: Floats  # (cells,)
    variances: Floats  # (cells,)
    sums: tuple[Sums, ...]
    core: Floats  # C: (sums, sums)

    def covariance(self, first: Floats, second: Floats) -> float:
        """hᵀΣk, as the page computes it."""
        one, other = (self._add_up(function) for function in (first, second))
        return float(self.variances @ (first * second) - one @ self.core @ other)

    def _add_up(self, function: Floats) -> Floats:
        """Eᵀ V h."""
        parts = [np.bincount(one.index, self.variances * function, minlength=one.size) for one in self.sums]
        return np.concatenate([np.zeros(0), *parts])


def solve(marginal: MeasuredMarginal) -> Solved | None:
    """A marginal's estimates and their covariance; None where sums are too many for a page."""
    if marginal.total is not None and marginal.size == 1:
        return Solved(counts=marginal.counts, variances=np.zeros(1), sums=(), core=np.zeros((0, 0)))
    diagonal, told = np.zeros(marginal.size), dict[tuple[int, ...], list[Precision]]()
    for term in (term for view in marginal.views for term in view.terms):
        if len(term.weights) == marginal.size and len(np.unique(term.index)) == marginal.size:
            diagonal = diagonal + term.weights[term.index]
        else:
            told.setdefault(_axes(term.index.reshape(marginal.shape)), []).append(term)
    if marginal.total is not None:
        told.setdefault((), [])
    parts = [part for axes, terms in told.items() for part in _sums(marginal.shape, axes, terms)]
    if not np.all(diagonal > 0.0) or sum(sums.size for sums, _ in parts) > _LARGEST:
        return None
    variances, sums = 1.0 / diagonal, tuple(sums for sums, _ in parts)
    core = _core(sums, [terms for _, terms in parts], variances, known=marginal.total is not None)
    return Solved(counts=marginal.counts, variances=variances, sums=sums, core=core)


def _axes(index: Integers) -> tuple[int, ...]:
    """The columns by whose cells the sum of a cell is decided."""
    return tuple(axis for axis in range(index.ndim) if np.any(np.diff(index, axis=axis)))


def _sums(
    shape: tuple[int, ...], axes: tuple[int, ...], terms: Sequence[Precision]
) -> Iterator[tuple[Sums, list[Precision]]]:
    """Sums along some columns with what was told of them: of cells as fine as can be where that takes fewer numbers."""
    cells = math.prod(shape[axis] for axis in axes)
    if sum(len(term.weights) for term in terms) >= cells or not axes:
        yield _along(shape, {axis: np.arange(shape[axis]) for axis in axes}), list(terms)
        return
    for term in terms:
        table = term.index.reshape(shape)
        maps = {axis: np.unique(_flat(table, axis), axis=0, return_inverse=True)[1].reshape(-1) for axis in axes}
        yield _along(shape, maps), [term]


def _flat(table: Integers, axis: int) -> Integers:
    """A table as rows along one axis."""
    rows: Integers = np.moveaxis(table, axis, 0).reshape(table.shape[axis], -1)
    return rows


def _along(shape: tuple[int, ...], maps: dict[int, Integers]) -> Sums:
    index = np.zeros(shape, dtype=np.int64)
    for axis, own in maps.items():
        index = index * (int(own.max()) + 1) + own.reshape([-1 if other == axis else 1 for other in range(len(shape))])
    return Sums(maps=tuple(maps.get(axis) for axis in range(len(shape))), index=index.ravel())


def _core(sums: Sequence[Sums], told: Sequence[Sequence[Precision]], variances: Floats, *, known: bool) -> Floats:
    """C: with M = V⁻¹ + EᵀTᵀPTE the information, M⁻¹ = V − V E TᵀKT Eᵀ V, K = P(1 + TSTᵀP)⁻¹ and S = EᵀVE.

    A known number of rows takes M⁻¹1·(M⁻¹1)ᵀ / 1ᵀM⁻¹1 away.
    """
    if not sums:
        return np.zeros((0, 0))
    overlaps = np.block([[_cross(one, other, variances) for other in sums] for one in sums])
    starts = np.cumsum([0, *(one.size for one in sums)])
    rows, weights = [], []
    for one, terms, start in zip(sums, told, starts[:-1], strict=True):
        for term in terms:
            part = np.zeros((len(term.weights), starts[-1]))
            part[term.index, start + one.index] = 1.0
            rows.append(part)
            weights.append(term.weights)
    adding, weight = np.concatenate([np.zeros((0, starts[-1])), *rows]), np.concatenate([np.zeros(0), *weights])
    inner = np.eye(len(weight)) + (adding @ overlaps @ adding.T) * weight
    core: Floats = adding.T @ (weight[:, None] * np.linalg.solve(inner, adding))
    if known:
        every = np.concatenate([np.full(one.size, float(all(own is None for own in one.maps))) for one in sums])
        left = every - core @ (overlaps @ every)
        core = core + np.outer(left, left) / float(left @ overlaps @ every)
    return 0.5 * (core + core.T)


def _cross(one: Sums, other: Sums, variances: Floats) -> Floats:
    """The variances of the cells that two sums have in common: (sums, others)."""
    joint = np.bincount(one.index * other.size + other.index, variances, minlength=one.size * other.size)
    return joint.reshape(one.size, other.size).astype(np.float64)


# ---- All marginals of a release, as records.


def marginal_records(noisy: NoisyBlocks, most: int, evidence: Evidence) -> list[dict[str, Any]]:
    """The marginals of every column, then of every pair, as long as there is room for `most` bytes: the smallest first.

    Each has its cells (for each column, the cell of each atom, or of each group of leaves), the estimates of their
    counts and the covariance of these, and how uneven rows are within cells. Those of one set of columns come together,
    in the order of their rounds: an answer looks at all of them.
    """
    levels = levels_of(noisy)
    every = [[_record(one, levels, evidence) for one in rounds] for rounds in every_marginal(noisy, levels)]
    sent, used = [], 0
    for records in sorted(every, key=lambda records: (len(records[0]["columns"]), _length(records))):
        if any("counts" not in record for record in records) or used + _length(records) > most:
            continue
        used += _length(records)
        sent += records
    return sent


def every_marginal(noisy: NoisyBlocks, levels: Levels) -> Iterator[tuple[MeasuredMarginal, ...]]:
    """The marginals of every column, then of every pair, with all rounds that measured them."""
    for size in (1, 2):
        for columns in itertools.combinations(range(noisy.width), size):
            if rounds := shown_marginals(noisy, columns, levels):
                yield rounds


def shown_marginals(noisy: NoisyBlocks, columns: tuple[int, ...], levels: Levels) -> tuple[MeasuredMarginal, ...]:
    """The marginals of some columns; of a single one whose atoms are leaves in groups, that of the groups."""
    groups = levels[columns[0]]
    if len(columns) > 1 or groups is None:
        return tabulation(noisy).marginals(columns)
    found = tabulation(noisy).marginal_in(columns, {columns[0]: groups})
    return () if found is None else (found,)


def _length(records: Sequence[dict[str, Any]]) -> int:
    """About how many bytes they take."""
    return sum(
        120
        + len(record.get("core", ""))
        + 10 * len(record.get("counts", ()))
        + 4 * sum(map(len, record["groups"]))
        + sum(len(str(part)) for part in record.get("inside") or ())
        for record in records
    )


def atom_cells(marginal: MeasuredMarginal, levels: Levels) -> list[Integers]:
    """The cell of each atom of each column; of leaves in groups, that of each group."""
    return [
        own if (level := levels[column]) is None else within(level, own)
        for column, own in zip(marginal.columns, marginal.groups, strict=True)
    ]


def _record(marginal: MeasuredMarginal, levels: Levels, evidence: Evidence) -> dict[str, Any]:
    groups = atom_cells(marginal, levels)
    record: dict[str, Any] = {"columns": list(marginal.columns), "groups": [_starts(group) for group in groups]}
    found = solve(marginal)
    if found is None:
        return record
    rows, columns = np.triu_indices(len(found.core))
    same = np.ptp(found.variances) == 0.0
    least = float(np.sqrt(found.variances.max())) or 1.0
    decimals = max(0, 6 - math.floor(math.log10(least)))  # a millionth of the noise of a count: no shown digit changes
    return {
        **record,
        "laplace": marginal.laplace,
        "counts": [_plain(count, decimals) for count in found.counts.tolist()],
        "variance": number(float(found.variances[0]), 12) if same else numbers(found.variances, 12),
        "sums": [[_map(one) for one in sums.maps] for sums in found.sums],
        "core": pack(found.core[rows, columns]),
        "inside": _inside(marginal, evidence),
    }


def _inside(marginal: MeasuredMarginal, evidence: Evidence) -> list[float | int | str | None] | None:
    """Of each cell: ω of its rows and of those that noise hides, and the squared number of rows; None without numbers.

    Where all cells have the same, it is one number.
    """
    uneven = unevenness(evidence, marginal)
    if not uneven.own.any():
        return None
    parts = (uneven.own, uneven.hidden, squared_rows(marginal))
    return [number(float(part[0])) if np.ptp(part) == 0.0 else pack(part) for part in parts]


def _plain(value: float, decimals: int) -> float | int:
    rounded = round(value, decimals)
    return int(rounded) if rounded.is_integer() else rounded


def _starts(groups: Integers) -> list[int]:
    """Of cells that are runs of atoms the first atom of each and how many atoms there are, after −1; else the cells.

    >>> _starts(np.array([0, 0, 1, 2, 2])), _starts(np.array([0, 1, 0]))
    ([-1, 0, 2, 3, 5], [0, 1, 0])
    """
    steps = np.diff(groups, prepend=-1)
    if np.all((steps == 0) | (steps == 1)):
        return [-1, *np.flatnonzero(steps).tolist(), len(groups)]
    listed: list[int] = groups.tolist()
    return listed


def _map(cells: Integers | None) -> list[int] | bool:
    """Of a column: false where its cells are added up, true where they stay apart, else the place of each."""
    if cells is None:
        return False
    return True if np.array_equal(cells, np.arange(len(cells))) else cells.tolist()


# ---- Association of two columns: Cramér's V from noisy counts, corrected for noise, with an interval.


_VISIBLE = 3.0  # standard errors of its count above which a value of a column is a row or column of its own
_LARGE = 1e4  # a sum of squares beyond which its law is normal to three digits


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """Cramér's V, √(φ²/(k − 1)) with φ² = Σ (pᵢⱼ − pᵢpⱼ)²/(pᵢpⱼ) and k the lesser number of values: 0 to 1.

    With E the noise of the shares, φ̂² = ‖D + E‖² in weights 1/(pᵢpⱼ) has noise in it: about g·χ²(ν, φ²/g), a scaled
    noncentral law with the mean and the variance of the noise alone (Satterthwaite 1946). `value` has the mean of the
    noise removed; the interval holds all φ² that the law does not exclude. Values too rare to be seen are one.
    """

    value: float
    interval: Interval

    @property
    def is_visible(self) -> bool:
        """Whether the noise alone does not explain it."""
        return self.interval[0] > 0.0


def association(marginal: MeasuredMarginal) -> Association | None:
    """The association of a pair of columns, from its finest counts or from its interaction.

    None where a column has but one value that can be seen.
    """
    if min(marginal.shape) < 2 or (finest := marginal.finest) is None:
        return None
    counts, variance = finest.counts(marginal.counts)
    counted, shares = counts.reshape(marginal.shape), marginal.shares.reshape(marginal.shape)
    return association_of(counted, shares, float(marginal.counts.sum()), variance)


def association_of(counts: Floats, shares: Floats, rows: float, variance: float) -> Association | None:
    """The association in noisy counts (a, b) with independent noise, given shares (a, b) near the truth."""
    merged = [_visible(shares, axis, rows, variance) for axis in (0, 1)]
    sizes = [int(cells.max()) + 1 for cells in merged]
    if min(sizes) < 2:
        return None
    first, second = (np.eye(size)[:, cells] for size, cells in zip(sizes, merged, strict=True))
    table, fitted = first @ counts @ second.T, first @ shares @ second.T
    margins = fitted.sum(axis=1), fitted.sum(axis=0)
    left, right = (_residual(margin) for margin in margins)
    squares = float(((left @ (table / rows) @ right.T) ** 2).sum())
    pairs = zip((left, right), merged, strict=True)
    spread = [part @ np.diag(np.bincount(cells).astype(float)) @ part.T for part, cells in pairs]
    noise = variance / rows**2
    mean = noise * math.prod(float(np.trace(part)) for part in spread)
    second_moment = noise**2 * math.prod(float((part**2).sum()) for part in spread)
    scale = second_moment / mean
    most = min(sizes) - 1
    low, high = (scale * end for end in _noncentrality(squares / scale, mean / scale, CONFIDENCE))
    value = math.sqrt(min(1.0, max(0.0, squares - mean) / most))
    return Association(value=value, interval=(math.sqrt(min(1.0, low / most)), math.sqrt(min(1.0, high / most))))


def _visible(shares: Floats, axis: int, rows: float, variance: float) -> Integers:
    """The row of each value of a column: those whose count stands out of its noise, and one for all others."""
    margin = shares.sum(axis=1 - axis)
    least = _VISIBLE * math.sqrt(variance * shares.shape[1 - axis]) / rows
    rare = margin <= least
    if rare.any() and float(margin[rare].sum()) <= least:  # together still not seen: they go with the most frequent
        cells = np.cumsum(~rare) - 1
        return np.where(rare, cells[int(np.argmax(margin))], cells) if not rare.all() else np.zeros(len(rare), int)
    cells = np.cumsum(~rare) - 1
    return np.where(rare, int((~rare).sum()), cells)


def _residual(margin: Floats) -> Floats:
    """diag(p)^−½ (I − p1ᵀ): what is left of a table's rows once their share of the whole is taken out."""
    residual: Floats = (np.eye(len(margin)) - margin[:, None]) / np.sqrt(margin)[:, None]
    return residual


def _noncentrality(value: float, freedom: float, level: float) -> Interval:
    """All λ for which a noncentral χ² of so many degrees of freedom is as small, or as large, as `value`."""
    tail = (1.0 - level) / 2.0
    top = max(10.0, 4.0 * value + 40.0 * math.sqrt(value + freedom))
    ends = []
    for probability in (1.0 - tail, tail):  # the least λ leaves `value` in the upper tail, the greatest in the lower
        if _law(value, freedom, 0.0) <= probability:
            ends.append(0.0)
        else:
            ends.append(float(brentq(lambda x, p=probability: _law(value, freedom, x) - p, 0.0, top)))
    return ends[0], ends[1]


def _law(value: float, freedom: float, shift: float) -> float:
    """The distribution function of the noncentral χ²; normal where all is large."""
    if freedom + shift > _LARGE:
        return float(ndtr((value - freedom - shift) / math.sqrt(2.0 * (freedom + 2.0 * shift))))
    return float(chndtr(value, freedom, shift))


def strength_record(measured: tuple[MeasuredMarginal, ...]) -> dict[str, Any] | None:
    """How strongly two columns go together, by the first round that measured them; None where nothing can be seen."""
    found = association(measured[0]) if measured else None
    if found is None:
        return None
    low, high = found.interval
    return {"value": number(found.value, 4), "low": number(low, 4), "high": number(high, 4), "seen": found.is_visible}
