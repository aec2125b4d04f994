"""Fréchet bounds: averages of columns that were not measured together, as the extremes over all tables that agree.

Atoms that a question can't tell apart are put into one class first, so that questions of many columns stay small.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, final

import numpy as np
import pyarrow as pa
import scipy
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, hstack, vstack

from kernelease.analysis.estimands import Estimand
from kernelease.analysis.estimate import Estimate, Parts, Source, Target, combine_sources, covariance
from kernelease.analysis.inference import CONFIDENCE, ConfidenceLimits, Interval, NormalLimits, critical_value
from kernelease.analysis.representatives import CellValues, Representatives, cell_values, outcomes, representatives
from kernelease.arrays import Floats, Integers
from kernelease.errors import CapacityError, ParameterError
from kernelease.estimate.marginal import Marginal
from kernelease.measured.blocks import MOST_COLUMNS
from kernelease.measured.views import common_coarsening
from kernelease.table.columns.column import Column
from kernelease.table.expressions.logic import Condition

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence

MOST_POINTS = 20_000  # variables of a linear program
PARTS = (16, 8, 4, 2)  # ranges that numbers are cut into: as many as fit
Z = 4.0  # standard errors within which a noisy number of rows is taken to be
REMARK = (
    "{} were not measured together in cells as fine as the question: the interval holds every table that agrees with "
    "what was measured"
)
Sparse: TypeAlias = csr_array
SourceOf: TypeAlias = Callable[[Marginal, Floats, float], Source | None]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCounts:
    """Counts of unions of cells, each with a standard error: `matrix` (counts, cells) @ p = `values` ± `errors`."""

    matrix: Sparse
    values: Floats
    errors: Floats
    parts: tuple[tuple[Marginal, Integers], ...]  # whose counts they are, and which of them each of its cells is in

    def error(self, weights: Floats, source_of: SourceOf, target: Target) -> float:
        """The standard error of a weighted sum of all of them, with the exact covariance of their noise."""
        terms, first = list[tuple[float, Source | None]](), 0
        for marginal, unions in self.parts:
            function = weights[first : first + int(unions.max()) + 1][unions]
            drawn = float(marginal.sampling([function])[0, 0]) if target is Target.POPULATION else 0.0
            terms.append((1.0, source_of(marginal, function, math.sqrt(max(0.0, drawn)))))
            first += int(unions.max()) + 1
        source = combine_sources(terms)
        return math.inf if source is None else math.sqrt(covariance(source.weights(), source.weights()))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FrechetLimits(ConfidenceLimits):
    """Σ numerator / Σ denominator over all tables whose counts agree with all known ones at once.

    Each holds within z standard errors, z so large (Bonferroni) that all of them do with the probability that is
    asked for; no law of the rest is assumed, and no choice is made in sight of the noise. The two extremes are linear
    programs (Charnes & Cooper 1962): with y = p·s and s = 1/Σ denominator, minimise numerator·y. For a total, s = 1.
    """

    functions: CellValues
    known: KnownCounts
    rows: Interval  # the least and the greatest number of them
    is_total: bool  # whether the numerator's sum itself is asked for
    laplace: bool = False  # Laplace noise
    _found: dict[float, Interval] = field(default_factory=dict, repr=False, compare=False)

    @property
    def possible(self) -> Interval:
        """All possible answers."""
        possible = self.functions.possible
        assert possible is not None  # whoever asks has looked
        return (min(0.0, possible[0]) * self.rows[1], possible[1] * self.rows[1]) if self.is_total else possible

    def at(self, level: float) -> Interval:
        if level not in self._found:
            self._found[level] = self._solve(self.factor(level))
        return self._found[level]

    def factor(self, level: float) -> float:
        """How many standard errors each count may be off, so that all hold together with at least this probability."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, like 0.95, got {level!r}.")
        return critical_value(1.0 - (1.0 - level) / max(1, len(self.known.values)), laplace=self.laplace)

    def _solve(self, z: float) -> Interval:
        possible = self.possible
        for slack in (1.0, 1.25, 1.6, 2.0, 3.0, 5.0, 10.0):  # noise beyond the box is rare, but happens
            ends = [self._extreme(z * slack, sign) for sign in (1.0, -1.0)]
            if not any(math.isnan(end) for end in ends):
                return max(ends[0], possible[0]), min(ends[1], possible[1])
        return possible

    def bound(self, reference: Floats, sign: float) -> tuple[float, Floats] | None:
        """A number that Σ numerator is nowhere below (sign 1) or above (sign −1), and the weights of counts in it.

        Whatever the counts are, a solution of the dual program gives such a bound, a weighted sum of them: its noise is
        that of a sum, and not of all counts at once. Weights that are good are those of `reference`, other counts that
        are near: chosen by the noisy ones they would favour what noise made large.
        """
        above, limits = self._system(reference, critical_value(CONFIDENCE))
        found = scipy.optimize.linprog(sign * self.functions.numerator, A_ub=above, b_ub=limits, method="highs")
        if found.status != 0:
            return None
        size, duals = len(reference), np.asarray(found.ineqlin.marginals)
        weights = duals[:size] - duals[size : 2 * size]
        value = float(weights @ self.known.values) + float(duals[-2] - duals[-1]) * self.rows[0]
        return sign * value, weights

    def _system(self, values: Floats, z: float) -> tuple[Sparse, Floats]:
        """A and b of A·p ≤ b: the rows at all points of tables whose counts are within z errors of some values."""
        # A row may be at any representative of its cell: each is a variable of its own.
        points = len(self.functions.cell)
        spread = csr_array(
            (np.ones(points), (self.functions.cell, np.arange(points))), shape=(self.functions.size, points)
        )
        matrix, everyone = self.known.matrix @ spread, csr_array(np.ones((1, points)))
        high, low = values + z * self.known.errors, values - z * self.known.errors
        limits = np.concatenate([high, -low, [self.rows[1]], [-self.rows[0]]])
        return vstack([matrix, -matrix, everyone, -everyone]).tocsr(), limits

    def _extreme(self, z: float, sign: float) -> float:
        """The least (sign 1) or greatest (sign −1) ratio; NaN where no table agrees with all of them."""
        above, limits = self._system(self.known.values, z)
        points = len(self.functions.cell)
        system = hstack([above, csr_array(-limits[:, None])]).tocsr()
        below = np.append(np.zeros(points) if self.is_total else self.functions.denominator, float(self.is_total))
        found = scipy.optimize.linprog(
            np.append(sign * self.functions.numerator, 0.0),
            A_ub=system,
            b_ub=np.zeros(len(limits)),
            A_eq=csr_array(below[None, :]),
            b_eq=[1.0],
            bounds=(0.0, None),
            method="highs",
        )
        return sign * float(found.fun) if found.status == 0 else math.nan


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class AtomClasses:
    """The class of each atom of a column, and representatives of the classes."""

    groups: Integers  # (atoms,)
    points: Representatives


