"""Faults that an owner meets on the command line: one line, nothing half-done, and what was spent."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from typer.testing import CliRunner, Result

from kernelease import passes
from kernelease.bundle import container, saving as bundle
from kernelease.bundle.container import write_bundle
from kernelease.bundle.saving import load_measurements
from kernelease.cli import app
from kernelease.cli.screen import Screen
from kernelease.drafting import drafts as drafting
from kernelease.errors import BudgetError, BundleError, KerneleaseError, LedgerError, SourceError
from kernelease.ledgers import LedgerFile, MemoryLedger
from kernelease.pipeline import measure
from kernelease.privacy import Privacy
from kernelease.privacy.mechanisms import PrivacyFilter
from kernelease.sources import Source
from kernelease.sources.source import Piece
from kernelease.table import Schema

SCHEMA = """\
[columns.age]
type = "integer"
min = 0
max = 7

[columns.sex]
type = "category"
values = ["f", "m"]
"""
PROMISE = Privacy(epsilon=1.0, delta=1e-6)
COMMAND = (
    "release",
    "people.csv",
    "--schema",
    "people.toml",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
    "--ledger",
    "ledger",
    "--cap",
    "1,1e-6",
)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "people.toml").write_text(SCHEMA)
    (tmp_path / "people.csv").write_text("age,sex\n" + "3,f\n5,m\n" * 20)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Result:
    result = CliRunner().invoke(app, list(words))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def entries() -> int:
    return len(LedgerFile.open("ledger").entries()) if Path("ledger").exists() else 0


# ------------------------------------------------------------------------------------------- where the bundle can't go


def _failing(times: int) -> Callable[..., Path]:
    """A disk on which so many bundles can't be written."""
    left = [times]

    def write(*arguments: Any, **options: Any) -> Path:
        left[0] -= 1
        if left[0] >= 0:
            raise BundleError("The bundle could not be written: No space left on device.")
        return write_bundle(*arguments, **options)

    return write


def test_what_was_paid_for_is_saved_elsewhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "refuge").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here / "refuge"))
    monkeypatch.setattr(bundle, "write_bundle", _failing(1))
    result = run(*COMMAND, "--out", "out")
    assert result.exit_code == 2
    assert "No space left on device. The budget is spent (entry 1 of the ledger)" in result.stderr
    (saved,) = (here / "refuge").glob("*/measurements")
    assert str(saved) in result.stderr
    assert load_measurements(saved).certificate.entry.number == entries() == 1
    assert not (here / "out").exists()


def test_where_nothing_can_be_written_at_all_the_loss_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "write_bundle", _failing(2))
    result = run(*COMMAND, "--out", "out")
    assert "could not be written elsewhere either, and is lost" in result.stderr
    assert entries() == 1


