"""Tables of noisy counts, made in one step: exact counts of simulated rows, and normal noise of a chosen size."""

import itertools
import math

import numpy as np
import pyarrow as pa

from kernelease.analysis.evidence import Evidence
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks, estimated_rows
from kernelease.measured.counts import Counts
from kernelease.privacy.accounting import Law, Measurement, Step
from kernelease.privacy.sensitivity import Neighbours
from kernelease.table import Schema
from kernelease.table.encode import Encoder

BITS = 20

SCHEMA = Schema.parse(
    """
    [columns.age]
    type = "integer"
    min = 18
    max = 65

    [columns.sex]
    type = "category"
    values = ["F", "M"]

    [columns.school]
    type = "category"
    values = ["none", "some", "much"]

    [columns.hours]
    type = "number"
    min = 0.0
    max = 80.0
    cells = 16
    nullable = true

    [columns.kids]
    type = "integer"
    min = 0
    max = 5
    """
)


def people(rows, seed=0):
    """Rows in which everything depends on everything."""
    generator = np.random.default_rng(seed)
    age = np.clip(generator.normal(40.0, 12.0, rows), 18, 65).astype(np.int64)
    sex = np.where(generator.random(rows) < 0.45 + 0.002 * (age - 40), "F", "M")
    school = np.array(["none", "some", "much"])[np.clip(generator.normal(age / 30.0, 0.7), 0.0, 2.99).astype(int)]
    hours = np.clip(generator.normal(30.0 + 0.3 * (age - 40) + 4.0 * (sex == "M"), 9.0), 0.0, 80.0)
    missing = generator.random(rows) < 0.08
    kids = np.clip(generator.poisson(0.05 * (age - 18)), 0, 5)
    return pa.table({"age": age, "sex": sex, "school": school, "hours": pa.array(hours, mask=missing), "kids": kids})


def exact_blocks(table, schema=SCHEMA, *, sets=None, cells=None, share=0.1):
    """Blocks of all single columns and pairs (or `sets`), and their exact counts; `cells` caps a column in a pair."""
    codes = Encoder(schema).encode(table)
    count = len(schema)
    sets = sets or [(i,) for i in range(count)] + list(itertools.combinations(range(count), 2))
    blocks = []
    for columns in sets:
        most = dict.fromkeys(columns, cells) if cells and len(columns) > 1 else {}
        groups = tuple(_grouping(schema.columns[index], most.get(index)) for index in columns)
        block = Counts(columns=columns, groups=groups, share=share)
        joint = np.ravel_multi_index([g[codes[:, c]] for g, c in zip(groups, columns, strict=True)], block.shape)
        blocks.append((block, np.bincount(joint, minlength=block.cells).astype(float)))
    return blocks


def _grouping(column, most):
    if most is None or not column.ordered:
        return np.arange(column.size)
    ordinary = int(np.count_nonzero(~np.isnan(column.centres())))
    groups = np.arange(ordinary) // math.ceil(ordinary / most)
    return np.append(groups, int(groups.max()) + 1 + np.arange(column.size - ordinary)).astype(np.int64)


def noisy_blocks(exact, rows, sigma, generator, *, neighbours=Neighbours.REPLACE_ONE, law=Law.GAUSSIAN, rounds=None):
    """The blocks with noise: `sigma` is one number, or one for each block."""
    sigmas = sigma if isinstance(sigma, list) else [sigma] * len(exact)
    noisy = []
    for place, ((block, counts), scale) in enumerate(zip(exact, sigmas, strict=True)):
        if law is Law.GAUSSIAN:
            noise, width = generator.normal(0.0, scale, len(counts)), scale
        else:
            width = scale / math.sqrt(2.0)
            noise = generator.laplace(0.0, width, len(counts))
        whole = block.whole  # what a row adds, in integers
        integers = np.array([int(value) for value in np.rint((counts + noise) * whole * 2**BITS)], dtype=object)
        step = Step(law=law, coordinates=len(counts), sensitivity=1.0, scale=width * whole, bits=BITS)
        measurement = Measurement(integers=integers, step=step, private=False)
        number = 0 if rounds is None else rounds[place]
        noisy.append(NoisyBlock(block=block, measurement=measurement, unit=1, round=number))
    found = float(rows) if neighbours is Neighbours.REPLACE_ONE else estimated_rows(tuple(noisy))
    return NoisyBlocks(sizes=SCHEMA.sizes, blocks=tuple(noisy), neighbours=neighbours, rows=found)


def evidence_of(blocks, schema=SCHEMA, **options):
    return Evidence(schema=schema, measured=blocks, **options)


def simple(table, sigma=5.0, *, seed=1, schema=SCHEMA, **options):
    """Evidence about a table of rows, from counts with noise."""
    keys = ("neighbours", "law", "rounds")
    noise = {key: options.pop(key) for key in keys if key in options}
    made = {key: options.pop(key) for key in ("sets", "cells") if key in options}
    exact = exact_blocks(table, schema, **made)
    blocks = noisy_blocks(exact, table.num_rows, sigma, np.random.default_rng(seed), **noise)
    return evidence_of(blocks, schema, **options)