def frechet_bounds(evidence: "Evidence", estimand: Estimand, source_of: SourceOf) -> Estimate | None:
    """The extremes over all tables that agree with the noisy counts; the value is NaN. None where no row can exist.

    `source_of` says where the error of a sum over the cells of a marginal comes from, with its sampling error.
    """
    columns = evidence.positions(estimand.columns)
    known = _measured_marginals(evidence, columns)
    chosen = _classes(evidence, estimand, columns, known)
    axes = [
        (evidence.schema.columns[index].name, part.points, part.groups)
        for index, part in zip(columns, chosen, strict=True)
    ]
    functions = cell_values(axes, estimand.numerator, estimand.denominator)
    if functions.possible is None:
        return None
    sampled = evidence.total if evidence.target is Target.POPULATION else 0.0
    limits = FrechetLimits(
        functions=functions,
        known=known_counts(known, tuple(part.groups for part in chosen), columns, sampled=sampled),
        rows=_rows(evidence),
        is_total=estimand.is_total,
        laplace=any(marginal.laplace for marginal in known),
    )
    sharper = _by_bounds(evidence, limits, columns, tuple(part.groups for part in chosen), source_of)
    return Estimate(
        value=math.nan,
        parts=Parts(noise=_noise(limits) if sharper is None else max(sharper.low_error, sharper.high_error)),
        limits=limits if sharper is None else sharper,
        target=evidence.target,
        about=estimand.about,
        remark=REMARK.format(", ".join(evidence.schema.names[index] for index in columns)),
        possible=limits.possible,
    )


