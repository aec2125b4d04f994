"""TOML as text: writing it, and finding the line on which something was declared."""

import datetime
import json
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

_ENDS = ("]", "}", '"""', "'''")  # what stands on the last line of a statement of several lines
_MOST_TRIED = 1 << 21  # characters that are parsed to find a line: a second's worth


def locate(text: str, path: tuple[str, ...]) -> int | None:
    r"""The line (from 1) on which the longest declared beginning of a path stands; None if nothing of it does.

    >>> locate('[table]\nname = "t"\n[columns.age]\nmin = 1', ("columns", "age", "min"))
    4
    >>> locate("[columns]\nage = { min = 1 }", ("columns", "age", "max"))
    2
    """
    lines = dict(reversed(list(_declarations(text))))
    return next((lines[path[:i]] for i in range(len(path), 0, -1) if path[:i] in lines), None)


def _declarations(text: str) -> Iterator[tuple[tuple[str, ...], int]]:
    """Every path that a statement declares, with its line. A statement may go over several lines."""
    header: tuple[str, ...] = ()
    for number, statement in _statements(text):
        paths = list(_paths(tomllib.loads(statement)))
        if statement.lstrip().startswith("["):
            header = paths[-1] if paths else ()
            yield from ((header[:i], number) for i in range(1, len(header) + 1))
        else:
            yield from (((*header, *path), number) for path in paths)


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """The statements of a text that is valid TOML, each with its first line; those before one that is too long."""
    pending, first, tried = "", 1, 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first if pending else number
        goes_on = bool(pending) and not any(end in line for end in _ENDS)
        pending += line + "\n"
        if goes_on:
            continue
        if (tried := tried + len(pending)) > _MOST_TRIED:
            return
        try:
            tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue
        yield first, pending
        pending = ""


def _paths(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield (*path, key)
            yield from _paths(inner, (*path, key))


def toml_key(name: str) -> str:
    """A key, in quotes where it needs them.

    >>> toml_key("age"), toml_key("income>50K")
    ('age', '"income>50K"')
    """
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else toml_value(name)


def toml_value(value: Any) -> str:
    r"""A string, number, boolean, date, or list of these.

    >>> toml_value(["a", "b\\c"]), toml_value(True), toml_value(datetime.date(2024, 1, 1))
    ('["a", "b\\\\c"]', 'true', '2024-01-01')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, datetime.date):  # and datetime.datetime, which is one
        return value.isoformat()
    if isinstance(value, list | tuple):
        return _toml_list([toml_value(item) for item in value])
    return repr(value)


def _toml_list(items: list[str]) -> str:
    """A list on one line if it fits, else on filled lines."""
    flat = f"[{', '.join(items)}]"
    if len(flat) <= 100:
        return flat
    lines, current = [], ""
    for item in items:
        if current and len(current) + len(item) > 110:
            lines.append(current.rstrip())
            current = ""
        current += f"{item}, "
    body = "\n    ".join([*lines, current.rstrip()])
    return f"[\n    {body}\n]"
