"""Several estimates at once, by group, in a table, as coefficients; and questions that are asked of each group."""

import html
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, final

import numpy as np

from kernelease.analysis.estimands import Indicator
from kernelease.analysis.estimate import Estimate, align
from kernelease.analysis.inference import CONFIDENCE, ConfidenceLimits, Interval, TestResult, critical_value
from kernelease.analysis.plots import MOST_PLOTTED, coefficient_chart, estimate_chart, heat_chart, stack
from kernelease.arrays import Floats
from kernelease.errors import CapacityError, LabelError, ParameterError, nearest
from kernelease.estimate.marginal import ConditionalMarginal
from kernelease.table.expressions.logic import Condition

if TYPE_CHECKING:
    from kernelease.analysis.evidence import Evidence
    from kernelease.analysis.fitted import FittedModel

# --------------------
# Estimates by group, and in a cross-table.


_MOST_TOLD = 20  # labels that a message lists. convention: a line or two
FIELDS = ("value", "low", "high", "standard_error", "says_little")
Label: TypeAlias = str | tuple[str, ...]
"""Of a group: the value of its column, or of each of several columns."""
Line: TypeAlias = Sequence[str | Estimate]
"""Of a table: labels and estimates."""


@final
@dataclass(frozen=True, slots=True)
class Groups(Mapping[Label, Estimate]):
    """An estimate for each value of a column, by its label, in the declared order; or for each of several columns.

    `g["F"]`, and by two columns `g["F", "school"]`.
    """

    by: Label
    estimates: Mapping[Label, Estimate]

    def __getitem__(self, label: Label) -> Estimate:
        if label not in self.estimates:
            raise no_label(label, self.estimates, f"by {join_label(self.by)}")
        return self.estimates[label]

    def __iter__(self) -> Iterator[Label]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def minus(self, label: Label) -> "Groups":
        """Every other group less this one, with their joint noise."""
        return self._beside(label, lambda one, base: one - base)

    def over(self, label: Label) -> "Groups":
        """Every other group over this one, with their joint noise."""
        return self._beside(label, lambda one, base: one / base)

    def _beside(self, label: Label, combine: Callable[[Estimate, Estimate], Estimate]) -> "Groups":
        base = self[label]
        return Groups(self.by, {one: combine(self[one], base) for one in self if one != label})

    def to_pandas(self, level: float = CONFIDENCE) -> Any:
        """A data frame: the groups' columns, value, low, high, standard_error, says_little. Needs pandas."""
        names = as_tuple(self.by)
        lines = [dict(zip(names, as_tuple(label), strict=True)) | fields(one, level) for label, one in self.items()]
        return pandas().DataFrame(lines, columns=[*names, *FIELDS])

    def plot(self, level: float = CONFIDENCE, *, about: str = "") -> Any:
        """An Altair chart of values with their intervals; by several columns, the last goes across. Needs `plot`."""
        names, lines = as_tuple(self.by), []
        for label, one in self.items():
            *others, last = as_tuple(label)
            colour = {"colour": ", ".join(others)} if others else {}
            lines.append({"group": last} | colour | fields(one, level))
        title = names[-1] if names else ""
        return estimate_chart(lines, title, about=about or _common(self.values()), legend=", ".join(names[:-1]))

    def __str__(self) -> str:
        labels = [join_label(label) for label in self]
        width = max(map(len, labels), default=0)
        return "\n".join(f"{label:<{width}}  {estimate}" for label, estimate in zip(labels, self.values(), strict=True))

    def __repr__(self) -> str:
        return f"by {join_label(self.by)}:\n{self}"

    def _repr_html_(self) -> str:
        lines: list[Line] = [[*as_tuple(label), estimate] for label, estimate in self.items()]
        return html_table((*as_tuple(self.by), "estimate"), lines, caption=_common(self.values()))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateTable:
    """The share of rows in each cell of two columns: `estimates[i][j]` is of `rows[i]` and `columns[j]`."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    estimates: tuple[tuple[Estimate, ...], ...]

    @property
    def values(self) -> Floats:
        """The values: (rows, columns)."""
        return np.array([[estimate.value for estimate in line] for line in self.estimates])

    @property
    def standard_errors(self) -> Floats:
        """The standard errors: (rows, columns)."""
        return np.array([[estimate.standard_error for estimate in line] for line in self.estimates])

    def to_pandas(self, level: float = CONFIDENCE) -> Any:
        """A data frame with one line for each cell: the two columns, value, low, high and so on. Needs pandas."""
        names = self.title.split(" \\ ")
        lines = [{names[0]: line["row"], names[1]: line["column"], **line} for line in self._lines(level)]
        return pandas().DataFrame(lines, columns=[*names, *FIELDS])

    def plot(self, level: float = CONFIDENCE) -> Any:
        """An Altair chart of shares with their intervals, a colour per row; of many cells, shades. Needs `plot`."""
        down, across = self.title.split(" \\ ")
        named = [{"group": line["column"], "colour": line["row"], **line} for line in self._lines(level)]
        if len(named) > MOST_PLOTTED:
            return heat_chart(named, down, across)
        return estimate_chart(named, across, about="share of rows", legend=down)

    def _lines(self, level: float) -> list[dict[str, Any]]:
        return [
            {"row": row, "column": column} | fields(estimate, level)
            for row, line in zip(self.rows, self.estimates, strict=True)
            for column, estimate in zip(self.columns, line, strict=True)
        ]

    def __getitem__(self, place: tuple[str, str]) -> Estimate:
        row, column = place
        for label, known in ((row, self.rows), (column, self.columns)):
            if label not in known:
                raise no_label(label, known, f"in {self.title}")
        return self.estimates[self.rows.index(row)][self.columns.index(column)]

    def __str__(self) -> str:
        lines = [[self.title, *self.columns]]
        lines += [[label, *map(str, line)] for label, line in zip(self.rows, self.estimates, strict=True)]
        return "\n".join(align(lines))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows: list[Line] = [[label, *line] for label, line in zip(self.rows, self.estimates, strict=True)]
        return html_table((self.title, *self.columns), rows)


def no_label(label: object, known: Iterable[Label], where: str) -> LabelError:
    """The error for a label that is not there: what is like it, and which there are."""
    told = [join_label(one) for one in known]
    wanted = join_label(label) if isinstance(label, str | tuple) else str(label)
    listed = "; ".join(told[:_MOST_TOLD]) + ("; …" if len(told) > _MOST_TOLD else "")
    return LabelError(f"There is no {wanted!r} {where}.{nearest(wanted, told)} There are {listed}.")


def fields(estimate: Estimate, level: float) -> dict[str, Any]:
    """An estimate as plain numbers, or dates where it is one; what is not bounded is NaN. A date's error is in days."""
    low, high = estimate.interval(level)
    told = [_plain(estimate, number) for number in (estimate.value, low, high)]
    error = estimate.standard_error / (1.0 if estimate.calendar is None else estimate.calendar.day)
    finite = error if math.isfinite(error) else math.nan
    return dict(zip(FIELDS, (*told, finite, estimate.says_little), strict=True))


