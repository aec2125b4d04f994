"""`kernelease answers`: what a release can and can't answer."""

from kernelease.cli.options import Bundle, Json, Quiet
from kernelease.cli.screen import Screen, grid, line

_NOTE = (
    "A usable group has a 95 % interval of its size that reaches at most a quarter of it to either side. The smallest "
    "is for a group that is one cell; of k cells it is √k times as large."
)


def answers(bundle: Bundle, as_json: Json = False, quiet: Quiet = False) -> None:
    """Show what a release can and can't answer: for each column and pair, its noise and the smallest usable group.

    A pair that was not measured together can be asked about, but only bounds from its single columns are known.
    """
    from kernelease.analysis.evidence import HEADER
    from kernelease.bundle.saving import load_table

    found = load_table(bundle).answers()
    fields = [
        {
            "columns": list(item.columns),
            "measured": item.measured,
            "cells": item.cells,
            "noise": item.noise,
            "smallest_group": item.smallest,
            "smallest_share": item.share(found.rows),
        }
        for item in found.items
    ]
    note = () if quiet else (line(_NOTE),)
    told = {"rows": found.rows, "notices": list(found.notices), "answers": fields}
    Screen(json=as_json, quiet=quiet).result(told, *map(line, found.notices), grid(HEADER, found.lines), *note)
