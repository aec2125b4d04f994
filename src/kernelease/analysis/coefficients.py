"""The coefficients of a model, each an estimate; and those of one model for each group of rows."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, final

from kernelease.analysis.estimate import Estimate
from kernelease.analysis.groups import FIELDS, Groups, Label, Line, as_tuple, fields, html_table, joined, pandas
from kernelease.analysis.inference import CONFIDENCE
from kernelease.analysis.plots import coefficient_chart, stacked

INTERCEPT = "intercept"


@final
@dataclass(frozen=True, slots=True)
class Regression(Mapping[str, Estimate]):
    """The coefficients of a model, each with its interval; by name."""

    formula: str
    coefficients: Mapping[str, Estimate]

    def __getitem__(self, name: str) -> Estimate:
        return self.coefficients[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.coefficients)

    def __len__(self) -> int:
        return len(self.coefficients)

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
        """Of the coefficients."""
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
        return stacked([self.coefficient(name).plot(level, about=name) for name in self.names if name != INTERCEPT])

    def __str__(self) -> str:
        return "\n".join(f"{joined(label)}: {model}" for label, model in self.items())

    def __repr__(self) -> str:
        return f"by {joined(self.by)}:\n{self}"

    def _repr_html_(self) -> str:
        names = self.names
        lines: list[Line] = [[*as_tuple(label), *(model[name] for name in names)] for label, model in self.items()]
        caption = next(iter(self.values())).formula if self.models else ""
        return html_table((*as_tuple(self.by), *names), lines, caption=caption)
