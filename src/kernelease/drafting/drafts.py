"""`ke.draft`: a schema to begin with, from what is public about a table; metadata of the Synthetic Data Vault."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from kernelease.analysis.comparisons.tables import as_table
from kernelease.drafting.measured_domain import draft_schema
from kernelease.errors import ParameterError, SchemaError, in_words
from kernelease.sources.opening import open_source, read_public
from kernelease.strangers import parse_json, read_text
from kernelease.table.draft import draft as draft_columns
from kernelease.table.draft import draft_from_public, listed_lines

# --------------------
# Metadata of the Synthetic Data Vault: what a table's columns are called and of which kind, without bounds.


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
        data = _loaded(metadata)
        name, described = _chosen(data, table)
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


def _loaded(metadata: Mapping[str, Any] | str | Path) -> Mapping[str, Any]:
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


def _chosen(data: Mapping[str, Any], table: str | None) -> tuple[str, Mapping[str, Any]]:
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


# --------------------
# `ke.draft` itself.


@in_words
def draft(
    data: Any = None,
    *,
    metadata: Mapping[str, Any] | str | Path | None = None,
    public: Any = None,
    name: str | None = None,
) -> str:
    r"""The TOML text of a schema to begin with. No private row is looked at; what is to be decided is marked FILL IN.

    `data` is a private table, of which only names and declared types are read. `metadata` is the JSON of SDV, as a
    path or a dictionary: kinds of columns come from it, bounds and categories don't (SDV reads them off the rows).
    `public` is a *public* table with the same columns, whose bounds and categories are taken. Give one of the three.
    `name` is the table's, and picks one of several in `metadata`.

    >>> kinds = {"columns": {"age": {"sdtype": "numerical", "computer_representation": "Int64"}}}
    >>> print(draft(metadata=kinds).split("\n\n")[-1].splitlines()[1])
    type = "integer"
    """
    if sum(given is not None for given in (data, metadata, public)) != 1:
        raise ParameterError("draft: give the private table, or metadata=, or public=: one of the three.")
    if metadata is not None:
        return _from_metadata(SdvTable.read(metadata, name))
    if public is not None:
        known = read_public(public) if isinstance(public, str | Path) else as_table(public)
        return draft_from_public(known, name or _stem(public)).to_toml()
    return draft_schema(open_source(data), name or _stem(data))


def _from_metadata(table: SdvTable) -> str:
    if not len(table.columns):
        raise ParameterError("draft: the metadata has no column that can be released.")
    known = {column: listed_lines(values) for column, values in table.values.items() if values}
    text = draft_columns(table.columns, table.name, declared_types=True, known=known)
    left = "".join(f"# Left out, since it identifies people: {name!r}\n" for name in table.left_out)
    return text + ("\n" + left if left else "")


def _stem(data: Any) -> str:
    """A name from a path; never from a database's address, which may hold a password."""
    known = isinstance(data, str | Path) and "://" not in str(data)
    return (Path(data).name.split(".")[0] if known else "") or "table"
