"""How far two tables are apart in their marginals."""

import numpy as np
import pytest

from kernelease.analysis import marginal_errors
from kernelease.errors import ParameterError


def test_marginal_errors_of_a_table_with_itself_are_0():
    codes = np.random.default_rng(0).integers(0, 3, (50, 3))
    same = marginal_errors(codes, codes[::-1], (3, 3, 3))
    assert same.mean_one_way == same.mean_two_way == 0.0
    assert marginal_errors(codes[:, :1], codes[:, :1], (3,)).mean_two_way == 0.0
    with pytest.raises(ParameterError, match="at least one row"):
        marginal_errors(codes, codes[:0], (3, 3, 3))
