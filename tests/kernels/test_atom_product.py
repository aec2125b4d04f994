"""The kernel of encoded rows is the product of its columns' similarities, to the bit."""

import numpy as np
import pytest

from kernelease.conformance import check_kernel
from kernelease.errors import ParameterError
from kernelease.kernels import OnColumns, Product, Similarity
from kernelease.kernels.composite import AtomProduct
from kernelease.table import Schema
from kernelease.table.atom_features import atom_kernel

SCHEMA = Schema.parse(
    """
    [columns.a]
    type = "integer"
    min = 0
    max = 9
    nullable = true
    [columns.b]
    type = "category"
    values = ["x", "y"]
    """
)
KERNEL = atom_kernel(SCHEMA.columns)
ROWS = np.random.default_rng(0).integers(0, [11, 2], (40, 2)).astype(np.float64)


def test_conformance():
    check_kernel(KERNEL, ROWS)


def test_it_is_the_product():
    slow = Product(kernels=tuple(OnColumns(kernel=part, columns=(i,)) for i, part in enumerate(KERNEL.columns)))
    assert np.array_equal(KERNEL.gram(ROWS, ROWS[:7]), slow.gram(ROWS, ROWS[:7]))
    assert np.array_equal(KERNEL.diagonal(ROWS), slow.diagonal(ROWS))
    assert (KERNEL.bound, KERNEL.nonnegative) == (slow.bound, slow.nonnegative)
    assert KERNEL.evaluation_error(2) == slow.evaluation_error(2)


def test_every_cell_has_a_place():
    odd = np.array([[np.nan, np.inf], [-np.inf, -3.0], [1e300, 0.4]])
    assert KERNEL.admit(odd).tolist() == [[0.0, 1.0], [0.0, 0.0], [10.0, 0.0]]


def test_refusals():
    with pytest.raises(ParameterError, match="values are 0, 1, 2"):
        AtomProduct(columns=(Similarity(values=("x",), matrix=((1.0,),), default="x"),))
    with pytest.raises(ParameterError, match="must have 2 columns"):
        KERNEL.gram(ROWS[:, :1], ROWS[:, :1])
