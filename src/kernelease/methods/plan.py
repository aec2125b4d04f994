"""What a release of a table would be like, before anyone touches the data: noise, attackers, time, memory, size.

Everything is computed from the schema, the promise and a number of rows that the owner gives.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtr, ndtri

from kernelease.embedding.blocks import Block
from kernelease.embedding.cover import pair_cover
from kernelease.errors import ParameterError
from kernelease.methods.interactions import Interactions
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.sensitivity import block_sensitivity
from kernelease.table import Column, Schema

EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FALSE_POSITIVES = (0.01, 0.05)

# Rough costs on two cores of an ordinary machine.
_SECONDS_PER_CELL = 1.5e-7  # read, encoded and counted
_SECONDS_PER_DRAW = 1.2e-5  # of exact noise
_SECONDS_PER_PRODUCT = 5e-11  # of one multiplication and addition in the fit
_SECONDS_PER_LOGIT = 1.2e-7  # and step
_SECONDS_PER_VALUE = 2e-7  # drawn and decoded
_BASE_BYTES = 200_000_000  # the libraries
_BYTES_PER_NUMBER = 14  # in measurements.json


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The noise on one column's or pair's counts: nothing smaller can be seen in them."""

    columns: tuple[str, ...]
    cells: int
    count: float  # standard deviation of the noise of a count, in rows (or persons)
    share: float  # the same as a share of all rows


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One ε: the median noise of columns and of pairs, as shares, and what an attacker can do."""

    epsilon: float
    column: float
    pair: float | None  # None where there is one column only
    attacker: dict[float, float]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All that can be said in advance."""

    privacy: Privacy
    rows: int
    floors: tuple[Floor, ...]
    attacker: dict[float, float]  # best true-positive rate, at each false-positive rate
    numbers: int  # noisy numbers
    seconds: float
    memory: float  # bytes
    size: float  # bytes of the bundle
    settings: tuple[Setting, ...]


def plan(schema: Schema, *, privacy: Privacy, rows: int, method: Interactions | None = None) -> Plan:
    r"""What to expect of a release of `rows` rows (or persons). The neighbour relation is the schema's.

    >>> schema = Schema.parse('[columns.sex]\ntype = "category"\nvalues = ["f", "m"]')
    >>> expected = plan(schema, privacy=Privacy(epsilon=1.0, delta=1e-6), rows=10_000)
    >>> [(floor.columns, round(floor.count, 1)) for floor in expected.floors], expected.numbers
    ([(('sex',), 6.0)], 2)
    """
    if rows < 1:
        raise ParameterError(f"plan: rows must be at least 1, got {rows!r}.")
    chosen = Interactions() if method is None else method
    promised = dataclasses.replace(privacy, neighbours=Neighbours(schema.neighbours))
    blocks = chosen.plan(schema.columns)
    numbers = sum(block.cells for block in blocks)
    settings = (_setting(schema, blocks, dataclasses.replace(promised, epsilon=e), rows) for e in EPSILONS)
    return Plan(
        privacy=promised,
        rows=rows,
        floors=_floors(schema, blocks, promised, rows),
        attacker=_attacker(promised.total(numbers).mu),
        numbers=numbers,
        seconds=_seconds(schema, blocks, rows, chosen),
        memory=_memory(schema, blocks, rows, chosen),
        size=numbers * _BYTES_PER_NUMBER + rows * sum(_bits(column) for column in schema) / 8,
        settings=tuple(setting for setting in settings if setting is not None),
    )


def _floors(schema: Schema, blocks: tuple[Block, ...], privacy: Privacy, rows: int) -> tuple[Floor, ...]:
    total = privacy.total(sum(block.cells for block in blocks))
    sensitivity = block_sensitivity(privacy.neighbours)
    floors = []
    for block in blocks:
        if privacy.pure:
            sigma = math.sqrt(2.0) * sensitivity.l1 / (block.share * privacy.epsilon)
        else:
            sigma = sensitivity.l2 / math.sqrt(block.share * total.mu_squared)
        names = tuple(schema.names[column] for column in block.columns)
        floors.append(Floor(columns=names, cells=block.cells, count=sigma, share=sigma / rows))
    return tuple(floors)


def _attacker(mu: float) -> dict[float, float]:
    """The best true-positive rate of any attacker, from the Gaussian trade-off curve."""
    return {rate: float(ndtr(ndtri(rate) + mu)) for rate in FALSE_POSITIVES}


def _setting(schema: Schema, blocks: tuple[Block, ...], privacy: Privacy, rows: int) -> Setting | None:
    """None at an ε for which δ is too small."""
    try:
        floors = _floors(schema, blocks, privacy, rows)
        mu = privacy.total(sum(block.cells for block in blocks)).mu
    except ParameterError:
        return None
    single = [floor.share for floor in floors if len(floor.columns) == 1]
    paired = [floor.share for floor in floors if len(floor.columns) == 2]
    return Setting(
        epsilon=privacy.epsilon,
        column=float(np.median(single)),
        pair=float(np.median(paired)) if paired else None,
        attacker=_attacker(mu),
    )


def _fit_sizes(schema: Schema, blocks: tuple[Block, ...]) -> tuple[int, int]:
    """Atoms of all columns, and cells of all columns in pairs."""
    cells = dict(enumerate(schema.sizes))
    for block in blocks:
        if len(block.columns) == 2:
            cells.update(zip(block.columns, block.shape, strict=True))
    return sum(schema.sizes), sum(cells.values())


def _seconds(schema: Schema, blocks: tuple[Block, ...], rows: int, method: Interactions) -> float:
    atoms, cells = _fit_sizes(schema, blocks)
    passes = rows * (len(schema) + len(pair_cover(schema.sizes))) * _SECONDS_PER_CELL
    draws = sum(block.cells for block in blocks) * _SECONDS_PER_DRAW
    components, steps = method.solver.components, method.solver.steps
    step = components * (2 * cells * cells * _SECONDS_PER_PRODUCT + atoms * _SECONDS_PER_LOGIT)
    return passes + draws + steps * step + rows * len(schema) * _SECONDS_PER_VALUE


def _memory(schema: Schema, blocks: tuple[Block, ...], rows: int, method: Interactions) -> float:
    atoms, cells = _fit_sizes(schema, blocks)
    counts = sum(math.prod(schema.sizes[column] for column in group) for group in pair_cover(schema.sizes))
    integers = 100 * sum(block.cells for block in blocks)
    fitting = 4 * (5 * cells * cells + 15 * method.solver.components * atoms)
    return _BASE_BYTES + 8 * counts + integers + fitting + 16 * rows * len(schema)


def _bits(column: Column) -> float:
    """What a value takes in a compressed file, at most: its entropy if it were uniform."""
    if column.tag == "number":
        return 64.0
    low, high, tick = (getattr(column, name, None) for name in ("low", "high", "tick"))
    if low is None or high is None or tick is None:
        return math.log2(column.size) if column.size > 1 else 0.0
    return math.log2((high - low) / tick + 1 + column.nullable)
