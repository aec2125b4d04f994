"""Schemas to begin with, for a source of private rows."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

import pyarrow as pa

from kernelease.bundle.saving import Bought, Watched
from kernelease.drafting.bounds import Bounds, frequent_values, private_bounds
from kernelease.errors import BudgetError, ParameterError
from kernelease.ledger_file import LedgerFile
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Receipt
from kernelease.privacy.neighbours import Subject
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.sources.excel import sheet_lines
from kernelease.sources.source import EXCEL, SAS, SPSS, STATA, Source, kind_of, source_columns
from kernelease.sources.stat import Header
from kernelease.table.dictionaries import Described, Tell, read_book_lines, read_dictionary, silently
from kernelease.table.draft import Lines, draft, listed_lines, measured_lines, numeric_names, text_names, type_word
from kernelease.table.written import Written


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What was measured of a source's columns, with noise: bounds of numbers, frequent values of texts. Public."""

    bounds: dict[str, Bounds]
    values: dict[str, tuple[str, ...]]
    paid: str  # what it has cost, and of what

    def lines(self, source: Source) -> dict[str, Lines]:
        """What to write into a schema file."""
        declared = source.declared_schema()
        kinds = {} if declared is None else {field.name: type_word(field.type) for field in declared}
        told = {name: measured_lines(kinds.get(name), **dataclasses.asdict(item)) for name, item in self.bounds.items()}
        return told | {
            name: listed_lines(values, "measured with noise") for name, values in self.values.items() if values
        }


def draft_schema(
    source: Source,
    name: str,
    *,
    known: Mapping[str, Lines] | None = None,
    written: Written | None = None,
    paid: str = "",
) -> str:
    """The TOML text of a schema to fill in, from the names and the declared types of a source, and nothing in its rows.

    `known` is what a code book or `measure_domain` has told, and `paid` what the latter has cost; `written` is written
    down where something was chosen.
    """
    declared = source.declared_schema() is not None
    return draft(source_columns(source), name, declared_types=declared, known=known, written=written, paid=paid)


def code_book(path: Path, columns: Collection[str] = (), tell: Tell = silently) -> dict[str, Described]:
    """What a code book says, by column. In a file of SPSS, Stata or SAS the header is one, with its value labels.

    Where its headings are unknown, the names of the table's `columns` help to guess them, and `tell` is told.
    """
    if kind_of(path) == EXCEL:
        return read_book_lines(sheet_lines(path), columns, tell)
    if kind_of(path) in (SPSS, STATA, SAS):
        return {variable.name: variable.described() for variable in Header.read(path).variables}
    return read_dictionary(path, columns, tell)


def measure_domain(
    source: Source,
    *,
    epsilon: float,
    ledger: LedgerFile,
    dataset: str | None = None,
    noise: NoiseSource | None = None,
    written: Written | None = None,
) -> Found:
    """Bounds of numbers and frequent values of texts, with ε charged to the ledger of the source's data set.

    Half of ε finds bounds; the other half finds values of the columns that are declared texts or, where nothing is
    declared, of those whose noisy counts showed no numbers. Both are charged as releases at the cap's δ are, with
    Gaussian noise, so that what is left for later ones is what those would leave. Values need a δ; a ledger that is
    pure has none, and all of ε then goes to bounds, with Laplace noise. `written` says how numbers are written.
    """
    subject = Subject(dataset=dataset)
    ledger.check_subject(subject)
    drawn, cap = SystemNoise() if noise is None else noise, ledger.cap
    names, declared = source_columns(source), source.declared_schema() is not None
    numeric, texts = (choose(names, declared_types=declared) for choose in (numeric_names, text_names))
    if not numeric and (cap.pure or not texts):
        raise ParameterError("Private bounds: the source declares no column of numbers.")
    part = epsilon if cap.pure or not (texts or not declared) else epsilon / 2
    halves = [replace(cap, epsilon=part)] * (bool(numeric) + (part != epsilon))
    _refuse_beyond(ledger, epsilon, sum((half.total(1) for half in halves), Loss()))
    books, bought, before = Watched(ledger, drawn), Bought(), len(ledger.entries())
    with books.told_if_spent(bought):
        bounds: dict[str, Bounds | None] = {}
        if numeric:
            privacy = replace(cap, epsilon=part)
            rows = _plain(source.batches(numeric), Written() if written is None else written)
            bounds = private_bounds(rows, numeric, privacy=privacy, ledger=books, noise=drawn, subject=subject)
        wanted = texts if declared else tuple(name for name in numeric if bounds[name] is None)
        values: dict[str, tuple[str, ...]] = {}
        if wanted and not cap.pure:
            privacy = replace(cap, epsilon=epsilon / 2)
            values = frequent_values(
                source.batches(wanted), wanted, privacy=privacy, ledger=books, noise=drawn, subject=subject
            )
        known = {name: item for name, item in bounds.items() if item is not None}
        found = Found(bounds=known, values=values, paid=_paid(cap, ledger.entries()[before:]))
        bought.answered(f"bounds {known}, frequent values {values}.")
    return found


def _refuse_beyond(ledger: LedgerFile, epsilon: float, total: Loss) -> None:
    """Both halves are paid for, or none: the first alone would be lost with the second."""
    if not ledger.cap.allows(ledger.spent() + total):
        raise BudgetError(
            f"Private bounds for epsilon = {epsilon:g} would pass the cap of epsilon = {ledger.cap.epsilon!r}, delta = "
            f"{ledger.cap.delta!r}. Nothing was spent; {ledger.remaining()}."
        )


def _plain(batches: Iterable[pa.RecordBatch], written: Written) -> Iterable[pa.RecordBatch]:
    """The same rows, with numbers in texts as 1234.5."""
    for batch in batches:
        yield pa.record_batch([written.numerals.plain(column) for column in batch.columns], names=batch.schema.names)


def _paid(cap: Privacy, entries: Sequence[Receipt]) -> str:
    """What entries of a ledger have cost, and which share of its budget that is."""
    if not entries:
        return ""
    parts = [f"epsilon {e.charge.asked.epsilon:g} for {e.charge.purpose} (entry {e.number})" for e in entries]
    share = sum(e.counted.pure_epsilon for e in entries) / cap.epsilon if cap.pure else _of_mu(cap, entries)
    how = "" if cap.pure else " (of its mu squared, which adds up)"
    return (
        f"Measured with noise, at delta = {cap.delta:g}: {' and '.join(parts)}. That is {100.0 * share:.2g} % of what "
        f"the ledger's cap of epsilon = {cap.epsilon:g} allows{how}."
    )


def _of_mu(cap: Privacy, entries: Sequence[Receipt]) -> float:
    return sum(e.counted.mu_squared for e in entries) / cap.total(1).mu_squared
