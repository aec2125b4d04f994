"""What the page reads must be what Python says: estimates of all counts, and their covariance."""

import numpy as np
import pytest

from kernelease import Privacy
from kernelease.analysis.estimate import Target
from kernelease.answers.reading import evidence_of
from kernelease.estimate.marginal import tabulation
from kernelease.measured.offsets import levels_of
from kernelease.report.marginals import Solved, every_marginal, marginal_records, solve
from tests.report import releases

MADE = {
    "public number of rows": lambda: releases.people()[0],
    "details, noisy number of rows": releases.twins,
    "noisy number of rows": lambda: releases.promised("add-remove", Privacy(epsilon=2.0, delta=1e-6)),
    "Laplace noise": lambda: releases.promised("replace-one", Privacy(epsilon=20.0, delta=0.0)),
    "one value": lambda: releases.tiny()[0],
}


def _far(marginal, solved: Solved) -> float:
    """How far estimates and covariances of two conditions are from those of Python, in standard errors."""
    draw = np.random.default_rng(3)
    functions = list((draw.random((2, marginal.size)) < 0.5).astype(float))
    values, covariance = marginal.joint(functions)
    scale = max(float(covariance.max()), 1.0)  # of all rows together it is 0
    ours = [[solved.covariance(one, other) for other in functions] for one in functions]
    estimates = np.array([function @ solved.counts for function in functions])
    return max(float(np.abs(ours - covariance).max()) / scale, float(np.abs(estimates - values).max()) / scale**0.5)


@pytest.mark.parametrize("name", MADE)
def test_every_marginal_is_solved_as_python_solves_it(name: str) -> None:
    noisy = MADE[name]().measurements.measured
    marginals = [one for rounds in every_marginal(noisy, levels_of(noisy)) for one in rounds]
    assert len(marginals) > 3
    for marginal in marginals:
        solved = solve(marginal)
        assert solved is not None
        assert _far(marginal, solved) < 1e-7, marginal.columns


def test_a_core_that_leaves_something_out_is_noticed() -> None:
    """The broken twin: without what the sums tell, variances are those of the finest counts alone."""
    noisy = releases.people()[0].measurements.measured
    (marginal, *_) = tabulation(noisy).marginals((1, 2))
    solved = solve(marginal)
    assert solved is not None
    broken = Solved(counts=solved.counts, variances=solved.variances, sums=solved.sums, core=np.zeros_like(solved.core))
    assert _far(marginal, broken) > 0.01


def test_records_hold_what_was_solved() -> None:
    """Cells as runs of atoms, counts to a millionth of their noise, and as many numbers of the core as it has."""
    release = releases.people()[0]
    noisy = release.measurements.measured
    records = marginal_records(noisy, 1_000_000, evidence_of(release, Target.TABLE))
    for columns in {tuple(record["columns"]) for record in records}:
        told = [record for record in records if tuple(record["columns"]) == columns]
        for record, marginal in zip(told, tabulation(noisy).marginals(columns), strict=True):
            assert record["counts"] == pytest.approx(marginal.counts.tolist(), abs=1e-3)
            solved = solve(marginal)
            assert solved is not None
            assert len(record["core"]) == 4 * -(-4 * len(solved.core) * (len(solved.core) + 1) // 2 // 3)
