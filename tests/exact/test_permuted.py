"""Permuted statistics against sums over all pairs of rows, and against every claim about neighbours."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from audits.twins import NoNoise
from kernelease import private_tests as permuted
from kernelease.errors import CapacityError
from kernelease.ledgers import MemoryLedger
from kernelease.privacy import Privacy, PrivacyFilter
from kernelease.privacy.mechanisms import laplace_scale
from kernelease.privacy.sensitivity import ROWS, covariance_sensitivity, swap_sensitivity
from kernelease.private_tests import (
    KernelCovariance,
    KernelDistance,
    MeanDistance,
    PermutedStatistics,
    RankAgreement,
    RankDistance,
    ScoreCovariance,
    SwappedCovariance,
)
from kernelease.table.atom_features import STEPS, AtomFeatures, PairFeatures
from tests.table.test_atom_features import SCHEMA

AGE, HOURS, WARD = (AtomFeatures.of(column) for column in SCHEMA.columns)
ROW = KernelDistance(PairFeatures.of(SCHEMA.columns))
SIZES = SCHEMA.sizes
SCORES = np.arange(SIZES[0]), np.arange(SIZES[2])
GROUPS = {"kernel": [ROW], "rank": [RankDistance(SIZES[0] - 1)], "mean": [MeanDistance(SCORES[0])]}
GROUPS["kernel and rank"] = GROUPS["kernel"] + GROUPS["rank"]
PAIRS = {
    "kernel": [KernelCovariance((AGE, WARD))],
    "rank": [RankAgreement((SIZES[0] - 1, SIZES[2]))],
    "slope": [ScoreCovariance(SCORES)],
}
PAIRS["pairs of rows"] = [SwappedCovariance(*PAIRS["kernel"])]
PAIRS["kernel and rank"] = PAIRS["kernel"] + PAIRS["rank"]
DRAWS = 30
seeds = st.integers(0, 2**32 - 1)


def codes(generator, count):
    return np.stack([generator.integers(0, size, count) for size in SIZES], axis=1)


def distances(first, second, parts=(ROW,), seed=0):
    return PermutedStatistics.of_groups(first, second, parts, draws=DRAWS, generator=np.random.default_rng(seed))


def covariances(rows, parts=PAIRS["kernel"], seed=0):
    return PermutedStatistics.of_pairs(rows[:, [0, 2]], parts, draws=DRAWS, generator=np.random.default_rng(seed))


def all_of(statistics):
    return np.array([statistics._observed, *statistics._others], dtype=object)


def farthest(before, after):
    """How far the difference of the rows' own statistic and any other moves."""
    moved = [one._observed - np.array(one._others, dtype=object) for one in (before, after)]
    return np.abs(moved[0] - moved[1]).max()


def budget(epsilon=1.0):
    privacy = Privacy(epsilon=epsilon, delta=0.0)
    return PrivacyFilter.open(privacy, ledger=MemoryLedger(privacy), subject=ROWS, coordinates=1, purpose="a test")


@given(seeds, st.integers(1, 12), st.integers(1, 12))
def test_the_distance_is_the_one_of_double_sums(seed, n, m):
    generator = np.random.default_rng(seed)
    first, second = codes(generator, n), codes(generator, m)
    rows = np.hstack(list(ROW.features.blocks(np.concatenate([first, second]))))
    gram = rows @ rows.T
    squared = gram[:n, :n].mean() + gram[n:, n:].mean() - 2.0 * gram[:n, n:].mean()
    statistics = distances(first, second)
    expected = math.sqrt(max(0.0, squared)) * ROW.features.unit
    assert statistics._observed * statistics.unit == pytest.approx(expected, abs=1.01 * statistics.unit)


@pytest.mark.parametrize(
    ("first", "second"), [(0, 1), (0, 2), (2, 2)], ids=["numbers", "with a category", "categories"]
)
@given(seeds, st.integers(2, 15))
def test_the_dependence_is_the_one_of_double_sums(first, second, seed, n):
    """Of categories √HSIC, √tr(K H L H)/n, with both Gram matrices; with a smooth kernel tr((K H L H)²)^¼/n."""
    rows = codes(np.random.default_rng(seed), n)[:, [first, 1, second]]
    one, other = (AGE, HOURS, WARD)[first], (AGE, HOURS, WARD)[second]
    centring = np.eye(n) - 1.0 / n
    grams = [part.gram[column][:, column] for part, column in ((one, rows[:, 0]), (other, rows[:, 2]))]
    products = grams[0] @ centring @ grams[1] @ centring / n**2
    smooth = first == 0
    squared = math.sqrt(max(0.0, np.trace(products @ products))) if smooth else max(0.0, np.trace(products))
    statistics = covariances(rows, [KernelCovariance((one, other))])
    expected = math.sqrt(squared) / STEPS**2
    assert statistics._observed * statistics.unit == pytest.approx(expected, abs=1.01 * statistics.unit)


