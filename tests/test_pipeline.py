"""The whole way from rows to a release, for arrays: who is charged, when, and what the outcome rests on."""

import itertools
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelease import (
    Adaptive,
    Interactions,
    MemoryLedger,
    Neighbours,
    Privacy,
    RandomFeatures,
    Release,
    Schema,
    SeededNoise,
    SmallDatabase,
    Subspace,
    release,
    save,
    verify,
)
from kernelease.arrays import Integers
from kernelease.errors import BudgetError, ParameterError
from kernelease.fit import GreedyPreimages, NormalPoints, PublicPoints, PublishedRows, Simplex
from kernelease.kernels import Gaussian, Kronecker, Laplace
from kernelease.methods import Method
from kernelease.privacy import Charge, Loss, Receipt
from tests.methods.stand_ins import STRONG, ScriptedNoise
from tests.methods.test_add_remove import noise_to_one_result

ROWS = np.random.default_rng(6).normal(size=(200, 2))
KERNEL = Gaussian(lengthscale=1.0)
NORMAL = NormalPoints(dimension=2, scale=2.0)
SUBSPACE = Subspace(points=NORMAL, count=30)
ADD_REMOVE = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
METHODS: tuple[Method, ...] = (
    SUBSPACE,
    Subspace(points=NORMAL, count=30, constraint=Simplex()),
    RandomFeatures(start=NORMAL, features=40, solver=GreedyPreimages(points=10)),
)
EVERY_METHOD = pytest.mark.parametrize(
    "method", METHODS, ids=["subspace", "subspace on the simplex", "random features"]
)


def _release(data: Any = ROWS, method: Method = SUBSPACE, privacy: Privacy = STRONG, **parameters: Any) -> Release:
    return release(data, kernel=KERNEL, method=method, privacy=privacy, **parameters)


# Charging


class _Notes:
    """A ledger and a noise source that write into one list."""

    private = False

    def __init__(self, cap: Privacy) -> None:
        self.cap, self.books, self.events = cap, MemoryLedger(cap), list[str]()

    def charge(self, charge: Charge) -> Receipt:
        receipt = self.books.charge(charge)
        self.events.append("charge")
        return receipt

    def spent(self) -> Loss:
        return self.books.spent()

    def gaussian(self, scale: float, size: int) -> Integers:
        self.events.append("noise")
        return np.zeros(size, dtype=np.int64)

    def laplace(self, scale: float, size: int) -> Integers:
        return self.gaussian(scale, size)

    def noisy_max(self, scores: Sequence[int], scale: float) -> int:
        self.events.append("noise")
        return 0


