"""Random variables: functions of released rows, and where their randomness comes from."""

import functools
import itertools
import math
import operator
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from kernelease.analysis.plots import histogram
from kernelease.arrays import Floats, Integers, block_slices
from kernelease.errors import ParameterError, UncertaintyWarning
from kernelease.fit.points import systematic, thin
from kernelease.fit.solver import SyntheticSet
from kernelease.fit.weights import L1Ball, Simplex, WeightSolver
from kernelease.kernels.kernel import Kernel
from kernelease.kernels.numeric import Gaussian
from kernelease.seeds import PublicSeed

# --------------------
# Operators of random variables: each is the NumPy function of the values.


class Arithmetic(ABC):
    """+ − × ÷ and so on, comparisons, and NumPy's universal functions, value by value.

    `X == 3` is a variable too, as in NumPy; `X is Y` compares the objects.
    """

    __slots__ = ()

    @abstractmethod
    def _apply(self, function: Callable[..., Any], *arguments: Any) -> Self:
        """function(values of the arguments), as a variable; arguments may be variables or constants."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or options:
            return NotImplemented
        return self._apply(ufunc, *inputs)

    def __add__(self, other: Any) -> Self:
        return self._apply(np.add, self, other)

    def __radd__(self, other: Any) -> Self:
        return self._apply(np.add, other, self)

    def __sub__(self, other: Any) -> Self:
        return self._apply(np.subtract, self, other)

    def __rsub__(self, other: Any) -> Self:
        return self._apply(np.subtract, other, self)

    def __mul__(self, other: Any) -> Self:
        return self._apply(np.multiply, self, other)

    def __rmul__(self, other: Any) -> Self:
        return self._apply(np.multiply, other, self)

    def __truediv__(self, other: Any) -> Self:
        return self._apply(np.true_divide, self, other)

    def __rtruediv__(self, other: Any) -> Self:
        return self._apply(np.true_divide, other, self)

    def __pow__(self, other: Any) -> Self:
        return self._apply(np.power, self, other)

    def __rpow__(self, other: Any) -> Self:
        return self._apply(np.power, other, self)

    def __neg__(self) -> Self:
        return self._apply(np.negative, self)

    def __abs__(self) -> Self:
        return self._apply(np.abs, self)

    def __lt__(self, other: Any) -> Self:
        return self._apply(operator.lt, self, other)

    def __le__(self, other: Any) -> Self:
        return self._apply(operator.le, self, other)

    def __gt__(self, other: Any) -> Self:
        return self._apply(operator.gt, self, other)

    def __ge__(self, other: Any) -> Self:
        return self._apply(operator.ge, self, other)

    def __eq__(self, other: Any) -> Self:  # type: ignore[override]  # as for arrays
        return self._apply(operator.eq, self, other)

    def __ne__(self, other: Any) -> Self:  # type: ignore[override]  # as for arrays
        return self._apply(operator.ne, self, other)

    __hash__ = object.__hash__

    def __and__(self, other: Any) -> Self:
        return self._apply(np.logical_and, self, other)

    def __or__(self, other: Any) -> Self:
        return self._apply(np.logical_or, self, other)

    def __invert__(self) -> Self:
        return self._apply(np.logical_not, self)

    def __bool__(self) -> bool:
        raise TypeError("A random variable is neither true nor false: ask for its probability().")


# --------------------
# Where randomness comes from: weighted rows, and a smaller set of rows with nearly the same embedding.


LARGEST_NORM = 10.0  # of weights: Σ|w| that is still bounded
WAVES = 128  # frequencies of the features in which errors are measured
_AT_ONCE = 2**15  # points whose features are in memory at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Weighted rows. Variables of one origin are joint, row by row; variables of different origins are independent.

    Two origins with a common ancestor are neither: a variable that was reduced to few values has lost its rows.
    """

    weights: Floats  # (M,), adding up to 1
    name: str = "rows"
    key: object = field(default_factory=object)  # rows with the same key are the same rows
    ancestors: frozenset[object] = field(default_factory=frozenset)
    released: bool = False  # whether the rows are synthetic ones, which differ from the truth by noise

    def __post_init__(self) -> None:
        if not self.ancestors:
            object.__setattr__(self, "ancestors", frozenset({self.key}))
        total = float(self.weights.sum())
        if not total > 0.0:
            raise ParameterError("A random variable needs weights that add up to more than 0.")
        norm = float(np.abs(self.weights).sum()) / total
        if norm > LARGEST_NORM:
            raise ParameterError(
                f"The weights of this release are not bounded: Σ|w|/Σw is {norm:.3g}, and functions of released "
                f"variables are consistent only where it stays bounded (here at most {LARGEST_NORM:g}). Release with "
                "a constraint=Simplex() or L1Ball(), or refit the weights of this one: release.forms.bounded()."
            )
        object.__setattr__(self, "weights", self.weights / total)

    def __len__(self) -> int:
        return len(self.weights)


