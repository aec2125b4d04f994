"""Files that strangers wrote (text, JSON, TOML) read within bounds: of size, of depth, of the number of values in them.

A parser believes what it reads. A file of a few megabytes can nest a million lists in each other, or grow in memory to
fifty times its size, long before anybody looks at what it says. Each reader here refuses such a file in a fraction of a
second with a `ValueError` whose message says what is too much; who calls it knows what the file is, and adds that.
"""

import json
import re
import tomllib
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

LARGEST_TEXT = 1 << 24  # bytes of a schema, code book or configuration: 16 MiB; 65,536 codes take one
DEEPEST = 64  # lists and objects within each other; what kernelease writes is 12 deep at most
MOST_VALUES = 1 << 21  # of a JSON file, keys counted: in memory one takes up to a hundred bytes
_LARGEST_TOML = 1 << 21  # characters: it is parsed in Python, at a megabyte or two a second
_DEEP_KEY = re.compile(  # a.b.c … beyond all tables: the parser takes the square of its length. Possessive, so linear
    rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{DEEPEST}}}"""
)


_WEB = re.compile(r"(https?|ftp|s3|gs|az|abfss?|hdfs):/+", re.IGNORECASE)  # a Path has one slash fewer than was typed


def web_refusal(path: str | Path) -> str | None:
    """What to say of an address on the web, where a file is meant; None where it is none.

    >>> web_refusal(Path("https://example.org/a"))
    'https://example.org/a is on the web, and nothing is fetched from there. Download the file, and give its path.'
    """
    if not _WEB.match(str(path)):
        return None
    address = _WEB.sub(r"\1://", str(path), count=1)
    return f"{address} is on the web, and nothing is fetched from there. Download the file, and give its path."


def read_text(path: str | Path, *, encoding: str = "utf-8", most: int = LARGEST_TEXT) -> str:
    """The text of a file, its line ends as they are. Raises `OSError`, or `ValueError`: no text, or too long."""
    with open(path, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it is longer than {most:,} bytes")
    return data.decode(encoding)


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text in which no key is there twice, and every number is one.

    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ValueError: the key 'a' is there twice
    """
    written = text if isinstance(text, bytes) else text.encode(errors="replace")
    if sum(map(written.count, (b"[", b"{", b",", b":"))) > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES:,} values")
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from None
    check_depth(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = sorted(name for name, _ in pairs)
        twice = next(one for one, other in pairwise(names) if one == other)
        raise ValueError(f"the key {twice[:60]!a} is there twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}, which is no number of JSON")


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text. Raises `tomllib.TOMLDecodeError`, which is a `ValueError`, where it is none."""
    if len(text) > _LARGEST_TOML:
        raise ValueError(f"it is longer than {_LARGEST_TOML:,} characters")
    if _DEEP_KEY.search(text):
        raise ValueError(f"a key is nested more than {DEEPEST} deep")
    try:
        table = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"it is nested more than {DEEPEST} deep") from None
    check_depth(table)
    return table


def check_depth(value: Any) -> None:
    """Refuse lists and objects that are nested too deep, without a call for each level.

    >>> check_depth([[[1]]])
    """
    level: list[Any] = [value]
    for _ in range(DEEPEST + 1):
        nested = (
            outer.values() if isinstance(outer, dict) else outer for outer in level if isinstance(outer, dict | list)
        )
        level = list(chain.from_iterable(nested))
        if not level:
            return
    raise ValueError(f"it is nested more than {DEEPEST} deep")
