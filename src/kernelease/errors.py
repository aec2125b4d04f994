"""The exceptions that kernelease raises on purpose, checks of declared parameters, and suggestions for misspelt words.

    KerneleaseError
    ├── ParameterError      a parameter is out of range, or two of them contradict each other (also a ValueError)
    │   ├── SchemaError     the declaration of a table; the message names the column, the line and the remedy
    │   └── LabelError      an answer has no such group, value or coefficient (also a KeyError)
    ├── SourceError         rows can't be read: no such file, format, driver or table, or it changed
    ├── ResourceError       the machine lacks memory, room on a disk, or a library that works; nothing was spent
    ├── CapacityError       what was asked for needs more memory, candidates or time than the stated cap
    ├── BudgetError         the privacy budget does not cover what was asked for
    ├── LedgerError         the ledger file is missing, locked, damaged, or not a ledger; no noise was drawn
    ├── SigningError        a file is not the Ed25519 key that it should be
    ├── BundleError         a bundle can't be written, or is not one that may be read
    └── PrivacyError        something would have left the private side without a mechanism

A warning is an `UncertaintyWarning`: a number of synthetic rows whose error is not counted.

What is raised after budget was spent says so, in its message or in a note, and where the measurements are; else nothing
was (docs/faults.md). No message holds a value from a private row, and no private value decides whether one is raised,
but by the commands `release` and `measure`, before anything is spent: they stop where a source can't be read.
"""

import functools
import inspect
import numbers
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, ParamSpec, TypeGuard, TypeVar

__all__ = ["KerneleaseError", "LabelError", "ParameterError", "SchemaError", "SourceError", "UncertaintyWarning"]
__all__ += [
    "BudgetError",
    "BundleError",
    "CapacityError",
    "LedgerError",
    "PrivacyError",
    "ResourceError",
    "SigningError",
]
__all__ += ["check_integer", "check_number", "check_scale", "check_tuple", "in_words", "misuse", "named_only"]
__all__ += ["closest", "is_encodable", "nearest"]


class KerneleaseError(Exception):
    """Root of the tree: catch this to catch everything that kernelease raises on purpose."""


class ParameterError(KerneleaseError, ValueError):
    """A parameter is out of range, or two parameters contradict each other."""


