"""The Adult table, discretised and raw, with the one split that all contenders share.

Both files hold the same people in the same order; the raw one has the first 32,561 of them. What is private here is
the train part: contenders see nothing else, and the test part is for scores alone.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kernelease.arrays import Integers
from kernelease.table import Schema

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT.parent / "shared" / "data" / "adult"
SCHEMA = ROOT / "examples" / "adult_discrete.toml"
RAW_SCHEMA = ROOT / "examples" / "adult.toml"
TARGET = "income>50K"
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
TRAIN_SHARE = 0.8

# A number of the raw table is cell ⌈(value − low) / width⌉ − 1 of the discretised one: cells hold their upper ends.
CELLS = {
    "age": (15, 1),
    "fnlwgt": (10_000, 14_900),
    "education-num": (0, 1),
    "capital-gain": (0, 1_000),
    "capital-loss": (0, 50),
    "hours-per-week": (0, 1),
}


class MissingDataError(Exception):
    """A data file is not there; the message says which, and what to do."""


@dataclass(frozen=True)
class Adult:
    """Train and test rows of the discretised table as codes, (n, columns), and the number of values of each column."""

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    train: Integers
    test: Integers
    people: Integers  # the places of the train rows in the file

    @classmethod
    def load(cls, folder: Path = FOLDER, *, most: int | None = None) -> "Adult":
        """The split of the rows in `folder`: (of its first `most` rows only, if that is given)."""
        sizes = json.loads(_existing(folder / "adult_discrete_domain.json").read_text())
        table = pyarrow.csv.read_csv(_existing(folder / "adult_discrete.csv")).select(list(sizes))
        codes = np.column_stack([column.to_numpy() for column in table.columns]).astype(np.int64)
        train, test = split(len(codes))
        if most is not None:
            train, test = train[train < most], test[test < most]
        return cls(tuple(sizes), tuple(sizes.values()), codes[train], codes[test], train)

    @property
    def target(self) -> int:
        """The index of the column that classifiers predict."""
        return self.names.index(TARGET)

    @property
    def numeric(self) -> tuple[int, ...]:
        """The indices of the columns that are numbers."""
        return tuple(self.names.index(name) for name in NUMERIC)

    def table(self, codes: Integers) -> pa.Table:
        """Rows of codes as a table."""
        return pa.table({name: codes[:, i] for i, name in enumerate(self.names)})


def split(rows: int) -> tuple[Integers, Integers]:
    """The indices of train and test rows: one fixed permutation, 80 % and 20 %."""
    order = np.random.default_rng(0).permutation(rows)
    cut = round(TRAIN_SHARE * rows)
    return order[:cut], order[cut:]


def load_raw(folder: Path = FOLDER) -> tuple[Adult, pa.Table]:
    """The train rows that the raw table has, raw; and before them the split of the discretised table's same people."""
    table = read_rows(_existing(folder / "adult_raw.csv"))
    adult = Adult.load(folder, most=table.num_rows)
    return adult, table.take(pa.array(adult.people))


def read_rows(path: Path) -> pa.Table:
    """A table as a CSV file has it: numbers are numbers, an empty cell is NULL."""
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
    return pyarrow.csv.read_csv(path, convert_options=options)


def discretised(table: pa.Table, adult: Adult) -> Integers:
    """Raw rows as the discretised table has them, (n, columns): numbers in their cells, categories numbered.

    A category's number is its place in the schema of the raw table, and NULL comes last.
    """
    schema = Schema.load(RAW_SCHEMA)
    codes = [_codes(table, schema, name, size) for name, size in zip(adult.names, adult.sizes, strict=True)]
    return np.column_stack(codes)


def _codes(table: pa.Table, schema: Schema, name: str, size: int) -> Integers:
    column = table.column(_raw_name(name))
    if name in CELLS:
        low, width = CELLS[name]
        values = column.to_numpy().astype(np.float64)
        return np.clip(np.ceil((values - low) / width) - 1, 0, size - 1).astype(np.int64)
    labels = pa.array([label for label in schema.column(_raw_name(name)).labels() if label != "NULL"])
    found = pc.index_in(column.cast(labels.type), labels)
    return pc.fill_null(found, len(labels)).to_numpy().astype(np.int64)


def _raw_name(name: str) -> str:
    return "income" if name == TARGET else name.replace("-", "_")


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise MissingDataError(
            f"There is no file {path}. Give the folder of adult_discrete.csv, adult_discrete_domain.json and "
            "adult_raw.csv by --data."
        )
    return path
