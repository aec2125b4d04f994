"""Nothing paid for is lost, and no message says otherwise: faults at the steps of every method, by every way in.

After each fault, either nothing was charged, or the measurements are on disk, or the message says exactly what was
spent. A call has some thousand places where it may fail; a test tries one in so many, other ones in each call, with
one kind of fault after the other, and `make audit` four times as many. `FAULTS_EVERY=1` tries them all, which takes
most of an hour.
"""

import dataclasses
import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.answers.release import save
from kernelease.bundle import container
from kernelease.bundle.saving import Watched, load_measurements
from kernelease.cli import command as exits
from kernelease.ledgers import LedgerFile
from kernelease.pipeline import measure
from tests.faults.injection import PHASES, Place
from tests.faults.releases import CALLS, Call, break_off, deaths, fault_for

# A fault between the opening of a file and whoever would close it leaves that to the collector of garbage.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

EVERY = int(os.environ.get("FAULTS_EVERY", "160"))
BY_NAME = {call.name: call for call in CALLS}


def tried(call: Call, every: int, start: int = 0) -> list[str]:
    """What is wrong after the faults at one place in `every`."""
    chosen = list(enumerate(call.places()))[start % every :: every]
    return [
        f"{problem} ({type(fault).__name__} at {place})"
        for number, (_, place) in enumerate(chosen, start)
        for fault in [fault_for(place, number)]
        for problem in break_off(call, place, fault)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("every", [EVERY, pytest.param(40, marks=pytest.mark.whole)])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
def test_nothing_paid_for_is_lost(call: Call, every: int) -> None:
    assert tried(call, every, start=CALLS.index(call)) == []


@pytest.mark.slow
@pytest.mark.parametrize("call", [call for call in CALLS if call.out and call.exchanges], ids=lambda call: call.name)
def test_a_process_that_dies_in_the_fit_leaves_its_measurements(call: Call) -> None:
    assert deaths(call) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ke.release without out, SmallDatabase", "ke.release, Subspace"])
def test_a_sample_of_the_same(name: str) -> None:
    assert tried(BY_NAME[name], 60) == []


def test_a_call_comes_through_all_phases() -> None:
    found = BY_NAME["ke.release, SmallDatabase"].places()
    assert [phase for phase in PHASES if any(place.phase == phase for place in found)] == list(PHASES)
    assert len(set(found)) == len(found) > 300
    assert {"line", "call", "return"} == {place.event for place in found}


# ----------------------------------------------------------------------------------------- twins that must be noticed


def fits_first(data: Any, *, out: Path, overwrite: bool, **given: Any) -> None:
    """The order of writes that loses what was paid for."""
    save(measure(data, **given).fit(), out, overwrite=overwrite)


def places_in(call: Call, phase: str) -> list[Place]:
    return [place for place in call.places() if place.phase == phase]


def test_a_pipeline_that_fits_before_it_saves_is_noticed() -> None:
    twin = dataclasses.replace(BY_NAME["ke.release, SmallDatabase"], function=fits_first)
    assert "it leaves nothing" in deaths(twin)[0]
    after = places_in(twin, "measured")[:8]  # in the fit
    assert after[0].function == "Measurements.fit"
    assert all("what was measured is lost" in break_off(twin, place, RuntimeError()) for place in after)


def test_a_pipeline_that_swallows_its_note_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = BY_NAME["ke.release without out, SmallDatabase"]
    after = [*places_in(call, "charged")[::15], *places_in(call, "measured")[::15]]
    assert all(break_off(call, place, KeyboardInterrupt()) == [] for place in after)
    monkeypatch.setattr(Watched, "_sentences", lambda *_: "")
    silent = "the budget is spent, nothing is on disk, and the message does not say so"
    assert all(silent in break_off(call, place, KeyboardInterrupt()) for place in after[2:])


@pytest.mark.slow
def test_a_command_that_swallows_its_note_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = BY_NAME["kernelease measure"]
    place = places_in(call, "charged")[-1]
    fault = ke.errors.BudgetError("a fault: more than is left. Nothing was drawn.")
    assert break_off(call, place, fault) == []
    monkeypatch.setattr(exits, "notes", lambda error: [])
    found = break_off(call, place, ke.errors.BudgetError("a fault: more than is left. Nothing was drawn."))
    assert "the budget is spent, but the exit code says that it is not" in found


# ------------------------------------------------------------------------------------------------ what a message says

CRASH = """
import sys
from unittest import mock
from kernelease.answers import release
from kernelease.cli import app

with mock.patch.object(release, "fit_release", side_effect=RuntimeError("a defect")):
    app(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_traceback_ends_with_what_was_spent() -> None:
    """In a process of its own: there it is Python that prints it."""
    call = BY_NAME["kernelease release"]
    with call.stage() as folder:
        words = ["release", "people.csv", "--schema", "people.toml", "--epsilon", "2", "--delta", "1e-6"]
        command = [sys.executable, "-c", CRASH, *words, "--ledger", "ledger", "--out", "out"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.rstrip().endswith(
            "RuntimeError: a defect\nThe budget is spent (entry 1 of the ledger). The measurements are safe in out: "
            "`kernelease fit` makes rows from them."
        )
        assert load_measurements(folder / "out").certificate.entry.number == 1


VECTORS = [[0.0], [1.0]]
BRIEF: dict[str, Any] = {
    "kernel": ke.kernels.Gaussian(lengthscale=1.0),
    "privacy": ke.Privacy(epsilon=1.0, delta=1e-6),
    "method": ke.Subspace(points=ke.fit.NormalPoints(dimension=1, scale=1.0), count=4),
}
TABLE: dict[str, Any] = {
    "data": pa.table({"a": [True, False]}),
    "schema": ke.Schema.parse("[columns.a]\ntype = 'boolean'"),
    "privacy": ke.Privacy(epsilon=1.0, delta=1e-6),
}


def failing_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr("kernelease.answers.release.fit_release", fail)


def test_without_a_ledger_no_message_speaks_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_fit(monkeypatch)
    with BY_NAME["ke.release without out, SmallDatabase"].stage(), pytest.raises(RuntimeError) as caught:
        ke.release(VECTORS, **BRIEF)
    (note,) = caught.value.__notes__
    assert note.startswith("The budget is spent (there is no ledger: count it yourself). What it paid for is safe in /")


def test_noise_from_a_seed_spends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    failing_fit(monkeypatch)
    with pytest.raises(RuntimeError) as caught:
        ke.release(VECTORS, noise=ke.SeededNoise(1), **BRIEF)
    assert not hasattr(caught.value, "__notes__")


def test_an_older_bundle_is_not_taken_for_what_was_paid_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two measurements without a ledger have the same certificate: only their noise tells them apart."""
    with BY_NAME["ke.release, Interactions"].stage() as folder:
        ke.measure(out=folder / "out", **TABLE)
        older = (folder / "out" / "measurements.json").read_bytes()

        def full(*_: Any, **__: Any) -> Any:
            raise OSError(errno.ENOSPC, "no room")

        monkeypatch.setattr(container, "_write_folder", full)
        with pytest.raises(ke.KerneleaseError, match="could not be written: no room") as caught:
            ke.measure(out=folder / "out", overwrite=True, **TABLE)
        assert "could not be written elsewhere either, and is lost" in caught.value.__notes__[0]
        assert (folder / "out" / "measurements.json").read_bytes() == older


# --------------------------------------------------------------------------------------- refused before it costs budget


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"out": "nowhere/out"}, "its folder is missing or read-only"),
        ({"out": "people.csv"}, "already exists"),
        ({"out": "people.csv", "overwrite": True}, "is not a bundle"),
        ({"out": "out", "key": "a key"}, "key must be an Ed25519 private key, got str"),
        ({"rows": 0}, "rows must be an integer from 1"),
        ({"rows": 5, "method": ke.Subspace(points=ke.fit.PublicPoints([[0]]))}, "points are weighted, not drawn"),
    ],
)
def test_what_would_fail_later_is_refused_before_the_charge(
    more: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with BY_NAME["ke.release, Interactions"].stage() as folder:
        monkeypatch.chdir(folder)
        ledger = LedgerFile.open("ledger")
        with pytest.raises(ke.KerneleaseError, match=message):
            ke.release(ledger=ledger, **{**TABLE, **more})
        assert ledger.entries() == []
        monkeypatch.undo()


def test_a_method_that_charges_twice_is_refused_and_both_entries_are_told() -> None:
    class Twice(ke.methods.Method):
        def measure(self, rows: Any, context: Any) -> Any:
            context.open_budget(1, "once")
            context.open_budget(1, "again")

        def fit(self, *_: Any) -> Any:
            raise AssertionError

    ledger = ke.MemoryLedger(ke.Privacy(epsilon=9.0, delta=1e-5))
    with pytest.raises(ke.errors.ParameterError, match="is charged once, with all of its steps") as caught:
        ke.release(VECTORS, **{**BRIEF, "method": Twice(), "ledger": ledger})
    assert caught.value.__notes__ == ["The budget is spent (entries 1, 2 of the ledger). What it paid for is lost."]
