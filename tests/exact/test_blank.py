"""Blank rows: all that is public of a table, and sums of 0."""

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.measured.counts import Counts
from kernelease.methods.retracing import BlankRows
from kernelease.privacy import Neighbours
from tests.privacy.toys import OneHot

NONE = np.empty((0, 2))


def test_only_the_public_is_there() -> None:
    rows = BlankRows(width=2, count=7, published=np.ones((3, 2)))
    assert rows.width == 2
    assert rows.public_count(Neighbours.REPLACE_ONE) == 7
    assert rows.public_count(Neighbours.ADD_REMOVE) is None
    assert rows.array().shape == (0, 2)
    assert rows.first(2).tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_counts_are_zero_and_of_a_stated_number() -> None:
    counts = BlankRows(width=2, count=7, published=NONE, sizes=(2, 3), unit=6).counts()
    assert counts.public_rows(Neighbours.REPLACE_ONE) == 7.0
    pair = Counts(columns=(0, 1), groups=(np.arange(2), np.arange(3)), share=1.0)
    assert [table.sum() for table in counts._exact([pair])] == [0]


def test_what_rows_of_this_kind_refuse() -> None:
    with pytest.raises(ParameterError, match="declared columns"):
        BlankRows(width=2, count=7, published=NONE).counts()
    with pytest.raises(ParameterError, match="rows, not persons"):
        BlankRows(width=1, count=7, published=NONE, sizes=(2,), unit=6).embedding(OneHot(categories=2))
