"""Several tables: the mean of some fits in place of one."""

import numpy as np
import pytest

from kernelease.fit.mixtures.beyond import Misfit
from kernelease.fit.mixtures.mixture import Mixture
from kernelease.fit.solver import Outcome
from kernelease.methods.several_tables import average


def _fit(first: list[float], chi_squared: float) -> Mixture:
    """Two columns of two values: both have the first one in the first component, the second in the second."""
    return Mixture(
        weights=np.array(first),
        columns=(np.eye(2), np.eye(2)),
        chi_squared=chi_squared,
        outcome=Outcome.NOISE_FLOOR,
        misfits=(Misfit(columns=(0, 1), numbers=4, chi_squared=chi_squared),),
    )


def test_tables_of_averaged_fits_are_the_mean_of_theirs() -> None:
    fits = _fit([0.2, 0.8], 1.0), _fit([0.6, 0.4], 2.0)
    mean = average(fits)
    np.testing.assert_allclose(mean.pair(0, 1), (fits[0].pair(0, 1) + fits[1].pair(0, 1)) / 2.0)
    assert mean.weights.sum() == pytest.approx(1.0)
    assert (mean.chi_squared, mean.misfits[0].chi_squared) == (1.5, 1.5)
