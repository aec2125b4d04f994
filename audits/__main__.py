"""`python -m audits`: run every case, print one table, write docs/audit-results.md.

Fails where a claim or an audit does.
"""

import argparse
import sys
import time
import traceback
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

import kernelease
from audits.case import Case, Effort
from audits.catalogue import all_cases
from audits.report import Line, document

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "audit-results.md"


def main() -> int:
    """Run, print, write."""
    arguments = _arguments()
    effort = Effort.FAST if arguments.fast else Effort.FULL
    chosen = [case for case in all_cases() if arguments.only in case.name]
    console, lines = Console(width=None if sys.stdout.isatty() else 140), []
    for number, case in enumerate(chosen, start=1):
        console.print(f"[{number}/{len(chosen)}] {case.kind}: {case.name} ...", end=" ", markup=False, highlight=False)
        lines.append(run(case, effort))
        console.print("ok" if lines[-1].passes else "FAILED", f"{lines[-1].seconds:.1f} s", highlight=False)
    console.print(_table(lines))
    failed = [line.case.name for line in lines if not line.passes]
    total = sum(line.seconds for line in lines) / 60
    console.print(f"{len(lines) - len(failed)} of {len(lines)} cases pass, in {total:.1f} minutes.", highlight=False)
    if arguments.write:
        today = datetime.now(UTC).date()
        DOCUMENT.write_text(document(lines, effort=effort, version=kernelease.__version__, today=today), "utf-8")
    return 1 if failed or not lines else 0


def run(case: Case, effort: Effort) -> Line:
    """One case. An exception is a failure of that case, and the others go on."""
    start = time.perf_counter()
    try:
        verdict, error = case.run(effort), ""
    except Exception as problem:  # noqa: BLE001  # whatever it is, it is shown and counted
        traceback.print_exc()
        verdict, error = None, type(problem).__name__
    return Line(case=case, verdict=verdict, error=error, seconds=time.perf_counter() - start)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m audits", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="the effort that the tests use")
    parser.add_argument("--only", default="", help="cases whose name contains this text")
    parser.add_argument("--write", action="store_true", help=f"write {DOCUMENT.name}")
    arguments = parser.parse_args()
    if arguments.write and arguments.only:
        parser.error("--write is for the whole table; leave out --only.")
    return arguments


def _table(lines: list[Line]) -> Table:
    table = Table("attack or fault", "trials", "result", "the broken twin", show_lines=True)
    for line in lines:
        table.add_row(*line.cells, style="" if line.passes else "bold red")
    return table


if __name__ == "__main__":
    sys.exit(main())
