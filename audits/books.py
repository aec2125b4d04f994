"""Whose loss a ledger counts: a release that protects rows must not be paid from the budget of persons."""

import tempfile
from pathlib import Path
from unittest import mock

import numpy as np

from audits.attacker import claimed_mu, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.mechanisms import promise
from kernelease.arrays import Floats
from kernelease.errors import BudgetError
from kernelease.ledgers import LedgerFile
from kernelease.privacy import Neighbours, PrivacyFilter, Subject, SystemNoise
from kernelease.privacy.mechanisms import measure
from kernelease.privacy.sensitivity import block_sensitivity

PRIVACY = promise(1.0, 1e-6)
ROWS_OF_ONE = 16  # that the person in question has
SUBJECTS = {Subject(dataset="visits"): 1, Subject(dataset="visits", unit="patient"): ROWS_OF_ONE}


def released(subject: Subject, world: int, trials: int) -> Floats:
    """Noisy counts of visits, charged to the ledger of patients; all zeros where that refuses. The patient is in B."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = LedgerFile.create(Path(folder, "ledger"), cap=PRIVACY, dataset="visits", unit="patient")
        try:
            budget = PrivacyFilter.open(PRIVACY, ledger=ledger, subject=subject, coordinates=trials, purpose="an audit")
        except BudgetError:
            return np.zeros(trials)
        exact = np.full(trials, ROWS_OF_ONE * world, dtype=object)
        sensitivity = block_sensitivity(Neighbours.ADD_REMOVE, unit=SUBJECTS[subject])
        return measure(exact, sensitivity, budget=budget, share=1.0, noise=SystemNoise(), label="an audit").values


def another_unit(effort: Effort) -> Verdict:
    """Releases for rows and for patients, on the ledger of patients: the best of the two, for whoever looks."""
    n = 10_000 if effort is Effort.FAST else 50_000

    def bound() -> float:
        return max(normal_mu_bound(*(released(subject, world, n) for world in (0, 1))) for subject in SUBJECTS)

    real = bound()
    with mock.patch("kernelease.privacy.ledger.refuse_other_subject"):
        unasked = bound()
    return judged(
        trials=4 * n,
        claim=claimed_mu(PRIVACY),
        real=real,
        twins={"a ledger that does not ask for whom": unasked},
        symbol="μ",
        sharp=0.4,
    )


CASES = (
    Case(
        name="a release for rows on the ledger of persons",
        kind="attack",
        claim="What a ledger counts holds for its unit: a release that protects another one is refused.",
        run=another_unit,
    ),
)
