"""Schemas to begin with, for a source of private rows."""

import pyarrow as pa

from kernelease.errors import ParameterError
from kernelease.privacy.accounting import Privacy
from kernelease.privacy.bounds import Bounds, private_bounds
from kernelease.privacy.ledger_file import LedgerFile
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.sources.source import Source
from kernelease.table.draft import draft, numeric_names


def draft_schema(source: Source, name: str, *, bounds: dict[str, Bounds | None] | None = None) -> str:
    """The TOML text of a schema to fill in, from the names and the declared types of a source, and nothing in its rows.

    `bounds` are what `measure_bounds` found.
    """
    declared = source.declared_schema()
    known = {column: (found.low, found.high) for column, found in (bounds or {}).items() if found is not None}
    return draft(_columns(source), name, declared_types=declared is not None, bounds=known)


def measure_bounds(
    source: Source, *, epsilon: float, ledger: LedgerFile, noise: NoiseSource | None = None
) -> dict[str, Bounds | None]:
    """Bounds of the numeric columns of a source, with ε charged to the ledger of its data."""
    ledger.check_unit(None)
    columns = numeric_names(_columns(source), declared_types=source.declared_schema() is not None)
    if not columns:
        raise ParameterError("Private bounds: the source declares no column of numbers.")
    return private_bounds(
        source.batches(columns),
        columns,
        privacy=Privacy(epsilon=epsilon, neighbours=ledger.cap.neighbours),
        ledger=ledger,
        noise=SystemNoise() if noise is None else noise,
    )


def _columns(source: Source) -> pa.Schema:
    declared = source.declared_schema()
    return pa.schema([(column, pa.null()) for column in source.names()]) if declared is None else declared
