"""A ledger that is made with its first charge, once somebody has chosen its cap."""

from dataclasses import replace

import pytest

from kernelease.errors import BudgetError, LedgerError
from kernelease.ledgers import LedgerFile, NewLedger, open_ledger
from kernelease.privacy import Charge, Loss, Neighbours, Privacy
from kernelease.privacy.sensitivity import Subject

CAP = Privacy(epsilon=1.0, delta=0.0)
CENSUS, PERSONS = Subject(dataset="census"), Subject(dataset="census", unit="person")
CHARGE = Charge(loss=Loss.pure(0.75), asked=CAP, subject=CENSUS, purpose="a test")


def test_nothing_is_written_before_the_first_charge(tmp_path):
    path = tmp_path / "ledger"
    ledger = open_ledger(path, subject=PERSONS, promised=CAP, cap=CAP)
    assert ledger.spent() == Loss()
    assert not path.exists()
    of_persons = replace(CHARGE, subject=PERSONS)
    assert ledger.charge(of_persons).number == 1
    made = LedgerFile.open(path)
    assert (made.subject, made.cap) == (PERSONS, replace(CAP, neighbours=Neighbours.REPLACE_ONE))
    assert ledger.spent() == made.spent() == CHARGE.loss
    with pytest.raises(BudgetError, match="would pass the cap"):
        ledger.charge(of_persons)


def test_an_existing_file_keeps_its_own_cap(tmp_path):
    LedgerFile.create(tmp_path / "ledger", dataset="census", cap=Privacy(epsilon=0.5, delta=0.0))
    ledger = open_ledger(tmp_path / "ledger", subject=CENSUS, promised=CAP)
    assert isinstance(ledger, LedgerFile)
    with pytest.raises(BudgetError):
        ledger.charge(CHARGE)


def test_a_file_that_someone_made_meanwhile_is_used(tmp_path):
    ledger = open_ledger(tmp_path / "ledger", subject=CENSUS, promised=CAP, cap=CAP)
    assert isinstance(ledger, NewLedger)
    LedgerFile.create(tmp_path / "ledger", dataset="census", cap=CAP).charge(CHARGE)
    with pytest.raises(BudgetError):
        ledger.charge(CHARGE)


@pytest.mark.parametrize(("subject", "word"), [(PERSONS, "each person"), (Subject(dataset="other"), "'other'")])
def test_another_subject_is_refused_before_anything_is_read(tmp_path, subject, word):
    LedgerFile.create(tmp_path / "ledger", dataset="census", cap=CAP)
    with pytest.raises(BudgetError, match=word):
        open_ledger(tmp_path / "ledger", subject=subject, promised=CAP)


def test_and_by_a_file_that_someone_made_meanwhile(tmp_path):
    ledger = open_ledger(tmp_path / "ledger", subject=PERSONS, promised=CAP, cap=CAP)
    LedgerFile.create(tmp_path / "ledger", dataset="census", cap=CAP)
    with pytest.raises(BudgetError, match="each row"):
        ledger.charge(replace(CHARGE, subject=PERSONS))


def test_a_cap_is_chosen_and_never_follows_from_one_release(tmp_path):
    promised = Privacy(epsilon=1.0, delta=1e-6, neighbours=Neighbours.ADD_REMOVE)
    command = (
        "kernelease budget create .*ledger' --dataset census --epsilon EPS --delta 1e-06 --unit person --neighbours"
    )
    with pytest.raises(LedgerError, match=command):
        open_ledger(tmp_path / "my ledger", subject=PERSONS, promised=promised)
    with pytest.raises(LedgerError, match="all releases of these data together"):
        open_ledger(tmp_path / "ledger", subject=Subject(), promised=promised)
    assert list(tmp_path.iterdir()) == []


def test_a_cap_never_changes(tmp_path):
    made = LedgerFile.create(tmp_path / "ledger", dataset="census", cap=CAP)
    same = open_ledger(tmp_path / "ledger", subject=CENSUS, promised=CAP, cap=CAP)
    assert same == made
    with pytest.raises(LedgerError, match="has its cap already, epsilon = 1, delta = 0, replace-one"):
        open_ledger(tmp_path / "ledger", subject=CENSUS, promised=CAP, cap=replace(CAP, epsilon=2.0))