def check_unrelated(origins: tuple[Origin, ...]) -> None:
    """Raise where two origins share an ancestor without being the same rows."""
    for one, other in itertools.combinations(origins, 2):
        if one.ancestors & other.ancestors:
            raise ParameterError(
                f"These variables depend on each other through {one.name!r}, but one of them was reduced to few "
                "values and has lost its rows. Write the whole expression before reducing it, or say that they "
                "are independent: variable.independent_copy()."
            )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Reduction:
    """One reduction: how many values became how many, and the distance of their embeddings.

    The embedding is that of a Gaussian kernel on the values (k(x, x) = 1), with a lengthscale of their own spread over
    3, in random Fourier features; so the distance is between 0 and 2, and bounds the error of every mean of a function
    of norm 1 in that kernel's space.
    """

    before: int
    after: int
    error: float
    independent: float  # the error that as many independent draws would have on average

    def __str__(self) -> str:
        return (
            f"{self.before:,} values to {self.after:,}: RKHS error {self.error:.2g} "
            f"(independent draws: {self.independent:.2g})"
        )


def reduce_rows(points: Floats, weights: Floats, count: int, *, seed: int = 0) -> tuple[Integers, Floats, Reduction]:
    """At most `count` of the rows (n, d), by thinning, with weights solved anew so that the embedding stays.

    Their numbers (m,), their weights (m,), and what it cost.
    """
    waves = _Waves.of(points, weights, PublicSeed(seed))
    sizes, signs = np.abs(weights), np.sign(weights)
    generator = PublicSeed(seed).generator("thinning")
    chosen = thin(lambda rows: signs[rows, None] * waves.at(points[rows]), sizes, count, generator)
    distinct, repeats = np.unique(chosen, return_counts=True)
    start = signs[distinct] * repeats * sizes.sum() / count
    target = waves.mean(points, weights)
    solved, error = _best_weights(waves.at(points[distinct]).T, target, start, bounded=float(sizes.sum()))
    independent = float(np.sqrt(max(0.0, sizes.sum() ** 2 - float(target @ target)) / count))
    keep = solved != 0.0
    reduction = Reduction(before=len(points), after=int(keep.sum()), error=error, independent=independent)
    return distinct[keep], solved[keep], reduction


def _best_weights(design: Floats, target: Floats, start: Floats, *, bounded: float) -> tuple[Floats, float]:
    """Weights with Σ|w| no larger than before that come nearest to the target, or the start where that is nearer."""
    scale = float(start.sum())
    constraint = Simplex() if np.all(start >= 0.0) else L1Ball(bounded / scale)
    solver = WeightSolver(constraint=constraint, tolerance=1e-7, iterations=400)
    solved = solver.solve(design, target / scale, start / scale).weights * scale
    errors = [float(np.linalg.norm(design @ weights - target)) for weights in (start, solved)]
    return (solved, errors[1]) if errors[1] < errors[0] else (start, errors[0])


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Waves:
    """Random Fourier features of a Gaussian kernel on values, paired: (n, d) → (n, 2·WAVES), of norm 1."""

    frequencies: Floats  # (d, WAVES)
    centre: Floats

    @classmethod
    def of(cls, points: Floats, weights: Floats, seed: PublicSeed) -> "_Waves":
        shares = np.abs(weights) / np.abs(weights).sum()
        order = systematic(shares, min(len(points), 4096), seed.generator("spread"))
        low, centre, high = np.quantile(points[order], [0.16, 0.5, 0.84], axis=0)
        spread = np.where(high > low, 0.5 * (high - low), np.maximum(points.std(axis=0), 1e-300))
        if not np.isfinite(spread).all():
            raise ParameterError("A random variable must have finite values: some are infinite or not a number.")
        drawn = seed.generator("waves").standard_normal((points.shape[1], WAVES))
        return cls(frequencies=3.0 * drawn / spread[:, None], centre=centre)

    def at(self, points: Floats) -> Floats:
        phases = ((points - self.centre) @ self.frequencies).astype(np.float32)  # far finer than any error here
        features = np.hstack([np.cos(phases), np.sin(phases)]) / np.float32(np.sqrt(WAVES))
        return np.asarray(features, dtype=np.float64)

    def mean(self, points: Floats, weights: Floats) -> Floats:
        total = np.zeros(2 * WAVES)
        for part in block_slices(len(points), _AT_ONCE):
            total += weights[part] @ self.at(points[part])
        return total