def _plain(estimate: Estimate, number: float) -> Any:
    if estimate.calendar is not None:
        return np.datetime64(estimate.calendar.moment(number), "s")
    return float(number) if math.isfinite(number) else math.nan


def join_label(label: Label) -> str:
    """A label in one line."""
    return ", ".join(as_tuple(label))


def as_tuple(label: str | Sequence[str]) -> tuple[str, ...]:
    """A label by several columns, or by one."""
    return (label,) if isinstance(label, str) else tuple(label)


def _common(estimates: Iterable[Estimate]) -> str:
    """What all estimates are about, without the group."""
    words = [one.about for one in estimates]
    return words[0].rpartition(" for ")[0] or words[0] if words else ""


def pandas() -> Any:
    """The module, or a `ParameterError` that says what to install."""
    try:
        return import_module("pandas")
    except ImportError:
        raise ParameterError("to_pandas: needs pandas. Install pandas.") from None


def html_table(header: Sequence[str], rows: Iterable[Line], *, caption: str = "") -> str:
    """A table for a notebook, with what must be known about its estimates below it."""
    kept = [list(row) for row in rows]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{_html_cell(cell)}</td>" for cell in row) + "</tr>" for row in kept)
    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    notes = "".join(f"<div>{html.escape(note)}</div>" for note in _notes(kept))
    foot = f'<tfoot><tr><td colspan="{len(header)}">{notes}</td></tr></tfoot>' if notes else ""
    frame = '<div style="overflow-x:auto;max-width:100%">'  # a wide table stays in its frame
    return f"{frame}<table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody>{foot}</table></div>"


