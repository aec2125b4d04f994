"""The privacy barrier. Everything that decides whether a release is private is in this package.

To audit kernelease, read in this order: neighbours and subject (what is protected), sensitivity (how far one row moves
a sum), calibration and risk (how much noise that needs), accounting and filter (how costs add up), charge and ledger
(who keeps the books), noise (where randomness comes from), mechanisms (the only doors). What this package assumes of
its callers, and which files keep it, is in docs/for-auditors.md.
"""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.privacy.accounting import Loss, Privacy
    from kernelease.privacy.calibration import Calibration
    from kernelease.privacy.ledger import Charge, Ledger, MemoryLedger, Receipt
    from kernelease.privacy.ledger_file import LedgerFile
    from kernelease.privacy.mechanisms import PrivacyFilter
    from kernelease.privacy.neighbours import Neighbours, Subject
    from kernelease.privacy.noise import NoiseSource, SeededNoise, SystemNoise
    from kernelease.privacy.sensitivity import Sensitivity
    from kernelease.privacy.step import Law, Measurement, Selection, Step
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "accounting": "Loss Privacy",
            "calibration": "Calibration",
            "ledger": "Charge Ledger MemoryLedger Receipt",
            "ledger_file": "LedgerFile",
            "mechanisms": "PrivacyFilter",
            "neighbours": "Neighbours Subject",
            "noise": "NoiseSource SeededNoise SystemNoise",
            "sensitivity": "Sensitivity",
            "step": "Law Measurement Selection Step",
        },
    )

__all__ = [
    "Calibration",
    "Charge",
    "Law",
    "Ledger",
    "LedgerFile",
    "Loss",
    "Measurement",
    "MemoryLedger",
    "Neighbours",
    "NoiseSource",
    "Privacy",
    "PrivacyFilter",
    "Receipt",
    "SeededNoise",
    "Selection",
    "Sensitivity",
    "Step",
    "Subject",
    "SystemNoise",
]
