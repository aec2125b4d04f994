"""White-box audits of several measurements of the same rows: they share a budget, and no noise."""

import numpy as np

from audits.attacker import claimed_mu, judged, normal_mu_bound
from audits.case import Case, Effort, Verdict
from audits.mechanisms import COUNT, open_budget, promise
from audits.twins import RepeatingNoise
from kernelease.arrays import Floats
from kernelease.privacy import NoiseSource, PrivacyFilter, SystemNoise
from kernelease.privacy.mechanisms import measure

PRIVACY = promise(10.0, 1e-6)
SHARES = (0.2, 0.8)


def measured(world: int, trials: int, noise: NoiseSource, *, forgetful: bool = False) -> Floats:
    """Two noisy counts in each trial: (trials, 2). A forgetful filter lets each measurement spend the whole budget."""
    budget = open_budget(PRIVACY, 2 * trials)
    exact = np.full(trials, world, dtype=object)
    columns = []
    for share in SHARES:
        books = PrivacyFilter(budget.privacy, budget.total, budget.receipt) if forgetful else budget
        part = 1.0 if forgetful else share
        columns.append(measure(exact, COUNT, budget=books, share=part, noise=noise, label="an audit").values)
    return np.stack(columns, axis=1)


def separation(a: Floats, b: Floats) -> float:
    """The bound for the best linear score of the measurements, learnt on one half and judged on the other."""
    half = len(a) // 2
    covariance = np.cov(a[:half], rowvar=False) + np.cov(b[:half], rowvar=False)
    ridge = 1e-9 * np.trace(covariance) * np.eye(len(covariance))  # matters only where measurements share their noise
    direction = np.linalg.solve(covariance + ridge, b[:half].mean(axis=0) - a[:half].mean(axis=0))
    return normal_mu_bound(a[half:] @ direction, b[half:] @ direction)


def two_measurements(effort: Effort) -> Verdict:
    """The two measurements as one: their best linear score."""
    n = 10_000 if effort is Effort.FAST else 50_000

    def bound(noise: NoiseSource, *, forgetful: bool = False) -> float:
        return separation(*(measured(world, n, noise, forgetful=forgetful) for world in (0, 1)))

    return judged(
        trials=2 * n,
        claim=claimed_mu(PRIVACY),
        real=bound(SystemNoise()),
        twins={
            "noise reused for the second measurement": bound(RepeatingNoise()),
            "charged once for two": bound(SystemNoise(), forgetful=True),
        },
        symbol="μ",
        sharp=0.8,
    )


CASES = (
    Case(
        name="two measurements of the same rows",
        kind="audit",
        claim="Measurements that share a budget keep the promise together, and no two of them share noise.",
        run=two_measurements,
    ),
)
