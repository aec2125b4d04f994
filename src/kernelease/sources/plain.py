"""Arrow arrays without what only their producer understands."""

import pyarrow as pa
import pyarrow.compute as pc


def plain(array: pa.Array) -> pa.Array:
    r"""The same cells in a plain type: storage for extensions, UTC for time zones, valid UTF-8 for text.

    Views and run-ends are laid out flat. Dictionaries stay, since encoders look at each of their values once, but are
    never longer than the array. No value raises: bytes of a text that are not UTF-8 become U+FFFD.

    >>> plain(pa.array([0], pa.timestamp("us", tz="Asia/Tokyo"))).type
    TimestampType(timestamp[us, tz=UTC])
    >>> plain(pa.array([b"ok", b"caf\xe9"]).view(pa.string())).to_pylist()
    ['ok', 'caf�']
    """
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(array.storage)
    if pa.types.is_dictionary(kind):
        return _plain_dictionary(array)
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(array))
    if pa.types.is_string_view(kind):
        return valid_text(array.cast(pa.large_string()))  # large: 32-bit offsets can overflow, and would raise
    if pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return array.view(pa.timestamp(kind.unit, tz="UTC"))  # a zone is how to print the instant, and no more
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return valid_text(array)
    return array


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that `plain` gives to a column, as far as a declaration tells: dictionaries as their values.

    >>> plain_type(pa.dictionary(pa.int8(), pa.string()))
    DataType(string)
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    return plain(pa.nulls(0, kind)).type


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """The names, and the types that `plain` leaves."""
    return pa.schema([(column.name, plain_type(column.type)) for column in schema])


def valid_text(array: pa.Array) -> pa.Array:
    """A string array in which every text is UTF-8, so that nobody who decodes a cell can fail."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        cells = array.view(pa.large_binary() if pa.types.is_large_string(array.type) else pa.binary()).to_pylist()
        texts = [None if cell is None else cell.decode("utf-8", "replace") for cell in cells]
        return pa.array(texts, pa.large_string())
    return array


def _plain_dictionary(array: pa.DictionaryArray) -> pa.Array:
    indices, given = array.indices, array.dictionary
    dictionary = plain(given)
    if dictionary is given and len(given) <= len(array):
        return array  # as it is: making it anew would check every index again
    if len(dictionary) > len(array):
        used = indices.drop_null().unique()
        indices, dictionary = pc.index_in(indices, value_set=used), dictionary.take(used)
    return pa.DictionaryArray.from_arrays(indices, dictionary)
