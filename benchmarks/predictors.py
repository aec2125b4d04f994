"""Every kind of answer over three kinds of predictor (even, skewed, with a spike): of generated rows, and of Adult."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import expit

import kernelease as ke
from benchmarks.adult import RAW_SCHEMA, load_raw
from benchmarks.questions import Arrays, Question
from kernelease.analysis import Estimate
from kernelease.table import Schema
from kernelease.table.columns.listed import Boolean

SCHEMA = Schema.parse(
    """
    [table]
    name = "predictors"
    [columns.even]
    type = "number"
    min = 0.0
    max = 100.0
    [columns.skewed]
    type = "number"
    min = 0.0
    max = 100000.0
    [columns.spiked]
    type = "number"
    min = 0.0
    max = 100000.0
    [columns.sex]
    type = "category"
    values = ["F", "M"]
    [columns.ill]
    type = "boolean"
    [columns.visits]
    type = "integer"
    min = 0
    max = 30
    """
)


def predictors(rows: int, generator: np.random.Generator) -> pa.Table:
    """Independent rows: one number is uniform, one log-normal, one 0 for nine in ten and far out for the others."""
    even = generator.uniform(0.0, 100.0, rows)
    skewed = np.minimum(np.exp(generator.normal(8.0, 0.8, rows)), 1e5)
    spiked = np.where(generator.random(rows) < 0.9, 0.0, np.minimum(np.exp(generator.normal(8.5, 1.0, rows)), 1e5))
    male = generator.random(rows) < 0.5
    lift = 0.01 * (even - 50.0) + 1e-4 * (skewed - 4000.0) + 8e-5 * spiked
    ill = generator.random(rows) < expit(-1.0 + lift + 0.3 * male)
    visits = np.minimum(generator.poisson(np.exp(0.8 + 0.3 * np.clip(lift, -2.0, 2.0))), 30)
    sex = np.where(male, "M", "F")
    return pa.table({"even": even, "skewed": skewed, "spiked": spiked, "sex": sex, "ill": ill, "visits": visits})


@cache
def adult_schema() -> Schema:
    """The columns of Adult, with the income as yes or no."""
    declared = Schema.load(RAW_SCHEMA)
    columns = tuple(Boolean(name="high") if one.name == "income" else one for one in declared.columns)
    return replace(declared, columns=columns, name="adult", order=(), constraints=(), derived=())


@cache
def adult() -> pa.Table:
    """The train rows of Adult."""
    rows = load_raw()[1]
    high = pc.match_substring(rows.column("income"), ">50K")
    return rows.drop_columns(["income"]).append_column("high", high)


# --------------------
# The questions.


@dataclass(frozen=True)
class Names:
    """The columns that questions over one predictor use, and numbers that lie within cells of it."""

    kind: str
    x: str
    event: str
    number: str
    cuts: tuple[float, float]  # a low and a high number within the predictor's range

    def of(self, family: str, ask: Callable[[ke.Release, str], Estimate], truth: Callable[[Arrays], float]) -> Question:
        """A question with one answer."""
        words = f"{family}, {self.kind}"
        return Question(words, words, lambda r, t: [ask(r, t)], lambda t: [truth(t)])


def questions(names: Names) -> list[Question]:
    """Every kind of answer over one predictor."""
    return [*_of_one_column(names), *_of_groups(names), *_of_two_numbers(names), *_models(names)]


def _of_one_column(n: Names) -> list[Question]:
    x, (low, high) = n.x, n.cuts

    def log(t: Arrays) -> np.ndarray:
        return np.log1p(t[x])

    def winsorised(t: Arrays) -> np.ndarray:
        return np.clip(t[x], low, high)

    def at(share: float) -> Question:
        return n.of(
            f"quantile {share:g}",
            lambda r, t: r.quantile(x, share, of=t),
            lambda t: float(np.quantile(t[x], share, method="inverted_cdf")),
        )

    return [
        n.of("mean", lambda r, t: r.mean(x, of=t), lambda t: float(t[x].mean())),
        n.of("share, cut", lambda r, t: r.probability(f"{x} <= {high}", of=t), lambda t: float((t[x] <= high).mean())),
        *map(at, (0.1, 0.5, 0.9)),
        n.of("winsorised mean", lambda r, t: r.of(t).expectation(winsorised), lambda t: float(winsorised(t).mean())),
        n.of("mean logarithm", lambda r, t: r.of(t).expectation(log), lambda t: float(log(t).mean())),
        n.of("deviation", lambda r, t: r.of(t).standard_deviation(x), lambda t: float(t[x].std())),
        n.of("gini", lambda r, t: r.of(t).gini(x), lambda t: _gini(t[x])),
    ]


def _of_groups(n: Names) -> list[Question]:
    x, event, (low, high) = n.x, n.event, n.cuts

    def male(t: Arrays) -> np.ndarray:
        return np.asarray(t["sex"] == n_male(t))

    def among(t: Arrays) -> np.ndarray:
        return np.asarray(t[event][t[x] <= high].mean())

    def rate(t: Arrays) -> float:
        parts = [t[x] <= low, (t[x] > low) & (t[x] <= high), t[x] > high]
        return float(sum(w * t[event][rows].mean() for w, rows in zip((0.3, 0.5, 0.2), parts, strict=True)))

    strata = {f"{x} <= {low}": 0.3, f"{x} > {low} and {x} <= {high}": 0.5, f"{x} > {high}": 0.2}
    men = "sex == 'M'" if n.event == "ill" else "sex == 'Male'"
    return [
        n.of("group mean", lambda r, t: r.mean(x, where=men, of=t), lambda t: float(t[x][male(t)].mean())),
        n.of(
            "group difference",
            lambda r, t: r.mean(x, where=men, of=t) - r.mean(x, where=f"not ({men})", of=t),
            lambda t: float(t[x][male(t)].mean() - t[x][~male(t)].mean()),
        ),
        n.of(
            "share of two, cut",
            lambda r, t: r.probability(f"{x} <= {high} and {men}", of=t),
            lambda t: float(((t[x] <= high) & male(t)).mean()),
        ),
        n.of(
            "share given a cut",
            lambda r, t: r.probability(f"{event} == true", where=f"{x} <= {high}", of=t),
            lambda t: float(among(t)),
        ),
        n.of(
            "share of three",
            lambda r, t: r.probability(f"{x} <= {high} and {men} and {event} == true", of=t),
            lambda t: float(((t[x] <= high) & male(t) & t[event].astype(bool)).mean()),
        ),
        n.of(
            "group quantile",
            lambda r, t: r.quantile(x, 0.75, where=men, of=t),
            lambda t: float(np.quantile(t[x][male(t)], 0.75, method="inverted_cdf")),
        ),
        n.of(
            "group deviation",
            lambda r, t: r.where(men).of(t).standard_deviation(x),
            lambda t: float(t[x][male(t)].std()),
        ),
        n.of(
            "risk difference",
            lambda r, t: r.of(t).risk_difference(f"{event} == true", f"{x} > {high}"),
            lambda t: float(t[event][t[x] > high].mean() - t[event][t[x] <= high].mean()),
        ),
        n.of("standardised rate", lambda r, t: r.of(t).standardised_rate(f"{event} == true", strata), rate),
    ]


def n_male(t: Arrays) -> str:
    """How a table writes that somebody is male."""
    return "M" if "M" in t["sex"][:100] else "Male"


def _of_two_numbers(n: Names) -> list[Question]:
    x, y = n.x, n.number

    def both(t: Arrays) -> np.ndarray:
        return np.asarray(t[x] * t[y])

    return [
        n.of("product", lambda r, t: r.of(t).expectation(both), lambda t: float(both(t).mean())),
        n.of("correlation", lambda r, t: r.correlation(x, y, of=t), lambda t: float(np.corrcoef(t[x], t[y])[0, 1])),
        n.of("trend", lambda r, t: r.of(t).trend(n.event, x), lambda t: _least_squares(_design(t, x), t[n.event])),
    ]


def _models(n: Names) -> list[Question]:
    x, event, number = n.x, n.event, n.number

    def fitted(family: str, right: str, terms: Callable[[Arrays], Sequence[np.ndarray]]) -> Question:
        response = number if family in ("regression", "poisson") else event
        formula = f"{response} ~ {right}"

        def truth(t: Arrays) -> float:
            design, left = np.column_stack([np.ones(len(t[x])), *terms(t)]), t[response].astype(float)
            return _least_squares(design, left) if family == "regression" else _likeliest(design, left, family)

        return n.of(f"{family} {right.replace(x, 'x')}", lambda r, t: getattr(r.of(t), family)(formula)[x], truth)

    def alone(t: Arrays) -> Sequence[np.ndarray]:
        return (t[x],)

    def beside(t: Arrays) -> Sequence[np.ndarray]:
        return t[x], t["sex"] == n_male(t)

    def crossed(t: Arrays) -> Sequence[np.ndarray]:
        return t[x], t["sex"] == n_male(t), t[x] * (t["sex"] == n_male(t))

    return [
        fitted("regression", f"{x} + sex", beside),
        fitted("regression", f"{x} * sex", crossed),
        fitted("logistic", x, alone),
        fitted("logistic", f"{x} + sex", beside),
        fitted("poisson", x, alone),
    ]


def _design(t: Arrays, x: str) -> np.ndarray:
    return np.column_stack([np.ones(len(t[x])), t[x]])


def _least_squares(design: np.ndarray, response: np.ndarray) -> float:
    return float(np.linalg.lstsq(design, response.astype(float), rcond=None)[0][1])


def _likeliest(design: np.ndarray, response: np.ndarray, family: str) -> float:
    """The second coefficient of maximum likelihood, by Newton's method on columns of size 1."""
    size = np.abs(design).max(axis=0)
    scaled, slopes, odds = design / size, np.zeros(design.shape[1]), family == "logistic"
    mean: Callable[[np.ndarray], np.ndarray] = expit if odds else np.exp
    slopes[0] = np.log(response.mean() / (1.0 - response.mean())) if odds else np.log(response.mean())
    for _ in range(100):
        fitted = mean(scaled @ slopes)
        weight = fitted * (1.0 - fitted) if odds else fitted
        step = np.linalg.solve((scaled * weight[:, None]).T @ scaled, scaled.T @ (response - fitted))
        slopes = slopes + step * min(1.0, 2.0 / np.abs(scaled @ step).max())
        if np.abs(step).max() < 1e-10:
            break
    return float(slopes[1] / size[1])


def _gini(values: np.ndarray) -> float:
    ordered = np.sort(values)
    return float((2.0 * np.arange(1, len(ordered) + 1) - len(ordered) - 1.0) @ ordered / (len(ordered) * ordered.sum()))


GENERATED = (
    Names("even", "even", "ill", "visits", (23.7, 61.3)),
    Names("skewed", "skewed", "ill", "visits", (1850.4, 5120.7)),
    Names("spiked", "spiked", "ill", "visits", (900.6, 7150.2)),
)
OF_ADULT = (
    Names("even", "age", "high", "hours_per_week", (29.5, 47.5)),
    Names("skewed", "fnlwgt", "high", "hours_per_week", (120_500.5, 240_300.5)),
    Names("spiked", "capital_gain", "high", "hours_per_week", (2_500.5, 7_500.5)),
)
EXACT = {
    "quantile 0.9, spiked": [0.0]
}  # P(0) is 0.9 in the law: of rows drawn from it, the quantile is 0 or far from it
PREDICTORS = [question for names in GENERATED for question in questions(names)]
ADULT = [question for names in OF_ADULT for question in questions(names)]
