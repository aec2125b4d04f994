"""Rounds: whatever the noise turns out to be, every step fits what was set aside, and nothing is left over."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

import kernelease as ke
from kernelease.arrays import Integers
from kernelease.errors import CapacityError, ParameterError
from kernelease.exact.counting import ExactCounts, count_blocks
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.ledgers import MemoryLedger
from kernelease.measured.blocks import NoisyBlocks
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.interactions.rounds import LEAST_SHARE, Reserve
from kernelease.privacy import Neighbours, Privacy
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.privacy.noise import LEAST_LAPLACE_SCALE
from kernelease.privacy.sensitivity import ROWS
from kernelease.seeds import PublicSeed
from kernelease.sources.partial import weigh_blocks
from kernelease.table import Category, Column, Integer, Number
from kernelease.table.schema import Schema

CRUDE = MixtureSolver(components=2, steps=1)


@dataclass
class HostileNoise:
    """Noise of any kind: none, far tails, all up, all down, and choices that are as bad as they can be."""

    generator: np.random.Generator
    size: float
    drift: float
    private: bool = False

    def gaussian(self, scale: float, size: int) -> Integers:
        drawn = self.generator.normal(self.drift, 1.0, size) * self.size * scale
        return np.rint(np.clip(drawn, -(2.0**60), 2.0**60)).astype(np.int64)

    laplace = gaussian

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        return int(self.generator.integers(len(scores)))


def counts_of(sizes: Sequence[int], rows: int, weight: int, seed: int, unit: int = 1) -> ExactCounts:
    """Exact counts of a table of random rows, each standing for `weight` of its kind."""
    generator = np.random.default_rng(seed)
    codes = np.stack([(size * generator.random(rows) ** 3).astype(np.int64) for size in sizes])
    batch = (codes, np.full(rows, weight * unit))
    return ExactCounts(
        lambda blocks: count_blocks([batch], blocks, tuple(sizes)),
        tuple(sizes),
        weigher=lambda blocks: weigh_blocks([batch], blocks, len(sizes), ()),
        unit=unit,
    )


def run(
    columns: Sequence[Column],
    counts: ExactCounts,
    privacy: Privacy,
    noise: HostileNoise,
    method: Interactions | None = None,
) -> tuple[NoisyBlocks, PrivacyFilter]:
    """The measurement as a release makes it, from the charge on."""
    chosen = Interactions(solver=CRUDE) if method is None else method
    budget = PrivacyFilter.open(
        privacy,
        ledger=MemoryLedger(privacy),
        subject=ROWS,
        coordinates=chosen.reserve(columns).numbers,
        purpose="a test of rounds",
    )
    return chosen.rounds(counts, columns, budget, noise=noise, seed=PublicSeed(0)), budget


def refused(method: Interactions, columns: Sequence[Column], privacy: Privacy) -> bool:
    """Whether the release ends before the charge."""
    try:
        method.reserve(columns).total(privacy)
    except (ParameterError, CapacityError):
        return True
    return False


def share_spent(budget: PrivacyFilter) -> float:
    if budget.privacy.pure:
        return budget.spent.pure_epsilon / budget.total.pure_epsilon
    return budget.spent.mu_squared / budget.total.mu_squared


@st.composite
def tables(draw: st.DrawFn) -> list[Column]:
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 5, 12, 60, 130, 500]), min_size=1, max_size=9))
    kinds = draw(st.lists(st.sampled_from("cin"), min_size=len(sizes), max_size=len(sizes)))
    return [
        Category(name=f"c{i}", values=tuple(range(size)), nullable=i % 3 == 0)
        if kind == "c" or size == 1
        else Integer(name=f"c{i}", min=0, max=size - 1)
        if kind == "i"
        else Number(name=f"c{i}", min=0.0, max=1.0)
        for i, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
    ]


budgets = st.builds(
    Privacy,
    epsilon=st.one_of(st.floats(-4.0, 3.0), st.just(0.0)).map(lambda power: 10.0**power),
    delta=st.sampled_from([0.0, 1e-9, 1e-3]),
    neighbours=st.sampled_from(list(Neighbours)),
)
noises = st.tuples(st.sampled_from([0.0, 1.0, 6.0]), st.sampled_from([-1.0, 0.0, 1.0]))


releases = st.tuples(
    tables(),
    st.integers(1, 40),
    st.sampled_from([1, 100, 100_000]),
    budgets,
    noises,
    st.booleans(),
    st.sampled_from([None, 0, 1, 30]),
)


def spends_all(
    columns: list[Column],
    rows: int,
    weight: int,
    privacy: Privacy,
    kind: tuple[float, float],
    target: bool,
    triples: int | None,
) -> None:
    method = Interactions(solver=CRUDE, target=columns[-1].name if target else None, triples=triples)
    assume(not refused(method, columns, privacy))
    counts = counts_of([column.size for column in columns], rows, weight, 1)
    noisy, budget = run(columns, counts, privacy, HostileNoise(np.random.default_rng(0), *kind), method)
    least = privacy.pure and any(block.measurement.step.scale <= LEAST_LAPLACE_SCALE for block in noisy.blocks)
    assert share_spent(budget) == pytest.approx(1.0, rel=1e-9) or least  # noise can't be less than its least
    assert all(block.block.share >= LEAST_SHARE for block in noisy.blocks)
    assert sum(block.block.cells for block in noisy.blocks) <= method.reserve(columns).numbers
    mixture = method.fit(noisy, PublicSeed(0)).mixture
    assert all(np.isfinite(column).all() for column in mixture.columns)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(releases)
def test_every_release_that_is_charged_ends_and_spends_all(release: tuple[Any, ...]) -> None:
    spends_all(*release)


@pytest.mark.slow
@pytest.mark.whole
@settings(max_examples=500, deadline=None)
@given(releases)
def test_many_more_releases_that_are_charged_spend_all(release: tuple[Any, ...]) -> None:
    spends_all(*release)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "epsilon"),
    [
        pytest.param(count, epsilon, marks=[] if (count, epsilon) in ((4, 10.0), (6, 1.0)) else pytest.mark.whole)
        for count in (4, 5, 6)
        for epsilon in (1.0, 2.0, 10.0)
    ],
)
def test_a_few_wide_columns_end_in_a_result(count: int, epsilon: float) -> None:
    columns = [Number(name=f"c{i}", min=0.0, max=1.0) for i in range(count)]
    counts = counts_of([column.size for column in columns], 500, 100, 0)
    noise = HostileNoise(np.random.default_rng(0), 1.0, 0.0)
    _, budget = run(columns, counts, Privacy(epsilon=epsilon, delta=1e-9), noise)
    assert share_spent(budget) == pytest.approx(1.0, rel=1e-9)


def test_a_set_of_three_is_never_larger_than_what_is_set_aside() -> None:
    """Three columns of 50 values have 125,000 cells together, and four million rows can be seen in all of them."""
    columns = [Category(name=f"c{i}", values=tuple(range(50))) for i in range(3)]
    counts = counts_of([50] * 3, 4000, 1000, 0)
    noise = HostileNoise(np.random.default_rng(0), 1.0, 0.0)
    noisy, _ = run(columns, counts, Privacy(epsilon=1.0, delta=1e-6), noise)
    sizes = [block.block.cells for block in noisy.blocks if len(block.block.columns) == 3]
    assert 0 < sum(sizes) <= Interactions().reserve(columns).triples


@pytest.mark.parametrize("delta", [0.0, 1e-9])
def test_a_budget_whose_noise_cannot_be_drawn_is_refused_before_the_charge(delta: float) -> None:
    with pytest.raises(CapacityError, match="too small"):
        Reserve(singles=2, pairs=0, triples=0).total(Privacy(epsilon=1e-4, delta=delta), 2**50)


@pytest.mark.parametrize("epsilon", [1e-4, 1e3])
def test_extreme_pure_budgets_end_in_a_result(epsilon: float) -> None:
    columns = [Category(name=f"c{i}", values=tuple(range(4))) for i in range(4)]
    noise = HostileNoise(np.random.default_rng(0), 1.0, 0.0)
    noisy, budget = run(columns, counts_of([4] * 4, 300, 10, 0), Privacy(epsilon=epsilon, delta=0.0), noise)
    assert share_spent(budget) == pytest.approx(1.0, rel=1e-9) or epsilon == 1e3  # where noise can't be less
    assert Interactions(solver=CRUDE).fit(noisy, PublicSeed(0)).mixture.weights.sum() == pytest.approx(1.0)


def correlated(rows: int) -> tuple[pa.Table, Schema]:
    """Ten numbers, of which the first two and the next two go together."""
    z = np.random.default_rng(3).normal(size=(10, rows))
    z[1], z[3] = 0.9 * z[0] + 0.436 * z[1], 0.85 * z[2] + 0.527 * z[3]
    table = pa.table({f"v{i}": np.round(np.clip(50 + 15 * own, 0, 100)).astype(np.int64) for i, own in enumerate(z)})
    columns = (f'[columns.v{i}]\ntype = "integer"\nmin = 0\nmax = 100\n' for i in range(len(z)))
    return table, Schema.parse('[table]\nneighbours = "add-remove"\n' + "".join(columns))


def test_of_few_rows_no_pair_is_chosen_and_rows_keep_a_part_of_strong_correlations():
    """All 45 pairs would drown. Sides of all columns are one step, and are charged like all else."""
    table, schema = correlated(1000)
    release = ke.release(
        table, schema=schema, privacy=ke.Privacy(epsilon=1.0, delta=1e-9), noise=ke.SeededNoise(1), seed=0
    )
    measured = release.measurements.measured
    assert measured.selections == ()
    assert max(len(block.block.columns) for block in measured.blocks) == 1
    assert measured.moments[-1].block.label == "sides of 10 columns"
    for first, second in (("v0", "v1"), ("v2", "v3")):
        real, made = (np.corrcoef(each[first], each[second])[0, 1] for each in (table, release.rows))
        assert made > 0.5 * real


def test_of_fewer_rows_and_more_columns_nothing_is_chosen_and_single_columns_get_all():
    """A choice among 120 pairs of 350 rows tells nothing: what it would cost shows in single columns, in runs too."""
    g = np.random.default_rng(9)
    table = pa.table({f"q{i}": g.integers(0, 100 if i % 4 == 0 else 5, 350) for i in range(16)})
    sizes = (f'[columns.q{i}]\ntype = "integer"\nmin = 0\nmax = {99 if i % 4 == 0 else 4}\n' for i in range(16))
    schema = Schema.parse('[table]\nneighbours = "add-remove"\n' + "".join(sizes))
    kept = ke.measure(table, schema=schema, privacy=(1.0, 1e-9), noise=ke.SeededNoise(1)).measured
    assert kept.selections == ()
    assert max(len(block.block.columns) for block in kept.blocks) == 1
    assert {block.block.grid for block in kept.blocks if block.block.columns == (0,)} == {(100,), (7,)}
