"""The kinds of objects that a bundle may hold: each is known, by its name, from the moment it is defined.

A bundle holds no code: an object in it is a tag and some fields, and the tag must be the name of a kind that is defined
in the process that reads it. kernelease's own kinds come with it; a kind of one's own is known once its module was
imported. Nothing is ever imported because a bundle names it.
"""

import inspect
from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

_DEFINED: dict[str, WeakValueDictionary[str, type]] = {}  # by tag, then by the place of definition
_OWN = "kernelease."


class Kind:
    """What a bundle may hold. Whatever derives from it is a kind, and its name is its tag.

    A class that is defined again in the same place (a cell of a notebook that ran twice, or a dataclass with slots,
    which Python makes twice) takes the place of the former.

    >>> class Tent(Kind):
    ...     __module__ = "mine"
    >>> kinds_called("Tent") == [Tent], kinds_called("Marquee"), own_kind("Tent")
    (True, [], None)
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _DEFINED.setdefault(cls.__name__, WeakValueDictionary())[place_of(cls)] = cls


def kinds_called(tag: str) -> list[type]:
    """All kinds of a name that can be built, wherever they are defined: a bundle can't tell two of them apart."""
    found: Mapping[str, type] = _DEFINED.get(tag, {})
    return [found[place] for place in sorted(found) if not inspect.isabstract(found[place])]


def own_kind(tag: str) -> type | None:
    """kernelease's own kind of a name, where its module was imported. Nobody else's can take its place."""
    return next((cls for cls in kinds_called(tag) if place_of(cls).startswith(_OWN)), None)


def place_of(cls: type) -> str:
    """Where a class is defined."""
    return f"{cls.__module__}.{cls.__qualname__}"
