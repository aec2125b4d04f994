"""Cells of a column in words."""

from collections.abc import Sequence

import numpy as np

from kernelease.table.columns.column import Column
from kernelease.table.columns.hierarchy import Hierarchy


def cell_label(column: Column, atoms: Sequence[int]) -> str:
    """Some atoms of a column in words: a range of numbers or dates, or values with "or" between them."""
    labels = column.labels()
    if isinstance(column, Hierarchy):
        return " or ".join(_leaf_labels(column, labels, atoms))
    return (_range_label if column.ordered else " or ".join)([labels[atom] for atom in atoms])


def _leaf_labels(column: Hierarchy, labels: Sequence[str], atoms: Sequence[int]) -> list[str]:
    """The names of whole groups, and of the leaves of others.

    >>> code = Hierarchy(name="code", values=("E10", "E11", "I10", "I11"), prefix=1)
    >>> cell_label(code, (0, 1, 2))
    'E or I10'
    """
    groups, names = column.atom_groups, column.group_labels
    members, whole = np.bincount(groups), np.bincount(groups[list(atoms)], minlength=len(names))
    found: dict[str, None] = {}
    for atom in atoms:
        group = int(groups[atom])
        several = members[group] > 1 and whole[group] == members[group]
        found[names[group] if several else labels[atom]] = None
    return list(found)


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
