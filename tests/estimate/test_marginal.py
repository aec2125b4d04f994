"""The combination of blocks, against generalised least squares written out."""

import functools
import math
import pickle
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kernelease.analysis.averages import mean, probability
from kernelease.analysis.estimate import Target
from kernelease.analysis.frechet import FrechetLimits
from kernelease.errors import CapacityError, ParameterError
from kernelease.estimate.marginal import (
    REMEMBERED,
    CorrectedEquations,
    IteratedEquations,
    MeasuredMarginal,
    WholeEquations,
    tabulation,
)
from kernelease.measured.counts import Contrasts, Counts, NoisyContrasts
from kernelease.measured.views import common_coarsening
from kernelease.privacy.sensitivity import Neighbours
from kernelease.table import Schema
from tests.analysis.tables import evidence_of, exact_blocks, noisy_blocks, people, simple
from tests.measured.kinds import as_contrasts

ROWS = 500
WAYS = [WholeEquations, CorrectedEquations, IteratedEquations]


def solve_by(way, monkeypatch):
    """Solve the equations in one way, whatever their size."""
    monkeypatch.setattr("kernelease.estimate.marginal._cheapest", lambda diagonal, sums: way)


def dense(evidence, columns):
    """The design matrix, data and variances of all blocks, over the joint cells of all columns in them."""
    schema, blocks = evidence.schema, evidence.measured.blocks
    sizes = [schema.columns[c].size for c in columns]
    matrix, data, variances = [], [], []
    atoms = np.indices(sizes).reshape(len(sizes), -1)
    for noisy in blocks:
        block = noisy.block
        if set(block.columns) <= set(columns):
            places = [g[atoms[columns.index(c)]] for g, c in zip(block.groups, block.columns, strict=True)]
            joint = np.ravel_multi_index(places, block.shape) if places else np.zeros(atoms.shape[1], dtype=int)
            sides = [np.eye(size) - isinstance(block, Contrasts) / size for size in block.shape]
            matrix.append(functools.reduce(np.kron, sides, np.eye(1))[:, joint])
            data.append(noisy.values.ravel())
            variances.append(np.full(block.cells, noisy.sigma**2))
    return np.vstack(matrix), np.concatenate(data), np.concatenate(variances)


