"""The curves that the paper published, to six digits (published.json)."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from kernelease.arrays import Floats, Integers

EPSILONS = (0.01, 0.1, 1.0)
DELTA = 1e-6
_FILE = Path(__file__).parent / "published.json"


@dataclass(frozen=True)
class Curve:
    """RKHS distances of one experiment: at each number of points, one row for each of the three ε."""

    points: Integers  # (m,)
    noisy: Floats  # (3, m)
    projection: Floats | None = None  # (m,): without noise
    baseline: Floats | None = None  # (m,): uniform weights

    @property
    def best(self) -> Floats:
        """The least over all numbers of points, an oracle's choice: (3,)."""
        return self.noisy.min(axis=1)


@dataclass(frozen=True)
class Published:
    """Everything published about the data set of one dimension."""

    mean_gram: float
    leak: Curve  # Algorithm 1, published rows
    random: Curve  # Algorithm 1, random points
    random_features: Curve  # Algorithm 2

    @property
    def best_without_rows(self) -> Floats:
        """The better of both algorithms where no row is published: (3,)."""
        return np.minimum(self.random.best, self.random_features.best)


@cache
def published(dimension: int) -> Published:
    """The paper's results for D = 2 or 5."""
    table = json.loads(_FILE.read_text())[f"D{dimension}"]
    curves = {name: _curve(table[name]) for name in ("leak", "random", "random_features")}
    return Published(mean_gram=table["mean_gram"], **curves)


def _curve(fields: dict[str, list]) -> Curve:
    return Curve(points=np.array(fields.pop("points")), **{name: np.array(values) for name, values in fields.items()})
