"""Books of what was spent: for as long as a process lives, and as a file, an SQLite database beside the private data.

Durable: a charge returns once its entry is on disk, and noise is drawn after that. The journal mode is DELETE with
synchronous = EXTRA. A commit is then the removal of the rollback journal, and EXTRA also syncs the folder after it:
with FULL alone a power cut could bring the journal back and undo an entry whose release is already out. WAL would be
as durable, but keeps entries in a second file that a copy of the ledger forgets, and needs shared memory.

Serial: reading what is spent, checking the cap and inserting happen in one BEGIN IMMEDIATE transaction. Of two
processes that want the last of the budget, one waits, and then sees the other's entry.

Dangerous: a ledger restored from an old copy forgets what was spent since, and file locks do not work on some network
drives. Keep one file, on a local disk.
"""

import datetime
import math
import os
import secrets
import shlex
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, final

from kernelease import html
from kernelease._version import __version__
from kernelease.errors import BudgetError, LedgerError, ParameterError, in_words, named_only
from kernelease.machine import name_beside, sync_folder
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.calibration import Calibration
from kernelease.privacy.ledger import (
    Charge,
    Ledger,
    Receipt,
    next_receipt,
    refuse_beyond,
    refuse_other_subject,
    refuse_unnamed,
)
from kernelease.privacy.sensitivity import Neighbours, Subject

# ---- What is left.


def beyond(receipt: Receipt, before: Sequence[Receipt]) -> str:
    """What to tell somebody whose charge would pass the cap."""
    cap, charge, spent = receipt.cap, receipt.charge, before[-1].spent if before else Loss()
    limit = f"the cap of epsilon = {cap.epsilon!r}, delta = {cap.delta!r}"
    ends = f"Nothing was spent; {remaining_in_words(cap, spent)}."
    if charge.asked.relation is cap.relation:
        return f"The charge for {charge.purpose} would pass {limit}. {ends}"
    return (
        f"The charge for {charge.purpose} is under {charge.asked.relation.value} neighbours; this ledger counts under "
        f"{cap.relation.value} ones, where it costs up to twice the epsilon. That would pass {limit}. Use a ledger of "
        f"its own relation, or ask for less. {ends}"
    )


