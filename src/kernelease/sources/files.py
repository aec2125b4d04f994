"""Sources that are files: finding them, noticing that one has changed, reading several as one."""

import glob
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, final

import pyarrow as pa

from kernelease.errors import SourceError
from kernelease.machine import refuse_shortage
from kernelease.sources.source import Piece, Source
from kernelease.table.written import Records

# --------------------
# Whether a file is still the file that was opened.


Mark: TypeAlias = tuple[int, int, int] | None  # modification time, size, inode; None: no file, or an empty one


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class FileStamp:
    """What the file system says about files: enough to notice that one was replaced, cut off or written to."""

    paths: tuple[Path, ...]
    marks: tuple[Mark, ...]

    @classmethod
    def of(cls, *paths: Path) -> "FileStamp":
        """A stamp to compare with later. A file that is missing has a mark too: that of a missing file."""
        return cls(paths=paths, marks=tuple(_mark(path) for path in paths))

    def check(self, description: str) -> None:
        """Raise a `SourceError` if a file is not as it was."""
        if tuple(_mark(path) for path in self.paths) != self.marks:
            raise SourceError(
                f"{description} changed while it was read; nothing was spent. Read a copy that nobody writes to."
            )


def _mark(path: Path) -> Mark:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino) if found.st_size else None


# --------------------
# From a typed path, pattern or folder to files and their kind.


