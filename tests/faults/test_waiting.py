"""Signals wait from the charge until the measurements are saved; all that can fail is tried before the charge."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import kernelease as ke
from kernelease.bundle import container, saving as keeping
from kernelease.bundle.saving import Patience, load_measurements
from kernelease.errors import BundleError, ResourceError
from kernelease.ledgers import LedgerFile
from kernelease.noises import SeededNoise
from kernelease.privacy import noise
from kernelease.private_tests import private_independence_test
from tests.faults.injection import Place, traced
from tests.faults.releases import CALLS, KINDS, Call, Outcome

BY_NAME = {call.name: call for call in CALLS}
TRIED = ("ke.release, Subspace", "ke.release without out, SmallDatabase", "ke.measure", "kernelease measure")
EVERY = int(os.environ.get("FAULTS_EVERY", "60"))


@pytest.fixture(autouse=True)
def signals_as_from_a_shell() -> Iterator[None]:
    """A suite that runs in the background, or under nohup, ignores some signals, and so would what it starts."""
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    former = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in former.items():
        signal.signal(number, handler)


@contextmanager
def ending_politely() -> Iterator[None]:
    """A handler of SIGTERM as servers have it: by default the signal would end this process, too."""

    def leave(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    former = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        assert signal.getsignal(signal.SIGTERM) is leave  # whoever held it has put it back
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        signal.signal(signal.SIGTERM, former)


def signalled(call: Call, place: Place, number: int) -> Outcome:
    """What is left of a call to which a signal is sent at one place."""
    sent: list[Place] = []

    def visit(here: Place) -> None:
        if here == place and not sent and threading.current_thread() is threading.main_thread():
            sent.append(here)
            signal.raise_signal(number)

    def act(run: Callable[[], None]) -> None:
        with traced(visit):
            run()

    with call.stage() as folder, ending_politely():
        outcome = call.outcome(folder, act)
        saved = outcome.rescued(call.out) is not None
    lost = outcome.entries > 0 and not saved
    return outcome if not lost else Outcome(message=f"lost: {outcome.message}", failed=True)


def within(call: Call) -> list[Place]:
    """The places from the ledger's own work to the saved measurements."""
    with ending_politely():  # as in `signalled`: which signals are held decides how often some lines run
        places = call.places()
    return [place for place in places if place.phase in ("charged", "measured") or place.file == "ledgers.py"]


@pytest.mark.slow
@pytest.mark.parametrize("name", TRIED)
def test_no_signal_loses_what_was_charged(name: str) -> None:
    call = BY_NAME[name]
    for turn, place in enumerate(within(call)[TRIED.index(name) :: EVERY]):
        number = (signal.SIGINT, signal.SIGTERM)[turn % 2]
        assert not signalled(call, place, number).message.startswith("lost"), place


def test_a_release_that_holds_no_signal_back_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Patience, "begin", lambda self: None)
    call = BY_NAME["ke.release, Subspace"]
    call.places()  # what is computed once in a process is behind it then, and no place of a second release
    keeping = "bundle/saving.py"  # from there on what was measured is in hand, and found again
    places = [place for place in call.places() if place.phase == "charged" and place.file != keeping]
    assert all(signalled(call, place, signal.SIGINT).message.startswith("lost") for place in places[::20])


