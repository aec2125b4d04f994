"""The exponential mechanism over small databases: exact integers, an exact law, a brute-forced sensitivity."""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.stats import chisquare

from kernelease.arrays import Floats, Integers, Rows
from kernelease.errors import CapacityError, ParameterError
from kernelease.exact.rows import PrivateArray
from kernelease.fit import Outcome
from kernelease.kernels import Gaussian, Kernel, Kronecker, Polynomial, Similarity, WeightedSum
from kernelease.methods import SmallDatabase
from kernelease.privacy import Neighbours, Privacy, SystemNoise
from tests.methods.stand_ins import ScriptedNoise, context, entries

PURE = Privacy(epsilon=1.0, delta=0.0)
LINE = np.array([[0.0], [1.0], [3.0]])
COLOURS = np.array([["red"], ["green"], ["blue"]], dtype=object)
SIGNED = Similarity(
    values=("red", "green", "blue"), matrix=((1.0, -0.4, 0.0), (-0.4, 0.5, 0.1), (0.0, 0.1, 2.0)), default="red"
)
DOMAINS: tuple[tuple[Kernel, Rows], ...] = (
    (Gaussian(lengthscale=1.0), LINE),
    (Kronecker(values=("red", "green")), COLOURS),
    (SIGNED, COLOURS),
    (WeightedSum(kernels=(Gaussian(lengthscale=1.0),), weights=(1e-7,)), LINE),
    (WeightedSum(kernels=(Gaussian(lengthscale=1.0),), weights=(1e50,)), LINE),
)
EVERY_DOMAIN = pytest.mark.parametrize(
    ("kernel", "domain"), DOMAINS, ids=["numbers", "categories", "signed", "tiny", "huge"]
)


def _scores(kernel: Kernel, domain: Rows, rows: Rows, size: int) -> tuple[list[int], float]:
    """The integer scores that the mechanism draws from, and the scale of the draw: P ∝ exp(score/scale)."""
    noise = ScriptedNoise()
    SmallDatabase(domain=domain, size=size).measure(
        PrivateArray(rows), context(kernel=kernel, privacy=PURE, noise=noise)
    )
    return noise.scores[0], noise.scales[0]


def _multisets(kinds: int, size: int) -> list[Integers]:
    chosen = itertools.combinations_with_replacement(range(kinds), size)
    return [np.bincount(pick, minlength=kinds) for pick in chosen]


def _distances(kernel: Kernel, domain: Rows, rows: Rows, size: int) -> Floats:
    """‖μ_D − μ_R‖ of every candidate R, in floats, from the kernel itself."""
    gram = kernel.gram(domain, domain)
    kinds = [row.tolist() for row in domain]
    mean = np.bincount([kinds.index(row.tolist()) for row in rows], minlength=len(domain)) / len(rows)
    offsets = [mean - candidate / size for candidate in _multisets(len(domain), size)]
    return np.sqrt([max(0.0, offset @ gram @ offset) for offset in offsets])


@EVERY_DOMAIN
@pytest.mark.parametrize("size", [1, 2, 4])
def test_scores_are_the_distances_in_the_kernel_s_space(kernel: Kernel, domain: Rows, size: int) -> None:
    rows = domain[[0, 0, 1, 2, 0, 1, 0]]
    scores, scale = _scores(kernel, domain, rows, size)
    distances = _distances(kernel, domain, rows, size)
    largest = np.argmax(distances)
    unit = -scores[largest] / distances[largest]
    assert scores == pytest.approx(-unit * distances, abs=2e-3 * abs(min(scores)) + 2)
    diameter = max(
        np.linalg.norm(_root(kernel, domain)[:, i] - _root(kernel, domain)[:, j]) for i in range(3) for j in range(3)
    )
    assert scale / 2.0 == pytest.approx(unit * diameter / len(rows), rel=0.01)  # ε = 1, Δ = diameter/N


def _root(kernel: Kernel, domain: Rows) -> Floats:
    """Columns whose inner products are the kernel's."""
    values, vectors = np.linalg.eigh(kernel.gram(domain, domain))
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T


