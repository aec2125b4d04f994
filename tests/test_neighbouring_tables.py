"""Neighbouring tables leave the same bytes behind: every pair of the audit, one by one."""

import pytest

from audits.neighbours import BY_LINES, PAIRS, bare_mechanisms, differences, fixed_mechanisms


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.name)
def test_a_neighbouring_table_changes_no_byte(pair):
    with fixed_mechanisms():
        assert differences(pair) == []


@pytest.mark.slow
def test_lines_taken_for_records_are_seen():
    """Another broken twin: a comment of five lines makes five rows, and the number of rows is public."""
    with fixed_mechanisms():
        assert "certificate.json" in differences(BY_LINES)


@pytest.mark.slow
def test_the_comparison_can_fail():
    """The broken twin: with the exact counts let through, the same two tables differ."""
    with bare_mechanisms():
        assert differences(PAIRS[0])