# --------------------
# The random variable itself.


POINTS = 1024  # values that a variable is reduced to where a product would be too large
LARGEST_PRODUCT = 2**20  # combinations of rows that are evaluated one by one
_NO_INTERVAL = (
    "This number is that of the synthetic rows, without the error that noise gives it. release.mean, probability, "
    "expectation, quantile, gini and so on have intervals; release.agreement() says where rows and estimates disagree."
)
MOST_ORIGINS = 2  # beyond, a product keeps too few rows of each


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class VariableEmbedding:
    """Σ w k(z, ·): weighted values, their kernel, and what the reduction to them cost."""

    synthetic: SyntheticSet
    kernel: Kernel
    reductions: tuple[Reduction, ...]

    def at(self, points: Any) -> Floats:
        """⟨μ, k(x, ·)⟩ at points (n, d): (n,)."""
        rows = as_matrix(np.asarray(points, dtype=np.float64))
        return self.kernel.gram(rows, self.synthetic.points) @ self.synthetic.weights

    def distance(self, other: "VariableEmbedding") -> float:
        """‖μ − ν‖ in the space of this one's kernel: the MMD of two variables."""
        one, two = self.synthetic, other.synthetic
        squared = one.weights @ self.kernel.gram(one.points, one.points) @ one.weights
        squared -= 2.0 * one.weights @ self.kernel.gram(one.points, two.points) @ two.weights
        squared += two.weights @ self.kernel.gram(two.points, two.points) @ two.weights
        return math.sqrt(max(0.0, float(squared)))


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RandomVariable(Arithmetic):
    """Values with weights, made from columns of releases (the paper's §3.3: kernel probabilistic programming).

    Variables of the same release are joint, row by row. Those of different releases are independent: a function of
    them is evaluated on all combinations of rows, and its weights are products. Where there are too many combinations,
    each release is first reduced to few weighted rows that keep the embedding of the columns in question, and
    `reductions` tells what each reduction cost.

    >>> origin = Origin(np.array([0.5, 0.25, 0.25]))
    >>> height = RandomVariable.of(np.array([1.0, 2.0, 3.0]), origin)
    >>> float((height**2 + 1.0).mean()), float((height > 1.5).probability())
    (4.75, 0.5)
    """

    origins: tuple[Origin, ...]
    function: Callable[[tuple[NDArray[Any], ...]], NDArray[Any]]  # of one row number per origin, broadcast
    leaves: tuple[tuple[object, NDArray[Any]], ...]  # the columns that it is made from: (key of the origin, values)
    earlier: tuple[Reduction, ...] = ()
    _known: dict[str, Any] = field(default_factory=dict)  # what was computed once

    @classmethod
    def of(cls, values: Any, origin: Origin) -> "RandomVariable":
        """A column of values, one for each row of the origin: (M,), or (M, d) for several columns at once."""
        array = values_of(values)
        if len(array) != len(origin):
            raise ParameterError(f"RandomVariable: needs {len(origin)} values, one for each row, got {len(array)}.")
        return cls(origins=(origin,), function=lambda rows: array[rows[0]], leaves=((origin.key, array),))

    @classmethod
    def joint(cls, function: Callable[..., Any], *variables: "RandomVariable") -> "RandomVariable":
        """function(X, Y, …) of arrays of values: any function that works elementwise."""
        if not variables:
            raise ParameterError("RandomVariable.joint: needs a function and at least one variable.")
        return variables[0]._apply(function, *variables)

    @property
    def size(self) -> int:
        """The number of combinations of rows."""
        return math.prod(len(origin) for origin in self.origins)

    def points(self) -> tuple[NDArray[Any], Floats]:
        """All values and their weights, which add up to 1: (n,) or (n, d), (n,)."""
        rows, weights, _ = self._rows()
        grids = np.ix_(*rows)
        shape = tuple(len(part) for part in rows)
        with np.errstate(all="ignore"):  # a value that is not a number is refused when a mean needs it
            values = np.asarray(self.function(tuple(grids)))
        joint = functools.reduce(np.multiply.outer, weights).ravel()
        extra = values.shape[len(shape) :]
        return np.broadcast_to(values, shape + extra).reshape((len(joint), *extra)), joint

    @property
    def reductions(self) -> tuple[Reduction, ...]:
        """All that was reduced on the way to the values, and what it cost."""
        return (*self.earlier, *self._rows()[2])

    def _rows(self) -> tuple[list[Integers], list[Floats], list[Reduction]]:
        """The rows of each origin on which the variable is evaluated, and their weights."""
        if "rows" not in self._known:
            most = LARGEST_PRODUCT if len(self.origins) == 1 else int(LARGEST_PRODUCT ** (1.0 / len(self.origins)))
            parts = [_few_rows(origin, self.leaves, most, self.size) for origin in self.origins]
            reductions = [reduction for _, _, reduction in parts if reduction is not None]
            self._known["rows"] = [part[0] for part in parts], [part[1] for part in parts], reductions
        rows: tuple[list[Integers], list[Floats], list[Reduction]] = self._known["rows"]
        return rows

    def reduced(self, count: int = POINTS, *, seed: int = 0) -> "RandomVariable":
        """The variable as at most `count` weighted values. It forgets its rows; `reductions` says what that cost."""
        if count < 1:
            raise ParameterError(f"reduced: count must be at least 1, got {count!r}.")
        values, weights = self.points()
        numbers = as_matrix(values)
        kept = _finite(numbers)
        self._refuse_lost(kept, weights)
        name = " and ".join(dict.fromkeys(one.name for one in self.origins))
        chosen, shares, done = np.flatnonzero(kept), weights[kept], list(self.reductions)
        if len(chosen) > count:
            few, shares, reduction = reduce_rows(numbers[kept], shares, count, seed=seed)
            chosen = chosen[few]
            done.append(reduction)
        origin = Origin(shares, name=name, ancestors=self._ancestors(), released=self._is_released)
        return replace(RandomVariable.of(values[chosen], origin), earlier=tuple(done))

    def independent_copy(self) -> "RandomVariable":
        """A variable of the same distribution that is independent of this one, and of all others."""
        copies = tuple(
            Origin(origin.weights, name=f"copy of {origin.name}", released=origin.released) for origin in self.origins
        )
        keys = {old.key: new.key for old, new in zip(self.origins, copies, strict=True)}
        leaves = tuple((keys[key], values) for key, values in self.leaves)
        return RandomVariable(origins=copies, function=self.function, leaves=leaves, earlier=self.earlier)

    def mean(self) -> Any:
        """E[X]: a float, or (d,) for several columns. Rows without a value are refused, unless they weigh nothing."""
        self._warn()
        values, weights = self.points()
        numbers = as_matrix(values)
        kept = _finite(numbers)
        self._refuse_lost(kept, weights)
        mean = weights[kept] @ numbers[kept] / weights[kept].sum()
        return float(mean[0]) if values.ndim == 1 else mean

    def variance(self) -> Any:
        """E[(X − E X)²], the variance of the weighted values."""
        return ((self - self.mean()) ** 2).mean()

    def probability(self, condition: Callable[[NDArray[Any]], Any] | None = None) -> float:
        """P(condition(X)); without a condition, of a variable that is true or false itself: (X > 30).probability()."""
        self._warn()
        values, weights = self.points()
        flags = np.asarray(values if condition is None else condition(values))
        if flags.shape[:1] != weights.shape or flags.dtype != bool:
            raise ParameterError(
                "probability: needs true or false for each value: (X > 30).probability(), or a condition "
                "such as lambda x: x > 30."
            )
        return float(weights @ flags)

    def given(self, condition: "RandomVariable") -> "RandomVariable":
        """X given a true-or-false variable of the same rows: r["hours"].given(r["sex"] == "Female")."""
        if _keys(self) != _keys(condition):
            raise ParameterError("given: the condition must be about the same rows as the variable.")
        values, weights = self._apply(lambda value, _: value, self, condition).points()
        flags, _ = self._apply(lambda _, flag: flag, self, condition).points()  # on the same rows, in the same order
        if flags.dtype != bool or not (weights @ flags) > 0.0:
            raise ParameterError("given: needs a condition that is true or false, and true of some weight.")
        names = " and ".join(dict.fromkeys(one.name for one in self.origins))
        ancestors, released = self._ancestors(), self._is_released
        origin = Origin(weights[flags], name=f"part of {names}", ancestors=ancestors, released=released)
        return replace(RandomVariable.of(values[flags], origin), earlier=self.reductions)

    def embedding(self, kernel: Kernel | None = None, *, count: int = POINTS) -> VariableEmbedding:
        """Σ w k(x, ·): the mean embedding, by at most `count` weighted values. Without a kernel: a Gaussian one."""
        one = self if self.size <= count else self.reduced(count)
        values, weights = one.points()
        rows = as_matrix(values)
        chosen = Gaussian(lengthscale=_spread(rows)) if kernel is None else kernel
        return VariableEmbedding(
            synthetic=SyntheticSet(points=rows, weights=weights), kernel=chosen, reductions=one.reductions
        )

    def sample(self, count: int, *, seed: int = 0) -> NDArray[Any]:
        """`count` values of equal weight, thinned so that their mean embedding stays: (count,) or (count, d)."""
        values, weights = self.points()
        generator = PublicSeed(seed).generator("variable")
        codes = as_codes(values)
        scale = np.maximum(codes.std(axis=0), 1e-300)
        waves = PublicSeed(seed).generator("waves").standard_normal((codes.shape[1], 64))

        def features(rows: NDArray[np.int64]) -> Floats:
            phases = 3.0 * (codes[rows] / scale) @ waves
            return np.hstack([np.cos(phases), np.sin(phases)])

        return values[thin(features, np.maximum(weights, 0.0), count, generator)]

    def plot(self, bins: int = 40) -> Any:
        """An Altair histogram of the weighted values. Needs the extra `plot`."""
        return histogram(*self.points(), bins)

    @property
    def error(self) -> float:
        """The sum of the RKHS errors of all reductions: 0 where nothing was reduced."""
        return sum(reduction.error for reduction in self.reductions)

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(origin.name for origin in self.origins))
        lines = [f"RandomVariable of {names}: {self.size:,} weighted values", *map(str, self.reductions)]
        return "; ".join(lines)

    def _apply(self, function: Callable[..., Any], *arguments: Any) -> "RandomVariable":
        fitting = iter(_fit_together([one for one in arguments if isinstance(one, RandomVariable)]))
        parts = [next(fitting) if isinstance(one, RandomVariable) else one for one in arguments]
        used = [one for one in parts if isinstance(one, RandomVariable)]
        origins = _union([one.origins for one in used])
        check_unrelated(origins)
        pieces = [_at_origins(one, origins) if isinstance(one, RandomVariable) else one for one in parts]

        def combine(rows: tuple[NDArray[Any], ...]) -> NDArray[Any]:
            return np.asarray(function(*(piece(rows) if callable(piece) else piece for piece in pieces)))

        return RandomVariable(
            origins=origins,
            function=combine,
            leaves=tuple({(key, id(values)): (key, values) for one in used for key, values in one.leaves}.values()),
            earlier=tuple(dict.fromkeys(reduction for one in used for reduction in one.earlier)),
        )

    @property
    def _is_released(self) -> bool:
        return any(origin.released for origin in self.origins)

    def _warn(self) -> None:
        """Say, once for each place that asks, that the number has no interval."""
        if self._is_released:
            warnings.warn(_NO_INTERVAL, UncertaintyWarning, stacklevel=3)

    def _ancestors(self) -> frozenset[object]:
        return frozenset[object]().union(*(origin.ancestors for origin in self.origins))

    def _refuse_lost(self, kept: NDArray[np.bool_], weights: Floats) -> None:
        lost = float(np.abs(weights[~kept]).sum())
        if lost > 0.0:
            raise ParameterError(
                f"{lost:.2%} of the weight has no finite value (NULL, or a division by 0). Condition on the rest: "
                "X.given(np.isfinite(X))."
            )


