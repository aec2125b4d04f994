"""data.parquet to the byte: the one file that a table of released rows becomes, and the door through which it is read.

Parquet leaves a writer much freedom: metadata, padding, pages, statistics, compressors that differ from build to build.
Whatever is free can hold a secret. So this writer has none: the same rows give the same bytes on every machine, and
`verify` writes them again and compares. Pages are not compressed; values that repeat are written once, and counted in
few bits. There are no statistics, no key-value metadata, no name of a writer, and no byte between the pages.
"""

import struct
from typing import Any, Final, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from kernelease.errors import BundleError

LARGEST_TABLE = 2**28  # cells: 2 GiB as float64
LARGEST_TEXT = 2**29  # bytes of text in one column, counted as often as it is repeated
MOST_COLUMNS = 2**14  # four times as many as a schema may have with their derived ones; a footer of more is refused
_GROUP_ROWS = 2**17  # rows that are written together: one page for each column
_LARGEST_FOOTER = 2**24  # bytes: ten times what the most columns of the longest names take
_LARGEST_PAGE = 2**31 - 1  # bytes: its header has 32 bits for them
_MAGIC = b"PAR1"
_PLAIN, _RLE, _RLE_DICTIONARY = 0, 3, 8  # encodings, as Parquet numbers them
_DATA_PAGE, _DICTIONARY_PAGE = 0, 2  # kinds of pages
_BOOLEAN, _INT32, _INT64, _DOUBLE, _BYTE_ARRAY = 0, 1, 2, 5, 6  # physical types
_UNCOMPRESSED = 0  # how Parquet numbers that
_CIPHERED = frozenset((8, 9))  # fields of a column's part of a group, if it is encrypted
_DEEPEST = 16  # structs and lists within each other; a footer has nine


# ---- Thrift, compact protocol.


@final
class _I32(int):
    """A number that the protocol writes as one of 32 bits."""


@final
class _I64(int):
    """A number that the protocol writes as one of 64 bits."""


_Struct: TypeAlias = dict[int, Any]  # field number → bool, _I32, _I64, str, list or another struct; None is left out


def _thrift(fields: _Struct) -> bytes:
    """A struct of Parquet's headers as Thrift's compact protocol writes it, fields in the order of their numbers.

    >>> _thrift({1: _I32(1), 4: "a"}).hex()
    '150238016100'
    """
    written, before = bytearray(), 0
    for number, value in fields.items():
        if value is not None:
            kind = (1 if value else 2) if isinstance(value, bool) else _kind(value)
            written += bytes([(number - before) << 4 | kind])
            written += b"" if isinstance(value, bool) else _body(value)
            before = number
    return bytes(written) + b"\0"


def _kind(value: Any) -> int:
    """How the protocol numbers the type of a value."""
    return {_I32: 5, _I64: 6, str: 8, list: 9, dict: 12}[type(value)]


