"""The ledger as a file under faults: full disks, races, sudden death. No overspend, no lost entry, no half ledger."""

import functools
import multiprocessing
import os
import random
import resource
import sqlite3
import stat
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from kernelease import ledgers as module
from kernelease.errors import BudgetError, LedgerError
from kernelease.ledgers import LedgerFile
from kernelease.privacy import Charge, Loss, Privacy
from kernelease.privacy.sensitivity import ROWS

# Children fork from a process of their own that has no threads and has imported kernelease already.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["pytest", "hypothesis", "kernelease.ledgers", "kernelease.bundle.container"])

CAP = Privacy(epsilon=1.0, delta=1e-6)
PURE = Privacy(epsilon=1.0, delta=0.0)
SHARE = 1 / 128  # a binary fraction: 128 of them are exactly 1


def step(loss: Loss) -> Charge:
    return Charge(loss=loss, asked=CAP, subject=ROWS, purpose="a test")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


# ------------------------------------------------------------------------------------------------------ damaged files


def test_damaged_bytes_never_raise_anything_but_a_ledger_error(tmp_path: Path) -> None:
    ledger = LedgerFile.create(tmp_path / "whole", cap=CAP)
    for _ in range(30):
        ledger.charge(step(Loss.gaussian(0.001)))
    whole = ledger.path.read_bytes()
    chance, refused = random.Random(0), 0
    for trial in range(300):
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 1, 20])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        if trial % 3 == 0:
            del damaged[chance.randrange(len(damaged)) :]
        copy = tmp_path / "copy"
        copy.write_bytes(damaged)
        try:
            opened = LedgerFile.open(copy)
            if trial % 10 == 0:
                opened.charge(step(Loss.gaussian(1e-6)))
        except LedgerError:
            refused += 1
        except BudgetError:
            pass  # a digit of an amount changed: the file itself is sound
    assert refused > 100