@EVERY_DOMAIN
@pytest.mark.parametrize("size", [1, 2, 3])
def test_sensitivity_is_that_of_all_neighbouring_tables(kernel: Kernel, domain: Rows, size: int) -> None:
    """Every table of four rows, every replacement of one, every candidate: in exact integers."""
    tables = {counts: domain[list(counts)] for counts in itertools.combinations_with_replacement(range(3), 4)}
    scored = {counts: _scores(kernel, domain, rows, size) for counts, rows in tables.items()}
    claimed = min(scale for _, scale in scored.values()) / 2.0
    worst = 0
    for counts, (scores, _) in scored.items():
        for replaced, kind in itertools.product(range(4), range(3)):
            neighbour = tuple(sorted((*counts[:replaced], *counts[replaced + 1 :], kind)))
            worst = max(worst, *(abs(a - b) for a, b in zip(scores, scored[neighbour][0], strict=True)))
    assert 0.9 * claimed < worst <= claimed  # it holds, and it is not wasted


def test_twin_with_the_distance_of_one_pair_is_caught() -> None:
    """A sensitivity taken from the first two kinds alone, instead of the farthest two."""
    kernel, domain = DOMAINS[0]
    first, _ = _scores(kernel, domain, domain[[0, 0, 0]], 1)
    second, scale = _scores(kernel, domain, domain[[0, 0, 2]], 1)
    moved = max(abs(a - b) for a, b in zip(first, second, strict=True))
    near = math.sqrt(1.0 - kernel.gram(domain[:1], domain[1:2])[0, 0])
    far = math.sqrt(1.0 - kernel.gram(domain[:1], domain[2:])[0, 0])
    assert scale / 2.0 * near / far < moved <= scale / 2.0


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
@pytest.mark.slow
def test_candidates_are_drawn_with_their_exact_law(epsilon: float) -> None:
    """Chi-square of 6,000 draws against exp(ε·score/2Δ) of the same integer scores. False alarm 1e-6."""
    noise = ScriptedNoise()
    method = SmallDatabase(domain=LINE, size=3)
    method.measure(PrivateArray(LINE[[0, 0, 1, 0]]), context(privacy=Privacy(epsilon=epsilon, delta=0.0), noise=noise))
    scores, scale = np.array(noise.scores[0]), noise.scales[0]
    expected = np.exp((scores - scores.max()) / scale)
    expected *= 6_000 / expected.sum()
    assert expected.min() > 5.0
    source = SystemNoise()
    draws = np.bincount([source.noisy_max(noise.scores[0], scale) for _ in range(6_000)], minlength=len(scores))
    assert chisquare(draws, expected).pvalue > 1e-6
    wrong = np.exp(2.0 * (scores - scores.max()) / scale)  # the twin that forgets the 2 in 2Δ
    assert chisquare(draws, wrong * 6_000 / wrong.sum()).pvalue < 1e-6


def test_the_epsilon_of_the_draw_is_the_budget() -> None:
    noises = [ScriptedNoise() for _ in range(2)]
    for epsilon, noise in zip((1.0, 4.0), noises, strict=True):
        SmallDatabase(domain=LINE, size=2).measure(
            PrivateArray(LINE), context(privacy=Privacy(epsilon=epsilon, delta=0.0), noise=noise)
        )
    assert noises[0].scores == noises[1].scores
    assert noises[0].scales[0] == pytest.approx(4.0 * noises[1].scales[0], rel=1e-9)


def test_a_large_budget_finds_the_table_itself() -> None:
    rows = LINE[[0, 1, 1, 2] * 25]
    setting = context(privacy=Privacy(epsilon=200.0, delta=0.0), noise=SystemNoise())
    method = SmallDatabase(domain=LINE, size=4)
    measured = method.measure(PrivateArray(rows), setting)
    solution = method.fit(measured, setting.seed)
    assert solution.synthetic.points.tolist() == LINE[[0, 1, 1, 2]].tolist()
    assert solution.synthetic.weights.tolist() == [0.25] * 4
    assert solution.outcome is Outcome.SELECTED
    assert str(measured.choices[0]) == "candidates = 15: all multisets of the domain"
    assert entries(setting) == 1


@pytest.mark.parametrize(("kinds", "size"), [(1, 1), (1, 5), (3, 1), (3, 4), (5, 3), (2, 40)])
def test_candidates_are_all_multisets(kinds: int, size: int) -> None:
    domain = np.arange(float(kinds))[:, None]
    method = SmallDatabase(domain=domain, size=size)
    scores, _ = _scores(Gaussian(lengthscale=1.0), domain, domain, size)
    assert method.number_of_candidates == len(scores) == math.comb(kinds + size - 1, size)


