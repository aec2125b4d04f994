"""What benchmarks ask of a release, and the answers that the rows themselves, or the law they came from, would give."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.special import expit

import kernelease as ke
from benchmarks.households import REGIONS
from kernelease.analysis import Estimate

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Question:
    """One line of an analyst, about the table ("table") or the law it came from ("population"); it may have several
    answers. `truth` has as many numbers, from rows without noise."""

    family: str
    words: str
    ask: Callable[[ke.Release, str], Sequence[Estimate]]
    truth: Callable[[Arrays], Sequence[float]]


def arrays(table: pa.Table) -> Arrays:
    """The columns of a table: NULL is NaN among numbers, and "" among texts."""
    found = {}
    for name in table.column_names:
        column = table.column(name)
        text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
        found[name] = np.asarray(column.fill_null("").to_pylist()) if text else column.to_numpy()
    return found


def mean(column: str, *, family: str = "mean") -> Question:
    """Of all rows that have a number."""
    return Question(
        family,
        f"mean of {column}",
        lambda r, target: [r.mean(column, of=target)],
        lambda t: [np.nanmean(t[column])],
    )


def group_mean(column: str, where: str, rows: Callable[[Arrays], np.ndarray]) -> Question:
    """Of the rows that a condition is true of."""
    return Question(
        "group mean",
        f"mean of {column} where {where}",
        lambda r, target: [r.mean(column, where=where, of=target)],
        lambda t: [np.nanmean(t[column][rows(t)])],
    )


def difference(column: str, by: str, first: str, second: str, is_first: Callable[[Arrays], np.ndarray]) -> Question:
    """Of the means of two groups that are all there are."""

    def ask(release: ke.Release, target: str) -> list[Estimate]:
        groups = release.mean(column, by=by, of=target)
        return [groups[first] - groups[second]]

    return Question(
        "difference",
        f"mean of {column}, {first} less {second}",
        ask,
        lambda t: [np.nanmean(t[column][is_first(t)]) - np.nanmean(t[column][~is_first(t)])],
    )


def share(family: str, event: str, hits: Callable[[Arrays], np.ndarray], where: str | None = None) -> Question:
    """Of rows with an event; among others where `hits` is masked (a condition's rows, the rest NaN)."""
    return Question(
        family,
        f"P({event})" if where is None else f"P({event} given {where})",
        lambda r, target: [r.probability(event, where=where, of=target)],
        lambda t: [np.nanmean(hits(t).astype(np.float64))],
    )


def given(hits: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Hits among some rows; the others are NaN."""
    return np.where(rows, hits.astype(np.float64), np.nan)


def cross_table(first: str, second: str, values: Sequence[Sequence[object]]) -> Question:
    """All cells of two columns of categories or booleans; values that share a cell are asked for by probability."""

    def ask(release: ke.Release, target: str) -> list[Estimate]:
        table = release.crosstab(first, second, of=target)
        known = {
            (row, column): cell
            for row, line in zip(table.rows, table.estimates, strict=True)
            for column, cell in zip(table.columns, line, strict=True)
        }
        wanted = [(_label(one), _label(other)) for one in values[0] for other in values[1]]
        return [known.get(cell) or _cell(release, (first, second), cell, target) for cell in wanted]

    def truth(t: Arrays) -> list[float]:
        return [float(np.mean((t[first] == one) & (t[second] == other))) for one in values[0] for other in values[1]]

    return Question("cross-table cell", f"{first} by {second}", ask, truth)


def _label(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(release: ke.Release, columns: tuple[str, str], labels: tuple[str, str], target: str) -> Estimate:
    tests = [
        f"{column} == {label if label in ('true', 'false') else repr(label)}"
        for column, label in zip(columns, labels, strict=True)
    ]
    return release.probability(" and ".join(tests), of=target)


def quantile(column: str, level: float, where: str | None = None, rows: Callable[[Arrays], np.ndarray] | None = None):
    """Of the rows that have a number."""

    def truth(t: Arrays) -> list[float]:
        chosen = t[column] if rows is None else t[column][rows(t)]
        return [float(np.nanquantile(chosen, level, method="inverted_cdf"))]

    words = f"{level:g} quantile of {column}" + ("" if where is None else f" where {where}")
    return Question("quantile", words, lambda r, target: [r.quantile(column, level, where=where, of=target)], truth)


def correlation(first: str, second: str) -> Question:
    """Over the rows that have both."""

    def truth(t: Arrays) -> list[float]:
        known = ~np.isnan(t[first].astype(float)) & ~np.isnan(t[second].astype(float))
        return [float(np.corrcoef(t[first][known].astype(float), t[second][known].astype(float))[0, 1])]

    words = f"correlation of {first} and {second}"
    return Question("correlation", words, lambda r, target: [r.correlation(first, second, of=target)], truth)


def regression(formula: str, response: str, terms: dict[str, Callable[[Arrays], np.ndarray]]) -> Question:
    """The coefficients of some terms; there is an intercept, too."""

    def truth(t: Arrays) -> list[float]:
        known = ~np.isnan(t[response])
        design = np.stack([np.ones(known.sum()), *(term(t)[known].astype(float) for term in terms.values())])
        return np.linalg.solve(design @ design.T, design @ t[response][known])[1:].tolist()

    def ask(release: ke.Release, target: str) -> list[Estimate]:
        fitted = release.regression(formula, of=target)
        return [fitted[name] for name in terms]

    return Question("regression", formula, ask, truth)


def logistic(formula: str, response: str, terms: dict[str, Callable[[Arrays], np.ndarray]]) -> Question:
    """The coefficients of some terms, by Newton's method on the rows."""

    def truth(t: Arrays) -> list[float]:
        design = np.stack([np.ones(len(t[response])), *(term(t).astype(float) for term in terms.values())])
        slopes, wanted = np.zeros(len(design)), design @ t[response].astype(float)
        for _ in range(25):
            odds = expit(slopes @ design)
            slopes = slopes + np.linalg.solve((design * (odds * (1.0 - odds))) @ design.T, wanted - design @ odds)
        return slopes[1:].tolist()

    def ask(release: ke.Release, target: str) -> list[Estimate]:
        fitted = release.logistic(formula, of=target)
        return [fitted[name] for name in terms]

    return Question("logistic", formula, ask, truth)


WORKERS = (
    mean("age"),
    mean("hours"),
    group_mean("age", "school == 'much'", lambda t: t["school"] == "much"),
    group_mean("hours", "sex == 'F'", lambda t: t["sex"] == "F"),
    difference("hours", "sex", "M", "F", lambda t: t["sex"] == "M"),
    share("share of two columns", "kids >= 2", lambda t: given(t["kids"] >= 2, t["sex"] == "M"), "sex == 'M'"),
    share("share of two, cells cut", "age >= 40 and sex == 'F'", lambda t: (t["age"] >= 40) & (t["sex"] == "F")),
    share(
        "share of four columns",
        "age >= 40 and sex == 'F' and kids >= 1 and school == 'much'",
        lambda t: (t["age"] >= 40) & (t["sex"] == "F") & (t["kids"] >= 1) & (t["school"] == "much"),
    ),
    cross_table("sex", "school", (("F", "M"), ("none", "some", "much"))),
    quantile("age", 0.5),
    quantile("hours", 0.9),
    correlation("age", "kids"),
    correlation("age", "hours"),
    regression("hours ~ age + sex", "hours", {"age": lambda t: t["age"], "sex[M]": lambda t: t["sex"] == "M"}),
)

HOUSEHOLDS = (
    *(mean(column) for column in ("age", "wage", "cost", "visits")),
    group_mean("wage", "sex == 'F'", lambda t: t["sex"] == "F"),
    group_mean("wage", "region == 'centre'", lambda t: t["region"] == "centre"),
    group_mean("cost", "ill == true", lambda t: t["ill"]),
    group_mean("age", "ill == true", lambda t: t["ill"]),
    difference("wage", "sex", "M", "F", lambda t: t["sex"] == "M"),
    difference("cost", "ill", "true", "false", lambda t: t["ill"]),
    difference("visits", "sex", "M", "F", lambda t: t["sex"] == "M"),
    share("share of one column", "ill == true", lambda t: t["ill"]),
    share("share of one column", "age >= 65", lambda t: t["age"] >= 65),
    share("share of one column", "region == 'centre'", lambda t: t["region"] == "centre"),
    share("share of one column", "job == 'job 00'", lambda t: t["job"] == "job 00"),
    share("share of one column", "wage is null", lambda t: np.isnan(t["wage"])),
    share("share of one column", "cost == 0", lambda t: t["cost"] == 0.0),
    share("share of two columns", "sex == 'F' and ill == true", lambda t: (t["sex"] == "F") & t["ill"]),
    share("share of two columns", "ill == true", lambda t: given(t["ill"], t["region"] == "west"), "region == 'west'"),
    share("share of two columns", "wage is null and sex == 'M'", lambda t: np.isnan(t["wage"]) & (t["sex"] == "M")),
    share("share of two, cells cut", "sex == 'F' and age >= 65", lambda t: (t["sex"] == "F") & (t["age"] >= 65)),
    share("share of two, cells cut", "ill == true", lambda t: given(t["ill"], t["age"] < 40), "age < 40"),
    share("share of two, cells cut", "wage > 50 and sex == 'M'", lambda t: (t["wage"] > 50.0) & (t["sex"] == "M")),
    share(
        "share of three columns",
        "sex == 'F' and region == 'north' and ill == true",
        lambda t: (t["sex"] == "F") & (t["region"] == "north") & t["ill"],
    ),
    share(
        "share of three columns",
        "sex == 'F' and age >= 65 and ill == true",
        lambda t: (t["sex"] == "F") & (t["age"] >= 65) & t["ill"],
    ),
    share(
        "share of three columns",
        "ill == true",
        lambda t: given(t["ill"], (t["sex"] == "M") & (t["region"] == "east")),
        "sex == 'M' and region == 'east'",
    ),
    cross_table("sex", "region", (("F", "M"), REGIONS)),
    cross_table("region", "ill", (REGIONS, (False, True))),
    quantile("age", 0.5),
    quantile("wage", 0.5),
    quantile("wage", 0.9),
    quantile("cost", 0.9),
    quantile("wage", 0.5, "sex == 'F'", lambda t: t["sex"] == "F"),
    correlation("age", "wage"),
    correlation("age", "visits"),
    correlation("age", "ill"),
    correlation("cost", "ill"),
    correlation("wage", "cost"),
    regression("wage ~ age + sex", "wage", {"age": lambda t: t["age"], "sex[M]": lambda t: t["sex"] == "M"}),
    regression("visits ~ age + ill", "visits", {"age": lambda t: t["age"], "ill": lambda t: t["ill"]}),
    regression("cost ~ ill", "cost", {"ill": lambda t: t["ill"]}),
    logistic("ill ~ age + sex", "ill", {"age": lambda t: t["age"], "sex[M]": lambda t: t["sex"] == "M"}),
)
