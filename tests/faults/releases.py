"""Small releases of every method, from Python and from the command line, to be broken off; and what must hold then."""

import contextlib
import errno
import functools
import io
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv

import kernelease as ke
from audits.tracer import memory_disk
from kernelease import passes
from kernelease.bundle import container
from kernelease.bundle.container import write_bundle
from kernelease.bundle.saving import load_measurements
from kernelease.cli import app
from kernelease.errors import BudgetError, CapacityError, KerneleaseError, LedgerError, ParameterError, SourceError
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.ledgers import LedgerFile
from kernelease.pipeline import measure, weighting
from kernelease.relational.schema_of_tables import Tables
from tests.faults.injection import Place, failing_at, places, traced

SCHEMA = """\
[table]
name = "people"

[columns.age]
type = "integer"
min = 0
max = 3

[columns.sex]
type = "category"
values = ["f", "m"]

[columns.ill]
type = "boolean"
"""
DECLARED = ke.Schema.parse(SCHEMA)
PAIR = SCHEMA[: SCHEMA.index("\n[columns.ill]")]  # the command line fits with all its steps: two columns are quicker
GENERATOR = np.random.default_rng(11)
PEOPLE = pa.table(
    {
        "age": GENERATOR.integers(0, 4, 60),
        "sex": np.array(["f", "m"])[GENERATOR.integers(0, 2, 60)],
        "ill": GENERATOR.integers(0, 2, 60) > 0,
    }
)
VECTORS = GENERATOR.normal(size=(60, 2))
KERNEL = ke.kernels.Gaussian(lengthscale=1.0)
NORMAL = ke.fit.NormalPoints(dimension=2, scale=2.0)
PROMISE = ke.Privacy(epsilon=2.0, delta=1e-6)
CAP = ke.Privacy(epsilon=10.0, delta=1e-5)
COUNTS = ke.Interactions(solver=MixtureSolver(components=4, steps=4), triples=1)

