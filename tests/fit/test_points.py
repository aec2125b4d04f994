"""Public sources of points: drawn from the generator alone, and refused where they make no sense."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from kernelease.errors import ParameterError
from kernelease.fit import NormalPoints, PointSource, PublicPoints, UniformPoints

SOURCES: tuple[tuple[PointSource, int], ...] = (
    (NormalPoints(dimension=3, mean=100.0, scale=500.0), 3),
    (UniformPoints(low=(0.0, -1.0), high=(10.0, 1.0)), 2),
    (PublicPoints(np.arange(20.0).reshape(10, 2)), 2),
)
EVERY_SOURCE = pytest.mark.parametrize(("source", "columns"), SOURCES, ids=[type(s).__name__ for s, _ in SOURCES])


@EVERY_SOURCE
def test_draws_have_the_shape_and_depend_on_the_generator_alone(source: PointSource, columns: int) -> None:
    assert source.dimension == columns
    for count in (1, 7):
        first, second = (source.draw(count, np.random.default_rng(1)) for _ in range(2))
        assert first.shape == (count, columns)
        assert (first == second).all()


@pytest.mark.statistical
def test_draws_follow_their_laws() -> None:
    """Kolmogorov–Smirnov on 4,000 draws; the seed is fixed, so this fails always or never. False alarm 1e-6."""
    normal, uniform = (source.draw(4000, np.random.default_rng(3)) for source, _ in SOURCES[:2])
    for column in normal.T:
        assert stats.kstest(column, "norm", args=(100.0, 500.0)).pvalue > 1e-6
    assert stats.kstest(uniform[:, 0], "uniform", args=(0.0, 10.0)).pvalue > 1e-6
    assert stats.kstest(uniform[:, 1], "uniform", args=(-1.0, 2.0)).pvalue > 1e-6


def test_public_points_keep_their_order_and_give_all_they_have() -> None:
    points = PublicPoints([[3, "c"], [1, "a"], [2, None]])
    assert points.draw(2, np.random.default_rng(0)).tolist() == [[3, "c"], [1, "a"]]
    assert len(points.draw(99, np.random.default_rng(0))) == 3
    assert repr(points) == "PublicPoints(3 rows)"


REFUSALS: tuple[tuple[Any, dict[str, Any], str], ...] = (
    (NormalPoints, {"dimension": 0}, "at least one column"),
    (NormalPoints, {"dimension": 2, "scale": 0.0}, "positive scale"),
    (NormalPoints, {"dimension": 2, "scale": math.nan}, "positive scale"),
    (NormalPoints, {"dimension": 2, "scale": math.inf}, "positive scale"),
    (NormalPoints, {"dimension": 2, "mean": math.inf}, "finite mean"),
    (UniformPoints, {"low": (), "high": ()}, "a number per column"),
    (UniformPoints, {"low": (0.0,), "high": (1.0, 2.0)}, "a number per column"),
    (UniformPoints, {"low": (0.0, 5.0), "high": (1.0, 2.0)}, "column 1 must have finite bounds with low < high"),
    (UniformPoints, {"low": (1.0,), "high": (1.0,)}, "column 0 must have finite bounds with low < high"),
    (UniformPoints, {"low": (-math.inf,), "high": (1.0,)}, "finite bounds"),
    (UniformPoints, {"low": (math.nan,), "high": (1.0,)}, "finite bounds"),
    (PublicPoints, {"points": np.empty((0, 2))}, "at least one public row"),
    (PublicPoints, {"points": np.zeros(3)}, "two-dimensional"),
)


@pytest.mark.parametrize(("kind", "parameters", "message"), REFUSALS)
def test_refusals(kind: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        kind(**parameters)
