"""Public objects to JSON and back, through the tags of the kinds that are known.

A bundle holds no code and no pickle: what can be read is what is defined already (`kernelease.kinds`). Each object is a
frozen dataclass or an enum, each field must be of its declared type, and the object is built again through its own
constructor, so that its checks run on what a stranger wrote.
"""

import base64
import dataclasses
import functools
import importlib
import json
import math
import pkgutil
import types
import typing
from collections.abc import Hashable
from enum import Enum
from typing import Any, Union, get_args, get_origin

import numpy as np

from kernelease.errors import BundleError, is_encodable
from kernelease.kernels.discrete import Other
from kernelease.kinds import Kind, kinds_called, own_kind, place_of

# ---- Declared types are checked: Python does not do it, and the file may come from a stranger.


_LARGEST_INTEGER = 2**256  # of a plain number; noisy integers have arrays of their own
_PLAIN = (str, int, float, bool, type(None))


def is_declared(cls: type, name: str, value: Any) -> bool:
    """Whether `value` may be the field `name` of a dataclass.

    >>> from kernelease.seeds import PublicSeed
    >>> is_declared(PublicSeed, "value", 7), is_declared(PublicSeed, "value", "7")
    (True, False)
    """
    hints = _hints(cls)
    return name in hints and conforms(value, hints[name])


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value read from JSON is of a type: a class, a union, a tuple, an array. All other types it refuses.

    >>> conforms((1, 2.5), tuple[float, ...]), conforms(True, int), conforms(None, str | None)
    (True, False, True)
    """
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(conforms(value, option) for option in inner)
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(conforms(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(conforms, value, inner))
    if origin is np.ndarray:
        return _is_array(value, inner[1])
    if hint in _CHECKS:
        return bool(_CHECKS[hint](value))
    return isinstance(hint, type) and isinstance(value, hint)


def _is_array(value: Any, dtype: Any) -> bool:
    """An array of that type of cells. Arrays of objects hold Python's integers; of `Any`, plain cells."""
    if not isinstance(value, np.ndarray):
        return False
    (wanted,) = get_args(dtype)
    if wanted is np.object_:
        return value.dtype == object and all(type(item) is int for item in value.ravel())
    return wanted is Any or value.dtype == np.dtype(wanted)


def _is_integer(value: Any) -> bool:
    return type(value) is int and abs(value) < _LARGEST_INTEGER


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN and not (isinstance(value, float) and math.isnan(value))


_CHECKS: dict[Any, Any] = {
    bool: lambda value: type(value) is bool,
    int: _is_integer,
    float: lambda value: type(value) is float or _is_integer(value),
    str: lambda value: type(value) is str and is_encodable(value),
    type(None): lambda value: value is None,
    Hashable: _is_plain,
}


# ---- Objects to JSON and back.


_HOMES = ("seeds", "kernels", "features", "privacy", "measured", "fit", "methods", "certificate")
_OWN: dict[str, type] = {}  # kinds of kernelease by their tags, once they were looked up: they never change
_DEEPEST = 100  # objects and lists within each other; a composite kernel needs two of them a level
_TOO_DEEP = f"Objects in this bundle lie within each other more than {_DEEPEST} deep."
_ARRAY_TYPES = {
    "float64": np.float64,
    "int64": np.int64,
    "uint64": np.uint64,
    "int32": np.int32,
    "int8": np.int8,
    "bool": np.bool_,
}
_LARGEST_ARRAY = 2**28  # characters of base64: 192 MiB
_LONG, _MOST_RUNS = 4096, 1 / 8  # integers from which on an array of few runs is written as these; runs of all


def to_json(value: Any) -> Any:
    """A JSON value that `from_json` turns into an equal object."""
    return _write(value, 0)


def from_json(value: Any) -> Any:
    """The object that `to_json` wrote. Raises `BundleError` for anything that is of no kind."""
    return _read(value, 0)


