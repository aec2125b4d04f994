"""Weights that carry the uncertainty of a release into any tool, at no privacy cost: of vectors, and of tables."""

import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_matrix, hstack, vstack
from scipy.special import stdtrit

from kernelease.analysis.estimands import numbers_of
from kernelease.analysis.estimate import Estimate, Parts, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.groups import Groups, Label
from kernelease.analysis.inference import REAL_LINE, ConfidenceLimits, Interval, UnknownLimits
from kernelease.analysis.inside import squared_rows, unevenness
from kernelease.answers.reading import CountsReading, Released, atom_codes, evidence_of, reading
from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import ParameterError, UncertaintyWarning, in_words
from kernelease.fit.weights import Simplex, WeightSolver, tolerance_at_noise
from kernelease.measured.blocks import NoisyBlock
from kernelease.measured.embeddings import NoisyEmbedding
from kernelease.measured.sums import CodedRows
from kernelease.privacy.accounting import Law
from kernelease.progress import SILENT, Progress, Repeated
from kernelease.seeds import PublicSeed
from kernelease.table.columns.cells import Celled
from kernelease.table.columns.numbers import Number
from kernelease.table.domain import free_name
from kernelease.table.domains import decode_lawfully, lawful_flags
from kernelease.table.schema import Schema

if TYPE_CHECKING:
    from kernelease.answers.release import Release


# --------------------------------------------------------------------------------------------------------------
# Weights of a release of vectors that vary as it is uncertain, at no privacy cost.
#
# They are a parametric bootstrap: take the weighted points for the truth, draw N rows from them (for the population;
# the points as they are for the table itself), add fresh noise of the released size to their features, and fit the
# weights again. How far a statistic of such a set lies from that of the points, on average, is how far the release
# lies from the truth: by sampling, by noise, and by the fit. What was never measured is outside of it. Counted tables
# have replicates that do not rest on a fit (below).


_FIT = (
    "Replicates show how the fit varies, not how far it is from the truth: intervals of skewed means, variances and "
    "dependence can be far too short. release.mean, correlation, regression, ask.gini and so on count all of it; "
    "release.agreement() says where rows and estimates disagree."
)


@final
@dataclass(frozen=True, slots=True)
class StudentLimits(ConfidenceLimits):
    """Value ± t·(standard error), where the error itself was estimated from few replicates."""

    value: float
    error: float
    replicates: int
    within: Interval = REAL_LINE  # nothing beyond is possible

    def at(self, level: float) -> Interval:
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        reach = float(stdtrit(self.replicates, 0.5 + level / 2.0)) * self.error
        low, high = np.clip((self.value - reach, self.value + reach), *self.within).tolist()
        return low, high


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """The synthetic rows, and data sets that differ from them as they differ from the truth. Weights are last."""

    rows: pa.Table
    weight_name: str  # the column of each that holds its weights
    replicates: tuple[pa.Table, ...]
    target: Target

    def __len__(self) -> int:
        return len(self.replicates)

    def __iter__(self) -> Iterator[pa.Table]:
        return iter(self.replicates)

    def __getitem__(self, index: int) -> pa.Table:
        return self.replicates[index]

    def estimate(self, statistic: Callable[[pa.Table], Any], about: str = "") -> Estimate:
        """A statistic of the synthetic rows, with the error that its values on the data sets show.

        `statistic` takes a table, with its weights in the column `weight_name`, and gives a number.
        """
        value = float(statistic(self.rows))
        return self.combine(value, [float(statistic(table)) for table in self.replicates], about)

    def combine(self, value: float, values: Sequence[float], about: str = "") -> Estimate:
        """The combining rule: the mean squared distance of the replicates' values from the release's own value.

        The distance is from the value of the release, not from the replicates' mean: so the bias of the fit counts.
        """
        if len(values) != len(self.replicates) or not np.isfinite([value, *values]).all():
            raise ParameterError(f"combine: needs {len(self.replicates)} finite values, one for each data set.")
        warnings.warn(_FIT, UncertaintyWarning, stacklevel=2)
        error = math.sqrt(float(np.mean((np.asarray(values) - value) ** 2)))
        return Estimate(
            value=value,
            parts=Parts(noise=error),
            limits=StudentLimits(value, error, len(values)),
            target=self.target,
            about=about,
            remark="noise, sampling and how the fit varies; not how far the fit is from the truth",
        )

    def replicate_weights(self) -> pa.Table:
        """One table for survey software: the rows, their weights, and a column of weights for each replicate.

        The variance of a statistic is the mean over replicates of its squared distance from that of the main weights:
        balanced repeated replication with a scale of 1/R, which R's survey package, Stata and SAS read. Their columns
        are replicate_1, replicate_2, …, or row_replicate_1, … where the table has such columns itself.
        """
        table = self.rows
        for name, replicate in zip(self._names(), self.replicates, strict=True):
            table = table.append_column(name, replicate.column(self.weight_name))
        return table

    def _names(self) -> list[str]:
        return replicate_names(self.rows.column_names, len(self.replicates))