def _body(value: Any) -> bytes:
    if isinstance(value, _I32 | _I64):
        return _varint(value << 1)  # zigzag; no number here is negative
    if isinstance(value, str):
        return _varint(len(data := value.encode())) + data
    if isinstance(value, dict):
        return _thrift(value)
    kind = _kind(value[0]) if value else _kind({})
    head = bytes([len(value) << 4 | kind]) if len(value) < 15 else bytes([0xF0 | kind]) + _varint(len(value))
    return head + b"".join(map(_body, value))


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first.

    >>> _varint(300).hex()
    'ac02'
    """
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*written, number])


# ---- The writer.

_TIMES: Final = {None: False, "UTC": True}  # zones of instants, and whether Parquet calls them adjusted to UTC


def is_writable(kind: pa.DataType) -> bool:
    """Whether a column of this type can be written: whole and other numbers, truth values, text, days, instants."""
    plain = (pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32())
    return kind in plain or (pa.types.is_timestamp(kind) and kind.unit == "us" and kind.tz in _TIMES)


def write_rows(table: pa.Table) -> bytes:
    """The file of a table. Names, types, whether NULL may be, and rows decide every byte.

    >>> rows = pa.table({"age": [30, 40, 30], "sex": ["f", None, "m"]})
    >>> read_rows(write_rows(rows)).equals(rows)
    True
    """
    for field in table.schema:
        if not is_writable(field.type):
            raise BundleError(f"A bundle can't hold the column {field.name!r}: it is of type {field.type}.")
    file, groups = bytearray(_MAGIC), []
    for start in range(0, table.num_rows, _GROUP_ROWS):
        part = table.slice(start, _GROUP_ROWS)
        before = len(file)
        chunks = [_add_chunk(file, field, part.column(at)) for at, field in enumerate(part.schema)]
        groups.append({1: chunks, 2: _I64(len(file) - before), 3: _I64(part.num_rows)})
    root = {4: "schema", 5: _I32(table.num_columns)}
    schema = [root, *(_schema_element(field) for field in table.schema)]
    footer = _thrift({1: _I32(1), 2: schema, 3: _I64(table.num_rows), 4: groups})
    return bytes(file + footer + struct.pack("<L", len(footer)) + _MAGIC)


def _schema_element(field: pa.Field) -> _Struct:
    converted = {pa.string(): 0, pa.date32(): 6}.get(field.type)
    logical: _Struct | None = {pa.string(): {1: {}}, pa.date32(): {6: {}}}.get(field.type)
    if pa.types.is_timestamp(field.type):
        logical = {8: {1: _TIMES[field.type.tz], 2: {2: {}}}}
    return {
        1: _I32(_physical(field.type)),
        3: _I32(int(field.nullable)),
        4: field.name,
        6: None if converted is None else _I32(converted),
        10: logical,
    }


def _physical(kind: pa.DataType) -> int:
    named = {pa.bool_(): _BOOLEAN, pa.date32(): _INT32, pa.float64(): _DOUBLE, pa.string(): _BYTE_ARRAY}
    return named.get(kind, _INT64)


def _add_chunk(file: bytearray, field: pa.Field, values: pa.ChunkedArray) -> _Struct:
    """Append the pages of a column, and tell where they are."""
    if values.null_count and not field.nullable:
        raise BundleError(f"A bundle can't hold the column {field.name!r}: it has NULLs, and may have none.")
    start, column = len(file), pa.concat_arrays(values.chunks) if values.num_chunks != 1 else values.chunk(0)
    levels = _levels(column) if field.nullable else b""
    listed = _dictionary(column.drop_null())
    if listed is None:
        encoding, content = _PLAIN, _plain(column.drop_null())
    else:
        entries, content = listed
        encoding = _RLE_DICTIONARY
        header = {7: {1: _I32(len(entries)), 2: _I32(_PLAIN)}}
        _add_page(file, _DICTIONARY_PAGE, header, _plain(entries))
    data_page = len(file)
    header = {5: {1: _I32(len(column)), 2: _I32(encoding), 3: _I32(_RLE), 4: _I32(_RLE)}}
    _add_page(file, _DATA_PAGE, header, levels + content)
    used = [_PLAIN, _RLE, *([_RLE_DICTIONARY] if listed else [])]
    size = _I64(len(file) - start)
    about: _Struct = {
        1: _I32(_physical(field.type)),
        2: [_I32(one) for one in used],
        3: [field.name],
        4: _I32(_UNCOMPRESSED),
    }
    about |= {5: _I64(len(column)), 6: size, 7: size, 9: _I64(data_page), 11: _I64(start) if listed else None}
    return {2: _I64(start), 3: about}


def _add_page(file: bytearray, kind: int, header: _Struct, content: bytes) -> None:
    if len(content) > _LARGEST_PAGE:
        raise BundleError("A bundle can't hold so much text in one column: 2 GiB in 131,072 rows.")
    size = _I32(len(content))
    file += _thrift({1: _I32(kind), 2: size, 3: size, **header}) + content


def _levels(column: pa.Array) -> bytes:
    """Which rows hold a value: one run where all do, or none does, else a bit for each."""
    present = column.is_valid().to_numpy(zero_copy_only=False)
    alike = present.all() or not present.any()
    runs = _varint(len(present) << 1) + bytes([int(present[0])]) if alike else _pack(present.astype(np.int64), 1)
    return struct.pack("<L", len(runs)) + runs


def _dictionary(values: pa.Array) -> tuple[pa.Array, bytes] | None:
    """Distinct values in the order in which they come, and the number of each cell's; None where few repeat."""
    if pa.types.is_boolean(values.type) or not len(values):
        return None
    coded = _bits(values).dictionary_encode()
    distinct = len(coded.dictionary)
    if 2 * distinct > len(values):
        return None
    width = max(1, (distinct - 1).bit_length())
    numbers = coded.indices.to_numpy()
    runs = _varint(len(numbers) << 1) + b"\0" if distinct == 1 else _pack(numbers.astype(np.int64), width)
    return coded.dictionary, bytes([width]) + runs


def _bits(values: pa.Array) -> pa.Array:
    """Floats by their bits, so that −0 and each NaN are themselves."""
    return values.view(pa.int64()) if pa.types.is_floating(values.type) else values


