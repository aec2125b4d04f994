"""The privacy barrier, with `exact`: all that decides whether a release is private. docs/for-auditors.md leads on."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.privacy.accounting import Law, Loss, Measurement, Privacy, Selection, Step
    from kernelease.privacy.calibration import Calibration
    from kernelease.privacy.ledger import Charge, Ledger, Receipt
    from kernelease.privacy.mechanisms import PrivacyFilter
    from kernelease.privacy.noise import NoiseSource, SystemNoise
    from kernelease.privacy.sensitivity import Neighbours, Sensitivity, Subject
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "accounting": "Law Loss Measurement Privacy Selection Step",
            "calibration": "Calibration",
            "ledger": "Charge Ledger Receipt",
            "mechanisms": "PrivacyFilter",
            "noise": "NoiseSource SystemNoise",
            "sensitivity": "Neighbours Sensitivity Subject",
        },
    )

__all__ = [
    "Calibration",
    "Charge",
    "Law",
    "Ledger",
    "Loss",
    "Measurement",
    "Neighbours",
    "NoiseSource",
    "Privacy",
    "PrivacyFilter",
    "Receipt",
    "Selection",
    "Sensitivity",
    "Step",
    "Subject",
    "SystemNoise",
]
