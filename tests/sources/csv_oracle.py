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
    """The physical lines, each with its newline, cut where they are too long."""
    found = data.split(b"\n")
    if not found[-1]:
        found.pop()
    return [line[:longest] + b"\n" for line in found]


def records(data: bytes, longest: int, separator: str = ",") -> list[bytes]:
    """The records where quoted fields may hold newlines."""
    rest, found = [line.decode("utf-8", "replace").encode() for line in lines(data, longest)], []
    while rest:
        taken = 1
        for count in range(1, len(rest) + 1):
            joined = b"".join(rest[:count])
            if len(joined) > longest + 1:
                break
            if _closed(joined[:-1], separator.encode()):
                taken = count
                break
        found.append(b"".join(rest[:taken]))
        rest = rest[taken:]
    return found


def _closed(record: bytes, separator: bytes) -> bool:
    """Whether every quoted field ends: then something that follows the record is a field of its own."""
    return len(fields(record + separator, separator)) == len(fields(record, separator)) + 1


def stripped(record: bytes) -> bytes:
    """A record without the newline, or carriage return and newline, at its end."""
    return record.removesuffix(b"\n").removesuffix(b"\r")
