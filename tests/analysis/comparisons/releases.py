"""Releases of simulated tables and vectors, and samples to compare them with."""

import numpy as np
import pyarrow as pa

import kernelease as ke
from benchmarks.simulated import SCHEMA, measured, people
from kernelease.answers.release import Release
from kernelease.certificate import Measurements
from kernelease.measured import NoisyBlocks
from kernelease.table.domains import TableDomain


def released(table: pa.Table, *, epsilon: float = 1.0, seed: int = 0, schema=SCHEMA) -> Release:
    """A release without a fit: its rows are the given ones. Only for tests."""
    generator = np.random.default_rng(seed)
    blocks = measured(table, epsilon=epsilon, generator=generator, schema=schema)
    rows = people(generator, 500)
    weighted = rows.cast(schema.arrow_schema()).append_column("weight", pa.array(np.full(500, 1 / 500)))
    return Release(table=weighted, measurements=of_counts(blocks, schema))


def of_counts(blocks: NoisyBlocks, schema: ke.Schema) -> Measurements:
    """Measurements without a certificate: nothing here looks at one."""
    return Measurements(certificate=None, domain=TableDomain(schema), method=ke.Interactions(), measured=blocks)


def rows(count: int, seed: int = 100, **change: float) -> pa.Table:
    return people(np.random.default_rng(seed), count, **change)


RELEASE = released(rows(5_000, seed=1))


OTHER = released(rows(5_000, seed=2, older=6.0), seed=5)


SAME, OLDER = rows(2_000), rows(2_000, older=6.0)


def vector_release(mean: float = 0.0, seed: int = 0) -> Release:
    generator = np.random.default_rng(seed)
    return ke.release(
        generator.normal(mean, 1.0, (4_000, 2)),
        kernel=ke.kernels.Gaussian(lengthscale=1.0),
        method=ke.RandomFeatures(start=ke.fit.UniformPoints(low=(-4.0, -4.0), high=(4.0, 4.0)), features=200),
        privacy=ke.Privacy(epsilon=1.0, delta=1e-6),
        noise=ke.SeededNoise(seed),
    )


VECTORS = vector_release()


NORMAL = np.random.default_rng(9).normal(0.0, 1.0, (500, 2))