@given(st.binary(max_size=5000))
@settings(max_examples=50, deadline=None)
def test_garbage_never_raises_anything_but_a_ledger_error(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        path.write_bytes(content)
        with pytest.raises(LedgerError):
            LedgerFile.open(path)


# -------------------------------------------------------------------------------------- where nothing can be written


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder, and a user whom permissions hold: as root nothing is ever read-only."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            yield Path(folder)
        finally:
            if root:
                os.seteuid(0)
            os.chmod(folder, 0o777)


def test_a_read_only_file_can_be_read_but_not_charged(as_nobody: Path) -> None:
    ledger = LedgerFile.create(as_nobody / "ledger", cap=CAP)
    ledger.path.chmod(stat.S_IRUSR)
    assert LedgerFile.open(ledger.path).spent() == Loss()
    with pytest.raises(LedgerError, match=r"is read-only.*Nothing was spent"):
        ledger.charge(step(Loss.pure(0.1)))
    ledger.path.chmod(0)
    with pytest.raises(LedgerError, match="can't be opened"):
        ledger.spent()


def test_a_read_only_folder(as_nobody: Path) -> None:
    ledger = LedgerFile.create(as_nobody / "ledger", cap=CAP)
    user = os.geteuid()
    os.seteuid(os.getuid())
    as_nobody.chmod(0o555)
    os.seteuid(user)
    assert LedgerFile.open(ledger.path).spent() == Loss()
    with pytest.raises(LedgerError, match=r"or its folder is read-only.*Nothing was spent"):
        ledger.charge(step(Loss.pure(0.1)))
    with pytest.raises(LedgerError, match="could not be made"):
        LedgerFile.create(as_nobody / "other", cap=CAP)


@pytest.mark.slow
def test_a_full_disk_takes_nothing(path: Path) -> None:
    """A limit on file sizes fails the same writes as a full disk does, each in turn."""
    ledger = LedgerFile.create(path, cap=PURE)
    failures = 0
    for limit in range(0, 12288, 512):
        before = ledger.entries()
        child = PROCESSES.Process(target=_charge_with_little_room, args=(path, limit))
        child.start()
        child.join()
        assert child.exitcode in (0, 3)
        failures += child.exitcode == 3
        assert len(LedgerFile.open(path).entries()) == len(before) + (child.exitcode == 0)
    assert failures >= 10


def _charge_with_little_room(path: Path, limit: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        LedgerFile.open(path).charge(step(Loss.pure(2.0**-20)))
    except LedgerError as error:
        os._exit(3 if "Nothing was spent" in str(error) or "No noise was drawn" in str(error) else 4)


# --------------------------------------------------------------------------------------------------- several at once


def test_a_lock_held_too_long_spends_nothing(path: Path) -> None:
    LedgerFile.create(path, cap=CAP)
    ledger = LedgerFile.open(path, patience=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match=r"has held the ledger .* for 0\.05 seconds. Nothing was spent"):
            ledger.charge(step(Loss.pure(0.1)))
        assert ledger.spent() == Loss()  # readers need not wait
        other.execute("ROLLBACK")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LedgerError, match="has held the ledger"):
            ledger.spent()
    assert ledger.entries() == []


def test_a_reader_that_stays_too_long_takes_the_commit_back(path: Path) -> None:
    LedgerFile.create(path, cap=CAP)
    ledger = LedgerFile.open(path, patience=0.05)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM entries").fetchall()
        with pytest.raises(LedgerError, match=r"Nothing was spent"):
            ledger.charge(step(Loss.pure(0.1)))
    assert ledger.entries() == []
    ledger.charge(step(Loss.pure(0.1)))


def test_commits_are_synced_in_full(path: Path) -> None:
    LedgerFile.create(path, cap=CAP)
    with module._connection(path, "rw", 1.0) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)  # EXTRA
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_a_failed_commit_says_that_the_entry_may_stand(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = LedgerFile.create(path, cap=CAP)
    monkeypatch.setattr(sqlite3, "connect", _NoCommit)
    with pytest.raises(LedgerError, match="No noise was drawn, but the entry may stand"):
        ledger.charge(step(Loss.pure(0.1)))
    monkeypatch.undo()
    assert ledger.entries() == []


class _NoCommit(sqlite3.Connection):
    def execute(self, sql: str, *args: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return super().execute(sql, *args)


def test_threads_share_one_ledger(path: Path) -> None:
    ledger = LedgerFile.create(path, cap=PURE)
    start = threading.Barrier(8)

    def charge_some(_: int) -> list[int]:
        start.wait()
        return [ledger.charge(step(Loss.pure(SHARE))).number for _ in range(4)]

    with ThreadPoolExecutor(8) as pool:
        numbers = [number for some in pool.map(charge_some, range(8)) for number in some]
    assert sorted(numbers) == list(range(1, 33))


def test_no_handle_stays_open(path: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("this system does not list open files")
    ledger = LedgerFile.create(path, cap=PURE)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        ledger.charge(step(Loss.pure(2.0**-20)))
    for _ in range(5):
        with pytest.raises(BudgetError):
            ledger.charge(step(Loss.pure(2.0)))
    assert len(os.listdir("/proc/self/fd")) == before


def _charge_until_refused(path: Path, loss: Loss, start: Any, pipe: Connection) -> None:
    ledger = LedgerFile.open(path)
    start.wait()
    numbers: list[int] = []
    try:
        while True:
            numbers.append(ledger.charge(step(loss)).number)
    except BudgetError:
        pipe.send(numbers)


def _race(path: Path, loss: Loss, processes: int) -> list[list[int]]:
    """The receipts of each of several processes that charge until they are refused."""
    start = PROCESSES.Barrier(processes)
    pipes = [PROCESSES.Pipe(duplex=False) for _ in range(processes)]
    children = [PROCESSES.Process(target=_charge_until_refused, args=(path, loss, start, end)) for _, end in pipes]
    for child in children:
        child.start()
    numbers = [receiver.recv() for receiver, _ in pipes]
    for child in children:
        child.join()
        assert child.exitcode == 0
    return numbers


@pytest.mark.slow
@pytest.mark.parametrize("trial", range(4))
def test_of_two_that_race_for_the_last_of_the_budget_one_wins(path: Path, trial: int) -> None:
    ledger = LedgerFile.create(path, cap=CAP)
    ledger.charge(step(Loss.gaussian(0.1)))
    last = Privacy(epsilon=ledger.remaining_epsilon() * (1 - 1e-9), delta=CAP.delta).total(1)
    assert sorted(_race(path, last, 2)) == [[], [2]]
    assert len(ledger.entries()) == 2
    assert ledger.spent().delta(CAP.epsilon) <= CAP.delta


@pytest.mark.slow
def test_eight_processes_neither_overspend_nor_lose_an_entry(path: Path) -> None:
    ledger = LedgerFile.create(path, cap=PURE)
    numbers = [number for some in _race(path, Loss.pure(SHARE), 8) for number in some]
    assert sorted(numbers) == list(range(1, 129))
    assert [entry.number for entry in ledger.entries()] == list(range(1, 129))
    assert ledger.spent().pure_epsilon == 1.0


def _create(path: Path, start: Any, pipe: Connection) -> None:
    start.wait()
    try:
        pipe.send(LedgerFile.create(path, cap=CAP).identity)
    except LedgerError:
        pipe.send(None)


def test_of_four_that_create_one_ledger_one_does(path: Path) -> None:
    start = PROCESSES.Barrier(4)
    pipes = [PROCESSES.Pipe(duplex=False) for _ in range(4)]
    children = [PROCESSES.Process(target=_create, args=(path, start, end)) for _, end in pipes]
    for child in children:
        child.start()
    (winner,) = {receiver.recv() for receiver, _ in pipes} - {None}
    for child in children:
        child.join()
    assert LedgerFile.open(path).identity == winner
    assert os.listdir(path.parent) == ["ledger.sqlite"]


# -------------------------------------------------------------------------------------------------------- sudden death


_HELD = -1  # what a child sends once all is written and nothing committed


class _HeldBeforeCommit(sqlite3.Connection):
    """Writes all of a transaction, says so, and never commits it: a disk that stands still."""

    pipe: Connection

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql == "COMMIT":
            self.pipe.send(_HELD)
            time.sleep(600.0)
        return super().execute(sql, *parameters)


def _charge_for_ever(path: Path, pipe: Connection, held: bool) -> None:
    ledger = LedgerFile.open(path)
    pipe.send(ledger.charge(step(Loss.pure(2.0**-30))).number)
    if held:
        _HeldBeforeCommit.pipe = pipe
        sqlite3.connect = functools.partial(sqlite3.connect, factory=_HeldBeforeCommit)  # type: ignore[assignment]
    while True:
        pipe.send(ledger.charge(step(Loss.pure(2.0**-30))).number)


def _received(pipe: Connection) -> list[int]:
    numbers: list[int] = []
    try:
        while True:
            numbers.append(pipe.recv())
    except EOFError:
        return numbers


@pytest.mark.slow
def test_killed_at_any_time_no_receipt_is_without_its_entry(path: Path) -> None:
    """Every third child is killed within a transaction, the others at any time after their first receipt."""
    LedgerFile.create(path, cap=PURE)
    chance, entered = random.Random(1), 0
    for trial in range(45):
        receiver, sender = PROCESSES.Pipe(duplex=False)
        child = PROCESSES.Process(target=_charge_for_ever, args=(path, sender, trial % 3 == 0))
        child.start()
        sender.close()
        first = receiver.recv()
        if trial % 3 == 0:
            assert receiver.recv() == _HELD
            assert Path(f"{path}-journal").exists()
        else:
            time.sleep(chance.uniform(0.0, 0.1))
        child.kill()
        child.join()
        last = max([entered, first, *_received(receiver)])
        entered = len(LedgerFile.open(path).entries())
        # Every receipt is on the books; one entry may have lost its receipt, unless its transaction never ended.
        assert entered == last if trial % 3 == 0 else entered in (last, last + 1)


def _create_many(folder: Path, pipe: Connection) -> None:
    pipe.send(0)
    for number in range(10**6):
        LedgerFile.create(folder / f"ledger-{number}", cap=CAP)


@pytest.mark.slow
def test_killed_while_it_is_made_no_half_ledger_is_visible(tmp_path: Path) -> None:
    chance, left, made = random.Random(2), 0, 0
    for trial in range(60):
        if trial >= 15 and left and made:
            break
        folder = tmp_path / str(trial)
        folder.mkdir()
        receiver, sender = PROCESSES.Pipe(duplex=False)
        child = PROCESSES.Process(target=_create_many, args=(folder, sender))
        child.start()
        sender.close()
        receiver.recv()
        time.sleep(chance.uniform(0.0, 0.1))
        child.kill()
        child.join()
        for path in folder.iterdir():
            if path.name.startswith("."):
                left += 1
            else:
                made += 1
                assert LedgerFile.open(path).entries() == []
    assert left > 0, "no kill fell within a creation: the test shows nothing"
    assert made > 0
