"""A ledger file that is opened if it is there, and made with the first charge if it is not."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import final

from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.charge import Charge
from kernelease.privacy.ledger import Ledger, Receipt
from kernelease.privacy.ledger_file import LedgerFile
from kernelease.privacy.subject import Subject


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NewLedger:
    """A ledger that no file holds yet. Its first charge makes one, so that a release that fails before leaves none."""

    path: Path
    subject: Subject
    cap: Privacy

    def charge(self, charge: Charge) -> Receipt:
        """Make the file, or open the one that another process has made meanwhile; then enter the charge."""
        return self._file().charge(charge)

    def spent(self) -> Loss:
        """What the file says, once there is one."""
        return LedgerFile.open(self.path).spent() if os.path.lexists(self.path) else Loss()

    def _file(self) -> LedgerFile:
        if os.path.lexists(self.path):
            return _opened(self.path, self.subject)
        return LedgerFile.create(self.path, dataset=self.subject.dataset, cap=self.cap, unit=self.subject.unit)


def open_ledger(path: str | Path, *, subject: Subject, cap: Privacy) -> Ledger:
    """The ledger in a file, if it is about the same subject; where there is no file, one to be made with this cap.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = open_ledger(
    ...     Path(folder.name, "l.sqlite"), subject=Subject(dataset="census"), cap=Privacy(epsilon=1.0, delta=0.0)
    ... )
    >>> type(ledger).__name__, list(Path(folder.name).iterdir())
    ('NewLedger', [])
    >>> folder.cleanup()
    """
    if os.path.lexists(path):
        return _opened(Path(path), subject)
    return NewLedger(path=Path(path), subject=subject, cap=cap)


def _opened(path: Path, subject: Subject) -> LedgerFile:
    ledger = LedgerFile.open(path)
    ledger.check_subject(subject)
    return ledger