CSV, PARQUET, ARROW, SQLITE, DUCKDB = "CSV", "Parquet", "Arrow", "SQLite", "DuckDB"
EXCEL, SPSS, STATA, SAS = "Excel", "SPSS", "Stata", "SAS"
SUFFIXES: Final = {
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), CSV),
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    **dict.fromkeys((".feather", ".arrow", ".arrows", ".ipc"), ARROW),
    **dict.fromkeys((".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"), EXCEL),
    **dict.fromkeys((".sav", ".zsav"), SPSS),
    ".dta": STATA,
    **dict.fromkeys((".sas7bdat", ".xpt"), SAS),
    **dict.fromkeys((".sqlite", ".sqlite3"), SQLITE),
    **dict.fromkeys((".duckdb", ".db"), DUCKDB),
}
DATABASES: Final = (SQLITE, DUCKDB)
SPARK_TABLE, SQLITE_URL, POSTGRESQL_URLS = "spark:", "sqlite:///", ("postgresql://", "postgres://")
_SQLITE_MAGIC = b"SQLite format 3\x00"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Files of one kind, in sorted order, and the words for all of them together."""

    kind: str
    paths: tuple[Path, ...]
    title: str


def find_files(data: str | Path | Sequence[str | Path]) -> Files:
    """The files of a path, a folder, a pattern with * or ?, or a list of paths."""
    if isinstance(data, str | Path):
        return _files(_expanded(data), f"files of {data}")
    if not data:
        raise SourceError("A list of files must hold at least one.")
    paths = [path for number, item in enumerate(data, 1) for path in _listed(item, number)]
    return _files(paths, f"files {data[0]}, …")


def refuse_missing(data: str) -> None:
    """Refuse what can't be opened because no file is there, as opening it would, and without what reads files.

    Names of tables on a server, or of Spark, are taken as they are.
    """
    if data.startswith(SQLITE_URL):
        existing(data.removeprefix(SQLITE_URL))
    elif not data.startswith((SPARK_TABLE, *POSTGRESQL_URLS)):
        find_files(data)


def _listed(item: str | Path, number: int) -> list[Path]:
    """The files of an item of a list. A wrong item is named by its number, not its text, which may be a cell."""
    try:
        return _expanded(item)
    except SourceError:
        raise SourceError(f"A list must hold the paths of files, but number {number} of it is none.") from None


def kind_of(path: Path) -> str | None:
    """The kind of a file by its name, None if it has none; a .db file may be SQLite's, and says so in its first bytes.

    >>> kind_of(Path("people.csv.gz")), kind_of(Path("people.xlsx")), kind_of(Path("people.pdf"))
    ('CSV', 'Excel', None)
    """
    name = path.name.lower()
    kind = next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)
    return SQLITE if kind == DUCKDB and _begins_with(path, _SQLITE_MAGIC) else kind


def _begins_with(path: Path, magic: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(magic)) == magic
    except OSError:
        return False


def _expanded(data: str | Path) -> list[Path]:
    path = Path(data)
    if path.is_dir():
        visible = (file for file in path.rglob("*") if not any(_hidden(part) for part in file.relative_to(path).parts))
        return [file for file in visible if file.is_file() and kind_of(file)]
    if glob.has_magic(str(data)) and not path.is_file():
        return [Path(found) for found in glob.glob(str(data), recursive=True) if Path(found).is_file()]
    return [existing(path)]


def existing(path: str | Path) -> Path:
    """A path to a file, or a `SourceError`: an engine would make a new database of a wrong name."""
    if not Path(path).is_file():
        raise SourceError(f"There is no file {path}. Check its name, and the folder you are in.")
    return Path(path)


def _hidden(name: str) -> bool:
    """Marks that engines leave beside their files: _SUCCESS, _metadata, .crc."""
    return name.startswith((".", "_"))


def _files(paths: list[Path], title: str) -> Files:
    found = sorted(set(paths))
    if not found:
        raise SourceError(f"There are no {title}.")
    kinds = {kind_of(path) for path in found}
    if None in kinds:
        unknown = next(path for path in found if kind_of(path) is None)
        raise SourceError(
            f"{unknown} has no known kind: its name must end in {', '.join(SUFFIXES)}. Save other tables as CSV."
        )
    if len(kinds) > 1:
        raise SourceError(f"The {title} must be of one kind, but are {' and '.join(sorted(map(str, kinds)))}.")
    return Files(kind=str(kinds.pop()), paths=tuple(found), title=title)


# --------------------
# What file sources share, and several files as one source.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class FileSource(Source):
    """A file that must stay as it was when it was opened."""

    path: Path
    stamp: FileStamp

    @abstractmethod
    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        """One pass over the file; `OSError`, `EOFError`, `UnicodeError` or Arrow's exceptions: it is damaged."""

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return (batch for piece in self._pieces(columns) for batch in piece())

    def _pieces(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        with self._whole():
            for part in self._parts(columns):
                yield partial(self._of_part, part)

    def _of_part(self, part: Piece) -> Iterator[pa.RecordBatch]:
        with self._whole():
            yield from part()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is read inside is of the file that was opened, and whole; else a `SourceError`."""
        self.stamp.check(self.describe())
        try:
            yield
        except (OSError, EOFError, UnicodeError, pa.ArrowException) as error:
            refuse_shortage(error)
            self.stamp.check(self.describe())
            # No cause: the library's message may quote what it found in the file.
            raise SourceError(f"{self.describe()} can't be read to its end: it is damaged or was cut off.") from None
        self.stamp.check(self.describe())


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ManyFiles(Source):
    """Files of one kind, one after the other. Each must have the columns that are read, in any order."""

    parts: tuple[FileSource, ...]
    title: str

    def names(self) -> tuple[str, ...]:
        return self.parts[0].names()

    def declared_schema(self) -> pa.Schema | None:
        return self.parts[0].declared_schema()

    def describe(self) -> str:
        return self.title

    def records(self) -> Records | None:
        return self.parts[0].records()

    def heeds(self) -> tuple[str, ...]:
        return self.parts[0].heeds()

    def hint(self) -> str:
        return self.parts[0].hint()

    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        for part in self.parts:
            part._check_columns(wanted)

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        return (batch for part in self.parts for batch in part.batches(columns))

    def _pieces(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        return (piece for part in self.parts for piece in part.pieces(columns))