def _notes(rows: Iterable[Line]) -> list[str]:
    """The remarks of estimates, each once, and what grey ones are."""
    estimates = [cell for row in rows for cell in row if isinstance(cell, Estimate)]
    notes = dict.fromkeys(one.remark for one in estimates if one.remark)
    return [
        *notes,
        *(["grey: the interval is too wide to say much"] if any(e.says_little for e in estimates) else []),
    ]


def _html_cell(cell: str | Estimate) -> str:
    return cell._repr_html_() if isinstance(cell, Estimate) else html.escape(cell)


# --------------------
# The coefficients of a model, each an estimate; and those of one model for each group of rows.


INTERCEPT = "intercept"


@final
@dataclass(frozen=True, slots=True)
class Regression(Mapping[str, Estimate]):
    """The coefficients of a model, each with its interval; by name. `model` says what it expects of other rows."""

    formula: str
    coefficients: Mapping[str, Estimate]
    model: "FittedModel | None" = None

    def __getitem__(self, name: str) -> Estimate:
        if name not in self.coefficients:
            raise no_label(name, self.coefficients, f"in {self.formula}")
        return self.coefficients[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.coefficients)

    def __len__(self) -> int:
        return len(self.coefficients)

    def summary(self, level: float = CONFIDENCE) -> str:
        """All coefficients in words: value, interval, and p of the hypothesis that it is 0."""
        width, lines = max(map(len, self)), [self.formula]
        for name, one in self.items():
            low, high = one.interval(level)
            little = "  says little" if one.says_little else ""
            told = f"{one.value:>12.5g}  {low:>12.5g} to {high:<12.5g}  p = {one.test().p_value:.3g}"
            lines.append(f"{name:<{width}}  {told}{little}")
        notes = dict.fromkeys(one.remark for one in self.values() if one.remark)
        return "\n".join([*lines, *notes])

    def test(self, *names: str) -> TestResult:
        """Whether several coefficients are all 0 (none named: all but the intercept), by Wald's test.

        Where nothing says how their errors go together, each is tested at an equal part of the level.
        """
        chosen = names or tuple(name for name in self if name != INTERCEPT)
        missing = [name for name in chosen if name not in self]
        if missing or not chosen:
            raise ParameterError(f"test: there is no coefficient {missing or names!r}; there are {', '.join(self)}.")
        if self.model is not None:
            return self.model.test(chosen, self.formula)
        least = min(self[name].test().p_value for name in chosen)
        statistic = max(abs(self[name].value) / max(self[name].standard_error, 1e-300) for name in chosen)
        hypothesis = f"{', '.join(chosen)} in {self.formula} are all 0"
        return TestResult(hypothesis=hypothesis, statistic=statistic, p_value=min(1.0, len(chosen) * least), draws=None)

    def predict(self, rows: Mapping[str, Any]) -> "Groups":
        """The mean response for values of the covariates, with a confidence band: {"age": [30, 50], "sex": "F"}."""
        return self._model_for("predict").predict(rows, f"mean of {self.formula.partition('~')[0].strip()}")

    def effects(self) -> "Groups":
        """How far the mean response moves with each covariate, on average over the rows: marginal effects."""
        return self._model_for("effects").effects()

    def _model_for(self, what: str) -> "FittedModel":
        if self.model is None:
            raise ParameterError(f"{what}: this model has no solution, or is a difference of two.")
        return self.model

    def with_estimates(self, estimates: Mapping[str, Estimate]) -> "Regression":
        """The same model with other words or limits about its coefficients."""
        return Regression(self.formula, estimates, self.model)

    def to_pandas(self, level: float = CONFIDENCE) -> Any:
        """A data frame: term, value, low, high, standard_error, says_little. Needs pandas."""
        lines = [{"term": name} | fields(one, level) for name, one in self.items()]
        return pandas().DataFrame(lines, columns=["term", *FIELDS])

    def plot(self, level: float = CONFIDENCE) -> Any:
        """An Altair chart of the coefficients but the intercept, with their intervals. Needs the extra `plot`."""
        lines = [{"group": name} | fields(one, level) for name, one in self.items() if name != INTERCEPT]
        return coefficient_chart(lines, self.formula)

    def __str__(self) -> str:
        width = max(len(name) for name in self)
        return "\n".join([self.formula, *(f"{name:<{width}}  {estimate}" for name, estimate in self.items())])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(("", "coefficient"), [[name, one] for name, one in self.items()], caption=self.formula)


