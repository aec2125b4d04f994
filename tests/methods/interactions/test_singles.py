"""Single columns: which are measured without their mean, and how the budget is parted among them."""

import math

import numpy as np
import pytest

from kernelease.measured.counts import Contrasts
from kernelease.methods.interactions.interactions import least_share
from kernelease.methods.interactions.singles import Shares, centres, number_of_rows, single_blocks
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


@pytest.mark.parametrize("aside", [(0.0,), (0.08,), (0.58,), (0.58, 0.2 / 0.42)])
@pytest.mark.parametrize("known_rows", [True, False])
def test_parts_beside_what_is_set_aside_add_up_to_the_rest(aside: tuple[float, ...], known_rows: bool) -> None:
    """The number of rows is counted before anything is known: its part is the same whatever is set aside."""
    shares = whole = Shares.rule(20, 50.0, known_rows=known_rows, target=False, interactions=True)
    for part in aside:
        shares = shares.beside(part)
    parts = (shares.size, shares.singles, shares.pairs, shares.choice, shares.triples, shares.details)
    assert sum(parts) == pytest.approx(math.prod(1.0 - part for part in aside))
    assert min(parts[1:]) > 0.0
    assert shares.size == whole.size


def test_after_a_closer_look_what_follows_pairs_shares_what_is_left():
    shares = Shares.rule(20, 50.0, known_rows=True, target=False, interactions=True)
    left = shares.details + shares.choice + shares.triples
    after = shares.after(2.0 / 3.0)
    assert left > 0.0
    assert after.details + after.choice + after.triples == pytest.approx(2.0 / 3.0 * left)
    assert (after.singles, after.pairs) == (shares.singles, shares.pairs)


def test_a_look_gets_no_more_than_it_takes_and_nothing_where_that_is_too_much():
    share = least_share(lambda part: 5.0 / part**0.5, 50.0, 0.14)
    assert share == pytest.approx(0.01, rel=0.02)
    assert least_share(lambda part: 5.0 / part**0.5, 5.0, 0.14) is None