def test_a_disk_that_fills_up_during_the_fit_keeps_the_measurements(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved: list[bool] = []

    def second_fails(*arguments: Any, **options: Any) -> Path:
        saved.append(True)
        if len(saved) == 2:
            raise BundleError("The bundle could not be written: No space left on device.")
        return write_bundle(*arguments, **options)

    monkeypatch.setattr(bundle, "write_bundle", second_fails)
    result = run(*COMMAND, "--out", "out")
    assert result.exit_code == 2
    assert "The measurements are safe in out" in result.stderr
    assert load_measurements("out").certificate.entry.number == 1
    monkeypatch.undo()
    os.chdir(here)
    assert run("fit", "out", "--out", "rows", "--steps", "5").exit_code == 0
    assert entries() == 1


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder `locked` in which nothing can be made, for a user whom permissions hold: root knows no such folder."""
    with tempfile.TemporaryDirectory() as name:
        here, root = Path(name), os.geteuid() == 0
        os.chmod(here, 0o777)
        (here / "people.toml").write_text(SCHEMA)
        (here / "people.csv").write_text("age,sex\n" + "3,f\n5,m\n" * 20)
        (here / "locked").mkdir()
        os.chmod(here / "locked", 0o555)
        monkeypatch.chdir(here)
        if root:
            os.seteuid(65534)
        try:
            yield here
        finally:
            if root:
                os.seteuid(0)
            os.chmod(here / "locked", 0o755)
            monkeypatch.undo()


def test_a_read_only_folder_is_refused_before_anything_is_spent(read_only: Path) -> None:
    result = run(*COMMAND, "--out", "locked/out")
    assert result.exit_code == 2
    assert "its folder is missing or read-only" in result.stderr
    assert sorted(os.listdir(read_only)) == ["locked", "people.csv", "people.toml"]
    assert os.listdir(read_only / "locked") == []


def test_a_ledger_in_a_read_only_folder_spends_nothing(read_only: Path) -> None:
    result = run(*COMMAND[:-3], "locked/ledger", *COMMAND[-2:], "--out", "out")
    assert result.exit_code == 2
    assert "The ledger locked/ledger could not be made" in result.stderr
    assert sorted(os.listdir(read_only)) == ["locked", "people.csv", "people.toml"]


# ------------------------------------------------------------------------------------------------ where rows break off


class Breaking(Source):
    """Rows that end in an error, as a connection that is lost midway, after so many whole passes."""

    def __init__(self, passes: int = 0) -> None:
        super().__init__()
        object.__setattr__(self, "left", [passes])

    def names(self) -> tuple[str, ...]:
        return ("age", "sex")

    def declared_schema(self) -> None:
        return None

    def describe(self) -> str:
        return "a breaking source"

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"age": [1, 2] * 2000, "sex": ["f", "m"] * 2000})
        self.left[0] -= 1
        if self.left[0] < 0:
            raise SourceError("a breaking source broke off: the connection was lost. Nothing was spent.")


def test_a_connection_that_is_lost_midway_spends_nothing() -> None:
    ledger = MemoryLedger(PROMISE)
    with pytest.raises(SourceError, match="Nothing was spent"):
        measure(Breaking(), schema=Schema.parse(SCHEMA), privacy=PROMISE, ledger=ledger)
    assert ledger.entries == []


def test_a_connection_that_is_lost_in_a_later_pass_says_what_was_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table too large to keep in memory is read again after the ledger was charged."""
    monkeypatch.setattr(passes, "MOST_KEPT", 0)
    monkeypatch.setattr(passes, "MOST_OF_DISK", 0.0)
    ledger = MemoryLedger(PROMISE)
    with pytest.raises(
        SourceError, match=r"in a later pass over its rows. The budget is spent \(entry 1 of the ledger\)"
    ):
        measure(Breaking(passes=1), schema=Schema.parse(SCHEMA), privacy=PROMISE, ledger=ledger)
    assert len(ledger.entries) == 1


def test_a_file_that_changes_between_two_passes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "MOST_KEPT", 0)
    monkeypatch.setattr(passes, "MOST_OF_DISK", 0.0)
    honest = PrivacyFilter.open.__func__

    def meanwhile(cls: type[PrivacyFilter], *arguments: Any, **options: Any) -> Any:
        with open(here / "people.csv", "a") as file:
            file.write("7,m\n")
        return honest(cls, *arguments, **options)

    monkeypatch.setattr(PrivacyFilter, "open", classmethod(meanwhile))
    plenty = Privacy(epsilon=200.0, delta=PROMISE.delta)  # so that pairs of so few rows are worth a second pass
    with pytest.raises(SourceError, match="The budget is spent"):
        measure("people.csv", schema=Schema.parse(SCHEMA), privacy=plenty)