@pytest.mark.parametrize("delta", [0.0, 1e-6], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("neighbours", list(Neighbours))
@EVERY_METHOD
def test_the_ledger_is_charged_once_and_before_any_noise(method: Method, delta: float, neighbours: Neighbours) -> None:
    privacy = Privacy(epsilon=1.0, delta=delta, neighbours=neighbours)
    notes = _Notes(privacy)
    _release(method=method, privacy=privacy, ledger=notes, noise=notes)
    assert notes.events == ["charge", "noise"]
    assert notes.spent().delta(1.0) <= delta


def test_a_selection_is_charged_before_it_is_drawn() -> None:
    notes = _Notes(Privacy(epsilon=1.0, delta=0.0))
    _release(np.eye(2), SmallDatabase(domain=np.eye(2), size=2), notes.cap, ledger=notes, noise=notes)
    assert notes.events == ["charge", "noise"]


@EVERY_METHOD
def test_what_the_ledger_does_not_cover_is_not_drawn(method: Method) -> None:
    notes = _Notes(Privacy(epsilon=0.5, delta=1e-6))
    with pytest.raises(BudgetError, match="would pass the cap"):
        _release(method=method, ledger=notes, noise=notes)
    assert notes.events == []


def test_a_ledger_serves_until_it_is_spent() -> None:
    ledger = MemoryLedger(STRONG)
    _release(ledger=ledger)
    with pytest.raises(BudgetError, match="Nothing was spent"):
        _release(ledger=ledger)
    assert len(ledger.entries) == 1
    two = MemoryLedger(Privacy(epsilon=3.0, delta=1e-5))
    assert [_release(ledger=two).certificate.entry.number for _ in range(2)] == [1, 2]


def test_without_a_ledger_one_release_is_allowed() -> None:
    assert _release().certificate.entry.number == 1


# Certificates


@EVERY_METHOD
@pytest.mark.parametrize(
    "privacy", [STRONG, ADD_REMOVE, Privacy(epsilon=2.0, delta=0.0)], ids=["replace-one", "add-remove", "pure"]
)
def test_the_certificate_says_what_was_done(method: Method, privacy: Privacy) -> None:
    made = _release(method=method, privacy=privacy, seed=12)
    certificate = made.certificate
    assert certificate.private
    assert (certificate.epsilon, certificate.delta) == (privacy.epsilon, privacy.delta)
    assert certificate.neighbours is privacy.relation
    assert certificate.method == type(method).__name__
    assert certificate.kernel == "Gaussian(lengthscale=1.0)"
    assert certificate.seed == 12
    assert len(certificate.choices) >= 1
    assert certificate.spent.delta(privacy.epsilon * (1 + 1e-9)) <= privacy.delta
    assert certificate.rows == (
        200.0 if privacy.relation is Neighbours.REPLACE_ONE else made.measurements.measured.embedding.rows
    )


def test_published_rows_are_named() -> None:
    assert _release(method=Subspace(points=PublishedRows(25))).certificate.published_rows == 25
    assert _release().certificate.published_rows == 0


def test_seeded_noise_is_marked() -> None:
    made = _release(noise=SeededNoise(0))
    assert not made.certificate.private
    assert "NOT PRIVATE" in repr(made)
    assert "NOT PRIVATE" in str(made.certificate)


# Randomness


@EVERY_METHOD
def test_seeds_decide_everything(method: Method) -> None:
    first, second = (_release(method=method, noise=SeededNoise(5), seed=3) for _ in range(2))
    assert first.table.equals(second.table)
    other_noise = _release(method=method, noise=SeededNoise(6), seed=3)
    assert not np.array_equal(first.weights, other_noise.weights)
    points = [
        made.feature_map.evaluate(ROWS)
        for made in (first.measurements.measured.embedding, other_noise.measurements.measured.embedding)
    ]
    assert (points[0] == points[1]).all()  # the noise has no say in what is public


def test_system_noise_is_fresh_and_takes_no_seed() -> None:
    first, second = (_release(seed=3) for _ in range(2))
    assert (first.points == second.points).all()
    assert (first.weights != second.weights).all()


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    ledger = MemoryLedger(STRONG)
    with pytest.raises(ParameterError, match="PublicSeed"):
        _release(ledger=ledger, seed=seed)
    assert not ledger.entries


# Input


def test_lists_and_arrays_are_the_same_table() -> None:
    made = [
        _release(data, noise=SeededNoise(1))
        for data in (ROWS, ROWS.tolist(), tuple(map(tuple, ROWS)), ROWS.astype(object))
    ]
    assert all(made[0].table.equals(other.table) for other in made[1:])


def test_one_text_among_numbers_changes_no_other_row() -> None:
    """Handed to NumPy whole, the list below would turn all of its numbers to text."""
    kernel = Kronecker(values=(1, 2))
    method = Subspace(points=PublicPoints([[1], [2], ["other"]]))
    made = [
        release(rows, kernel=kernel, method=method, privacy=STRONG, noise=ScriptedNoise())
        for rows in ([[1]] * 60 + [[2]] * 40, [[1]] * 60 + [[2]] * 39 + [["x"]])
    ]
    weights = [dict(zip(map(str, one.points[:, 0]), one.weights, strict=True)) for one in made]
    assert max(abs(weights[0][name] - weights[1][name]) for name in weights[0]) == pytest.approx(0.01, abs=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": SUBSPACE}, "Give a schema for a table, or a kernel"),
        ({"kernel": KERNEL, "method": "Subspace"}, "method must be a Method, got str"),
        ({"kernel": KERNEL, "schema": "[table]"}, "one of the two"),
        ({"kernel": "gaussian", "method": SUBSPACE}, "kernel must be a Kernel, as Gaussian"),
        (
            {"kernel": KERNEL, "method": SUBSPACE, "noise": np.random.default_rng(0)},
            "noise must be SeededNoise.* got Generator",
        ),
        ({"kernel": KERNEL, "method": Interactions()}, "needs declared columns"),
    ],
)
def test_what_does_not_go_together_is_refused(parameters: dict[str, Any], message: str) -> None:
    ledger = MemoryLedger(STRONG)
    if "schema" in parameters:
        text = '[table]\nname = "t"\nneighbours = "replace-one"\n[columns.a]\ntype = "boolean"\n'
        parameters = {**parameters, "schema": Schema.parse(text, source="test")}
    with pytest.raises(ParameterError, match=message):
        release(ROWS, privacy=STRONG, ledger=ledger, **parameters)
    assert not ledger.entries


