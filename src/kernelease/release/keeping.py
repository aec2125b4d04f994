"""Nothing that was paid for is lost in silence: a failure after a charge says what was spent, and where the rest is."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from kernelease.errors import KerneleaseError, ParameterError, SourceError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Charge, Ledger, Receipt
from kernelease.release.bundle import save
from kernelease.release.measurements import Measurements


@final
class Watched:
    """A ledger that remembers whether it was charged in this call."""

    __slots__ = ("_ledger", "_receipt")

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._receipt: Receipt | None = None

    @property
    def cap(self) -> Privacy:
        """Of the ledger behind it."""
        return self._ledger.cap

    def charge(self, charge: Charge) -> Receipt:
        """Enter the charge there."""
        self._receipt = self._ledger.charge(charge)
        return self._receipt

    def spent(self) -> Loss:
        """All entries there."""
        return self._ledger.spent()

    @property
    def receipt(self) -> Receipt:
        """Of the charge. Raises `ParameterError` where there was none."""
        if self._receipt is None:
            raise ParameterError("The method has measured without a charge: that can't be released.")
        return self._receipt

    @contextmanager
    def told_if_spent(self) -> Iterator[None]:
        """An error that comes after the charge says what was spent; before it, nothing is added.

        A source that breaks off in a later pass can't know of the charge, so its own message would be wrong.
        """
        try:
            yield
        except SourceError:
            if self._receipt is None:
                raise
            raise SourceError(
                f"The source broke off or changed in a later pass over its rows. {spent_in_words(self._receipt)} What "
                "it paid for is lost: release from a copy that stays."
            ) from None
        except BaseException as error:
            if self._receipt is not None:
                error.add_note(f"{spent_in_words(self._receipt)} What it paid for is lost.")
            raise


def spent_in_words(receipt: Receipt) -> str:
    """That a charge stands."""
    return f"The budget is spent (entry {receipt.number} of the ledger)."


@contextmanager
def not_lost(measurements: Measurements, out: str | Path | None = None) -> Iterator[None]:
    """Where what follows the measurements fails, they are written to a temporary folder, and the error says so.

    If they lie in `out` already, the error says that instead.
    """
    try:
        yield
    except BaseException as error:
        error.add_note(_refuge(measurements, out))
        raise


def _refuge(measurements: Measurements, out: str | Path | None) -> str:
    spent = f"The budget is spent (entry {measurements.certificate.receipt} of the ledger)"
    if out is not None and Path(out).exists():
        return f"{spent}. The measurements are safe in {out}: `kernelease fit` makes rows from them."
    try:
        refuge = Path(tempfile.mkdtemp(prefix="kernelease-"), "measurements")
        save(measurements, refuge)
    except (KerneleaseError, OSError):
        return f"{spent}. What it paid for could not be written elsewhere either, and is lost."
    return f"{spent}. What it paid for is safe in {refuge}: move it to a place that lasts, and `kernelease fit` it."
