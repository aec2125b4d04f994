"""Drafts of a schema, and a domain that is measured with part of the budget."""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from kernelease.analysis.comparisons.tables import as_table
from kernelease.bundle.saving import Bought, Watched
from kernelease.drafting.bounds import Bounds, frequent_values, private_bounds
from kernelease.drafting.looking import draft_by_looking
from kernelease.drafting.several import Link, draft_linked, draft_tables, holds_tables
from kernelease.errors import BudgetError, ParameterError, SchemaError, in_words
from kernelease.ledgers import LedgerFile
from kernelease.privacy.accounting import Loss, Privacy
from kernelease.privacy.ledger import Receipt
from kernelease.privacy.noise import NoiseSource, SystemNoise
from kernelease.privacy.sensitivity import Subject
from kernelease.sources.opening import open_source, read_public
from kernelease.sources.source import EXCEL, SAS, SPSS, STATA, Source, kind_of, source_columns
from kernelease.sources.stat import Header, sheet_lines
from kernelease.strangers import parse_json, read_text
from kernelease.table.dictionaries import Tell, read_book_lines, read_dictionary, silently
from kernelease.table.draft import (
    Described,
    Lines,
    draft as draft_columns,
    draft_from_public,
    listed_lines,
    measured_lines,
    numeric_names,
    text_names,
    type_word,
)
from kernelease.table.written import Written

# ---- Schemas to begin with, for a source of private rows.


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
    return draft_columns(source_columns(source), name, declared_types=declared, known=known, written=written, paid=paid)


def code_book(path: Path, columns: Collection[str] = (), tell: Tell = silently) -> dict[str, Described]:
    """What a code book says, by column. In a file of SPSS, Stata or SAS the header is one, with its value labels.

    Where its headings are unknown, the names of the table's `columns` help to guess them, and `tell` is told.
    """
    if kind_of(path) == EXCEL:
        return read_book_lines(sheet_lines(path), columns, tell)
    if kind_of(path) in (SPSS, STATA, SAS):
        return {variable.name: variable.describe() for variable in Header.read(path).variables}
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
        found = Found(bounds=known, values=values, paid=_cost(cap, ledger.entries()[before:]))
        bought.note_answer(f"bounds {known}, frequent values {values}.")
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


def _cost(cap: Privacy, entries: Sequence[Receipt]) -> str:
    """What entries of a ledger have cost, and which share of its budget that is."""
    if not entries:
        return ""
    parts = [f"epsilon {e.charge.asked.epsilon:g} for {e.charge.purpose} (entry {e.number})" for e in entries]
    if cap.pure:
        share, how = sum(e.cost.pure_epsilon for e in entries) / cap.epsilon, ""
    else:
        share = sum(e.cost.mu_squared for e in entries) / cap.total(1).mu_squared
        how = " (of its mu squared, which adds up)"
    return (
        f"Measured with noise, at delta = {cap.delta:g}: {' and '.join(parts)}. That is {100.0 * share:.2g} % of what "
        f"the ledger's cap of epsilon = {cap.epsilon:g} allows{how}."
    )


# ---- Metadata of the Synthetic Data Vault: what a table's columns are called and of which kind, without bounds.


_INSTANTS = ("%H", "%I", "%M", "%S", "%T", "%X", "%c", "%s", "%f")  # of a format that has a time of day


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SdvTable:
    """A table as SDV describes it.

    `columns` have the Arrow types that stand for its kinds; `values` are those of ordered categories; `left_out` are
    columns that identify or address people, which are never released.
    """

    name: str
    columns: pa.Schema
    values: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...]

    @classmethod
    def read(cls, metadata: Mapping[str, Any] | str | Path, table: str | None = None) -> "SdvTable":
        """Metadata from a JSON file, or from the dictionary in it. `table` names one of several tables."""
        data = _load(metadata)
        name, described = _choose_table(data, table)
        columns = described.get("columns")
        if not isinstance(columns, Mapping) or not all(isinstance(item, Mapping) for item in columns.values()):
            raise SchemaError(
                "SDV metadata: there are no columns in it. Give the JSON that Metadata.save_to_json writes."
            )
        types = {column: _type(item) for column, item in columns.items() if column != described.get("primary_key")}
        released = [(column, kind) for column, kind in types.items() if kind is not None]
        orders = ((column, columns[column].get("order")) for column, _ in released)
        return cls(
            name=name,
            columns=pa.schema(released),
            values={column: tuple(map(str, order)) for column, order in orders if isinstance(order, list) and order},
            left_out=tuple(column for column in columns if types.get(column) is None),
        )


