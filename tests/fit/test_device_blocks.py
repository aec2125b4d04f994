"""The products of a GPU, made by NumPy in its place: the same χ² and slopes as the terms of the processor."""

import types
from typing import Any

import numpy as np
import pytest

from kernelease.fit.mixtures import device as device_blocks
from kernelease.fit.mixtures.device import DeviceBlocks, Held
from kernelease.fit.mixtures.misfit import Correlations, Pairs, apart
from kernelease.fit.mixtures.objective import Objective, softmax_weights
from tests.fit.test_mixture import LAYOUTS


def pulled(count: Any, target: Any, precision: Any, trust: Any, pull: Any, squared: Any) -> tuple[Any, Any]:
    away = count - target
    squared[:] = precision * away * away
    pull[:] = precision * away * trust
    return pull, squared


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    array = types.SimpleNamespace(asarray=np.asarray, take=np.take, zeros_like=np.zeros_like)
    monkeypatch.setattr(device_blocks, "cupy", lambda: array)
    monkeypatch.setattr(device_blocks, "_pull", lambda: pulled)


@pytest.mark.usefixtures("by_numpy")
@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "interactions" not in name])
def test_products_of_up_to_four_columns_are_those_of_the_terms(layout: str) -> None:
    objective, generator = Objective.of(LAYOUTS[layout]()), np.random.default_rng(1)
    q = objective.normalise(generator.normal(size=(objective.size, 7)).astype(np.float32))
    w = softmax_weights(generator.normal(size=7).astype(np.float32))
    wide = np.concatenate([objective.groupings.extend(q), np.ones((1, 7), dtype=np.float32)]).T.copy()
    found, wanted = ([np.zeros_like(wide), np.zeros_like(w), np.zeros(1)] for _ in range(2))
    counted = [term for term in apart(objective.terms) if not isinstance(term, Correlations)]
    DeviceBlocks(counted, wide.shape[1]).add(wide, w, *found)
    for term in counted:
        wanted[2] += term.add(wide.T, w, wanted[0].T, wanted[1])
    found[0][:, -1] = 0.0  # what stands for a column that is not there has no slope
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4 * float(np.abs(other).max()))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_block_is_found_in_its_term_by_the_trust_in_it(layout: str) -> None:
    objective = Objective.of(LAYOUTS[layout]())
    for block, trusts in zip(objective.blocks, objective.trusts, strict=True):
        for trust in trusts:
            held = Held.of(trust, objective)
            parts = held.rows.stop - held.rows.start, held.last.stop - held.last.start
            assert len(trusts) * parts[0] * parts[1] == block.block.cells
            if isinstance(held.term, Pairs):
                assert np.shares_memory(held.term.trust[held.rows, held.last], trust)


@pytest.mark.usefixtures("by_numpy")
def test_correlations_are_the_same_with_arrays_of_the_gpu() -> None:
    (one,) = [term for term in Objective.of(LAYOUTS["columns in an order"]()).terms if isinstance(term, Correlations)]
    placed = device_blocks._to_gpu(one)
    assert placed.places == one.places
    np.testing.assert_array_equal(placed.target, one.target)
    np.testing.assert_array_equal(placed.precision, one.precision)
    for own, other in zip(placed.scores, one.scores, strict=True):
        np.testing.assert_array_equal(own, other)
