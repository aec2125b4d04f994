from kernelease.privacy.accounting import (
    Law as Law,
    Loss as Loss,
    Measurement as Measurement,
    Privacy as Privacy,
    Selection as Selection,
    Step as Step,
)
from kernelease.privacy.calibration import Calibration as Calibration
from kernelease.privacy.ledger import Charge as Charge, Ledger as Ledger, Receipt as Receipt
from kernelease.privacy.mechanisms import PrivacyFilter as PrivacyFilter
from kernelease.privacy.noise import NoiseSource as NoiseSource, SystemNoise as SystemNoise
from kernelease.privacy.sensitivity import Neighbours as Neighbours, Sensitivity as Sensitivity, Subject as Subject