def replicate_names(columns: Sequence[str], count: int) -> list[str]:
    """Names of the columns of replicate weights: numbered, after a word that no column of the table begins with."""
    word = free_name("replicate", (re.sub("_[0-9]+$", "", name) for name in columns))
    return [f"{word}_{number}" for number in range(1, count + 1)]


def point_samples(
    release: Released,
    points: Rows,
    embedding: NoisyEmbedding,
    count: int,
    *,
    target: Target,
    seed: int,
    progress: Progress = SILENT,
) -> Samples:
    """Samples of a release of weighted points: the same points, reweighted to a bootstrapped, noisy embedding."""
    weights = release.weights
    design = embedding.feature_map.evaluate(points).T
    solver = WeightSolver(
        constraint=Simplex(), tolerance=tolerance_at_noise(embedding.noise_floor, embedding.mean), iterations=500
    )
    replicates = []
    for index in range(count):
        watching = Repeated(progress, "data set", index + 1, count)
        watching.expect({"fitting": 1.0})  # seconds, until the first one shows how many
        watching.stage("fitting")
        generator = PublicSeed(seed + index).generator("replicate")
        shares = _bootstrap(weights, embedding.rows, target, generator)
        noisy = design @ shares + _noise(embedding.measurement.step.law, embedding.sigma, len(design), generator)
        fitted = solver.solve(design, noisy, weights / weights.sum()).weights
        replicates.append(release.rows.append_column(release.measurements.domain.weight_name, pa.array(fitted)))
    return _samples(release, replicates, target)


def _samples(release: Released, replicates: Sequence[pa.Table], target: Target) -> Samples:
    name = release.measurements.domain.weight_name
    return Samples(rows=release.table, weight_name=name, replicates=tuple(replicates), target=target)


def _bootstrap(weights: Floats, rows: float, target: Target, generator: np.random.Generator) -> Floats:
    """The shares of synthetic rows in a table that is drawn from them; as they are where the table is the target."""
    shares: Floats = np.maximum(weights, 0.0) / np.maximum(weights, 0.0).sum()
    if target is Target.TABLE:
        return shares
    size = max(1, round(rows))
    drawn: Floats = generator.multinomial(size, shares) / size
    return drawn


def _noise(law: Law, deviation: float, size: int, generator: np.random.Generator) -> Floats:
    if law is Law.LAPLACE:
        return generator.laplace(0.0, deviation / math.sqrt(2.0), size)
    noise: Floats = generator.standard_normal(size) * deviation
    return noise


