"""The ledger as a file: what it keeps, and the files that it refuses. Faults are in test_ledger_file_faults.py."""

import math
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kernelease import ledgers as module
from kernelease._version import __version__
from kernelease.errors import BudgetError, LedgerError, ParameterError
from kernelease.ledgers import LedgerFile, MemoryLedger, remaining_epsilon
from kernelease.privacy import Calibration, Charge, Ledger, Loss, Neighbours, Privacy, PrivacyFilter
from kernelease.privacy.accounting import SMALLEST_EPSILON
from kernelease.privacy.calibration import gaussian_delta, pure_mu
from kernelease.privacy.ledger import counted_loss
from kernelease.privacy.sensitivity import Subject

CAP = Privacy(epsilon=1.0, delta=1e-6)
CENSUS = Subject(dataset="census")
PURE = Privacy(epsilon=1.0, delta=0.0)
_KEPT = "time, purpose, dataset, unit, neighbours, epsilon, delta, calibration"


def step(loss: Loss, neighbours: Neighbours = Neighbours.REPLACE_ONE) -> Charge:
    return Charge(
        loss=loss, asked=Privacy(epsilon=1.0, delta=0.0, neighbours=neighbours), subject=CENSUS, purpose="a test"
    )


def edit(path: Path, *statements: str) -> None:
    """What a meddler can do with any SQLite program."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def without_trigger(path: Path, name: str, *statements: str) -> None:
    """What a cunning one can do: take a trigger off, meddle, put it back."""
    (sql,) = (text for text in module._SCHEMA if name in text)
    edit(path, f"DROP TRIGGER {name}", *statements, sql)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


# ---------------------------------------------------------------------------------------------------- keeping the books


def test_what_is_created_is_what_is_opened(path: Path) -> None:
    cap = Privacy(epsilon=0.1 + 0.2, delta=1e-7 / 3, neighbours=Neighbours.ADD_REMOVE, calibration=Calibration.CLASSIC)
    made = LedgerFile.create(path, dataset="census 2020", cap=cap, unit="patient_id")
    assert LedgerFile.open(str(path)) == made
    assert (made.dataset, made.cap, made.unit, made.entries(), made.spent()) == (
        "census 2020",
        cap,
        "patient_id",
        [],
        Loss(),
    )
    assert os.listdir(path.parent) == ["ledger.sqlite"]


def test_each_ledger_has_an_identity_of_its_own(tmp_path: Path) -> None:
    """Made by chance: two ledgers of the same name, cap and unit are told apart."""
    made = [LedgerFile.create(tmp_path / str(number), dataset="census", cap=CAP) for number in range(3)]
    assert len({ledger.identity for ledger in made}) == 3
    assert all(len(ledger.identity) == 32 for ledger in made)
    assert LedgerFile.open(made[0].path).charge(step(Loss.gaussian(0.1))).ledger == made[0].identity


def test_a_receipt_says_where_the_books_stand(path: Path) -> None:
    ledger = LedgerFile.create(path, dataset="census", cap=CAP)
    first, second = (ledger.charge(step(Loss.gaussian(0.1, tau=1e-20))) for _ in range(2))
    assert (second.number, second.ledger, second.dataset, second.cap) == (2, ledger.identity, "census", ledger.cap)
    assert (first.spent, second.spent) == (Loss.gaussian(0.1, tau=1e-20), first.spent + first.spent)
    assert ledger.entry(2) == second
    for number in (0, 3, -1):
        with pytest.raises(LedgerError, match=f"has 2 entries, and none of number {number}"):
            ledger.entry(number)


def test_entries_come_back_exactly(path: Path) -> None:
    ledger: Ledger = LedgerFile.create(path, dataset="census", cap=Privacy(epsilon=20.0, delta=0.1))
    charges = [
        step(Loss(mu_squared=1 / 3, delta_zero=1e-300, tau=2.0**-80, pure_epsilon=math.inf)),
        step(Loss.pure(0.1)),
        step(Loss.gaussian(5e-324)),
        step(Loss.gaussian(0.1, tau=1e-20), Neighbours.ADD_REMOVE),
    ]
    receipts = [ledger.charge(charge) for charge in charges]
    entries = LedgerFile.open(path).entries()
    assert [entry.charge for entry in entries] == charges
    assert entries == receipts == [ledger.entry(number) for number in (1, 2, 3, 4)]
    assert [entry.number for entry in entries] == [1, 2, 3, 4]
    assert {entry.version for entry in entries} == {__version__}
    assert all(entry.time.endswith("+00:00") for entry in entries)
    assert ledger.spent() == sum((entry.cost for entry in entries), Loss())


def test_a_filter_opens_on_it(path: Path) -> None:
    ledger = LedgerFile.create(path, dataset="census", cap=CAP)
    budget = PrivacyFilter.open(CAP, ledger=ledger, subject=CENSUS, coordinates=1000, purpose="all of it")
    assert budget.receipt.number == 1
    assert ledger.entries()[0].charge == Charge(
        loss=CAP.total(1000), asked=replace(CAP, neighbours=Neighbours.REPLACE_ONE), subject=CENSUS, purpose="all of it"
    )
    with pytest.raises(BudgetError, match="nothing is left"):
        PrivacyFilter.open(
            Privacy(epsilon=0.01, delta=1e-9), ledger=ledger, subject=CENSUS, coordinates=1, purpose="more"
        )


def test_beyond_the_cap_is_refused_with_what_is_left(path: Path) -> None:
    ledger = LedgerFile.create(path, dataset="census", cap=CAP)
    half = Privacy(epsilon=0.5, delta=1e-6).total(1)
    ledger.charge(step(half))
    with pytest.raises(
        BudgetError, match=r"Nothing was spent; left: one release of epsilon up to 0\.\d+ at delta = 1e-06"
    ):
        ledger.charge(step(CAP.total(1)))
    assert ledger.spent() == half
    left = ledger.remaining_epsilon()
    with pytest.raises(BudgetError):
        ledger.charge(step(Privacy(epsilon=left * (1 + 1e-9), delta=1e-6).total(1)))
    ledger.charge(step(Privacy(epsilon=left * (1 - 1e-9), delta=1e-6).total(1)))
    assert ledger.remaining_epsilon() < 1e-3


def test_what_is_left_in_words(path: Path) -> None:
    ledger = LedgerFile.create(path, dataset="census", cap=Privacy(epsilon=0.3, delta=0.0))
    assert ledger.remaining() == "left: one release of epsilon up to 0.3 at delta = 0"
    ledger.charge(step(Loss.pure(0.3 - 0.0012345)))
    assert ledger.remaining() == "left: one release of epsilon up to 0.00123 at delta = 0"


@given(st.floats(1e-3, 10.0), st.floats(1e-12, 1e-2), st.floats(0.0, 1.0))
@settings(max_examples=40, deadline=None)
def test_what_is_left_fits_and_more_does_not(epsilon: float, delta: float, share: float) -> None:
    cap = Privacy(epsilon=epsilon, delta=delta)
    spent = Loss.gaussian(share * cap.total(1).mu)
    left = remaining_epsilon(cap, spent)
    assert 0.0 <= left <= epsilon
    if left > 0.0:
        assert cap.allows(spent + Privacy(epsilon=left, delta=delta).total(1))
    if left + 1e-6 * epsilon >= SMALLEST_EPSILON and left < epsilon:
        assert not cap.allows(spent + Privacy(epsilon=left + 1e-6 * epsilon, delta=delta).total(1))


def test_a_ledger_of_the_first_format_says_what_to_do(path: Path) -> None:
    LedgerFile.create(path, cap=CAP)
    edit(path, "PRAGMA user_version = 1")
    with pytest.raises(LedgerError, match=r"has format 1.* or make a new ledger with a cap that leaves out what"):
        LedgerFile.open(path)


def test_bad_parameters_are_refused(path: Path) -> None:
    with pytest.raises(ParameterError, match="cap must be a Privacy, got tuple"):
        LedgerFile.create(path, dataset="census", cap=(1.0, 1e-6))
    for text in ("", "a\nb", "\udc80", 7):
        with pytest.raises(ParameterError, match="dataset must be printable text"):
            LedgerFile.create(path, dataset=text, cap=CAP)
    with pytest.raises(ParameterError, match="unit must be printable text"):
        LedgerFile.create(path, unit="", cap=CAP)
    assert not path.exists()
    ledger = LedgerFile.create(path, cap=CAP)
    with pytest.raises(ParameterError, match="purpose must be printable text"):
        ledger.charge(Charge(loss=Loss.pure(0.1), asked=CAP, subject=CENSUS, purpose="a\nb"))


# ---------------------------------------------------------------------------------------- one relation for each ledger


@pytest.fixture(params=["memory", "file"])
def books(request: pytest.FixtureRequest, path: Path) -> Callable[[Privacy], Any]:
    if request.param == "memory":
        return MemoryLedger
    return lambda cap: LedgerFile.create(path, cap=cap)


def test_an_add_remove_gaussian_step_counts_twice_its_mu(books: Callable[[Privacy], Any]) -> None:
    cap = Privacy(epsilon=1.0, delta=1e-2)
    ledger = books(cap)
    ledger.charge(step(Loss.gaussian(0.1, tau=1e-15), Neighbours.ADD_REMOVE))
    assert ledger.spent() == Loss(mu_squared=4 * 0.1**2, tau=1e-15, pure_epsilon=math.inf)
    assert ledger.spent().delta(1.0) == pytest.approx(gaussian_delta(0.2, 1.0) + (1 + math.e) * 1e-15)
    allowed = cap.total(1).mu
    with pytest.raises(BudgetError, match="would pass the cap"):
        books_charge_alone(cap, allowed / 2 * 1.001)
    books_charge_alone(cap, allowed / 2 * 0.999)


def books_charge_alone(cap: Privacy, mu: float) -> None:
    MemoryLedger(cap).charge(step(Loss.gaussian(mu), Neighbours.ADD_REMOVE))


def test_an_add_remove_pure_step_counts_twice_its_epsilon(books: Callable[[Privacy], Any]) -> None:
    ledger = books(PURE)
    ledger.charge(step(Loss.pure(0.5), Neighbours.ADD_REMOVE))
    assert ledger.spent() == Loss.pure(1.0)
    with pytest.raises(BudgetError, match="would pass the cap"):
        ledger.charge(step(Loss.pure(1e-9), Neighbours.ADD_REMOVE))


@pytest.mark.parametrize(
    ("relation", "loss"),
    [
        (Neighbours.REPLACE_ONE, Loss.approximate(0.01, 1e-12)),  # δ₀ can't be converted
        (Neighbours.ADD_REMOVE, Loss.gaussian(1e-3)),  # replace-one does not protect the number of rows
    ],
)
def test_other_mixtures_are_refused(books: Callable[[Privacy], Any], relation: Neighbours, loss: Loss) -> None:
    (other,) = set(Neighbours) - {relation}
    ledger = books(Privacy(epsilon=1.0, delta=1e-6, neighbours=relation))
    with pytest.raises(BudgetError, match="can't be converted"):
        ledger.charge(step(loss, other))
    assert ledger.spent() == Loss()
    ledger.charge(step(loss, relation))
    assert ledger.spent() == loss


@given(st.floats(1e-9, 50.0))
def test_twice_epsilon_never_costs_more_than_twice_mu(epsilon: float) -> None:
    assert pure_mu(2 * epsilon) <= 2 * pure_mu(epsilon) * (1 + 1e-12)
    counted = counted_loss(PURE, step(Loss.pure(epsilon), Neighbours.ADD_REMOVE))
    assert counted.pure_epsilon == 2 * epsilon
    assert counted.mu_squared == pytest.approx(pure_mu(2 * epsilon) ** 2, rel=1e-12)


def test_two_pure_steps_in_one_charge_take_the_cheaper_of_both_bounds() -> None:
    counted = counted_loss(PURE, step(Loss.pure(2.0) + Loss.pure(2.0), Neighbours.ADD_REMOVE))
    assert counted.mu_squared == min(8 * pure_mu(2.0) ** 2, pure_mu(8.0) ** 2)


# ------------------------------------------------------------------------------------------------- files it won't touch


def test_an_existing_file_is_never_overwritten(path: Path) -> None:
    first = LedgerFile.create(path, dataset="census", cap=CAP)
    first.charge(step(Loss.gaussian(0.1)))
    with pytest.raises(LedgerError, match="already exists"):
        LedgerFile.create(path, dataset="other", cap=CAP)
    assert LedgerFile.open(path).entries() == first.entries()
    link = path.with_name("dangling")
    link.symlink_to(path.with_name("nowhere"))
    with pytest.raises(LedgerError, match="already exists"):
        LedgerFile.create(link, cap=CAP)


def test_nor_if_it_appears_at_the_last_moment(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = LedgerFile.create(path, dataset="census", cap=CAP)
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    with pytest.raises(LedgerError, match=r"could not be made: .*exists"):
        LedgerFile.create(path, dataset="other", cap=CAP)
    monkeypatch.setattr(os, "link", _no_links)
    with pytest.raises(LedgerError, match=r"could not be made: .*exists"):
        LedgerFile.create(path, dataset="other", cap=CAP)
    assert LedgerFile.open(path) == first
    assert os.listdir(path.parent) == ["ledger.sqlite"]


def _no_links(*_: object) -> None:
    raise PermissionError(1, "Operation not permitted")


def test_a_file_system_without_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _no_links)
    ledger = LedgerFile.create(path, dataset="census", cap=CAP)
    assert LedgerFile.open(path) == ledger
    assert os.listdir(path.parent) == ["ledger.sqlite"]


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="could not be made"):
        LedgerFile.create(tmp_path / "nowhere" / "ledger", cap=CAP)
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(LedgerError, match="There is no ledger"):
            LedgerFile.open(path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"date,amount\n" * 500, b"SQLite format 3\0" + bytes(4080), os.urandom(8192)])
def test_a_file_that_is_not_a_database(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(LedgerError):
        LedgerFile.open(path)
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == ["ledger.sqlite"]


def test_another_programs_database(path: Path) -> None:
    edit(path, "CREATE TABLE entries (number INTEGER)")
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="is not a kernelease ledger"):
        LedgerFile.open(path)
    assert path.read_bytes() == before


def test_a_newer_format(path: Path) -> None:
    ledger = LedgerFile.create(path, cap=CAP)
    edit(path, "PRAGMA user_version = 3")
    for attempt in (lambda: LedgerFile.open(path), ledger.spent, lambda: ledger.charge(step(Loss.pure(0.1)))):
        with pytest.raises(LedgerError, match=r"has format 3; this kernelease .* knows format 2.* or a newer one"):
            attempt()


def test_a_ledger_put_in_place_of_another(path: Path) -> None:
    ledger = LedgerFile.create(path, dataset="census", cap=CAP)
    path.unlink()
    LedgerFile.create(path, dataset="census", cap=Privacy(epsilon=100.0, delta=1e-6))
    with pytest.raises(LedgerError, match="was replaced"):
        ledger.charge(step(Loss.pure(0.1)))
    path.unlink()
    with pytest.raises(LedgerError, match="There is no ledger"):
        ledger.charge(step(Loss.pure(0.1)))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET mu_squared = 0",
        "DELETE FROM entries",
        f"INSERT OR REPLACE INTO entries SELECT 1, {_KEPT}, 0.0, 0.0, 0.0, 0.0, version FROM entries",
        f"INSERT INTO entries SELECT 9, {_KEPT}, 0.0, 0.0, 0.0, 0.0, version FROM entries",
        f"INSERT INTO entries SELECT 2, {_KEPT}, -1.0, 0.0, 0.0, 0.0, version FROM entries",
        f"INSERT INTO entries SELECT 2, {_KEPT}, 'x', 0.0, 0.0, 0.0, version FROM entries",
        "UPDATE ledger SET epsilon = 100",
        "DELETE FROM ledger",
        "INSERT INTO ledger SELECT * FROM ledger",
        "INSERT OR REPLACE INTO ledger SELECT * FROM ledger",
        "UPDATE ledger SET rowid = 5",
    ],
)
def test_entries_and_cap_are_never_rewritten(path: Path, statement: str) -> None:
    ledger = LedgerFile.create(path, cap=CAP)
    ledger.charge(step(Loss.gaussian(0.1)))
    before = ledger.entries()
    with pytest.raises(sqlite3.IntegrityError, match=r"never rewritten|CHECK"):
        edit(path, statement)
    assert LedgerFile.open(path).entries() == before


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_delete",
        "CREATE TRIGGER extra BEFORE INSERT ON entries BEGIN SELECT RAISE(IGNORE); END",
        "ALTER TABLE entries ADD COLUMN note TEXT",
        "DROP TABLE entries",
    ],
)
def test_altered_tables_are_refused(path: Path, statement: str) -> None:
    ledger = LedgerFile.create(path, cap=CAP)
    edit(path, statement)
    for attempt in (lambda: LedgerFile.open(path), lambda: ledger.charge(step(Loss.pure(0.1)))):
        with pytest.raises(LedgerError, match="were altered"):
            attempt()


def test_damage_behind_the_triggers_back_is_noticed(path: Path) -> None:
    ledger = LedgerFile.create(path, cap=CAP)
    for _ in range(3):
        ledger.charge(step(Loss.gaussian(0.01)))
    whole = path.read_bytes()
    for trigger, statement, message in (
        ("entries_delete", "DELETE FROM entries WHERE number = 2", "entries are missing"),
        ("entries_update", "UPDATE entries SET neighbours = 'friends' WHERE number = 2", "an entry can't be read"),
        ("ledger_update", "UPDATE ledger SET neighbours = 'friends'", "its cap can't be read"),
        ("entries_update", "UPDATE entries SET unit = 'person' WHERE number = 2", "an entry can't be read"),
        ("ledger_update", "UPDATE ledger SET epsilon = 'many'", "its cap can't be read"),
        ("ledger_update", "UPDATE ledger SET identity = ''", "its cap can't be read"),
        ("ledger_delete", "DELETE FROM ledger", "its cap can't be read"),
    ):
        path.write_bytes(whole)
        without_trigger(path, trigger, statement)
        for attempt in (lambda: LedgerFile.open(path), ledger.entries):
            with pytest.raises(LedgerError, match=message):
                attempt()
    path.write_bytes(whole)
    without_trigger(path, "entries_update", "PRAGMA ignore_check_constraints = 1", "UPDATE entries SET tau = -1.0")
    with pytest.raises(LedgerError, match="is damaged: CHECK constraint"):
        LedgerFile.open(path)
