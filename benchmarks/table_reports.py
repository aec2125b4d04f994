"""The one table of the benchmark of tables: as text, as a page, and as checks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.checks import Check, table
from benchmarks.table_contenders import Contender, Outcome

MEASURES = {"1-way": "one_way", "2-way": "two_way", "3-way": "three_way", "AUC": "auc", "AUC, logistic": "auc_logistic"}
MOST_SECONDS, MOST_MEGABYTES = 60.0, 2048.0
HEADER = ("", "ε", *MEASURES, "seconds", "MB", "runs")


@dataclass(frozen=True)
class Bar:
    """What is required of us at an ε, and what we aim for. AUC is to be at least, errors at most."""

    required: float
    aim: float

    def mark(self, value: float, *, upward: bool) -> str:
        """✓✓ the aim is met, ✓ what is required, ✗ neither."""
        met = [value >= bar if upward else value <= bar for bar in (self.required, self.aim)]
        return "✓✓" if met[1] else "✓" if met[0] else "✗"


BARS = {
    0.1: {"two_way": Bar(0.215, 0.18), "three_way": Bar(0.39, 0.34), "auc": Bar(0.86, 0.875)},
    1.0: {"two_way": Bar(0.073, 0.060), "three_way": Bar(0.177, 0.145), "auc": Bar(0.906, 0.913)},
    10.0: {"two_way": Bar(0.030, 0.020), "three_way": Bar(0.10, 0.075), "auc": Bar(0.915, 0.922)},
}


def rows(contenders: Sequence[Contender], outcomes: Sequence[Outcome]) -> list[list[str]]:
    """By ε: a row per contender, then what is required and aimed for; last the real rows."""
    lines: list[list[str]] = []
    for epsilon in sorted({outcome.epsilon for outcome in outcomes if outcome.epsilon}):
        for contender in contenders:
            some = [o for o in outcomes if o.contender == contender.name and o.epsilon == epsilon]
            if some:
                lines.append(_row(contender.label, some, BARS.get(epsilon, {}) if contender.ours else {}))
        if epsilon in BARS:
            lines += [_bar_row(name, epsilon) for name in ("required", "aim")]
    references = [outcome for outcome in outcomes if not outcome.epsilon]
    return lines + [_row(outcome.contender, [outcome], {}) for outcome in references]


def text(title: str, contenders: Sequence[Contender], outcomes: Sequence[Outcome]) -> str:
    return table(title, HEADER, rows(contenders, outcomes))


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A table of a Markdown page."""
    ruled = [header, ["---"] * len(header), *lines]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in ruled)


def checks(outcomes: Sequence[Outcome]) -> list[Check]:
    """What must hold of each of our rows: below the product of one-way marginals, quick and small."""
    ours = [some for name in ("ours", "ours-target") for some in _by_epsilon(outcomes, name)]
    return [check for some in ours for check in (*_below_the_product(some, outcomes), *_costs(some))]


def _below_the_product(ours: Sequence[Outcome], outcomes: Sequence[Outcome]) -> Iterator[Check]:
    epsilon = ours[0].epsilon
    base = [o for o in outcomes if o.contender == "one-way" and o.epsilon == epsilon and not o.problem]
    for words, measure in (("2-way", "two_way"), ("3-way", "three_way")):
        if base:
            mine, theirs = _mean(ours, measure), _mean(base, measure)
            claim = f"{_who(ours)}: {words} error below the product of one-way marginals"
            yield Check(claim, f"{mine:.4f} against {theirs:.4f}", mine < theirs)


def _costs(ours: Sequence[Outcome]) -> Iterator[Check]:
    slowest, largest = max(o.seconds for o in ours), max(o.megabytes for o in ours)
    yield Check(f"{_who(ours)}: at most {MOST_SECONDS:.0f} s", f"{slowest:.0f} s", slowest <= MOST_SECONDS)
    yield Check(f"{_who(ours)}: at most {MOST_MEGABYTES:.0f} MB", f"{largest:.0f} MB", largest <= MOST_MEGABYTES)


def _who(outcomes: Sequence[Outcome]) -> str:
    return f"ε = {outcomes[0].epsilon:g}, {outcomes[0].contender}"


def _by_epsilon(outcomes: Sequence[Outcome], name: str) -> list[list[Outcome]]:
    done = [o for o in outcomes if o.contender == name and not o.problem]
    return [[o for o in done if o.epsilon == epsilon] for epsilon in sorted({o.epsilon for o in done})]


def _row(label: str, outcomes: Sequence[Outcome], bars: dict[str, Bar]) -> list[str]:
    shown = f"{label} †" if any(outcome.kept for outcome in outcomes) else label
    epsilon = f"{outcomes[0].epsilon:g}" if outcomes[0].epsilon else "–"
    done = [outcome for outcome in outcomes if outcome.problem is None]
    if not done:
        return [shown, epsilon, *["–"] * (len(HEADER) - 3), outcomes[0].problem or ""]
    cells = [_cell(done, measure, bars.get(measure)) for measure in MEASURES.values()]
    return [shown, epsilon, *cells, _cost(done, "seconds"), _cost(done, "megabytes"), _runs(outcomes)]


def _cell(outcomes: Sequence[Outcome], measure: str, bar: Bar | None) -> str:
    """Mean, lowest and highest; and our mark."""
    values = [outcome.scores[measure] for outcome in outcomes if measure in outcome.scores]
    if not values:
        return "–"
    spread = f" ({_figure(min(values))}–{_figure(max(values))})" if len(values) > 1 else ""
    mark = "" if bar is None else f" {bar.mark(float(np.mean(values)), upward=measure == 'auc')}"
    return f"{_figure(float(np.mean(values)))}{spread}{mark}"


def _figure(value: float) -> str:
    return f"{value:.4f}".removeprefix("0")


def _cost(outcomes: Sequence[Outcome], name: str) -> str:
    values = [getattr(outcome, name) for outcome in outcomes]
    return f"{np.mean(values):.0f}" if any(values) else "–"


def _runs(outcomes: Sequence[Outcome]) -> str:
    done = sum(outcome.problem is None for outcome in outcomes)
    return str(done) if done == len(outcomes) else f"{done}; then {outcomes[-1].problem}"


def _mean(outcomes: Sequence[Outcome], measure: str) -> float:
    return float(np.mean([outcome.scores[measure] for outcome in outcomes]))


def _bar_row(name: str, epsilon: float) -> list[str]:
    words = {"required": "required of kernelease", "aim": "aimed for"}[name]
    cells = [_figure(getattr(BARS[epsilon][m], name)) if m in BARS[epsilon] else "" for m in MEASURES.values()]
    cost = [f"{MOST_SECONDS:.0f}", f"{MOST_MEGABYTES:.0f}"] if name == "required" else ["", ""]
    return [words, f"{epsilon:g}", *cells, *cost, ""]