@pytest.mark.parametrize(
    "build",
    [lambda: Subspace(points=ROWS), lambda: RandomFeatures(start=ROWS), lambda: Adaptive(points=ROWS)],
    ids=["Subspace", "RandomFeatures", "Adaptive"],
)
def test_an_array_is_no_source_of_points(build: Any) -> None:
    """It would be taken for public rows without a word that it has to be public."""
    with pytest.raises(ParameterError, match=r"must be a PointSource, as .* or PublicPoints\(rows\), got ndarray"):
        build()


@pytest.mark.parametrize("kernel", [KERNEL, Laplace(lengthscale=2.0)], ids=repr)
def test_one_row_is_a_table(kernel: Any) -> None:
    made = release(ROWS[:1], kernel=kernel, method=SUBSPACE, privacy=STRONG, noise=ScriptedNoise())
    assert made.certificate.rows == 1.0


# Add-remove: N is nowhere


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@EVERY_METHOD
@pytest.mark.parametrize("counts", [(100, 101), (0, 1)], ids=str)
def test_equal_noisy_numbers_are_saved_as_equal_bytes(method: Method, counts: tuple[int, int], tmp_path: Path) -> None:
    """Tables of N and N + 1 rows, with noise that makes up for it: no byte of the release tells them apart."""
    tables = (ROWS[: counts[0]], ROWS[: counts[1]])
    saved, said = [], []
    for index, noise in enumerate(noise_to_one_result(method, tables, ADD_REMOVE)):
        made = _release(tables[index], method, ADD_REMOVE, noise=noise)
        saved.append(_bytes(save(made, tmp_path / str(index))))
        said.append(
            (repr(made), str(made.certificate), str(made.forms.solution), repr(made.measurements.measured.embedding))
        )
    assert saved[0] == saved[1]
    assert said[0] == said[1]
    assert len(saved[0]) >= 3


def test_under_replace_one_the_same_test_sees_the_difference(tmp_path: Path) -> None:
    """The twin: N is public there, and shows."""
    for index, rows in enumerate((ROWS[:100], ROWS[:101])):
        save(_release(rows, noise=ScriptedNoise()), tmp_path / str(index))
    assert _bytes(tmp_path / "0") != _bytes(tmp_path / "1")


def test_a_weak_delta_is_warned_about() -> None:
    with pytest.warns(UserWarning, match="not below 1/N"):
        _release(privacy=Privacy(epsilon=1.0, delta=0.01), noise=SeededNoise(0))


# All together


def test_every_kind_of_row_can_be_saved(tmp_path: Path) -> None:
    """Categories outside the list, mixed columns and missing cells: nothing fails once the budget is charged."""
    kernel = Kronecker(values=("a", 1.0, None))
    cells = np.array([["a"], [1.0], [None], ["unheard of"]], dtype=object)
    method = Subspace(points=PublicPoints(cells), constraint=Simplex())
    made = release(cells, kernel=kernel, method=method, privacy=STRONG, noise=SeededNoise(0))
    assert save(made, tmp_path / "bundle").exists()
    assert sorted(filter(None, made.table.column("x0").to_pylist())) == ["1.0", "a", "other"]


def test_all_methods_relations_and_laws(tmp_path: Path) -> None:
    for method, neighbours, delta in itertools.product(METHODS, Neighbours, (0.0, 1e-6)):
        privacy = Privacy(epsilon=1.0, delta=delta, neighbours=neighbours)
        made = _release(method=method, privacy=privacy)
        path = save(made, tmp_path / "bundle", overwrite=True)
        assert all(finding.holds for finding in verify(path))
        assert np.isfinite(made.weights).all()


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_a_delta_of_one_row_is_warned_of_under_both_relations(neighbours: Neighbours) -> None:
    """Under add-remove by the noisy count, once the release is bought: nothing may depend on the exact number."""
    weak = Privacy(epsilon=5.0, delta=0.05, neighbours=neighbours)
    with pytest.warns(UserWarning, match=r"delta = 0.05 is not below 1/N"):
        _release(privacy=weak)
    ledger = MemoryLedger(weak)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _release(privacy=Privacy(epsilon=5.0, delta=1e-6, neighbours=neighbours), ledger=ledger)
