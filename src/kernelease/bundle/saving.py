"""A release as files, and back. Nothing that was paid for is lost in silence."""

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, final

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.bundle import documents as datasheet
from kernelease.bundle.codec import check_holds, from_json, to_json
from kernelease.bundle.container import (
    Limits,
    check_sums,
    check_target,
    read_bundle,
    rows_file,
    try_target,
    write_bundle,
)
from kernelease.bundle.data_parquet import read_rows, write_rows
from kernelease.bundle.documents import (
    FORMAT,
    croissant,
    data_package,
    domain_document,
    json_bytes,
    registry_record,
    resource,
    table_resources,
)
from kernelease.bundle.signing import sign
from kernelease.certificate import Certificate, Contents, FitSettings, Measurements
from kernelease.errors import (
    BudgetError,
    BundleError,
    KerneleaseError,
    LedgerError,
    ParameterError,
    ResourceError,
    SourceError,
)
from kernelease.kernels.kernel import Kernel
from kernelease.kinds import own_kind
from kernelease.machine import require_memory
from kernelease.measured.measured import Measured
from kernelease.methods.method import Method, UnknownMethod
from kernelease.privacy import noise
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Charge, Ledger, Receipt
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.relational.domain_of_tables import TablesDomain
from kernelease.relational.schema_of_tables import Tables, same_after_saving
from kernelease.seeds import PublicSeed
from kernelease.strangers import parse_json
from kernelease.table.domain import Domain
from kernelease.table.domains import TableDomain, vector_domain
from kernelease.table.schema import Schema

# ---- Saving and loading. A bundle without data.parquet holds measurements that wait to be fitted.


def write(
    contents: Contents, path: str | Path, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False
) -> Path:
    """Write a bundle: a folder, or one file if the name ends in .zip. Signed if there is a key."""
    target = Path(path)
    write_bundle(target, documents(contents), key=key, overwrite=overwrite)
    return target


def read(path: str | Path, *, limits: Limits | None = None) -> Contents:
    """Read a bundle. Refuses one whose files do not match their sums, or that has no rows."""
    files = checked_files(path, limits=limits)
    if not holds_rows(files):
        raise BundleError(f"{path}: holds measurements only. Make rows from them with `kernelease fit`.")
    return read_contents(files)


def load_measurements(path: str | Path, *, limits: Limits | None = None) -> Measurements:
    """Open the measurements of a bundle, with or without rows. `limits` are those of `read_bundle`."""
    return measurements_of(checked_files(path, limits=limits))


def checked_files(path: str | Path, *, limits: Limits | None = None) -> dict[str, bytes]:
    """The files of a bundle, all as SHA256SUMS says."""
    files = read_bundle(path, limits=limits)
    if problems := check_sums(files):
        raise BundleError(f"{path}: " + " ".join(problems))
    return files


def documents(contents: Contents) -> dict[str, bytes]:
    """Every file of a bundle but its seals, from nothing but the objects: `verify` writes them again and compares."""
    measurements, rows = contents.measurements, contents.rows
    certificate, domain = measurements.certificate, measurements.domain
    files = {
        "certificate.json": json_bytes({"format": FORMAT, "statement": str(certificate), **to_json(certificate)}),
        "registry.yaml": registry_record(domain.name, certificate),
        datasheet.NAME: datasheet.datasheet(measurements),
        "measurements.json": _compact(
            {
                "format": FORMAT,
                "kernel": None if domain.schema is not None else to_json(domain.kernel),
                "method": _method_json(measurements.method),
                "measured": to_json(measurements.measured),
            }
        ),
    }
    if (declared := domain_document(domain)) is not None:
        files["schema.json"] = declared
    if isinstance(domain, TablesDomain) and rows is not None:
        files |= _tables_files(contents.tables, domain.tables, certificate.headline)
    elif isinstance(rows, pa.Table):
        data, name, headline = write_rows(rows), domain.name, certificate.headline
        files["data.parquet"] = data
        resources = [resource("data", "data.parquet", rows.schema, data)]
        files["datapackage.json"] = data_package(name, headline, resources)
        files["croissant.json"] = croissant(name, headline, [("rows", "data.parquet", rows.schema, data)])
    if contents.settings is not None:
        files["fit.json"] = _compact(_fit_json(contents.settings, measurements))
    return files


def _tables_files(released: Mapping[str, pa.Table], tables: Tables, headline: str) -> dict[str, bytes]:
    """The rows of each table in its file, and what other tools read of them."""
    rows = {name: (table.schema, write_rows(table)) for name, table in released.items()}
    return {
        **{rows_file(name): data for name, (_, data) in rows.items()},
        "datapackage.json": data_package(tables.name, headline, table_resources(tables, rows)),
        "croissant.json": croissant(
            tables.name, headline, [(table, rows_file(table), *rows[table]) for table in tables.names]
        ),
    }


