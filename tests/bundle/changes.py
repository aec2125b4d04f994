"""Every single change of a document: each leaf to other values of its type, each list shortened, each key gone."""

import base64
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from kernelease.kinds import own_kind

A_LITTLE, A_LOT = 1e-3, 1.0  # relative
NUMBER = r"-?\b\d[\d.e+-]*"
LONG = 6  # items of a list that are all changed
Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One document of a bundle with one thing changed. It is written when it is asked for."""

    document: str
    path: Path
    what: str
    kind: str  # the same for changes that are alike: of items of a list that have one type, to whatever number
    write: Callable[[], bytes]

    @property
    def data(self) -> bytes:
        """The changed document."""
        return self.write()

    @property
    def place(self) -> str:
        """The document, and where in it; items of lists are not told apart."""
        return f"{self.document}:" + ".".join("*" if isinstance(key, int) else key for key in self.path)

    def __str__(self) -> str:
        return f"{self.document}: {'.'.join(map(str, self.path))} {self.what}"


def changes(files: dict[str, bytes]) -> Iterator[Change]:
    """Of every document that is text."""
    for name, data in sorted(files.items()):
        if name.endswith(".json"):
            yield from json_changes(name, data)
        elif name.endswith((".md", ".yaml")):
            yield from line_changes(name, data)


def json_changes(name: str, data: bytes) -> Iterator[Change]:
    """Written in the document's own style, so that the change alone can give it away."""
    document = json.loads(data)
    indented = data.startswith(b"{\n")

    def written(content: Any) -> bytes:
        style: dict[str, Any] = {"indent": 2, "ensure_ascii": False} if indented else {"separators": (",", ":")}
        return (json.dumps(content, **style) + "\n").encode()

    def changed(put: Put) -> Callable[[], bytes]:
        def write() -> bytes:
            undo = put()
            try:
                return written(document)
            finally:
                undo()

        return write

    assert written(document) == data
    for path, what, put in _changes_of(document):
        kind = f"{name}:{_types(document, path)} {re.sub(NUMBER, '#', what)}"
        yield Change(document=name, path=path, what=what, kind=kind, write=changed(put))


def _types(document: Any, path: Path) -> str:
    """The path, with the type of an item of a list instead of its number."""
    words, here = [], document
    for key in path:
        here = here[key] if isinstance(here, list) or key in here else None
        kind = here.get("type", here.get("tag", "")) if isinstance(here, dict) else ""
        words.append(f"*{kind}" if isinstance(key, int) else key)
    return ".".join(words)


def line_changes(name: str, data: bytes) -> Iterator[Change]:
    """Each line gone, twice, and with a letter more."""
    lines = data.decode().splitlines()
    for number, line in enumerate(lines):
        for what, instead in (("gone", []), ("twice", [line, line]), ("longer", [line + "x"])):
            again = "\n".join([*lines[:number], *instead, *lines[number + 1 :]]) + "\n"
            if (changed := again.encode()) != data:
                write = partial(bytes, changed)
                yield Change(document=name, path=(number,), what=what, kind=f"{name} {what}", write=write)


Put = Callable[[], Callable[[], None]]  # makes a change in place, and gives back what undoes it


def _changes_of(value: Any, path: Path = ()) -> Iterator[tuple[Path, str, Put]]:
    """All changes below a list or an object; of the items of a long list three, for they are alike."""
    for key in list(value) if isinstance(value, dict) else _some(len(value)):
        place, item = (*path, key), value[key]
        for what, other in _others(value, key, item):
            yield place, what, _replacing(value, key, other)
        if isinstance(item, dict | list) and not _is_array(item):
            yield from _changes_of(item, place)
    if isinstance(value, dict):
        for key in list(value):
            yield (*path, key), "gone", _removing(value, key)
        yield path, "with one more key", _replacing(value, "extra", 1)
    elif value:
        yield path, "without its last item", _popping(value)


def _some(length: int) -> list[int]:
    return list(range(length)) if length <= LONG else [0, length // 2, length - 1]


def _others(owner: Any, key: Any, item: Any) -> Iterator[tuple[str, Any]]:
    """Other values of the same type."""
    if isinstance(item, bool):
        yield "flipped", not item
    elif item is None:
        yield from (("given", value) for value in (1, 0.5, "x", True))
    elif isinstance(item, int | float):
        yield from _numbers(item)
    elif isinstance(item, str):
        cls = own_kind(str(owner.get("tag"))) if isinstance(owner, dict) else None
        if key == "value" and cls is not None and issubclass(cls, Enum):
            yield from ((f"to {member.value}", member.value) for member in cls if member.value != item)
        yield "longer", item + "x"
    elif _is_array(item):
        yield from _arrays(item)


def _numbers(item: float) -> Iterator[tuple[str, Any]]:
    if isinstance(item, int):
        steps = {item + 1, item - 1, 2 * item + 3}
    else:
        steps = {item * (1 + A_LITTLE), item * (1 - A_LITTLE), item * (1 + A_LOT) + 1.0}
    yield from ((f"to {value}", value) for value in sorted(steps - {item}) if math.isfinite(value))


def _is_array(item: Any) -> bool:
    return isinstance(item, dict) and item.get("tag") in ("array", "integers", "objects")


def _arrays(item: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The first and the last cell, and another shape. Of noisy integers the largest moves, by as much as it is: one
    step of their grid is a billionth of the noise, and where a count is near 0, no row may depend on it.
    """
    yield "of another shape", {**item, "shape": [*item["shape"], 2]}
    if item["tag"] == "array":
        array = np.frombuffer(base64.b64decode(item["data"]), dtype=item["dtype"])
        for index in sorted({0, len(array) - 1}) if len(array) else ():
            for cell in _cells(array, index):
                other = array.copy()
                other[index] = cell
                yield f"[{index}] to {cell}", {**item, "data": base64.b64encode(other.tobytes()).decode()}
        return
    values = item["values"]
    if item["tag"] == "integers":
        largest = max(range(len(values)), key=lambda index: abs(values[index]))
        moved = {largest: [2 * values[largest] + 1]}
    else:
        moved = {index: [other for _, other in _others(None, None, values[index])] for index in {0, len(values) - 1}}
    for index, others in moved.items():
        for other in others:
            yield f"[{index}] to {other}", {**item, "values": [*values[:index], other, *values[index + 1 :]]}


def _cells(array: Any, index: int) -> Iterator[Any]:
    """Moved on the scale of the array's largest number."""
    if array.dtype.kind == "b":
        yield not array[index]
    elif array.dtype.kind == "f":
        scale = float(np.abs(array).max()) or 1.0
        yield from (array[index] + step * scale for step in (A_LITTLE, -A_LITTLE, A_LOT))
    else:
        most = int(np.abs(array).max())
        yield from {array[index] + step for step in (max(1, most // 1000), most + 1)}


def _replacing(owner: Any, key: Any, other: Any) -> Put:
    def put() -> Callable[[], None]:
        absent = isinstance(owner, dict) and key not in owner
        before = None if absent else owner[key]
        owner[key] = other
        return lambda: owner.pop(key) if absent else owner.__setitem__(key, before)

    return put


def _removing(owner: dict[str, Any], key: str) -> Put:
    def put() -> Callable[[], None]:
        before = dict(owner)
        del owner[key]

        def undo() -> None:
            owner.clear()
            owner.update(before)

        return undo

    return put


def _popping(owner: list[Any]) -> Put:
    def put() -> Callable[[], None]:
        last = owner.pop()
        return lambda: owner.append(last)

    return put
