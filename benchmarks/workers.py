"""Rows of people at work: small columns and one number in cells, all near normal."""

import numpy as np
import pyarrow as pa

from kernelease.table import Schema

SCHEMA = Schema.parse(
    """
    [table]
    name = "workers"
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
    cells = 32
    nullable = true
    [columns.kids]
    type = "integer"
    min = 0
    max = 5
    """
)


def workers(rows: int, generator: np.random.Generator) -> pa.Table:
    """Independent rows of mixed types, in which columns depend on each other."""
    age = np.clip(generator.normal(40.0, 12.0, rows), 18, 65).astype(np.int64)
    sex = np.where(generator.random(rows) < 0.45 + 0.002 * (age - 40), "F", "M")
    school = np.array(["none", "some", "much"])[np.clip(generator.normal(age / 30.0, 0.7), 0.0, 2.99).astype(int)]
    hours = np.clip(generator.normal(30.0 + 0.3 * (age - 40) + 4.0 * (sex == "M"), 9.0), 0.0, 80.0)
    kids = np.clip(generator.poisson(0.05 * (age - 18)), 0, 5)
    missing = generator.random(rows) < 0.08
    return pa.table({"age": age, "sex": sex, "school": school, "hours": pa.array(hours, mask=missing), "kids": kids})