def remaining_epsilon(cap: Privacy, spent: Loss) -> float:
    """The largest ε of one more release, at the δ of the cap and in its relation, that still fits. 0: none does.

    >>> round(remaining_epsilon(Privacy(epsilon=1.0, delta=0.0), Loss.pure(0.25)), 9)
    0.75
    """

    def fits(epsilon: float) -> bool:
        try:
            total = Privacy(epsilon=epsilon, delta=cap.delta).total(1)
        except ParameterError:  # an ε at which no noise can be computed
            return False
        return cap.allows(spent + total)

    low, high = 0.0, cap.epsilon
    if fits(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def remaining_in_words(cap: Privacy, spent: Loss) -> str:
    """What is left, rounded down to three digits, for messages.

    >>> remaining_in_words(Privacy(epsilon=1.0, delta=0.0), Loss.pure(0.25))
    'left: one release of epsilon up to 0.75 at delta = 0'
    """
    epsilon = remaining_epsilon(cap, spent)
    if epsilon < 1e-5 * cap.epsilon:  # rounding leaves crumbs
        return "nothing is left"
    step = 10.0 ** (math.floor(math.log10(epsilon)) - 2)
    rounded = math.floor(epsilon / step * (1 + 1e-12)) * step  # 1e-12: 0.3 must not become 0.299
    return f"left: one release of epsilon up to {rounded:.3g} at delta = {cap.delta:g}"


def books_in_html(subject: Subject, cap: Privacy, entries: Sequence[Receipt]) -> str:
    """The books for a notebook: what was asked for, and what is left, in the same words."""
    spent = entries[-1].spent if entries else Loss()
    about = [
        ("data set", entries[-1].dataset if entries else subject.dataset),
        ("protects", subject.unit_in_words),
        ("cap", f"epsilon {cap.epsilon:g}, delta {cap.delta:g}, {cap.relation.value} neighbours"),
        ("budget", remaining_in_words(cap, spent)),
    ]
    asked = [
        (e.number, e.time, e.charge.purpose, f"{e.charge.asked.epsilon:g}", f"{e.charge.asked.delta:g}")
        for e in entries
    ]
    return html.card("Ledger", html.facts(about), html.grid(("entry", "time", "purpose", "epsilon", "delta"), asked))


# ---- The books.


def now() -> str:
    """The time of an entry: UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@final
@dataclass(slots=True)
class MemoryLedger:
    """A ledger that lives as long as the process: for experiments, tests and single releases.

    >>> ledger = MemoryLedger(Privacy(epsilon=1.0, delta=0.0))
    >>> charge = Charge(loss=Loss.pure(1.0), asked=ledger.cap, subject=Subject(), purpose="a doctest")
    >>> ledger.charge(charge).number
    1
    """

    cap: Privacy
    dataset: str | None = None
    unit: str | None = None
    identity: str | None = field(default_factory=lambda: f"memory-{secrets.token_hex(8)}")
    entries: list[Receipt] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.cap, Privacy):
            raise ParameterError(f"MemoryLedger: cap must be a Privacy, got {type(self.cap).__name__}.")

    @classmethod
    def for_one(cls, privacy: Privacy, subject: Subject) -> "MemoryLedger":
        """No ledger at all: books that allow one release, and whose receipt says that there was no ledger."""
        return cls(privacy, dataset=subject.dataset, unit=subject.unit, identity=None)

    @property
    def subject(self) -> Subject:
        return Subject(dataset=self.dataset, unit=self.unit)

    def charge(self, charge: Charge) -> Receipt:
        """Enter the charge, or raise `BudgetError` and enter nothing."""
        with self._lock:
            books, before = self.subject, self.entries
            receipt = next_receipt(charge, before, cap=self.cap, books=books, ledger=self.identity, time=now())
            refuse_beyond(receipt, lambda: beyond(receipt, before))
            self.entries.append(receipt)
            return receipt

    def spent(self) -> Loss:
        return self.entries[-1].spent if self.entries else Loss()

    def _repr_html_(self) -> str:
        return books_in_html(self.subject, self.cap, self.entries)


# ---- The budget ledger as a file: an SQLite database beside the private data.


APPLICATION_ID = 0x6B6C6564  # "kled" in the header of the file
FORMAT_VERSION = 2  # 1 knew no identity, and of its entries neither the unit nor what was asked for
PATIENCE = 30.0  # seconds to wait for another process
_LARGEST_FILE = 1 << 26  # bytes: some 200,000 entries

_REFUSE = "BEGIN SELECT RAISE(ABORT, 'a ledger is never rewritten'); END"
_AMOUNTS = ("mu_squared", "delta_zero", "tau", "pure_epsilon")
_ASKED = ("neighbours", "epsilon", "delta", "calibration")
_ASKED_SQL = "neighbours TEXT NOT NULL, epsilon REAL NOT NULL, delta REAL NOT NULL, calibration TEXT NOT NULL"
# REPLACE deletes a row without firing the trigger on DELETE; the triggers on INSERT stop it.
_SCHEMA = (
    f"CREATE TABLE ledger (identity TEXT NOT NULL, dataset TEXT, unit TEXT, {_ASKED_SQL}, "
    "created TEXT NOT NULL, version TEXT NOT NULL)",
    "CREATE TABLE entries (number INTEGER PRIMARY KEY, time TEXT NOT NULL, purpose TEXT NOT NULL, "
    f"dataset TEXT, unit TEXT, {_ASKED_SQL}, "
    + ", ".join(f"{name} REAL NOT NULL CHECK (typeof({name}) = 'real' AND {name} >= 0)" for name in _AMOUNTS)
    + ", version TEXT NOT NULL)",
    f"CREATE TRIGGER ledger_insert BEFORE INSERT ON ledger WHEN EXISTS (SELECT 1 FROM ledger) {_REFUSE}",
    f"CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger {_REFUSE}",
    f"CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger {_REFUSE}",
    "CREATE TRIGGER entries_insert BEFORE INSERT ON entries "
    f"WHEN NEW.number IS NOT (SELECT COUNT(*) + 1 FROM entries) {_REFUSE}",
    f"CREATE TRIGGER entries_update BEFORE UPDATE ON entries {_REFUSE}",
    f"CREATE TRIGGER entries_delete BEFORE DELETE ON entries {_REFUSE}",
)


@final
@partial(named_only, instead="LedgerFile.open(path) opens one, LedgerFile.create(path, cap=…) makes one")
@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerFile:
    """A `Ledger` in a file. Between calls no handle is open, so it may be shared by threads and forked processes.

    One ledger has one relation (that of its cap), one unit (the column that identifies a person, None where each row
    is one) and one data set; where that has no name, the first one that is charged holds. `identity` is made by chance
    with the file: bundles name it.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = LedgerFile.create(
    ...     Path(folder.name) / "ledger.sqlite", dataset="census", cap=Privacy(epsilon=1.0, delta=0.0)
    ... )
    >>> asked = Privacy(epsilon=0.75, delta=0.0)
    >>> charge = Charge(loss=Loss.pure(0.75), asked=asked, subject=ledger.subject, purpose="a doctest")
    >>> ledger.charge(charge).number, LedgerFile.open(ledger.path).remaining()
    (1, 'left: one release of epsilon up to 0.25 at delta = 0')
    >>> folder.cleanup()
    """

    path: Path
    identity: str
    dataset: str | None
    cap: Privacy
    unit: str | None = None
    patience: float = PATIENCE

    @classmethod
    @in_words
    def create(
        cls,
        path: str | Path,
        *,
        cap: Privacy,
        dataset: str | None = None,
        unit: str | None = None,
        patience: float = PATIENCE,
    ) -> "LedgerFile":
        """A new ledger, complete from the moment it is visible. `dataset` None: the first name that is charged."""
        if not isinstance(cap, Privacy):
            raise ParameterError(f"LedgerFile: cap must be a Privacy, got {type(cap).__name__}.")
        ledger = cls(
            path=Path(path),
            identity=secrets.token_hex(16),
            dataset=None if dataset is None else _text("dataset", dataset),
            cap=replace(cap, neighbours=cap.relation),
            unit=None if unit is None else _text("unit", unit),
            patience=patience,
        )
        if os.path.lexists(ledger.path):
            raise LedgerError(
                f"{ledger.path} already exists, and a ledger is never overwritten. Use it, or choose another name."
            )
        draft = name_beside(ledger.path)
        try:
            _write_draft(draft, ledger)
            _publish(draft, ledger.path)
        except (OSError, sqlite3.Error) as error:
            missing = not ledger.path.absolute().parent.is_dir()
            why = "its folder does not exist. Make the folder first" if missing else str(error)
            raise LedgerError(f"The ledger {ledger.path} could not be made: {why}.") from error
        finally:
            for leftover in (draft, Path(f"{draft}-journal")):
                with suppress(OSError):
                    leftover.unlink()
        return ledger

    @classmethod
    def open(cls, path: str | Path, *, patience: float = PATIENCE) -> "LedgerFile":
        """An existing ledger, every page of it checked. A missing, foreign, newer or damaged file is refused."""
        with _transaction(Path(path), patience) as connection:
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(1)")]
            if problems != ["ok"]:
                raise LedgerError(
                    f"The ledger {path} is damaged: {problems[0]}. Restore it from a copy made after its last entry."
                )
            ledger = _read_ledger(connection, Path(path), patience)
            _read_entries(connection, ledger)
            return ledger

    @property
    def subject(self) -> Subject:
        return Subject(dataset=self.dataset, unit=self.unit)

    def charge(self, charge: Charge) -> Receipt:
        """Enter the charge and sync it to disk, or raise `BudgetError` or `LedgerError`: then no noise may be drawn."""
        for name, text in (("purpose", charge.purpose), ("dataset", charge.subject.dataset)):
            if text is not None:
                _text(name, text)
        with self._transaction("IMMEDIATE") as connection:
            before = _read_entries(connection, self)
            receipt = self._receipt(charge, before, now())
            refuse_beyond(receipt, lambda: beyond(receipt, before))
            row = (receipt.number, receipt.time, charge.purpose, charge.subject.dataset, charge.subject.unit)
            amounts = [float(getattr(charge.loss, name)) for name in _AMOUNTS]
            values = (*row, *_asked_row(charge.asked), *amounts, receipt.version)
            connection.execute(f"INSERT INTO entries VALUES ({', '.join('?' * len(values))})", values)
        return receipt

    def spent(self) -> Loss:
        """All entries, added up, in the ledger's relation."""
        entries = self.entries()
        return entries[-1].spent if entries else Loss()

    def entries(self) -> list[Receipt]:
        """All entries, oldest first."""
        with self._transaction() as connection:
            return _read_entries(connection, self)

    def entry(self, number: int) -> Receipt:
        """The receipt of an entry again, as it was given when it was entered."""
        entries = self.entries()
        if not 1 <= number <= len(entries):
            raise LedgerError(f"The ledger {self.path} has {len(entries)} entries, and none of number {number!r}.")
        return entries[number - 1]

    def remaining_epsilon(self) -> float:
        """The largest ε of one more release at the cap's δ that still fits."""
        return remaining_epsilon(self.cap, self.spent())

    def remaining(self) -> str:
        """The same, in words."""
        return remaining_in_words(self.cap, self.spent())

    def _repr_html_(self) -> str:
        return books_in_html(self.subject, self.cap, self.entries())

    def check_subject(self, subject: Subject) -> None:
        """Raise `BudgetError` if a release is about another data set or unit: known before any row is read."""
        entries = self.entries()
        dataset = entries[-1].dataset if entries else self.dataset
        refuse_unnamed(dataset, subject)
        refuse_other_subject(Subject(dataset=dataset, unit=self.unit), subject)

    def _receipt(self, charge: Charge, before: list[Receipt], time: str) -> Receipt:
        return next_receipt(charge, before, cap=self.cap, books=self.subject, ledger=self.identity, time=time)

    @contextmanager
    def _transaction(self, kind: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
        with _transaction(self.path, self.patience, kind) as connection:
            if _read_ledger(connection, self.path, self.patience) != self:
                raise LedgerError(f"The ledger {self.path} was replaced by another one since it was opened.")
            yield connection


@contextmanager
def _connection(path: Path, mode: str, patience: float) -> Iterator[sqlite3.Connection]:
    """A connection that syncs fully and waits `patience` seconds for locks. Only mode rwc makes a file."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    with closing(sqlite3.connect(uri, uri=True, timeout=patience, isolation_level=None)) as connection:
        for setting in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF"):
            connection.execute(f"PRAGMA {setting}")
        yield connection


@contextmanager
def _transaction(path: Path, patience: float, kind: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
    """One transaction on a checked ledger. What is raised inside takes everything in it back (closing rolls back)."""
    if not os.path.isfile(path):  # no open() here: closing a second handle would drop this process's locks on the file
        raise LedgerError(f"There is no ledger {path}: create one, or check the path.")
    if os.path.getsize(path) > _LARGEST_FILE:
        raise LedgerError(f"{path} is too large to be a ledger: more than {_LARGEST_FILE:,} bytes. Nothing was spent.")
    consequence = "Nothing was spent."
    try:
        with _connection(path, "rw", patience) as connection:
            connection.execute(f"BEGIN {kind}")
            _check_format(connection, path)
            yield connection
            consequence = "No noise was drawn, but the entry may stand."  # until the commit has returned, unknown
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise LedgerError(_explain(path, error, patience, consequence)) from error
    except UnicodeError as error:  # even SQLite's own messages can hold the broken text of a damaged file
        raise LedgerError(f"The ledger {path} is damaged: it holds broken text. {consequence}") from error


def _explain(path: Path, error: sqlite3.Error, patience: float, consequence: str) -> str:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the high bits tell variants of one failure apart
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:  # also at the commit, which is then taken back
        return f"Another process has held the ledger {path} for {patience:g} seconds. Nothing was spent; try again."
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} is not a ledger. Check its name; `kernelease budget create` makes one. {consequence}"
    reason = {
        sqlite3.SQLITE_READONLY: "or its folder is read-only",
        sqlite3.SQLITE_CANTOPEN: "can't be opened",
        sqlite3.SQLITE_CORRUPT: "is damaged",
        sqlite3.SQLITE_FULL: "is on a disk that is full",
    }.get(code, "failed")
    return f"The ledger {path} {reason} ({error}). {consequence}"


def _check_format(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a foreign file, a newer format, and tables or triggers that are not exactly those of a ledger."""
    if _value(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise LedgerError(f"{path} is not a kernelease ledger.")
    if (version := _value(connection, "PRAGMA user_version")) != FORMAT_VERSION:
        newer, older = "or a newer one", "or make a new ledger with a cap that leaves out what this one has spent"
        raise LedgerError(
            f"The ledger {path} has format {version}; this kernelease ({__version__}) knows format {FORMAT_VERSION}. "
            f"Use the version that made it, {newer if version > FORMAT_VERSION else older}."
        )
    found = {row[0] for row in connection.execute("SELECT sql FROM sqlite_master")}
    if found != set(_SCHEMA):
        raise LedgerError(f"The tables or triggers of the ledger {path} were altered. Nothing is charged to it.")


def _read_ledger(connection: sqlite3.Connection, path: Path, patience: float) -> LedgerFile:
    rows = connection.execute(f"SELECT identity, dataset, unit, {', '.join(_ASKED)} FROM ledger").fetchall()
    try:
        ((identity, dataset, unit, *cap),) = rows
        subject = Subject(dataset=dataset, unit=unit)
        _text("identity", identity)
        return LedgerFile(
            path=path, identity=identity, dataset=subject.dataset, cap=_privacy_of(*cap), unit=unit, patience=patience
        )
    except (ValueError, TypeError) as error:
        raise LedgerError(f"The ledger {path} is damaged: its cap can't be read.") from error


def _read_entries(connection: sqlite3.Connection, ledger: LedgerFile) -> list[Receipt]:
    """All entries, oldest first. Their numbers must be 1, 2, 3, …: a gap is a lost entry."""
    columns = ("number", "time", "version", "purpose", "dataset", "unit", *_ASKED, *_AMOUNTS)
    rows = connection.execute(f"SELECT {', '.join(columns)} FROM entries ORDER BY number").fetchall()
    if [row[0] for row in rows] != list(range(1, len(rows) + 1)):
        raise LedgerError(f"The ledger {ledger.path} is damaged: entries are missing.")
    entries: list[Receipt] = []
    try:
        for _, time, version, *charge in rows:
            entries.append(replace(ledger._receipt(_charge(*charge), entries, time), version=version))
    except (ValueError, TypeError, BudgetError) as error:
        raise LedgerError(f"The ledger {ledger.path} is damaged: an entry can't be read.") from error
    return entries


def _charge(purpose: str, dataset: str | None, unit: str | None, *numbers: Any) -> Charge:
    return Charge(
        loss=Loss(**dict(zip(_AMOUNTS, numbers[len(_ASKED) :], strict=True))),
        asked=_privacy_of(*numbers[: len(_ASKED)]),
        subject=Subject(dataset=dataset, unit=unit),
        purpose=purpose,
    )


def _privacy_of(neighbours: str, epsilon: float, delta: float, calibration: str) -> Privacy:
    return Privacy(
        epsilon=epsilon, delta=delta, neighbours=Neighbours(neighbours), calibration=Calibration(calibration)
    )


def _asked_row(privacy: Privacy) -> tuple[str, float, float, str]:
    return privacy.relation.value, float(privacy.epsilon), float(privacy.delta), privacy.calibration.value


def _write_draft(draft: Path, ledger: LedgerFile) -> None:
    """A whole ledger under a name that nobody opens. SQLite syncs it to disk at the commit."""
    row = (ledger.identity, ledger.dataset, ledger.unit, *_asked_row(ledger.cap), now(), __version__)
    with _connection(draft, "rwc", ledger.patience) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.execute(f"INSERT INTO ledger VALUES ({', '.join('?' * len(row))})", row)
        connection.execute("COMMIT")


def _publish(draft: Path, path: Path) -> None:
    """Give the draft its name, unless that is taken: a rename would silently replace a ledger made meanwhile."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # no hard links on this file system: claim the name, then replace the claim
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        os.replace(draft, path)
    sync_folder(path.parent)


def _value(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def _text(name: str, value: object) -> str:
    """The value, if SQLite can keep it: text that is not empty and has no broken characters."""
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ParameterError(f"LedgerFile: {name} must be printable text, got {value!r}.")
    return value


# ---- A ledger file that is opened where it exists, and else made at the first charge, if its cap was given.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NewLedger:
    """A ledger that no file holds yet. Its first charge makes one, so that a release that fails before leaves none."""

    path: Path
    subject: Subject
    cap: Privacy

    def charge(self, charge: Charge) -> Receipt:
        """Make the file, or open the one that another process has made meanwhile; then enter the charge."""
        if os.path.lexists(self.path):
            return _open(self.path, self.subject).charge(charge)
        subject = self.subject
        return LedgerFile.create(self.path, dataset=subject.dataset, cap=self.cap, unit=subject.unit).charge(charge)

    def spent(self) -> Loss:
        """What the file says, once there is one."""
        return LedgerFile.open(self.path).spent() if os.path.lexists(self.path) else Loss()


def open_ledger(path: str | Path, *, subject: Subject, promised: Privacy, cap: Privacy | None = None) -> Ledger:
    """The ledger in a file, if it is about the same subject; where there is no file, one to be made with this `cap`.

    A cap is what may be spent on a data set by all releases together, so it can't follow from what one of them is
    `promised`: without a file and without a cap, a `LedgerError` says how to choose one.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path, one = Path(folder.name, "l.sqlite"), Privacy(epsilon=1.0, delta=0.0)
    >>> ledger = open_ledger(path, subject=Subject(dataset="census"), promised=one, cap=Privacy(epsilon=3.0, delta=0.0))
    >>> type(ledger).__name__, list(Path(folder.name).iterdir())
    ('NewLedger', [])
    >>> folder.cleanup()
    """
    wanted = None if cap is None else replace(cap, neighbours=promised.relation)
    if os.path.lexists(path):
        ledger = _open(Path(path), subject)
        if wanted not in (None, ledger.cap):
            raise LedgerError(
                f"The ledger {path} has its cap already, epsilon = {ledger.cap.epsilon:g}, delta = "
                f"{ledger.cap.delta:g}, {ledger.cap.relation.value} neighbours, and a cap never changes. Leave the "
                "other one out. Nothing was spent."
            )
        return ledger
    if wanted is None:
        raise LedgerError(_no_ledger(path, subject, promised))
    return NewLedger(path=Path(path), subject=subject, cap=wanted)


def _no_ledger(path: str | Path, subject: Subject, promised: Privacy) -> str:
    """What to say where nobody has said how much may be spent."""
    name = subject.dataset
    words = ["kernelease", "budget", "create", str(path), *([] if name is None else ["--dataset", name])]
    words += ["--epsilon", "EPS", "--delta", f"{promised.delta:g}"]
    words += [] if subject.unit is None else ["--unit", subject.unit]
    words += [] if promised.relation is Neighbours.REPLACE_ONE else ["--neighbours", promised.relation.value]
    of = "these data" if name is None else f"{name!r}"
    return (
        f"There is no ledger {path} yet. Choose its cap, the most that all releases of {of} together may ever spend "
        f"(this one alone: epsilon = {promised.epsilon:g}, delta = {promised.delta:g}), and make it: "
        f"`{shlex.join(words)}`; `release` and `measure` also take --cap EPS,DELTA. In Python: LedgerFile.create(path, "
        "cap=Privacy(epsilon=…, delta=…)). Nothing was spent."
    )


def _open(path: Path, subject: Subject) -> LedgerFile:
    ledger = LedgerFile.open(path)
    ledger.check_subject(subject)
    return ledger
