"""The table of results: on the terminal, and as docs/audit-results.md."""

from dataclasses import dataclass
from datetime import date

from audits.case import Case, Effort, Verdict

INTRODUCTION = """\
# What the audits found

`make audit` attacks the guarantee and the programs that carry it. Each line is a claim that was tried: over so many
trials, with this result. Where there is a *broken twin*, a version of the product with one known mistake went through
the same procedure, and the procedure had to refuse it: an audit that would also pass a broken mechanism proves nothing.

Statistical audits raise a false alarm with probability at most 10⁻⁶ each, and miss their twin with probability at most
10⁻³ (`tests/audits/test_attacker.py`). A lower bound on μ or ε is what an attacker is *proved* to have, up to that
error; it may come near the claim, and may not pass it. What is protected from whom is in [security](security.md).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A case with what came of it: a verdict, or the error that ended it."""

    case: Case
    verdict: Verdict | None
    error: str
    seconds: float

    @property
    def passes(self) -> bool:
        """Whether the claim held and the twin was caught."""
        return self.verdict is not None and self.verdict.passes

    @property
    def cells(self) -> tuple[str, str, str, str]:
        """Attack or fault, trials, result, and the broken twin's result."""
        if self.verdict is None:
            return f"{self.case.kind}: {self.case.name}", "", f"ERROR {self.error}", ""
        result = f"{'holds' if self.verdict.holds else 'BROKEN'}: {self.verdict.measured}"
        return f"{self.case.kind}: {self.case.name}", f"{self.verdict.trials:,}", result, _twin(self.verdict)


def _twin(verdict: Verdict) -> str:
    if verdict.twin_caught is None:
        return ""
    return f"{'caught' if verdict.twin_caught else 'MISSED'}: {verdict.twin}"


def document(lines: list[Line], *, effort: Effort, version: str, today: date) -> str:
    """docs/audit-results.md."""
    passed, twins = sum(line.passes for line in lines), [line.verdict.twin_caught for line in lines if line.verdict]
    minutes = sum(line.seconds for line in lines) / 60
    head = (
        f"Run on {today.isoformat()} with kernelease {version}, effort {effort.value}, in {minutes:.1f} minutes: "
        f"{passed} of {len(lines)} cases pass, {twins.count(True)} of {len(twins) - twins.count(None)} "
        "broken twins are caught."
    )
    rows = [("attack or fault", "trials", "result", "the broken twin"), ("---",) * 4, *(line.cells for line in lines)]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    claims = "\n".join(f"- *{line.case.name}*: {line.case.claim}" for line in lines)
    return f"{INTRODUCTION}\n{head}\n\n{table}\n\n## The claims\n\n{claims}\n"