def _fit_together(variables: Sequence[RandomVariable]) -> list[RandomVariable]:
    """The variables; where they have many origins together, those of several are reduced to values of their own.

    Only a variable that shares no origin with another may forget its rows.
    """
    fitting = list(variables)
    if len(_union([one.origins for one in fitting])) <= MOST_ORIGINS:
        return fitting
    for index, one in enumerate(fitting):
        alone = not any(_keys(one) & _keys(other) for other in fitting if other is not one)
        if alone and len(one.origins) > 1:
            fitting[index] = one.reduced()
    return fitting


def _few_rows(
    origin: Origin, leaves: Sequence[tuple[object, NDArray[Any]]], most: int, product: int
) -> tuple[Integers, Floats, Reduction | None]:
    """All rows of an origin, or at most so many that keep the embedding of the columns in question."""
    if product <= LARGEST_PRODUCT or len(origin) <= most:
        return np.arange(len(origin)), origin.weights, None
    columns = np.column_stack([as_codes(values) for key, values in leaves if key == origin.key])
    return reduce_rows(columns, origin.weights, most)


def _keys(one: RandomVariable) -> frozenset[object]:
    return frozenset(origin.key for origin in one.origins)


def _union(groups: Sequence[tuple[Origin, ...]]) -> tuple[Origin, ...]:
    """All origins once, in order."""
    return tuple({origin.key: origin for group in groups for origin in group}.values())


