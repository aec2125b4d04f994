"""Simulated tables and their measurements: cheap to repeat, since nothing is fitted and nothing is charged."""

import dataclasses
import itertools
import math

import numpy as np
import pyarrow as pa

from kernelease.measured.blocks import Block, NoisyBlock, NoisyBlocks, estimated_rows
from kernelease.measured.counts import Counts
from kernelease.privacy import Neighbours, Privacy
from kernelease.privacy.accounting import Law, Measurement, Step
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.table import Schema
from kernelease.table.encode import Encoder

_BITS = 40

SCHEMA = Schema.parse("""
    [columns.age]
    type = "integer"
    min = 18
    max = 81

    [columns.hours]
    type = "number"
    min = 0.0
    max = 80.0
    cells = 32

    [columns.ward]
    type = "category"
    values = ["north", "east", "south", "west"]

    [columns.smoker]
    type = "boolean"
""")


def people(
    generator: np.random.Generator, count: int, *, older: float = 0.0, spread: float = 0.0, moved: float = 0.0
) -> pa.Table:
    """Rows of a table in which all columns but the ward depend on each other; the arguments change its distribution.

    `older` adds years, `spread` hours to a standard deviation of 8, `moved` moves a share of people to another ward.
    """
    age = np.clip(18.0 + generator.gamma(6.0, 7.0, count) + older, 18.0, 81.0).astype(np.int64)
    hours = np.clip(38.0 + (8.0 + spread) * generator.standard_normal(count) - 0.2 * (age - 50), 0.0, 80.0)
    ward = generator.choice(["north", "east", "south", "west"], count, p=[0.4 + moved, 0.3 - moved, 0.2, 0.1])
    return pa.table({"age": age, "hours": hours, "ward": ward, "smoker": generator.random(count) < age / 160.0})


def linked(generator: np.random.Generator, count: int, strength: float) -> pa.Table:
    """Rows whose columns are independent but for links of this strength: of hours, ward and smoking with age, and of
    smoking with the ward."""
    age = np.clip(18.0 + generator.gamma(6.0, 7.0, count), 18.0, 81.0).astype(np.int64)
    standard = (age - 55.0) / 15.0
    hours = np.clip(38.0 + 8.0 * (generator.standard_normal(count) + strength * standard), 0.0, 80.0)
    ward = (generator.random(count) * 4.0 + strength * standard).astype(np.int64).clip(0, 3)
    smoker = generator.random(count) < np.clip(0.3 + 0.2 * strength * (standard + ward - 1.5), 0.0, 1.0)
    names = np.array(["north", "east", "south", "west"])
    return pa.table({"age": age, "hours": hours, "ward": names[ward], "smoker": smoker})


def planned(schema: Schema) -> tuple[Block, ...]:
    """Every column and every pair, atom by atom, with shares of the budget by the cube root of their cells."""
    columns = range(len(schema))
    chosen = [*((i,) for i in columns), *itertools.combinations(columns, 2)]
    shares = np.array([math.prod(schema.sizes[i] for i in block) ** (1 / 3) for block in chosen])
    return tuple(
        Counts(columns=block, groups=tuple(np.arange(schema.sizes[i]) for i in block), share=float(share))
        for block, share in zip(chosen, shares / shares.sum(), strict=True)
    )


def measured(
    table: pa.Table,
    *,
    epsilon: float,
    generator: np.random.Generator,
    schema: Schema = SCHEMA,
    delta: float = 1e-6,
) -> NoisyBlocks:
    """Counts of all columns and pairs, with the noise of a release from a seeded generator. ε = ∞: no noise."""
    neighbours = Neighbours(schema.neighbours)
    blocks = planned(schema)
    codes = Encoder(schema).encode(table)
    sensitivity = block_sensitivity(neighbours).l2
    privacy = Privacy(epsilon=epsilon if math.isfinite(epsilon) else 1.0, delta=delta, neighbours=neighbours)
    mu = privacy.total(sum(block.cells for block in blocks)).mu
    noisy = []
    for block in blocks:
        scale = sensitivity / (mu * math.sqrt(block.share)) if math.isfinite(epsilon) else 1e-6
        cells = [groups[codes[:, column]] for column, groups in zip(block.columns, block.groups, strict=True)]
        counts = np.bincount(np.ravel_multi_index(cells, block.shape), minlength=block.cells)
        values = counts + generator.normal(0.0, scale, block.cells)
        integers = np.array([int(value) for value in np.rint(np.ldexp(values, _BITS))], dtype=object)
        step = Step(law=Law.GAUSSIAN, coordinates=block.cells, sensitivity=sensitivity, scale=scale, bits=_BITS)
        measurement = Measurement(integers=integers, step=step, private=False)
        noisy.append(NoisyBlock(block=block, measurement=measurement, unit=1))
    result = NoisyBlocks(sizes=schema.sizes, blocks=tuple(noisy), neighbours=neighbours, rows=float(table.num_rows))
    if neighbours is Neighbours.ADD_REMOVE:
        return dataclasses.replace(result, rows=estimated_rows(result.blocks))
    return result
