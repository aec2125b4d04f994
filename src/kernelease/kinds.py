"""The kinds of objects that a bundle may hold: each is known, by its name, from the moment it is defined.

A bundle holds no code: an object in it is a tag and some fields, and the tag must be the name of a kind that is defined
in the process that reads it. kernelease's own kinds come with it; a kind of one's own is known once its module was
imported. Nothing is ever imported because a bundle names it.
"""

import inspect
from typing import Any
from weakref import WeakValueDictionary

from kernelease.errors import BundleError

_DEFINED: dict[str, WeakValueDictionary[str, type]] = {}  # by tag, then by the place of definition
_OWN = "kernelease."


class Kind:
    """What a bundle may hold. Whatever derives from it is a kind, and its name is its tag.

    A class that is defined again in the same place (a cell of a notebook that ran twice, or a dataclass with slots,
    which Python makes twice) takes the place of the former. Two kinds of one name in two places can't be told apart in
    a bundle: `tag_of` and `kind_of` refuse both, except that kernelease's own name is always kernelease's.

    >>> class Tent(Kind): ...
    >>> tag_of(Tent), kind_of("Tent") is Tent, kind_of("Marquee")
    ('Tent', True, None)
    """

    __slots__ = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _DEFINED.setdefault(cls.__name__, WeakValueDictionary())[_place(cls)] = cls


def kind_of(tag: str) -> type | None:
    """The kind of that tag, or None. Raises `BundleError` where two are called so."""
    own = own_kind(tag)
    if own is not None:
        return own
    found = [cls for cls in _DEFINED.get(tag, {}).values() if not inspect.isabstract(cls)]
    if len(found) > 1:
        places = " and ".join(sorted(map(_place, found)))
        raise BundleError(f"Two kinds are called {tag!r}, {places}: a bundle can't tell them apart. Rename one.")
    return found[0] if found else None


def own_kind(tag: str) -> type | None:
    """kernelease's kind of that tag, where it was imported."""
    found = [cls for place, cls in _DEFINED.get(tag, {}).items() if place.startswith(_OWN)]
    return next((cls for cls in found if not inspect.isabstract(cls)), None)


def tag_of(cls: type) -> str:
    """The tag of a class. Raises `BundleError` if it is no kind, or if its name means another class."""
    if not issubclass(cls, Kind):
        raise BundleError(
            f"A bundle can't hold a {cls.__name__}: derive it from one of kernelease's kinds (Kernel, FeatureMap, "
            "PointSource, PointSolver, Method, …) or from kernelease.kinds.Kind."
        )
    known = kind_of(cls.__name__)
    if known is not cls:
        raise BundleError(
            f"A bundle can't hold the {cls.__name__} of {_place(cls)}: the name means {_whose(known)}. Rename the "
            "class, or make the object anew with the definition that holds now."
        )
    return cls.__name__


def _whose(known: type | None) -> str:
    return "no class that can be built" if known is None else f"the class of {_place(known)}"


def _place(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
