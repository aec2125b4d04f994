"""Code books among the tables of a schema: public files, joined to private tables by a column with their keys.

    [tables.products]
    public = "products.csv"
    key = "product"

    [tables.purchases.columns.product]
    type = "category"
    codebook = "products"

Such a column has the book's keys as its values, so that every released key is in the book. All other columns of the
book follow from it, as `product_kind` and so on: they are computed in released rows, and no budget is spent on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from kernelease.errors import SchemaError, nearest
from kernelease.table.derived import book_lines, typed_cell

_KEYS = ("public", "key")
_TYPES = ("integer", "number", "boolean")  # the first that all cells of a column have; else it is a category


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Book:
    """A code book: its key, and what every key means."""

    name: str
    key: str
    names: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]

    @classmethod
    def read(cls, name: str, body: Mapping[str, Any], folder: Path | None) -> "Book":
        """The book that a public table of a schema names, or a `SchemaError`."""
        for given in body:
            if given not in _KEYS:
                told = f"is public, and has no {given!r}: known are {' and '.join(_KEYS)}."
                raise _wrong(name, str(given), f"{told}{nearest(str(given), _KEYS)}")
        try:
            header, *lines = book_lines(name, body["public"], folder)
        except SchemaError as error:
            raise _wrong(name, "public", str(error)) from None
        key = body.get("key")
        if not isinstance(key, str) or header.count(key) != 1:
            told = f"key must be a column of the code book, once; it has {', '.join(header)}; got {key!r}."
            raise _wrong(name, "key" if "key" in body else "public", told)
        keys = [line[header.index(key)] for line in lines]
        if (twice := next((one for one in keys if keys.count(one) > 1), None)) is not None:
            raise _wrong(name, "public", f"the key {twice!r} is in the code book more than once.")
        return cls(name=name, key=key, names=tuple(header), lines=tuple(map(tuple, lines)))

    def column(self, name: str) -> list[str]:
        """The cells of one of its columns."""
        return [line[self.names.index(name)] for line in self.lines]

    def joined(self, name: str, body: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """A column with the book's keys, and all that follows from it, as a schema file declares them."""
        keys = self.column(self.key)
        declared = {name: {**{key: body[key] for key in body if key != "codebook"}, "values": keys}}
        left_out = {"nullable": True} if "other" in body else {}
        for own in self.names:
            if own != self.key:
                cells = self.column(own)
                kind = _kind_of(cells)
                values = [typed_cell(own, kind, cell) for cell in cells]
                mapping = dict(zip(keys, values, strict=True))
                declared[f"{name}_{own}"] = {"type": kind, "determined_by": name, "mapping": mapping, **left_out}
        return declared


def read_books(bodies: Mapping[str, Any], folder: Path | None) -> tuple[dict[str, Any], dict[str, Book]]:
    """The private tables of a schema, whose columns have what books say; and the books."""
    public = {name: body for name, body in bodies.items() if isinstance(body, dict) and "public" in body}
    books = {name: Book.read(name, body, folder) for name, body in public.items()}
    private = {name: _with_books(body, books) for name, body in bodies.items() if name not in books}
    used = {
        own.get("codebook")
        for body in bodies.values()
        if isinstance(body, dict) and isinstance(body.get("columns"), dict)
        for own in body["columns"].values()
        if isinstance(own, dict)
    }
    for name in books:
        if name not in used:
            told = f'is public, and no column refers to it: declare one with codebook = "{name}".'
            raise _wrong(name, None, told)
    return private, books


def _with_books(body: Any, books: Mapping[str, Book]) -> Any:
    if not isinstance(body, dict) or not isinstance(body.get("columns"), dict):
        return body
    columns: dict[str, Any] = {}
    for name, own in body["columns"].items():
        named = own.get("codebook") if isinstance(own, dict) else None
        columns |= books[named].joined(name, own) if isinstance(named, str) and named in books else {name: own}
    return {**body, "columns": columns}


def _kind_of(cells: Sequence[str]) -> str:
    """The type of a column of a book: of the first kind that all its cells are."""
    for kind in _TYPES:
        try:
            for cell in cells:
                typed_cell("", kind, cell)
        except SchemaError:
            continue
        return kind
    return "category"


def _wrong(table: str, key: str | None, message: str) -> SchemaError:
    return SchemaError(f"table {table!r}: {message}", path=("tables", table, *([] if key is None else [key])))
