"""Whom a charge is about: a ledger takes no other data set, unit or relation, and says which is which."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.errors import BudgetError, ParameterError
from kernelease.ledgers import LedgerFile, MemoryLedger
from kernelease.privacy import Charge, Loss, Neighbours, Privacy, Subject
from kernelease.privacy.sensitivity import ROWS

CAP = Privacy(epsilon=2.0, delta=1e-6)
PERSONS = Subject(dataset="census", unit="person")
SCHEMA = """
[table]
name = "census"
{more}
[columns.sex]
type = "category"
values = ["f", "m"]
"""
PEOPLE = pa.table({"sex": ["f", "m"] * 20, "person": list(range(40))})


def charge(subject: Subject, neighbours: Neighbours | None = None, loss: Loss | None = None) -> Charge:
    asked = Privacy(epsilon=1.0, delta=0.0, neighbours=neighbours)
    return Charge(loss=Loss.gaussian(0.1) if loss is None else loss, asked=asked, subject=subject, purpose="a test")


@pytest.fixture(params=["memory", "file"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The books of persons in the census."""
    if request.param == "memory":
        return MemoryLedger(CAP, dataset="census", unit="person")
    return LedgerFile.create(tmp_path / "ledger", cap=CAP, dataset="census", unit="person")


def entries(ledger: Any) -> list[Any]:
    return ledger.entries() if isinstance(ledger, LedgerFile) else ledger.entries


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        (ROWS, "counts the loss of each person, the release protects each row"),
        (Subject(dataset="census"), "counts the loss of each person, the release protects each row"),
        (Subject(dataset="census", unit="household"), "each person, the release protects each household"),
        (Subject(dataset="survey", unit="person"), "is of the data set 'census', the release is of 'survey'"),
    ],
)
def test_another_subject_is_refused_and_nothing_is_entered(ledger: Any, subject: Subject, message: str) -> None:
    with pytest.raises(BudgetError, match=f"{message}.*Nothing was spent"):
        ledger.charge(charge(subject))
    assert entries(ledger) == []


def test_a_receipt_names_data_set_and_ledger(ledger: Any) -> None:
    receipt = ledger.charge(charge(PERSONS))
    assert (receipt.dataset, receipt.ledger, receipt.charge.subject) == ("census", ledger.identity, PERSONS)


def test_what_names_no_data_set_is_not_charged_to_the_ledger_of_one(ledger: Any) -> None:
    with pytest.raises(BudgetError, match="give dataset='census'; else use another ledger"):
        ledger.charge(charge(Subject(unit="person")))
    assert entries(ledger) == []


@pytest.mark.slow
def test_vectors_are_charged_to_the_ledger_of_their_own_data_set_alone(tmp_path: Path) -> None:
    books = LedgerFile.create(tmp_path / "ledger", cap=CAP, dataset="census")
    order: dict[str, Any] = {
        "kernel": ke.kernels.Gaussian(lengthscale=1.0),
        "method": ke.Adaptive(points=ke.fit.NormalPoints(dimension=2), features=64, rank=32),
        "privacy": (0.5, 1e-7),
        "ledger": books.path,
    }
    vectors = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(BudgetError, match="does not say of which it is"):
        ke.measure(vectors, **order)
    with pytest.raises(BudgetError, match="is of the data set 'census', the release is of 'survey'"):
        ke.measure(vectors, dataset="survey", **order)
    assert books.entries() == []
    assert ke.measure(vectors, dataset="census", **order).certificate.entry.dataset == "census"
    with pytest.raises(ParameterError, match="a table has its schema's name, 'census'"):
        ke.measure(PEOPLE, schema=ke.Schema.parse(SCHEMA.format(more="")), privacy=(0.5, 1e-7), dataset="survey")


def test_books_without_a_name_go_by_the_first_that_is_charged(tmp_path: Path) -> None:
    for books in (MemoryLedger(CAP), LedgerFile.create(tmp_path / "ledger", cap=CAP)):
        names = [books.charge(charge(Subject(dataset=name))).dataset for name in (None, "census", "census")]
        assert names == [None, "census", "census"]
        assert [entry.dataset for entry in entries(books)] == names
        with pytest.raises(BudgetError, match="is of the data set 'census', the release is of 'survey'"):
            books.charge(charge(Subject(dataset="survey")))


def test_a_mismatch_of_relations_says_so_where_it_passes_the_cap(ledger: Any) -> None:
    dear = charge(PERSONS, Neighbours.ADD_REMOVE, Privacy(epsilon=1.5, delta=1e-6).total(1))
    with pytest.raises(BudgetError, match="under add-remove neighbours; this ledger counts under replace-one ones"):
        ledger.charge(dear)
    assert entries(ledger) == []


def test_books_for_one_release_say_that_there_is_no_ledger() -> None:
    books = MemoryLedger.for_one(CAP, PERSONS)
    assert books.charge(charge(PERSONS)).ledger is None
    assert MemoryLedger(CAP).identity != MemoryLedger(CAP).identity


@pytest.mark.parametrize("text", ["", 7])
def test_names_and_purposes_are_texts(text: Any) -> None:
    for name in ("dataset", "unit"):
        with pytest.raises(ParameterError, match=f"{name} must be a text that is not empty"):
            Subject(**{name: text})
    with pytest.raises(ParameterError, match="purpose must be a text that is not empty"):
        Charge(loss=Loss(), asked=CAP, subject=ROWS, purpose=text)


def test_a_file_keeps_printable_texts_only(tmp_path: Path) -> None:
    ledger = LedgerFile.create(tmp_path / "ledger", cap=CAP)
    with pytest.raises(ParameterError, match="dataset must be printable text"):
        ledger.charge(charge(Subject(dataset="a\nb")))
    with pytest.raises(ParameterError, match="purpose must be printable text"):
        ledger.charge(replace(charge(ROWS), purpose="\udc80"))
    assert ledger.entries() == []


# From Python, end to end.


@pytest.mark.parametrize("ours", ["", 'unit = "person"\nmax_rows_per_unit = 2'], ids=["rows", "persons"])
def test_a_release_is_refused_by_the_ledger_of_another_unit(tmp_path: Path, ours: str) -> None:
    schema = ke.Schema.parse(SCHEMA.format(more=ours))
    other = "person" if schema.unit is None else None
    ledger = LedgerFile.create(tmp_path / "ledger", cap=CAP, dataset="census", unit=other)
    with pytest.raises(BudgetError, match="This ledger counts the loss of each"):
        ke.release(PEOPLE, schema=schema, privacy=CAP, ledger=ledger)
    assert ledger.entries() == []


@pytest.mark.parametrize("declared", Neighbours)
def test_a_relation_given_twice_and_differently_is_refused(declared: Neighbours) -> None:
    schema = ke.Schema.parse(SCHEMA.format(more=f'neighbours = "{declared.value}"'))
    (said,) = set(Neighbours) - {declared}
    privacy = Privacy(epsilon=1.0, delta=1e-6, neighbours=said)
    ledger = MemoryLedger(privacy)
    with pytest.raises(ParameterError, match=f"asks for {said.value} neighbours, the schema declares {declared.value}"):
        ke.release(PEOPLE, schema=schema, privacy=privacy, ledger=ledger)
    assert ledger.entries == []
