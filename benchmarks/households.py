"""Rows of people with what makes intervals hard: a skewed number, one that is mostly 0, NULLs, up to 20 categories."""

import numpy as np
import pyarrow as pa

from kernelease.table import Schema

REGIONS = ("north", "east", "south", "west", "centre")
JOBS = tuple(f"job {place:02d}" for place in range(20))

SCHEMA = Schema.parse(
    f"""
    [table]
    name = "households"
    [columns.age]
    type = "integer"
    min = 18
    max = 90
    [columns.sex]
    type = "category"
    values = ["F", "M"]
    [columns.region]
    type = "category"
    values = {list(REGIONS)}
    [columns.job]
    type = "category"
    values = {list(JOBS)}
    nullable = true
    [columns.wage]
    type = "number"
    min = 0.0
    max = 500.0
    nullable = true
    [columns.cost]
    type = "number"
    min = 0.0
    max = 20000.0
    [columns.ill]
    type = "boolean"
    [columns.visits]
    type = "integer"
    min = 0
    max = 30
    """
)


def households(rows: int, generator: np.random.Generator) -> pa.Table:
    """Independent rows: wages are log-normal, costs are 0 for most, one in twelve wages and some jobs are NULL."""
    age = np.clip(18.0 + generator.gamma(5.0, 6.0, rows), 18, 90).astype(np.int64)
    male = generator.random(rows) < 0.48
    region = generator.choice(len(REGIONS), rows, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    popular = 1.0 / np.arange(1, len(JOBS) + 1)
    job = np.minimum(generator.choice(len(JOBS), rows, p=popular / popular.sum()) + 2 * male, len(JOBS) - 1)
    wage = np.exp(3.2 + 0.012 * (age - 45) + 0.25 * male + 0.1 * (region == 0) + 0.6 * generator.standard_normal(rows))
    ill = generator.random(rows) < 1.0 / (1.0 + np.exp(1.8 - 0.04 * (age - 45) + 0.3 * male))
    used = generator.random(rows) < 0.15 + 0.5 * ill
    cost = np.where(used, np.exp(5.5 + 0.8 * ill + 1.1 * generator.standard_normal(rows)), 0.0)
    visits = np.minimum(generator.poisson(np.exp(0.2 + 0.9 * ill + 0.008 * (age - 45))), 30)
    return pa.table(
        {
            "age": age,
            "sex": np.where(male, "M", "F"),
            "region": np.array(REGIONS)[region],
            "job": pa.array(np.array(JOBS)[job], mask=generator.random(rows) < 0.06),
            "wage": pa.array(np.minimum(wage, 500.0), mask=generator.random(rows) < 1 / 12),
            "cost": np.minimum(cost, 20_000.0),
            "ill": ill,
            "visits": visits,
        }
    )