def test_rows_outside_the_domain_count_as_its_first() -> None:
    for strange in ([[7.0]], [[math.nan]], [[math.inf]], [["x"]], [[None]], [[[]]], [[_Hostile()]]):
        rows = np.empty((3, 1), dtype=object)
        rows[:2, 0], rows[2, 0] = [1.0, 3.0], strange[0][0]
        assert _scores(Gaussian(lengthscale=1.0), LINE, rows, 2) == _scores(
            Gaussian(lengthscale=1.0), LINE, LINE[[1, 2, 0]], 2
        )


class _Hostile:
    """A cell that raises whatever it is asked."""

    def __hash__(self) -> int:
        raise RuntimeError("SECRET")

    def __repr__(self) -> str:
        raise RuntimeError("SECRET")


@pytest.mark.parametrize(
    "cells", [[0, 1, 3], [-0.0, True, np.float32(3)], [np.int64(0), 1.0, np.float64(3)]], ids=["ints", "mixed", "numpy"]
)
def test_equal_numbers_are_one_kind_whatever_their_type(cells: list[Any]) -> None:
    rows = np.empty((3, 1), dtype=object)
    rows[:, 0] = cells
    assert _scores(Gaussian(lengthscale=1.0), LINE, rows, 2) == _scores(Gaussian(lengthscale=1.0), LINE, LINE, 2)


def test_missing_values_can_be_of_the_domain() -> None:
    kernel = Kronecker(values=("a", None))
    domain = np.array([["a"], [None]], dtype=object)
    rows = np.array([["a"], [None], [math.nan]], dtype=object)
    assert _scores(kernel, domain, rows, 1) == _scores(kernel, domain, domain[[0, 1, 1]], 1)


class Refusal(NamedTuple):
    name: str
    message: str
    domain: Rows = LINE
    size: int = 2
    rows: Rows = LINE
    privacy: Privacy = PURE
    kernel: Kernel = DOMAINS[0][0]
    error: type[Exception] = ParameterError


ADD_REMOVE = Privacy(epsilon=1.0, delta=0.0, neighbours=Neighbours.ADD_REMOVE)
MANY = np.arange(199_000.0)[:, None]
REFUSALS = (
    Refusal("delta", "delta = 0", privacy=Privacy(epsilon=1.0, delta=1e-6)),
    Refusal("add-remove", "replace-one", privacy=ADD_REMOVE),
    Refusal("empty", "table is empty", rows=LINE[:0]),
    Refusal("columns", "the table has 2 columns", rows=np.zeros((4, 2))),
    Refusal("kernel", "columns", kernel=Polynomial(degree=2, half_width=1.0, dimension=2)),
    Refusal(
        "candidates",
        "635,745,396 candidates, above the cap of 200,000",
        domain=np.arange(30.0)[:, None],
        size=10,
        error=CapacityError,
    ),
    Refusal("long databases", "would need .* GiB", domain=LINE[:2], size=199_000, error=CapacityError),
    Refusal("many kinds", "would need .* GiB", domain=MANY, size=1, error=CapacityError),
)


@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal.name for refusal in REFUSALS])
def test_refusals_come_before_any_charge(refusal: Refusal) -> None:
    noise = ScriptedNoise()
    setting = context(kernel=refusal.kernel, privacy=refusal.privacy, noise=noise)
    with pytest.raises(refusal.error, match=refusal.message):
        SmallDatabase(domain=refusal.domain, size=refusal.size).measure(PrivateArray(refusal.rows), setting)
    assert entries(setting) == 0
    assert not noise.scales


@pytest.mark.parametrize("size", [0, -1, 1.5, math.nan, True])
def test_size_is_a_positive_integer(size: int) -> None:
    with pytest.raises(ParameterError, match="SmallDatabase: size must be an integer from 1"):
        SmallDatabase(domain=LINE, size=size)


def test_a_domain_has_rows() -> None:
    with pytest.raises(ParameterError, match="at least one row"):
        SmallDatabase(domain=LINE[:0], size=1)
    with pytest.raises(ParameterError, match="two-dimensional"):
        SmallDatabase(domain=np.arange(3.0), size=1)