@given(seeds, st.integers(1, 8))
def test_of_pairs_of_rows_it_is_a_sum_of_products_with_signs(seed, n):
    """Swapping the second column within a pair turns the sign of its product, and of no other."""
    generator = np.random.default_rng(seed)
    rows, signs = codes(generator, 2 * n), generator.choice([-1, 1], n)
    differences = [part.integers[rows[::2, i]] - part.integers[rows[1::2, i]] for part, i in ((AGE, 0), (WARD, 2))]
    values = np.linalg.svd(np.einsum("k,ka,kb->ab", signs, *differences), compute_uv=False)
    second = np.where(signs[:, None] > 0, rows[:, 2].reshape(n, 2), rows[:, 2].reshape(n, 2)[:, ::-1]).ravel()
    found = PAIRS["pairs of rows"][0].of(rows[:, 0], second)
    assert found == pytest.approx(float((values**4).sum() ** 0.25), abs=1.01)


def test_pairs_of_rows_keep_together():
    """All orders have the pairs of the first; the odd row is left out; rows are paired by chance."""
    rows = np.arange(7)
    orders = list(permuted._swaps(rows[:6], 50, np.random.default_rng(0)))
    assert {tuple(sorted(order[:2])) for order in orders} == {(0, 1)}
    assert len({tuple(order) for order in orders}) == 8
    table = np.stack([rows, rows, rows % 3], axis=1)
    found = {covariances(table, PAIRS["pairs of rows"], seed)._observed for seed in range(20)}
    assert len(found) > 10


@given(seeds, st.integers(2, 12), st.integers(1, 12))
def test_ranks_means_and_slopes_are_those_of_all_pairs(seed, n, m):
    """The last atom of the first column has no rank."""
    generator = np.random.default_rng(seed)
    first, second = codes(generator, n), codes(generator, m)
    null = SIZES[0] - 1
    ranked = [(a, b) for a in first[:, 0] for b in second[:, 0] if null not in (a, b)]
    assert distances(first, second, GROUPS["rank"])._observed == abs(sum(np.sign(a - b) for a, b in ranked))
    means = abs(m * first[:, 0].sum() - n * second[:, 0].sum())
    assert distances(first, second, GROUPS["mean"])._observed == means
    pairs = itertools.combinations([(x, y) for x, _, y in first.tolist() if x != null], 2)
    agreement = sum(np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]) for a, b in pairs)
    assert covariances(first, PAIRS["rank"])._observed == abs(agreement)
    covariance = n * n * np.cov(first[:, 0], first[:, 2], bias=True)[0, 1]
    assert covariances(first, PAIRS["slope"])._observed == math.floor(abs(covariance) / n + 1e-9)


def test_ranks_are_those_of_known_tests():
    generator = np.random.default_rng(3)
    x, y = generator.permutation(20), generator.permutation(20)
    tau = stats.kendalltau(x, y).statistic
    agreement = RankAgreement((20, 20))
    assert agreement.of(x, y) * agreement.unit(20) == pytest.approx(abs(tau))
    chosen = np.array([[1.0] * 8 + [0.0] * 12])
    larger = stats.mannwhitneyu(x[:8], x[8:]).statistic
    assert RankDistance(20).of(x[:, None], chosen, (8, 12)) == [abs(2 * larger - 96)]


@pytest.mark.parametrize("parts", GROUPS.values(), ids=GROUPS)
@given(seeds, st.integers(1, 8), st.integers(1, 8))
def test_a_row_moves_no_distance_beyond_the_sensitivity(parts, seed, n, m):
    generator = np.random.default_rng(seed)
    first, second = codes(generator, n), codes(generator, m)
    changed = [first.copy(), second.copy()]
    side = changed[int(generator.integers(2))]
    side[generator.integers(len(side))] = codes(generator, 1)[0]
    before, after = distances(first, second, parts, seed), distances(*changed, parts, seed)
    assert before._sensitivity == after._sensitivity
    assert farthest(before, after) <= before._sensitivity.l1


@pytest.mark.parametrize("parts", PAIRS.values(), ids=PAIRS)
@given(seeds, st.integers(2, 9))
def test_a_row_moves_no_dependence_beyond_the_sensitivity(parts, seed, n):
    generator = np.random.default_rng(seed)
    rows = codes(generator, n)
    changed = rows.copy()
    changed[generator.integers(n)] = codes(generator, 1)[0]
    before, after = covariances(rows, parts, seed), covariances(changed, parts, seed)
    assert farthest(before, after) <= before._sensitivity.l1


