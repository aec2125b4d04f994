"""Drawn rows: as many as asked for, nearer to the mixture than independent draws, columns untouched by swaps."""

import sys

import numpy as np
import pytest

from kernelease.errors import ParameterError
from kernelease.fit.mixtures.draw import draw_rows, member_rows, swap_rows
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.solver import Outcome

swaps = sys.modules["kernelease.fit.mixtures.draw"]  # `kernelease.fit` is a function, too


def mixture(components: int = 8, sizes: tuple[int, ...] = (5, 6, 4, 200), seed: int = 0) -> Mixture:
    generator = np.random.default_rng(seed)
    columns = tuple(generator.dirichlet(np.full(size, 0.3), components) for size in sizes)
    return Mixture(
        weights=generator.dirichlet(np.ones(components)),
        columns=columns,
        chi_squared=1.0,
        outcome=Outcome.NOISE_FLOOR,
    )


def distance(rows: np.ndarray, model: Mixture) -> float:
    """Mean L1 distance of pairs of columns."""
    errors = []
    for i in range(len(rows)):
        for j in range(i):
            expected = model.pair(i, j)
            found = np.zeros(expected.shape)
            np.add.at(found, (rows[i], rows[j]), 1.0 / rows.shape[1])
            errors.append(np.abs(found - expected).sum())
    return float(np.mean(errors))


def independent(model: Mixture, count: int, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    components = generator.choice(len(model.weights), count, p=model.weights)
    rows = [np.array([generator.choice(p.shape[1], p=p[m]) for m in components]) for p in model.columns]
    return np.stack(rows), components


def test_rows_are_nearer_to_the_mixture_than_independent_draws() -> None:
    model, generator = mixture(), np.random.default_rng(1)
    ours, theirs = draw_rows(model, 3000, generator), independent(model, 3000, generator)[0]
    assert ours.shape == (4, 3000)
    assert distance(ours, model) < 0.5 * distance(theirs, model)


def test_swaps_keep_every_column_and_every_component_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swaps, "ALL_CELLS", 200)  # not all is watched
    model, generator = mixture(), np.random.default_rng(1)
    rows, components = independent(model, 1000, generator)
    before = rows.copy()
    after = swap_rows(rows, components, model, generator, sweeps=6)
    assert np.array_equal(rows, before)
    assert distance(after, model) < distance(before, model)
    for component in np.unique(components):
        inside = components == component
        for old, new in zip(before, after, strict=True):
            assert np.array_equal(np.sort(old[inside]), np.sort(new[inside]))


def test_a_huge_table_and_every_part_of_it_are_left_as_they_were_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    model = mixture()
    made: list[int] = []

    def noted(rows: np.ndarray, *others: object, sweeps: int) -> np.ndarray:
        made.append(sweeps)
        return rows

    monkeypatch.setattr(sys.modules["kernelease.fit.mixtures.draw"], "swap_rows", noted)
    for whole in (None, 10**9):
        draw_rows(model, 100, np.random.default_rng(1), whole=whole)
    assert made == [swaps.MOST_SWEEPS, 0]
    rows, components = independent(model, 100, np.random.default_rng(1))
    monkeypatch.undo()
    assert swap_rows(rows, components, model, np.random.default_rng(1), sweeps=0) is rows


@pytest.mark.parametrize("count", [1, 2, 7])
def test_any_number_of_rows(count: int) -> None:
    assert draw_rows(mixture(), count, np.random.default_rng(0)).shape == (4, count)


def test_one_column_alone() -> None:
    assert draw_rows(mixture(sizes=(5,)), 10, np.random.default_rng(0)).shape == (1, 10)


def test_no_rows_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        draw_rows(mixture(), 0, np.random.default_rng(0))


def test_rows_of_narrow_components_hold_no_value_that_is_far_from_theirs() -> None:
    """What rounding owes an atom goes to a component that has it, not to the next one of any kind."""
    places, atoms = np.linspace(0.0, 1.0, 300), np.linspace(0.0, 1.0, 150)
    p = np.exp(-0.5 * ((places[:, None] - atoms) / 0.02) ** 2) + 1e-6
    p /= p.sum(axis=1, keepdims=True)
    members = np.full(300, 20)
    rows = member_rows((p, p), members, np.random.default_rng(0))
    away = np.abs(atoms[rows] - np.repeat(places, members))
    assert (away <= 0.2).all()
    assert np.abs(np.bincount(rows[0], minlength=150) - 20 * p.sum(axis=0)).max() < 2.0
