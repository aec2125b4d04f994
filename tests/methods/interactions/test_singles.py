"""Single columns: which are measured without their mean, and how the budget is parted among them."""

import numpy as np
import pytest

from kernelease.measured.contrasts import Contrasts
from kernelease.methods.interactions.singles import centres, number_of_rows, single_blocks
from kernelease.privacy import Neighbours
from kernelease.table import Category

COLUMNS = [Category(name=f"c{size}", values=tuple(map(str, range(size)))) for size in (1, 2, 9)]


@pytest.mark.parametrize(
    ("columns", "neighbours", "pure", "expected"),
    [
        (3, Neighbours.ADD_REMOVE, False, True),
        (3, Neighbours.REPLACE_ONE, False, False),  # a row in place of another moves no mean
        (3, Neighbours.ADD_REMOVE, True, False),  # in L1 a row moves them farther
        (1, Neighbours.ADD_REMOVE, False, False),
    ],
)
def test_columns_go_without_their_mean_where_a_row_moves_them_less(columns, neighbours, pure, expected):
    assert centres(columns, neighbours, pure=pure) is expected


def test_a_column_of_one_value_has_nothing_but_its_mean():
    blocks = single_blocks(COLUMNS, 0.5, centred=True)
    assert [isinstance(block, Contrasts) for block in blocks] == [False, True, True]
    assert sum(block.share for block in blocks) == pytest.approx(0.5)


def test_what_a_column_needs_decides_its_share():
    alike = single_blocks(COLUMNS, 1.0, centred=True, needs=[4.0, 4.0, 4.0])
    np.testing.assert_allclose([block.share for block in alike], 1.0 / 3.0)
    assert [block.share for block in single_blocks(COLUMNS, 1.0, centred=True)] == sorted(
        block.share for block in single_blocks(COLUMNS, 1.0, centred=True)
    )


def test_the_number_of_rows_is_a_block_of_no_column():
    assert (number_of_rows(0.1).columns, number_of_rows(0.1).cells) == ((), 1)