# --------------------------------------------------------------------------------------------------------------
# Replicates: synthetic rows whose weights vary as a release is uncertain, so that any tool can say how far off it is.
#
# Take w₀, the weights of the fitted rows, as a first guess of the table, off by V = diag(w₀) + M Mᵀ: a table has rows
# one by one, and M has what all rows of a cell share. The noisy numbers y = A w + e, with noise e of known size,
# improve it:
#
#     w = w₀ + K (y − A w₀),   K = V Aᵀ (A V Aᵀ + I)⁻¹   (all numbers over their noise)
#
# the best linear guess, and what is left of its uncertainty is drawn exactly: with δ ~ N(0, V) and fresh noise e, the
# replicate is w + δ − K (A δ + e). M makes what was counted uncertain by four times its noise before it is looked at;
# where the fit misses the numbers by more than noise does, by four times that. So a dependence that noise hid from the
# fit is not taken for none, and where in its cell a row lies varies as unevenly as cells beside each other do.
#
# Such weights have either sign, and few tools take these. A statistic θ is therefore asked near the fit: at w₁, the fit
# with as much more weight on few rows as keeps all others above 0, and at a small step from it, w₁ + s·(w − w₁).
# θ(w₁) + (θ(step) − θ(w₁))/s is then one step of Newton's: what it is at w, to first order in how far w₁ is off. Rows
# can't follow every change, and a step is not the whole way, so that half of what it changes is one more error.


DOUBT = 16.0  # convention: variances of the noise by which what was measured is uncertain before: four of its errors
HALF = 0.5  # convention: of what a step changes, its error beside the noise
STEP = 0.005  # convention: of the way: longer ones need more weight on rows far out, shorter ones move no median
THIN = 16  # convention: rows that a counted cell of a column has at least, of one row's weight together with as many
AROUND = 16  # convention: rows between which gaps are alike
ACCURATE = 1e-2  # limit: of the numbers, to which equations are solved: far below the noise of 20 replicates
FINE = 30_000  # convention: rows that there are at least: a step moves a median by rows
LEADING = 300  # limit: of the directions in which the equations are solved exactly
MOST_STEPS = 500  # limit: of solving them; what is left by then is small beside the noise
FIT, OWN = 0, 1  # the first data sets: the fit, and the release's best guess


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Replicates:
    """Data sets of the same rows: the fit, a step toward the release's best guess, and as many that differ from it.

    Compute a statistic on each, in order, with its weights; `pool` makes one answer of the results. `step` is the
    length of the step, and each set's weights add up to 1.
    """

    rows: pa.Table
    weights: Floats  # (2 + replicates, rows)
    step: float
    weight_name: str
    target: Target
    _release: "Release" = field(repr=False)

    def __repr__(self) -> str:
        return f"Replicates({len(self)} data sets of {self.rows.num_rows:,} rows, about the {self.target})"

    def __len__(self) -> int:
        return len(self.weights)

    def __iter__(self) -> Iterator[pa.Table]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: int) -> pa.Table:
        """A data set: its rows, and last their weights."""
        return self.rows.append_column(self.weight_name, pa.array(self.weights[place]))

    def estimate(
        self, statistic: Callable[[pa.Table], Any], *, columns: Sequence[str] = (), about: str = ""
    ) -> Estimate | Groups:
        """A statistic of weighted rows, with its error. It takes a table, whose weights are in `weight_name`.

        `columns` are those that it needs together. It is refused if they were not measured so.
        """
        return self.pool([statistic(one) for one in self], columns=columns, about=about)

    def pool(self, results: Sequence[Any], *, columns: Sequence[str] = (), about: str = "") -> Estimate | Groups:
        """The results of one statistic on all data sets as one answer with its error.

        Results are numbers, mappings, arrays, or fits with `params` (statsmodels) or `coef_` (scikit-learn). Their own
        standard errors are not asked for: noise and sampling are in the replicates.
        """
        self.check(columns)
        named = [_numbers_of(one) for one in results]
        if len(named) != len(self) or any(list(one) != list(named[0]) for one in named):
            raise ParameterError(f"pool: needs {len(self)} results with the same terms, one for each data set.")
        values = np.array([list(one.values()) for one in named], dtype=np.float64)
        if not np.isfinite(values).all():
            raise ParameterError(
                "pool: a result is not finite, so that nothing says how far results vary. Leave out what some data set "
                "has no value of: a column that does not vary among its rows, or a group without any."
            )
        found: dict[Label, Estimate] = {
            name: self._pool(values[:, place], about or name) for place, name in enumerate(named[0])
        }
        return found[""] if list(found) == [""] else Groups("term", found)

    def _pool(self, values: Floats, about: str) -> Estimate:
        """One step from the fit; results that go from row to row, as a median's do, by the mean of all replicates."""
        drawn = values[OWN + 1 :]
        by_rows = 1 < len(np.unique(values)) < len(values)
        own = float(drawn.mean() if by_rows else values[OWN])
        spread = float(np.var(drawn, ddof=1)) * (1.0 + 1.0 / len(drawn)) if by_rows else np.mean((drawn - own) ** 2)
        change, noise = (own - float(values[FIT])) / self.step, math.sqrt(spread) / self.step
        value, error = float(values[FIT]) + change, math.hypot(noise, HALF * change)
        known = noise > 0.0  # a median within a crowd of equal numbers moves by no step
        return Estimate(
            value=value,
            parts=Parts(noise=error if known else math.inf),
            limits=StudentLimits(value, error, len(self) - 2) if known else UnknownLimits(),
            target=self.target,
            about=about,
            remark="one step from the fit" if known else "no replicate differs: nothing says how far off it is",
        )

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that a statistic needs together and that were not measured so."""
        if not columns:
            return
        evidence = evidence_of(self._release, self.target)
        places = evidence.positions(tuple(columns))
        if not evidence.marginals(places):
            raise evidence.not_together(places, "pool", "Promise the analysis in the schema: [analyses].")

    def survey(self) -> pa.Table:
        """One table for survey software: rows, the weights of the fit and of the step, one column for each replicate.

        The variance is the sum of squared distances from the step's result, over R·step², R the number of replicates.
        """
        table = self.rows.append_column(free_name("fit", self.rows.column_names), pa.array(self.weights[FIT]))
        table = table.append_column(self.weight_name, pa.array(self.weights[OWN]))
        names = replicate_names(self.rows.column_names, len(self) - 2)
        for name, weights in zip(names, self.weights[OWN + 1 :], strict=True):
            table = table.append_column(name, pa.array(weights))
        return table


@in_words
def pool(
    results: Sequence[Any], replicates: Replicates, *, columns: Sequence[str] = (), about: str = ""
) -> Estimate | Groups:
    """The results of one analysis on each of a release's replicates as one answer with its error."""
    return replicates.pool(results, columns=columns, about=about)


