"""A ledger file that is opened if it is there, and made with the first charge if its cap was given."""

import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from kernelease.errors import LedgerError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.charge import Charge
from kernelease.privacy.ledger import Ledger, Receipt
from kernelease.privacy.ledger_file import LedgerFile
from kernelease.privacy.neighbours import Neighbours
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
        ledger = _opened(Path(path), subject)
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


def _opened(path: Path, subject: Subject) -> LedgerFile:
    ledger = LedgerFile.open(path)
    ledger.check_subject(subject)
    return ledger
