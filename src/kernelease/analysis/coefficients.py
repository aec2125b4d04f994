"""The coefficients of a model, each an estimate."""

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from kernelease.analysis.estimate import Estimate


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

    def __str__(self) -> str:
        width = max(len(name) for name in self)
        return "\n".join([self.formula, *(f"{name:<{width}}  {estimate}" for name, estimate in self.items())])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{one._repr_html_()}</td></tr>" for name, one in self.items()
        )
        return f"<table><caption>{html.escape(self.formula)}</caption><tbody>{rows}</tbody></table>"
