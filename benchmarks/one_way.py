"""The product of noisy one-way marginals: what single columns alone give, with the whole budget on them."""

import math

import numpy as np
import pyarrow as pa

from kernelease import Privacy
from kernelease.arrays import Floats, Integers
from kernelease.privacy.calibration import gaussian_mu
from kernelease.table import Schema
from kernelease.table.domains import lawful_rows
from kernelease.table.encode import Encoder


def product_of_marginals(
    table: pa.Table, *, schema: Schema, privacy: Privacy, rows: int, generator: np.random.Generator
) -> pa.Table:
    """Rows whose columns are drawn independently, each from its own noisy counts.

    Σ |noise| of a column of k values is about kσ, and shares of the budget in proportion to k^⅔ make the sum over
    columns least. A contender for comparison, not a release: its noise comes from `generator`.
    """
    codes = Encoder(schema).encode(table)
    sizes = np.array(schema.sizes, dtype=np.float64)
    shares = sizes ** (2 / 3) / (sizes ** (2 / 3)).sum()
    sigmas = _sensitivity(schema) / (gaussian_mu(privacy.epsilon, privacy.delta) * np.sqrt(shares))
    marginals = [
        _distribution(np.bincount(codes[:, i], minlength=size), sigmas[i], generator)
        for i, size in enumerate(schema.sizes)
    ]
    return lawful_rows(schema, lambda count: _draw(marginals, count, generator), rows, generator)


def _sensitivity(schema: Schema) -> float:
    """Of one column's counts: a person is in one cell, or moves from one to another."""
    return 1.0 if schema.neighbours == "add-remove" else math.sqrt(2.0)


def _distribution(counts: Integers, sigma: float, generator: np.random.Generator) -> Floats:
    noisy = counts + generator.normal(scale=sigma, size=len(counts))
    return nearest_distribution(noisy / max(1.0, float(noisy.sum())))


def nearest_distribution(values: Floats) -> Floats:
    """The distribution at the least Euclidean distance.

    >>> nearest_distribution(np.array([0.8, 0.6, -0.4]))
    array([0.6, 0.4, 0. ])
    """
    ordered = np.sort(values)[::-1]
    surplus = (np.cumsum(ordered) - 1.0) / np.arange(1, len(values) + 1)
    return np.maximum(values - surplus[np.flatnonzero(ordered > surplus)[-1]], 0.0)


def _draw(marginals: list[Floats], count: int, generator: np.random.Generator) -> Integers:
    columns = [generator.choice(len(marginal), size=count, p=marginal / marginal.sum()) for marginal in marginals]
    return np.column_stack(columns)