def _by_bounds(
    evidence: "Evidence",
    limits: FrechetLimits,
    columns: tuple[int, ...],
    classes: tuple[Integers, ...],
    source_of: SourceOf,
) -> NormalLimits | None:
    """Limits by one bound on either side, for a share or a total of all rows; weighed by what the synthetic rows count.

    None for a ratio of two sums, and where there are no rows.
    """
    whole = limits.is_total or bool(np.all(limits.functions.denominator == 1.0))
    if not whole or evidence.rows is None or evidence.weights is None or evidence.chosen.parts:
        return None
    if limits.rows[0] < limits.rows[1]:
        return None
    declared = [evidence.schema.columns[index] for index in columns]
    codes = [
        own[column.encode(evidence.rows.column(column.name))] for own, column in zip(classes, declared, strict=True)
    ]
    places = np.ravel_multi_index(codes, [int(own.max()) + 1 for own in classes])
    counts = limits.rows[0] * np.bincount(places, evidence.row_shares, minlength=limits.functions.size)
    scale = 1.0 if limits.is_total else limits.rows[0]
    low, high = (limits.bound(limits.known.matrix @ counts, sign) for sign in (1.0, -1.0))
    if low is None or high is None:
        return None
    return NormalLimits(
        low=min(low[0], high[0]) / scale,
        high=max(low[0], high[0]) / scale,
        low_error=limits.known.error(low[1], source_of, evidence.target) / scale,
        high_error=limits.known.error(high[1], source_of, evidence.target) / scale,
        within=limits.possible,
        laplace=limits.laplace,
    )


def _noise(limits: FrechetLimits) -> float:
    """By how much each half of the interval grows when all counts may be off by one standard error more."""
    long, short = (high - low for low, high in (limits.at(level) for level in (CONFIDENCE, 0.5)))
    return max(0.0, 0.5 * (long - short) / (limits.factor(CONFIDENCE) - limits.factor(0.5)))


def _classes(
    evidence: "Evidence", estimand: Estimand, columns: tuple[int, ...], known: Sequence[Marginal]
) -> list[AtomClasses]:
    """The atoms of each column in as many classes as a linear program can take."""
    declared = [evidence.schema.columns[index] for index in columns]
    cells = [[one.groups[one.columns.index(index)] for one in known if index in one.columns] for index in columns]
    for parts in PARTS:
        found = [
            atom_classes(
                column, estimand.conditions, parts=parts if column.name in estimand.value_columns else 1, cells=counted
            )
            for column, counted in zip(declared, cells, strict=True)
        ]
        if math.prod(len(part.points.atoms) for part in found) <= MOST_POINTS:
            return found
    raise CapacityError(
        f"The columns {', '.join(column.name for column in declared)} were not measured together, and are too many to "
        "bound the answer from what was. Ask about fewer of them at once, or with fewer values."
    )


def _measured_marginals(evidence: "Evidence", columns: tuple[int, ...]) -> list[Marginal]:
    """What was measured of some of the columns, in the round that has the least noise."""
    known = []
    for size in range(1, MOST_COLUMNS + 1):
        for part in itertools.combinations(columns, size):
            measured = evidence.marginals(part)
            if measured:
                known.append(min(measured, key=lambda one: float(one.variances().max())))
    return known


def _rows(evidence: "Evidence") -> Interval:
    """The least and the greatest number of rows."""
    if evidence.public_total:
        return evidence.total, evidence.total
    marginal = evidence.marginals((0,))[0]
    values, covariance = marginal.joint([np.ones(marginal.size)])
    error = math.sqrt(covariance[0, 0])
    return max(1.0, values[0] - Z * error), max(1.0, values[0] + Z * error)


