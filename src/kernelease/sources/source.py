"""What a source is: private rows, as plain Arrow record batches of bounded size; and sources that are files."""

import glob
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn, TypeAlias, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kernelease.arrays import block_slices
from kernelease.errors import ParameterError, PrivacyError, SchemaError, SourceError
from kernelease.machine import refuse_shortage
from kernelease.strangers import web_refusal
from kernelease.table.columns.column import Column
from kernelease.table.columns.numbers import Integer, Number
from kernelease.table.columns.temporal import Date, Datetime
from kernelease.table.parsing import DAY, MICROSECOND, NEVER, as_iso, instants_in, numbers_in
from kernelease.table.schema import Schema
from kernelease.table.written import OF_FILES, OF_TEXTS, Records

# ---- Arrow arrays in plain types.


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


# ---- The source.


Piece: TypeAlias = Callable[[], Iterable[pa.RecordBatch]]
Rewrite: TypeAlias = Callable[[str, pa.Array], pa.Array]  # of a column's name and its cells

LARGEST_BATCH = 2**18  # rows: what a source must not exceed, so that memory stays bounded
BATCH_ROWS = 2**16  # where a source may choose


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Source(ABC):
    """Private rows that can be read in passes. It prints no value, has no length, can't be iterated or pickled.

    Whether anything is raised depends on public things (a missing file or column, a lost connection), never on a cell:
    what is damaged arrives as it is, or as NULL. Order and batch borders mean nothing; `batch_rows` bounds memory.
    """

    batch_rows: int = BATCH_ROWS

    distant: ClassVar[bool] = False
    """Whether its rows stay where they lie, and only sums come from there."""

    def __post_init__(self) -> None:
        if not 1 <= self.batch_rows <= LARGEST_BATCH:
            raise ParameterError(f"batch_rows must be from 1 to {LARGEST_BATCH}, got {self.batch_rows!r}.")
        if len(set(self.names())) < len(self.names()):
            # Which name stays unsaid, here and below: the first line of a file without a header is somebody's row.
            raise SourceError(f"{self.describe()} has two columns of one name. Rename one of them.")

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of all columns. They are public."""

    @abstractmethod
    def declared_schema(self) -> pa.Schema | None:
        """The types that the source itself declares; None for a CSV file, which declares none."""

    @abstractmethod
    def describe(self) -> str:
        """The source in a few words for messages: its kind, and where it is. No value, count or password."""

    def gather(self) -> "Source":
        """The same with rows that come here, for whoever has to bring those of several tables together."""
        return self

    def records(self) -> Records | None:
        """Where its records end, if that is a choice, as for CSV files; None where a row is what the source says."""
        return None

    def heeds(self) -> tuple[str, ...]:
        """The keys of a schema's [source] that such a source heeds: those about texts, and of CSV files all."""
        return OF_TEXTS if self.records() is None else (*OF_FILES, *OF_TEXTS)

    def with_texts(self, rewrite: "Rewrite | None") -> "Source | None":
        """The same with the texts of a column rewritten, where cells of another kind become text; None: nowhere."""
        return None

    def hint(self) -> str:
        """A sentence for whoever misses a column, from what is public; empty where there is none."""
        return ""

    def _read(self, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
        """One pass over the rows: batches of any size that hold at least these columns, which exist.

        A source overrides this, or `_pieces` where parts of it can be read in threads.
        """
        raise NotImplementedError

    def _pieces(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        """The same pass in pieces: here batches that are read already."""
        return in_turn(self._read(columns))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """One pass over the rows: these columns in this order, at most `batch_rows` rows at a time, none of them empty.

        Columns arrive as `plain` Arrow types; the type of a column may differ between batches. A missing column is
        reported at once, before a row is read.
        """
        return (batch for piece in self.pieces(columns) for batch in piece())

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """The same pass in pieces, in order: each gives its batches when it is called, once, in any thread."""
        wanted = tuple(columns)
        self._check_columns(wanted)
        return (partial(self._bounded_batches, wanted, piece) for piece in self._pieces(wanted))

    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        for name in wanted:
            if name not in self.names():
                raise SchemaError(f"{self.describe()} has no column {name!r}.", path=("columns", name))
        repeated, times = Counter(wanted).most_common(1)[0] if wanted else ("", 0)
        if times != 1:
            raise ParameterError(f"Columns must be named once each, at least one, got {repeated!r} {times} times.")

    def _bounded_batches(self, wanted: tuple[str, ...], piece: Piece) -> Iterator[pa.RecordBatch]:
        for batch in piece():
            positions = [batch.schema.get_field_index(name) for name in wanted]
            for part in block_slices(batch.num_rows, self.batch_rows):
                rows = part.stop - part.start
                arrays = [plain(batch.column(i).slice(part.start, rows)) for i in positions]
                yield pa.RecordBatch.from_arrays(arrays, names=list(wanted))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.describe()}; private>"

    def __len__(self) -> NoReturn:
        raise PrivacyError("A source has no length: how many rows it holds may be private.")

    def __iter__(self) -> NoReturn:
        raise PrivacyError("A source can't be iterated: use batches.")

    def __bool__(self) -> bool:
        return True  # asked for by `if source`; without this, Python would ask for the length

    def __reduce__(self) -> Any:
        raise PrivacyError("A source can't be pickled or copied: it may hold private rows.")


def in_turn(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
    """Batches as pieces, each read before it is handed on."""
    return (partial(tuple[pa.RecordBatch], (batch,)) for batch in batches)


def source_columns(source: Source) -> pa.Schema:
    """The names of a source's columns, with the types that it declares."""
    declared = source.declared_schema()
    return pa.schema([(column, pa.null()) for column in source.names()]) if declared is None else declared


# ---- A source read through its schema: columns renamed, cells in the usual spelling, differences of two columns.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Wrapper(Source):
    """Rows behind another source, which answers for whatever is not asked of this one."""

    inner: Source

    def names(self) -> tuple[str, ...]:
        return self.inner.names()

    def declared_schema(self) -> pa.Schema | None:
        return self.inner.declared_schema()

    def describe(self) -> str:
        return self.inner.describe()

    def records(self) -> Records | None:
        return self.inner.records()

    def heeds(self) -> tuple[str, ...]:
        return self.inner.heeds()

    def hint(self) -> str:
        return self.inner.hint()


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class DeclaredSource(Wrapper):
    """Another source's rows, with its columns renamed and its texts rewritten as the schema says, each row by itself.

    A column that is declared `from` another name is found under its own. Another column of that name is hidden. One
    with `minus` holds how far apart two columns are: days between dates, seconds between instants, else numbers.
    """

    schema: Schema
    rewritten: bool = False  # by the other source, which knows texts from cells that became text

    @classmethod
    def of(cls, source: Source, schema: Schema) -> Source:
        """The source as declared: itself, where names are the same and nothing is to be rewritten."""
        if isinstance(source, DeclaredSource):
            return source if source.schema == schema else cls.of(source.inner.with_texts(None) or source.inner, schema)
        unchanged = schema.source.numerals.usual and not schema.source.formats
        if unchanged and all(column.source is None for column in schema):
            return source
        declared = cls(inner=source, schema=schema, batch_rows=source.batch_rows)
        rewriting = source.with_texts(declared._rewrite_named)
        return declared if rewriting is None else replace(declared, inner=rewriting, rewritten=True)

    def names(self) -> tuple[str, ...]:
        return tuple(self._origins())

    def _origins(self) -> dict[str, str]:
        """The name of each column in the inner source, by its name here."""
        declared = {column.source_name: column.name for column in self.schema}
        renamed = {column.name for column in self.schema if column.source is not None}
        return {
            declared.get(name, name): name for name in self.inner.names() if name in declared or name not in renamed
        }

    def declared_schema(self) -> pa.Schema | None:
        given = self.inner.declared_schema()
        if given is None:
            return None
        off = self._taken_off()
        kinds = ((to, pa.float64() if to in off else given.field(own).type) for to, own in self._origins().items())
        return pa.schema(list(kinds))

    def _taken_off(self) -> dict[str, Column]:
        """The column that is taken off each one that is a difference, by the name of the latter."""
        found = ((name, self.schema.taken_off(name)) for name in self.schema.names)
        return {name: off for name, off in found if off is not None}

    def _pieces(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        origins, off = self._origins(), self._taken_off()
        others = [off[name].source_name for name in columns if name in off]
        pieces = self.inner.pieces(list(dict.fromkeys([*(origins[name] for name in columns), *others])))
        return (partial(self._of_piece, columns, piece) for piece in pieces)

    def _of_piece(self, columns: tuple[str, ...], piece: Piece) -> Iterator[pa.RecordBatch]:
        known, origins, off = {column.name: column for column in self.schema}, self._origins(), self._taken_off()

        def cells(name: str, batch: pa.RecordBatch) -> pa.Array:
            array = batch.column(origins[name])
            if name not in off:
                return array if self.rewritten else self._rewrite(known.get(name), array)
            return self._difference(off[name], array, batch.column(off[name].source_name))

        for batch in piece():
            yield pa.RecordBatch.from_arrays([cells(name, batch) for name in columns], names=list(columns))

    def _difference(self, off: Column, array: pa.Array, other: pa.Array) -> pa.Array:
        """How far each cell is after the other, both read as `off` is; NULL where one of them can't be read."""
        pair = (array, other) if self.rewritten else (self._rewrite(off, array), self._rewrite(off, other))
        if not isinstance(off, Date | Datetime):
            with np.errstate(invalid="ignore", over="ignore"):  # a warning would tell of a cell
                apart = np.subtract(*map(numbers_in, pair))
            return pa.array(apart, mask=np.isnan(apart))
        ticks = [instants_in(one) for one in pair]
        absent = np.logical_or(*(one == NEVER for one in ticks))
        unit = DAY // MICROSECOND if isinstance(off, Date) else 1
        later, earlier = (np.where(absent, 0, one) // unit for one in ticks)
        return pa.array((later - earlier) / (1 if isinstance(off, Date) else 1e6), mask=absent)

    def _rewrite_named(self, name: str, array: pa.Array) -> pa.Array:
        """The same of a column by its name in the inner source."""
        off = self._taken_off()
        read_as = {column.source_name: off.get(column.name, column) for column in (*off.values(), *self.schema)}
        return self._rewrite(read_as.get(name), array)

    def _rewrite(self, column: Column | None, array: pa.Array) -> pa.Array:
        if isinstance(column, Integer | Number):
            return self.schema.source.numerals.plain(array)
        return as_iso(array, self.schema.source.formats) if isinstance(column, Date | Datetime) else array


def check_columns(source: Source, schema: Schema) -> None:
    """A `SchemaError` if a declared column is not in the source, with what its public parts say about the reason."""
    try:
        schema.check_source(source.names())
    except SchemaError as error:
        error.args = (f"{error}{source.hint()}",)
        raise


# ---- Whether a file is still the file that was opened.


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


# ---- From a typed path, pattern or folder to files and their kind.


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
        return _files(_expand(data), f"files of {data}")
    if not data:
        raise SourceError("A list of files must hold at least one.")
    paths = [path for number, item in enumerate(data, 1) for path in _files_of(item, number)]
    return _files(paths, f"files {data[0]}, …")


def refuse_missing(data: str) -> None:
    """Refuse what can't be opened because no file is there, as opening it would, and without what reads files.

    Names of tables on a server, or of Spark, are taken as they are.
    """
    if data.startswith(SQLITE_URL):
        existing(data.removeprefix(SQLITE_URL))
    elif not data.startswith((SPARK_TABLE, *POSTGRESQL_URLS)):
        find_files(data)


def _files_of(item: str | Path, number: int) -> list[Path]:
    """The files of an item of a list. A wrong item is named by its number, not its text, which may be a cell."""
    try:
        return _expand(item)
    except SourceError:
        raise SourceError(f"A list must hold the paths of files, but number {number} of it is none.") from None


def kind_of(path: Path) -> str | None:
    """The kind of a file by its name, None if it has none; a .db file may be SQLite's, and says so in its first bytes.

    >>> kind_of(Path("people.csv.gz")), kind_of(Path("people.xlsx")), kind_of(Path("people.pdf"))
    ('CSV', 'Excel', None)
    """
    name = path.name.lower()
    kind = next((kind for suffix, kind in SUFFIXES.items() if name.endswith(suffix)), None)
    return SQLITE if kind == DUCKDB and _is_sqlite(path) else kind


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        return False


def _expand(data: str | Path) -> list[Path]:
    path = Path(data)
    if refusal := web_refusal(data):
        raise SourceError(refusal)
    if path.is_dir():
        if (path / "certificate.json").is_file():
            raise SourceError(
                f"{path} is a release, not a private table. Give the table; its rows alone are {path}/data.parquet."
            )
        visible = (
            file for file in path.rglob("*") if not any(_is_hidden(part) for part in file.relative_to(path).parts)
        )
        return [file for file in visible if file.is_file() and kind_of(file)]
    if glob.has_magic(str(data)) and not path.is_file():
        return [Path(found) for found in glob.glob(str(data), recursive=True) if Path(found).is_file()]
    return [existing(path)]


def existing(path: str | Path) -> Path:
    """A path to a file, or a `SourceError`: an engine would make a new database of a wrong name."""
    if not Path(path).is_file():
        raise SourceError(f"There is no file {path}. Check its name, and the folder you are in.")
    return Path(path)


def _is_hidden(name: str) -> bool:
    """Marks that engines leave beside their files: _SUCCESS, _metadata, .crc."""
    return name.startswith((".", "_"))


def _files(paths: list[Path], title: str) -> Files:
    found = sorted(set(paths))
    if not found:
        raise SourceError(f"There are no {title}. Check the name.")
    kinds = {kind_of(path) for path in found}
    if None in kinds:
        unknown = next(path for path in found if kind_of(path) is None)
        raise SourceError(
            f"{unknown} has no known kind: its name must end in {', '.join(SUFFIXES)}. Save other tables as CSV."
        )
    if len(kinds) > 1:
        raise SourceError(f"The {title} must be of one kind, but are {' and '.join(sorted(map(str, kinds)))}.")
    return Files(kind=str(kinds.pop()), paths=tuple(found), title=title)


# ---- What file sources share, and several files as one source.


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class FileSource(Source):
    """A file that must stay as it was when it was opened."""

    path: Path
    stamp: FileStamp

    def _parts(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        """One pass over the file; `OSError`, `EOFError`, `UnicodeError` or Arrow's exceptions: it is damaged.

        A file that has no parts for several threads overrides `_read`.
        """
        return in_turn(self._read(columns))

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


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class SchemaFile(FileSource):
    """A file that says which columns it has, and of which types."""

    schema: pa.Schema

    def names(self) -> tuple[str, ...]:
        return tuple(self.schema.names)

    def declared_schema(self) -> pa.Schema:
        return plain_schema(self.schema)


@final
@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class ManyFiles(Wrapper):
    """Files of one kind, one after the other: `inner`, which speaks for all, and `others`.

    Each must have the columns that are read, in any order.
    """

    others: tuple[FileSource, ...]
    title: str

    @property
    def files(self) -> tuple[Source, ...]:
        return self.inner, *self.others

    def describe(self) -> str:
        return self.title

    def _check_columns(self, wanted: tuple[str, ...]) -> None:
        for file in self.files:
            file._check_columns(wanted)

    def _pieces(self, columns: tuple[str, ...]) -> Iterator[Piece]:
        return (piece for file in self.files for piece in file.pieces(columns))
