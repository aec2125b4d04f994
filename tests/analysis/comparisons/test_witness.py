"""Where two distributions differ, with errors of the right size."""

import numpy as np
import pytest

import kernelease as ke
from tests.analysis.comparisons.releases import NORMAL, OLDER, OTHER, RELEASE, SAME, VECTORS


def test_witness_shows_where():
    cells = [one.columns for one in RELEASE.tests.witness(OLDER).top(5)]
    assert cells.count("age") >= 3
    differences = RELEASE.tests.witness(OLDER, columns=("age", "smoker"))
    assert differences.differences[0].columns == "age × smoker"
    assert RELEASE.tests.witness(OTHER).top(1)[0].columns == "age"
    assert "age" in str(RELEASE.tests.witness(OLDER))


def test_witness_errors_are_of_the_right_size():
    z = np.array([one.z for one in RELEASE.tests.witness(SAME).differences])
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3  # 102 cells: beyond once in a million


def test_witness_as_table_and_picture():
    witness = RELEASE.tests.witness(OLDER)
    assert witness.to_arrow().num_rows == len(witness.differences) == 64 + 32 + 4 + 2
    assert "vconcat" in witness.plot().to_dict()
    assert "layer" in witness.plot("ward").to_dict()
    with pytest.raises(ke.errors.ParameterError, match="there is no 'city'"):
        witness.plot("city")


def test_witness_of_vectors():
    witness = VECTORS.tests.witness(NORMAL + 1.0)
    assert len(witness.differences) == len(VECTORS.points)
    assert abs(witness.top(1)[0].z) > 4.0


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: RELEASE.tests.witness(SAME, columns=("age", "wart")), "Did you mean ward"),
    ],
)
def test_refuses(ask, message):
    with pytest.raises(ValueError, match=message):
        ask()
