"""What a release says about what it can answer."""

import numpy as np
import pytest

from kernelease.analysis.answers import answers
from kernelease.analysis.averages import count
from tests.analysis.tables import people, simple

ROWS = 3_000
TABLE = people(ROWS)


def test_each_column_and_pair_is_there():
    found = answers(simple(TABLE, 10.0, sets=[(0,), (1,), (2,), (3,), (4,), (0, 1)]))
    assert len(found.items) == 5 + 10
    assert found["age"].measured
    assert found["age"].cells == 48
    assert found["age"].noise == 10.0
    assert found["sex", "age"].measured
    assert not found["age", "kids"].measured
    assert found["age", "kids"].share(ROWS) is None
    assert "not measured" in str(found)
    assert "<td>age × kids</td>" in found._repr_html_()
    with pytest.raises(KeyError):
        found["agee"]


def test_the_smallest_group_is_usable():
    evidence = simple(TABLE, 10.0)
    smallest = answers(evidence)["age"].smallest
    margins = [count(evidence, f"age == {age}").margin() for age in (25, 40, 60)]
    assert np.max(margins) <= 0.25 * smallest
    assert np.max(margins) >= 0.6 * 0.25 * smallest


def test_a_column_is_also_seen_through_its_pairs():
    assert answers(simple(TABLE, 10.0, sets=[(0, 1)]))["sex"].noise == pytest.approx(10.0 * np.sqrt(48))


def test_where_the_noise_hides_everything():
    assert "hides every single cell" in str(answers(simple(TABLE, 1_000.0)))