def holds_rows(files: Mapping[str, bytes]) -> bool:
    """Whether the files of a bundle hold rows, beside measurements."""
    return any(name.startswith("data.") and name.endswith(".parquet") for name in files)


def _compact(value: Any) -> bytes:
    return (json.dumps(value, separators=(",", ":"), allow_nan=False) + "\n").encode()


def _fit_json(settings: FitSettings, measurements: Measurements) -> dict[str, Any]:
    """How the rows were made. None stands for the method, the seed or the kind of machine of the measurements."""
    method, seed, machine = _method_json(settings.method), settings.seed.value, settings.machine
    return {
        "format": FORMAT,
        "method": None if method == _method_json(measurements.method) else method,
        "seed": None if seed == measurements.certificate.seed else seed,
        "rows": settings.rows,
        "machine": None if machine == measurements.certificate.machine else machine,
    }


def check_savable(domain: Domain, method: Method) -> None:
    """Raise `BundleError` unless a bundle can hold what a release is about: to be asked before any budget is spent."""
    if domain.schema is None:
        check_holds(domain.kernel, "kernel")
    elif isinstance(domain, TablesDomain):
        if not same_after_saving(domain.tables):
            raise BundleError("schema: saved and loaded again, it differs from what it was. Nothing was spent.")
    elif Schema.from_dict(json.loads(json_bytes(domain.schema.to_dict()))) != domain.schema:
        raise BundleError("schema: saved and loaded again, it differs from what it was. Nothing was spent.")
    if _is_own(method):
        check_holds(method, "method")


def _method_json(method: Method) -> Any:
    """The method; only its name if it is one's own and no bundle can hold it: a later fit must be given it again."""
    try:
        if not _is_own(method):
            check_holds(method, "method")
        return to_json(method)
    except BundleError:
        if _is_own(method):
            raise
        return to_json(UnknownMethod(name=type(method).__name__))


def _is_own(method: Method) -> bool:
    return own_kind(type(method).__name__) is type(method)


def table_of(files: Mapping[str, bytes], weight: str) -> pa.Table:
    """The rows of data.parquet, with their weights in the column of that name."""
    if "data.parquet" not in files:
        raise BundleError("The bundle has no data.parquet, and its rows are of one table.")
    table = read_rows(files["data.parquet"])
    if table.column_names.count(weight) != 1 or not pa.types.is_floating(table.schema.field(weight).type):
        raise BundleError(f"data.parquet has no column {weight!r} of numbers.")
    return table


def read_contents(files: dict[str, bytes]) -> Contents:
    """What the files of a bundle hold, each part through its own constructor."""
    measurements = measurements_of(files)
    if not holds_rows(files):
        return Contents(measurements=measurements)
    return Contents(
        measurements=measurements,
        rows=_tables_of(files, measurements.domain.tables.names)
        if isinstance(measurements.domain, TablesDomain)
        else table_of(files, measurements.domain.weight_name),
        settings=_settings(files, measurements) if "fit.json" in files else None,
    )


def _tables_of(files: dict[str, bytes], names: Sequence[str]) -> dict[str, pa.Table]:
    found = {name for name in files if name.startswith("data.")}
    if found != {rows_file(name) for name in names}:
        raise BundleError("The bundle does not have a file of rows for each table, and none beside.")
    return {name: read_rows(files[rows_file(name)]) for name in names}


def measurements_of(files: dict[str, bytes]) -> Measurements:
    """The measurements in the files of a bundle, whose parts belong together."""
    stated = _document(files, "certificate.json")
    certificate = from_json({name: value for name, value in stated.items() if name != "statement"})
    if not isinstance(certificate, Certificate):
        raise BundleError("certificate.json is not a certificate.")
    content = _document(files, "measurements.json")
    measured, kernel = (from_json(content.get(name)) for name in ("measured", "kernel"))
    domain = _domain(files, kernel)
    if not isinstance(measured, Measured):
        raise BundleError("measurements.json holds something else than measurements.")
    try:
        measured.check(domain)
    except ParameterError as error:
        raise BundleError(f"measurements.json can't be used: {error}") from error
    method = _method(content.get("method"))
    return Measurements(certificate=certificate, domain=domain, method=method, measured=measured)