def check_holds(value: Any, name: str) -> None:
    """Raise `BundleError` unless a bundle can hold an object and give it back: to be asked before any budget is spent.

    It goes to JSON, from there to an object, and to JSON again, as saving, loading and verifying take it.
    """
    try:
        written = json.dumps(to_json(value), allow_nan=False)
        again = json.dumps(to_json(from_json(json.loads(written))), allow_nan=False)
    except (BundleError, TypeError, ValueError, AttributeError) as error:
        raise BundleError(f"{name}: {error} Nothing was spent.") from error
    if written != again:
        raise BundleError(
            f"{name}: a {type(value).__name__} that is saved and loaded again differs from what it was. Its fields "
            "must be all that it consists of. Nothing was spent."
        )


def _write(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"tag": "float", "value": repr(value)}
    if depth > _DEEPEST:
        raise BundleError(_TOO_DEEP)
    if isinstance(value, (tuple, list)):
        return [_write(item, depth + 1) for item in value]
    if isinstance(value, np.ndarray):
        return _array_to_json(value, depth)
    if isinstance(value, np.generic):
        return _write(value.item(), depth)
    return _write_kind(value, depth)


def _write_kind(value: Any, depth: int) -> dict[str, Any]:
    tag = _tag(type(value))
    if isinstance(value, Enum):
        return {"tag": tag, "value": value.value}
    if not dataclasses.is_dataclass(value):
        raise BundleError(
            f"A bundle can't hold a {tag}: its class is no dataclass, so nobody knows what it consists of. Write "
            "`@dataclass(frozen=True, kw_only=True)` above it."
        )
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return {"tag": tag, **{name: _write(getattr(value, name), depth + 1) for name in fields}}


def _read(value: Any, depth: int) -> Any:
    if not isinstance(value, (list, dict)):
        return value
    if depth > _DEEPEST:
        raise BundleError(_TOO_DEEP)
    if isinstance(value, list):
        return tuple([_read(item, depth + 1) for item in value])
    tag = value.get("tag")
    content = {name: item for name, item in value.items() if name != "tag"}
    if tag == "float":
        return _special_float(content.get("value"))
    if tag in ("array", "runs", "integers", "objects"):
        return _array_from_json(tag, content, depth)
    return _build(_kind(tag), str(tag), {name: _read(item, depth + 1) for name, item in content.items()})


def _tag(cls: type) -> str:
    """The tag of a class. Raises `BundleError` if it is no kind, or if its name means another class."""
    if not issubclass(cls, Kind):
        raise BundleError(
            f"A bundle can't hold a {cls.__name__}: derive it from one of kernelease's kinds (Kernel, FeatureMap, "
            "PointSource, PointSolver, Method, …) or from kernelease.kinds.Kind."
        )
    known = _OWN.get(cls.__name__) or _kind_called(cls.__name__, cls)
    if known is not cls:
        meaning = "no class that can be built" if known is None else f"the class of {place_of(known)}"
        raise BundleError(
            f"A bundle can't hold the {cls.__name__} of {place_of(cls)}: the name means {meaning}. Rename the class, "
            "or make the object anew with the definition that holds now."
        )
    return cls.__name__


def _kind(tag: Any) -> type:
    """The class of a tag: kernelease's, or else one that whoever reads has imported."""
    if isinstance(tag, str) and (known := _OWN.get(tag) or _kind_called(tag)) is not None:
        return known
    named = repr(tag[:60]) if isinstance(tag, str) else f"({type(tag).__name__})"
    raise BundleError(
        f"Unknown tag {named}: this bundle is damaged, or newer than this kernelease, or it holds a kind that is not "
        "kernelease's own. If so, import the module that defines it first (`kernelease --import MODULE …`)."
    )


def _kind_called(tag: str, written: type | None = None) -> type | None:
    """The kind that a tag means, or None. kernelease's own come first, whether they were imported yet or not.

    Of two kinds with one name, that which is being `written` is meant: what was paid for is kept, and whoever reads it
    is told of the two.
    """
    if (own := own_kind(tag) or _offered_kind(tag)) is not None:
        return _OWN.setdefault(tag, own)
    _define_own()
    found = kinds_called(tag)
    if (own := own_kind(tag)) is not None or written in found:
        return own or written
    if len(found) > 1:
        places = " and ".join(map(place_of, found))
        raise BundleError(f"Two kinds are called {tag!r}, {places}: a bundle can't tell them apart. Rename one.")
    return next(iter(found), None)


