"""`ke.draft`: a schema to begin with, from what is public about a table."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelease.analysis.comparisons.sample import as_table
from kernelease.errors import ParameterError
from kernelease.sources.drafting import draft_schema
from kernelease.sources.opening import open_source
from kernelease.sources.public import read_public
from kernelease.table.draft import draft as draft_columns
from kernelease.table.draft import draft_from_public, listed_lines
from kernelease.table.sdv import SdvTable


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