def _domain(files: dict[str, bytes], kernel: Any) -> Domain:
    if "schema.json" not in files:
        if not isinstance(kernel, Kernel):
            raise BundleError("The bundle has no schema.json, and measurements.json has no kernel.")
        return vector_domain(kernel)
    content = _document(files, "schema.json")
    try:
        if "tables" in content:
            return TablesDomain(Tables.from_dict(content))
        return TableDomain(Schema.from_dict(content))
    except KerneleaseError as error:
        raise BundleError(f"schema.json: {error}") from error


def _method(content: Any) -> Method:
    method = from_json(content)
    if not isinstance(method, Method):
        raise BundleError("A method in this bundle is something else than a method.")
    return method


def _settings(files: dict[str, bytes], measurements: Measurements) -> FitSettings:
    content = _document(files, "fit.json")
    method, seed, rows, machine = (content.get(name) for name in ("method", "seed", "rows", "machine"))
    if not (seed is None or type(seed) is int) or not (rows is None or (type(rows) is int and rows >= 1)):
        raise BundleError("fit.json: seed and rows must be whole numbers.")
    if not (machine is None or type(machine) is str):
        raise BundleError("fit.json: machine must be text.")
    try:
        return FitSettings(
            method=measurements.method if method is None else _method(method),
            seed=PublicSeed(measurements.certificate.seed if seed is None else seed),
            rows=rows,
            machine=measurements.certificate.machine if machine is None else machine,
        )
    except ParameterError as error:
        raise BundleError(f"fit.json: {error}") from error


def _document(files: dict[str, bytes], name: str) -> dict[str, Any]:
    """What a JSON document of a bundle says, without its format, which is checked."""
    if name not in files:
        raise BundleError(f"The bundle has no {name}.")
    try:
        content = parse_json(files[name])
    except ValueError as error:
        raise BundleError(f"{name} is not JSON as a bundle has it: {str(error)[:200]}.") from error
    if not isinstance(content, dict):
        raise BundleError(f"{name} is not a JSON object.")
    given = content.pop("format", None)
    if given == 1:
        raise BundleError(
            f"{name}: this bundle is of format 1, which kernelease 0.1 wrote. Open it with that version, or ask the "
            "publisher to make it anew from the measurements: it costs no budget."
        )
    if given != FORMAT:
        raise BundleError(f"{name}: format {str(given)[:20]!r} is not one that this kernelease reads ({FORMAT}).")
    return content


# ---- Nothing that was paid for is lost, except to `kill -9` and to a power cut.
#
# What can fail is tried before a charge, and signals wait from the charge until the measurements are saved. What
# fails all the same says what was spent, and where the rest is.


_MEASUREMENTS = "measurements.json"
_DISK_A_NUMBER, _MOST_DISK = 64, 2**25  # bytes of a bundle for a noisy number; rounds reserve far more than they draw
_FOR_OPENDP = 2**29  # bytes of addresses that its library takes, with what it stands on
_MEMORY_A_NUMBER, _LEAST_MEMORY = 256, 2**27  # bytes to draw a noisy number, keep it and write it; and for all else


@final
class Bought:
    """What a charge has bought so far: the measurements, as soon as there are any, and the bundle they go into.

    A bundle that can't be written to `out`, or a key that does not sign, is refused when this is made: before any
    charge. So is, by `check`, what could not be saved and loaded again.
    """

    __slots__ = ("_answer", "_key", "_measurements", "_out", "_overwrite")

    def __init__(
        self, out: str | Path | None = None, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False
    ) -> None:
        require_memory(_LEAST_MEMORY, "make a release")
        if out is not None:
            check_target(out, overwrite=overwrite)
        if not isinstance(key, Ed25519PrivateKey | None):
            raise ParameterError(f"key must be an Ed25519 private key, got {type(key).__name__}.")
        if key is not None:
            sign(b"tried before it is needed", key)
        self._out = out
        self._key = key
        self._overwrite = overwrite
        self._measurements: Measurements | None = None
        self._answer = ""

    @property
    def on_disk(self) -> bool:
        """Whether whatever ends the process now finds the measurements in `out`."""
        return self._out is not None and self._measurements is not None

    def make_room(self, numbers: int) -> None:
        """Raise unless so many noisy numbers can be held in memory, and written to `out` if there is one."""
        require_memory(_LEAST_MEMORY + _MEMORY_A_NUMBER * numbers, "add noise and save the measurements")
        if self._out is not None:
            try_target(self._out, min(_MOST_DISK, _DISK_A_NUMBER * numbers))

    def note_answer(self, answer: str) -> None:
        """What was bought is one answer, and no measurements: whoever is interrupted now is told it."""
        self._answer = answer

    def keep(self, measurements: Measurements) -> Measurements:
        """Write them to `out`, if there is one. Whatever fails from now on leaves them on disk."""
        self._measurements = measurements
        if self._out is not None:
            write(Contents(measurements=measurements), self._out, key=self._key, overwrite=self._overwrite)
        return measurements

    def complete(self, contents: Contents) -> None:
        """Put the rows beside their measurements."""
        if self._out is not None:
            write(contents, self._out, key=self._key, overwrite=True)

    def whereabouts(self) -> str:
        """Where it lies, in words. Measurements that lie nowhere yet are written to a temporary folder now."""
        if self._measurements is None:
            return f"What it paid for: {self._answer}" if self._answer else "What it paid for is lost."
        try:
            return self._in_place(self._measurements) or _in_refuge(self._measurements)
        except BaseException:  # noqa: BLE001  # also a second Ctrl-C: what failed first goes on, and says all of this
            return "What it paid for could not be written elsewhere either, and is lost."

    def _in_place(self, measurements: Measurements) -> str:
        """Empty unless they are in the bundle already: an older one may lie there, with other noise."""
        try:
            files = {} if self._out is None else checked_files(self._out)
        except KerneleaseError:
            return ""
        if files.get(_MEASUREMENTS) != documents(Contents(measurements=measurements))[_MEASUREMENTS]:
            return ""
        if holds_rows(files):
            return f"The release is safe in {self._out}."
        return f"The measurements are safe in {self._out}: `kernelease fit` makes rows from them."


