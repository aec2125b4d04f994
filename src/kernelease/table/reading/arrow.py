"""What every reader needs from Arrow: dense buffers, bytes, and work per distinct value."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", np.float64, np.int64)


def is_text(kind: pa.DataType) -> bool:
    """Strings and binaries of every width."""
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def dense(array: pa.Array) -> NDArray[Any]:
    """The values of a primitive array, without a copy where there is no null; 0 stands where a null is."""
    if array.null_count:
        array = pc.fill_null(array, 0)
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return np.from_dlpack(array)  # Arrow's own way to NumPy loads pandas, where that is installed
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def float_values(column: pa.ChunkedArray) -> NDArray[np.float64]:
    """The numbers of a column as float64, NaN for NULL; pandas is not loaded for them.

    >>> float_values(pa.chunked_array([[1, None], [3]]))
    array([ 1., nan,  3.])
    """
    array = column.combine_chunks().cast(pa.float64())
    if not array.null_count:
        return dense(array)
    everywhere = pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)
    return np.where(dense(array.is_valid().cast(pa.int8())) == 1, dense(everywhere), math.nan)


def number_array(values: NDArray[Any]) -> pa.Array:
    """Integers or floats as an Arrow array that shares their memory, and no NULL; pandas is not loaded for it.

    >>> number_array(np.array([1.0, 2.0])).to_pylist()
    [1.0, 2.0]
    """
    whole = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(whole.dtype), len(whole), [None, pa.py_buffer(whole)])


def as_bytes(array: pa.Array) -> pa.Array:
    """Text as bytes: equal text is equal bytes, and bad UTF-8 is as good as any other."""
    if pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
        return array
    return array.cast(pa.binary() if pa.types.is_string(array.type) else pa.large_binary())


def text_of_dates(array: pa.Array) -> pa.Array:
    """Dates as YYYY-MM-DD and timestamps as YYYY-MM-DDThh:mm:ss (UTC): any year, no exception."""
    if pa.types.is_timestamp(array.type):
        ticks = dense(array.view(pa.int64())).view(f"M8[{array.type.unit}]").astype("M8[s]")
    elif pa.types.is_date32(array.type):
        ticks = dense(array.view(pa.int32())).astype(np.int64).view("M8[D]")
    else:
        ticks = dense(array.view(pa.int64())).view("M8[ms]").astype("M8[D]")
    return pa.array(np.datetime_as_string(ticks).astype(object), pa.binary())


def through_distinct(array: pa.Array, read: Callable[[pa.Array], NDArray[Scalar]]) -> NDArray[Scalar]:
    """`read` applied to each distinct value once. What stands where a null is has no meaning."""
    encoded = array.dictionary_encode()
    values = read(encoded.dictionary)
    if len(values) == 0:
        return np.zeros(len(array), dtype=values.dtype)
    return values.take(dense(encoded.indices))
