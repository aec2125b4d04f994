"""Contingency tables: combined from several blocks, and compared with those of another table."""

import numpy as np
import pytest

from benchmarks.simulated import measured, people
from kernelease.analysis import marginal_errors
from kernelease.analysis.comparisons.tables import contingency_tables
from kernelease.errors import ParameterError

TABLE = people(np.random.default_rng(0), 1_000)


def test_blocks_that_hold_a_column_are_combined_by_precision():
    noisy = measured(TABLE, epsilon=1.0, generator=np.random.default_rng(0))
    ward = next(one for one in contingency_tables(noisy).values() if one.columns == (2,))
    variances = [block.sigma**2 * block.block.cells / 4 for block in noisy.blocks if 2 in block.block.columns]
    assert ward.variance == pytest.approx(1.0 / sum(1.0 / variance for variance in variances))
    assert ward.variance < min(variances)


def test_marginal_errors_of_a_table_with_itself_are_0():
    codes = np.random.default_rng(0).integers(0, 3, (50, 3))
    same = marginal_errors(codes, codes[::-1], (3, 3, 3))
    assert same.mean_one_way == same.mean_two_way == 0.0
    assert marginal_errors(codes[:, :1], codes[:, :1], (3,)).mean_two_way == 0.0
    with pytest.raises(ParameterError, match="at least one row"):
        marginal_errors(codes, codes[:0], (3, 3, 3))