def test_a_file_that_changes_while_it_is_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process appends a row between the two looks at the file's stamp."""
    from kernelease.sources import csv_file  # noqa: PLC0415  # only this test changes it

    honest = csv_file.CsvFile._parts

    def meanwhile(self: Any, columns: tuple[str, ...]) -> Iterator[Piece]:
        yield from honest(self, columns)
        with open(here / "people.csv", "a") as file:
            file.write("7,m\n")

    monkeypatch.setattr(csv_file.CsvFile, "_parts", meanwhile)
    result = run(*COMMAND, "--out", "out")
    assert result.exit_code == 2
    assert result.stderr.strip() == (
        "error: CSV file people.csv changed while it was read; nothing was spent. Read a copy that nobody writes to."
    )
    assert sorted(os.listdir(here)) == ["people.csv", "people.toml"]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_database_that_is_replaced_while_it_is_read(here: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = here / f"people.{engine}"
    statements = ("CREATE TABLE people (age INTEGER, sex TEXT)", "INSERT INTO people VALUES (3, 'f'), (5, 'm')")
    connection: Any = sqlite3.connect(path) if engine == "sqlite" else duckdb.connect(str(path))
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    from kernelease.sources import source as files  # noqa: PLC0415  # only this test changes it

    honest, looks = files.FileStamp.check, []

    def replaced(self: Any, description: str) -> None:
        looks.append(description)
        if len(looks) == 2:
            shutil.copy(path, here / "copy")
            os.replace(here / "copy", path)
        honest(self, description)

    monkeypatch.setattr(files.FileStamp, "check", replaced)
    command = [str(path) if word == "people.csv" else word for word in COMMAND]
    result = run(*command, "--query", "people", "--out", "out")
    assert result.exit_code == 2
    assert "changed while it was read; nothing was spent" in result.stderr
    assert not Path("ledger").exists()


def test_a_ledger_that_breaks_draws_no_noise() -> None:
    class Broken:
        cap = PROMISE

        def charge(self, charge: object) -> Any:
            raise LedgerError("The ledger failed. Nothing was spent.")

    class NoNoise:
        private = True

        def gaussian(self, *_: object) -> Any:
            raise AssertionError("noise was drawn")

        laplace = noisy_max = gaussian

    table = pa.table({"age": [1, 2], "sex": ["f", "m"]})
    with pytest.raises(KerneleaseError, match="Nothing was spent"):
        measure(table, schema=Schema.parse(SCHEMA), privacy=PROMISE, ledger=Broken(), noise=NoNoise())


# --------------------------------------------------------------------------------------- where a command is cut short


def raising(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (
            KeyboardInterrupt(),
            130,
            "Interrupted. The budget is spent (entry 1 of the ledger). The measurements are safe",
        ),
        (MemoryError(), 2, "error: there is not enough memory. The budget is spent (entry 1 of the ledger). The meas"),
        (BudgetError("No. Nothing was drawn."), 2, "error: No. Nothing was drawn. The budget is spent (entry 1 of"),
    ],
)
def test_what_ends_the_fit_says_where_the_measurements_are(
    here: Path, error: BaseException, code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelease.answers.release.fit_release", raising(error))
    result = run(*COMMAND, "--out", "out")
    assert (result.exit_code, result.stderr.splitlines()[-1][: len(words)]) == (code, words)
    assert load_measurements("out").certificate.entry.number == entries() == 1


def test_ctrl_c_while_the_ledger_is_charged(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LedgerFile, "charge", raising(KeyboardInterrupt()))
    result = run(*COMMAND, "--out", "out")
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == (
        "Interrupted. No noise was drawn for it, but the ledger's entry may stand: `kernelease budget show` tells."
    )


def test_a_ledger_that_is_locked_after_all_is_done(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary reads what is left; that it can't is no failure of the release."""
    LedgerFile.create("ledger", dataset="table", cap=PROMISE)
    monkeypatch.setattr(LedgerFile, "spent", raising(LedgerError("Another process has it. Nothing was spent.")))
    result = run(*COMMAND, "--out", "out")
    assert result.exit_code == 0
    assert "entry 1; what is left can't be read now" in result.stdout
    assert "Nothing was spent" not in result.output


def test_a_summary_that_fails_says_that_the_bundle_is_there(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Screen, "summary", raising(KeyboardInterrupt()))
    result = run(*COMMAND, "--out", "out")
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (130, "Interrupted. The bundle out is in place.")


def test_a_folder_that_is_moved_aside_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C between two renames, on a system that can't exchange folders."""
    write_bundle(tmp_path / "bundle", {"README.md": b"old"})
    honest = os.rename

    def interrupted(source: Any, target: Any) -> None:
        honest(source, target)
        monkeypatch.setattr(os, "rename", honest)
        raise KeyboardInterrupt

    monkeypatch.setattr(container, "exchange", raising_nothing)
    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_bundle(tmp_path / "bundle", {"README.md": b"new"}, overwrite=True)
    assert container.read_bundle(tmp_path / "bundle")["README.md"] == b"old"
    assert os.listdir(tmp_path) == ["bundle"]


def raising_nothing(*_: Path) -> bool:
    return False


# -------------------------------------------------------------------------------------------- where a draft is paid for

DRAFT = ("schema", "draft", "people.csv", "--private-bounds", "1", "--ledger", "ledger")


def test_a_draft_of_which_the_ledger_covers_one_half_costs_nothing(here: Path) -> None:
    LedgerFile.create("ledger", dataset="people", cap=Privacy(epsilon=0.6, delta=1e-6))
    result = run(*DRAFT)
    assert result.exit_code == 3
    assert "would pass the cap of epsilon = 0.6, delta = 1e-06. Nothing was spent; left: one release" in result.stderr
    assert entries() == 0


def test_a_draft_whose_second_half_fails_says_what_the_first_cost(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has spent the rest meanwhile."""
    LedgerFile.create("ledger", dataset="people", cap=Privacy(epsilon=9.0, delta=1e-6))
    monkeypatch.setattr(drafting, "frequent_values", raising(BudgetError("It would pass the cap. Nothing was spent.")))
    result = run(*DRAFT)
    assert result.exit_code == 2
    assert result.stderr.rstrip().endswith("The budget is spent (entry 1 of the ledger). What it paid for is lost.")
    assert entries() == 1


def test_a_draft_that_has_nowhere_to_go_costs_nothing(here: Path) -> None:
    LedgerFile.create("ledger", dataset="people", cap=Privacy(epsilon=9.0, delta=1e-6))
    assert "its folder is missing or read-only" in run(*DRAFT, "--out", "nowhere/draft.toml").stderr
    assert entries() == 0


def test_a_draft_that_can_not_be_written_goes_to_stdout(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    LedgerFile.create("ledger", dataset="people", cap=Privacy(epsilon=9.0, delta=1e-6))
    honest = os.open

    def full(path: Any, *rest: Any, **options: Any) -> int:
        if str(path) == "draft.toml":
            raise OSError(28, "No space left on device")
        return honest(path, *rest, **options)

    monkeypatch.setattr(os, "open", full)
    result = run(*DRAFT, "--out", "draft.toml")
    assert result.exit_code == 2
    assert "No space left on device. The draft is on stdout." in result.stderr
    assert "[columns.age]" in result.stdout
