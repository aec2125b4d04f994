"""Nothing that was paid for is lost in silence: a failure after a charge says what was spent, and where the rest is."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kernelease.errors import BudgetError, KerneleaseError, LedgerError, ParameterError, SourceError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.charge import Charge
from kernelease.privacy.ledger import Ledger, Receipt
from kernelease.release.bundle import checked_files, documents, save
from kernelease.release.container import check_target
from kernelease.release.measurements import Measurements
from kernelease.release.release import Release

_MEASUREMENTS = "measurements.json"


@final
class Bought:
    """What a charge has bought so far: the measurements, as soon as there are any, and the bundle they go into.

    A bundle that can't be written to `out` is refused when this is made: before any charge.
    """

    __slots__ = ("_key", "_measurements", "_out", "_overwrite")

    def __init__(
        self, out: str | Path | None = None, *, key: Ed25519PrivateKey | None = None, overwrite: bool = False
    ) -> None:
        if out is not None:
            check_target(out, overwrite=overwrite)
        if not isinstance(key, Ed25519PrivateKey | None):
            raise ParameterError(f"key must be an Ed25519 private key, got {type(key).__name__}.")
        self._out = out
        self._key = key
        self._overwrite = overwrite
        self._measurements: Measurements | None = None

    def keep(self, measurements: Measurements) -> Measurements:
        """Write them to `out`, if there is one. Whatever fails from now on leaves them on disk."""
        self._measurements = measurements
        if self._out is not None:
            save(measurements, self._out, key=self._key, overwrite=self._overwrite)
        return measurements

    def complete(self, release: Release) -> Release:
        """Put the release in the place of its measurements."""
        if self._out is not None:
            save(release, self._out, key=self._key, overwrite=True)
        return release

    def whereabouts(self) -> str:
        """Where it lies, in words. Measurements that lie nowhere yet are written to a temporary folder now."""
        if self._measurements is None:
            return "What it paid for is lost."
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
        if files.get(_MEASUREMENTS) != documents(measurements)[_MEASUREMENTS]:
            return ""
        if "data.parquet" in files:
            return f"The release is safe in {self._out}."
        return f"The measurements are safe in {self._out}: `kernelease fit` makes rows from them."


def _in_refuge(measurements: Measurements) -> str:
    refuge = save(measurements, Path(tempfile.mkdtemp(prefix="kernelease-"), "measurements"))
    return f"What it paid for is safe in {refuge}: move it to a place that lasts, and `kernelease fit` it."


@final
class Watched:
    """A ledger that remembers what was charged to it in one call.

    `given` says whether it is the caller's: what a call keeps for itself, nobody can look up. `counts` is False where
    the noise is from a seed and nobody keeps books: then nothing is spent.
    """

    __slots__ = ("_charging", "_counts", "_given", "_ledger", "_receipts")

    def __init__(self, ledger: Ledger, *, given: bool = True, counts: bool = True) -> None:
        self._ledger = ledger
        self._given = given
        self._counts = counts
        self._charging = False
        self._receipts: list[Receipt] = []

    @property
    def cap(self) -> Privacy:
        """Of the ledger behind it."""
        return self._ledger.cap

    def charge(self, charge: Charge) -> Receipt:
        """Enter the charge there."""
        self._charging = True  # until it returns, nobody knows whether the entry stands
        try:
            self._receipts.append(self._ledger.charge(charge))
        except (BudgetError, LedgerError, ParameterError):  # the ledger's own refusals say what they have done
            self._charging = False
            raise
        self._charging = False
        return self._receipts[-1]

    def spent(self) -> Loss:
        """All entries there."""
        return self._ledger.spent()

    @property
    def receipt(self) -> Receipt:
        """Of the charge. Raises `ParameterError` unless there was exactly one."""
        if len(self._receipts) != 1:
            raise ParameterError(
                f"A release is charged once, with all of its steps; the method has charged {len(self._receipts)} times."
            )
        return self._receipts[0]

    @contextmanager
    def told_if_spent(self, bought: Bought | None = None) -> Iterator[None]:
        """An error that comes after a charge says what was spent, and where it lies; before it, nothing is added.

        A source that breaks off in a later pass can't know of the charge, so its own message would be wrong.
        """
        try:
            yield
        except BaseException as error:
            if not (told := self._told(Bought() if bought is None else bought)):
                raise
            if isinstance(error, SourceError):
                broken = "The source broke off or changed in a later pass over its rows."
                raise SourceError(f"{broken} {told} Read from a copy that stays.") from None
            error.add_note(told)
            raise

    def _told(self, bought: Bought) -> str:
        """Empty where nothing was spent."""
        told = []
        if self._receipts and self._counts:
            told = [f"The budget is spent ({self._entries()}).", bought.whereabouts()]
        if self._charging and self._given:
            told.append("No noise was drawn for it, but the ledger's entry may stand: `kernelease budget show` tells.")
        return " ".join(told)

    def _entries(self) -> str:
        if not self._given:
            return "there is no ledger: count it yourself"
        numbers = ", ".join(str(receipt.number) for receipt in self._receipts)
        return f"{'entry' if len(self._receipts) == 1 else 'entries'} {numbers} of the ledger"