def _numbers_of(result: Any) -> dict[str, float]:
    """The numbers of a result, by name."""
    if hasattr(result, "coef_"):
        slopes = np.ravel(result.coef_).tolist()
        names = list(getattr(result, "feature_names_in_", (f"coefficient {k}" for k in range(len(slopes)))))
        return dict(zip(["intercept", *names], [*np.ravel(result.intercept_).tolist(), *slopes], strict=True))
    result = getattr(result, "params", result)
    if hasattr(result, "to_dict"):
        result = result.to_dict()
    if isinstance(result, Mapping):
        return {str(name): float(value) for name, value in result.items()}
    values = np.asarray(result, dtype=np.float64)
    if values.ndim == 0:
        return {"": float(values)}
    return {str(place): float(value) for place, value in enumerate(values.ravel())}


# --------------------
# The weights.


def replicates_of(release: "Release", count: int, *, target: Target, seed: int) -> Replicates:
    """Replicates of a release of counts. Nothing is measured anew, and everything is free."""
    if count < 2:
        raise ParameterError(f"replicates: count must be at least 2, got {count!r}.")
    view = reading(release)
    if not isinstance(view, CountsReading):
        raise ParameterError("replicates: needs a release of counted columns; of vectors, ask release.forms.samples.")
    random = PublicSeed(seed)
    support = _Support.of(release, view, random.generator("support"))
    generators = [random.generator(f"replicate {number}") for number in range(count)]
    changes = _Update(support, view, evidence_of(release, target)).changes(target, generators)
    wanted = support.weights + np.stack(changes)
    wanted += np.outer(1.0 - wanted.sum(axis=1) / support.weights.sum(), support.weights)  # as many rows as there are
    first = np.maximum(support.weights, STEP / (1.0 - STEP) * -wanted.min(axis=0))
    weights = np.maximum(0.0, np.stack([first, *((1.0 - STEP) * first + STEP * wanted)]))
    return Replicates(
        rows=support.rows,
        weights=weights / weights.sum(axis=1, keepdims=True),
        step=STEP * float(support.weights.sum() / weights[OWN].sum()),  # few rows: the fit has more weight than they
        weight_name=release.measurements.domain.weight_name,
        target=target,
        _release=release,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Support:
    """The synthetic rows, and more of next to no weight in counted cells of a column that have few: noise may be there.

    A cell of one row could only change with whatever else that row is; several let its mean and its company change.
    """

    rows: pa.Table
    codes: Integers  # (rows, columns)
    weights: Floats  # w₀: (rows,), in rows of the table

    @classmethod
    def of(cls, release: "Release", view: CountsReading, generator: np.random.Generator) -> "_Support":
        codes, weights = atom_codes(release, view.schema, None), np.maximum(release.weights, 0.0)
        weights = weights * (view.blocks.rows / weights.sum())
        kept = weights > 0.0
        own = cls(rows=release.rows.filter(pa.array(kept)), codes=codes[kept], weights=weights[kept])
        copies = math.ceil(FINE / len(own.codes)) - 1
        finer = own._with(view, np.tile(own.codes, (copies, 1)), np.tile(own.weights, copies), generator)
        places = range(len(view.schema.columns))
        more = np.concatenate([_thin_cells(view, own.codes, place, generator) for place in places])
        found = finer._with(view, more, np.full(len(more), 1.0 / THIN**2), generator)
        cells = {i: groups[found.codes[:, i]] for i in places if (groups := _finest(view, i)) is not None}
        spaced = _space_evenly(view.schema, found.rows, cells)
        codes = np.stack([one.encode(spaced.column(one.name)) for one in view.schema.columns], axis=1)
        return _Support(rows=spaced, codes=codes, weights=found.weights * (view.blocks.rows / found.weights.sum()))

    def _with(
        self, view: CountsReading, codes: Integers, weights: Floats, generator: np.random.Generator
    ) -> "_Support":
        """These rows and others, whose values are drawn within their cells."""
        if not len(codes):
            return self
        decoded, lawful = decode_lawfully(view.schema, codes, generator)
        decoded = decoded.filter(pa.array(lawful)).select(self.rows.column_names).cast(self.rows.schema)
        return _Support(
            rows=pa.concat_tables([self.rows, decoded]),
            codes=np.concatenate([self.codes, codes[lawful]]),
            weights=np.append(self.weights, weights[lawful]),
        )


def _space_evenly(schema: Schema, rows: pa.Table, cells: Mapping[int, Integers]) -> pa.Table:
    """The rows with numbers as far apart, in their order within a cell, as those around them are on average.

    A step moves a median by a row or two: gaps that are long or short by chance would say how far.
    """
    spaced = rows
    for place, own in cells.items():
        column = schema.columns[place]
        if not isinstance(column, Number) or column.values is not None:
            continue
        x = numbers_of(column, rows).copy()
        order, index = np.lexsort((x, own)), np.arange(len(x))
        values, first = x[order], np.append(True, np.diff(own[order]) != 0)
        begin = np.flatnonzero(first)[np.cumsum(first) - 1]
        alike = np.cumsum(first | np.append(True, np.diff(values) != 0.0)) - 1
        kept = (np.bincount(alike)[alike] > 2) | np.isnan(values)  # a spike, or a grid
        knots = np.flatnonzero(kept | first | np.append(first[1:], True) | ((index - begin) % AROUND == 0))
        x[order] = np.where(kept, values, np.interp(index, knots, np.nan_to_num(values[knots])))
        if column.resolution is not None:
            x = column.min + np.round((x - column.min) / column.resolution) * column.resolution
        declared = rows.schema.field(column.name)
        numbers = pa.array(x, declared.type, from_pandas=True)
        spaced = spaced.set_column(spaced.column_names.index(column.name), declared, numbers)
    return rows if schema.derived or not lawful_flags(schema, spaced).all() else spaced


def _finest(view: CountsReading, place: int) -> Integers | None:
    """The finest cells in which a column was counted alone: (atoms,); None where it was not."""
    counted = [one for one in view.blocks.without_details.blocks if one.block.columns == (place,)]
    return max(counted, key=lambda one: one.block.cells).block.groups[0] if counted else None


def _thin_cells(view: CountsReading, codes: Integers, place: int, generator: np.random.Generator) -> Integers:
    """Copies of rows with a value in each cell of a column that has few rows."""
    cells = _finest(view, place)
    if cells is None:
        return codes[:0]
    missing = np.maximum(THIN - np.bincount(cells[codes[:, place]], minlength=int(cells.max()) + 1), 0)
    copies = codes[generator.integers(0, len(codes), int(missing.sum()))]
    wanted = np.repeat(np.arange(len(missing)), missing)
    copies[:, place] = [generator.choice(np.flatnonzero(cells == cell)) for cell in wanted]
    return copies


@final
class _Update:
    """The best linear guess of the weights by all noisy numbers, and draws of what it leaves uncertain."""

    def __init__(self, support: _Support, view: CountsReading, evidence: Evidence) -> None:
        self.support, self.rows, told = support, view.blocks.rows, view.blocks.without_details
        fine = _finer_codes(view.schema, support)
        self.parts = [
            _Part.of(one, support.codes, fine) for one in (*told.blocks, *told.moments) if not one.block.moves_rows
        ]
        self._ends = np.cumsum([0, *(one.size for one in self.parts)])
        self._sums = vstack([one.sums for one in self.parts]).tocsr()
        self._rows = self._sums.T.tocsr()
        self.missing = np.concatenate([one.values for one in self.parts]) - self._numbers(support.weights)
        self.variance: Floats = support.weights
        counted = {one.noisy.block.columns for one in self.parts}
        self._modes = _modes(evidence, support, counted, DOUBT * max(1.0, float(np.mean(self.missing**2))))
        self._back = self._modes.T.tocsr()

    def changes(self, target: Target, generators: Sequence[np.random.Generator]) -> list[Floats]:
        """The change of weights to the best guess, and to a replicate for each generator."""
        draws = [self._draw(generator) for generator in generators]
        missing = [self.missing, *(-self._numbers(d) - e for d, e in draws)]
        best, *gains = self._gain(np.stack(missing, axis=1)).T
        return [
            best,
            *(best + d + g + self._sample(target, r) for (d, _), g, r in zip(draws, gains, generators, strict=True)),
        ]

    def _draw(self, generator: np.random.Generator) -> tuple[Floats, Floats]:
        """δ, which leaves the number of rows, and fresh noise."""
        change = np.sqrt(self.variance) * generator.standard_normal(len(self.variance))
        change += self._modes @ generator.standard_normal(self._modes.shape[1])
        change -= self.variance * (change.sum() / self.variance.sum())
        return change, np.concatenate([one.noise(generator) for one in self.parts])

    def _sample(self, target: Target, generator: np.random.Generator) -> Floats:
        """How a table of as many rows differs from the population it is drawn from."""
        weights = self.support.weights
        if target is Target.TABLE:
            return np.zeros(len(weights))
        sample = generator.multinomial(max(1, round(self.rows)), weights / weights.sum())
        return np.asarray(sample * (weights.sum() / sample.sum()) - weights)

    def _numbers(self, weights: Floats) -> Floats:
        """A w: what would be measured of weighted rows, over the noise; (rows,) or (rows, k)."""
        return self._numbers_in(self._sums @ weights)

    def _gain(self, missing: Floats) -> Floats:
        """K of some numbers: (numbers, k) → (rows, k)."""

        def spread(numbers: Floats) -> Floats:
            rows = self._rows @ self._numbers_in(numbers)
            return np.asarray(self.variance[:, None] * rows + self._modes @ (self._back @ rows))

        generator = PublicSeed(0).generator("directions")
        return spread(conjugate_gradients(lambda one: self._numbers(spread(one)), missing, generator))

    def _numbers_in(self, tables: Floats) -> Floats:
        """What blocks say of tables of sums, one below another; its own transpose."""
        bounds = zip(self.parts, self._ends, self._ends[1:], strict=False)
        return np.concatenate([one.numbers_in(tables[low:high]) for one, low, high in bounds])


def _modes(evidence: Evidence, support: _Support, counted: Set[tuple[int, ...]], doubt: float) -> Any:
    """How each cell that was counted may be otherwise than in the fit, as changes of weights: (rows, modes).

    It may hold more or fewer rows, by so many variances of the noise of its count, however few the fit has there. Rows
    of a cell of a column, or of two, may lie otherwise: with z a number's place in its cell, of mean 0 and variance 1
    over the cell's rows, the change w·z moves the mean of z by 1. Their sum has the variance that answers take it to
    have (`analysis.inside`): the unevenness of the cell times its rows squared, no fewer than noise leaves open.
    """
    columns = evidence.schema.columns
    numbers = {i: numbers_of(one, support.rows) for i, one in enumerate(columns) if one.tag in ("integer", "number")}
    found, every = [], range(len(columns))
    larger = sorted(one for one in counted if len(one) > 2)
    for places in [*((i,) for i in every), *itertools.combinations(every, 2), *larger]:
        marginal = max(evidence.marginals(places), key=lambda one: one.size, default=None)
        if marginal is None:
            continue
        cells = np.ravel_multi_index(
            [groups[support.codes[:, i]] for i, groups in zip(marginal.columns, marginal.groups, strict=True)],
            marginal.shape,
        )
        if len(places) <= 2:
            rows = np.bincount(cells, support.weights, minlength=marginal.size)
            uneven = unevenness(evidence, marginal).own * squared_rows(marginal)
            likely = np.sqrt(uneven) / np.maximum(rows, 1e-300)
            found += [_tilt(numbers[i], cells, likely, support.weights) for i in places if i in numbers]
        found.append(_level(cells, np.sqrt(doubt * marginal.variances()), support.weights))
    return hstack([csr_matrix((len(support.weights), 1)), *found]).tocsr()


def _level(cells: Integers, likely: Floats, weights: Floats) -> Any:
    """A change of each cell's rows alike, of as many rows as is likely: (rows, cells)."""
    total = np.bincount(cells, weights, minlength=len(likely))
    parts = weights * (likely / np.maximum(total, 1e-300))[cells]
    return csr_matrix((parts, (np.arange(len(cells)), cells)), shape=(len(cells), len(likely)))


def _tilt(numbers: Floats, cells: Integers, likely: Floats, weights: Floats) -> Any:
    """w·z·(likely size) of the rows of each cell, a column for each: (rows, cells)."""
    known = ~np.isnan(numbers)
    mass = np.where(known, weights, 0.0)
    x = np.where(known, numbers, 0.0)

    def mean(values: Floats) -> Floats:
        total = np.bincount(cells, mass, minlength=len(likely))
        return np.asarray(np.bincount(cells, mass * values, minlength=len(likely)) / np.maximum(total, 1e-300))

    away = x - mean(x)[cells]
    size = np.sqrt(mean(away**2))
    apart = size > np.sqrt(np.finfo(float).eps) * np.sqrt(mean(x**2))  # beyond rounding
    place = np.where(apart, likely / np.where(apart, size, 1.0), 0.0)[cells]
    return csr_matrix((mass * away * place, (np.arange(len(x)), cells)), shape=(len(x), len(likely)))


def conjugate_gradients(apply: Callable[[Floats], Floats], right: Floats, generator: np.random.Generator) -> Floats:
    """X with X + apply(X) = right, column by column, for a symmetric linear map that is 0 or more: (n, k) → (n, k).

    The directions in which it is large are found by a few products with it and solved at once (Nyström's approximation
    as a preconditioner: Frangella, Tropp and Udell, 2021), the others step by step.

    >>> matrix = np.array([[1.0, 1.0], [1.0, 2.0]])
    >>> found = conjugate_gradients(lambda x: matrix @ x, np.array([[1.0], [5.0]]), np.random.default_rng(0))
    >>> (found + matrix @ found).round(3).ravel().tolist()
    [1.0, 5.0]
    """
    prepare = _leading(apply, len(right), generator)
    found, left = np.zeros_like(right), right.copy()
    ahead = prepare(left)
    direction, square = ahead.copy(), (left * ahead).sum(axis=0)
    wanted = ACCURATE**2 * np.maximum((right * right).sum(axis=0), 1e-300)
    for _ in range(MOST_STEPS):
        if np.all((left * left).sum(axis=0) <= wanted):
            break
        moved = direction + apply(direction)
        length = square / np.maximum((direction * moved).sum(axis=0), 1e-300)
        found += length * direction
        left -= length * moved
        ahead = prepare(left)
        before, square = square, (left * ahead).sum(axis=0)
        direction = ahead + square / np.maximum(before, 1e-300) * direction
    return found


def _leading(
    apply: Callable[[Floats], Floats], size: int, generator: np.random.Generator
) -> Callable[[Floats], Floats]:
    """About (1 + apply)⁻¹, up to a factor: in the directions in which it is largest."""
    drawn = np.linalg.qr(generator.standard_normal((size, min(size, LEADING))))[0]
    seen = apply(drawn)
    shift = 1e-10 * max(float(np.linalg.norm(seen)), 1e-300)  # rounding makes a factor of 0 negative
    seen += shift * drawn
    factor = np.linalg.cholesky(drawn.T @ seen)
    directions, sizes, _ = np.linalg.svd(np.linalg.solve(factor, seen.T).T, full_matrices=False)
    large = np.maximum(sizes**2 - shift, 0.0)
    less = (1.0 + large[-1]) / (1.0 + large) - 1.0
    return lambda left: left + directions @ (less[:, None] * (directions.T @ left))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """One noisy block: how rows add up to its table, and its numbers, over its noise."""

    noisy: NoisyBlock
    sums: Any  # a sparse matrix, (cells, rows)
    values: Floats  # (cells,)

    @classmethod
    def of(cls, noisy: NoisyBlock, codes: Integers, fine: Integers) -> "_Part":
        block, width = noisy.block, codes.shape[1]
        cells, numbers = block.adds(CodedRows([*codes.T, *fine.T], {i: width + i for i in range(width)}))
        heights = numbers / (block.whole if block.weighs else 1) / noisy.sigma
        index = (cells[:, None] * numbers.shape[1] + np.arange(numbers.shape[1])).ravel()
        rows = np.repeat(np.arange(len(codes)), numbers.shape[1])
        tables = math.prod(block.grid) * numbers.shape[1]
        sums = csr_matrix((heights.ravel(), (index, rows)), shape=(tables, len(codes)))
        return cls(noisy=noisy, sums=sums, values=noisy.values.ravel() / noisy.sigma)

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(self.sums.shape[0])

    def numbers_in(self, tables: Floats) -> Floats:
        """What it says of tables: all, or for contrasts all but their means. (cells,) or (cells, k), alike."""
        block = self.noisy.block
        if block.weighs or block.adds_up:
            return tables
        columns = tables.reshape(self.size, -1).T
        return np.stack([block.numbers_in(one.reshape(block.grid)).ravel() for one in columns], axis=1).reshape(
            tables.shape
        )

    def noise(self, generator: np.random.Generator) -> Floats:
        """Fresh noise of size 1, less what says nothing."""
        law = self.noisy.measurement.step.law
        drawn = (
            generator.laplace(0.0, math.sqrt(0.5), self.size)
            if law is Law.LAPLACE
            else generator.standard_normal(self.size)
        )
        return self.numbers_in(drawn)


def _finer_codes(schema: Schema, support: _Support) -> Integers:
    """The cells of values on the finer grids by which offsets within cells were summed: (rows, columns)."""
    fine = support.codes.copy()
    for place, column in enumerate(schema.columns):
        if isinstance(column, Celled) and column.finer is not None:
            fine[:, place] = column.finer.encode(support.rows.column(column.name))
    return fine
