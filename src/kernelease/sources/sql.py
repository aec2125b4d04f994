"""What the databases share: queries, names, and messages that say nothing about a row."""

import re
from collections.abc import Iterable

from kernelease.errors import SourceError

_NAME = r'(?:[^\W\d]\w*|"(?:[^"]|"")+")'
_TABLE = re.compile(rf"{_NAME}(?:\.{_NAME}){{0,2}}")


def as_query(text: str | None, where: str) -> str:
    """A query as it is, or one for all columns of a table that is named; a `SourceError` if there is neither.

    >>> as_query("clinic.patients", ""), as_query('"my table"', ""), as_query("SELECT 1;", "")
    ('SELECT * FROM clinic.patients', 'SELECT * FROM "my table"', 'SELECT 1')
    """
    stripped = (text or "").strip().rstrip(";").rstrip()
    if not stripped:
        raise SourceError(
            f"{where} is a database: name the table, or give a SELECT statement, with --query (query= in Python)."
        )
    return f"SELECT * FROM {stripped}" if _TABLE.fullmatch(stripped) else stripped


def identifier(name: str) -> str:
    """A name in quotes, each quote within it doubled.

    >>> identifier('my "own" table')
    '"my ""own"" table"'
    """
    return '"' + name.replace('"', '""') + '"'


def select(query: str, expressions: Iterable[tuple[str, str]]) -> str:
    """Expressions, each under a name, over the rows of a query. The newline ends a comment at the query's end."""
    chosen = ", ".join(f"{expression} AS {identifier(name)}" for name, expression in expressions)
    return f"SELECT {chosen} FROM (\n{query}\n) AS kernelease_rows"


def titled(where: str, query: str) -> str:
    r"""A query and where it is run, in one line.

    >>> titled("SQLite file people.db", "SELECT *\n  FROM t")
    'SQLite file people.db (SELECT * FROM t)'
    """
    return f"{where} ({' '.join(query.split())})"


def needs(extra: str) -> SourceError:
    """The error for an engine that is not installed."""
    return SourceError(f"This source needs an optional package: pip install 'kernelease[{extra}]'")


def refused(description: str, error: Exception, *, secret: str | None = None) -> SourceError:
    """The error of a query that could not be prepared. No row was touched, so the engine may say why.

    `secret` is a password: a message that holds it is withheld.
    """
    lines = str(error).strip().splitlines() or [""]
    reason = "" if secret and secret in str(error) else f" {lines[0]}"
    return SourceError(f"{description} can't be opened.{reason}")


def failed(description: str) -> SourceError:
    """The error of a query that broke off. The engine may have quoted a cell, so its words are left out."""
    return SourceError(
        f"{description} broke off: the connection was lost, or the query failed on a row. Nothing was spent. "
        "Look at the database's own log."
    )
