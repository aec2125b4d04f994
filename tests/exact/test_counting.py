"""Partial counts: the same bits whatever the threads, the batches and where rows are kept."""

import itertools
from collections import Counter
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.exact import counting
from kernelease.exact.counting import PartialCounts, count_blocks
from kernelease.measured.blocks import Block
from kernelease.measured.counts import Counts
from kernelease.passes import Batch, EncodedRows, Layout

SIZES = (3, 2, 300, 5)


def blocks_of(sets: list[tuple[int, ...]], coarse: bool) -> list[Block]:
    cells = [np.arange(size) // 2 if coarse else np.arange(size) for size in SIZES]
    return [Counts(columns=s, groups=tuple(cells[c] for c in s), share=0.0) for s in sets]


def cut(codes: np.ndarray, weights: np.ndarray | None, places: list[int]) -> list[Batch]:
    borders = [0, *sorted(place % (codes.shape[1] + 1) for place in places), codes.shape[1]]
    return [(codes[:, a:b], None if weights is None else weights[a:b]) for a, b in itertools.pairwise(borders)]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(*(st.integers(0, size - 1) for size in SIZES)), max_size=40),
    weighted=st.booleans(),
    places=st.lists(st.integers(0, 2**16), max_size=5),
    threads=st.integers(1, 4),
    chunk=st.sampled_from([1, 3, 2**17]),
    kept=st.sampled_from([0, 40, 2**20]),
    coarse=st.booleans(),
    four_bytes=st.sampled_from([2, 2**31 - 1]),
)
def test_the_same_bits_whatever_the_threads_and_batches(
    rows: list[tuple[int, ...]],
    weighted: bool,
    places: list[int],
    threads: int,
    chunk: int,
    kept: int,
    coarse: bool,
    four_bytes: int,
) -> None:
    codes = np.array(rows, dtype=np.int32).reshape(-1, len(SIZES)).T
    weights = np.arange(1, len(rows) + 1, dtype=np.int64) * 2**40 if weighted else None
    sets = [(0,), (2,), (0, 1), (3, 2), (1, 3), (0, 1, 3)]
    blocks = blocks_of(sets, coarse)
    with (
        mock.patch.object(counting, "CHUNK", chunk),
        mock.patch.object(counting, "_FOUR_BYTES", four_bytes),
        mock.patch("kernelease.passes.MOST_KEPT", kept),
    ):
        encoded = EncodedRows(lambda: iter(cut(codes, weights, places)), SIZES, weighted=weighted)
        first, second = (count_blocks(encoded, blocks, SIZES, threads=threads) for _ in range(2))
    for block, table, again in zip(blocks, first, second, strict=True):
        by_hand: Counter[tuple[int, ...]] = Counter()
        for index, row in enumerate(rows):
            cell = tuple(int(g[row[c]]) for c, g in zip(block.columns, block.groups, strict=True))
            by_hand[cell] += 1 if weights is None else int(weights[index])
        assert table.dtype == np.int64
        assert {cell: int(count) for cell, count in np.ndenumerate(table) if count} == by_hand
        np.testing.assert_array_equal(again, table, strict=True)


def test_partial_counts_add_up() -> None:
    layout = Layout.of(blocks_of([(0, 1)], False), SIZES)
    codes = np.array([[0, 1, 2, 2], [1, 1, 0, 0], [0] * 4, [0] * 4])
    whole, first, second = (PartialCounts(layout) for _ in range(3))
    whole.add((codes, None))
    first.add((codes[:, :1], None))
    second.add((codes[:, 1:], None))
    np.testing.assert_array_equal(first.total() + second.total(), whole.total(), strict=True)
    assert whole.total().sum() == 4


def test_counts_outgrow_four_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_FOUR_BYTES", 4)
    part = PartialCounts(Layout.of(blocks_of([(0, 1)], False), SIZES))
    part.add((np.zeros((4, 4), dtype=np.uint8), None))
    assert part.total()[0] == 4
    assert part._counts.dtype == np.int32
    part._counts[0] = 2**31 - 1  # as after so many rows
    part.add((np.zeros((4, 1), dtype=np.uint8), None))
    assert part.total()[0] == 2**31


def test_fewer_threads_count_large_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "_MOST_TABLES", 1)
    codes = np.zeros((4, 10), dtype=np.int32)
    (table,) = count_blocks([(codes, None)] * 3, blocks_of([(0, 1)], False), SIZES, threads=4)
    assert table[0, 0] == 30


def test_a_code_beyond_its_column_is_an_error_and_not_a_stray_write() -> None:
    for coarse in (False, True):
        counts = PartialCounts(Layout.of(blocks_of([(0, 1)], coarse), SIZES))
        for beyond in (2, -1):
            with pytest.raises(IndexError):
                counts.add((np.array([[0], [beyond], [0], [0]]), None))


def test_a_plan_whose_cells_are_beyond_its_table_is_refused() -> None:
    layout = Layout.of(blocks_of([(0, 1)], coarse=False), SIZES)
    assert PartialCounts(layout).total().sum() == 0
    with pytest.raises(IndexError, match="cells beyond the table"):
        PartialCounts(replace(layout, lengths=(2, *layout.lengths[1:])))