def _load(metadata: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
    if isinstance(metadata, Mapping):
        return metadata
    try:
        data = parse_json(read_text(metadata))
    except OSError as error:
        raise SchemaError(f"SDV metadata {metadata} can't be read: {error.strerror}.") from error
    except ValueError as error:
        raise SchemaError(f"SDV metadata {metadata} is not valid JSON: {error}.") from error
    if not isinstance(data, Mapping):
        raise SchemaError(f"SDV metadata {metadata} must be a JSON object.")
    return data


def _choose_table(data: Mapping[str, Any], table: str | None) -> tuple[str, Mapping[str, Any]]:
    """The one table, or the one that is named."""
    tables = data.get("tables", {"table": data})
    if not isinstance(tables, Mapping) or not tables:
        raise SchemaError("SDV metadata: there is no table in it.")
    if table is None and len(tables) > 1:
        raise SchemaError(f"SDV metadata: there are several tables. Name one: table={' or '.join(map(repr, tables))}.")
    name = str(next(iter(tables))) if table is None else table
    found = tables.get(name)
    if not isinstance(found, Mapping):
        raise SchemaError(f"SDV metadata: there is no table {name!r}. It has {', '.join(map(repr, tables))}.")
    return name, found


def _type(column: Mapping[str, Any]) -> pa.DataType | None:
    """The Arrow type of SDV's kind; None of ids and of what it calls PII."""
    kind = column.get("sdtype")
    if kind == "numerical":
        whole = str(column.get("computer_representation", "Float")).lstrip("U").startswith("Int")
        return pa.int64() if whole else pa.float64()
    if kind == "datetime":
        timed = any(code in str(column.get("datetime_format", "%H")) for code in _INSTANTS)
        return pa.timestamp("us") if timed else pa.date32()
    if kind == "boolean":
        return pa.bool_()
    return pa.string() if kind == "categorical" else None


# ---- `ke.draft` itself.


@in_words
def draft(
    data: Any = None,
    *,
    metadata: Mapping[str, Any] | str | Path | None = None,
    public: Any = None,
    name: str | None = None,
    look: bool = False,
) -> str:
    r"""The TOML text of a schema to begin with. No private row is looked at; what is to be decided is marked FILL IN.

    `data` is a private table, of which only names and declared types are read; of several tables, a mapping from their
    names, or a folder with a file for each. With `look` **private rows are read**: bounds, values and keys that they
    show are proposed, each marked, and can't be used before the owner confirms that they are public. `metadata` is the
    JSON of SDV, as a path or a dictionary: kinds of columns and keys come from it, bounds and categories don't (SDV
    reads them off the rows). `public` is a *public* table with the same columns, whose bounds and categories are taken.
    Give one of the three. `name` is the table's, and picks one of several in `metadata`; without it all are drafted.

    >>> kinds = {"columns": {"age": {"sdtype": "numerical", "computer_representation": "Int64"}}}
    >>> print(draft(metadata=kinds).split("\n\n")[-1].splitlines()[1])
    type = "integer"
    """
    if sum(given is not None for given in (data, metadata, public)) != 1:
        raise ParameterError("draft: give the private table, or metadata=, or public=: one of the three.")
    if look and data is None:
        raise ParameterError("draft: look=True reads private rows: give these, and neither metadata= nor public=.")
    if metadata is not None:
        told = _load(metadata)
        if name is None and isinstance(told.get("tables"), Mapping) and len(told["tables"]) > 1:
            return _of_several(told)
        return _from_metadata(SdvTable.read(told, name))
    if public is not None:
        known = read_public(public) if isinstance(public, str | Path) else as_table(public)
        return draft_from_public(known, name or table_name(public)).to_toml()
    if isinstance(data, Mapping) or (isinstance(data, str | Path) and Path(data).is_dir() and holds_tables(data)):
        return draft_several(data, look=look, name=name)
    if look:
        return draft_by_looking(data, name or table_name(data), query=None, written=Written()).text
    return draft_schema(open_source(data), name or table_name(data))


def draft_several(data: Any, *, look: bool, name: str | None = None) -> str:
    """The same of several tables: a mapping from their names, or a folder with a file for each."""

    def looking(table: Any, own: str, written: Written, keys: Sequence[str]) -> str:
        return draft_by_looking(table, own, query=None, written=written, keys=keys).text

    return draft_tables(data, looking=looking if look else None, name=name)


def _of_several(metadata: Mapping[str, Any]) -> str:
    """All tables of SDV's metadata, with the keys and the relationships that it has."""
    texts = {str(table): _from_metadata(SdvTable.read(metadata, table)) for table in metadata["tables"]}
    keys = {str(table): own.get("primary_key") for table, own in metadata["tables"].items()}
    told = ("child_table_name", "child_foreign_key", "parent_table_name", "parent_primary_key")
    links = []
    for one in metadata.get("relationships", []):
        if not isinstance(one, Mapping) or not all(isinstance(one.get(key), str) for key in told):
            raise SchemaError(f"SDV metadata: a relationship must have {', '.join(told)}, each a name.")
        child, foreign, parent, key = (one[key] for key in told)
        if not {child, parent} <= {*texts}:
            raise SchemaError(f"SDV metadata: a relationship is of a table that there is not: {child!r} or {parent!r}.")
        links.append(Link(child=child, foreign_key=foreign, parent=parent, key=key, why="by the metadata"))
    return draft_linked(texts, links, {table: key for table, key in keys.items() if isinstance(key, str)})


def _from_metadata(table: SdvTable) -> str:
    if not len(table.columns):
        raise ParameterError("draft: the metadata has no column that can be released.")
    known = {column: listed_lines(values) for column, values in table.values.items() if values}
    text = draft_columns(table.columns, table.name, declared_types=True, known=known)
    left = "".join(f"# Left out, since it identifies people: {name!r}\n" for name in table.left_out)
    return text + ("\n" + left if left else "")


def table_name(data: Any) -> str:
    """A name from a path; never from a database's address, which may hold a password."""
    known = isinstance(data, str | Path) and "://" not in str(data)
    return (Path(data).name.split(".")[0] if known else "") or "table"
