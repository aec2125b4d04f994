"""Cells of a column in words."""

from collections.abc import Sequence

from kernelease.table.columns.column import Column


def cell_label(column: Column, atoms: Sequence[int]) -> str:
    """Some atoms of a column in words: a range of numbers or dates, or values with "or" between them."""
    labels = column.labels()
    return (_range_label if column.ordered else " or ".join)([labels[atom] for atom in atoms])


def _range_label(labels: Sequence[str]) -> str:
    """One label for neighbouring cells.

    >>> _range_label(["18..20", "21..23"]), _range_label(["0.0", "(0, 1.25)", "[1.25, 2.5)"]), _range_label(["7", "8"])
    ('18..23', '[0.0, 2.5)', '7..8')
    """
    first, last = labels[0], labels[-1]
    if len(labels) == 1:
        return first
    if not any(label.startswith(("[", "(")) for label in labels):
        return f"{first.partition('..')[0]}..{last.rpartition('..')[2]}"
    start = first.partition(", ")[0] if ", " in first else f"[{first}"
    return f"{start}, {last.partition(', ')[2] if ', ' in last else f'{last}]'}"