def atom_classes(
    column: Column, conditions: Sequence[Condition], *, parts: int, cells: Sequence[Integers] = ()
) -> AtomClasses:
    """Atoms with the same outcomes of all tests of this column alone, in `parts` ranges where its values matter, too.

    With one part, only the tests matter: the representatives of a class are one of each outcome. `cells` are those in
    which the column was counted: atoms of a cell that a test cuts through are apart from those of whole cells, so that
    only the rows of the cut cell are in doubt.
    """
    points = representatives(column, conditions)
    leaves = [leaf for condition in conditions for leaf in condition.leaves() if leaf.names == (column.name,)]
    outcome = outcomes(points, column, leaves)
    signature = np.zeros((column.size, int(outcome.max()) + 1 + 1), dtype=np.int64)
    signature[points.atoms, outcome] = 1
    signature[:, -1] = _ranges(column, parts)
    signature = np.hstack([signature, *(_outcomes_of_cells(signature[:, :-1], grouping) for grouping in cells)])
    groups = np.unique(signature, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
    kind = np.stack([groups[points.atoms], outcome], axis=1)
    first = np.unique(kind, axis=0, return_index=True)[1]
    last = len(kind) - 1 - np.unique(kind[::-1], axis=0, return_index=True)[1]
    kept = np.unique(first if parts == 1 else np.concatenate([first, (first + last) // 2, last]))
    chosen = Representatives(
        atoms=points.atoms[kept], values=points.values.take(pa.array(kept)), weights=np.ones(len(kept))
    )
    return AtomClasses(groups=groups, points=chosen)


def _outcomes_of_cells(outcomes: Integers, cells: Integers) -> Integers:
    """Which outcomes the cell of each atom holds: (atoms, outcomes) → (atoms, outcomes)."""
    held = np.zeros((int(cells.max()) + 1, outcomes.shape[1]), dtype=np.int64)
    np.maximum.at(held, cells, outcomes)
    return held[cells]


def _ranges(column: Column, parts: int) -> Integers:
    """Neighbouring atoms in at most so many ranges; NULL and other on their own."""
    if parts == 1:
        return np.zeros(column.size, dtype=np.int64)
    if not column.ordered:
        return np.arange(column.size)
    ordinary = int(np.count_nonzero(~np.isnan(column.centres())))
    ranges = np.arange(column.size)
    ranges[:ordinary] = ranges[:ordinary] * min(parts, ordinary) // max(1, ordinary)
    ranges[ordinary:] += parts
    return ranges


def known_counts(
    known: list[Marginal], classes: tuple[Integers, ...], columns: tuple[int, ...], *, sampled: float = 0.0
) -> KnownCounts:
    """What marginals of some of the columns say about the classes of all of them.

    `classes[k]` is the class of each atom of column `columns[k]`. A cell that lies in several classes says something
    about their union only. With `sampled` rows drawn from a population, sampling adds to each error.
    """
    shape = tuple(int(group.max()) + 1 for group in classes)
    rows, values, errors, parts = [], [], [], []
    for marginal in known:
        places = [columns.index(index) for index in marginal.columns]
        ours, cells = zip(
            *(common_coarsening(classes[p], g) for p, g in zip(places, marginal.groups, strict=True)), strict=True
        )
        counts = [int(group.max()) + 1 for group in ours]
        if math.prod(counts) == 1 and marginal.total is not None:
            continue
        unions = _flat(cells, counts)
        seen = _flat(ours, counts, places, shape)
        parts.append((marginal, unions))
        for union in range(math.prod(counts)):
            estimate, covariance = marginal.joint([(unions == union).astype(np.float64)])
            rows.append(seen == union)
            values.append(estimate[0])
            errors.append(math.sqrt(max(0.0, covariance[0, 0]) + _binomial(estimate[0], sampled)))
    dense: NDArray[np.bool_] = np.array(rows).reshape(len(rows), math.prod(shape))
    return KnownCounts(
        matrix=csr_array(coo_array(dense.astype(np.float64))),
        values=np.array(values),
        errors=np.array(errors),
        parts=tuple(parts),
    )


def _binomial(count: float, rows: float) -> float:
    """The variance of a count of independent rows, by an estimate of it that is never 0."""
    share = min(max((count + 1.0) / (rows + 2.0), 1.0 / (rows + 2.0)), 0.5)
    return rows * share * (1.0 - share)


def _flat(
    maps: tuple[Integers, ...], counts: list[int], places: list[int] | None = None, shape: tuple[int, ...] | None = None
) -> Integers:
    """One index for a product of maps; with `places`, over a grid of `shape` of which they cover some axes."""
    axes = list(range(len(maps))) if places is None else places
    grid = tuple(len(m) for m in maps) if shape is None else shape
    index = np.zeros(grid, dtype=np.int64)
    for axis, values, count in zip(axes, maps, counts, strict=True):
        index = index * count + values.reshape([-1 if other == axis else 1 for other in range(len(grid))])
    return index.ravel()
