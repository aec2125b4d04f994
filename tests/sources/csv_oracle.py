"""The rules for CSV once more, byte by byte and without any cleverness."""


def fields(record: bytes, separator: bytes) -> list[tuple[bytes, bool]]:
    """Every field, and whether it began with a quote."""
    found, position = [], 0
    while True:
        quoted, text = record[position : position + 1] == b'"', b""
        position += quoted
        inside = quoted
        while position < len(record):
            byte = record[position : position + 1]
            if inside and byte == b'"' and record[position + 1 : position + 2] == b'"':
                position += 1
            elif inside and byte == b'"':
                inside, byte = False, b""
            elif not inside and byte == separator:
                break
            text, position = text + byte, position + 1
        found.append((text, quoted))
        if position >= len(record):
            return found
        position += 1


def row(record: bytes, width: int, separator: str = ",", nulls: tuple[bytes, ...] = ()) -> tuple[str | None, ...]:
    """The cells of a record without its end."""
    cells = [
        None if not quoted and text in (b"", *nulls) else text.decode("utf-8", "replace")
        for text, quoted in fields(record, separator.encode())[:width]
    ]
    return (*cells, *[None] * (width - len(cells)))


def lines(data: bytes, longest: int) -> list[bytes]:
    """The physical lines without their newlines, cut where they are too long."""
    found = data.decode("utf-8", "replace").encode().split(b"\n")
    if not found[-1]:
        found.pop()
    return [_cut(line, longest) for line in found]


def records(data: bytes, longest: int, separator: str = ",") -> list[bytes]:
    """The records by RFC 4180 without their newlines, cut where they are too long. What is left open is closed."""
    found, record, inside, field_start, closed = [], b"", False, True, False
    for byte in map(chr, data.decode("utf-8", "replace").encode()):
        if byte == "\n" and not inside:
            found.append(record)
            record, field_start, closed = b"", True, False
            continue
        record += byte.encode("latin-1")
        if byte == '"' and inside:
            inside, closed = False, True
        elif byte == '"' and (field_start or closed):
            inside, closed = True, False
        else:
            closed = False
        field_start = byte == separator and not inside
    kept = [_cut(record, longest) for record in [*found, *([record] if record else [])]]
    return [record + (b"" if _closed(record, separator.encode()) else b'"') for record in kept]


def _cut(record: bytes, longest: int) -> bytes:
    return record[:longest].decode("utf-8", "ignore").encode()


def _closed(record: bytes, separator: bytes) -> bool:
    """Whether every quoted field ends: then something that follows the record is a field of its own."""
    return len(fields(record + separator, separator)) == len(fields(record, separator)) + 1
