"""Rows with three kinds of predictor (even, skewed, with a spike), and every kind of answer over each of them."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from scipy.special import expit

import kernelease as ke
from benchmarks.questions import Arrays, Question
from kernelease.analysis import Estimate
from kernelease.table import Schema

KINDS = ("even", "skewed", "spiked")
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


def _fit(design: np.ndarray, response: np.ndarray, mean: Callable[[np.ndarray], np.ndarray], *, odds: bool) -> float:
    """The second coefficient of maximum likelihood, by Newton's method on columns of size 1."""
    size = np.abs(design).max(axis=0)
    scaled, slopes = design / size, np.zeros(design.shape[1])
    slopes[0] = np.log(response.mean() / (1.0 - response.mean())) if odds else np.log(response.mean())
    for _ in range(100):
        fitted = mean(scaled @ slopes)
        weight = fitted * (1.0 - fitted) if odds else fitted
        step = np.linalg.solve((scaled * weight[:, None]).T @ scaled, scaled.T @ (response - fitted))
        slopes = slopes + step * min(1.0, 2.0 / np.abs(scaled @ step).max())
        if np.abs(step).max() < 1e-10:
            break
    return float(slopes[1] / size[1])


def _asked(kind: str) -> list[Question]:
    def of(words: str, ask: Callable[[ke.Release, str], Estimate], truth: Callable[[Arrays], float]) -> Question:
        return Question(f"{words}, {kind}", f"{words} of {kind}", lambda r, t: [ask(r, t)], lambda t: [truth(t)])

    def design(t: Arrays) -> np.ndarray:
        return np.column_stack([np.ones(len(t[kind])), t[kind]])

    def both(t: Arrays) -> np.ndarray:
        return np.column_stack([design(t), t["sex"] == "M"])

    return [
        of("mean", lambda r, t: r.mean(kind, of=t), lambda t: float(t[kind].mean())),
        of("median", lambda r, t: r.quantile(kind, 0.5, of=t), lambda t: float(np.median(t[kind]))),
        of("deviation", lambda r, t: r.of(t).standard_deviation(kind), lambda t: float(t[kind].std())),
        of("gini", lambda r, t: r.of(t).gini(kind), lambda t: _gini(t[kind])),
        of("correlation", lambda r, t: r.correlation(kind, "visits", of=t), lambda t: _correlation(t, kind)),
        of("trend", lambda r, t: r.of(t).trend("ill", kind), lambda t: _slope(design(t), t["ill"])),
        of(
            "regression",
            lambda r, t: r.of(t).regression(f"visits ~ {kind} + sex")[kind],
            lambda t: _slope(both(t), t["visits"]),
        ),
        of(
            "logistic",
            lambda r, t: r.of(t).logistic(f"ill ~ {kind}")[kind],
            lambda t: _fit(design(t), t["ill"].astype(float), expit, odds=True),
        ),
        of(
            "logistic, two",
            lambda r, t: r.of(t).logistic(f"ill ~ {kind} + sex")[kind],
            lambda t: _fit(both(t), t["ill"].astype(float), expit, odds=True),
        ),
        of(
            "poisson",
            lambda r, t: r.of(t).poisson(f"visits ~ {kind}")[kind],
            lambda t: _fit(design(t), t["visits"].astype(float), np.exp, odds=False),
        ),
    ]


def _gini(values: np.ndarray) -> float:
    ordered = np.sort(values)
    return float((2.0 * np.arange(1, len(ordered) + 1) - len(ordered) - 1.0) @ ordered / (len(ordered) * ordered.sum()))


def _correlation(t: Arrays, kind: str) -> float:
    return float(np.corrcoef(t[kind], t["visits"])[0, 1])


def _slope(design: np.ndarray, response: np.ndarray) -> float:
    return float(np.linalg.lstsq(design, response.astype(float), rcond=None)[0][1])


PREDICTORS = [question for kind in KINDS for question in _asked(kind)]