HOMES = """
[unit]
table = "homes"
name = "people"
[tables.homes]
key = "home"
[tables.homes.columns.town]
type = "category"
values = ["Ulm", "Bonn"]
[tables.people]
parent = "homes"
foreign_key = "home"
max_rows = 2
[tables.people.columns.adult]
type = "boolean"
"""
PERSONS = {
    "homes": pa.table({"home": np.arange(30), "town": np.array(["Ulm", "Bonn"])[GENERATOR.integers(0, 2, 30)]}),
    "people": pa.table({"home": np.arange(60) // 2, "adult": GENERATOR.integers(0, 2, 60) > 0}),
}

TABLE: dict[str, Any] = {"data": PEOPLE, "schema": DECLARED, "privacy": PROMISE}
ARRAY: dict[str, Any] = {"data": VECTORS, "kernel": KERNEL, "privacy": PROMISE, "dataset": "people"}
KINDS: dict[str, dict[str, Any]] = {
    "Interactions": {**TABLE, "method": COUNTS},
    "Subspace": {**ARRAY, "method": ke.Subspace(points=NORMAL, count=12)},
    "RandomFeatures": {
        **ARRAY,
        "method": ke.RandomFeatures(start=NORMAL, features=12, solver=ke.fit.GreedyPreimages(points=3)),
    },
    "Adaptive": {**ARRAY, "method": ke.Adaptive(points=NORMAL, features=16, rank=8, rounds=2)},
    "SmallDatabase": {
        **ARRAY,
        "data": np.eye(2)[GENERATOR.integers(0, 2, 20)],
        "method": ke.SmallDatabase(domain=np.eye(2), size=2),
        "privacy": ke.Privacy(epsilon=2.0, delta=0.0),
    },
    "ClassGaussians": {
        **{"data": VECTORS, "labels": VECTORS[:, 0] > 0.0, "privacy": PROMISE, "dataset": "people"},
        "method": ke.methods.ClassGaussians(),
    },
    "Bags": {"data": PERSONS, "schema": Tables.parse(HOMES), "privacy": PROMISE, "method": COUNTS},
    "public rows": {**TABLE, "method": weighting(PEOPLE.slice(0, 30), schema=DECLARED)},
    "published rows": {**TABLE, "method": weighting(PEOPLE.slice(0, 30), schema=DECLARED, published=True)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a call has left behind."""

    message: str  # all that its caller is told
    failed: bool
    code: int | None = None  # of a command
    entries: int = 0
    folder: Path = field(default_factory=Path)

    def rescued(self, out: str | None) -> Path | None:
        """The bundle with what was paid for: in OUT, or where the message says."""
        named = re.search(r"safe in (\S+?)[:.]?(\s|$)", self.message)
        candidates = [self.folder / out] if out is not None else []
        for path in [*candidates, *([Path(named[1])] if named else [])]:
            with contextlib.suppress(KerneleaseError):
                if load_measurements(path).certificate.entry.number == self.entries == 1:
                    return path
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A release or a measurement of one kind, on books of its own. `words` are those of the command line, if any."""

    name: str
    kind: str = ""
    words: tuple[str, ...] = ()
    function: Callable[..., Any] = ke.release
    out: str | None = "out"
    older: bool = False  # whether a bundle lies there already
    later_pass: bool = False  # whether the rows are too many to be kept, and are read again after the charge
    exchanges: bool = True  # whether the system can swap two folders

    @contextlib.contextmanager
    def stage(self) -> Iterator[Path]:
        """A folder with the private table, a ledger without entries, and an empty folder for temporary files."""
        with tempfile.TemporaryDirectory(dir=memory_disk()) as name, contextlib.ExitStack() as changes:
            folder = Path(name)
            (folder / "refuge").mkdir()
            (folder / "people.toml").write_text(PAIR)
            pyarrow.csv.write_csv(PEOPLE, folder / "people.csv")
            pyarrow.csv.write_csv(PEOPLE.slice(0, 30), folder / "public.csv")
            (folder / "ledger").write_bytes(_empty_ledger("home" if self.kind == "Bags" else None))
            if self.older and self.out is not None:
                write_bundle(folder / self.out, {"README.md": b"an older bundle"})
            changes.enter_context(mock.patch.object(tempfile, "tempdir", str(folder / "refuge")))
            if self.later_pass:
                changes.enter_context(mock.patch.object(passes, "MOST_KEPT", 0))
                changes.enter_context(mock.patch.object(passes, "MOST_OF_DISK", 0.0))
            if not self.exchanges:
                changes.enter_context(mock.patch.object(container, "exchange", return_value=False))
            yield folder

    def run(self, folder: Path) -> None:
        """Make the call."""
        if self.words:
            ledger, out = folder / "ledger", folder / str(self.out)
            words = [word.replace("HERE", str(folder)) for word in self.words]
            promise = ("--epsilon", "2", "--delta", "1e-6", "--schema", str(folder / "people.toml"))
            more = ("--overwrite",) if self.older else ()
            app([*words, *promise, "--ledger", str(ledger), "--out", str(out), *more])
            return
        given = dict(KINDS[self.kind])
        place = {} if self.out is None else {"out": folder / self.out, "overwrite": self.older}
        self.function(given.pop("data"), ledger=LedgerFile.open(folder / "ledger"), **given, **place)

    def run_quietly(self, folder: Path) -> None:
        """Make the call, and look at nothing that it says."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                self.run(folder)
            except SystemExit as leaving:
                if leaving.code not in (None, 0):
                    raise RuntimeError(said.getvalue()) from leaving

    def places(self) -> list[Place]:
        """All that the call comes through when nothing fails."""
        with self.stage() as folder:
            return places(lambda: self.run_quietly(folder))

    def outcome(self, folder: Path, act: Callable[[Callable[[], None]], None]) -> Outcome:
        """What is left of the call when `act` has run it."""
        said, code, failed, message = io.StringIO(), None, False, ""
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            try:
                act(lambda: self.run(folder))
            except SystemExit as leaving:
                code = int(leaving.code or 0)
                failed = code != 0
            except BaseException as error:  # noqa: BLE001  # whatever it is: that is the question
                failed, message = True, "".join(traceback.format_exception_only(error))  # with its notes
                code = 1 if self.words else None
        entries = len(LedgerFile.open(folder / "ledger").entries())
        return Outcome(message=message + said.getvalue(), failed=failed, code=code, entries=entries, folder=folder)


@functools.cache
def _empty_ledger(unit: str | None) -> bytes:
    with tempfile.TemporaryDirectory(dir=memory_disk()) as name:
        return LedgerFile.create(Path(name, "ledger"), dataset="people", unit=unit, cap=CAP).path.read_bytes()


RELEASE, MEASURE = ("release", "HERE/people.csv", "--rows", "5"), ("measure", "HERE/people.csv")
PUBLIC = ("release", "HERE/people.csv")
CALLS = (
    *(Call(name=f"ke.release, {kind}", kind=kind) for kind in KINDS),
    *(Call(name=f"ke.release without out, {kind}", kind=kind, out=None) for kind in KINDS),
    Call(name="ke.release over an older bundle", kind="Interactions", older=True, out="out.zip"),
    Call(name="ke.release where no folders swap", kind="SmallDatabase", older=True, exchanges=False),
    Call(name="ke.release, rows read again", kind="Interactions", later_pass=True),
    Call(name="ke.measure", kind="Interactions", function=measure),
    Call(name="ke.measure without out", kind="Subspace", function=measure, out=None),
    Call(name="kernelease release", words=RELEASE),
    Call(name="kernelease release --overwrite", words=RELEASE, older=True),
    Call(name="kernelease release, rows read again", words=RELEASE, later_pass=True),
    Call(name="kernelease release --public", words=(*PUBLIC, "--public", "HERE/public.csv"), out="out.zip"),
    Call(name="kernelease release --published-rows", words=(*PUBLIC, "--published-rows", "HERE/public.csv")),
    Call(name="kernelease measure", words=MEASURE),
)

FAULTS: tuple[Callable[[], BaseException], ...] = (
    KeyboardInterrupt,
    lambda: CapacityError("a fault: too large."),
    MemoryError,
    lambda: BudgetError("a fault: more than is left. Nothing was drawn."),
    lambda: OSError(errno.ENOSPC, "a fault: no space left on device"),
    lambda: SourceError("a fault: it broke off. Nothing was spent."),
    lambda: RuntimeError("a fault: a defect"),
    lambda: ParameterError("a fault: out of range."),
)
_CHARGING = ("ledgers.py", "bundle/saving.py")  # a ledger's own refusals say what they have done


def fault_for(place: Place, number: int) -> BaseException:
    """One kind of fault after the other. Within a ledger it is a defect or, once all is done, a lock on it."""
    fault = FAULTS[number % len(FAULTS)]()
    if place.file in _CHARGING and isinstance(fault, KerneleaseError):
        locked = place.phase == "saved" and place.file == _CHARGING[0]
        return LedgerError("a fault: locked. Nothing was spent.") if locked else RuntimeError("a fault: a defect")
    if isinstance(fault, SourceError | BudgetError) and place.phase in ("measured", "saved"):
        return RuntimeError("a fault: a defect")  # nobody reads a source, or asks for budget, any more
    return fault


def break_off(call: Call, place: Place, fault: BaseException) -> list[str]:
    """What is wrong after a fault at one place of a call: nothing, if all is well."""
    with call.stage() as folder:
        outcome = call.outcome(folder, lambda run: failing_at(place, fault, run))
        return list(problems(call, place, outcome))


def problems(call: Call, place: Place, outcome: Outcome) -> Iterator[str]:
    """Either nothing was charged, or what was paid for is on disk, or the message says exactly what was spent."""
    if outcome.failed and outcome.entries == 0:
        if "is spent" in outcome.message or "safe in" in outcome.message:
            yield "nothing was charged, but the message says so"
        if list((outcome.folder / "refuge").iterdir()):
            yield "nothing was charged, but something was saved"
    elif outcome.failed:
        yield from _false_words(outcome)
        yield from _losses(call, place, outcome)


def _false_words(outcome: Outcome) -> Iterator[str]:
    if outcome.code == 3:
        yield "the budget is spent, but the exit code says that it is not"
    if "Nothing was spent" in outcome.message:
        yield "the budget is spent, but the message says that it is not"


def _losses(call: Call, place: Place, outcome: Outcome) -> Iterator[str]:
    said = outcome.message
    told = "The budget is spent (entry 1 of the ledger)" in said or "the ledger's entry may stand" in said
    if (rescued := outcome.rescued(call.out)) is not None:
        yield from _can_be_fitted(rescued)
        return
    if not told:
        yield "the budget is spent, nothing is on disk, and the message does not say so"
    if place.phase not in ("before", "charged"):
        yield "what was measured is lost"
    if "safe in" in said:
        yield "it is not where the message says"


def _can_be_fitted(path: Path) -> Iterator[str]:
    try:
        load_measurements(path).fit()
    except KerneleaseError as error:
        yield f"what was rescued can't be fitted: {error}"


def deaths(call: Call) -> list[str]:
    """The first place of the fit where a process that is killed would leave no measurements in OUT, if there is one."""
    lost: list[str] = []
    fitting: list[Place] = []

    with call.stage() as folder:

        def look(place: Place) -> None:
            if place.function == "fit_release":
                fitting.append(place)
            if fitting and not lost and not _whole(folder / str(call.out)):
                lost.append(f"killed at {place}, it leaves nothing")

        with traced(look):
            call.run_quietly(folder)
    assert fitting or call.function is measure or "measure" in call.words
    return lost


def _whole(path: Path) -> bool:
    try:
        load_measurements(path)
    except KerneleaseError:
        return False
    return True
