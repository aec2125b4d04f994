"""A ledger that is made with its first charge."""

import pytest

from kernelease.errors import BudgetError
from kernelease.privacy import Charge, Loss, Neighbours, Privacy
from kernelease.privacy.ledger_file import LedgerFile
from kernelease.privacy.ledger_on_demand import NewLedger, open_ledger

CAP = Privacy(epsilon=1.0)
CHARGE = Charge(loss=Loss.pure(0.75), neighbours=Neighbours.REPLACE_ONE, purpose="a test")


def test_nothing_is_written_before_the_first_charge(tmp_path):
    path = tmp_path / "ledger"
    ledger = open_ledger(path, dataset="census", cap=CAP, unit="person")
    assert ledger.spent() == Loss()
    assert not path.exists()
    assert ledger.charge(CHARGE).number == 1
    made = LedgerFile.open(path)
    assert (made.dataset, made.cap, made.unit) == ("census", CAP, "person")
    assert ledger.spent() == made.spent() == CHARGE.loss
    with pytest.raises(BudgetError):
        ledger.charge(CHARGE)


def test_an_existing_file_keeps_its_own_cap(tmp_path):
    LedgerFile.create(tmp_path / "ledger", dataset="census", cap=Privacy(epsilon=0.5))
    ledger = open_ledger(tmp_path / "ledger", dataset="other", cap=CAP)
    assert isinstance(ledger, LedgerFile)
    with pytest.raises(BudgetError):
        ledger.charge(CHARGE)


def test_a_file_that_someone_made_meanwhile_is_used(tmp_path):
    ledger = open_ledger(tmp_path / "ledger", dataset="census", cap=CAP)
    assert isinstance(ledger, NewLedger)
    LedgerFile.create(tmp_path / "ledger", dataset="census", cap=CAP).charge(CHARGE)
    with pytest.raises(BudgetError):
        ledger.charge(CHARGE)


def test_another_unit_is_refused(tmp_path):
    LedgerFile.create(tmp_path / "ledger", dataset="census", cap=CAP)
    with pytest.raises(BudgetError, match="unit"):
        open_ledger(tmp_path / "ledger", dataset="census", cap=CAP, unit="person")
