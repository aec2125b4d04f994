"""What a private look says about a CSV file: its encoding, its quotes, its records."""

import codecs
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from kernelease.check.finding import Finding, Level, rough_share, share
from kernelease.sources.csv.cells import CellParser, looks_regular
from kernelease.sources.csv.file import CsvFile
from kernelease.sources.csv.quotes import Place, record_ends
from kernelease.table.records import Records
from kernelease.table.written import canonical_encoding

_CONTROLS = bytes(range(0x80, 0xA0))  # letters in cp1252, and control characters that nobody writes in latin-1


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class _Records:
    """Counts of a file's records. All private."""

    all: int = 0
    ragged: int = 0
    swallowing: int = 0  # those that hold lines with as many cells as a record has: a quote takes these in
    swallowed: int = 0  # such lines
    unclosed: int = 0
    several_lines: int = 0
    shortened: int = 0


def file_findings(file: CsvFile) -> Iterator[Finding]:
    """What is wrong with a file before any cell is looked at."""
    found, open_end = _counted(file), _left_open(file)
    yield from _encoding(file)
    if found.all == 0:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words="the file has no records but its first line",
            remedy="give the file with the rows; or, if its first line is one, [source] names = [...]",
            gist="the file has no records but its first line",
        )
    if open_end is not None:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words=f"a quote that is never closed takes the {open_end:,} lines after it into one record",
            remedy='close it in the source; or [source] quote = "" for none',
            gist="a quote is never closed: the lines after it are lost in one record",
        )
    damaged = (
        (
            found.ragged,
            0,
            "have more or fewer cells than the header",
            "look at the separator and at quotes in these lines",
        ),
        (
            found.unclosed,
            0,
            "have a quote that is never closed",
            'close it in the source; or [source] quote = "" for none',
        ),
        (
            0 if open_end is not None else found.swallowing,
            found.swallowed,
            "take in the lines after them, by a quote that is closed too late",
            'close it in the source; or [source] quote = "" for none',
        ),
        (found.shortened, 0, "are longer than a record may be, and are cut", "look for a quote that is never closed"),
    )
    for count, lost, words, remedy in damaged:
        if count:
            level = Level.of_share((count + lost) / (found.all + lost))
            yield Finding(
                level=level,
                where=file.describe(),
                words=f"{share(count, found.all)} records {words}",
                remedy=remedy,
                gist=f"{rough_share(count, found.all)} records {words}",
            )
    if found.several_lines:
        yield Finding(
            level=Level.NOTE,
            where=file.describe(),
            words=f"{share(found.several_lines, found.all)} records go over several lines",
            remedy='nothing, if cells hold newlines; else [source] records = "lines" makes each line a record',
        )


def _counted(file: CsvFile) -> _Records:
    parser, longest = file.parser, file.format.longest_record
    total = ragged = swallowing = swallowed = unclosed = lines = shortened = 0
    for block in file.blocks():
        total += len(block.ends)
        regular = looks_regular(block, parser.width, parser.separator, parser.quote)
        several = block.text.count(b"\n") > len(block.ends)
        for record in block.records() if several else block.where(~regular).records():
            ragged += sum(1 for _ in parser.fields(record)) != parser.width
            taken_in = _lines_like_records(record, parser)
            swallowing += taken_in > 0
            swallowed += taken_in
            unclosed += record_ends(record, Place.START, parser.separator, parser.quote)[1] is Place.QUOTED
            lines += b"\n" in record
            shortened += len(record) >= longest
    return _Records(
        all=total,
        ragged=ragged,
        swallowing=swallowing,
        swallowed=swallowed,
        unclosed=unclosed,
        several_lines=lines,
        shortened=shortened,
    )


def _lines_like_records(record: bytes, parser: CellParser) -> int:
    """The lines of a record, after its first, that have as many separators as a record of the table."""
    if parser.width < 2 or b"\n" not in record:
        return 0
    separator = parser.separator.encode()
    return sum(line.count(separator) == parser.width - 1 for line in record.split(b"\n")[1:])


def _left_open(file: CsvFile) -> int | None:
    """The lines after a quote that is open where the file ends, which are one record then; None where none is."""
    if file.records() is not Records.QUOTED:
        return None
    place, lines, parser = Place.START, 0, file.parser
    for piece in file.raw():
        ends, place = record_ends(piece, place, parser.separator, parser.quote)
        lines = piece[int(ends[-1]) :].count(b"\n") if len(ends) else lines + piece.count(b"\n")
    return max(0, lines - 1) if place is Place.QUOTED else None


def _encoding(file: CsvFile) -> Iterator[Finding]:
    declared, likely = canonical_encoding(file.format.encoding), likely_encoding(file)
    if declared == "utf-8" and likely is not None:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words="the file is not in UTF-8: letters outside ASCII are lost",
            remedy=f'[source] encoding = "{likely}", or --encoding {likely}',
            gist=f"it is not in UTF-8: give --encoding {likely}",
        )
    elif declared != "utf-8" and likely is None and not all(piece.isascii() for piece in file.raw()):
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words=f"the file is in UTF-8, and is read as {file.format.encoding}: each other letter becomes two",
            remedy='[source] encoding = "utf-8", or no encoding at all',
            gist=f"it is in UTF-8, and is read as {file.format.encoding}",
        )


def likely_encoding(file: CsvFile) -> str | None:
    """None for a file in UTF-8; else the western encoding in which its bytes are letters."""
    decoder, utf8, controls = codecs.getincrementaldecoder("utf-8")(), True, False
    for piece in itertools.chain(file.raw(), (b"",)):
        if piece and piece.isascii() and not decoder.getstate()[0]:
            continue
        controls = controls or any(byte in piece for byte in _CONTROLS)
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError:
            utf8 = False
            decoder.reset()
    return None if utf8 else "cp1252" if controls else "latin-1"
