"""`kernelease answers`: what a release can and can't answer."""

from typing import Annotated

import typer

from kernelease.cli.options import Bundle
from kernelease.cli.screen import Screen, grid, line

_NOTE = (
    "A group is usable if its size is known to within a quarter. The figure is for a group of one cell; a group of k "
    "cells must be √k times as large."
)
_PAIRS = 40  # shown of all pairs. convention: a page or two


def answers(
    bundle: Bundle,
    *,
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="List every pair, not the best forty.")] = False,
    screen: Screen,
) -> None:
    """Show what a release can and can't answer: for each column and pair, its noise and the smallest usable group.

    A pair that was not measured together can be asked about, but only bounds from its single columns are known.
    """
    from kernelease.analysis.evidence import HEADER
    from kernelease.answers.release import load_table
    from kernelease.report.columns import worth_in_words

    found = load_table(bundle).answers()
    fields = [
        {
            "columns": list(item.columns),
            "measured": item.is_measured,
            "cells": item.cells,
            "noise": item.noise,
            "smallest_group": item.smallest,
            "smallest_share": item.share(found.rows),
        }
        for item in found.items
    ]
    pairs = sum(len(item.columns) == 2 for item in found.items)
    shown = found if all_pairs or pairs <= _PAIRS else found.best(_PAIRS)
    left_out = [f"and {pairs - _PAIRS:,} pairs that show less (--all-pairs lists them)"] if shown is not found else []
    note = () if screen.quiet else (line(_NOTE),)
    told = {"rows": found.rows, "notices": list(found.notices), "answers": fields}
    above = [] if screen.quiet else [*map(line, worth_in_words(found)), line("")]
    screen.result(told, *map(line, found.notices), *above, grid(HEADER, shown.lines), *map(line, left_out), *note)