def test_a_refused_charge_lets_signals_go(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = ke.MemoryLedger(ke.Privacy(epsilon=0.1, delta=1e-9))
    with ending_politely(), pytest.raises(ke.errors.BudgetError):
        ke.release(ledger=ledger, **KINDS["Subspace"])


def test_a_ctrl_c_before_an_error_says_the_same_as_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        raise RuntimeError("a defect")

    monkeypatch.setattr(noise.SystemNoise, "gaussian", fails)
    with ending_politely(), pytest.raises(KeyboardInterrupt) as caught:
        ke.release(ledger=ke.MemoryLedger(KINDS["Subspace"]["privacy"]), **KINDS["Subspace"])
    assert caught.value.__notes__ == ["The budget is spent (entry 1 of the ledger). What it paid for is lost."]
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_in_another_thread_signals_stay_as_they_are() -> None:
    held = []

    def run() -> None:
        patience = Patience(lambda: "")
        patience.begin()
        held.append(signal.getsignal(signal.SIGINT))
        patience.end(lambda: "")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert held == [signal.default_int_handler]


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    former = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        patience = Patience(lambda: "")
        patience.begin()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        patience.end(lambda: "")
    finally:
        signal.signal(signal.SIGTERM, former)


def test_an_answer_that_was_paid_for_is_told_to_whoever_interrupts(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = noise.SystemNoise.laplace

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return honest(*arguments)

    monkeypatch.setattr(noise.SystemNoise, "laplace", interrupted)
    schema = ke.Schema.parse("[columns.a]\ntype = 'boolean'\n[columns.b]\ntype = 'boolean'")
    table = pa.table({"a": [True, False] * 20, "b": [True, False] * 20})
    with ending_politely(), pytest.raises(KeyboardInterrupt) as caught:
        private_independence_test(table, "a", "b", schema=schema, privacy=(1.0, 0.0), draws=99)
    assert re.search(r"What it paid for: (No e|E)vidence against: ", caught.value.__notes__[0])


# -------------------------------------------------------------------------------------------- in a process of its own

SENDS = """
import os, signal, sys
from unittest import mock
import kernelease as ke
from kernelease.answers import release
from kernelease.privacy.noise import SystemNoise
from tests.faults.releases import KINDS

number, times, moment, out = getattr(signal, sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4] or None
def sends(honest):
    def sending(*arguments, **options):
        for _ in range(times):
            signal.raise_signal(number)
        return honest(*arguments, **options)
    return sending

owner = {"noise": (SystemNoise, "gaussian"), "fit": (release, "fit_release")}[moment]
mock.patch.object(*owner, sends(getattr(*owner))).start()
ledger = ke.LedgerFile.create("ledger", cap=KINDS["Subspace"]["privacy"])
ke.release(ledger=ledger, out=out, **KINDS["Subspace"])
"""


def sent(folder: Path, name: str, times: int, moment: str, out: str) -> Any:
    root = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", SENDS, name, str(times), moment, out]
    environment = {**os.environ, "PYTHONPATH": paths, "TMPDIR": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_ends_the_process_ends_it_once_the_measurements_are_saved(tmp_path: Path, name: str) -> None:
    done = sent(tmp_path, name, 1, "noise", "out")
    assert done.returncode == -getattr(signal, name)
    assert f"Stopped by {name}. The budget is spent (entry 1 of the ledger). The measurements are safe in out" in (
        done.stderr
    )
    assert load_measurements(tmp_path / "out").certificate.entry.number == 1


@pytest.mark.slow
def test_the_second_signal_says_what_waiting_buys(tmp_path: Path) -> None:
    done = sent(tmp_path, "SIGINT", 2, "noise", "out")
    first = done.stderr.split("\n")[1]
    assert re.fullmatch(
        r"The budget is spent \(entry 1 of the ledger\); what it buys is being measured and saved, and then this stops "
        r"by itself\. `kill -9 \d+` stops it now, and loses what was charged\.",
        first,
    )
    assert done.stderr.rstrip().endswith("The measurements are safe in out: `kernelease fit` makes rows from them.")
    assert load_measurements(tmp_path / "out").certificate.entry.number == 1


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["noise", "fit"])
def test_measurements_in_memory_alone_are_saved_before_the_process_ends(tmp_path: Path, moment: str) -> None:
    done = sent(tmp_path, "SIGTERM", 1, moment, "")
    assert done.returncode == -signal.SIGTERM
    named = re.search(r"Stopped by SIGTERM\. .* What it paid for is safe in (\S+): move it", done.stderr)
    assert named is not None
    assert load_measurements(named[1]).certificate.entry.number == 1


# -------------------------------------------------------------------------------------- tried before it costs budget


def refused(error: type[Exception], message: str, **more: Any) -> None:
    ledger = ke.MemoryLedger(KINDS["Subspace"]["privacy"])
    with pytest.raises(error, match=message) as caught:
        ke.release(ledger=ledger, **KINDS["Subspace"], **more)
    assert str(caught.value).endswith("Nothing was spent.")
    assert ledger.entries == []


def test_noise_that_does_not_load_is_found_out_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise ImportError("libopendp.so: wrong ELF class")

    monkeypatch.setattr(noise, "samplers", broken)
    refused(ResourceError, r"OpenDP does not work here \(ImportError: libopendp.so: wrong ELF class\). Install it anew")


def test_noise_that_does_not_load_for_want_of_memory_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def short() -> Any:
        raise OSError("failed to map segment from shared object")

    monkeypatch.setattr(noise, "samplers", short)
    monkeypatch.setattr(keeping, "_FOR_OPENDP", 2**62)
    refused(ResourceError, "not enough memory to load OpenDP, which draws the noise")


def test_noise_is_drawn_from_each_law_once_and_a_seed_is_not_moved() -> None:
    keeping.try_noise(noise.SystemNoise())
    seeded = SeededNoise(1)
    keeping.try_noise(seeded)
    assert seeded.gaussian(9.0, 3).tolist() == SeededNoise(1).gaussian(9.0, 3).tolist()


def test_memory_for_the_numbers_is_asked_for_before_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "_MEMORY_A_NUMBER", 2**60)
    refused(ResourceError, "not enough memory to add noise and save the measurements")


def test_a_disk_without_room_for_the_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container.shutil, "disk_usage", lambda path: SimpleNamespace(free=100))
    refused(ResourceError, "may need 0.0 MiB, and its disk has 0.0 MiB left. Make room", out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(file: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container, "_sync", full)
    refused(BundleError, "could not be written: No space left on device", out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_key_that_does_not_sign_is_found_out_before_the_charge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415

    def broken(*_: Any) -> Any:
        raise ke.KerneleaseError("the token was removed. Nothing was spent.")

    monkeypatch.setattr(keeping, "sign", broken)
    refused(ke.KerneleaseError, "the token was removed", out=tmp_path / "out", key=Ed25519PrivateKey.generate())


def test_a_ledger_file_keeps_nothing_of_how_many_numbers_are_bought(tmp_path: Path) -> None:
    ledger = LedgerFile.create(tmp_path / "ledger", cap=KINDS["Subspace"]["privacy"])
    ke.measure(ledger=ledger, **KINDS["Subspace"])
    assert ledger.entries()[0].charge.numbers == 1
