"""Cells of a number: full enough to be seen, and cut where they are too wide for what they hold."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernelease.methods.interactions.singles import cells_of, halve_cells

EDGES = np.linspace(0.0, 500.0, 129)
ENDS = EDGES[:-1], EDGES[1:]
SKEWED = 30_000.0 * np.diff(1.0 - np.exp(-EDGES / 30.0))
ROWS = np.append(SKEWED, 900.0)  # the last are NULL
CELLS = cells_of(ROWS / ROWS.sum(), 0.03, 128)


def halves(cells: np.ndarray) -> np.ndarray:
    return np.array([np.ptp(EDGES[np.append(atoms, atoms[-1] + 1)]) / 2.0 for atoms in _members(cells)])


def _members(cells: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(cells[:128] == cell) for cell in range(int(cells[127]) + 1)]


def test_the_tail_of_a_skewed_number_is_parted() -> None:
    """What rows of wide cells may be off falls below what the noise makes of the sum."""
    found = halve_cells(CELLS, ROWS, ENDS, 40.0)
    before, after = (float(np.bincount(c[:128], SKEWED) @ halves(c)) for c in (CELLS, found))
    assert before > 10.0 * 40.0 * 500.0 / 2.0
    assert after < 0.3 * before
    assert halves(found).max() < halves(CELLS).max() / 1.4  # atoms without rows at its end don't make a cell wide
    assert int(found[128]) == int(found[127]) + 1


@pytest.mark.slow
@given(noise=st.floats(0.0, 1e9), rows=st.lists(st.floats(0.0, 1e6), min_size=129, max_size=129))
@settings(deadline=None)
def test_cells_are_only_ever_cut(noise: float, rows: list[float]) -> None:
    found = halve_cells(CELLS, np.array(rows), ENDS, noise)
    assert sorted(set(found.tolist())) == list(range(int(found.max()) + 1))
    assert (np.diff(found) >= 0).all()
    assert len(np.unique(np.stack([found, CELLS]), axis=1).T) == int(found.max()) + 1


@pytest.mark.parametrize("noise", [1e9, np.inf])
def test_much_noise_cuts_nothing(noise: float) -> None:
    assert np.array_equal(halve_cells(CELLS, ROWS, ENDS, noise), CELLS)
