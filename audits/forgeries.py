"""Bundles whose documents all agree, and that promise what was not measured: the numbers themselves betray them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from audits.bundles import Attack, verdict
from audits.case import Case, Effort, Verdict
from audits.targets import SMALL
from kernelease.answers.release import Release, contents_of
from kernelease.bundle.container import write_bundle
from kernelease.bundle.saving import documents
from kernelease.bundle.verify import verify
from kernelease.certificate import Measurements
from kernelease.exact.persons import UnitCap
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.measured import NoisyBlock, NoisyBlocks
from kernelease.methods import Interactions
from kernelease.pipeline import release
from kernelease.privacy import Neighbours, Privacy
from kernelease.table import Schema
from kernelease.table.domains import TableDomain

COMPARISONS = ("agreement", "measurements", "steps", "refit")
SCHEMA = """
[table]
neighbours = "{neighbours}"

[columns.age]
type = "integer"
min = 0
max = 9

[columns.ill]
type = "boolean"
"""


@cache
def honest(neighbours: str) -> Release:
    """A release under a relation."""
    schema = Schema.parse(SCHEMA.format(neighbours=neighbours))
    method = Interactions(solver=MixtureSolver(components=3, steps=10))
    return release(private_rows(), schema=schema, privacy=Privacy(epsilon=1.0, delta=1e-6), method=method)


def private_rows() -> pa.Table:
    """What must not be in a bundle."""
    return pa.table({"age": [number % 10 for number in range(200)], "ill": [number % 10 > 6 for number in range(200)]})


def forged(
    made: Release, *, schema: dict[str, Any] | None = None, measured: NoisyBlocks | None = None, **certificate: Any
) -> Release:
    """The release with parts replaced; the project's own writer then makes every document say the same."""
    old = made.measurements
    assert old.schema is not None
    measurements = Measurements(
        certificate=dataclasses.replace(old.certificate, **certificate),
        domain=TableDomain(dataclasses.replace(old.schema, **(schema or {}))),
        method=old.method,
        measured=measured or old.measured,
    )
    return dataclasses.replace(made, measurements=measurements)


def _blocks(made: Release, change: Callable[[NoisyBlock], NoisyBlock], **others: Any) -> NoisyBlocks:
    noisy = made.measurements.measured
    assert isinstance(noisy, NoisyBlocks)
    return dataclasses.replace(noisy, blocks=tuple(map(change, noisy.blocks)), **others)


def _as_replace_one() -> Release:
    """Noise for √2 less than replace-one asks for."""
    made = honest("add-remove")
    rows = float(round(made.measurements.measured.rows))
    relation = Neighbours.REPLACE_ONE
    measured = _blocks(made, lambda block: block, neighbours=relation, rows=rows)
    return forged(made, schema={"neighbours": relation.value}, neighbours=relation, measured=measured, rows=rows)


def _as_add_remove() -> Release:
    """Cells that were planned with the exact number of rows, which the relation protects."""
    made = honest("replace-one")
    relation = Neighbours.ADD_REMOVE
    measured = _blocks(made, lambda block: block, neighbours=relation)
    return forged(made, schema={"neighbours": relation.value}, neighbours=relation, measured=measured)


def _as_persons() -> Release:
    """Noise for a row each, said to protect sixteen."""
    made = honest("replace-one")
    declared: dict[str, Any] = {"unit": "who", "max_rows_per_unit": 16}
    return forged(made, schema=declared, unit="each who (up to 16 rows)")


def _as_heavy_persons() -> Release:
    """The same with the unit's weight written beside every count."""
    made = _as_persons()
    assert made.schema is not None
    total = UnitCap.of(made.schema).total
    return forged(made, measured=_blocks(made, lambda block: dataclasses.replace(block, unit=total)))


def _with_other_cells() -> Release:
    """Cells that no noisy number asks for: their choice may hold anything about the table."""
    made = honest("replace-one")

    def moved(block: NoisyBlock) -> NoisyBlock:
        groups = (np.roll(block.block.groups[0], 1), *block.block.groups[1:])
        return dataclasses.replace(block, block=dataclasses.replace(block.block, groups=groups))

    return forged(made, measured=_blocks(made, moved))


def _with_private_rows() -> Release:
    """The private table itself, with a certificate about noise that nobody used."""
    made, rows = honest("replace-one"), private_rows()
    weights = pa.array(np.full(len(rows), 1.0 / len(rows)))
    return dataclasses.replace(made, table=rows.append_column("weight", weights).cast(made.table.schema))


def attacks() -> Iterator[Attack]:
    """Each with sums that fit, and documents that all say the same."""
    for forge in (
        _as_replace_one,
        _as_add_remove,
        _as_persons,
        _as_heavy_persons,
        _with_other_cells,
        _with_private_rows,
        lambda: forged(honest("replace-one"), unit="each person (up to 1000 rows)"),
        lambda: forged(honest("replace-one"), epsilon=0.1, mu=Privacy(epsilon=0.1, delta=1e-6).total(1).mu),
        lambda: forged(honest("replace-one"), rows=1000.0),
    ):
        yield Attack(name=(forge.__doc__ or "a certificate of other numbers").strip(), write=_writing(forge))


def _writing(forge: Callable[[], Release]) -> Callable[[Path], Path]:
    return lambda folder: write_bundle(folder / "bundle", documents(contents_of(forge())))


def _verified(path: Path) -> bool:
    """Whether a careful analyst would take the bundle."""
    return all(finding.holds for finding in verify(path, refit=True, limits=SMALL))


def _compares_nothing(path: Path) -> bool:
    """The twin: relation and unit are taken from one document, and not held against the others."""
    return all(finding.holds for finding in verify(path, limits=SMALL) if finding.check not in COMPARISONS)


def consistent_forgeries(_: Effort) -> Verdict:
    """Relation, unit, cells, rows and certificate, each forged in all documents at once."""
    sound = [honest(neighbours) for neighbours in ("replace-one", "add-remove")]
    return verdict(
        list(attacks()),
        _compares_nothing,
        "a check that compares neither relation nor unit",
        opens=_verified,
        honest=[documents(contents_of(made)) for made in sound],
    )


CASES = (
    Case(
        name="forgeries that agree with themselves",
        kind="hostile",
        claim="A relation, unit, cell or row that was not measured shows in the noisy numbers, whatever documents say.",
        run=consistent_forgeries,
    ),
)
