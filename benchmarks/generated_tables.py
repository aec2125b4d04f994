"""Tables with dependence that is known because we make it: a bank's accounts, flights, patients.

They have what real tables have: amounts that are mostly zero, heavy tails, NULLs, dates, rules between columns. All
of it comes from a hidden class and a hidden number of each row, so that every pair of columns depends. In one kind of
table no column has to do with another.
"""

import datetime
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from kernelease.arrays import Floats, Integers
from kernelease.table import Boolean, Category, Column, Date, Integer, Number, Ordinal, Schema

CLASSES = 4
EPOCH = datetime.date(1970, 1, 1)
FIRST, LAST = datetime.date(2020, 1, 1), datetime.date(2024, 12, 31)
DAYS = (LAST - FIRST).days


@dataclass
class Draft:
    """A table while it is made: the hidden class and number of each row, and the columns so far."""

    rows: int
    generator: np.random.Generator
    columns: list[Column] = field(default_factory=list)
    arrays: list[pa.Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.hidden_class: Integers = self.generator.choice(CLASSES, size=self.rows, p=(0.45, 0.3, 0.2, 0.05))
        self.hidden: Floats = self.generator.normal(size=self.rows) + 0.5 * self.hidden_class

    def add(self, column: Column, values: np.ndarray, *, missing: Floats | None = None) -> None:
        """A column; `missing` is each row's probability of NULL."""
        mask = None if missing is None else self.generator.random(self.rows) < missing
        self.columns.append(column)
        self.arrays.append(pa.array(values, mask=mask))

    def category(self, name: str, size: int, *, strength: float = 1.0) -> None:
        """A value that the hidden class makes likely."""
        favourite = (self.hidden_class * 7 + len(self.columns)) % size
        noise = self.generator.zipf(1.7, self.rows) % size
        value = np.where(self.generator.random(self.rows) < 0.6 * strength, favourite, noise)
        names = tuple(f"{name}_{i}" for i in range(size))
        self.add(Category(name=name, values=names), np.array(names)[value])

    def unrelated(self, name: str, size: int) -> None:
        """A value that has to do with no other column."""
        names = tuple(f"{name}_{i}" for i in range(size))
        drawn = (size * self.generator.random(self.rows) ** 1.5).astype(np.int64)
        self.add(Category(name=name, values=names), np.array(names)[drawn])

    def ordinal(self, name: str, values: tuple[str, ...]) -> None:
        """A grade that rises with the hidden number."""
        noisy = self.hidden + self.generator.normal(scale=0.7, size=self.rows)
        grades = np.clip(np.floor(noisy + 1.5), 0, len(values) - 1).astype(np.int64)
        self.add(Ordinal(name=name, values=values), np.array(values)[grades])

    def amount(self, name: str, most: float, *, zeros: float) -> None:
        """Money: zero for many, heavy-tailed for the others, larger with the hidden number."""
        size = np.exp(0.9 * self.hidden + self.generator.normal(scale=0.8, size=self.rows)) * most / 500.0
        chance = np.clip(zeros + 0.1 * (1 - self.hidden), 0.0, 0.99)
        values = np.where(self.generator.random(self.rows) < chance, 0.0, np.minimum(size, most))
        self.add(Number(name=name, min=0.0, max=most, resolution=0.01), values.round(2))

    def measure(self, name: str, low: float, high: float, *, missing: float = 0.0) -> None:
        """A bell around a middle that moves with class and hidden number; NULL more often where it is low."""
        middle = (low + high) / 2 + (high - low) * (0.06 * self.hidden + 0.05 * (self.hidden_class - 1))
        values = np.clip(self.generator.normal(middle, (high - low) * 0.08), low, high)
        absent = None if missing == 0.0 else np.clip(missing * (1.5 - 0.5 * self.hidden), 0.0, 0.9)
        self.add(Number(name=name, min=low, max=high, nullable=missing > 0.0), values, missing=absent)

    def count(self, name: str, most: int) -> None:
        """A Poisson number."""
        values = self.generator.poisson(np.exp(0.5 * self.hidden) * most / 20)
        self.add(Integer(name=name, min=0, max=most), np.minimum(values, most))

    def flag(self, name: str, *, shift: float = 0.0) -> None:
        """True with a probability that rises with the hidden number."""
        chance = 1.0 / (1.0 + np.exp(-(1.5 * self.hidden + shift)))
        self.add(Boolean(name=name), self.generator.random(self.rows) < chance)

    def dates(self, first: str, second: str, *, mean_days: float) -> None:
        """Two dates, the second never before the first."""
        season = self.generator.beta(1.5 + self.hidden_class, 2.0) * DAYS
        start = season.astype(np.int64)
        stay = self.generator.exponential(mean_days * np.exp(0.4 * self.hidden)).astype(np.int64)
        for name, days in ((first, start), (second, np.minimum(start + stay, DAYS))):
            values = (days + (FIRST - EPOCH).days).astype("datetime64[D]")
            self.add(Date(name=name, min=FIRST, max=LAST), values)

    def finish(self, name: str, rules: tuple[str, ...]) -> tuple[pa.Table, Schema]:
        names = [column.name for column in self.columns]
        return pa.table(dict(zip(names, self.arrays, strict=True))), Schema(
            tuple(self.columns), name=name, constraints=rules
        )


Step = Callable[[Draft], None]


def _banking() -> Iterator[Step]:
    yield lambda t: t.dates("opened", "last_seen", mean_days=400)
    yield lambda t: t.amount("balance", 100_000.0, zeros=0.1)
    yield lambda t: t.flag("defaulted", shift=-3.0)
    yield lambda t: t.category("branch", 24)
    yield lambda t: t.amount("overdraft", 5_000.0, zeros=0.85)
    yield lambda t: t.measure("age", 18, 100)
    yield lambda t: t.amount("income", 500_000.0, zeros=0.05)
    yield lambda t: t.ordinal("rating", ("D", "C", "B", "A", "AA"))
    for i in itertools.count(1):
        yield lambda t, i=i: t.amount(f"spending_{i}", 10_000.0, zeros=0.6 + 0.3 * (i % 2))
        yield lambda t, i=i: t.category(f"product_{i}", 3 + i % 7)
        yield lambda t, i=i: t.count(f"payments_{i}", 100)


def _flights() -> Iterator[Step]:
    yield lambda t: t.dates("booked", "departed", mean_days=40)
    yield lambda t: t.category("origin", 40)
    yield lambda t: t.category("destination", 40)
    yield lambda t: t.amount("delay", 1_440.0, zeros=0.55)
    yield lambda t: t.category("carrier", 12)
    yield lambda t: t.measure("distance", 100, 5_000)
    yield lambda t: t.flag("cancelled", shift=-4.0)
    for i in itertools.count(1):
        yield lambda t, i=i: t.amount(f"fee_{i}", 500.0, zeros=0.8)
        yield lambda t, i=i: t.count(f"bags_{i}", 12)
        yield lambda t, i=i: t.category(f"service_{i}", 4)


def _medical() -> Iterator[Step]:
    yield lambda t: t.dates("admitted", "discharged", mean_days=6)
    yield lambda t: t.measure("age", 0, 110)
    yield lambda t: t.category("ward", 9)
    yield lambda t: t.ordinal("severity", ("none", "mild", "moderate", "severe"))
    yield lambda t: t.flag("readmitted", shift=-2.0)
    for i in itertools.count(1):
        yield lambda t, i=i: t.measure(f"lab_{i}", 0, 10 * i, missing=0.05 + 0.1 * (i % 5))
        yield lambda t, i=i: t.flag(f"diagnosis_{i}", shift=-1.0 - i % 4)
        yield lambda t, i=i: t.category(f"drug_{i}", 3 + i % 5, strength=0.7)


def _unrelated() -> Iterator[Step]:
    for i in itertools.count(1):
        yield lambda t, i=i: t.unrelated(f"draw_{i}", 2 + 3 * i % 11)


KINDS: dict[str, tuple[Callable[[], Iterator[Step]], tuple[str, ...]]] = {
    "banking": (_banking, ("opened <= last_seen",)),
    "flights": (_flights, ("booked <= departed",)),
    "medical": (_medical, ("admitted <= discharged",)),
    "unrelated": (_unrelated, ()),
}


def generated(kind: str, *, columns: int, rows: int, seed: int = 0) -> tuple[pa.Table, Schema]:
    """A table of that kind and size, and its schema: the same for the same seed."""
    steps, rules = KINDS[kind]
    draft = Draft(rows, np.random.default_rng(seed))
    for step in steps():
        step(draft)
        if len(draft.columns) >= columns:
            break
    return draft.finish(kind, rules)