def _pack(numbers: NDArray[np.int64], width: int) -> bytes:
    """Numbers of some bits each, eight by eight, the last eight filled up with zeros."""
    groups = -(-len(numbers) // 8)
    bits = np.zeros((groups * 8, width), dtype=np.uint8)
    bits[: len(numbers)] = numbers[:, None] >> np.arange(width) & 1
    return _varint(groups << 1 | 1) + np.packbits(bits.ravel(), bitorder="little").tobytes()


def _plain(values: pa.Array) -> bytes:
    """Values one after the other; text after its length; truth values as bits."""
    if pa.types.is_boolean(values.type):
        return np.packbits(values.to_numpy(zero_copy_only=False), bitorder="little").tobytes()
    if pa.types.is_string(values.type):
        return b"".join(struct.pack("<L", len(text)) + text for text in values.cast(pa.binary()).to_pylist())
    width = "<i4" if pa.types.is_date32(values.type) else "<i8"
    numbers = _bits(values).cast(pa.int32() if width == "<i4" else pa.int64()).to_numpy()
    return np.ascontiguousarray(numbers).astype(width).tobytes()


# ---- The door.


def read_rows(data: bytes) -> pa.Table:
    """The table in a file, or a `BundleError`: within bounds, whatever its footer claims.

    Other writers' files are read, too, if they are not compressed: whether it is the one file of its rows is for
    `write_rows` to say.
    """
    try:
        _check_footer(_footer(data), len(data))
        file = pq.ParquetFile(pa.BufferReader(_to_buffer(data)), **_DOOR)
        texts = [field.name for field in file.schema_arrow if pa.types.is_string(field.type)]
        table = pq.ParquetFile(pa.BufferReader(_to_buffer(data)), read_dictionary=texts, **_DOOR).read()
        _check_text(table)
        columns = [
            column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for column in table.columns
        ]
    except (pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BundleError("data.parquet can't be read as Parquet.") from error
    fields = [field.with_type(column.type) for field, column in zip(table.schema, columns, strict=True)]
    return pa.table(columns, schema=pa.schema([field.remove_metadata() for field in fields]))


_DOOR: Final[dict[str, Any]] = {"thrift_string_size_limit": 1 << 20, "thrift_container_size_limit": 1 << 16}


def _check_footer(footer: _Struct, size: int) -> None:
    """Refuse what would be long in memory, and what Arrow's own view of a footer ends the process for.

    That is a group of fewer columns than the table has, a column without a description, and a word of a cipher.
    """
    columns, groups = len(footer[2]) - 1, footer.get(4, [])
    if not 0 <= columns <= MOST_COLUMNS or footer[3] * max(1, columns) > LARGEST_TABLE:
        raise BundleError(f"data.parquet claims more than {LARGEST_TABLE:,} cells or {MOST_COLUMNS:,} columns.")
    for group in groups:
        if len(group[1]) != columns:
            raise BundleError("data.parquet can't be read as Parquet.")
        for chunk in group[1]:
            if chunk[3][4] != _UNCOMPRESSED or chunk[3][6] > size:
                raise BundleError(
                    "data.parquet is compressed, as no bundle's is since the form of its bytes is fixed. Of an older "
                    "bundle make the rows anew with `kernelease fit`: it costs no budget."
                )
            if _CIPHERED & chunk.keys():
                raise BundleError("data.parquet can't be read as Parquet: it is encrypted.")


def _footer(data: bytes) -> _Struct:
    """The footer of a file as the fields that it has; any error of Python's where it is none."""
    length = int.from_bytes(data[-8:-4], "little")
    if data[-4:] != _MAGIC or not 0 < length <= min(len(data) - 12, _LARGEST_FOOTER):
        raise ValueError("no footer")
    fields, _ = _read_struct(data[-8 - length : -8], 0, 0)
    return fields


def _read_struct(data: bytes, at: int, depth: int) -> tuple[_Struct, int]:
    """A struct in Thrift's compact protocol that begins at a byte, and where it ends."""
    fields: _Struct = {}
    number = 0
    while head := data[at]:
        number, at = number + (head >> 4), at + 1
        if head < 16:  # a field far from the one before is told by its whole number
            number, at = _read_number(data, at)
        fields[number], at = _read_value(data, at, head & 15, depth)
    return fields, at + 1


def _read_value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of a kind, as the protocol numbers kinds; a truth value says itself by its kind."""
    if depth > _DEEPEST:
        raise ValueError("too deep")
    if kind in (1, 2):
        return kind == 1, at
    if kind in (4, 5, 6):
        number, at = _read_number(data, at)
        return (_I64 if kind == 6 else _I32)(number), at
    if kind == 8:
        length, at = _read_varint(data, at)
        return data[at : at + length], at + length
    if kind == 9:
        head, at = data[at], at + 1
        count, at = (head >> 4, at) if head < 0xF0 else _read_varint(data, at)
        if count > len(data) or head & 15 in (1, 2):  # truth values in a list would be a byte each; no footer has any
            raise ValueError("too long")
        values = []
        for _ in range(count):
            value, at = _read_value(data, at, head & 15, depth + 1)
            values.append(value)
        return values, at
    if kind == 12:
        return _read_struct(data, at, depth + 1)
    raise ValueError(f"no footer has a field of kind {kind}")


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    folded, at = _read_varint(data, at)
    return (folded >> 1) ^ -(folded & 1), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(10):
        byte = data[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, at + place + 1
    raise ValueError("a number of more than 64 bits")


def _check_text(table: pa.Table) -> None:
    """Refuse text that is short in the file and long in memory, since cells refer to it again and again."""
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            lengths = (pc.binary_length(part.dictionary).take(part.indices) for part in column.chunks)
            if sum(pc.sum(part).as_py() or 0 for part in lengths) > LARGEST_TEXT:
                raise BundleError(f"data.parquet holds more than {LARGEST_TEXT:,} bytes of text in one column.")


def _to_buffer(data: bytes) -> pa.Buffer:
    """The bytes in Arrow's own memory.

    Arrow's threads may let go of a file after Python has ended; if the bytes were Python's, that aborts the process.
    """
    sink = pa.BufferOutputStream()
    sink.write(data)
    return sink.getvalue()
