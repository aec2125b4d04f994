"""Public objects to JSON and back, through a closed registry of tags.

A bundle holds no code and no pickle: what can be read is what the registry lists. Each object is a frozen dataclass or
an enum, each field must be of its declared type, and the object is built again through its own constructor, so that
its checks run on what a stranger wrote.
"""

import base64
import dataclasses
import math
from enum import Enum
from typing import Any

import numpy as np

from kernelease.errors import BundleError
from kernelease.features.binning import RandomBinning
from kernelease.features.cholesky import Order
from kernelease.features.fourier import Fourier
from kernelease.features.kar_karnick import KarKarnick
from kernelease.features.ngrams import HashedNgrams
from kernelease.features.nystrom import Nystrom
from kernelease.features.one_hot import OneHot
from kernelease.fit.estimators import EmpiricalMean, Shrinkage
from kernelease.fit.gaussians.sliding_frank_wolfe import SlidingFrankWolfe
from kernelease.fit.mixtures.mixture import MixtureSolver
from kernelease.fit.points.greedy import GreedyPreimages
from kernelease.fit.points.source import NormalPoints, PublicPoints, PublishedRows, UniformPoints
from kernelease.fit.solution import SyntheticSet
from kernelease.fit.solver import FixedPoints
from kernelease.fit.weights.constraints import Free, L1Ball, Simplex
from kernelease.fit.weights.tilting import Tilting
from kernelease.kernels.atom_product import AtomProduct
from kernelease.kernels.categorical import Kronecker, Other, Similarity
from kernelease.kernels.composite import OnColumns, Product, WeightedSum
from kernelease.kernels.dot_product import DotProduct, Polynomial
from kernelease.kernels.numeric import Gaussian, Laplace, Matern32, Matern52, RationalQuadratic
from kernelease.kernels.string import Spectrum
from kernelease.measured.block import Block
from kernelease.measured.blocks import NoisyBlock, NoisyBlocks
from kernelease.measured.choice import Choice
from kernelease.measured.embedding import NoisyEmbedding
from kernelease.measured.embeddings import NoisyEmbeddings
from kernelease.measured.gaussians import Gaussians
from kernelease.measured.ramp import Ramp
from kernelease.measured.selected import SelectedDatabase
from kernelease.methods.adaptive.adaptive import Adaptive
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import UnknownMethod
from kernelease.methods.random_features import RandomFeatures
from kernelease.methods.small_database import SmallDatabase
from kernelease.methods.subspace import Subspace
from kernelease.privacy.accounting import Loss
from kernelease.privacy.calibration import Calibration
from kernelease.privacy.neighbours import Neighbours
from kernelease.privacy.step import Law, Measurement, Selection, Step
from kernelease.release.certificate import Certificate
from kernelease.release.declared_types import is_declared
from kernelease.release.entry import LedgerEntry
from kernelease.seeds import PublicSeed

_CLASSES: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        *(Block, Ramp, NoisyBlock, NoisyBlocks, NoisyEmbedding, NoisyEmbeddings, SelectedDatabase, Gaussians, Choice),
        *(Measurement, Selection, Step, Law, Neighbours, Calibration, Certificate, LedgerEntry, Loss, PublicSeed),
        *(Interactions, MixtureSolver, Subspace, PublishedRows, RandomFeatures, SmallDatabase, Adaptive, Tilting),
        UnknownMethod,
        *(NormalPoints, UniformPoints, PublicPoints, Free, Simplex, L1Ball, EmpiricalMean, Shrinkage, SyntheticSet),
        *(GreedyPreimages, FixedPoints, SlidingFrankWolfe, Order, Other),
        *(Fourier, HashedNgrams, KarKarnick, Nystrom, OneHot, RandomBinning),
        *(Gaussian, Laplace, Matern32, Matern52, RationalQuadratic, Polynomial, DotProduct),
        *(AtomProduct, Kronecker, Similarity, Spectrum, WeightedSum, Product, OnColumns),
    )
}
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
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"tag": "float", "value": repr(value)}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, np.ndarray):
        return _array_to_json(value)
    if isinstance(value, np.generic):
        return to_json(value.item())
    if type(value).__name__ not in _CLASSES:
        raise BundleError(f"A bundle can't hold a {type(value).__name__}: it is not in the registry of public types.")
    if isinstance(value, Enum):
        return {"tag": type(value).__name__, "value": value.value}
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return {"tag": type(value).__name__, **{name: to_json(getattr(value, name)) for name in fields}}


def from_json(value: Any) -> Any:
    """The object that `to_json` wrote. Raises `BundleError` for anything that is not in the registry."""
    if isinstance(value, list):
        return tuple(from_json(item) for item in value)
    if not isinstance(value, dict):
        return value
    tag = value.get("tag")
    content = {name: item for name, item in value.items() if name != "tag"}
    if tag == "float":
        return _special_float(content.get("value"))
    if tag in ("array", "runs", "integers", "objects"):
        return _array_from_json(tag, content)
    if not isinstance(tag, str) or tag not in _CLASSES:
        raise BundleError(f"Unknown tag {str(tag)[:60]!r}: this bundle is damaged, or newer than this kernelease.")
    return _build(_CLASSES[tag], tag, content)


def _build(cls: type, tag: str, content: dict[str, Any]) -> Any:
    fields = {name: from_json(item) for name, item in content.items()}
    if not issubclass(cls, Enum) and (odd := [name for name in fields if not is_declared(cls, name, fields[name])]):
        raise BundleError(f"A {tag} in this bundle can't be read: {odd[0][:60]!a} is unknown, or of another type.")
    try:
        return cls(**fields)
    except (TypeError, ValueError, IndexError, OverflowError) as error:
        raise BundleError(f"A {tag} in this bundle can't be read: {str(error)[:200]}") from error


def _special_float(text: Any) -> float:
    if text not in ("inf", "-inf", "nan"):
        raise BundleError(f"Not a float: {str(text)[:20]!r}.")
    return float(text)


def _array_to_json(array: np.ndarray[Any, Any]) -> dict[str, Any]:
    if array.dtype == object:
        kind = "integers" if all(type(item) is int for item in array.ravel()) else "objects"
        return {"tag": kind, "shape": list(array.shape), "values": [to_json(item) for item in array.ravel()]}
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


def _array_from_json(tag: str, content: dict[str, Any]) -> Any:
    try:
        if tag == "runs":
            return _runs_from_json(content)
        shape = tuple(int(size) for size in content["shape"])
        if tag == "array":
            return _from_data(content["data"], _ARRAY_TYPES[content["dtype"]]).reshape(shape)
        values = np.empty(len(content["values"]), dtype=object)
        values[:] = [_scalar(item, tag) for item in content["values"]]
        return values.reshape(shape)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BundleError("An array in this bundle can't be read: its type, shape or data are wrong.") from error


def _scalar(item: Any, tag: str) -> Any:
    value = from_json(item)
    allowed: tuple[type, ...] = (int,) if tag == "integers" else (int, float, str, bool, type(None), Other)
    if not isinstance(value, allowed):
        raise TypeError(tag)
    return value