@final
@dataclass(frozen=True, slots=True)
class RegressionGroups(Mapping[Label, Regression]):
    """A model for each value of a column, by its label, in the declared order; or for each of several columns.

    `m["F"]["age"]` is one coefficient, and `m.coefficient("age")` that of all groups.
    """

    by: Label
    models: Mapping[Label, Regression]

    def __getitem__(self, label: Label) -> Regression:
        if label not in self.models:
            raise no_label(label, self.models, f"by {join_label(self.by)}")
        return self.models[label]

    def __iter__(self) -> Iterator[Label]:
        return iter(self.models)

    def __len__(self) -> int:
        return len(self.models)

    def coefficient(self, name: str) -> Groups:
        """One coefficient of all groups."""
        return Groups(self.by, {label: model[name] for label, model in self.items()})

    def minus(self, label: Label) -> "RegressionGroups":
        """Every other group's coefficients less those of this one, with their joint noise."""
        return self._beside({name: self.coefficient(name).minus(label) for name in self.names})

    def over(self, label: Label) -> "RegressionGroups":
        """Every other group's coefficients over those of this one, with their joint noise."""
        return self._beside({name: self.coefficient(name).over(label) for name in self.names})

    def _beside(self, parts: Mapping[str, Groups]) -> "RegressionGroups":
        others = dict.fromkeys(label for groups in parts.values() for label in groups)
        models = {
            label: Regression(self[label].formula, {name: groups[label] for name, groups in parts.items()})
            for label in others
        }
        return RegressionGroups(self.by, models)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coefficients."""
        return tuple(dict.fromkeys(name for model in self.values() for name in model))

    def to_pandas(self, level: float = CONFIDENCE) -> Any:
        """A data frame: the groups' columns, term, value, low, high, standard_error, says_little. Needs pandas."""
        names = as_tuple(self.by)
        lines = [
            dict(zip(names, as_tuple(label), strict=True)) | {"term": term} | fields(one, level)
            for label, model in self.items()
            for term, one in model.items()
        ]
        return pandas().DataFrame(lines, columns=[*names, "term", *FIELDS])

    def plot(self, level: float = CONFIDENCE) -> Any:
        """An Altair chart of each coefficient but the intercept, one below the other. Needs the extra `plot`."""
        return stack([self.coefficient(name).plot(level, about=name) for name in self.names if name != INTERCEPT])

    def __str__(self) -> str:
        return "\n".join(f"{join_label(label)}: {model}" for label, model in self.items())

    def __repr__(self) -> str:
        return f"by {join_label(self.by)}:\n{self}"

    def _repr_html_(self) -> str:
        names = self.names
        lines: list[Line] = [[*as_tuple(label), *(model[name] for name in names)] for label, model in self.items()]
        caption = next(iter(self.values())).formula if self.models else ""
        return html_table((*as_tuple(self.by), *names), lines, caption=caption)


# --------------------
# Conditions that cut through cells: it is not known which rows of such a cell are meant.


REMARK = "the condition cuts through a counted cell: how many of its rows are meant is in the error, to first order"


