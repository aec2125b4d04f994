"""What a test says."""

import html
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from kernelease.arrays import Floats
from kernelease.errors import ParameterError

USUAL_LEVEL = 0.05


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class TestResult:
    """A statistic, the probability of one at least as large if the hypothesis holds, and what that means.

    The p-value counts draws from the null, (1 + draws that are no smaller) / (1 + draws): it keeps its level for any
    number of draws, and is never 0.
    """

    __test__: ClassVar[bool] = False  # not a test of pytest's

    hypothesis: str
    statistic: float
    p_value: float
    draws: int
    remark: str = ""

    @classmethod
    def from_draws(
        cls, hypothesis: str, observed: float, null: Floats, *, statistic: float | None = None, remark: str = ""
    ) -> "TestResult":
        """Compare an observed number with draws of it under the null: (draws,)."""
        return cls(
            hypothesis=hypothesis,
            statistic=observed if statistic is None else statistic,
            p_value=float(1 + (null >= observed).sum()) / (1 + len(null)),
            draws=len(null),
            remark=remark,
        )

    def rejects(self, level: float = USUAL_LEVEL) -> bool:
        """Whether the hypothesis is rejected at a level: it is so, wrongly, at most with that probability."""
        if not 0.0 < level < 1.0:
            raise ParameterError(f"level must be between 0 and 1, got {level!r}.")
        return self.p_value <= level

    @property
    def words(self) -> str:
        """The result in a sentence."""
        least = ", the least that so many draws can give" if self.p_value <= 1.0 / (1 + self.draws) else ""
        p_value = f"p = {self.p_value:.3g}{least}"
        if self.rejects():
            verdict = f"Evidence against: {self.hypothesis} ({p_value})."
        else:
            verdict = f"No evidence against: {self.hypothesis} ({p_value}). That does not prove it."
        return f"{verdict} {self.remark}".rstrip()

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.words)}</p>"


def normal_scores(energies: Floats) -> Floats:
    """Sums of squares on the scale of a standard normal: the cube root (Wilson & Hilferty 1931) removes their skew.

    The observed one is scaled together with the draws: under the hypothesis it is one of them, and stays so.
    """
    mean = np.maximum(energies.mean(axis=0), 1e-300)
    spread = np.maximum(energies.var(axis=0) / (9.0 * mean**2), 1e-300)  # 2/9 over the degrees of freedom
    scores: Floats = (np.cbrt(energies / mean) - (1.0 - spread)) / np.sqrt(spread)
    return scores
