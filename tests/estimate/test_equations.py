"""The equations of the best linear estimate, solved in three ways, against the matrix written out."""

import numpy as np
import pytest

from kernelease.errors import CapacityError
from kernelease.estimate.marginal import CorrectedEquations, IteratedEquations, WholeEquations, equations
from kernelease.measured.views import Precision

ROWS, COLUMNS = 20, 30
CELLS = ROWS * COLUMNS
FINE = Precision(index=np.arange(CELLS), weights=np.linspace(1.0, 2.0, CELLS))
DOWN = Precision(index=np.repeat(np.arange(ROWS), COLUMNS), weights=np.linspace(0.1, 3.0, ROWS))
ACROSS = Precision(index=np.tile(np.arange(COLUMNS), ROWS), weights=np.full(COLUMNS, 0.5))
LESS = Precision(index=ACROSS.index, weights=np.full(COLUMNS, -0.52))  # takes back more than `ACROSS` tells
WAYS = [WholeEquations, CorrectedEquations, IteratedEquations]


def written_out(*terms):
    """M = Σ GᵀPG, with each G as a matrix."""
    sums = [np.eye(len(term.weights))[:, term.index] for term in terms]
    return sum(one.T @ (term.weights[:, None] * one) for one, term in zip(sums, terms, strict=True))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("terms", [(FINE,), (FINE, DOWN, ACROSS), (FINE, FINE, DOWN, ACROSS, LESS)])
def test_every_way_solves_the_same_equations(way, terms, monkeypatch):
    monkeypatch.setattr("kernelease.estimate.marginal._cheapest", lambda diagonal, sums: way)
    functions = np.random.default_rng(0).normal(size=(CELLS, 3))
    found = equations(CELLS, terms)
    np.testing.assert_allclose(found.matrix, written_out(*terms))
    np.testing.assert_allclose(found.solve(functions), np.linalg.solve(written_out(*terms), functions), rtol=1e-6)
    assert found.solve(np.zeros((CELLS, 1))).tolist() == [[0.0]] * CELLS


def test_the_smaller_matrix_is_factored(monkeypatch):
    """Few sums beside many cells; cells as they are where they are few, or not counted; iterated where all are many."""
    coarse = Precision(index=np.arange(CELLS) // 2, weights=np.ones(CELLS // 2))
    assert isinstance(equations(CELLS, (FINE, DOWN, ACROSS)), CorrectedEquations)
    assert isinstance(equations(CELLS, (coarse, DOWN)), WholeEquations)
    assert isinstance(equations(4, [Precision(index=np.arange(4), weights=np.ones(4))]), WholeEquations)
    monkeypatch.setattr("kernelease.estimate.marginal.LARGEST", 30)
    assert isinstance(equations(CELLS, (FINE, DOWN, ACROSS)), IteratedEquations)


def test_cells_that_nothing_tells_apart():
    """Two cells of which the sum was counted; many, of which it is taken back that their sum is known."""
    both = Precision(index=np.zeros(2, dtype=np.int64), weights=np.ones(1))
    with pytest.raises(CapacityError, match="leave some cells unknown"):
        equations(2, [both]).solve(np.eye(2))
    cells = Precision(index=np.arange(CELLS), weights=np.ones(CELLS))
    back = Precision(index=np.zeros(CELLS, dtype=np.int64), weights=np.array([-1.0 / CELLS]))
    with pytest.raises(CapacityError, match="could not be combined"):
        equations(CELLS, (cells, back)).solve(np.ones((CELLS, 1)))


def test_a_matrix_that_has_no_inverse():
    """Weights that a computer takes back to the last bit."""
    cells = Precision(index=np.arange(512), weights=np.ones(512))
    back = Precision(index=np.arange(512) // 2, weights=np.full(256, -0.5))
    with pytest.raises(CapacityError, match="leave some cells unknown"):
        equations(512, (cells, back)).solve(np.ones((512, 1)))


def test_digits_that_the_factor_loses_are_won_back():
    """A total known a million times better than any cell."""
    total = Precision(index=np.zeros(CELLS, dtype=np.int64), weights=np.array([1e6]))
    found = equations(CELLS, (FINE, DOWN, ACROSS, total))
    ones = np.ones((CELLS, 1))
    assert isinstance(found, CorrectedEquations)
    variance = float((ones.T @ found.solve(ones))[0, 0])
    exact = float((ones.T @ np.linalg.solve(found.matrix, ones))[0, 0])
    assert variance == pytest.approx(exact, rel=1e-6)
    assert variance == pytest.approx(1e-6, rel=1e-2)
