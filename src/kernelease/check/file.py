"""What a private look says about a CSV file: its encoding, its quotes, its records."""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from kernelease.check.finding import Finding, Level, share
from kernelease.sources.csv.cells import looks_regular
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
    unclosed: int = 0
    several_lines: int = 0
    shortened: int = 0


def file_findings(file: CsvFile) -> Iterator[Finding]:
    """What is wrong with a file before any cell is looked at."""
    found = _counted(file)
    yield from _encoding(file)
    if found.all == 0:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words="the file has no records but its first line",
            remedy="give the file with the rows; or, if its first line is one, [source] names = [...]",
        )
    damaged = (
        (
            found.ragged,
            "have more or fewer cells than the header",
            "look at the separator and at quotes in these lines",
        ),
        (
            found.unclosed,
            "have a quote that is never closed",
            'close it in the source; or [source] quote = "" for none',
        ),
        (found.shortened, "are longer than a record may be, and are cut", "look for a quote that is never closed"),
    )
    for count, words, remedy in damaged:
        if count:
            level = Level.of_share(count / found.all)
            yield Finding(
                level=level, where=file.describe(), words=f"{share(count, found.all)} records {words}", remedy=remedy
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
    total = ragged = unclosed = lines = shortened = 0
    for block in file.blocks():
        total += len(block.ends)
        regular = looks_regular(block, parser.width, parser.separator, parser.quote)
        several = block.text.count(b"\n") > len(block.ends)
        for record in block.records() if several else block.where(~regular).records():
            ragged += sum(1 for _ in parser.fields(record)) != parser.width
            unclosed += record_ends(record, Place.START, parser.separator, parser.quote)[1] is Place.QUOTED
            lines += b"\n" in record
            shortened += len(record) >= longest
    unclosed += _left_open(file)
    return _Records(all=total, ragged=ragged, unclosed=unclosed, several_lines=lines, shortened=shortened)


def _left_open(file: CsvFile) -> bool:
    """Whether a quote is open where the file ends: all that follows it is one record then."""
    place = Place.START
    for piece in file.raw():
        _, place = record_ends(piece, place, file.parser.separator, file.parser.quote)
    return file.records() is Records.QUOTED and place is Place.QUOTED


def _encoding(file: CsvFile) -> Iterator[Finding]:
    declared, likely = canonical_encoding(file.format.encoding), likely_encoding(file)
    if declared == "utf-8" and likely is not None:
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words="the file is not in UTF-8: letters outside ASCII are lost",
            remedy=f'[source] encoding = "{likely}", or --encoding {likely}',
        )
    elif declared != "utf-8" and likely is None and not all(piece.isascii() for piece in file.raw()):
        yield Finding(
            level=Level.DAMAGE,
            where=file.describe(),
            words=f"the file is in UTF-8, and is read as {file.format.encoding}: each other letter becomes two",
            remedy='[source] encoding = "utf-8", or no encoding at all',
        )


def likely_encoding(file: CsvFile) -> str | None:
    """None for a file in UTF-8; else the western encoding in which its bytes are letters."""
    decoder, utf8, controls = codecs.getincrementaldecoder("utf-8")(), True, False
    for piece in (*file.raw(), b""):
        controls = controls or any(byte in piece for byte in _CONTROLS)
        try:
            decoder.decode(piece, final=not piece)
        except UnicodeDecodeError:
            utf8 = False
            decoder.reset()
    return None if utf8 else "cp1252" if controls else "latin-1"