def _offered_kind(tag: str) -> type | None:
    """kernelease's kind of a tag that one of its packages offers: only the module that defines it is loaded."""
    for home in _HOMES:
        package = importlib.import_module(f"kernelease.{home}")
        if tag in getattr(package, "__all__", ()):
            getattr(package, tag)
    return own_kind(tag)


@functools.cache
def _define_own() -> None:
    """Import all modules that may define a kind of kernelease's: whoever uses a few has imported those already."""
    for home in _HOMES:
        module = importlib.import_module(f"kernelease.{home}")
        for inner in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{module.__name__}."):
            importlib.import_module(inner.name)


def _build(cls: type, tag: str, fields: dict[str, Any]) -> Any:
    try:
        odd = [] if issubclass(cls, Enum) else [name for name in fields if not is_declared(cls, name, fields[name])]
        if odd:
            raise BundleError(f"A {tag} in this bundle can't be read: {odd[0][:60]!a} is unknown, or of another type.")
        return cls(**fields)
    except (TypeError, ValueError, IndexError, OverflowError, NameError) as error:
        raise BundleError(f"A {tag} in this bundle can't be read: {str(error)[:200]}") from error


def _special_float(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise BundleError(f"Not a float: {str(text)[:20]!r}.")
    return float(text)


def _array_to_json(array: np.ndarray[Any, Any], depth: int) -> dict[str, Any]:
    if array.dtype == object:
        kind = "integers" if all(type(item) is int for item in array.ravel()) else "objects"
        return {"tag": kind, "shape": list(array.shape), "values": [_write(item, depth + 1) for item in array.ravel()]}
    if array.dtype == np.int64 and array.ndim == 1 and len(array) > _LONG:
        starts = np.flatnonzero(np.diff(array, prepend=~array[:1]))
        if len(starts) < _MOST_RUNS * len(array):
            return {"tag": "runs", "length": len(array), "starts": _data(starts), "values": _data(array[starts])}
    return {"tag": "array", "dtype": array.dtype.name, "shape": list(array.shape), "data": _data(array)}


def _data(array: np.ndarray[Any, Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()).decode()


def _from_data(data: Any, dtype: Any) -> Any:
    if len(data) > _LARGEST_ARRAY:
        raise BundleError("An array in this bundle is larger than allowed.")
    little = np.dtype(dtype).newbyteorder("<")
    return np.frombuffer(base64.b64decode(data, validate=True), dtype=little).astype(little.newbyteorder("="))


def _runs_from_json(content: dict[str, Any]) -> Any:
    """Integers from where each run of the same begins: the first at 0, the others in order."""
    starts, values = (_from_data(content[name], np.int64) for name in ("starts", "values"))
    length = content["length"]
    if type(length) is not int or length * 8 > _LARGEST_ARRAY or len(starts) != len(values) or not len(starts):
        raise ValueError("runs")
    members = np.diff(starts, append=length)
    if starts[0] != 0 or members.min() < 1:
        raise ValueError("runs")
    return np.repeat(values, members)


def _array_from_json(tag: str, content: dict[str, Any], depth: int) -> Any:
    try:
        if tag == "runs":
            return _runs_from_json(content)
        shape = tuple(int(size) for size in content["shape"])
        if tag == "array":
            return _from_data(content["data"], _ARRAY_TYPES[content["dtype"]]).reshape(shape)
        values = np.empty(len(content["values"]), dtype=object)
        values[:] = [_scalar(item, tag, depth + 1) for item in content["values"]]
        return values.reshape(shape)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BundleError("An array in this bundle can't be read: its type, shape or data are wrong.") from error


def _scalar(item: Any, tag: str, depth: int) -> Any:
    value = _read(item, depth)
    allowed: tuple[type, ...] = (int,) if tag == "integers" else (int, float, str, bool, type(None), Other)
    if not isinstance(value, allowed):
        raise TypeError(tag)
    return value
