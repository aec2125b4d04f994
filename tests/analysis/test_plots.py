"""Charts of variables and of differences, and what is said without Altair."""

import sys

import numpy as np
import pytest

import kernelease as ke
from kernelease.analysis.comparisons.two_sample import Difference, Witness
from kernelease.analysis.variables import Origin, RandomVariable

ROWS = Origin(np.full(30, 1 / 30), name="things")
NUMBERS = np.random.default_rng(0).normal(70.0, 10.0, 30)
X = RandomVariable.of(NUMBERS, ROWS)


def differences(cells: int) -> Witness:
    """The first cells differ least."""
    return Witness(
        differences=tuple(
            Difference(columns="x", cell=str(cell), release=0.001 * cell, other=0.0, standard_error=0.1)
            for cell in range(cells)
        )
    )


def test_histograms():
    assert X.plot().to_dict()["mark"]["type"] == "bar"
    assert RandomVariable.of(np.array(["a"] * 30, dtype=object), ROWS).plot().to_dict()
    with pytest.raises(ke.errors.ParameterError, match="one column"):
        RandomVariable.of(np.column_stack([NUMBERS, NUMBERS]), ROWS).plot()


@pytest.mark.parametrize(("cells", "shown"), [(300, 300), (301, 60)])
def test_of_many_differences_the_clearest_are_shown(cells, shown):
    chart = differences(cells).plot().to_dict()
    bars = next(iter(chart["layer"]))["data"]["values"]
    assert [bar["cell"] for bar in bars] == [str(cell) for cell in range(cells - shown, cells)]


def test_plots_need_altair(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    for plot in (X.plot, differences(3).plot):
        with pytest.raises(ke.errors.ParameterError, match=r"kernelease\[plot\]"):
            plot()