def centred(exact):
    """The number of rows, then the same blocks without their means."""
    count = Counts(columns=(), groups=(), share=0.1), np.array([float(ROWS)])
    return [count, *((as_contrasts(block), counts) for block, counts in exact)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("columns", [(0,), (2,), (0, 2), (1, 2)])
def test_centred_columns_and_the_number_of_rows_are_generalised_least_squares(columns, way, monkeypatch):
    """Columns atom by atom, twice, and the first in runs; pairs in fewer cells, one of them the other way round."""
    solve_by(way, monkeypatch)
    exact = exact_blocks(people(ROWS), sets=[(0,), (1,), (2,), (0,), (2,), (0, 2), (2, 1)], cells=12)
    runs = replace(exact[0][0], groups=(np.arange(48) // 8,))
    exact.append((runs, np.bincount(runs.groups[0], exact[0][1])))
    sigmas = [9.0, 3.0, 7.0, 5.0, 2.0, 4.0, 6.0, 8.0, 3.5]
    noisy = noisy_blocks(centred(exact), ROWS, sigmas, np.random.default_rng(5), neighbours=Neighbours.ADD_REMOVE)
    evidence = evidence_of(noisy)
    (marginal,) = evidence.marginals(columns)
    design, data, variances = dense(evidence, columns)
    inverse = np.linalg.pinv(design.T @ (design / variances[:, None]), rcond=1e-9)
    solution = inverse @ design.T @ (data / variances)
    atoms = np.indices([len(group) for group in marginal.groups]).reshape(len(columns), -1)
    cells = np.ravel_multi_index([g[a] for g, a in zip(marginal.groups, atoms, strict=True)], marginal.shape)
    adds = np.eye(marginal.size)[:, cells]
    np.testing.assert_allclose(marginal.counts, adds @ solution, atol=1e-4)
    functions = [np.arange(marginal.size) % 3.0, np.eye(marginal.size)[1]]
    values, covariance = marginal.joint(functions)
    np.testing.assert_allclose(values, [f @ adds @ solution for f in functions], rtol=1e-5)
    spread = adds @ inverse @ adds.T
    np.testing.assert_allclose(covariance, [[f @ spread @ g for g in functions] for f in functions], rtol=1e-5)
    assert np.all(marginal.variances() >= np.diag(spread) * (1 - 1e-9))
    assert np.all(marginal.variances() <= 4 * np.diag(spread))
    weights = marginal.coefficients(functions[0])
    assert sum(w @ noisy.blocks[p].values.ravel() for p, w in weights.items()) == pytest.approx(values[0])
    noise = sum(float(w @ w) * noisy.blocks[p].sigma ** 2 for p, w in weights.items())
    assert noise == pytest.approx(covariance[0, 0])


def as_interactions(exact):
    """The same blocks with every pair as an interaction."""
    return [(as_contrasts(block) if len(block.columns) == 2 else block, counts) for block, counts in exact]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("later", [0, 1])
def test_an_interaction_beside_single_columns_is_generalised_least_squares(known, way, later, monkeypatch):
    solve_by(way, monkeypatch)
    neighbours = Neighbours.REPLACE_ONE if known else Neighbours.ADD_REMOVE
    exact = as_interactions(exact_blocks(people(ROWS), sets=[(1,), (2,), (2, 1), (0, 1)]))
    generator, rounds = np.random.default_rng(4), [0, 0, later, later]
    noisy = noisy_blocks(exact, ROWS, [3.0, 7.0, 5.0, 2.0], generator, neighbours=neighbours, rounds=rounds)
    (marginal,) = evidence_of(noisy).marginals((1, 2))
    first, second, joint = (block.values for block in noisy.blocks[:3])
    m, n = marginal.shape
    rows, columns = np.kron(np.eye(m), np.ones((1, n))), np.kron(np.ones((1, m)), np.eye(n))
    less = np.kron(np.eye(m) - 1 / m, np.eye(n) - 1 / n)
    information = rows.T @ rows / 3.0**2 + columns.T @ columns / 7.0**2 + less / 5.0**2
    right = rows.T @ first / 3.0**2 + columns.T @ second / 7.0**2 + less @ joint.T.ravel() / 5.0**2
    if known:  # the number of rows, as a measurement without noise
        information, right = information + 1e9, right + 1e9 * ROWS
    solution, inverse = np.linalg.solve(information, right), np.linalg.inv(information)
    np.testing.assert_allclose(marginal.counts, solution, rtol=1e-4, atol=1e-3)
    functions = [np.arange(m * n) % 3.0, np.eye(m * n)[1]]
    values, covariance = marginal.joint(functions)
    np.testing.assert_allclose(values, [f @ solution for f in functions], rtol=1e-4)
    np.testing.assert_allclose(
        covariance, [[f @ inverse @ g for g in functions] for f in functions], rtol=1e-4, atol=1e-3
    )
    assert np.all(marginal.variances() >= np.diag(inverse) * (1 - 1e-9))
    weights = marginal.coefficients(functions[1])
    values_of = {place: block.values.ravel() for place, block in enumerate(noisy.blocks)}
    constant = marginal.solve([functions[1]])[0][1] * ROWS if known else 0.0
    assert sum(weights[place] @ values_of[place] for place in weights) + constant == pytest.approx(values[1], rel=1e-4)
    spread = sum(float(weights[place] @ weights[place]) * noisy.blocks[place].sigma ** 2 for place in weights)
    assert spread == pytest.approx(covariance[1, 1], rel=1e-4)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known", [True, False])
def test_an_interaction_in_few_cells_is_one_more_measurement(known, way, monkeypatch):
    """Of the columns the other way round, in two cells of the one that has twelve."""
    solve_by(way, monkeypatch)
    neighbours = Neighbours.REPLACE_ONE if known else Neighbours.ADD_REMOVE
    exact = as_interactions(exact_blocks(people(ROWS), sets=[(0,), (2,), (0, 2), (2, 0)], cells=12))
    fine, counts = exact[3]
    halves = np.minimum(fine.groups[1], 3) // 2  # of the first column: two cells, of two and of ten
    rough = replace(fine, groups=(fine.groups[0], halves))
    added = np.zeros(rough.shape)
    np.add.at(
        added, np.ix_(range(fine.shape[0]), np.minimum(np.arange(fine.shape[1]), 3) // 2), counts.reshape(fine.shape)
    )
    exact[3] = rough, added.ravel()
    sigmas = [3.0, 7.0, 5.0, 2.0]
    noisy = noisy_blocks(exact, ROWS, sigmas, np.random.default_rng(6), neighbours=neighbours)
    (marginal,) = evidence_of(noisy).marginals((0, 2))
    assert len(marginal.views) == 4
    assert marginal.finest.values.shape == marginal.shape
    m, n = marginal.shape
    cells = np.eye(2)[:, np.minimum(np.arange(m), 3) // 2]  # (2, m)
    own = np.eye(m)[:, exact[2][0].groups[0]]  # (m, atoms)
    less = np.kron(np.eye(m) - 1 / m, np.eye(n) - 1 / n)
    few = np.kron((np.eye(2) - 1 / 2) @ cells, np.eye(n) - 1 / n)
    rows, columns = np.kron(np.eye(m), np.ones((1, n))), np.kron(np.ones((1, m)), np.eye(n))
    merged = own.sum(axis=1) * 3.0**2
    information = (
        rows.T @ (rows / merged[:, None]) + columns.T @ columns / 7.0**2 + less / 5.0**2 + few.T @ few / 2.0**2
    )
    first, second, joint, again = (block.values for block in noisy.blocks)
    right = rows.T @ (own @ first / merged) + columns.T @ second / 7.0**2 + less @ joint.ravel() / 5.0**2
    right = right + few.T @ again.T.ravel() / 2.0**2
    if known:
        information, right = information + 1e9, right + 1e9 * ROWS
    solution, inverse = np.linalg.solve(information, right), np.linalg.inv(information)
    np.testing.assert_allclose(marginal.counts, solution, rtol=1e-4, atol=1e-3)
    functions = [np.arange(m * n) % 3.0, np.repeat(np.arange(m) < 2, n).astype(float)]
    values, covariance = marginal.joint(functions)
    np.testing.assert_allclose(values, [f @ solution for f in functions], rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        covariance, [[f @ inverse @ g for g in functions] for f in functions], rtol=1e-4, atol=1e-3
    )
    weights = marginal.coefficients(functions[0])
    constant = marginal.solve([functions[0]])[0][1] * ROWS if known else 0.0
    told = sum(weights[place] @ noisy.blocks[place].values.ravel() for place in weights) + constant
    assert told == pytest.approx(values[0], rel=1e-4)
    spread = sum(float(weights[place] @ weights[place]) * noisy.blocks[place].sigma ** 2 for place in weights)
    assert spread == pytest.approx(covariance[0, 0], rel=1e-4)


def test_an_interaction_says_nothing_about_its_columns_alone():
    exact = as_interactions(exact_blocks(people(ROWS), sets=[(1,), (2,), (1, 2)]))
    noisy = noisy_blocks(exact, ROWS, [3.0, 7.0, 5.0], np.random.default_rng(5))
    (alone,) = evidence_of(noisy).marginals((1,))
    assert [part.block.columns for _, part in alone.sources] == [(1,)]
    assert not any(isinstance(view, NoisyContrasts) for view in alone.views)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("known", [True, False])
def test_it_is_generalised_least_squares(known, way, monkeypatch):
    solve_by(way, monkeypatch)
    table = people(ROWS)
    neighbours = Neighbours.REPLACE_ONE if known else Neighbours.ADD_REMOVE
    sets = [(1,), (2,), (1, 2)]
    exact = exact_blocks(table, sets=sets)
    blocks = noisy_blocks(exact, ROWS, [3.0, 7.0, 5.0], np.random.default_rng(3), neighbours=neighbours)
    evidence = evidence_of(blocks)
    (marginal,) = evidence.marginals((1, 2))
    matrix, data, variances = dense(evidence, (1, 2))
    if known:  # the number of rows, as a measurement without noise
        matrix, data = np.vstack([matrix, np.ones(6)]), np.append(data, ROWS)
        variances = np.append(variances, 1e-9)
    information = matrix.T @ (matrix / variances[:, None])
    solution = np.linalg.solve(information, matrix.T @ (data / variances))
    np.testing.assert_allclose(marginal.counts, solution, rtol=1e-4, atol=1e-3)
    functions = [np.arange(6.0), np.array([1.0, 0, 0, 1, 0, 0])]
    values, covariance = marginal.joint(functions)
    expected = np.linalg.inv(information)
    np.testing.assert_allclose(values, [f @ solution for f in functions], rtol=1e-4)
    np.testing.assert_allclose(covariance, [[f @ expected @ g for g in functions] for f in functions], rtol=1e-3)


def test_more_blocks_mean_less_noise():
    table = people(ROWS)
    alone = simple(table, sets=[(0,)]).marginals((0,))[0]
    together = simple(table).marginals((0,))[0]
    ages = np.arange(48.0)
    assert together.joint([ages])[1][0, 0] < 0.9 * alone.joint([ages])[1][0, 0]


def test_coefficients_are_the_estimate():
    evidence = simple(people(ROWS), cells=6)
    (marginal,) = evidence.marginals((0, 1))
    function = np.random.default_rng(0).normal(size=marginal.size)
    values, covariance = marginal.joint([function])
    weights = marginal.coefficients(function)
    parts = {place: evidence.counts[place] for place in weights}
    constant = marginal.solve([function])[0][1]
    total = sum(weights[place] @ part.values.ravel() for place, part in parts.items()) + constant * ROWS
    variance = sum(part.sigma**2 * weights[place] @ weights[place] for place, part in parts.items())
    assert total == pytest.approx(values[0])
    assert variance == pytest.approx(covariance[0, 0])


def test_a_coarser_block_helps_where_its_cells_can():
    table = people(ROWS)
    fine = exact_blocks(table, sets=[(0,)])
    coarse = [(block, counts) for block, counts in exact_blocks(table, sets=[(0, 1)], cells=4)]
    blocks = noisy_blocks(fine + coarse, ROWS, 5.0, np.random.default_rng(0))
    (marginal,) = evidence_of(blocks).marginals((0,))
    assert marginal.shape == (48,)
    half = (np.arange(48) < 24).astype(float)  # an edge of the coarse cells
    odd = (np.arange(48) < 25).astype(float)
    assert marginal.joint([half])[1][0, 0] < 0.5 * marginal.joint([odd])[1][0, 0] * 24 / 25 + 200


def test_rounds_are_not_mixed():
    table = people(ROWS)
    exact = exact_blocks(table, sets=[(1,), (1, 2), (2,)])
    blocks = noisy_blocks(exact, ROWS, 5.0, np.random.default_rng(0), rounds=[0, 1, 0])
    evidence = evidence_of(blocks)
    assert len(evidence.marginals((1,))) == 2
    for marginal in evidence.marginals((1,)):
        assert len({part.round for _, part in marginal.sources}) == 1
    assert len(evidence.marginals((1, 2))) == 1
    assert evidence.marginals((0,)) == ()


def test_three_columns():
    table = people(ROWS)
    evidence = simple(table, 0.01, sets=[(0, 1, 2)])
    (marginal,) = evidence.marginals((0, 2))
    codes = np.stack([column.encode(table.column(column.name)) for column in evidence.schema])
    expected = np.bincount(codes[0] * 3 + codes[2], minlength=48 * 3)
    np.testing.assert_allclose(marginal.counts, expected, atol=0.1)


def test_four_columns():
    """What three of them say comes from the counts of all four."""
    schema = Schema.parse("\n".join(f'[columns.{name}]\ntype = "boolean"' for name in "abcd"))
    codes = np.random.default_rng(0).integers(0, 2, (4, ROWS)).astype(bool)
    table = pa.table(dict(zip("abcd", codes, strict=True)))
    evidence = simple(table, 2.0, schema=schema, sets=[(0,), (1,), (2,), (3,), (0, 1, 2, 3)])
    for columns in ((0, 1, 2, 3), (0, 2, 3)):
        (marginal,) = evidence.marginals(columns)
        cells = np.ravel_multi_index(codes[list(columns)].astype(np.int64), (2,) * len(columns))
        counts = np.bincount(cells, minlength=marginal.size)
        assert np.abs(marginal.counts - counts).max() < 5 * math.sqrt(marginal.variances().max())
        condition = " and ".join(f"{'abcd'[column]} == true" for column in columns)
        answer = probability(evidence, condition)
        assert not isinstance(answer.limits, FrechetLimits)
        assert abs(answer.value - counts[-1] / ROWS) < 5 * answer.standard_error < 0.2


def test_one_cell_holds_everybody():
    schema = Schema.parse('[columns.x]\ntype = "category"\nvalues = ["a"]\n[columns.y]\ntype = "boolean"')
    table = pa.table({"x": ["a"] * ROWS, "y": [True] * ROWS})
    evidence = simple(table, 5.0, schema=schema, sets=[(0,), (1,), (0, 1)])
    (marginal,) = evidence.marginals((0,))
    assert marginal.counts.tolist() == [ROWS]
    assert probability(evidence, "x == 'a'").interval() == (1.0, 1.0)
    low, high = probability(evidence, "x == 'a' and y == true").interval()
    assert low < 1.0 == high


def test_groupings_of_different_columns():
    with pytest.raises(ParameterError, match="same atoms"):
        common_coarsening(np.array([0, 1]), np.array([0, 1, 2]))


def test_nothing_measured_is_spread_evenly():
    evidence = simple(people(ROWS), 0.001, sets=[(1,)])
    (marginal,) = evidence.marginals((1,))
    marginal.__dict__["counts"] = np.array([-1.0, -2.0])
    np.testing.assert_allclose(marginal.shares, [0.5, 0.5])


def test_equations_that_do_not_converge(monkeypatch):
    solve_by(IteratedEquations, monkeypatch)
    monkeypatch.setattr("scipy.sparse.linalg.cg", lambda _, function, **options: (function, 1))
    (marginal,) = simple(people(ROWS)).marginals((0,))
    with pytest.raises(CapacityError, match="did not converge"):
        marginal.joint([np.arange(48.0)])


def test_the_counts_of_a_release_are_read_once():
    exact = exact_blocks(people(ROWS))
    one, other = (noisy_blocks(exact, ROWS, 5.0, np.random.default_rng(seed)) for seed in (0, 1))
    assert tabulation(one) is tabulation(one)
    assert tabulation(one) is not tabulation(other)
    assert tabulation(one) is not tabulation(replace(one))  # another release, though it holds the same
    first, second = (evidence_of(one, target=target).marginals((0, 1)) for target in Target)
    assert first[0] is second[0]


def test_a_question_is_solved_once(monkeypatch):
    blocks = noisy_blocks(exact_blocks(people(ROWS)), ROWS, 5.0, np.random.default_rng(0))
    before = mean(evidence_of(blocks), "age").interval()
    monkeypatch.delattr(MeasuredMarginal, "_inverse")  # nothing is left to solve
    assert mean(evidence_of(blocks), "age").interval() == before
    with pytest.raises(AttributeError):
        mean(evidence_of(blocks), "kids")


def test_an_estimate_can_be_kept():
    estimate = mean(simple(people(ROWS)), "age")
    assert pickle.loads(pickle.dumps(estimate)).interval() == estimate.interval()


def test_only_a_few_solutions_are_kept():
    (marginal,) = simple(people(ROWS)).marginals((1,))
    functions = [np.array([1.0, value]) for value in range(REMEMBERED + 3)]
    values = [marginal.joint([function])[0][0] for function in functions]
    assert len(marginal._solved) <= REMEMBERED
    assert [marginal.joint([function])[0][0] for function in functions] == values


def test_a_single_column_can_be_asked_for_in_several_cells():
    noisy = noisy_blocks(exact_blocks(people(ROWS), sets=[(1,), (2,)]), ROWS, 3.0, np.random.default_rng(6))
    counts = tabulation(noisy)
    whole = counts.marginal_in((2,), {2: np.arange(noisy.sizes[2])})
    for cells in (np.minimum(np.arange(noisy.sizes[2]), 1), np.zeros(noisy.sizes[2], dtype=np.int64)):
        found = counts.marginal_in((2,), {2: cells})
        assert np.array_equal(found.groups[0], cells)
        np.testing.assert_allclose(found.counts, np.bincount(cells, whole.counts), atol=1e-6)