def _at_origins(one: RandomVariable, origins: tuple[Origin, ...]) -> Callable[[tuple[NDArray[Any], ...]], NDArray[Any]]:
    """The variable's function on rows of a longer tuple of origins."""
    places = [next(i for i, origin in enumerate(origins) if origin.key == mine.key) for mine in one.origins]
    return lambda rows: one.function(tuple(rows[place] for place in places))


def _finite(numbers: Floats) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = np.asarray(np.isfinite(numbers).all(axis=1), dtype=bool)
    return flags


def _spread(rows: Floats) -> float:
    deviation = float(np.sqrt(rows.var(axis=0).sum()))
    return deviation if deviation > 0.0 else 1.0


def values_of(column: Any) -> NDArray[Any]:
    """Values of a column as an array: float64 with NaN for NULL, or objects."""
    array = np.asarray(column)
    return array.astype(np.float64) if array.dtype.kind in "iuf" else array


def as_matrix(values: NDArray[Any]) -> Floats:
    """Numbers, one row for each value: (n,) or (n, d) → (n, d)."""
    if values.dtype.kind not in "fiub":
        raise ParameterError(
            "This variable's values are not numbers: ask for a probability, as (X == 'a').probability()."
        )
    numbers: Floats = values.astype(np.float64).reshape(len(values), -1)
    return numbers


def as_codes(values: NDArray[Any]) -> Floats:
    """Numbers as they are, NaN as far out; everything else numbered: what rows can be told apart by."""
    if values.dtype.kind in "fiu":
        numbers = values.astype(np.float64).reshape(len(values), -1)
        largest = np.nanmax(np.abs(numbers), initial=1.0, where=np.isfinite(numbers))
        return np.nan_to_num(numbers, nan=3.0 * float(largest), posinf=3.0 * largest, neginf=-3.0 * largest)
    return np.unique(values.astype(str), return_inverse=True)[1].reshape(len(values), -1).astype(np.float64)
