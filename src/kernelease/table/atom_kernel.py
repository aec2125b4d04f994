"""A kernel on encoded rows, made from a schema alone: the owner knows columns, not kernels."""

from collections.abc import Sequence

from kernelease.errors import CapacityError
from kernelease.kernels.atom_product import AtomProduct
from kernelease.kernels.categorical import Similarity
from kernelease.kernels.kernel import Kernel
from kernelease.table.columns.column import MOST_ATOMS, Column
from kernelease.table.likeness import CONTRAST, likeness


def atom_kernel(columns: Sequence[Column]) -> Kernel:
    """k(x, y) = Π over columns of (1 − c) + c·likeness of the two atoms, on rows of atom codes.

    Ordered atoms are alike as a Gaussian of their distance, with a lengthscale of a fifth of the declared range; others
    are alike only to themselves. Nothing is read from private rows.
    """
    return AtomProduct(columns=tuple(_column_kernel(column) for column in columns))


def _column_kernel(column: Column) -> Similarity:
    if column.size > MOST_ATOMS:
        raise CapacityError(
            f"column {column.name!r} has {column.size:,} values; a kernel takes at most {MOST_ATOMS:,}. Release it by "
            "its counts, the default method, or declare its groups as a category."
        )
    matrix = (1.0 - CONTRAST) + CONTRAST * likeness(column)
    return Similarity(
        values=tuple(float(code) for code in range(column.size)),
        matrix=tuple(tuple(row) for row in matrix.tolist()),
        default=float(column.unknown),
    )