def _in_refuge(measurements: Measurements) -> str:
    refuge = write(Contents(measurements=measurements), Path(tempfile.mkdtemp(prefix="kernelease-"), "measurements"))
    return f"What it paid for is safe in {refuge}: move it to a place that lasts, and `kernelease fit` it."


class Ended(BaseException):
    """A signal that ends the process was sent to it while measurements lay in memory alone: they are saved first."""


@final
class Patience:
    """SIGINT, SIGTERM and SIGHUP, held back from a charge until what it bought is on disk, and then delivered.

    The first is held without a word. From the second on, each is answered by what waiting buys: only `kill -9` ends the
    process at once. Signals that the process ignores, or that something else than Python handles, stay as they are.
    Python handles signals in its main thread alone; a release in another thread is not interrupted by any.
    """

    __slots__ = ("_arrived", "_former", "_saved", "_waiting")

    def __init__(self, waiting: Callable[[], str]) -> None:
        self._waiting = waiting  # what is going on, in words
        self._former: dict[int, Any] = {}
        self._arrived: list[int] = []
        self._saved = False

    def begin(self) -> None:
        """Hold signals from now on."""
        if self._former or threading.current_thread() is not threading.main_thread():
            return
        for number in [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]:
            former = signal.getsignal(number)
            if former not in (None, signal.SIG_IGN):
                self._former[number] = former
                signal.signal(number, self._note)

    def end(self, told: Callable[[], str], *, on_disk: bool = True) -> None:
        """Deliver what has arrived, and hold nothing more. Raises `KeyboardInterrupt` if that is what came.

        Where measurements lie in memory alone, a signal that would end the process raises `Ended` from now on, so that
        they can be saved first; a second `end` then ends it.
        """
        arrived, self._arrived = sorted(set(self._arrived), key=lambda number: number == signal.SIGINT), []
        keeping = [number for number in self._former if not on_disk and self._is_deadly(number)]
        for number, former in self._former.items():
            if number in arrived and self._is_deadly(number):
                _say(f"Stopped by {signal.Signals(number).name}. {told()}")
            if number in arrived or number not in keeping:
                signal.signal(number, former)
        self._former = {number: former for number, former in self._former.items() if number in keeping}
        self._saved = True
        for number in arrived:
            signal.raise_signal(number)

    def _is_deadly(self, number: int) -> bool:
        return bool(self._former[number] is signal.SIG_DFL)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._arrived.append(number)
        if self._saved:
            raise Ended
        if len(self._arrived) > 1:
            _say(f"{self._waiting()} `kill -9 {os.getpid()}` stops it now, and loses what was charged.")


def _say(line: str) -> None:
    """One line to stderr. A terminal that is gone, or a stream that is just being written to, hears nothing."""
    with suppress(OSError, ValueError, RuntimeError, AttributeError):
        sys.stderr.write(f"\n{line}\n")
        sys.stderr.flush()