# --------------------
# Every pair of neighbours of tiny tables, in every order.


IDENTITY = AtomFeatures(STEPS * np.eye(3, dtype=np.int64))
PLANE = AtomFeatures(np.array([[0, 0], [STEPS, 0], [STEPS // 2, 222]]))  # nearly as far apart from each other
TINY = {  # how far two atoms of both columns are apart, and a row as it is moves in units of that
    "kernel": (KernelCovariance((IDENTITY, IDENTITY)), 2.0 * STEPS**2, math.sqrt(1.5)),
    "smooth kernel": (KernelCovariance((PLANE, PLANE)), float(PLANE.squared_diameter), 1.125**0.25),
    "rank": (RankAgreement((3, 3)), 2.0, 1.0),
    "slope": (ScoreCovariance((100 * np.arange(3), 100 * np.arange(3))), 40_000.0 / 3, 1.0),  # over 3 rows
}


def neighbours_of_tiny_tables(part, rows):
    """The farthest that one row moves a statistic in its own order, and in all orders: of all tables of two columns.

    The changed row is the last: a statistic is the same for rows in any order.
    """
    atoms = list(itertools.product(range(3), repeat=2))
    orders = list(itertools.permutations(range(rows)))
    own = other = 0
    for base in itertools.combinations_with_replacement(atoms, rows - 1):
        tables = [np.array([*base, last]) for last in atoms]
        values = np.array([[part.of(t[:, 0], t[list(order), 1]) for order in orders] for t in tables])
        own = max(own, int(np.ptp(values[:, 0])))
        other = max(other, int(np.ptp(values, axis=0).max()))
    return own, other


@pytest.mark.parametrize("name", TINY)
def test_no_neighbour_of_a_tiny_table_is_farther(name):
    """√(3/2), (9/8)^¼ or 1 for a row as it is, 2 for one whose numbers stand in two places, times (n − 1)·d·d′."""
    part, step, alone = TINY[name]
    rows = 3
    own, other = neighbours_of_tiny_tables(part, rows)
    most = step * (rows - 1)
    assert own <= alone * most + 1
    assert other <= 2.0 * most + 1
    assert own + other <= part.sensitivity(rows).l1


@pytest.mark.parametrize("name", ["kernel", "smooth kernel"])
def test_a_pair_of_rows_moves_by_as_much_whether_it_is_swapped(name):
    """All neighbours of all pairs, beside another pair or none: the bound is reached to a hundredth."""
    whole, step, alone = TINY[name]
    part, atoms = SwappedCovariance(whole), list(itertools.product(range(3), repeat=2))
    most = 0
    for mate, *other in itertools.product(atoms, [(0, 0), (1, 1)], [(0, 0), (0, 1), (2, 2)]):
        tables = [np.array([last, mate, *other]) for last in atoms]
        own = np.array([part.of(t[:, 0], t[:, 1]) for t in tables])
        swapped = np.array([part.of(t[:, 0], t[[1, 0, 2, 3], 1]) for t in tables])
        most = max(most, int(np.ptp(own)), int(np.ptp(swapped)))
    assert 2 * most <= part.sensitivity(4).l1 == pytest.approx(2.0 * alone * step + 2.0)
    changes = [
        _product(part, one, mate) - _product(part, other, mate) for one in atoms for other in atoms for mate in atoms
    ]
    singular = np.linalg.svd(np.array(changes), compute_uv=False)
    assert ((singular**whole.power).sum(axis=1) ** (1.0 / whole.power)).max() == pytest.approx(alone * step, rel=0.01)


def _product(part, row, mate):
    one, other = (own.integers[a] - own.integers[b] for own, a, b in zip(part.whole.columns, row, mate, strict=True))
    return np.outer(one, other).astype(float)


def test_pairs_of_rows_are_taken_where_noise_is_more_than_chance():
    """By the number of rows, ε and the level, which are public."""
    (kernel,), (rank,) = PAIRS["kernel"], PAIRS["rank"]
    assert kernel.best_suited(200, 1.0, 0.05) == SwappedCovariance(kernel)
    assert kernel.best_suited(20_000, 1.0, 0.05) is kernel
    assert kernel.best_suited(20_000, 0.1, 0.05) == SwappedCovariance(kernel)
    assert rank.best_suited(200, 1.0, 0.05) is rank
    assert swap_sensitivity((1, 1), power=2).l1 < covariance_sensitivity((1, 1), 2).l1


def test_two_places_move_a_dependence_by_nearly_twice_as_much():
    """So that the bound of reordered rows is tight: 2n − 5 of 2(n − 1) steps, for rows that are built for it."""
    part, n = KernelCovariance((IDENTITY, IDENTITY)), 60
    first, second = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    first[1], second[0] = 1, 1  # and the last row comes to stand beside both
    before = part.of(first, second)
    moved_first, moved_second = first.copy(), second.copy()
    moved_first[0], moved_second[1] = 1, 1
    step = IDENTITY.squared_diameter
    assert part.of(moved_first, moved_second) - before == pytest.approx((2 * n - 5) * step, rel=0.01)


def test_a_row_as_it_is_moves_a_dependence_by_the_root_of_one_and_a_half():
    """So that no smaller factor than √(3/2) holds: most rows alike, some of a second kind on one side only, few of a
    third on both, and the last row goes from the second kind to the third."""
    part, n = KernelCovariance((IDENTITY, IDENTITY)), 40_000
    rows = np.zeros((n, 2), dtype=np.int64)
    rows[: n // 50, 0] = rows[n // 50 : 2 * n // 50, 1] = 1
    rows[2 * n // 50 : 2 * n // 50 + n // 2500] = 2
    values = []
    for last in (1, 2):
        rows[-1] = last
        values.append(part.of(rows[:, 0], rows[:, 1]))
    moved = abs(values[0] - values[1]) / ((n - 1) * IDENTITY.squared_diameter)
    assert 1.1 < moved <= math.sqrt(1.5)
    assert covariance_sensitivity((1, 1), 101).l1 == pytest.approx((2.0 + math.sqrt(1.5)) * 100 + 2)


def test_the_sensitivity_of_a_distance_is_reached():
    """Rows that are all alike on one side, and one that goes as far as it can."""
    low, high = (0, 0, 0), (71, 4, 1)
    first, second = np.array([low] * 6), np.array([low] * 6)
    moved = first.copy()
    moved[0] = high
    for parts, part in ((GROUPS["kernel"], 0.75), (GROUPS["rank"], 0.4), (GROUPS["mean"], 0.75)):
        change = abs(distances(first, second, parts)._observed - distances(moved, second, parts)._observed)
        assert change >= part * distances(first, second, parts)._sensitivity.l1 / 2


def test_parts_of_a_statistic_count_alike():
    both, (kernel, rank) = (
        covariances(codes(np.random.default_rng(0), 9), PAIRS["kernel and rank"]),
        PAIRS["kernel and rank"],
    )
    one, other = kernel.sensitivity(9).l1, rank.sensitivity(9).l1
    assert both._sensitivity.l1 == pytest.approx(2.0 * one, rel=0.01)
    assert both.unit == kernel.unit(9)
    assert other < one


def test_orders_keep_the_rows():
    """The statistics of other orders have the law of those of shuffled rows: here all orders are alike."""
    same = np.array([(5, 1, 1)] * 4)
    assert set(all_of(distances(same, same, GROUPS["kernel and rank"]))) == {0}
    assert set(all_of(covariances(same, PAIRS["kernel and rank"]))) == {0}


@given(seeds, st.sampled_from([0.05, 0.1, 0.2, 0.5]))
def test_without_noise_it_is_the_permutation_test(seed, level):
    """p ≤ level exactly where the margin is above 0."""
    statistics = covariances(codes(np.random.default_rng(seed), 12), seed=seed)
    margin = statistics.exceed(level, budget=budget(), noise=NoNoise(), label="a test").integers[0]
    p_value = (1 + sum(other >= statistics._observed for other in statistics._others)) / (1 + DRAWS)
    assert (margin > 0) == (p_value <= level)


def test_what_could_overflow_is_refused(monkeypatch):
    rows = codes(np.random.default_rng(0), 3)
    monkeypatch.setattr(permuted, "MOST_ROWS", 2)
    with pytest.raises(CapacityError, match="at most 2 of them"):
        distances(rows, rows)
    monkeypatch.undo()
    monkeypatch.setattr(permuted, "MOST_PRODUCTS", 5)
    with pytest.raises(CapacityError, match="product of at most 5"):
        KernelCovariance((AGE, WARD))


def test_the_largest_sums_fit():
    largest = int(np.abs(AGE.integers).max())
    assert largest <= STEPS
    assert (2 * permuted.MOST_ROWS) ** 2 * STEPS**2 < 2**63
    assert permuted.MOST_ROWS * permuted.SCORES**2 < 2**53
    widest = ScoreCovariance((np.array([0, permuted.SCORES]),) * 2)
    assert laplace_scale(widest.sensitivity(permuted.MOST_ROWS), 1e-4) < 2**46
