"""What an analyst asks of a release about how columns go together: correlations and models, each with its interval."""

import itertools
import re
from collections.abc import Sequence
from typing import overload

from kernelease.analysis.asking import ALONE, estimated, modelled, names_of
from kernelease.analysis.estimate import Estimate, Target
from kernelease.analysis.evidence import Evidence
from kernelease.analysis.glm import Family, generalised_regression, trend
from kernelease.analysis.groups import Groups, Regression, RegressionGroups
from kernelease.analysis.regression import judged, judged_trend, regression
from kernelease.analysis.spread import correlation
from kernelease.release.reading import Released, evidence_of


class Models:
    """Correlations, regressions and trends.

    `where` and `by` are as for means. Both need columns that were measured together: a correlation within a group the
    three of them. What was not is refused, with what was and what to ask instead.
    """

    __slots__ = ()

    @overload
    def correlation(
        self: Released,
        first: str,
        second: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def correlation(
        self: Released,
        first: str,
        second: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def correlation(
        self: Released,
        first: str,
        second: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """The correlation of two columns of numbers or booleans."""

        def answer(rows: Evidence) -> Estimate:
            return correlation(rows, first, second)

        evidence = evidence_of(self, target)
        return estimated(evidence, [(first, second)], answer, what="correlation", where=where, by=by)

    @overload
    def regression(
        self: Released,
        formula: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Regression: ...

    @overload
    def regression(
        self: Released,
        formula: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> RegressionGroups: ...

    def regression(
        self: Released,
        formula: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Regression | RegressionGroups:
        """Least squares: "hours ~ age + sex". A category has a coefficient for each value but the first."""

        def answer(rows: Evidence) -> Regression:
            return judged(rows, regression(rows, formula))

        pairs = list(itertools.combinations(_columns(formula), 2))
        evidence = evidence_of(self, target)
        return modelled(
            evidence,
            pairs,
            answer,
            what="regression",
            instead=_covariate("regression", formula, by),
            where=where,
            by=by,
        )

    @overload
    def logistic(
        self: Released, formula: str, *, where: str | None = None, by: None = None, target: Target | str = Target.TABLE
    ) -> Regression: ...

    @overload
    def logistic(
        self: Released,
        formula: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> RegressionGroups: ...

    def logistic(
        self: Released,
        formula: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Regression | RegressionGroups:
        """A model of the odds of a boolean column: "ill ~ age + sex", or "ill ~ age * sex" with their interaction."""
        return _generalised(evidence_of(self, target), formula, Family.LOGISTIC, where, by)

    @overload
    def poisson(
        self: Released, formula: str, *, where: str | None = None, by: None = None, target: Target | str = Target.TABLE
    ) -> Regression: ...

    @overload
    def poisson(
        self: Released,
        formula: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> RegressionGroups: ...

    def poisson(
        self: Released,
        formula: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Regression | RegressionGroups:
        """A log-linear model of a number from 0 on: "visits ~ age + sex"."""
        return _generalised(evidence_of(self, target), formula, Family.POISSON, where, by)

    @overload
    def trend(
        self: Released,
        column: str,
        over: str,
        *,
        where: str | None = None,
        by: None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate: ...

    @overload
    def trend(
        self: Released,
        column: str,
        over: str,
        *,
        where: str | None = None,
        by: str | Sequence[str],
        target: Target | str = Target.TABLE,
    ) -> Groups: ...

    def trend(
        self: Released,
        column: str,
        over: str,
        *,
        where: str | None = None,
        by: str | Sequence[str] | None = None,
        target: Target | str = Target.TABLE,
    ) -> Estimate | Groups:
        """The slope of a number, or of the share of true, over a number or (per year) a date."""

        def answer(rows: Evidence) -> Estimate:
            return judged_trend(rows, trend(rows, column, over), column, over)

        return estimated(evidence_of(self, target), [(column, over)], answer, what="trend", where=where, by=by)


def _generalised(
    evidence: Evidence, formula: str, family: Family, where: str | None, by: str | Sequence[str] | None
) -> Regression | RegressionGroups:
    def answer(rows: Evidence) -> Regression:
        return judged(rows, generalised_regression(rows, formula, family), family.latent)

    needed = [_columns(formula)]
    what = family.value if len(needed[0]) < 3 else "regression"  # of two covariates pairs say all, of more they don't
    instead = _covariate(what, formula, by)
    return modelled(evidence, needed, answer, what=family.value, instead=instead, where=where, by=by)


def _covariate(what: str, formula: str, by: str | Sequence[str] | None) -> str:
    """What to ask in place of a model for each group."""
    if by is None:
        return ALONE
    groups = " + ".join(names_of(by))
    return f"One model with the groups as covariates needs pairs only: {what} {f'{formula} + {groups}'!r}."


def _columns(formula: str) -> tuple[str, ...]:
    """The names in a formula; whoever reads it says what is wrong with it."""
    return tuple(dict.fromkeys(part.strip().strip('`"') for part in re.split(r"[~+*:]", formula)))