class SchemaError(ParameterError):
    """The declaration of a table is incomplete or contradicts itself, or a source lacks a declared column.

    `path` says where in the file: ("columns", "age", "min"). `Schema.parse` turns it into a line number.
    """

    def __init__(self, message: str, *, path: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class LabelError(ParameterError, KeyError):
    """An answer has no such group, value or coefficient."""

    def __str__(self) -> str:
        return str(self.args[0])


class SourceError(KerneleaseError):
    """Rows can't be read: no such file, format, driver or table, a lost connection, or a file that changed meanwhile.

    Nothing was spent, unless the message says so: an adaptive release of a large table reads it more than once. The
    message says nothing about a row.
    """


class ResourceError(KerneleaseError):
    """The machine lacks what a release needs: memory, room on a disk, or a library that works. Nothing was spent."""


class CapacityError(KerneleaseError):
    """The request needs more memory, candidates or time than the stated cap."""


class BudgetError(KerneleaseError):
    """The privacy budget does not cover the request. Nothing was spent, unless a note says so."""


class LedgerError(KerneleaseError):
    """The ledger file is missing, locked, damaged, or not a ledger. No noise was drawn."""


class SigningError(KerneleaseError):
    """A file is not the Ed25519 key that it should be."""


class BundleError(KerneleaseError):
    """A bundle can't be written, or what was given is not a bundle that may be read."""


class PrivacyError(KerneleaseError, TypeError):
    """Something would have left the private side without passing a mechanism."""


class UncertaintyWarning(UserWarning):
    """A number was computed from synthetic rows alone: its error is not counted, or not all of it."""


# ---- Calls that do not fit, and values without their names.


Given = ParamSpec("Given")
Found = TypeVar("Found")


def misuse(
    name: str,
    signature: inspect.Signature,
    given: tuple[Any, ...],
    named: Mapping[str, Any],
    untold: Collection[str] = (),
) -> str:
    """What is wrong with a call that does not fit a signature, and what it takes, but for what is `untold`."""
    known = [one for one in signature.parameters if one not in ("self", "cls")]
    owner = len(signature.parameters) - len(known)
    more = [one for one in known if signature.parameters[one].kind is inspect.Parameter.VAR_POSITIONAL]
    optional = [one for one in known if signature.parameters[one].default is not inspect.Parameter.empty]
    needed = [one for one in known if one not in (*optional, *more)]
    takes = ", ".join("…" if one in more else one for one in known if one in needed or one not in untold)
    strange = [one for one in named if one not in known]
    if strange:
        return f"{name}: there is no {strange[0]!r} in it.{nearest(strange[0], known)} It needs {name}({takes})."
    missing = [one for one in needed[max(0, len(given) - owner) :] if one not in named]
    if missing:
        return f"{name}: needs {', '.join(missing)}: {name}({takes})."
    return f"{name}: got {len(given) - owner} things without a name, and needs {name}({takes})."


def in_words(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """A function whose misuse is a `ParameterError` that says what it takes, in place of Python's TypeError.

    >>> in_words(lambda schema, rows=1: rows)()
    Traceback (most recent call last):
    kernelease.errors.ParameterError: <lambda>: needs schema: <lambda>(schema, rows).
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*given: Given.args, **named: Given.kwargs) -> Found:
        try:
            signature.bind(*given, **named)
        except TypeError:
            raise ParameterError(misuse(function.__name__, signature, given, named)) from None
        return function(*given, **named)

    return call


Named = TypeVar("Named", bound=type)


def named_only(cls: Named, *, instead: str = "") -> Named:
    """A dataclass whose values must be named, refused in words where they are not; or with what to write `instead`.

    >>> from dataclasses import dataclass
    >>> named_only(dataclass(kw_only=True)(type("Pair", (), {"__annotations__": {"a": int, "b": int}})))(1, 2)
    Traceback (most recent call last):
    kernelease.errors.ParameterError: Pair: needs names for its values: Pair(a=…, b=…).
    """
    build = vars(cls)["__init__"]

    @functools.wraps(build)
    def init(self: Any, *values: Any, **named: Any) -> None:
        known = [item for item in fields(cls) if item.init]
        names = [item.name for item in known]
        needed = [one.name for one in known if one.default is MISSING and one.default_factory is MISSING]
        if values or not {*needed} <= {*named}:
            written = ", ".join(f"{name}=…" for name in names[: max(len(values), len(needed), 2)])
            wanted = instead or f"needs names for its values: {cls.__name__}({written})"
            raise ParameterError(f"{cls.__name__}: {wanted}.")
        strange = [name for name in named if name not in names]
        if strange:
            raise ParameterError(f"{cls.__name__}: there is no {strange[0]!r} in it.{nearest(strange[0], names)}")
        build(self, **named)

    setattr(cls, "__init__", init)  # noqa: B010  # a type checker knows the first one
    return cls


# ---- Checks of declared parameters. They are public, so the messages may show them.


SMALLEST_SCALE, LARGEST_SCALE = 1e-100, 1e100  # the square of a scale, and one over it, is far from under- and overflow


def check_scale(name: str, value: object) -> None:
    """Raise unless `value` is a positive number whose square can be computed with."""
    if not (_is_number(value) and SMALLEST_SCALE <= value <= LARGEST_SCALE):
        raise ParameterError(f"{name} must be a positive, finite number from 1e-100 to 1e100, got {value!r}.")


def check_number(name: str, value: object, smallest: float, largest: float) -> None:
    """Raise unless smallest ≤ value ≤ largest."""
    if not (_is_number(value) and smallest <= value <= largest):
        raise ParameterError(f"{name} must be a number from {smallest:g} to {largest:g}, got {value!r}.")


def check_integer(name: str, value: object, smallest: int, largest: int) -> None:
    """Raise unless `value` is an integer with smallest ≤ value ≤ largest."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not smallest <= int(value) <= largest:
        end = "on" if largest > sys.maxsize // 2 else f"to {largest}"
        raise ParameterError(f"{name} must be an integer from {smallest} {end}, got {value!r}.")


def check_tuple(name: str, value: object, fewest: int, most: int) -> None:
    """Raise unless `value` is a tuple of `fewest` to `most` things."""
    if not isinstance(value, tuple):
        raise ParameterError(f"{name} must be a tuple, got {type(value).__name__}.")
    if not fewest <= len(value) <= most:
        wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise ParameterError(f"{name} must be a tuple of length {wanted}, got {len(value)}.")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


# ---- Typing mistakes: which known word was meant.


_LONGEST = 100  # characters; what is longer is no slip of the hand, and slow to compare


def closest(word: str, known: Iterable[str], least: float = 0.5) -> str | None:
    """The known word that a word is most like, whatever their case; None where all are less alike than `least`, 0 to 1.

    >>> closest("male", ("Female", "Male")), closest("Male", ("age", "sex"), least=0.7)
    ('Male', None)
    """
    if len(word) > _LONGEST:
        return None
    folded: dict[str, str] = {}
    for other in known:
        if len(other) <= _LONGEST:
            folded.setdefault(other.casefold(), other)
    near = get_close_matches(word.casefold(), folded, 1, least)
    return folded[near[0]] if near else None


def nearest(word: str, known: Iterable[str]) -> str:
    """A suggestion for a misspelt word, or nothing.

    >>> nearest("mni", ("min", "max"))
    ' Did you mean min?'
    """
    near = closest(word, known)
    return f" Did you mean {near}?" if near is not None else ""


def is_encodable(text: str) -> bool:
    """Whether a text has a UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate has no UTF-8
        return False
    return True
