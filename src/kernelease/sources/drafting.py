"""Schemas to begin with, for a source of private rows."""

from dataclasses import dataclass
from typing import final

import pyarrow as pa

from kernelease.errors import BudgetError, ParameterError
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.bounds import Bounds, private_bounds
from kernelease.privacy.frequent import frequent_values
from kernelease.privacy.ledger_file import LedgerFile
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.release.keeping import Watched
from kernelease.sources.source import Source
from kernelease.table.draft import draft, numeric_names, text_names
from kernelease.table.records import Records

VALUES_SHARE = 0.005  # of the cap's δ: what is not Gaussian has a hundredth of it in all


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was measured of a source's columns, with noise: bounds of numbers, frequent values of texts. Public."""

    bounds: dict[str, Bounds]
    values: dict[str, tuple[str, ...]]


def draft_schema(source: Source, name: str, *, found: Found | None = None, records: Records | None = None) -> str:
    """The TOML text of a schema to fill in, from the names and the declared types of a source, and nothing in its rows.

    `found` is what `measure_domain` has measured; `records` is written down where it was chosen.
    """
    declared = source.declared_schema()
    bounds = {} if found is None else {column: (item.low, item.high) for column, item in found.bounds.items()}
    values = {} if found is None else found.values
    return draft(
        _columns(source), name, declared_types=declared is not None, bounds=bounds, values=values, records=records
    )


def measure_domain(source: Source, *, epsilon: float, ledger: LedgerFile, noise: NoiseSource | None = None) -> Found:
    """Bounds of numbers and frequent values of texts, with ε charged to the ledger of the source's data.

    Half of ε finds bounds; the other half finds values of the columns that are declared texts or, where nothing is
    declared, of those whose noisy counts showed no numbers. Values need a δ, a small part of the cap's; a ledger that
    is pure has none, and all of ε then goes to bounds.
    """
    ledger.check_unit(None)
    drawn, cap = SystemNoise() if noise is None else noise, ledger.cap
    names, declared = _columns(source), source.declared_schema() is not None
    numeric, texts = (choose(names, declared_types=declared) for choose in (numeric_names, text_names))
    if not numeric and (cap.pure or not texts):
        raise ParameterError("Private bounds: the source declares no column of numbers.")
    part = epsilon if cap.pure or not (texts or not declared) else epsilon / 2
    halves = (Loss.pure(part) if numeric else Loss(), Loss() if part == epsilon else _values(cap, part, texts))
    _refuse_beyond(ledger, epsilon, halves[0] + halves[1])
    books = Watched(ledger)
    with books.told_if_spent():
        bounds: dict[str, Bounds | None] = {}
        if numeric:
            pure = Privacy(epsilon=part, neighbours=cap.neighbours)
            bounds = private_bounds(source.batches(numeric), numeric, privacy=pure, ledger=books, noise=drawn)
        wanted = texts if declared else tuple(name for name in numeric if bounds[name] is None)
        values: dict[str, tuple[str, ...]] = {}
        if wanted and not cap.pure:
            privacy = Privacy(epsilon=epsilon / 2, delta=VALUES_SHARE * cap.delta, neighbours=cap.neighbours)
            values = frequent_values(source.batches(wanted), wanted, privacy=privacy, ledger=books, noise=drawn)
        return Found(bounds={name: item for name, item in bounds.items() if item is not None}, values=values)


def _values(cap: Privacy, epsilon: float, texts: tuple[str, ...]) -> Loss:
    """What frequent values cost: of the declared texts, or of one column at most, which costs no less than several."""
    parts = max(1, len(texts))
    return sum((Loss.approximate(epsilon / parts, VALUES_SHARE * cap.delta / parts) for _ in range(parts)), Loss())


def _refuse_beyond(ledger: LedgerFile, epsilon: float, total: Loss) -> None:
    """Both halves are paid for, or none: the first alone would be lost with the second."""
    if not ledger.cap.allows(ledger.spent() + total):
        raise BudgetError(
            f"Private bounds for epsilon = {epsilon:g} would pass the cap of epsilon = {ledger.cap.epsilon!r}, delta = "
            f"{ledger.cap.delta!r}. Nothing was spent; {ledger.remaining()}."
        )


def _columns(source: Source) -> pa.Schema:
    declared = source.declared_schema()
    return pa.schema([(column, pa.null()) for column in source.names()]) if declared is None else declared