def try_noise(source: NoiseSource) -> None:
    """Load OpenDP and draw from each of its laws once, before any budget is spent; what is drawn is thrown away.

    Raises `ResourceError` where that fails. Noise from elsewhere needs no library, and a seed's stream is not moved.
    """
    if not isinstance(source, SystemNoise):
        return
    try:
        laws = noise.samplers()
        for law in (laws.gaussian, laws.laplace, laws.noisy_max):
            law(scale=2.0)([0, 0])
    except Exception as error:
        require_memory(_FOR_OPENDP, "load OpenDP, which draws the noise")  # the system may say it in other words
        raise ResourceError(
            f"Noise can't be drawn: OpenDP does not work here ({type(error).__name__}: {str(error)[:200]}). Install it "
            "anew. Nothing was spent."
        ) from error


@final
class Watched:
    """A ledger that remembers what was charged to it in one call, and guards what the charge buys.

    `given` says whether it is the caller's: what a call keeps for itself, nobody can look up. Where the noise is from a
    seed and nobody keeps books, nothing is spent. The noise is tried when this is made: before any charge.
    """

    __slots__ = ("_bought", "_charging", "_counts", "_given", "_ledger", "_patience", "_receipts")

    def __init__(self, ledger: Ledger, noise: NoiseSource, *, given: bool = True) -> None:
        try_noise(noise)
        self._ledger = ledger
        self._given = given
        self._counts = given or noise.private
        self._charging = False
        self._receipts: list[Receipt] = []
        self._bought = Bought()
        self._patience = Patience(self._waiting)

    @property
    def cap(self) -> Privacy:
        return self._ledger.cap

    def charge(self, charge: Charge) -> Receipt:
        """Make room for what it buys, hold signals back, and enter the charge there."""
        self._bought.make_room(charge.numbers)
        self._patience.begin()
        self._charging = True  # until it returns, nobody knows whether the entry stands
        try:
            self._receipts.append(self._ledger.charge(charge))
        except (BudgetError, LedgerError, ParameterError):  # the ledger's own refusals say what they have done
            self._charging = False
            raise
        self._charging = False
        return self._receipts[-1]

    def spent(self) -> Loss:
        return self._ledger.spent()

    @property
    def receipt(self) -> Receipt:
        """The receipt of the charge. Raises `ParameterError` unless there was exactly one."""
        if len(self._receipts) != 1:
            raise ParameterError(
                f"A release is charged once, with all of its steps; the method has charged {len(self._receipts)} times."
            )
        return self._receipts[0]

    def keep(self, measurements: Measurements) -> Measurements:
        """Save what was bought, if it has a place; signals that came meanwhile are then delivered."""
        self._bought.keep(measurements)
        self._patience.end(self._sentences, on_disk=self._bought.on_disk)
        return measurements

    @contextmanager
    def told_if_spent(self, bought: Bought | None = None) -> Iterator[None]:
        """An error that comes after a charge says what was spent, and where it lies; before it, nothing is added.

        A source that breaks off in a later pass can't know of the charge, so its own message would be wrong.
        """
        self._bought = self._bought if bought is None else bought
        try:
            yield
            self._patience.end(self._sentences)
        except BaseException as error:
            told = self._sentences()
            self._end_hearing(error, told)
            if not told:
                raise
            if isinstance(error, SourceError):
                broken = "The source broke off or changed in a later pass over its rows."
                raise SourceError(f"{broken} {told} Read from a copy that stays.") from None
            if isinstance(error, SystemExit):  # of a handler of the caller's: Python prints no notes of it
                _say(told)
            error.add_note(told)
            raise

    def _end_hearing(self, error: BaseException, told: str) -> None:
        """Deliver the signals that came before an error did. A Ctrl-C among them says the same as the error would."""
        try:
            self._patience.end(lambda: told)
        except KeyboardInterrupt as interrupt:
            if told:
                interrupt.add_note(told)
            raise interrupt from error

    def _waiting(self) -> str:
        """What waiting buys."""
        charged = f"The budget is spent ({self._entries()})" if self._receipts else "The ledger is being charged"
        return f"{charged}; what it buys is being measured and saved, and then this stops by itself."

    def _sentences(self) -> str:
        """Empty where nothing was spent."""
        told = []
        if self._receipts and self._counts:
            told = [f"The budget is spent ({self._entries()}).", self._bought.whereabouts()]
        if self._charging and self._given:
            told.append("No noise was drawn for it, but the ledger's entry may stand: `kernelease budget show` tells.")
        return " ".join(told)

    def _entries(self) -> str:
        if not self._given:
            return "there is no ledger: count it yourself"
        numbers = ", ".join(str(receipt.number) for receipt in self._receipts)
        return f"{'entry' if len(self._receipts) == 1 else 'entries'} {numbers} of the ledger"