@final
@dataclass(frozen=True, slots=True)
class WidenedLimits(ConfidenceLimits):
    """Limits with one more error, independent of the others, that reach further on both sides, within the possible."""

    limits: ConfidenceLimits
    value: float
    error: float
    more: float
    within: Interval

    def at(self, level: float) -> Interval:
        low, high = self.limits.at(level)
        reach = critical_value(level) * self.error
        low = self.value - math.hypot(self.value - low, reach) - self.more
        high = self.value + math.hypot(high - self.value, reach) + self.more
        return max(low, min(self.value, self.within[0])), min(high, max(self.value, self.within[1]))


def with_doubt(estimate: Estimate, *, bounded: bool = False) -> Estimate:
    """The estimate with what the rows of cut cells may change in its bias and its interval.

    Its error is a sum of functions of cells, to first order; so is what the rows of a cell change that are taken to be
    meant and are not, or the other way. `bounded` says that the estimate's possible values are all there are.
    """
    if estimate.source is None and _is_whole(estimate):
        return estimate
    if estimate.source is None:
        raise ParameterError(
            f"{estimate.about}: the condition cuts through a cell, and nothing says what its rows change. Ask with a "
            "condition at the ends of cells, so that all rows of a cell are meant or none."
        )
    functions: dict[int, tuple[ConditionalMarginal, Floats]] = {}
    for marginal, function in estimate.source.functions():
        if isinstance(marginal, ConditionalMarginal):
            before = functions.get(id(marginal), (marginal, np.zeros(marginal.size)))[1]
            functions[id(marginal)] = marginal, before + function
    every = [marginal.doubt(function) for marginal, function in functions.values()]
    more, inside = (sum(one[place] for one in every) for place in (0, 1))
    within = estimate.possible if bounded else (-np.inf, np.inf)
    parts = replace(
        estimate.parts,
        bias=estimate.parts.bias + more,
        inside=math.hypot(estimate.parts.inside, math.sqrt(inside)),
    )
    return replace(
        estimate,
        parts=parts,
        limits=WidenedLimits(estimate.limits, estimate.value, math.sqrt(inside), more, within),
        remark="; ".join(part for part in (estimate.remark, REMARK) if part),
    )


def _is_whole(estimate: Estimate) -> bool:
    """Whether the interval is all that is possible."""
    low, high = estimate.interval()
    return low <= estimate.possible[0] and estimate.possible[1] <= high


# --------------------
# One question for each value of a column, or for each combination of values of several.


MOST_GROUPS = 4096  # more would not be read, and take minutes
Answer = TypeVar("Answer")


def answer_by_group(
    evidence: "Evidence",
    by: str | Sequence[str],
    columns: Iterable[str],
    answer: Callable[[tuple[Condition, ...], str], Estimate],
) -> Groups:
    """The answer for each group; it gets the group's conditions and its name. `columns` are those of the question."""
    return Groups(title_of(by), each_group(evidence, by, [tuple(columns)], answer))


def each_group(
    evidence: "Evidence",
    by: str | Sequence[str],
    sets: Sequence[Iterable[str]],
    answer: Callable[[tuple[Condition, ...], str], Answer],
) -> dict[Label, Answer]:
    """The answer for each group. `sets` are the columns that the question needs together, together with the groups."""
    names = names_of(by)
    whole = [(*names, *one) for one in sets]
    parts = [evidence.groups(name, *whole) for name in names]
    if math.prod(map(len, parts)) > MOST_GROUPS:
        raise CapacityError(
            f"by: {' and '.join(names)} have {math.prod(map(len, parts)):,} groups, more than {MOST_GROUPS:,}. "
            "Ask about ranges by where instead."
        )
    found: dict[Label, Answer] = {}
    for combination in itertools.product(*parts):
        labels = tuple(label for label, _ in combination)
        told = ", ".join(f"{name} {label}" for name, label in zip(names, labels, strict=True))
        label = labels[0] if isinstance(by, str) else labels
        found[label] = answer(tuple(condition for _, condition in combination), told)
    return found


def names_of(by: str | Sequence[str]) -> tuple[str, ...]:
    """The columns of the groups."""
    names = as_tuple(by)
    if not names or len(set(names)) < len(names):
        raise ParameterError(f"by: needs one or several different columns, got {by!r}.")
    return names


def title_of(by: str | Sequence[str] | None) -> Label:
    """What groups are by."""
    return by if isinstance(by, str) else tuple(by or ())


# --------------------
# The questions themselves: `where` first, then `by`.


ALONE = "Ask about all rows, or about groups that were measured together with what is asked."


def answer_estimate(
    evidence: "Evidence",
    sets: Sequence[Iterable[str]],
    answer: Callable[["Evidence"], Estimate],
    *,
    what: str,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Estimate | Groups:
    """A question about the rows that fulfil a condition, or about each group of them.

    `sets` are the columns that must have been measured together, together with those of the condition and the groups;
    else it is refused in the name of `what`, unless it is about all rows.
    """

    def ask(rows: "Evidence") -> Estimate:
        found = answer(rows)
        return with_doubt(found, bounded=True) if _is_cut(rows, sets) and _has_ends(found) else found

    found = _ask(evidence, sets, ask, (what, ALONE), where, by)
    if isinstance(found, dict):
        return Groups(title_of(by), {label: _with_rows(one, where, told) for label, (one, told) in found.items()})
    return _with_rows(found, where, "")


def answer_model(
    evidence: "Evidence",
    sets: Sequence[Iterable[str]],
    answer: Callable[["Evidence"], Regression],
    *,
    what: str,
    instead: str = ALONE,
    where: str | None = None,
    by: str | Sequence[str] | None = None,
) -> Regression | RegressionGroups:
    """A model of the rows that fulfil a condition, or one of each group of them; as `answer_estimate`.

    A refusal says what to ask `instead`.
    """

    def ask(rows: "Evidence") -> Regression:
        found = answer(rows)
        if not _is_cut(rows, sets):
            return found
        return found.with_estimates({name: with_doubt(e) if _has_ends(e) else e for name, e in found.items()})

    found = _ask(evidence, sets, ask, (what, instead), where, by)
    if isinstance(found, dict):
        return RegressionGroups(
            title_of(by), {label: _model_with_rows(one, where, told) for label, (one, told) in found.items()}
        )
    return _model_with_rows(found, where, "")


def _ask(
    evidence: "Evidence",
    sets: Sequence[Iterable[str]],
    answer: Callable[["Evidence"], Answer],
    refusal: tuple[str, str],
    where: str | None,
    by: str | Sequence[str] | None,
) -> Answer | dict[Label, tuple[Answer, str]]:
    base = evidence.where(where)
    names = () if by is None else names_of(by)
    more = {*base.columns, *(_measured_name(evidence, name) for name in names)}
    for one in sets:
        columns = evidence.positions({*one, *more})
        if more and not evidence.marginals(columns):
            raise evidence.not_together(columns, *refusal)
    if by is None:
        return answer(evidence.within(base))
    return each_group(
        evidence,
        by,
        [(*one, *base.columns) for one in sets],
        lambda group, told: (answer(evidence.within(Indicator((*base.parts, *group)))), told),
    )


def _is_cut(rows: "Evidence", sets: Sequence[Iterable[str]]) -> bool:
    """Whether the condition cuts through cells of what answers the question."""
    used = [marginal for one in sets for marginal in rows.marginals(rows.positions(one))]
    return any(isinstance(marginal, ConditionalMarginal) and marginal.is_cut for marginal in used)


def _has_ends(estimate: Estimate) -> bool:
    low, high = estimate.interval()
    return math.isfinite(high - low)


def _measured_name(evidence: "Evidence", name: str) -> str:
    """The column, or where it is derived, the one that says it."""
    structure = evidence.schema.structure
    return structure.origins(name)[0] if name in structure.derivations else evidence.column(name).name


def _with_rows(estimate: Estimate, where: str | None, group: str) -> Estimate:
    """The estimate with the rows that it is about in its name."""
    rows = (f" where {where}" if where else "") + (f" for {group}" if group else "")
    return replace(estimate, about=estimate.about + rows)


def _model_with_rows(model: Regression, where: str | None, group: str) -> Regression:
    return model.with_estimates({name: _with_rows(one, where, group) for name, one in model.items()})
